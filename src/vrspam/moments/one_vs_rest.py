"""Moments of each of several classes against all the others, from one pass over the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from vrspam.moments._statistics import ClassStatistics, check_range, statistics_in_memory
from vrspam.moments.class_moments import ClassMoments


def one_vs_rest_moments(
    X, codes: np.ndarray, weights: np.ndarray | None, n_classes: int, *, scatter: bool = True, precise: bool = True
) -> Iterator[ClassMoments]:
    """The moments of class 0 (as True) and of all other rows (as False), then of class 1, and so on.

    The rows are read once, before the first is asked for; the statistics of the rest are sums of those of the other
    classes. Nothing is subtracted, so that no digits are lost.

    Parameters
    ----------
    X : {array, CSR matrix} of shape (n_samples, n_features)
        Validated.
    codes : ndarray of shape (n_samples,)
        The class of each row, from 0 to n_classes - 1. Each class has rows with weight.
    weights : ndarray of shape (n_samples,) or None
    n_classes : int
    scatter, precise : bool
        As in `ClassMoments` and its `add_checked`.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # `check_range` reports it
        each = statistics_in_memory(X, codes, weights, None, np.arange(n_classes), scatter, precise)
    for statistics in each:
        check_range(statistics, forgets=False)
    return (ClassMoments.of_statistics(rest, each[k]) for k, rest in enumerate(_all_but_one(each, None)))


def _all_but_one(each: Sequence[ClassStatistics], outside: ClassStatistics | None) -> Iterator[ClassStatistics]:
    """For each of these classes the sum of the others and of `outside`.

    By halves: each half passes its own sum on as the outside of the other. That takes K log K sums, and holds
    log K of them at a time.
    """
    if len(each) == 1:
        assert outside is not None
        yield outside
        return
    middle = len(each) // 2
    halves = each[:middle], each[middle:]
    for half, other in (halves, halves[::-1]):
        total = other[0].copy() if outside is None else outside.copy()
        for statistics in other[1 if outside is None else 0 :]:
            total.merge(statistics)
        yield from _all_but_one(half, total)
