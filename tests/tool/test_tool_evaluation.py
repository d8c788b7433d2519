"""Numbers of an evaluation against brute force and scikit-learn, and what the pictures show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss, precision_score, roc_auc_score
from tool_data import make_model

from vrspam import VRSPAMClassifier, plotting
from vrspam.data import DataError
from vrspam.metrics import delong_test
from vrspam.metrics.calibration import Bin, calibration_error, reliability
from vrspam.model_selection.calibration import Sigmoid
from vrspam.plotting.style import new_figure, save_figure
from vrspam.report.words.comparisons import verdict
from vrspam.tool import compare, train
from vrspam.tool.evaluation import evaluate, score_file
from vrspam.tool.prediction import predict
from vrspam.tool.scores import comparison_picture

RNG = np.random.default_rng(0)
POSITIVE = RNG.random(300) < 0.3
SCORES = np.round(RNG.standard_normal(300) + POSITIVE, 1)  # with ties
FOUND = evaluate(make_model(), POSITIVE, SCORES, cost_ratio=3.0, recall=0.8)


def outcomes(threshold):
    called = threshold <= SCORES
    return (called & POSITIVE).sum(), (called & ~POSITIVE).sum()


CUTS = [*np.unique(SCORES), SCORES.max() + 1]


@pytest.mark.parametrize("length", [5, 60, 200])
def test_long_names_leave_room_for_the_curves(length):
    names = ["a" * length + ".json", "b-c" * (length // 3) + ".json"]
    figure = comparison_picture(POSITIVE, dict.fromkeys(names, SCORES))
    FigureCanvasAgg(figure).draw()
    whole = figure.bbox
    for ax in figure.axes:
        assert ax.get_window_extent().width > 0.35 * whole.width
        legend = ax.get_legend()
        assert legend
        extent = legend.get_window_extent()
        assert extent.x0 >= ax.get_window_extent().x0
        assert extent.x1 <= ax.get_window_extent().x1
        shown = [text.get_text().replace("\n", "") for text in legend.get_texts()]
        assert [text[:5] for text in shown] == [name[:5] for name in names]


def test_thresholds_by_brute_force():
    def youden(cut):
        hits, alarms = outcomes(cut)
        return hits / POSITIVE.sum() - alarms / (~POSITIVE).sum()

    def cost(cut):
        hits, alarms = outcomes(cut)
        return alarms + 3.0 * (POSITIVE.sum() - hits)

    chosen = FOUND.thresholds
    assert youden(chosen["youden"].threshold) == pytest.approx(max(map(youden, CUTS)))
    assert cost(chosen["cost"].threshold) == min(map(cost, CUTS))
    enough = [cut for cut in CUTS if outcomes(cut)[0] >= 0.8 * POSITIVE.sum()]
    assert chosen["recall"].threshold == max(enough)
    for at in chosen.values():
        hits, alarms = outcomes(at.threshold)
        assert at.sensitivity == pytest.approx(hits / POSITIVE.sum())
        assert at.specificity == pytest.approx(1 - alarms / (~POSITIVE).sum())
        assert at.precision == pytest.approx(precision_score(POSITIVE, at.threshold <= SCORES))
        assert at.share == pytest.approx((hits + alarms) / 300)


def test_calling_no_row_positive_can_cost_least():
    at = evaluate(make_model(), POSITIVE, -SCORES, cost_ratio=1e-3).thresholds["cost"]
    assert -SCORES.min() < at.threshold < np.inf  # a number that a file can hold
    assert (at.sensitivity, at.share, at.precision) == (0.0, 0.0, None)


@pytest.mark.parametrize(("recall", "found"), [(0.1, 1), (0.5, 5), (0.7, 7), (1.0, 10)])
def test_no_more_rows_are_called_than_the_recall_needs(recall, found):
    """If all positives are above all negatives, the curve is a vertical line, and each of its points is a threshold."""
    scores, positive = np.arange(20.0)[::-1], np.arange(20) < 10
    at = evaluate(make_model(), positive, scores, recall=recall).thresholds["recall"]
    assert (at.threshold, at.sensitivity) == (20.0 - found, found / 10)


def test_rounding_of_a_recall_costs_no_row():
    """0.55 · 100 is 55.00000000000001, and 55 of 100 positives are enough."""
    scores, positive = np.arange(200.0)[::-1], np.arange(200) < 100
    assert evaluate(make_model(), positive, scores, recall=0.55).thresholds["recall"].sensitivity == 0.55


def test_calibration_error_is_a_mean_over_rows():
    bins = (Bin(90, 0.2, 0.3), Bin(10, 0.9, 0.4))
    assert calibration_error(bins) == pytest.approx(0.9 * 0.1 + 0.1 * 0.5)


def test_flat_numbers():
    flat = FOUND.flat()
    assert flat["auc"] == pytest.approx(roc_auc_score(POSITIVE, SCORES))
    assert flat["auc_low"] < flat["auc"] < flat["auc_high"]
    assert (flat["n"], flat["positives"]) == (300, POSITIVE.sum())
    assert flat["average_precision"] == pytest.approx(average_precision_score(POSITIVE, SCORES))
    probabilities = 1 / (1 + np.exp(-(2.5 * SCORES - 0.1)))
    assert flat["brier"] == pytest.approx(brier_score_loss(POSITIVE, probabilities))
    slope = LogisticRegression(C=np.inf, tol=1e-10).fit((2.5 * SCORES - 0.1)[:, np.newaxis], POSITIVE).coef_[0, 0]
    assert flat["calibration_slope"] == pytest.approx(slope, rel=1e-4)
    assert flat["calibration_slope_low"] < slope < flat["calibration_slope_high"]
    assert flat["expected_by_observed"] == pytest.approx(probabilities.sum() / POSITIVE.sum())
    assert flat["calibration_intercept_low"] < flat["calibration_intercept"] < flat["calibration_intercept_high"]
    assert all(not isinstance(value, (dict, list, np.generic)) for value in flat.values())
    assert not any(
        key.startswith(("brier", "calibration"))
        for key in evaluate(make_model(calibration=None), POSITIVE, SCORES).flat()
    )


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1, 0.2])
def test_lift_is_the_mean_over_ways_to_break_ties(share):
    count = round(share * 300)
    rng = np.random.default_rng(1)
    found = []
    for _ in range(2000):
        order = np.lexsort((rng.random(300), -SCORES))[:count]
        found.append(POSITIVE[order].mean() / POSITIVE.mean())
    lift = evaluate(make_model(), POSITIVE, SCORES).lift[share]
    assert lift == pytest.approx(np.mean(found), abs=4 * np.std(found) / 44 + 1e-9)


def test_reliability_groups_are_those_of_scikit_learn():
    probabilities = np.random.default_rng(2).random(500)
    positive = np.random.default_rng(3).random(500) < probabilities
    bins = reliability(positive, probabilities)
    observed, predicted = calibration_curve(positive, probabilities, n_bins=10, strategy="quantile")
    np.testing.assert_allclose([b.observed for b in bins], observed)
    np.testing.assert_allclose([b.predicted for b in bins], predicted)
    assert sum(b.rows for b in bins) == 500
    assert len(reliability(positive, np.full(500, 0.5))) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [({"recall": 0.0}, "recall"), ({"cost_ratio": -1.0}, "cost_ratio"), ({"confidence": 2}, "conf")],
)
def test_bad_options(options, words):
    with pytest.raises(ValueError, match=words):
        evaluate(make_model(), POSITIVE, SCORES, **options)


def test_verdicts():
    better = delong_test(POSITIVE, SCORES, np.random.default_rng(4).random(300))
    assert verdict(better, "a", "b").startswith("a ranks better than b")
    assert verdict(delong_test(POSITIVE, np.random.default_rng(4).random(300), SCORES), "a", "b").startswith("b ranks")
    assert verdict(delong_test(POSITIVE, SCORES, SCORES), "a", "b").startswith("No difference")
    for confidence, words in ((0.95, "a ranks better"), (0.99, "No difference"), (0.98, "a ranks better")):
        doubtful = replace(better, p_value=0.015, confidence=confidence)
        assert verdict(doubtful, "a", "b").startswith(words)
    perfect = delong_test(POSITIVE, POSITIVE * 1.0, 1.0 - POSITIVE)
    assert "no test is possible" in verdict(perfect, "a", "b")


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.standard_normal((60, 2)), columns=["größe 0", "größe 1"])
    frame["probability"], frame["sick"] = 0.5, np.where(rng.random(60) < 0.4, "yes", "no")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv", frame


def test_two_models_are_compared_at_the_confidence_asked_for(table):
    path, frame = table
    X, positive = frame[["größe 0", "größe 1"]].to_numpy(), (frame["sick"] == "yes").to_numpy()
    coefs = ((1.0, 0.5), (0.2, -1.0))
    first, second = (make_model(coef) for coef in coefs)
    test, labels, scores = compare(first, second, path, confidence=0.6)
    np.testing.assert_array_equal(labels, positive)
    for found, coef in zip(scores, coefs, strict=True):
        np.testing.assert_allclose(found, X @ coef + 1 / 3, rtol=1e-12)
    assert test == delong_test(positive, *scores, confidence=0.6)


@pytest.mark.parametrize(
    "ignored",
    [{"within": "größe 0"}, {"times": np.arange(60.0)}, {"probabilities": np.full(60, 0.5)}, {"notes": ("a note",)}],
)
def test_what_a_table_says_itself_is_not_ignored(table, ignored):
    path, frame = table
    with pytest.raises(TypeError, match="strata, probabilities and notes of a file itself: leave them out"):
        evaluate(make_model((1.0, 0.5)), path, **ignored)
    if "within" not in ignored:  # which names the column of strata here
        with pytest.raises(TypeError, match="reads times, and makes probabilities and notes, itself: leave them out"):
            evaluate(frame, target="sick", scores="probability", **ignored)


def test_the_positive_label_may_be_a_number(table):
    _, frame = table
    zero, one, two = (dict[str, Any](positive=label) for label in (0, 1, 2))
    sick = (frame["sick"] == "yes").astype(int)
    frame, model = frame.assign(sick=sick), train(frame.assign(sick=sick), "sick", **zero, features="linear")
    assert model.positive == 0
    np.testing.assert_allclose(model.coef, -train(frame, "sick", **one, features="linear").coef, atol=1e-12)
    found = evaluate(frame, target="sick", scores="größe 0", **zero)
    assert found.auc.auc == pytest.approx(roc_auc_score(sick == 0, frame["größe 0"]))
    assert compare(model, "column:größe 0", frame, **zero).test.auc_b == pytest.approx(found.auc.auc)
    with pytest.raises(ValueError, match="no row has the label '2'; there are 0, 1"):
        train(frame, "sick", **two)


@pytest.mark.parametrize("name", ["score", "probability"])
def test_columns_named_as_a_result_are_not_handed_on(table, tmp_path, name):
    path, frame = table
    frame.rename(columns={"probability": name}).to_csv(path, index=False)
    with pytest.raises(DataError, match="cannot be copied"):
        predict(make_model(), path, tmp_path / "out.csv", ids=[name])
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(("label", "name"), [("yes", "positive"), ("no", "negative")])
def test_one_row_of_a_class_is_too_few(table, label, name):
    path, frame = table
    other = "no" if label == "yes" else "yes"
    frame.assign(sick=[label] + [other] * 59).to_csv(path, index=False)
    with pytest.raises(DataError, match=f"at least two {name} rows"):
        score_file(make_model(), path)


@pytest.mark.parametrize("calibration", [None, Sigmoid(1.0, 0.0)])
def test_a_file_without_rows_gives_one_with_the_same_columns(table, tmp_path, calibration):
    _, frame = table
    model, columns = make_model(calibration=calibration), []
    for rows in (frame, frame[:0]):
        rows.to_parquet(tmp_path / "rows.parquet")
        assert predict(model, tmp_path / "rows.parquet", tmp_path / "out.csv", ids=[]) == len(rows)
        columns.append(pd.read_csv(tmp_path / "out.csv").columns.tolist())
    assert (
        columns[0] == columns[1] == ["score"] + (["probability"] if calibration else []) + ["decision", "extrapolated"]
    )


def test_where_scores_may_be_written(table, tmp_path):
    path, frame = table
    with pytest.raises(DataError, match="make it first"):
        predict(make_model(), path, tmp_path / "nowhere" / "out.csv")
    with pytest.raises(DataError, match="must end in"):
        predict(make_model(), path, tmp_path / "out.txt")
    predict(make_model((1.0, 0.5)), path, tmp_path / "OUT.CSV.GZ")
    found = pd.read_csv(tmp_path / "OUT.CSV.GZ", compression="gzip")["score"]
    np.testing.assert_allclose(found, frame["größe 0"] + 0.5 * frame["größe 1"] + 1 / 3, rtol=1e-12)


# -- pictures -----------------------------------------------------------------------------------------------------


def axes():
    return new_figure(1, 1, (4, 4))[1][0, 0]


def area(line):
    x, y = line.get_data()
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2)


def test_roc_curve_encloses_the_auc():
    ax = plotting.plot_roc(POSITIVE, {"one": SCORES, "two": -SCORES}, ax=axes())
    curves = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    assert [area(line) for line in curves] == pytest.approx(
        [roc_auc_score(POSITIVE, SCORES), roc_auc_score(POSITIVE, -SCORES)]
    )
    assert str(curves[0].get_label()).startswith(f"one: AUC {roc_auc_score(POSITIVE, SCORES):.3f} [")


def test_long_curves_are_thinned():
    rng = np.random.default_rng(5)
    positive = rng.random(50_000) < 0.5
    scores = rng.standard_normal(50_000) + positive
    ax = plotting.plot_roc(positive, scores, ax=axes())
    assert np.size(ax.lines[1].get_xdata()) <= 2000
    assert area(ax.lines[1]) == pytest.approx(roc_auc_score(positive, scores), abs=1e-3)


def test_histograms_hold_all_rows():
    ax = plotting.plot_scores(POSITIVE, SCORES, threshold=0.3, ax=axes())
    for patch in ax.patches[1::2]:  # the outlines
        heights = np.asarray(patch.get_path().vertices)[:, 1]
        assert heights[1:-1:2].sum() == pytest.approx(1.0)
    legend = ax.get_legend()
    assert legend
    assert [text.get_text() for text in legend.get_texts()] == ["others", "positives", "threshold"]


def test_lift_curve_ends_at_one():
    line = plotting.plot_lift(POSITIVE, SCORES, ax=axes()).lines[0]
    assert [np.asarray(values)[-1] for values in line.get_data()] == [1.0, 1.0]


def test_convergence_of_a_fit():
    X = RNG.standard_normal((200, 3)) + POSITIVE[:200, None]
    one = VRSPAMClassifier(random_state=0).fit(X, POSITIVE[:200]).history_
    ax = plotting.plot_convergence(one, ax=axes())
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), one["passes"])
    assert ax.get_yscale() == "log"
    assert ax.get_legend() is None
    with pytest.raises(ValueError, match="history_"):
        plotting.plot_convergence({"passes": [1]}, ax=axes())


@pytest.mark.parametrize("bad", [{"y_true": [1, 1], "y_score": [1, 2]}, {"y_true": [0, 1], "y_score": [[1], [2]]}])
def test_bad_curves(bad):
    with pytest.raises(ValueError, match=r"at least 1 of each class|one number for each of 2 labels"):
        plotting.plot_roc(**bad, ax=axes())


def test_pictures_are_the_same_bytes_each_time(tmp_path):
    for end in ("png", "svg", "pdf"):
        contents = []
        for _ in range(2):
            ax = plotting.plot_roc(POSITIVE, SCORES, ax=axes())
            figure = ax.get_figure()
            assert isinstance(figure, Figure)
            contents.append(save_figure(figure, tmp_path / f"p.{end}").read_bytes())
        assert contents[0] == contents[1]
    with pytest.raises(ValueError, match=r"\.png, \.svg or \.pdf"):
        save_figure(new_figure(1, 1, (4, 4))[0], tmp_path / "p.bmp")
