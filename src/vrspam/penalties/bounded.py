"""A penalty of single coordinates inside bounds."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from vrspam.penalties.base import Penalty, Separable
from vrspam.penalties.elastic_net import ElasticNet


class BoundedNumbers(NamedTuple):
    """A penalty, and the lower and upper bound of each coefficient."""

    penalty: Any
    lower: np.ndarray
    upper: np.ndarray


class Bounded(BoundedNumbers, Separable):
    """A penalty of single coordinates inside lower ≤ w ≤ upper, and infinite outside; 0 is inside.

    Attributes
    ----------
    penalty : ElasticNet, or any other `Separable`
        There is a certificate where the penalty is convex and has one. A penalty that is not convex, such as MCP and
        SCAD, takes only signs as bounds: the best point inside is then 0, or the best of all points.
    lower, upper : ndarray of shape (d,)

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.objective import Bounded, ElasticNet
    >>> positive = Bounded(ElasticNet(l2=1.0, l1=0.5), np.zeros(2), np.full(2, np.inf))
    >>> positive.prox(np.array([-3.0, 3.0]), 1.0).tolist(), positive.gap(np.array([0.0, 0.5]), np.array([2.0, -1.0]))
    ([0.0, 1.25], 0.0)
    """

    __slots__ = ()

    is_convex, strong_convexity, l1 = (  # those of the penalty
        property(attrgetter(f"penalty.{name}")) for name in ("is_convex", "strong_convexity", "l1")
    )

    def value(self, w: np.ndarray) -> float:
        """Ω(w), infinite outside the bounds, with room for rounding."""
        room = 1e-13 * (1.0 + np.abs(w))
        outside = np.any(w < self.lower - room) or np.any(w > self.upper + room)
        return float("inf") if outside else self.penalty.value(w)

    def prox(self, v: np.ndarray, step: Any) -> np.ndarray:
        """The prox of the penalty, clipped to the bounds."""
        return np.clip(self.penalty.prox(v, step), self.lower, self.upper)

    def gap(self, w: np.ndarray, grad: np.ndarray) -> float:
        """Fenchel-Young gap of an elastic net, NaN if l2 = 0; of another convex penalty, `gap_by_multipliers`.

        With u = clip(-soft(grad, l1)/l2, lower, upper), which minimises tangent + Ω, r = -(grad + l2 u), s the slope of
        l1 |u| that is nearest to r, and λ = r - s, which is 0 unless u lies on a bound,

            gap = Σ_j (l2/2 (w_j - u_j)² + (l1 |w_j| - s_j w_j) + λ_j (u_j - w_j));

        every term is ≥ 0 inside the bounds, so nothing cancels.
        """
        is_net = isinstance(self.penalty, ElasticNet)
        if not self.is_convex or (is_net and self.penalty.l2 == 0.0):
            return float("nan")
        if np.isinf(self.value(w)):
            return float("inf")
        if not is_net:
            return self.gap_by_multipliers(w, grad)
        l2, l1 = self.penalty
        best = -np.sign(grad) * np.maximum(np.abs(grad) - l1, 0.0) / l2
        u = np.clip(best, self.lower, self.upper)
        r = -(grad + l2 * u)
        s = np.where(u == 0.0, np.clip(r, -l1, l1), l1 * np.sign(u))
        off = np.where(best == u, 0.0, (r - s) * (u - w))
        scaled = np.sqrt(l2 / 2.0) * (w - u)
        return float(scaled @ scaled) + float(np.sum(l1 * np.abs(w) - s * w)) + float(np.sum(off))

    def gap_by_multipliers(self, w: np.ndarray, grad: np.ndarray) -> float:
        """The gap of the penalty without bounds, with multipliers λ, μ ≥ 0 of the lower and upper bounds:

            gap of the penalty at (w, grad - λ + μ) + λ·(w - lower) + μ·(upper - w).

        It is a bound for all multipliers, and 0 at the optimum for those that take from -grad what no slope of the
        penalty at the bound explains.
        """
        if np.isnan(self.penalty.gap(w, grad)):
            return float("nan")
        step = 1.0 / (self.strong_convexity or 1.0)
        near = self.prox(w - step * grad, step)
        # v - u is a slope at u, times the step, where prox(v) = u: look for the v nearest to u - step·grad
        free = near - step * grad
        pushed_down = np.isfinite(self.lower) & (near == self.lower) & (self.penalty.prox(free, step) < near)
        pushed_up = np.isfinite(self.upper) & (near == self.upper) & (self.penalty.prox(free, step) > near)
        signs = pushed_up.astype(float) - pushed_down  # of the penalty's own minimiser, seen from the bound
        multipliers = self._distance_to_slope(near, free, signs, step) / step
        below, above = np.where(pushed_down, multipliers, 0.0), np.where(pushed_up, multipliers, 0.0)
        rest = float(below[pushed_down] @ (w - self.lower)[pushed_down])
        rest += float(above[pushed_up] @ (self.upper - w)[pushed_up])
        return self.penalty.gap(w, grad - below + above) + max(rest, 0.0)

    def _distance_to_slope(self, u: np.ndarray, free: np.ndarray, signs: np.ndarray, step: float) -> np.ndarray:
        """The least t with prox(free - signs·t) = u, by halving an interval; rounded up."""

        def reached(t: np.ndarray) -> np.ndarray:
            return signs * (self.penalty.prox(free - signs * t, step) - u) <= 0.0

        low, high = np.zeros_like(u), np.maximum(np.abs(u - free), np.finfo(float).tiny)
        for _ in range(200):
            if reached(high).all():
                break
            high = np.where(reached(high), high, 2.0 * high)
        for _ in range(100):
            middle = 0.5 * (low + high)
            done = reached(middle)
            low, high = np.where(done, low, middle), np.where(done, middle, high)
        return high

    def violation(self, w: np.ndarray, grad: np.ndarray, curvature: np.ndarray) -> float:
        """The gap or, where it is not finite, what a step along each coordinate gains."""
        gap = self.gap(w, grad)
        return gap if np.isfinite(gap) else super().violation(w, grad, curvature)

    def gap_curvature(self, curvature: np.ndarray) -> float:
        """That of the penalty, or the mean curvature if the penalty is convex and l2 = 0."""
        known = self.is_convex and self.strong_convexity == 0.0
        return super().gap_curvature(curvature) if known else self.penalty.gap_curvature(curvature)

    def zero_from(self, grad: np.ndarray) -> float:
        """That of the penalty, for the slopes at 0 in directions that the bounds allow."""
        allowed = np.where(grad > 0.0, self.lower < 0.0, self.upper > 0.0)
        return self.penalty.zero_from(np.where(allowed, grad, 0.0))

    def quadratic_piece(self, w: np.ndarray) -> tuple[Any, np.ndarray] | None:
        """That of the penalty."""
        return self.penalty.quadratic_piece(w)

    def piece_ends(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those of the penalty, but not beyond the bounds; a coordinate that lies on a bound stays."""
        low, high = self.penalty.piece_ends(w)
        stays = (w == self.lower) | (w == self.upper)
        low, high = np.maximum(low, self.lower), np.minimum(high, self.upper)
        return np.where(stays, w, low), np.where(stays, w, high)

    def start(self) -> Penalty | None:
        """That of the penalty, inside the same limits."""
        start = self.penalty.start()
        return None if start is None else Bounded(start, self.lower, self.upper)

    def restricted_to(self, columns: np.ndarray) -> Bounded:
        """The penalty and limits of these columns."""
        return Bounded(self.penalty.restricted_to(columns), self.lower[columns], self.upper[columns])
