"""Texts of plots: different names stay different, none touches another, axes say what they are; styles of users."""

from __future__ import annotations

import itertools
import re
import unicodedata
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers import make_data
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_curve
from sklearn.model_selection import RepeatedStratifiedKFold

import vrspam.plotting
from vrspam import AUCClassifier, AUCClassifierCV, ConcordanceRankerCV, OneVsRestAUC, VRSPAMClassifier, coef_path
from vrspam._utils.texts import number_labels, shorten_distinct, wrap_distinct
from vrspam.inspection import Axis, PairEffect, Shape
from vrspam.metrics import net_benefit, roc_auc, roc_auc_ci
from vrspam.metrics.calibration import wilson
from vrspam.pictures.column_axis import value_labels
from vrspam.pictures.scores import score_edges
from vrspam.plotting.bars import value_text
from vrspam.plotting.style import BLUE, colours, mixed, new_figure, text_width

plotting: Any = vrspam.plotting  # the stubs of matplotlib know less of what is drawn than these tests
STATES = pd.Series(
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA "
    "RI SC SD TN TX UT VT VA WA WV WI WY DC"
).str.split()[0]
STYLES = ("default", "seaborn-v0_8-talk")  # of small and of large letters


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def curve(name, grid, importance=1.0, missing=None, part=""):
    grid = np.asarray(grid, dtype=float)
    value = np.linspace(-1.0, 1.0, grid.size)
    return Shape(name, grid, value, value - 0.1, value + 0.1, missing, importance, mean_score=value, part=part)


def levels(name, names, importance=1.0):
    value = np.linspace(-1.0, 1.0, len(names))
    return Shape(name, np.array(names, dtype=object), value, value - 0.1, value + 0.1, None, importance)


def nasty_shapes():
    rng = np.random.default_rng(0)
    quantiles = np.linspace(0.001, 0.999, 256)
    normal = np.quantile(rng.standard_normal(100_000), quantiles)
    stages = [f"chronic obstructive pulmonary disease, stage {stage}" for stage in ("I", "II", "III")]
    long = "the very long name of a column that measures systolic blood pressure in the"
    return [
        levels("state", STATES),
        levels("few states", ["TX", "WA", "MT", "CA", "WW", "MM", "WM", "MW", "WI"]),
        levels("diagnosis", [*stages, "none"]),
        curve("month", np.arange(1.0, 13.0)),
        curve("admitted (month)", np.arange(1.0, 13.0), part="month"),
        curve("admitted (weekday)", np.arange(1.0, 8.0), part="weekday"),
        curve("admitted (hour)", np.arange(0.0, 24.0), part="hour"),
        curve("admitted (year)", np.linspace(2019.0, 2023.4, 256), part="year"),
        curve("seen (year)", np.linspace(2021.2, 2021.3, 60), part="year"),
        curve("income", np.exp(10.0 + 2.0 * normal)),
        curve("tiny", 1e-6 * np.exp(3.0 * normal)),
        curve("change", np.sign(normal) * np.expm1(np.abs(normal) * 4.0), missing=(0.3, 0.2, 0.4)),
        curve("rooms", [1.0, 2.0, 3.0]),
        curve("numbers", [1234567.0, 1234568.0, 1234569.0]),
        curve(f"{long} morning", 130.0 + 15.0 * normal),
        curve(f"{long} evening", 130.0 + 15.0 * normal)._replace(together=("age", "weight", "height")),
    ]


def drawn_texts(ax):
    """The texts of axes that are drawn: labels of ticks inside the limits, titles, names of axes, remarks."""
    low, high = sorted(ax.get_xlim())
    ticks = [
        text
        for place, text in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
        if low <= place <= high and text.get_text()
    ]
    others = [text for text in (ax.title, ax.xaxis.label, *ax.texts) if text.get_text()]
    return ticks, others


