"""The one objective, its gradient and its certificate.

Every estimator of this package minimises

    F(w) = p q · mean over pairs (i in +, j in -) of (1 - w·(x_i - x_j))²  +  l2/2 ‖w‖²  +  l1 ‖w‖₁.

The pair mean equals (1 - w·δ)² + wᵀ(Σ₊ + Σ₋)w, where δ = μ₊ - μ₋ is the difference of the class means and
Σ± are the class covariances (divided by n±), so with k = 2pq

    f(w) = pq ((1 - w·δ)² + wᵀΣw),     ∇f(w) = k (Σw - (1 - w·δ) δ),     Σ = Σ₊ + Σ₋.

Both terms of f are ≥ 0, so neither f nor ∇f suffers from cancellation. `Objective` needs δ, p and a way to
multiply by Σ: a d×d matrix out of `vrspam.moments.ClassMoments`, or two products with the data
(`WithinProducts`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from vrspam._utils import array_api
from vrspam.moments import ClassMoments
from vrspam.objective.penalties import ElasticNet

__all__ = ["ClassMoments", "Evaluation", "Objective", "WithinProducts", "auto_l2", "multiply"]

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


class Evaluation(NamedTuple):
    """F(w), ∇f(w) (the smooth part alone) and the certificate at one w."""

    value: float
    grad: np.ndarray
    gap: float


@dataclass(frozen=True)
class Objective:
    """F for one data set and one penalty.

    Parameters
    ----------
    p : float
        Share of the positive class.
    delta : ndarray of shape (d,)
        μ₊ - μ₋.
    within : ndarray of shape (d, d) or WithinProducts
        Σ₊ + Σ₋, or a way to multiply by it.
    penalty : ElasticNet
    diagonal : ndarray of shape (d,)
        Diagonal of Σ₊ + Σ₋.
    q : float, optional
        Share of the negative class, where 1 - p would round it away.
    rounding : float
        Relative error of the entries of Σ, if it was not gathered in float64; the certificate makes room for it.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0]])
    >>> moments = ClassMoments.from_data(X, [-1, -1, 1, 1])
    >>> F = Objective.from_moments(moments, l2=0.5)
    >>> round(F.value(np.array([0.2])), 6)  # 1/4 · mean of .6², .8², 0², .2², plus 0.5/2 · .2²
    0.075
    """

    p: float
    delta: np.ndarray
    within: Operator
    penalty: ElasticNet
    diagonal: np.ndarray
    q: float | None = None
    rounding: float = 0.0

    @classmethod
    def from_moments(cls, moments: ClassMoments, l2: float, l1: float = 0.0) -> Objective:
        """F from sufficient statistics alone."""
        return replace(cls.from_operator(moments.within, moments, l2, l1), rounding=moments.rounding)

    @classmethod
    def from_products(
        cls, X, is_positive, sample_weight, moments: ClassMoments, l2: float, l1: float = 0.0
    ) -> Objective:
        """F with Σ as products with X; `moments` needs no scatter matrices."""
        within = WithinProducts(X, is_positive, sample_weight, moments.means)
        return cls.from_operator(within, moments, l2, l1)

    @classmethod
    def from_operator(cls, within: Operator, moments: ClassMoments, l2: float, l1: float = 0.0) -> Objective:
        """F with any way to multiply by Σ; `moments` needs no scatter matrices."""
        return cls(moments.p, moments.delta, within, ElasticNet(l2, l1), moments.within_diagonal, moments.q)

    @property
    def pq(self) -> float:
        """F(0)."""
        return self.p * (1.0 - self.p if self.q is None else self.q)

    @property
    def k(self) -> float:
        """2pq, the factor of the gradient."""
        return 2.0 * self.pq

    @cached_property
    def gram_diagonal(self) -> np.ndarray:
        """Diagonal of k (Σ + δδᵀ), the second derivative of f along each coordinate."""
        return self.k * (self.diagonal + self.delta**2)

    def with_penalty(self, l2: float, l1: float = 0.0) -> Objective:
        """The same data with another penalty."""
        return replace(self, penalty=ElasticNet(l2, l1))

    def smooth(self, w: np.ndarray, product: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """f(w) and ∇f(w) from one multiplication by Σ, whose result may be given."""
        product = self.within @ w if product is None else product
        margin = 1.0 - float(w @ self.delta)
        value = self.pq * (margin * margin + max(float(w @ product), 0.0))
        return value, self.k * (product - margin * self.delta)

    def value(self, w: np.ndarray) -> float:
        """F(w)."""
        return self.smooth(w)[0] + self.penalty.value(w)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """∇f(w), without the penalty."""
        return self.smooth(w)[1]

    def gap(self, w: np.ndarray) -> float:
        """Certificate: an upper bound on F(w) - F* (NaN when l2 = 0)."""
        return self.penalty.gap(w, self.gradient(w))

    def evaluate(self, w: np.ndarray, product: np.ndarray | None = None) -> Evaluation:
        """F(w), ∇f(w) and the certificate from one multiplication by Σ, whose result may be given."""
        value, grad = self.smooth(w, product)
        return Evaluation(value + self.penalty.value(w), grad, self.penalty.gap(w, grad))


AUTO_L2_SHARE = 1e-3  # `l2="auto"` is this share of the unit


def auto_l2(moments: ClassMoments) -> float:
    """The unit of l2: 2pq · mean of the diagonal of H = Σ + δδᵀ, so neither imbalance nor scale makes it absurd.

    Columns that carry nothing at all give the unit 2pq.
    """
    mean_diagonal = float(np.mean(moments.within_diagonal + moments.delta**2))
    return 2.0 * moments.p * moments.q * (mean_diagonal if mean_diagonal > 0.0 else 1.0)
