"""The curve of each column: what it adds to the score.

`vrspam.pictures.columns` decides what is drawn of a column, here and on the pages of `vrspam.report`.
"""

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from vrspam._utils.texts import shorten, shorten_distinct, wrap_distinct
from vrspam.inspection import Shape
from vrspam.pictures import columns
from vrspam.pictures.scales import DECADES, number_ticks
from vrspam.plotting import style


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
    figure, panels, shown = style.panels(columns.shown_columns(_shapes_of(shapes)), most, n_cols, (3.2, 2.4), figure)
    titles = wrap_distinct([shape.name for shape in shown], 32)
    ends = columns.common_range(shown)
    with mpl.rc_context(style.own_style()):  # in which the texts are measured
        for ax, shape, title in zip(panels, shown, titles, strict=True):
            _draw_column(ax, shape, ends, title, style.letter_size() * 72 * 2.5)
    for number, ax in enumerate(panels):
        ax.set_yticks(*number_ticks(*ends, room=np.inf))
        ax.set_ylim(*ends)
        if number % n_cols == 0:
            ax.set_ylabel(columns.ADDED)
        else:
            ax.tick_params(labelleft=False)
    handles = _marks(shown)
    if len(handles) > 1:
        figure.legend(
            handles=handles,
            frameon=False,
            fontsize="small",
            loc="outside lower center",
            ncols=min(n_cols, len(shown), 2),
        )
    return figure


def _shapes_of(model: Any) -> list[Shape]:
    """The curves of a fitted estimator, of its `shape_functions_`, or of a model of the tool."""
    # hasattr looks at the type, so that a fitted model without curves raises its own error, which says why.
    shapes: Any = model.shape_functions_ if hasattr(type(model), "shape_functions_") else model
    if hasattr(shapes, "shapes"):  # a model of the tool
        shapes = {} if shapes.shapes is None else {shape.name: shape for shape in shapes.shapes.columns}
    if not isinstance(shapes, Mapping) or not shapes:
        raise ValueError(
            "plot_shapes takes a fitted AUCClassifierCV, or its shape_functions_; for a pipeline pass its last step, "
            "for a search its best_estimator_."
        )
    return list(shapes.values())


def _marks(shapes: list[Shape]) -> list[Artist]:
    """The entries of the legend: what the marks in the panels mean."""
    handles: list[Artist] = [_mark_of_parts(shapes)]
    with_means = [shape for shape in shapes if shape.mean_score is not None]
    if with_means:
        handles.append(_mark_of_means(with_means))

    with_bands = [shape for shape in shapes if np.isfinite(shape.low).all()]
    own = style.colours()[0]
    if any(columns.is_curve(shape) for shape in with_bands):
        handles.append(Patch(color=own, alpha=0.2, linewidth=0, label=columns.BAND))
    if not all(columns.is_curve(shape) for shape in with_bands):
        handles.append(Line2D([], [], color=own, marker="|", markersize=9, linestyle="", label=columns.INTERVAL))
    return handles


def _mark_of_parts(shapes: list[Shape]) -> Line2D:
    """A line for curves; a point where there are only points."""
    own = style.colours()[0]
    if any(columns.is_curve(shape) for shape in shapes):
        return Line2D([], [], color=own, label=columns.OWN_PART, linestyle="-")
    return Line2D([], [], color=own, label=columns.OWN_PART, marker="o", linestyle="")


def _mark_of_means(shapes: list[Shape]) -> Line2D:
    """Dashes along curves, rings at points; one line of the legend where the panels have both."""
    are_curves = [columns.is_curve(shape) for shape in shapes]
    mark = Line2D([], [], color=style.GREY, label=columns.MEAN_SCORE, linewidth=1.0, linestyle="")
    if any(are_curves):
        mark.set_linestyle((0, (4, 2)))
    if not all(are_curves):
        mark.set_marker("o")
        mark.set_fillstyle("none")
    return mark


