"""Bars: coefficients and importances of columns, and the parts of one score."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from vrspam._utils.array_api import on_host
from vrspam._utils.texts import shorten, shorten_distinct
from vrspam.inspection import distinct
from vrspam.plotting import style
from vrspam.tables.frames import columns_of, is_frame


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
        sizes, meaning = _sizes_of(names)
        names = sorted(sizes, key=lambda name: -abs(sizes[name]))[:most]
        values = [sizes[name] for name in names]
        label = meaning if label is None else label
    elif values is None and hasattr(names, "items"):
        pairs = list(names.items())
        names = [str(name) for name, _ in pairs]
        values = [value for _, value in pairs]
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

    coef = on_host(model.coef_)[0]
    label = "coefficient"
    if hasattr(model, "moments_"):
        coef = coef * _deviations(model.moments_)
        label = "added to the score by one standard deviation"
    names = distinct(getattr(model, "feature_names_in_", [f"x{j}" for j in range(coef.size)]))
    return dict(zip(names, coef.tolist(), strict=True)), label


def _deviations(moments: Any) -> np.ndarray:
    """Standard deviations of the columns over all rows."""
    share = moments.weights / moments.weights.sum()
    mean = share @ moments.means
    return np.sqrt(share @ moments.variances + share @ (moments.means - mean) ** 2)


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
    largest_first = sorted(parts, key=lambda name: -abs(parts[name]))
    shown, others = largest_first[:most], largest_first[most:]
    names = _names_with_values(shown, row_values(row, list(parts)))
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


def _names_with_values(names: Sequence[Any], values: Mapping[str, str]) -> list[str]:
    """Names of parts, each with the value of its column in the row; a part of a date has the date."""
    texts = [str(name) for name in names]
    labels = []
    for name, short in zip(texts, shorten_distinct(texts, 26), strict=True):
        date = values.get(name.rpartition(" (")[0]) if name.endswith(")") else None
        if name in values:
            labels.append(f"{short} = {shorten(values[name], 14)}")
        elif date is not None:
            labels.append(f"{short} of {shorten(date, 14)}")
        else:
            labels.append(short)
    return labels


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
