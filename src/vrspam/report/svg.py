"""Scales, axes and marks: the parts of a picture.

Colours are classes (page.css), so that a picture follows the light or dark page around it. Lengths are in units of the
picture, which are about pixels of the screen. A mark with a title shows it where the pointer rests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from vrspam._utils.texts import shorten_distinct, shorten_to_fit, text_width
from vrspam.model.drawing import Scale, Ticks, height_ticks, number_ticks
from vrspam.report.page import NUMBERS

WIDTH, HEIGHT = 330.0, 270.0
LARGEST = 1.3  # most pixels of the screen for a unit
BROAD = 400.0  # a wider picture has larger letters on a phone
MOST_LETTERS = 22  # of a label beside an axis


@dataclass(frozen=True)
class Side:
    """One side of a picture: how values lie along it, and where it starts and stops."""

    scale: Scale
    start: float
    stop: float

    def __call__(self, values: np.ndarray | float) -> np.ndarray:
        return self.start + self.scale.share(values) * (self.stop - self.start)


@dataclass(frozen=True)
class Frame:
    """The plot area of a picture: where both scales lie, and how large the picture is."""

    x: Side
    y: Side
    width: float = WIDTH
    height: float = HEIGHT

    @classmethod
    def of(
        cls,
        x: tuple[float, float] | Scale,
        y: tuple[float, float],
        *,
        width: float = WIDTH,
        height: float = HEIGHT,
        left: float = 60.0,
        right: float = 20.0,
        top: float = 8.0,
        bottom: float = 42.0,
    ) -> Frame:
        """A plot area within margins, for values from x[0] to x[1] and y[0] to y[1]."""
        across = x if isinstance(x, Scale) else Scale(*x)
        return cls(Side(across, left, width - right), Side(Scale(*y), height - bottom, top), width, height)

    def data(self) -> str:
        """What the script of the page needs to find values under the pointer."""
        sides = (self.x, self.y)
        numbers = [f"{v:.10g}" for s in sides for v in (s.scale.low, s.scale.high, s.start, s.stop)]
        middle = {"linear": "", "log": ' data-log="0"', "symlog": f' data-log="{self.x.scale.middle:.10g}"'}
        return f'data-frame="{" ".join(numbers)}"' + middle[self.x.scale.kind]


def picture(frame: Frame, marks: Iterable[str], *, label: str, kind: str = "", part: str = "") -> str:
    """The picture; `label` is what a screen reader says of it, `kind` what the script of the page makes of it.

    `part` is the part of a date that values along it are.
    """
    size = f'viewBox="0 0 {frame.width:g} {frame.height:g}" width="{LARGEST * frame.width:.0f}"'
    broad = ' class="broad"' if frame.width > BROAD else ""
    kind = f' data-kind="{escape(kind)}"' if kind else ""
    kind += f' data-part="{escape(part)}"' if part else ""
    spoken = f'role="img" aria-label="{escape(label)}"'
    return f"<svg {size}{broad} {spoken}{kind} {frame.data()}>{''.join(marks)}</svg>"


def number_axes(frame: Frame, x_label: str, y_label: str, *, ticks: Ticks | None = None, shares: bool = False) -> str:
    """Both axes of numbers, with lines across the plot area; `shares` are shown in percent."""
    return x_axis(frame, x_label, ticks=ticks, shares=shares) + y_axis(frame, y_label, shares=shares)


def x_axis(frame: Frame, label: str, *, ticks: Ticks | None = None, shares: bool = False) -> str:
    """Ticks below the plot area, by default round numbers, and what they are."""
    base, top, scale = frame.y.start, frame.y.stop, frame.x.scale
    if ticks is None:
        ticks = number_ticks(scale.low, scale.high, room=frame.x.stop - frame.x.start, shares=shares)
    parts = []
    for tick, text in zip(ticks.places, ticks.labels, strict=True):
        at = float(frame.x(tick))
        parts.append(f'<path class="grid-line" d="M{at:.1f} {base:g}V{top:g}"/>')
        place = within(frame, at, text_width(text))
        parts.append(f'<text x="{place:.1f}" y="{base + 15:g}" class="middle">{escape(text)}</text>')
    short = shorten_to_fit([label], len(label), frame.width)[0]
    middle = within(frame, (frame.x.start + frame.x.stop) / 2, text_width(short))
    name = words(middle, frame.height - 6.0, short, "middle name", label if short != label else "")
    return f"<g{NUMBERS}>{''.join(parts)}</g>{name}"


def within(frame: Frame, at: float, width: float) -> float:
    """The middle of a text that is to stand at a place, moved where it would leave the picture."""
    return min(max(at, width / 2), frame.width - width / 2)


def y_axis(frame: Frame, label: str, *, shares: bool = False) -> str:
    """Numbers beside the plot area, and along it what they are."""
    parts = []
    ticks = height_ticks(frame.y.scale.low, frame.y.scale.high, shares=shares)
    for tick, text in zip(ticks.places, ticks.labels, strict=True):
        at = float(frame.y(tick))
        parts.append(f'<path class="grid-line" d="M{frame.x.start:g} {at:.1f}H{frame.x.stop:g}"/>')
        parts.append(f'<text x="{frame.x.start - 6:g}" y="{at + 4:.1f}" class="end">{escape(text)}</text>')
    return f"<g{NUMBERS}>{''.join(parts)}</g>{upright(frame, label)}"


def upright(frame: Frame, label: str) -> str:
    """What an axis beside the plot area is, written along it."""
    middle, room = (frame.y.start + frame.y.stop) / 2, frame.height - 10.0
    short = shorten_to_fit([label], len(label), room)[0]
    middle = min(max(middle, text_width(short) / 2 + 4.0), frame.height - text_width(short) / 2 - 4.0)
    text = words(0.0, 0.0, short, "middle name", label if short != label else "")
    return f'<g transform="translate(11 {middle:.1f}) rotate(-90)">{text}</g>' if label else ""


def tick_room(ends: tuple[float, float]) -> float:
    """The room that the numbers beside an axis need."""
    return 8.0 + max(map(text_width, height_ticks(*ends).labels))


def label_room(names: Sequence[str], most: int = MOST_LETTERS) -> float:
    """The room that names beside an axis need."""
    return 12.0 + max(map(text_width, shorten_distinct(names, most)), default=0.0)


def row_names(frame: Frame, names: Sequence[str], places: Sequence[float], most: int = MOST_LETTERS) -> str:
    """Names beside the plot area, each at its place; a name that is cut shows itself where the pointer rests."""
    return "".join(
        f'<text x="{frame.x.start - 6:g}" y="{at + 4:.1f}" class="end">{escape(short)}'
        f"{f'<title>{escape(name)}</title>' if short != name else ''}</text>"
        for name, short, at in zip(names, shorten_to_fit(names, most, frame.x.start - 8.0), places, strict=True)
    )


def points_text(frame: Frame, x: np.ndarray, y: np.ndarray) -> str:
    """Points of a line, to a tenth of a unit; one that lies at the place of the one before is left out."""
    found: list[str] = []
    for a, b in zip(frame.x(x).tolist(), frame.y(y).tolist(), strict=True):
        text = f"{a:.1f},{b:.1f}"
        if not found or text != found[-1]:
            found.append(text)
    return " ".join(found)


def line(frame: Frame, x: np.ndarray, y: np.ndarray, css: str = "line") -> str:
    """A line through points; where a number is missing it is broken."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    there = np.isfinite(x) & np.isfinite(y)
    parts = []
    for piece in np.split(np.arange(x.size), np.flatnonzero(~there)):
        piece = piece[there[piece]]
        if piece.size:
            parts.append(f'<polyline class="{css}" points="{points_text(frame, x[piece], y[piece])}"/>')
    return "".join(parts)


