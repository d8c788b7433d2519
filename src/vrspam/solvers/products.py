"""Exact solvers of a quadratic loss by products with the data alone: no d×d matrix is formed.

| solver | needs | penalty |
|---|---|---|
| `ConjugateGradient` | products by Σ | l2 alone |
| `ColumnDescent` | the rows in memory | any |
| `DualRidge` | dense rows in memory, fewer than features | l2 alone |
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.linalg.blas import daxpy, dscal

from vrspam import kernels
from vrspam.objective import Objective, WithinProducts
from vrspam.objective.products import RowProducts
from vrspam.solvers.base import EpochSolver, Solution, State, certify
from vrspam.solvers.gram import NOT_RIDGE, GramDescent, refuse_uncompiled

NOT_QUADRATIC = "it needs a quadratic loss"


class ConjugateGradient(EpochSolver):
    """(Σ + δδᵀ + l2/k I) w = δ by conjugate gradient, with one product with X and one with Xᵀ per iteration.

    The residual is the gradient up to a factor, so the certificate is free. With l2 > 0 the diagonal is the
    preconditioner; with l2 = 0 there is none (but a scale), and the start is 0, so that the least-norm solution is
    reached.
    """

    def refuses(self, objective: Objective) -> str | None:
        if objective.penalty.ridge is None:
            return NOT_RIDGE
        return None if objective.loss.is_quadratic else NOT_QUADRATIC

    def init(self, objective: Objective) -> State:
        loss = objective.loss
        l2 = objective.penalty.ridge
        k = loss.k
        diagonal = loss.curvature() + l2
        if l2 == 0.0:
            self.w0 = None
            diagonal = np.full_like(diagonal, diagonal.mean())
        self._inverse_diagonal = k / np.where(diagonal > 0.0, diagonal, k)
        self._floor = 0.0
        return self.start(objective, passes=2.0)

    def epoch(self, objective: Objective, state: State) -> None:
        loss = objective.loss
        l2 = objective.penalty.ridge
        k = loss.k
        if state.fresh:  # the first step, or the driver has replaced the updated gradient by a computed one
            self._residual = -(state.grad + l2 * state.w) / k
            self._direction = self._inverse_diagonal * self._residual
            self._rho = float(self._residual @ self._direction)
            self._floor = max(self._rho, self._floor)
            state.fresh = False
        if self._rho <= 1e-30 * self._floor:
            return  # nothing but rounding is left, and following it would lead into the null space
        direction = self._direction
        product = loss.within @ direction + float(loss.delta @ direction) * loss.delta
        product += (l2 / k) * direction
        state.passes += 2.0
        curvature = float(direction @ product)
        if not curvature > 0.0:
            return  # the residual is zero to the last bit
        step = self._rho / curvature
        state.w = state.w + step * direction
        self._residual = self._residual - step * product
        conditioned = self._inverse_diagonal * self._residual
        rho = float(self._residual @ conditioned)
        self._direction = conditioned + (rho / self._rho) * direction
        self._rho = rho
        state.grad = -k * self._residual - l2 * state.w
        # With residual r, (H + l2/k) w = δ - r, so F(w) = pq (1 - w·δ - w·r).
        state.value = objective.scale * (1.0 - float(state.w @ (loss.delta + self._residual)))


class ColumnDescent(EpochSolver):
    """Coordinate descent on the columns of X, the class means subtracted implicitly; it keeps one copy of X by columns.

    An epoch is one sweep over all columns, which finds the ones in use, and then the exact solution for those: from
    their Gram matrix while they are few, by more sweeps when they are many.
    """

    ACTIVE_SWEEPS = 10
    GRAM_MAX_SUPPORT = 500
    _copied: WithinProducts | None = None  # the rows whose columns were copied
    _columns: Any  # of √share · X, centred if X is dense; else `_means` are still to subtract

    def refuses(self, objective: Objective) -> str | None:
        if not objective.loss.is_quadratic:
            return NOT_QUADRATIC
        if objective.loss.rows is None:
            return "it needs the rows in memory"
        if getattr(objective.loss, "tilt", None) is not None:
            return "it cannot take a linear term"
        return refuse_uncompiled(objective)

    def init(self, objective: Objective) -> State:
        rows = objective.loss.rows
        assert rows is not None
        if self._copied is not rows:  # one object serves many penalties of the same data
            root = np.sqrt(rows.share).astype(rows.X.dtype, copy=False)
            self._means = np.zeros_like(rows.means)
            self._copied = rows
            if sparse.issparse(rows.X):
                csc = (sparse.diags_array(root) @ rows.X).tocsc()
                self._columns = kernels.CSR(csc.data, csc.indices, csc.indptr)
                self._means = rows.means
            else:
                centred = np.asfortranarray(rows.X - rows.means.astype(rows.X.dtype)[rows.side])
                centred *= root[:, np.newaxis]
                self._columns = centred.T
        return self.start(objective, passes=2.0)

    def epoch(self, objective: Objective, state: State) -> None:
        loss = objective.loss
        scores = np.zeros(loss.rows.X.shape[0])
        kernels.weighted_row_sum(self._columns, np.flatnonzero(state.w), state.w, scores)
        # The margin needs δ·w even when the columns are centred, so it is carried as a third number.
        running = np.array([*(self._means @ state.w), float(loss.delta @ state.w)])

        def sweep(only_active: bool) -> None:
            kernels.column_sweep(
                self._columns, self._means, loss.delta, loss.k, loss.curvature(),
                state.w, scores, running, objective.penalty, only_active,
            )  # fmt: skip

        sweep(False)
        support = np.flatnonzero(state.w)
        if 0 < support.size <= self.GRAM_MAX_SUPPORT:
            matrix = self._gram(support) - self._means[:, support].T @ self._means[:, support]
            part = Objective(loss.restricted_to(support, matrix), objective.penalty.restricted_to(support))
            if loss.rows.X.dtype == np.float32:
                # float32 columns alone have another optimum: `tilt` makes their gradient that of the rows.
                tilt = objective.gradient(state.w)[support] - part.loss.value_and_grad(state.w[support])[1]
                part = Objective(part.loss.tilted(tilt), part.penalty)
                state.passes += 2.0
            state.w[support] = GramDescent().solve(part, tol=1e-14, max_iter=200, w0=state.w[support]).w
            state.passes += 1.0
        else:
            for _ in range(self.ACTIVE_SWEEPS):
                sweep(True)
            state.passes += self.ACTIVE_SWEEPS * support.size / max(state.w.size, 1)
        state.value, state.grad = objective.value_and_grad(state.w)
        state.passes += 3.0

    def _gram(self, support: np.ndarray) -> np.ndarray:
        if isinstance(self._columns, np.ndarray):
            chosen = self._columns[support].astype(np.float64)
            return chosen @ chosen.T
        data, indices, indptr = self._columns
        matrix = sparse.csr_array((data, indices, indptr))[support].astype(np.float64)
        return (matrix @ matrix.T).toarray()


# All l2 of a grid at the cost of the smallest: conjugate gradient with shifts, by products with the data alone.

MARGIN = 0.25  # share of the tolerated gap at which a point is done: its certificate makes room for rounding


@dataclass(eq=False)
class ShiftedConjugateGradient:
    """(Σ + δδᵀ + l2/k I) w = δ for a grid of l2, computed together when the first of them is asked for.

    The Krylov space of Σ + δδᵀ and δ does not depend on l2, and the residuals of all l2 are multiples of one another:
    each product with the data that the smallest l2 needs serves the others too (Jegerlehner 1996).
    """

    l2s: np.ndarray
    _loss: Any = None  # the loss that `_found` belong to, and the tolerance they were solved to
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
        return None if np.unique(self.l2s[self.l2s > 0.0]).size > 1 else "there is one l2 alone"

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        loss = objective.loss
        l2 = objective.penalty.ridge
        assert l2 is not None
        budget = 2  # times `max_iter`: products for all points together
        if self._loss is not loss or self._tol != tol:
            self._found = self._solve_together(loss, tol, budget * max_iter)
            self._loss = loss
            self._tol = tol
        w, products = self._found[l2]
        solution = certify(objective, w, products, tol)
        if solution.converged or products == budget * max_iter:
            return solution
        # Rounding was larger than expected.
        return ConjugateGradient().solve(objective, tol=tol, max_iter=max_iter, w0=w)

    def _solve_together(self, loss: Any, tol: float, most: int) -> dict[float, tuple[np.ndarray, int]]:
        """Coefficients of each l2, and how many products they took, at most `most`."""
        l2s = np.unique(self.l2s[self.l2s > 0.0])
        k = loss.k
        delta = np.asarray(loss.delta)
        least = l2s[0] / k
        extra = (l2s - l2s[0]) / k
        enough = MARGIN * tol * loss.scale * 2.0 * l2s / k**2
        coefs = np.zeros((l2s.size, delta.size))
        directions = np.tile(delta, (l2s.size, 1))
        products = np.zeros(l2s.size, dtype=int)
        factors = np.ones(l2s.size)  # residual of each / that of the least
        ratios = np.ones(l2s.size)
        before = 1.0
        residual = delta.copy()
        direction = delta.copy()
        growth = 0.0
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
            last = rho
            rho = float(residual @ residual)
            growth = rho / last
            before = step
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


class ScaledRows:
    """B, such that BᵀB = Σ + δδᵀ: rows √share · (x - mean of its class), and δ as the last row. B is never formed."""

    block_bytes = 1 << 25  # of columns that are converted and centred at once

    def __init__(self, rows: WithinProducts, delta: np.ndarray):
        self.rows = rows
        self.delta = delta
        self.products = RowProducts(rows.X)
        self.used = np.flatnonzero(rows.share > 0.0)  # rows outside of a fold have no weight
        self.side = rows.side[self.used]
        self.root = np.sqrt(rows.share[self.used])

    def __matmul__(self, v: np.ndarray) -> np.ndarray:
        """B v."""
        scores = self.products.scores(v)[self.used]
        return np.append(self.root * (scores - (self.rows.means @ v)[self.side]), self.delta @ v)

    def transposed(self, a: np.ndarray) -> np.ndarray:
        """Bᵀ a."""
        factors = self.root * a[:-1]
        spread = np.zeros(self.rows.side.size)
        spread[self.used] = factors
        sums = np.bincount(self.side, weights=factors, minlength=2)
        return a[-1] * self.delta - sums @ self.rows.means + self.products.back(spread)

    def gram(self) -> np.ndarray:
        """B Bᵀ, from blocks of columns."""
        X = self.rows.X
        means = self.rows.means
        size = self.used.size
        gram = np.zeros((size + 1, size + 1))
        step = max(1, self.block_bytes // (8 * max(size, 1)))
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
    one. The certificate comes from products with X, as for any other solver, and the solution is refined to the
    tolerance; where rounding does not allow that, `ConjugateGradient` goes on.
    """

    many: bool = False
    _loss: Any = None  # the one that was prepared
    _spectrum: Any = None  # eigenvalues and eigenvectors of its Gram matrix, once they are needed

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
        most_rows = 5_000
        return f"it takes at most {most_rows:,} rows" if len(rows.side) > most_rows else None

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        loss = objective.loss
        l2 = objective.penalty.ridge
        assert l2 is not None
        if self._loss is not loss:
            self._rows = ScaledRows(loss.rows, loss.delta)
            self._spectrum = None
            self._loss = loss
            self._gram = self._rows.gram()
        shift = l2 / loss.k
        inverse = self._inverse(shift)
        last = np.zeros(self._rows.used.size + 1)
        last[-1] = 1.0
        solution = certify(objective, self._rows.transposed(inverse(last)), 1, tol)
        for n_iter in range(2, 5):
            if solution.converged or l2 == 0.0 or solution.gap is None:
                break
            residual = (loss.value_and_grad(solution.w)[1] + l2 * solution.w) / loss.k
            # (BᵀB + s)⁻¹ r = (r - Bᵀ (BBᵀ + s)⁻¹ B r) / s
            step = (residual - self._rows.transposed(inverse(self._rows @ residual))) / shift
            better = certify(objective, solution.w - step, n_iter, tol)
            if not better.bound < solution.bound:
                break
            solution = better
        if solution.converged or l2 == 0.0:
            return solution
        other = ConjugateGradient().solve(objective, tol=tol, max_iter=max_iter, w0=solution.w)
        is_no_better = other.bound >= solution.bound and solution.gap is not None
        return solution if is_no_better else other

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
