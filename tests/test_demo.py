"""The demo: a table becomes a report, then the paper's algorithms run; little is printed, and it can be understood."""

from __future__ import annotations

import json
import webbrowser
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import pytest
from experiment_rows import fill
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from vrspam import tool
from vrspam.cli import demo, main
from vrspam.cli.watching import RunDisplay
from vrspam.experiments import publish, run, tables
from vrspam.experiments.protocol import Run
from vrspam.experiments.run import Experiment, Outcome
from vrspam.experiments.store import read_all
from vrspam.tool import load_model, score_file


@pytest.fixture
def quick(monkeypatch):
    """A demo of straight lines, with made-up results of the paper's algorithms."""
    linear = partial(tool.train, features="linear")

    def no_runs(protocol, directory, *, watcher, **options):
        fill(directory)
        watcher.start([], 129)
        return Experiment(directory, 129, 0)

    def no_figures(directory):
        return {"table": [], "figure": [], "report": [directory / "report.html"]}

    monkeypatch.setattr(tool, "train", linear)
    monkeypatch.setattr(run, "run_experiment", no_runs)
    monkeypatch.setattr(publish, "publish", no_figures)


def test_the_table_is_that_of_scikit_learn_cut_in_two(tmp_path):
    training, held_out = map(pd.read_csv, demo.write_table(tmp_path))
    assert len(training) + len(held_out) == 569
    data = load_breast_cancer(as_frame=True)
    both = pd.concat([training, held_out])
    assert sorted(both["mean radius"]) == pytest.approx(sorted(data.data["mean radius"]))
    assert (both["diagnosis"] == "malignant").sum() == (data.target == 0).sum()
    assert not set(map(tuple, training.to_numpy())) & set(map(tuple, held_out.to_numpy()))


def test_the_report_comes_first_and_is_of_rows_that_were_not_trained_on(quick, tmp_path, capsys, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    captured = capsys.readouterr()
    page, report = tmp_path / "demo" / "breast-cancer.html", tmp_path / "demo" / "report.html"
    assert (
        captured.out.index(str(page))
        < captured.out.index("The algorithms of the paper")
        < captured.out.index(str(report))
    )
    model = load_model(tmp_path / "demo" / "breast-cancer.json")
    positive, scores = score_file(model, tmp_path / "demo" / "breast-cancer-new.csv")
    auc = f"{roc_auc_score(positive, scores):.4f}"
    assert f"AUC {auc}, 95 % interval" in captured.out
    assert auc in page.read_text("utf-8")
    assert "of 100 pairs of a positive and a negative row" in captured.out
    assert len(captured.out.splitlines()) + len(captured.err.splitlines()) < 40
    assert opened == []  # nobody looks at a screen here
    nothing: Any = None
    written = demo.DemoReport(page, nothing, 0)  # the same report again
    monkeypatch.setattr(demo, "demo_report", lambda directory: written)
    assert main(["demo", "--out", str(tmp_path / "demo"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["example"] == [str(page)]
    assert found["report"] == [str(report)]


def test_a_pipe_gets_a_line_for_each_quarter_of_the_runs(capsys):
    runs = [Run("digits", "SOLAM", split, split) for split in range(129)]
    display = RunDisplay(few_lines=True)
    display.start(runs, 0)
    for number, one in enumerate(runs):
        display.step(Outcome(one, "no memory" if number == 5 else "", auc=0.9))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert "FAILED: no memory" in lines[0]
    assert [line.split(" of ")[0] for line in lines[1:]] == ["32", "64", "96"]


@pytest.mark.parametrize(
    ("display", "terminal", "expected"), [("", True, False), (":0", True, True), (":0", False, False)]
)
def test_a_browser_opens_only_where_someone_can_see_it(monkeypatch, display, terminal, expected):
    monkeypatch.setattr(demo.sys, "platform", "linux")
    for name in ("WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", display)
    for stream in (demo.sys.stdin, demo.sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    assert demo._has_screen() is expected


def test_the_legend_of_the_table_explains_what_occurs(tmp_path):
    """A table with cells of the paper of which some are marked, one without marks, and one of other sets."""
    fill(tmp_path)
    every = {(cell.set, cell.algorithm): cell for cell in tables.summarise(read_all(tmp_path / "rows")[0])}
    plain = {key: cell for key, cell in every.items() if not cell.mark}
    assert set(plain) != set(every)
    for cells in (every, plain, {key: replace(cell, paper=None) for key, cell in plain.items()}):
        words = publish.legend(cells)
        for kind, mark in publish.MARKS.items():
            assert (f"{mark}:" in words) == any(cell.mark == kind for cell in cells.values())
        assert ("is marked only" in words) == any(cell.mark for cell in cells.values())
        assert ("then the paper's cell" in words) == any(cell.paper for cell in cells.values())
