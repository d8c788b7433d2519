"""Confidence intervals of an AUC, DeLong's paired test of two, and the rows that both need."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri, stdtr

from vrspam._utils.validation import numbers_of
from vrspam.metrics import roc

ENOUGH_FOR_DELONG = 500  # rows of the smaller class; docs/intervals.md has the coverage for fewer
IntervalMethod = Literal["logit", "plain", "newcombe", "pairs", "score"]
_COUNTS = range(1 << 50)  # of rows, in which to search for the least that is enough


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
    difference 0.31, -0.17 to 0.79, p = 0.20
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
) -> AUCInterval:
    """AUC with a confidence interval: DeLong's, or Newcombe's where a class has few rows; in O(n log n).

    DeLong's standard error is estimated from the sample,

        se² = var(V₊)/n₊ + var(V₋)/n₋

    V₊ are the placements of the positives (share of negatives below each), V₋ those of the negatives (share
    of positives above each), variances with n - 1. Newcombe's method 5 takes the variance v(A) that exponential
    scores have for a true AUC A, and keeps every A with |AUC - A| ≤ z √v(A):

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
        error then comes from one sum for each of G groups, over the rows of both classes,
        se² = G/(G - 1) Σ_g [Σ_{i in g+} (V_i - AUC)/n₊ + Σ_{j in g-} (V_j - AUC)/n₋]², and Student's t with as many
        degrees of freedom as groups of equal size would have, (Σ n_g)² / Σ n_g² - 1, takes the place of z.
    sample_weight : array of n numbers, optional
        Weights of the observations, as in :func:`roc_auc`: placements are weighted shares, and a class of weights w has
        the variance Σ w² (V - V̄)² / (Σ w)² · n/(n - 1). A weight says how much an observation counts, not how often
        it was seen. Numbers of rows are effective ones, (Σ w)² / Σ w²; rows of weight 0 do not count.

    Returns
    -------
    AUCInterval
        Its `method` is the one that was used, `standard_error` is DeLong's in any case.

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
    found = roc_measures(y_true, [y_score], sample_weight=sample_weight, groups=groups)
    return interval_of(found.of(0), confidence, method)


def interval_of(measured: Measured, confidence: float, method: str = "auto") -> AUCInterval:
    """The interval of :func:`roc_auc_ci` of an AUC that was measured."""
    (auc, error, rows, freedom), z = measured, roc.quantile(confidence)
    wider = error * roc.quantile(confidence, freedom) / z  # for an error that comes from few groups
    if method == "newcombe" or (method == "auto" and min(rows) < ENOUGH_FOR_DELONG):
        interval = newcombe_interval(auc, wider, rows, confidence)
    elif method == "plain" and error > 0.0:
        interval = AUCInterval(auc, max(0.0, auc - z * wider), min(1.0, auc + z * wider), error, confidence, "plain")
    else:
        interval = logit_interval(auc, wider, min(rows), confidence)
    return replace(interval, standard_error=error)


def logit_interval(auc: float, standard_error: float, pairs: int, confidence: float = 0.95) -> AUCInterval:
    """The "logit" interval of :func:`roc_auc_ci` around an AUC whose standard error is known.

    It is symmetric on the scale log(AUC/(1-AUC)); with a standard error of 0 it rests on disjoint pairs (Notes there).

    Parameters
    ----------
    auc, standard_error : float
    pairs : int
        Disjoint pairs of a positive and a negative: for one sample, the rows of the smaller class.
    confidence : float in (0, 1)

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
    z = roc.quantile(confidence)
    if standard_error == 0.0:
        shrink = ((1.0 - confidence) / 2.0) ** (1.0 / pairs)
        return AUCInterval(auc, auc * shrink, 1.0 - (1.0 - auc) * shrink, 0.0, confidence, "pairs")
    half = z * standard_error / (auc * (1.0 - auc))
    low, high = float(expit(logit(auc) - half)), float(expit(logit(auc) + half))
    return AUCInterval(auc, low, high, standard_error, confidence, "logit")


def newcombe_interval(
    auc: float, standard_error: float, rows: tuple[int, int], confidence: float = 0.95, widened: float = 1.0
) -> AUCInterval:
    """The "newcombe" interval of :func:`roc_auc_ci` around an AUC whose DeLong's standard error is known.

    Parameters
    ----------
    auc, standard_error : float
    rows : tuple of two int
        Negative and positive rows.
    confidence : float in (0, 1)
    widened : float, default=1.0
        Factor of all standard errors, for an AUC that varies more than that of one sample.

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
    n_down, n_up = rows
    z, own = widened * roc.quantile(confidence), exponential_variance(auc, n_up, n_down)
    scale = z**2 if standard_error == 0.0 or own == 0.0 else z**2 * max(1.0, standard_error**2 / own)

    def beyond(true: float) -> float:
        return (auc - true) ** 2 - scale * exponential_variance(true, n_up, n_down)

    inside = min(max(auc, 1e-12), 1.0 - 1e-12)  # `beyond` is negative here, and at the ends positive or 0
    low = 0.0 if auc == 0.0 else float(brentq(beyond, 0.0, inside))
    high = 1.0 if auc == 1.0 else float(brentq(beyond, inside, 1.0))
    if own == 0.0:  # an AUC of 0 or 1 is far from certain if its standard error, from elsewhere, is not 0
        low, high = max(0.0, min(low, auc - z * standard_error)), min(1.0, max(high, auc + z * standard_error))
    return AUCInterval(auc, low, high, standard_error, confidence, "newcombe")


