"""Plots of a model: the curve of each column, heat maps of pairs that interact, bars of coefficients and single rows.

`vrspam.model.drawing` decides what is drawn of a column, here and on the pages of `vrspam.report`.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from vrspam._utils.array_api import on_host
from vrspam._utils.texts import percent, shorten, shorten_distinct, wrap_distinct
from vrspam.inspection import PairEffect, Shape, distinct
from vrspam.model import drawing
from vrspam.plotting import style
from vrspam.tables.frames import columns_of, is_frame


def plot_shapes(shapes: Any, *, most: int = 12, n_cols: int = 3, figure: Figure | None = None) -> Figure:
    """Draw what each column adds to the score, the most important columns first.

    A curve is drawn over the range of the training values (without an outermost value that lies far off), with its
    95 % band from the folds; ticks along the bottom are quantiles of the column, or some of its values if it has at
    most 256. The axis is logarithmic, and says so, where most rows would otherwise be squeezed into a corner.
    Categories, and numbers with few different values, are points with error bars; of more than 12 categories the 12
    with the largest effects are drawn. The orange point at the right is the missing value. The dashed grey line (grey
    rings at points) is the mean score of the rows with that value: where it leaves the curve, those rows differ in
    other columns too. All panels have the same scale, so a flat panel is a column that hardly matters. "with ..." under
    a name lists columns that move together with it: read the sum of their curves. Interactions come on top
    (`plot_interactions`). Columns that add nothing are left out.

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
    # hasattr looks at the type, so that a fitted model without curves raises its own error, which says why.
    found: Any = shapes.shape_functions_ if hasattr(type(shapes), "shape_functions_") else shapes
    if hasattr(found, "shapes"):  # a model of the tool
        found = {} if found.shapes is None else {shape.name: shape for shape in found.shapes.columns}
    if not isinstance(found, Mapping) or not found:
        raise ValueError(
            "plot_shapes takes a fitted AUCClassifierCV, or its shape_functions_; for a pipeline pass its last step, "
            "for a search its best_estimator_."
        )
    figure, panels, shown = _panels(drawing.shown_columns(found.values()), most, n_cols, (3.2, 2.4), figure)
    titles = wrap_distinct([shape.name for shape in shown], 32)
    ends = drawing.common_range(shown)
    with mpl.rc_context(style.own_style()):  # in which the texts are measured
        for ax, shape, title in zip(panels, shown, titles, strict=True):
            _draw_column(ax, shape, ends, title, style.letter_size() * 72 * 2.5)
    for number, ax in enumerate(panels):
        ax.set_yticks(*drawing.number_ticks(*ends, room=np.inf))
        ax.set_ylim(*ends)
        if number % n_cols == 0:
            ax.set_ylabel(drawing.ADDED)
        else:
            ax.tick_params(labelleft=False)
    handles = _marks(shown)
    if len(handles) > 1:
        below: dict[str, Any] = {"loc": "outside lower center", "ncols": min(n_cols, len(shown), 2)}
        figure.legend(handles=handles, frameon=False, fontsize="small", **below)
    return figure


def _panels(
    every: Sequence[Any], most: int, n_cols: int, size: tuple[float, float], figure: Figure | None, more: float = 0.0
) -> tuple[Figure, list[Axes], list[Any]]:
    """A figure, a panel of `size` for each of the first `most` items, and these items; `more` is room at the right."""
    if most < 1 or n_cols < 1:
        raise ValueError(f"most and n_cols must be at least 1, got {most} and {n_cols}.")
    shown = list(every[:most])
    n_cols = min(n_cols, len(shown))
    rows, larger = ceil(len(shown) / n_cols), style.letter_size()
    inches = (larger * (size[0] * n_cols + more), larger * size[1] * rows)
    figure, panels = style.new_figure(rows, n_cols, inches, figure)
    for ax in panels.ravel()[len(shown) :]:
        ax.remove()
    return figure, list(panels.ravel()[: len(shown)]), shown


def _marks(shapes: list[Shape]) -> list[Artist]:
    """The entries of the legend: what the marks in the panels mean."""
    own = style.colours()[0]
    curved = any(map(drawing.is_curve, shapes))
    look: dict[str, Any] = {"linestyle": "-"} if curved else {"marker": "o", "linestyle": ""}
    handles: list[Artist] = [Line2D([], [], color=own, label=drawing.OWN_PART, **look)]
    means = [drawing.is_curve(shape) for shape in shapes if shape.mean_score is not None]
    if means:  # dashes along curves, rings at points; one line of the legend where the panels have both
        mean: dict[str, Any] = {"linestyle": (0, (4, 2)) if True in means else "", "linewidth": 1.0}
        mean |= {"marker": "o", "fillstyle": "none"} if False in means else {}
        handles.append(Line2D([], [], color=style.GREY, label=drawing.MEAN_SCORE, **mean))
    banded = [drawing.is_curve(shape) for shape in shapes if np.isfinite(shape.low).all()]
    if True in banded:
        handles.append(Patch(color=own, alpha=0.2, linewidth=0, label=drawing.BAND))
    if False in banded:
        handles.append(Line2D([], [], color=own, marker="|", markersize=9, linestyle="", label=drawing.INTERVAL))
    return handles


