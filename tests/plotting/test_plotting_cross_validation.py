"""The plots of a grid show the numbers that were given."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from helpers import make_data
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from vrspam import AUCClassifier, AUCClassifierCV, SPAMClassifier
from vrspam.plotting import plot_coefficients, plot_cv, plot_path, plot_roc

L2S = np.array([1.0, 0.01, 0.1])


def new_axes():
    return Figure().subplots()


def lines(ax) -> dict[str, Any]:
    return {line.get_label(): line for line in ax.get_lines()}


def test_cv_draws_means_in_the_order_of_l2_with_a_band_of_one_standard_error():
    auc = np.random.default_rng(0).uniform(0.6, 0.9, (3, 2, 4))
    ax = plot_cv(auc, L2S, [0.0, 0.5], ax=new_axes())
    for j, name in enumerate(("l1 = 0", "l1 = 0.5")):
        x, y = lines(ax)[name].get_data()
        assert_allclose(x, [0.01, 0.1, 1.0])
        assert_allclose(y, auc[[1, 2, 0], j].mean(axis=1))
        band = np.asarray(ax.collections[j].get_paths()[0].vertices)
        error = auc[:, j].std(axis=1, ddof=1) / 2.0
        for l2, mean, half in zip(L2S, auc[:, j].mean(axis=1), error, strict=True):
            heights = band[np.isclose(band[:, 0], l2), 1]
            assert_allclose([heights.min(), heights.max()], [mean - half, mean + half])
    best = np.unravel_index(auc.mean(axis=2).argmax(), (3, 2))
    assert_allclose(lines(ax)["best"].get_data(), [[L2S[best[0]]], [auc[best].mean()]])
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "l2 (log scale)"
    assert "AUC" in ax.get_ylabel()


def test_cv_marks_the_chosen_point_and_refuses_one_off_the_grid():
    auc = np.random.default_rng(0).uniform(0.6, 0.9, (3, 1, 4))
    ax = plot_cv(auc, L2S, chosen=(0.1, 0.0), ax=new_axes())
    assert_allclose(lines(ax)["chosen"].get_data(), [[0.1], [auc[2, 0].mean()]])
    with pytest.raises(ValueError, match=r"l2 = 0\.3 is not a point of the grid"):
        plot_cv(auc, L2S, chosen=(0.3, 0.0), ax=new_axes())
    with pytest.raises(ValueError, match="do not fit a grid"):
        plot_cv(auc, [1.0, 2.0], ax=new_axes())


def test_cv_takes_many_l1_and_a_single_fold():
    many = plot_cv(np.random.default_rng(0).uniform(0.6, 0.9, (3, 9, 4)), L2S, np.arange(9.0), ax=new_axes())
    assert len({tuple(np.ravel(mpl.colors.to_rgb(line.get_color()))) for line in many.get_lines()[:9]}) == 9
    assert len(many.collections) == 1  # the band of the best alone
    single = plot_cv(np.array([[0.7], [0.8], [0.9]]), L2S, ax=new_axes())
    assert not single.collections
    assert np.isfinite(single.get_ylim()).all()


def test_path_draws_every_coefficient_and_names_the_largest():
    rng = np.random.default_rng(1)
    coefs = rng.standard_normal((3, 9))
    names = [f"x{j}" for j in range(9)]
    ax = plot_path(L2S, coefs, names=names, chosen=0.1, ax=new_axes())
    largest = np.argsort(-np.abs(coefs).max(axis=0))[:6]
    legend = ax.get_legend()
    assert legend
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == [names[j] for j in largest] + ["chosen"]
    for j in largest:
        assert_allclose(lines(ax)[names[j]].get_data(), np.array([[0.01, 0.1, 1.0], coefs[[1, 2, 0], j]]))
    drawn = [np.asarray(line.get_ydata()) for line in ax.get_lines()]
    assert sorted(tuple(y) for y in drawn if y.size == 3) == sorted(map(tuple, coefs[[1, 2, 0]].T))


def test_zero_has_a_tick_of_its_own_on_the_logarithmic_axis():
    ax = plot_path([0.0, 0.01, 0.1], np.ones((3, 2)), label="l1", ax=new_axes())
    x = np.asarray(ax.get_lines()[0].get_xdata())
    assert_allclose(x, [0.001, 0.01, 0.1])
    ax.figure.canvas.draw()
    assert next(tick.get_text() for tick in ax.get_xticklabels()) == "0"
    assert np.isfinite(plot_path([0.0], np.ones((1, 2)), ax=new_axes()).get_xlim()).all()


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="one row for each of 3 penalties"):
        plot_path(L2S, np.ones((2, 3)), ax=new_axes())
    for penalties, coefs in (([-1.0], [[1.0]]), ([np.nan], [[1.0]]), ([1.0], [[np.nan]]), ([1.0], np.ones((1, 0)))):
        with pytest.raises(ValueError, match="finite coefficients of at least one"):
            plot_path(penalties, coefs, ax=new_axes())
    with pytest.raises(ValueError, match="2 names were given for 3 features"):
        plot_path(L2S, np.ones((3, 3)), names=["a", "b"], ax=new_axes())


def test_dollar_signs_in_names_are_text(tmp_path):
    """Text between two dollar signs is not a formula: matplotlib could not draw this one."""
    name = r"paid $\frac now$"
    figure = Figure()
    panels = figure.subplots(1, 3)
    positive, scores = np.array([False, True, False, True]), np.array([0.1, 0.9, 0.2, 0.4])
    plot_roc(positive, {name: scores}, ax=panels[0])
    plot_coefficients([name, "age"], [0.4, -0.1], label="effect", ax=panels[1])
    plot_path([0.1, 1.0], np.array([[1.0, 2.0], [0.5, 1.0]]), names=[name, "age"], ax=panels[2])
    figure.savefig(tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").stat().st_size > 0


@pytest.fixture(scope="module")
def fitted():
    X, y = make_data(200, 3)
    frame = pd.DataFrame(X * [1.0, 10.0, 0.1], columns=["age", "dose", "size"])
    return AUCClassifierCV([1e-3, 1e-2, 1e-1], [0.0, 1e-3], cv=3).fit(frame, y), frame, y


def test_a_fitted_search_brings_its_own_grid_and_point(fitted):
    model, *_ = fitted
    alone, given = new_axes(), new_axes()
    plot_cv(model, ax=alone)
    plot_cv(model.auc_path_, model.l2s_, model.l1s_, chosen=(model.l2_, model.l1_), ax=given)
    for one, two in zip(alone.get_lines(), given.get_lines(), strict=True):
        np.testing.assert_array_equal(one.get_xydata(), two.get_xydata())
        assert one.get_label() == two.get_label()
    assert alone.get_ylabel() == "AUC on validation folds"
    with pytest.raises(ValueError, match="takes a fitted AUCClassifierCV"):
        plot_cv(model.auc_path_)


def test_a_search_by_another_measure_shows_that_measure(fitted):
    _, frame, y = fitted
    model = AUCClassifierCV([1e-3, 1e-2], scoring="average_precision", cv=3).fit(frame, y)
    ax = plot_cv(model, ax=new_axes())
    assert ax.get_ylabel() == "average precision on validation folds"
    drawn = np.asarray(ax.get_lines()[0].get_ydata(), dtype=float)
    np.testing.assert_allclose(drawn, model.score_path_.mean(axis=2)[:, 0])


def widths(ax) -> list[float]:
    return [bar.get_width() for bar in ax.patches]


def test_bars_of_a_fitted_estimator(fitted):
    """One deviation of a column for columns as they are, the spread of its curve for a map."""
    model, frame, y = fitted
    expected = pd.Series(model.coef_[0] * frame.std(ddof=0).to_numpy(), frame.columns)
    for linear in (model, AUCClassifier(model.l2_, model.l1_).fit(frame, y)):
        ax = plot_coefficients(linear, ax=new_axes())
        order = expected.abs().sort_values(ascending=False).index
        assert [text.get_text() for text in ax.get_yticklabels()] == list(order)
        np.testing.assert_allclose(widths(ax), expected[order], rtol=1e-4)
        assert ax.get_xlabel() == "added to the score by one standard deviation"
    assert len(plot_coefficients(model, most=2, ax=new_axes()).patches) == 2
    curved = AUCClassifierCV([1e-2], features="additive", cv=3).fit(frame, y)
    ax = plot_coefficients(curved, ax=new_axes())
    assert widths(ax) == sorted(curved.importances_.values(), reverse=True)
    wide = plot_coefficients(SPAMClassifier(max_iter=2, random_state=0).fit(frame, y), ax=new_axes())
    assert wide.get_xlabel() == "coefficient"
    with pytest.raises(ValueError, match="fitted estimator, or names, values and a label"):
        plot_coefficients(["age"], ax=new_axes())
    with pytest.raises(ValueError, match="at least 1"):
        plot_coefficients(model, most=0, ax=new_axes())
