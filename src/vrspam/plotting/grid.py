"""Plots of fits: the AUC over a grid of penalties, coefficients along a path, and convergence."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import ArrayLike

from vrspam._utils.texts import shorten_distinct
from vrspam.estimators.coef_path import coef_path
from vrspam.estimators.constraints import limits_of
from vrspam.inspection import distinct
from vrspam.model_selection.selection import select
from vrspam.plotting.style import GREY, add_legend, axes_or_new, ink, line_look, mixed

SMALLEST = 1e-16  # smaller differences are rounding errors and are drawn here
MANY_LINES = 6  # more have shades of one colour map in place of colours
NAMES = {
    "passes": "passes over the data",
    "seconds": "seconds",
    "epoch": "epochs",
    "gap": "certificate: at most this far above\nthe optimum",
    "stationarity": "stationarity, in units of F",
    "objective": "objective F",
}


def plot_cv(
    auc_path: Any,
    l2s: ArrayLike | None = None,
    l1s: ArrayLike = (0.0,),
    *,
    chosen: tuple[float, float] | None = None,
    measure: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean AUC (or another measure) over folds against l2, with a band of one standard error; one line per l1.

    With more than three values of l1 only the best one has a band; with more than six the colours go from dark (small
    l1) to light. Points far below the line of the best l1 may lie outside the frame.

    Parameters
    ----------
    auc_path : fitted AUCClassifierCV, or array of shape (len(l2s), len(l1s), folds) or (len(l2s), folds)
        An array has the form of `AUCClassifierCV.auc_path_` or `score_path_`; an estimator brings its own grid, its
        chosen point and the measure that chose it.
    l2s, l1s : lists of numbers
        As `AUCClassifierCV.l2s_` and `l1s_`; for an array only.
    chosen : (l2, l1), optional
        This point is marked by a ring; by default the point with the best mean, or that of the estimator.
    measure : str, optional
        Name of the measure: by default that of the estimator, and "AUC" for an array; the values of `score_path_` are
        of `AUCClassifierCV.measure_`.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_cv
    >>> auc = [[0.80, 0.84, 0.82], [0.89, 0.93, 0.91], [0.86, 0.91, 0.90]]
    >>> ax = plot_cv(auc, l2s=[0.01, 0.1, 1.0])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('l2 (log scale)', 'AUC on validation folds')
    """
    if hasattr(auc_path, "auc_path_"):
        model = auc_path
        auc_path, l2s, l1s = model.score_path_, model.l2s_, model.l1s_
        measure = model.measure_ if measure is None else measure
        chosen = (model.l2_, model.l1_) if chosen is None else chosen
    if l2s is None:
        raise ValueError("plot_cv takes a fitted AUCClassifierCV, or auc_path_ and l2s_ of one.")
    l2s, l1s = np.asarray(l2s, dtype=float), np.asarray(l1s, dtype=float)
    auc = np.asarray(auc_path, dtype=float)
    if auc.ndim == 2:  # of one l1
        auc = auc[:, np.newaxis, :]
    choice = select(auc, {"l2": l2s, "l1": l1s})

    ax = axes_or_new(ax)
    _draw_grid(ax, choice, l2s, l1s)
    if chosen is None:
        _mark_point(ax, choice, l2s, choice.index, "best")
    else:
        point = _position(l2s, chosen[0], "l2"), _position(l1s, chosen[1], "l1")
        _mark_point(ax, choice, l2s, point, "chosen")
    best = choice.index[1]
    _fit_height(ax, choice.mean[:, best], np.nan_to_num(choice.standard_error[:, best]))
    _penalty_axis(ax, l2s, "l2")
    ax.set_ylabel(f"{measure or 'AUC'} on validation folds")
    add_legend(ax, fontsize="small", ncols=2 if l1s.size > MANY_LINES else 1)
    return ax


def _draw_grid(ax: Axes, choice: Any, l2s: np.ndarray, l1s: np.ndarray) -> None:
    """A line for each l1 with a band of one standard error; of more than three l1 only the best has a band."""
    places, order = _log_places(l2s), np.argsort(l2s)
    best = choice.index[1]
    shades = mpl.colormaps["cividis"](np.linspace(0.0, 0.9, l1s.size))
    for number, j in enumerate(np.argsort(l1s, kind="stable")):
        look = line_look(number)
        if l1s.size > MANY_LINES:
            look = {"color": shades[number], "linestyle": "-"}
        mean, error = choice.mean[order, j], choice.standard_error[order, j]
        ax.plot(places[order], mean, marker="o", label=f"l1 = {l1s[j]:g}", zorder=3 if j == best else 2, **look)
        if np.isfinite(error).all() and (l1s.size <= 3 or j == best):
            ax.fill_between(places[order], mean - error, mean + error, color=look["color"], alpha=0.15, linewidth=0)


