"""The empirical distribution of a column: a short table of values and their mid-ranks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

N_NODES = 256
LARGEST = float(np.finfo(np.float64).max) / 2.0  # differences of larger numbers may be infinite
SAFE_EXPONENT = 400  # squares of numbers below 2^400 are far from overflow


class Distribution(NamedTuple):
    """What is kept of a numeric column.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Increasing: all values that occur, or about `N_NODES` quantiles where there are more.
    ranks : ndarray of shape (k,)
        (rows below + half the rows that are equal) / rows, strictly between 0 and 1.
    shares : ndarray of shape (k,)
        Share of the rows that each value stands for.
    mean, deviation : float
        Of all rows; a deviation of 0 means that the column is constant.
    """

    values: np.ndarray
    ranks: np.ndarray
    shares: np.ndarray
    mean: float
    deviation: float


def distribution(column: np.ndarray, weights: np.ndarray | None = None) -> Distribution:
    """Summarise the numbers of a column (no NaN), with positive weights of its rows if they are given.

    Examples
    --------
    >>> import numpy as np
    >>> seen = distribution(np.array([3.0, 1.0, 3.0, 7.0]))
    >>> seen.values.tolist(), seen.ranks.tolist(), seen.shares.tolist()
    ([1.0, 3.0, 7.0], [0.125, 0.5, 0.875], [0.25, 0.5, 0.25])
    """
    if column.size == 0:
        return Distribution(np.zeros(1), np.full(1, 0.5), np.ones(1), 0.0, 0.0)
    if weights is None:
        ordered, mass = np.sort(column).astype(np.float64), np.full(column.size, 1.0 / column.size)
    else:
        order = np.argsort(column)
        ordered, mass = column[order].astype(np.float64), weights[order] / weights.sum()
    mean, deviation = _mean_and_deviation(ordered, mass)
    first = np.flatnonzero(np.concatenate([[True], np.diff(ordered) > 0.0]))
    values, shares = ordered[first], np.add.reduceat(mass, first)
    upto = np.cumsum(shares)
    ranks = np.clip(upto - shares / 2.0, 0.0, 1.0)  # rounding may lead beyond
    if values.size > N_NODES:
        some = np.searchsorted(upto, np.linspace(0.0, upto[-1], N_NODES) * (1.0 - 1e-9))
        some = np.unique(np.concatenate([some, [values.size - 1]]))
        between = np.diff(upto[some]) - shares[some[1:]]
        values, ranks, shares = values[some], ranks[some], shares[some]
        # the rows between two of them are shared out half and half
        shares[:-1] += between / 2.0
        shares[1:] += between / 2.0
    return Distribution(values, ranks, shares, mean, deviation if values.size > 1 else 0.0)


def _mean_and_deviation(ordered: np.ndarray, mass: np.ndarray) -> tuple[float, float]:
    # A power of two keeps squares of very large and very small numbers within range and changes no digit.
    largest = max(abs(ordered[0]), abs(ordered[-1]))
    exponent = int(np.frexp(largest)[1])
    if abs(exponent) < SAFE_EXPONENT:
        exponent = 0
    scaled = np.ldexp(ordered, -exponent) if exponent else ordered
    mean = mass @ scaled
    deviation = np.sqrt(mass @ (scaled - mean) ** 2)
    return float(np.ldexp(mean, exponent)), float(np.ldexp(deviation, exponent))
