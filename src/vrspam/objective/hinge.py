"""The squared hinge over pairs: pairs that are ranked right by more than the margin cost nothing.

    f(w) = p q · mean over pairs (i in +, j in -) of max(0, 1 - w·(x_i - x_j))².

One product with X gives the scores, one sort of the scores gives all that depends on pairs (`SortedPairs`), and one
product with Xᵀ gives the gradient; a product with the Hessian costs the same without the sort. Each pair adds to the
Hessian at most what it adds to that of the squared loss, so that ∇²f ≤ k (Σ + δδᵀ) everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam import kernels
from vrspam.comparable import Comparable
from vrspam.moments import PairSums
from vrspam.objective.losses import RowProducts, are_far
from vrspam.objective.rounding import UNIT

# The squared hinge over all pairs of scores, from one sort: the part of the loss that does not need X.
#
# With a_i and b_j the weights of positives and negatives, each adding up to 1, and s the scores,
#
#     h(s) = Σ_ij a_i b_j max(0, 1 - s_i + s_j)².
#
# A positive i is in pairs that count with the negatives above s_i - 1, which are the last ones of the sorted scores; a
# negative is in such pairs with the first positives. So h, its derivatives and products with its Hessian are sums
# that two sweeps over the sorted scores gather (`vrspam.kernels.pair_hinge_sums`), in place of a sum over n₊n₋ pairs.
# Where only certain pairs count, they fall into parts, each of all pairs of some positives and some negatives.


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
        key, event = ((groups.stratum << bits) + number)[groups.group], groups.event[groups.group] > 0.0
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
        positive, negative = map(np.concatenate, rows)
        edges = [np.append(0, np.cumsum(np.concatenate(size))) for size in sizes]
        largest = groups.weight.max()  # tiny or huge weights stay in range
        share = groups.factor / float((groups.factor * groups.event) @ (groups.mass / largest * groups.below / largest))
        a = (groups.weight * share[groups.group])[positive] / largest
        b = groups.weight[negative] / largest
        unit = np.zeros(n_rows, dtype=np.intp)
        unit[groups.rows] = groups.stratum[groups.group] if first.size >= 64 else np.arange(groups.rows.size)
        return cls(groups.rows[positive], groups.rows[negative], a, b, n_rows, (edges[0], edges[1]), unit)


def _evenly_spaced(rows: np.ndarray, shares: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
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
    are as in `PairRows`, and `edge` has the pairs of all rows if these are only some of `EdgePairs`.
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
    edge: EdgePairs | None = None

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
        positives, a = _evenly_spaced(positives, self.a[positives], room)
        negatives, b = _evenly_spaced(negatives, self.b[negatives], room)
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
        positive, a = _evenly_spaced(rows.positive, rows.a, positives)
        negative, b = _evenly_spaced(rows.negative, rows.b, most - positives)
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
        return self.products.scores(w) - float(self.centre @ w) if w.any() else np.zeros(self.products.shape[0])

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
        products, u = self.products, np.zeros(self.products.shape[0])
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
        out, tail, over = np.zeros((d, d)), np.zeros(d), np.zeros(d)  # `over`: the sum after a part that spans blocks
        step = max(1, BLOCK_ENTRIES // max(d, 1))
        first, last, below = pairs.reach
        above = np.append(np.cumsum(pairs.b[::-1])[::-1], 0.0)
        masses = above[first] - above[last]
        ends = np.repeat(pairs.edges[1][1:], np.diff(pairs.edges[1]))
        stop = first.size
        parts = pairs.unit is not None
        for high in range(pairs.lower.size, 0, -step):
            low = max(high - step, 0)
            block = self.products.take(pairs.down[low:high], columns)
            block -= centre
            b = pairs.b[low:high]
            start = int(np.searchsorted(first, low, side="left")) if low else 0
            if start < stop or parts:
                sums = np.vstack([np.cumsum((b[:, np.newaxis] * block)[::-1], axis=0)[::-1], np.zeros(d)])
                sums += tail
                for some in range(start, stop, step):
                    chosen = slice(some, min(some + step, stop))
                    rows = self.products.take(pairs.up[chosen], columns)
                    rows -= centre
                    inner = masses[chosen][:, np.newaxis] * rows
                    inner -= 2.0 * sums[first[chosen] - low]
                    if parts:
                        inside = last[chosen] <= high
                        place = np.minimum(last[chosen], high) - low
                        inner += 2.0 * np.where(inside[:, np.newaxis], sums[place], over)
                    inner *= pairs.a[chosen][:, np.newaxis]
                    out += rows.T @ inner
                tail = sums[0]
                stop = start
                over = sums[ends[low] - low] if ends[low] <= high else over
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
    groups : Comparable, optional
        The pairs that count, if not all pairs of two classes; `moments` must then be the moments of these pairs.

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

    def __init__(
        self,
        X: Any,
        is_positive: np.ndarray,
        sample_weight: np.ndarray | None,
        moments: PairSums,
        groups: Comparable | None = None,
    ):
        classes = moments.pair_statistics()
        centre = classes.means.mean(axis=0)
        # Rows far from the origin are centred before they are multiplied; sparse rows only if few entries are 0.
        far = are_far(moments) and (not sparse.issparse(X) or 2 * X.nnz > X.shape[0] * X.shape[1])
        means = (classes.means - centre) + moments.offsets if far else classes.means
        products = RowProducts(X, centre if far else None)
        if groups is None:
            pair_rows = PairRows.of(is_positive, sample_weight)
            root_mean_squares = np.sqrt(moments.variances + means**2)
        else:
            pair_rows = PairRows.of_pairs(groups, X.shape[0])
            squares = products.squares(groups.by_row(groups.shares, X.shape[0]))
            root_mean_squares = np.tile(np.sqrt(squares), (2, 1))
        scale = classes.p * classes.q
        super().__init__(
            products=products,
            centre=means.mean(axis=0),
            pair_rows=pair_rows,
            scale=scale,
            curvature=2.0 * scale * (classes.within_diagonal + classes.delta**2),
            root_mean_squares=root_mean_squares,
        )


def _growth(terms: int) -> float:
    """The error of a sum of so many terms, in roundings of the sum of their absolute values."""
    return min(terms + 4.0, 10.0 * float(np.sqrt(terms + 4.0)))


# The squared hinge on the part of the ROC curve that matters: all positives against the highest-scored negatives.
#
# With c_j the weights of the negatives, which add up to 1, α = `max_fpr` and g_j = Σ_i a_i max(0, 1 - s_i + s_j)²,
#
#     f(w) = pq · max over t of Σ_j c_j t_j g_j / α,     0 ≤ t_j ≤ 1,  Σ_j c_j t_j = α.
#
# g_j rises with the score s_j, so the maximum takes the highest-scored negatives of total weight α, the last of them in
# part. A maximum of convex functions is convex. It has kinks where negatives tie at the edge, and its minimum lies on a
# kink: there the gradient is small only with the right t of the tied rows. An augmented Lagrangian finds this t
# (`vrspam.solvers.proximal_newton`): `SmoothedPartialLoss` subtracts μ/(2α) Σ_j c_j (t_j - before_j)², so that the
# maximum is unique and the loss smooth, and `before` moves on to the t that was found.


class PartialHingeLoss:
    """The squared hinge over the pairs of all positives with the highest-scored negatives of total weight `max_fpr`.

    >>> from vrspam import ClassMoments
    >>> X, y = np.array([[0.0], [1.0], [2.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> whole = SquaredHingeLoss(X, y == 1, None, ClassMoments.from_data(X, y))
    >>> round(PartialHingeLoss(whole, 0.5).value_and_grad(np.array([0.3]))[0], 6)  # 1/4 · mean of .7², 0
    0.06125
    """

    is_quadratic = False
    matrix = None
    rows = None

    def __init__(self, whole: SquaredHingeLoss, max_fpr: float):
        self.whole, self.max_fpr = whole, float(max_fpr)
        self.scale, self.n_features = whole.scale, whole.n_features

    def curvature(self) -> np.ndarray:
        """That of the whole loss divided by α: a negative counts up to 1/α times as much."""
        return self.whole.curvature() / self.max_fpr

    def top_shares(self, scores: np.ndarray) -> np.ndarray:
        """The maximising t, in the order of the negative rows; rows that tie at the edge get equal shares."""
        rows = self.whole.pair_rows
        own = scores[rows.negative]
        order = np.argsort(own)
        ranked = own[order]
        above = np.append(np.cumsum(rows.b[order][::-1])[::-1], 0.0)  # the weight from each row on
        first, last = (above[np.searchsorted(ranked, own, side=side)] for side in ("left", "right"))
        weight = np.maximum(first - last, np.finfo(float).tiny)  # 0 where rounding loses it in the sums
        return np.clip((self.max_fpr - last) / weight, 0.0, 1.0)

    def at_shares(self, scores: np.ndarray, shares: np.ndarray) -> Point:
        """The sum over pairs with these t: a function of w that is nowhere above f, and equals it at the maximiser."""
        rows = self.whole.pair_rows
        counted = rows._replace(b=rows.b * shares / self.max_fpr)
        return self.whole.at_pairs(SortedPairs.at(scores, counted))

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f(w) and a subgradient."""
        scores = self.whole.scores(w)
        point = self.at_shares(scores, self.top_shares(scores))
        return point.value, self.whole.gradient_of(point.slope)

    def hessian_product(self, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> the Hessian of the sum over pairs at the maximising t, times v: f is not smooth."""
        scores = self.whole.scores(w)
        return self.whole.hessian_at(self.at_shares(scores, self.top_shares(scores)).pairs)


class SmoothedPartialLoss(SortedHinge):
    """`PartialHingeLoss` with the maximum over t held near `before` by μ/(2α) Σ c_j (t_j - before_j)²: smooth."""

    def __init__(self, partial: PartialHingeLoss, before: np.ndarray, mu: float):
        whole = partial.whole
        super().__init__(
            products=whole.products,
            centre=whole.centre,
            pair_rows=whole.pair_rows,
            scale=whole.scale,
            curvature=partial.curvature(),
            root_mean_squares=whole.root_mean_squares,
        )
        self.max_fpr = partial.max_fpr
        self.before = before
        self.mu = mu

    def shares(self, scores: np.ndarray) -> np.ndarray:
        """The maximising t: before + (g - θ)/μ, cut off at 0 and 1, with θ such that Σ c_j t_j = α."""
        rows = self.pair_rows
        order = np.argsort(scores[rows.positive])
        upper, a = scores[rows.positive][order] - 1.0, rows.a[order]
        lower = scores[rows.negative]
        below = np.searchsorted(upper, lower, side="left")
        mass, first, second = (np.append(0.0, np.cumsum(a * upper**power))[below] for power in range(3))
        # The rounding of g changes only t, and the certificate holds for any t.
        costs = np.maximum(lower * (lower * mass - 2.0 * first) + second, 0.0)
        aim = self.before + costs / self.mu
        aim -= _threshold(aim, self.pair_rows.b, self.max_fpr)
        over, weight = _excess(aim, self.pair_rows.b, self.max_fpr)
        # θ/μ may be large, and its rounding moves all t at once: this takes one more step, with small numbers.
        return np.clip(aim - over / weight if weight > 0.0 else aim, 0.0, 1.0)

    def at(self, scores: np.ndarray) -> Point:
        """The smoothed loss at given scores."""
        t = self.shares(scores)
        point = self.at_pairs(EdgePairs.at_shares(scores, self.pair_rows, t, self.mu, self.max_fpr))
        held = self.mu / (2.0 * self.max_fpr) * float(self.pair_rows.b @ (t - self.before) ** 2)
        return point._replace(value=point.value - self.scale * held)

    def hessian_matrix(self, pairs: SortedPairs, columns: np.ndarray | None = None) -> np.ndarray:
        """∇²f as a matrix, of the rows in `pairs`: what the pairs add, and what the change of t adds."""
        out = super().hessian_matrix(pairs, columns)
        edge = pairs if isinstance(pairs, EdgePairs) else pairs.edge
        assert edge is not None
        if edge.tied.size > 1:
            changes, weights = self._changes(edge, columns)
            changes -= weights @ changes / weights.sum()
            changes *= np.sqrt(self.scale * edge.stiffness * weights)[:, np.newaxis]
            out += changes.T @ changes
        return out

    def _changes(self, edge: EdgePairs, columns: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """∇g_j = 2 Σ_i a_i max(0, lower_j - upper_i) (x_j - x_i) of the tied rows, or of some, and their weights."""
        centre = self.centre if columns is None else self.centre[columns]
        some = np.arange(edge.tied.size)
        tied_entries = 1 << 22  # of the tied rows whose change of t enters the Hessian as a matrix
        most = max(1_000, tied_entries // max(centre.size, 1))
        if some.size > most:
            some = np.arange(most) * some.size // most
        weights = edge.tied_weights[some] * (edge.tied_weights.sum() / edge.tied_weights[some].sum())
        below, level = edge.below[some], edge.lower[edge.tied[some]]
        out = edge.first[some][:, np.newaxis] * (self.products.take(edge.down[edge.tied[some]], columns) - centre)
        mass, first = np.zeros(centre.size), np.zeros(centre.size)  # Σ a x and Σ a upper x of the positives so far
        step = max(1, BLOCK_ENTRIES // max(centre.size, 1))
        for start in range(0, int(below.max(initial=0)), step):
            stop = min(start + step, edge.up.size)
            block = self.products.take(edge.up[start:stop], columns) - centre
            block *= edge.a[start:stop, np.newaxis]
            sums = np.vstack([mass, mass + np.cumsum(block, axis=0)])
            block *= edge.upper[start:stop, np.newaxis]
            moments = np.vstack([first, first + np.cumsum(block, axis=0)])
            here = np.flatnonzero((below > start) & (below <= stop))
            place = below[here] - start
            out[here] -= level[here, np.newaxis] * sums[place] - moments[place]
            mass = sums[-1]
            first = moments[-1]
        return 2.0 * out, weights


@dataclass(frozen=True, eq=False, kw_only=True)
class EdgePairs(SortedPairs):
    """Sorted pairs at the maximising t, whose change with the scores adds to the Hessian.

    With K_j u = 2 Σ_i a_i max(0, 1 - s_i + s_j) (u_j - u_i), the change of g_j along u, the tied rows (0 < t_j < 1) add
    Σ c_j (K_j u - m)(K_j v - m) / (α μ), where m is their weighted mean. In the order of the scores they are at the
    places `tied`, with the c_j `tied_weights`, and `stiffness` is 1 / (α μ).
    """

    tied: np.ndarray
    tied_weights: np.ndarray
    stiffness: float

    @staticmethod
    def at_shares(scores: np.ndarray, rows: PairRows, shares: np.ndarray, mu: float, max_fpr: float) -> EdgePairs:
        """The pairs of these rows, by their scores, where `shares` are the t of the negatives."""
        pairs = SortedPairs.at(scores, rows)
        by_row = np.zeros(rows.n_rows)
        by_row[rows.negative] = shares
        t = by_row[pairs.down]
        tied = np.flatnonzero((t > 0.0) & (t < 1.0))
        return EdgePairs(
            up=pairs.up,
            upper=pairs.upper,
            a=pairs.a,
            down=pairs.down,
            lower=pairs.lower,
            b=pairs.b * t / max_fpr,
            edges=pairs.edges,
            n_rows=pairs.n_rows,
            unit=pairs.unit,
            tied=tied,
            tied_weights=pairs.b[tied],
            stiffness=1.0 / (max_fpr * mu),
        )

    @cached_property
    def below(self) -> np.ndarray:
        """How many positives are in a pair that counts with each tied row."""
        return np.searchsorted(self.upper, self.lower[self.tied], side="left")

    @cached_property
    def first(self) -> np.ndarray:
        """Σ a_i max(0, 1 - s_i + s_j) of each tied row."""
        return self._sums_below(self.a)

    def _sums_below(self, a: np.ndarray) -> np.ndarray:
        """Σ a_i (lower_j - upper_i) over the positives below each tied row."""
        mass, first = (np.append(0.0, np.cumsum(part))[self.below] for part in (a, a * self.upper))
        return self.lower[self.tied] * mass - first

    def product(self, u: np.ndarray) -> np.ndarray:
        """The Hessian times u, one number for each row."""
        out = super().product(u)
        if self.tied.size > 1:
            change = 2.0 * (self.first * u[self.down[self.tied]] - self._sums_below(self.a * u[self.up]))
            change -= self.tied_weights @ change / self.tied_weights.sum()
            change *= 2.0 * self.stiffness * self.tied_weights
            out[self.down[self.tied]] += self.first * change
            # positive i gets -a_i times the sum of change_j (lower_j - upper_i) over the tied rows above it
            size = self.upper.size + 1
            sums = (np.bincount(self.below, part, size) for part in (change, change * self.lower[self.tied]))
            mass, moment = (np.cumsum(part[::-1])[::-1][1:] for part in sums)
            out[self.up] -= self.a * (moment - self.upper * mass)
        return out

    def active_part(self, most: int) -> SortedPairs:
        """The rows in pairs that count, thinned to about `most` of them; `edge` keeps the tied rows."""
        return replace(super().active_part(most), edge=self)


def _excess(aim: np.ndarray, weights: np.ndarray, total: float) -> tuple[float, float]:
    """Σ weights · clip(aim, 0, 1) - total, and the weight of the rows that are not clipped."""
    cut = np.clip(aim, 0.0, 1.0)
    return float(weights @ cut) - total, float(weights[cut == aim].sum())


def _threshold(aim: np.ndarray, weights: np.ndarray, total: float) -> float:
    """The θ with Σ weights · clip(aim - θ, 0, 1) = total, by Newton steps between two bounds."""
    low = float(aim.min()) - 1.0
    high = float(aim.max())
    theta = 0.5 * (low + high)
    root_steps = 100
    for _ in range(root_steps):
        over, slope = _excess(aim - theta, weights, total)
        if abs(over) <= UNIT * total:
            break
        low, high = (theta, high) if over > 0.0 else (low, theta)
        step: Any = theta + over / slope if slope > 0.0 else np.inf
        new = step if low < step < high else 0.5 * (low + high)
        if new == theta:
            break
        theta = float(new)
    return theta