def _draw_column(ax: Axes, shape: Shape, ends: tuple[float, float], title: str, width: float) -> None:
    """One panel, from ends[0] to ends[1]; `width` is that of its axis, in points."""
    plan = drawing.plan_column(shape, ends)
    ax.axhline(0.0, color=style.GREY, linewidth=0.8, zorder=1)
    end = _draw_curve(ax, shape, plan) if plan.curve else _draw_points(ax, shape, plan, width)
    if shape.missing is not None:
        value, low, high = (np.array([part]) for part in shape.missing)
        colour = style.colours()[1]
        _points(ax, np.array([end]), value, low, high, colour)
        look: dict[str, Any] = {"color": colour, "fontsize": "small", "ha": "right", "va": "top"}
        look["bbox"] = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
        ax.text(1.0, 0.98, "missing", transform=ax.transAxes, **look)  # where neither curve nor rug is, mostly
    words = "; ".join(part for part in (plan.scale.words, *plan.remarks) if part)
    ax.set_xlabel(wrap_distinct([words], 40)[0], fontsize="small", parse_math=False)
    ax.set_title(title, parse_math=False)  # a name may contain dollar signs
    if shape.together:
        ax.set_title(title, parse_math=False, pad=6.0 + 1.3 * style.font_points("xtick.labelsize"))
        ax.annotate(
            shorten(f"with {', '.join(shape.together)}", 38), (0.5, 1.0), (0, 3), xycoords="axes fraction",
            textcoords="offset points", ha="center", va="bottom", fontsize="small", color=style.GREY, parse_math=False,
        )  # fmt: skip


def _draw_curve(ax: Axes, shape: Shape, plan: drawing.ColumnPlan) -> float:
    """Draw a curve; return the x position for the missing value."""
    colour, chosen, scale = style.colours()[0], plan.chosen, plan.scale
    grid = shape.grid[chosen]
    if np.isfinite(shape.low).all():
        ax.fill_between(grid, shape.low[chosen], shape.high[chosen], color=colour, alpha=0.2, linewidth=0)
    ax.plot(grid, shape.contribution[chosen], color=colour)
    if shape.mean_score is not None:
        ax.plot(grid, shape.mean_score[chosen], color=style.GREY, linestyle=(0, (4, 2)), linewidth=1.0, zorder=1.5)
    more: dict[str, Any] = {"linthresh": scale.middle, "linscale": drawing.DECADES} if scale.kind == "symlog" else {}
    ax.set_xscale(scale.kind, **more)
    ax.set_xticks(*plan.ticks)
    ax.xaxis.set_minor_locator(NullLocator())
    if plan.rug.size:
        foot = np.full(plan.rug.size, 0.015)
        ax.plot(plan.rug, foot, "|", color=style.GREY, transform=ax.get_xaxis_transform(), clip_on=False)
    bent = ax.xaxis.get_transform()
    first, last = bent.transform(grid[[0, -1]])
    return float(bent.inverted().transform(np.array([last + 0.08 * (last - first)]))[0])


def _draw_points(ax: Axes, shape: Shape, plan: drawing.ColumnPlan, width: float) -> float:
    """As `_draw_curve`, but points with error bars: for categories, and for numbers with few different values.

    `width` is the room for the labels below, in points.
    """
    chosen, (places, labels) = plan.chosen, plan.ticks
    _points(ax, places, shape.contribution[chosen], shape.low[chosen], shape.high[chosen], style.colours()[0])
    if shape.mean_score is not None:
        ax.plot(places, shape.mean_score[chosen], "o", color=style.GREY, fillstyle="none", markersize=5, zorder=1.5)
    short = shorten_distinct(labels, 16 if len(labels) <= 6 else 10)
    size, gaps = style.font_points("xtick.labelsize"), max(places.size - 1 + (shape.missing is not None), 1)
    room = width / (1.3 * gaps)
    widest = max(style.text_width(label, size) for label in short)
    turned = 0 if widest + 4.0 <= room else 45 if 0.7 * room > 1.3 * size else 90  # so that none touches the next
    ax.set_xticks(
        places, short, rotation=turned, ha="right" if turned == 45 else "center", rotation_mode="anchor"
        if turned == 45 else "default", parse_math=False,
    )  # fmt: skip
    ax.margins(x=0.15)
    return float(places.size)


