"""Exact solvers of a quadratic loss by products with the data alone: no d×d matrix is formed.

| solver | needs | penalty |
|---|---|---|
| `ConjugateGradient` | products by Σ | l2 alone |
| `ColumnDescent` | the rows in memory | any |
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from vrspam.objective import Objective, WithinProducts
from vrspam.solvers.base import EpochSolver, State
from vrspam.solvers.gram import NOT_RIDGE, GramDescent, refuse_uncompiled

NOT_QUADRATIC = "it needs a quadratic loss"


class ConjugateGradient(EpochSolver):
    """(Σ + δδᵀ + l2/k I) w = δ by conjugate gradient, one product with X and one with Xᵀ an iteration.

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
        l2, k = objective.penalty.ridge, loss.k
        diagonal = loss.curvature() + l2
        if l2 == 0.0:
            self.w0 = None
            diagonal = np.full_like(diagonal, diagonal.mean())
        self._inverse_diagonal = k / np.where(diagonal > 0.0, diagonal, k)
        self._floor = 0.0
        return self.start(objective, passes=2.0)

    def epoch(self, objective: Objective, state: State) -> None:
        loss = objective.loss
        l2, k = objective.penalty.ridge, loss.k
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
    """Coordinate descent on the columns of X, the class means subtracted implicitly.

    An epoch is one sweep over all columns, which finds the ones in use, and then the exact solution for those:
    from their Gram matrix while they are few, by more sweeps when they are many. It keeps one copy of X by columns.
    """

    ACTIVE_SWEEPS = 10
    GRAM_MAX_SUPPORT = 500
    _copied: WithinProducts | None = None  # the rows whose columns were copied

    def refuses(self, objective: Objective) -> str | None:
        if not objective.loss.is_quadratic:
            return NOT_QUADRATIC
        if objective.loss.rows is None:
            return "it needs the rows in memory"
        return refuse_uncompiled(objective)

    def init(self, objective: Objective) -> State:
        rows = objective.loss.rows
        assert rows is not None
        if self._copied is not rows:  # one object serves many penalties of the same data
            self._copy_columns(rows)
            self._copied = rows
        return self.start(objective, passes=2.0)

    def epoch(self, objective: Objective, state: State) -> None:
        from vrspam import kernels  # compiled code is loaded only when it is needed

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
            part = self._restrict(objective, support)
            if loss.rows.X.dtype == np.float32:
                part = self._exact_at(objective, part, state.w, support)
                state.passes += 2.0
            state.w[support] = GramDescent().solve(part, tol=1e-14, max_iter=200, w0=state.w[support]).w
            state.passes += 1.0
        else:
            for _ in range(self.ACTIVE_SWEEPS):
                sweep(True)
            state.passes += self.ACTIVE_SWEEPS * support.size / max(state.w.size, 1)
        state.value, state.grad = objective.value_and_grad(state.w)
        state.passes += 3.0

    def _copy_columns(self, rows: WithinProducts) -> None:
        from vrspam import kernels

        root = np.sqrt(rows.share).astype(rows.X.dtype, copy=False)
        if sparse.issparse(rows.X):
            csc = (sparse.diags_array(root) @ rows.X).tocsc()
            self._columns: kernels.CSR | np.ndarray = kernels.CSR(csc.data, csc.indices, csc.indptr)
            self._means = rows.means
        else:
            centred = np.asfortranarray(rows.X - rows.means.astype(rows.X.dtype)[rows.side])
            centred *= root[:, np.newaxis]
            self._columns = centred.T
            self._means = np.zeros_like(rows.means)

    def _restrict(self, objective: Objective, support: np.ndarray) -> Objective:
        """The same problem on some of the columns, with Σ as a matrix."""
        loss = objective.loss
        matrix = self._gram(support)
        matrix -= self._means[:, support].T @ self._means[:, support]
        return Objective(loss.restricted_to(support, matrix), objective.penalty.restricted_to(support))

    def _exact_at(self, objective: Objective, part: Objective, w: np.ndarray, support: np.ndarray) -> Objective:
        """The restricted problem with the gradient of the rows at w; float32 columns alone have another optimum."""
        tilt = objective.gradient(w)[support] - part.loss.value_and_grad(w[support])[1]
        return Objective(part.loss.tilted(tilt), part.penalty)

    def _gram(self, support: np.ndarray) -> np.ndarray:
        if isinstance(self._columns, np.ndarray):
            chosen = self._columns[support].astype(np.float64)
            return chosen @ chosen.T
        data, indices, indptr = self._columns
        matrix = sparse.csr_array((data, indices, indptr))[support].astype(np.float64)
        return (matrix @ matrix.T).toarray()
