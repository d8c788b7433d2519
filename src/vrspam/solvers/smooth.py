"""Solvers of any smooth loss, by its gradients and products with its Hessian.

| solver | penalty |
|---|---|
| `TruncatedNewton` | one that is quadratic near each point, as long as no coordinate changes its sign |
| `ProximalGradient` | any |
"""

from collections.abc import Callable

import numpy as np

from vrspam.objective import Objective
from vrspam.solvers.base import EpochSolver, State


class ProximalGradient(EpochSolver):
    """FISTA: a proximal gradient step from a point ahead of w, w + m (w - w_before).

    The gradient of a quadratic loss is linear, so the gradient at the point ahead follows from those at the last two w,
    and an epoch costs one product by Σ, which matters if each product reads the data. For other losses an epoch costs
    one more evaluation. The step 1/L is found by the power method, and L is raised where the quadratic bound fails. The
    momentum starts again when it points uphill (O'Donoghue & Candès 2015), which with l2 > 0 gives linear convergence
    without knowing the condition number. Every objective is accepted; where the penalty is not convex, momentum that
    raises F is given up, so that F always falls.

    References
    ----------
    A. Beck and M. Teboulle. A Fast Iterative Shrinkage-Thresholding Algorithm. SIAM J. Imaging Sci. 2, 2009.
    B. O'Donoghue and E. Candès. Adaptive Restart for Accelerated Gradient Schemes. Found. Comput. Math. 15, 2015.
    """

    def refuses(self, objective: Objective) -> str | None:
        return None

    def init(self, objective: Objective) -> State:
        state = self.start(objective, passes=2.0)
        power_steps = 12
        self._lipschitz = _largest_curvature(objective, state, power_steps)
        state.passes += 2.0 * power_steps
        self._before = state.w
        self._grad_before = state.grad
        self._momentum = 1.0
        return state

    def epoch(self, objective: Objective, state: State) -> None:
        loss = objective.loss
        momentum = (1.0 + np.sqrt(1.0 + 4.0 * self._momentum**2)) / 2.0
        ahead = (self._momentum - 1.0) / momentum
        point = state.w + ahead * (state.w - self._before)
        if loss.is_quadratic or ahead == 0.0:
            grad = state.grad + ahead * (state.grad - self._grad_before)
        else:
            grad = loss.value_and_grad(point)[1]
            state.passes += 2.0
        while True:
            step = 1.0 / self._lipschitz
            w = objective.penalty.prox(point - step * grad, step)
            value, new_grad = objective.value_and_grad(w)
            state.passes += 2.0
            move = w - point
            # The curvature along the step, exact where the gradient is linear.
            curvature = float(move @ (new_grad - grad))
            if curvature <= self._lipschitz * float(move @ move) * (1.0 + 1e-9):
                break
            self._lipschitz = _raised(self._lipschitz, 1.5)
        if not objective.penalty.is_convex and ahead > 0.0 and value > state.value:
            self._momentum = 1.0
            return self.epoch(objective, state)
        uphill = float((point - w) @ (w - state.w)) > 0.0
        self._momentum = 1.0 if uphill else momentum
        self._before = state.w
        self._grad_before = state.grad
        state.w, state.grad, state.value = w, new_grad, value
        if uphill:
            self._before = w
            self._grad_before = new_grad


def _raised(lipschitz: float, factor: float) -> float:
    """A larger bound on the curvature; an error if no step is short enough, as for a loss that is NaN."""
    largest_curvature = 1e150  # squares of larger numbers overflow
    if lipschitz > largest_curvature:
        raise ValueError(
            "The loss is not finite, or its gradient is not continuous: no step is short enough. Rescale the features "
            "(sklearn.preprocessing.StandardScaler)."
        )
    return lipschitz * factor


def _largest_curvature(objective: Objective, state: State, steps: int) -> float:
    """The largest eigenvalue of ∇²f, by a few steps of the power method: a lower bound close to it."""
    curvature = objective.loss.curvature()
    product = objective.loss.hessian_product(state.w)
    v = np.sqrt(np.maximum(curvature, 0.0)) - state.grad
    value = float(np.max(curvature, initial=0.0))
    for _ in range(steps):
        length = float(np.linalg.norm(v))
        if length == 0.0:
            break
        v = product(v / length)
        value = max(value, float(np.linalg.norm(v)))
    return max(value * 1.01, float(np.finfo(float).tiny))


