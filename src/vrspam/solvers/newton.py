"""Newton's method for the squared hinge over pairs, with l2 alone.

A step solves (∇²f + l2) d = -∇F by conjugate gradient. Each product with ∇²f is two products with X, and the scores of d
come with them, so that the search along d costs only sorts. What the preconditioner is decides how many products there
are: the Hessian of some thousand rows, drawn evenly from those that are in a pair that counts, is nearly as good as that
of all rows, costs a fraction of it, and is the Hessian itself where few pairs count. Wide data has its diagonal instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from vrspam.objective import Objective
from vrspam.objective.sorted_pairs import SortedPairs
from vrspam.objective.squared_hinge import Point, SquaredHingeLoss
from vrspam.solvers.base import EpochSolver, Solution, State, run, target_gap
from vrspam.solvers.gram import NOT_RIDGE

NOT_SORTED = "it needs the squared hinge over pairs, by sorted scores"
ROWS_PER_FEATURE = 8  # in the preconditioner
LEAST_ROWS = 2_000
MATRIX_MAX_FEATURES = 5_000
SLOW = 12  # steps of conjugate gradient after which a new preconditioner pays
CG_STEPS = 500
INEXACT = 0.1  # a step solves its linear system to this accuracy, or to that of the certificate
LINE_STEPS = 30


class Preconditioner:
    """An approximation of ∇²f + l2 that is quick to invert, for one loss and many l2."""

    def __init__(self, loss: SquaredHingeLoss):
        n, d = loss.products.shape
        self.loss = loss
        self.by_matrix = d <= min(MATRIX_MAX_FEATURES, max(n, 1_000))
        self.most = max(ROWS_PER_FEATURE * d, LEAST_ROWS)
        self._hessian: np.ndarray | None = None
        self._factor: Any = None
        self._l2 = -1.0

    @property
    def ready(self) -> bool:
        return self._hessian is not None

    def build(self, pairs: SortedPairs) -> None:
        """Take the Hessian at the given scores."""
        bound = self.loss.curvature()
        self._factor = None
        if not self.by_matrix:
            self._hessian = pairs_share(pairs) * bound
            return
        part = pairs.active_part(self.most)
        matrix = self.loss.hessian_matrix(part)
        if part.up.size + part.down.size < sum(pairs.active()):
            # A column that is zero in all chosen rows would otherwise look as if nothing bent along it.
            diagonal = np.einsum("ii->i", matrix)
            np.maximum(diagonal, pairs_share(pairs) * bound, out=diagonal)
        self._hessian = matrix

    def solve(self, r: np.ndarray, l2: float) -> np.ndarray:
        assert self._hessian is not None
        if self._factor is None or self._l2 != l2:
            self._factor, self._l2 = self._factorise(l2), l2
        if self._hessian.ndim == 1:
            return r / self._factor
        return linalg.cho_solve(self._factor, r, check_finite=False)

    def _factorise(self, l2: float) -> Any:
        assert self._hessian is not None
        if self._hessian.ndim == 1:
            diagonal = self._hessian + l2
            return np.where(diagonal > 0.0, diagonal, 1.0)
        mean = float(np.trace(self._hessian)) / max(self._hessian.shape[0], 1)
        shift = max(l2, 1e-12 * mean, float(np.finfo(float).tiny))
        while True:
            matrix = np.array(self._hessian, order="F")
            matrix[np.diag_indices_from(matrix)] += shift
            try:
                return linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
            except linalg.LinAlgError:
                shift *= 100.0


def pairs_share(pairs: SortedPairs) -> float:
    """The weight of the pairs that count."""
    above = np.append(np.cumsum(pairs.b[::-1])[::-1], 0.0)
    return float(pairs.a @ above[np.searchsorted(pairs.lower, pairs.upper, side="right")])


class PairNewton(EpochSolver):
    """Newton's method with conjugate gradient on sorted scores; see the head of this file.

    Without a start, the problem of some of the rows is solved first: its solution is near, and costs a fraction.
    """

    _preconditioner: Preconditioner | None = None

    def refuses(self, objective: Objective) -> str | None:
        if not isinstance(objective.loss, SquaredHingeLoss):
            return NOT_SORTED
        return NOT_RIDGE if objective.penalty.ridge is None else None

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        loss = objective.loss
        if self._preconditioner is None or self._preconditioner.loss is not loss:
            self._preconditioner = Preconditioner(loss)
        if w0 is None:
            w0 = self._from_some_rows(objective, tol, max_iter)
        self.w0, self.tol = w0, tol
        return with_rounding(objective, run(self, objective, tol=tol, max_iter=max_iter), tol)

    def _from_some_rows(self, objective: Objective, tol: float, max_iter: int) -> np.ndarray | None:
        """The solution for some of the rows, if there are many more."""
        loss, most = objective.loss, self._preconditioner.most
        if not self._preconditioner.by_matrix or loss.pair_rows.a.size + loss.pair_rows.b.size < 3 * most:
            return None
        some = replace(objective, loss=loss.thinned(most))
        return PairNewton().solve(some, tol=max(tol, 1e-4), max_iter=max_iter).w

    def init(self, objective: Objective) -> State:
        loss, l2 = objective.loss, objective.penalty.ridge
        w = np.zeros(loss.n_features) if self.w0 is None else np.array(self.w0, dtype=np.float64)
        self._move_to(loss, loss.scores(w))
        value = self._point.value + objective.penalty.value(w)
        self._steps = 0
        grad = loss.gradient_of(self._point.slope) if w.any() else -loss.k * loss.delta
        return State(w, grad, value, passes=3.0 if w.any() else 1.0, fresh=True)

    def _move_to(self, loss: SquaredHingeLoss, scores: np.ndarray, point: Point | None = None) -> None:
        self._scores, self._point = scores, loss.at(scores) if point is None else point

    def epoch(self, objective: Objective, state: State) -> None:
        loss, l2 = objective.loss, objective.penalty.ridge
        preconditioner = self._preconditioner
        assert preconditioner is not None
        if not preconditioner.ready or self._steps > SLOW:
            preconditioner.build(self._point.pairs)
        gradient = state.grad + l2 * state.w
        direction, scores = self._direction(objective, state, gradient)
        self._search(objective, state, gradient, direction, scores)
        state.grad = loss.gradient_of(self._point.slope)
        state.fresh = False
        state.passes += 1.0

    def _direction(self, objective: Objective, state: State, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The Newton step and its scores."""
        loss, l2 = objective.loss, objective.penalty.ridge
        preconditioner = self._preconditioner
        assert preconditioner is not None
        pairs, divisor = self._point.pairs, 2.0 * objective.penalty.gap_curvature(loss.curvature())
        size = float(gradient @ gradient)
        goal = max(INEXACT**2 * size, 0.1 * target_gap(objective, self.tol) * divisor)
        residual, x, image = -gradient, np.zeros_like(gradient), np.zeros(loss.products.shape[0])
        conditioned = preconditioner.solve(residual, l2)
        direction, rho = conditioned, float(residual @ conditioned)
        along = np.zeros_like(image)
        self._steps = 0
        while self._steps < CG_STEPS and rho > 0.0:
            along = loss.quick_scores(direction)
            product = loss.hessian_back(pairs, along) + l2 * direction
            self._steps += 1
            bend = float(direction @ product)
            if not bend > 0.0:
                break
            step = rho / bend
            x += step * direction
            image += step * along
            residual = residual - step * product
            if float(residual @ residual) <= goal:
                break
            conditioned = preconditioner.solve(residual, l2)
            previous, rho = rho, float(residual @ conditioned)
            direction = conditioned + (rho / previous) * direction
        state.passes += 2.0 * self._steps
        return x, image

    def _search(
        self, objective: Objective, state: State, gradient: np.ndarray, direction: np.ndarray, image: np.ndarray
    ) -> None:
        """Move along the direction to a point where F is lower; each trial is one sort."""
        loss, l2 = objective.loss, objective.penalty.ridge
        slope = float(gradient @ direction)
        linear, bend = l2 * float(state.w @ direction), l2 * float(direction @ direction)
        fraction = 1.0
        for _ in range(LINE_STEPS):
            scores = self._scores + fraction * image
            point = loss.at(scores)
            w = state.w + fraction * direction
            value = point.value + objective.penalty.value(w)
            there = float(point.slope @ image) + linear + fraction * bend
            if value <= state.value + 0.1 * fraction * slope or abs(there) <= 0.1 * abs(slope):
                break
            # F is convex along the direction and its slope piecewise linear: where the secant vanishes, but inside.
            fraction *= min(max(-slope / (there - slope), 0.05), 0.95) if there > slope else 0.5
        state.w, state.value = w, value
        self._move_to(loss, scores, point)


def with_rounding(objective: Objective, solution: Solution, tol: float) -> Solution:
    """The solution with a certificate that makes room for the rounding of the gradient."""
    loss = objective.loss
    slope = loss.at(loss.scores(solution.w)).slope
    error = loss.gradient_error(solution.w, slope)
    divisor = objective.penalty.gap_curvature(loss.curvature())
    slack = float(np.linalg.norm(error)) / np.sqrt(2.0 * divisor)
    kinks = 0.0 if objective.penalty.ridge is not None else float(error @ np.abs(solution.w))
    gap = (np.sqrt(solution.gap) + slack) ** 2 + kinks
    return replace(solution, gap=float(gap), converged=solution.converged)
