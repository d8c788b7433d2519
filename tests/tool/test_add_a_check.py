"""docs/add_a_check.md, followed to the letter: a file and its line in a list, and the finding is there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from doctor_page import PAGE, page_of

from vrspam.checks.diagnose import CHECKS, all_codes

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```(?:python)?\n(.*?)```", re.S)
# modules of `vrspam.checks` are looked for among the changed files first
PROGRAM = """
import json, sys
import vrspam.checks
vrspam.checks.__path__.insert(0, sys.argv[1])
from vrspam.cli import main
sys.exit(main(json.loads(sys.argv[2])))
"""
SECTION = """
import sys
import vrspam.checks
vrspam.checks.__path__.insert(0, sys.argv[1])
from doctor_page import PAGE, page_of
from vrspam.checks.diagnose import CHECKS
print(page_of(CHECKS, PAGE.read_text("utf-8")))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """The files that the page names, made and changed as it says."""
    folder = tmp_path_factory.mktemp("checks")
    text = (ROOT / "docs" / "add_a_check.md").read_text("utf-8")
    named = list(dict.fromkeys(re.findall(r"`src/vrspam/checks/(\w+\.py)`", text.partition("## 3.")[0])))
    assert named == ["nearly_constant.py", "diagnose.py"]
    new_file, *blocks = BLOCK.findall(text)
    (folder / named[0]).write_text(new_file, "utf-8")
    shutil.copy(ROOT / "src" / "vrspam" / "checks" / named[1], folder)
    for block in blocks:
        changed_text = (folder / named[1]).read_text("utf-8")
        first_line = block.splitlines(keepends=True)[0]
        assert changed_text.count(first_line) == 1
        (folder / named[1]).write_text(changed_text.replace(first_line, block), "utf-8")
    return folder


def run(program, *arguments):
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": paths}
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.standard_normal(400).round(2), "y": np.where(rng.random(400) < 0.5, "yes", "no")})
    frame["ward"] = np.where(np.arange(400) < 2, "north", "south")
    path = tmp_path_factory.mktemp("table") / "t.csv"
    frame.to_csv(path, index=False)
    return path


def test_the_finding_is_shown_in_the_terms_of_the_command_line(changed, table):
    done = run(PROGRAM, changed, json.dumps(["check", str(table), "--target", "y"]))
    assert done.returncode == 0, done.stderr
    sentence = "note: column 'ward' has one value in 99.5 % of the rows: leave it out with --drop ward if the others"
    assert f"{sentence} are mistakes [nearly-constant]" in done.stdout


def test_it_can_be_muted(changed, table):
    done = run(PROGRAM, changed, json.dumps(["check", str(table), "--target", "y", "--ignore", "nearly-constant"]))
    assert done.returncode == 0, done.stderr
    assert "nearly-constant" not in done.stdout


def test_its_docstring_is_its_section_of_the_page(changed):
    done = run(SECTION, changed)
    assert done.returncode == 0, done.stderr
    section = done.stdout.split("## nearly-constant\n\n")[1].split("\n## ")[0]
    assert section.startswith("Columns with one value in 99 % of the rows or more")
    assert "What to do: `--drop COLUMN`" in section


def test_the_page_has_the_docstring_of_each_check():
    text = PAGE.read_text("utf-8")
    assert page_of(CHECKS, text) == text


def test_no_two_checks_have_one_code():
    assert len(set(all_codes())) == len(CHECKS)
