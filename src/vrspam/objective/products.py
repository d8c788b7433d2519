"""Products with rows: X w and Xᵀ r, and Σ times w without a matrix, in memory and on a device.

`WithinProducts` and `DeviceProducts` are for all pairs of two classes, `PairProducts` for certain pairs of ranked rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from vrspam._utils import array_api
from vrspam._utils.blas import blas_thread_count, blas_threads
from vrspam.comparable import Comparable
from vrspam.moments import PairMoments, PairSums, gamma
from vrspam.objective.rounding import LossErrors, RowErrors

BLOCK_BYTES = 1 << 20  # rows converted, or centred, at once: they stay in the cache of a core
CONVERTED_ENTRIES = 1 << 19  # of rows that are converted from float32 at once
MADE_ENTRIES = 1 << 21  # of rows whose features are computed at once
MEAN_ENTRIES = 1 << 24  # of means of strata that are held at once
THREAD_ENTRIES = 1 << 22  # of a table from which on several threads convert it
FAR = 1e4  # offset over spread of rows that are centred before they are multiplied


def multiply(X, v: np.ndarray) -> np.ndarray:
    """X @ v in the precision of X; for float32 a power of two keeps v within its range and changes no digit."""
    if X.dtype != np.float32:
        return X @ v
    exponent = int(np.frexp(np.max(np.abs(v), initial=0.0))[1])
    return np.ldexp((X @ np.ldexp(v, -exponent).astype(np.float32)).astype(np.float64), exponent)


class RowProducts:
    """X w and Xᵀ r in float64, for a dense or CSR matrix, or an object with `shape`, `dtype` and rows `X[slice]`."""

    def __init__(self, X: Any, centre: np.ndarray | None = None):
        self.X = X
        self.centre = centre
        self.shape: tuple[int, int] = X.shape
        self.is_sparse = sparse.issparse(X) and centre is None
        self.in_memory = self.is_sparse or (isinstance(X, np.ndarray) and centre is None)
        self._direct = self.is_sparse or (self.in_memory and X.dtype == np.float64)
        self.exact = self._direct or not self.in_memory  # whether quick products are computed in float64
        self._transposed = X.T if self.in_memory else None

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        n, d = self.shape
        entries = CONVERTED_ENTRIES if self.in_memory else MADE_ENTRIES
        step = max(192, entries // max(d, 1))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            block = _dense(self.X[rows])
            yield rows, block if self.centre is None else block - self.centre

    def scores(self, w: np.ndarray, quick: bool = False) -> np.ndarray:
        """X w, or X W for a matrix W; with `quick` in the precision of X: for steps, not for certificates."""
        if quick and not self.exact:
            return multiply(self.X, w)
        if self._direct:
            return self.X @ w
        out = np.empty((self.shape[0], *w.shape[1:]))
        for rows, block in self._blocks():
            out[rows] = block @ w
        return out

    def back(self, r: np.ndarray, quick: bool = False) -> np.ndarray:
        """Xᵀ r; with `quick` in the precision of X."""
        if quick and not self.exact:
            return multiply(self._transposed, r)
        if self._direct:
            return self._transposed @ r
        out = np.zeros((self.shape[1], *r.shape[1:]))
        for rows, block in self._blocks():
            out += block.T @ r[rows]
        return out

    def squares(self, mass: np.ndarray) -> np.ndarray:
        """Σ mass_i x_i² of each column."""
        if self.is_sparse:
            X = self.X.astype(np.float64, copy=False)
            return X.multiply(X).T @ mass
        return sum(((block**2).T @ mass[rows] for rows, block in self._blocks()), np.zeros(self.shape[1]))

    def combined(self, weights: sparse.csr_array) -> Any:
        """Sums of rows with these weights, one for each row of a sparse matrix."""
        if self._direct:
            return weights @ self.X
        columns = weights.tocsc()
        total = np.zeros((weights.shape[0], self.shape[1]))
        for rows, block in self._blocks():
            total += columns[:, rows] @ block
        return total

    def take(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """A copy of some rows, and of some of their columns, as a dense float64 array."""
        part = self.X[rows]  # a copy: `rows` are row numbers
        if columns is not None:
            part = part[:, columns]
        dense = _dense(part)
        if self.centre is None:
            return dense
        return dense - (self.centre if columns is None else self.centre[columns])


def _dense(rows: Any) -> np.ndarray:
    """Rows as a dense float64 array."""
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)


class WithinProducts:
    """Σ as two products with X: the class means are subtracted implicitly, X is never copied or densified.

    With a_i = weight_i / n_(class of i) and scores s = Xw, Σw = Xᵀr - Σ_c μ_c Σ_(i in c) r_i, where
    r_i = a_i (s_i - μ_(class of i)·w). The sums over r are 0 but for rounding; taking them off keeps the
    rounding of large means out of the result. With `sizes`, the class weights of a larger data set of which X is
    one block of rows, the result is the block's part of Σw: the parts add up. Products are computed in float64 even
    for float32 rows, which are converted block by block: certificates hold to the rounding of float64. For rows far
    from the origin, the vector `centre` is subtracted from blocks of rows before they are multiplied, and `offsets`
    are the means minus `centre`.
    """

    def __init__(
        self,
        X,
        is_positive: np.ndarray,
        sample_weight: np.ndarray | None,
        means: np.ndarray,
        sizes=None,
        *,
        centre: np.ndarray | None = None,
        offsets: np.ndarray | None = None,
    ):
        share = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.X = X
        self._transposed = X.T
        self.centre = centre
        self.offsets = offsets
        self._is_sparse = sparse.issparse(X)
        coarse = X.dtype == np.float32 and not self._is_sparse  # SciPy converts by itself
        self._by_blocks = coarse or centre is not None
        self.side = is_positive.astype(np.intp)
        sizes = np.bincount(self.side, weights=share, minlength=2) if sizes is None else np.asarray(sizes)
        self.share = share / sizes[self.side]
        self.means = means

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        return self.product_and_square(w)[0]

    def product_and_square(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Σw, and wᵀΣw as the sum of the squares of the scores."""
        means = self.means if self.offsets is None else self.offsets
        shift = (means @ w)[self.side]
        if self._by_blocks:
            scores = np.empty(self.side.size)
            back = self._block_products(w, shift, scores)
            residual = self.share * scores
        else:
            scores = self.X @ w - shift
            residual = self.share * scores
            back = self._transposed @ residual
        product = back - np.bincount(self.side, weights=residual, minlength=2) @ means
        return product, float(residual @ scores)

    def _block_products(self, w: np.ndarray, shift: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Write the scores of all rows, less `shift`, and return Xᵀr; several threads share a large table."""
        n = self.side.size
        width = self.X.nnz // max(n, 1) if self._is_sparse else w.size
        step = max(1, BLOCK_BYTES // (8 * max(width, 1)))

        def part(first: int, last: int) -> np.ndarray:
            back = np.zeros(w.size)
            for start in range(first, last, step):
                rows = slice(start, min(start + step, last))
                block = self.X[rows].astype(np.float64)  # always a copy
                if self.centre is not None and self._is_sparse:
                    ones = sparse.csr_array(np.ones((block.shape[0], 1)))
                    block = block - ones @ sparse.csr_array(self.centre[np.newaxis])
                elif self.centre is not None:
                    block -= self.centre
                scores[rows] = block @ w - shift[rows]
                back += block.T @ (self.share[rows] * scores[rows])
            return back

        threads = blas_thread_count() if n * width >= THREAD_ENTRIES and not self._is_sparse else 1
        if threads == 1:
            return part(0, n)
        edges = [n * number // threads for number in range(threads + 1)]
        with blas_threads(1), ThreadPoolExecutor(threads, "vrspam products") as pool:
            return np.sum(list(pool.map(part, edges[:-1], edges[1:])), axis=0)


def are_far(moments: PairSums) -> bool:
    """Whether the offset of a column, or of all, is so much larger than the spread that products would lose digits."""
    classes = moments.pair_statistics()
    levels = np.abs(classes.means).max(axis=0)
    spreads = np.sqrt(classes.within_diagonal)
    is_far = (levels > FAR * spreads) & (spreads > 0.0)
    return bool(is_far.any() or np.linalg.norm(levels) > FAR * np.linalg.norm(spreads))


class DeviceProducts:
    """Σ as products with X, on the device of X (see `WithinProducts`)."""

    def __init__(self, X: Any, is_positive: Any, weights: Any, means: np.ndarray, sizes: np.ndarray):
        xp = array_api.device_namespace(X)
        self.X = X
        self.means = array_api.beside(means, X)
        positive = xp.astype(array_api.beside(is_positive, X), xp.float64)
        self.member = xp.stack([1.0 - positive, positive], axis=1)
        share = self.member @ (1.0 / array_api.beside(sizes, X))
        self.share = share if weights is None else share * array_api.beside(weights, X)

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        return self.product_and_square(w)[0]

    def product_and_square(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Σw, and wᵀΣw as the sum of the squares of the scores."""
        xp = array_api.device_namespace(self.X)
        v = array_api.beside(w, self.X)
        level = self.means @ v
        total = v * 0.0
        sums = level * 0.0
        square = 0.0
        for where, rows in array_api.row_blocks(self.X):
            member = self.member[where, :]
            scores = rows @ v - member @ level
            residual = self.share[where] * scores
            total += residual @ rows
            sums += xp.sum(member * residual[:, None], axis=0)
            square += float(residual @ scores)
        return array_api.on_host(total - sums @ self.means), square


def far_columns(X: Any, moments: PairSums) -> np.ndarray | None:
    """What is to be subtracted from rows that are far from the origin before they are multiplied; None if none are.

    Of sparse rows only columns that lack no entry can be far: in others the zeros are part of the spread.
    """
    if not are_far(moments):
        return None
    centre = moments.pair_statistics().means.mean(axis=0)
    if sparse.issparse(X):
        stored = np.bincount(X.indices, minlength=X.shape[1]) if X.has_canonical_format else np.zeros(X.shape[1])
        centre = np.where(stored == X.shape[0], centre, 0.0)
    return centre if centre.any() else None


class PairProducts:
    """Σ of certain pairs as products with X: scores, sums of them in sorted order, and back.

    With s = Xw, Σ c_i c_j (s_i - s_j)(x_i - x_j) = Xᵀr, where r_i = c_i ((e N + b) s_i - e Σ_below c s - Σ_above c s),
    in the notation of `vrspam.moments.pairs`. From the scores of a stratum their mean is subtracted, which changes no
    difference inside it: an offset of the stratum costs no digits. For the same reason rows far from the origin are
    centred. `share` is the weight of the pairs of each row over that of its stratum.
    """

    def __init__(self, X: Any, groups: Comparable, moments: PairMoments):
        self.groups = groups
        self.moments = moments
        self.centre = far_columns(X, moments)
        if self.centre is not None and sparse.issparse(X):  # every entry of a column that is far is stored
            X = X.astype(np.float64)  # a copy
            X.data -= self.centre[X.indices]
            self.products = RowProducts(X)
        else:
            self.products = RowProducts(X, self.centre)
        middle = moments.means.mean(axis=0)
        self.middle = middle if self.centre is None else middle - self.centre
        self.delta = moments.delta
        self.stratum = groups.stratum[groups.group]
        self.mass = groups.shares
        self.mass_of_stratum = np.bincount(self.stratum, self.mass)
        self.share = self.mass / np.maximum(self.mass_of_stratum, np.finfo(float).tiny)[self.stratum]

    @property
    def errors(self) -> LossErrors:
        """Bounds on the errors of products: those of two classes, with room for sums above and below a row.

        Rounding multiplies the scores, which have the spread inside strata, by the rows, which also have the offsets of
        strata: the former takes the place of σ, and the root mean square of the rows that of |μ| (see `RowErrors`).
        """
        n, d = self.products.shape
        of_classes = LossErrors.from_rows(self.moments, self.centre)
        rows = of_classes.products
        assert isinstance(rows, RowErrors)
        squares = self.products.squares(self.groups.by_row(self.mass, n))
        room = 8.0 * gamma(n + self.mass.size) * squares
        inside = squares + room
        average = sparse.csr_array((self.share, (self.stratum, self.groups.rows)), (self.mass_of_stratum.size, n))
        step = max(1, MEAN_ENTRIES // d)
        for first in range(0, self.mass_of_stratum.size, step):
            strata = slice(first, first + step)
            inside -= RowProducts(self.products.combined(average[strata])).squares(self.mass_of_stratum[strata])
        spreads = np.sqrt(rows.spreads**2 + np.maximum(inside, room))
        levels = np.maximum(rows.levels, np.sqrt(squares))
        return replace(of_classes, products=replace(rows, spreads=4.0 * spreads, levels=4.0 * levels))

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        groups = self.groups
        scores = self.products.scores(w)[groups.rows]
        scores -= np.bincount(self.stratum, self.share * scores)[self.stratum]

        below, above = groups.sums_below_and_above(np.bincount(groups.group, groups.weight * scores, groups.mass.size))
        each = groups.touched[groups.group] * scores
        each -= (groups.factor * (groups.event * below + above))[groups.group]
        residual = groups.by_row(groups.weight * each, self.products.shape[0])

        back = self.products.back(residual) - residual.sum() * self.middle
        return back / self.moments.differences.weight - float(self.delta @ w) * self.delta
