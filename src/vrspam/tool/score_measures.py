"""What follows from scores and labels: thresholds, lift, groups of rows of similar probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

from vrspam.metrics.thresholds import group_by_probability

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
    def of(cls, positive: np.ndarray, scores: np.ndarray, weights: np.ndarray | None = None) -> Curve:
        false, true, thresholds = roc_curve(positive, scores, drop_intermediate=False, sample_weight=weights)
        thresholds[0] = np.nextafter(scores.max(), np.inf)
        if weights is not None:
            return cls(thresholds, true * weights[positive].sum(), false * weights[~positive].sum())
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


def lift(positive: np.ndarray, scores: np.ndarray, share: float, weights: np.ndarray | None = None) -> float:
    """Positives among the top `share` of rows, relative to as many rows drawn at random; ties share their places.

    With weights, rows are counted by them.

    >>> lift(np.array([True, False, False, True]), np.array([4.0, 3.0, 2.0, 1.0]), 0.25)
    2.0
    """
    mass = np.ones(scores.size) if weights is None else weights
    count = share * mass.sum()
    order = np.argsort(-scores, kind="stable")
    ranked, mass = scores[order], mass[order]
    border = ranked[min(int(np.searchsorted(np.cumsum(mass), count * (1.0 - 1e-12))), scores.size - 1)]
    above, tied, hits = ranked > border, ranked == border, positive[order] * mass
    part = (count - mass[above].sum()) / mass[tied].sum()
    found = hits[above].sum() + part * hits[tied].sum()
    return float(found / count / (hits.sum() / mass.sum()))


def reliability(
    positive: np.ndarray, probabilities: np.ndarray, bins: int = BINS, weights: np.ndarray | None = None
) -> tuple[Bin, ...]:
    """Rows in order of their probability, cut into groups of about equal size; equal probabilities stay together.

    >>> reliability(np.array([False, True]), np.array([0.2, 0.6]), bins=2)
    (Bin(rows=1, predicted=0.2, observed=0.0), Bin(rows=1, predicted=0.6, observed=1.0))
    """
    return tuple(Bin(*group) for group in group_by_probability(positive, probabilities, bins, weights))


def calibration_error(bins: tuple[Bin, ...]) -> float:
    """Mean distance between predicted probability and observed frequency, over rows."""
    return sum(b.rows * abs(b.predicted - b.observed) for b in bins) / sum(b.rows for b in bins)
