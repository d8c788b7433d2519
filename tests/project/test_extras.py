"""The message when an extra is not installed: one sentence, the same everywhere."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

# An entry of None is what Python itself takes for "there is no such module".
WITHOUT = "import sys; sys.modules[{module!r}] = None; "


# With Spark alone, the package can be imported, and only the names of Dask are missing.
WITH_DASK_ALONE = pytest.mark.skipif(find_spec("pyspark") is not None, reason="pyspark is installed")


def run(module, program):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(module=module) + program], capture_output=True, text=True
    )
    return done.returncode, (done.stdout + done.stderr).strip()


@pytest.mark.parametrize(
    ("module", "extra", "name"),
    [
        pytest.param("dask", "dask", "vrspam.distributed", marks=WITH_DASK_ALONE),
        ("river", "river", "vrspam.online"),
        ("pyspark", "spark", "vrspam.distributed.spark"),
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


def test_downloads_without_pooch(tmp_path):
    program = (
        f"\nimport os; os.environ.pop('VRSPAM_DATA', None); os.environ['XDG_CACHE_HOME'] = {str(tmp_path)!r}"
        "\nfrom vrspam.data import load\ntry: load('a9a', progress=False)"
    )
    code, words = run("pooch", program + "\nexcept ValueError as error: print(error)")
    assert code == 0
    assert 'could not be downloaded: pooch is missing: run pip install ".[data]" in a clone of vrspam' in words
    assert "VRSPAM_DATA" in words


def test_other_modules_that_are_missing_are_not_hidden():
    code, words = run("dask.array", "import vrspam.distributed")
    assert code == 1
    assert "dask.array" in words.splitlines()[-1]
