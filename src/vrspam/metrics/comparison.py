"""Tests that AUCs differ: pairs of models on the same rows, and two models, each on rows of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from vrspam.metrics.intervals import DeLongTest, Measured, Placed, bounds_of, paired_test, roc_measures
from vrspam.metrics.partial import partial_measures


def unpaired_auc_test(
    a: tuple[ArrayLike, ArrayLike],
    b: tuple[ArrayLike, ArrayLike],
    *,
    confidence: float = 0.95,
    groups: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
    sample_weight: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
) -> DeLongTest:
    """Test that two scores have the same AUC, each on rows of its own: two hospitals, or last year and this year.

    The rows of one are independent of those of the other, so the squared standard errors add up; but with few
    positives, or AUCs near 1, the rows hardly show their standard errors, and two perfect samples show none. So the
    interval of the difference comes from those of the two AUCs by :func:`roc_auc_ci`, [l, u] around A and [l', u']
    around B:

        A - B - √((A - l)² + (u' - B)²)   to   A - B + √((u - A)² + (B - l')²)

    and p is the probability outside of the widest such interval that leaves out 0. For scores of the same rows
    :func:`delong_test` finds smaller differences.

    Parameters
    ----------
    a, b : pair of labels and scores
        Each as in :func:`roc_auc`; at least two observations of each class in both.
    confidence : float in (0, 1)
        Nominal coverage of the interval of the difference AUC(a) - AUC(b).
    groups, sample_weight : pair of arrays, optional
        One for `a` and one for `b`: rows that belong together, and how much each row counts, as in :func:`roc_auc_ci`.

    Returns
    -------
    DeLongTest
        `standard_error` is DeLong's; `z` is that of a normal variable with this p-value.

    References
    ----------
    DeLong et al. (1988) and Newcombe (2006), as in :func:`roc_auc_ci`. Newcombe (1998), Statistics in Medicine 17,
    873-890, and Zou & Donner (2008), Statistics in Medicine 27, 1693-1702 (the interval of a difference from those of
    two numbers).

    Examples
    --------
    >>> from vrspam.metrics import unpaired_auc_test
    >>> here, there = ([0, 0, 0, 0, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7]), ([0, 0, 0, 1, 1, 1], [5, 2, 3, 4, 1, 7])
    >>> test = unpaired_auc_test(here, there)
    >>> print(f"{test.auc_a:.3f} - {test.auc_b:.3f} = {test.difference:.3f}, p = {test.p_value:.3f}")
    0.917 - 0.556 = 0.361, p = 0.263
    """
    measured = [
        roc_measures(y, [score], sample_weight=weight, groups=together).of(0)
        for (y, score), weight, together in zip((a, b), sample_weight, groups, strict=True)
    ]
    return independent_test(measured[0], measured[1], confidence)


LARGEST_Z = 37.0  # beyond it the probability of a normal variable is 0 in 64-bit numbers


def independent_test(a: Measured, b: Measured, confidence: float) -> DeLongTest:
    """The test of two AUCs of independent rows, from their own intervals: :func:`unpaired_auc_test`."""
    difference = a.value - b.value
    tail = 0.5 - confidence / 2.0
    low, high = difference_bounds(a, b, tail)
    z = _z_of_difference(a, b)
    p_value = float(2.0 * ndtr(-abs(z)))
    return DeLongTest(
        a.value, b.value, difference, float(np.hypot(a.error, b.error)), z, p_value, low, high, confidence
    )


def difference_bounds(a: Measured, b: Measured, tail: float) -> tuple[float, float]:
    """The interval of a - b that leaves the probability `tail` on each side, from the intervals of both."""
    low_a, high_a, _ = bounds_of(a, tail)
    low_b, high_b, _ = bounds_of(b, tail)
    difference = a.value - b.value
    low = difference - float(np.hypot(a.value - low_a, high_b - b.value))
    high = difference + float(np.hypot(high_a - a.value, b.value - low_b))
    return max(-1.0, low), min(1.0, high)


def _z_of_difference(a: Measured, b: Measured) -> float:
    """How many standard deviations of a normal variable the interval reaches to each side when it ends at 0."""
    if a.value < b.value:
        return -_z_of_difference(b, a)

    def above(z: float) -> float:
        return difference_bounds(a, b, float(ndtr(-z)))[0]

    if a.value == b.value or above(0.0) <= 0.0:
        return 0.0
    if above(LARGEST_Z) > 0.0:
        return LARGEST_Z
    return float(brentq(above, 0.0, LARGEST_Z))


class ComparedPair(NamedTuple):
    """Two of several models: their names, the test of their AUCs, and its p-value adjusted for the number of pairs.

    Attributes
    ----------
    a, b : str
    test : DeLongTest
        The test of a minus b.
    adjusted_p : float
        By Holm's method: the chance of any false finding among all pairs stays at the level.

    Examples
    --------
    >>> from vrspam.metrics import compare_aucs
    >>> compare_aucs([0, 0, 1, 1], {"first": [1, 2, 3, 4], "second": [1, 3, 2, 4]})[0].a
    'first'
    """

    a: str
    b: str
    test: DeLongTest
    adjusted_p: float


def compare_aucs(
    y_true: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    max_fpr: float | None = None,
    confidence: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    folds: ArrayLike | None = None,
) -> tuple[ComparedPair, ...]:
    """Compare the AUCs of several models on the same rows in pairs: :func:`delong_test` of each, p-values by Holm.

    Parameters
    ----------
    y_true : array of n labels
        As in :func:`roc_auc`.
    scores : dict of names to arrays of n numbers
    max_fpr : float in (0, 1], optional
        Compare partial AUCs up to this false-positive rate, standardised (:func:`partial_auc_test`).
    confidence : float in (0, 1)
        Nominal coverage of the interval of each difference.
    groups, sample_weight : array of n, optional
        As in :func:`roc_auc_ci`.
    folds : array of n labels, optional
        For out-of-fold scores: the fold that held each row out, the same for all models, as in :func:`delong_test`. Not
        with `max_fpr`.

    Returns
    -------
    tuple of ComparedPair
        All pairs, in the order of `scores`.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6, 65-70.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import compare_aucs
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> scores = {name: rng.normal(size=400) + size * y for name, size in [("old", 1), ("new", 1.1), ("best", 2)]}
    >>> for a, b, test, p in compare_aucs(y, scores):
    ...     print(f"{a} - {b} = {test.difference:+.2f}, adjusted p = {p:.2g}")
    old - new = -0.00, adjusted p = 0.98
    old - best = -0.15, adjusted p = 8.1e-09
    new - best = -0.15, adjusted p = 8.1e-09
    """
    names = list(scores)
    values = list(scores.values())
    if max_fpr is None:
        placed = roc_measures(y_true, values, names, sample_weight=sample_weight, groups=groups, folds=folds)
    else:
        if folds is not None:
            raise ValueError("Partial AUCs of out-of-fold scores have no test: leave folds or max_fpr out.")
        placed = partial_measures(y_true, values, names, max_fpr, True, sample_weight, groups)
    return compare_placed(placed, names, confidence)


def compare_placed(
    found: Placed,
    names: Sequence[str],
    confidence: float,
    optimism: Mapping[str, float] | None = None,
    own: Sequence[Measured] | None = None,
) -> tuple[ComparedPair, ...]:
    """Compare all pairs of placed scores; `own` has their AUCs, from which the `optimism` of some is subtracted."""
    own = [found.of(place) for place in range(len(names))] if own is None else own
    less = [(optimism or {}).get(name, 0.0) for name in names]

    def test(a: str, b: str) -> DeLongTest:
        i, j = names.index(a), names.index(b)
        measured = found.of(i, j)
        aucs = own[i].value - less[i], own[j].value - less[j]
        difference = measured.value - (less[i] - less[j])
        return paired_test(*aucs, difference, measured.error, confidence, measured.freedom)

    return compare_pairs(names, test)


def compare_pairs(names: Sequence[str], test: Callable[[str, str], DeLongTest]) -> tuple[ComparedPair, ...]:
    """The test of each pair of names, with p-values by Holm."""
    pairs = list(combinations(names, 2))
    tests = [test(a, b) for a, b in pairs]
    adjusted = holm(np.array([found.p_value for found in tests])).tolist()
    return tuple(ComparedPair(*pair, found, p) for pair, found, p in zip(pairs, tests, adjusted, strict=True))


def holm(p_values: NDArray) -> NDArray:
    """P-values corrected by Holm's method; NaN where there was no test.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    corrected = np.full(p_values.shape, np.nan)
    order = np.argsort(p_values)
    order = order[: int(np.isfinite(p_values).sum())]
    factors = np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * p_values[order]))
    return corrected
