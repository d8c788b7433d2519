"""Moments of features whose last step is a matrix product: it is applied to the moments instead of to every row."""

from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from vrspam.moments._rounding import Errors, gamma, of_rank_one
from vrspam.moments._statistics import ClassStatistics
from vrspam.moments.class_moments import ClassMoments, PairErrors, PairStatistics


@dataclass(frozen=True, eq=False)
class LastProduct:
    """The last step to the features z of a row x: z = x T = (x_1, ..., x_first, (x_first+1, ..., x_d) B).

    >>> last = LastProduct(1, np.array([[2.0]]))
    >>> last.of(np.array([[5.0, 7.0]]))
    array([[ 5., 14.]])
    """

    first: int  # number of features that need no product
    matrix: np.ndarray  # B, upper triangular, of shape (d - first, d - first)

    piece = 128  # rows of B that are multiplied at once: the bound on rounding grows with them

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Rows times T."""
        return np.concatenate([rows[..., : self.first], rows[..., self.first :] @ self.matrix], axis=-1)

    def of_sizes(self, rows: np.ndarray) -> np.ndarray:
        """Rows without negative entries, times |T|."""
        return np.concatenate([rows[..., : self.first], rows[..., self.first :] @ np.abs(self.matrix)], axis=-1)

    def times(self, w: np.ndarray) -> np.ndarray:
        """T w."""
        return np.concatenate([w[: self.first], self.matrix @ w[self.first :]])

    @property
    def of_matrices(self) -> float:
        """The relative error of S B, against |S| |B|, and of Bᵀ (S B)."""
        return gamma(self.piece + -(-len(self.matrix) // self.piece) + 2)

    def of_matrix(self, symmetric: np.ndarray) -> np.ndarray:
        """TᵀST, by columns."""
        first = self.first
        new = np.empty_like(symmetric, order="F")
        new[:first, :first] = symmetric[:first, :first]
        half = self._multiply(symmetric[:, first:])  # the last columns of S T
        new[:first, first:], new[first:, :first] = half[:first], half[:first].T
        square = self._multiply(np.ascontiguousarray(half[first:].T))
        new[first:, first:] = 0.5 * (square + square.T)
        return new

    def _multiply(self, rows: np.ndarray) -> np.ndarray:
        """Rows times B, a piece of B at a time, without the pieces that are 0."""
        width = len(self.matrix)
        out = np.zeros((len(rows), width))
        for start in range(0, width, self.piece):
            piece = slice(start, start + self.piece)
            out[:, start:] += rows[:, piece] @ self.matrix[piece, start:]
        return out

    def of_features(self, levels: np.ndarray) -> np.ndarray:
        """The root mean square distance of computed features from x T, if x has the root mean squares `levels`."""
        found = self.of_sizes(levels)
        found[..., : self.first] = 0.0
        return gamma(len(self.matrix) + 2) * found


class FinishedMoments(ClassMoments):
    """Moments of the features x T, from those of x, `unfinished`, which have scatter matrices.

    What the loss needs comes from few products; statistics of the single classes are computed when they are asked for.
    """

    def __init__(self, unfinished: ClassMoments, last: LastProduct):
        self.unfinished, self.last = unfinished, last
        self.n_features, self.half_life, self.has_scatter = unfinished.n_features, None, True
        self.classes, self._known = unfinished.classes, unfinished._known

    @property
    def settled(self) -> ClassMoments:
        """The same moments as plain `ClassMoments`, all of them computed."""
        new = ClassMoments(self.n_features, scatter=True)
        new.classes, new._known, new._stats = self.classes, self._known, self._stats
        return new

    def copy(self) -> ClassMoments:
        """An independent copy."""
        return self.settled.copy()

    def _refuse(self, *_: Any, **__: Any) -> Any:
        """Refuse to change in place: what is computed later would not agree with what is known already."""
        raise ValueError("Moments of finished features cannot be changed in place: change a .copy() of them.")

    add_checked = take_out = add_features = _refuse

    @cached_property
    def _stats(self) -> list[ClassStatistics]:  # type: ignore[override]
        return [self._finish(statistics) for statistics in self.unfinished._stats]

    def _finish(self, s: ClassStatistics) -> ClassStatistics:
        if s.weight == 0.0:
            return s
        last, scatter = self.last, self.last.of_matrix(s.scatter)
        diagonal = np.maximum(scatter.diagonal(), 0.0)
        root = last.of_sizes(np.sqrt(s.errors.scatter))
        spread = last.of_sizes(np.sqrt(np.maximum(s.diagonal, 0.0) + s.errors.scatter))
        features = last.of_features(_levels(s))
        by_features = of_rank_one(s.weight, 0.0, np.sqrt(diagonal / s.weight), features, diagonal)
        of_scatter = 1.01 * (root**2 + 3.0 * last.of_matrices * spread**2 + by_features)
        errors = Errors(s.errors.weight, self._of_mean(s), of_scatter).capped()
        mean = last.of(s.mean + s.low)
        return ClassStatistics(
            s.rows, s.weight, mean, scatter, diagonal, s.rounding, low=np.zeros_like(mean), errors=errors
        )

    def _of_mean(self, s: ClassStatistics) -> np.ndarray:
        """The error of the mean of a class."""
        rounded = 2.0 * gamma(len(self.last.matrix) + 2) * self.last.of_sizes(np.abs(s.mean))
        return 1.01 * (self.last.of_sizes(s.errors.mean) + rounded + self.last.of_features(_levels(s)))

    # What the loss needs, without the statistics of single classes.

    complete, rows, weights, rounding = (
        property(attrgetter(f"unfinished.{name}")) for name in ("complete", "rows", "weights", "rounding")
    )

    @cached_property
    def within(self) -> np.ndarray:
        """Σ₊ + Σ₋, the sum of the class covariances, shape (d, d)."""
        known = "_stats" in self.__dict__
        return self.settled.within if known else self.last.of_matrix(self.unfinished.within)

    @property
    def within_on_device(self) -> None:
        """None: the matrices are on the host."""
        return

    def pair_statistics(self) -> PairStatistics:
        """Shares, means and the sum of the variances of both classes, all at once."""
        p, q, means, delta, _ = self.unfinished.pair_statistics()
        means = self.last.of(means + self.unfinished.offsets)
        return PairStatistics(p, q, means, self.last.of(delta), np.maximum(self.within.diagonal(), 0.0))

    @property
    def of_features(self) -> np.ndarray:
        """The root mean square error of each feature as a map computes it, added up over both classes."""
        negative, positive = (self.last.of_features(_levels(s)) for s in self.unfinished._both())
        return negative + positive

    def pair_errors(self) -> PairErrors:
        """How far rounding may have moved each of the statistics."""
        raw, last = self.unfinished.pair_errors(), self.last
        both = self.unfinished._both()
        of_means = np.stack([self._of_mean(s) for s in both])
        spread = last.of_sizes(np.sqrt(self.unfinished.within_diagonal + raw.within))
        features = self.of_features
        now = self.within_diagonal
        by_features = of_rank_one(1.0, 0.0, np.sqrt(now), features, now)
        within = last.of_sizes(np.sqrt(raw.within)) ** 2 + 3.0 * last.of_matrices * spread**2 + by_features
        return PairErrors(raw.share, of_means, of_means.sum(axis=0), 1.01 * within)


def _levels(s: ClassStatistics) -> np.ndarray:
    """The root mean square of each column over the rows of a class."""
    return np.sqrt((np.maximum(s.diagonal, 0.0) + s.errors.scatter) / s.weight + (np.abs(s.mean) + s.errors.mean) ** 2)