def band(frame: Frame, x: np.ndarray, low: np.ndarray, high: np.ndarray, css: str = "band") -> str:
    """The area between two lines."""
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return ""
    both = points_text(frame, np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]]))
    return f'<polygon class="{css}" points="{both}"/>'


def rule(frame: Frame, *, x: float | None = None, y: float | None = None, css: str = "rule", more: str = "") -> str:
    """A line across the plot area, at a value."""
    if x is not None:
        at = float(frame.x(x))
        ends = f'x1="{at:.1f}" x2="{at:.1f}" y1="{frame.y.start:g}" y2="{frame.y.stop:g}"'
    else:
        at = float(frame.y(0.0 if y is None else y))
        ends = f'y1="{at:.1f}" y2="{at:.1f}" x1="{frame.x.start:g}" x2="{frame.x.stop:g}"'
    return f'<line class="{css}" {ends}{more}/>'


def dot(x: float, y: float, css: str = "dot", title: str = "", radius: float = 4.0, more: str = "") -> str:
    """A point, at a place in units of the picture."""
    words = f"<title>{escape(title)}</title>" if title else ""
    return f'<circle class="{css}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"{more}>{words}</circle>'


def segment(x1: float, y1: float, x2: float, y2: float, css: str = "whisker") -> str:
    """A straight line between two places."""
    return f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def box(x: float, y: float, width: float, height: float, css: str, title: str = "", more: str = "") -> str:
    """A rectangle, at a place in units of the picture."""
    words = f"<title>{escape(title)}</title>" if title else ""
    sizes = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.0):.1f}" height="{max(height, 0.0):.1f}"'
    return f'<rect class="{css}" {sizes}{more}>{words}</rect>'


def words(x: float, y: float, text: str, css: str = "", title: str = "") -> str:
    """A text, at a place in units of the picture."""
    more = f"<title>{escape(title)}</title>" if title else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}">{escape(text)}{more}</text>'
