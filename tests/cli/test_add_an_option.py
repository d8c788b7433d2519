"""docs/add_an_option.md, followed to the letter: two files change, and keyword, help, check and effect are there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tool_data import patients, write

ROOT = Path(__file__).parents[2]
STEP = re.compile(r"In `src/vrspam/tool/(\w+\.py)`.*?```python\n(.*?)```", re.S)
# modules of `vrspam.tool` are looked for among the changed files first
COMMAND = """
import inspect, json, sys
import vrspam.tool
vrspam.tool.__path__.insert(0, sys.argv[1])
from vrspam.cli import main
code = main(json.loads(sys.argv[2]))
"""
PYTHON = """
from vrspam.tool import make_report, train
parts = [str(inspect.signature(one).parameters["max_rows"]) for one in (train, make_report)]
parts.append(train.__doc__[train.__doc__.index("max_rows :"):].split("features :")[0])
try:
    train("none.csv", "sick", max_rows=5)
except ValueError as error:
    parts.append(str(error))
print(json.dumps(parts))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """The files that the page changes, changed as it says."""
    folder = tmp_path_factory.mktemp("tool")
    steps = STEP.findall((ROOT / "docs" / "add_an_option.md").read_text("utf-8"))
    assert [name for name, _ in steps] == ["plan.py", "plan.py", "training.py"]
    for name, block in steps:
        file = folder / name
        text = (file if file.exists() else ROOT / "src" / "vrspam" / "tool" / name).read_text("utf-8")
        (there,) = [line for line in text.splitlines() if line.strip() == block.splitlines()[0]]
        deep = textwrap.indent(block, there[: len(there) - len(there.lstrip())])
        file.write_text(text.replace(f"{there}\n", deep), "utf-8")
    return folder


def run(changed, folder, program, *arguments):
    data = write(patients(rows=200), folder / "patients.csv")
    words = json.dumps([arguments[0], str(data), *arguments[1:]])
    command = [sys.executable, "-c", f"{program}sys.exit(code)", str(changed), words]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=folder)


def test_keyword_docstring_check_and_effect(changed, tmp_path):
    arguments = ["--target", "sick", "--max-rows", "120", "--features", "linear", "--folds", "2", "--json"]
    done = run(changed, tmp_path, COMMAND + PYTHON, "train", *arguments)
    assert done.returncode == 0, done.stderr
    printed, _, found = done.stdout.rstrip().rpartition("\n")
    assert json.loads(printed)["rows"] == 120
    *parameters, documented, refused = json.loads(found)
    assert parameters == ["max_rows: int | None = None"] * 2
    text = "max_rows : int, optional Train on so many rows at most, drawn by the seed."
    assert " ".join(documented.split()) == text
    assert refused == "max_rows=5 must be at least 10"


@pytest.mark.parametrize("command", ["train", "report"])
def test_option_help_and_the_same_sentence(changed, tmp_path, command):
    done = run(changed, tmp_path, COMMAND, command, "--target", "sick", "--max-rows", "5")
    assert done.returncode == 2
    assert done.stderr == f"vrspam: --max-rows 5 must be at least 10  (see vrspam {command} --help)\n"
    done = run(changed, tmp_path, COMMAND, command, "--help")
    assert done.returncode == 0
    data = done.stdout.split("Data ─")[1].split("Model ─")[0]
    assert "--max-rows" in data
    assert "drawn by the seed" in " ".join(data.replace("│", " ").split())
