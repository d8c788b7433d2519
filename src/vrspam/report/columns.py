"""Pictures of a model: the curve of each column, pairs of columns as heat maps, bars of importances and of one row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from vrspam.inspection import PairEffect, Shape
from vrspam.report.layout import Drawing
from vrspam.report.numbers import (
    NUMBERS,
    decimals,
    isolated,
    percent,
    rounded,
    shorten,
    shorten_all,
    signed,
    text_width,
)
from vrspam.report.svg import (
    HEIGHT,
    WIDTH,
    Frame,
    band,
    box,
    dot,
    label_room,
    line,
    number_axes,
    picture,
    row_names,
    rule,
    segment,
    tick_room,
    words,
    x_axis,
)

FEW_VALUES = 8  # a column of numbers with at most so many is drawn as points
MANY_VALUES = 100  # of a column with more, the outermost hundredth may lie far off
MOST_CATEGORIES = 14
SQUEEZED = 4.0  # range of all rows / range of the middle 80 %: above this the axis is logarithmic, or cut
SMALL = 0.92  # letters of a number at the end of a bar, against other letters
BAR_LETTERS = 25  # of a name beside a bar
MOST_IN_TITLE = 70  # letters of a name above a picture
ROW = 19.0  # height of a row of a list
ADDED = "added to the score"


def common_range(shapes: Sequence[Shape]) -> tuple[float, float]:
    """The range of what columns add, so that all pictures have the same scale.

    What few rows at the ends of a column have, and wide bands there, may leave it: they would make all curves flat.
    """
    inner = [_middle(s.grid) if s.numeric else slice(None) for s in shapes]
    values = [s.contribution[part] for s, part in zip(shapes, inner, strict=True)]
    values += [s.mean_score[part] for s, part in zip(shapes, inner, strict=True) if s.mean_score is not None]
    low, high = _ends([*values, *(np.array(s.missing[:1]) for s in shapes if s.missing is not None)])
    bands = [side[part] for s, part in zip(shapes, inner, strict=True) for side in (s.low, s.high)]
    lowest, highest = _ends([*bands, *(np.array(s.missing[1:]) for s in shapes if s.missing is not None)])
    room = 0.4 * (high - low)
    low, high = min(low, max(lowest, low - room)), max(high, min(highest, high + room))
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def _middle(grid: np.ndarray) -> slice:
    """All values but the outermost hundredth of the rows on each side, where the grid holds many."""
    cut = grid.size // 50 if grid.size > MANY_VALUES else 0
    return slice(cut, grid.size - cut)


def _ends(parts: Sequence[np.ndarray]) -> tuple[float, float]:
    """The least and the largest number that is known."""
    joined = np.concatenate([np.zeros(1), *(np.asarray(part, float) for part in parts)])
    joined = joined[np.isfinite(joined)]
    return float(joined.min()), float(joined.max())


def column_picture(shape: Shape, ends: tuple[float, float]) -> Drawing:
    """What one column adds to the score: a curve with its band, or points for categories and few values."""
    drawn = _curve(shape, ends) if shape.numeric and shape.grid.size > FEW_VALUES else _values(shape, ends)
    remarks = list(drawn[1])
    if shape.together:
        remarks.append(f"moves together with {', '.join(shorten(name, 40) for name in shape.together)}")
    return Drawing(shorten(shape.name, MOST_IN_TITLE), drawn[0], "; ".join(remarks))


def _curve(shape: Shape, ends: tuple[float, float]) -> tuple[str, list[str]]:
    inner, log, remarks = _stretch(shape.grid)
    grid, value = shape.grid[inner], shape.contribution[inner]
    left, right = 18.0 + tick_room(ends), 16.0 if shape.missing is None else 68.0
    whole = bool((grid == np.round(grid)).all())
    frame = Frame.of(
        (float(grid[0]), float(grid[-1])), ends, height=230.0, left=left, right=right, log=log, whole=whole
    )
    marks = [number_axes(frame, f"{shorten(shape.name, 36)}{' (log scale)' if log else ''}", ADDED), rule(frame, y=0.0)]
    marks.append(band(frame, grid, *(np.clip(side[inner], *ends) for side in (shape.low, shape.high))))
    if shape.mean_score is not None:
        marks.append(line(frame, grid, _inside(shape.mean_score[inner], ends), "mean"))
    marks.append(line(frame, grid, _inside(value, ends)))
    if np.isnan(_inside(value, ends)).any():
        furthest = value[np.argmax(np.abs(value))]
        remarks.append(f"goes on to {rounded(furthest)}, beyond the picture")
    steps = np.diff(grid)
    if np.ptp(steps) > 1e-9 * steps.max():  # evenly spaced points belong to a straight line: they are not rows
        for at in frame.x(grid[np.linspace(0, grid.size - 1, min(grid.size, 21)).astype(int)]):
            marks.append(segment(float(at), frame.y.start, float(at), frame.y.start - 6.0, "tick"))
    if shape.missing is not None:
        at = frame.x.stop + 38.0
        ends_of = [float(frame.y(np.clip(part, *ends))) for part in shape.missing]
        marks += _whisker(at, ends_of, "missing", _said("missing", shape.missing))
        marks.append(words(at, frame.y.start + 15.0, "missing", "middle"))
    label = f"What {shape.name} adds to the score, from {rounded(float(grid[0]))} to {rounded(float(grid[-1]))}."
    return picture(frame, marks, label=label, kind="column"), remarks


def _inside(values: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    """The values that a picture has room for; the others are missing, and break a line."""
    return np.where((values >= ends[0]) & (values <= ends[1]), values, np.nan)


def _stretch(grid: np.ndarray) -> tuple[slice, bool, list[str]]:
    """Which part of a grid is drawn, whether on a logarithmic scale, and what is to be said of it."""
    if grid.size <= MANY_VALUES:
        return slice(None), False, []
    low, high = grid[[grid.size // 10, -1 - grid.size // 10]]  # the grid holds quantiles: 80 % of the rows are between
    if np.ptp(grid) <= SQUEEZED * (high - low):
        return slice(None), False, []
    if grid[0] > 0.0:
        return slice(None), True, []
    return _middle(grid), False, [f"drawn without the outermost values, to {rounded(grid[0])} and {rounded(grid[-1])}"]


def _values(shape: Shape, ends: tuple[float, float]) -> tuple[str, list[str]]:
    order = np.arange(shape.grid.size)
    remarks = []
    if not shape.numeric:
        order = np.argsort(-np.abs(shape.contribution), kind="stable")[:MOST_CATEGORIES]
        order = order[np.argsort(-shape.contribution[order], kind="stable")]
        if order.size < shape.grid.size:
            remarks.append(f"{order.size} of {shape.grid.size:,} categories, those with the largest effects")
    names = [rounded(shape.grid[i]) if shape.numeric else str(shape.grid[i]) for i in order]
    parts = [(shape.contribution[i], shape.low[i], shape.high[i]) for i in order]
    means = [None if shape.mean_score is None else float(shape.mean_score[i]) for i in order]
    if shape.missing is not None:
        names, parts, means = [*names, "missing"], [*parts, shape.missing], [*means, shape.missing_mean_score]
    height = ROW * len(names) + 56.0
    frame = Frame.of(ends, (0.0, 1.0), height=height, left=min(label_room(names), 0.45 * WIDTH))
    places = [frame.y.stop + ROW * (k + 0.6) for k in range(len(names))]
    marks = [x_axis(frame, ADDED), row_names(frame, names, places), rule(frame, x=0.0)]
    for name, part, mean, y in zip(names, parts, means, places, strict=True):
        if mean is not None and np.isfinite(mean):
            marks.append(dot(float(frame.x(mean)), y, "ring"))
        css = "missing" if name == "missing" and shape.missing is part else "dot"
        inside = [float(frame.x(np.clip(v, *ends))) for v in part]
        marks += _whisker(y, inside, css, _said(name, part), across=True)
    return picture(frame, marks, label=f"What each value of {shape.name} adds to the score."), remarks


def _said(name: str, part: tuple[float, float, float]) -> str:
    interval = f" ({part[1]:+.3f} to {part[2]:+.3f})" if np.isfinite(part).all() else ""
    return f"{name}: {part[0]:+.3f}{interval}"


def _whisker(at: float, part: Sequence[float], css: str, title: str, across: bool = False) -> list[str]:
    """A point with its interval, upright or across."""
    value, low, high = part
    bar = []
    if np.isfinite(low) and np.isfinite(high):
        bar = [segment(low, at, high, at) if across else segment(at, low, at, high)]
    return [*bar, dot(value, at, css, title) if across else dot(at, value, css, title)]


def heat_map(pair: PairEffect, largest: float) -> Drawing:
    """What a pair of columns adds to the score beyond the curves of both, in bins of both."""
    first, second = pair.columns
    names = list(reversed(second.labels))
    short = shorten_all(first.labels, 14)
    columns, rows = pair.values.shape
    room = 10.0 + 0.77 * max(map(text_width, short))
    left, height = min(label_room(names, 16), 0.4 * WIDTH), HEIGHT + room - 20.0
    frame = Frame.of((0.0, float(columns)), (0.0, float(rows)), height=height, left=left, bottom=room + 22.0)
    wide, high = (frame.x.stop - frame.x.start) / columns, (frame.y.start - frame.y.stop) / rows
    marks = []
    for i in range(columns):
        for j in range(rows):
            value = float(pair.values[i, j])
            x, y = frame.x.start + i * wide, frame.y.start - (j + 1) * high
            where = f"{first.name}: {first.labels[i]}, {second.name}: {second.labels[j]}"
            if np.isfinite(value):
                css, strength = "cell up" if value > 0 else "cell down", min(1.0, abs(value) / largest)
                marks.append(box(x, y, wide, high, css, f"{where}: {value:+.3f}", f' fill-opacity="{strength:.2f}"'))
            else:
                marks.append(box(x, y, wide, high, "cell none", f"{where}: fewer than three rows"))
    places = [frame.y.stop + (k + 0.5) * high for k in range(rows)]
    marks.append(row_names(frame, names, places, 16))
    for i, (text, full) in enumerate(zip(short, first.labels, strict=True)):
        at, below = frame.x.start + (i + 0.5) * wide + 3.0, frame.y.start + 12.0
        marks.append(f'<g transform="translate({at:.1f} {below:.1f}) rotate(-50)">{words(0, 0, text, "end", full)}</g>')
    marks.append(words((frame.x.start + frame.x.stop) / 2, frame.height - 4.0, shorten(first.name, 50), "middle name"))
    across, upwards = shorten(first.name, 60), shorten(second.name, 60)
    remark = f"across: {across}; upwards: {upwards}; {percent(pair.share)} of the variance of the score"
    drawn = picture(frame, marks, label=f"How {first.name} and {second.name} interact.")
    return Drawing(f"{across} × {upwards}", drawn, remark)


def _with_value(name: str, value: str) -> str:
    """A column and its value in a row, short enough to stand beside a bar."""
    if not value:
        return name
    value = shorten(value, 12)
    return f"{isolated(shorten(name, BAR_LETTERS - 3 - len(value)))} = {isolated(value)}"


def bars(
    entries: Sequence[tuple[str, float]],
    label: str,
    title: str = "",
    *,
    values: Sequence[str] = (),
    ends: tuple[float, float] | None = None,
    spoken: str = "",
) -> Drawing:
    """One bar for each name, to the left of 0 for negative numbers.

    Parameters
    ----------
    entries : (name, size) of each bar
    label : str
        What the sizes are.
    title : str
    values : sequence of str
        Stand behind the names.
    ends : tuple of two floats, optional
        The scale, for pictures that are to be compared.
    spoken : str
        What a screen reader says; by default the title and the first names.
    """
    names = [name for name, _ in entries]
    sizes = np.array([size for _, size in entries], dtype=float)
    shown = [_with_value(name, value) for name, value in zip_longest(names, values, fillvalue="")]
    low, high = ends or (float(sizes.min(initial=0.0)), float(sizes.max(initial=0.0)))
    low, high = min(0.0, low), max(0.0, high)
    left = min(label_room(shown, BAR_LETTERS), 0.52 * WIDTH)
    places_after = decimals(max(high, -low))
    numbers = [signed(size, places_after, sign=low < 0.0) for size in sizes]
    sides, room = 2 if low < 0.0 else 1, 6.0 + SMALL * max(map(text_width, numbers), default=0.0)
    margin = (high - low) * room / (WIDTH - left - 16.0 - sides * room) or 1.0  # for numbers at the ends of bars
    scale = (low - (margin if low < 0.0 else 0.0), high + margin)
    frame = Frame.of(scale, (0.0, 1.0), height=ROW * len(names) + 50.0, left=left, right=16.0)
    places = [frame.y.stop + ROW * (k + 0.5) for k in range(len(names))]
    zero = float(frame.x(0.0))
    marks = [x_axis(frame, label), row_names(frame, shown, places, BAR_LETTERS), rule(frame, x=0.0)]
    for name, size, text, y in zip(shown, sizes, numbers, places, strict=True):
        end, right = float(frame.x(size)), size >= 0.0
        marks.append(box(min(zero, end), y - 6.0, abs(end - zero), 12.0, f"bar {'up' if right else 'down'}", name))
        number = words(end + (4.0 if right else -4.0), y + 4.0, text, "small" if right else "small end")
        marks.append(f"<g{NUMBERS}>{number}</g>")
    return Drawing(title, picture(frame, marks, label=spoken or f"{title or label}: {', '.join(names[:5])}."))
