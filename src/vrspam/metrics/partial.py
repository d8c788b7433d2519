"""The partial AUC: the area under the left end of the ROC curve, where few negatives are called positive.

The ROC curve is the polygon through the points of all thresholds. The part goes up to `max_fpr`, where the polygon is
cut by linear interpolation, also inside a group of tied scores. A positive with the share a of the negatives above it
and the share e tied with it adds to the area

    ∫₀ᵘ clip((t - a)/e, 0, 1) dt,   u = max_fpr

(max(0, u - a) where e = 0), so that only the highest negatives have to be sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from vrspam._utils.findings import Fix, VrspamError
from vrspam.metrics import intervals, roc

EQUAL = 1e-12  # numbers that differ by less, relative to their size, are equal but for rounding


def partial_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    max_fpr: float,
    standardized: bool = True,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Area under the ROC curve up to the false-positive rate `max_fpr`.

    Parameters
    ----------
    y_true, y_score, sample_weight
        As in :func:`roc_auc`.
    max_fpr : float in (0, 1]
        Where the part ends; 1 is the whole curve.
    standardized : bool, default=True
        Standardised after McClish: 0.5 for random scores and 1 for perfect ones, whatever `max_fpr` is. With False,
        the area divided by `max_fpr`: the mean sensitivity over the false-positive rates of the part.

    Returns
    -------
    float
        Equal to ``sklearn.metrics.roc_auc_score(max_fpr=)`` to rounding, ties included. NaN, with a warning, when only
        one class is present.

    References
    ----------
    McClish (1989), Medical Decision Making 9, 190-195.

    Examples
    --------
    >>> from vrspam.metrics import partial_auc
    >>> y, score = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7, 8]
    >>> partial_auc(y, score, max_fpr=0.25, standardized=False)  # three of four positives are above all negatives
    0.75
    >>> round(partial_auc(y, score, max_fpr=0.25), 4)
    0.8571
    """
    positive = roc.positive_rows(y_true)
    score = roc.checked_scores(y_score, positive.size, "y_score")
    columns = partial_auc_columns(positive, score[:, None], sample_weight, max_fpr=max_fpr, standardized=standardized)
    return float(columns[0])


def partial_auc_columns(
    positive: ArrayLike,
    scores: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    max_fpr: float,
    standardized: bool = True,
) -> NDArray[np.float64]:
    """Partial AUC of every column of a matrix of scores: one row per sample, one column per model.

    Without weights a column costs one pass over the scores and a sort of the negatives in the part alone.

    Parameters
    ----------
    positive : boolean array of n
    scores : array (n, m)
        Scores on a device are copied to the host.
    sample_weight : array of n numbers, optional
    max_fpr, standardized
        As in :func:`partial_auc`.

    Returns
    -------
    array of m
        All NaN, with a warning, when only one class has weight.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import partial_auc_columns
    >>> scores = np.array([[0.1, 3.0], [0.4, 3.0], [0.35, 3.0], [0.8, 3.0]])
    >>> partial_auc_columns(np.array([False, False, True, True]), scores, max_fpr=0.5).tolist()
    [0.666..., 0.5]
    """
    check_max_fpr(max_fpr)
    positive, scores, weight, up, down = roc.checked_columns(positive, scores, sample_weight, "the partial AUC")
    if up.size == 0 or down.size == 0:
        return np.full(scores.shape[1], np.nan)
    shares = np.empty(scores.shape[1])
    of_up, of_down = (None if weight is None else roc.unit_weights(weight[side]) for side in (up, down))
    for j in range(scores.shape[1]):
        areas = area_of_each_positive(scores[up, j], scores[down, j], max_fpr, of_down)
        shares[j] = areas.mean() if of_up is None else areas @ of_up / of_up.sum()
    shares = np.clip(shares / max_fpr, 0.0, 1.0)
    return standardise(shares, max_fpr) if standardized else shares


def standardise(share: Any, max_fpr: float) -> Any:
    """McClish's scale of area ÷ max_fpr: random scores, whose share is max_fpr/2, have 0.5."""
    return 0.5 * (1.0 + (share - max_fpr / 2.0) / (1.0 - max_fpr / 2.0))