def _mark_point(ax: Axes, choice: Any, l2s: np.ndarray, point: tuple[int, ...], label: str) -> None:
    """A ring around a point of the grid."""
    ax.plot(
        _log_places(l2s)[point[0]],
        choice.mean[point],
        "o",
        color=ink(),
        fillstyle="none",
        markersize=11,
        markeredgewidth=2,
        label=label,
        zorder=4,
    )


def _fit_height(ax: Axes, mean: np.ndarray, error: np.ndarray) -> None:
    """Let the line of the best l1 and its band fill most of the height."""
    low, high = float((mean - error).min()), float((mean + error).max())
    span = max(high - low, 1e-3)
    lowest_point = min(low, ax.dataLim.ymin)
    ax.set_ylim(max(low - 0.5 * span, lowest_point - 0.05 * span), high + 0.08 * span)


def plot_path(
    penalties: Any,
    coefs: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    chosen: float | None = None,
    label: str = "l2",
    ax: Axes | None = None,
) -> Axes:
    """Draw coefficients along a path of penalties; the six largest have colours and names, the others are grey.

    Parameters
    ----------
    penalties : array of n numbers, or fitted AUCClassifierCV
        For an estimator on columns as they are, the coefficients along its own `l2s_` are computed from its `moments_`
        and its l2 is marked.
    coefs : array of shape (n, n_features)
        One axis of the result of `vrspam.coef_path`: `coefs[:, j]` along l2, `coefs[i]` along l1.
    names : names of the features, optional
    chosen : float, optional
        This penalty is marked by a vertical line.
    label : str, default="l2"
        Label of the axis of penalties.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_path
    >>> ax = plot_path([0.01, 0.1, 1.0], [[2.0, -1.0], [1.0, -0.8], [0.2, 0.0]], names=["age", "dose"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['age', 'dose']
    """
    if hasattr(penalties, "l2s_"):
        model = penalties
        penalties, coefs = model.l2s_, _coefs_along_l2(model)
        chosen = model.l2_ if chosen is None else chosen
        if names is None:
            names = distinct(getattr(model, "feature_names_in_", [f"x{j}" for j in range(coefs.shape[1])]))
    if coefs is None:
        raise ValueError("plot_path takes penalties and coefficients, or a fitted AUCClassifierCV.")
    values, coefs = np.asarray(penalties, dtype=float), np.asarray(coefs, dtype=float)
    _check_path(values, coefs, names)
    beside = {} if ax is not None else {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}  # a figure's only axes
    ax = axes_or_new(ax, (6.6, 4.0))
    _draw_path(ax, values, coefs, names)
    if chosen is not None:
        place = _log_places(values)[_position(values, chosen, label)]
        ax.axvline(place, color=GREY, linewidth=1.2, linestyle=(0, (4, 2)), label="chosen", zorder=2)
    _penalty_axis(ax, values, label)
    ax.set_ylabel("coefficient")
    add_legend(ax, fontsize="small", **beside)
    return ax


def _check_path(values: np.ndarray, coefs: np.ndarray, names: Sequence[str] | None) -> None:
    """Refuse penalties, coefficients and names that do not fit together."""
    if coefs.ndim != 2 or values.ndim != 1 or coefs.shape[0] != values.size or values.size == 0:
        raise ValueError(
            f"coefs of shape {coefs.shape} need one row for each of {values.size} penalties: pass one axis of "
            "coef_path, coefs[:, j] along l2 or coefs[i] along l1."
        )
    if not (np.isfinite(values).all() and (values >= 0.0).all() and np.isfinite(coefs).all() and coefs.shape[1]):
        raise ValueError("plot_path needs finite coefficients of at least one feature, and penalties of 0 or more.")
    if names is not None and len(names) != coefs.shape[1]:
        raise ValueError(f"{len(names)} names were given for {coefs.shape[1]} features.")


def _draw_path(ax: Axes, values: np.ndarray, coefs: np.ndarray, names: Sequence[str] | None) -> None:
    """The largest coefficients in colours with their names, the others in grey."""
    places, order = _log_places(values), np.argsort(values)
    largest = np.argsort(-np.abs(coefs).max(axis=0), kind="stable")[:MANY_LINES]
    others = np.setdiff1d(np.arange(coefs.shape[1]), largest)
    ax.plot(places[order], coefs[np.ix_(order, others)], color=mixed(0.22), linewidth=0.8, zorder=1)
    labels = [f"feature {j}" if names is None else str(names[j]) for j in largest]
    for number, (j, name) in enumerate(zip(largest, shorten_distinct(labels, 24), strict=True)):
        ax.plot(places[order], coefs[order, j], label=name, zorder=3, **line_look(number))
    ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=2)


