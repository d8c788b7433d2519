"""The exact ridge solution of a wide and short table: decompositions of a matrix of rows × rows, not d×d."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from vrspam.objective import Objective, WithinProducts
from vrspam.solvers.base import Solution, certify
from vrspam.solvers.gram import NOT_RIDGE
from vrspam.solvers.products import NOT_QUADRATIC, ConjugateGradient

MOST_ROWS = 5_000
BLOCK_BYTES = 1 << 25  # rows, or columns, that are converted and centred at once


class ScaledRows:
    """B, such that BᵀB = Σ + δδᵀ: rows √share · (x - mean of its class), and δ as the last; never held as a whole."""

    def __init__(self, rows: WithinProducts, delta: np.ndarray):
        self.rows, self.delta = rows, delta
        self.used = np.flatnonzero(rows.share > 0.0)  # rows outside of a fold have no weight
        self.side = rows.side[self.used]
        self.root = np.sqrt(rows.share[self.used])

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows of X a few at a time, those in float32 as float64."""
        step = max(1, BLOCK_BYTES // (8 * self.delta.size))
        for start in range(0, self.rows.side.size, step):
            where = slice(start, start + step)
            yield where, self.rows.X[where].astype(np.float64, copy=False)

    def __matmul__(self, v: np.ndarray) -> np.ndarray:
        """B v."""
        scores = np.concatenate([block @ v for _, block in self._blocks()])[self.used]
        return np.append(self.root * (scores - (self.rows.means @ v)[self.side]), self.delta @ v)

    def transposed(self, a: np.ndarray) -> np.ndarray:
        """Bᵀ a."""
        factors = self.root * a[:-1]
        spread = np.zeros(self.rows.side.size)
        spread[self.used] = factors
        sums = np.bincount(self.side, weights=factors, minlength=2)
        total = a[-1] * self.delta - sums @ self.rows.means
        for where, block in self._blocks():
            total += spread[where] @ block
        return total

    def gram(self) -> np.ndarray:
        """B Bᵀ, from blocks of columns."""
        X, means, size = self.rows.X, self.rows.means, self.used.size
        gram = np.zeros((size + 1, size + 1))
        step = max(1, BLOCK_BYTES // (8 * max(size, 1)))
        for start in range(0, X.shape[1], step):
            columns = slice(start, start + step)
            block = np.empty((size + 1, len(self.delta[columns])))
            block[:-1] = X[self.used, columns]
            block[:-1] -= means[self.side, columns]
            block[:-1] *= self.root[:, np.newaxis]
            block[-1] = self.delta[columns]
            gram += block @ block.T
        return gram


@dataclass(eq=False)
class DualRidge:
    """(Σ + δδᵀ + l2/k I) w = δ for fewer rows than features: w = Bᵀ (BBᵀ + l2/k I)⁻¹ e, with Σ + δδᵀ = BᵀB.

    B has one row for each training row and one more, δ, which e picks. The minimiser lies in the span of these rows, so
    that it comes from a matrix of rows × rows: its eigenvectors serve all l2 of a grid (`many`), its Cholesky factor
    one. The certificate comes from products with X, as for any other solver, and the solution is refined until it is
    reached; where rounding does not allow that, `ConjugateGradient` goes on.
    """

    many: bool = False
    _loss: Any = None  # the one that was prepared

    def refuses(self, objective: Objective) -> str | None:
        if objective.penalty.ridge is None:
            return NOT_RIDGE
        if not objective.loss.is_quadratic:
            return NOT_QUADRATIC
        rows = objective.loss.rows
        if rows is None or sparse.issparse(rows.X):
            return "it needs dense rows in memory"
        if len(rows.side) >= objective.loss.n_features:
            return "it decomposes a matrix of rows × rows, and there are fewer features than rows"
        return f"it takes at most {MOST_ROWS:,} rows" if len(rows.side) > MOST_ROWS else None

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        loss, l2 = objective.loss, objective.penalty.ridge
        assert l2 is not None
        if self._loss is not loss:
            self._prepare(loss)
        shift = l2 / loss.k
        inverse = self._inverse(shift)
        last = np.zeros(self._rows.used.size + 1)
        last[-1] = 1.0
        solution = certify(objective, self._rows.transposed(inverse(last)), 1, tol)
        refinements = 3
        for n_iter in range(2, 2 + refinements):
            if solution.converged or l2 == 0.0 or not np.isfinite(solution.gap):
                break
            residual = (loss.value_and_grad(solution.w)[1] + l2 * solution.w) / loss.k
            # (BᵀB + s)⁻¹ r = (r - Bᵀ (BBᵀ + s)⁻¹ B r) / s
            step = (residual - self._rows.transposed(inverse(self._rows @ residual))) / shift
            better = certify(objective, solution.w - step, n_iter, tol)
            if not better.gap < solution.gap:
                break
            solution = better
        if solution.converged or l2 == 0.0:
            return solution
        other = ConjugateGradient().solve(objective, tol=tol, max_iter=max_iter, w0=solution.w)
        return other if not other.gap >= solution.gap else solution

    def _prepare(self, loss: Any) -> None:
        self._loss, self._rows = loss, ScaledRows(loss.rows, loss.delta)
        self._gram = self._rows.gram()
        self._spectrum: tuple[np.ndarray, np.ndarray] | None = None

    def _inverse(self, shift: float) -> Callable[[np.ndarray], np.ndarray]:
        """Multiply by (BBᵀ + shift I)⁻¹; directions in which both are lost in rounding get 0."""
        if not self.many and shift > 0.0:
            try:
                matrix = self._gram + shift * np.eye(len(self._gram))
                factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
            except linalg.LinAlgError:
                pass  # shift is lost in rounding
            else:
                return lambda b: linalg.cho_solve(factor, b, check_finite=False)
        if self._spectrum is None:
            values, vectors = np.linalg.eigh(self._gram)  # SciPy's would not let other folds run meanwhile
            self._spectrum = np.maximum(values, 0.0), vectors
        values, vectors = self._spectrum
        resolved = values.max(initial=0.0) * values.size * np.finfo(float).eps  # what eigh can tell from 0
        shifted = values + shift
        factors = np.where(shifted > resolved, 1.0 / np.where(shifted > resolved, shifted, 1.0), 0.0)
        return lambda b: vectors @ (factors * (vectors.T @ b))
