"""How much an AUC, or a mean, varies when rows of a group vary together: errors, degrees of freedom, independent rows.

A measure moves with every row by the row's influence. Influences are added up inside groups, and the squared sums over
groups. With few groups of a class, such as three patients who are sick, these squares tell little: their number counts
by class, however many groups the other class has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vrspam._utils.validation import numbers_of
from vrspam.metrics import roc


def group_names(groups: ArrayLike, n: int) -> NDArray:
    """The number of the group of each row."""
    names = numbers_of(groups, n, "groups", "group")
    if names.max(initial=0) < 1:
        raise ValueError("groups has a single value, and an interval needs several groups; leave it out.")
    return names


def satterthwaite(*parts: tuple[float, float]) -> float:
    """Degrees of freedom of a sum of variances, each given with its own; infinite for a sum of 0.

    >>> satterthwaite((1.0, 3.0), (1.0, 3.0)), satterthwaite((1.0, 3.0), (0.0, 99.0))
    (6.0, 3.0)
    """
    total = sum(variance for variance, _ in parts)
    if total in (0.0, np.inf):
        return np.inf
    inverse = sum((variance / total) ** 2 / freedom for variance, freedom in parts if variance > 0.0)
    return 1.0 / inverse if inverse > 0.0 else np.inf


class ClassGroups(NamedTuple):
    """What the groups add to the variance of a mean over the rows of one class.

    If every group's own mean varies alike, independently of the others, and a group has the share w of the weight, its
    sum of deviations from the mean of all has the variance w² (1 - 2w + Σ w²), instead of w². `scale` makes up for it.
    """

    share: NDArray  # of the weight of the class, that each group has
    scale: NDArray  # that makes the square of each group's sum right on average: its root multiplies the sum
    centred: bool  # whether deviations are from the mean of the class, and not of all rows

    @classmethod
    def of(cls, weights: NDArray, names: NDArray, n_groups: int, centred: bool) -> ClassGroups:
        mass = np.bincount(names, weights, n_groups)
        share = mass / mass.sum()
        if not centred:
            return cls(share, np.ones(n_groups), False)
        left = 1.0 - 2.0 * share + share @ share
        return cls(share, np.divide(1.0, left, out=np.zeros(n_groups), where=left > 1e-12), True)

    def overlap(self, other: ClassGroups) -> float:
        """tr(M N), where M and N are the covariances of the scaled group sums of two classes whose means vary by 1.

        M = D (I - 1wᵀ)(I - w1ᵀ) D, where D has the roots of `scale` times the shares w.
        """
        p = np.sqrt(self.scale * other.scale) * self.share * other.share
        if not self.centred:
            return float(p @ p)
        w, x = self.share, other.share
        less_w, less_x = float(w @ w), float(x @ x)
        diagonal = 1.0 - (2.0 * w - less_w) - (2.0 * x - less_x)
        total, by_w, by_x = float(p.sum()), float(p @ w), float(p @ x)
        crossed = 2.0 * total * float(p @ (w * x)) + 2.0 * by_w * by_x
        crossed += less_w * less_x * total**2 - 2.0 * total * (less_x * by_w + less_w * by_x)
        return float(p**2 @ diagonal) + crossed

    @property
    def trace(self) -> float:
        """The mean of the sum of squares of the scaled group sums, where the means of groups vary by 1."""
        return float(self.share @ self.share)


class AlikeRows(NamedTuple):
    """How much the rows of one class vary alike inside groups, as moments of their deviations from the class's mean."""

    variance: float  # of the rows
    alone: float  # Σ s², s being the share of each row: the variance of the mean of independent rows of variance 1
    together: float  # what the sum over groups of (Σ s)² has beyond it: pairs of rows of one group
    between: float  # sum of squares of the scaled group sums
    beyond: float  # what that has beyond the same sum over rows

    @classmethod
    def of(cls, weights: NDArray, moves: NDArray, sums: NDArray, groups: ClassGroups) -> AlikeRows:
        """From each row's weight and influence, and the scaled sums of the groups."""
        used = weights > 0.0
        share = weights[used] / weights.sum()
        moves_used = moves[used]
        alone = float(share @ share)
        between = float(sums @ sums)
        together = max(groups.trace - alone, 0.0)
        variance = float(np.sum(moves_used**2 / share)) / max(1.0 - alone, alone)
        return cls(variance, alone, together, between, between - float(moves_used @ moves_used))

    def expected(self, alike: float) -> float:
        """The variance of the mean of the class at an intraclass correlation."""
        return self.variance * (self.alone + alike * self.together)


def intraclass_correlation(classes: Sequence[AlikeRows]) -> float:
    """That of both classes, each weighted by its pairs of rows of one group: three groups cannot show their own."""
    pairs = sum(side.together / side.alone**2 for side in classes if side.variance > 0.0)
    if pairs == 0.0:
        return 0.0
    alike = sum(side.beyond / side.variance / side.alone**2 for side in classes if side.variance > 0.0)
    return min(max(alike / pairs, 0.0), 1.0)


def independent_rows(down: AlikeRows, up: AlikeRows, total: float) -> tuple[float, float]:
    """The negative and the positive rows that would tell as much about an AUC if they were independent.

    Where groups hold both classes, and their two parts cancel (`total`, the sum of squares of all, is less than those
    of both), rows count as more, but never as more than there are.
    """
    alike = intraclass_correlation((down, up))
    cancelled = min(1.0, total / (down.between + up.between)) if total > 0.0 else 1.0
    shares = [min(1.0 / one.alone, 1.0 / (one.alone + alike * one.together) / cancelled) for one in (down, up)]
    return max(shares[0], 2.0), max(shares[1], 2.0)


