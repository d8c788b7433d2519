"""What one column adds to the score: a curve, or points for categories and few values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from vrspam._utils.texts import rounded
from vrspam.inspection import Shape
from vrspam.pictures.column_axis import MANY_VALUES, column_ticks, scale_of_column, value_labels
from vrspam.pictures.scales import Scale, Ticks
from vrspam.tables.kinds.dates import part_text

MOST_CATEGORIES = 12  # that are drawn of one column
ADDED = "added to the score"
MEAN_SCORE = "average score of rows with this value"
OWN_PART = "what the column adds"
BAND = "95 % band of the shape, from the folds"
INTERVAL = "95 % interval, from the folds"


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

    scale = scale_of_column(grid)
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
    if scale_of_column(grid[first:stop]).kind == "log":  # it has room for them
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
