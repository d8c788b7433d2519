"""The plot of a model column by column: what each column adds to the score."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from vrspam.inspection import Shape
from vrspam.plotting.style import GREY, colours, letter_size, new_figure, own_style
from vrspam.plotting.texts import font_points, shorten_distinct, shortened, text_width, wrap_distinct
from vrspam.plotting.ticks import MANY_VALUES, mark_values, scale_axis, value_labels

PANEL = (3.2, 2.4)
AXIS_POINTS = 72 * 2.5  # about the width of the axis of a panel
DASHED = (0, (4, 2))
MOST_CATEGORIES = 12
FEW_VALUES = 8  # a column of at most this many values is drawn as points
FAR_OFF = 0.1  # an outermost value is far off if its distance exceeds this part of the range of the others
TITLE_LETTERS = 32  # in each of the two lines of a title


def plot_shapes(shapes: Any, *, most: int = 12, n_cols: int = 3, figure: Figure | None = None) -> Figure:
    """Draw what each column adds to the score, the most important columns first.

    The curve of a numeric column is drawn over the range of its training values (without an outermost value that lies
    far off), with its 95 % band from the folds. The ticks along the bottom are quantiles of the column if it has more
    than 256 different values, so that a stretch without ticks rests on few rows; otherwise they are some of its values.
    The axis is logarithmic, and says so, where most rows would otherwise be squeezed into a corner; if some values are
    not positive, only the part beyond the middle 80 % of the rows is logarithmic. Categories, and numbers with few
    different values, are drawn as points with error bars; of more than 12 categories those are drawn that add or take
    away most, and the panel says how many there are. Long names are shortened so that different ones stay different.
    The orange point at the right is the missing value. The dashed grey line (grey rings at points) is the mean score of
    the rows with that value: where it leaves the curve, those rows differ in other columns too. All panels have the
    same scale, so a flat panel is a column that hardly matters. "with ..." under a name lists columns that move
    together with it: read the sum of their curves. Interactions come on top (`plot_interactions`).

    Parameters
    ----------
    shapes : fitted AUCClassifierCV, its `shape_functions_`, or a model of `vrspam.tool`
    most : int, default=12
        Draw at most this many columns.
    n_cols : int, default=3
        Number of panels in a row.
    figure : matplotlib Figure, optional
        An empty figure to draw in, such as ``plt.figure()``, which ``plt.show()`` then shows. By default a new one that
        pyplot does not know: a notebook shows it as the last value of a cell, and ``savefig`` writes it.

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
    found: Any = shapes.shape_functions_ if hasattr(type(shapes), "shape_functions_") else shapes
    if hasattr(found, "shapes"):  # a model of the tool
        found = {} if found.shapes is None else {shape.name: shape for shape in found.shapes.columns}
    if not isinstance(found, Mapping) or not found:
        raise ValueError(
            "plot_shapes takes a fitted AUCClassifierCV, or its shape_functions_; for a pipeline pass its last step, "
            "for a search its best_estimator_."
        )
    if most < 1 or n_cols < 1:
        raise ValueError(f"most and n_cols must be at least 1, got {most} and {n_cols}.")
    shown: list[Shape] = sorted(found.values(), key=lambda shape: -shape.importance)[:most]
    n_cols = min(n_cols, len(shown))
    rows = ceil(len(shown) / n_cols)
    larger = letter_size()
    figure, panels = new_figure(rows, n_cols, (larger * PANEL[0] * n_cols, larger * PANEL[1] * rows), figure)
    every = list(panels.ravel())
    titles = wrap_distinct([shape.name for shape in shown], TITLE_LETTERS)
    with mpl.rc_context(own_style()):  # in which the texts are measured
        for ax, shape, title in zip(every, shown, titles, strict=False):
            _draw(ax, shape, title, larger * AXIS_POINTS)
    lowest, highest = _range(shown)
    for number, ax in enumerate(every):
        if number >= len(shown):
            ax.remove()
            continue
        ax.set_ylim(lowest, highest)
        if number % n_cols == 0:
            ax.set_ylabel("added to the score")
        else:
            ax.tick_params(labelleft=False)
    handles = _marks(shown)
    if len(handles) > 1:
        figure.legend(
            handles=handles, loc="outside lower center", frameon=False, ncols=min(n_cols, 2), fontsize="small"
        )
    return figure


def _marks(shapes: list[Shape]) -> list[Artist]:
    """What the marks mean that occur in the panels."""
    own = colours()[0]
    look: dict[str, Any] = {"linestyle": "-"} if any(map(_is_curve, shapes)) else {"marker": "o", "linestyle": ""}
    handles: list[Artist] = [Line2D([], [], color=own, label="the column's own part", **look)]
    means = [_is_curve(shape) for shape in shapes if shape.mean_score is not None]
    if means:  # dashes along curves, rings at points; one line of the legend where the panels have both
        mean: dict[str, Any] = {"linestyle": DASHED if True in means else "", "linewidth": 1.0}
        mean |= {"marker": "o", "fillstyle": "none"} if False in means else {}
        handles.append(Line2D([], [], color=GREY, label="mean score of the rows", **mean))
    banded = [_is_curve(shape) for shape in shapes if np.isfinite(shape.low).all()]
    if True in banded:
        handles.append(Patch(color=own, alpha=0.2, linewidth=0, label="95 % band from the folds"))
    if False in banded:
        handles.append(Line2D([], [], color=own, marker="|", markersize=9, linestyle="", label="95 % interval"))
    return handles


