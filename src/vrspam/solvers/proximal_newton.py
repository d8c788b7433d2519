"""Newton's method for the squared hinge over pairs with l1 > 0.

Steps of two kinds. A proximal one minimises g·d + dᵀMd/2 + Ω(w + d), where M is the Hessian of some of the rows, by
coordinate descent on the columns that are in use or should be: it finds which coefficients are 0. As soon as that does
not change, F is smooth on the others, and Newton steps by conjugate gradient, preconditioned by M, solve for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from vrspam.objective import Objective
from vrspam.objective.squared_hinge import SquaredHingeLoss
from vrspam.solvers.base import Solution, State
from vrspam.solvers.gram import GramDescent, refuse_uncompiled
from vrspam.solvers.newton import (
    LEAST_ROWS,
    NOT_SORTED,
    ROWS_PER_FEATURE,
    SortedScores,
    newton_direction,
    with_rounding,
)
from vrspam.solvers.smooth import TruncatedNewton

MOST_COLUMNS = 2_000  # with coefficients that are not 0; beyond, no matrix of them is formed
INNER_TOL = 1e-2  # of what is left of the certificate
INNER_SWEEPS = 300


class QuadraticModel:
    """A quadratic function wᵀMw/2 - b·w, for `ModelDescent`; `scale` is what its tolerance is relative to."""

    is_quadratic = True
    rounding = 0.0
    rows = None

    def __init__(self, matrix: np.ndarray, linear: np.ndarray, scale: float):
        self.matrix, self.linear, self.scale = matrix, linear, scale
        self.n_features = linear.size

    def value_and_grad(self, w: np.ndarray, product: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        product = self.matrix @ w if product is None else product
        return 0.5 * float(w @ product) - float(self.linear @ w), product - self.linear

    def hessian_product(self, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return lambda v: self.matrix @ v

    def curvature(self) -> np.ndarray:
        return np.diagonal(self.matrix)


class ModelDescent(GramDescent):
    """Coordinate descent on a `QuadraticModel`."""

    def _prepare(self, loss: Any) -> None:
        self._loss, self.gram, self.linear = loss, loss.matrix, loss.linear
        self._diagonal = np.diagonal(loss.matrix).copy()


class PairProximalNewton(SortedScores):
    """Proximal Newton steps that find the zeros, and Newton steps on the other coefficients."""

    def refuses(self, objective: Objective) -> str | None:
        if not isinstance(objective.loss, SquaredHingeLoss):
            return NOT_SORTED
        if objective.penalty.quadratic_piece(np.zeros(objective.loss.n_features)) is None:
            return "it needs a penalty that is quadratic as long as no coordinate changes its sign"
        return refuse_uncompiled(objective)

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        self._wide = False
        self._columns: np.ndarray | None = None
        solution = super().solve(objective, tol=tol, max_iter=max_iter, w0=w0)
        if self._wide:  # too many columns in use for a matrix
            solution = TruncatedNewton().solve(objective, tol=tol, max_iter=max_iter, w0=solution.w)
            slope = objective.loss.at(objective.loss.scores(solution.w)).slope
            error = objective.loss.rounding_of(np.abs(solution.w), slope)
            solution = with_rounding(objective, solution, error, tol)
        return solution

    def init(self, objective: Objective) -> State:
        self._settled = False
        return super().init(objective)

    def epoch(self, objective: Objective, state: State) -> None:
        columns = self._choose_columns(objective, state)
        if self._wide:
            return
        settled = self._settled and np.isin(columns, np.flatnonzero(state.w), assume_unique=True).all()
        if not (settled and self._newton_step(objective, state)):
            self._proximal_step(objective, state, columns)
        self.arrive(objective, state)

    def _choose_columns(self, objective: Objective, state: State) -> np.ndarray:
        """The columns in use, and those that a step along them alone would bring into use: first the largest steps."""
        curvature = objective.loss.curvature()
        step = 1.0 / np.where(curvature > 0.0, curvature, np.inf)
        moved = objective.penalty.prox(state.w - step * state.grad, np.where(step > 0.0, step, 1.0))
        wanted = np.where((state.w == 0.0) & (curvature > 0.0), np.abs(moved) * np.sqrt(curvature), 0.0)
        used = np.flatnonzero(state.w)
        room = MOST_COLUMNS - used.size
        self._wide = room <= 0
        new = np.flatnonzero(wanted)
        if new.size > room:
            new = new[np.argsort(-wanted[new], kind="stable")[: max(room, 0)]]
        return np.sort(np.concatenate([used, new]))

    def _proximal_step(self, objective: Objective, state: State, columns: np.ndarray) -> None:
        loss, penalty = objective.loss, objective.penalty
        if columns.size == 0:
            return
        self._columns = columns
        part = self.point.pairs.active_part(max(ROWS_PER_FEATURE * columns.size, LEAST_ROWS))
        self._matrix = loss.hessian_matrix(part, columns)
        diagonal = np.einsum("ii->i", self._matrix)
        bound = loss.curvature()[columns]
        # A column without entries in these rows must not look as if nothing bent along it.
        np.maximum(diagonal, self.point.pairs.share() * bound, out=diagonal)
        diagonal += 1e-10 * float(np.mean(bound))
        w = state.w[columns]
        left = objective.certificate(state.w, state.grad)[1]
        model = QuadraticModel(self._matrix, self._matrix @ w - state.grad[columns], max(left, 1e-300))
        inner = Objective(model, penalty.restricted_to(columns))
        goal = ModelDescent().solve(inner, tol=INNER_TOL, max_iter=INNER_SWEEPS, w0=w).w
        direction = np.zeros_like(state.w)
        direction[columns] = goal - w
        image = loss.quick_scores(direction)
        state.passes += 1.0
        signs = np.sign(state.w)
        taken = self.search(objective, state, direction, image)
        if taken == 1.0:
            state.w[columns] = goal  # w + (goal - w) may not be 0 where goal is
        if taken == 0.0 and not penalty.is_convex:  # the model lies below F, and leads to another valley
            taken = self._majorised_step(objective, state, columns)
        self._settled = taken > 0.0 and np.array_equal(np.sign(state.w), signs)

    def _majorised_step(self, objective: Objective, state: State, columns: np.ndarray) -> float:
        """A step that minimises g·d + c/2 Σ h_j d_j² + Ω(w + d), c raised until that lies above F and F falls.

        h bounds the curvature along each column, so with c = number of columns it always does.
        """
        loss, bound = objective.loss, objective.loss.curvature()[columns]
        penalty, w = objective.penalty.restricted_to(columns), state.w[columns]
        factor = 1.0
        while factor <= 2.0 * columns.size:
            step = 1.0 / np.maximum(factor * bound, np.finfo(float).tiny)
            goal = penalty.prox(w - step * state.grad[columns], step)
            direction = np.zeros_like(state.w)
            direction[columns] = goal - w
            taken = self.search(objective, state, direction, loss.quick_scores(direction))
            state.passes += 1.0
            if taken > 0.0:
                if taken == 1.0:
                    state.w[columns] = goal
                return taken
            factor *= 2.0
        return 0.0

    def _newton_step(self, objective: Objective, state: State) -> bool:
        """A Newton step on the columns in use, up to the first change of a sign; False if none was possible."""
        assert self._columns is not None
        used = np.flatnonzero(state.w)
        inside = np.searchsorted(self._columns, used)
        w, penalty = state.w[used], objective.penalty.restricted_to(used)
        piece = penalty.quadratic_piece(w)
        if piece is None or used.size == 0:
            return False
        curvature, slope = piece
        matrix = self._matrix[np.ix_(inside, inside)]
        matrix[np.diag_indices_from(matrix)] += curvature
        try:
            factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return False
        gradient = state.grad[used] + curvature * w + slope
        step, image, steps = newton_direction(
            objective.loss,
            self.point.pairs,
            gradient,
            curvature,
            lambda r: linalg.cho_solve(factor, r, check_finite=False),
            self.goal_of(objective, float(gradient @ gradient)),
            used,
        )
        state.passes += 2.0 * steps + 1.0
        if not step.any():  # a penalty that is not convex bends F down here
            return False
        crossing = (w + step) * np.sign(w) < 0.0
        fractions = np.where(crossing, w / np.where(crossing, -step, 1.0), 1.0)
        most = float(np.min(fractions, initial=1.0))
        direction = np.zeros_like(state.w)
        direction[used] = step
        taken = self.search(objective, state, direction, image, most) if most > 1e-8 else 0.0
        if taken == most < 1.0:
            state.w[used[fractions <= most]] = 0.0
        self._settled = taken == 1.0
        return taken > 0.0
