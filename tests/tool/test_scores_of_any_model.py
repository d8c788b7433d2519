"""Columns of scores that any model has made: evaluated, compared, and put beside a model of this package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from scipy.optimize import brentq
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score, roc_curve
from tool_data import make_model, write_libsvm

from vrspam.cli import main
from vrspam.data import DataError
from vrspam.data.source import Source
from vrspam.measures.compare import compare as compare_rows
from vrspam.measures.rows import ScoredRows
from vrspam.metrics import (
    calibration_measures,
    compare_aucs,
    concordance_test,
    delong_test,
    roc_auc_ci,
    sensitivity_at_specificity,
)
from vrspam.metrics.roc import Ranked
from vrspam.metrics.thresholds import Curve
from vrspam.report.stops import Stops
from vrspam.tool import compare, evaluate, make_report, save_model, score_file, train

RNG = np.random.default_rng(7)
N = 600
SICK = RNG.random(N) < 0.35
COMMON = RNG.normal(size=N)
FRAME = pd.DataFrame(
    {
        "größe 0": COMMON + SICK,
        "größe 1": RNG.normal(size=N),
        "old": np.round(COMMON + RNG.normal(size=N) + SICK, 1),  # with ties, and outside 0 to 1
        "new": 1.0 / (1.0 + np.exp(-(COMMON + 2.0 * SICK - 1.0))),
        "noise": RNG.random(N),
        "sex": RNG.choice(["f", "m"], N),
        "age": RNG.integers(20, 80, N),
        "patient": np.arange(N) // 3,
        "weight": RNG.random(N) + 0.1,
        "sick": np.where(SICK, "yes", "no"),
    }
)
COLUMNS = ["old", "new", "noise"]


@pytest.fixture
def path(tmp_path):
    FRAME.to_csv(tmp_path / "scored.csv", index=False)
    return tmp_path / "scored.csv"


# -- one sort ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_what_follows_from_one_sort_is_what_scikit_learn_finds(ties, weighted):
    rng = np.random.default_rng(1)
    positive = rng.random(5_000) < 0.2
    scores = rng.normal(size=5_000) + positive
    scores = np.round(scores, 1) if ties else scores
    weights = np.where(rng.random(5_000) < 0.1, 0.0, rng.random(5_000)) if weighted else None
    curve = Curve.of(positive, scores, weights)
    false, true, thresholds = roc_curve(positive, scores, drop_intermediate=False, sample_weight=weights)
    np.testing.assert_allclose(curve.hits / curve.positives, true, atol=1e-12)
    np.testing.assert_allclose(curve.alarms / curve.negatives, false, atol=1e-12)
    np.testing.assert_array_equal(curve.thresholds[1:], thresholds[1:])
    wanted = average_precision_score(positive, scores, sample_weight=weights)
    assert curve.average_precision == pytest.approx(wanted, abs=1e-12)
    table = pd.DataFrame({"sick": positive.astype(int), "score": scores})
    beside: dict[str, Any] = {} if weights is None else {"weights": "w"}
    found = evaluate(table if weights is None else table.assign(w=weights), target="sick", scores="score", **beside)
    for specificity in (0.8, 0.9, 0.95, 0.99):
        wanted = sensitivity_at_specificity(positive, scores, specificity, sample_weight=weights)
        assert found.sensitivity[specificity] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("kind", ["normal", "near", "ties", "huge", "zeros", "last bits"])
def test_scores_are_sorted_as_they_are(kind):
    rng = np.random.default_rng(2)
    values = rng.normal(size=9_000)
    made = {
        "normal": values,
        "near": 0.5 + 1e-9 * values,
        "ties": np.round(values, 1),
        "huge": 1e300 * values,
        "zeros": rng.choice([0.0, -0.0, 1e-50, -1e-50, 1.0], 9_000),
        "last bits": np.nextafter(np.round(values, 2), rng.choice([-9.0, 9.0], 9_000)),
    }[kind]
    order = Ranked.of(values > 0.0, made).order
    np.testing.assert_array_equal(np.sort(order), np.arange(9_000))
    np.testing.assert_array_equal(made[order], np.sort(made)[::-1])


def test_thinned_curves_move_by_no_more_than_asked():
    rng = np.random.default_rng(4)
    positive = rng.random(30_000) < 0.1
    curve = Curve.of(positive, rng.normal(size=30_000) + positive)
    stops = Stops.of(curve, 0.01)
    kept = np.searchsorted(curve.called, stops.hits + stops.alarms)
    precision = curve.hits / np.maximum(curve.called, 1.0)
    for share in (curve.hits / curve.positives, curve.alarms / curve.negatives, precision):
        for a, b in pairwise(kept):
            assert b == a - 1 or np.abs(share[b : a + 1] - share[a]).max() <= 0.01 + 1e-12
    assert kept.size < 1_000


@pytest.mark.parametrize("weighted", [False, True])
def test_calibration_of_many_rows_is_that_of_each_row(weighted):
    """With each row a group of its own rows are not taken together."""
    rng = np.random.default_rng(5)
    odds = rng.normal(size=60_000)
    positive, chance = rng.random(60_000) < 1.0 / (1.0 + np.exp(-0.8 * odds)), 1.0 / (1.0 + np.exp(-odds))
    weights = rng.random(60_000) if weighted else None
    found = calibration_measures(positive, chance, sample_weight=weights)
    exact = calibration_measures(positive, chance, sample_weight=weights, groups=np.arange(60_000))
    np.testing.assert_allclose(np.array(found), np.array(exact), atol=2e-5)
    assert abs(found.slope.value - 0.8) < 0.05  # five standard errors


# -- evaluate ----------------------------------------------------------------------------------------------------------


def test_numbers_are_those_of_scikit_learn_and_delong(path):
    found = evaluate(path, target="sick", scores=COLUMNS)
    assert list(found) == COLUMNS
    for name, one in found.items():
        assert one.auc == roc_auc_ci(SICK, FRAME[name])
        assert one.auc.auc == pytest.approx(roc_auc_score(SICK, FRAME[name]))
        assert one.average_precision == pytest.approx(average_precision_score(SICK, FRAME[name]))
    assert found["new"].brier == pytest.approx(brier_score_loss(SICK, FRAME["new"]))
    assert found["old"].brier is None  # some scores are negative
    for a, b, test, _ in found.comparison.pairs:
        assert test == delong_test(SICK, FRAME[a], FRAME[b])
    wanted = compare_aucs(SICK, {name: FRAME[name].to_numpy() for name in COLUMNS})
    assert [pair.adjusted_p for pair in found.comparison.pairs] == [pair.adjusted_p for pair in wanted]


def test_the_scores_of_a_model_have_the_numbers_of_the_model():
    model = make_model((1.0, 0.5), calibration=None)
    positive, scores = score_file(model, FRAME)
    of_model, of_column = evaluate(model, FRAME), evaluate(FRAME.assign(own=scores), target="sick", scores="own")
    np.testing.assert_array_equal(positive, SICK)
    assert of_column.flat() == of_model.flat()
    by_hand = evaluate(model, SICK, scores, cost_ratio=5.0, recall=0.7, max_fpr=0.2)
    table = FRAME.assign(own=scores)
    asked = evaluate(table, target="sick", scores="own", cost_ratio=5.0, recall=0.7, max_fpr=0.2)
    assert asked.flat() == by_hand.flat()


def test_weights_groups_and_levels(path):
    found = evaluate(path, target="sick", scores="new", weights="weight", groups="patient", by=["sex", "age"])
    weights, groups = FRAME["weight"].to_numpy(), FRAME["patient"].to_numpy()
    assert found.auc.auc == pytest.approx(roc_auc_score(SICK, FRAME["new"], sample_weight=weights))
    wanted_ci = roc_auc_ci(SICK, FRAME["new"], sample_weight=weights, groups=groups)  # added up in another order
    for name in ("auc", "low", "high", "standard_error", "freedom"):
        assert getattr(found.auc, name) == pytest.approx(getattr(wanted_ci, name), rel=1e-10)
    assert [(group.column, group.name) for group in found.subgroups][:2] == [("sex", "f"), ("sex", "m")]
    women = (FRAME["sex"] == "f").to_numpy()
    wanted = roc_auc_score(SICK[women], FRAME["new"][women], sample_weight=weights[women])
    assert found.subgroups[0].auc is not None
    assert found.subgroups[0].auc.auc == pytest.approx(wanted)
    assert sum(group.column == "age" for group in found.subgroups) == 4  # numbers, in quarters
    plain = evaluate(path, target="sick", scores="new", groups="none", weights="none")
    assert plain.auc == roc_auc_ci(SICK, FRAME["new"])


def test_levels_of_a_model_too(path):
    by_model = evaluate(make_model((1.0, 0.5)), path, by=["sex"])
    assert [group.name for group in by_model.subgroups] == ["f", "m"]


@pytest.mark.parametrize("kind", ["parquet", "excel", "arrow", "polars"])
def test_every_kind_of_table_gives_the_same(kind, tmp_path):
    table = FRAME
    if kind == "parquet":
        table = tmp_path / "scored.parquet"
        FRAME.to_parquet(table)
    elif kind == "excel":
        pytest.importorskip("openpyxl")
        table = tmp_path / "scored.xlsx"
        FRAME.to_excel(table, index=False)
    elif kind == "arrow":
        table = pa.Table.from_pandas(FRAME)
    else:
        table = pytest.importorskip("polars").from_pandas(FRAME)
    assert evaluate(table, target="sick", scores="new").auc.auc == pytest.approx(roc_auc_score(SICK, FRAME["new"]))


def test_only_the_columns_that_are_needed_are_read(path, monkeypatch):
    asked, plain = [], Source.blocks

    def blocks(self, wanted, *more):
        def listen(types):
            asked.append(set((found := wanted(types)).types))
            return found

        return plain(self, listen, *more)

    monkeypatch.setattr(Source, "blocks", blocks)
    evaluate(path, target="sick", scores=["old", "new"], by=["sex"])
    assert asked == [{"sick", "old", "new", "sex"}]


def test_rows_without_a_score_are_left_out_of_all_columns(tmp_path):
    table = FRAME.copy()
    table.loc[:4, "old"], table.loc[3:9, "new"] = np.nan, np.nan
    table.loc[20:22, "sick"] = None
    table.to_csv(tmp_path / "gaps.csv", index=False)
    with pytest.warns(UserWarning, match="without a label") as caught:
        found = evaluate(tmp_path / "gaps.csv", target="sick", scores=["old", "new"])
    texts = [str(warning.message) for warning in caught]
    assert "3 rows without a label were left out" in texts
    note = "scores are missing in 'old' (5 rows), 'new' (7 rows): 10 rows were left out of all columns, so that all are"
    assert any(text.startswith(note) for text in texts)
    there = table[["old", "new", "sick"]].notna().all(axis=1).to_numpy()
    assert found["old"].n == found["new"].n == there.sum() == N - 13
    assert found.comparison.test == delong_test(SICK[there], table["old"][there], table["new"][there])


def test_probabilities_are_told_from_scores(path):
    found = evaluate(path, target="sick", scores=["new", "old"])
    assert found.columns["new"].describe() == "all values lie between 0 and 1, so they are taken as probabilities"
    assert found.columns["old"].describe().startswith("some values lie outside 0 to 1")
    assert len(found["new"].bins) == 10


def test_what_looks_wrong_is_said():
    table = FRAME.assign(turned=-FRAME["old"], calls=(FRAME["new"] > 0.5).astype(int), same=1.0)
    found = evaluate(table, target="sick", scores=["turned", "calls", "noise", "same"])
    (said,) = found["turned"].notes
    assert said.startswith(
        f"column 'turned' ranks the wrong way round: its AUC is {roc_auc_score(SICK, -FRAME['old']):.3f}"
    )
    assert said.endswith("give the negative of the column, or add positive='no'")
    assert found["calls"].notes == ("column 'calls' holds only two different values, like decisions: give the scores "
                                    "behind them",)  # fmt: skip
    assert found["noise"].notes[0].startswith("column 'noise' may be guessing")
    assert any("holds only one value" in note for note in found["same"].notes)
    turned = evaluate(table, target="sick", scores="turned", positive="no")
    assert turned.auc.auc == pytest.approx(roc_auc_score(SICK, table["old"]))
    assert turned.notes == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scores": "noises"}, r"has no column 'noises' \(did you mean 'noise'\?\)"),
        ({"scores": "sex"}, "column 'sex' holds text that is not numbers: name another with scores"),
        ({"scores": "sick"}, "column 'sick' holds the labels: name another with scores"),
        ({"scores": []}, "scores= names no column"),
        ({"scores": "new", "target": None}, "which column of the frame holds the labels"),
        ({"scores": "new", "target": "age"}, "holds 60 different values"),
        ({"scores": "new", "positive": "maybe"}, "no row has the label 'maybe'"),
        ({"scores": "new", "by": ["town"]}, "has no column 'town'"),
        ({"scores": "new", "groups": "noise", "max_fpr": 0.1, "weights": "weight"}, "cannot be combined"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(options, words):
    with pytest.raises(ValueError, match=words) as refused:
        evaluate(FRAME, **{"target": "sick", **options})
    assert "\n" not in str(refused.value)


def test_an_infinite_score_stands_beyond_all_others():
    last = FRAME.index == 4
    infinite = FRAME.assign(new=FRAME["new"].where(~last, np.inf))
    large = FRAME.assign(new=FRAME["new"].where(~last, FRAME["new"].max() + 1.0))
    found, expected = (evaluate(rows, target="sick", scores="new").auc for rows in (infinite, large))
    assert (found.auc, found.low, found.high) == (expected.auc, expected.low, expected.high)


def test_rows_of_one_class_are_refused():
    with pytest.raises(DataError, match="the label column holds only yes: rows of two classes are needed"):
        evaluate(FRAME[SICK], target="sick", scores="new")
    with pytest.raises(DataError, match="no row has all scores"):
        evaluate(FRAME.assign(new=np.nan), target="sick", scores="new")
    with pytest.raises(TypeError, match="a model and rows, or one table"):
        evaluate(FRAME, FRAME, scores="new")


# -- compare -----------------------------------------------------------------------------------------------------------


def test_models_and_columns_are_compared_in_pairs(path):
    model = make_model((1.0, 0.5))
    ours = score_file(model, FRAME)[1]
    found = compare(model, "column:new", "column:noise", path)
    assert found.names == ("model 1", "new", "noise")
    wanted = compare_aucs(SICK, {"model 1": ours, "new": FRAME["new"], "noise": FRAME["noise"]})
    for pair, known in zip(found.pairs, wanted, strict=True):
        assert (pair.a, pair.b) == (known.a, known.b)
        assert asdict(pair.test) == pytest.approx(asdict(known.test), abs=1e-12)
        assert pair.adjusted_p == pytest.approx(known.adjusted_p)
    assert compare("column:old", "column:new", path, target="sick").test == delong_test(
        SICK, FRAME["old"], FRAME["new"]
    )
    with pytest.raises(DataError, match="trained for target='sick': leave target='sex' out"):
        compare(model, "column:new", path, target="sex")
    with pytest.raises(DataError, match="two models or columns"):
        compare("column:new", path, target="sick")


def test_rows_without_a_score_are_left_out_for_the_model_too(path):
    table = FRAME.copy()
    table.loc[:9, "new"] = np.nan
    with pytest.warns(UserWarning, match="10 rows were left out of all columns"):
        found = compare(make_model((1.0, 0.5)), "column:new", table)
    assert found.positive.size == N - 10


def test_a_file_without_names_has_no_columns_of_scores(tmp_path, capsys):
    path = write_libsvm(tmp_path / "rows.libsvm")
    model = train(path, features="linear")
    save_model(model, tmp_path / "m.json")
    words = "a LIBSVM file has no named columns; give a table"
    for compared in ([model, "column:x"], ["column:x", "column:y"]):
        with pytest.raises(ValueError, match=words):
            compare(*compared, path, target="label" if len(set(map(type, compared))) == 1 else None)
    with pytest.raises(DataError, match=r"beside=\['cat'\] needs the named columns of a table in memory"):
        make_report(path, beside=["cat"])
    with pytest.raises(DataError, match="a LIBSVM file has no named columns; leave by= out"):
        evaluate(model, path, by=["sex"])
    with pytest.warns(UserWarning, match="that the model was trained on"):
        assert evaluate(model, path, by=[]).n == 300
    assert main(["compare", str(tmp_path / "m.json"), "column:x", str(path)]) == 1
    assert words in capsys.readouterr().err


def test_what_columns_of_scores_alone_do_not_have_is_refused(path, capsys):
    both = ["compare", "column:new", "column:old", str(path), "--target", "sick"]
    assert main([*both, "--allow-missing", "age"]) == 2
    assert "--allow-missing is about the columns of a model: leave it out" in capsys.readouterr().err


# -- the commands ------------------------------------------------------------------------------------------------------


def said(capsys, *words, code=0):
    assert main(list(map(str, words))) == code
    told = capsys.readouterr()
    return told.out if code == 0 else told.err


def test_words_of_the_terminal(path, capsys):
    out = said(capsys, "evaluate", path, "--target", "sick", "--scores", "new,old,noise").splitlines()
    auc = {name: f"{roc_auc_score(SICK, FRAME[name]):.4f}" for name in COLUMNS}
    told = [" ".join(line.split()) for line in out]
    assert told[0] == f"new has the highest AUC, {auc['new']}; it ranks better than old and noise by more than chance."
    assert told[2:4] == ["rows 600", f"rows with sick = yes {SICK.sum()} ({100 * SICK.mean():.1f} %)"]
    place = told.index("new")
    assert told[place + 1].startswith(f"AUC {auc['new']}, 95 % interval ")
    assert "scores all values lie between 0 and 1, so they are taken as probabilities" in told
    assert "Paired tests; adjusted: for 3 pairs, by Holm's method" in told
    tests = [line for line in told if " minus " in line]
    assert [line.partition(" +")[0] for line in tests] == ["new minus old", "new minus noise", "old minus noise"]
    aucs = told.index("scores AUC 95 % interval")
    assert dict(line.split()[:2] for line in told[aucs + 1 : aucs + 4]) == auc


def test_json_of_one_column_is_flat_and_of_several_nested(path, capsys):
    one = json.loads(said(capsys, "evaluate", path, "--target", "sick", "--scores", "new", "--json"))
    assert one["auc"] == pytest.approx(roc_auc_score(SICK, FRAME["new"]))
    assert one["probabilities"] is True
    both = json.loads(said(capsys, "evaluate", path, "--target", "sick", "--scores", "old,new", "--json"))
    assert both["columns"]["new"] == one
    assert both["pairs"][0]["p_value"] == delong_test(SICK, FRAME["old"], FRAME["new"]).p_value


def test_one_page_for_all_columns(path, tmp_path, capsys):
    html = tmp_path / "page.html"
    said(capsys, "evaluate", path, "--target", "sick", "--scores", "new,old,noise", "--by", "sex", "--html", html)
    text = html.read_text("utf-8")
    headings = ["The columns side by side", "Choose a threshold", "Scores", "Is it worth acting on?", "Groups"]
    found = [part.split("</h2>")[0] for part in text.split("<h2>")[1:]]
    assert found == [*headings, "Where the scores come from"]
    assert "<title>new, old and noise on scored.csv</title>" in text
    assert "adjusted: for 3 pairs, by Holm" in text
    assert "Calibration of noise" in text
    assert "Calibration of old" not in text  # whose scores are no probabilities
    assert "half-way between" not in text  # a score of 0 means nothing here
    assert text.count("Precision and recall of new and old and noise.") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["model.json", "scored.csv", "--scores", "new"], "--scores names columns of one table"),
        (["scored.csv"], "name the table after the model; or columns of scores"),
        (["model.json", "scored.csv", "--target", "sick"], "the model knows its labels: leave --target out"),
        (["scored.csv", "--scores", "new", "--target", "sick", "--allow-missing", "age"], "leave it out"),
    ],
)
def test_the_two_forms_of_evaluate_are_not_mixed(words, sentence, capsys):
    assert sentence in said(capsys, "evaluate", *words, code=2)


def test_compare_takes_any_mixture(path, tmp_path, capsys):
    save_model(make_model((1.0, 0.5)), tmp_path / "ours.json")
    html = tmp_path / "both.html"
    mixture = [tmp_path / "ours.json", "column:new", "column:noise"]
    out = said(capsys, "compare", *mixture, path, "--target", "sick", "--html", html)
    assert re.search(r"^ours\.json +0\.\d{4}  0\.", out, re.M)
    assert re.search(r"^  new minus noise +\+0\.\d{4}  \+", out, re.M)
    assert "ours.json, new and noise on scored.csv" in html.read_text("utf-8")
    values = json.loads(said(capsys, "compare", *mixture[:2], path, "--max-fpr", "0.2", "--json"))
    assert values["p_value"] == pytest.approx(
        delong_test(SICK, score_file(make_model((1.0, 0.5)), FRAME)[1], FRAME["new"]).p_value
    )
    assert "partial_p_value" in values
    three = json.loads(said(capsys, "compare", *mixture, path, "--json"))
    assert [(pair["a"], pair["b"]) for pair in three["pairs"]][:2] == [("ours.json", "new"), ("ours.json", "noise")]
    assert "two models or columns" in said(capsys, "compare", "column:new", path, "--target", "sick", code=2)
    assert "which column" in said(capsys, "compare", "column:new", "column:old", path, code=1)


# -- beside a report ---------------------------------------------------------------------------------------------------


def test_another_model_is_put_beside_ours():
    columns = ["größe 0", "größe 1", "new", "noise", "sick"]
    report = make_report(FRAME[columns], "sick", features="linear", rows=0, beside=["new", "noise"])
    alone = make_report(FRAME[["größe 0", "größe 1", "sick"]], "sick", features="linear", rows=0)
    assert report.evaluation.flat() == alone.evaluation.flat()  # they are no features
    assert report.left_out == ("new", "noise")
    found, facts = report.beside, report.model.training
    assert found is not None
    assert found.names == ("this model", "new", "noise")
    ours = report.evaluation.scores
    for name, test in ((pair.b, pair.test) for pair in found.pairs[:2]):
        plain = delong_test(SICK, ours, FRAME[name])
        assert test.auc_a == pytest.approx(
            facts["corrected_auc"], abs=1e-9
        )  # a mean of folds, less what the choice took
        assert test.auc_b == pytest.approx(roc_auc_score(SICK, FRAME[name]), abs=0.02)  # of the same folds
        assert 1.4 < test.standard_error / plain.standard_error < 1.8  # folds share training rows
    assert found.pairs[0].test.difference < 0.0  # `new` is better, and so it says


def test_the_report_says_when_the_other_model_is_better(path, tmp_path, capsys):
    html = tmp_path / "report.html"
    words = [
        "report",
        path,
        "--target",
        "sick",
        "--drop",
        "old,noise,weight,age",
        "--features",
        "linear",
        "--html",
        html,
    ]
    out = said(capsys, *words, "--beside", "new", "--groups", "patient")
    assert "new ranks better than this model: by " in out
    assert "a model that was not trained on it, nor on rows of its group." in out
    text = html.read_text("utf-8")
    assert "<h2>Beside new</h2>" in text
    assert "new ranks better than this model" in text
    values = json.loads(said(capsys, *words, "--beside", "new", "--groups", "patient", "--json"))["beside"]
    groups = FRAME["patient"].to_numpy()
    assert values["scores"]["new"]["auc"] == pytest.approx(roc_auc_score(SICK, FRAME["new"]), abs=0.02)  # mean of folds
    wanted = roc_auc_ci(SICK, FRAME["new"], groups=groups)
    width = values["scores"]["new"]["high"] - values["scores"]["new"]["low"]
    assert 0.95 < width / (wanted.high - wanted.low) < 1.7  # wider, as folds share training rows
    assert values["pairs"][0]["b"] == "new"


def test_a_model_that_is_turned_round_is_told_as_evaluate_tells_it():
    table = FRAME[["größe 0", "größe 1", "sick"]].assign(turned=-FRAME["old"])
    report = make_report(table, "sick", features="linear", rows=0, beside=["turned", "turned"])
    (wanted,) = evaluate(table, target="sick", scores="turned").notes
    assert report.beside is not None
    assert report.beside.names == ("this model", "turned")  # a column that is named twice is one model
    (found,) = report.beside.notes  # its AUC is a mean over folds
    assert re.sub(r"0\.\d+", "", found) == re.sub(r"0\.\d+", "", wanted)
    assert wanted.endswith("give the negative of the column, or add positive='no'")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_levels_of_a_column_without_any_value(kind, tmp_path):
    table = FRAME[["größe 0", "größe 1", "sex", "sick"]].assign(empty=np.nan)
    table.to_csv(tmp_path / "t.csv", index=False) if kind == "csv" else table.to_parquet(tmp_path / "t.parquet")
    asked: Any = {"features": "linear", "rows": 0, "drop": ["sex"]}
    report = make_report(tmp_path / f"t.{kind}", "sick", by=["empty", "sex", "sex"], **asked)
    assert [(group.column, group.name, group.rows) for group in report.groups] == [
        ("empty", "missing", N),
        *(("sex", name, int((FRAME["sex"] == name).sum())) for name in ("f", "m")),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"beside": ["sick"]}, "beside= and target='sick' name the same column"),
        ({"beside": ["nwe"]}, "has no column 'nwe'"),
        ({"beside": ["sex"]}, "column 'sex' holds text that is not numbers: name another with beside"),
        ({"beside": ["new"], "streaming": True}, "cannot be combined"),
        ({"beside": "new"}, "must be names of columns, not one text"),
    ],
)
def test_columns_beside_are_checked(options, words):
    with pytest.raises(ValueError, match=words):
        make_report(FRAME, "sick", features="linear", rows=0, **options)


def test_the_optimism_of_a_choice_is_taken_from_the_first_alone():
    rng = np.random.default_rng(0)
    positive = rng.random(400) < 0.3
    a, b = (rng.normal(size=400) + positive for _ in range(2))
    found = compare_rows({"ours": ScoredRows(positive, a), "other": ScoredRows(positive, b)}, optimism=0.01)
    plain, free = roc_auc_ci(positive, a), delong_test(positive, a, b)
    ours, other = found.intervals
    assert ours.auc == pytest.approx(roc_auc_score(positive, a) - 0.01)
    assert (ours.low, ours.high) == pytest.approx((plain.low - 0.01, plain.high - 0.01))
    assert other.auc == pytest.approx(roc_auc_score(positive, b))
    test = found.pairs[0].test
    assert test.auc_a == pytest.approx(ours.auc)
    assert test.difference == pytest.approx(free.difference - 0.01)
    assert test.standard_error == pytest.approx(free.standard_error)


@pytest.mark.parametrize("form", ["within", "times"])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_optimism_of_a_choice_moves_the_test_and_leaves_its_width(form, grouped):
    """Degrees of freedom are those of the same test without optimism: 40 groups of one row and one of 60 are few."""
    rng = np.random.default_rng(1)
    positive = rng.random(100) < 0.4
    a, b = (rng.normal(size=100) + positive for _ in range(2))
    groups = np.minimum(np.arange(100), 40) if grouped else None
    times = rng.exponential(size=100) if form == "times" else None
    more: dict[str, Any] = {"groups": groups, "times": times, "within": None if form == "times" else np.arange(100) % 3}
    columns = {"ours": ScoredRows(positive, a, **more), "other": ScoredRows(positive, b, **more)}
    plain, moved = (compare_rows(columns, optimism=less) for less in (0.0, 0.01))
    before, after = plain.pairs[0].test, moved.pairs[0].test
    assert after.auc_a == pytest.approx(before.auc_a - 0.01)
    assert (after.low, after.high) == pytest.approx((before.low - 0.01, before.high - 0.01))
    half = (after.high - after.difference) / after.standard_error
    freedom = brentq(lambda df: stats.t.ppf(0.975, df) - half, 0.9, 1e6)
    assert after.p_value == pytest.approx(2.0 * stats.t.sf(abs(after.z), freedom))
    if grouped:
        assert freedom < 6.0  # 40 groups would have 40


def test_groups_that_do_not_differ_are_said_too(tmp_path, capsys):
    rng = np.random.default_rng(0)
    sick = rng.random(400) < 0.3
    table = {"sick": sick.astype(int), "score": rng.normal(size=400) + sick, "clinic": rng.choice(["a", "b"], 400)}
    pd.DataFrame(table).to_csv(tmp_path / "scored.csv", index=False)
    command = ["evaluate", str(tmp_path / "scored.csv"), "--target", "sick", "--scores", "score", "--by", "clinic"]
    assert main(command) == 0
    assert "No level of clinic differs from the other rows by more than chance" in " ".join(
        capsys.readouterr().out.split()
    )


# -- times, orders and strata ------------------------------------------------------------------------------------------


def timed_rows(n=240):
    """Rows with times, some equal and some censored, a grade, queries, and two scores of the risk."""
    rng = np.random.default_rng(9)
    risk = rng.normal(size=n)
    time, stop = np.ceil(20 * rng.exponential(np.exp(-risk))), np.ceil(30 * rng.exponential(size=n))
    values = {"months": np.minimum(time, stop), "died": np.where(time <= stop, "yes", "no")}
    values |= {"grade": np.digitize(risk, [-1.0, 0.0, 1.0]), "query": rng.integers(0, 40, n).astype(str)}
    values |= {"cox": np.round(risk + rng.normal(size=n), 1), "forest": risk + 2.0 * rng.normal(size=n)}
    return pd.DataFrame({**values, "weight": rng.random(n) + 0.1, "sex": rng.choice(["f", "m"], n)})


def share_of_pairs(rows, upper, score, weights=None):
    """The weighted share of pairs (i above j) in the order of a score, a tie counting one half; one pair at a time."""
    weights = np.ones(len(rows)) if weights is None else weights
    won = total = 0.0
    for i, a in enumerate(rows.itertuples()):
        for j, b in enumerate(rows.itertuples()):
            if upper(a, b):
                mass = weights[i] * weights[j]
                won += mass * (0.5 + 0.5 * np.sign(score[i] - score[j]))
                total += mass
    return won / total


def dies_first(a, b):
    return a.died == "yes" and (a.months < b.months or (a.months == b.months and b.died == "no"))


FORMS: dict[str, tuple[dict[str, Any], Callable[[Any, Any], bool]]] = {
    "times": ({"target": "months", "event": "died"}, dies_first),
    "times inside": ({"target": "months", "event": "died", "within": "query"}, dies_first),
    "order": ({"target": "grade", "event": "none"}, lambda a, b: a.grade > b.grade),
    "inside": ({"target": "died", "within": "query"}, lambda a, b: a.died == "yes" and b.died == "no"),
}


@pytest.mark.parametrize("form", FORMS)
def test_scores_of_times_orders_and_strata_are_measured_by_their_pairs(form):
    rows, (asked, upper) = timed_rows(), FORMS[form]
    weights = rows["weight"].to_numpy()

    def counts(a, b):
        return upper(a, b) and ("within" not in asked or a.query == b.query)

    found = evaluate(rows, scores=["cox", "forest"], weights="weight", **asked)
    for name in ("cox", "forest"):
        wanted = share_of_pairs(rows, counts, rows[name].to_numpy(), weights)
        assert found[name].auc.auc == pytest.approx(wanted, abs=1e-12)
        assert found[name].auc.low < wanted < found[name].auc.high
        assert found[name].thresholds == {}
        assert found[name].brier is None
        assert found[name].curve is None
    ((a, b, test, _),) = found.comparison.pairs
    assert (a, b) == ("cox", "forest")
    assert test.difference == pytest.approx(found["cox"].auc.auc - found["forest"].auc.auc)
    assert ("concordance_index" in found["cox"].flat()) == (form != "inside")


def test_scores_of_times_have_the_number_of_scikit_survival_and_its_test():
    metrics = pytest.importorskip("sksurv.metrics")
    rows = timed_rows()
    died = rows["died"].to_numpy() == "yes"
    found = evaluate(rows, target="months", event="died", scores=["cox", "forest"], by=["sex"])
    for name in ("cox", "forest"):
        wanted = metrics.concordance_index_censored(died, rows["months"], rows[name])[0]
        assert found[name].auc.auc == pytest.approx(wanted, abs=1e-12)
    own = concordance_test(rows["months"], rows["cox"], rows["forest"], event=died)
    assert found.comparison.pairs[0].test == own
    assert [(group.name, group.rows) for group in found["cox"].subgroups] == sorted(rows["sex"].value_counts().items())
    part = rows["sex"].to_numpy() == "f"
    wanted = metrics.concordance_index_censored(died[part], rows["months"][part], rows["cox"][part])[0]
    first = found["cox"].subgroups[0].auc
    assert first is not None
    assert first.auc == pytest.approx(wanted, abs=1e-12)


def test_a_censored_last_row_and_missing_cells_change_what_they_should():
    rows = timed_rows()
    gaps = pd.concat([rows, rows.iloc[:2].assign(died=None), rows.iloc[:3].assign(cox=np.nan)])
    with pytest.warns(UserWarning, match="3 rows were left out"):
        found = evaluate(gaps, target="months", event="died", scores="cox")
    assert found.auc == evaluate(rows, target="months", event="died", scores="cox").auc
    assert found.n == len(rows)


def test_pages_words_and_json_of_times_and_strata(tmp_path, capsys):
    path, page = tmp_path / "scored.csv", tmp_path / "page.html"
    timed_rows().to_csv(path, index=False)
    words = ["evaluate", str(path), "--target", "months", "--event", "died", "--scores", "cox,forest"]
    assert main([*words, "--by", "sex", "--html", str(page)]) == 0
    told = capsys.readouterr().out
    assert "concordance index" in told
    assert "known to have had died = yes first" in told
    assert "No level of sex" in told
    text = page.read_text()
    for part in (
        "How long rows stay free of the event",
        "cox minus forest",
        "Concordance index of cox",
        "lowest third",
    ):
        assert part in text
    for part in ("Choose a threshold", "Calibration", "scored by a model", "ROC"):
        assert part not in text
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"]["cox"]["concordance_index"] == found["pairs"][0]["auc_a"]
    inside = ["evaluate", str(path), "--target", "died", "--within", "query", "--scores", "cox", "--html", str(page)]
    assert main(inside) == 0
    assert "AUC inside query" in capsys.readouterr().out
    assert "What inside query means" in page.read_text()
    assert "in training" not in page.read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "months", "event": "died", "max_fpr": 0.1}, "has no threshold"),
        ({"target": "died", "within": "query", "cost_ratio": 3.0}, "has no threshold"),
        ({"target": "months", "event": "nobody"}, "no column 'nobody'"),
        ({"target": "sex", "event": "died"}, "'sex' holds text that is not numbers"),
        ({"target": "cox", "event": "died"}, "'cox' says which rows are compared"),
        ({"target": "months", "event": "cox"}, "'cox' holds the labels"),
        ({"target": "died", "event": "died"}, "column 'died' holds the labels: name another with target="),
        ({"target": "died", "within": "cox"}, "'cox' says which rows are compared"),
        ({"target": "grade", "event": "none", "positive": "1"}, "an order has no label"),
        ({"target": "died", "within": "weight"}, "No two rows are comparable"),
    ],
)
def test_what_times_and_strata_do_not_have_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        evaluate(timed_rows(), scores=["cox", "forest"], **options)


def test_scores_of_times_that_point_the_wrong_way_are_told():
    rows = timed_rows()
    found = evaluate(rows.assign(cox=-rows["cox"]), target="months", event="died", scores="cox")
    (note,) = found.notes
    assert "wrong way round: its concordance index" in note
    assert "an earlier died = yes" in note
    assert "add" not in note
