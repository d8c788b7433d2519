"""The best point among the affine combinations of the last anchors of an epoch method: it costs no pass over the data.

f is quadratic, so ∇f of an affine combination of points is the same combination of their gradients, and f follows from
them: with the columns of S the differences of earlier anchors from w, and Y those of their gradients,

    f(w + S c) = f(w) + ∇f(w)·S c + ½ cᵀ(SᵀY) c,   ∇f(w + S c) = ∇f(w) + Y c.

What is left is to minimise a convex function of a dozen numbers c. Anchors of stochastic epochs lie around the path to
the optimum; the best combination goes further along directions of little curvature and averages their noise out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vrspam.objective import ElasticNet

MOST_ANCHORS = 12
SMOOTHING = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)  # of |w_j|, one after the other, relative to the largest |w_j|
MOST_STEPS = 25  # of Newton's method, for each of them
DEPENDENT = 1e-8  # singular values of S, relative to the largest, from which on a direction counts
LEAST_GAIN = 1e-10  # of F, relative to F(0): below it rounding in the combinations would count


class Point(NamedTuple):
    """A point with ∇f and F there."""

    w: np.ndarray
    grad: np.ndarray
    value: float


class AnchorSpan:
    """The last anchors of a quadratic loss, with ∇f at each."""

    def __init__(self) -> None:
        self._anchors: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, w: np.ndarray, grad: np.ndarray) -> None:
        """Keep an anchor and ∇f there; of more than `MOST_ANCHORS` the oldest is dropped."""
        self._anchors.append((w, grad))
        del self._anchors[:-MOST_ANCHORS]

    def best_point(self, penalty: ElasticNet, point: Point, scale: float) -> Point | None:
        """The combination of `point` and the anchors with the least F; None where the gain is no more than rounding.

        `scale` is F(0). |w_j| is first smoothed to √(w_j² + ε²), with ε ever smaller, for Newton's method.
        """
        w, grad, value = point
        size = float(np.max(np.abs(w), initial=0.0))
        moves = np.array([anchor - w for anchor, _ in self._anchors]).reshape(-1, w.size)
        lengths = np.linalg.norm(moves, axis=1)
        moved = lengths > 0.0
        if size == 0.0 or not moved.any():
            return None
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            S = (moves[moved] / lengths[moved, np.newaxis]).T
            Y = (np.array([own - grad for _, own in self._anchors])[moved] / lengths[moved, np.newaxis]).T
            _, singular, basis = np.linalg.svd(S, full_matrices=False)
            kept = singular > DEPENDENT * singular[0]
            orthonormal = basis[kept].T / singular[kept]
            S, Y = S @ orthonormal, Y @ orthonormal
            c = _minimised(penalty, w, grad, S, S.T @ Y, size)
            if c is None:
                return None
            step = S @ c
            gain = -(float(grad @ step) + 0.5 * float(step @ (Y @ c)) + penalty.value(w + step) - penalty.value(w))
            if not gain > LEAST_GAIN * scale:  # not so for NaN
                return None
        return Point(w + step, grad + Y @ c, value - gain)


def _minimised(
    penalty: ElasticNet, w: np.ndarray, grad: np.ndarray, S: np.ndarray, curvature: np.ndarray, size: float
) -> np.ndarray | None:
    """The c with the least F(w + S c), by Newton's method with steps that are halved until F falls."""
    l2, l1 = penalty
    curvature = 0.5 * (curvature + curvature.T)
    if not np.isfinite(curvature).all():
        return None
    slope, c = S.T @ grad, np.zeros(S.shape[1])

    def smoothed(c: np.ndarray, u: np.ndarray, epsilon: float) -> float:
        return float(slope @ c + 0.5 * c @ curvature @ c + 0.5 * l2 * u @ u + l1 * np.sqrt(u * u + epsilon**2).sum())

    for epsilon in size * np.array(SMOOTHING):
        for _ in range(MOST_STEPS):
            u = w + S @ c
            root = np.sqrt(u * u + epsilon**2)
            value = smoothed(c, u, epsilon)
            gradient = slope + curvature @ c + S.T @ (l2 * u + l1 * u / root)
            second = curvature + S.T @ ((l2 + l1 * (epsilon / root) ** 2 / root)[:, np.newaxis] * S)
            second.flat[:: c.size + 1] += 1e-13 * second.trace()  # the least that rounding leaves positive
            try:
                step = -np.linalg.solve(second, gradient)
            except np.linalg.LinAlgError:
                return None
            fall, length = -float(gradient @ step), 1.0
            if not fall > 1e-12 * abs(value):
                break
            while length > 1e-6 and not (
                smoothed(c + length * step, w + S @ (c + length * step), epsilon) <= value - 0.1 * length * fall
            ):
                length *= 0.5
            if length <= 1e-6:
                break
            c = c + length * step
    return c