def touching(figure, texts):
    """Pairs of texts that overlap when drawn; slanted ones are compared by the distance of their lines."""
    renderer = figure.canvas.get_renderer()
    found = []
    for one, two in itertools.combinations(texts, 2):
        a, b = (text.get_window_extent(renderer) for text in (one, two))
        if one.get_rotation() == two.get_rotation() == 45.0:
            apart = abs(a.x1 - b.x1) * np.sin(np.pi / 4)  # both end at their tick
            height = one.get_fontsize() / 72.0 * figure.dpi
            if apart < height:
                found.append((one.get_text(), two.get_text()))
        elif a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1:
            found.append((one.get_text(), two.get_text()))
    return found


def laid_out(figure):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure).draw()
    return figure


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("columns", [1, 3])
def test_no_text_of_a_panel_touches_another(style, columns):
    with plt.style.context(style):
        shapes = {shape.name: shape for shape in nasty_shapes()}
        figure = laid_out(plotting.plot_shapes(shapes, most=16, n_cols=columns))
        every = []
        for ax in figure.axes:
            ticks, others = drawn_texts(ax)
            assert touching(figure, ticks) == [], ax.get_title()
            assert touching(figure, [*others, *ticks]) == [], ax.get_title()
            assert len({text.get_text() for text in ticks}) == len(ticks)
            every += [ax.title]
        assert touching(figure, every) == []
        titles = [ax.get_title() for ax in figure.axes]
        assert len(set(titles)) == len(titles)


def test_panels_say_how_many_levels_they_leave_out_and_what_is_logarithmic():
    figure = plotting.plot_shapes({shape.name: shape for shape in nasty_shapes()}, most=16)
    below = {ax.get_title(): ax.get_xlabel() for ax in figure.axes}
    assert below["state"] == "12 of 51 categories: the largest effects"
    assert below["few states"] == ""
    assert below["income"] == below["tiny"] == "log scale"
    assert below["change"].startswith("log scale beyond ±")
    for ax in figure.axes:
        assert (ax.get_xscale() != "linear") == ("log scale" in ax.get_xlabel())


def test_whole_numbers_months_weekdays_and_dates_are_marked_as_such():
    figure = laid_out(plotting.plot_shapes({shape.name: shape for shape in nasty_shapes()}, most=16))
    axes = {ax.get_title(): ax for ax in figure.axes}
    assert all(float(tick).is_integer() for tick in axes["month"].get_xticks())

    def labels(title):
        return [text.get_text() for text in drawn_texts(axes[title])[0]]

    assert labels("admitted (month)")[:2] == ["Jan", "Mar"]
    assert labels("admitted (weekday)") == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert labels("admitted (hour)")[:2] == ["0 h", "6 h"]
    years = labels("admitted (year)")
    assert years == [str(year) for year in map(int, years)]
    for label, tick in zip(labels("seen (year)"), axes["seen (year)"].get_xticks(), strict=True):
        day = pd.Timestamp("1970-01-01") + pd.Timedelta(days=(tick - 1970.0) * 365.2425)
        assert abs(day - pd.Timestamp(label)) < pd.Timedelta(hours=12)
    assert labels("numbers") == ["1234567", "1234568", "1234569"]
    assert value_labels("month", np.array([1.0, 12.0])) == ["Jan", "Dec"]
    assert value_labels("", np.array([1.0, 12.0])) == ["1", "12"]


def test_the_legend_explains_the_marks_that_occur_and_no_others():
    def words(*shapes):
        figure = plotting.plot_shapes({shape.name: shape for shape in shapes})
        return [text.get_text() for legend in figure.legends for text in legend.get_texts()]

    plain = curve("age", np.arange(20.0))._replace(mean_score=None)
    assert words(plain) == ["what the column adds", "95 % band of the shape, from the folds"]
    assert "average score of rows with this value" in words(curve("age", np.arange(20.0)))
    few = curve("parts", np.arange(3.0))  # drawn as points
    assert words(curve("age", np.arange(20.0)), few).count("average score of rows with this value") == 1
    assert words(levels("town", ["a", "b"])) == ["what the column adds", "95 % interval, from the folds"]
    assert len(words(plain._replace(missing=(0.1, 0.0, 0.2)))) == 2  # a missing value is named at its point


