"""One bar for each name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vrspam._utils.texts import isolated, shorten, signed, text_width
from vrspam.report.html import NUMBERS, Html
from vrspam.report.pictures.frame import UNIT, WIDTH, Frame, axes, label_room, picture, row_names, upright_rule
from vrspam.report.pictures.marks import box, words

MOST_LETTERS = 25  # of a name beside a bar
MOST_OF_A_VALUE, LEAST_OF_A_NAME = 14, 5
MOST_ROOM = 0.52 * WIDTH  # for names
BAR = 19.0  # height of the row of a bar
RIGHT = 16.0


def bars(
    entries: Sequence[tuple[str, float]],
    label: str,
    title: str = "",
    *,
    values: Sequence[str] = (),
    ends: tuple[float, float] | None = None,
    spoken: str = "",
) -> Html:
    """One bar for each (name, size), to the left of 0 for negative sizes; `label` is what the sizes measure.

    `values` are shown after the names, `ends` is the scale for pictures that share one, and `spoken` is what a screen
    reader says, by default the title and the first names.
    """
    names = [name for name, _ in entries]
    sizes = np.array([size for _, size in entries], dtype=float)
    low, high = (float(sizes.min(initial=0.0)), float(sizes.max(initial=0.0))) if ends is None else ends
    low = min(0.0, low)
    high = max(0.0, high)
    numbers = [signed(size, max(high, -low), sign=low < 0.0) for size in sizes]
    shown = names
    if values:
        shown = [_name_and_value(name, value) for name, value in zip(names, values, strict=True)]
    frame = _frame(shown, numbers, low, high)
    heights = [frame.y.stop + BAR * (number + 0.5) for number in range(len(names))]
    marks = [axes(frame, label), row_names(frame, shown, heights, MOST_LETTERS), upright_rule(frame, 0.0)]
    for name, size, number, y in zip(shown, sizes, numbers, heights, strict=True):
        marks.append(_bar(frame, y, size, name, number))
    spoken = spoken or f"{title or label}: {', '.join(names[:5])}."
    return picture(frame, marks, label=spoken, title=title)


def _name_and_value(name: str, value: str) -> str:
    """A column and its value in a row, short enough to stand beside a bar; the name is cut before the value."""
    if not value:
        return name
    short_value = isolated(shorten(value, MOST_OF_A_VALUE))
    letters = MOST_LETTERS - len(" = ") - len(short_value)
    text = f"{isolated(shorten(name, letters))} = {short_value}"
    while letters > LEAST_OF_A_NAME and text_width(text) > MOST_ROOM - 8.0:
        letters -= 1
        text = f"{isolated(shorten(name, letters))} = {short_value}"
    return text


def _frame(names: Sequence[str], numbers: Sequence[str], low: float, high: float) -> Frame:
    """The plot area, with room for the names and for the numbers at the ends of the bars."""
    left = min(label_room(names, MOST_LETTERS), MOST_ROOM)
    room = 6.0 + 0.92 * max(map(text_width, numbers), default=0.0)
    sides = 2 if low < 0.0 else 1
    margin = (high - low) * room / (WIDTH - left - RIGHT - sides * room) or 1.0
    scale = (low - margin if low < 0.0 else 0.0, high + margin)
    return Frame(scale, UNIT, height=BAR * len(names) + 50.0, left=left, right=RIGHT)


def _bar(frame: Frame, y: float, size: float, name: str, number: str) -> str:
    """A bar from 0, with its number at its end."""
    zero = float(frame.x(0.0))
    end = float(frame.x(size))
    if size >= 0.0:
        css = "bar up"
        text = words(end + 4.0, y + 4.0, number, "small")
    else:
        css = "bar down"
        text = words(end - 4.0, y + 4.0, number, "small end")
    bar = box(min(zero, end), y - 6.0, abs(end - zero), 12.0, css, name)
    return f"{bar}<g{NUMBERS}>{text}</g>"
