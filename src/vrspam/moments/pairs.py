"""Sums over any ordered pairs of rows: inside strata, or of a numeric target with censored rows.

A pair (i, j) counts, and row i should score higher, if both rows are of one stratum, row i has its event, and it ranks
higher: its `rank` is larger or, if both ranks are equal, row j does not have its event. Pairs weigh c_i c_j. Rows are
sorted from the lowest to the highest; rows that are equal in stratum, rank and event form a group g, in which there
are no pairs. With w, μ, S the weight, mean and scatter of a group, N and m the weight and mean of the rows below it
in its stratum, b the weight of rows with an event above it, and e = 1 if its rows have their event,

    Σ c_i c_j (x_i - x_j)(x_i - x_j)ᵀ  =  Σ_g (e N + b) S_g  +  (e w N + b w N/(N + w)) (μ_g - m_g)(μ_g - m_g)ᵀ,
    Σ c_i c_j (x_i - x_j)              =  Σ_g e w N (μ_g - m_g)

over all pairs that count: an event has N rows below it, whose scatter about their own mean grows group by group
(docs/theory.md has the proof). All terms are squares, so nothing cancels. No array of pairs is made; X is read once.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam import kernels
from vrspam._utils.arrays import own_arrays
from vrspam._utils.blas import blas_thread_count, blas_threads
from vrspam._utils.validation import union_of_labels
from vrspam.moments._gather import THREAD_PRODUCTS
from vrspam.moments._rounding import UNIT, UNKNOWN_SCATTER, Errors, gamma, of_rank_one, two_sum
from vrspam.moments._statistics import ClassStatistics, check_range, same
from vrspam.moments.class_moments import ClassMoments, PairErrors, PairStatistics

CHUNK_BYTES = 1 << 21  # rows that are sorted, centred and multiplied at once: they stay in the cache meanwhile
SMALL_STRATUM = 64  # most groups of a stratum for which sums inside many strata are computed together


class SortedGroups(NamedTuple):
    """The rows that are in some pair, from the lowest to the highest in each stratum, and the sums of their weights."""

    rows: np.ndarray  # their numbers
    weight: np.ndarray  # c
    group: np.ndarray  # the number of the group of each row
    stratum: np.ndarray  # the number of the stratum of each group; groups of a stratum lie side by side
    event: np.ndarray  # e; from here to `factor` one entry for each group
    below: np.ndarray  # N
    above: np.ndarray  # b
    mass: np.ndarray  # w
    factor: np.ndarray  # of each pair of the stratum: 1, or 1 over the weight of all its pairs
    pairs: float  # Σ c_i c_j over the pairs, without the factor
    of_weights: float  # relative error of all these weights

    @property
    def touched(self) -> np.ndarray:
        """`factor` (e N + b): the weight of the pairs of a row, divided by its own weight."""
        return self.factor * (self.event * self.below + self.above)

    @property
    def shares(self) -> np.ndarray:
        """The weight of the pairs of each row; all add up to 1."""
        mass = self.weight * self.touched[self.group]
        return mass / mass.sum()

    def by_row(self, values: np.ndarray, n_rows: int) -> np.ndarray:
        """Such values of the sorted rows by the numbers of the rows; those of a row that is there twice add up."""
        return np.bincount(self.rows, values, n_rows)

    def beside(self, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums of `mass` over the groups below each one in its stratum, and over those above it that have events."""
        return _sums_beside(mass, self.event, self.stratum)