# letters as they come, and what is hard: control characters, and what they look like when they are written out
look_alikes = st.lists(st.sampled_from(["\x1f", "\x00", "\\u001f", "a", " (2)"]), min_size=1, max_size=4)
any_names = st.text(min_size=1, max_size=60) | look_alikes.map("".join)


@given(st.lists(any_names, min_size=1, max_size=12, unique=True), st.integers(8, 30))
@example(["\x1f"], 8)
@example(["\x1f", "\\u001f"], 12)
@example(["\x1f", "\\u001f", "\\u001f (2)"], 12)
def test_shortened_names_stay_different_short_and_printable(names, most):
    short = shorten_distinct(names, most)
    assert len(set(short)) == len(names)
    assert all(len(text) <= most for text in short)
    for name, text in zip(names, short, strict=True):
        assert ElementTree.fromstring(f"<name>{escape(text)}</name>") is not None  # as pictures hold it
        is_printable = all(unicodedata.category(letter) not in ("Cc", "Cs", "Cn") for letter in name)
        if is_printable and len(name) <= most and "…" not in text:
            assert text == name


def test_names_that_differ_anywhere_can_be_told_apart():
    for names in (
        [f"{'x' * 30}{i}{'y' * 30}" for i in range(5)],  # in the middle
        [f"{'x' * 30}{'y' * 30}{i}" for i in range(5)],  # at the end
        [f"{i}{'x' * 60}" for i in range(5)],  # at the beginning
    ):
        assert len(set(shorten_distinct(names, 12))) == 5
    wrapped = wrap_distinct([f"{'long name ' * 12}{i}" for i in range(3)], 20)
    assert len(set(wrapped)) == 3
    assert all(len(line) <= 20 for text in wrapped for line in text.split("\n"))
    assert all(text.count("\n") <= 1 for text in wrapped)


def test_numbers_have_the_digits_that_tell_them_apart():
    assert number_labels(np.array([0.5, 1.0])) == ["0.5", "1"]
    assert len(set(number_labels(np.array([0.1, 0.1 + 1e-12])))) == 2


def test_the_width_of_a_text_is_that_of_its_drawing():
    figure, axes = new_figure(1, 1, (4, 3))
    text = axes[0, 0].text(0, 0, "WWW mm 123", fontsize=10)
    laid_out(figure)
    assert text_width("WWW mm 123", 10.0) == pytest.approx(text.get_window_extent().width / figure.dpi * 72, rel=0.1)


@pytest.mark.parametrize("names", [("others", "positives"), ("negatives", f"positives ({'a long label ' * 4})")])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("size", [(3.2, 2.6), (9.0, 3.0)])
def test_the_legend_of_scores_is_above_all_bars(names, style, size):
    rng = np.random.default_rng(0)
    positive = rng.random(400) < 0.4
    for scores in (rng.standard_normal(400) + positive, np.where(positive, 1.0, 0.0), -1.0 * positive):
        with plt.style.context(style):
            figure, axes = new_figure(1, 1, size)
            ax = plotting.plot_scores(positive, scores, threshold=0.2, names=names, ax=axes[0, 0])
            laid_out(figure)
            bottom = ax.get_legend().get_window_extent().y0
            top = max(patch.get_window_extent().y1 for patch in ax.patches)
            assert bottom >= top - 1.0


def test_logarithmic_axes_say_so():
    history = {"passes": [1, 2, 3], "gap": [1e-1, 1e-3, 1e-5], "objective": [3.0, 2.0, 1.0], "stationarity": [1, 1, 1]}
    axes = [
        plotting.plot_cv(np.full((3, 4), 0.9), [0.1, 1.0, 10.0]),
        plotting.plot_path([0.1, 1.0], np.ones((2, 2))),
        plotting.plot_convergence(history),
        plotting.plot_convergence(history, y="objective"),
    ]
    for ax in axes:
        for axis in (ax.xaxis, ax.yaxis):
            assert (axis.get_scale() == "log") == ("log scale" in axis.label.get_text())
    assert all(float(tick).is_integer() for tick in axes[2].get_xticks())


