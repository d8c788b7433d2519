"""The exact optimum of given penalties: from moments, by products with the rows, or by Newton's method on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vrspam._utils import array_api
from vrspam._utils.blas import blas_threads_for, blas_threads_for_matrix
from vrspam._utils.validation import Rows
from vrspam.moments import ClassMoments
from vrspam.objective import (
    AUTO_L2_SHARE,
    ELASTIC_NET,
    SQUARED,
    DeviceProducts,
    LossChoice,
    Objective,
    Operator,
    PenaltyFamily,
    SmoothLoss,
    SquaredPairLoss,
    l2_unit,
)
from vrspam.solvers import ExactFit, SolverName, solve
from vrspam.solvers.refine import is_accurate, refine

COARSE_FROM = 256  # features of float32 rows from which on products in float32, and one more pass, are quicker
HOST_ROWS = (np.ndarray, sparse.sparray, sparse.spmatrix)


def resolve_l2(l2: float | str, moments: ClassMoments) -> float:
    """The number that is used for `l2`."""
    return AUTO_L2_SHARE * l2_unit(moments) if isinstance(l2, str) else float(l2)


@dataclass(frozen=True)
class ExactSolver:
    """The optimum for given penalties, from moments or by products with X; the parameters are those of `AUCClassifier`.

    Attributes
    ----------
    l2 : float or "auto"
    l1, tol : float
    max_iter : int
    penalty : PenaltyFamily
        Of a loss, and then of an l2 and an l1.
    loss : LossChoice
    """

    l2: float | str
    l1: float
    tol: float
    max_iter: int
    penalty: PenaltyFamily = ELASTIC_NET
    loss: LossChoice = SQUARED

    def from_moments(self, moments: ClassMoments) -> ExactFit:
        """Solve from d×d matrices."""
        with blas_threads_for_matrix(moments.means.shape[1]):
            return self._solve(SquaredPairLoss.from_moments(moments), moments, "moments")

    def from_operator(self, within: Operator, moments: ClassMoments) -> ExactFit:
        """Solve with products by Σ alone, each of which reads all the data once."""
        return self._solve(SquaredPairLoss.from_operator(within, moments), moments, "products")

    def from_rows(
        self, rows: Rows, classes: np.ndarray, solver: SolverName, moments: ClassMoments | None = None
    ) -> ExactFit:
        """Solve for rows in memory or on a device; `moments`, where they are known already, are those of all rows."""
        X, y, weights = rows
        if self.loss.needs_rows:
            return self._by_newton(rows, classes, moments)
        if solver == "moments":
            return self._from_moments_of_rows(rows, classes, moments)
        if moments is None:
            moments = self._gather(rows, classes, scatter=False)
        if array_api.device_namespace(X) is not None:
            positive = array_api.is_label(y, classes[1], X)
            return self.from_operator(DeviceProducts(X, positive, weights, moments.means, moments.weights), moments)
        return self._solve(SquaredPairLoss.from_rows(X, y == classes[1], weights, moments), moments, "products")

    def _from_moments_of_rows(self, rows: Rows, classes: np.ndarray, moments: ClassMoments | None) -> ExactFit:
        """Solve from moments, and where these are too coarse for a certificate, improve it by products with the rows.

        Wide float32 rows are first multiplied in float32, which is quicker; if that does not lead to the tolerance, in
        float64.
        """
        if moments is None:
            moments = self._gather(rows, classes, precise=rows.X.shape[1] < COARSE_FROM)
        fit = self._solve_and_refine(moments, rows, classes)
        if moments.rounding > 0.0 and not fit.solution.converged:
            fit = self._solve_and_refine(self._gather(rows, classes), rows, classes)
        return fit

    def _solve_and_refine(self, moments: ClassMoments, rows: Rows, classes: np.ndarray) -> ExactFit:
        """Solve from moments; unless their certificate is good enough, take and improve that of the rows themselves."""
        X, y, weights = rows
        loss = SquaredPairLoss.from_moments(moments)
        with blas_threads_for_matrix(X.shape[1]):
            fit = self._solve(loss, moments, "moments")
        penalty = self.penalty(loss)(fit.l2, float(self.l1))
        # Not for rows on a device, nor for features that a map computes.
        if is_accurate(Objective(loss, penalty), fit.solution) or not isinstance(X, HOST_ROWS):
            return fit
        precise = SquaredPairLoss.from_centred_rows(X, y == classes[1], weights, moments)
        solution = refine(Objective(precise, penalty), loss, fit.solution, tol=self.tol, max_iter=self.max_iter)
        return fit._replace(solution=solution)

    def _by_newton(self, rows: Rows, classes: np.ndarray, moments: ClassMoments | None) -> ExactFit:
        X, y, weights = rows
        if moments is None:
            moments = self._gather(rows, classes, scatter=False)
        with blas_threads_for(X.shape[1]):
            loss = self.loss.from_rows(X, y == classes[1], weights, moments)
            return self._solve(loss, moments, "newton")

    def _solve(self, loss: SmoothLoss, moments: ClassMoments, solver: SolverName) -> ExactFit:
        l2 = resolve_l2(self.l2, moments)
        objective = Objective(loss, self.penalty(loss)(l2, float(self.l1)))
        solution = solve(objective, tol=self.loss.tolerance(self.tol), max_iter=self.max_iter)
        return ExactFit(solution, moments, l2, solver)

    @staticmethod
    def _gather(rows: Rows, classes: np.ndarray, *, scatter: bool = True, precise: bool = True) -> ClassMoments:
        d = rows.X.shape[1]
        with blas_threads_for(d):
            return ClassMoments(d, classes=classes, scatter=scatter).add_checked(*rows, precise=precise)
