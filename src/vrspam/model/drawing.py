"""Plans of the pictures of a model: values, axes, marks and words; and what columns add in single rows.

`vrspam.report` draws these plans as SVG and `vrspam.plotting` with matplotlib. Lengths are in units in which a digit is
about 7.3 wide (`text_width`); both engines make the axis of a column at least `ROOM` units long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from vrspam._utils.texts import number_labels, power_text, rounded, text_width
from vrspam.inspection import INTERACTIONS, Axis, PairEffect, Shape, distinct
from vrspam.tables import frames
from vrspam.tables.kinds.dates import DAYS_OF_A_YEAR, YEAR, day_of, part_text
from vrspam.tables.unseen import far_outside

if TYPE_CHECKING:
    from vrspam.tool.model import Model

MANY_VALUES = 100  # a column with more may have an axis that is not linear, or values too far out to be drawn
ROOM, GAP = 195.0, 6.0  # length of the axis of a column, and least distance between two of its labels
MOST_TICKS = 6
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
        even: list[Any] = []  # the values on the scale of the axis
        for at in (self.low, self.high, np.asarray(values, dtype=float)):
            with np.errstate(all="ignore"):
                if self.kind == "log":
                    at = np.log10(at)
                elif self.kind == "symlog":
                    size, inside = np.abs(at) / self.middle, DECADES / 0.9
                    at = np.where(size <= 1.0, inside * at / self.middle, np.sign(at) * (inside + np.log10(size)))
            even.append(at)
        low, high, places = even
        return self.start + (places - low) / ((high - low) or 1.0) * (self.stop - self.start)


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
    remarks = [f"{'rises' if shape.direction > 0 else 'falls'} by request"] if shape.direction else []
    grid, part = shape.grid, shape.part
    chosen = np.arange(grid.size)
    if not is_curve(shape):
        if not shape.numeric:
            chosen = np.argsort(-np.abs(shape.contribution), kind="stable")[:12]
            # ordered categories with a requested direction keep their order, others are sorted by what they add
            falling = np.argsort(-shape.contribution[chosen], kind="stable")
            chosen = np.sort(chosen) if shape.direction else chosen[falling]
            if chosen.size < grid.size:
                remarks.append(f"{chosen.size} of {grid.size:,} categories: the largest effects")
        labels = value_labels(part, grid) if shape.numeric else [str(grid[i]) for i in chosen]
        ticks, scale = Ticks(np.arange(float(chosen.size)), labels), Scale(0.0, max(chosen.size - 1.0, 1.0))
        return ColumnPlan(False, chosen, scale, ticks, np.empty(0), tuple(remarks))
    far_off = 0.1  # an outermost value is far off if its distance exceeds this part of the range of the others
    if grid.size > MANY_VALUES:
        steps, inner = np.diff(grid), grid[-2] - grid[1]
        far = int(steps[0] > far_off * inner), int(steps[-1] > far_off * inner)
        if _scale(grid[far[0] : grid.size - far[1]]).kind != "log":  # a log scale has room for them
            chosen = chosen[far[0] : grid.size - far[1]]
    outermost = [0, grid.size - 1, chosen[0], chosen[-1]]  # of all values, and of those that are drawn
    texts = [part_text(part, value) if part else rounded(value) for value in grid[outermost]]
    if chosen.size < grid.size:
        left_out = [text for text, i in zip(texts[:2], outermost[:2], strict=True) if i not in chosen]
        remarks.append(f"{' and '.join(left_out)}: too far out to be drawn")
    grid, value = grid[chosen], shape.contribution[chosen]
    outside = np.maximum(ends[0] - value, value - ends[1])
    if outside.max() > 0.0:
        remarks.append(f"goes on to {rounded(value[outside.argmax()])}, beyond the picture")
    scale = _scale(grid)
    steps = np.diff(grid)
    rug = grid[np.linspace(0, grid.size - 1, min(grid.size, 21)).astype(int)]
    if np.ptp(steps) <= 1e-9 * steps.max():  # evenly spaced points come from a straight line, not from rows
        rug = rug[:0]
    ticks = column_ticks(part, grid, scale)
    return ColumnPlan(True, chosen, scale, ticks, rug, tuple(remarks), tuple(texts[2:]))


def is_curve(shape: Shape) -> bool:
    """Whether a column is drawn as a curve, not as points."""
    return shape.numeric and shape.grid.size > 8


def shown_columns(shapes: Iterable[Shape]) -> list[Shape]:
    """The columns that are drawn, the most important first: those that add something, or all if none does."""
    columns = sorted(shapes, key=lambda shape: -shape.importance)
    return [shape for shape in columns if shape.importance > 0.0] or columns


def largest_cell(pairs: Iterable[PairEffect]) -> float:
    """The size that has the strongest colour in heat maps; 1 where all cells are 0 or empty."""
    return max(float(np.abs(pair.values[np.isfinite(pair.values)]).max(initial=0.0)) for pair in pairs) or 1.0


def common_range(shapes: Sequence[Shape]) -> tuple[float, float]:
    """The common range of what columns add; ends of curves, of few rows, and wide bands may lie outside of it."""
    values, bands = [np.zeros(1)], [np.zeros(1)]
    for shape in shapes:
        # without the outermost hundredth of the rows on each side, where the grid holds many values
        cut = shape.grid.size // 50 if shape.numeric and shape.grid.size > MANY_VALUES else 0
        inner = slice(cut, shape.grid.size - cut)
        values += [shape.contribution[inner], *([] if shape.mean_score is None else [shape.mean_score[inner]])]
        bands += [shape.low[inner], shape.high[inner]]
        if shape.missing is not None:
            values.append(np.array(shape.missing[:1]))
            bands.append(np.array(shape.missing[1:]))
    (low, high), (lowest, highest) = (
        (float(np.nanmin(known)), float(np.nanmax(known))) for known in map(np.concatenate, (values, bands))
    )
    room = 0.4 * (high - low)
    low, high = min(low, max(lowest, low - room)), max(high, min(highest, high + room))
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def _scale(grid: np.ndarray) -> Scale:
    """The scale of a grid: logarithmic, or only its outer parts, if a linear scale would squeeze most rows together."""
    squeezed = 4.0  # range of all rows / range of the middle 80 %: above this the axis is logarithmic
    first, last = float(grid[0]), float(grid[-1])
    low, high = grid[[grid.size // 10, -1 - grid.size // 10]]  # the grid holds quantiles: 80 % of the rows lie between
    if grid.size <= MANY_VALUES or last - first <= squeezed * (high - low):
        return Scale(first, last)
    if first > 0.0:
        return Scale(first, last, "log", words="log scale")
    middle = float(max(abs(low), abs(high)))
    words = f"log scale beyond {'±' if first < -middle else ''}{rounded(float(format(middle, '.2g')))}"
    return Scale(first, last, "symlog", middle, words=words)


# ---- ticks


def value_labels(part: str, values: np.ndarray) -> list[str]:
    """Labels of the points of a column with few values; `part` is the part of a date that it is, or ""."""
    labels = [part_text(part, value) for value in values] if part else number_labels(values)
    return labels if len(set(labels)) == len(labels) else number_labels(values)


def column_ticks(part: str, grid: np.ndarray, scale: Scale) -> Ticks:
    """Ticks along the curve of a column: dates as dates, whole numbers at whole numbers, powers on logarithmic axes."""
    if scale.kind != "linear":
        return _power_ticks(scale)
    if not part:  # whole numbers, but for bounds of clipping
        return number_ticks(scale.low, scale.high, whole=bool((grid == np.round(grid)).mean() >= 0.9))
    if part == YEAR:  # years, months or days, whichever are few enough to be read and more than two
        ends = day_of(scale.low), day_of(scale.high)
        places, labels = np.array([scale.low, scale.high]), [str(day) for day in ends]
        steps = {"Y": (50, 20, 10, 5, 2, 1), "M": (6, 3, 2, 1), "D": (14, 7, 2, 1)}
        for unit, step in [(unit, step) for unit, several in steps.items() for step in several]:
            days = np.arange(ends[0].astype(f"datetime64[{unit}]"), ends[1].astype(f"datetime64[{unit}]") + 1)
            days = days[days.astype(int) % step == 0]
            found = 1970.0 + days.astype("datetime64[D]").astype(int) / DAYS_OF_A_YEAR
            inside = (found >= scale.low) & (found <= scale.high)
            if inside.sum() >= 3:
                places, labels = found[inside], [str(day) for day in days[inside]]
                break
    else:
        hours = 3.0 if part == "hour" else 1.0
        places = np.arange(ceil(scale.low / hours), np.floor(scale.high / hours) + 1.0) * hours
        labels = [part_text(part, place) for place in places]
    # every first, second, third, ... of these evenly spaced places, so that their labels keep apart
    widest = max(map(text_width, labels), default=0.0) + GAP
    room = ROOM * float(scale(places[1]) - scale(places[0])) if places.size > 1 else ROOM
    every = max(1, ceil(widest / room))
    return Ticks(places[::every], labels[::every])


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
        steps = np.diff(places)
        if shares:
            labels = [f"{100 * place:g} %" for place in places]
        elif (
            steps.size and np.ptp(steps) <= 1e-6 * steps.max() and 1e-6 < steps[0] < 1e9
        ):  # as many decimals as tell them apart
            digits = len(f"{steps[0]:.9f}".rstrip("0").partition(".")[2])
            labels = [f"{place:,.{digits}f}" if abs(place) >= 1e4 else f"{place:.{digits}f}" for place in places]
        else:
            labels = [rounded(place) for place in places]
        widest = max(map(text_width, labels), default=0.0) + GAP
        if len(places) < 2 or widest <= room * (places[1] - places[0]) / (high - low):
            break
    return Ticks(np.array(places), labels)


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
    step = np.ceil(step) if whole else step
    first = np.ceil(low / step - 1e-9)
    return [float(f"{step * k:.12g}") + 0.0 for k in np.arange(first, np.floor(high / step + 1e-9) + 1)]


def _power_ticks(scale: Scale) -> Ticks:
    """Ticks of a logarithmic axis, the most wanted first; a tick whose label would touch a taken one is left out."""
    low, high, middle = scale.low, scale.high, scale.middle
    if scale.kind == "log":  # powers of ten, and if the range has few of them also multiples
        powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1.0)
        decades = np.log10(high / low)
        factors = [1.0] if decades > 3.0 else [1.0, 3.0] if decades > 1.5 else [1.0, 2.0, 5.0, 3.0, 7.0, 1.5, 4.0]
        if decades > 6.0:  # every second, third, ... of them, so that the steps are even
            powers = powers[:: ceil(decades / 6.0)]
        wanted = np.concatenate([factor * powers for factor in factors])
    else:  # round numbers in the linear middle, those near 0 first, then powers of ten outside of it, the largest first
        within = np.array(round_numbers(max(low, -middle), min(high, middle), 4))
        within = within[np.argsort(np.abs(within), kind="stable")]
        powers = 10.0 ** np.arange(np.floor(np.log10(middle)) + 1.0, np.log10(max(abs(low), abs(high))) + 1e-9)[::-1]
        wanted = np.concatenate([within, np.column_stack([powers, -powers]).ravel()])
    wanted = wanted[(wanted >= low) & (wanted <= high)]
    sizes = np.abs(wanted[wanted != 0.0])
    far = sizes.size > 0 and not (sizes.min() >= 1e-3 and sizes.max() < 1e5)
    text: Callable[[float], str] = (lambda value: power_text(value, ".1g")) if far else rounded
    taken: list[tuple[float, float, float, str]] = []
    for tick in wanted.tolist():
        label = rounded(tick) if 0.1 <= abs(tick) < 1000.0 else text(tick)
        place, half = ROOM * float(scale(tick)), (text_width(label) + GAP) / 2.0
        if all(place + half <= start or place - half >= stop for start, stop, _, _ in taken):
            taken.append((place - half, place + half, tick, label))
    taken.sort()
    return Ticks(np.array([tick for _, _, tick, _ in taken]), [label for *_, label in taken])


def bin_ticks(axis: Axis) -> Ticks:
    """Ticks of a side of a heat map, whose bins are 1 wide: limits stand between bins, other labels in the middle."""
    edges, labels = axis.edges, list(axis.labels)
    if edges is None:
        return Ticks(np.arange(len(labels)) + 0.5, labels)
    if np.ptp(edges) > 0.0 and any(" to " in label for label in labels):
        chosen = np.unique(np.linspace(0, edges.size - 1, min(edges.size, MOST_TICKS)).round().astype(int))
        places, limits = chosen.astype(float).tolist(), edges[chosen]
        if axis.part == YEAR:
            texts = value_labels(YEAR, limits)
        else:  # rounded to digits that matter for their range, but all different
            digits = 2 - int(np.floor(np.log10(np.ptp(limits))))
            texts = [power_text(round(limit, digits)) for limit in limits]
            texts = texts if len(set(texts)) == np.unique(limits).size else number_labels(limits, 3)
        if len(labels) == edges.size:
            places.append(len(labels) - 0.5)
            texts.append("missing")
        return Ticks(np.array(places), texts)
    step = ceil(len(labels) / 10)
    if axis.part:  # a bin for each value, which is its upper edge
        labels = [*value_labels(axis.part, edges[1:]), *labels[edges.size - 1 :]]
    return Ticks(np.arange(0, len(labels), step) + 0.5, labels[::step])


# ---- scores


def score_edges(positive: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Limits of the bars of a distribution of scores; the outermost bars also hold the half percent beyond them."""
    low, high = np.quantile(scores, [0.005, 0.995])
    if not low < high:
        low, high = low - 0.5, high + 0.5
    smaller = min(positive.sum(), (~positive).sum())
    return np.linspace(low, high, int(np.clip(np.sqrt(smaller), 12, 40)) + 1)