def test_the_style_of_the_user_is_kept_and_nothing_is_changed():
    before = dict(mpl.rcParams)
    plotting.plot_shapes({"age": curve("age", np.arange(20.0))})
    plotting.plot_coefficients(["a"], [1.0], label="x")
    assert dict(mpl.rcParams) == before
    with plt.style.context("dark_background"):
        figure = plotting.plot_shapes({"age": curve("age", np.arange(20.0))})
        (ax,) = figure.axes
        assert figure.get_facecolor() == (0.0, 0.0, 0.0, 1.0)
        assert ax.get_lines()[1].get_color() == mpl.rcParams["axes.prop_cycle"].by_key()["color"][0]
        assert "#000000" not in colours()
    with mpl.rc_context({"axes.facecolor": "none", "text.color": "white"}):
        assert mixed(0.0) == "#000000"
    with mpl.rc_context({"axes.facecolor": "none"}):
        assert mixed(0.0) == "#ffffff"
    with mpl.rc_context({"font.size": 15.0}):
        (ax,) = plotting.plot_shapes({"age": curve("age", np.arange(20.0))}).axes
        assert ax.yaxis.label.get_fontsize() == 15.0
    (ax,) = plotting.plot_shapes({"age": curve("age", np.arange(20.0))}).axes
    assert ax.get_lines()[1].get_color() == BLUE
    assert ax.yaxis.label.get_fontsize() == 10.0


@pytest.fixture(scope="module")
def fitted():
    X, y = make_data(200, 4)
    frame = pd.DataFrame(X, columns=["age", "dose", "weight", "price $"])
    return AUCClassifierCV([1e-2, 1e-1], features="linear", cv=3).fit(frame, y), frame, y


def test_plots_take_an_estimator_or_a_frame(fitted):
    model, frame, y = fitted
    scores = model.decision_function(frame)
    false, true, _ = roc_curve(y, scores)
    for given_scores in (scores, pd.Series(scores), model, pd.DataFrame({"m": scores}), pl.DataFrame({"m": scores})):
        ax = plotting.plot_roc(y, given_scores, X=frame)
        np.testing.assert_allclose(ax.get_lines()[1].get_data(), [false, true])
        plotting.plot_precision_recall(y, given_scores, X=frame)
        plotting.plot_lift(y, given_scores, X=frame)
        plotting.plot_scores(y, given_scores, X=frame)
        plt.close("all")
    alone = plotting.plot_roc(model)
    held_out = model.out_of_fold_
    assert f"AUC {roc_auc(held_out.positive, held_out.scores):.3f}" in alone.get_legend().get_texts()[0].get_text()
    several = {"ours": model, "theirs": LogisticRegression().fit(frame, y)}
    texts = [text.get_text() for text in plotting.plot_roc(y, several, X=frame).get_legend().get_texts()]
    assert [text.split(":")[0] for text in texts] == ["ours", "theirs"]
    for labels, given_scores, words in (
        (y, model, "give X as well"),
        (model, y, "labels come first"),
        (y, scores[:-1], r"y_score has shape \(199,\); it needs one number for each of 200 labels"),
        (y, {"a": np.append(scores[:-1], np.nan)}, "'a' contains NaN, which has no rank"),
        (y, {}, "give those of at least one model"),
        (scores, None, "give labels and scores"),
    ):
        with pytest.raises(ValueError, match=words):
            plotting.plot_roc(labels, given_scores)
    with pytest.raises(ValueError, match="shows one model"):
        plotting.plot_lift(y, several, X=frame)
    with pytest.raises(ValueError, match="shows one model"):  # the first alone was drawn
        plotting.plot_reliability(y, several, X=frame)
    for draw, name in ((plotting.plot_reliability, "probability"), (plotting.plot_decision_curve, "probability")):
        with pytest.raises(ValueError, match=f"{name} must hold numbers from 0 to 1: convert scores to probabilities"):
            draw(y, scores)


