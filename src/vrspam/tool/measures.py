"""Measures of scores against labels: thresholds, lift, calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

BINS = 10


@dataclass(frozen=True)
class Threshold:
    """What follows if rows are called positive when their score is at least `threshold`."""

    threshold: float
    sensitivity: float
    specificity: float
    precision: float | None  # None where no row is called positive
    share: float


@dataclass(frozen=True)
class Bin:
    """Rows of similar probability: their mean predicted probability, and the observed frequency of positives."""

    rows: int
    predicted: float
    observed: float


@dataclass(frozen=True, eq=False)
class Curve:
    """Hits (positives found) and false alarms for every threshold, starting at one that no row reaches."""

    thresholds: np.ndarray
    hits: np.ndarray
    alarms: np.ndarray

    @classmethod
    def of(cls, positive: np.ndarray, scores: np.ndarray) -> Curve:
        false, true, thresholds = roc_curve(positive, scores, drop_intermediate=False)
        thresholds[0] = np.nextafter(scores.max(), np.inf)
        return cls(thresholds, np.rint(true * positive.sum()), np.rint(false * (~positive).sum()))

    @property
    def positives(self) -> float:
        return float(self.hits[-1])

    @property
    def negatives(self) -> float:
        return float(self.alarms[-1])

    def at(self, place: Any) -> Threshold:
        hits, alarms = float(self.hits[place]), float(self.alarms[place])
        return Threshold(
            threshold=float(self.thresholds[place]),
            sensitivity=hits / self.positives,
            specificity=1.0 - alarms / self.negatives,
            precision=hits / (hits + alarms) if hits + alarms else None,
            share=(hits + alarms) / (self.positives + self.negatives),
        )


def lift(positive: np.ndarray, scores: np.ndarray, share: float) -> float:
    """Positives among the top `share` of rows, relative to as many rows drawn at random; ties share their places.

    >>> lift(np.array([True, False, False, True]), np.array([4.0, 3.0, 2.0, 1.0]), 0.25)
    2.0
    """
    count = share * scores.size
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    border = ranked[min(int(np.ceil(count)), scores.size) - 1]
    above, tied = ranked > border, ranked == border
    part = (count - above.sum()) / tied.sum()
    found = positive[order][above].sum() + part * positive[order][tied].sum()
    return float(found / count / positive.mean())


def reliability(positive: np.ndarray, probabilities: np.ndarray, bins: int = BINS) -> tuple[Bin, ...]:
    """Rows in order of their probability, cut into groups of about equal size; equal probabilities stay together.

    >>> reliability(np.array([False, True]), np.array([0.2, 0.6]), bins=2)
    (Bin(rows=1, predicted=0.2, observed=0.0), Bin(rows=1, predicted=0.6, observed=1.0))
    """
    edges = np.unique(np.quantile(probabilities, np.linspace(0, 1, bins + 1)[1:-1], method="higher"))
    group = np.searchsorted(edges, probabilities, side="right")
    found = []
    for number in range(edges.size + 1):
        rows = group == number
        if rows.any():
            found.append(Bin(int(rows.sum()), float(probabilities[rows].mean()), float(positive[rows].mean())))
    return tuple(found)


def calibration_error(bins: tuple[Bin, ...]) -> float:
    """Mean distance between predicted probability and observed frequency, over rows."""
    return sum(b.rows * abs(b.predicted - b.observed) for b in bins) / sum(b.rows for b in bins)
