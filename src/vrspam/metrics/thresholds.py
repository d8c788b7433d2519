"""What follows from scores and labels: thresholds, lift, average precision, groups of rows of similar probability."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta, binom

from vrspam._utils.messages import Message, Parameter, WordedError
from vrspam._utils.texts import short_between
from vrspam.metrics.roc import (
    Ranked,
    both_classes,
    checked_columns,
    checked_scores,
    descending,
    positive_rows,
    rows_of_classes,
    unit_weights,
)

BINS = 10


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
    positive, scores, weight = checked_columns(positive, scores, sample_weight)
    if weight is not None:
        weight = unit_weights(weight)
    sides = rows_of_classes(positive, weight, "average precision")
    if sides is None:
        return np.full(scores.shape[1], np.nan)
    up, down = sides
    found = np.empty(scores.shape[1])
    for j in range(scores.shape[1]):
        of_up, of_down = scores[up, j], scores[down, j]
        if weight is None:
            of_up, ranked = np.sort(of_up), np.sort(of_down)
            hits = up.size - of_up.searchsorted(of_up)
            alarms = down.size - ranked.searchsorted(of_up)
            found[j] = np.mean(hits / (hits + alarms))
        else:
            order_up, order_down = np.argsort(of_up), np.argsort(of_down)
            of_up, ranked, parts = of_up[order_up], of_down[order_down], weight[up][order_up]
            hits = _mass_from(parts)[of_up.searchsorted(of_up)]
            alarms = _mass_from(weight[down][order_down])[ranked.searchsorted(of_up)]
            found[j] = parts @ (hits / (hits + alarms)) / parts.sum()
    return np.clip(found, 0.0, 1.0)


def _mass_from(weight: NDArray) -> NDArray:
    """The sum of the weights from each place on, and 0 after the last."""
    return np.append(weight[::-1].cumsum()[::-1], 0.0)


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
    """A threshold that is used, what it stands for (a rule, and the number asked for), and what held-out rows promise.

    Attributes
    ----------
    threshold : float
        Rows whose score is at least this are called positive.
    sensitivity, specificity, precision, share : float
        What follows from it on held-out rows; `share` is that of the rows called positive, `precision` may be None.
    rule : {"recall", "precision", "alerts", "cost_ratio", "threshold"}
    asked : float
    confidence : float or None
        How sure it is that new rows keep what was asked for; None where only the held-out rows keep it.
    """

    rule: str
    asked: float
    confidence: float | None = None

    @property
    def words(self) -> str:
        """What it stands for."""
        if self.confidence is not None:
            kept, asked = f"with {100 * self.confidence:g} % confidence", f"{100 * self.asked:g} %"
            return {
                "recall": f"finds at least {asked} of the positives, {kept}",
                "precision": f"is right in at least {asked} of its calls, {kept}",
                "alerts": f"calls at most {asked} of the rows, {kept}",
            }[self.rule]
        return {
            "recall": f"finds {100 * self.asked:g} % of the positives",
            "precision": f"is right in {100 * self.asked:g} % of its calls",
            "alerts": f"calls {100 * self.asked:g} % of the rows",
            "cost_ratio": f"has the least cost, one miss worth {self.asked:g} false alarms",
            "threshold": "was given",
        }[self.rule]


def choose_threshold(
    positive: np.ndarray, scores: np.ndarray, rule: str, asked: float, weights: np.ndarray | None = None
) -> ChosenThreshold:
    """The threshold that a rule takes on scored rows, as a short number between two scores.

    "recall": the highest that finds this share of the positives. "precision": the lowest above which this share of the
    rows is positive. "alerts": the lowest that calls at most this share of the rows. "cost_ratio": the least cost, a
    miss being as bad as so many false alarms. "threshold": the score itself.

    >>> scores, positive = np.arange(10.0), np.arange(10) % 3 > 0
    >>> [choose_threshold(positive, scores, rule, 0.5).threshold for rule in ("recall", "alerts", "threshold")]
    [4.7, 4.7, 0.5]
    """
    curve = Curve.of(positive, scores, weights)
    called, total = curve.hits + curve.alarms, curve.positives + curve.negatives
    if rule == "threshold":
        return ChosenThreshold(**vars(curve.at_score(asked)), rule=rule, asked=asked)
    if rule == "recall":
        place = int(np.argmax(curve.hits >= asked * curve.positives * (1.0 - 1e-12)))
    elif rule == "cost_ratio":
        place = int(np.argmin(curve.alarms + asked * (curve.positives - curve.hits)))
    else:
        holds = called <= asked * total * (1.0 + 1e-12)
        if rule == "precision":
            holds = curve.hits >= asked * called * (1.0 - 1e-12)
        place = int(np.flatnonzero(holds & (called > 0.0))[-1]) if (holds & (called > 0.0)).any() else 0
        if place == 0:
            raise WordedError(
                "no threshold keeps {given} on held-out rows: give {way}",
                given=Parameter(rule, asked),
                way="a smaller number" if rule == "precision" else "a larger one",
            )
    return ChosenThreshold(**vars(curve.short(place)), rule=rule, asked=asked)


def stored_threshold(
    positive: np.ndarray,
    scores: np.ndarray,
    rule: str,
    asked: float,
    weights: np.ndarray | None = None,
    grouped: bool = False,
) -> tuple[ChosenThreshold, Message | None]:
    """The threshold that a model stores for a rule, and what to say where it is no promise about new rows.

    A recall, a precision or a share of alerts is promised (:func:`promised_threshold`) if the held-out rows are enough
    and independent. Else it is the threshold of `choose_threshold`, that keeps it on the held-out rows.
    """
    if rule not in ("recall", "precision", "alerts"):
        return choose_threshold(positive, scores, rule, asked, weights), None
    given, why = Parameter(rule, asked), "no number of rows promises {given}"
    if asked < 1.0:
        why = "rows of groups, or with weights, promise no {given}"
    fields: dict[str, Any] = {"given": given}
    if weights is None and not grouped and asked < 1.0:
        try:
            promised = promised_threshold(positive, scores, **{rule: asked})
        except WordedError as error:
            why, fields = error.message.template, error.message.fields
        else:
            curve = Curve.of(positive, scores)
            found = curve.short(curve.place(promised.threshold))
            if found.share > 0.0:
                return ChosenThreshold(**vars(found), rule=rule, asked=asked, confidence=promised.confidence), None
            why = "these rows are too few to promise {given}: no row would be called"
    words = f"{why.rstrip('.')}. The threshold that is stored keeps it on the held-out rows alone."
    return choose_threshold(positive, scores, rule, asked, weights), Message(words, **fields)


class Bin(NamedTuple):
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
    positives: float
    negatives: float

    @classmethod
    def of(
        cls,
        positive: np.ndarray,
        scores: np.ndarray,
        weights: np.ndarray | None = None,
        ranked: Ranked | None = None,
    ) -> Curve:
        """The curve of scores, which may be sorted already; rows of weight 0 do not count."""
        _, ranks, hits, alarms = Ranked.of(positive, scores, weights) if ranked is None else ranked
        thresholds = np.append(np.nextafter(ranks[0], np.inf), ranks)
        return cls(thresholds, hits, alarms, float(hits[-1]), float(alarms[-1]))

    @cached_property
    def called(self) -> np.ndarray:
        """Rows that are called positive."""
        return self.hits + self.alarms

    @property
    def average_precision(self) -> float:
        """The mean, over the positives, of the precision at the threshold that just includes them."""
        new = np.flatnonzero(self.hits[1:] > self.hits[:-1])  # thresholds that include positives
        more = self.hits[new + 1] - self.hits[new]
        return float(np.sum(more * self.hits[new + 1] / self.called[new + 1]) / self.positives)

    def sensitivity_at(self, specificity: float, rounding: float = 1e-12) -> float:
        """The largest sensitivity where the specificity is at least this, as in `sensitivity_at_specificity`."""
        most = (1.0 - specificity + rounding) * self.negatives
        return float(self.hits[self.alarms.searchsorted(most, side="right") - 1] / self.positives)

    def lift(self, share: float) -> float:
        """Positives among the top `share` of rows, relative to as many drawn at random; ties share their places."""
        total = self.positives + self.negatives
        return float(np.interp(share * total, self.called, self.hits) / share / self.positives)

    def place(self, threshold: float) -> int:
        """Where a threshold lies that need not be the score of a row."""
        return max(int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1, 0)

    def at_score(self, threshold: float) -> Threshold:
        """What follows from a threshold that need not be the score of a row."""
        return replace(self.at(self.place(threshold)), threshold=threshold)

    def short(self, place: int) -> Threshold:
        """What follows from the threshold of a place, as a short number between two scores."""
        found = self.at(place)
        below = float(self.thresholds[place + 1]) if place + 1 < self.thresholds.size else found.threshold - 1.0
        gap = found.threshold - below  # well inside it: rounding of scores must not move a row to the other side
        return replace(found, threshold=short_between(below + 0.25 * gap, below + 0.75 * gap))

    def at(self, place: Any) -> Threshold:
        hits, alarms = float(self.hits[place]), float(self.alarms[place])
        return Threshold(
            threshold=float(self.thresholds[place]),
            sensitivity=hits / self.positives,
            specificity=1.0 - alarms / self.negatives,
            precision=hits / (hits + alarms) if hits + alarms else None,
            share=(hits + alarms) / (self.positives + self.negatives),
        )


def reliability(
    positive: np.ndarray,
    probabilities: np.ndarray,
    bins: int = BINS,
    weights: np.ndarray | None = None,
    order: np.ndarray | None = None,
) -> tuple[Bin, ...]:
    """Rows in order of their probability, cut into groups of about equal size; equal probabilities stay together.

    `order` is that of falling probabilities, if it is known.
    """
    order = (descending(probabilities) if order is None else order)[::-1]
    ranked, label = probabilities[order], positive[order]
    edges = ranked[np.ceil(np.linspace(0, 1, bins + 1)[1:-1] * (ranked.size - 1)).astype(int)]
    starts, found = [*np.unique(np.append(0, ranked.searchsorted(edges))).tolist(), ranked.size], []
    for start, stop in pairwise(starts):
        own = None if weights is None else weights[order[start:stop]]
        if own is None or own.any():
            predicted, observed = (float(np.average(part[start:stop], weights=own)) for part in (ranked, label))
            found.append(Bin(stop - start, predicted, observed))
    return tuple(found)


def wilson(share: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's 95 % interval of a share."""
    z = 1.959963984540054
    middle = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z * np.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2)) / (1 + z**2 / rows)
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)


