"""Plots of bars: coefficients or importances of a model, and what each column adds to the score of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from vrspam._utils.array_api import on_host
from vrspam._utils.texts import shorten, shorten_distinct
from vrspam.inspection import distinct
from vrspam.plotting.style import (
    GREY,
    axes_or_new,
    axes_points,
    colours,
    font_points,
    ink,
    letter_size,
    own_style,
    text_width,
)
from vrspam.tables.frames import columns_of, is_frame

NAME_LETTERS = 40
VALUE_LETTERS = 14  # of them for the value of a row


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
        Of an estimator on columns as they are: what one standard deviation of each column adds to the score (the
        coefficients themselves where the fit kept no moments), the largest first. Of one on a feature map: the spread
        of what each column adds (`importances_`). A pandas Series, or a dict, brings names and values. Names of more
        than 40 letters are shortened, and stay different.
    values : sequence of numbers
        One for each name, in the same order: coefficients, or importances; not with an estimator.
    label : str, optional
        What the values mean; written below the axis. An estimator has its own.
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
        names, values, own = _bars_of(names, most)
        label = own if label is None else label
    elif values is None and hasattr(names, "items"):
        pairs = list(names.items())
        names, values = [str(name) for name, _ in pairs], [value for _, value in pairs]
    if values is None or label is None:
        raise ValueError("plot_coefficients takes a fitted estimator, or names, values and a label.")
    shown = shorten_distinct([str(name) for name in names], NAME_LETTERS)
    return _draw_bars(shown, np.asarray(values, dtype=float), label, ax)


def _bars_of(model: Any, most: int) -> tuple[list[str], list[float], str]:
    """Names and sizes of the longest bars of a fitted estimator, and what they are."""
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most}.")
    if getattr(model, "features_", None) is not None:
        sizes, label = model.importances_, "standard deviation of what each adds to the score"
    else:
        coef, label = on_host(model.coef_)[0], "coefficient"
        if hasattr(model, "moments_"):
            share = model.moments_.weights / model.moments_.weights.sum()
            means, variances = model.moments_.means, model.moments_.variances
            coef = coef * np.sqrt(share @ variances + share @ (means - share @ means) ** 2)
            label = "added to the score by one standard deviation"
        given = getattr(model, "feature_names_in_", [f"x{j}" for j in range(coef.size)])
        sizes = dict(zip(distinct(given), coef.tolist(), strict=True))
    shown = sorted(sizes, key=lambda name: -abs(sizes[name]))[:most]
    return shown, [sizes[name] for name in shown], label


def _draw_bars(shown: list[str], sizes: np.ndarray, label: str, ax: Axes | None) -> Axes:
    """One bar for each name, the first on top; in a figure of its own there is room for all of them."""
    larger = letter_size()
    ax = axes_or_new(ax, (6.4 * larger, larger * (1.1 + 0.27 * max(sizes.size, 6))))
    below, above = colours()[:2]
    places = np.arange(sizes.size)[::-1]
    ax.barh(places, sizes, color=np.where(sizes > 0, above, below), height=0.7)
    ax.axvline(0.0, color=GREY, linewidth=1.0)
    ax.set_yticks(places, shown, parse_math=False)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(_beside_names(ax, label, shown))
    return ax


def _beside_names(ax: Axes, label: str, names: Sequence[str]) -> str:
    """A label in as many lines as the width takes that the names leave to the axis."""
    with mpl.rc_context(own_style()):
        taken = max((text_width(name, font_points("ytick.labelsize")) for name in names), default=0.0)
        wide = 1.2 * axes_points(ax)[0] - taken  # the names take more than their usual margin
        letters = len(label) * max(wide, 72.0) / text_width(label, font_points("axes.labelsize"))
    return fill(label, max(int(letters), 12))


def plot_contributions(parts: Any, row: Any = None, *, most: int = 12, ax: Axes | None = None) -> Axes:
    """Draw what each column adds to the score of one row, the largest part on top; the last bar is their sum.

    Parameters
    ----------
    parts : fitted estimator of this package, or what its `explain_one` returned
        The parts add up to the score; "interactions" is what no sum of curves can say, and "baseline" what every row
        has.
    row : one row, as `explain_one` takes it
        Is explained, where `parts` is an estimator; its values stand beside the names of the columns. With a dict of
        parts it may be left out, or be a dict, a Series or a frame of one row.
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
    if hasattr(parts, "explain_one"):
        if row is None:
            raise ValueError("plot_contributions takes an estimator and a row, or what explain_one returned.")
        parts = parts.explain_one(row)
    if not isinstance(parts, Mapping) or not parts:
        raise ValueError("plot_contributions takes an estimator and a row, or what explain_one returned.")
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most}.")
    order = sorted(parts, key=lambda name: -abs(parts[name]))
    shown, others = order[:most], order[most:]
    values = row_values(row, list(parts))
    short = shorten_distinct([str(name) for name in shown], NAME_LETTERS - VALUE_LETTERS)
    names = [_with_value(str(name), cut, values) for name, cut in zip(shown, short, strict=True)]
    sizes = [float(parts[name]) for name in shown]
    if others:
        names.append(f"{len(others)} other{'s' if len(others) > 1 else ''}")
        sizes.append(float(sum(parts[name] for name in others)))
    ax = _draw_bars([*names, "score"], np.array([*sizes, sum(sizes) + 0.0]), "added to the score of this row", ax)
    bars: Any = ax.containers[-1]
    bars.patches[-1].set_color(ink())
    ax.axhline(0.5, color=GREY, linewidth=0.8)
    ax.bar_label(bars, fmt="%+.3g", padding=3, fontsize="small")
    ax.margins(x=0.18)
    return ax


def _with_value(name: str, short: str, values: Mapping[str, str]) -> str:
    """A shortened name and the row's value; a part of a date has the date."""
    if name in values:
        return f"{short} = {shorten(values[name], VALUE_LETTERS)}"
    date = values.get(name.rpartition(" (")[0]) if name.endswith(")") else None
    return short if date is None else f"{short} of {shorten(date, VALUE_LETTERS)}"


def row_values(row: Any, names: Sequence[str]) -> dict[str, str]:
    """The values of a row as texts, by the names of its columns; an array has those of `names` if as many are there."""
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
    if isinstance(value, float):  # those of NumPy are
        return f"{value:.5g}" if abs(value) < 1e5 or value != round(value) else f"{value:.0f}"
    return str(value)