# ---- features


@dataclass(frozen=True)
class Effect:
    """One feature of a model, or one column where the model has curves.

    Attributes
    ----------
    feature, column : str
    coefficient, effect : float or None
        The change of the score for one unit of the column, and for one standard deviation; None for a curve, whose
        slope varies.
    importance : float or None
        The standard deviation of what it adds to the score.
    contribution : float
        What it adds to the difference between the mean scores of the two classes.
    share : float
        Its share of that difference. Shares add up to 1; a share is negative if the feature reduces the difference.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import explain, train
    >>> first = explain(train(load_breast_cancer(as_frame=True).frame, "target", features="linear"))[0]
    >>> first.feature, first.effect < 0 < first.share
    ('worst radius', True)
    """

    feature: str
    column: str
    coefficient: float | None
    effect: float | None
    importance: float | None
    contribution: float
    share: float


def explain(model: Model) -> list[Effect]:
    """Return the effects of all features of a model, the largest contribution first.

    With a feature map these are the curves of the columns, and "interactions" for what no sum of curves can show.
    `importance` is None if the model file was written by a version that did not store curves.

    Parameters
    ----------
    model : Model

    Returns
    -------
    list of Effect
        With `feature`, `column`, `coefficient`, `effect`, `importance`, `contribution` and `share`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import explain, train
    >>> effects = explain(train(load_breast_cancer(as_frame=True).frame, "target", features="linear"))
    >>> effects[0].feature, effects[0].coefficient < 0, round(sum(effect.share for effect in effects), 6)
    ('worst radius', True, 1.0)
    """
    contributions = model.contributions
    total = float(contributions.sum()) or float("inf")  # without a difference of the means all shares are 0
    if model.features is None:
        names, schema = model.schema.feature_names, model.schema
        columns = [*schema.numeric, *(name for name, values in schema.categorical.items() for _ in values)] or names
        parts = zip(model.coef.tolist(), model.standardised.tolist(), contributions.tolist(), strict=True)
        found = [
            Effect(name, column, coefficient, effect, abs(effect), part, part / total)
            for name, column, (coefficient, effect, part) in zip(names, columns, parts, strict=True)
        ]
    else:
        found, shapes, apart = [], model.shapes, model.features.keeps_columns_apart
        if shapes is not None and not apart:  # what the curve of each column adds, and interactions
            of_parts = {shape.name: shape.difference for shape in shapes.columns}
            of_parts[shapes.rest_name] = float(contributions.sum()) - sum(of_parts.values())
        else:
            taken = [*(model.schema.columns if model.features.has_effects else ()), *([] if apart else [INTERACTIONS])]
            of_parts = dict(zip(distinct(taken), contributions.tolist(), strict=True))
        spread = {} if shapes is None else shapes.importances()
        for name, part in of_parts.items():
            found.append(Effect(name, name, None, None, spread.get(name), part, part / total))
    return sorted(found, key=lambda effect: (-abs(effect.contribution), -(effect.importance or 0.0)))


