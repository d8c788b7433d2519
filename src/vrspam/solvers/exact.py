"""The exact optimum of given penalties: from moments, by products with the rows, or by Newton's method on them.

Moments of float32 rows are coarse, and all moments square what is small in the rows. Products with the rows are
accurate, so the gradient they give certifies a solution that the moments could not. Where the solution is not good
enough, the next one minimises the loss of the moments plus a linear term that makes the gradient right at the last
solution (iterative refinement, for any penalty):

    w ← argmin f̂(w) + t·w + Ω(w),   t = ∇f(w_last) - ∇f̂(w_last).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from vrspam._utils import array_api
from vrspam._utils.blas import blas_threads
from vrspam._utils.validation import Rows
from vrspam.moments import PairSums
from vrspam.objective import (
    AUTO_L2_SHARE,
    ELASTIC_NET,
    DeviceProducts,
    Objective,
    Operator,
    PenaltyFamily,
    SmoothLoss,
    SquaredPairLoss,
    l2_unit,
)
from vrspam.pairs import SQUARED, LossChoice
from vrspam.solvers import ExactFit, SolverName, solve
from vrspam.solvers.base import Solution, certify


def knows_value(objective: Objective, solution: Solution) -> bool:
    """Whether F, of a squared pair loss, is known to a relative error of 1e-8."""
    loss = objective.loss
    if loss.errors is None:
        return True
    value = solution.value - objective.penalty.value(solution.w)
    error = loss.errors.of_value(solution.w, value, loss.scale, loss.delta)
    return error <= 1e-8 * abs(solution.value)


def measured_on_centred_rows(
    objective: Objective, solution: Solution, rows: Rows, moments: PairSums, *, tol: float
) -> Solution:
    """The same coefficients, with F and the certificate of centred rows where those of the solver are too coarse."""
    if knows_value(objective, solution):
        return solution
    positive = rows.y == moments.classes[1]
    loss = SquaredPairLoss.from_centred_rows(rows.X, positive, rows.weights, moments)
    again = certify(Objective(loss, objective.penalty), solution.w, solution.n_iter, tol)
    measured = {"objective": again.value, "gap": again.gap, "stationarity": again.stationarity}
    for name, number in measured.items():
        if name in solution.history:
            solution.history[name][-1] = number
    return replace(again, history=solution.history)


def refine(
    objective: Objective, moments_loss: SquaredPairLoss, solution: Solution, *, tol: float, max_iter: int
) -> Solution:
    """The solution, certified by `objective`, whose loss multiplies rows, and refined until it reaches the tolerance.

    `solution` was found from moments, whose loss is `moments_loss`; `max_iter` bounds the iterations of all rounds.
    """
    best = certify(objective, solution.w, solution.n_iter, tol)
    most_rounds = 6
    for _ in range(most_rounds):
        left = max_iter - best.n_iter if objective.penalty.ridge is None else 1
        if best.converged or left < 1:
            break
        tilt = objective.gradient(best.w) - moments_loss.value_and_grad(best.w)[1]
        model = Objective(moments_loss.tilted(tilt), objective.penalty)
        step = solve(model, tol=min(tol, 1e-10), max_iter=left, w0=best.w)
        if not np.isfinite(step.w).all():
            break
        better = certify(objective, step.w, best.n_iter + step.n_iter, tol)
        if not better.left < best.left:
            break
        slow = better.left > 0.25 * best.left  # further rounds are not worth their passes over the rows
        best = better
        if slow:
            break
    return best


COARSE_FROM = 256  # features from which on float32 rows are first multiplied in float32: faster even with one more pass


def resolve_l2(l2: float | str, moments: PairSums) -> float:
    """The number that is used for `l2`."""
    return AUTO_L2_SHARE * l2_unit(moments) if isinstance(l2, str) else float(l2)


@dataclass(frozen=True)
class FitSettings:
    """What one fit is asked for, as numbers, and the three ways to its optimum; the fields are as in `AUCClassifier`.

    Estimators, grids and trees that learn from labels make one, and none of its ways knows an estimator.
    """

    l2: float | str
    l1: float
    tol: float
    max_iter: int
    penalty: PenaltyFamily = ELASTIC_NET
    loss: LossChoice = SQUARED

    def fit_sums(self, moments: PairSums) -> ExactFit:
        """Solve from d×d matrices."""
        with blas_threads(columns=moments.means.shape[1], square=True):
            return self._solve(SquaredPairLoss.from_moments(moments), moments, "moments")

    def fit_within(self, within: Operator, moments: PairSums) -> ExactFit:
        """Solve with products by Σ alone, each of which reads all the data once."""
        return self._solve(SquaredPairLoss.from_operator(within, moments), moments, "products")

    def fit_rows(
        self, rows: Rows, classes: np.ndarray, solver: SolverName, moments: PairSums | None = None
    ) -> ExactFit:
        """Solve for rows in memory or on a device; `moments` are those of all rows, if already known."""
        if moments is None:
            moments = self._gathered(rows, classes, solver)
        if self.loss.needs_rows:
            return self._by_newton(rows, classes, moments)
        if solver == "products":
            return self._by_products(rows, classes, moments)
        fit = self._by_moments(rows, classes, moments)
        if fit.solution.converged or moments.rounding == 0.0:
            return fit
        # The products in float32 were too coarse.
        with blas_threads(columns=rows.X.shape[1]):
            precise = self.loss.gather(rows, classes)
        return self._by_moments(rows, classes, precise)

    def _gathered(self, rows: Rows, classes: np.ndarray, solver: SolverName) -> PairSums:
        """The moments that a way to solve needs; of wide float32 rows by products in float32, which is quicker."""
        d = rows.X.shape[1]
        scatter = solver == "moments" and not self.loss.needs_rows
        with blas_threads(columns=d):
            return self.loss.gather(rows, classes, scatter=scatter, precise=d < COARSE_FROM)

    def _by_newton(self, rows: Rows, classes: np.ndarray, moments: PairSums) -> ExactFit:
        """Solve for a loss that needs the rows themselves."""
        X, y, weights = rows
        with blas_threads(columns=X.shape[1]):
            loss = self.loss.from_rows(X, y == classes[1], weights, moments)
            return self._solve(loss, moments, "newton")

    def _by_moments(self, rows: Rows, classes: np.ndarray, moments: PairSums) -> ExactFit:
        """Solve from d×d matrices, and refine by products with the rows where that is not accurate enough."""
        X, y, weights = rows
        loss = SquaredPairLoss.from_moments(moments)
        with blas_threads(columns=X.shape[1], square=True):
            fit = self._solve(loss, moments, "moments")
        # Solutions for rows on a device, for features that a map computes and for certain pairs are not refined.
        on_host = isinstance(X, np.ndarray | sparse.sparray | sparse.spmatrix)
        if not on_host or not self.loss.pairs.by_class:
            return fit
        penalty = self.penalty(loss)(fit.l2, float(self.l1))
        if fit.solution.converged and knows_value(Objective(loss, penalty), fit.solution):
            return fit
        loss_of_rows = SquaredPairLoss.from_centred_rows(X, y == classes[1], weights, moments)
        objective = Objective(loss_of_rows, penalty)
        refined = refine(objective, loss, fit.solution, tol=self.tol, max_iter=self.max_iter)
        return fit._replace(solution=refined)

    def _by_products(self, rows: Rows, classes: np.ndarray, moments: PairSums) -> ExactFit:
        """Solve without d×d matrices, by products with the rows."""
        X, y, weights = rows
        if not self.loss.pairs.by_class:
            return self._solve(self.loss.by_products(rows, classes, moments), moments, "products")
        if array_api.device_namespace(X) is not None:
            positive = array_api.is_label(y, classes[1], X)
            return self.fit_within(DeviceProducts(X, positive, weights, moments.means, moments.weights), moments)
        loss = SquaredPairLoss.from_rows(X, y == classes[1], weights, moments)
        fit = self._solve(loss, moments, "products")
        if not sparse.issparse(X):  # dense rows are already centred where that helps
            return fit
        objective = Objective(loss, self.penalty(loss)(fit.l2, float(self.l1)))
        return fit._replace(solution=measured_on_centred_rows(objective, fit.solution, rows, moments, tol=self.tol))

    def _solve(self, loss: SmoothLoss, moments: PairSums, solver: SolverName) -> ExactFit:
        l2 = resolve_l2(self.l2, moments)
        objective = Objective(loss, self.penalty(loss)(l2, float(self.l1)))
        solution = solve(objective, tol=max(self.tol, self.loss.least_tol), max_iter=self.max_iter)
        return ExactFit(solution, moments, l2, solver)
