"""Losses: the smooth part f of F = f + Ω.

`SmoothLoss` is what every solver needs of a loss; `QuadraticLoss` is what solvers of quadratic losses need.
The squared pair loss

    f(w) = p q · mean over pairs (i in +, j in -) of (1 - w·(x_i - x_j))²

is quadratic. The pair mean equals (1 - w·δ)² + wᵀΣw, where δ = μ₊ - μ₋ is the difference of the class means and
Σ = Σ₊ + Σ₋ the sum of the class covariances (divided by n±), so with k = 2pq

    f(w) = pq ((1 - w·δ)² + wᵀΣw),     ∇f(w) = k (Σw - (1 - w·δ) δ),     ∇²f = k (Σ + δδᵀ).

Both terms of f are ≥ 0, so neither f nor ∇f suffers from cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from vrspam._utils import array_api
from vrspam._utils.blas import blas_thread_count, blas_threads
from vrspam.comparable import Comparable
from vrspam.moments import FinishedMoments, PairMoments, PairSums, gamma
from vrspam.objective.rounding import FinishedErrors, LossErrors, MatrixErrors, RowErrors

BLOCK_BYTES = 1 << 20  # rows converted, or centred, at once: they stay in the cache of a core
MEAN_ENTRIES = 1 << 24  # of means of strata that are held at once


class Operator(Protocol):
    """Anything that multiplies a vector by Σ."""

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray: ...


def multiply(X, v: np.ndarray) -> np.ndarray:
    """X @ v in the precision of X; for float32 a power of two keeps v within its range and changes no digit."""
    if X.dtype != np.float32:
        return X @ v
    exponent = int(np.frexp(np.max(np.abs(v), initial=0.0))[1])
    return np.ldexp((X @ np.ldexp(v, -exponent).astype(np.float32)).astype(np.float64), exponent)


class RowProducts:
    """X w and Xᵀ r in float64, for a dense or CSR matrix, or an object with `shape`, `dtype` and rows `X[slice]`."""

    def __init__(self, X: Any, centre: np.ndarray | None = None):
        self.X, self.centre = X, centre
        self.shape: tuple[int, int] = X.shape
        self.is_sparse = sparse.issparse(X) and centre is None
        self.in_memory = self.is_sparse or (isinstance(X, np.ndarray) and centre is None)
        self._direct = self.is_sparse or (self.in_memory and X.dtype == np.float64)
        self.exact = self._direct or not self.in_memory  # whether quick products are computed in float64
        self._transposed = X.T if self.in_memory else None

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        n, d = self.shape
        converted_entries, made_entries = 1 << 19, 1 << 21  # converted from float32, and features computed, at once
        step = max(192, (converted_entries if self.in_memory else made_entries) // max(d, 1))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            part = self.X[rows]
            block = np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)
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
        found = np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)
        if self.centre is None:
            return found
        return found - (self.centre if columns is None else self.centre[columns])


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
        self.centre, self.offsets = centre, offsets
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

        thread_entries = 1 << 22  # of a table from which on several threads convert it
        threads = blas_thread_count() if n * width >= thread_entries and not self._is_sparse else 1
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
    far = 1e4  # offset over spread of rows that are centred before they are multiplied
    some = np.any((levels > far * spreads) & (spreads > 0.0))
    return bool(some or np.linalg.norm(levels) > far * np.linalg.norm(spreads))


class DeviceProducts:
    """Σ as products with X, on the device of X (see `WithinProducts`)."""

    def __init__(self, X: Any, is_positive: Any, weights: Any, means: np.ndarray, sizes: np.ndarray):
        xp = array_api.device_namespace(X)
        self.X, self.means = X, array_api.beside(means, X)
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
        self.groups, self.moments, self.centre = groups, moments, far_columns(X, moments)
        if self.centre is not None and sparse.issparse(X):  # every entry of a column that is far is stored
            X = X.astype(np.float64)  # a copy
            X.data -= self.centre[X.indices]
            self.products = RowProducts(X)
        else:
            self.products = RowProducts(X, self.centre)
        middle = moments.means.mean(axis=0)
        self.middle, self.delta = middle if self.centre is None else middle - self.centre, moments.delta
        self.stratum, self.mass = groups.stratum[groups.group], groups.shares
        self.mass_of_stratum = np.bincount(self.stratum, self.mass)
        self.share = self.mass / np.maximum(self.mass_of_stratum, np.finfo(float).tiny)[self.stratum]

    @property
    def errors(self) -> LossErrors:
        """Bounds on the errors of products: those of two classes, with room for sums above and below a row.

        Rounding multiplies the scores, which have the spread inside strata, by the rows, which also have the offsets of
        strata: the former takes the place of σ, and the root mean square of the rows that of |μ| (see `RowErrors`).
        """
        found, (n, d) = LossErrors.from_rows(self.moments, self.centre), self.products.shape
        rows = found.products
        assert isinstance(rows, RowErrors)
        squares = self.products.squares(self.groups.by_row(self.mass, n))
        room = 8.0 * gamma(n + self.mass.size) * squares
        inside = squares + room
        average = sparse.csr_array((self.share, (self.stratum, self.groups.rows)), (self.mass_of_stratum.size, n))
        step = max(1, MEAN_ENTRIES // d)
        for first in range(0, self.mass_of_stratum.size, step):
            some = slice(first, first + step)
            inside -= RowProducts(self.products.combined(average[some])).squares(self.mass_of_stratum[some])
        spreads = np.sqrt(rows.spreads**2 + np.maximum(inside, room))
        levels = np.maximum(rows.levels, np.sqrt(squares))
        return replace(found, products=replace(rows, spreads=4.0 * spreads, levels=4.0 * levels))

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        groups, along = self.groups, float(self.delta @ w)
        scores = self.products.scores(w)[groups.rows]
        scores -= np.bincount(self.stratum, self.share * scores)[self.stratum]
        below, above = groups.sums_below_and_above(np.bincount(groups.group, groups.weight * scores, groups.mass.size))
        each = groups.touched[groups.group] * scores
        each -= (groups.factor * (groups.event * below + above))[groups.group]
        residual = groups.by_row(groups.weight * each, self.products.shape[0])
        back = self.products.back(residual) - residual.sum() * self.middle
        return back / self.moments.differences.weight - along * self.delta


class SmoothLoss(Protocol):
    """A convex loss with a Lipschitz gradient, of one data set.

    Attributes
    ----------
    scale : float
        f(0). Tolerances are relative to it.
    n_features : int
    is_quadratic : bool
        Whether the loss is a `QuadraticLoss`.
    matrix : ndarray of shape (d, d) or None
        Σ, where the loss has it as a matrix.
    rows : WithinProducts or None
        The training rows, where they lie in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ClassMoments
    >>> from vrspam.objective import SquaredPairLoss
    >>> loss = SquaredPairLoss.from_moments(ClassMoments.from_data(np.array([[0.0], [2.0]]), [0, 1]))
    >>> loss.scale, loss.value_and_grad(np.array([0.25]))  # ½ · ½, and ¼ (1 - 2w)² with its derivative
    (0.25, (0.0625, array([-0.5])))
    """

    @property
    def scale(self) -> float: ...
    @property
    def n_features(self) -> int: ...
    @property
    def is_quadratic(self) -> bool: ...
    @property
    def matrix(self) -> np.ndarray | None: ...
    @property
    def rows(self) -> WithinProducts | None: ...

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f(w) and ∇f(w)."""

    def hessian_product(self, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> ∇²f(w) v (where f has no second derivative, an element of its generalised Hessian)."""

    def curvature(self) -> np.ndarray:
        """An upper bound on the second derivative of f along each coordinate, for any w; shape (d,)."""

    # Optional: gradient_error(w, grad) -> float, how far (in norm) rounding may have moved ∇f(w), computed as `grad`.
    # The certificate makes room for this error; without the method the certificate holds for exact arithmetic only.


class QuadraticLoss(SmoothLoss, Protocol):
    """A loss f(w) = k/2 ((1 - w·δ)² + wᵀΣw), for solvers that need its parts.

    Attributes
    ----------
    k : float
    delta : ndarray of shape (d,)
    within : operator
        Multiplies by Σ.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ClassMoments
    >>> from vrspam.objective import SquaredPairLoss
    >>> loss = SquaredPairLoss.from_moments(ClassMoments.from_data(np.array([[0.0], [2.0]]), [0, 1]))
    >>> loss.k, loss.delta.tolist()
    (0.5, [2.0])
    """

    @property
    def k(self) -> float: ...
    @property
    def delta(self) -> np.ndarray: ...
    @property
    def within(self) -> Operator: ...

    def value_and_grad(self, w: np.ndarray, product: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """f(w) and ∇f(w); `product` is Σw where it is known."""

    def restricted_to(self, columns: np.ndarray, matrix: np.ndarray) -> QuadraticLoss:
        """The loss of some of the columns, whose Σ is `matrix`."""


class Exclusive(NamedTuple):
    """Columns of which at most one is not 0 in each row, and their means in both classes, of shape (2, columns)."""

    where: slice
    means: np.ndarray


@dataclass(eq=False)
class SquaredPairLoss:
    """The squared pair loss of one data set.

    Parameters
    ----------
    p : float
        Share of the positive class.
    delta : ndarray of shape (d,)
        μ₊ - μ₋.
    within : ndarray of shape (d, d), WithinProducts or other operator
        Σ₊ + Σ₋, or a way to multiply by it.
    diagonal : ndarray of shape (d,)
        Diagonal of Σ₊ + Σ₋.
    q : float, optional
        Share of the negative class, for shares that 1 - p would lose to rounding.
    rounding : float
        Relative error of a product in Σ, if it was not gathered in float64.
    matrix : ndarray of shape (d, d), optional
        `within` once more, if it is a matrix.
    rows : WithinProducts, optional
        The training rows, if they lie in memory: for solvers that read columns.
    errors : LossErrors, optional
        Bounds on the rounding errors of all of these; the certificate makes room for them.
    tilt : ndarray of shape (d,), optional
        A linear term tilt·w that is added to the loss (see `vrspam.solvers.exact`).
    matrix_on_device : array of shape (d, d), optional
        `matrix` once more, on the device where the rows lie.
    exclusive : Exclusive, optional
        The indicators of one categorical column, if they are known: `vrspam.solvers.gram` eliminates them.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ClassMoments
    >>> from vrspam.objective import SquaredPairLoss
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0]])
    >>> loss = SquaredPairLoss.from_moments(ClassMoments.from_data(X, [-1, -1, 1, 1]))
    >>> round(loss.value_and_grad(np.array([0.2]))[0], 6)  # 1/4 · mean of .6², .8², 0², .2²
    0.065
    """

    p: float
    delta: np.ndarray
    within: Operator
    diagonal: np.ndarray
    q: float | None = None
    rounding: float = 0.0
    matrix: np.ndarray | None = None
    rows: WithinProducts | None = None
    errors: LossErrors | None = None
    tilt: np.ndarray | None = None
    matrix_on_device: Any = None
    exclusive: Exclusive | None = None

    is_quadratic = True

    def __post_init__(self) -> None:
        self.scale = self.p * (1.0 - self.p if self.q is None else self.q)  # f(0) = pq
        self.k = 2.0 * self.scale
        self.n_features = self.delta.size
        self._curvature = self.k * (self.diagonal + self.delta**2)

    @classmethod
    def from_operator(cls, within: Operator, moments: PairSums, **more: Any) -> SquaredPairLoss:
        """The loss with any way to multiply by Σ; `moments` needs no scatter matrices. `more` are further fields."""
        classes = moments.pair_statistics()
        if "errors" not in more:
            from_scores = hasattr(within, "product_and_square")
            more["errors"] = LossErrors.from_rows(moments, from_scores=from_scores)
        return cls(classes.p, classes.delta, within, classes.within_diagonal, classes.q, **more)

    @classmethod
    def from_moments(cls, moments: PairSums, exclusive: Sequence[slice] = ()) -> SquaredPairLoss:
        """The loss from sufficient statistics alone; the widest of the given slices is kept as `exclusive`."""
        matrix = moments.within
        classes = moments.pair_statistics()
        errors = moments.pair_errors()
        products: Any
        if isinstance(moments, FinishedMoments):
            products = FinishedErrors.of(moments)
        else:
            products = MatrixErrors(np.sqrt(errors.within), np.sqrt(classes.within_diagonal + errors.within))
        where = max(exclusive, key=lambda one: one.stop - one.start, default=None)
        return cls(
            classes.p,
            classes.delta,
            matrix,
            classes.within_diagonal,
            classes.q,
            rounding=moments.rounding,
            matrix=matrix,
            errors=LossErrors(errors.share, errors.delta, products),
            matrix_on_device=moments.within_on_device,
            exclusive=None if where is None else Exclusive(where, (classes.means + moments.offsets)[:, where]),
        )

    @classmethod
    def from_rows(cls, X, is_positive: np.ndarray, sample_weight, moments: PairSums) -> SquaredPairLoss:
        """The loss with Σ as products with X; `moments` needs no scatter matrices.

        Dense rows that are far from the origin are centred block by block, see `from_centred_rows`.
        """
        if not sparse.issparse(X) and are_far(moments):
            return cls.from_centred_rows(X, is_positive, sample_weight, moments)
        rows = WithinProducts(X, is_positive, sample_weight, moments.means)
        return cls.from_operator(rows, moments, rows=rows)

    @classmethod
    def from_centred_rows(cls, X, is_positive: np.ndarray, sample_weight, moments: PairSums) -> SquaredPairLoss:
        """`from_rows`, as accurate as float64 allows: a common centre is subtracted from the rows block by block.

        Sparse rows are centred only in columns that are more than half full: in the others the mean is small against
        the spread, and they stay sparse.
        """
        centre = moments.means.mean(axis=0)
        if sparse.issparse(X):
            centre = np.where(np.bincount(X.indices, minlength=X.shape[1]) > X.shape[0] / 2, centre, 0.0)
            if not centre.any():
                return cls.from_rows(X, is_positive, sample_weight, moments)
        offsets = (moments.means - centre) + moments.offsets
        rows = WithinProducts(X, is_positive, sample_weight, moments.means, centre=centre, offsets=offsets)
        errors = LossErrors.from_rows(moments, centre, from_scores=True)
        return cls.from_operator(rows, moments, rows=rows, errors=errors)

    def curvature(self) -> np.ndarray:
        """Diagonal of k (Σ + δδᵀ)."""
        return self._curvature

    def value_and_grad(self, w: np.ndarray, product: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """f(w) and ∇f(w) from one multiplication by Σ, whose result may be given; at 0 the data need not be read."""
        square = None
        if product is None and not w.any():
            product = np.zeros_like(w)
        elif product is None and hasattr(self.within, "product_and_square"):
            product, square = self.within.product_and_square(w)
        elif product is None:
            product = self.within @ w
        margin = 1.0 - float(w @ self.delta)
        square = float(w @ product) if square is None else square
        value = self.scale * (margin * margin + max(square, 0.0))
        grad = self.k * (product - margin * self.delta)
        if self.tilt is None:
            return value, grad
        return value + float(self.tilt @ w), grad + self.tilt

    def gradient_error(self, w: np.ndarray, grad: np.ndarray) -> float:
        """How far (in norm) rounding may have moved ∇f(w), computed as `grad`, from that of the rows as they are."""
        if self.errors is None:
            return 0.0
        return float(np.linalg.norm(self.errors.of_gradient(w, grad, self.k, self.delta)))

    def tilted(self, tilt: np.ndarray) -> SquaredPairLoss:
        """The loss plus tilt·w; `errors` bounds the rounding of another loss, so it is left out."""
        return replace(self, tilt=tilt, errors=None)

    def restricted_to(self, columns: np.ndarray, matrix: np.ndarray) -> SquaredPairLoss:
        """The loss of some of the columns, whose Σ is `matrix`."""
        delta, diagonal = self.delta[columns], self.diagonal[columns]
        alone = replace(self, rows=None, errors=None, matrix_on_device=None, exclusive=None)
        tilt = None if self.tilt is None else self.tilt[columns]
        return replace(alone, delta=delta, within=matrix, matrix=matrix, diagonal=diagonal, tilt=tilt)

    def hessian_product(self, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> k (Σ + δδᵀ) v, which does not depend on w."""
        return lambda v: self.k * (self.within @ v + float(self.delta @ v) * self.delta)
