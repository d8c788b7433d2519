"""What a report says beside its numbers: doubts, how rows were kept apart, singular and plural, directions of text."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from tool_data import write

from vrspam.cli import main
from vrspam.metrics import AUCInterval, Estimate, calibration_measures
from vrspam.model.outcome import Outcome
from vrspam.report.blocks import Paragraph
from vrspam.report.html import as_html
from vrspam.report.pages.report import report_page
from vrspam.report.pictures.bars import bars
from vrspam.report.sections import model as section_of_model
from vrspam.report.slider import explorer
from vrspam.report.stops import Stops
from vrspam.report.words.auc import doubts_of_column
from vrspam.report.words.probabilities import calibration_numbers, describe_benefit, describe_calibration
from vrspam.tool.plan import TrainPlan
from vrspam.tool.report import make_report

QUICK = ["--features", "linear", "--folds", "2", "--rows", "0"]


def visits(n=240, slope=2.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    sick = slope * x + rng.logistic(size=n) > 0
    return pd.DataFrame(
        {
            "x": x,
            "z": rng.normal(size=n),
            "patient": np.arange(n) // 4,
            "day": np.arange(n),
            "mass": rng.random(n) + 0.1,
        }
    ).assign(sick=np.where(sick, "yes", "no"))


def page_of(frame, tmp_path, *more):
    data, html = str(write(frame, tmp_path / "t.csv")), tmp_path / "t.html"
    assert main(["report", data, "--target", "sick", "--html", str(html), "--drop", "day", *QUICK, *more]) == 0
    return html.read_text("utf-8")


def test_noise_is_doubted_first_on_the_page_in_the_terminal_and_as_json(tmp_path, capsys):
    frame = visits(slope=0.0, seed=3)
    text = re.sub(r"</?span[^>]*>", "", page_of(frame, tmp_path))
    printed = capsys.readouterr()
    doubt = re.search(r"the 95 % interval of its AUC, (0\.\d{3}) to 0\.\d{3}, holds 0\.5", text)
    assert doubt is not None
    assert float(doubt[1]) <= 0.5
    assert text.index("<aside") < doubt.start() < text.index("Choose a threshold</h2>")
    assert doubt[0] in printed.err
    model, data = str(tmp_path / "m.json"), str(tmp_path / "t.csv")
    train = ["train", data, "--target", "sick", "--drop", "day", "--features", "linear", "--folds", "2"]
    assert main([*train, "--model", model]) == 0
    assert "the model may be guessing: the 95 % interval of its AUC, " in capsys.readouterr().err
    other = str(write(visits(slope=0.0, seed=4), tmp_path / "other.csv"))
    assert main(["evaluate", model, other]) == 0
    assert "holds 0.5" in capsys.readouterr().err
    for command in ([*train, "--model", model], ["evaluate", model, other]):
        assert main([*command, "--json"]) == 0
        assert "holds 0.5" in json.loads(capsys.readouterr().out)["warnings"][0]
    page_of(frame, tmp_path, "--json")
    assert "holds 0.5" in json.loads(capsys.readouterr().out)["warnings"][0]
    assert "holds 0.5" not in page_of(visits(slope=3.0), tmp_path)
    assert "holds 0.5" not in capsys.readouterr().err


def test_a_doubt_names_what_was_measured():
    outcome = Outcome("months", 1, times="months")
    (doubt,) = doubts_of_column("cox", outcome, AUCInterval(0.54, 0.49, 0.59, 0.025, 0.95, "pairs"))
    assert (
        doubt == "column 'cox' may be guessing: the 95 % interval of its concordance index, 0.490 to 0.590, holds 0.5"
    )


def test_what_is_severe_stands_above_the_doubt(tmp_path, capsys):
    frame = visits(n=480, slope=0.0, seed=3)
    frame.loc[frame.index % 2 == 0, "sick"] = None
    text = page_of(frame, tmp_path)
    assert text.index("240 of 480 rows") < text.index("the model may be guessing") < text.index("</aside>")
    lines = capsys.readouterr().err.splitlines()
    severe = next(place for place, line in enumerate(lines) if line.startswith("severe: "))
    assert any("the model may be guessing" in line for line in lines[severe + 1 :])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--groups", "patient"], "2-fold cross-validation, groups in one part each"),
        (["--groups", "patient", "--holdout", "0.4"], "kept from the training, groups in one part each"),
        (["--time", "patient"], "2-fold cross-validation, each fold later than the rows it was trained on"),
        (["--time", "patient", "--holdout", "0.4"], "kept from the training, the latest ones"),
        (["--weights", "mass"], "rows with sick = yes, by weight"),
    ],
)
def test_how_rows_were_kept_apart_is_said(tmp_path, more, words):
    assert words in page_of(visits(), tmp_path, *more)


def test_one_is_not_plural(tmp_path, monkeypatch):
    path = write(visits().drop(columns=["patient", "day"]), tmp_path / "t.csv")
    report = make_report(path, "sick", plan=TrainPlan(features="additive", n_splits=2), rows=0)
    monkeypatch.setattr(section_of_model, "FIRST_CURVES", 1)
    monkeypatch.setattr(section_of_model, "MOST_CURVES", 2)
    text = report_page(report, data_name="t.csv").html()
    assert "<summary>1 more column</summary>" in text
    assert "1 column that matters less is not drawn." in text


def test_a_single_column_does_not_interact(tmp_path):
    path = write(visits()[["x", "sick"]], tmp_path / "t.csv")
    report = make_report(path, "sick", plan=TrainPlan(features="kernel", n_splits=2), rows=0)
    text = report_page(report, data_name="t.csv").html()
    assert "Which columns interact" not in text
    assert "of its variance" not in text


def test_text_from_right_to_left_does_not_turn_the_sentence(tmp_path):
    frame = visits().drop(columns=["patient", "day"]).rename(columns={"sick": "מצב"})
    data, html = str(write(frame, tmp_path / "t.csv")), tmp_path / "t.html"
    assert main(["report", data, "--target", "מצב", "--html", str(html), *QUICK]) == 0
    text = html.read_text("utf-8")
    assert "Of 100 pairs of a row with \u2068מצב\u2069 = yes and a row with \u2068מצב\u2069 = no," in text
    assert text.count("\u2068") == text.count("\u2069") - text.count("\u2066")


def test_an_option_is_not_broken_and_zero_has_no_sign():
    assert "<code>--rows</code> 0" in as_html(Paragraph("use --rows 0"))
    drawn = bars([("a", 0.5), ("b", -0.0001), ("c", -0.5)], "added")
    assert "-0.00<" not in drawn
    assert ">0.00<" in drawn
    numbers = re.findall(r"<g data-numbers><text[^>]*>([-+0-9.]+)</text></g>", drawn)
    assert numbers == ["+0.50", "0.00", "-0.50"]  # written as the reader's browser writes them


def test_a_probability_is_rounded_once():
    stops = Stops(np.zeros(1), np.ones(1), np.ones(1), 1.0, 1.0, np.array([0.390496]))
    _, data = explorer(stops, 0, {"positive": "yes", "negative": "no"}, 1.0, "")
    assert data["probabilities"] == [0.390496]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda z: z, "Probabilities agree with what was observed, as far as these rows tell."),
        (lambda z: 2.0 * z, "Probabilities are too extreme: the truth is nearer to the average than they say."),
        (lambda z: 0.5 * z, "Probabilities are too timid: the truth is further from the average than they say."),
        (lambda z: z + 0.7, "Probabilities are too high on average"),
        (lambda z: z - 0.7, "Probabilities are too low on average"),
    ],
)
def test_a_sentence_says_what_is_wrong_with_probabilities(change, sentence):
    rng = np.random.default_rng(0)
    z = rng.normal(size=20_000)
    found = calibration_measures(rng.random(z.size) < expit(z), expit(change(z)))
    (told,) = describe_calibration(found)
    assert sentence in told
    assert [number.name for number in calibration_numbers(found)][2] == "expected ÷ observed"
    assert describe_calibration(None) == calibration_numbers(None) == []


def test_the_worth_of_acting_is_said_beside_everyone_and_no_one():
    use = describe_benefit(0.2, Estimate(0.03, 0.02, 0.04), Estimate(0.1, 0.08, 0.12), 0.95)
    sentence = "If you act on rows with a probability of at least 20 %, the model is of use: per 100 rows 3.0 more"
    assert use.startswith(f"{sentence} true alerts")
    assert "than acting on everyone (2.0 to 4.0) and 10.0 more true alerts than acting on no one (8.0 to 12.0)" in use
    assert use.endswith("95 % intervals; one false alarm cancels 0.25 true alerts.")
    assert describe_benefit(0.5, Estimate(0, 0, 0), Estimate(0, 0, 0), 0.9).endswith("cancels 1 true alert.")
    worse = describe_benefit(0.8, Estimate(2.0, 1.9, 2.1), Estimate(-0.1, -0.2, -0.05), 0.9)
    assert "it is better to act on no one: per 100 rows" in worse
    assert "10.0 fewer true alerts than acting on no one (-20.0 to -5.0). 90 % intervals" in worse
    unknown = describe_benefit(0.5, Estimate(0.1, -0.1, 0.3), Estimate(0.1, 0.05, 0.2), 0.95)
    assert "these rows do not tell whether the model is of use" in unknown
