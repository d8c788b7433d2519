"""The plot of interactions: what a pair of columns adds to the score beyond the curves of both, as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from vrspam.inspection import Axis, PairEffect
from vrspam.plotting.style import colours, letter_size, mixed, new_figure
from vrspam.plotting.texts import number_labels, shorten_distinct, wrap_distinct
from vrspam.plotting.ticks import date_part, value_labels

PANEL = (3.6, 3.2)
MOST_TICKS = 6


def plot_interactions(pairs: Any, *, most: int = 6, n_cols: int = 3, figure: Figure | None = None) -> Figure:
    """Draw the strongest pairs of columns that interact, each as a heat map.

    The colour of a cell is the mean of what interactions add to the score, over the training rows in it; curves of
    single columns are not in it (`plot_shapes`). Bins of numbers hold about as many rows each, and the axis shows their
    limits. A cell of fewer than three rows is grey. All panels have the same colours. The title says which part of the
    variance of the score the pair explains.

    Parameters
    ----------
    pairs : fitted AUCClassifierCV, its `pair_effects_`, or a model of `vrspam.tool`
    most : int, default=6
        Draw at most this many pairs.
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
    >>> import numpy as np
    >>> from vrspam import AUCClassifierCV
    >>> from vrspam.plotting import plot_interactions
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((800, 3))
    >>> y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(800) > 0
    >>> model = AUCClassifierCV(features="kernel", random_state=0).fit(X, y)
    >>> list(model.interactions_)
    [('x0', 'x1')]
    >>> panel, colours = plot_interactions(model).axes
    >>> panel.get_xlabel(), panel.get_ylabel()
    ('x0', 'x1')
    """
    found: Any = pairs
    if hasattr(type(pairs), "pair_effects_"):
        found = pairs.pair_effects_
    elif hasattr(pairs, "shapes"):
        found = () if pairs.shapes is None else pairs.shapes.pairs
    if not isinstance(found, Sequence) or not all(isinstance(pair, PairEffect) for pair in found):
        raise ValueError(
            "plot_interactions takes a fitted AUCClassifierCV, its pair_effects_, or a loaded model; for a pipeline "
            "pass its last step, for a search its best_estimator_."
        )
    if not found:
        raise ValueError("There is nothing to draw: no pair of columns of this model stands out as interacting.")
    if most < 1 or n_cols < 1:
        raise ValueError(f"most and n_cols must be at least 1, got {most} and {n_cols}.")
    shown = list(found[:most])
    n_cols = min(n_cols, len(shown))
    rows = ceil(len(shown) / n_cols)
    larger = letter_size()
    size = (larger * (PANEL[0] * n_cols + 0.7), larger * PANEL[1] * rows)
    figure, panels = new_figure(rows, n_cols, size, figure)
    every = list(panels.ravel())
    largest = max(float(np.abs(pair.values[np.isfinite(pair.values)]).max(initial=0.0)) for pair in shown) or 1.0
    for ax in every[len(shown) :]:
        ax.remove()
    low, high = colours()[:2]
    palette = LinearSegmentedColormap.from_list("interactions", [low, mixed(0.03), high])
    for ax, pair in zip(every, shown, strict=False):
        mesh = _draw(ax, pair, largest, palette)
    bar = figure.colorbar(mesh, ax=every[: len(shown)], shrink=0.8 if rows == 1 else 0.5)
    bar.set_label("added to the score")
    bar.outline.set_visible(False)
    return figure


def _draw(ax: Axes, pair: PairEffect, largest: float, palette: LinearSegmentedColormap) -> Any:
    ax.grid(visible=False)
    ax.set_facecolor(mixed(0.15))  # of cells without rows
    values = np.ma.masked_invalid(pair.values.T)
    mesh = ax.pcolormesh(values, cmap=palette, vmin=-largest, vmax=largest, rasterized=False)
    first, second = pair.columns
    _mark(ax.set_xticks, first, slanted=True)
    _mark(ax.set_yticks, second, slanted=False)
    below, beside = wrap_distinct([first.name, second.name], 32)
    ax.set_xlabel(below, parse_math=False)
    ax.set_ylabel(beside, parse_math=False)
    ax.set_title(f"{100 * pair.share:.1f} % of the score's variance", fontsize="small")
    return mesh


def _mark(set_ticks: Any, axis: Axis, slanted: bool) -> None:
    """Write limits of bins between them, and values, categories and "missing" in their middle."""
    places, labels = [], []
    limits = axis.edges is not None and np.ptp(axis.edges) > 0.0 and any(" to " in label for label in axis.labels)
    if axis.edges is not None and limits:
        chosen = np.unique(np.linspace(0, axis.edges.size - 1, min(axis.edges.size, MOST_TICKS)).round().astype(int))
        places, labels = chosen.astype(float).tolist(), _limits(axis.name, axis.edges[chosen])
        if len(axis.labels) == axis.edges.size:
            places.append(len(axis.labels) - 0.5)
            labels.append("missing")
    else:
        step = 1 if axis.edges is None else ceil(len(axis.labels) / 10)
        places = [i + 0.5 for i in range(0, len(axis.labels), step)]
        named = axis.labels if axis.edges is None else _values(axis)
        labels = shorten_distinct([named[i] for i in range(0, len(axis.labels), step)])
    turned = slanted and (sum(map(len, labels)) + len(labels) > 30 or (limits and "missing" in labels))
    set_ticks(
        places, labels, fontsize="small", rotation=45 if turned else 0, parse_math=False,
        ha="right" if turned or not slanted else "center",
    )  # fmt: skip


def _limits(name: str, edges: np.ndarray) -> list[str]:
    """Limits of bins: dates as dates, numbers with the digits that their range makes sense of, and all different."""
    if date_part(name, edges) == "year":
        return value_labels(name, edges)
    digits = 2 - int(np.floor(np.log10(np.ptp(edges))))
    labels = [f"{round(edge, digits):.4g}" for edge in edges]
    return labels if len(set(labels)) == np.unique(edges).size else number_labels(edges, 3)


def _values(axis: Axis) -> Sequence[str]:
    """Single values of a column: months and weekdays by their names."""
    numbers = [label for label in axis.labels if label != "missing"]
    try:
        named = value_labels(axis.name, np.array(numbers, dtype=float))
    except ValueError:  # bins, not values
        return axis.labels
    return (
        [*named, *axis.labels[len(numbers) :]] if date_part(axis.name, np.array(numbers, dtype=float)) else axis.labels
    )