class TruncatedNewton(EpochSolver):
    """Newton steps on the coordinates in use, after a proximal gradient step that finds them.

    With c and s the penalty's curvature and slope there, the step d solves (∇²f + c) d = -(∇f + c w + s) on the
    support of w by conjugate gradient, more accurately near the solution (Dembo, Eisenstat & Steihaug 1982).
    Coordinates that the step would take across zero stop at zero; the step is halved until F falls. The proximal
    gradient step alone would converge, so the support is found, and from there on Newton's steps converge
    quadratically; a piecewise quadratic loss ends in finitely many.

    References
    ----------
    R. Dembo, S. Eisenstat and T. Steihaug. Inexact Newton Methods. SIAM J. Numer. Anal. 19, 1982.
    """

    def refuses(self, objective: Objective) -> str | None:
        if objective.penalty.quadratic_piece(np.zeros(objective.loss.n_features)) is None:
            return "it needs a penalty that is quadratic near each point, as long as no coordinate changes its sign"
        return None

    def init(self, objective: Objective) -> State:
        self._lipschitz = max(float(np.max(objective.loss.curvature(), initial=0.0)), float(np.finfo(float).tiny))
        self._first = 0.0
        return self.start(objective, passes=2.0)

    def epoch(self, objective: Objective, state: State) -> None:
        self._proximal_step(objective, state)
        low = np.full_like(state.w, -np.inf)
        high = np.full_like(state.w, np.inf)
        if objective.penalty.ridge is None:
            low, high = objective.penalty.piece_ends(state.w)
        support = np.flatnonzero(low < high)
        if support.size:
            self._newton_step(objective, state, support, low[support], high[support])

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
            self._lipschitz = _raised(self._lipschitz, 2.0)
        if value <= state.value:
            state.w, state.grad, state.value = w, grad, value

    def _newton_step(
        self, objective: Objective, state: State, support: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> None:
        w = state.w[support]
        piece = objective.penalty.restricted_to(support).quadratic_piece(w)
        assert piece is not None  # `refuses`
        curvature, slope = piece
        hessian = objective.loss.hessian_product(state.w)
        full = np.zeros_like(state.w)

        def product(v: np.ndarray) -> np.ndarray:
            full[support] = v
            state.passes += 2.0
            return hessian(full)[support] + curvature * v

        diagonal = objective.loss.curvature()[support] + curvature
        gradient = state.grad[support] + curvature * w + slope
        diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
        square = float(gradient @ (gradient / diagonal))
        self._first = max(self._first, np.sqrt(square))
        goal = square * max(min(0.1, np.sqrt(square) / (self._first or 1.0)), 1e-10) ** 2
        direction, _ = conjugate_gradient(product, -gradient, lambda r: r / diagonal, lambda _, rho: rho <= goal, 100)
        if not direction.any():
            return  # nothing is left to gain, or the penalty is too concave here
        fraction = 1.0
        for _ in range(30):
            candidate = state.w.copy()
            candidate[support] = np.clip(w + fraction * direction, low, high)
            value, grad = objective.value_and_grad(candidate)
            state.passes += 2.0
            if value < state.value:
                state.w, state.grad, state.value = candidate, grad, value
                return
            fraction /= 2.0


def conjugate_gradient(
    product: Callable[[np.ndarray], np.ndarray],
    target: np.ndarray,
    conditioned_by: Callable[[np.ndarray], np.ndarray],
    is_enough: Callable[[np.ndarray, float], bool],
    most: int,
) -> tuple[np.ndarray, int]:
    """Solve A x = target, A positive semidefinite; returns x and the number of products with A, at most `most`.

    `is_enough` decides by the residual r and rᵀ M⁻¹ r, with M⁻¹ the preconditioner; a direction of no curvature ends
    the search as well.
    """
    x = np.zeros_like(target)
    residual = target.copy()
    steps = 0
    conditioned = conditioned_by(residual)
    direction = conditioned.copy()
    rho = float(residual @ conditioned)
    while steps < most and rho > 0.0:
        image = product(direction)
        steps += 1
        bend = float(direction @ image)
        if not bend > 0.0:
            break
        x += rho / bend * direction
        residual -= rho / bend * image
        conditioned = conditioned_by(residual)
        rho, previous = float(residual @ conditioned), rho
        if is_enough(residual, rho):
            break
        direction = conditioned + rho / previous * direction
    return x, steps
