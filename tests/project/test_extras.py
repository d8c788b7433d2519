"""The message when an extra is not installed: one sentence, the same everywhere."""

from __future__ import annotations

import subprocess
import sys

import pytest

# An entry of None is what Python itself takes for "there is no such module".
WITHOUT = "import sys; sys.modules[{module!r}] = None; "


def run(module, program):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(module=module) + program], capture_output=True, text=True
    )
    return done.returncode, (done.stdout + done.stderr).strip()


@pytest.mark.parametrize(
    ("module", "extra", "name"),
    [
        ("river", "river", "vrspam.online"),
        ("pyspark", "spark", "vrspam.distributed.spark"),
        ("dask", "dask", "vrspam.distributed.dask"),
        ("matplotlib", "plots", "vrspam.plotting"),
        ("matplotlib", "plots", "vrspam.plotting.style"),
        ("onnx", "onnx", "vrspam.export.onnx_graphs"),
    ],
)
def test_import_without_an_extra_says_what_to_install(module, extra, name):
    program = f"\ntry: import {name}\nexcept ImportError as error: print(error)"
    words = f'{module} is missing: run pip install ".[{extra}]" in a clone of vrspam'
    assert run(module, program) == (0, words)


@pytest.mark.parametrize(
    ("name", "module", "extra"), [("DaskAUCClassifierCV", "dask", "dask"), ("SparkAUCClassifier", "pyspark", "spark")]
)
def test_each_engine_asks_for_its_own_extra(name, module, extra):
    program = "sys.modules['dask'] = sys.modules['pyspark'] = None\nimport vrspam.distributed as rooms"
    program += f"\ntry: rooms.{name}\nexcept ImportError as error: print(error)"
    assert run(module, program) == (0, f'{module} is missing: run pip install ".[{extra}]" in a clone of vrspam')


@pytest.mark.parametrize(
    ("module", "extra", "arguments"),
    [
        ("typer", "cli", ["datasets"]),
        ("rich", "cli", ["datasets"]),
        ("pyarrow", "data", ["train", "patients.csv", "--target", "sick"]),
        ("matplotlib", "plots", ["explain", "m.json", "--picture", "m.png"]),
        ("matplotlib", "plots", ["demo"]),
        ("onnx", "onnx", ["export", "m.json", "--onnx", "m.onnx"]),
    ],
)
def test_command_without_an_extra_says_what_to_install(module, extra, arguments):
    code, words = run(module, f"from vrspam.cli import main; sys.exit(main({arguments!r}))")
    assert code == 1
    assert words == f'vrspam: {module} is missing: run pip install ".[{extra}]" in a clone of vrspam'


def test_tables_without_pyarrow(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    program = f"\nfrom vrspam.data import read_chunks\ntry: read_chunks({str(tmp_path / 't.csv')!r})"
    code, words = run("pyarrow", program + "\nexcept ValueError as error: print(error)")
    assert code == 0
    assert words.endswith('t.csv: pyarrow is missing: run pip install ".[data]" in a clone of vrspam')


def test_downloads_without_requests(tmp_path):
    program = (
        f"\nimport os; os.environ.pop('VRSPAM_DATA', None); os.environ['XDG_CACHE_HOME'] = {str(tmp_path)!r}"
        "\nfrom vrspam.data import load\ntry: load('a9a', progress=False)"
    )
    code, words = run("requests", program + "\nexcept ValueError as error: print(error)")
    assert code == 0
    assert 'could not be downloaded: requests is missing: run pip install ".[data]" in a clone of vrspam' in words
    assert "VRSPAM_DATA" in words


def test_other_modules_that_are_missing_are_not_hidden():
    code, words = run("dask.array", "from vrspam.distributed import DaskAUCClassifier")
    assert code == 1
    assert "dask.array" in words.splitlines()[-1]
