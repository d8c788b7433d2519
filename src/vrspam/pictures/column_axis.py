"""The axis of the values of a column: its scale, and its ticks, which are dates where it is a part of dates."""

from __future__ import annotations

from math import ceil

import numpy as np

from vrspam._utils.texts import number_labels, rounded, text_width
from vrspam.pictures.scales import GAP, ROOM, Scale, Ticks, number_ticks, power_ticks
from vrspam.tables.kinds.dates import DAYS_OF_A_YEAR, YEAR, day_of, part_text

MANY_VALUES = 100  # a column with more may have an axis that is not linear, or values too far out to be drawn


def scale_of_column(grid: np.ndarray) -> Scale:
    """The scale of a grid: logarithmic, or only its outer parts, if a linear scale would squeeze most rows together."""
    squeezed = 4.0  # range of all rows / range of the middle 80 %: above this the axis is logarithmic
    first = float(grid[0])
    last = float(grid[-1])
    tenth = grid.size // 10
    low, high = grid[[tenth, -1 - tenth]]  # the grid holds quantiles: 80 % of the rows lie between
    if grid.size <= MANY_VALUES or last - first <= squeezed * (high - low):
        return Scale(first, last)
    if first > 0.0:
        return Scale(first, last, "log", words="log scale")

    middle = float(max(abs(low), abs(high)))
    limit = rounded(float(f"{middle:.2g}"))
    if first < -middle:
        limit = f"±{limit}"
    return Scale(first, last, "symlog", middle, words=f"log scale beyond {limit}")


def value_labels(part: str, values: np.ndarray) -> list[str]:
    """Labels of the points of a column with few values; `part` is the part of a date that it is, or ""."""
    if part:
        labels = [part_text(part, value) for value in values]
        if len(set(labels)) == len(labels):
            return labels
    return number_labels(values)


def column_ticks(part: str, grid: np.ndarray, scale: Scale) -> Ticks:
    """Ticks along the curve of a column: dates as dates, whole numbers at whole numbers, powers on logarithmic axes."""
    if scale.kind != "linear":
        return power_ticks(scale)
    if not part:  # whole numbers, but for bounds of clipping
        return number_ticks(scale.low, scale.high, whole=bool((grid == np.round(grid)).mean() >= 0.9))
    if part == YEAR:
        return _thinned(_year_ticks(scale), scale)
    hours = 3.0 if part == "hour" else 1.0
    places = np.arange(ceil(scale.low / hours), np.floor(scale.high / hours) + 1.0) * hours
    return _thinned(Ticks(places, [part_text(part, place) for place in places]), scale)


def _year_ticks(scale: Scale) -> Ticks:
    """Years, months or days, whichever are few enough to be read and more than two; or the two ends."""
    steps_of_units = {"Y": (50, 20, 10, 5, 2, 1), "M": (6, 3, 2, 1), "D": (14, 7, 2, 1)}
    first = day_of(scale.low)
    last = day_of(scale.high)
    for unit, steps in steps_of_units.items():
        starts = np.arange(first.astype(f"datetime64[{unit}]"), last.astype(f"datetime64[{unit}]") + 1)
        for step in steps:
            days = starts[starts.astype(int) % step == 0]
            places = 1970.0 + days.astype("datetime64[D]").astype(int) / DAYS_OF_A_YEAR
            inside = (places >= scale.low) & (places <= scale.high)
            if inside.sum() >= 3:
                return Ticks(places[inside], [str(day) for day in days[inside]])
    return Ticks(np.array([scale.low, scale.high]), [str(first), str(last)])


def _thinned(ticks: Ticks, scale: Scale) -> Ticks:
    """Every first, second, third, ... of evenly spaced ticks, so that their labels keep apart."""
    widest = max(map(text_width, ticks.labels), default=0.0) + GAP
    room = ROOM
    if ticks.places.size > 1:
        room = ROOM * float(scale(ticks.places[1]) - scale(ticks.places[0]))
    every = max(1, ceil(widest / room))
    return Ticks(ticks.places[::every], ticks.labels[::every])
