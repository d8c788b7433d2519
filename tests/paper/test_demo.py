"""The demo: a table becomes a report, then the paper's algorithms run; little is printed, and it can be understood."""

from __future__ import annotations

import json
import shlex
import webbrowser
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from experiment_rows import fill
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier
from vrspam.cli import experiments, main
from vrspam.cli.commands import demo
from vrspam.cli.experiments import RunDisplay
from vrspam.paper import publish, run
from vrspam.paper.protocol import Run
from vrspam.paper.run import Experiment, Outcome, read_all
from vrspam.tool import report
from vrspam.tool.plan import TrainPlan


@pytest.fixture
def quick(monkeypatch):
    """A demo of straight lines that looks for no leaks, with made-up results of the paper's algorithms."""
    linear = partial(report.make_report, plan=TrainPlan(features="linear", ignore=["leak"]))

    def no_runs(protocol, directory, *, watcher, **options):
        fill(directory)
        watcher.start([], 129)
        return Experiment(directory, 129, 0)

    def no_figures(directory):
        return {"table": [], "figure": [], "report": [directory / "report.html"]}

    monkeypatch.setattr(report, "make_report", linear)
    monkeypatch.setattr(run, "run_experiment", no_runs)
    monkeypatch.setattr(publish, "publish", no_figures)


def test_the_table_is_that_of_scikit_learn(tmp_path):
    table = pd.read_csv(demo.write_table(tmp_path))
    data = load_breast_cancer(as_frame=True)
    assert len(table) == 569
    np.testing.assert_allclose(table["mean radius"], data.data["mean radius"], rtol=1e-5)
    np.testing.assert_array_equal(table["diagnosis"] == "malignant", data.target == 0)


def test_the_report_comes_first_and_is_of_rows_that_were_not_trained_on(quick, tmp_path, capsys, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    captured = capsys.readouterr()
    page, paper = tmp_path / "demo" / "breast-cancer.html", tmp_path / "demo" / "report.html"
    assert (
        captured.out.index(str(page))
        < captured.out.index("The algorithms of the paper")
        < captured.out.index(str(paper))
    )
    X, y = load_breast_cancer(return_X_y=True)
    seen = StratifiedKFold(5, shuffle=True, random_state=0)
    out_of_fold = cross_val_predict(
        make_pipeline(StandardScaler(), AUCClassifier()), X, y == 0, cv=seen, method="decision_function"
    )
    auc = float(captured.out.split("AUC ")[1].split(",")[0])
    assert auc == pytest.approx(roc_auc_score(y == 0, out_of_fold), abs=0.005)
    of_training_rows = make_pipeline(StandardScaler(), AUCClassifier()).fit(X, y == 0).score(X, y == 0)
    assert auc < of_training_rows - 0.003
    assert f"{auc:.3f}" in page.read_text("utf-8")
    assert "Of 100 pairs of a row with diagnosis = malignant and a row with diagnosis = benign, " in captured.out
    assert len(captured.out.splitlines()) + len(captured.err.splitlines()) < 40
    assert opened == []  # nobody looks at a screen here
    assert main(["demo", "--out", str(tmp_path / "demo"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["example"] == [str(page)]
    assert found["report"] == [str(paper)]


def test_the_command_that_it_shows_can_be_typed(quick, tmp_path, capsys):
    folder = tmp_path / "my demo"
    assert main(["demo", "--out", str(folder)]) == 0
    (shown,) = (line for line in capsys.readouterr().out.splitlines() if "vrspam report" in line)
    table = str(folder / "breast-cancer.csv")
    wanted = ["vrspam", "report", table, "--target", "diagnosis", "--positive", "malignant", "--html", "report.html"]
    assert shlex.split(shown) == wanted


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


def test_time_left_follows_from_the_work_done(capsys, monkeypatch):
    runs = [Run("digits", "SOLAM", split, split) for split in range(8)]
    now = iter(np.arange(0.0, 1000.0, 10.0))  # each run takes 10 s
    monkeypatch.setattr(experiments.time, "monotonic", lambda: next(now))
    display = RunDisplay(few_lines=True)
    display.start(runs, 0)
    for one in runs:
        display.step(Outcome(one, auc=0.9))
    # 2 of 8 runs took 20 s, so that 6 others take 60 s
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"{done} of 8 runs are done, {80 - 10 * done} s left" for done in (2, 4, 6)]


def test_a_stopped_demo_says_how_to_go_on(quick, tmp_path, capsys, monkeypatch):
    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_experiment", stop)
    assert main(["demo", "--out", str(tmp_path)]) == 130
    assert "the same command goes on from here" in capsys.readouterr().err


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
    every = {(cell.set, cell.algorithm): cell for cell in publish.summarise(read_all(tmp_path / "rows")[0])}
    plain = {key: cell for key, cell in every.items() if not cell.mark}
    assert set(plain) != set(every)
    for cells in (every, plain, {key: replace(cell, paper=None) for key, cell in plain.items()}):
        words = publish.legend(cells)
        for kind, mark in publish.MARKS.items():
            assert (f"{mark}:" in words) == any(cell.mark == kind for cell in cells.values())
        assert ("is marked only" in words) == any(cell.mark for cell in cells.values())
        assert ("then the paper's cell" in words) == any(cell.paper for cell in cells.values())
