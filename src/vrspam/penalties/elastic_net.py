"""The elastic net: l2/2 ‖w‖² + l1 ‖w‖₁."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vrspam.penalties.base import Separable, soft_threshold


class ElasticNetNumbers(NamedTuple):
    """The numbers of the elastic net."""

    l2: float
    l1: float = 0.0


class ElasticNet(ElasticNetNumbers, Separable):
    """Ω(w) = l2/2 ‖w‖² + l1 ‖w‖₁.

    Attributes
    ----------
    l2, l1 : float
        The paper's β and β₁.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.objective import ElasticNet
    >>> ElasticNet(l2=1.0, l1=0.5).value(np.array([1.0, -2.0]))
    4.0
    """

    __slots__ = ()

    is_convex = True
    has_gap = True
    ridge_without_l1 = True

    @property
    def ridge(self) -> float | None:  # type: ignore[override]
        """l2, if l1 = 0."""
        return self.l2 if self.l1 == 0.0 else None

    @property
    def strong_convexity(self) -> float:  # type: ignore[override]
        """l2."""
        return self.l2

    def value(self, w: np.ndarray) -> float:
        """Ω(w)."""
        return float(0.5 * self.l2 * (w @ w) + self.l1 * np.abs(w).sum())

    def prox(self, v: np.ndarray, step: Any) -> np.ndarray:
        """Soft-threshold by step·l1, then divide by 1 + step·l2."""
        return soft_threshold(v, step * self.l1) / (1.0 + step * self.l2)

    def gap(self, w: np.ndarray, grad: np.ndarray, curvature: float | None = None) -> float:
        """Fenchel-Young gap Ω(w) + Ω*(-grad) + w·grad, NaN when l2 = 0.

        With grad = ∇f(w) this is an upper bound on F(w) - F*: f lies above its tangent at w, and the least
        value of tangent + Ω is known in closed form. With s = soft(grad, l1),

            gap = ‖l2·w + s‖² / (2 l2) + Σ_j (l1 |w_j| + (grad_j - s_j) w_j);

        every term is ≥ 0, so nothing cancels. With l2 = 0 the tangent plus Ω has no finite least value as
        soon as some |grad_j| > l1, and the bound says nothing: it is NaN by convention. With `curvature` the square
        is divided by that instead of by l2 (see `violation`).
        """
        if curvature is None:
            if self.l2 == 0.0:
                return float("nan")
            curvature = self.l2
        if self.l1 == 0.0:
            s = grad
            kinks = 0.0
        else:
            s = soft_threshold(grad, self.l1)
            kinks = float(np.sum(self.l1 * np.abs(w) + (grad - s) * w))
        # Divided before it is squared: l2 and grad may be near the ends of the floating-point range.
        scaled = (self.l2 * w + s) / np.sqrt(2.0 * curvature)
        return float(scaled @ scaled) + max(kinks, 0.0)

    def gap_inside(self, w: np.ndarray, grad: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
        """Fenchel-Young gap inside bounds, for l2 > 0.

        With u = clip(-soft(grad, l1)/l2, lower, upper), which minimises tangent + Ω, r = -(grad + l2 u), s the slope of
        l1 |u| that is nearest to r, and λ = r - s, which is 0 unless u lies on a bound,

            gap = Σ_j (l2/2 (w_j - u_j)² + (l1 |w_j| - s_j w_j) + λ_j (u_j - w_j));

        every term is ≥ 0 inside the bounds, so nothing cancels.
        """
        l2, l1 = self
        best = -np.sign(grad) * np.maximum(np.abs(grad) - l1, 0.0) / l2
        u = np.clip(best, lower, upper)
        r = -(grad + l2 * u)
        s = np.where(u == 0.0, np.clip(r, -l1, l1), l1 * np.sign(u))
        at_bounds = np.where(best == u, 0.0, (r - s) * (u - w))
        scaled = np.sqrt(l2 / 2.0) * (w - u)
        return float(scaled @ scaled) + float(np.sum(l1 * np.abs(w) - s * w)) + float(np.sum(at_bounds))

    def violation(self, w: np.ndarray, grad: np.ndarray, curvature: np.ndarray) -> float:
        """The gap; for l2 = 0 its terms are divided by the `gap_curvature` instead of by l2."""
        return self.gap(w, grad, self.gap_curvature(curvature))

    def gap_curvature(self, curvature: np.ndarray) -> float:
        """l2 or, if l2 = 0, 1e-10 times the mean curvature of f."""
        if self.l2 > 0.0:
            return self.l2
        return 1e-10 * max(float(np.mean(curvature)), float(np.finfo(float).tiny))

    def quadratic_piece(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """l2 and l1 times the signs of w."""
        return self.l2, self.l1 * np.sign(w)
