"""Any loss, and penalties that are quadratic where no coordinate is zero: Newton's method by Hessian products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vrspam.objective import Objective
from vrspam.solvers.base import EpochSolver, State

CG_STEPS = 100
HALVINGS = 30


class TruncatedNewton(EpochSolver):
    """Newton steps on the coordinates in use, after a proximal gradient step that finds them.

    With c and s the penalty's curvature and slope there, the step d solves (∇²f + c) d = -(∇f + c w + s) on the
    support of w by conjugate gradient, more accurately as the end comes near (Dembo, Eisenstat & Steihaug 1982).
    Coordinates that the step would take across zero stop at zero; the step is halved until F falls. The proximal
    gradient step alone would converge, so the support is found, and from there on Newton's steps converge
    quadratically; a piecewise quadratic loss ends in finitely many.

    References
    ----------
    R. Dembo, S. Eisenstat and T. Steihaug. Inexact Newton Methods. SIAM J. Numer. Anal. 19, 1982.
    """

    def refuses(self, objective: Objective) -> str | None:
        if objective.penalty.quadratic_piece(np.zeros(objective.loss.n_features)) is None:
            return "it needs a penalty that is quadratic as long as no coordinate changes its sign"
        return None

    def init(self, objective: Objective) -> State:
        self._lipschitz = max(float(np.max(objective.loss.curvature(), initial=0.0)), float(np.finfo(float).tiny))
        self._first = 0.0
        return self.start(objective, passes=2.0)

    def epoch(self, objective: Objective, state: State) -> None:
        self._proximal_step(objective, state)
        support = np.flatnonzero(state.w) if objective.penalty.ridge is None else np.arange(state.w.size)
        if support.size:
            self._newton_step(objective, state, support)

    def _proximal_step(self, objective: Objective, state: State) -> None:
        """One step of proximal gradient; 1/step starts below the bound on ∇²f and is raised until F falls enough."""
        self._lipschitz /= 2.0
        while True:
            step = 1.0 / self._lipschitz
            w = objective.penalty.prox(state.w - step * state.grad, step)
            value, grad = objective.value_and_grad(w)
            state.passes += 2.0
            move = w - state.w
            if float(move @ (grad - state.grad)) <= self._lipschitz * float(move @ move) * (1.0 + 1e-9):
                break
            self._lipschitz *= 2.0
        if value <= state.value:
            state.w, state.grad, state.value = w, grad, value

    def _newton_step(self, objective: Objective, state: State, support: np.ndarray) -> None:
        w = state.w[support]
        piece = objective.penalty.restricted_to(support).quadratic_piece(w)
        assert piece is not None  # `refuses`
        curvature, slope = piece
        hessian, whole = objective.loss.hessian_product(state.w), np.zeros_like(state.w)

        def product(v: np.ndarray) -> np.ndarray:
            whole[support] = v
            state.passes += 2.0
            return hessian(whole)[support] + curvature * v

        diagonal = objective.loss.curvature()[support] + curvature
        gradient = state.grad[support] + curvature * w + slope
        diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
        size = float(np.sqrt(gradient @ (gradient / diagonal)))
        self._first = max(self._first, size)
        direction = conjugate_gradient(product, -gradient, diagonal, min(0.1, size / (self._first or 1.0)))
        kinked = objective.penalty.ridge is None
        fraction = 1.0
        for _ in range(HALVINGS):
            moved = w + fraction * direction
            if kinked:
                moved[moved * w < 0.0] = 0.0
            candidate = np.zeros_like(state.w)
            candidate[support] = moved
            value, grad = objective.value_and_grad(candidate)
            state.passes += 2.0
            if value < state.value:
                state.w, state.grad, state.value = candidate, grad, value
                return
            fraction /= 2.0


def conjugate_gradient(
    product: Callable[[np.ndarray], np.ndarray], target: np.ndarray, diagonal: np.ndarray, accuracy: float
) -> np.ndarray:
    """Solve A x = target, A positive semidefinite, until the residual is `accuracy` times the target.

    `diagonal` preconditions, and measures both. A direction of no curvature ends the search.
    """
    x, residual = np.zeros_like(target), target.copy()
    conditioned = residual / diagonal
    direction, rho = conditioned.copy(), float(residual @ conditioned)
    goal = rho * max(accuracy, 1e-10) ** 2
    for _ in range(CG_STEPS):
        if rho <= goal:
            break
        image = product(direction)
        bend = float(direction @ image)
        if not bend > 0.0:
            break
        x += rho / bend * direction
        residual -= rho / bend * image
        conditioned = residual / diagonal
        rho, previous = float(residual @ conditioned), rho
        direction = conditioned + rho / previous * direction
    return x
