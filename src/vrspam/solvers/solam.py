"""SOLAM (Ying, Wen & Lyu 2016): stochastic descent in (w, a, b) and ascent in ζ on the saddle function

    q (w·x - a)² - 2q (1+ζ) w·x - pq ζ²   of a positive row,
    p (w·x - b)² + 2p (1+ζ) w·x - pq ζ²   of a negative one,       plus l2/2 ‖w‖².

At its saddle point a = w·μ₊, b = w·μ₋, ζ = w·(μ₋ - μ₊), and w minimises F.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vrspam.solvers.online import SumsMethod

if TYPE_CHECKING:
    from vrspam import kernels


class SOLAM(SumsMethod):
    """The state of SOLAM, and its steps; `coef` is the average of the w_t weighted by the steps η_t."""

    def __init__(self, n_features: int):
        super().__init__(n_features)
        self.w = np.zeros(n_features)
        self.total = np.zeros(n_features)
        self.carry = np.zeros(12)  # see kernels.solam_steps
        self.carry[1] = 1.0

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
        """Visit the rows `order`; side is 1 for positive rows, `radius` bounds ‖w‖."""
        from vrspam import kernels

        bound = np.inf if radius is None else float(radius)
        kernels.solam_steps(X, order, side, self.classes, learn, self.w, self.total, self.carry, rule, bound)

    @property
    def n_steps(self) -> int:
        return int(self.carry[0])

    @property
    def coef(self) -> np.ndarray:
        if self.carry[6] == 0.0:
            return np.zeros_like(self.w)
        return (self.total + self.carry[5] * self.w) / self.carry[6]

    @property
    def saddle(self) -> np.ndarray:
        """The averages of (a, b, ζ)."""
        return self.carry[9:12] / max(self.carry[6], np.finfo(float).tiny)
