"""The squared hinge on the highest-scored negatives: an augmented Lagrangian around smooth problems.

Each round minimises a smoothed loss (`SmoothedPartialLoss`) by Newton's method, and moves the weights of the negatives
at the edge on to those that it found. The error shrinks with μ and with every round, so a handful of rounds do.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from vrspam.objective import Objective
from vrspam.objective.partial_hinge import PartialHingeLoss
from vrspam.objective.squared_hinge import EPS
from vrspam.solvers.base import Solution, target_gap
from vrspam.solvers.newton import PairNewton
from vrspam.solvers.proximal_newton import PairProximalNewton

ROUNDS = 40
FIRST_MU = 1.0  # in units of what a pair costs at w = 0
SHRINK = 4.0  # of μ, from round to round
FIRST_TOL = 1e-3  # of the first smooth problem
INNER = 0.1  # of the tolerance that a smooth problem may use up
MATRIX_WORK = 4e9  # rows · columns², up to which a step by the whole Hessian takes a fraction of a second
HALVINGS = 40
INNER_STEPS = 50  # of a smooth problem: what more do than a few is follow rounding


class MatrixNewton:
    """Newton's method for a smoothed loss with l2 alone, by its whole Hessian.

    As μ falls the tied rows make the Hessian stiff in a few directions that change from step to step: a factor of the
    whole matrix is at home there, where conjugate gradient is not.
    """

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        loss, l2, target = objective.loss, objective.penalty.ridge, target_gap(objective, tol)
        w = np.zeros(loss.n_features) if w0 is None else w0
        scores = loss.scores(w)
        point = loss.at(scores)
        steps, passes = 0, 1.0
        while True:
            grad = loss.gradient_of(point.slope)
            gap, left = objective.exact_certificate(w, grad)
            passes += 1.0
            if left <= target or steps == max_iter:
                break
            direction = self._direction(loss.hessian_matrix(point.pairs), grad + l2 * w, l2)
            image, slope = loss.scores(direction), float((grad + l2 * w) @ direction)
            value, fraction = point.value + objective.penalty.value(w), 1.0
            for _ in range(HALVINGS):
                new = loss.at(scores + fraction * image)
                moved = w + fraction * direction
                if new.value + objective.penalty.value(moved) <= value + 1e-4 * fraction * slope + 4.0 * EPS * value:
                    break
                fraction /= 2.0
            else:  # nothing but rounding is left
                break
            w, scores, point = moved, scores + fraction * image, new
            steps, passes = steps + 1, passes + 2.0
        history = {"passes": np.array([passes])}
        value = point.value + objective.penalty.value(w)
        return Solution(w, value, float(gap), steps, bool(left <= target), history)

    @staticmethod
    def _direction(hessian: np.ndarray, gradient: np.ndarray, l2: float) -> np.ndarray:
        shift = max(l2, 1e-14 * float(np.trace(hessian)), float(np.finfo(float).tiny))
        while True:
            matrix = np.array(hessian, order="F")
            matrix[np.diag_indices_from(matrix)] += shift
            try:
                factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
                return -linalg.cho_solve(factor, gradient, check_finite=False)
            except linalg.LinAlgError:
                shift *= 100.0


class EdgeWeights:
    """Rounds of smooth problems until the certificate of the partial loss is reached.

    The certificate holds for any weights t of the negatives: with f_t the sum over pairs with these, f_t ≤ f, so

        F(w) - min F ≤ (f(w) - f_t(w)) + (Fenchel-Young gap of f_t + Ω at w).

    It is small for the t that the last round found.
    """

    _last: tuple[Any, np.ndarray, float] | None = None  # of the last problem: its loss, t, and the last μ

    def refuses(self, objective: Objective) -> str | None:
        if not isinstance(objective.loss, PartialHingeLoss):
            return "it needs the squared hinge on part of the negatives"
        return PairProximalNewton().refuses(replace(objective, loss=objective.loss.whole))

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        loss: PartialHingeLoss = objective.loss
        inner: Any = PairProximalNewton() if objective.penalty.ridge is None else PairNewton()
        n, d = loss.whole.products.shape
        if objective.penalty.ridge is not None and n * d * d <= MATRIX_WORK:
            inner = MatrixNewton()
        before, mu = np.full(loss.whole.pair_rows.b.size, loss.max_fpr), FIRST_MU
        if w0 is not None and self._last is not None and self._last[0] is loss:  # a neighbour on a grid
            _, before, last_mu = self._last
            mu = min(FIRST_MU, last_mu * SHRINK**2)
        target, w = target_gap(objective, tol), w0
        rows, best, least, steps = [], None, np.inf, 0
        passes, begun = 0.0, time.perf_counter()
        for number in range(ROUNDS):
            smooth = loss.smoothed(before, mu)
            accuracy = FIRST_TOL if best is None else max(INNER * tol, INNER * 0.01 * least / loss.scale)
            most = min(max_iter - steps, INNER_STEPS)
            found = inner.solve(replace(objective, loss=smooth), tol=accuracy, max_iter=most, w0=w)
            w, steps = found.w, steps + found.n_iter
            passes += float(found.history["passes"][-1]) + 3.0
            before = smooth.shares(smooth.scores(w))
            value, gap, left = certificate(objective, w, before)
            rows.append((number + 1, passes, time.perf_counter() - begun, value, gap))
            gained, result = loss.scale - value, w
            if gained <= gap:  # not certified to be better than w = 0, whose ties are honest where these are rounding
                result, value, gap = np.zeros_like(w), loss.scale, gap + max(gained, 0.0)
                left = gap
            if best is None or left < least:
                best, least = Solution(result, value, gap, steps, bool(left <= target), stationarity=left), left
                self._last = loss, before, mu
            if best.converged or steps >= max_iter:
                break
            mu /= SHRINK
        assert best is not None
        names = ("epoch", "passes", "seconds", "objective", "gap")
        history = dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))
        stationarity = None if objective.penalty.is_convex else best.stationarity
        return replace(best, n_iter=steps, history=history, stationarity=stationarity)


def certificate(objective: Objective, w: np.ndarray, shares: np.ndarray) -> tuple[float, float, float]:
    """F(w), the certificate with these weights of the negatives, and what decides when to stop; rounding included."""
    loss: PartialHingeLoss = objective.loss
    whole = loss.whole
    scores = whole.scores(w)
    top, below = (loss.at_shares(scores, t) for t in (loss.top_shares(scores), shares))
    gap, left = objective.certificate(w, whole.gradient_of(below.slope))
    error = whole.rounding_of(np.abs(w), below.slope) / loss.max_fpr
    slack = float(np.linalg.norm(error)) / np.sqrt(2.0 * objective.penalty.gap_curvature(loss.curvature()))
    # Both values are sums of terms that are not negative, so each is right to a few n·eps of itself.
    rounding = 8.0 * (scores.size + 4) * EPS * top.value
    edge = max(top.value - below.value, 0.0) + rounding
    gap, left = ((np.sqrt(number) + slack) ** 2 + edge for number in (gap, left))
    return top.value + objective.penalty.value(w), float(gap), float(left)