def check_max_fpr(max_fpr: float, negatives: int | None = None, of_fold: bool = False) -> None:
    """Refuse a number that is not a share, or that is less than one of the negatives (`of_fold`: of a fold)."""
    if not 0.0 < max_fpr <= 1.0:
        raise VrspamError(Fix("max_fpr", max_fpr), " must be above 0 and at most 1.")
    if negatives is not None and max_fpr * negatives < 1.0 - EQUAL:
        rows = f" of the {negatives} negative rows"
        advice = " is less than one: use a larger share, or more rows."
        if of_fold:
            rows += " that a fold holds out"
            advice = " is less than one: use a larger share, fewer folds, or more rows."
        raise VrspamError(Fix("max_fpr", max_fpr), rows, advice)


def area_of_each_positive(up: NDArray, down: NDArray, max_fpr: float, weight: NDArray | None = None) -> NDArray:
    """What the scores `up` of the positives add to the area; `weight` is that of the negatives."""
    if weight is None:
        # The part ends at the first negative, from the top, that is not wholly inside; 0.55 · 100 is 55.00000000000001.
        place = down.size - min(down.size, int(max_fpr * down.size * (1.0 + EQUAL)) + 1)
        cut = np.partition(down, place)[place]
        total = down.size
        # no other row matters
        ranked = np.sort(down[down >= cut])
        inside = up >= cut
        mass = np.arange(ranked.size, -1.0, -1.0)
    else:
        order = np.argsort(down)
        inside = np.ones(up.size, dtype=bool)
        ranked = down[order]
        mass = np.append(weight[order][::-1].cumsum()[::-1], 0.0)
        total = mass[0]
    below, not_above = (ranked.searchsorted(up[inside], side=side) for side in ("left", "right"))
    room = np.maximum(max_fpr - mass[not_above] / total, 0.0)
    tied = (mass[below] - mass[not_above]) / total
    # under a line that rises from 0 to 1 over the width `tied`, then stays at 1, up to the width `room`
    rising = np.minimum(room, tied)
    areas = np.zeros(up.size)
    areas[inside] = room - rising + rising * np.divide(rising, tied, out=np.zeros_like(rising), where=tied > 0) / 2.0
    return areas


# Confidence intervals of a partial AUC, and the paired test of two.

FAR = 40.0  # standard deviations between the classes at which normal scores separate them completely


