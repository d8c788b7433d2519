"""Losses: the smooth part f of F = f + Ω.

What solvers ask of a loss is `SmoothLoss`; what those that work on a quadratic ask beside it is `QuadraticLoss`.
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
from typing import Protocol

import numpy as np

from vrspam.moments import ClassMoments
from vrspam.objective.products import Operator, WithinProducts


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
    def from_operator(cls, within: Operator, moments: ClassMoments) -> SquaredPairLoss:
        """The loss with any way to multiply by Σ; `moments` needs no scatter matrices."""
        return cls(moments.p, moments.delta, within, moments.within_diagonal, moments.q)

    @classmethod
    def from_moments(cls, moments: ClassMoments) -> SquaredPairLoss:
        """The loss from sufficient statistics alone."""
        matrix = moments.within
        return replace(cls.from_operator(matrix, moments), rounding=moments.rounding, matrix=matrix)

    @classmethod
    def from_rows(cls, X, is_positive: np.ndarray, sample_weight, moments: ClassMoments) -> SquaredPairLoss:
        """The loss with Σ as products with X; `moments` needs no scatter matrices."""
        rows = WithinProducts(X, is_positive, sample_weight, moments.means)
        return replace(cls.from_operator(rows, moments), rows=rows)

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

    def hessian_product(self, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> k (Σ + δδᵀ) v, which does not depend on w."""
        return lambda v: self.k * (self.within @ v + float(self.delta @ v) * self.delta)
