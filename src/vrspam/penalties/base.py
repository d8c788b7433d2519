"""What a penalty is: its interface, and what most penalties share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np

from vrspam.penalties.multipliers import gap_by_multipliers


class Penalty(Protocol):
    """The interface of a penalty for solvers; `Separable` has defaults for most methods.

    Attributes
    ----------
    ridge : float or None
        l2, if the penalty is l2/2 ‖w‖² and nothing else.
    strong_convexity : float
        The largest l2 such that the penalty minus l2/2 ‖w‖² is convex; 0 for penalties that are not convex.
    is_convex : bool
        If not, F may have several local minima, and the start decides which one is found.
    has_gap : bool
        Whether `gap` is a certificate. If not, its `violation` says how accurate a solution is.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.objective import ElasticNet, Penalty
    >>> penalty: Penalty = ElasticNet(l2=1.0, l1=0.5)
    >>> penalty.value(np.array([1.0, -2.0])), penalty.prox(np.array([1.0, -2.0]), step=1.0).tolist()
    (4.0, [0.25, -0.75])
    """

    @property
    def ridge(self) -> float | None: ...
    @property
    def strong_convexity(self) -> float: ...
    @property
    def is_convex(self) -> bool: ...
    @property
    def has_gap(self) -> bool: ...

    def value(self, w: np.ndarray) -> float:
        """Ω(w)."""

    def prox(self, v: np.ndarray, step: Any) -> np.ndarray:
        """The w that minimises Σ_j ((w_j - v_j)²/(2 step_j) + Ω_j(w_j)); `step` is a number, or one a coordinate."""

    def gap(self, w: np.ndarray, grad: np.ndarray) -> float:
        """An upper bound on F(w) - min F, given grad = ∇f(w); NaN where there is none."""

    def violation(self, w: np.ndarray, grad: np.ndarray, curvature: np.ndarray) -> float:
        """How far w is from a stationary point, in units of F: 0 there, always finite. It decides when to stop.

        `curvature` bounds the second derivative of f along each coordinate.
        """

    def gap_curvature(self, curvature: np.ndarray) -> float:
        """The number by which the gap, or the violation, divides squares of the gradient."""

    def zero_from(self, grad: np.ndarray) -> float:
        """The smallest l1 for which w = 0 is the solution, given grad = ∇f(0); infinite without a kink at 0."""

    def quadratic_piece(self, w: np.ndarray) -> tuple[Any, np.ndarray] | None:
        """(c, s) such that Ω(u) = Σ_j (c_j/2 u_j² + s_j u_j) + a constant, for u near w with the same zeros."""

    def piece_ends(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the interval in which each coordinate may move on its piece: both are w where it has to stay."""

    def start(self) -> Penalty | None:
        """A convex penalty whose solution is a good start for this one; None where every start is as good."""

    def restricted_to(self, columns: np.ndarray) -> Penalty:
        """The penalty of some of the coordinates."""


class Separable:
    """Defaults for any sum of functions of one coordinate: a new penalty defines only its value and its prox.

    Inherit from it and from a named tuple of the penalty's numbers: ``class MCP(NumbersOfMCP, Separable)``;
    docs/add_a_penalty.md shows an example.

    Attributes
    ----------
    needs_l1 : bool
        Whether l1 is its strength, so that l1 = 0 is refused.
    ridge_without_l1 : bool
        Whether it is l2/2 ‖w‖² where l1 = 0: curves that must rise or fall need that.
    usual_gamma : float or None
        The default of the parameter `gamma` of estimators, which must be more than `least_gamma`. None if it has none.

    Examples
    --------
    >>> from vrspam.objective import MCP, Separable
    >>> issubclass(MCP, Separable), Separable().is_convex
    (True, False)
    """

    __slots__ = ()

    ridge: float | None = None
    strong_convexity = 0.0
    is_convex = False
    has_gap = False
    needs_l1 = False
    ridge_without_l1 = False
    usual_gamma: float | None = None
    least_gamma = 0.0

    @classmethod
    def of_loss(cls, loss: Any, gamma: float | None) -> Callable[[float, float], Any]:
        """The function from l2 and l1 to the penalty for one loss: the class, called with them."""
        return cls

    def prox(self, v: np.ndarray, step: Any) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} must define its prox.")

    def gap(self, w: np.ndarray, grad: np.ndarray) -> float:
        """NaN: there is no certificate."""
        return float("nan")

    def gap_inside(self, w: np.ndarray, grad: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
        """The gap where w must stay inside bounds (`Bounded`), for a penalty that has a gap."""
        return gap_by_multipliers(self, w, grad, lower, upper)

    def violation(self, w: np.ndarray, grad: np.ndarray, curvature: np.ndarray) -> float:
        """Σ_j h_j/2 (w_j - prox_j(w_j - grad_j/h_j))², h = curvature: what a step along each coordinate gains."""
        step = 1.0 / np.where(curvature >= np.finfo(float).tiny, curvature, np.inf)
        moved = np.where(step > 0.0, self.prox(w - step * grad, np.where(step > 0.0, step, 1.0)) - w, 0.0)
        return float(0.5 * np.sum(curvature * moved**2))

    def gap_curvature(self, curvature: np.ndarray) -> float:
        """The mean curvature."""
        return float(np.mean(curvature))

    def zero_from(self, grad: np.ndarray) -> float:
        """As for l1 ‖w‖₁: right for every penalty whose slope at 0 is ±l1."""
        return float(np.max(np.abs(grad), initial=0.0))

    def quadratic_piece(self, w: np.ndarray) -> tuple[Any, np.ndarray] | None:
        """None: solvers take no Newton steps on the columns in use."""
        return None

    def piece_ends(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A coordinate may move until it changes its sign; zeros stay."""
        return np.where(w < 0.0, -np.inf, 0.0), np.where(w > 0.0, np.inf, 0.0)

    def start(self) -> Penalty | None:
        """None: solvers start from 0."""
        return None

    def restricted_to(self, columns: np.ndarray) -> Self:
        """The same numbers for all columns."""
        return self


def soft_threshold(v: np.ndarray, threshold: Any) -> np.ndarray:
    """Shrink each entry of `v` towards 0 by `threshold`.

    Parameters
    ----------
    v : ndarray
    threshold : float or ndarray

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.objective import soft_threshold
    >>> soft_threshold(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)
