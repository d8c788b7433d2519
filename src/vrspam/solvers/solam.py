"""SOLAM (Ying, Wen & Lyu 2016): stochastic descent in (w, a, b) and ascent in ζ on the saddle function

    q (w·x - a)² - 2q (1+ζ) w·x - pq ζ²   of a positive row,
    p (w·x - b)² + 2p (1+ζ) w·x - pq ζ²   of a negative one,       plus l2/2 ‖w‖².

At its saddle point a = w·μ₊, b = w·μ₋, ζ = w·(μ₋ - μ₊), and w minimises F.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vrspam._utils.arrays import padded
from vrspam.solvers.online import SumsMethod

if TYPE_CHECKING:
    from vrspam import kernels


class SOLAM(SumsMethod):
    """The state of SOLAM, and its steps; `coef` is the average of the w_t weighted by the steps η_t."""

    def __init__(self, n_features: int):
        from vrspam import kernels

        super().__init__(n_features)
        self.total = np.zeros(n_features)
        self.carry = np.zeros(kernels.SOLAM_SLOTS)  # see kernels.solam_steps
        self.carry[kernels.SCALE] = 1.0

    def add_features(self, count: int) -> None:
        super().add_features(count)
        self.total = padded(self.total, self.w.size)

    def advance(
        self,
        X: np.ndarray | kernels.CSR,
        order: np.ndarray,
        side: np.ndarray,
        rule: kernels.StepRule,
        radius: float | None = None,
        *,
        learn: bool,
    ) -> None:
        """Visit the rows `order`; `side` is 1 for positive rows, and `radius` bounds ‖w‖."""
        from vrspam import kernels

        bound = np.inf if radius is None else float(radius)
        kernels.solam_steps(X, order, side, self.classes, learn, self.w, self.total, self.carry, rule, bound)

    @property
    def n_steps(self) -> int:
        from vrspam import kernels

        return int(self.carry[kernels.STEPS])

    @property
    def coef(self) -> np.ndarray:
        from vrspam import kernels

        weight = self.carry[kernels.SOLAM_WEIGHT]
        if weight == 0.0:
            return np.zeros_like(self.w)
        return (self.total + self.carry[kernels.SOLAM_OF_V] * self.w) / weight

    @property
    def saddle(self) -> np.ndarray:
        """The averages of (a, b, ζ)."""
        from vrspam import kernels

        return self.carry[kernels.SOLAM_SUMS :] / max(self.carry[kernels.SOLAM_WEIGHT], np.finfo(float).tiny)
