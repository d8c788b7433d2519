"""Penalties: the part Ω of F = f + Ω, as named tuples of numbers that Python and compiled code both take.

A penalty is a sum over coordinates, except `Shaped` (curves that must rise or fall). Python uses the methods of
`Penalty`; compiled loops use its prox of one number, which `vrspam.kernels.register_prox` adds to `prox1` there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from vrspam._utils.messages import PenaltyName


class Penalty(Protocol):
    """The interface of a penalty for solvers; `Separable` has defaults for most methods.

    Attributes
    ----------
    ridge : float or None
        l2, if the penalty is l2/2 ‖w‖² and nothing else.
    strong_convexity : float
        The largest l2 such that the penalty minus l2/2 ‖w‖² is convex; 0 for penalties that are not convex.
    is_convex : bool
        If not, F may have several local minima: there is no certificate, and the start decides which one is found.

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
        """The smallest l1 for which w = 0 is the solution, given grad = ∇f(0)."""

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

    def prox(self, v: np.ndarray, step: Any) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} must define its prox.")

    def gap(self, w: np.ndarray, grad: np.ndarray) -> float:
        """No certificate: F may have several local minima."""
        return float("nan")

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
            s, kinks = grad, 0.0
        else:
            s = soft_threshold(grad, self.l1)
            kinks = float(np.sum(self.l1 * np.abs(w) + (grad - s) * w))
        # Divided before it is squared: l2 and grad may be near the ends of the floating-point range.
        scaled = (self.l2 * w + s) / np.sqrt(2.0 * curvature)
        return float(scaled @ scaled) + max(kinks, 0.0)

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


class ConcaveNumbers(NamedTuple):
    """The numbers of MCP and of SCAD; `h` has one for each column."""

    l2: float
    l1: float
    gamma: float
    h: np.ndarray


