"""Heat maps of interactions: the numbers in the cells, and what is written beside them."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from helpers import make_data

from vrspam import AUCClassifierCV
from vrspam.inspection import Axis, PairEffect
from vrspam.plotting import plot_interactions

AGE = Axis("age", ("20 to 40", "40 to 60", "missing"), np.array([20.0, 40.0, 60.0]))
TOWN = Axis("town", ("Bad Ischl am See", "$ $^"), None)
VISITS = Axis("visits", ("0", "1"), np.array([0.0, 0.0, 1.0]))


def pair(first=AGE, second=TOWN, share=0.1):
    rng = np.random.default_rng(0)
    return PairEffect((first, second), share, rng.standard_normal((len(first.labels), len(second.labels))))


def labels(ax):
    return [[text.get_text() for text in axis.get_ticklabels()] for axis in (ax.xaxis, ax.yaxis)]


def test_cells_hold_the_values_and_axes_their_limits(tmp_path):
    given = pair()
    given.values[1, 1] = np.nan
    figure = plot_interactions([given, pair(VISITS, AGE, 0.05)])
    first, second, colours = figure.axes
    drawn: Any = first.collections[0].get_array()
    np.testing.assert_array_equal(np.ma.filled(drawn, np.nan).reshape(2, 3), given.values.T)
    assert bool(np.ma.getmaskarray(drawn).ravel()[4])  # no colour where there are too few rows
    assert labels(first) == [["20", "40", "60", "missing"], ["Bad Ischl…", "$ $^"]]
    np.testing.assert_array_equal(first.get_xticks(), [0.0, 1.0, 2.0, 2.5])  # limits between bins, "missing" in its own
    assert labels(second)[0] == ["0", "1"]
    np.testing.assert_array_equal(second.get_xticks(), [0.5, 1.5])  # a bin for each value
    assert (first.get_xlabel(), first.get_ylabel()) == ("age", "town")
    assert first.get_title() == "10.0\u00a0% of the variance of the score"
    limits = [ax.collections[0].get_clim() for ax in (first, second)]
    assert limits[0] == limits[1] == (-limits[0][1], limits[0][1])  # one scale of colours, 0 in its middle
    assert colours.get_ylabel() == "added to the score"
    figure.savefig(tmp_path / "pairs.png")


def test_the_strongest_pairs_are_drawn_and_no_panel_is_empty():
    pairs = [pair(share=share) for share in (0.4, 0.3, 0.2, 0.1)]
    assert len(plot_interactions(pairs).axes) == 4 + 1
    shown = plot_interactions(pairs, most=2, n_cols=1)
    assert [ax.get_title()[:4] for ax in shown.axes[:2]] == ["40.0", "30.0"]
    with pytest.raises(ValueError, match="at least 1"):
        plot_interactions(pairs, most=0)


def test_what_cannot_be_drawn_says_why():
    X, y = make_data(100, 2)
    model = AUCClassifierCV([1e-2], features="additive", cv=3).fit(X, y)
    with pytest.raises(ValueError, match="nothing to draw: no pair of columns"):
        plot_interactions(model)
    for wrong in ({"a": 1}, 3, ["age"]):
        with pytest.raises(ValueError, match="takes a fitted AUCClassifierCV"):
            plot_interactions(wrong)
    streamed = AUCClassifierCV([1e-2], cv=3).fit_stream([(X, y)])
    with pytest.raises(AttributeError, match="no pair_effects_: the rows came in blocks"):
        plot_interactions(streamed)


def test_a_figure_of_pyplot_takes_the_panels():
    own, given = plot_interactions([pair()]), plt.figure(figsize=(1, 1))
    assert plot_interactions([pair()], figure=given) is given
    assert given.get_size_inches().tolist() == own.get_size_inches().tolist()
    assert [ax.get_xlabel() for ax in given.axes] == [ax.get_xlabel() for ax in own.axes]
    plt.close(given)
