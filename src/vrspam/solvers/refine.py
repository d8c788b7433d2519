"""Improve a solution found from moments, or measure one again, by products with the rows themselves.

Moments of float32 rows are coarse, and all moments square what is small in the rows. Products with the rows are
accurate, so the gradient they give certifies a solution that the moments could not. Where it is not good enough, the
next one
minimises the loss of the moments plus a linear term that makes its gradient right at the last one (iterative
refinement, for any penalty):

    w ← argmin f̂(w) + t·w + Ω(w),   t = ∇f(w_last) - ∇f̂(w_last).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vrspam._utils.validation import Rows
from vrspam.moments import ClassMoments
from vrspam.objective import Objective, SquaredPairLoss
from vrspam.solvers import solve
from vrspam.solvers.base import Solution, certify

ENOUGH_PROGRESS = 0.25  # of the gap, in one round: with less, further rounds are not worth their passes over the rows


def knows_value(objective: Objective, solution: Solution) -> bool:
    """Whether F is known to a relative error of 1e-8."""
    error = objective.loss.value_error(solution.w, solution.value - objective.penalty.value(solution.w))
    accurate_value = 1e-8  # relative error of F that is good enough
    return error <= accurate_value * abs(solution.value)


def is_accurate(objective: Objective, solution: Solution) -> bool:
    """Whether the certificate is reached, and F known to a relative error of 1e-8."""
    return solution.converged and knows_value(objective, solution)


def measured_on_centred_rows(
    objective: Objective, solution: Solution, rows: Rows, moments: ClassMoments, *, tol: float
) -> Solution:
    """The same coefficients, with F and the certificate of centred rows where those of the solver are too coarse.

    The stochastic methods read the rows as they are. Where a column lies far from the origin and its coefficient is
    large, the scores of rows as they are keep few digits of their differences.
    """
    if knows_value(objective, solution):
        return solution
    positive = rows.y == moments.classes[1]
    loss = SquaredPairLoss.from_centred_rows(rows.X, positive, rows.weights, moments)
    again = certify(Objective(loss, objective.penalty), solution.w, solution.n_iter, tol)
    for name, number in (("objective", again.value), ("gap", again.gap), ("stationarity", again.stationarity)):
        if name in solution.history:
            solution.history[name][-1] = number
    return replace(again, history=solution.history)


def refine(
    objective: Objective, moments_loss: SquaredPairLoss, solution: Solution, *, tol: float, max_iter: int
) -> Solution:
    """The solution with the certificate of `objective`, whose loss multiplies rows, improved until that is reached.

    Parameters
    ----------
    objective : Objective
    moments_loss : SquaredPairLoss
        The same loss from moments.
    solution : Solution
        Found from these moments.
    tol : float
    max_iter : int
        Most iterations of all rounds, and of those before, where the solver is iterative.
    """
    best = certify(objective, solution.w, solution.n_iter, tol)
    most_rounds = 6
    for _ in range(most_rounds):
        left = max_iter - best.n_iter if objective.penalty.ridge is None else 1
        if best.converged or left < 1:
            break
        tilt = objective.gradient(best.w) - moments_loss.value_and_grad(best.w)[1]
        model = Objective(moments_loss.tilted(tilt), objective.penalty)
        found = solve(model, tol=min(tol, 1e-10), max_iter=left, w0=best.w)
        if not np.isfinite(found.w).all():
            break
        better = certify(objective, found.w, best.n_iter + found.n_iter, tol)
        if not better.gap < best.gap:
            break
        slow = better.gap > ENOUGH_PROGRESS * best.gap
        best = better
        if slow:
            break
    return best
