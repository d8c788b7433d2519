"""The plot area of a picture, its axes, and what is drawn at values of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from vrspam._utils.texts import shorten_distinct, text_width
from vrspam.pictures.scales import Scale, Ticks, number_ticks
from vrspam.report.html import NUMBERS, Html, fragment
from vrspam.report.pictures.marks import box, segment, words

WIDTH, HEIGHT = 330.0, 270.0
BROAD = 400.0  # pictures that are wider have larger letters on a phone
UNIT = (0.0, 1.0)


class Frame:
    """The plot area of a picture within its margins, for values from x[0] to x[1] and from y[0] to y[1]."""

    def __init__(
        self,
        x: tuple[float, float] | Scale,
        y: tuple[float, float],
        *,
        width: float = WIDTH,
        height: float = HEIGHT,
        left: float = 60.0,
        right: float = 20.0,
        top: float = 8.0,
        bottom: float = 42.0,
    ):
        self.width = width
        self.height = height
        scale = x if isinstance(x, Scale) else Scale(*x)
        self.x = scale._replace(start=left, stop=width - right)
        self.y = Scale(*y, start=height - bottom, stop=top)


def picture(
    frame: Frame, marks: Iterable[str], *, label: str, title: str = "", remark: str = "", kind: str = "", part: str = ""
) -> Html:
    """Return the picture with a title above and a remark below, or the picture alone without them.

    `label` is what a screen reader says, `kind` tells the script of the page what kind of picture it is, and `part`
    names the part of a date on the x axis ("month").
    """
    attributes = [f'viewBox="0 0 {frame.width:g} {frame.height:g}" width="{1.3 * frame.width:.0f}"']
    if frame.width > BROAD:
        attributes.append('class="broad"')
    attributes.append(f'role="img" aria-label="{escape(label)}"')
    if kind:
        attributes.append(f'data-kind="{escape(kind)}"')
    if part:
        attributes.append(f'data-part="{escape(part)}"')
    attributes.append(_values_of_places(frame))
    svg = Html(f"<svg {' '.join(attributes)}>{''.join(marks)}</svg>")
    if not (title or remark):
        return svg
    return fragment("picture", svg=svg, title=title, remark=remark)


def _values_of_places(frame: Frame) -> str:
    """What the script needs to find the values under the pointer."""
    ends = []
    for scale in (frame.x, frame.y):
        ends += [scale.low, scale.high, scale.start, scale.stop]
    attribute = f'data-frame="{" ".join(f"{end:.10g}" for end in ends)}"'
    if frame.x.kind == "log":
        attribute += ' data-log="0"'
    elif frame.x.kind == "symlog":
        attribute += f' data-log="{frame.x.middle:.10g}"'
    return attribute


# ---- axes


def axes(frame: Frame, x_label: str, y_label: str = "", *, ticks: Ticks | None = None, percents: str = "") -> str:
    """Ticks and names of the axes: x below the plot area (round numbers by default), y beside it if it has a name.

    The values of `percents` ("x", "y", "xy") are shares, shown in percent.
    """
    if ticks is None:
        room = frame.x.stop - frame.x.start
        ticks = number_ticks(frame.x.low, frame.x.high, room=room, shares="x" in percents)
    marks = _ticks_below(frame, ticks)
    if not y_label:
        return f"<g{NUMBERS}>{marks}</g>{axis_name(frame, x_label)}"
    marks += _ticks_beside(frame, number_ticks(frame.y.low, frame.y.high, room=np.inf, shares="y" in percents))
    return f"<g{NUMBERS}>{marks}</g>{axis_name(frame, x_label)}{axis_name(frame, y_label, upright=True)}"


def _ticks_below(frame: Frame, ticks: Ticks) -> str:
    """Upright lines of the grid with their labels, which stay inside the picture."""
    base, top = frame.y.start, frame.y.stop
    marks = []
    for tick, text in zip(*ticks, strict=True):
        at, half = float(frame.x(tick)), text_width(text) / 2
        marks.append(f'<path class="grid-line" d="M{at:.1f} {base:g}V{top:g}"/>')
        marks.append(words(min(max(at, half), frame.width - half), base + 15.0, text, "middle"))
    return "".join(marks)


def _ticks_beside(frame: Frame, ticks: Ticks) -> str:
    """Level lines of the grid with their labels."""
    left, right = frame.x.start, frame.x.stop
    marks = []
    for tick, text in zip(*ticks, strict=True):
        at = float(frame.y(tick))
        marks.append(f'<path class="grid-line" d="M{left:g} {at:.1f}H{right:g}"/>')
        marks.append(words(left - 6.0, at + 4.0, text, "end"))
    return "".join(marks)


def axis_name(frame: Frame, label: str, upright: bool = False) -> str:
    """The name of an axis, below the plot area or `upright` beside it, moved where it would leave the picture."""
    side, room = (frame.y, frame.height - 10.0) if upright else (frame.x, frame.width)
    short = shorten_distinct([label], len(label), room)[0]
    half = text_width(short) / 2
    middle = min(max((side.start + side.stop) / 2, half), room - half)
    if upright:
        name = words(0, 0, short, "middle name", label)
        return f'<g transform="translate(11 {middle:.1f}) rotate(-90)">{name}</g>'
    return words(middle, frame.height - 6.0, short, "middle name", label)


def label_room(names: Sequence[str], most: int = 22) -> float:
    """The room that names beside an axis need."""
    return 12.0 + max(map(text_width, shorten_distinct(names, most)), default=0.0)


def row_names(frame: Frame, names: Sequence[str], places: Sequence[float], most: int = 22) -> str:
    """Names beside the plot area, each at its place; the pointer shows the full form of a name that is cut."""
    left = frame.x.start
    short_names = shorten_distinct(names, most, left - 8.0)
    marks = []
    for name, short, at in zip(names, short_names, places, strict=True):
        marks.append(words(left - 6.0, at + 4.0, short, "end", name))
    return "".join(marks)


# ---- at values of the axes


def line(frame: Frame, x: np.ndarray, y: np.ndarray, css: str = "line") -> str:
    """A line through points, to a tenth of a unit, broken where a number is missing."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    known = np.isfinite(x) & np.isfinite(y)
    parts = []
    for piece in np.split(np.arange(x.size), np.flatnonzero(~known)):
        piece = piece[known[piece]]
        if piece.size:
            parts.append(f'<polyline class="{css}" points="{_points(frame, x[piece], y[piece])}"/>')
    return "".join(parts)


