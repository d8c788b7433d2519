"""The squared hinge over all pairs of scores, from one sort: the part of the loss that does not know X.

With a_i and b_j the weights of positives and negatives, each adding up to 1, and s the scores,

    h(s) = Σ_ij a_i b_j max(0, 1 - s_i + s_j)².

The pairs that count of a positive i are those with the negatives above s_i - 1, which are the last ones of the sorted
scores; those of a negative are with the first positives. So h, its derivatives and products with its Hessian are sums
that two sweeps over the sorted scores gather (`vrspam.kernels.pair_hinge_sums`), in place of a sum over n₊n₋ pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MARGIN = 1.0


class PairRows(NamedTuple):
    """The rows that count, by class: their numbers, and their weights, which add up to 1 in each class."""

    positive: np.ndarray
    negative: np.ndarray
    a: np.ndarray
    b: np.ndarray
    n_rows: int

    @classmethod
    def of(cls, is_positive: np.ndarray, weights: np.ndarray | None) -> PairRows:
        """Rows of weight 0 are left out."""
        rows, shares = [], []
        for member in (is_positive, ~is_positive):
            index = np.flatnonzero(member if weights is None else member & (weights > 0.0))
            size = np.ones(index.size) if weights is None else np.asarray(weights[index], dtype=np.float64)
            size = size / size.max()  # so that tiny or huge weights stay in range
            rows.append(index)
            shares.append(size / size.sum())
        return cls(rows[0], rows[1], shares[0], shares[1], is_positive.size)

    @property
    def size(self) -> int:
        """How many rows count."""
        return self.positive.size + self.negative.size

    def thinned(self, most: int) -> PairRows:
        """About `most` rows: of each class every so-manieth one, which takes over the weight of those around it."""
        small = min(self.positive.size, self.negative.size, most // 2)
        of_class = {True: most - small, False: small}
        positives = of_class[self.positive.size > self.negative.size]
        positive, a = _every_so_manieth(self.positive, self.a, positives)
        negative, b = _every_so_manieth(self.negative, self.b, most - positives)
        return PairRows(positive, negative, a, b, self.n_rows)


def _every_so_manieth(rows: np.ndarray, shares: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` rows in equal distances; each has the weight of its stretch."""
    if rows.size <= most:
        return rows, shares
    starts = np.arange(most) * rows.size // most
    stops = np.append(starts[1:], rows.size)
    return rows[(starts + stops) // 2], np.add.reduceat(shares, starts)


class SortedPairs:
    """h at given scores, its derivatives and products with its Hessian; the scores are sorted once.

    Parameters
    ----------
    scores : ndarray of n
        Centred, so that no digits are spent on what all of them have in common.
    rows : PairRows

    Attributes
    ----------
    up, down : ndarray
        Numbers of the positive and of the negative rows, by score.
    upper, lower : ndarray
        Scores of the positives minus the margin, and scores of the negatives, in this order; a pair counts where
        lower > upper.
    a, b : ndarray
        Weights in this order.
    """

    def __init__(self, scores: np.ndarray, rows: PairRows):
        self.n_rows = rows.n_rows
        self.up, self.upper, self.a = _in_order(scores, rows.positive, rows.a)
        self.upper -= MARGIN
        self.down, self.lower, self.b = _in_order(scores, rows.negative, rows.b)

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.up.size + self.down.size

    def value_and_slope(self) -> tuple[float, np.ndarray]:
        """h, and its derivative along the score of each row."""
        from vrspam import kernels  # compiled code is loaded only when it is needed

        slope = np.zeros(self.n_rows)
        value = kernels.pair_hinge_sums(self.upper, self.a, self.lower, self.b, self.up, self.down, slope)
        slope *= 2.0
        return value, slope

    def product(self, u: np.ndarray) -> np.ndarray:
        """The Hessian of h times u, one number for each row; u is centred like the scores."""
        from vrspam import kernels

        out = np.zeros(self.n_rows)
        kernels.pair_hinge_product(self.upper, self.a, self.lower, self.b, self.up, self.down, u, out)
        out *= 2.0
        return out

    def share(self) -> float:
        """The weight of the pairs that count."""
        above = np.append(np.cumsum(self.b[::-1])[::-1], 0.0)
        return float(self.a @ above[np.searchsorted(self.lower, self.upper, side="right")])

    def active(self) -> tuple[int, int]:
        """How many positives, the lowest ones, and how many negatives, the highest ones, are in a pair that counts."""
        positives = int(np.searchsorted(self.upper, self.lower[-1], side="left"))
        return positives, self.lower.size - int(np.searchsorted(self.lower, self.upper[0], side="right"))

    def active_part(self, most: int) -> SortedPairs:
        """The rows in pairs that count, thinned to about `most` of them."""
        positives, negatives = self.active()
        part = object.__new__(SortedPairs)
        part.n_rows = self.n_rows
        sizes = np.array([positives, negatives])
        room = max(most - int(sizes.min()), most // 2)
        kept = []
        for rows, scores, shares in (
            (self.up[:positives], self.upper[:positives], self.a[:positives]),
            (
                self.down[self.down.size - negatives :],
                self.lower[self.down.size - negatives :],
                self.b[self.down.size - negatives :],
            ),
        ):
            places, weights = _every_so_manieth(np.arange(rows.size), shares, room)
            kept.append((rows[places], scores[places], weights))
        (part.up, part.upper, part.a), (part.down, part.lower, part.b) = kept
        return part


def _in_order(scores: np.ndarray, rows: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    own = scores[rows]
    order = np.argsort(own)
    return rows[order], own[order], shares[order]
