"""Any loss and any penalty: the accelerated proximal gradient method."""

from __future__ import annotations

import numpy as np

from vrspam.objective import Objective
from vrspam.solvers.base import EpochSolver, State

POWER_STEPS = 12


class ProximalGradient(EpochSolver):
    """FISTA: a proximal gradient step from a point ahead of w, w + m (w - w_before).

    The gradient of a quadratic loss is linear, so that at the point ahead follows from those at the last two w, and
    each epoch costs one product by Σ: for data that is read anew for every product. Other losses are evaluated once
    more. The step 1/L is found by the power method, and L is raised where the quadratic bound fails. The momentum
    starts again when it points uphill (O'Donoghue & Candès 2015), which with l2 > 0 gives linear convergence without
    knowing the condition. It refuses nothing.

    References
    ----------
    A. Beck and M. Teboulle. A Fast Iterative Shrinkage-Thresholding Algorithm. SIAM J. Imaging Sci. 2, 2009.
    B. O'Donoghue and E. Candès. Adaptive Restart for Accelerated Gradient Schemes. Found. Comput. Math. 15, 2015.
    """

    def refuses(self, objective: Objective) -> str | None:
        return None

    def init(self, objective: Objective) -> State:
        state = self.start(objective, passes=1.0)
        self._lipschitz = _largest_curvature(objective, state)
        state.passes += POWER_STEPS
        self._before, self._grad_before, self._momentum = state.w, state.grad, 1.0
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
            state.passes += 1.0
        while True:
            step = 1.0 / self._lipschitz
            w = objective.penalty.prox(point - step * grad, step)
            value, new_grad = objective.value_and_grad(w)
            state.passes += 1.0
            move = w - point
            # The curvature along the step, exact where the gradient is linear.
            curvature = float(move @ (new_grad - grad))
            if curvature <= self._lipschitz * float(move @ move) * (1.0 + 1e-9):
                break
            self._lipschitz *= 1.5
        uphill = float((point - w) @ (w - state.w)) > 0.0
        self._momentum = 1.0 if uphill else momentum
        self._before, self._grad_before = state.w, state.grad
        state.w, state.grad, state.value = w, new_grad, value
        if uphill:
            self._before, self._grad_before = w, new_grad


def _largest_curvature(objective: Objective, state: State) -> float:
    """The largest eigenvalue of ∇²f, by a few steps of the power method: a lower bound close to it."""
    curvature = objective.loss.curvature()
    product = objective.loss.hessian_product(state.w)
    v = np.sqrt(np.maximum(curvature, 0.0)) - state.grad
    value = float(np.max(curvature, initial=0.0))
    for _ in range(POWER_STEPS):
        length = float(np.linalg.norm(v))
        if length == 0.0:
            break
        v = product(v / length)
        value = max(value, float(np.linalg.norm(v)))
    return max(value * 1.01, float(np.finfo(float).tiny))
