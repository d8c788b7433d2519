"""Penalties: the part Ω of F = f + Ω, as named tuples of numbers that Python and compiled code both take.

A penalty is a sum over coordinates. Python uses the methods of `Penalty`; compiled loops use its prox of one
number, `vrspam.kernels.prox1`, which a penalty joins with `vrspam.kernels.register_prox`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import numpy as np

NO_CURVATURE = 1e-10  # of the mean curvature of f: takes the place of l2 = 0 when a solver decides whether to stop


class Penalty(Protocol):
    """What solvers need of a penalty; `Separable` has defaults for most of it.

    Attributes
    ----------
    ridge : float or None
        l2, if the penalty is l2/2 ‖w‖² and nothing else.
    strong_convexity : float
        The largest l2 such that the penalty minus l2/2 ‖w‖² is convex; 0 for penalties that are not convex.
    """

    @property
    def ridge(self) -> float | None: ...
    @property
    def strong_convexity(self) -> float: ...

    def value(self, w: np.ndarray) -> float:
        """Ω(w)."""

    def prox(self, v: np.ndarray, step: Any) -> np.ndarray:
        """The w that minimises Σ_j ((w_j - v_j)²/(2 step_j) + Ω_j(w_j)); `step` is one number, or one a coordinate."""

    def gap(self, w: np.ndarray, grad: np.ndarray) -> float:
        """An upper bound on F(w) - min F, given grad = ∇f(w); NaN where there is none."""

    def violation(self, w: np.ndarray, grad: np.ndarray, curvature: np.ndarray) -> float:
        """How far w is from a stationary point, in units of F: 0 there, always finite; it decides when to stop.

        `curvature` bounds the second derivative of f along each coordinate.
        """

    def gap_curvature(self, curvature: np.ndarray) -> float:
        """The number that the gap, or the violation, divides squares of the gradient by."""

    def zero_from(self, grad: np.ndarray) -> float:
        """The least l1 from which on w = 0 is the solution, given grad = ∇f(0)."""

    def quadratic_piece(self, w: np.ndarray) -> tuple[Any, np.ndarray] | None:
        """(c, s) such that Ω(u) = Σ_j (c_j/2 u_j² + s_j u_j) + a constant, for u near w with the same zeros."""

    def restricted_to(self, columns: np.ndarray) -> Penalty:
        """The penalty of some of the coordinates."""


class Separable:
    """Defaults for any sum of functions of one coordinate: a new penalty defines only its value and its prox.

    Use it beside a named tuple of the penalty's numbers: ``class MCP(NumbersOfMCP, Separable)``.
    """

    __slots__ = ()

    ridge: float | None = None
    strong_convexity = 0.0

    def prox(self, v: np.ndarray, step: Any) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} must define its prox.")

    def gap(self, w: np.ndarray, grad: np.ndarray) -> float:
        """No certificate: F may have several local minima."""
        return float("nan")

    def violation(self, w: np.ndarray, grad: np.ndarray, curvature: np.ndarray) -> float:
        """Σ_j h_j/2 (w_j - prox_j(w_j - grad_j/h_j))², h = curvature: what a step along each coordinate gains."""
        step = 1.0 / np.where(curvature > 0.0, curvature, np.inf)
        moved = np.where(curvature > 0.0, self.prox(w - step * grad, np.where(step > 0.0, step, 1.0)) - w, 0.0)
        return float(0.5 * np.sum(curvature * moved**2))

    def gap_curvature(self, curvature: np.ndarray) -> float:
        """The mean curvature."""
        return float(np.mean(curvature))

    def zero_from(self, grad: np.ndarray) -> float:
        """As for l1 ‖w‖₁: right for every penalty whose slope at 0 is ±l1."""
        return float(np.max(np.abs(grad), initial=0.0))

    def quadratic_piece(self, w: np.ndarray) -> tuple[Any, np.ndarray] | None:
        """None: solvers do without Newton steps on the columns in use."""
        return None

    def restricted_to(self, columns: np.ndarray) -> Self:
        """The same numbers for all columns."""
        return self


def soft_threshold(v: np.ndarray, threshold: Any) -> np.ndarray:
    """Shrink each entry of `v` towards 0 by `threshold`.

    >>> soft_threshold(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)


class ElasticNet(NamedTuple):
    """Ω(w) = l2/2 ‖w‖² + l1 ‖w‖₁; `l2` is the paper's β, `l1` its β₁."""

    l2: float
    l1: float = 0.0

    @property
    def ridge(self) -> float | None:
        """l2, if l1 = 0."""
        return self.l2 if self.l1 == 0.0 else None

    @property
    def strong_convexity(self) -> float:
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
            s, kinks = grad, 0.0
        else:
            s = soft_threshold(grad, self.l1)
            kinks = float(np.sum(self.l1 * np.abs(w) + (grad - s) * w))
        # Divided before it is squared: l2 and grad may be near the ends of the floating-point range.
        scaled = (self.l2 * w + s) / np.sqrt(2.0 * curvature)
        return float(scaled @ scaled) + max(kinks, 0.0)

    def violation(self, w: np.ndarray, grad: np.ndarray, curvature: np.ndarray) -> float:
        """The gap; for l2 = 0 its terms divided by `NO_CURVATURE` of the mean curvature of f instead of by l2."""
        return self.gap(w, grad, self.gap_curvature(curvature))

    def gap_curvature(self, curvature: np.ndarray) -> float:
        """l2, or `NO_CURVATURE` of the mean curvature."""
        if self.l2 > 0.0:
            return self.l2
        return NO_CURVATURE * max(float(np.mean(curvature)), float(np.finfo(float).tiny))

    def zero_from(self, grad: np.ndarray) -> float:
        """max |grad|."""
        return float(np.max(np.abs(grad), initial=0.0))

    def quadratic_piece(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """l2 and l1 times the signs of w."""
        return self.l2, self.l1 * np.sign(w)

    def restricted_to(self, columns: np.ndarray) -> ElasticNet:
        """The same numbers for all columns."""
        return self