def effective_share(right: np.ndarray, weights: np.ndarray, groups: np.ndarray | None = None) -> float:
    """How many independent rows a row counts for, in an interval of the share of some that are `right`.

    With weights it is (Σ w)² / Σ w² by Σ w; rows of a group vary together, as in `vrspam.metrics.roc_auc_ci`.
    """
    total = float(weights.sum())
    if right.size < 2 or total == 0.0:
        return 1.0
    share = float(weights @ right) / total
    names = np.arange(right.size) if groups is None else np.unique(groups, return_inverse=True)[1]
    sums = np.bincount(names, weights * (right - share))
    variance = float(sums @ sums) / total**2
    if not 0.0 < share < 1.0 or variance == 0.0:  # all right, or none: as many as there are groups
        sizes = np.bincount(names, weights)
        return min(1.0, float(sizes.sum() ** 2 / (sizes @ sizes)) / total)
    return share * (1.0 - share) / variance / total


def calibration_error(bins: tuple[Bin, ...]) -> float:
    """Mean distance between predicted probability and observed frequency, over rows."""
    return sum(b.rows * abs(b.predicted - b.observed) for b in bins) / sum(b.rows for b in bins)


@dataclass(frozen=True)
class PromisedThreshold:
    """A threshold with a promise about new rows: those with ``score >= threshold`` are called positive.

    Attributes
    ----------
    threshold : float
    measure : {"recall", "specificity", "precision", "alerts"}
        What is promised: at least `promised`, for "alerts" at most.
    promised : float
    found : float
        The same measure on the rows at hand.
    confidence : float
        How sure the promise is.
    rows : int
        The rows that it rests on: positives, negatives, rows called positive, or all.

    Examples
    --------
    >>> from vrspam.metrics import promised_threshold
    >>> promised_threshold([0, 1] * 50, range(100), recall=0.9).rows
    50
    """

    threshold: float
    measure: str
    promised: float
    found: float
    confidence: float
    rows: int