def _is_curve(shape: Shape) -> bool:
    return shape.numeric and shape.grid.size > FEW_VALUES


def _draw(ax: Axes, shape: Shape, title: str, width: float) -> None:
    """One panel; `width` is that of its axis, in points."""
    ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
    end = (_draw_curve if _is_curve(shape) else _draw_values)(ax, shape, width)
    if shape.missing is not None:
        value, low, high = (np.array([part]) for part in shape.missing)
        _points(ax, np.array([end]), value, low, high, colours()[1])
        lowest = (end, np.fmin(value, low)[0])
        ax.annotate(
            "missing", lowest, (0, -11), textcoords="offset points", ha="right", color=colours()[1], fontsize="small"
        )
    ax.set_title(title, parse_math=False)  # a name may contain dollar signs
    if shape.together:
        ax.set_title(title, parse_math=False, pad=6.0 + 1.3 * font_points("xtick.labelsize"))
        ax.annotate(
            shortened(f"with {', '.join(shape.together)}", 38), (0.5, 1.0), (0, 3), xycoords="axes fraction",
            textcoords="offset points", ha="center", va="bottom", fontsize="small", color=GREY, parse_math=False,
        )  # fmt: skip


def _draw_curve(ax: Axes, shape: Shape, width: float) -> float:
    """Draw a curve, without values that lie far off; return the x position for the missing value."""
    colour = colours()[0]
    inner = _without_outliers(shape.grid) if shape.grid.size > MANY_VALUES else slice(None)
    grid = shape.grid[inner]
    if np.isfinite(shape.low).all():
        ax.fill_between(grid, shape.low[inner], shape.high[inner], color=colour, alpha=0.2, linewidth=0)
    ax.plot(grid, shape.contribution[inner], color=colour)
    if shape.mean_score is not None:
        ax.plot(grid, shape.mean_score[inner], color=GREY, linestyle=DASHED, linewidth=1.0, zorder=1.5)
    words = scale_axis(ax, grid, width)
    if words:
        ax.set_xlabel(words, fontsize="small")
    else:
        mark_values(ax, shape.name, grid, width)
    steps = np.diff(grid)
    if np.ptp(steps) > 1e-9 * steps.max():  # evenly spaced points are not quantiles: they belong to a straight line
        marks = grid[np.linspace(0, grid.size - 1, min(grid.size, 21)).astype(int)]
        ax.plot(marks, np.full(marks.size, 0.015), "|", color=GREY, transform=ax.get_xaxis_transform(), clip_on=False)
    scale = ax.xaxis.get_transform()
    first, last = scale.transform(grid[[0, -1]])
    return float(scale.inverted().transform(np.array([last + 0.08 * (last - first)]))[0])


def _without_outliers(grid: np.ndarray) -> slice:
    """Return the slice without the first or last value where it is far off (`FAR_OFF`) from the others."""
    steps, inner = np.diff(grid), grid[-2] - grid[1]
    return slice(int(steps[0] > FAR_OFF * inner), grid.size - int(steps[-1] > FAR_OFF * inner))


def _draw_values(ax: Axes, shape: Shape, width: float) -> float:
    """As `_draw_curve`, but points with error bars: for categories, and for numbers with few different values."""
    order = np.arange(shape.grid.size)
    if not shape.numeric:
        order = np.argsort(-np.abs(shape.contribution), kind="stable")[:MOST_CATEGORIES]
        order = order[np.argsort(shape.contribution[order], kind="stable")]
    places = np.arange(order.size)
    _points(ax, places, shape.contribution[order], shape.low[order], shape.high[order], colours()[0])
    if shape.mean_score is not None:
        ax.plot(places, shape.mean_score[order], "o", color=GREY, fillstyle="none", markersize=5, zorder=1.5)
    if shape.numeric:
        labels = value_labels(shape.name, shape.grid)
    else:
        labels = shorten_distinct([str(shape.grid[i]) for i in order], 16 if order.size <= 6 else 10)
    _label_points(ax, labels, order.size - 1 + (shape.missing is not None), width)
    if order.size < shape.grid.size:
        ax.set_xlabel(f"{order.size} of {shape.grid.size:,} levels: the largest effects", fontsize="small")
    ax.margins(x=0.15)
    return float(order.size)


def _label_points(ax: Axes, labels: list[str], steps: int, width: float) -> None:
    """Write labels under points that are one apart: upright, slanted or turned, so that none touches the next."""
    size = font_points("xtick.labelsize")
    room = width / (1.3 * max(steps, 1))
    widest = max(text_width(label, size) for label in labels)
    turned = 0 if widest + 4.0 <= room else 45 if 0.7 * room > 1.3 * size else 90
    ax.set_xticks(
        range(len(labels)), labels, rotation=turned, ha="right" if turned == 45 else "center", rotation_mode="anchor"
        if turned == 45 else "default", parse_math=False,
    )  # fmt: skip


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
