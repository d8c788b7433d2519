"""Limits of coefficients: signs, boxes, and curves that must rise or fall. Outside the limits a penalty is infinite.

With limits of single coefficients the penalty remains a sum over coordinates (`Bounded`). A curve that must rise is a
sum of rising functions with coefficients v ≥ 0, and v = A w for the coefficients w of the curve's features. The penalty
of the curve is still l2/2 ‖w‖², but the limit A w ≥ 0 joins several coordinates (`Shaped`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from vrspam.objective.penalties import ElasticNet, Penalty, Separable


class Rising(NamedTuple):
    """A limit on w[places]: the entries of v = rows @ w[places] where `bound` is True must not be negative."""

    places: slice
    rows: np.ndarray  # square and invertible
    bound: np.ndarray


@dataclass(frozen=True, eq=False)
class Limits:
    """lower ≤ w ≤ upper, where lower ≤ 0 ≤ upper, and curves that must rise.

    Parameters
    ----------
    lower, upper : ndarray of shape (d,)
    curves : sequence of Rising

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.objective import ElasticNet
    >>> from vrspam.objective.limits import Limits
    >>> rises = Limits(np.array([0.0, -np.inf]), np.full(2, np.inf))
    >>> rises(ElasticNet(l2=1.0)).prox(np.array([-1.0, -1.0]), 1.0).tolist()
    [0.0, -0.5]
    """

    lower: np.ndarray
    upper: np.ndarray
    curves: Sequence[Rising] = ()

    def __call__(self, penalty: Any) -> Penalty:
        """The penalty with these limits, or the penalty itself if there are none."""
        if self.curves:
            return Shaped(penalty.l2, penalty.l1, self)
        if np.isneginf(self.lower).all() and np.isposinf(self.upper).all():
            return penalty
        return Bounded(penalty, self.lower, self.upper)

    @property
    def are_signs(self) -> bool:
        """Whether each end is 0 or infinite."""
        return bool(all((np.isinf(ends) | (ends == 0.0)).all() for ends in (self.lower, self.upper)))

    def blocks(self) -> list[Rising]:
        """The curves, and each sign of a single coefficient as a curve of a single function."""
        found = list(self.curves)
        for ends, sign in ((self.lower, 1.0), (self.upper, -1.0)):
            for j in np.flatnonzero(ends == 0.0).tolist():
                found.append(Rising(slice(j, j + 1), np.array([[sign]]), np.ones(1, dtype=bool)))
        return found


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
    fewest, tries, v, slope = linear.size + 1, 3, np.zeros_like(linear), -linear
    for _ in range(50 + 10 * linear.size):
        v, inside = np.zeros_like(linear), np.flatnonzero(solved)
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
            fewest, tries = count, 3
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
    l2, l1 : float
        l1 must be 0: |w| has no meaning in a rotated basis of a curve.
    limits : Limits

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.objective.limits import Limits, Rising, Shaped
    >>> steps = Rising(slice(0, 2), np.array([[1.0, 0.0], [-1.0, 1.0]]), np.ones(2, dtype=bool))  # 0 ≤ w_0 ≤ w_1
    >>> shaped = Shaped(1.0, 0.0, Limits(np.full(2, -np.inf), np.full(2, np.inf), [steps]))
    >>> shaped.prox(np.array([3.0, 1.0]), 1.0).round(12).tolist()
    [1.0, 1.0]
    """

    l2: float
    l1: float
    limits: Limits

    ridge = None
    is_convex = True

    def __post_init__(self) -> None:
        if self.l1 != 0.0 or not self.limits.are_signs:
            raise ValueError(
                "Curves that must rise or fall cannot be combined with l1 or bounds: leave l1 and bounds out."
            )

    @property
    def strong_convexity(self) -> float:
        """l2."""
        return self.l2

    def value(self, w: np.ndarray) -> float:
        """Ω(w), for w inside the limits."""
        return ElasticNet(self.l2).value(w)

    def prox(self, v: np.ndarray, step: Any) -> np.ndarray:
        """The point inside the limits nearest to v / (1 + step·l2), curve by curve; `step` is one number."""
        found = v / (1.0 + step * self.l2)
        for places, rows, bound in self.limits.blocks():
            back = np.linalg.inv(rows)
            found[places] = back @ nonnegative_minimum(back.T @ back, back.T @ found[places], bound)[0]
        return found

    def gap(self, w: np.ndarray, grad: np.ndarray, curvature: float | None = None) -> float:
        """An upper bound on F(w) - F* that is 0 at the optimum; NaN without l2.

        f lies above its tangent, and tangent + Ω above its Lagrangian with any λ ≥ 0 for the limits A w ≥ 0, so

            gap = ‖l2·w + grad - Aᵀλ‖² / (2 l2) + λ·(A w);

        no term is negative inside the limits. The best λ is that of the point inside that is nearest to -grad/l2.
        """
        if curvature is None and self.l2 == 0.0:
            return float("nan")
        rest, kinks = self.l2 * w + grad, 0.0
        for places, rows, bound in self.limits.blocks():
            back, v = np.linalg.inv(rows), rows @ w[places]
            # min over λ ≥ 0 is a minimum over v ≥ 0 of the tangent at w and l2/2 ‖A⁻¹v‖²
            slope = nonnegative_minimum(back.T @ back, -(back.T @ grad[places]) / (self.l2 or 1.0), bound, v > 0.0)[1]
            multipliers = np.where(bound, np.maximum(slope, 0.0) * (self.l2 or 1.0), 0.0)
            rest[places] -= rows.T @ multipliers
            kinks += float(multipliers @ np.maximum(v, 0.0))
        scaled = rest / np.sqrt(2.0 * (self.l2 if curvature is None else curvature))
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
