"""The plot of a model column by column: what each column adds to the score."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from vrspam.inspection import Shape
from vrspam.plotting.style import BLUE, GREY, ORANGE, new_figure, shortened

PANEL = (3.2, 2.4)
DASHED = (0, (4, 2))
MOST_CATEGORIES = 12
FEW_VALUES = 8  # a column of at most this many values is drawn as points
MANY_VALUES = 100  # with more values than this, an outermost one that lies far off is not drawn
SQUEEZED = 4.0  # range of all rows / range of the middle 80 %: above this the axis is logarithmic
MOST_POWERS = 2  # powers of ten that are marked on each side of the middle
FAR_OFF = 0.1  # an outermost value is far off if its distance exceeds this part of the range of the others


def plot_shapes(shapes: Any, *, most: int = 12, columns: int = 3) -> Figure:
    """Draw what each column adds to the score, the most important columns first.

    The curve of a numeric column is drawn over the range of its training values (without an outermost value that lies
    far off), with its 95 % band from the folds. The ticks along the bottom are quantiles of the column if it has more
    than 256 different values, so that a stretch without ticks rests on few rows; otherwise they are some of its values.
    The axis is logarithmic where most rows would otherwise be squeezed into a corner; if some values are not positive,
    only the part beyond the middle 80 % of the rows is logarithmic. Categories, and numbers with few different values,
    are drawn as points with error bars. The orange point at the right is the missing value. The dashed grey line (grey
    rings at points) is the mean score of the rows with that value: where it leaves the curve, those rows differ in
    other columns too. All panels have the same scale, so a flat panel is a column that hardly matters. "with ..." under
    a name lists columns that move together with it: read the sum of their curves. Interactions come on top
    (`plot_interactions`).

    Parameters
    ----------
    shapes : fitted AUCClassifierCV, or its `shape_functions_`
    most : int, default=12
        Draw at most this many columns.
    columns : int, default=3
        Number of panels in a row.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam import AUCClassifierCV
    >>> from vrspam.plotting import plot_shapes
    >>> data = load_breast_cancer(as_frame=True)
    >>> model = AUCClassifierCV(features="additive").fit(data.data[["mean radius", "mean texture"]], data.target)
    >>> [ax.get_title() for ax in plot_shapes(model).axes]
    ['mean radius', 'mean texture']
    """
    # The type is asked, so that a fitted model without curves says itself why it has none.
    found: Mapping[str, Shape] = shapes.shape_functions_ if hasattr(type(shapes), "shape_functions_") else shapes
    if not isinstance(found, Mapping) or not found:
        raise ValueError(
            "plot_shapes takes a fitted AUCClassifierCV, or its shape_functions_; for a pipeline pass its last step, "
            "for a search its best_estimator_."
        )
    if most < 1 or columns < 1:
        raise ValueError(f"most and columns must be at least 1, got {most} and {columns}.")
    shown = sorted(found.values(), key=lambda shape: -shape.importance)[:most]
    columns = min(columns, len(shown))
    rows = ceil(len(shown) / columns)
    figure, panels = new_figure(rows, columns, (PANEL[0] * columns, PANEL[1] * rows))
    every = list(panels.ravel())
    for ax, shape in zip(every, shown, strict=False):
        _draw(ax, shape)
    lowest, highest = _range(shown)
    for number, ax in enumerate(every):
        if number >= len(shown):
            ax.remove()
            continue
        ax.set_ylim(lowest, highest)
        if number % columns == 0:
            ax.set_ylabel("added to the score")
        else:
            ax.tick_params(labelleft=False)
    if any(shape.mean_score is not None for shape in shown):
        figure.legend(
            handles=[
                Line2D([], [], color=BLUE, label="the column's own part"),
                Line2D([], [], color=GREY, linestyle=DASHED, linewidth=1.0, label="mean score of the rows"),
            ],
            loc="outside lower center", frameon=False, ncols=2 if columns > 1 else 1, fontsize=8,
        )  # fmt: skip
    return figure


def _draw(ax: Axes, shape: Shape) -> None:
    ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
    draw = _draw_curve if shape.numeric and shape.grid.size > FEW_VALUES else _draw_values
    end = draw(ax, shape)
    if shape.missing is not None:
        value, low, high = (np.array([part]) for part in shape.missing)
        _points(ax, np.array([end]), value, low, high, ORANGE)
        lowest = (end, np.fmin(value, low)[0])
        ax.annotate("missing", lowest, (0, -11), textcoords="offset points", ha="right", color=ORANGE, fontsize=8)
    ax.set_title(shortened(shape.name, 34), parse_math=False)  # a name may contain dollar signs
    if shape.together:
        ax.text(
            0.5, 0.99, shortened(f"with {', '.join(shape.together)}", 38), transform=ax.transAxes,
            ha="center", va="top", fontsize=8, color=GREY, parse_math=False,
        )  # fmt: skip


def _draw_curve(ax: Axes, shape: Shape) -> float:
    """Draw a curve, without values that lie far off; return the x position for the missing value."""
    inner = _without_outliers(shape.grid) if shape.grid.size > MANY_VALUES else slice(None)
    grid = shape.grid[inner]
    if np.isfinite(shape.low).all():
        ax.fill_between(grid, shape.low[inner], shape.high[inner], color=BLUE, alpha=0.2, linewidth=0)
    ax.plot(grid, shape.contribution[inner], color=BLUE)
    if shape.mean_score is not None:
        ax.plot(grid, shape.mean_score[inner], color=GREY, linestyle=DASHED, linewidth=1.0, zorder=1.5)
    _scale_axis(ax, grid)
    steps = np.diff(grid)
    if np.ptp(steps) > 1e-9 * steps.max():  # evenly spaced points are not quantiles: they belong to a straight line
        marks = grid[np.linspace(0, grid.size - 1, min(grid.size, 21)).astype(int)]
        ax.plot(marks, np.full(marks.size, 0.015), "|", color=GREY, transform=ax.get_xaxis_transform(), clip_on=False)
    scale = ax.xaxis.get_transform()
    first, last = scale.transform(grid[[0, -1]])
    return float(scale.inverted().transform(np.array([last + 0.08 * (last - first)]))[0])


def _scale_axis(ax: Axes, grid: np.ndarray) -> None:
    """Make the axis logarithmic, or only its outer parts, where most rows would be squeezed into a corner."""
    low, high = grid[[grid.size // 10, -1 - grid.size // 10]]  # the grid holds quantiles: 80 % of the rows lie between
    if grid.size <= MANY_VALUES or np.ptp(grid) <= SQUEEZED * (high - low):
        return
    if grid[0] > 0.0:
        ax.set_xscale("log")
    else:
        middle = max(abs(low), abs(high))
        ax.set_xscale("symlog", linthresh=middle, linscale=2.0)
        # The middle is linear, and there matplotlib marks nothing but 0 by default.
        within = MaxNLocator(3).tick_values(max(grid[0], -middle), min(grid[-1], middle))
        powers = 10.0 ** np.arange(np.floor(np.log10(middle)) + 1.0, np.log10(np.abs(grid[[0, -1]]).max()) + 1e-9)
        powers = powers[:: max(1, ceil(powers.size / MOST_POWERS))]
        ticks = np.unique(np.concatenate([-powers, within[np.abs(within) <= middle], powers]))
        ticks = ticks[(ticks >= grid[0]) & (ticks <= grid[-1])]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


def _without_outliers(grid: np.ndarray) -> slice:
    """Return the slice without the first or last value where it is far off (`FAR_OFF`) from the others."""
    steps, inner = np.diff(grid), grid[-2] - grid[1]
    return slice(int(steps[0] > FAR_OFF * inner), grid.size - int(steps[-1] > FAR_OFF * inner))


def _draw_values(ax: Axes, shape: Shape) -> float:
    """As `_draw_curve`, but points with error bars: for categories, and for numbers with few different values."""
    order = np.arange(shape.grid.size)
    if not shape.numeric:
        order = np.argsort(-np.abs(shape.contribution), kind="stable")[:MOST_CATEGORIES]
        order = order[np.argsort(shape.contribution[order], kind="stable")]
    places = np.arange(order.size)
    _points(ax, places, shape.contribution[order], shape.low[order], shape.high[order], BLUE)
    if shape.mean_score is not None:
        ax.plot(places, shape.mean_score[order], "o", color=GREY, fillstyle="none", markersize=5, zorder=1.5)
    labels = [f"{shape.grid[i]:.4g}" if shape.numeric else shortened(str(shape.grid[i])) for i in order]
    slanted = sum(map(len, labels)) + len(labels) > 28
    ax.set_xticks(places, labels, rotation=45 if slanted else 0, ha="right" if slanted else "center", parse_math=False)
    ax.margins(x=0.15)
    return float(order.size)


def _points(ax: Axes, x: np.ndarray, value: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> None:
    bars = [value - low, high - value] if np.isfinite(low).all() else None
    ax.errorbar(x, value, yerr=bars, fmt="o", color=colour, linewidth=1.2, capsize=2.5)


def _range(shapes: list[Shape]) -> tuple[float, float]:
    absent = [np.array(shape.missing) for shape in shapes if shape.missing is not None]
    means = [shape.mean_score for shape in shapes if shape.mean_score is not None]
    every = np.concatenate([part for s in shapes for part in (s.contribution, s.low, s.high)] + absent + means)
    low, high = np.nanmin(every), np.nanmax(every)
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin
