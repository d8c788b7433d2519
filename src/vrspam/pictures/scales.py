"""Scales of axes, round numbers, and ticks whose labels do not overlap."""

from __future__ import annotations

from math import ceil
from typing import Any, Literal, NamedTuple

import numpy as np

from vrspam._utils.texts import power_text, rounded, text_width

ROOM = 195.0  # length of the axis of a column
GAP = 6.0  # least distance between two of its labels
MOST_TICKS = 6
DECADES = 2.0  # length of the linear middle of a logarithmic axis, on each side of 0


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


def power_ticks(scale: Scale) -> Ticks:
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
