"""The penalty Ω(w) = l2/2 ‖w‖² + l1 ‖w‖₁ as plain numbers: value, prox, and its part of the certificate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


def soft_threshold(v: np.ndarray, threshold: float) -> np.ndarray:
    """Shrink each entry of `v` towards 0 by `threshold`.

    >>> soft_threshold(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)


class ElasticNet(NamedTuple):
    """Ω(w) = l2/2 ‖w‖² + l1 ‖w‖₁; `l2` is the paper's β, `l1` its β₁."""

    l2: float
    l1: float = 0.0

    def value(self, w: np.ndarray) -> float:
        """Ω(w)."""
        return float(0.5 * self.l2 * (w @ w) + self.l1 * np.abs(w).sum())

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        """The w that minimises ‖w - v‖²/2 + step·Ω(w): soft-threshold by step·l1, divide by 1 + step·l2."""
        return soft_threshold(v, step * self.l1) / (1.0 + step * self.l2)

    def gap(self, w: np.ndarray, grad: np.ndarray) -> float:
        """Fenchel-Young gap Ω(w) + Ω*(-grad) + w·grad, NaN when l2 = 0.

        With grad = ∇f(w) this is an upper bound on F(w) - F*: f lies above its tangent at w, and the least
        value of tangent + Ω is known in closed form. With s = soft(grad, l1),

            gap = ‖l2·w + s‖² / (2 l2) + Σ_j (l1 |w_j| + (grad_j - s_j) w_j);

        every term is ≥ 0, so nothing cancels. With l2 = 0 the tangent plus Ω has no finite least value as
        soon as some |grad_j| > l1, and the bound says nothing: it is NaN by convention.
        """
        return self.residual(w, grad, self.l2) if self.l2 > 0.0 else float("nan")

    def residual(self, w: np.ndarray, grad: np.ndarray, curvature: float) -> float:
        """The terms of `gap` with another number in the denominator: 0 at the optimum, also when l2 = 0."""
        if self.l1 == 0.0:
            s, kinks = grad, 0.0
        else:
            s = soft_threshold(grad, self.l1)
            kinks = float(np.sum(self.l1 * np.abs(w) + (grad - s) * w))
        # Divided before it is squared: l2 and grad may be near the ends of the floating-point range.
        scaled = (self.l2 * w + s) / np.sqrt(2.0 * curvature)
        return float(scaled @ scaled) + max(kinks, 0.0)
