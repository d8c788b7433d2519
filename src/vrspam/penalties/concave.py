"""MCP and SCAD: penalties that do not shrink large coefficients, and are not convex."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from vrspam.penalties.base import Separable
from vrspam.penalties.elastic_net import ElasticNet


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
    needs_l1 = True

    @classmethod
    def of_loss(cls, loss: Any, gamma: float | None) -> Callable[[float, float], Any]:
        """With the curvature of the loss along each column."""
        gamma = cls.usual_gamma if gamma is None else gamma
        assert gamma is not None
        return partial(cls, gamma=float(gamma), h=np.array(loss.curvature(), dtype=np.float64))

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
        size = np.abs(v)
        threshold = step * self.l1
        ridge = 1.0 + step * self.l2
        bend = step * self.h / self.bend
        over = np.maximum(size - threshold, 0.0)
        near = over / ridge
        flat = size / ridge
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
        size = self.h * np.abs(w)
        sign = self.l1 * np.sign(w)
        near = size <= self.onset * self.l1
        flat = size >= self.gamma * self.l1
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

    usual_gamma = 3.0
    least_gamma = 1.0


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
    usual_gamma = 3.7
    least_gamma = 2.0