def partial_auc_ci(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    max_fpr: float,
    standardized: bool = True,
    confidence: float = 0.95,
    method: Literal["auto", "logit", "plain", "score"] = "auto",
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> intervals.AUCInterval:
    """Partial AUC with a confidence interval, in O(n log n).

    The standard error is DeLong's for the part of the curve: with u = `max_fpr`, R the ROC curve, T the share of the
    negatives above a row,

        se² = var(V₊)/n₊ + var(V₋)/n₋,   V₊ = max(0, u - T) of a positive,   V₋ = min(R(T), R(u)) of a negative

    divided by u². V₋ stays at R(u) beyond the part, because the score at which the part ends is itself estimated from
    the negatives. With `max_fpr=1` it is DeLong's. docs/intervals.md has the coverage in simulations.

    Parameters
    ----------
    y_true, y_score
        As in :func:`roc_auc`; at least two observations of each class.
    max_fpr, standardized
        As in :func:`partial_auc`; at least one negative must lie in the part (`max_fpr` times their number).
    confidence : float in (0, 1)
        Nominal coverage.
    method : {"auto", "logit", "plain", "score"}
        "logit": symmetric on the scale log(A/(1-A)), where A is the area divided by `max_fpr`. "plain": A ± z·se, cut
        off at 0 and 1. "score": all true values with |A - true| ≤ z √v(true), where v is the variance that normal
        scores of equal variance have at that true value, raised towards se² as in :func:`roc_auc_ci` (A at least half
        a positive away from 0 and 1); it needs no standard error. "auto" is "logit" with at least 500 positives and 500
        negatives in the part, else "score".
    groups, sample_weight : array of n, optional
        Rows that belong together, and how much each row counts, as in :func:`roc_auc_ci`.

    Returns
    -------
    AUCInterval
        Its `auc` is the partial AUC, `method` the one that was used. Where the standard error is 0 (all positives
        are above the part, or all scores are tied) the method is "score".

    References
    ----------
    He & Escobar (2008), Statistics in Medicine 27, 5291-5308 (the variance). Newcombe (2006), Statistics in Medicine
    25, 559-573 (intervals from the variance at the true value).

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import partial_auc_ci
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [500, 60])
    >>> found = partial_auc_ci(y, rng.standard_normal(y.size) + 1.5 * y, max_fpr=0.1)
    >>> print(f"{found.auc:.3f} in [{found.low:.3f}, {found.high:.3f}], {found.method}")
    0.716 in [0.656, 0.779], score
    """
    normal = roc.quantile(confidence)
    if method not in ("auto", "logit", "plain", "score"):
        raise ValueError(f'method must be "auto", "logit", "plain" or "score", got {method!r}.')
    measures = partial_measures(y_true, [y_score], ["y_score"], max_fpr, False, sample_weight, groups)
    measured = measures.of(0)
    share = measured.value
    error = measured.error
    negatives, positives = measured.rows
    freedom = measured.freedom if measured.grouped else np.inf
    t = roc.quantile(confidence, freedom)  # larger for an error that comes from few groups
    share = 1.0 if share > 1.0 - EQUAL else share
    few = min(positives, max_fpr * negatives) < intervals.ENOUGH_FOR_DELONG
    used: Literal["logit", "plain", "score"]
    if error == np.inf:  # all rows of a class are of one group
        used = "plain"
        low, high = 0.0, 1.0
    elif error == 0.0 or share in (0.0, 1.0) or method == "score" or (method == "auto" and few):
        used = "score"
        low, high = _NormalScores(positives, negatives, max_fpr).bounds(share, error, normal, t)
    elif method == "plain":
        used = "plain"
        low = max(0.0, share - t * error)
        high = min(1.0, share + t * error)
    else:
        interval = intervals.logit_interval(share, error, positives, confidence, freedom)
        used = "logit"
        low = interval.low
        high = interval.high
    if standardized:
        share, low, high = (float(standardise(value, max_fpr)) for value in (share, low, high))
        error *= 0.5 / (1.0 - max_fpr / 2.0)
    return intervals.AUCInterval(share, low, high, error, confidence, used, freedom)


def partial_auc_test(
    y_true: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    *,
    max_fpr: float,
    standardized: bool = True,
    confidence: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> intervals.DeLongTest:
    """Paired test that two scores of the same rows have the same partial AUC, in O(n log n).

    The standard error is that of :func:`partial_auc_ci` for the differences of the placements, so the correlation of
    the two scores is accounted for; z = difference / standard error is compared with Student's t. With `max_fpr=1` it
    is :func:`delong_test`. docs/intervals.md says how often it rejects scores that are equally good.

    Parameters
    ----------
    y_true, score_a, score_b
        As in :func:`roc_auc`; at least two observations of each class.
    max_fpr, standardized
        As in :func:`partial_auc_ci`.
    confidence : float in (0, 1)
        Nominal coverage of the interval of the difference a - b.
    groups, sample_weight : array of n, optional
        Rows that belong together, and how much each row counts, as in :func:`roc_auc_ci`.

    Returns
    -------
    DeLongTest
        `auc_a` and `auc_b` are partial AUCs. Scores that place every row alike have difference 0, z 0 and p 1. If all
        placements differ by the same amount, the standard error is 0 and says nothing: z, p_value, low and high are
        NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import partial_auc_test
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [500, 60])
    >>> common = rng.standard_normal(y.size)
    >>> a, b = (common + rng.standard_normal(y.size) + shift * y for shift in (2.5, 1.0))
    >>> test = partial_auc_test(y, a, b, max_fpr=0.1)
    >>> print(f"{test.auc_a:.3f} - {test.auc_b:.3f} = {test.difference:.3f}, p = {test.p_value:.2g}")
    0.768 - 0.567 = 0.201, p = 2e-07
    """
    both = [score_a, score_b]
    names = ["score_a", "score_b"]
    measures = partial_measures(y_true, both, names, max_fpr, standardized, sample_weight, groups)
    return measures.test(0, 1, confidence)


def partial_measures(
    y_true: ArrayLike,
    scores: Sequence[ArrayLike],
    names: Sequence[str],
    max_fpr: float,
    standardized: bool,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
) -> intervals.Placed:
    """Labels and scores, checked, with the placements of the rows in the part of the curve."""
    positive, checked, weight, together = intervals.checked_rows(y_true, scores, names, sample_weight, groups)
    placed = [_placements(positive, score, max_fpr, weight) for score in checked]
    placed = [standardise(part, max_fpr) for part in placed] if standardized else placed
    return intervals.Placed(positive, placed, np.ones(positive.size) if weight is None else weight, together, EQUAL)


def _placements(positive: NDArray, score: NDArray, max_fpr: float, weight: NDArray | None) -> NDArray:
    """V₊ and V₋ over max_fpr, ties included: but for a constant, the derivative of area ÷ max_fpr by a row's weight.

    The negatives at the score where the part ends share one interval [a, a + e] of false-positive rates, of which the
    share `inside` lies in the part; their V₋ is the mean of min(R(t), R(u)) over it, R being a line there.
    """
    up, down = score[positive], score[~positive]
    check_max_fpr(max_fpr, down.size)
    mass = np.ones(positive.size) if weight is None else weight
    of_up, share = (mass[side] / mass[side].sum() for side in (positive, ~positive))
    areas = area_of_each_positive(up, down, max_fpr, None if weight is None else share)
    height = 1.0 - roc.twice_below(down, up, of_up) / 2.0  # R(T): half of the tied positives are above
    if max_fpr < 1.0:
        order = np.argsort(-down, kind="stable")  # the cut: the first negative that is not wholly inside the part
        inside = share[order].cumsum() <= max_fpr * (1.0 + EQUAL)
        cut = down[order][min(int(inside.sum()), down.size - 1)]
        inside = np.clip((max_fpr - share[down > cut].sum()) / share[down == cut].sum(), 0.0, 1.0)
        before = of_up[up > cut].sum()
        tied = of_up[up == cut].sum()
        end = before + inside * tied
        height = np.where(down > cut, height, np.where(down == cut, end - inside**2 * tied / 2.0, end))
    placed = np.empty(positive.size)
    placed[positive] = areas
    placed[~positive] = height
    return placed / max_fpr


_gauss_legendre = cache(np.polynomial.legendre.leggauss)


class _NormalScores:
    """Area ÷ max_fpr and its variance if both classes have normal scores of variance 1, `distance` apart.

    Integrals over the part of the curve are sums over the scores of negatives beyond the cut.
    """

    def __init__(self, positives: float, negatives: float, max_fpr: float):
        self.positives = positives
        self.negatives = negatives
        self.max_fpr = max_fpr
        self.cut = max(-9.0, float(-ndtri(max_fpr)))
        nodes, weights = _gauss_legendre(80)
        half = (max(9.0, self.cut + 6.0) - self.cut) / 2.0
        self.scores = self.cut + half * (nodes + 1.0)
        self.mass = half * weights * np.exp(-(self.scores**2) / 2.0) / np.sqrt(2.0 * np.pi) / max_fpr
        self.mass /= self.mass.sum()
        self.room = 1.0 - ndtr(-self.scores) / max_fpr  # u - T, divided by u

    def share(self, distance: float) -> float:
        return float(self.mass @ ndtr(distance - self.scores))

    def distance(self, share: float) -> float:
        """The distance that gives this share; the inverse of `share`."""
        return float(brentq(lambda distance: self.share(distance) - share, -FAR, FAR))

    def share_and_variance(self, distance: float) -> tuple[float, float]:
        """The share and its variance; above 1/2 that of 1 - share, so that digits do not cancel near 1."""
        share = self.share(distance)
        side, room = (-1.0, 1.0 - self.room) if share > 0.5 else (1.0, self.room)
        curve = ndtr(side * (distance - self.scores))
        odds = (1.0 - self.max_fpr) / self.max_fpr
        mean = float(self.mass @ curve)
        end = float(ndtr(side * (distance - self.cut)))
        of_up = 2.0 * float(self.mass @ (room * curve)) - mean**2
        of_down = (float(self.mass @ curve**2) + odds * end**2) / self.max_fpr - (mean + odds * end) ** 2
        return share, max(of_up, 0.0) / self.positives + max(of_down, 0.0) / self.negatives

    def bounds(self, share: float, error: float, z: float, t: float) -> tuple[float, float]:
        """The true values below and above the share found that lie z of their own standard errors from it.

        The variance of the sample, where it is larger than that of normal scores, counts with Student's t.
        """
        half_a_row = 0.5 / self.positives  # nearer to 0 or 1 the ratio of the two variances is random
        steady = self.share_and_variance(self.distance(min(max(share, half_a_row), 1.0 - half_a_row)))[1]
        scale = max(z**2, t**2 * error**2 / steady)
        centre = self.distance(min(max(share, 1e-12), 1.0 - 1e-12))

        def beyond(distance: float) -> float:
            true, variance = self.share_and_variance(distance)
            return (share - true) ** 2 - scale * variance

        low = 0.0 if share == 0.0 else self.share(float(brentq(beyond, -FAR, centre)))
        high = 1.0 if share == 1.0 else self.share(float(brentq(beyond, centre, FAR)))
        return min(low, share), max(high, share)