def _draw_column(ax: Axes, shape: Shape, ends: tuple[float, float], title: str, width: float) -> None:
    """One panel, from ends[0] to ends[1]; `width` is that of its axis, in points."""
    plan = columns.plan_column(shape, ends)
    ax.axhline(0.0, color=style.GREY, linewidth=0.8, zorder=1)
    if plan.curve:
        end = _draw_curve(ax, shape, plan)
    else:
        end = _draw_points(ax, shape, plan, width)
    if shape.missing is not None:
        _draw_missing(ax, shape.missing, end)

    words = "; ".join(part for part in (plan.scale.words, *plan.remarks) if part)
    ax.set_xlabel(wrap_distinct([words], 40)[0], fontsize="small", parse_math=False)
    ax.set_title(title, parse_math=False)  # a name may contain dollar signs
    if shape.together:
        ax.set_title(title, parse_math=False, pad=6.0 + 1.3 * style.font_points("xtick.labelsize"))
        ax.annotate(
            shorten(f"with {', '.join(shape.together)}", 38),
            (0.5, 1.0),
            (0, 3),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize="small",
            color=style.GREY,
            parse_math=False,
        )


def _draw_missing(ax: Axes, missing: tuple[float, float, float], place: float) -> None:
    """The point of missing values, and its name where neither curve nor rug is, mostly."""
    value, low, high = (np.array([part]) for part in missing)
    colour = style.colours()[1]
    _points(ax, np.array([place]), value, low, high, colour)
    ax.text(
        1.0,
        0.98,
        "missing",
        transform=ax.transAxes,
        color=colour,
        fontsize="small",
        ha="right",
        va="top",
        bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
    )


def _draw_curve(ax: Axes, shape: Shape, plan: columns.ColumnPlan) -> float:
    """Draw a curve; return the x position for the missing value."""
    colour = style.colours()[0]
    chosen = plan.chosen
    grid = shape.grid[chosen]
    if np.isfinite(shape.low).all():
        ax.fill_between(grid, shape.low[chosen], shape.high[chosen], color=colour, alpha=0.2, linewidth=0)
    ax.plot(grid, shape.contribution[chosen], color=colour)
    if shape.mean_score is not None:
        ax.plot(grid, shape.mean_score[chosen], color=style.GREY, linestyle=(0, (4, 2)), linewidth=1.0, zorder=1.5)

    if plan.scale.kind == "symlog":
        ax.set_xscale("symlog", linthresh=plan.scale.middle, linscale=DECADES)
    else:
        ax.set_xscale(plan.scale.kind)
    ax.set_xticks(*plan.ticks)
    ax.xaxis.set_minor_locator(NullLocator())
    if plan.rug.size:
        foot = np.full(plan.rug.size, 0.015)
        ax.plot(plan.rug, foot, "|", color=style.GREY, transform=ax.get_xaxis_transform(), clip_on=False)

    bent = ax.xaxis.get_transform()
    first, last = bent.transform(grid[[0, -1]])
    return float(bent.inverted().transform(np.array([last + 0.08 * (last - first)]))[0])


def _draw_points(ax: Axes, shape: Shape, plan: columns.ColumnPlan, width: float) -> float:
    """As `_draw_curve`, but points with error bars: for categories, and for numbers with few different values.

    `width` is the room for the labels below, in points.
    """
    chosen = plan.chosen
    places, labels = plan.ticks
    _points(ax, places, shape.contribution[chosen], shape.low[chosen], shape.high[chosen], style.colours()[0])
    if shape.mean_score is not None:
        ax.plot(places, shape.mean_score[chosen], "o", color=style.GREY, fillstyle="none", markersize=5, zorder=1.5)
    short = shorten_distinct(labels, 16 if len(labels) <= 6 else 10)
    gaps = max(places.size - 1 + (shape.missing is not None), 1)
    turned = _turned(short, width / (1.3 * gaps))
    slanted = turned == 45
    ax.set_xticks(
        places,
        short,
        rotation=turned,
        ha="right" if slanted else "center",
        rotation_mode="anchor" if slanted else "default",
        parse_math=False,
    )
    ax.margins(x=0.15)
    return float(places.size)


def _turned(labels: list[str], room: float) -> int:
    """By how many degrees labels are turned so that none touches the next, with so many points for each."""
    size = style.font_points("xtick.labelsize")
    widest = max(style.text_width(label, size) for label in labels)
    if widest + 4.0 <= room:
        return 0
    return 45 if 0.7 * room > 1.3 * size else 90


def _points(ax: Axes, x: np.ndarray, value: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> None:
    """Points, with error bars where there are bands."""
    bars = [value - low, high - value] if np.isfinite(low).all() else None
    ax.errorbar(x, value, yerr=bars, fmt="o", color=colour, linewidth=1.2, capsize=2.5)
