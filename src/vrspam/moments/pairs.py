"""Sums over any ordered pairs of rows: inside strata, or of a numeric target with censored rows.

A pair (i, j) counts, and row i should score higher, if both rows are of one stratum, row i may be above (it has its
event), and it ranks higher: `rank` is larger or, where it is equal, row j may not be above. Pairs weigh c_i c_j. Rows
are sorted from the lowest to the highest; rows that are equal in stratum, rank and event are one group g, no two of
which are a pair. With w, μ, S the weight, mean and scatter of a group, N and m the weight and mean of the rows below it
in its stratum, b the weight of rows with an event above it, and e = 1 if its rows have their event,

    Σ c_i c_j (x_i - x_j)(x_i - x_j)ᵀ  =  Σ_g (e N + b) S_g  +  (e w N + b w N/(N + w)) (μ_g - m_g)(μ_g - m_g)ᵀ,
    Σ c_i c_j (x_i - x_j)              =  Σ_g e w N (μ_g - m_g)

over all pairs that count: an event has N rows below it, whose scatter about their own mean grows group by group
(docs/theory.md has the proof). All terms are squares, so nothing cancels. No array of pairs is made; X is read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam.moments._rounding import UNIT, UNKNOWN_SCATTER, Errors, gamma, of_rank_one
from vrspam.moments._statistics import ClassStatistics, check_range
from vrspam.moments.class_moments import ClassMoments, PairErrors, PairStatistics

CHUNK_BYTES = 1 << 21  # rows that are sorted, centred and multiplied at once: they stay in the cache meanwhile
SMALL_STRATUM = 64  # rows up to which a stratum is centred at its first row, and larger ones at the mean of so many


class SortedGroups(NamedTuple):
    """The rows that are in some pair, from the lowest to the highest in each stratum, and the sums of their weights."""

    rows: np.ndarray  # their numbers
    weight: np.ndarray  # c
    group: np.ndarray  # the number of the group of each row
    stratum: np.ndarray  # the number of the stratum of each group; groups of a stratum lie side by side
    event: np.ndarray  # e of each group, as all that follow
    below: np.ndarray  # N
    above: np.ndarray  # b
    mass: np.ndarray  # w
    factor: np.ndarray  # what pairs of the stratum weigh: 1, or 1 over their number
    pairs: float  # Σ c_i c_j over the pairs, without the factor
    of_weights: float  # relative error of all these weights

    @property
    def touched(self) -> np.ndarray:
        """e N + b: the weight of the pairs of a row, over its own."""
        return self.factor * (self.event * self.below + self.above)

    def beside(self, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums of `mass` over the groups below each one in its stratum, and over those above it that have events."""
        return _sums_beside(mass, self.event, self.stratum)


