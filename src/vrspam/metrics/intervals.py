"""Confidence intervals of an AUC, DeLong's paired test of two, and the rows that both need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, stdtr

from vrspam.metrics import roc
from vrspam.metrics.folds import fold_parts, shared_training, stable_by_strength, weights_by_fold
from vrspam.metrics.groups import Clusters, group_names, influence, placements, satterthwaite

ENOUGH_FOR_DELONG = 500  # rows of the smaller class; docs/intervals.md has the coverage for fewer
IntervalMethod = Literal["logit", "plain", "newcombe", "pairs", "score"]


@dataclass(frozen=True)
class AUCInterval:
    """An AUC with its confidence interval ``[low, high]`` and DeLong's standard error.

    Attributes
    ----------
    auc : float
        The AUC, or the partial AUC of :func:`partial_auc_ci`.
    low, high : float
        The interval.
    standard_error : float
        DeLong's.
    confidence : float
        Nominal coverage of the interval.
    method : str
        How the interval was computed: see :func:`roc_auc_ci` and :func:`partial_auc_ci`.
    freedom : float
        Degrees of freedom of the standard error, for Student's t; infinite where it counts as known.

    Examples
    --------
    >>> from vrspam.metrics import roc_auc_ci
    >>> found = roc_auc_ci([0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7, 8])
    >>> print(f"{found.auc:.2f}, {found.confidence:.0%} interval {found.low:.2f} to {found.high:.2f} ({found.source})")
    0.94, 95% interval 0.51 to 0.99 (Newcombe)
    """

    auc: float
    low: float
    high: float
    standard_error: float
    confidence: float
    method: IntervalMethod = "logit"
    freedom: float = np.inf

    @property
    def source(self) -> str:
        """The name of the method, in the words of a report."""
        return {"newcombe": "Newcombe", "pairs": "disjoint pairs", "score": "score interval"}.get(self.method, "DeLong")


@dataclass(frozen=True)
class DeLongTest:
    """Two AUCs on the same rows, and their difference a - b with its interval and two-sided test.

    Attributes
    ----------
    auc_a, auc_b : float
        The AUCs, or partial AUCs, of the two scores.
    difference : float
        auc_a - auc_b.
    standard_error : float
        Of the difference; it allows for the scores being of the same rows.
    z, p_value : float
        The difference in standard errors, and the probability of one at least as large, on either side, by chance.
    low, high : float
        Interval of the difference.
    confidence : float
        Nominal coverage of the interval.

    Examples
    --------
    >>> from vrspam.metrics import delong_test
    >>> test = delong_test([0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7, 8], [5, 2, 3, 6, 4, 1, 7, 8])
    >>> print(f"difference {test.difference:.2f}, {test.low:.2f} to {test.high:.2f}, p = {test.p_value:.2f}")
    difference 0.31, -0.42 to 1.00, p = 0.28
    """

    auc_a: float
    auc_b: float
    difference: float
    standard_error: float
    z: float
    p_value: float
    low: float
    high: float
    confidence: float


def roc_auc_ci(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    confidence: float = 0.95,
    method: Literal["auto", "logit", "plain", "newcombe"] = "auto",
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    folds: ArrayLike | None = None,
) -> AUCInterval:
    """AUC with a confidence interval: DeLong's, or Newcombe's where a class has few rows; in O(n log n).

    DeLong's standard error is estimated from the sample,

        se² = var(V₊)/n₊ + var(V₋)/n₋

    V₊ are the placements of the positives (share of negatives below each), V₋ those of the negatives (share
    of positives above each), variances with n - 1. Newcombe's method 5 takes a variance v(A) that follows from the true
    AUC A (that of exponential scores, between its two directions), and keeps every A with |AUC - A| ≤ z √v(A):

        v(A) = A(1-A) (1 + N ((1-A)/(2-A) + A/(1+A))) / (n₊n₋),   N = (n₊+n₋)/2 - 1

    Here v is multiplied by se²/v(AUC) where that exceeds 1: scores may vary more than exponential ones.

    Parameters
    ----------
    y_true, y_score
        As in :func:`roc_auc`; at least two observations of each class.
    confidence : float in (0, 1)
        Nominal coverage.
    method : {"auto", "logit", "plain", "newcombe"}
        "logit" is DeLong's on the scale log(AUC/(1-AUC)), "plain" is AUC ± z·se, cut off at 0 and 1. "auto" is
        "logit" if both classes have at least 500 rows and "newcombe" if not.
    groups : array of n labels, optional
        Which rows belong together (several rows of one patient), and are not independent of each other. The standard
        error then comes from one sum for each group, over the rows of both classes,
        se² = Σ_g [c₊ Σ_{i in g+} (V_i - AUC)/n₊ + c₋ Σ_{j in g-} (V_j - AUC)/n₋]². With the share w of the rows of its
        class that a group holds, c² = 1/(1 - 2w + Σ w²): G₊/(G₊ - 1) for G₊ groups of equal size with positive rows.
        Student's t takes the place of z. Its degrees of freedom (Satterthwaite's) count the groups of each class: if
        three patients are sick there are hardly more than two, however many are well. For v(A) rows count as the number
        of independent ones that would tell as much, by the intraclass correlation of the placements of both classes; v
        is multiplied by (t/z)² se²/v(AUC) where that exceeds 1. If all rows of a class are of one group, nothing shows
        how much another would differ, and the interval is from 0 to 1.
    sample_weight : array of n numbers, optional
        Weights of the observations, as in :func:`roc_auc`: placements are weighted shares, and a class of weights w has
        the variance Σ w² (V - V̄)² / (Σ w)² · n/(n - 1). A weight says how much an observation counts, not how often
        it was seen. Numbers of rows are effective ones, (Σ w)² / Σ w²; rows of weight 0 do not count.
    folds : array of n labels, optional
        For out-of-fold scores: the fold that held each row out. Without it rows count as those of a test set. The AUC
        is then the mean of those of the folds. Models of different folds share training rows, so it varies more than
        that of a test set: for K folds standard errors are √(1 + (1 - stable) K/(K - 1)) times as large. The share
        `stable` of the scores' variance is judged from the distance of the AUC from 1/2, as for a model with a third as
        many parameters as there are rows. :func:`corrected_auc_of` fits the models and need not guess it. Every fold
        holds rows of both classes, and whole groups.

    Returns
    -------
    AUCInterval
        Its `method` is the one that was used, `standard_error` is DeLong's in any case, with `folds` times the factor.

    Notes
    -----
    docs/intervals.md has the coverage of these intervals in simulations.

    When the classes separate perfectly, or all scores are tied, DeLong's standard error is 0 and says nothing.
    Newcombe's interval needs no standard error. "logit" and "plain" then rest on k = min(n₊, n₋) disjoint pairs,
    independent of each other, that all came out the same: with t = ((1-confidence)/2)^(1/k) the interval is
    [AUC·t, 1 - (1-AUC)·t], which never covers too rarely; its `method` is "pairs".

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44, 837-845. Sun & Xu (2014), IEEE Signal Processing Letters 21,
    1389-1393 (the same in O(n log n)). Pepe (2003), The Statistical Evaluation of Medical Tests for Classification and
    Prediction (logit scale). Newcombe (2006), Statistics in Medicine 25, 559-573.

    Examples
    --------
    >>> from vrspam.metrics import roc_auc_ci
    >>> interval = roc_auc_ci([0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7, 8])
    >>> print(f"{interval.auc:.3f} in [{interval.low:.3f}, {interval.high:.3f}]")
    0.938 in [0.513, 0.995]
    >>> interval.method
    'newcombe'
    """
    roc.quantile(confidence)  # refuses numbers outside (0, 1)
    if method not in ("auto", "logit", "plain", "newcombe"):
        raise ValueError(f'method must be "auto", "logit", "plain" or "newcombe", got {method!r}.')
    placed = roc_measures(y_true, [y_score], sample_weight=sample_weight, groups=groups, folds=folds)
    return interval_of(placed.of(0), confidence, method)


def interval_of(measured: Measured, confidence: float, method: str = "auto") -> AUCInterval:
    """The interval of :func:`roc_auc_ci` of an AUC that was measured."""
    low, high, used = bounds_of(measured, 0.5 - confidence / 2.0, method)
    freedom = measured.freedom if measured.grouped else np.inf
    return AUCInterval(measured.value, low, high, measured.error, confidence, used, freedom)


def bounds_of(measured: Measured, tail: float, method: str = "auto") -> tuple[float, float, IntervalMethod]:
    """The interval that leaves the probability `tail` on each side, and the method that gave it."""
    auc = measured.value
    error = measured.error
    rows = measured.rows
    freedom = measured.freedom if measured.grouped else np.inf
    if error == np.inf:  # the rows do not show how much the AUC varies
        return 0.0, 1.0, "plain"
    if method == "newcombe" or (method == "auto" and min(rows) < ENOUGH_FOR_DELONG):
        bounds = _newcombe_bounds(auc, error / measured.widened, rows, tail, freedom, measured.widened)
        return *bounds, "newcombe"
    if method == "plain" and error > 0.0:
        half = roc.beyond(tail, freedom) * error
        return max(0.0, auc - half), min(1.0, auc + half), "plain"
    return _logit_bounds(auc, error, min(rows), tail, freedom)


def logit_interval(
    auc: float, standard_error: float, pairs: float, confidence: float = 0.95, freedom: float = np.inf
) -> AUCInterval:
    """The "logit" interval of :func:`roc_auc_ci` around an AUC whose standard error is known.

    It is symmetric on the scale log(AUC/(1-AUC)); with a standard error of 0 it rests on disjoint pairs (Notes there).
    An AUC of 0 or 1 has no place on that scale: with a standard error above 0 the interval is then AUC ± t·se, and at
    least as wide as that of the pairs.

    Parameters
    ----------
    auc, standard_error : float
    pairs : float
        Disjoint pairs of a positive and a negative: for one sample, the rows of the smaller class.
    confidence : float in (0, 1)
    freedom : float, default=inf
        Degrees of freedom of the standard error.

    Returns
    -------
    AUCInterval

    Examples
    --------
    >>> from vrspam.metrics import logit_interval
    >>> interval = logit_interval(0.8, 0.02, pairs=100)
    >>> print(f"{interval.low:.3f} to {interval.high:.3f}")
    0.758 to 0.836
    """
    roc.quantile(confidence)  # refuses numbers outside (0, 1)
    low, high, used = _logit_bounds(auc, standard_error, pairs, 0.5 - confidence / 2.0, freedom)
    return AUCInterval(auc, low, high, standard_error, confidence, used, freedom)


def _logit_bounds(
    auc: float, error: float, pairs: float, tail: float, freedom: float
) -> tuple[float, float, IntervalMethod]:
    """The bounds of `logit_interval` that leave the probability `tail` on each side, and the method."""
    shrink = tail ** (1.0 / pairs)
    of_pairs = auc * shrink, 1.0 - (1.0 - auc) * shrink
    if error == 0.0:
        return *of_pairs, "pairs"
    reach = roc.beyond(tail, freedom) * error
    if not 0.0 < auc < 1.0:
        return max(0.0, min(of_pairs[0], auc - reach)), min(1.0, max(of_pairs[1], auc + reach)), "plain"
    centre = logit(auc)
    half = reach / (auc * (1.0 - auc))
    return min(auc, float(expit(centre - half))), max(auc, float(expit(centre + half))), "logit"


def newcombe_interval(
    auc: float,
    standard_error: float,
    rows: tuple[float, float],
    confidence: float = 0.95,
    widened: float = 1.0,
    freedom: float = np.inf,
) -> AUCInterval:
    """The "newcombe" interval of :func:`roc_auc_ci` around an AUC whose DeLong's standard error is known.

    Parameters
    ----------
    auc, standard_error : float
    rows : tuple of two numbers
        Negative and positive rows.
    confidence : float in (0, 1)
    widened : float, default=1.0
        Factor of all standard errors, for an AUC that varies more than that of one sample.
    freedom : float, default=inf
        Degrees of freedom of the standard error.

    Returns
    -------
    AUCInterval

    Examples
    --------
    >>> from vrspam.metrics import newcombe_interval
    >>> interval = newcombe_interval(0.8, 0.02, rows=(300, 100))
    >>> print(f"{interval.low:.3f} to {interval.high:.3f}")
    0.745 to 0.845
    """
    roc.quantile(confidence)  # refuses numbers outside (0, 1)
    low, high = _newcombe_bounds(auc, standard_error, rows, 0.5 - confidence / 2.0, freedom, widened)
    return AUCInterval(auc, low, high, standard_error, confidence, "newcombe", freedom)


def _newcombe_bounds(
    auc: float, error: float, rows: tuple[float, float], tail: float, freedom: float, widened: float = 1.0
) -> tuple[float, float]:
    """The bounds of `newcombe_interval` that leave the probability `tail` on each side.

    The variance v of exponential scores counts as known. The one that is estimated, where it is larger, counts with
    Student's t.
    """
    n_down, n_up = rows
    z = widened * roc.beyond(tail)
    t = widened * roc.beyond(tail, freedom)
    variance = exponential_variance(auc, n_up, n_down)
    scale = z**2
    if error > 0.0 and variance > 0.0:
        scale = max(scale, t**2 * error**2 / variance)

    if not np.isfinite(scale):  # Student's t of few degrees of freedom, far out
        return 0.0, 1.0

    def outside(true: float) -> float:
        return (auc - true) ** 2 - scale * exponential_variance(true, n_up, n_down)

    inside = min(max(auc, 1e-12), 1.0 - 1e-12)  # `outside` is negative here, and at the ends positive or 0
    low, high = 0.0, 1.0
    if auc > 0.0 and outside(inside) < 0.0:
        low = min(auc, float(brentq(outside, 0.0, inside)))
    if auc < 1.0 and outside(inside) < 0.0:
        high = max(auc, float(brentq(outside, inside, 1.0)))
    if outside(inside) >= 0.0:  # the probability outside is nearly 1
        low = high = auc
    if variance == 0.0:  # an AUC of 0 or 1 is far from certain if its standard error, from elsewhere, is not 0
        low = max(0.0, min(low, auc - t * error))
        high = min(1.0, max(high, auc + t * error))
    return low, high


def delong_test(
    y_true: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    *,
    confidence: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    folds: ArrayLike | None = None,
) -> DeLongTest:
    """DeLong's paired test that two scores of the same rows have the same AUC, in O(n log n).

    The standard error is that of :func:`roc_auc_ci` for the differences of the placements, so the correlation
    of the two scores is accounted for. z = difference / standard error is compared with Student's t, because few rows
    of a class tell little about the error: of the parts s₊² and s₋² that the classes have in its square follow
    Satterthwaite's degrees of freedom, (s₊² + s₋²)² / (s₊⁴/(n₊ - 1) + s₋⁴/(n₋ - 1)); n counts rows, or groups.

    Parameters
    ----------
    y_true, score_a, score_b
        As in :func:`roc_auc`; at least two observations of each class.
    confidence : float in (0, 1)
        Nominal coverage of the interval of the difference AUC(a) - AUC(b).
    groups, sample_weight : array of n, optional
        Rows that belong together, and how much each row counts, as in :func:`roc_auc_ci`.
    folds : array of n labels, optional
        For out-of-fold scores: the fold that held each row out, the same for both scores. Nothing shows how much of the
        difference other training rows would give, too, so standard errors are √(1 + K/(K - 1)) times as large for K
        folds. Without it the test takes rows for those of a test set, and rejects too often.

    Returns
    -------
    DeLongTest
        Scores that place every row alike have difference 0, z 0 and p 1. If all placements differ by the same
        amount, the standard error is 0 and says nothing: z, p_value, low and high are NaN.

    References
    ----------
    DeLong et al. (1988) and Sun & Xu (2014), as in :func:`roc_auc_ci`.

    Examples
    --------
    >>> from vrspam.metrics import delong_test
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> test = delong_test(y, [1, 2, 3, 5, 4, 6, 7, 8], [5, 2, 3, 6, 4, 1, 7, 8])
    >>> print(f"{test.auc_a:.3f} - {test.auc_b:.3f} = {test.difference:.3f}, p = {test.p_value:.3f}")
    0.938 - 0.625 = 0.312, p = 0.282
    """
    both = [score_a, score_b]
    names = ["score_a", "score_b"]
    placed = roc_measures(y_true, both, names, sample_weight=sample_weight, groups=groups, folds=folds)
    return placed.test(0, 1, confidence)


def paired_test(
    a: float, b: float, difference: float, error: float, confidence: float, freedom: float = np.inf
) -> DeLongTest:
    """The test of a difference of two measures; an error of 0 says nothing, unless the difference is 0 as well."""
    limit = roc.quantile(confidence, freedom)
    if error > 0.0:
        z = difference / error
        low, high = max(-1.0, difference - limit * error), min(1.0, difference + limit * error)
    else:
        z = low = high = 0.0 if difference == 0.0 else float("nan")
    return DeLongTest(a, b, difference, error, z, float(2.0 * stdtr(freedom, -abs(z))), low, high, confidence)


class Measured(NamedTuple):
    """An AUC, or the difference of two, its standard error, and the rows behind it."""

    value: float
    error: float
    rows: tuple[float, float]  # of the negatives and the positives: with weights or groups, effective numbers
    freedom: float = np.inf  # degrees of freedom of the error
    grouped: bool = False  # whether the error is that of groups: then intervals use Student's t, as tests always do
    widened: float = 1.0  # how much the error was multiplied by, for out-of-fold scores


class Placed(NamedTuple):
    """Rows with the placements of each of several scores, from which AUCs, differences and their errors follow."""

    positive: NDArray
    scores: Sequence[Any]  # for each score: twice the counts for both classes; with weights or groups, shares
    weight: NDArray | None
    groups: NDArray | None
    equal: float = 0.0  # placements that differ by less are equal but for rounding
    shared: float = 0.0  # what shared training rows add to the variance of out-of-fold scores, at most

    def test(self, first: int, second: int, confidence: float) -> DeLongTest:
        """The paired test of two scores."""
        difference = self.of(first, second)
        return paired_test(
            self.of(first).value,
            self.of(second).value,
            difference.value,
            difference.error,
            confidence,
            difference.freedom,
        )

    def of(self, first: int, second: int | None = None) -> Measured:
        """The AUC of one score, or that of the first minus that of the second."""
        if self.weight is None:
            return self._of_counts(first, second)
        measured = self._of_shares(self.weight, first, second)
        if self.shared > 0.0:
            return self._of_folds(measured, of_difference=second is not None)
        return measured

    def _of_counts(self, first: int, second: int | None) -> Measured:
        """From whole numbers: differences are exact, and the error is 0 where all are equal."""
        up, down = self.scores[first]
        if second is not None:
            other_up, other_down = self.scores[second]
            up = up - other_up
            down = down - other_down
        n_up, n_down = up.size, down.size
        of_up = np.var(up, ddof=1) / (4.0 * n_down**2 * n_up)
        of_down = np.var(down, ddof=1) / (4.0 * n_up**2 * n_down)
        freedom = satterthwaite((of_up, n_up - 1.0), (of_down, n_down - 1.0))
        auc = float(up.sum() / (2 * n_up * n_down))
        return Measured(auc, float(np.sqrt(of_up + of_down)), (n_down, n_up), freedom)

    def _of_shares(self, weight: NDArray, first: int, second: int | None) -> Measured:
        """From weighted shares; rows of a group vary together."""
        positive = self.positive
        placed = self.scores[first] if second is None else self.scores[first] - self.scores[second]
        moves = influence(positive, placed, weight, self.equal)
        value = 0.0
        variances = []
        sizes = []
        for side in (~positive, positive):
            share = weight[side] / weight[side].sum()
            part = placed[side]
            value = float(share @ part if moves[side].any() else part[0])  # 1 is not rounded to less
            variances.append(float(moves[side] @ moves[side]) * part.size / (part.size - 1))
            sizes.append(max(2, int(1.0 / float(share @ share) + 1e-6)))  # rounding makes 200 equal weights 199.99
        if abs(value) <= self.equal:
            value = 0.0
        rows: tuple[float, float] = (sizes[0], sizes[1])
        if self.groups is None:
            freedom = satterthwaite((variances[0], sizes[0] - 1.0), (variances[1], sizes[1] - 1.0))
            return Measured(value, float(np.sqrt(sum(variances))), rows, freedom)
        clusters = Clusters.of_moves(moves, weight, self.groups, positive)
        if clusters.error == 0.0:  # then count the groups of each class
            rows = np.unique(self.groups[~positive]).size, np.unique(self.groups[positive]).size
        elif clusters.rows is not None:
            rows = clusters.rows
        return Measured(value, clusters.error, rows, clusters.freedom, grouped=True)

    def _of_folds(self, measured: Measured, of_difference: bool) -> Measured:
        """The same with an error that allows for shared training rows; a difference counts as unstable."""
        stable = 0.0
        if not of_difference:
            stable = stable_by_strength(measured.value, measured.error, sum(measured.rows))
        widened = float(np.sqrt(1.0 + (1.0 - stable) * self.shared))
        return measured._replace(error=widened * measured.error, widened=widened)


def roc_measures(
    y_true: ArrayLike,
    scores: Sequence[ArrayLike],
    names: Sequence[str] = ("y_score",),
    *,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    ranked: Sequence[roc.Ranked] = (),
    folds: ArrayLike | None = None,
) -> Placed:
    """Labels and scores, checked, with the placements of the rows; `ranked` has the sorted scores, if known."""
    if folds is not None:
        return _out_of_fold_measures(y_true, scores, names, sample_weight, groups, folds)
    positive, checked, weight, together = checked_rows(y_true, scores, names, sample_weight, groups)
    if weight is None and together is None:
        ranked = ranked or [roc.Ranked.of(positive, score) for score in checked]
        return Placed(positive, [_twice_counts(positive, of_score) for of_score in ranked], None, None)
    if weight is None:
        weight = np.ones(positive.size)
    placed = [placements(positive, score[np.newaxis], weight)[0] for score in checked]
    return Placed(positive, placed, weight, together)


def _twice_counts(positive: NDArray, ranked: roc.Ranked) -> tuple[NDArray, NDArray]:
    """Twice the number of negatives below each positive, and of positives above each negative; a tie counts 1."""
    order, _, hits, alarms = ranked
    below = np.add(alarms[1:], alarms[:-1])  # whole numbers
    np.subtract(2.0 * alarms[-1], below, out=below)
    above = np.add(hits[1:], hits[:-1])
    if below.size < order.size:  # of each level of equal scores
        sizes = np.diff(hits + alarms).astype(int)
        below = np.repeat(below, sizes)
        above = np.repeat(above, sizes)
    placed = np.empty(positive.size)
    placed[order] = np.where(positive[order], below, above)
    return placed[positive], placed[~positive]


def _out_of_fold_measures(
    y_true: ArrayLike,
    scores: Sequence[ArrayLike],
    names: Sequence[str],
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    folds: ArrayLike,
) -> Placed:
    """As `roc_measures`, with placements among the rows of the same fold, each fold counting the same."""
    positive = roc.positive_rows(y_true)
    weight = np.ones(positive.size)
    if sample_weight is not None:
        weight = roc.unit_weights(roc.checked_weights(sample_weight, positive.size))
    parts = fold_parts(folds, positive, weight, groups)
    shared = shared_training(parts, positive.size)
    balanced = weights_by_fold(parts, positive, weight)
    used = np.flatnonzero(balanced > 0.0)
    positive, checked, kept, together = checked_rows(positive, scores, names, balanced, groups)
    mass = np.ones(positive.size) if kept is None else kept
    place = np.full(balanced.size, -1)
    place[used] = np.arange(used.size)
    rows = [place[part][place[part] >= 0] for part in parts]
    placed = []
    for score in checked:
        of_score = np.empty(positive.size)
        for part in rows:
            of_score[part] = placements(positive[part], score[np.newaxis, part], mass[part])[0]
        placed.append(of_score)
    return Placed(positive, placed, mass, together, EQUAL_PLACES, shared)


EQUAL_PLACES = 1e-12  # placements that differ by less are equal but for rounding


def checked_rows(
    y_true: ArrayLike,
    scores: Sequence[ArrayLike],
    names: Sequence[str],
    sample_weight: Any,
    groups: Any,
    at_least: int = 2,
    chances: bool = False,
) -> tuple[NDArray[np.bool_], list[NDArray], NDArray | None, NDArray | None]:
    """Which rows are positive, the scores of these names, weights and groups, without rows of weight 0.

    Each class has `at_least` so many rows; with `chances` the scores are probabilities.
    """
    positive = roc.positive_rows(y_true)
    each = zip(scores, names, strict=True)
    checked = [roc.checked_scores(score, positive.size, name, chances) for score, name in each]
    weight = None
    if sample_weight is not None:  # in a unit in which their squares stay within range
        weight = roc.unit_weights(roc.checked_weights(sample_weight, positive.size))
    together = None if groups is None else group_names(groups, positive.size)
    if weight is not None and not weight.all():
        used = weight > 0.0
        positive = positive[used]
        weight = weight[used]
        checked = [score[used] for score in checked]
        if together is not None:
            together = together[used]
    return roc.positive_rows(positive, at_least), checked, weight, together


def exponential_variance(true: float, n_up: float, n_down: float) -> float:
    """Newcombe's variance of an AUC: v(A) of :func:`roc_auc_ci`.

    Hanley and McNeil's is that of exponential scores, and depends on which class varies more. Here both classes count
    with the mean of their numbers of rows, so that it lies between that formula for either direction.

    Parameters
    ----------
    true : float in [0, 1]
        The true AUC, A.
    n_up, n_down : float
        Positive and negative rows.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.metrics import exponential_variance
    >>> round(exponential_variance(0.8, 100, 300) ** 0.5, 4)
    0.0256
    """
    others = (n_up + n_down) / 2 - 1
    pairs = 1 + others * ((1 - true) / (2 - true) + true / (1 + true))
    return true * (1 - true) * pairs / (n_up * n_down)
