"""Losses: the smooth part f of F = f + Ω.

`SmoothLoss` is what every solver needs of a loss; `QuadraticLoss` is what solvers of quadratic losses need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from vrspam.objective.products import WithinProducts


class Operator(Protocol):
    """Anything that multiplies a vector by Σ."""

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray: ...


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
