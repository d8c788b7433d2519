"""The squared hinge over pairs: pairs that are ranked right by more than the margin cost nothing.

    f(w) = p q · mean over pairs (i in +, j in -) of max(0, 1 - w·(x_i - x_j))².

One product with X gives the scores, one sort of the scores gives all that depends on pairs (`SortedPairs`), and one
product with Xᵀ gives the gradient; a product with the Hessian costs the same without the sort. Each pair adds to the
Hessian at most what it adds to that of the squared loss, so that ∇²f ≤ k (Σ + δδᵀ) everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam import kernels
from vrspam.comparable import Comparable
from vrspam.moments import PairSums
from vrspam.objective.products import RowProducts, are_far
from vrspam.objective.rounding import UNIT
from vrspam.objective.sorted_pairs import PairRows, SortedPairs, evenly_spaced

BLOCK_ENTRIES = 1 << 18  # entries of the rows held at once while the Hessian is added up


class Point(NamedTuple):
    """f at scores: its value, the sorted pairs, and the derivative along the score of each row."""

    value: float
    pairs: SortedPairs
    slope: np.ndarray


class SortedHinge:
    """The squared hinge of given pairs of rows: what the losses of this file share.

    Parameters
    ----------
    products : RowProducts
    centre : ndarray of shape (d,)
        The point half-way between the class means, subtracted from all rows by way of their scores.
    pair_rows : PairRows
    scale : float
        f(0).
    curvature : ndarray of shape (d,)
        A bound on the second derivative along each coordinate.
    root_mean_squares : ndarray of shape (2, d)
        Of the columns in each class, or among the rows in pairs; for bounds on rounding.
    """

    is_quadratic = False
    matrix = None
    rows = None

    def __init__(
        self,
        products: RowProducts,
        centre: np.ndarray,
        pair_rows: PairRows,
        scale: float,
        curvature: np.ndarray,
        root_mean_squares: np.ndarray,
    ):
        self.products = products
        self.centre = centre
        self.pair_rows = pair_rows
        self.scale = scale
        self.k = 2.0 * scale
        self.n_features = centre.size
        self.root_mean_squares = root_mean_squares
        self._curvature = curvature

    def thinned(self, most: int) -> SortedHinge:
        """The loss on about `most` rows, copied: cheap to minimise, and close to the loss on all rows.

        The rows are evenly spaced in each class, and each takes over the weight of the rows around it.
        """
        rows = self.pair_rows
        smaller = min(rows.positive.size, rows.negative.size, most // 2)
        positives = most - smaller if rows.positive.size > rows.negative.size else smaller
        positive, a = evenly_spaced(rows.positive, rows.a, positives)
        negative, b = evenly_spaced(rows.negative, rows.b, most - positives)
        index = np.concatenate([positive, negative])
        places = np.arange(index.size)
        products = self.products
        return SortedHinge(
            products=RowProducts(products.X[index] if products.is_sparse else products.take(index)),
            centre=self.centre,
            pair_rows=PairRows(places[: positive.size], places[positive.size :], a, b, index.size),
            scale=self.scale,
            curvature=self._curvature,
            root_mean_squares=self.root_mean_squares,
        )

    def scores(self, w: np.ndarray) -> np.ndarray:
        """X w minus the score half-way between the class means: centred, for `at`."""
        if not w.any():
            return np.zeros(self.products.shape[0])
        return self.products.scores(w) - float(self.centre @ w)

    def quick_scores(self, v: np.ndarray) -> np.ndarray:
        """`scores` in the precision of X."""
        return self.products.scores(v, quick=True) - float(self.centre @ v)

    def at(self, scores: np.ndarray) -> Point:
        """f at given scores, by one sort."""
        return self.at_pairs(SortedPairs.at(scores, self.pair_rows))

    def at_pairs(self, pairs: SortedPairs) -> Point:
        """f at scores that are sorted."""
        slope = np.zeros(pairs.n_rows)
        value = kernels.pair_hinge_sums(
            pairs.upper, pairs.a, pairs.lower, pairs.b, pairs.up, pairs.down, *pairs.edges, slope
        )
        slope *= 2.0 * self.scale
        return Point(self.scale * value, pairs, slope)

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        """Xᵀ slope - Σ slope · centre: the sum is 0 but for rounding, which large means would multiply."""
        return self.products.back(slope) - float(slope.sum()) * self.centre

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f(w) and ∇f(w)."""
        point = self.at(self.scores(w))
        return point.value, self.gradient_of(point.slope)

    def hessian_product(self, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> ∇²f(w) v, in the precision of X."""
        return self.hessian_at(self.at(self.scores(w)).pairs)

    def hessian_at(self, pairs: SortedPairs) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> ∇²f v at given scores, for many v; of a sparse X only rows in pairs that count are read."""
        positives, negatives = pairs.active()
        rows: Any = slice(None)
        products = self.products
        u = np.zeros(self.products.shape[0])
        # If nearly all rows are in a pair that counts, a copy of these rows saves nothing.
        if products.is_sparse and positives.size + negatives.size <= 0.85 * u.size:
            counts = np.zeros(u.size, dtype=bool)
            counts[pairs.up[positives]] = counts[pairs.down[negatives]] = True
            rows = np.flatnonzero(counts)
            products = RowProducts(products.X[rows])

        def product(v: np.ndarray) -> np.ndarray:
            u[rows] = products.scores(v, quick=True) - float(self.centre @ v)
            r = pairs.product(u)[rows]
            r *= self.scale
            return products.back(r, quick=True) - float(r.sum()) * self.centre

        return product

    def curvature(self) -> np.ndarray:
        """Diagonal of k (Σ + δδᵀ), the Hessian of the squared loss."""
        return self._curvature

    def hessian_matrix(self, pairs: SortedPairs, columns: np.ndarray | None = None) -> np.ndarray:
        """∇²f as a matrix, of the rows in `pairs` and of some of the columns, in bounded memory.

        With B_i the weight of the negatives that count for positive i, P_i their weighted sum, and A_j the weight of
        the positives that count for negative j,

            ∇²f = k (Σ_j b_j A_j x_j x_jᵀ + symmetric part of Σ_i a_i x_i (B_i x_i - 2 P_i)ᵀ).

        From one i to the next, P_i changes only by the negatives in between, so one walk down the sorted scores gives
        every P_i, as the sum from its first negative on minus the sum from the one after its last negative on.
        """
        centre = self.centre if columns is None else self.centre[columns]
        d = centre.size
        out = np.zeros((d, d))
        step = max(1, BLOCK_ENTRIES // max(d, 1))
        first, last, below = pairs.reach
        above = np.append(np.cumsum(pairs.b[::-1])[::-1], 0.0)
        masses = above[first] - above[last]
        ends = np.repeat(pairs.edges[1][1:], np.diff(pairs.edges[1]))
        in_parts = pairs.unit is not None

        tail = np.zeros(d)  # the sum over the negatives of the blocks so far
        after_part = np.zeros(d)  # the sum from the end of a part on, if the part goes on in the next block
        stop = first.size  # positives from here on are done
        for high in range(pairs.lower.size, 0, -step):
            low = max(high - step, 0)
            block = self.products.take(pairs.down[low:high], columns)
            block -= centre
            b = pairs.b[low:high]
            start = int(np.searchsorted(first, low, side="left")) if low else 0
            if start < stop or in_parts:
                sums = np.vstack([np.cumsum((b[:, np.newaxis] * block)[::-1], axis=0)[::-1], np.zeros(d)])
                sums += tail
                for begin in range(start, stop, step):
                    chosen = slice(begin, min(begin + step, stop))
                    rows = self.products.take(pairs.up[chosen], columns)
                    rows -= centre
                    inner = masses[chosen][:, np.newaxis] * rows
                    inner -= 2.0 * sums[first[chosen] - low]
                    if in_parts:
                        ends_here = last[chosen] <= high
                        place = np.minimum(last[chosen], high) - low
                        inner += 2.0 * np.where(ends_here[:, np.newaxis], sums[place], after_part)
                    inner *= pairs.a[chosen][:, np.newaxis]
                    out += rows.T @ inner
                tail = sums[0]
                stop = start
                if ends[low] <= high:
                    after_part = sums[ends[low] - low]
            else:
                tail = tail + b @ block
            block *= np.sqrt(b * below[low:high])[:, np.newaxis]
            out += block.T @ block
            if stop == 0:  # the negatives below are in no pair that counts
                break
        out += out.T
        out *= self.k / 2.0
        return out

    def rounding_of(self, moved: np.ndarray, point: Point) -> np.ndarray:
        """A bound on the rounding of each entry of the gradient that `gradient_of` computes from slopes in float64.

        `moved` is |w| if the scores were computed from w, plus Σ |d| if the scores of steps d were added to them.

        A sum of m products is wrong by at most m·eps times the sum of their absolute values, and by 10 √m·eps times it
        except with probability 1e-21 (Higham & Mary 2019); means and variances of columns bound it (Cauchy-Schwarz).
        The slopes are sums of terms that are not negative, in two operations a row, and are then summed. Wrong scores
        change the gradient by at most the curvature. A row above some rows and below others has a slope of two parts
        that may cancel; over all pairs their sizes are bounded by the value (Cauchy-Schwarz).
        """
        n, d = self.products.shape
        rows = self.pair_rows
        if rows.edges is None:
            of_negatives = float(np.sqrt(np.sum(point.slope[rows.negative] ** 2 / rows.b)))
            of_positives = float(np.sqrt(np.sum(point.slope[rows.positive] ** 2 / rows.a)))
            sizes = [of_negatives, of_positives]
        else:
            n = rows.a.size + rows.b.size
            sizes = [2.0 * float(np.sqrt(self.scale * point.value))] * 2
        of_sums = 4.0 * _growth(n) * UNIT * (np.array(sizes) @ self.root_mean_squares)
        wrong_scores = 2.0 * _growth(d) * UNIT * float(moved @ self.root_mean_squares.sum(axis=0))
        return of_sums + np.sqrt(self.k * self._curvature) * wrong_scores


class SquaredHingeLoss(SortedHinge):
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

    def __init__(self, X: Any, is_positive: np.ndarray, sample_weight: np.ndarray | None, moments: PairSums):
        products, means = _centred_if_far(X, moments)
        super().__init__(
            products=products,
            centre=means.mean(axis=0),
            pair_rows=PairRows.of(is_positive, sample_weight),
            scale=moments.p * moments.q,
            curvature=_curvature_of_squares(moments),
            root_mean_squares=np.sqrt(moments.variances + means**2),
        )

    @staticmethod
    def of_pairs(X: Any, groups: Comparable, moments: PairSums) -> SortedHinge:
        """The squared hinge over certain pairs of ranked rows; `moments` are those of these pairs."""
        products, means = _centred_if_far(X, moments)
        squares = products.squares(groups.by_row(groups.shares, X.shape[0]))
        return SortedHinge(
            products=products,
            centre=means.mean(axis=0),
            pair_rows=PairRows.of_pairs(groups, X.shape[0]),
            scale=moments.p * moments.q,
            curvature=_curvature_of_squares(moments),
            root_mean_squares=np.tile(np.sqrt(squares), (2, 1)),
        )


def _centred_if_far(X: Any, moments: PairSums) -> tuple[RowProducts, np.ndarray]:
    """Products with the rows, and the class means; both centred, if rows are far from the origin.

    Sparse rows are centred only if few of their entries are 0.
    """
    means = moments.means
    is_full = not sparse.issparse(X) or 2 * X.nnz > X.shape[0] * X.shape[1]
    if not (is_full and are_far(moments)):
        return RowProducts(X), means
    centre = means.mean(axis=0)
    return RowProducts(X, centre), (means - centre) + moments.offsets


def _curvature_of_squares(moments: PairSums) -> np.ndarray:
    """The diagonal of the Hessian of the squared loss, which is nowhere below that of the hinge."""
    classes = moments.pair_statistics()
    return 2.0 * classes.p * classes.q * (classes.within_diagonal + classes.delta**2)


def _growth(terms: int) -> float:
    """The error of a sum of so many terms, in roundings of the sum of their absolute values."""
    return min(terms + 4.0, 10.0 * float(np.sqrt(terms + 4.0)))
