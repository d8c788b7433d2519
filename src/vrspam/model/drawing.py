"""Plans of the pictures of a model: values, axes, marks and words.

`vrspam.report` draws these plans as SVG and `vrspam.plotting` with matplotlib. Lengths are in units in which a digit is
about 7.3 wide (`text_width`); both engines make the axis of a column at least `ROOM` units long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Any, Literal, NamedTuple

import numpy as np

from vrspam._utils.texts import number_labels, power_text, rounded, text_width
from vrspam.inspection import Axis, PairEffect, Shape
from vrspam.tables.kinds.dates import DAYS_OF_A_YEAR, YEAR, day_of, part_text

MANY_VALUES = 100  # a column with more may have an axis that is not linear, or values too far out to be drawn
ROOM = 195.0  # length of the axis of a column
GAP = 6.0  # least distance between two of its labels
MOST_TICKS = 6
MOST_CATEGORIES = 12  # that are drawn of one column
DECADES = 2.0  # length of the linear middle of a logarithmic axis, on each side of 0
ADDED = "added to the score"
MEAN_SCORE = "average score of rows with this value"
OWN_PART = "what the column adds"
BAND = "95 % band of the shape, from the folds"
INTERVAL = "95 % interval, from the folds"
OF_VARIANCE = "of the variance of the score"


class Ticks(NamedTuple):
    """The places of the ticks of an axis, and their labels."""

    places: np.ndarray
    labels: list[str]


class Scale(NamedTuple):
    """The scale of an axis: linear, logarithmic, or logarithmic only beyond ± `middle`.

    In a picture `low` is drawn at `start`, and `high` at `stop`.
    """

    low: float
    high: float
    kind: Literal["linear", "log", "symlog"] = "linear"
    middle: float = 0.0
    start: float = 0.0
    stop: float = 1.0
    words: str = ""  # a remark on the scale, such as "log scale"

    def __call__(self, values: np.ndarray | float) -> np.ndarray:
        """Where values lie on the axis, from `start` to `stop`."""
        low = self.transformed(self.low)
        high = self.transformed(self.high)
        places = self.transformed(np.asarray(values, dtype=float))
        length = (high - low) or 1.0
        return self.start + (places - low) / length * (self.stop - self.start)

    def transformed(self, values: Any) -> Any:
        """The values, or what makes the axis even: their logarithms, or these beyond the linear middle."""
        with np.errstate(all="ignore"):
            if self.kind == "log":
                return np.log10(values)
            if self.kind == "symlog":
                size = np.abs(values) / self.middle
                inside = DECADES / 0.9
                outer = np.sign(values) * (inside + np.log10(size))
                return np.where(size <= 1.0, inside * values / self.middle, outer)
        return values


class ColumnPlan(NamedTuple):
    """What is drawn of one column."""

    curve: bool  # whether it is drawn as a curve; otherwise as points in a column or row
    chosen: np.ndarray  # which values of the grid are drawn, in this order
    scale: Scale  # of the values; points are one apart
    ticks: Ticks  # values with their labels; for points their places, from 0, with their labels
    rug: np.ndarray  # values that are marked along the axis, so that a stretch without marks rests on few rows
    remarks: tuple[str, ...]
    ends: tuple[str, ...] = ()  # labels of the first and the last value of a curve


def plan_column(shape: Shape, ends: tuple[float, float]) -> ColumnPlan:
    """Plan the picture of a column; the axis of what it adds to the score reaches from ends[0] to ends[1]."""
    remarks = []
    if shape.direction > 0:
        remarks.append("rises by request")
    elif shape.direction < 0:
        remarks.append("falls by request")

    if is_curve(shape):
        return _plan_curve(shape, ends, remarks)
    return _plan_points(shape, remarks)


def _plan_points(shape: Shape, remarks: list[str]) -> ColumnPlan:
    """Plan a column of categories or of few numbers."""
    if shape.numeric:
        chosen = np.arange(shape.grid.size)
        labels = value_labels(shape.part, shape.grid)
    else:
        chosen = _choose_categories(shape)
        labels = [str(shape.grid[i]) for i in chosen]
        if chosen.size < shape.grid.size:
            remarks.append(f"{chosen.size} of {shape.grid.size:,} categories: the largest effects")

    return ColumnPlan(
        curve=False,
        chosen=chosen,
        scale=Scale(0.0, max(chosen.size - 1.0, 1.0)),
        ticks=Ticks(np.arange(float(chosen.size)), labels),
        rug=np.empty(0),
        remarks=tuple(remarks),
    )


def _choose_categories(shape: Shape) -> np.ndarray:
    """The places of the categories with the largest effects, in the order in which they are drawn."""
    largest = np.argsort(-np.abs(shape.contribution), kind="stable")[:MOST_CATEGORIES]
    # ordered categories with a requested direction keep their order, others are sorted by what they add
    if shape.direction:
        return np.sort(largest)
    return largest[np.argsort(-shape.contribution[largest], kind="stable")]


def _plan_curve(shape: Shape, ends: tuple[float, float], remarks: list[str]) -> ColumnPlan:
    """Plan a column of many numbers."""
    chosen = _choose_near(shape.grid)
    grid = shape.grid[chosen]
    contribution = shape.contribution[chosen]

    first, last, first_drawn, last_drawn = _end_labels(shape, chosen)
    far_off = []
    if chosen[0] > 0:
        far_off.append(first)
    if chosen[-1] < shape.grid.size - 1:
        far_off.append(last)
    if far_off:
        remarks.append(f"{' and '.join(far_off)}: too far out to be drawn")

    outside = np.maximum(ends[0] - contribution, contribution - ends[1])
    if outside.max() > 0.0:
        remarks.append(f"goes on to {rounded(contribution[outside.argmax()])}, beyond the picture")

    scale = _scale(grid)
    return ColumnPlan(
        curve=True,
        chosen=chosen,
        scale=scale,
        ticks=column_ticks(shape.part, grid, scale),
        rug=_rug(grid),
        remarks=tuple(remarks),
        ends=(first_drawn, last_drawn),
    )


def _choose_near(grid: np.ndarray) -> np.ndarray:
    """The places of the values that are drawn: of many, not an outermost one that is far off."""
    far_off = 0.1  # an outermost value is far off if its distance exceeds this part of the range of the others
    chosen = np.arange(grid.size)
    if grid.size <= MANY_VALUES:
        return chosen

    steps = np.diff(grid)
    inner = grid[-2] - grid[1]
    first = int(steps[0] > far_off * inner)
    stop = grid.size - int(steps[-1] > far_off * inner)
    if _scale(grid[first:stop]).kind == "log":  # it has room for them
        return chosen
    return chosen[first:stop]


def _end_labels(shape: Shape, chosen: np.ndarray) -> list[str]:
    """Labels of the first and the last value of all, and of those that are drawn."""
    values = shape.grid[[0, shape.grid.size - 1, chosen[0], chosen[-1]]]
    if shape.part:
        return [part_text(shape.part, value) for value in values]
    return [rounded(value) for value in values]


def _rug(grid: np.ndarray) -> np.ndarray:
    """About 20 quantiles of the rows; none if the values are evenly spaced: these come from a straight line."""
    steps = np.diff(grid)
    if np.ptp(steps) <= 1e-9 * steps.max():
        return grid[:0]
    return grid[np.linspace(0, grid.size - 1, min(grid.size, 21)).astype(int)]


def is_curve(shape: Shape) -> bool:
    """Whether a column is drawn as a curve, not as points."""
    return shape.numeric and shape.grid.size > 8


def shown_columns(shapes: Iterable[Shape]) -> list[Shape]:
    """The columns that are drawn, the most important first: those that add something, or all if none does."""
    columns = sorted(shapes, key=lambda shape: -shape.importance)
    return [shape for shape in columns if shape.importance > 0.0] or columns


def largest_cell(pairs: Iterable[PairEffect]) -> float:
    """The size that has the strongest colour in heat maps; 1 where all cells are 0 or empty."""
    sizes = []
    for pair in pairs:
        filled = pair.values[np.isfinite(pair.values)]
        sizes.append(float(np.abs(filled).max(initial=0.0)))
    return max(sizes) or 1.0


def common_range(shapes: Sequence[Shape]) -> tuple[float, float]:
    """The common range of what columns add; ends of curves, of few rows, and wide bands may lie outside of it."""
    values = [np.zeros(1)]
    bands = [np.zeros(1)]
    for shape in shapes:
        # without the outermost hundredth of the rows on each side, where the grid holds many values
        cut = 0
        if shape.numeric and shape.grid.size > MANY_VALUES:
            cut = shape.grid.size // 50
        inner = slice(cut, shape.grid.size - cut)

        values.append(shape.contribution[inner])
        if shape.mean_score is not None:
            values.append(shape.mean_score[inner])
        bands.append(shape.low[inner])
        bands.append(shape.high[inner])
        if shape.missing is not None:
            values.append(np.array(shape.missing[:1]))
            bands.append(np.array(shape.missing[1:]))

    all_values = np.concatenate(values)
    all_bands = np.concatenate(bands)
    low = float(np.nanmin(all_values))
    high = float(np.nanmax(all_values))
    room = 0.4 * (high - low)  # for bands, on each side
    low = min(low, max(float(np.nanmin(all_bands)), low - room))
    high = max(high, min(float(np.nanmax(all_bands)), high + room))
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def _scale(grid: np.ndarray) -> Scale:
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


# ---- ticks


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
        return _power_ticks(scale)
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


def number_ticks(low: float, high: float, *, whole: bool = False, shares: bool = False, room: float = ROOM) -> Ticks:
    """Round numbers between two ends, so few that their labels do not overlap; shares are shown in percent.

    Labels that stand one above the other never overlap: then `room` is infinite.

    >>> number_ticks(2024.0, 2024.5, room=110.0).labels, number_ticks(0.0, 2e4, room=110.0).labels
    (['2024.00', '2024.25', '2024.50'], ['0', '10,000', '20,000'])
    >>> number_ticks(0.0, 0.5, shares=True).labels
    ['0 %', '10 %', '20 %', '30 %', '40 %', '50 %']
    """
    for count in range(MOST_TICKS, 1, -1):
        places = round_numbers(low, high, count, whole)
        labels = _share_labels(places) if shares else _round_labels(places)
        widest = max(map(text_width, labels), default=0.0) + GAP
        if len(places) < 2 or widest <= room * (places[1] - places[0]) / (high - low):
            break
    return Ticks(np.array(places), labels)


def _share_labels(places: list[float]) -> list[str]:
    return [f"{100 * place:g} %" for place in places]


def _round_labels(places: list[float]) -> list[str]:
    """Evenly spaced round numbers, with as many decimals as tell them apart."""
    steps = np.diff(places)
    even = steps.size and np.ptp(steps) <= 1e-6 * steps.max()
    if not (even and 1e-6 < steps[0] < 1e9):
        return [rounded(place) for place in places]

    digits = len(f"{steps[0]:.9f}".rstrip("0").partition(".")[2])
    labels = []
    for place in places:
        separator = "," if abs(place) >= 1e4 else ""
        labels.append(f"{place:{separator}.{digits}f}")
    return labels


def round_numbers(low: float, high: float, most: int = 5, whole: bool = False) -> list[float]:
    """Round numbers, evenly spaced in at most `most` steps.

    >>> round_numbers(0.0, 1.0), round_numbers(1.0, 3.0, whole=True), round_numbers(-0.3, 0.45, 3)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [1.0, 2.0, 3.0], [-0.25, 0.0, 0.25])
    """
    span = high - low
    if not (np.isfinite(span) and span > 0.0):
        return [low]
    step = 10.0 ** np.floor(np.log10(span / most))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if span / (factor * step) <= most * (1.0 + 1e-9))
    if whole:
        step = np.ceil(step)
    first = np.ceil(low / step - 1e-9)
    last = np.floor(high / step + 1e-9)
    return [float(f"{step * k:.12g}") + 0.0 for k in np.arange(first, last + 1)]


class _TakenPlace(NamedTuple):
    """A tick and the stretch of the axis that its label takes."""

    start: float
    stop: float
    tick: float
    label: str


def _power_ticks(scale: Scale) -> Ticks:
    """Ticks of a logarithmic axis, the most wanted first; a tick whose label would touch a taken one is left out."""
    wanted = _wanted_on_log(scale) if scale.kind == "log" else _wanted_on_symlog(scale)
    wanted = wanted[(wanted >= scale.low) & (wanted <= scale.high)]
    sizes = np.abs(wanted[wanted != 0.0])
    far = sizes.size > 0 and not (sizes.min() >= 1e-3 and sizes.max() < 1e5)

    taken: list[_TakenPlace] = []
    for tick in wanted.tolist():
        if far and not 0.1 <= abs(tick) < 1000.0:
            label = power_text(tick, ".1g")
        else:
            label = rounded(tick)
        place = ROOM * float(scale(tick))
        half = (text_width(label) + GAP) / 2.0
        if all(place + half <= other.start or place - half >= other.stop for other in taken):
            taken.append(_TakenPlace(place - half, place + half, tick, label))

    taken.sort()
    return Ticks(np.array([place.tick for place in taken]), [place.label for place in taken])


def _wanted_on_log(scale: Scale) -> np.ndarray:
    """Powers of ten, and if the range has few of them also multiples."""
    decades = np.log10(scale.high / scale.low)
    powers = 10.0 ** np.arange(np.floor(np.log10(scale.low)), np.ceil(np.log10(scale.high)) + 1.0)
    if decades > 6.0:  # every second, third, ... of them, so that the steps are even
        powers = powers[:: ceil(decades / 6.0)]

    if decades > 3.0:
        factors = [1.0]
    elif decades > 1.5:
        factors = [1.0, 3.0]
    else:
        factors = [1.0, 2.0, 5.0, 3.0, 7.0, 1.5, 4.0]
    return np.concatenate([factor * powers for factor in factors])


def _wanted_on_symlog(scale: Scale) -> np.ndarray:
    """Round numbers in the linear middle, those near 0 first, then powers of ten outside of it, the largest first."""
    inner = np.array(round_numbers(max(scale.low, -scale.middle), min(scale.high, scale.middle), 4))
    inner = inner[np.argsort(np.abs(inner), kind="stable")]

    first = np.floor(np.log10(scale.middle)) + 1.0
    largest = max(abs(scale.low), abs(scale.high))
    powers = 10.0 ** np.arange(first, np.log10(largest) + 1e-9)[::-1]
    return np.concatenate([inner, np.column_stack([powers, -powers]).ravel()])


def bin_ticks(axis: Axis) -> Ticks:
    """Ticks of a side of a heat map, whose bins are 1 wide: limits stand between bins, other labels in the middle."""
    labels = list(axis.labels)
    edges = axis.edges
    if edges is None:
        return Ticks(np.arange(len(labels)) + 0.5, labels)
    if np.ptp(edges) > 0.0 and any(" to " in label for label in labels):
        return _limit_ticks(axis, edges)

    if axis.part:  # a bin for each value, which is its upper edge
        labels = [*value_labels(axis.part, edges[1:]), *labels[edges.size - 1 :]]
    step = ceil(len(labels) / 10)
    return Ticks(np.arange(0, len(labels), step) + 0.5, labels[::step])


def _limit_ticks(axis: Axis, edges: np.ndarray) -> Ticks:
    """Limits between bins of numbers; a bin of missing values has its label in the middle."""
    chosen = np.unique(np.linspace(0, edges.size - 1, min(edges.size, MOST_TICKS)).round().astype(int))
    limits = edges[chosen]
    if axis.part == YEAR:
        labels = value_labels(YEAR, limits)
    else:  # rounded to digits that matter for their range, but all different
        digits = 2 - int(np.floor(np.log10(np.ptp(limits))))
        labels = [power_text(round(limit, digits)) for limit in limits]
        if len(set(labels)) != np.unique(limits).size:
            labels = number_labels(limits, 3)

    places = chosen.astype(float).tolist()
    n_bins = len(axis.labels)
    if n_bins == edges.size:
        places.append(n_bins - 0.5)
        labels.append("missing")
    return Ticks(np.array(places), labels)


# ---- scores


def score_edges(positive: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Limits of the bars of a distribution of scores; the outermost bars also hold the half percent beyond them."""
    low, high = np.quantile(scores, [0.005, 0.995])
    if not low < high:
        low -= 0.5
        high += 0.5
    smaller = min(positive.sum(), (~positive).sum())
    n_bars = int(np.clip(np.sqrt(smaller), 12, 40))
    return np.linspace(low, high, n_bars + 1)
