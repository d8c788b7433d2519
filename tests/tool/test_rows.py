"""`vrspam rows`: what it says, what it refuses, and that parts keep groups whole."""

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vrspam.cli import main
from vrspam.metrics import rows_for_width
from vrspam.model_selection.learning_curve import LearningCurve
from vrspam.report.words.more_rows import describe_gain
from vrspam.tool import check, learning, make_report, report_page, rows


def patients(n=500, seed=0, strength=0.3):
    rng = np.random.default_rng(seed)
    sick = rng.random(n) < 0.3
    columns = {f"x{j}": rng.normal(size=n) + strength * sick for j in range(8)}
    return pd.DataFrame({**columns, "clinic": rng.choice(["a", "b"], n), "sick": np.where(sick, "yes", "no")})


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("rows") / "patients.csv"
    patients().to_csv(file, index=False)
    return str(file)


def test_the_curve_rises_and_its_numbers_fit_together():
    found = rows(patients(), "sick", width=0.05, difference=0.02)
    flat = found.flat()
    assert flat["n"] == 500
    assert flat["positives"] == found.positives == (patients()["sick"] == "yes").sum()
    assert flat["auc"] < flat["auc_at_2x"] < flat["auc_at_4x"]
    assert flat["gain_at_4x"] == pytest.approx(flat["auc_at_4x"] - flat["auc"])
    assert flat["auc_at_4x_low"] < flat["auc_at_4x"] < flat["auc_at_4x_high"]
    assert flat["rows_for_width"] == rows_for_width(flat["auc"], 0.05, known=(500, found.curve.error))
    assert flat["rows_for_difference"] > 500
    assert rows(patients(), "sick", features="linear").lines


def test_noise_gains_nothing():
    found = rows(patients(800, strength=0.0), "sick", features="linear")
    assert found.curve.at(800).low < 0.5 < found.curve.at(800).high
    assert found.curve.gain(4).low == 0.0


