"""A penalty of single coordinates inside bounds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vrspam.penalties.base import Penalty, Separable


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

    @property
    def l1(self) -> float:
        """That of the penalty."""
        return self.penalty.l1

    @property
    def is_convex(self) -> bool:  # type: ignore[override]
        """Whether the penalty is."""
        return self.penalty.is_convex

    @property
    def has_gap(self) -> bool:  # type: ignore[override]
        """Whether the penalty has one."""
        return self.penalty.has_gap

    @property
    def strong_convexity(self) -> float:  # type: ignore[override]
        """That of the penalty."""
        return self.penalty.strong_convexity

    def value(self, w: np.ndarray) -> float:
        """Ω(w), infinite outside the bounds, with room for rounding."""
        room = 1e-13 * (1.0 + np.abs(w))
        outside = np.any(w < self.lower - room) or np.any(w > self.upper + room)
        return float("inf") if outside else self.penalty.value(w)

    def prox(self, v: np.ndarray, step: Any) -> np.ndarray:
        """The prox of the penalty, clipped to the bounds."""
        return np.clip(self.penalty.prox(v, step), self.lower, self.upper)

    def gap(self, w: np.ndarray, grad: np.ndarray) -> float:
        """That of the penalty inside the bounds; NaN where the penalty has none."""
        if not self.is_convex or np.isnan(self.penalty.gap(w, grad)):
            return float("nan")
        if np.isinf(self.value(w)):
            return float("inf")
        return self.penalty.gap_inside(w, grad, self.lower, self.upper)

    def violation(self, w: np.ndarray, grad: np.ndarray, curvature: np.ndarray) -> float:
        """The gap or, where it is not finite, what a step along each coordinate gains."""
        gap = self.gap(w, grad)
        return gap if np.isfinite(gap) else super().violation(w, grad, curvature)

    def gap_curvature(self, curvature: np.ndarray) -> float:
        """That of the penalty, or the mean curvature if the penalty is convex and l2 = 0."""
        if self.is_convex and self.strong_convexity == 0.0:
            return super().gap_curvature(curvature)
        return self.penalty.gap_curvature(curvature)

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