def promised_threshold(
    y: ArrayLike,
    score: ArrayLike,
    *,
    recall: float | None = None,
    specificity: float | None = None,
    precision: float | None = None,
    alerts: float | None = None,
    confidence: float = 0.95,
) -> PromisedThreshold:
    """The threshold that keeps a promise about new rows, with a given confidence; no distribution is assumed.

    Of m positives, in order of their scores, the k-th smallest score is taken, with k the largest number for which
    P(Bin(m, 1 - recall) < k) ≤ 1 - confidence: the share of all positives above it is at least `recall`. The
    specificity is the mirror image of it over the negatives, and `alerts` over all rows. A precision looks at many
    thresholds: those above which there are 2^(j/2) rows, j = 0, 1, 2, ..., as far as so many rows can show it, each
    with Clopper and Pearson's bound at the level (1 - confidence) / their number; the lowest that keeps the promise is
    taken.

    Parameters
    ----------
    y, score
        As in :func:`roc_auc`, of rows that the model has not seen.
    recall, specificity, precision : float in (0, 1), optional
        The least share of positives that are found, of negatives that are left alone, of positives among the rows that
        are called positive. Exactly one of these and `alerts` is given.
    alerts : float in (0, 1), optional
        The largest share of rows that are called positive.
    confidence : float in (0, 1)

    Returns
    -------
    PromisedThreshold

    Notes
    -----
    New rows have to come from where these rows came from, independently of each other. With rows of one patient, or
    scores of rows that the model was trained on, the promise is void.

    References
    ----------
    Wilks (1941), Annals of Mathematical Statistics 12, 91-96 (order statistics as tolerance limits). Clopper & Pearson
    (1934), Biometrika 26, 404-413.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import promised_threshold
    >>> y = np.arange(400) % 2
    >>> score = np.random.default_rng(0).normal(size=400) + 2 * y
    >>> found = promised_threshold(y, score, recall=0.9)
    >>> print(f"{found.found:.3f} of 200 are found, of all positives at least 0.9")
    0.940 of 200 are found, of all positives at least 0.9
    """
    asked = {"recall": recall, "specificity": specificity, "precision": precision, "alerts": alerts}
    given = {name: value for name, value in asked.items() if value is not None}
    if len(given) != 1:
        raise ValueError(f"Give exactly one of recall, specificity, precision and alerts, got {len(given)}.")
    ((measure, share),) = given.items()
    for name, value in (*given.items(), ("confidence", confidence)):
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}.")
    positive = both_classes(positive_rows(y), at_least=1)
    scores = checked_scores(score, positive.size, "score").astype(np.float64)
    risk = 1.0 - confidence
    if measure == "precision":
        return _promised_precision(positive, scores, share, confidence)
    kept = 1.0 - share if measure == "alerts" else share  # of the rows that are judged, on the right side
    judged = np.sort({"recall": scores[positive], "specificity": scores[~positive]}.get(measure, scores))
    m = judged.size
    outside = int(binom.ppf(risk, m, 1.0 - kept))  # the largest k with P(Bin < k) at most the risk
    if outside == 0:
        least = int(np.ceil(np.log(risk) / np.log(kept)))
        rows = {"recall": "positives", "specificity": "negatives"}.get(measure, "rows")
        words = "{m} {rows} are too few to promise {given} with {sure:g} % confidence: it takes {least}. Promise less, "
        fields: dict[str, Any] = {"m": m, "rows": rows, "sure": 100 * confidence, "least": least}
        raise WordedError(f"{words}or collect more rows.", **fields, given=Parameter(measure, share))
    if measure == "recall":
        threshold = float(judged[outside - 1])
        found = float(np.mean(judged >= threshold))
    else:
        threshold = float(np.nextafter(judged[m - outside], np.inf))
        found = float(np.mean(judged < threshold))
    return PromisedThreshold(threshold, measure, share, 1.0 - found if measure == "alerts" else found, confidence, m)


