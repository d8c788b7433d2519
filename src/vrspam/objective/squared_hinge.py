"""The squared hinge over pairs: pairs that are ranked right by more than the margin cost nothing.

    f(w) = p q · mean over pairs (i in +, j in -) of max(0, 1 - w·(x_i - x_j))².

One product with X gives the scores, one sort of them everything that depends on pairs (`SortedPairs`), and one product
with Xᵀ the gradient; a product with the Hessian costs the same without the sort. Each pair adds to the Hessian at most
what it adds to that of the squared loss, so that ∇²f ≤ k (Σ + δδᵀ) everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from vrspam.moments import ClassMoments
from vrspam.objective.row_products import RowProducts
from vrspam.objective.sorted_pairs import PairRows, SortedPairs

BLOCK_ENTRIES = 1 << 18  # rows held at once while the Hessian is added up
MOST_ACTIVE = 0.85  # of the rows: with more of them in a pair that counts, products with a copy of those save nothing
EPS = float(np.finfo(np.float64).eps) / 2.0  # largest relative error of one operation


class Point(NamedTuple):
    """f at scores: its value, the sorted pairs, and the derivative along the score of each row."""

    value: float
    pairs: SortedPairs
    slope: np.ndarray


class SquaredHingeLoss:
    """The squared hinge over all pairs of a data set.

    Parameters
    ----------
    X : ndarray, CSR matrix, or an object with `shape`, `dtype` and rows `X[slice]`
    is_positive : boolean ndarray of n
    sample_weight : ndarray of n, optional
        Rows of weight 0 count for nothing.
    moments : ClassMoments
        Of the same rows; no scatter matrices are needed.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ClassMoments
    >>> from vrspam.objective import SquaredHingeLoss
    >>> X, y = np.array([[0.0], [1.0], [2.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> loss = SquaredHingeLoss(X, y == 1, None, ClassMoments.from_data(X, y))
    >>> round(loss.value_and_grad(np.array([0.3]))[0], 6)  # 1/4 · mean of .4², .7², 0, 0
    0.040625
    """

    is_quadratic = False
    matrix = None
    rows = None

    def __init__(self, X: Any, is_positive: np.ndarray, sample_weight: np.ndarray | None, moments: ClassMoments):
        classes = moments.pair_statistics()
        self.products = RowProducts(X)
        self.pair_rows = PairRows.of(is_positive, sample_weight)
        self.scale = classes.p * classes.q
        self.k = 2.0 * self.scale
        self.n_features = int(X.shape[1])
        self.centre = classes.means.mean(axis=0)
        self.root_mean_squares = np.sqrt(classes.variances + classes.means**2)
        self._curvature = self.k * (classes.within_diagonal + classes.delta**2)

    def thinned(self, most: int) -> SquaredHingeLoss:
        """The loss on about `most` rows, copied: cheap to minimise, and close to the whole."""
        rows = self.pair_rows.thinned(most)
        part = object.__new__(SquaredHingeLoss)
        part.__dict__.update(self.__dict__)
        index = np.concatenate([rows.positive, rows.negative])
        X = self.products.X[index] if self.products.is_sparse else self.products.take(index)
        n = rows.positive.size
        part.products = RowProducts(X)
        part.pair_rows = PairRows(np.arange(n), np.arange(n, index.size), rows.a, rows.b, index.size)
        return part

    def scores(self, w: np.ndarray) -> np.ndarray:
        """X w minus the score half-way between the class means: centred, for `at`."""
        return self.products.scores(w) - float(self.centre @ w) if w.any() else np.zeros(self.products.shape[0])

    def quick_scores(self, v: np.ndarray) -> np.ndarray:
        """The same in the precision of X."""
        return self.products.quick_scores(v) - float(self.centre @ v)

    def at(self, scores: np.ndarray) -> Point:
        """f at given scores, by one sort."""
        pairs = SortedPairs(scores, self.pair_rows)
        value, slope = pairs.value_and_slope()
        slope *= self.scale
        return Point(self.scale * value, pairs, slope)

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        """Xᵀ slope; the slopes add up to 0 but for rounding, which is kept away from large means."""
        return self.products.back(slope) - float(slope.sum()) * self.centre

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f(w) and ∇f(w)."""
        point = self.at(self.scores(w))
        return point.value, self.gradient_of(point.slope)

    def hessian_product(self, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> ∇²f(w) v, in the precision of X."""
        pairs = SortedPairs(self.scores(w), self.pair_rows)
        return lambda v: self.hessian_back(pairs, self.quick_scores(v))

    def hessian_back(self, pairs: SortedPairs, u: np.ndarray) -> np.ndarray:
        """∇²f v, given the scores u of v."""
        r = pairs.product(u)
        r *= self.scale
        return self.products.quick_back(r) - float(r.sum()) * self.centre

    def active_hessian(self, pairs: SortedPairs) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> ∇²f v at given scores, for many v; of sparse X it reads only rows in pairs that count."""
        positives, negatives = pairs.active()
        n = self.products.shape[0]
        if not self.products.is_sparse or positives + negatives > MOST_ACTIVE * n:
            return lambda v: self.hessian_back(pairs, self.quick_scores(v))
        rows = np.sort(np.concatenate([pairs.up[:positives], pairs.down[pairs.down.size - negatives :]]))
        part = self.products.X[rows]
        transposed, u = part.T, np.zeros(n)

        def product(v: np.ndarray) -> np.ndarray:
            u[rows] = part @ v - float(self.centre @ v)
            r = pairs.product(u)[rows]
            r *= self.scale
            return transposed @ r - float(r.sum()) * self.centre

        return product

    def curvature(self) -> np.ndarray:
        """Diagonal of k (Σ + δδᵀ), the Hessian of the squared loss."""
        return self._curvature

    def hessian_matrix(self, pairs: SortedPairs, columns: np.ndarray | None = None) -> np.ndarray:
        """∇²f as a matrix, of the rows in `pairs` and of some of the columns, in bounded memory.

        With B_i the weight of the negatives that count for positive i, P_i their weighted sum, and A_j as B_i for
        negatives,

            ∇²f = k (Σ_j b_j A_j x_j x_jᵀ + symmetric part of Σ_i a_i x_i (B_i x_i - 2 P_i)ᵀ).

        P_i changes with i only by the negatives in between, so one walk down the sorted scores gives all of them.
        """
        centre = self.centre if columns is None else self.centre[columns]
        d = centre.size
        out, tail, heavy = np.zeros((d, d)), np.zeros(d), 0.0
        step = max(1, BLOCK_ENTRIES // max(d, 1))
        below = np.append(0.0, np.cumsum(pairs.a))[np.searchsorted(pairs.upper, pairs.lower, side="left")]
        # the negatives above positive i are those from first[i] on
        first = np.searchsorted(pairs.lower, pairs.upper, side="right")
        stop = first.size
        for high in range(pairs.lower.size, 0, -step):
            low = max(high - step, 0)
            block = self.products.take(pairs.down[low:high], columns)
            block -= centre
            b = pairs.b[low:high]
            start = int(np.searchsorted(first, low, side="left")) if low else 0
            if start < stop:
                sums = np.vstack([np.cumsum((b[:, np.newaxis] * block)[::-1], axis=0)[::-1], np.zeros(d)])
                sums += tail
                masses = heavy + np.append(np.cumsum(b[::-1])[::-1], 0.0)
                for some in range(start, stop, step):
                    chosen = slice(some, min(some + step, stop))
                    rows = self.products.take(pairs.up[chosen], columns)
                    rows -= centre
                    place = first[chosen] - low
                    inner = masses[place][:, np.newaxis] * rows
                    inner -= 2.0 * sums[place]
                    inner *= pairs.a[chosen][:, np.newaxis]
                    out += rows.T @ inner
                tail = sums[0]
                stop = start
            else:
                tail = tail + b @ block
            heavy += float(b.sum())
            block *= np.sqrt(b * below[low:high])[:, np.newaxis]
            out += block.T @ block
            if stop == 0:  # the negatives below are in no pair that counts
                break
        out += out.T
        out *= self.k / 2.0
        return out

    def rounding_of(self, moved: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """A bound on the rounding of each entry of the gradient that `gradient_of` computes from slopes in float64.

        `moved` is |w| where the scores were computed from w, and Σ |d| where they are a sum of those of steps d.

        A sum of m products is wrong by at most m·eps times the sum of their absolute values, and by 10 √m·eps but for
        a chance of 1e-21 (Higham & Mary 2019); means and variances of the columns bound that sum (Cauchy-Schwarz). The
        slopes are sums of terms that are not negative, in two operations a row, and are then summed. Wrong scores
        change the gradient by at most the curvature.
        """
        n, d = self.products.shape
        rows = self.pair_rows
        sizes = [
            float(np.sqrt(np.sum(slope[i] ** 2 / c))) for i, c in ((rows.negative, rows.b), (rows.positive, rows.a))
        ]
        of_sums = 4.0 * _growth(n) * EPS * (np.array(sizes) @ self.root_mean_squares)
        wrong_scores = 2.0 * _growth(d) * EPS * float(moved @ self.root_mean_squares.sum(axis=0))
        return of_sums + np.sqrt(self.k * self._curvature) * wrong_scores


def _growth(terms: int) -> float:
    """How many roundings of its terms a sum is wrong by."""
    return min(terms + 4.0, 10.0 * float(np.sqrt(terms + 4.0)))
