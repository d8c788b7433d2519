"""The threshold slider: a set of thresholds with exact counts, thin enough for a page, and the controls around it.

A page cannot hold 200,000 thresholds. Between two that are kept, no curve of the page moves by more than a fraction
of a pixel; the counts of those that are kept are those of all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from vrspam._utils.texts import percent, short_between
from vrspam.report.page import NUMBERS, Drawing, Grid

FINE = 1.0 / 1500.0  # of the side of a picture, less than half a pixel: how far curves may move between two thresholds


@dataclass(frozen=True, eq=False)
class Stops:
    """Where the slider can stop: thresholds in increasing order, and what follows from each.

    A row is called positive if its score is at least the threshold.

    Attributes
    ----------
    thresholds : ndarray
        Numbers with few decimals that separate the same rows as the scores themselves.
    hits, alarms : ndarray
        Positive and negative rows that are called positive; sums of weights where rows have some.
    positives, negatives : float
        All rows of each class.
    probabilities : ndarray or None
        Of a row whose score is the threshold.
    """

    thresholds: np.ndarray
    hits: np.ndarray
    alarms: np.ndarray
    positives: float
    negatives: float
    probabilities: np.ndarray | None = None

    @classmethod
    def of(cls, positive: np.ndarray, scores: np.ndarray, weights: np.ndarray | None = None) -> Stops:
        """The thresholds of scores, thinned.

        >>> stops = Stops.of(np.array([True, False, True]), np.array([3.0, 2.0, 1.0]))
        >>> stops.thresholds.tolist(), stops.hits.tolist(), stops.alarms.tolist()
        ([1.0, 2.0, 3.0, 3.04], [2.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0])
        """
        mass = np.ones(scores.size) if weights is None else weights
        order = np.argsort(scores, kind="stable")
        ranked, label, mass = scores[order], positive[order], mass[order]
        first = np.flatnonzero(np.append(True, ranked[1:] > ranked[:-1]))  # of each different score
        hits, alarms = (np.append(np.cumsum((mass * side)[::-1])[::-1][first], 0.0) for side in (label, ~label))
        kept = thin(hits / hits[0], alarms / alarms[0], hits / np.maximum(hits + alarms, np.finfo(float).tiny))
        margin = 0.02 * (ranked[-1] - ranked[0]) or max(1.0, abs(ranked[0]))
        below = np.concatenate([[ranked[0] - margin], ranked[first]])  # the score before each threshold
        at = np.append(ranked[first], ranked[-1] + margin)  # which no row reaches
        found = np.array([short_between(below[k], at[k]) for k in kept])
        return cls(found, hits[kept], alarms[kept], float(hits[0]), float(alarms[0]))

    @property
    def called(self) -> np.ndarray:
        """Rows that are called positive."""
        return self.hits + self.alarms

    @property
    def precision(self) -> np.ndarray:
        """Share of positives among the rows that are called positive; NaN where there are none."""
        with np.errstate(invalid="ignore"):
            return self.hits / self.called

    def youden(self) -> int:
        """Where sensitivity + specificity is highest."""
        return int(np.argmax(self.hits / self.positives - self.alarms / self.negatives))

    def cheapest(self, ratio: float) -> int:
        """Where the cost is least, one missed positive being as bad as `ratio` false alarms."""
        return int(np.argmin(self.alarms + ratio * (self.positives - self.hits)))

    def data(self) -> dict[str, Any]:
        """What the script of the page needs."""
        sums = [np.round(part, 6).tolist() for part in (self.hits, self.alarms)]
        hits, alarms = ([int(v) if v == int(v) else v for v in part] for part in sums)
        p = (
            None if self.probabilities is None else np.round(self.probabilities, 8).tolist()
        )  # shown to 0.1 %, rounded once
        found: dict[str, Any] = {"thresholds": self.thresholds.tolist(), "hits": hits, "alarms": alarms}
        return {**found, "positives": self.positives, "negatives": self.negatives, "probabilities": p}


def thin(*curves: np.ndarray) -> np.ndarray:
    """Which points to keep so that between two of them no curve moves by more than `FINE`; jumps stay jumps.

    >>> thin(np.linspace(0, 1, 100_000)).size
    1517
    """
    table = np.stack(curves, axis=1)
    kept, last, size = [0], 0, table.shape[0]
    while last < size - 1:
        reach = 64
        while True:  # look ahead for the first point that is too far away
            part = np.abs(table[last + 1 : last + 1 + reach] - table[last]).max(axis=1) > FINE
            if part.any() or last + 1 + reach >= size:
                break
            reach *= 4
        ahead = int(np.argmax(part)) if part.any() else part.size
        last = last + max(1, ahead)
        kept.append(last)
    return np.array(kept)


def confusion(stops: Stops, place: int) -> dict[str, float]:
    """The numbers of one threshold, under the names that the page gives them."""
    hits, alarms = float(stops.hits[place]), float(stops.alarms[place])
    misses, rejections = stops.positives - hits, stops.negatives - alarms
    total = stops.positives + stops.negatives
    return {
        "tp": hits,
        "fp": alarms,
        "fn": misses,
        "tn": rejections,
        "sensitivity": hits / stops.positives,
        "specificity": rejections / stops.negatives,
        "ppv": hits / (hits + alarms) if hits + alarms > 0.0 else np.nan,
        "npv": rejections / (rejections + misses) if rejections + misses > 0.0 else np.nan,
        "alerts": 1000.0 * (hits + alarms) / total,
    }


MEASURES = {
    "sensitivity": ("Sensitivity", "of the rows with {positive} are found"),
    "specificity": ("Specificity", "of the rows with {negative} are left alone"),
    "ppv": ("Positive predictive value", "of the rows called have {positive}"),
    "npv": ("Negative predictive value", "of the rows not called have {negative}"),
}


@dataclass(frozen=True)
class Explorer:
    """The slider, the table of right and wrong calls, and their shares.

    Attributes
    ----------
    stops : Stops
    place : int
        Where the slider stands first, and stays without JavaScript.
    names : mapping
        What rows of both classes have: `positive` ("sick = yes") and `negative`.
    ratio : float
        How many false alarms are as bad as one missed positive, before the reader changes it.
    start : str
        Why the slider stands where it does.
    pictures : sequence of Drawing
        Curves on which the slider moves a point (`vrspam.report.pictures`).
    """

    stops: Stops
    place: int
    names: Mapping[str, str]
    ratio: float
    start: str
    pictures: Sequence[Drawing] = ()

    def html(self) -> str:
        calls = f'<div class="calls">{self._matrix()}{self._shares()}</div>'
        return f'<div class="explorer">{self._bar()}{calls}{Grid(self.pictures, "curves").html()}</div>'

    def _bar(self) -> str:
        stops, place = self.stops, self.place
        threshold = _value("threshold", f"{float(stops.thresholds[place]):.15g}")
        probability = ""
        if stops.probabilities is not None:
            probability = f", probability {_value('probability', percent(float(stops.probabilities[place])))}"
        return (
            '<div class="slider"><label for="threshold">Call a row positive if its score is at least '
            f'{threshold}{probability}</label><input type="range" id="threshold" min="0" '
            f'max="{stops.thresholds.size - 1}" step="1" value="{place}" hidden>'
            '<p class="remark ends" hidden><span>← every row is called</span><span>no row is called →</span></p>'
            f'<noscript><p class="remark">{escape(self.start)} With JavaScript a slider moves the threshold.</p>'
            "</noscript></div>"
        )

    def _matrix(self) -> str:
        shown = confusion(self.stops, self.place)
        positive, negative = (escape(self.names[side]) for side in ("positive", "negative"))

        def count(name: str, css: str, note: str) -> str:
            return f'<td class="{css}">{_value(name, _count(shown[name]))}<small>{note}</small></td>'

        found = count("tp", "right", "found") + count("fn", "wrong", "missed")
        others = count("fp", "wrong", "false alarms") + count("tn", "right", "left alone")
        return (
            '<table class="confusion"><caption>Right and wrong calls</caption>'
            '<thead><tr><td></td><th scope="col">called positive</th><th scope="col">not called</th></tr></thead>'
            f'<tbody><tr><th scope="row"><bdi dir="ltr">{positive}</bdi></th>{found}</tr>'
            f'<tr><th scope="row"><bdi dir="ltr">{negative}</bdi></th>{others}</tr></tbody></table>'
        )

    def _shares(self) -> str:
        shown = confusion(self.stops, self.place)
        tiles = [
            (title, name, "–" if np.isnan(shown[name]) else percent(shown[name]), words.format_map(self.names))
            for name, (title, words) in MEASURES.items()
        ]
        cost = (shown["fp"] + self.ratio * shown["fn"]) * 1000.0 / (self.stops.positives + self.stops.negatives)
        tiles.append(("Alerts per 1,000 rows", "alerts", f"{shown['alerts']:.1f}", "rows called positive"))
        tiles.append(("Cost per 1,000 rows", "cost", f"{cost:,.1f}", "in false alarms"))
        listed = "".join(
            f"<div><dt>{title}</dt><dd>{_value(name, text)}"
            f'<small><bdi dir="ltr">{escape(words)}</bdi></small></dd></div>'
            for title, name, text, words in tiles
        )
        price = (
            '<p class="price"><label for="cost">One missed row is as bad as</label> '
            f'<input type="number" id="cost" min="0" step="any" value="{self.ratio:g}" hidden>'
            f'<span class="without-script">{self.ratio:g}</span> '
            'false alarms. <button type="button" id="cheapest" hidden>Go to the least cost</button> '
            '<button type="button" id="youden" hidden>Highest sensitivity + specificity</button></p>'
        )
        return f'<div><dl class="tiles">{listed}</dl>{price}</div>'


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _value(name: str, text: str) -> str:
    """A number that the slider changes."""
    return f'<span class="value" data-show="{name}"{NUMBERS}>{text}</span>'
