"""The empirical distribution of a column: a short table of values and their mid-ranks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

N_NODES = 256


class Distribution(NamedTuple):
    """What is kept of a numeric column.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Increasing: all values that occur, or `N_NODES` quantiles where there are more.
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


def distribution(column: np.ndarray) -> Distribution:
    """Summarise the numbers of a column (no NaN).

    Examples
    --------
    >>> import numpy as np
    >>> seen = distribution(np.array([3.0, 1.0, 3.0, 7.0]))
    >>> seen.values.tolist(), seen.ranks.tolist(), seen.shares.tolist()
    ([1.0, 3.0, 7.0], [0.125, 0.5, 0.875], [0.25, 0.5, 0.25])
    """
    if column.size == 0:
        return Distribution(np.zeros(1), np.full(1, 0.5), np.ones(1), 0.0, 0.0)
    ordered = np.sort(column).astype(np.float64)
    n = ordered.size
    values = ordered[np.concatenate([[True], np.diff(ordered) > 0.0])]
    quantiles = values.size > N_NODES
    if quantiles:
        values = np.unique(ordered[np.round(np.linspace(0.0, n - 1.0, N_NODES)).astype(np.intp)])
    below, not_above = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    ranks = (below + not_above) / (2.0 * n)
    if quantiles:  # the rows between two of them are shared out half and half
        shares = np.diff(np.concatenate([[0.0], (ranks[1:] + ranks[:-1]) / 2.0, [1.0]]))
    else:
        shares = (not_above - below) / n
    deviation = float(ordered.std()) if values.size > 1 else 0.0
    return Distribution(values, ranks, shares, float(ordered.mean()), deviation)
