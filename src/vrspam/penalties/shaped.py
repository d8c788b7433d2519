"""Curves that must rise or fall: sums of rising functions with coefficients v ≥ 0.

v = A w for the coefficients w of the curve's features. The penalty of the curve is still l2/2 ‖w‖², but the limit
A w ≥ 0 joins several coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from vrspam.penalties.base import Penalty
from vrspam.penalties.elastic_net import ElasticNet


class Rising(NamedTuple):
    """A limit on w[places]: the entries of v = rows @ w[places] where `bound` is True must not be negative."""

    places: slice
    rows: np.ndarray  # square and invertible
    bound: np.ndarray


def nonnegative_minimum(
    matrix: np.ndarray, linear: np.ndarray, bound: np.ndarray, start: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The v that minimises vᵀMv/2 - b·v with v ≥ 0 where `bound` is True, and Mv - b; M is positive definite.

    Block principal pivoting (Kim and Park, 2011): each coordinate is either 0 or solved for, and all coordinates whose
    sign or slope is wrong change sides. If the number of wrong coordinates does not fall for some time, only the last
    of them changes sides, which ends after finitely many changes. `start` is True where v is solved for at first.
    """
    solved = np.ones(linear.size, dtype=bool) if start is None else start | ~bound
    unit = 1e-14 * np.sqrt(np.diagonal(matrix))  # tolerance of the slope along each coordinate, over `size`
    fewest = linear.size + 1
    tries = 3
    v = np.zeros_like(linear)
    slope = -linear
    for _ in range(50 + 10 * linear.size):
        v = np.zeros_like(linear)
        inside = np.flatnonzero(solved)
        if inside.size:
            factor = linalg.cho_factor(matrix[np.ix_(inside, inside)], lower=True, check_finite=False)
            v[inside] = linalg.cho_solve(factor, linear[inside], check_finite=False)
        slope = matrix @ v - linear
        size = float(np.sqrt(np.maximum(v @ (slope + linear), 0.0)))
        wrong = bound & np.where(solved, v * np.sqrt(np.diagonal(matrix)) < -1e-14 * size, slope < -unit * size)
        count = int(np.count_nonzero(wrong))
        if count == 0:
            break
        if count < fewest:
            fewest = count
            tries = 3
        elif tries > 0:
            tries -= 1
        else:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        solved = solved ^ wrong
    return np.where(bound, np.maximum(v, 0.0), v), np.where(solved, 0.0, slope)


@dataclass(frozen=True, eq=False)
class Shaped:
    """Ω(w) = l2/2 ‖w‖² where the curves rise and no coefficient has a forbidden sign, infinite elsewhere.

    Parameters
    ----------
    l2 : float
    curves : sequence of Rising
        Also the sign of a single coefficient: a curve of a single function.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.penalties.shaped import Rising, Shaped
    >>> steps = Rising(slice(0, 2), np.array([[1.0, 0.0], [-1.0, 1.0]]), np.ones(2, dtype=bool))  # 0 ≤ w_0 ≤ w_1
    >>> Shaped(1.0, [steps]).prox(np.array([3.0, 1.0]), 1.0).round(12).tolist()
    [1.0, 1.0]
    """

    l2: float
    curves: Sequence[Rising]

    ridge = None
    is_convex = True
    has_gap = True

    @property
    def strong_convexity(self) -> float:
        """l2."""
        return self.l2

    def value(self, w: np.ndarray) -> float:
        """Ω(w), for w inside the limits."""
        return ElasticNet(self.l2).value(w)

    def prox(self, v: np.ndarray, step: Any) -> np.ndarray:
        """The point inside the limits nearest to v / (1 + step·l2), curve by curve; `step` is one number."""
        w = v / (1.0 + step * self.l2)
        for places, rows, bound in self.curves:
            back = np.linalg.inv(rows)
            w[places] = back @ nonnegative_minimum(back.T @ back, back.T @ w[places], bound)[0]
        return w

    def gap(self, w: np.ndarray, grad: np.ndarray, curvature: float | None = None) -> float:
        """An upper bound on F(w) - F* that is 0 at the optimum; NaN without l2.

        f lies above its tangent, and tangent + Ω above its Lagrangian with any λ ≥ 0 for the limits A w ≥ 0, so

            gap = ‖l2·w + grad - Aᵀλ‖² / (2 l2) + λ·(A w);

        no term is negative inside the limits. The best λ is that of the point inside that is nearest to -grad/l2.
        """
        if curvature is None and self.l2 == 0.0:
            return float("nan")
        remainder = self.l2 * w + grad
        kinks = 0.0
        for places, rows, bound in self.curves:
            back = np.linalg.inv(rows)
            v = rows @ w[places]
            # min over λ ≥ 0 is a minimum over v ≥ 0 of the tangent at w and l2/2 ‖A⁻¹v‖²
            slope = nonnegative_minimum(back.T @ back, -(back.T @ grad[places]) / (self.l2 or 1.0), bound, v > 0.0)[1]
            multipliers = np.where(bound, np.maximum(slope, 0.0) * (self.l2 or 1.0), 0.0)
            remainder[places] -= rows.T @ multipliers
            kinks += float(multipliers @ np.maximum(v, 0.0))
        scaled = remainder / np.sqrt(2.0 * (self.l2 if curvature is None else curvature))
        return float(scaled @ scaled) + kinks

    def violation(self, w: np.ndarray, grad: np.ndarray, curvature: np.ndarray) -> float:
        """The gap; for l2 = 0 its terms are divided by the `gap_curvature` instead of by l2."""
        return self.gap(w, grad, self.gap_curvature(curvature))

    def gap_curvature(self, curvature: np.ndarray) -> float:
        """That of the elastic net."""
        return ElasticNet(self.l2).gap_curvature(curvature)

    def zero_from(self, grad: np.ndarray) -> float:
        """Infinity, because there is no l1."""
        return float("inf")

    def quadratic_piece(self, w: np.ndarray) -> None:
        """None: pieces end where curves are flat, not where coordinates change their sign."""

    def piece_ends(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w and w, because no coordinate may move alone."""
        return w, w

    def start(self) -> None:
        """None: solvers start from 0."""

    def restricted_to(self, columns: np.ndarray) -> Penalty:
        raise TypeError("The coefficients of a curve stay together.")
