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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from vrspam._utils import array_api
from vrspam.moments import ClassMoments

BLOCK_BYTES = 1 << 22  # float32 rows converted at once


class Operator(Protocol):
    """Anything that multiplies a vector by Σ."""

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray: ...


def multiply(X, v: np.ndarray) -> np.ndarray:
    """X @ v in the precision of X; for float32 a power of two keeps v within its range and changes no digit."""
    if X.dtype != np.float32:
        return X @ v
    exponent = int(np.frexp(np.max(np.abs(v), initial=0.0))[1])
    return np.ldexp((X @ np.ldexp(v, -exponent).astype(np.float32)).astype(np.float64), exponent)


class WithinProducts:
    """Σ as two products with X: the class means are subtracted implicitly, X is never copied or densified.

    With a_i = weight_i / n_(class of i) and scores s = Xw, Σw = Xᵀr - Σ_c μ_c Σ_(i in c) r_i, where
    r_i = a_i (s_i - μ_(class of i)·w). The sums over r are 0 but for rounding; taking them off keeps the
    rounding of large means out of the result. With `sizes`, the class weights of a larger data set of which X is
    one block of rows, the result is the block's part of Σw: the parts add up. Products are those of float64 also for
    float32 rows, which are converted block by block: certificates hold to its rounding.
    """

    def __init__(self, X, is_positive: np.ndarray, sample_weight: np.ndarray | None, means: np.ndarray, sizes=None):
        share = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.X = X
        self._transposed = X.T
        self._coarse = X.dtype == np.float32 and not sparse.issparse(X)  # SciPy converts by itself
        self.side = is_positive.astype(np.intp)
        sizes = np.bincount(self.side, weights=share, minlength=2) if sizes is None else np.asarray(sizes)
        self.share = share / sizes[self.side]
        self.means = means

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        shift = (self.means @ w)[self.side]
        if self._coarse:
            step = max(1, BLOCK_BYTES // (8 * max(w.size, 1)))
            residual, back = np.empty(self.side.size), np.zeros(w.size)
            for start in range(0, self.side.size, step):
                rows = slice(start, start + step)
                block = self.X[rows].astype(np.float64)
                residual[rows] = self.share[rows] * (block @ w - shift[rows])
                back += block.T @ residual[rows]
        else:
            residual = self.share * (self.X @ w - shift)
            back = self._transposed @ residual
        return back - np.bincount(self.side, weights=residual, minlength=2) @ self.means


class DeviceProducts:
    """Σ as products with X where X lies (see `WithinProducts`)."""

    def __init__(self, X: Any, is_positive: Any, weights: Any, means: np.ndarray, sizes: np.ndarray):
        xp = array_api.device_namespace(X)
        self.X, self.means = X, array_api.beside(means, X)
        positive = xp.astype(array_api.beside(is_positive, X), xp.float64)
        self.member = xp.stack([1.0 - positive, positive], axis=1)
        share = self.member @ (1.0 / array_api.beside(sizes, X))
        self.share = share if weights is None else share * array_api.beside(weights, X)

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        xp = array_api.device_namespace(self.X)
        v = array_api.beside(w, self.X)
        level = self.means @ v
        total, sums = v * 0.0, level * 0.0
        for where, rows in array_api.row_blocks(self.X):
            member = self.member[where, :]
            residual = self.share[where] * (rows @ v - member @ level)
            total += residual @ rows
            sums += xp.sum(member * residual[:, None], axis=0)
        return array_api.on_host(total - sums @ self.means)


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


class QuadraticLoss(SmoothLoss, Protocol):
    """A loss f(w) = k/2 ((1 - w·δ)² + wᵀΣw), for solvers that need its parts."""

    @property
    def k(self) -> float: ...
    @property
    def delta(self) -> np.ndarray: ...
    @property
    def within(self) -> Operator: ...
    @property
    def rounding(self) -> float: ...

    def value_and_grad(self, w: np.ndarray, product: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """f(w) and ∇f(w); `product` is Σw where it is known."""

    def restricted_to(self, columns: np.ndarray, matrix: np.ndarray) -> QuadraticLoss:
        """The loss of some of the columns, whose Σ is `matrix`."""


@dataclass(frozen=True)
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
        Share of the negative class, where 1 - p would round it away.
    rounding : float
        Relative error of the entries of Σ, if it was not gathered in float64; the certificate makes room for it.
    matrix : ndarray of shape (d, d), optional
        `within` once more, if it is a matrix.
    rows : WithinProducts, optional
        The training rows, if they lie in memory: for solvers that read columns.

    Examples
    --------
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

    is_quadratic = True

    @classmethod
    def from_operator(cls, within: Operator, moments: ClassMoments, **more: Any) -> SquaredPairLoss:
        """The loss with any way to multiply by Σ; `moments` needs no scatter matrices. `more` are further fields."""
        classes = moments.pair_statistics()
        return cls(classes.p, classes.delta, within, classes.within_diagonal, classes.q, **more)

    @classmethod
    def from_moments(cls, moments: ClassMoments) -> SquaredPairLoss:
        """The loss from sufficient statistics alone."""
        matrix = moments.within
        return cls.from_operator(matrix, moments, rounding=moments.rounding, matrix=matrix)

    @classmethod
    def from_rows(cls, X, is_positive: np.ndarray, sample_weight, moments: ClassMoments) -> SquaredPairLoss:
        """The loss with Σ as products with X; `moments` needs no scatter matrices."""
        rows = WithinProducts(X, is_positive, sample_weight, moments.means)
        return cls.from_operator(rows, moments, rows=rows)

    @property
    def scale(self) -> float:
        """f(0) = pq."""
        return self.p * (1.0 - self.p if self.q is None else self.q)

    @property
    def k(self) -> float:
        """2pq, the factor of the gradient."""
        return 2.0 * self.scale

    @property
    def n_features(self) -> int:
        return self.delta.size

    @cached_property
    def _curvature(self) -> np.ndarray:
        return self.k * (self.diagonal + self.delta**2)

    def curvature(self) -> np.ndarray:
        """Diagonal of k (Σ + δδᵀ)."""
        return self._curvature

    def value_and_grad(self, w: np.ndarray, product: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """f(w) and ∇f(w) from one multiplication by Σ, whose result may be given; at 0 the data need not be read."""
        if product is None:
            product = self.within @ w if w.any() else np.zeros_like(w)
        margin = 1.0 - float(w @ self.delta)
        value = self.scale * (margin * margin + max(float(w @ product), 0.0))
        return value, self.k * (product - margin * self.delta)

    def restricted_to(self, columns: np.ndarray, matrix: np.ndarray) -> SquaredPairLoss:
        """The loss of some of the columns, whose Σ is `matrix`."""
        delta, diagonal = self.delta[columns], self.diagonal[columns]
        return replace(self, delta=delta, within=matrix, matrix=matrix, diagonal=diagonal, rows=None)

    def hessian_product(self, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> k (Σ + δδᵀ) v, which does not depend on w."""
        return lambda v: self.k * (self.within @ v + float(self.delta @ v) * self.delta)