def test_reliability_groups_rows_itself(fitted):
    model, frame, y = fitted
    probabilities = model.predict_proba(frame)[:, 1]
    order = np.argsort(probabilities)
    groups = np.array_split(order, 10)
    ax = plotting.plot_reliability(y, probabilities)
    dots = next(line for line in ax.get_lines() if line.get_marker() == "o")
    positive = np.asarray(y) == model.classes_[1]
    expected = [[probabilities[rows].mean() for rows in groups], [positive[rows].mean() for rows in groups]]
    np.testing.assert_allclose(dots.get_data(), expected)
    again = plotting.plot_reliability(y, model, X=frame).get_lines()[-1]
    np.testing.assert_allclose(again.get_data(), expected)
    assert len(plotting.plot_reliability(model).get_lines()[-1].get_xdata()) == 10
    with pytest.raises(ValueError, match="calibration='sigmoid'"):
        plotting.plot_reliability(AUCClassifierCV([0.1], calibration=None, cv=2).fit(frame.to_numpy(), y))


def test_decision_curves_are_drawn_by_counting_rows(fitted):
    model, frame, y = fitted
    chance, positive = model.predict_proba(frame)[:, 1], np.asarray(y) == model.classes_[1]
    ax = plotting.plot_decision_curve(y, {"model": model, "coin": np.full(len(y), 0.5)}, X=frame)
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert list(lines) == ["act on all rows", "act on none", "model", "coin"]
    for name, values in (("model", chance), ("coin", np.full(len(y), 0.5)), ("act on all rows", np.ones(len(y)))):
        at, found = lines[name].get_data()
        gains = [np.mean(np.where(values >= t, np.where(positive, 1.0, -t / (1.0 - t)), 0.0)) for t in at]
        np.testing.assert_allclose(found, gains, atol=1e-12)
    assert len(ax.collections) == 2  # a band for each model
    held_out = plotting.plot_decision_curve(model).get_lines()[-1]
    assert held_out.get_label() == "model"


def test_a_weight_of_two_is_a_row_twice(fitted):
    """Plots of an estimator that was fitted with weights; so are curves of scikit-learn, and histograms by hand."""
    _, frame, y = fitted
    times = np.random.default_rng(1).integers(1, 4, len(y))
    model = AUCClassifierCV([1e-2, 1e-1], cv=3).fit(frame, y, sample_weight=times)
    held_out = model.out_of_fold_
    labels, scores = np.repeat(held_out.positive, times), np.repeat(held_out.scores, times)
    chance = model.calibration_(scores)
    for draw in (plotting.plot_roc, plotting.plot_precision_recall, plotting.plot_lift):
        alone, given_rows = (ax.get_lines() for ax in (draw(model), draw(labels, scores)))
        for one, two in zip(alone, given_rows, strict=True):
            np.testing.assert_allclose(one.get_xydata(), two.get_xydata(), atol=1e-9)
    assert f"AUC {roc_auc(labels, scores):.3f}" in plotting.plot_roc(model).get_legend().get_texts()[0].get_text()
    edges = score_edges(held_out.positive, held_out.scores)
    bars = plotting.plot_scores(model).patches
    for side, patch in ((False, bars[0]), (True, bars[2])):
        count = np.histogram(np.clip(scores[labels == side], edges[0], edges[-1]), edges)[0]
        assert np.asarray(patch.get_xy())[:, 1].max() == pytest.approx(count.max() / count.sum())
    axes = plotting.plot_decision_curve(model), plotting.plot_decision_curve(labels, chance)
    alone, given_rows = (ax.get_lines() for ax in axes)
    for one, two in zip(alone, given_rows, strict=True):
        np.testing.assert_allclose(one.get_ydata(), two.get_ydata(), atol=1e-12)
    own = model.calibration_(held_out.scores)
    groups = np.array_split(np.argsort(own), 10)
    dots = plotting.plot_reliability(model).get_lines()[-1]
    both = own, held_out.positive
    expected = [[np.average(values[rows], weights=times[rows]) for rows in groups] for values in both]
    np.testing.assert_allclose(dots.get_data(), expected)