def delong_test(
    y_true: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    *,
    confidence: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> DeLongTest:
    """DeLong's paired test that two scores of the same rows have the same AUC, in O(n log n).

    The standard error is that of :func:`roc_auc_ci` for the differences of the placements, so the correlation
    of the two scores is accounted for; z = difference / standard error is compared with a normal variable.

    Parameters
    ----------
    y_true, score_a, score_b
        As in :func:`roc_auc`; at least two observations of each class.
    confidence : float in (0, 1)
        Nominal coverage of the interval of the difference AUC(a) - AUC(b).
    groups, sample_weight : array of n, optional
        Rows that belong together, and how much each row counts, as in :func:`roc_auc_ci`.

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
    0.938 - 0.625 = 0.312, p = 0.202
    """
    both, names = [score_a, score_b], ["score_a", "score_b"]
    return roc_measures(y_true, both, names, sample_weight=sample_weight, groups=groups).test(0, 1, confidence)


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
    rows: tuple[int, int]  # of the negatives and the positives: with weights, effective numbers
    freedom: float = np.inf  # degrees of freedom of the error


class Placed(NamedTuple):
    """Rows with the placements of each of several scores, from which AUCs, differences and their errors follow."""

    positive: NDArray
    scores: Sequence[Any]  # for each score: twice the counts for both classes; with weights or groups, shares
    weight: NDArray | None
    groups: NDArray | None
    equal: float = 0.0  # placements that differ by less are equal but for rounding

    def test(self, first: int, second: int, confidence: float) -> DeLongTest:
        """The paired test of two scores."""
        difference, error, _, freedom = self.of(first, second)
        return paired_test(self.of(first).value, self.of(second).value, difference, error, confidence, freedom)

    def of(self, first: int, second: int | None = None) -> Measured:
        """The AUC of one score, or that of the first minus that of the second."""
        positive, weight, names = self.positive, self.weight, self.groups
        if weight is None:  # whole numbers: differences are exact, and the error is 0 where all are equal
            up, down = self.scores[first]
            if second is not None:
                up, down = up - self.scores[second][0], down - self.scores[second][1]
            n_up, n_down = up.size, down.size
            variance = np.var(up, ddof=1) / (n_down**2 * n_up) + np.var(down, ddof=1) / (n_up**2 * n_down)
            return Measured(float(up.sum() / (2 * n_up * n_down)), float(np.sqrt(variance) / 2), (n_down, n_up))
        placed = self.scores[first] if second is None else self.scores[first] - self.scores[second]
        value, variance, sizes, moves = 0.0, 0.0, [], influence(positive, placed, weight, self.equal)
        for side in (~positive, positive):
            own, part = weight[side] / weight[side].sum(), placed[side]
            value = float(own @ part if moves[side].any() else part[0])  # 1 is not rounded to less
            variance += float(moves[side] @ moves[side]) * part.size / (part.size - 1)
            sizes.append(max(2, int(1.0 / float(own @ own) + 1e-6)))  # rounding makes 200 equal weights 199.99
        value, rows = 0.0 if abs(value) <= self.equal else value, (sizes[0], sizes[1])
        if names is None:
            return Measured(value, float(np.sqrt(variance)), rows)
        clusters = Clusters.of_moves(moves, weight, names)
        if clusters.error == 0.0:  # then count the groups of each class
            rows = np.unique(names[~positive]).size, np.unique(names[positive]).size
        return Measured(value, clusters.error, rows, clusters.freedom)


def roc_measures(
    y_true: ArrayLike,
    scores: Sequence[ArrayLike],
    names: Sequence[str] = ("y_score",),
    *,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    ranked: Sequence[roc.Ranked] = (),
) -> Placed:
    """Labels and scores, checked, with the placements of the rows; `ranked` has the sorted scores, if known."""
    positive, checked, weight, together = checked_rows(y_true, scores, names, sample_weight, groups)
    if weight is None and together is None:
        sides, placed, found = (np.flatnonzero(positive), np.flatnonzero(~positive)), np.empty(positive.size), []
        for order, _, hits, alarms in ranked or [roc.Ranked.of(positive, score) for score in checked]:
            # Twice the number of negatives below each positive, and of positives above each negative (ties: 1).
            below, above = np.add(alarms[1:], alarms[:-1]), np.add(hits[1:], hits[:-1])  # whole numbers
            np.subtract(2.0 * alarms[-1], below, out=below)
            if below.size < order.size:
                sizes = np.diff(hits + alarms).astype(int)
                below, above = np.repeat(below, sizes), np.repeat(above, sizes)
            placed[order] = np.where(positive[order], below, above)
            found.append((placed[sides[0]], placed[sides[1]]))
        return Placed(positive, found, None, None)
    weight = np.ones(positive.size) if weight is None else weight
    return Placed(positive, [placements(positive, s[np.newaxis], weight)[0] for s in checked], weight, together)


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
    weight = None if sample_weight is None else roc.checked_weights(sample_weight, positive.size)
    together = None if groups is None else group_names(groups, positive.size)
    if weight is not None and not weight.all():
        used = weight > 0.0
        positive, weight, checked = positive[used], weight[used], [score[used] for score in checked]
        together = None if together is None else together[used]
    return roc.positive_rows(positive, at_least), checked, weight, together


def group_names(groups: ArrayLike, n: int) -> NDArray:
    """The number of the group of each row."""
    names = numbers_of(groups, n, "groups", "group")
    if names.max(initial=0) < 1:
        raise ValueError("groups has a single value, and an interval needs several groups; leave it out.")
    return names


class Clusters(NamedTuple):
    """How much an AUC varies if whole groups of rows vary together."""

    error: float
    n_groups: int
    freedom: float  # degrees of freedom of the error: as many as groups of equal size that would vary as much, less 1

    @classmethod
    def of(cls, positive: NDArray, scores: NDArray, weights: NDArray, groups: NDArray) -> Clusters:
        """The error of the AUC of scores; `groups` are the numbers of the groups of the rows."""
        placed = placements(positive, scores[np.newaxis], weights)[0]
        return cls.of_moves(influence(positive, placed, weights), weights, groups)

    @classmethod
    def of_moves(cls, moves: NDArray, weights: NDArray, groups: NDArray) -> Clusters:
        """From each row's influence on a measure, whose variance is G/(G-1) times the sum of squared group sums."""
        names = np.unique(groups, return_inverse=True)[1]
        sums, sizes = np.bincount(names, moves), np.bincount(names, weights)
        factor, equal = sums.size / max(sums.size - 1, 1), float(sizes.sum() ** 2 / np.sum(sizes**2))
        return cls(float(np.sqrt(factor * np.sum(sums**2))), sums.size, max(equal - 1.0, 1.0))


def influence(positive: NDArray, placed: NDArray, weights: NDArray, equal: float = 0.0) -> NDArray:
    """How much each row moves an AUC, from DeLong's placements V: (V - AUC) / (rows of the class)."""
    moves = np.zeros(placed.size)
    for side in (positive, ~positive):
        if np.ptp(placed[side]) > equal:  # else rounding alone
            share = weights[side] / weights[side].sum()
            moves[side] = share * (placed[side] - share @ placed[side])
    return moves


def placements(positive: NDArray, scores: NDArray, weights: NDArray) -> NDArray:
    """The share of negatives below each positive, and of positives above each negative; a tie counts one half.

    >>> scores = np.array([[1.0, 2.0, 2.0, 3.0]])
    >>> placements(np.array([False, False, True, True]), scores, np.ones(4)).tolist()
    [[1.0, 0.75, 0.75, 1.0]]
    """
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    new = np.ones(ranked.shape, dtype=bool)  # whether a score differs from the one before it
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    places = np.arange(ranked.shape[1])
    first = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    ends = np.where(np.roll(new, -1, axis=1), places, ranked.shape[1])
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    found = np.empty(ranked.shape)
    for side in (False, True):
        others = (positive != side)[order]
        mass = np.zeros((ranked.shape[0], ranked.shape[1] + 1))
        np.cumsum(np.where(others, weights[order], 0.0), axis=1, out=mass[:, 1:])
        below = (np.take_along_axis(mass, first, axis=1) + np.take_along_axis(mass, last + 1, axis=1)) / 2.0
        share = below / mass[:, -1:]
        np.copyto(found, share if side else 1.0 - share, where=~others)
    result = np.empty_like(found)
    np.put_along_axis(result, order, found, axis=1)
    return result


def exponential_variance(true: float, n_up: float, n_down: float) -> float:
    """The variance of an AUC of exponential scores: v(A) of :func:`roc_auc_ci`.

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


def rows_for_width(
    auc: float, width: float, *, share: float = 0.5, confidence: float = 0.95, known: tuple[int, float] | None = None
) -> int:
    """The number of rows needed for an interval of the AUC of at most this width.

    The variance is that of Hanley and McNeil (:func:`exponential_variance`), the interval the "logit" one of
    :func:`roc_auc_ci`.

    Parameters
    ----------
    auc : float in (0, 1)
        The AUC that is expected.
    width : float in (0, 1)
        From the lower to the upper end.
    share : float in (0, 1)
        The share of positives among the rows.
    confidence : float in (0, 1)
        Nominal coverage of the interval.
    known : tuple of int and float, optional
        Rows, and the standard error that they gave: it replaces the formula, and falls with the root of the rows.

    Returns
    -------
    int
        Rows of both classes together.

    Examples
    --------
    >>> from vrspam.metrics import rows_for_width
    >>> rows_for_width(0.8, 0.05), rows_for_width(0.8, 0.05, share=0.1)
    (1204, 3342)
    """
    roc.quantile(confidence)
    _check_shares(auc=auc, width=width, share=share)

    def enough(n: int) -> bool:
        interval = logit_interval(auc, _variance(auc, n, share, known) ** 0.5, 1, confidence)
        return interval.high - interval.low <= width

    return bisect_left(_COUNTS, True, lo=4, key=enough)


def rows_for_difference(
    auc: float,
    difference: float,
    *,
    power: float = 0.8,
    share: float = 0.5,
    correlation: float = 0.5,
    confidence: float = 0.95,
    known: tuple[int, float] | None = None,
) -> int:
    """The number of rows needed for DeLong's test to detect that another AUC is larger, on the same rows.

    The variance of the difference is v(a) + v(b) - 2 · correlation · √(v(a) v(b)).

    Parameters
    ----------
    auc, difference : float
        The smaller AUC, and how much larger the other is.
    power : float in (0, 1)
        The probability that the test detects the difference.
    share, confidence, known
        As in :func:`rows_for_width`; the level of the test is 1 - confidence.
    correlation : float in [-1, 1)
        Of the two AUCs: near 1 for models that are nearly alike, 0 for models on different rows (that many for each).

    Returns
    -------
    int

    Examples
    --------
    >>> from vrspam.metrics import rows_for_difference
    >>> rows_for_difference(0.8, 0.02), rows_for_difference(0.8, 0.02, correlation=0.8)
    (3671, 1474)
    """
    z = roc.quantile(confidence) + float(ndtri(power))
    _check_shares(auc=auc, difference=difference, share=share, power=power, larger_auc=auc + difference)
    if not -1.0 <= correlation < 1.0:
        raise ValueError(f"correlation is {correlation}, but must be at least -1 and less than 1.")

    def enough(n: int) -> bool:
        a, b = (_variance(one, n, share, known) for one in (auc, auc + difference))
        return difference >= z * (a + b - 2.0 * correlation * (a * b) ** 0.5) ** 0.5

    return bisect_left(_COUNTS, True, lo=4, key=enough)


def _variance(auc: float, n: int, share: float, known: tuple[int, float] | None) -> float:
    if known is not None:
        return known[1] ** 2 * known[0] / n
    return exponential_variance(auc, share * n, (1.0 - share) * n)


def _check_shares(**given: float) -> None:
    for name, value in given.items():
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name.replace('_', ' ')} is {value}, but must be between 0 and 1.")