def find_strongest(model: Model, count: int) -> list[tuple[str, float]]:
    """The features with the largest effects: of one standard deviation, or the spread of what a curve adds."""
    sizes = []
    for e in explain(model):
        spread = e.contribution if e.importance is None else e.importance
        sizes.append((e.feature, spread if e.effect is None else e.effect))
    return [item for item in sorted(sizes, key=lambda item: -abs(item[1]))[:count] if item[1]]


def sum_by_column(effects: list[Effect]) -> list[tuple[str, float]]:
    """(column, share) with the categories of a column added up, the largest first."""
    shares: dict[str, float] = {}
    for effect in effects:
        shares[effect.column] = shares.get(effect.column, 0.0) + effect.share
    return sorted(shares.items(), key=lambda item: -abs(item[1]))


class Part(NamedTuple):
    """What one column, or "interactions", adds to a score, and the row's value; None where it is missing."""

    column: str
    value: float | str | None
    adds: float


@dataclass(frozen=True)
class ExplainedRow:
    """One row of a file: its number (1 is the first row of the data), its score, and its parts, the largest first.

    A row that cannot be scored has no score, and a `reason`. `identifiers` are columns that name the row.
    """

    row: int
    score: float | None
    probability: float | None
    identifiers: dict[str, str]
    parts: tuple[Part, ...]
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**vars(self), "parts": [part._asdict() for part in self.parts]}


