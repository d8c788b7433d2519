"""The interface of a solver, and the loop that drives all solvers that work in epochs."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from vrspam.objective import Objective


@dataclass
class State:
    """The state of a solver: a point, ∇f and F there, and how often the data has been read.

    Attributes
    ----------
    w, grad : ndarray of shape (d,)
    value : float
    passes : float
    fresh : bool
        Whether `grad` and `value` were computed from `w`; a solver that merely updates them sets it to False, and the
        driver computes them before it stops.
    candidate : ndarray or None
        A point to hand back in place of `w`, such as one with exact zeros: at the end the driver moves there.
    evaluation_passes : float
        How often the data is read when the driver computes `grad` and `value`.
    ended : bool
        Whether the solver can do no more: the driver stops, and the last epoch, which must have changed nothing, does
        not count.
    extra : dict
        Further columns of the history.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.solvers import State
    >>> State(np.zeros(2), np.array([-1.0, 0.5]), 0.25).passes
    0.0
    """

    w: np.ndarray
    grad: np.ndarray
    value: float
    passes: float = 0.0
    fresh: bool = True
    candidate: np.ndarray | None = None
    evaluation_passes: float = 2.0
    ended: bool = False
    extra: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Solution:
    """What a solver found: F(w), the certificate, and whether the certificate reached the tolerance.

    Attributes
    ----------
    w : ndarray of shape (d,)
    value : float
        F(w); NaN where it is not known.
    gap : float or None
        The certificate: an upper bound on F(w) minus the minimum; None where there is none.
    n_iter : int
    converged : bool
        Whether the certificate reached the tolerance.
    history : dict of ndarray
    stationarity : float or None
        Takes the place of the certificate where the penalty is not convex: how much a step along each coordinate gains.
    left : float
        The number that decides whether it converged: the certificate or, where there is none, the violation.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ClassMoments
    >>> from vrspam.objective import Objective
    >>> from vrspam.solvers import solve
    >>> moments = ClassMoments.from_data(np.array([[0.0], [1.0], [2.0], [5.0]]), [-1, -1, 1, 1])
    >>> solution = solve(Objective.from_moments(moments, l2=0.5), tol=1e-10, max_iter=100)
    >>> solution.converged, bool(solution.gap < 1e-10)
    (True, True)
    """

    w: np.ndarray
    value: float
    gap: float | None
    n_iter: int
    converged: bool
    history: dict[str, np.ndarray] = field(default_factory=dict)
    stationarity: float | None = None
    left: float = float("nan")

    @property
    def bound(self) -> float:
        """The certificate as a number: infinite where there is none."""
        return np.inf if self.gap is None else self.gap


class Solver(Protocol):
    """A way to minimise an objective. One object may serve many penalties of the same loss, one after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.objective import ElasticNet, Objective, SquaredPairLoss
    >>> from vrspam.solvers import exact_solvers
    >>> loss = SquaredPairLoss(0.5, np.array([1.0]), np.eye(1), np.ones(1), matrix=np.eye(1))
    >>> exact_solvers()[0].refuses(Objective(loss, ElasticNet(l2=0.1, l1=0.2)))
    'it solves a linear system, and the penalty is not l2/2 ‖w‖² alone'
    """

    def refuses(self, objective: Objective) -> str | None:
        """Why this solver cannot minimise the objective, in words; None if it can."""

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        """The minimiser, from `w0` where a start helps."""


class EpochSolver:
    """Base of the solvers that work in epochs: `solve` runs them from `w0`.

    docs/add_a_solver.md shows an example.

    Examples
    --------
    >>> from vrspam.solvers import EpochSolver, exact_solvers
    >>> [type(solver).__name__ for solver in exact_solvers() if isinstance(solver, EpochSolver)]
    [...'TruncatedNewton', 'ProximalGradient']
    """

    w0: np.ndarray | None = None

    def solve(self: Any, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        self.w0 = w0
        return run(self, objective, tol=tol, max_iter=max_iter)

    def start(self, objective: Objective, passes: float) -> State:
        """The state at `w0`, or at 0; `passes` is how often an evaluation reads the data, after one for the means."""
        known = self.w0 is None and objective.loss.is_quadratic
        w = np.zeros(objective.loss.n_features) if self.w0 is None else np.array(self.w0, dtype=np.float64)
        value, grad = objective.value_and_grad(w)
        return State(w, grad, value, passes=1.0 if known else 1.0 + passes)


def known_gap(gap: float) -> float | None:
    """A certificate for the record: None where it is NaN or infinite, so that it bounds nothing."""
    return float(gap) if np.isfinite(gap) else None


def certify(
    objective: Objective, w: np.ndarray, n_iter: int, tol: float, product: np.ndarray | None = None
) -> Solution:
    """The solution of a quadratic loss at a point that was found directly; `product` is Σw where it is known."""
    value, grad = objective.loss.value_and_grad(w, product)
    gap, left = objective.certificate(w, grad)
    converged = bool(left <= tol * objective.loss.scale)
    stationarity = None if objective.penalty.has_gap else float(left)
    value += objective.penalty.value(w)
    return Solution(w, value, known_gap(gap), n_iter, converged, stationarity=stationarity, left=float(left))


def is_done(objective: Objective, w: np.ndarray, grad: np.ndarray, target: float) -> bool:
    """Whether the certificate is at its target, or only rounding keeps it above."""
    exact = objective.exact_certificate(w, grad)[1]
    but_for_rounding = 1e-2  # share of the target: a solver stops once its certificate without rounding is this small
    if exact <= but_for_rounding * target:
        return True
    return bool(exact <= target and objective.certificate(w, grad)[1] <= target)


def proximal_point(objective: Objective, w: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """The proximal-gradient point of w, with step 1 / (trace of ∇²f): F is not larger there, and zeros are exact."""
    step = 1.0 / max(float(objective.loss.curvature().sum()), np.finfo(float).tiny)
    return objective.penalty.prox(w - step * grad, step)


def run(
    solver: Any,
    objective: Objective,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[dict[str, float]], None] | None = None,
) -> Solution:
    """Run epochs until the certificate is at most tol · F(0), or `max_iter` epochs are done.

    `solver` has `refuses` as any `Solver`, `init`, which returns the starting point as an evaluated `State`, and
    `epoch`, which advances it in place, leaving `grad` and `value` those of the new `w`; it does not test for the end.
    Where the penalty allows no certificate, its `violation` takes that place. If rounding alone keeps this number above
    its target, the run ends when the number no longer falls. The clock runs only while the solver works. `callback`
    gets one row of the history after each epoch.
    """
    refusal = solver.refuses(objective)
    if refusal is not None:
        raise ValueError(f"{type(solver).__name__} cannot minimise this objective: {refusal}.")
    rows: list[dict[str, float]] = []
    seconds = 0.0
    target = tol * objective.scale
    has_gap = objective.penalty.has_gap

    def record(epoch: int) -> tuple[float, bool]:
        gap, left = objective.certificate(state.w, state.grad)
        provisional = state.candidate is not None or not state.fresh
        if provisional and (is_done(objective, state.w, state.grad, target) or epoch == max_iter):
            if state.candidate is not None:
                state.w = state.candidate
                state.candidate = None
            state.value, state.grad = objective.value_and_grad(state.w)
            state.passes += state.evaluation_passes
            state.fresh = True
            gap, left = objective.certificate(state.w, state.grad)
        row = {"epoch": float(epoch), "passes": state.passes, "seconds": seconds, "objective": state.value, "gap": gap}
        if not has_gap:
            row["stationarity"] = left
        row.update(state.extra)
        rows.append(row)
        if callback is not None:
            callback(row)
        return left, is_done(objective, state.w, state.grad, target)

    start = time.perf_counter()
    state = solver.init(objective)
    seconds += time.perf_counter() - start
    left, done = record(0)
    epoch = 0
    least = np.inf
    last_progress = 0
    stalled = 30  # epochs without progress after which `run` stops, where the certificate is mostly rounding
    while epoch < max_iter and not done:
        start = time.perf_counter()
        solver.epoch(objective, state)
        seconds += time.perf_counter() - start
        if state.ended:
            break
        epoch += 1
        left, done = record(epoch)
        if left < 0.9 * least:
            least = left
            last_progress = epoch
        if epoch - last_progress >= stalled and state.fresh and left <= 4.0 * objective.slack(state.w, state.grad) ** 2:
            break
    history = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    history["epoch"] = history["epoch"].astype(np.int64)
    stationarity = None if has_gap else float(left)
    gap = known_gap(rows[-1]["gap"])
    return Solution(state.w, state.value, gap, epoch, bool(left <= target), history, stationarity, float(left))
