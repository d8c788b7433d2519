"""Plots of shape functions: the values on the axes are those of the model."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from helpers import make_data
from matplotlib.collections import PolyCollection

from vrspam import AUCClassifierCV
from vrspam.features import LinearFeatures
from vrspam.inspection import Shape
from vrspam.plotting import plot_shapes


def curve(name, grid, *, importance=1.0, half=0.1, missing=None, height=1.0):
    grid = np.asarray(grid, dtype=float)
    value = height * np.sin(grid / np.abs(grid).max())
    return Shape(name, grid, value, value - half, value + half, missing, importance)


def category(name, values):
    grid, value = np.array([f"c{i:02d}" for i in range(len(values))], dtype=object), np.asarray(values, dtype=float)
    return Shape(name, grid, value, value - 0.1, value + 0.1, None, 1.0)


def drawn(*shapes, **options):
    return plot_shapes({shape.name: shape for shape in shapes}, **options).axes


def test_the_most_important_columns_come_first_and_no_panel_is_empty():
    shapes = [
        curve(name, np.arange(20.0), importance=value) for name, value in zip("abcde", (1, 5, 3, 2, 4), strict=True)
    ]
    assert [ax.get_title() for ax in drawn(*shapes)] == ["b", "e", "c", "d", "a"]
    assert [ax.get_title() for ax in drawn(*shapes, most=4)] == ["b", "e", "c", "d"]


def test_the_band_reaches_from_low_to_high():
    shape = curve("age", np.arange(1.0, 41.0), half=0.25)
    (ax,) = drawn(shape)
    (band,) = (part for part in ax.collections if isinstance(part, PolyCollection))
    corners = np.asarray(band.get_paths()[0].vertices)
    for x, low, high in zip(shape.grid, shape.low, shape.high, strict=True):
        y = corners[corners[:, 0] == x, 1]
        assert (y.min(), y.max()) == pytest.approx((low, high))


@pytest.mark.parametrize(("ends", "kept"), [((0.0, 100.0), 150), ((-500.0, 100.0), 149), ((0.0, 500.0), 149)])
def test_a_value_far_off_at_either_end_is_left_out(ends, kept):
    grid = np.concatenate([[ends[0]], np.linspace(0.6, 99.5, 148), [ends[1]]])
    (ax,) = drawn(curve("x", grid))
    x = ax.get_lines()[1].get_xdata()
    assert x.size == kept
    assert ((x >= 0.0) & (x <= 100.0)).all()


def test_all_panels_have_the_same_height_and_hold_everything():
    flat, steep = curve("flat", np.arange(20.0), height=0.1), curve("steep", np.arange(20.0), missing=(3.0, 2.5, 4.0))
    low, high = np.min([flat.low, steep.low]), 4.0
    limits = [ax.get_ylim() for ax in drawn(flat, steep)]
    assert limits[0] == limits[1]
    assert limits[0][0] < low < high < limits[0][1] < high + 0.2 * (high - low)


def test_the_largest_categories_are_shown_in_order_of_what_they_add():
    values = np.random.default_rng(0).permutation(np.linspace(-1.0, 1.4, 30))
    (ax,) = drawn(category("city", values))
    shown = np.sort(values[np.argsort(-np.abs(values))[:12]])[::-1]
    x, y = ax.containers[0].lines[0].get_data()
    np.testing.assert_array_equal(x, np.arange(12))
    np.testing.assert_array_equal(y, shown)
    labels = [f"c{np.flatnonzero(values == value)[0]:02d}" for value in shown]
    assert [label.get_text() for label in ax.get_xticklabels()] == labels


def test_long_names_are_cut_to_their_room():
    names = np.array(["0123456789", "0123456789abcdefg"], dtype=object)
    (ax,) = drawn(category("x" * 100, [0.1, 0.2])._replace(grid=names))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0123456789abcde…", "0123456789"]
    assert ax.get_title() == "x" * 32 + "\n" + "x" * 31 + "…"


def test_a_straight_line_is_drawn_as_one():
    """The stored table of a straight line holds two points; it must not be drawn as two values."""
    X, y = make_data(100, 2)
    model = AUCClassifierCV([1e-2], features=LinearFeatures(), cv=3).fit(X, y)
    for ax in plot_shapes(model.shape_functions_).axes:
        x, line = map(np.asarray, ax.get_lines()[1].get_data())
        column = X[:, int(ax.get_title()[1:])]
        assert (x[0], x[-1]) == pytest.approx((column.min(), column.max()))
        assert x.size > 2
        np.testing.assert_allclose(line, np.interp(x, x[[0, -1]], line[[0, -1]]), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "draw", "scale"),
    [
        ("even", lambda rng: rng.normal(50.0, 10.0, 2000), "linear"),
        ("income", lambda rng: rng.lognormal(10.0, 2.0, 2000), "log"),
        ("balance", lambda rng: 100.0 * rng.standard_t(1.2, 2000), "symlog"),
        ("costs", lambda rng: np.where(rng.random(2000) < 0.5, 0.0, rng.lognormal(3.0, 2.0, 2000)), "symlog"),
    ],
)
def test_heavy_tails_get_a_logarithmic_axis(name, draw, scale):
    """On this axis the middle half of the rows is clearly visible; the missing value stays right of the curve."""
    rng = np.random.default_rng(0)
    column = draw(rng)
    y = column + rng.standard_normal(2000) * column.std() > np.median(column)
    column[::17] = np.nan
    model = AUCClassifierCV([1e-2], features="additive").fit(column[:, np.newaxis], y)
    (ax,) = plot_shapes(model).axes
    assert ax.get_xscale() == scale
    lower, upper = np.nanquantile(column, [0.1, 0.9])
    left, right = ax.transData.transform([[lower, 0.0], [upper, 0.0]])[:, 0]
    assert right - left > 0.2 * ax.bbox.width
    places = [np.asarray(line.get_xdata()) for line in ax.get_lines()]
    ticks, x = ax.get_xticks(), max(places, key=len)
    assert ((ticks >= x.min()) & (ticks <= x.max())).sum() >= 3  # numbers can be read along the curve
    if scale == "symlog":  # and in its middle, which is linear
        middle = np.abs(x[[len(x) // 10, -1 - len(x) // 10]]).max()
        assert ((ticks >= max(x.min(), -middle)) & (ticks <= middle)).sum() >= 3
    missing = [place for place in places if place.size == 1]
    assert missing[0][0] > x.max()


def test_only_values_that_were_seen_are_drawn():
    """In a column with few values, the clipping bound is not drawn as one of them."""
    rng = np.random.default_rng(0)
    claims = rng.poisson(1.2, 2000).astype(float)
    y = claims + rng.standard_normal(2000) > 2
    model = AUCClassifierCV([1e-2], features="additive").fit(claims[:, np.newaxis], y)
    assert model.shape_functions_["x0"].grid.tolist() == np.unique(claims).tolist()
    z = (claims - claims.mean()) / claims.std()
    assert z.max() > 3.0
    first = model.features_.transform(claims[:, np.newaxis])[:, 0]
    assert np.allclose(first, np.clip(z, -3.0, 3.0))


def test_a_figure_of_pyplot_takes_the_panels_and_their_size():
    shapes = {"age": curve("age", np.arange(20.0)), "dose": curve("dose", np.arange(20.0))}
    own, given = plot_shapes(shapes), plt.figure(figsize=(1, 1))
    assert plot_shapes(shapes, figure=given) is given
    assert given.number in plt.get_fignums()
    assert given.get_size_inches().tolist() == own.get_size_inches().tolist()
    for figure in (own, given):
        figure.draw_without_rendering()
    places = np.array([[ax.get_position().bounds for ax in figure.axes] for figure in (own, given)])
    np.testing.assert_allclose(places[0], places[1], atol=1e-12)
    with pytest.raises(ValueError, match="must be empty"):
        plot_shapes(shapes, figure=given)
    plt.close(given)