@dataclass(frozen=True, eq=False)
class RankedPairs:
    """The pairs of rows that count, as the head of this module defines them; arrays have one entry for each row."""

    rank: np.ndarray
    event: np.ndarray
    stratum: np.ndarray | None = None  # numbers; None for one stratum
    same_strata: bool = False  # whether each stratum weighs the same, whatever its number of pairs

    def take(self, index: np.ndarray) -> RankedPairs:
        """The pairs of some of the rows."""
        stratum = None if self.stratum is None else self.stratum[index]
        return RankedPairs(self.rank[index], self.event[index], stratum, self.same_strata)

    @property
    def _keys(self) -> list[np.ndarray]:
        return [self.event, self.rank, *([] if self.stratum is None else [self.stratum])]

    @cached_property
    def _order(self) -> np.ndarray:
        """All rows from the lowest to the highest, stratum by stratum."""
        return rising(self.rank, self.event) if self.stratum is None else np.lexsort(self._keys)

    @cached_property
    def upper(self) -> np.ndarray:
        """Which rows are above others in more pairs than below others: two classes that stand for the target."""
        return self.places()[0] > 0.5

    def places(
        self, weights: np.ndarray | None = None, index: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """For each row the share of its pairs in which it is the upper row, and their weight; NaN for rows in no pair.

        With `index`, only pairs among the rows of these numbers count.
        """
        groups, (share, mass) = self.groups(weights, index), np.full((2, self.rank.size), np.nan)
        share[groups.rows] = (groups.factor * groups.event * groups.below / groups.touched)[groups.group]
        mass[groups.rows] = groups.touched[groups.group]
        return share, mass

    def pairs_of_strata(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The weight of the pairs of each stratum, by its number."""
        groups = self.groups(weights)
        first = np.flatnonzero(np.diff(groups.group, prepend=-1))
        names = np.zeros(first.size, dtype=np.intp) if self.stratum is None else self.stratum[groups.rows[first]]
        each = groups.event * groups.mass * groups.below
        count = 1 if self.stratum is None else int(self.stratum.max()) + 1
        return np.bincount(names, each, count)

    def has_pair(self, index: np.ndarray, inside: np.ndarray) -> bool:
        """Whether any pair is among these rows, all with weight; `inside` is the weight of pairs in each stratum."""
        if self.stratum is not None:
            return bool(inside[self.stratum[index]].any())
        rank, event = self.rank[index], self.event[index]
        if not event.any():
            return False
        lowest, highest = rank.min(), rank[event].max()
        return bool(highest > lowest or not event[rank == lowest].all())

    def groups(self, weights: np.ndarray | None = None, index: np.ndarray | None = None) -> SortedGroups:
        """Sort the rows (or only the rows `index`), and leave out those that are in no pair."""
        known = self.__dict__.get("_all")
        if index is not None:
            return self._sorted(weights, index)
        if known is None or known[0] is not weights:
            known = self.__dict__["_all"] = weights, self._sorted(weights, np.arange(self.rank.size))
        return known[1]

    def _sorted(self, weights: np.ndarray | None, rows: np.ndarray) -> SortedGroups:
        if weights is not None:
            rows = rows[weights[rows] > 0.0]
        rows = np.repeat(self._order, np.bincount(rows, minlength=self.rank.size)[self._order])
        keys = [key[rows] for key in self._keys]
        c = np.ones(rows.size) if weights is None else weights[rows].astype(np.float64)
        for _ in range(2):  # the second time without rows that are in no pair
            new = np.zeros(rows.size, dtype=bool)
            for key in keys:
                new[1:] |= key[1:] != key[:-1]
            new[:1] = True
            group, starts = np.cumsum(new) - 1, np.flatnonzero(new)
            parts = np.ones(1, dtype=np.intp)[: starts.size]
            if self.stratum is not None:
                parts = np.diff(keys[2][starts], prepend=-1) != 0
            event, mass = keys[0][starts].astype(np.float64), np.bincount(group, c, starts.size)
            stratum = np.cumsum(parts) - 1 if self.stratum is not None else np.zeros(starts.size, dtype=np.intp)
            below, above = _sums_beside(mass, event, stratum)
            used = (event * below + above > 0.0)[group]
            if used.all():
                break
            rows, c, keys = rows[used], c[used], [key[used] for key in keys]
        pairs = event * mass * below
        factor = np.ones(starts.size)
        if self.same_strata and starts.size:
            inside = np.bincount(stratum, pairs)
            factor = (1.0 / np.where(inside > 0.0, inside, 1.0))[stratum]
        of_weights = 0.0 if weights is None else gamma(rows.size + 8)
        if self.same_strata:
            of_weights += gamma(rows.size + 8)
        total, share = float(pairs.sum()), 4.0 * of_weights
        return SortedGroups(rows, c, group, stratum, event, below, above, mass, factor, total, share)


def rising(rank: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """The order of rows by rank and then by `ties`: if no ranks are equal, a faster sort is enough."""
    order = np.argsort(rank)
    different = (rank[order[1:]] > rank[order[:-1]]).all()
    return order if different else np.lexsort((ties, rank))


def _sums_beside(mass: np.ndarray, event: np.ndarray, stratum: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weight of the groups below each one in its stratum, and of those above it that have events."""
    sizes = np.bincount(stratum) if stratum.size else np.zeros(0, dtype=np.intp)
    starts = np.cumsum(sizes) - sizes
    above = _running((mass * event)[::-1], (mass.size - np.cumsum(sizes))[::-1])[::-1]
    return _running(mass, starts), above


def _running(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """For each value the sum of the values before it in its part; parts begin at `starts`."""
    sums = np.zeros_like(values)
    sizes = np.diff(starts, append=len(values))
    if starts.size == 1 or sizes.max(initial=0) > SMALL_STRATUM:
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            if size > 1:
                np.cumsum(values[start : start + size - 1], out=sums[start + 1 : start + size])
        return sums
    here = starts[sizes > 1] + 1
    ends = (starts + sizes)[sizes > 1]
    while here.size:
        sums[here] = sums[here - 1] + values[here - 1]
        here, ends = here[here + 1 < ends] + 1, ends[here + 1 < ends]
    return sums


class PairMoments(ClassMoments):
    """What the squared pair loss needs of the pairs of a `RankedPairs`, in place of two classes.

    The differences x_i - x_j are one class, `differences`: its mean is δ and its scatter Σ times its weight. Moments of
    whole strata can be added and subtracted. `means` are those of the lower and of the upper rows, and p q is
    κ = Σ c_i c_j / (Σ c)², the share of all ordered pairs that count.
    """

    _sums_over = "pairs of rows"

    def __init__(self, n_features: int, *, classes: Any = (False, True), scatter: bool = True):
        self.n_features, self.half_life, self.has_scatter = n_features, None, scatter
        self.classes = self._known = np.asarray(classes)
        self.differences = ClassStatistics.empty(n_features, scatter)
        self.total, self.pairs, self.middle = 0.0, 0.0, np.zeros(n_features)  # Σ c, Σ c_i c_j, Σ (x_i + x_j)/2
        self.of_weights = 0.0

    @classmethod
    def of_pairs(
        cls, pairs: RankedPairs, X: Any, weights: np.ndarray | None = None, index: np.ndarray | None = None, **more: Any
    ) -> PairMoments:
        """Gather the pairs among the rows of X (or among the rows `index`), in one pass."""
        new = cls(X.shape[1], **more)
        rows = slice(None) if index is None else index
        new.total = float(pairs.rank[rows].size if weights is None else weights[rows].sum())
        groups = pairs.groups(weights, index)
        new.pairs, new.of_weights = groups.pairs, groups.of_weights
        if groups.rows.size:
            with np.errstate(over="ignore", invalid="ignore"):  # `check_range` reports it
                new._gather(groups, X)
            check_range(new.differences, forgets=True)
        return new

    def _gather(self, groups: SortedGroups, X: Any) -> None:
        d, walk = X.shape[1], _Walk(groups, X)
        pilot = np.zeros(d)
        if not walk.grows:  # rows about the mean of the first ones: a large mean costs no digits
            first = walk.gather(pilot, self.has_scatter, walk.edges[:2])
            pilot = first.sums / max(first.mass, 1e-300)
        threads = blas_thread_count() if self.has_scatter and groups.rows.size * d * d >= THREAD_PRODUCTS else 1
        parts = walk.parts(threads)
        if len(parts) == 1:
            found = [walk.gather(pilot, self.has_scatter, parts[0])]
        else:
            with blas_threads(1), ThreadPoolExecutor(threads, "vrspam pairs") as pool:
                found = list(pool.map(lambda part: walk.gather(pilot, self.has_scatter, part), parts))
        own, sums = sum(part.own for part in found), sum(part.sums for part in found)
        level = np.max([part.level for part in found], axis=0)
        self.middle = sum((part.middle for part in found), self.middle)
        weight = float(walk.table[3].sum())
        self.differences = walk.statistics(own, sums, weight, level, pilot)

    # Moments of whole strata can be added and subtracted.

    def copy(self) -> PairMoments:
        """An independent copy."""
        new = PairMoments(self.middle.size, classes=self.classes, scatter=self.has_scatter)
        new._join(self, 1)
        return new

    def _join(self, other: Any, sign: int) -> None:
        if sign > 0:
            self.differences.merge(other.differences, of_differences=True)
        else:
            self.differences.remove(other.differences, of_differences=True)
        self.classes = self._known = union_of_labels(self.classes, other.classes)
        self.middle = self.middle + sign * other.middle
        for name in ("total", "pairs"):
            setattr(self, name, max(getattr(self, name) + sign * getattr(other, name), 0.0))
        self.of_weights = max(self.of_weights, other.of_weights) + gamma(8)

    def add_checked(self, *rows: Any, **more: Any) -> PairMoments:
        """Refuse rows: they could be in pairs with rows that are gone."""
        raise ValueError("These are sums over pairs of rows, to which no rows can be added: fit all rows at once.")

    def save(self, path: Any) -> None:
        """Refuse to be written to a file."""
        raise ValueError("Sums over pairs of rows cannot be saved: save the fitted model instead.")

    def __add__(self, other: ClassMoments) -> PairMoments:
        if not isinstance(other, ClassMoments):
            return NotImplemented
        self._check_alike(other)
        new = self.copy()
        new._join(other, 1)
        return new

    def take_out(self, other: ClassMoments) -> PairMoments:
        """Subtract pairs that were added before, in place."""
        self._check_alike(other)
        own_arrays(self.differences)  # before they are written to
        self._join(other, -1)
        return self

    def __eq__(self, other: object) -> bool:
        """Equal up to rounding, in whichever order strata were added."""
        if not isinstance(other, PairMoments) or not super().__eq__(other):
            return False
        return same(self.differences, other.differences) and bool(np.isclose(self.pairs, other.pairs, rtol=1e-9))

    # What the loss needs.

    @property
    def complete(self) -> bool:
        """Whether there is any pair."""
        return self.differences.weight > 0.0

    @property
    def within(self) -> np.ndarray:
        """The covariance of x_i - x_j over the pairs, shape (d, d)."""
        self._both(with_scatter=True)
        return self.differences.scatter / self.differences.weight

    @property
    def within_on_device(self) -> None:
        """None: the matrices are on the host."""
        return

    @property
    def scatters(self) -> np.ndarray:
        """Refused: the differences have one scatter, and no two classes have theirs."""
        raise ValueError("Sums over pairs of rows have no scatter of either class: read `within` instead.")

    def pair_statistics(self) -> PairStatistics:
        """κ as p with q = 1, the means of lower and upper rows, their difference and the diagonal of `within`."""
        s = self.differences
        if not self.complete:
            raise ValueError("No pair of rows counts.")
        delta, middle = s.mean + s.low, self.middle / s.weight
        kappa, diagonal = self.pairs / self.total / self.total, np.maximum(s.diagonal / s.weight, 0.0)
        return PairStatistics(kappa, 1.0, np.stack([middle - delta / 2, middle + delta / 2]), delta, diagonal)

    def pair_errors(self) -> PairErrors:
        """How far rounding may have moved each of the statistics."""
        s, share = self.differences, 4.0 * self.of_weights + 16.0 * UNIT
        delta = s.errors.mean + 4.0 * UNIT * np.abs(s.mean)
        within = (1.01 * s.errors.scatter + share * (s.diagonal + s.errors.scatter)) / s.weight
        of_means = delta + (self.of_weights + gamma(s.rows + 8)) * np.abs(self.means)
        return PairErrors(share, of_means, delta, np.minimum(within, UNKNOWN_SCATTER))

    @property
    def _stats(self) -> list[ClassStatistics]:  # type: ignore[override]
        """Lower and upper rows as two classes, each with half of the variance of the differences."""
        if not self.complete:
            return [ClassStatistics.empty(self.middle.size, False)] * 2
        statistics, errors = self.pair_statistics(), self.pair_errors()
        weight, rows = self.total / 2.0, max(self.differences.rows // 2, 1)
        spread, zero = statistics.within_diagonal / 2.0 * weight, np.zeros_like(self.middle)
        bounds = Errors(0.0, errors.means.max(axis=0), errors.within / 2.0 * weight)
        return [
            ClassStatistics(rows, weight, mean, spread, spread, low=zero, errors=bounds) for mean in statistics.means
        ]

    @property
    def cancellation(self) -> float:
        """The largest scatter so far over the present one (at least the mean over columns), for the worst column."""
        now = np.maximum(np.maximum(self.differences.diagonal, self.differences.diagonal.mean()), 1e-300)
        with np.errstate(over="ignore"):
            return float(np.max(self.differences.peak / now, initial=1.0))


class _Sums(NamedTuple):
    """Sums over some of the rows that `pair_rows` makes, about a pilot mean."""

    own: np.ndarray  # products
    sums: np.ndarray  # of differences,
    mass: float  # and their weight
    level: np.ndarray  # the largest entry of each column, about the centres of the strata
    middle: np.ndarray


class _Walk:
    """The sorted rows, some at a time; a stratum, and a group, may go on in the next chunk."""

    def __init__(self, groups: SortedGroups, X: Any):
        self.groups, self.X = groups, X
        self.direct = isinstance(X, np.ndarray) and X.flags.c_contiguous
        n, d = groups.rows.size, X.shape[1]
        self.step = min(max(64, CHUNK_BYTES // (8 * max(d, 1))), n)
        self.edges = [*range(0, n, self.step), n]
        sizes = np.bincount(groups.group)
        ends = np.cumsum(sizes)
        self.bounds = np.append((ends - sizes)[np.flatnonzero(np.diff(groups.stratum, prepend=-1))], n)
        growing = groups.above * groups.mass * (groups.below / (groups.below + groups.mass)) * groups.factor
        self.grows = bool(np.any(growing > 0.0))
        each = groups.factor * groups.event * groups.mass * groups.below
        self.table = np.stack([groups.stratum, ends, groups.touched, each, growing, groups.below]).astype(np.float64)

    def parts(self, threads: int) -> list[list[int]]:
        """Edges of chunks for each thread; strata stay whole."""
        cuts = self.bounds[np.searchsorted(self.bounds, [self.edges[-1] * k // threads for k in range(threads)])]
        cuts = np.unique([0, *cuts, self.edges[-1]])
        return [[*range(first, last, self.step), last] for first, last in pairwise(cuts.tolist())]

    def gather(self, pilot: np.ndarray, full: bool, edges: list[int]) -> _Sums:
        """Sum over some chunks; the first chunk begins with a stratum."""
        groups, d = self.groups, self.X.shape[1]
        own, state, out = np.zeros((d, d) if full else d), np.zeros((3, d + 1)), np.empty((2 * self.step + 2, d))
        level, sums, middle = np.zeros((3, d))
        for first, last in pairwise(edges):
            X, places, offset = self.X, groups.rows, 0
            if not self.direct:
                X, places, offset = self._read(groups.rows[first:last]), np.arange(last), first
            carried = (self.bounds, self.table, pilot, state, level, sums, middle, out)
            count = kernels.pair_rows(X, places, offset, first, last, groups.group, groups.weight, *carried)
            rows = out[:count]
            own += rows.T @ rows if full else np.einsum("ij,ij->j", rows, rows)
        begun = slice(groups.group[edges[0]], groups.group[edges[-1] - 1] + 1)
        return _Sums(own, sums, float(self.table[3, begun].sum()), level, middle)

    def _read(self, index: np.ndarray) -> np.ndarray:
        rows = self.X[index]
        rows = rows.toarray() if sparse.issparse(rows) else rows
        return np.ascontiguousarray(rows, dtype=np.float64)

    def statistics(self, own: Any, sums: Any, weight: float, level: np.ndarray, pilot: np.ndarray) -> ClassStatistics:
        """The differences as one class, with bounds on their rounding errors."""
        groups, residual = self.groups, sums / weight
        chunks = len(self.edges)
        squares = (own.diagonal() if own.ndim == 2 else own).copy()
        # The error of an entry of a row, from the rounding of a mean or of a sum of rows below.
        of_row = (8.0 * gamma(2 * self.step + chunks + 8) + 2.0 * groups.of_weights) * 2.0 * level
        operations = 2 * self.step + 2 + chunks
        errors = Errors.of_block(operations, weight, squares, residual, of_weight=0.0, of_weights=groups.of_weights)
        mass = float(groups.touched @ groups.mass + self.table[3].sum() + self.table[4].sum())  # of all rows made
        errors.mean += of_row + 4.0 * UNIT * np.abs(pilot)
        # A column whose differences are all alike has squares of rounding alone: its entries give its size, not these.
        size = np.maximum(squares, mass * level**2)
        errors.scatter += of_rank_one(1.0, 0.0, np.sqrt(squares), np.sqrt(mass) * of_row, size)
        found = ClassStatistics.empty(level.size, own.ndim == 2)
        mean, low = two_sum(pilot, residual)
        peak = np.maximum(squares - weight * residual**2, 0.0)
        block = ClassStatistics(groups.rows.size, weight, mean, own, peak, low=low, errors=errors)
        found.merge(block, residual)
        found.clip_diagonal()
        return found