def test_rows_that_several_folds_hold_out_count_once(fitted):
    """Ten repeats hold out each row ten times: intervals are as wide as those of one score for each row."""
    _, frame, _ = fitted
    n, folds = len(frame), RepeatedStratifiedKFold(n_splits=3, n_repeats=10, random_state=0)
    y = frame["age"] + 2.0 * frame["age"].std() * np.random.default_rng(2).standard_normal(n) > 0.0
    model = AUCClassifierCV([1e-1], cv=folds).fit(frame, y)
    held_out = model.out_of_fold_
    assert held_out.places.size == 10 * n
    mean = np.bincount(held_out.places, held_out.scores) / 10.0
    positive = np.asarray(y) == model.classes_[1]
    low, high = map(float, re.findall(r"[\d.]+", plotting.plot_roc(model).get_legend().get_texts()[0].get_text())[-2:])
    once = roc_auc_ci(positive, mean, method="logit")
    assert high - low == pytest.approx(once.high - once.low, rel=0.15)
    (band,) = (part for part in plotting.plot_decision_curve(model).collections if isinstance(part, PolyCollection))
    found = net_benefit(positive, model.calibration_(mean))
    corners = np.asarray(band.get_paths()[0].vertices)
    at_half = corners[np.isclose(corners[:, 0], 0.5), 1]
    assert np.ptp(at_half) == pytest.approx(found.high[49] - found.low[49], rel=0.15)
    ax = plotting.plot_reliability(model)
    (bars,) = (part for part in ax.collections if isinstance(part, LineCollection))
    share = np.asarray(ax.get_lines()[-1].get_ydata(), dtype=float)
    for (_, bottom), (_, top), seen in zip(*np.asarray(bars.get_segments()).transpose(1, 0, 2), share, strict=True):
        least, most = wilson(np.array(seen), np.array(n / 10.0))
        assert top - bottom == pytest.approx(most - least, rel=0.1)


def test_models_of_pairs_have_no_curves_of_their_rows(fitted):
    _, frame, y = fitted
    ranker = ConcordanceRankerCV([1e-1], cv=3).fit(frame, np.arange(len(y)) % 50)
    strata = AUCClassifierCV([1e-1], cv=3).fit(frame, y, strata=np.arange(len(y)) // 20)
    for model in (ranker, strata):
        for draw in (plotting.plot_roc, plotting.plot_lift, plotting.plot_decision_curve):
            with pytest.raises(ValueError, match="this model ranks pairs of rows, so it has no curves of all rows"):
                draw(model)
    assert plotting.plot_roc(y, strata, X=frame).get_lines()


@pytest.mark.parametrize(
    "limits", [{"positive": True}, {"monotonic_cst": {"age": -1, "dose": 1}}, {"bounds": (-0.03, 0.03)}], ids=str
)
def test_paths_keep_the_limits_of_the_estimator(fitted, limits):
    _, frame, y = fitted
    model = AUCClassifierCV([1e-2, 1e-1], [1e-3], cv=3, **limits).fit(frame, y)
    free = AUCClassifier(1e-2, 1e-3).fit(frame, y).coef_[0]
    lines = {line.get_label(): line for line in plotting.plot_path(model).get_lines()}
    drawn = np.array([lines[name].get_ydata() for name in frame])
    for place, l2 in enumerate([1e-2, 1e-1]):
        own = AUCClassifier(l2, 1e-3, **limits).fit(frame, y).coef_[0]
        np.testing.assert_allclose(drawn[:, place], own, atol=1e-5)
    assert np.abs(drawn[:, 0] - free).max() > 1e-3


def test_paths_of_other_losses_are_refused(fitted):
    _, frame, y = fitted
    model = AUCClassifierCV([1e-1], loss="squared_hinge", cv=3).fit(frame, y)
    assert hasattr(model, "moments_")
    with pytest.raises(ValueError, match="an estimator with the squared loss"):
        plotting.plot_path(model)


def test_bars_of_several_classes_are_drawn_class_by_class(fitted):
    _, frame, _ = fitted
    model = OneVsRestAUC().fit(frame, np.arange(len(frame)) % 3)
    with pytest.raises(
        ValueError, match=r"a row of coefficients for each class: give names and model.coef_\[k\], with"
    ):
        plotting.plot_coefficients(model)
    ax = plotting.plot_coefficients(list(frame), model.coef_[1], label="coefficient")
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], model.coef_[1])