def test_parts_keep_groups_whole_and_share_out_both_classes(monkeypatch):
    rng, learn, seen = np.random.default_rng(0), learning.learning_curve, []

    def watch(given, part, **more):
        seen.append(part)
        return learn(given, part, **more)

    monkeypatch.setattr(learning, "learning_curve", watch)
    groups = np.repeat(np.arange(200), 3)
    positive = (rng.random(200) < 0.4)[groups]
    table = pd.DataFrame({"x": rng.normal(size=600), "id": groups, "fifth": np.arange(600) // 120, "sick": positive})
    asked: Any = {"features": "linear"}
    for name in ("id", "none"):
        rows(table, "sick", **asked, groups=name)
    part, alone = seen
    assert part.max() == 19
    assert all(np.unique(part[groups == group]).size == 1 for group in range(200))
    counts = np.array([[np.sum(side[alone == number]) for number in range(20)] for side in (positive, ~positive)])
    assert (np.ptp(counts, axis=1) <= 1).all()
    with pytest.raises(ValueError, match="needs 10 parts of whole groups with both classes, not 5"):
        rows(table, "sick", **asked, groups="fifth")


def test_the_command_prints_the_same_numbers(path, tmp_path, capsys):
    page = tmp_path / "rows.html"
    asked = ["rows", path, "--target", "sick", "--width", "0.05"]
    assert main([*asked, "--difference", "0.02", "--html", str(page)]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^500 rows, \d+ positive\.$", printed, re.M)
    assert "A 95 % interval of the AUC that is 0.05 wide takes" in printed
    assert "larger by 0.02, with a power of 80 %" in printed
    text = page.read_text("utf-8")
    assert "Learning curve" in text
    assert "four times as many" in text
    assert "How many does it take?" in text
    assert main([*asked, "--json"]) == 0
    flat = rows(path, "sick", width=0.05).flat()
    assert {name: value for name, value in json.loads(capsys.readouterr().out).items() if name in flat} == flat


def test_what_is_severe_stands_above_the_curve(path, tmp_path):
    frame = pd.read_csv(path)
    unlabelled = pd.concat([frame, frame.assign(sick=None)])
    unlabelled.to_csv(tmp_path / "half.csv", index=False)
    assert main(["rows", str(tmp_path / "half.csv"), "--target", "sick", "--html", str(tmp_path / "r.html")]) == 0
    text = (tmp_path / "r.html").read_text("utf-8")
    assert '<aside class="alert severe"' in text
    assert text.index("have no label") < text.index("How many more rows?</h2>")


def test_the_curve_of_a_page_is_drawn_by_the_seed(monkeypatch):
    learn, seen = learning.learning_curve, []

    def watch(given, part, **more):
        seen.append(more["seed"])
        return learn(given, part, **more)

    monkeypatch.setattr(learning, "learning_curve", watch)
    assert make_report(patients(), "sick", features="linear", rows=0, random_state=3).curve is not None
    assert seen == [3]


def test_no_remedy_is_told_that_rows_does_not_have():
    """Drift asks for folds along the time, and there is no curve of such folds."""
    rng = np.random.default_rng(12)
    day = pd.Timestamp("2015-01-01") + pd.to_timedelta(np.arange(3000), unit="D")
    level = rng.choice([-2.0, 2.0], 10)[np.arange(3000) // 300]
    x = rng.standard_normal(3000)
    odds = level + x
    table = pd.DataFrame({"x": x, "day": day, "sick": rng.random(3000) < 1.0 / (1.0 + np.exp(-odds))})
    assert "drift" in {one.code for one in check(table, "sick")}
    notes = rows(table, "sick", features="linear").notes
    assert notes
    assert not any("time=" in note for note in notes)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--width", "2"], 2, "--width 2.0 must be between 0 and 1"),
        (["--power", "1"], 2, "--power 1.0 must be between 0 and 1"),
        (["--features", "boosted"], 2, "--features boosted has no learning curve: give additive or linear"),
        (["--difference", "0.9"], 1, "--difference 0.9 is more than the AUC can rise"),
    ],
)
def test_what_has_no_answer_is_refused(path, capsys, options, code, words):
    assert main(["rows", path, "--target", "sick", *options]) == code
    assert words in capsys.readouterr().err


def test_few_rows_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="needs at least 30 rows of each class, and one has"):
        rows(patients(60), "sick")


def test_the_page_of_a_report_has_the_curve_where_rows_are_enough(tmp_path):
    report = make_report(patients(), "sick", features="linear", rows=0)
    text = report_page(report, data_name="patients").html()
    assert "How many more rows?" in text
    assert "Is it worth acting on?" in text
    few = make_report(patients(60), "sick", features="linear", rows=0)
    assert few.curve is None
    assert "How many more rows?" not in report_page(few, data_name="patients").html()


def test_a_curve_of_some_rows_says_so():
    rows = np.array([500.0, 1_000.0, 2_000.0])
    curve = LearningCurve(rows, np.array([0.70, 0.72, 0.73]), np.full(3, 1e-3), error=0.01, total=2_500)
    assert "at random" not in describe_gain(curve, lines=True)
    assert "drawn from 2,500 rows, taken at random" in describe_gain(replace(curve, total=9_000), lines=True)


def test_true_and_false_with_blanks_are_labels(tmp_path):
    from vrspam.tool import train

    rng = np.random.default_rng(0)
    x = rng.standard_normal(300)
    labels = np.where(rng.random(300) < 0.1, "", np.where(x + rng.standard_normal(300) > 0.0, "True", "False"))
    lines = [f"{value:.3f},{label}" for value, label in zip(x, labels, strict=True)]
    (tmp_path / "flags.csv").write_text("\n".join(["x,flag", *lines]) + "\n")
    model = train(tmp_path / "flags.csv", "flag", features="linear", positive="True")
    assert model.training["cv_auc"] > 0.7
