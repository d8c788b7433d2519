"""Moments of features whose last step is a matrix product: it is applied to the moments instead of to every row."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vrspam.moments._rounding import Errors, gamma, of_rank_one
from vrspam.moments._statistics import ClassStatistics
from vrspam.moments.base import PairErrors, PairStatistics, PairSums
from vrspam.moments.class_moments import ClassMoments


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
        new[:first, first:] = half[:first]
        new[first:, :first] = half[:first].T
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
        sizes = self.of_sizes(levels)
        sizes[..., : self.first] = 0.0
        return gamma(len(self.matrix) + 2) * sizes


class FinishedMoments(PairSums):
    """Moments of the features x T, from those of x, `unfinished`, which have scatter matrices.

    What the loss needs comes from few products; `settled` computes all statistics of the single classes.
    """

    def __init__(self, unfinished: ClassMoments, last: LastProduct):
        self.unfinished = unfinished
        self.last = last
        self.n_features = unfinished.n_features
        self.has_scatter = True
        self.classes = unfinished.classes

    @cached_property
    def settled(self) -> ClassMoments:
        """The same moments as plain `ClassMoments`, all of them computed."""
        negative, positive = (self._finish(s) for s in self.unfinished.sides())
        return ClassMoments.of_statistics(negative, positive, self.classes, scatter=True)

    def _finish(self, s: ClassStatistics) -> ClassStatistics:
        """The statistics of the features of one class."""
        last = self.last
        scatter = last.of_matrix(s.scatter)
        diagonal = np.maximum(scatter.diagonal(), 0.0)
        root = last.of_sizes(np.sqrt(s.errors.scatter))
        spread = last.of_sizes(np.sqrt(np.maximum(s.diagonal, 0.0) + s.errors.scatter))
        features = last.of_features(_levels(s))
        by_features = of_rank_one(s.weight, 0.0, np.sqrt(diagonal / s.weight), features, diagonal)
        of_scatter = 1.01 * (root**2 + 3.0 * last.of_matrices * spread**2 + by_features)
        mean = last.of(s.mean + s.low)
        return ClassStatistics(
            rows=s.rows,
            weight=s.weight,
            mean=mean,
            scatter=scatter,
            peak=diagonal,
            rounding=s.rounding,
            low=np.zeros_like(mean),
            errors=Errors(s.errors.weight, self._of_mean(s), of_scatter).capped(),
        )

    def _of_mean(self, s: ClassStatistics) -> np.ndarray:
        """The error of the mean of a class."""
        rounded = 2.0 * gamma(len(self.last.matrix) + 2) * self.last.of_sizes(np.abs(s.mean))
        return 1.01 * (self.last.of_sizes(s.errors.mean) + rounded + self.last.of_features(_levels(s)))

    # What the loss needs, without the statistics of single classes.

    @property
    def complete(self) -> bool:
        """Whether both classes have been seen."""
        return self.unfinished.complete

    @property
    def rows(self) -> np.ndarray:
        """Number of rows of each class."""
        return self.unfinished.rows

    @property
    def weights(self) -> np.ndarray:
        """Total weight of each class."""
        return self.unfinished.weights

    @property
    def rounding(self) -> float:
        """Relative rounding of the scatters."""
        return self.unfinished.rounding

    @cached_property
    def within(self) -> np.ndarray:
        """Σ₊ + Σ₋, the sum of the class covariances, shape (d, d)."""
        if "settled" in self.__dict__:
            return self.settled.within
        return self.last.of_matrix(self.unfinished.within)

    @property
    def within_on_device(self) -> None:
        """None: the matrices are on the host."""
        return

    def sides(self) -> tuple[ClassStatistics, ClassStatistics]:
        """The statistics of the features of both classes."""
        return self.settled.sides()

    @property
    def variances(self) -> np.ndarray:
        """Variance of each column within each class, shape (2, d)."""
        return self.settled.variances

    @property
    def offsets(self) -> np.ndarray:
        """Zeros: what rounding drops of the means of x is a part of these."""
        return np.zeros((2, self.last.first + len(self.last.matrix)))

    @property
    def cancellation(self) -> float:
        """That of the statistics of the features."""
        return self.settled.cancellation

    def pair_statistics(self) -> PairStatistics:
        """Shares, means and the sum of the variances of both classes, all at once."""
        raw = self.unfinished.pair_statistics()
        return PairStatistics(
            p=raw.p,
            q=raw.q,
            means=self.last.of(raw.means + self.unfinished.offsets),
            delta=self.last.of(raw.delta),
            within_diagonal=np.maximum(self.within.diagonal(), 0.0),
        )

    @property
    def of_features(self) -> np.ndarray:
        """The root mean square error of each feature as a map computes it, added up over both classes."""
        negative, positive = (self.last.of_features(_levels(s)) for s in self.unfinished.sides())
        return negative + positive

    def pair_errors(self) -> PairErrors:
        """How far rounding may have moved each of the statistics."""
        raw = self.unfinished.pair_errors()
        last = self.last
        of_means = np.stack([self._of_mean(s) for s in self.unfinished.sides()])
        spread = last.of_sizes(np.sqrt(self.unfinished.within_diagonal + raw.within))
        diagonal = self.within_diagonal
        by_features = of_rank_one(1.0, 0.0, np.sqrt(diagonal), self.of_features, diagonal)
        within = last.of_sizes(np.sqrt(raw.within)) ** 2 + 3.0 * last.of_matrices * spread**2 + by_features
        return PairErrors(raw.share, of_means, of_means.sum(axis=0), 1.01 * within)


def _levels(s: ClassStatistics) -> np.ndarray:
    """The root mean square of each column over the rows of a class."""
    return np.sqrt((np.maximum(s.diagonal, 0.0) + s.errors.scatter) / s.weight + (np.abs(s.mean) + s.errors.mean) ** 2)