@pytest.mark.parametrize("missing", [(-3.0, -3.5, -2.5), (0.0, -9.0, 9.0), (9.0, 8.0, 10.0), (0.5, 0.4, 0.6)])
def test_the_word_missing_is_inside_its_panel(missing):
    for one in (curve("age", np.arange(20.0)), levels("town", ["a", "b", "c"])):
        one = one._replace(missing=missing)
        others = [curve(f"c{k}", np.linspace(0.0, 1.0, 20)) for k in range(3)]
        figure = laid_out(plotting.plot_shapes({s.name: s for s in (one, *others)}))
        ax = next(ax for ax in figure.axes if ax.get_title() == one.name)
        (word,) = (text for text in ax.texts if text.get_text() == "missing")
        box, inside = word.get_window_extent(), ax.get_window_extent()
        assert inside.y0 <= box.y0 < box.y1 <= inside.y1


@pytest.mark.filterwarnings("ignore::UserWarning")  # of three iterations
def test_paths_and_convergence_take_an_estimator(fitted):
    model, frame, y = fitted
    ax = plotting.plot_path(model)
    lines = {line.get_label(): line for line in ax.get_lines()}
    coefs = coef_path(model.moments_, model.l2s_)[:, 0]
    order = np.argsort(model.l2s_)
    for j, name in enumerate(frame):
        np.testing.assert_allclose(lines[name].get_ydata(), coefs[order, j])
    assert "chosen" in lines
    with pytest.raises(ValueError, match="columns as they are"):
        plotting.plot_path(AUCClassifierCV([0.1], features="additive", cv=2).fit(frame, y))
    online = VRSPAMClassifier(max_iter=3, random_state=0, tol=0.0).fit(frame, y)
    for given_history in (online, online.history_, {"one": online}):
        line = plotting.plot_convergence(given_history).get_lines()[0]
        np.testing.assert_array_equal(line.get_xdata(), online.history_["passes"])
    with pytest.raises(ValueError, match="history_"):
        plotting.plot_convergence(model)


def test_coefficients_take_a_series_or_a_dict():
    sizes = pd.Series({"age": 0.4, "dose": -0.1})
    for given_sizes in (sizes, sizes.to_dict()):
        ax = plotting.plot_coefficients(given_sizes, label="effect")
        assert [text.get_text() for text in ax.get_yticklabels()] == ["age", "dose"]
        assert [bar.get_width() for bar in ax.patches] == [0.4, -0.1]


@pytest.mark.filterwarnings("ignore::UserWarning")  # of rows without names
def test_contributions_are_those_of_explain_one(fitted):
    model, frame, _ = fitted
    row = frame.iloc[[5]]
    parts = model.explain_one(row)
    ax = plotting.plot_contributions(model, row)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[-1] == "score"
    by_size = sorted(parts, key=lambda name: -abs(parts[name]))
    assert [name.split(" = ")[0] for name in names[:-1]] == by_size
    assert f"age = {value_text(row['age'].iloc[0])}" in names
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths[:-1], [parts[name] for name in by_size])
    assert widths[-1] == pytest.approx(model.decision_function(row)[0])
    few = plotting.plot_contributions(parts, most=2)
    assert [text.get_text() for text in few.get_yticklabels()][2:] == [f"{len(parts) - 2} others", "score"]
    assert few.patches[-1].get_width() == pytest.approx(sum(parts.values()))
    for array in (row.to_numpy(), row.to_numpy()[0]):
        assert len(plotting.plot_contributions(model, array).patches) == len(parts) + 1
    nothing: dict[str, float] = {}
    for wrong in (model, nothing, [1, 2]):
        with pytest.raises(ValueError, match="an estimator and a row"):
            plotting.plot_contributions(wrong)
    with pytest.raises(ValueError, match="most must be"):
        plotting.plot_contributions(parts, most=0)