def area(frame: Frame, x: np.ndarray, low: np.ndarray, high: np.ndarray, css: str) -> str:
    """The area between two lines, or nothing if a number of either is missing."""
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return ""
    points = _points(frame, np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]]))
    return f'<polygon class="{css}" points="{points}"/>'


def _points(frame: Frame, x: np.ndarray, y: np.ndarray) -> str:
    """Places of values; one at the same place as the last one is left out."""
    points: list[str] = []
    for a, b in zip(frame.x(x).tolist(), frame.y(y).tolist(), strict=True):
        point = f"{a:.1f},{b:.1f}"
        if not points or point != points[-1]:
            points.append(point)
    return " ".join(points)


def level_rule(frame: Frame) -> str:
    """A line across the plot area along y = 0."""
    at = float(frame.y(0.0))
    return segment(frame.x.start, at, frame.x.stop, at, "rule")


def upright_rule(frame: Frame, x: float, css: str = "rule", more: str = "") -> str:
    """A line across the plot area, upright at a value of x."""
    at = float(frame.x(x))
    return segment(at, frame.y.start, at, frame.y.stop, css, more)


def legend(frame: Frame, entries: Sequence[tuple[str, str]]) -> str:
    """Colours, as boxes, with their names in the upper left corner; entries are (class, name)."""
    return _legend(frame, entries, key=24.0, first=12.0, most=34, lines=False)


def legend_of_lines(frame: Frame, entries: Sequence[tuple[str, str]], below: bool = False) -> str:
    """Lines with their names in the upper left corner, or `below` the middle of the plot area."""
    if below:
        return _legend(frame, entries, key=160.0, first=frame.y.start + 6.0 - 18.0 * len(entries), most=44, lines=True)
    return _legend(frame, entries, key=32.0, first=12.0, most=34, lines=True)


def _legend(
    frame: Frame, entries: Sequence[tuple[str, str]], *, key: float, first: float, most: int, lines: bool
) -> str:
    """A line for each entry, the first at the height `first`, with texts after `key` units."""
    marks = []
    x = frame.x.start + key
    short_names = shorten_distinct([name for _, name in entries], most)
    for number, ((css, name), short) in enumerate(zip(entries, short_names, strict=True)):
        y = first + 18.0 * number
        if lines:
            marks.append(segment(x - 30.0, y, x - 8.0, y, f"line {css}"))
        else:
            marks.append(box(x - 22.0, y - 6.0, 14.0, 10.0, f"key {css}"))
        marks.append(words(x - 3.0, y + 3.5, short, "", name))
    return "".join(marks)