@dataclass(frozen=True, eq=False)
class RankedPairs:
    """Which pairs of rows count: see the formulas of this module; all fields have one entry for each row."""

    rank: np.ndarray
    event: np.ndarray
    stratum: np.ndarray | None = None  # numbers; None for one stratum
    same_strata: bool = False  # whether each stratum weighs the same, whatever its number of pairs

    def take(self, index: np.ndarray) -> RankedPairs:
        """The pairs of some of the rows."""
        stratum = None if self.stratum is None else self.stratum[index]
        return RankedPairs(self.rank[index], self.event[index], stratum, self.same_strata)

    @cached_property
    def upper(self) -> np.ndarray:
        """Which rows are above others in more pairs than below others: two classes that stand for the target."""
        groups, found = self.groups(), np.zeros(self.rank.size, dtype=bool)
        found[groups.rows] = (groups.event * groups.below > groups.above)[groups.group]
        return found

    def pairs_of_strata(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The weight of the pairs of each stratum, by its number."""
        groups = self.groups(weights)
        names = np.zeros(1, dtype=np.intp) if self.stratum is None else self.stratum[groups.rows]
        first = np.flatnonzero(np.diff(groups.group, prepend=-1))
        each = groups.event * groups.mass * groups.below
        count = 1 if self.stratum is None else int(self.stratum.max()) + 1
        return np.bincount(names[first] if self.stratum is not None else 0 * first, each, count)

    def groups(self, weights: np.ndarray | None = None, index: np.ndarray | None = None) -> SortedGroups:
        """Sort the rows (of those numbered by `index`), and leave out those that are in no pair."""
        rows = np.arange(self.rank.size) if index is None else index
        if weights is not None:
            rows = rows[weights[rows] > 0.0]
        keys = [self.event[rows], self.rank[rows]] + ([] if self.stratum is None else [self.stratum[rows]])
        order = np.lexsort(keys)
        rows, keys = rows[order], [key[order] for key in keys]
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


def _sums_beside(mass: np.ndarray, event: np.ndarray, stratum: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weight of the groups below each one in its stratum, and of those above it that have events."""
    sizes = np.bincount(stratum) if stratum.size else np.zeros(0, dtype=np.intp)
    starts = np.cumsum(sizes) - sizes
    below = _running(mass[:, np.newaxis], starts)[:, 0]
    above = _running((mass * event)[::-1, np.newaxis], (mass.size - np.cumsum(sizes))[::-1])[::-1, 0]
    return below, above


def _running(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums of the lines before each one in its part; parts begin at `starts`, and their sums do not mix."""
    sums = np.zeros_like(values)
    sizes = np.diff(starts, append=len(values))
    if starts.size == 1 or sizes.max(initial=0) > SMALL_STRATUM:
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            if size > 1:
                np.cumsum(values[start : start + size - 1], axis=0, out=sums[start + 1 : start + size])
        return sums
    here = starts[sizes > 1] + 1
    ends = (starts + sizes)[sizes > 1]
    while here.size:
        sums[here] = sums[here - 1] + values[here - 1]
        here, ends = here[here + 1 < ends] + 1, ends[here + 1 < ends]
    return sums


class PairMoments(ClassMoments):
    """What the squared pair loss needs of the pairs of a `RankedPairs`, in place of two classes.

    Moments of rows that hold whole strata add and subtract. `within` is the covariance of x_i - x_j over the pairs,
    `delta` its mean, `means` are those of the lower and of the upper rows, and p q is κ = Σ c_i c_j / (Σ c)², the share
    of all ordered pairs that count.
    """

    def __init__(self, n_features: int, *, classes: Any = (False, True), scatter: bool = True):
        self.n_features, self.half_life, self.has_scatter = n_features, None, scatter
        self.classes = self._known = np.asarray(classes)
        self.inner = ClassStatistics.empty(n_features, scatter)  # rows about the mean of their group
        self.between = ClassStatistics.empty(n_features, scatter)  # groups about the mean of the rows below
        self.total, self.pairs, self.mass = 0.0, 0.0, 0.0  # Σ c, Σ c_i c_j, and that with the factors of strata
        self.sums, self.middle = np.zeros((2, n_features))  # Σ (x_i - x_j), Σ (x_i + x_j)/2
        self.of_sums, self.of_rows, self.level = np.zeros((3, n_features))  # errors of sums, of rows, and sizes of x
        self.of_weights, self.grows, self.n_rows = 0.0, False, 0

    @classmethod
    def of_pairs(
        cls, pairs: RankedPairs, X: Any, weights: np.ndarray | None = None, index: np.ndarray | None = None, **more: Any
    ) -> PairMoments:
        """Gather the pairs among the rows of X (numbered by `index`), in one pass."""
        new = cls(X.shape[1], **more)
        rows = slice(None) if index is None else index
        new.total = float(pairs.rank[rows].size if weights is None else weights[rows].sum())
        with np.errstate(over="ignore", invalid="ignore"):  # `check_range` reports it
            new._gather(pairs.groups(weights, index), X)
        for statistics in (new.inner, new.between):
            check_range(statistics, forgets=True)
        return new

    def _gather(self, groups: SortedGroups, X: Any) -> None:
        self.n_rows, self.pairs, self.of_weights = groups.rows.size, groups.pairs, groups.of_weights
        each = groups.factor * groups.event * groups.mass * groups.below  # of the pairs below a group
        self.mass = float(each.sum())
        growing = groups.factor * groups.above * groups.mass * (groups.below / (groups.below + groups.mass))
        self.grows = bool(np.any(growing > 0.0))
        step = min(max(SMALL_STRATUM, CHUNK_BYTES // (8 * max(X.shape[1], 1))), max(self.n_rows, 1))
        state = _Walk(groups, X, step)
        touched = groups.touched
        for part in state:
            self.middle += part.middle
            self.level = np.maximum(self.level, part.level)
            if part.inner.size:
                scale = touched[part.inner_groups] * part.inner_weights
                self.inner.add_rows(part.inner, scale, groups.of_weights)
            ends = part.ends
            if ends.size:
                self.sums += each[ends] @ part.steps
                weight = each[ends] + growing[ends]
                used = weight > 0.0
                steps = part.steps if used.all() else part.steps[used]
                self.between.add_rows(steps, weight[used], groups.of_weights)
        # an entry of a row, of a mean or of a sum below it is rounded so often; the sums themselves once more
        of_row = (8.0 * gamma(2 * step + state.chunks + 8) + 2.0 * groups.of_weights) * self.level
        self.of_sums = self.mass * (of_row + (gamma(step + state.chunks + 8) + groups.of_weights) * 2.0 * self.level)
        weight = self.inner.weight + self.between.weight
        squares = self._squares()
        self.of_rows = of_rank_one(1.0, 0.0, np.sqrt(squares), np.sqrt(weight) * of_row, squares)

    def _squares(self) -> np.ndarray:
        """Sums of the squares of all rows that were multiplied, about 0."""
        found = np.zeros_like(self.sums)
        for s in (self.inner, self.between):
            found += s.diagonal + s.errors.scatter + s.weight * (s.mean + s.low) ** 2
        return found

    # Parts that hold whole strata add and subtract.

    def copy(self) -> PairMoments:
        """An independent copy."""
        new = PairMoments(self.sums.size, classes=self.classes, scatter=self.has_scatter)
        new._join(self, 1)
        return new

    def _join(self, other: PairMoments, sign: int) -> None:
        for mine, others in ((self.inner, other.inner), (self.between, other.between)):
            (mine.merge if sign > 0 else mine.remove)(others)
        self.sums, self.middle = self.sums + sign * other.sums, self.middle + sign * other.middle
        for name in ("total", "pairs", "mass", "n_rows"):
            setattr(self, name, max(getattr(self, name) + sign * getattr(other, name), 0))
        self.of_sums, self.of_rows = self.of_sums + other.of_sums, self.of_rows + other.of_rows
        self.of_sums = self.of_sums + 2.0 * UNIT * (np.abs(self.sums) + np.abs(other.sums))
        self.level, self.grows = np.maximum(self.level, other.level), self.grows or other.grows
        self.of_weights = max(self.of_weights, other.of_weights) + gamma(8)

    def add_checked(self, *rows: Any, **more: Any) -> PairMoments:
        """Refuse rows: they could be in pairs with rows that are gone."""
        raise ValueError("These are sums over pairs of rows, to which no rows can be added: fit all rows at once.")

    def save(self, path: Any) -> None:
        """Refuse to be written to a file."""
        raise ValueError("Sums over pairs of rows cannot be saved: save the fitted model instead.")

    def __add__(self, other: ClassMoments) -> PairMoments:
        new = self.copy()
        assert isinstance(other, PairMoments)
        new._join(other, 1)
        return new

    def take_out(self, other: ClassMoments) -> PairMoments:
        """Subtract pairs that were added before, in place."""
        assert isinstance(other, PairMoments)
        self._join(other, -1)
        return self

    # What the loss needs.

    @property
    def complete(self) -> bool:
        """Whether there is any pair."""
        return self.mass > 0.0

    @property
    def _delta(self) -> np.ndarray:
        return self.sums / self.mass if self.grows else self.between.mean + self.between.low

    @property
    def _of_delta(self) -> np.ndarray:
        own: Any = 0.0 if self.grows else self.between.errors.mean
        return own + self.of_sums / self.mass + 4.0 * UNIT * np.abs(self._delta)

    @cached_property
    def within(self) -> np.ndarray:
        """The covariance of x_i - x_j over the pairs, shape (d, d)."""
        self._both(with_scatter=True)
        matrix = self.inner.scatter + self.between.scatter
        centre = self.inner.mean + self.inner.low
        matrix += np.outer(self.inner.weight * centre, centre)
        if self.grows:
            mean = self.between.mean + self.between.low
            matrix += np.outer(self.between.weight * mean, mean) - np.outer(self.mass * self._delta, self._delta)
        matrix /= self.mass
        return np.asfortranarray(matrix)

    @property
    def within_on_device(self) -> None:
        """None: the matrices are on the host."""
        return

    @property
    def _diagonal(self) -> np.ndarray:
        found = (
            self.inner.diagonal + self.between.diagonal + self.inner.weight * (self.inner.mean + self.inner.low) ** 2
        )
        if self.grows:
            found = found + self.between.weight * (self.between.mean + self.between.low) ** 2
            found -= self.mass * self._delta**2
        return np.maximum(found / self.mass, 0.0)

    def pair_statistics(self) -> PairStatistics:
        """κ as p with q = 1, the means of lower and upper rows, their difference and the diagonal of `within`."""
        if not self.complete:
            raise ValueError("No pair of rows counts.")
        delta, middle = self._delta, self.middle / self.mass
        kappa = self.pairs / self.total / self.total
        return PairStatistics(kappa, 1.0, np.stack([middle - delta / 2, middle + delta / 2]), delta, self._diagonal)

    def pair_errors(self) -> PairErrors:
        """How far rounding may have moved each of the statistics."""
        share, mass, unit = 4.0 * self.of_weights + 16.0 * UNIT, self.mass, self._squares()
        delta, of_delta = self._delta, self._of_delta
        found = self.of_rows + self.inner.errors.scatter + self.between.errors.scatter + (share + 8.0 * UNIT) * unit
        for s in (self.inner, *([self.between] if self.grows else [])):
            found += of_rank_one(s.weight, share, s.mean + s.low, s.errors.mean + 2.0 * UNIT * np.abs(s.mean), unit)
        if self.grows:
            found += of_rank_one(mass, share, delta, of_delta, unit)
        of_means = of_delta + (self.of_weights + gamma(self.n_rows + 8)) * np.abs(self.means)
        return PairErrors(share, of_means, of_delta, np.minimum(1.01 * found / mass, UNKNOWN_SCATTER))

    @property
    def _stats(self) -> list[ClassStatistics]:  # type: ignore[override]
        """Lower and upper rows as two classes, each with half of the variance of the differences."""
        if not self.complete:
            return [ClassStatistics.empty(self.sums.size, False)] * 2
        statistics, errors = self.pair_statistics(), self.pair_errors()
        half, zero = statistics.within_diagonal / 2.0, np.zeros_like(self.sums)
        of_mean, of_half = errors.means.max(axis=0), errors.within / 2.0
        weight, rows = self.total / 2.0, max(self.n_rows // 2, 1)
        return [
            ClassStatistics(
                rows,
                weight,
                mean,
                half * weight,
                half * weight,
                low=zero,
                errors=Errors(0.0, of_mean, of_half * weight),
            )
            for mean in statistics.means
        ]

    @property
    def cancellation(self) -> float:
        """How many times larger the sums of squares were than what subtraction has left of them, at most."""
        now = self.inner.diagonal + self.between.diagonal
        now = np.maximum(np.maximum(now, now.mean()), np.finfo(float).tiny)
        with np.errstate(over="ignore"):
            return float(np.max((self.inner.peak + self.between.peak) / now, initial=1.0))


class _Chunk(NamedTuple):
    """Some rows: those of groups of several rows about the mean of their group, and groups about the rows below."""

    inner: np.ndarray
    inner_groups: np.ndarray
    inner_weights: np.ndarray
    steps: np.ndarray  # μ - m of the groups that end here
    ends: np.ndarray  # their numbers
    middle: np.ndarray
    level: np.ndarray


class _Walk:
    """The sorted rows, some at a time; a stratum, and a group, may go on in the next chunk."""

    def __init__(self, groups: SortedGroups, X: Any, step: int):
        self.groups, self.X, self.step = groups, X, step
        n = groups.rows.size
        self.edges = [*range(0, n, step), n]
        self.chunks = len(self.edges) - 1
        d = X.shape[1]
        self.centre, self.below, self.part, self.part_weight = np.zeros(d), np.zeros(d), np.zeros(d), 0.0

    def __iter__(self) -> Iterator[_Chunk]:
        for first, last in zip(self.edges[:-1], self.edges[1:], strict=True):
            if last > first:
                yield self._chunk(first, last)

    def _chunk(self, first: int, last: int) -> _Chunk:
        groups, some = self.groups, slice(first, last)
        group, c = groups.group[some], groups.weight[some]
        rows = self._read(groups.rows[some])
        touched = groups.touched
        middle = (0.5 * c * touched[group]) @ rows
        starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))  # where groups begin, or go on, here
        numbers, sizes = group[starts], np.diff(starts, append=group.size)
        begins = np.flatnonzero(np.diff(groups.stratum[numbers], prepend=-1))  # the same of strata, among the groups
        goes_on = first > 0 and groups.group[first - 1] == numbers[0]
        same_stratum = first > 0 and groups.stratum[groups.group[first - 1]] == groups.stratum[numbers[0]]
        if not same_stratum:
            self.below = np.zeros_like(self.below)
        if not goes_on:
            self.part, self.part_weight = np.zeros_like(self.part), 0.0
        self._centre(rows, starts[begins], same_stratum)
        level = np.maximum(rows.max(axis=0), -rows.min(axis=0))
        alone = starts.size == group.size  # each row is a group of its own
        weighted = rows if np.all(c == 1.0) else rows * c[:, np.newaxis]
        sums = weighted if alone else np.add.reduceat(weighted, starts, axis=0)
        mass = c if alone else np.add.reduceat(c, starts)
        inner: tuple[np.ndarray, ...] = (rows[:0], group[:0], c[:0])
        means = rows if alone else sums / mass[:, np.newaxis]
        if not alone:
            several = np.repeat(sizes > 1, sizes)
            inner = rows - np.repeat(means, sizes, axis=0), group, c
            inner = inner if several.all() else tuple(values[several] for values in inner)
        if goes_on:  # the scatter of two parts of a group has a term between them
            share = self.part_weight * mass[0] / (self.part_weight + mass[0])
            gap = means[:1] - self.part / self.part_weight
            inner = (
                np.concatenate([inner[0], gap]),
                np.append(inner[1], numbers[0]),
                np.append(inner[2], share),
            )
            sums, mass, means = sums.copy(), mass.copy(), means.copy() if alone else means
            sums[0] += self.part
            mass[0] += self.part_weight
            means[0] = sums[0] / mass[0]
        below = _running(sums, begins)
        until = begins[1] if begins.size > 1 else starts.size
        below[:until] += self.below
        final = last == groups.rows.size or groups.group[last] != numbers[-1]  # whether the last group ends here
        count = starts.size if final else starts.size - 1
        ends = numbers[:count]
        under = np.where(groups.below[ends] > 0.0, groups.below[ends], 1.0)
        steps = means[:count] - below[:count] / under[:, np.newaxis]
        if final:
            self.below = below[-1] + sums[-1]
        else:
            self.below, self.part, self.part_weight = below[-1].copy(), sums[-1].copy(), float(mass[-1])
        return _Chunk(inner[0], inner[1], inner[2], steps, ends, middle, level)

    def _read(self, index: np.ndarray) -> np.ndarray:
        rows = self.X[index]
        if sparse.issparse(rows):
            rows = rows.toarray()
        return rows.astype(np.float64, copy=False)

    def _centre(self, rows: np.ndarray, starts: np.ndarray, same_stratum: bool) -> None:
        """Subtract a centre of their stratum from the rows: differences stay as they are, and keep their digits."""
        sizes = np.diff(starts, append=len(rows))
        centres = rows[starts]
        for number in np.flatnonzero(sizes > SMALL_STRATUM).tolist():
            size = int(sizes[number])
            some = rows[starts[number] : starts[number] + size : -(-size // SMALL_STRATUM)]
            centres[number] = some.mean(axis=0)
        if same_stratum:
            centres[0] = self.centre
        rows -= centres[0] if starts.size == 1 else np.repeat(centres, sizes, axis=0)
        self.centre = centres[-1]
