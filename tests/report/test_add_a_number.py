"""docs/add_a_number.md, followed to the letter: two files change, and page, terminal and JSON have the number."""

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
STEP = re.compile(r"In `src/vrspam/([\w/]+)/(\w+\.py)`.*?```(?:python|{code-block} python)\n(.*?)```", re.S)
# modules of both rooms are looked for among the changed files first
COMMAND = """
import json, sys
import vrspam.measures, vrspam.report.words
for room in (vrspam.measures, vrspam.report.words):
    room.__path__.insert(0, sys.argv[1])
from vrspam.cli import main
sys.exit(main(json.loads(sys.argv[2])))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """The files that the page changes, changed as it says."""
    folder = tmp_path_factory.mktemp("changed")
    steps = STEP.findall((ROOT / "docs" / "add_a_number.md").read_text("utf-8"))
    assert {f"{room}/{name}" for room, name, _ in steps} == {"measures/measure.py", "report/words/numbers.py"}
    for room, name, block in steps:
        before = folder / name if (folder / name).exists() else ROOT / "src" / "vrspam" / room / name
        text = before.read_text("utf-8")
        (there,) = [line for line in text.splitlines() if line.strip() == block.splitlines()[0]]
        deep = textwrap.indent(block, there[: len(there) - len(there.lstrip())])
        (folder / name).write_text(text.replace(f"{there}\n", deep), "utf-8")
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    frame = patients(rows=200)
    frame["score"] = range(200)
    return write(frame, tmp_path_factory.mktemp("table") / "patients.csv")


def run(changed, *arguments):
    command = [sys.executable, "-c", COMMAND, str(changed), json.dumps(list(map(str, arguments)))]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_page_terminal_and_json_have_the_number(changed, table, tmp_path):
    evaluate = ["evaluate", table, "--target", "sick", "--scores", "score"]
    numbers = json.loads(run(changed, *evaluate, "--json"))
    for end in ("", "_low", "_high"):
        assert numbers[f"gini{end}"] == pytest.approx(2.0 * numbers[f"auc{end}"] - 1.0)
    text = "{gini:.4f}, 95 % interval {gini_low:.4f} to {gini_high:.4f} (0 is guessing)".format(**numbers)
    printed = run(changed, *evaluate, "--html", tmp_path / "page.html")
    assert re.search(rf"^Gini +{re.escape(text)}$", printed, re.M)
    page = (tmp_path / "page.html").read_text("utf-8")
    (shown,) = re.findall("<dt>Gini</dt><dd[^>]*>(.*?)</dd>", page)
    assert re.sub("<[^>]+>", "", shown) == text


def test_the_report_has_it_too(changed, table, tmp_path):
    report = ["report", table, "--target", "sick", "--drop", "score", "--features", "linear", "--folds", "2"]
    numbers = json.loads(run(changed, *report, "--rows", "0", "--html", tmp_path / "page.html", "--json"))
    assert numbers["gini"] == pytest.approx(2.0 * numbers["auc"] - 1.0)
    assert "<dt>Gini</dt>" in (tmp_path / "page.html").read_text("utf-8")