def freedom_of(rows: Sequence[AlikeRows], classes: Sequence[ClassGroups]) -> float:
    """Satterthwaite's degrees of freedom of a sum over groups, from the variance that each class adds to it.

    Few groups may vary little by chance; then their part would be too small, and the degrees of freedom too many. So
    each part is at least what the intraclass correlation of both classes makes of it.
    """
    alike = intraclass_correlation(rows)
    variances = [max(group_class.between, group_class.expected(alike)) for group_class in rows]
    units = [variance / groups.trace for variance, groups in zip(variances, classes, strict=True)]  # of groups' means
    spread = 0.0
    for first, group_class in zip(units, classes, strict=True):
        for second, other in zip(units, classes, strict=True):
            spread += first * second * group_class.overlap(other)
    return sum(variances) ** 2 / spread if spread > 0.0 else np.inf


class Clusters(NamedTuple):
    """How much an AUC, or a mean over the rows of two classes, varies if whole groups of rows vary together."""

    error: float  # infinite if all rows of a class are of one group
    n_groups: int
    freedom: float  # Satterthwaite's degrees of freedom of the error
    rows: tuple[float, float] | None = None  # of each class, that would tell as much if they were independent

    @classmethod
    def of(cls, positive: NDArray, scores: NDArray, weights: NDArray, groups: NDArray) -> Clusters:
        """The error of the AUC of scores; `groups` are the numbers of the groups of the rows."""
        placed = placements(positive, scores[np.newaxis], weights)[0]
        return cls.of_moves(influence(positive, placed, weights), weights, groups, positive)

    @classmethod
    def of_moves(
        cls, moves: NDArray, weights: NDArray, groups: NDArray, positive: NDArray, centred: bool = True
    ) -> Clusters:
        """From each row's influence on a measure; the variance is a sum of squared group sums.

        Influences of an AUC are `centred` in each class. Those of a mean over all rows are not, and the sum of squares
        counts G/(G-1)-fold. Degrees of freedom are those of a sum of squares of normal variables, one for each group
        and class, that vary alike within a class: groups of one class alone, of both, and anything between.
        """
        names = np.unique(groups, return_inverse=True)[1].ravel()
        n_groups = int(np.unique(groups).size)
        weights = roc.unit_weights(weights)
        sums = np.zeros(n_groups)
        classes = list[ClassGroups]()
        rows = list[AlikeRows]()
        for side in (~positive, positive):
            if not weights[side].any():
                continue
            of_class = ClassGroups.of(weights[side], names[side], n_groups, centred)
            sums_of_class = np.sqrt(of_class.scale) * np.bincount(names[side], moves[side], n_groups)
            sums += sums_of_class
            if centred and np.count_nonzero(of_class.share) < 2:
                if moves.any():  # nothing shows how much another group would differ
                    return cls(np.inf, n_groups, 1.0)
                continue
            classes.append(of_class)
            rows.append(AlikeRows.of(weights[side], moves[side], sums_of_class, of_class))
        freedom = freedom_of(rows, classes)
        factor = 1.0 if centred else n_groups / max(n_groups - 1, 1)
        if not centred:  # the mean of all is taken from the same groups
            freedom = max(1.0, freedom / factor)
        total = float(sums @ sums)
        enough = independent_rows(rows[0], rows[1], total) if centred and len(rows) == 2 else None
        return cls(float(np.sqrt(factor * total)), n_groups, freedom, enough)


def influence(positive: NDArray, placed: NDArray, weights: NDArray, equal: float = 0.0) -> NDArray:
    """How much each row moves an AUC, from DeLong's placements V: (V - AUC) / (rows of the class)."""
    moves = np.zeros(placed.size)
    for side in (positive, ~positive):
        if np.ptp(placed[side]) > equal:  # else rounding alone
            share = weights[side] / weights[side].sum()
            moves[side] = share * (placed[side] - share @ placed[side])
    return moves


def placements(positive: NDArray, scores: NDArray, weights: NDArray) -> NDArray:
    """The share of negatives below each positive, and of positives above each negative; a tie counts one half.

    >>> scores = np.array([[1.0, 2.0, 2.0, 3.0]])
    >>> placements(np.array([False, False, True, True]), scores, np.ones(4)).tolist()
    [[1.0, 0.75, 0.75, 1.0]]
    """
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    new = np.ones(ranked.shape, dtype=bool)  # whether a score differs from the one before it
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    places = np.arange(ranked.shape[1])
    first = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    ends = np.where(np.roll(new, -1, axis=1), places, ranked.shape[1])
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(ranked.shape)
    for side in (False, True):
        others = (positive != side)[order]
        mass = np.zeros((ranked.shape[0], ranked.shape[1] + 1))
        np.cumsum(np.where(others, weights[order], 0.0), axis=1, out=mass[:, 1:])
        below = (np.take_along_axis(mass, first, axis=1) + np.take_along_axis(mass, last + 1, axis=1)) / 2.0
        share = below / mass[:, -1:]
        np.copyto(ranks, share if side else 1.0 - share, where=~others)
    result = np.empty_like(ranks)
    np.put_along_axis(result, order, ranks, axis=1)
    return result
