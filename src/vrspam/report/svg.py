"""Scales, axes and marks: the parts of a picture.

Colours are classes (page.css), so that a picture follows the light or dark page around it. Lengths are in units of the
picture, which are about pixels of the screen. A mark with a title shows it where the pointer rests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from vrspam.report.numbers import NUMBERS, rounded, shorten_all, shorten_to_fit, text_width

WIDTH, HEIGHT = 330.0, 270.0
LARGEST = 1.3  # most pixels of the screen for a unit
BROAD = 400.0  # a wider picture has larger letters on a phone
MOST_LETTERS = 22  # of a label beside an axis


@dataclass(frozen=True)
class Scale:
    """From values to places along one side of a picture.

    With `log` equal ratios are equally long; `whole` values have no ticks between them.
    """

    low: float
    high: float
    start: float
    stop: float
    log: bool = False
    whole: bool = False

    def __call__(self, values: np.ndarray | float) -> np.ndarray:
        with np.errstate(all="ignore"):
            low, high, at = (
                np.log10(v) if self.log else np.asarray(v, float) for v in (self.low, self.high, np.asarray(values))
            )
            return self.start + (at - low) / ((high - low) or 1.0) * (self.stop - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Round numbers within the scale."""
        if self.log:
            powers = np.arange(np.ceil(np.log10(self.low) - 1e-9), np.floor(np.log10(self.high) + 1e-9) + 1)
            if powers.size >= 2:
                return (10.0 ** powers[:: int(np.ceil(powers.size / most))]).tolist()
        span = self.high - self.low
        if not (np.isfinite(span) and span > 0.0):
            return [self.low]
        step = 10.0 ** np.floor(np.log10(span / most))
        step *= next(factor for factor in (1, 2, 2.5, 5, 10) if span / (factor * step) <= most)
        step = np.ceil(step) if self.whole else step
        first = np.ceil(self.low / step - 1e-9)
        return [float(f"{step * k:.12g}") + 0.0 for k in np.arange(first, np.floor(self.high / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Frame:
    """The plot area of a picture: where both scales lie, and how large the picture is."""

    x: Scale
    y: Scale
    width: float = WIDTH
    height: float = HEIGHT

    @classmethod
    def of(
        cls,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        width: float = WIDTH,
        height: float = HEIGHT,
        left: float = 44.0,
        right: float = 20.0,
        top: float = 8.0,
        bottom: float = 42.0,
        log: bool = False,
        whole: bool = False,
    ) -> Frame:
        """A plot area within margins, for values from x[0] to x[1] and y[0] to y[1]."""
        return cls(Scale(*x, left, width - right, log, whole), Scale(*y, height - bottom, top), width, height)

    def data(self) -> str:
        """What the script of the page needs to find values under the pointer."""
        numbers = [f"{v:.10g}" for s in (self.x, self.y) for v in (s.low, s.high, s.start, s.stop)]
        return f'data-frame="{" ".join(numbers)}"' + (" data-log" if self.x.log else "")


def picture(frame: Frame, marks: Iterable[str], *, label: str, kind: str = "") -> str:
    """The picture; `label` is what a screen reader says of it, `kind` what the script of the page makes of it."""
    size = f'viewBox="0 0 {frame.width:g} {frame.height:g}" width="{LARGEST * frame.width:.0f}"'
    broad = ' class="broad"' if frame.width > BROAD else ""
    kind = f' data-kind="{escape(kind)}"' if kind else ""
    spoken = f'role="img" aria-label="{escape(label)}"'
    return f"<svg {size}{broad} {spoken}{kind} {frame.data()}>{''.join(marks)}</svg>"


def number_axes(frame: Frame, x_label: str, y_label: str, *, shares: bool = False) -> str:
    """Both axes of numbers, with lines across the plot area; `shares` are shown in percent."""
    return x_axis(frame, x_label, shares=shares) + y_axis(frame, y_label, shares=shares)


def tick_texts(ticks: Sequence[float], shares: bool = False) -> list[str]:
    """Ticks as text, with as many decimals as tell them apart.

    >>> tick_texts([2024.0, 2024.25, 2024.5]), tick_texts([0.0, 20000.0]), tick_texts([0.0, 0.5], shares=True)
    (['2024.00', '2024.25', '2024.50'], ['0', '20,000'], ['0 %', '50 %'])
    """
    if shares:
        return [f"{100 * tick:g} %" for tick in ticks]
    steps = np.diff(ticks)
    if steps.size == 0 or np.ptp(steps) > 1e-6 * steps.max() or not 1e-6 < steps[0] < 1e9:  # a logarithmic scale, say
        return [rounded(tick) for tick in ticks]
    digits = len(f"{steps[0]:.9f}".rstrip("0").partition(".")[2])
    return [f"{tick:,.{digits}f}" if abs(tick) >= 1e4 else f"{tick:.{digits}f}" for tick in ticks]


def x_axis(frame: Frame, label: str, *, shares: bool = False, lines: bool = True) -> str:
    """Numbers below the plot area."""
    base, top = frame.y.start, frame.y.stop
    ticks = frame.x.ticks()
    texts = tick_texts(ticks, shares)
    parts = []
    end = -np.inf  # of the last number that has room
    for tick, text in zip(ticks, texts, strict=True):
        at, width = float(frame.x(tick)), text_width(text)
        if lines:
            parts.append(f'<path class="grid-line" d="M{at:.1f} {base:g}V{top:g}"/>')
        place = within(frame, at, width)
        if place - width / 2 > end:
            parts.append(f'<text x="{place:.1f}" y="{base + 15:g}" class="middle">{escape(text)}</text>')
            end = place + width / 2
    short = shorten_to_fit([label], len(label), frame.width)[0]
    middle = within(frame, (frame.x.start + frame.x.stop) / 2, text_width(short))
    name = words(middle, frame.height - 6.0, short, "middle name", label if short != label else "")
    return f"<g{NUMBERS}>{''.join(parts)}</g>{name}"


def within(frame: Frame, at: float, width: float) -> float:
    """The middle of a text that is to stand at a place, moved where it would leave the picture."""
    return min(max(at, width / 2), frame.width - width / 2)


def y_axis(frame: Frame, label: str, *, shares: bool = False) -> str:
    """Numbers beside the plot area."""
    ticks = frame.y.ticks()
    parts = []
    for tick, text in zip(ticks, tick_texts(ticks, shares), strict=True):
        at = float(frame.y(tick))
        parts.append(f'<path class="grid-line" d="M{frame.x.start:g} {at:.1f}H{frame.x.stop:g}"/>')
        parts.append(f'<text x="{frame.x.start - 6:g}" y="{at + 4:.1f}" class="end">{escape(text)}</text>')
    middle = (frame.y.start + frame.y.stop) / 2
    place, text = f'transform="translate(11 {middle:g}) rotate(-90)"', escape(shorten_all([label], 40)[0])
    name = f'<text {place} class="middle name">{text}</text>' if label else ""
    return f"<g{NUMBERS}>{''.join(parts)}</g>{name}"


def tick_room(ends: tuple[float, float]) -> float:
    """The room that the numbers beside an axis need."""
    return 8.0 + max(map(text_width, tick_texts(Scale(*ends, 0.0, 1.0).ticks())))


def label_room(names: Sequence[str], most: int = MOST_LETTERS) -> float:
    """The room that names beside an axis need."""
    return 12.0 + max(map(text_width, shorten_all(names, most)), default=0.0)


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
