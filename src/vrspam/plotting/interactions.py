"""Heat maps of pairs of columns that interact."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from vrspam._utils.texts import percent, shorten_distinct, wrap_distinct
from vrspam.inspection import PairEffect
from vrspam.pictures.columns import ADDED
from vrspam.pictures.pairs import OF_VARIANCE, bin_ticks, largest_cell
from vrspam.plotting import style


def plot_interactions(pairs: Any, *, most: int = 6, n_cols: int = 3, figure: Figure | None = None) -> Figure:
    """Draw the strongest pairs of columns that interact, each as a heat map.

    The colour of a cell is the mean, over its training rows, of what interactions add to the score; curves of single
    columns (`plot_shapes`) are not included. Bins of numbers hold about equally many rows, and the axis shows their
    limits. A cell of fewer than three rows is grey. All panels have the same colours. The title says what share of the
    variance of the score the pair explains.

    Parameters
    ----------
    pairs : fitted AUCClassifierCV, its `pair_effects_`, or a model of `vrspam.tool`
    most : int, default=6
        Draw at most this many pairs.
    n_cols : int, default=3
        Number of panels in a row.
    figure : matplotlib Figure, optional
        As in `plot_shapes`.

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
    figure, panels, shown = style.panels(_pairs_of(pairs), most, n_cols, (3.6, 3.2), figure, margin=0.7)
    largest = largest_cell(shown)
    low, high = style.colours()[:2]
    palette = LinearSegmentedColormap.from_list("interactions", [low, style.mixed(0.03), high])
    for ax, pair in zip(panels, shown, strict=True):
        mesh = _draw_pair(ax, pair, largest, palette)
    bar = figure.colorbar(mesh, ax=panels, shrink=0.8 if len(shown) <= n_cols else 0.5)
    bar.set_label(ADDED)
    bar.outline.set_visible(False)
    return figure


def _pairs_of(model: Any) -> Sequence[PairEffect]:
    """The pairs of a fitted estimator, of its `pair_effects_`, or of a model of the tool."""
    pairs: Any = model
    if hasattr(type(model), "pair_effects_"):
        pairs = model.pair_effects_
    elif hasattr(model, "shapes"):
        pairs = () if model.shapes is None else model.shapes.pairs
    if not isinstance(pairs, Sequence) or not all(isinstance(pair, PairEffect) for pair in pairs):
        raise ValueError(
            "plot_interactions takes a fitted AUCClassifierCV, its pair_effects_, or a loaded model; for a pipeline "
            "pass its last step, for a search its best_estimator_."
        )
    if not pairs:
        raise ValueError("There is nothing to draw: no pair of columns of this model stands out as interacting.")
    return pairs


def _draw_pair(ax: Axes, pair: PairEffect, largest: float, palette: LinearSegmentedColormap) -> Any:
    """One heat map; return it, for the bar of colours."""
    ax.grid(visible=False)
    ax.set_facecolor(style.mixed(0.15))  # of cells without rows
    values = np.ma.masked_invalid(pair.values.T)
    mesh = ax.pcolormesh(values, cmap=palette, vmin=-largest, vmax=largest, rasterized=False)

    first, second = pair.columns
    places, labels = bin_ticks(first)
    short = shorten_distinct(labels)
    crowded = sum(map(len, short)) + len(short) > 30 or (places.size > 1 and places[-1] - places[-2] < 1.0)
    if crowded:
        ax.set_xticks(places, short, fontsize="small", rotation=45, ha="right", parse_math=False)
    else:
        ax.set_xticks(places, short, fontsize="small", rotation=0, ha="center", parse_math=False)
    places, labels = bin_ticks(second)
    ax.set_yticks(places, shorten_distinct(labels), fontsize="small", ha="right", parse_math=False)

    below, beside = wrap_distinct([first.name, second.name], 32)
    ax.set_xlabel(below, parse_math=False)
    ax.set_ylabel(beside, parse_math=False)
    ax.set_title(f"{percent(pair.share)} {OF_VARIANCE}", fontsize="small")
    return mesh
