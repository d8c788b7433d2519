"""All l2 of a grid at the cost of the smallest: conjugate gradient with shifts, by products with the data alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg.blas import daxpy, dscal

from vrspam.objective import ElasticNet, Objective
from vrspam.solvers.base import Solution, certify, target_gap
from vrspam.solvers.gram import NOT_RIDGE
from vrspam.solvers.products import NOT_QUADRATIC, ConjugateGradient

BUDGET = 2  # times the most iterations of one point: products for all points together
MARGIN = 0.25  # of the gap at which a point is done: its certificate makes room for rounding


@dataclass(eq=False)
class ShiftedConjugateGradient:
    """(Σ + δδᵀ + l2/k I) w = δ for a grid of l2, computed together when the first of them is asked for.

    The Krylov space of Σ + δδᵀ and δ does not depend on l2, and the residuals of all l2 are multiples of one another:
    each product with the data that the smallest l2 needs serves the others too (Jegerlehner 1996). There is no
    preconditioner, which would depend on l2; with fewer rows than features it would help little. What has no
    certificate after twice `max_iter` products stays as it is, and its certificate says how far it came.
    """

    l2s: np.ndarray
    _loss: Any = None  # the one that `_found` belong to, and the tolerance they were solved to
    _tol: float = 0.0
    _found: dict[float, tuple[np.ndarray, int]] = field(default_factory=dict)

    def refuses(self, objective: Objective) -> str | None:
        if not objective.loss.is_quadratic:
            return NOT_QUADRATIC
        if objective.loss.matrix is not None:
            return "a matrix is decomposed instead"
        rows = objective.loss.rows
        if rows is None or len(rows.side) >= objective.loss.n_features:
            return "with at least as many rows as features, the preconditioner of each l2 is worth more"
        ridge = objective.penalty.ridge
        if ridge is None or ridge == 0.0 or ridge not in self.l2s.tolist():
            return NOT_RIDGE
        return None if self._shifts().size > 1 else "there is one l2 alone"

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        loss, l2 = objective.loss, objective.penalty.ridge
        assert l2 is not None
        if self._loss is not loss or self._tol != tol:
            self._found = self._solve_together(loss, tol, BUDGET * max_iter)
            self._loss, self._tol = loss, tol
        w, products = self._found[l2]
        solution = certify(objective, w, products, tol)
        if solution.converged or products == BUDGET * max_iter:
            return solution
        return ConjugateGradient().solve(
            objective, tol=tol, max_iter=max_iter, w0=w
        )  # rounding was larger than thought

    def _shifts(self) -> np.ndarray:
        """The l2 that are solved together, in increasing order."""
        return np.unique(self.l2s[self.l2s > 0.0])

    def _solve_together(self, loss: Any, tol: float, most: int) -> dict[float, tuple[np.ndarray, int]]:
        """Coefficients of each l2, and how many products they took, at most so many."""
        l2s, k, delta = self._shifts(), loss.k, np.asarray(loss.delta)
        least, extra = l2s[0] / k, (l2s - l2s[0]) / k
        enough = MARGIN * target_gap(Objective(loss, ElasticNet(float(l2s[0]))), tol) * 2.0 * l2s / k**2
        coefs, directions = np.zeros((l2s.size, delta.size)), np.tile(delta, (l2s.size, 1))
        products, factors = np.zeros(l2s.size, dtype=int), np.ones(l2s.size)  # residual of each / that of the least
        ratios, before = np.ones(l2s.size), 1.0
        residual, direction, growth = delta.copy(), delta.copy(), 0.0
        rho = float(residual @ residual)
        active = np.flatnonzero(factors**2 * rho > enough)
        for _ in range(most):
            if not active.size:
                break
            product = loss.within @ direction + float(delta @ direction) * delta + least * direction
            curvature = float(direction @ product)
            if not curvature > 0.0:
                break  # the residual is zero to the last bit
            step = rho / curvature
            ratios[active] = 1.0 / (1.0 + extra[active] * step + step * growth / before * (1.0 - ratios[active]))
            residual -= step * product
            rho, last = float(residual @ residual), rho
            growth, before = rho / last, step
            direction *= growth
            direction += residual
            factors[active] *= ratios[active]
            for i in active:
                daxpy(directions[i], coefs[i], a=step * ratios[i])  # in place
                dscal(growth * ratios[i] ** 2, directions[i])
                daxpy(residual, directions[i], a=factors[i])
            products[active] += 1
            active = active[factors[active] ** 2 * rho > enough[active]]
        return {float(l2): (w, int(n)) for l2, w, n in zip(l2s, coefs, products, strict=True)}
