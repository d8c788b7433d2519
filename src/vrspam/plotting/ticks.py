"""Marks along the axis of a column: whole numbers, months, weekdays, dates, and logarithmic axes that say so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from vrspam.plotting.texts import font_points, number_labels, text_width
from vrspam.tables.texts import DAYS_OF_A_YEAR, day_of, part_text

NEARLY_ALL = 0.9  # share of the points of a curve that are whole where its column is (bounds of clipping are not)
GAP = 5.0  # points between two labels
SQUEEZED = 4.0  # range of all rows / range of the middle 80 %: above this the axis is logarithmic
MANY_VALUES = 100  # with fewer values than this, the axis is not logarithmic


def is_whole(grid: np.ndarray) -> bool:
    """Whether a column holds whole numbers."""
    return bool((grid == np.round(grid)).mean() >= NEARLY_ALL)


def date_part(name: str, grid: np.ndarray) -> str | None:
    """The part of a date that a column is, as `AUCClassifierCV` and `vrspam train` name them: "admitted (month)"."""
    part = name.rpartition(" (")[2].rstrip(")") if name.endswith(")") else ""
    limits = {"month": (1, 12), "weekday": (1, 7), "hour": (0, 23), "year": (-3000, 5000)}.get(part)
    if limits is None or grid[0] < limits[0] or grid[-1] > limits[1]:
        return None
    return part if part == "year" or is_whole(grid) else None


def value_labels(name: str, values: np.ndarray) -> list[str]:
    """What stands under the points of a column with few values."""
    part = date_part(name, values)
    labels = number_labels(values) if part is None else [part_text(part, value) for value in values]
    return labels if len(set(labels)) == len(labels) else number_labels(values)


def _position(day: np.datetime64) -> float:
    return 1970.0 + float((day.astype("datetime64[D]") - np.datetime64("1970-01-01")).astype(int)) / DAYS_OF_A_YEAR


def mark_values(ax: Axes, name: str, grid: np.ndarray, width: float) -> None:
    """Mark the axis of a column of numbers: dates as dates, whole numbers at whole numbers.

    `width` is that of the axis, in points.
    """
    part = date_part(name, grid)
    if part is not None and part in ("month", "weekday"):
        places = np.arange(np.ceil(grid[0]), np.floor(grid[-1]) + 1)
        _set_ticks(ax, places, [part_text(part, place) for place in places], width)
    elif part == "hour":
        places = np.arange(np.ceil(grid[0] / 3.0), np.floor(grid[-1] / 3.0) + 1.0) * 3.0
        _set_ticks(ax, places, [part_text(part, place) for place in places], width)
    elif part == "year":
        _mark_dates(ax, grid[0], grid[-1], width)
    elif is_whole(grid):
        ax.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True, steps=[1, 2, 5, 10]))


def _mark_dates(ax: Axes, first: float, last: float, width: float) -> None:
    """Mark years, months or days, whichever are few enough to be read and more than one."""
    for unit, steps in (("Y", (50, 20, 10, 5, 2, 1)), ("M", (6, 3, 2, 1)), ("D", (14, 7, 2, 1))):
        units = np.arange(day_of(first).astype(f"datetime64[{unit}]"), day_of(last).astype(f"datetime64[{unit}]") + 1)
        for step in steps:
            chosen = units[units.astype(int) % step == 0]
            places = np.array([_position(day) for day in chosen])
            inside = (places >= first) & (places <= last)
            if inside.sum() >= 3:
                _set_ticks(ax, places[inside], [str(day) for day in chosen[inside]], width)
                return
    _set_ticks(ax, np.array([first, last]), [str(day_of(first)), str(day_of(last))], width)


def _set_ticks(ax: Axes, places: np.ndarray, labels: Sequence[str], width: float) -> None:
    """Mark evenly spaced places: every first, second, third, ... of them, so that their labels keep clear."""
    widest = max(text_width(label, font_points("xtick.labelsize")) for label in labels) + GAP
    low, high = ax.get_xlim()
    room = width * (places[1] - places[0]) / (high - low) if places.size > 1 else width
    step = max(1, int(np.ceil(widest / room)))
    ax.set_xticks(places[::step], list(labels)[::step])


def scale_axis(ax: Axes, grid: np.ndarray, width: float) -> str:
    """Make the axis logarithmic, or only its outer parts, where most rows would be squeezed into a corner.

    Return what there is to say about it, "" for a plain axis.
    """
    low, high = grid[[grid.size // 10, -1 - grid.size // 10]]  # the grid holds quantiles: 80 % of the rows lie between
    if grid.size <= MANY_VALUES or np.ptp(grid) <= SQUEEZED * (high - low):
        return ""
    if grid[0] > 0.0:
        ax.set_xscale("log")
        _mark_apart(ax, _log_ticks(grid[0], grid[-1]), grid, width)
        return "log scale"
    middle = max(abs(low), abs(high))
    ax.set_xscale("symlog", linthresh=middle, linscale=2.0)
    # The middle is linear, and there matplotlib marks nothing but 0 by default.
    within = MaxNLocator(3).tick_values(max(grid[0], -middle), min(grid[-1], middle))
    within = within[np.abs(within) <= middle]
    powers = 10.0 ** np.arange(np.floor(np.log10(middle)) + 1.0, np.log10(np.abs(grid[[0, -1]]).max()) + 1e-9)[::-1]
    outer = np.column_stack([powers, -powers]).ravel()
    order = np.concatenate([within[np.argsort(np.abs(within), kind="stable")], outer])
    _mark_apart(ax, order[(order >= grid[0]) & (order <= grid[-1])], grid, width)
    return f"log scale beyond {'±' if grid[0] < -middle else ''}{middle:.2g}"


def _log_ticks(low: float, high: float) -> np.ndarray:
    """Powers of ten, and within few of them also 2 and 5 times those; the first come first in line for a label."""
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1.0)
    decades = np.log10(high / low)
    factors = [1.0] if decades > 3.0 else [1.0, 3.0] if decades > 1.5 else [1.0, 2.0, 5.0, 3.0, 7.0, 1.5, 4.0]
    if decades > 6.0:  # every second, third, ... of them, so that the steps are even
        powers = powers[:: int(np.ceil(decades / 6.0))]
    ticks = np.concatenate([factor * powers for factor in factors])
    return ticks[(ticks >= low) & (ticks <= high)]


def _mark_apart(ax: Axes, wanted: np.ndarray, grid: np.ndarray, width: float) -> None:
    """Mark these values, the first ones first; one whose label would touch another is left out."""
    scale, size = ax.xaxis.get_transform(), font_points("xtick.labelsize")
    low, high = scale.transform(np.array(ax.get_xlim()))
    sizes = np.abs(wanted[wanted != 0.0])
    powers = sizes.size > 0 and not (sizes.min() >= 1e-3 and sizes.max() < 1e5)
    taken: list[tuple[float, float, float, str]] = []
    for tick in wanted:
        label = _power(tick) if powers and tick and not 0.1 <= abs(tick) < 100.0 else f"{tick:g}"
        plain = label.replace("$", "").replace("^{", "").replace("}", "").replace("\\times", "×")
        place = float((scale.transform(np.array([tick]))[0] - low) / (high - low)) * width
        half = (text_width(plain, size) + GAP) / 2.0
        if all(place + half <= start or place - half >= stop for start, stop, _, _ in taken):
            taken.append((place - half, place + half, float(tick), label))
    taken.sort()
    ax.set_xticks([tick for _, _, tick, _ in taken], [label for _, _, _, label in taken])
    ax.xaxis.set_minor_locator(NullLocator())


def _power(value: float) -> str:
    """A number far from 1 as a factor and a power of ten."""
    exponent = int(np.floor(np.log10(abs(value)) + 1e-9))
    factor = value / 10.0**exponent
    times = "" if np.isclose(abs(factor), 1.0) else rf"{abs(factor):g}\times"
    return f"${'-' if factor < 0 else ''}{times}10^{{{exponent}}}$"
