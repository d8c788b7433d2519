"""The distribution of a numeric column: what maps learn from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

N_NODES = 256
LARGEST = float(np.finfo(np.float64).max) / 2.0  # differences of larger numbers may be infinite


class Distribution(NamedTuple):
    """Summary of a numeric column."""

    values: np.ndarray  # (k,): increasing: all values that occur, or about `N_NODES` quantiles where there are more
    ranks: np.ndarray  # (k,): (rows below + half the rows that are equal) / rows, strictly between 0 and 1
    shares: np.ndarray  # (k,): share of the rows that each value stands for
    mean: float  # of all rows
    deviation: float  # of all rows; 0 means that the column is constant


def distribution(column: np.ndarray, weights: np.ndarray | None = None) -> Distribution:
    """Summarise the numbers of a column (no NaN), with positive weights of its rows if they are given.

    >>> seen = distribution(np.array([3.0, 1.0, 3.0, 7.0]))
    >>> seen.values.tolist(), seen.ranks.tolist(), seen.shares.tolist()
    ([1.0, 3.0, 7.0], [0.125, 0.5, 0.875], [0.25, 0.5, 0.25])
    """
    if column.size == 0:
        return constant(0.0)
    if weights is None:
        ordered = np.sort(column).astype(np.float64)
        mass = np.full(column.size, 1.0 / column.size)
    else:
        order = np.argsort(column)
        ordered = column[order].astype(np.float64)
        mass = weights[order] / weights.sum()
    if spread_is_rounding(ordered, column.dtype):
        return constant(float(ordered[-1]))  # no value is above it
    mean, deviation = mean_and_deviation(ordered, mass)
    first = np.flatnonzero(np.concatenate([[True], np.diff(ordered) > 0.0]))
    values = ordered[first]
    shares = np.add.reduceat(mass, first)
    upto = np.cumsum(shares)
    ranks = np.clip(upto - shares / 2.0, 0.0, 1.0)  # rounding may go beyond 0 and 1
    if values.size == 1:
        deviation = 0.0
    if values.size > N_NODES:
        quantiles = np.searchsorted(upto, np.linspace(0.0, upto[-1], N_NODES) * (1.0 - 1e-9))
        quantiles = np.unique(np.concatenate([quantiles, [values.size - 1]]))
        between = np.diff(upto[quantiles]) - shares[quantiles[1:]]
        values, ranks, shares = values[quantiles], ranks[quantiles], shares[quantiles]
        # half of the rows between two values goes to each
        shares[:-1] += between / 2.0
        shares[1:] += between / 2.0
    return Distribution(values, ranks, shares, mean, deviation)


def constant(value: float) -> Distribution:
    """The distribution of a column that has one value."""
    return Distribution(np.full(1, value), np.full(1, 0.5), np.ones(1), value, 0.0)


def mean_and_deviation(numbers: np.ndarray, mass: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of sorted numbers with weights that add up to 1.

    A power of two keeps squares of very large and very small numbers within range and changes no digit.
    """
    exponent = int(np.frexp(max(abs(numbers[0]), abs(numbers[-1])))[1])
    if abs(exponent) < 400:  # squares of numbers below 2^400 are far from overflow
        exponent = 0
    scaled = np.ldexp(numbers, -exponent) if exponent else numbers
    mean = mass @ scaled
    deviation = np.sqrt(mass @ (scaled - mean) ** 2)
    return float(np.ldexp(mean, exponent)), float(np.ldexp(deviation, exponent))


def spread_is_rounding(ordered: np.ndarray, dtype: np.dtype) -> bool:
    """Whether sorted numbers differ by a few roundings at most, so that they are one number; whole numbers differ.

    >>> spread_is_rounding(np.array([0.1 + 0.2, 0.3])[::-1], np.dtype(float))
    True
    """
    few_roundings = 4.0
    low, high = float(ordered[0]), float(ordered[-1])
    if dtype.kind != "f" or high - low > few_roundings * float(np.finfo(dtype).eps) * max(abs(low), abs(high)):
        return False
    return low < high and not np.array_equal(ordered, np.floor(ordered))
