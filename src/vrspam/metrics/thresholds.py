"""Thresholds of scores: what they call and what they promise, the curve of all of them, and average precision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vrspam._utils.names import THRESHOLD_RULES
from vrspam._utils.texts import short_between
from vrspam.metrics import roc


def average_precision_columns(
    positive: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Average precision of every column of a matrix of scores: one row per sample, one column per model.

    The mean, over the positives, of the precision at the threshold that just includes them:

        AP = mean over i in + of  TP(s_i) / (TP(s_i) + FP(s_i)),   TP(s), FP(s): positives, negatives with score ≥ s

    Parameters
    ----------
    positive : boolean array of n
    scores : array (n, m)
        Scores on a device are copied to the host.
    sample_weight : array of n numbers, optional
        How many rows each one stands for.

    Returns
    -------
    array of m
        Equal to :func:`sklearn.metrics.average_precision_score` to rounding. All NaN, with a warning, when only one
        class has weight.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import average_precision_columns
    >>> scores = np.array([[0.1, 3.0], [0.4, 3.0], [0.35, 3.0], [0.8, 3.0]])
    >>> average_precision_columns(np.array([False, False, True, True]), scores).round(4).tolist()
    [0.8333, 0.5]
    """
    positive, scores, weight, up, down = roc.checked_columns(positive, scores, sample_weight, "average precision")
    if up.size == 0 or down.size == 0:
        return np.full(scores.shape[1], np.nan)
    if weight is not None:
        weight = roc.unit_weights(weight)
    precisions = np.empty(scores.shape[1])
    for j in range(scores.shape[1]):
        if weight is None:
            of_up = np.sort(scores[up, j])
            ranked = np.sort(scores[down, j])
            hits = up.size - of_up.searchsorted(of_up)
            alarms = down.size - ranked.searchsorted(of_up)
            precisions[j] = np.mean(hits / (hits + alarms))
        else:
            precisions[j] = Curve.of(positive, scores[:, j], weight).average_precision
    return np.clip(precisions, 0.0, 1.0)


@dataclass(frozen=True)
class Threshold:
    """What follows if rows are called positive when their score is at least `threshold`."""

    threshold: float
    sensitivity: float
    specificity: float
    precision: float | None  # None where no row is called positive
    share: float


@dataclass(frozen=True)
class ChosenThreshold(Threshold):
    """A threshold in use, with its rule, the number asked for, and its measures on held-out rows.

    Attributes
    ----------
    threshold : float
        Rows whose score is at least this are called positive.
    sensitivity, specificity, precision, share : float
        What follows from it on held-out rows; `share` is that of the rows called positive, `precision` may be None.
    rule : {"recall", "precision", "alerts", "cost_ratio", "threshold"}
    asked : float
    confidence : float or None
        How sure it is that new rows keep the number asked for; None if only the held-out rows are known to keep it.
        A precision and a share of alerts are promised for rows with the same share of positives (`prevalence`).
    """

    rule: str
    asked: float
    confidence: float | None = None

    def check(self) -> None:
        """Refuse a rule that is not known, as a file may hold it."""
        if self.rule not in THRESHOLD_RULES:
            raise ValueError(f"the rule {self.rule!r} of the threshold is not known")

    @property
    def prevalence(self) -> float | None:
        """The share of positives among the held-out rows; None where no row, or no positive, is called."""
        if self.precision is None or not self.sensitivity > 0.0:
            return None
        return min(1.0, self.precision * self.share / self.sensitivity)

    @property
    def condition(self) -> str:
        """What the promise depends on beside the model, in words; empty if it depends on nothing else."""
        if self.confidence is None or self.rule not in ("precision", "alerts") or self.prevalence is None:
            return ""
        return f", where {100 * self.prevalence:.2g} % of the rows are positive as in training"

    @property
    def words(self) -> str:
        """What the threshold does, in words."""
        share_asked = f"{100 * self.asked:g} %"
        least = ""
        most = ""
        sure = ""
        if self.confidence is not None:
            least, most = "at least ", "at most "
            sure = f", with {100 * self.confidence:g} % confidence{self.condition}"
        return {
            "recall": f"finds {least}{share_asked} of the positives{sure}",
            "precision": f"is right in {least}{share_asked} of its calls{sure}",
            "alerts": f"calls {most}{share_asked} of the rows{sure}",
            "cost_ratio": f"has the least cost, one miss worth {self.asked:g} false alarms",
            "threshold": "was given",
        }[self.rule]


@dataclass(frozen=True, eq=False)
class Curve:
    """Hits (positives found) and false alarms for every threshold, starting at one that no row reaches."""

    thresholds: NDArray
    hits: NDArray
    alarms: NDArray
    called: NDArray  # rows that are called positive
    positives: float
    negatives: float

    @classmethod
    def of(
        cls, positive: NDArray, scores: NDArray, weights: NDArray | None = None, ranked: roc.Ranked | None = None
    ) -> Curve:
        """The curve of scores, which may be sorted already; rows of weight 0 do not count."""
        _, ranks, hits, alarms = roc.Ranked.of(positive, scores, weights) if ranked is None else ranked
        thresholds = np.append(np.nextafter(ranks[0], np.inf), ranks)
        return cls(thresholds, hits, alarms, hits + alarms, float(hits[-1]), float(alarms[-1]))

    @property
    def average_precision(self) -> float:
        """The mean, over the positives, of the precision at the threshold that just includes them."""
        new = np.flatnonzero(self.hits[1:] > self.hits[:-1])  # thresholds that include positives
        more_hits = self.hits[new + 1] - self.hits[new]
        return float(np.sum(more_hits * self.hits[new + 1] / self.called[new + 1]) / self.positives)

    def place(self, threshold: float) -> int:
        """The place of any threshold, which need not be the score of a row."""
        return max(int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1, 0)

    def at_score(self, threshold: float) -> Threshold:
        """What follows from a threshold that need not be the score of a row."""
        return replace(self.at(self.place(threshold)), threshold=threshold)

    def short(self, place: int) -> Threshold:
        """What follows from the threshold of a place, as a short number between two scores."""
        rates = self.at(place)
        below = float(self.thresholds[place + 1]) if place + 1 < self.thresholds.size else rates.threshold - 1.0
        gap = rates.threshold - below  # well inside it: rounding of scores must not move a row to the other side
        return replace(rates, threshold=short_between(below + 0.25 * gap, below + 0.75 * gap))

    def at(self, place: Any) -> Threshold:
        hits, alarms = float(self.hits[place]), float(self.alarms[place])
        return Threshold(
            threshold=float(self.thresholds[place]),
            sensitivity=hits / self.positives,
            specificity=1.0 - alarms / self.negatives,
            precision=hits / (hits + alarms) if hits + alarms else None,
            share=(hits + alarms) / (self.positives + self.negatives),
        )