def _coefs_along_l2(model: Any) -> np.ndarray:
    """The coefficients of a fitted estimator at each of its own l2s, with its l1."""
    if getattr(model, "features_", None) is not None or not hasattr(model, "moments_") or model.loss != "squared":
        raise ValueError(
            "plot_path draws the coefficients of an estimator with the squared loss, on columns as they are "
            "(features='linear'), that has kept its moments; for others pass l2s and the coefficients at each."
        )
    limits = limits_of(model, model.coef_.shape[1])
    bounds = None if limits is None else np.column_stack([limits.lower, limits.upper])
    penalty = {"penalty": model.penalty, "gamma": model.gamma}
    return coef_path(model.moments_, model.l2s_, [model.l1_], bounds=bounds, **penalty)[:, 0]


def plot_convergence(histories: Any, *, x: str = "passes", y: str = "gap", ax: Axes | None = None) -> Axes:
    """Draw the certificate, or the objective, of one or several fits against passes or seconds.

    Parameters
    ----------
    histories : fitted estimator, its `history_`, or a mapping from names to these
        A history has arrays `epoch`, `passes`, `seconds`, `objective` and `gap` of equal length.
    x : {"passes", "seconds", "epoch"}, default="passes"
    y : {"gap", "stationarity", "objective"}, default="gap"
        The gap, and the stationarity of fits without one, are drawn on a logarithmic scale.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_convergence
    >>> history = {"passes": [1, 3, 5], "gap": [1e-1, 1e-3, 1e-6]}
    >>> ax = plot_convergence({"one": history, "two": {"passes": [1, 2], "gap": [0.1, 0.05]}})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['one', 'two']
    """
    several = histories if isinstance(histories, Mapping) and y not in histories else {"": histories}
    several = {str(name): getattr(one, "history_", one) for name, one in several.items()}
    if not several or not all(isinstance(one, Mapping) and x in one and y in one for one in several.values()):
        raise ValueError(f"each history needs {x!r} and {y!r}: pass history_ of a fitted estimator, or a dict of them")
    ax = axes_or_new(ax)
    logarithmic = y != "objective"
    for number, (name, history) in enumerate(several.items()):
        values = np.asarray(history[y], dtype=float)
        if logarithmic:
            values = np.maximum(values, SMALLEST)
        ax.plot(np.asarray(history[x], dtype=float), values, marker="o", label=name, **line_look(number))
    ax.set_xlabel(NAMES.get(x, x))
    ax.set_ylabel(NAMES.get(y, y))
    if logarithmic:
        ax.set_yscale("log")
        ax.set_ylabel(f"{NAMES.get(y, y)} (log scale)")
    if all(float(value).is_integer() for history in several.values() for value in history[x]):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    if len(several) > 1 or next(iter(several)):
        add_legend(ax)
    return ax


def _position(values: np.ndarray, value: float, name: str) -> int:
    nearest = int(np.argmin(np.abs(values - value)))
    if not np.isclose(values[nearest], value, rtol=1e-9, atol=0.0):
        raise ValueError(f"{name} = {value:g} is not a point of the grid {values.tolist()}.")
    return nearest


def _log_places(values: np.ndarray) -> np.ndarray:
    """Return the positions of penalties on a logarithmic axis: 0 is one decade below the smallest positive one."""
    positive = values[values > 0.0]
    place_of_zero = positive.min() / 10.0 if positive.size else 1.0
    return np.where(values > 0.0, values, place_of_zero)


def _penalty_axis(ax: Axes, values: np.ndarray, name: str) -> None:
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(numticks=8))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(f"{name} (log scale)")
    if (values == 0.0).any() and values.any():
        _tick_at_zero(ax, values)


def _tick_at_zero(ax: Axes, values: np.ndarray) -> None:
    """Ticks at powers of ten, and one of its own for 0."""
    zero = float(_log_places(values).min())
    low, high = values[values > 0.0].min(), values.max()
    decades = 10.0 ** np.arange(np.ceil(np.log10(low) - 1e-9), np.floor(np.log10(high) + 1e-9) + 1)
    every = max(1, ceil(decades.size / 7))

    def label(place: float, _: Any) -> str:
        return "0" if place <= zero * 1.001 else f"$10^{{{np.log10(place):.0f}}}$"

    ax.set_xticks([zero, *decades[::every]])
    ax.xaxis.set_major_formatter(FuncFormatter(label))
