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
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from vrspam import kernels
from vrspam._utils.arrays import own_arrays
from vrspam._utils.blas import blas_thread_count, blas_threads
from vrspam._utils.validation import union_of_labels
from vrspam.comparable import Comparable, comparable, rising_order
from vrspam.moments._gather import THREAD_PRODUCTS
from vrspam.moments._rounding import UNIT, UNKNOWN_SCATTER, Errors, gamma, of_rank_one, two_sum
from vrspam.moments._statistics import ClassStatistics, check_range, same
from vrspam.moments.base import NO_MATRIX, AddableSums, PairErrors, PairStatistics, PairSums, check_alike

CHUNK_BYTES = 1 << 21  # rows that are sorted, centred and multiplied at once: they stay in the cache meanwhile


@dataclass(frozen=True, eq=False)
class RankedPairs:
    """The pairs of rows that count, as the head of this module defines them; arrays have one entry for each row."""

    rank: np.ndarray
    event: np.ndarray
    stratum: np.ndarray | None = None  # numbers; None for one stratum
    same_strata: bool = False  # whether each stratum weighs the same, whatever its number of pairs

    def take(self, index: np.ndarray) -> Self:
        """The pairs of some of the rows."""
        stratum = None if self.stratum is None else self.stratum[index]
        return type(self)(self.rank[index], self.event[index], stratum, self.same_strata)

    @cached_property
    def _order(self) -> np.ndarray:
        """All rows from the lowest to the highest, stratum by stratum."""
        return rising_order(self.rank, self.event, self.stratum)

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
        groups = self.groups(weights, index)
        share = np.full(self.rank.size, np.nan)
        mass = np.full(self.rank.size, np.nan)
        share[groups.rows] = (groups.factor * groups.event * groups.below / groups.touched)[groups.group]
        mass[groups.rows] = groups.touched[groups.group]
        return share, mass

    def pairs_of_strata(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The weight of the pairs of each stratum, by its number."""
        groups = self.groups(weights)
        if self.stratum is None:
            return np.array([groups.pairs])
        numbers = self.stratum[groups.rows][np.searchsorted(groups.group, np.arange(groups.stratum.size))]
        return np.bincount(numbers, groups.pairs_of_groups, int(self.stratum.max()) + 1)

    def has_pair(self, index: np.ndarray, inside: np.ndarray) -> bool:
        """Whether any pair is among these rows, all with weight; `inside` is the weight of pairs in each stratum."""
        if self.stratum is not None:
            return bool(inside[self.stratum[index]].any())
        rank, event = self.rank[index], self.event[index]
        if not event.any():
            return False
        lowest, highest = rank.min(), rank[event].max()
        return bool(highest > lowest or not event[rank == lowest].all())

    def error_of_weights(self, n_rows: int, weights: np.ndarray | None) -> float:
        """The relative error of the weights of pairs, four times that of a sum over the rows."""
        sums = float(weights is not None) + float(self.same_strata)
        return 4.0 * sums * gamma(n_rows + 8)

    def groups(self, weights: np.ndarray | None = None, index: np.ndarray | None = None) -> Comparable:
        """Sort the rows (or only the rows `index`), and leave out those that are in no pair."""
        if index is not None:
            return self._sorted(weights, index)
        remembered = self.__dict__.get("_all")  # of the same weights: most are asked for again and again
        if remembered is None or remembered[0] is not weights:
            remembered = (weights, self._sorted(weights, np.arange(self.rank.size)))
            self.__dict__["_all"] = remembered
        return remembered[1]

    def _sorted(self, weights: np.ndarray | None, index: np.ndarray) -> Comparable:
        """The rows `index`, which may name a row several times."""
        if weights is not None:
            index = index[weights[index] > 0.0]
        times = np.bincount(index, minlength=self.rank.size)
        rows = np.repeat(self._order, times[self._order])
        return comparable(rows, self.rank, self.event, self.stratum, weight=weights, same_strata=self.same_strata)


class PairMoments(AddableSums):
    """What the squared pair loss needs of the pairs of a `RankedPairs`, in place of two classes.

    The differences x_i - x_j are one class, `differences`: its mean is δ and its scatter Σ times its weight. Moments of
    whole strata can be added and subtracted. `means` are those of the lower and of the upper rows, and p q is
    κ = Σ c_i c_j / (Σ c)², the share of all ordered pairs that count.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, n_features: int, *, classes: Any = (False, True), scatter: bool = True):
        self.n_features = n_features
        self.has_scatter = scatter
        self.classes = np.asarray(classes)
        self.differences = ClassStatistics.empty(n_features, scatter)
        self.total = 0.0  # Σ c
        self.pairs = 0.0  # Σ c_i c_j
        self.middle = np.zeros(n_features)  # Σ (x_i + x_j)/2
        self.of_weights = 0.0  # the relative error of the weights of pairs

    @classmethod
    def of_pairs(
        cls,
        pairs: RankedPairs,
        X: Any,
        weights: np.ndarray | None = None,
        index: np.ndarray | None = None,
        *,
        classes: Any = (False, True),
        scatter: bool = True,
    ) -> PairMoments:
        """Gather the pairs among the rows of X (or among the rows `index`), in one pass."""
        new = cls(X.shape[1], classes=classes, scatter=scatter)
        if weights is None:
            new.total = float(pairs.rank.size if index is None else index.size)
        else:
            new.total = float((weights if index is None else weights[index]).sum())
        groups = pairs.groups(weights, index)
        new.pairs = groups.pairs
        new.of_weights = pairs.error_of_weights(groups.rows.size, weights)
        if groups.rows.size:
            with np.errstate(over="ignore", invalid="ignore"):  # `check_range` reports it
                new._gather(groups, X)
            check_range(new.differences, forgets=True)
        return new

    def _gather(self, groups: Comparable, X: Any) -> None:
        d = X.shape[1]
        walk = _Walk(groups, X, self.of_weights)
        pilot = np.zeros(d)
        if not walk.grows:  # rows about the mean of the first ones: a large mean costs no digits
            first = walk.gather(pilot, self.has_scatter, walk.edges[:2])
            pilot = first.sums / max(first.mass, 1e-300)
        is_large = self.has_scatter and groups.rows.size * d * d >= THREAD_PRODUCTS
        threads = blas_thread_count() if is_large else 1
        parts = walk.parts(threads)
        if len(parts) == 1:
            gathered = [walk.gather(pilot, self.has_scatter, parts[0])]
        else:
            with blas_threads(1), ThreadPoolExecutor(threads, "vrspam pairs") as pool:
                gathered = list(pool.map(lambda part: walk.gather(pilot, self.has_scatter, part), parts))
        self.middle = sum((part.middle for part in gathered), self.middle)
        self.differences = walk.statistics(gathered, pilot)

    # Moments of whole strata can be added and subtracted.

    def copy(self) -> PairMoments:
        """An independent copy."""
        new = PairMoments(self.middle.size, classes=self.classes, scatter=self.has_scatter)
        new._join(self, 1)
        return new

    def _join(self, other: PairMoments, sign: int) -> None:
        """Add, or subtract, the pairs of other strata."""
        if sign > 0:
            self.differences.merge(other.differences, of_differences=True)
        else:
            self.differences.remove(other.differences, of_differences=True)
        self.classes = union_of_labels(self.classes, other.classes)
        self.middle = self.middle + sign * other.middle
        self.total = max(self.total + sign * other.total, 0.0)
        self.pairs = max(self.pairs + sign * other.pairs, 0.0)
        self.of_weights = max(self.of_weights, other.of_weights) + gamma(8)

    def take_out(self, other: PairSums) -> PairMoments:
        """Subtract pairs that were added before, in place."""
        others = self._checked(other)
        own_arrays(self.differences)  # before they are written to
        self._join(others, -1)
        return self

    def _checked(self, other: PairSums) -> PairMoments:
        """Other sums that can be combined with these."""
        if not isinstance(other, PairMoments):
            raise ValueError(
                "Moments of two classes and sums over pairs of rows cannot be combined: gather both with strata, or "
                "both without."
            )
        check_alike(self, other)
        return other

    def __add__(self, other: object) -> PairMoments:
        if not isinstance(other, PairSums):
            return NotImplemented
        new = self.copy()
        new._join(self._checked(other), 1)
        return new

    def __sub__(self, other: object) -> PairMoments:
        if not isinstance(other, PairSums):
            return NotImplemented
        return self.copy().take_out(other)

    __radd__ = __add__

    def __rsub__(self, other: object) -> PairMoments:
        if not isinstance(other, PairSums):
            return NotImplemented
        return self._checked(other) - self

    def __eq__(self, other: object) -> bool:
        """Equal up to rounding, in whichever order strata were added."""
        if not isinstance(other, PairMoments):
            return NotImplemented
        if (self.n_features, self.has_scatter) != (other.n_features, other.has_scatter):
            return False
        if not np.array_equal(self.classes, other.classes):
            return False
        return same(self.differences, other.differences) and bool(np.isclose(self.pairs, other.pairs, rtol=1e-9))

    def __repr__(self) -> str:
        return f"PairMoments(n_features={self.n_features}, pairs={self.pairs:g}, scatter={self.has_scatter})"

    def update(self, *rows: Any) -> PairMoments:
        """Refuse rows: they could be in pairs with rows that are gone."""
        raise ValueError("These are sums over pairs of rows, to which no rows can be added: fit all rows at once.")

    add_checked = update

    def save(self, path: Any) -> None:
        """Refuse to be written to a file."""
        raise ValueError("Sums over pairs of rows cannot be saved: save the fitted model instead.")

    # What the loss needs.

    @property
    def complete(self) -> bool:
        """Whether there is any pair."""
        return self.differences.weight > 0.0

    @property
    def within(self) -> np.ndarray:
        """The covariance of x_i - x_j over the pairs, shape (d, d)."""
        if not self.has_scatter:
            raise ValueError(NO_MATRIX)
        self._check_complete()
        return self.differences.scatter / self.differences.weight

    @property
    def within_on_device(self) -> None:
        """None: the matrices are on the host."""
        return

    @property
    def scatters(self) -> np.ndarray:
        """Refused: the differences have one scatter, and no two classes have theirs."""
        raise ValueError("Sums over pairs of rows have no scatter of either class: read `within` instead.")

    def _check_complete(self) -> None:
        if not self.complete:
            raise ValueError("No pair of rows counts.")

    def pair_statistics(self) -> PairStatistics:
        """κ as p with q = 1, the means of lower and upper rows, their difference and the diagonal of `within`."""
        self._check_complete()
        s = self.differences
        delta = s.mean + s.low
        middle = self.middle / s.weight
        return PairStatistics(
            p=self.pairs / self.total / self.total,
            q=1.0,
            means=np.stack([middle - delta / 2, middle + delta / 2]),
            delta=delta,
            within_diagonal=np.maximum(s.diagonal / s.weight, 0.0),
        )

    def pair_errors(self) -> PairErrors:
        """How far rounding may have moved each of the statistics."""
        s = self.differences
        share = 4.0 * self.of_weights + 16.0 * UNIT
        delta = s.errors.mean + 4.0 * UNIT * np.abs(s.mean)
        within = (1.01 * s.errors.scatter + share * (s.diagonal + s.errors.scatter)) / s.weight
        of_means = delta + (self.of_weights + gamma(s.rows + 8)) * np.abs(self.means)
        return PairErrors(share, of_means, delta, np.minimum(within, UNKNOWN_SCATTER))

    def sides(self) -> tuple[ClassStatistics, ClassStatistics]:
        """Lower and upper rows as two classes, each with half of the rows and half of the variance of the differences.

        They have no scatter matrices.
        """
        statistics = self.pair_statistics()
        errors = self.pair_errors()
        weight = self.total / 2.0
        spread = statistics.within_diagonal / 2.0 * weight
        lower, upper = (
            ClassStatistics(
                rows=max(self.differences.rows // 2, 1),
                weight=weight,
                mean=mean,
                scatter=spread,
                peak=spread,
                low=np.zeros_like(mean),
                errors=Errors(0.0, errors.means.max(axis=0), errors.within / 2.0 * weight),
            )
            for mean in statistics.means
        )
        return lower, upper

    @property
    def rows(self) -> np.ndarray:
        """Half of the rows in some pair, as lower and as upper rows."""
        return np.array([side.rows for side in self.sides()]) if self.complete else np.zeros(2, dtype=int)

    @property
    def weights(self) -> np.ndarray:
        """Half of the weight of all rows, twice."""
        return np.full(2, self.total / 2.0 if self.complete else 0.0)

    @property
    def variances(self) -> np.ndarray:
        """Half of the variance of the differences, twice, shape (2, d)."""
        return np.stack([self.within_diagonal / 2.0] * 2)

    @property
    def offsets(self) -> np.ndarray:
        """Zeros: `means` have all digits."""
        return np.zeros((2, self.middle.size))

    @property
    def rounding(self) -> float:
        """0: rows are multiplied in float64."""
        return self.differences.rounding

    @property
    def cancellation(self) -> float:
        """The largest scatter so far over the present one (at least the mean over columns), for the worst column."""
        return self.differences.cancellation


class _Sums(NamedTuple):
    """Sums over some of the rows that `pair_rows` makes, about a pilot mean."""

    own: np.ndarray  # products
    sums: np.ndarray  # of differences,
    mass: float  # and their weight
    level: np.ndarray  # the largest entry of each column, about the centres of the strata
    middle: np.ndarray


class _Walk:
    """The sorted rows, some at a time; a stratum, and a group, may go on in the next chunk."""

    def __init__(self, groups: Comparable, X: Any, of_weights: float):
        self.groups = groups
        self.X = X
        self.of_weights = of_weights
        self.direct = isinstance(X, np.ndarray) and X.flags.c_contiguous
        n, d = groups.rows.size, X.shape[1]
        self.step = min(max(64, CHUNK_BYTES // (8 * max(d, 1))), n)
        self.edges = [*range(0, n, self.step), n]

        sizes = np.bincount(groups.group)
        ends = np.cumsum(sizes)
        begins_stratum = np.diff(groups.stratum, prepend=-1) != 0
        self.bounds = np.append((ends - sizes)[begins_stratum], n)  # where strata begin
        # The three kinds of weighted rows whose squares add up to those of the pairs (head of this module).
        self.differing = groups.factor * groups.event * groups.mass * groups.below
        self.growing = groups.above * groups.mass * (groups.below / (groups.below + groups.mass)) * groups.factor
        self.grows = bool(np.any(self.growing > 0.0))
        columns = [groups.stratum, ends, groups.touched, self.differing, self.growing, groups.below]
        self.table = np.stack(columns).astype(np.float64)

    def parts(self, threads: int) -> list[list[int]]:
        """Edges of chunks for each thread; strata stay whole."""
        n = self.edges[-1]
        even = [n * k // threads for k in range(threads)]
        cuts = np.unique([0, *self.bounds[np.searchsorted(self.bounds, even)], n])
        return [[*range(first, last, self.step), last] for first, last in pairwise(cuts.tolist())]

    def gather(self, pilot: np.ndarray, full: bool, edges: list[int]) -> _Sums:
        """Sum over some chunks; the first chunk begins with a stratum."""
        groups = self.groups
        d = self.X.shape[1]
        products = np.zeros((d, d) if full else d)
        state = np.zeros((3, d + 1))  # what the kernel carries from chunk to chunk
        out = np.empty((2 * self.step + 2, d))
        level, sums, middle = np.zeros((3, d))
        carried = (self.bounds, self.table, pilot, state, level, sums, middle, out)
        for first, last in pairwise(edges):
            if self.direct:
                X, places, offset = self.X, groups.rows, 0
            else:
                X, places, offset = self._read(groups.rows[first:last]), np.arange(last), first
            count = kernels.pair_rows(X, places, offset, first, last, groups.group, groups.weight, *carried)
            rows = out[:count]
            products += rows.T @ rows if full else np.einsum("ij,ij->j", rows, rows)
        begun = slice(groups.group[edges[0]], groups.group[edges[-1] - 1] + 1)
        return _Sums(products, sums, float(self.differing[begun].sum()), level, middle)

    def _read(self, index: np.ndarray) -> np.ndarray:
        """Some rows, dense, by rows and in float64."""
        rows = self.X[index]
        if sparse.issparse(rows):
            rows = rows.toarray()
        return np.ascontiguousarray(rows, dtype=np.float64)

    def statistics(self, gathered: list[_Sums], pilot: np.ndarray) -> ClassStatistics:
        """The differences as one class, with bounds on their rounding errors."""
        groups = self.groups
        own: Any = sum(part.own for part in gathered)
        level = np.max([part.level for part in gathered], axis=0)
        weight = float(self.differing.sum())
        residual: Any = sum(part.sums for part in gathered) / weight
        squares = (own.diagonal() if own.ndim == 2 else own).copy()
        chunks = len(self.edges)
        operations = 2 * self.step + 2 + chunks
        errors = Errors.of_block(operations, weight, squares, residual, of_weight=0.0, of_weights=self.of_weights)
        # The error of an entry of a row, from the rounding of a mean or of a sum of rows below.
        of_row = (8.0 * gamma(2 * self.step + chunks + 8) + 2.0 * self.of_weights) * 2.0 * level
        errors.mean += of_row + 4.0 * UNIT * np.abs(pilot)
        # A column whose differences are all alike has squares of rounding alone: its entries give its size, not these.
        mass = float(groups.touched @ groups.mass + self.differing.sum() + self.growing.sum())  # of all rows made
        size = np.maximum(squares, mass * level**2)
        errors.scatter += of_rank_one(1.0, 0.0, np.sqrt(squares), np.sqrt(mass) * of_row, size)

        mean, low = two_sum(pilot, residual)
        block = ClassStatistics(
            rows=groups.rows.size,
            weight=weight,
            mean=mean,
            scatter=own,
            peak=np.maximum(squares - weight * residual**2, 0.0),
            low=low,
            errors=errors,
        )
        statistics = ClassStatistics.empty(level.size, own.ndim == 2)
        statistics.merge(block, residual)
        statistics.clip_diagonal()
        return statistics
