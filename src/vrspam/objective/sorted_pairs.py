"""The squared hinge over pairs of scores, from one sort: the part of the loss that does not need X.

With a_i and b_j the weights of positives and negatives, each adding up to 1, and s the scores,

    h(s) = Σ_ij a_i b_j max(0, 1 - s_i + s_j)².

A positive i is in pairs that count with the negatives above s_i - 1, which are the last ones of the sorted scores; a
negative is in such pairs with the first positives. So h, its derivatives and products with its Hessian are sums
that two sweeps over the sorted scores gather (`vrspam.kernels.pair_hinge_sums`), in place of a sum over n₊n₋ pairs.
Where only certain pairs count, they fall into parts, each of all pairs of some positives and some negatives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vrspam import kernels
from vrspam.comparable import Comparable


class PairRows(NamedTuple):
    """The rows that count, by class: their numbers, and their weights, which add up to 1 in each class.

    Where only certain pairs count, positives and negatives lie part by part, and pairs are formed inside a part: part
    k of the positives is from ``edges[0][k]`` to ``edges[0][k + 1]``. Then the weights of all pairs add up to 1, and
    `unit` has a number for each row, for samples: rows of some of these numbers, with their pairs, stand for all.
    """

    positive: np.ndarray
    negative: np.ndarray
    a: np.ndarray
    b: np.ndarray
    n_rows: int
    edges: tuple[np.ndarray, np.ndarray] | None = None
    unit: np.ndarray | None = None

    @classmethod
    def of(cls, is_positive: np.ndarray, weights: np.ndarray | None) -> PairRows:
        """The rows of two classes, without those of weight 0."""
        rows = []
        shares = []
        for member in (is_positive, ~is_positive):
            index = np.flatnonzero(member if weights is None else member & (weights > 0.0))
            size = np.ones(index.size) if weights is None else np.asarray(weights[index], dtype=np.float64)
            size = size / size.max()  # so that tiny or huge weights stay in range
            size /= size.sum()
            rows.append(index[size > 0.0])  # a share may be too small for a float
            shares.append(size[size > 0.0])
        return cls(rows[0], rows[1], shares[0], shares[1], is_positive.size)

    @classmethod
    def of_pairs(cls, groups: Comparable, n_rows: int) -> PairRows:
        """The pairs of sorted groups, as parts of two classes.

        In each stratum the groups are numbered from the lowest to the highest. The highest bit in which two numbers
        differ tells which group is above: for each bit, rows that agree in all higher bits form one part, and rows with
        the bit set are its positives. So a row is in as many parts as numbers have bits: in one for two groups.
        """
        first = np.flatnonzero(np.diff(groups.stratum, prepend=-1))
        number = np.arange(groups.stratum.size) - first[groups.stratum]
        bits = int(number.max(initial=0)).bit_length()
        key = ((groups.stratum << bits) + number)[groups.group]
        event = groups.event[groups.group] > 0.0
        rows: tuple[list[np.ndarray], ...] = ([], [])
        sizes: tuple[list[np.ndarray], ...] = ([], [])
        for bit in range(bits - 1, -1, -1):
            part = np.cumsum(np.diff(key >> (bit + 1), prepend=key[0] >> (bit + 1)) != 0)
            upper = (key >> bit & 1).astype(bool)
            sides = upper & event, ~upper
            counts = [np.bincount(part[side], minlength=part[-1] + 1) for side in sides]
            both = np.minimum(*counts) > 0
            for k in range(2):
                rows[k].append(np.flatnonzero(sides[k] & both[part]))
                sizes[k].append(counts[k][both])
        positive = np.concatenate(rows[0])
        negative = np.concatenate(rows[1])
        edges = [np.append(0, np.cumsum(np.concatenate(size))) for size in sizes]

        largest = groups.weight.max()  # tiny or huge weights stay in range
        share = groups.factor / float((groups.factor * groups.event) @ (groups.mass / largest * groups.below / largest))
        a = (groups.weight * share[groups.group])[positive] / largest
        b = groups.weight[negative] / largest

        unit = np.zeros(n_rows, dtype=np.intp)
        unit[groups.rows] = groups.stratum[groups.group] if first.size >= 64 else np.arange(groups.rows.size)
        return cls(groups.rows[positive], groups.rows[negative], a, b, n_rows, (edges[0], edges[1]), unit)


def evenly_spaced(rows: np.ndarray, shares: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` evenly spaced rows; each gets the weight of the rows that it stands for."""
    if rows.size <= most:
        return rows, shares
    starts = np.arange(most) * rows.size // most
    stops = np.append(starts[1:], rows.size)
    return rows[(starts + stops) // 2], np.add.reduceat(shares, starts)


def _orders(scores: np.ndarray, rows: PairRows) -> tuple[np.ndarray, np.ndarray]:
    """The order of the positives, and of the negatives, by score; inside each part, if pairs are formed in parts."""
    if rows.edges is None:
        return np.argsort(scores[rows.positive]), np.argsort(scores[rows.negative])
    ranks = np.empty(scores.size, dtype=np.intp)
    ranks[np.argsort(scores)] = np.arange(scores.size)
    up_edges, down_edges = rows.edges
    of_up = np.repeat(np.arange(up_edges.size - 1), np.diff(up_edges))
    of_down = np.repeat(np.arange(down_edges.size - 1), np.diff(down_edges))
    return (
        np.argsort(of_up * scores.size + ranks[rows.positive]),
        np.argsort(of_down * scores.size + ranks[rows.negative]),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class SortedPairs:
    """h at given scores, its derivatives and products with its Hessian; the scores are sorted once.

    The scores are centred, so that no digits are lost to a common offset. In the order of the scores, `up` and `down`
    are the numbers of the positive and of the negative rows, `upper` the scores of the positives minus the margin,
    `lower` those of the negatives, and `a` and `b` their weights; a pair counts where lower > upper. `edges` and `unit`
    are as in `PairRows`, and `edge` has the pairs of all rows if these are only some of `EdgePairs`
    (`vrspam.objective.partial_hinge`).
    """

    up: np.ndarray
    upper: np.ndarray
    a: np.ndarray
    down: np.ndarray
    lower: np.ndarray
    b: np.ndarray
    edges: tuple[np.ndarray, np.ndarray]
    n_rows: int
    unit: np.ndarray | None = None
    edge: SortedPairs | None = None

    @staticmethod
    def at(scores: np.ndarray, rows: PairRows) -> SortedPairs:
        """The pairs of these rows, by their scores."""
        rising, order = _orders(scores, rows)
        all_in_one = np.array([0, rising.size]), np.array([0, order.size])
        return SortedPairs(
            up=rows.positive[rising],
            upper=scores[rows.positive][rising] - 1.0,  # 1 is the margin
            a=rows.a[rising],
            down=rows.negative[order],
            lower=scores[rows.negative][order],
            b=rows.b[order],
            edges=all_in_one if rows.edges is None else rows.edges,
            n_rows=rows.n_rows,
            unit=rows.unit,
        )

    def product(self, u: np.ndarray) -> np.ndarray:
        """The Hessian of h times u, one number for each row; u is centred like the scores."""
        out = np.zeros(self.n_rows)
        kernels.pair_hinge_product(self.upper, self.a, self.lower, self.b, self.up, self.down, *self.edges, u, out)
        out *= 2.0
        return out

    @cached_property
    def reach(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each positive, start and end of the negatives that count; for each negative, weight of such positives."""
        first = np.empty(self.up.size, dtype=np.intp)
        below = np.empty(self.down.size)
        kernels.pair_hinge_reach(self.upper, self.a, self.lower, *self.edges, first, below)
        return first, np.repeat(self.edges[1][1:], np.diff(self.edges[0])), below

    def share(self) -> float:
        """The weight of the pairs that count."""
        first, last, _ = self.reach
        above = np.append(np.cumsum(self.b[::-1])[::-1], 0.0)
        return float(self.a @ (above[first] - above[last]))

    def active(self) -> tuple[np.ndarray, np.ndarray]:
        """Places of the positives (the lowest ones) and negatives (the highest ones) that are in a pair that counts."""
        first, last, below = self.reach
        return np.flatnonzero(first < last), np.flatnonzero(below > 0.0)

    def active_part(self, most: int) -> SortedPairs:
        """The rows in pairs that count, thinned to about `most` of them."""
        positives, negatives = self.active()
        if self.unit is None:
            return self._evenly_thinned(positives, negatives, most)
        if positives.size + negatives.size <= most:
            return self._restricted_to(positives, negatives, self.a[positives], self.b[negatives])
        return self._thinned_by_unit(positives, negatives, most)

    def _evenly_thinned(self, positives: np.ndarray, negatives: np.ndarray, most: int) -> SortedPairs:
        """Some of the rows at these places, with the weights of those that they stand for."""
        room = max(most - min(positives.size, negatives.size), most // 2)
        positives, a = evenly_spaced(positives, self.a[positives], room)
        negatives, b = evenly_spaced(negatives, self.b[negatives], room)
        return self._restricted_to(positives, negatives, a, b)

    def _thinned_by_unit(self, positives: np.ndarray, negatives: np.ndarray, most: int) -> SortedPairs:
        """The rows of some units; their pairs stand for all. If none of these counts, all rows."""
        assert self.unit is not None
        step = -(-(positives.size + negatives.size) // most)
        positives = positives[self.unit[self.up[positives]] % step == 0]
        negatives = negatives[self.unit[self.down[negatives]] % step == 0]
        part = self._restricted_to(positives, negatives, self.a[positives], self.b[negatives])
        share = part.share()
        return replace(part, a=part.a * (self.share() / share)) if share > 0.0 else self

    def _restricted_to(self, positives: np.ndarray, negatives: np.ndarray, a: np.ndarray, b: np.ndarray) -> SortedPairs:
        """The rows at these places, with these weights."""
        return SortedPairs(
            up=self.up[positives],
            upper=self.upper[positives],
            a=a,
            down=self.down[negatives],
            lower=self.lower[negatives],
            b=b,
            edges=(np.searchsorted(positives, self.edges[0]), np.searchsorted(negatives, self.edges[1])),
            n_rows=self.n_rows,
            unit=self.unit,
        )