def _points(ax: Axes, x: np.ndarray, value: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> None:
    bars = [value - low, high - value] if np.isfinite(low).all() else None
    ax.errorbar(x, value, yerr=bars, fmt="o", color=colour, linewidth=1.2, capsize=2.5)


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
    figure, panels, shown = _panels(found, most, n_cols, (3.6, 3.2), figure, more=0.7)
    largest, (low, high) = drawing.largest_cell(shown), style.colours()[:2]
    palette = LinearSegmentedColormap.from_list("interactions", [low, style.mixed(0.03), high])
    for ax, pair in zip(panels, shown, strict=True):
        mesh = _draw_pair(ax, pair, largest, palette)
    bar = figure.colorbar(mesh, ax=panels, shrink=0.8 if len(shown) <= n_cols else 0.5)
    bar.set_label(drawing.ADDED)
    bar.outline.set_visible(False)
    return figure


def _draw_pair(ax: Axes, pair: PairEffect, largest: float, palette: LinearSegmentedColormap) -> Any:
    ax.grid(visible=False)
    ax.set_facecolor(style.mixed(0.15))  # of cells without rows
    values = np.ma.masked_invalid(pair.values.T)
    mesh = ax.pcolormesh(values, cmap=palette, vmin=-largest, vmax=largest, rasterized=False)
    first, second = pair.columns
    for set_ticks, axis in ((ax.set_xticks, first), (ax.set_yticks, second)):
        places, labels = drawing.bin_ticks(axis)
        short = shorten_distinct(labels)
        crowded = sum(map(len, short)) + len(short) > 30 or (places.size > 1 and places[-1] - places[-2] < 1.0)
        turned = axis is first and crowded
        set_ticks(
            places, short, fontsize="small", rotation=45 if turned else 0, parse_math=False,
            ha="right" if turned or axis is second else "center",
        )  # fmt: skip
    below, beside = wrap_distinct([first.name, second.name], 32)
    ax.set_xlabel(below, parse_math=False)
    ax.set_ylabel(beside, parse_math=False)
    ax.set_title(f"{percent(pair.share)} {drawing.OF_VARIANCE}", fontsize="small")
    return mesh


def plot_coefficients(
    names: Any,
    values: Sequence[float] | None = None,
    *,
    label: str | None = None,
    most: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw one bar for each name, the first on top; positive and negative bars differ in colour.

    Parameters
    ----------
    names : fitted estimator of this package, Series, dict, or sequence of str
        An estimator on columns as they are is drawn by what one standard deviation of each column adds to the score
        (by its coefficients where the fit kept no moments), the largest first; one on a feature map by the spread of
        what each column adds (`importances_`). A pandas Series, or a dict, brings names and values. Names of more than
        40 letters are shortened, and stay different.
    values : sequence of numbers
        One for each name, in the same order: coefficients, or importances; not with an estimator.
    label : str, optional
        What the values mean, written below the axis; an estimator has a default.
    most : int, default=20
        Draw at most this many bars of an estimator.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_coefficients
    >>> ax = plot_coefficients(["age", "dose"], [0.4, -0.1], label="added to the score by one standard deviation")
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['age', 'dose']
    """
    if hasattr(names, "coef_"):
        if most < 1:
            raise ValueError(f"most must be at least 1, got {most}.")
        sizes, own = _sizes_of(names)
        names = sorted(sizes, key=lambda name: -abs(sizes[name]))[:most]
        values, label = [sizes[name] for name in names], own if label is None else label
    elif values is None and hasattr(names, "items"):
        pairs = list(names.items())
        names, values = [str(name) for name, _ in pairs], [value for _, value in pairs]
    if values is None or label is None:
        raise ValueError("plot_coefficients takes a fitted estimator, or names, values and a label.")
    shown = shorten_distinct([str(name) for name in names], 40)
    return _draw_bars(shown, np.asarray(values, dtype=float), label, ax)


def _sizes_of(model: Any) -> tuple[dict[str, float], str]:
    """The sizes of the bars of a fitted estimator, by the names of its columns, and their label."""
    if getattr(model, "features_", None) is not None:
        return model.importances_, "standard deviation of what each adds to the score"
    if model.coef_.shape[0] > 1:
        words = "this model has a row of coefficients for each class: give names and model.coef_[k], with a label."
        raise ValueError(words)
    coef, label = on_host(model.coef_)[0], "coefficient"
    if hasattr(model, "moments_"):
        share = model.moments_.weights / model.moments_.weights.sum()
        means, variances = model.moments_.means, model.moments_.variances
        coef = coef * np.sqrt(share @ variances + share @ (means - share @ means) ** 2)
        label = "added to the score by one standard deviation"
    given = getattr(model, "feature_names_in_", [f"x{j}" for j in range(coef.size)])
    return dict(zip(distinct(given), coef.tolist(), strict=True)), label


def _draw_bars(shown: list[str], sizes: np.ndarray, label: str, ax: Axes | None) -> Axes:
    """One bar for each name, the first on top; in a figure of its own there is room for all of them."""
    larger = style.letter_size()
    ax = style.axes_or_new(ax, (6.4 * larger, larger * (1.1 + 0.27 * max(sizes.size, 6))))
    below, above = style.colours()[:2]
    places = np.arange(sizes.size)[::-1]
    ax.barh(places, sizes, color=np.where(sizes > 0, above, below), height=0.7)
    ax.axvline(0.0, color=style.GREY, linewidth=1.0)
    ax.set_yticks(places, shown, parse_math=False)
    ax.grid(axis="y", visible=False)
    with mpl.rc_context(style.own_style()):  # the label may be as wide as the names leave room for
        taken = max((style.text_width(name, style.font_points("ytick.labelsize")) for name in shown), default=0.0)
        wide = max(1.2 * style.axes_points(ax)[0] - taken, 72.0)
        letters = len(label) * wide / style.text_width(label, style.font_points("axes.labelsize"))
    ax.set_xlabel(fill(label, max(int(letters), 12)))
    return ax


def plot_contributions(parts: Any, row: Any = None, *, most: int = 12, ax: Axes | None = None) -> Axes:
    """Draw what each column adds to the score of one row, the largest part on top; the last bar is their sum.

    Parameters
    ----------
    parts : fitted estimator of this package, or what its `explain_one` returned
        The parts add up to the score; "interactions" is what combinations of columns add, and "baseline" is the same
        for every row.
    row : one row, as `explain_one` takes it
        The row to explain, where `parts` is an estimator. Its values are shown beside the names of the columns. With a
        dict of parts, `row` may be left out, or be a dict, a Series or a frame of one row.
    most : int, default=12
        Draw at most this many parts; the others are added up in one bar.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_contributions
    >>> ax = plot_contributions({"age": 0.7, "sex": -0.2, "dose": 0.1}, {"age": 61, "sex": "f"}, most=2)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['age = 61', 'sex = f', '1 other', 'score']
    >>> [round(float(bar.get_width()), 2) for bar in ax.patches]
    [0.7, -0.2, 0.1, 0.6]
    """
    if hasattr(parts, "explain_one") and row is not None:
        parts = parts.explain_one(row)
    if not isinstance(parts, Mapping) or not parts:
        raise ValueError("plot_contributions takes an estimator and a row, or what explain_one returned.")
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most}.")
    order = sorted(parts, key=lambda name: -abs(parts[name]))
    shown, others = order[:most], order[most:]
    values, names = row_values(row, list(parts)), []
    for name, short in zip(map(str, shown), shorten_distinct([str(name) for name in shown], 26), strict=True):
        date = values.get(name.rpartition(" (")[0]) if name.endswith(")") else None
        if name in values:
            names.append(f"{short} = {shorten(values[name], 14)}")
        else:  # a part of a date has the date
            names.append(short if date is None else f"{short} of {shorten(date, 14)}")
    sizes = [float(parts[name]) for name in shown]
    if others:
        names.append(f"{len(others)} other{'s' if len(others) > 1 else ''}")
        sizes.append(float(sum(parts[name] for name in others)))
    ax = _draw_bars([*names, "score"], np.array([*sizes, sum(sizes) + 0.0]), "added to the score of this row", ax)
    bars: Any = ax.containers[-1]
    bars.patches[-1].set_color(style.ink())
    ax.axhline(0.5, color=style.GREY, linewidth=0.8)
    ax.bar_label(bars, fmt="%+.3g", padding=3, fontsize="small")
    ax.margins(x=0.18)
    return ax


def row_values(row: Any, names: Sequence[str]) -> dict[str, str]:
    """The values of a row as texts, by the names of its columns; `names` are for an array that is not longer."""
    if row is None:
        return {}
    if hasattr(row, "to_frame") and getattr(row, "ndim", 0) == 1:  # a row of a pandas frame
        row = dict(row.items())
    if is_frame(row):
        columns = columns_of(row)
        row = {name: column[0] for name, column in zip(columns.names, columns.columns, strict=True)}
    if not isinstance(row, Mapping):
        values = np.asarray(row).ravel().tolist()
        row = dict(zip(names, values, strict=False)) if len(values) <= len(names) else {}
    return {str(name): value_text(value) for name, value in row.items()}


def value_text(value: Any) -> str:
    """One value of a table as a short text.

    >>> value_text(61.0), value_text(0.123456789), value_text(None), value_text("Graz")
    ('61', '0.12346', 'missing', 'Graz')
    """
    if value is None or value != value:
        return "missing"
    if isinstance(value, float):  # NumPy's float64 is one
        return f"{value:.5g}" if abs(value) < 1e5 or value != round(value) else f"{value:.0f}"
    return str(value)