def _promised_precision(positive: NDArray, scores: NDArray, share: float, confidence: float) -> PromisedThreshold:
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.concatenate([[0], np.cumsum(positive[order])])
    counts = np.floor(2.0 ** (0.5 * np.arange(2 * np.log2(ranked.size)))).astype(int)
    above = np.unique(np.searchsorted(-ranked, -ranked[counts], side="left"))  # ties stay below the threshold
    for _ in range(above.size):  # too few rows show nothing, even if all are positive: they need no share of the risk
        above = above[share**above <= (1.0 - confidence) / above.size] if above.size else above
    risk = (1.0 - confidence) / max(above.size, 1)
    bounds = beta.ppf(risk, np.maximum(hits[above], 1), above - hits[above] + 1) * (hits[above] > 0)
    if not np.any(bounds >= share):
        words = (
            "No threshold shows {given} with {sure:g} % confidence; the highest that these rows show is {most:.2g}. "
        )
        fields: dict[str, Any] = {"sure": 100 * confidence, "most": float(bounds.max(initial=0.0))}
        raise WordedError(f"{words}Promise less, or collect more rows.", **fields, given=Parameter("precision", share))
    count = int(above[bounds >= share].max())
    threshold = float(np.nextafter(ranked[count], np.inf))
    return PromisedThreshold(threshold, "precision", share, float(hits[count] / count), confidence, count)