def test_contributions_name_values_of_dates_gaps_and_long_names():
    parts = {"admitted (month)": 0.3, "age": 0.2, "the very long name of a column, morning": 0.1}
    parts |= {"the very long name of a column, evening": 0.05}
    row = pd.DataFrame({"admitted": ["2021-05-04"], "age": [None], **{name: [7.0] for name in list(parts)[2:]}})
    names = [text.get_text() for text in plotting.plot_contributions(parts, row).get_yticklabels()]
    assert names[:2] == ["admitted (month) of 2021-05-04", "age = missing"]
    assert len(set(names)) == 5
    assert names[2].endswith(" = 7")
    assert names[3].endswith(" = 7")


def test_labels_of_heat_maps_stay_different():
    stages = tuple(f"chronic obstructive pulmonary disease, stage {stage}" for stage in ("I", "II", "III"))
    pair = PairEffect((Axis("a", stages, None), Axis("b", ("x", "y"), None)), 0.1, np.zeros((3, 2)))
    ax = plotting.plot_interactions([pair]).axes[0]
    assert len({text.get_text() for text in ax.get_xticklabels()}) == 3


def test_a_long_label_of_bars_stays_inside_the_figure():
    names = [f"a column with a rather long name, number {i}" for i in range(20)]
    for style in STYLES:
        with plt.style.context(style):
            ax = plotting.plot_coefficients(
                names, np.ones(20), label="standard deviation of what each adds to the score"
            )
            figure = ax.figure
            assert isinstance(figure, Figure)
            laid_out(figure)
            box = ax.xaxis.label.get_window_extent()
            assert box.x0 >= 0.0
            assert box.x1 <= figure.bbox.width
            assert touching(figure, ax.get_yticklabels()) == []


def test_limits_of_bins_stay_different_and_dates_are_dates():
    income = Axis("income", ("a to b", "b to c", "c to d"), np.array([1.0, 20_000.0, 3e5, 4e7]))
    month = Axis("seen (month)", ("1", "2", "12", "missing"), np.array([1.0, 1.0, 2.0, 12.0]), "month")
    when = Axis("seen (year)", ("a to b", "b to c"), np.array([2019.0, 2020.5, 2022.0]), "year")
    pairs = [
        PairEffect((income, month), 0.2, np.zeros((3, 4))),
        PairEffect((when, month), 0.1, np.zeros((2, 4))),
    ]
    first, second, _ = plotting.plot_interactions(pairs).axes
    assert [text.get_text() for text in first.get_xticklabels()] == ["1", "2e+04", "3e+05", "4e+07"]
    assert [text.get_text() for text in first.get_yticklabels()] == ["Jan", "Feb", "Dec", "missing"]
    assert [text.get_text() for text in second.get_xticklabels()] == ["2018-12-31", "2020-07-01", "2021-12-31"]


@pytest.mark.parametrize("width", [3.0, 5.0])
def test_small_axes_hold_their_legend_and_their_names(width):
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.3
    models = {f"model number {i} with a long name": rng.standard_normal(300) + positive for i in range(4)}
    figure, axes = new_figure(1, 1, (width, 0.8 * width))
    ax = plotting.plot_roc(positive, models, ax=axes[0, 0])
    laid_out(figure)
    legend, inside = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert legend.x0 >= inside.x0
    assert legend.y1 <= inside.y1
    for label in (ax.xaxis.label, ax.yaxis.label):
        box = label.get_window_extent()
        assert box.x0 >= 0.0
        assert box.y0 >= 0.0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height
