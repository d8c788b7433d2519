"""The slider of a page, the table of right and wrong calls and their shares, and the data for the page's script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.texts import percent
from vrspam.metrics.calibration import wilson
from vrspam.report.html import Html, fragment
from vrspam.report.stops import Stops


class Tile(NamedTuple):
    """A share, or a cost, at the threshold: what it is called, its text, what it means, its interval if it has one."""

    title: str
    name: str  # by which the script finds it
    text: str
    meaning: str
    interval: str | None = None


class Slider(NamedTuple):
    """What the slider shows where it first stands."""

    place: int
    last: int
    threshold: str
    probability: str | None
    counts: Mapping[str, str]  # tp, fn, fp, tn
    tiles: Sequence[Tile]
    ratio: str


class Counts(NamedTuple):
    """Rows by what they are and what they are called; sums of weights where rows have some."""

    hits: float
    alarms: float
    positives: float
    negatives: float

    @property
    def misses(self) -> float:
        return self.positives - self.hits

    @property
    def rejections(self) -> float:
        return self.negatives - self.alarms

    @property
    def called(self) -> float:
        return self.hits + self.alarms

    @property
    def total(self) -> float:
        return self.positives + self.negatives


def explorer(
    stops: Stops, place: int, names: Mapping[str, str], ratio: float, start: str, pictures: Sequence[Html] = ()
) -> tuple[Html, dict[str, Any]]:
    """Return the slider with the table of right and wrong calls and their shares, and the data for the page's script.

    The slider first stands at `place`, and `start` says why. `names` are what rows of both classes are called, `ratio`
    is how many false alarms are as bad as one missed positive. A point moves on the curves of `pictures`.
    """
    counts = Counts(float(stops.hits[place]), float(stops.alarms[place]), stops.positives, stops.negatives)
    probability = None if stops.probabilities is None else percent(float(stops.probabilities[place]))
    slider = Slider(
        place=place,
        last=stops.thresholds.size - 1,
        threshold=f"{float(stops.thresholds[place]):.15g}",
        probability=probability,
        counts={
            "tp": _count_text(counts.hits),
            "fn": _count_text(counts.misses),
            "fp": _count_text(counts.alarms),
            "tn": _count_text(counts.rejections),
        },
        tiles=[*_shares(counts, stops.effective, names), *_per_thousand(counts, ratio)],
        ratio=f"{ratio:g}",
    )
    drawn = fragment("explorer", slider=slider, names=names, start=start, pictures=pictures)
    return drawn, _data(stops)


def _count_text(count: float) -> str:
    """A number of rows, or a sum of weights with one decimal."""
    return f"{count:,.0f}" if count == int(count) else f"{count:,.1f}"


def _shares(counts: Counts, effective: tuple[float, float], names: Mapping[str, str]) -> list[Tile]:
    """The four shares at the threshold; two have an interval, which counts independent rows."""
    positive, negative = names["positive"], names["negative"]
    not_called = counts.rejections + counts.misses
    return [
        Tile(
            "Sensitivity",
            "sensitivity",
            _share_text(counts.hits, counts.positives),
            f"of the rows with {positive} are found",
            _interval(counts.hits, counts.positives, effective[0]),
        ),
        Tile(
            "Specificity",
            "specificity",
            _share_text(counts.rejections, counts.negatives),
            f"of the rows with {negative} are left alone",
        ),
        Tile(
            "Positive predictive value",
            "ppv",
            _share_text(counts.hits, counts.called),
            f"of the rows called have {positive}",
            _interval(counts.hits, counts.called, effective[1]),
        ),
        Tile(
            "Negative predictive value",
            "npv",
            _share_text(counts.rejections, not_called),
            f"of the rows not called have {negative}",
        ),
    ]


def _per_thousand(counts: Counts, ratio: float) -> list[Tile]:
    """Alerts and costs per 1,000 rows."""
    alerts = 1000.0 * counts.called / counts.total
    cost = (counts.alarms + ratio * counts.misses) * 1000.0 / counts.total
    return [
        Tile("Alerts per 1,000 rows", "alerts", f"{alerts:.1f}", "rows called positive"),
        Tile("Cost per 1,000 rows", "cost", f"{cost:,.1f}", "by the costs below"),
    ]


def _share_text(part: float, whole: float) -> str:
    return percent(part / whole) if whole > 0.0 else "–"


def _interval(part: float, whole: float, effective: float) -> str:
    """The 95 % interval of a share, by Wilson; "" where there are no rows."""
    if not whole:
        return ""
    low, high = wilson(np.array(part / whole), np.array(whole * effective))
    return f"{percent(float(low))} to {percent(float(high))}"


def _data(stops: Stops) -> dict[str, Any]:
    """What the script needs to move the threshold."""
    probabilities = None
    if stops.probabilities is not None:
        probabilities = np.round(stops.probabilities, 8).tolist()  # shown to 0.1 %
    return {
        "thresholds": stops.thresholds.tolist(),
        "hits": _plain_counts(stops.hits),
        "alarms": _plain_counts(stops.alarms),
        "positives": stops.positives,
        "negatives": stops.negatives,
        "effective": stops.effective,
        "probabilities": probabilities,
    }


def _plain_counts(sums: np.ndarray) -> list[float]:
    """Whole numbers as such: they are shorter."""
    return [int(count) if count == int(count) else count for count in np.round(sums, 6).tolist()]