class Concave(ConcaveNumbers, Separable):
    """Ω(w) = l2/2 ‖w‖² + Σ_j P(h_j w_j)/h_j, where the slope of P falls to 0: large coefficients are not shrunk.

    P is symmetric. Its slope is l1 up to t = onset·l1, then falls in a straight line, and is 0 from t = gamma·l1 on.
    h_j is the curvature of f along column j: thanks to h_j, gamma depends neither on the scale of a column nor on class
    imbalance, and F is strictly convex along each coordinate if gamma > 1 + onset. For h_j = 0 the penalty is its limit
    l1 |w_j|.
    """

    __slots__ = ()

    onset = 0.0

    @property
    def bend(self) -> float:
        """gamma - onset: the largest -P'' is 1 / bend."""
        return self.gamma - self.onset

    def value(self, w: np.ndarray) -> float:
        """Ω(w)."""
        scaled = np.minimum(self.h * np.abs(w), self.gamma * self.l1)
        beyond = np.maximum(scaled - self.onset * self.l1, 0.0)
        rise = self.l1 * scaled - beyond**2 / (2.0 * self.bend)
        parts = np.divide(rise, self.h, out=self.l1 * np.abs(w), where=self.h > 0.0)
        return float(0.5 * self.l2 * (w @ w) + np.sum(parts))

    def prox(self, v: np.ndarray, step: Any) -> np.ndarray:
        """The best of three pieces: soft-thresholded, shrunk less and less, and not shrunk by l1.

        The middle piece has a minimum only where the prox is convex, as for every step of coordinate descent. Otherwise
        the minimiser is the better one of the outer pieces, because both lie above Ω outside their ranges.
        """
        size, threshold = np.abs(v), step * self.l1
        ridge, bend = 1.0 + step * self.l2, step * self.h / self.bend
        over = np.maximum(size - threshold, 0.0)
        near, flat = over / ridge, size / ridge
        convex = ridge > bend
        middle = (size - threshold * (self.gamma / self.bend)) / np.where(convex, ridge - bend, 1.0)
        gain = (size - over) * self.h * (size + over)  # in this order nothing overflows
        cost = ridge * threshold * self.l1 * (2.0 * self.onset + self.bend)
        is_near = np.where(convex, self.h * near <= self.onset * self.l1, gain <= cost)
        is_flat = ~convex | (self.h * flat >= self.gamma * self.l1)
        return np.sign(v) * np.where(is_near, near, np.where(is_flat, flat, middle))

    def gap_curvature(self, curvature: np.ndarray) -> float:
        """The mean curvature times (1 - 1/bend)²: the prox has a slope of up to 1/(1 - 1/bend) in its middle piece."""
        return float(np.mean(curvature)) * (1.0 - 1.0 / self.bend) ** 2

    def quadratic_piece(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Curvature and slope of the pieces in which the coordinates of w lie."""
        size, sign = self.h * np.abs(w), self.l1 * np.sign(w)
        near, flat = size <= self.onset * self.l1, size >= self.gamma * self.l1
        middle = ~near & ~flat
        curvature = self.l2 - np.where(middle, self.h / self.bend, 0.0)
        return curvature, np.where(middle, sign * (self.gamma / self.bend), np.where(near, sign, 0.0))

    def start(self) -> ElasticNet:
        """The elastic net of the same l2 and l1."""
        return ElasticNet(self.l2, self.l1)

    def restricted_to(self, columns: np.ndarray) -> Self:
        """The same numbers, with the h of these columns."""
        return self._replace(h=self.h[columns])


class MCP(Concave):
    """Minimax concave penalty: l1 |w_j| - h_j w_j²/(2 gamma) up to |w_j| = gamma·l1/h_j, and constant beyond.

    Attributes
    ----------
    l2, l1, gamma : float
        The strength of the added squared norm; the slope at 0; the |w_j| h_j / l1 from which on it is constant.
    h : ndarray of shape (d,)
        Curvature of the loss along each column.

    References
    ----------
    C.-H. Zhang. Nearly Unbiased Variable Selection under Minimax Concave Penalty. Ann. Statist. 38, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.objective import MCP
    >>> MCP(0.0, 1.0, 3.0, np.ones(2)).prox(np.array([0.5, 4.0]), 1.0).tolist()  # a zero, and no shrinkage
    [0.0, 4.0]
    """

    __slots__ = ()


class SCAD(Concave):
    """Smoothly clipped absolute deviation: l1 |w_j| up to l1/h_j, then as MCP, constant from gamma·l1/h_j on.

    Attributes
    ----------
    l2, l1, gamma, h
        As in `MCP`.

    References
    ----------
    J. Fan and R. Li. Variable Selection via Nonconcave Penalized Likelihood. J. Amer. Statist. Assoc. 96, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.objective import SCAD
    >>> SCAD(0.0, 1.0, 3.7, np.ones(2)).prox(np.array([0.5, 4.0]), 1.0).tolist()
    [0.0, 4.0]
    """

    __slots__ = ()

    onset = 1.0


Strengths = Callable[[float, float], Penalty]  # from l2 and l1 to the penalty
CONCAVE: dict[str, tuple[type[Concave], float]] = {"mcp": (MCP, 3.0), "scad": (SCAD, 3.7)}  # with the usual gamma


@dataclass(frozen=True)
class PenaltyFamily:
    """All penalties of one name; called with a loss, it returns the function from l2 and l1 to the penalty.

    Attributes
    ----------
    name : {"elasticnet", "mcp", "scad"}, default="elasticnet"
    gamma : float or None
        Only for "mcp" (default 3.0) and "scad" (default 3.7).
    limits : callable or None
        Returns the `Limits` of the coefficients of so many features, or None if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.objective import PenaltyFamily
    >>> class Loss:
    ...     def curvature(self):
    ...         return np.array([0.5, 2.0])
    >>> PenaltyFamily("mcp")(Loss())(0.0, 0.1)
    MCP(l2=0.0, l1=0.1, gamma=3.0, h=array([0.5, 2. ]))
    """

    name: PenaltyName = "elasticnet"
    gamma: float | None = None
    limits: Callable[[int], Any] | None = None

    def __call__(self, loss: Any) -> Strengths:
        free: Strengths = ElasticNet
        if self.name != "elasticnet":
            kind, usual = CONCAVE[self.name]
            gamma, h = float(usual if self.gamma is None else self.gamma), np.array(loss.curvature(), dtype=np.float64)
            free = partial(kind, gamma=gamma, h=h)
        limits = None if self.limits is None else self.limits(loss.n_features)
        return free if limits is None else lambda l2, l1: limits(free(l2, l1))

    @property
    def is_convex(self) -> bool:
        """Whether its penalties are convex."""
        return self.name == "elasticnet"

    def check(self, l1s: Any) -> None:
        """Refuse an unknown name, a gamma that is too small or not used, and l1 = 0 for "mcp" and "scad"."""
        if self.name not in ("elasticnet", *CONCAVE):
            raise ValueError(f"penalty must be 'elasticnet', 'mcp' or 'scad', got {self.name!r}.")
        if self.name == "elasticnet":
            if self.gamma is not None:
                raise ValueError(f"gamma={self.gamma:g} applies only to penalty='mcp' or 'scad': leave it out.")
            return
        kind, usual = CONCAVE[self.name]
        if self.gamma is not None and not 1.0 + kind.onset < self.gamma < np.inf:
            raise ValueError(
                f"penalty={self.name!r} needs a finite gamma > {1.0 + kind.onset:g}, got {self.gamma:g}: with a "
                f"smaller one the problem is not convex along each coordinate (the usual value is {usual:g})."
            )
        if not np.all(np.asarray(l1s, dtype=np.float64) > 0.0):
            raise ValueError(
                f"penalty={self.name!r} needs l1 > 0, which is its strength: give a positive l1 (in a grid "
                "l1s='auto'), or use penalty='elasticnet'."
            )


ELASTIC_NET = PenaltyFamily()