def value_text(model: Model, part: Part) -> str:
    """The value of a column in a row, as people write it; "" where it has none."""
    if part.value is None:
        return "missing" if part.column in model.schema.columns else ""
    name, piece = model.schema.made().get(part.column, ("", ""))
    if piece and isinstance(part.value, float):
        return model.schema.readings[name].show(piece, part.value)
    if not isinstance(part.value, float):
        known = model.schema.categorical.get(part.column)
        return part.value if not known or part.value in known else f"{part.value} (new or rare)"
    low, high = model.schema.ranges.get(part.column, (part.value, part.value))
    far = far_outside(np.array(part.value), low, high)
    return f"{part.value:.7g}" + (f" (training: {low:.7g} to {high:.7g})" if far else "")


def explain_rows(
    model: Model, X: Any, kept: Any, broken: Sequence[Any], rows: np.ndarray, order: np.ndarray
) -> Iterator[ExplainedRow]:
    """Yield the rows with numbers `rows` in the file; `order` has places in X, or -1 - the place in `broken`."""
    good = order[order >= 0]
    scores, parts = np.empty(0), {}
    if good.size:
        some = frames.rows_of(X, good)
        scores, parts = model.score(some), model.parts_of_rows(some)
    probabilities = None if model.calibration is None else model.calibration(scores)
    columns = {} if kept is None else dict(zip(kept.schema.names, kept.columns, strict=True))
    own, number = {name: j for j, name in enumerate(model.schema.columns) if name in parts}, 0
    is_frame = frames.is_frame(X)
    for place, which in zip(rows.tolist(), order.tolist(), strict=True):
        if which < 0:
            yield ExplainedRow(place, None, None, {}, (), broken[-1 - which].reason)
            continue
        cells = [(name, column[which].as_py()) for name, column in columns.items()]
        cells += [(name, X.column(j)[which].as_py() if is_frame else float(X[which, j])) for name, j in own.items()]
        values: dict[str, float | str] = {}  # as JSON can hold them, without missing ones
        for name, value in cells:
            if value is not None and value != "" and value == value:
                is_number = isinstance(value, int | float) and not isinstance(value, bool)
                values[name] = float(value) if is_number else str(value)
        adds = []
        for name, part in parts.items():  # interactions have no value
            adds.append(Part(name, values.get(name) if name in own else None, float(part[number])))
        yield ExplainedRow(
            place,
            float(scores[number]),
            None if probabilities is None else float(probabilities[number]),
            {name: str(values[name]) for name in columns if name in values},
            tuple(sorted(adds, key=lambda part: -abs(part.adds))),
        )
        number += 1
