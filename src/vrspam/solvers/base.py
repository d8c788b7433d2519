"""The shape of a solver and the one loop that drives all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from vrspam.objective import Objective


@dataclass
class State:
    """Where a solver stands: a point, ∇f and F there, and how often the data has been read.

    `fresh` says that `grad` and `value` were computed from `w`; a solver that merely updates them sets it to
    False, and the driver computes them before it believes that the end is reached. `candidate` is a point to hand
    back in place of `w`, such as one with exact zeros: at the end the driver moves there. `extra` holds further
    columns of the history.
    """

    w: np.ndarray
    grad: np.ndarray
    value: float
    passes: float = 0.0
    fresh: bool = True
    candidate: np.ndarray | None = None
    evaluation_passes: float = 2.0
    extra: dict[str, float] = field(default_factory=dict)


class Solver(Protocol):
    """One algorithm. It neither loops over epochs nor tests for the end: `run` does both."""

    def init(self, objective: Objective) -> State:
        """The starting point, evaluated."""

    def epoch(self, objective: Objective, state: State) -> None:
        """Advance `state` in place, leaving `grad` and `value` those of the new `w`."""


@dataclass(frozen=True)
class Solution:
    """What a solver found: F(w), the certificate, and whether the certificate reached the tolerance."""

    w: np.ndarray
    value: float
    gap: float
    n_iter: int
    converged: bool
    history: dict[str, np.ndarray] = field(default_factory=dict)


def target_gap(objective: Objective, tol: float) -> float:
    """The gap at which every solver stops: tol · F(0)."""
    return tol * objective.pq


def stopping_gap(objective: Objective, w: np.ndarray, grad: np.ndarray) -> float:
    """The certificate; for l2 = 0, where it is infinite, its terms divided by a small curvature instead of l2.

    That measures how far 0 is from the subdifferential in units in which 1e-10 of the mean curvature of f would
    be l2. It only decides when to stop; what is reported is NaN.
    """
    return objective.penalty.residual(w, grad, gap_curvature(objective))


def gap_curvature(objective: Objective) -> float:
    """The denominator of `stopping_gap`."""
    if objective.penalty.l2 > 0.0:
        return objective.penalty.l2
    return 1e-10 * max(float(np.mean(objective.gram_diagonal)), np.finfo(float).tiny)


def certify(
    objective: Objective, w: np.ndarray, n_iter: int, tol: float, product: np.ndarray | None = None
) -> Solution:
    """Wrap a point that was found directly, with a freshly computed certificate; `product` is Σw where it is known."""
    value, grad, _ = objective.evaluate(w, product)
    gap = stopping_gap(objective, w, grad)
    if objective.rounding > 0.0:
        gap = (np.sqrt(gap) + _rounding_of_gap(objective, w)) ** 2
    reported = float(gap) if objective.penalty.l2 > 0.0 else float("nan")
    return Solution(w, value, reported, n_iter, bool(gap <= target_gap(objective, tol)))


def _rounding_of_gap(objective: Objective, w: np.ndarray) -> float:
    """What rounding of Σ may add to the root of the certificate, which is a norm of the gradient.

    An entry of kH is wrong by about `rounding` · √(h_i h_j), h its diagonal, so that the gradient at w is wrong by
    rounding · √(Σ h_i) · √(Σ h_j w_j²), if the errors are independent.
    """
    h = objective.gram_diagonal
    error = objective.rounding * np.sqrt(h.sum()) * np.linalg.norm(np.sqrt(h) * w)
    return float(error / np.sqrt(2.0 * gap_curvature(objective)))


def proximal_point(objective: Objective, w: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """The proximal-gradient point of w: F is not larger there, and where l1 wins it has exact zeros.

    Its step is 1 / (trace of ∇²f), which is at most 1 / (Lipschitz constant of ∇f).
    """
    step = 1.0 / max(float(objective.gram_diagonal.sum()), np.finfo(float).tiny)
    return objective.penalty.prox(w - step * grad, step)


def run(
    solver: Solver,
    objective: Objective,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[dict[str, float]], None] | None = None,
) -> Solution:
    """Run epochs until the certificate is at most tol · F(0), or `max_iter` epochs are done.

    The clock runs only while the solver works. `callback` gets one row of the history after each epoch.
    """
    rows: list[dict[str, float]] = []
    seconds, target = 0.0, target_gap(objective, tol)

    def record(epoch: int) -> float:
        gap = stopping_gap(objective, state.w, state.grad)
        provisional = state.candidate is not None or not state.fresh
        if provisional and (gap <= target or epoch == max_iter):
            state.w = state.w if state.candidate is None else state.candidate
            state.value, state.grad, _ = objective.evaluate(state.w)
            state.passes += state.evaluation_passes
            state.fresh, state.candidate = True, None
            gap = stopping_gap(objective, state.w, state.grad)
        row = {
            "epoch": float(epoch),
            "passes": state.passes,
            "seconds": seconds,
            "objective": state.value,
            "gap": gap if objective.penalty.l2 > 0.0 else float("nan"),
            **state.extra,
        }
        rows.append(row)
        if callback is not None:
            callback(row)
        return gap

    start = time.perf_counter()
    state = solver.init(objective)
    seconds += time.perf_counter() - start
    gap, epoch = record(0), 0
    while epoch < max_iter and not gap <= target:
        start = time.perf_counter()
        solver.epoch(objective, state)
        seconds += time.perf_counter() - start
        epoch += 1
        gap = record(epoch)
    history = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    history["epoch"] = history["epoch"].astype(np.int64)
    reported = objective.penalty.gap(state.w, state.grad)
    return Solution(state.w, state.value, reported, epoch, bool(gap <= target), history)
