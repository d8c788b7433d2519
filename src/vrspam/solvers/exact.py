"""Exact solvers: from d×d moments, or from products with X alone.

| solver | needs | penalty |
|---|---|---|
| `solve_gram` | Σ as a matrix | l1 = 0: Cholesky; l1 > 0: coordinate descent with Newton steps on the support |
| `GramPath` | Σ as a matrix | l1 = 0, many l2: one eigendecomposition |
| `ConjugateGradient` | products with X | l1 = 0 |
| `ColumnDescent` | products with the columns of X | l1 > 0 |
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg, sparse

from vrspam._utils import array_api
from vrspam.objective import Objective, WithinProducts
from vrspam.solvers.base import Solution, State, certify, gap_curvature, run, stopping_gap, target_gap

SWEEPS_PER_NEWTON = 20


def solve_products(objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
    """Minimise F with products by X alone; memory O(n + d) beside X (and one copy of X by columns if l1 > 0)."""
    if objective.penalty.l1 == 0.0:
        return run(ConjugateGradient(w0), objective, tol=tol, max_iter=max_iter)
    return run(ColumnDescent(w0), objective, tol=tol, max_iter=max_iter)


def solve_gram(objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
    """Minimise F when Σ is a matrix; `w0` is a warm start (used when l1 > 0)."""
    if objective.penalty.l1 > 0.0:
        return GramDescent(objective).solve(objective, tol=tol, max_iter=max_iter, w0=w0)
    if objective.penalty.l2 == 0.0:
        return certify(objective, GramPath(objective).coef(0.0), 1, tol)
    return _solve_cholesky(objective, tol)


def _solve_cholesky(objective: Objective, tol: float) -> Solution:
    """w = u / (1 + δ·u) with (Σ + l2/k I) u = δ (Sherman-Morrison), refined until the certificate is reached."""
    delta = objective.delta
    matrix = np.array(objective.within, order="F")
    matrix[np.diag_indices_from(matrix)] += objective.penalty.l2 / objective.k
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:  # l2 is lost in the rounding of Σ
        return certify(objective, GramPath(objective).coef(objective.penalty.l2), 1, tol)

    def solve(b: np.ndarray) -> np.ndarray:
        u = linalg.cho_solve(factor, b, check_finite=False)
        return u - base * (float(delta @ u) / (1.0 + float(delta @ base)))

    base = linalg.cho_solve(factor, delta, check_finite=False)
    w = base / (1.0 + float(delta @ base))
    solution = certify(objective, w, 1, tol)
    for n_iter in range(2, 6):
        if solution.converged or not np.isfinite(solution.gap):
            break
        residual = objective.gradient(solution.w) + objective.penalty.l2 * solution.w
        better = certify(objective, solution.w - solve(residual / objective.k), n_iter, tol)
        if not better.gap < solution.gap:
            break
        solution = better
    if not solution.converged:  # perhaps l2 is too small for Cholesky, and only luck let it pass
        spectral = certify(objective, GramPath(objective).coef(objective.penalty.l2), 1, tol)
        solution = spectral if spectral.gap < solution.gap or not np.isfinite(solution.gap) else solution
    return solution


class GramPath:
    """The minimisers for l1 = 0 and any l2 out of one eigendecomposition H = QΛQᵀ: w = Q (Qᵀδ / (Λ + l2/k)).

    With `like`, an array on a device, the decomposition is done and kept there (1,000 features: 11 ms on an H200,
    65 ms on the 16 cores beside it).
    """

    def __init__(self, objective: Objective, like=None):
        self.objective = objective
        H = np.outer(objective.delta, objective.delta)
        H += np.asarray(objective.within)
        if like is None or array_api.device_namespace(like) is None:
            self.values, vectors = np.linalg.eigh(H)  # SciPy's would not let other folds run meanwhile
            self._rotate = lambda rows: rows @ vectors.T
            self.rotated = vectors.T @ objective.delta
        else:
            self.values, vectors = array_api.eigh(H, like)
            self._rotate = lambda rows: array_api.on_host(array_api.beside(rows, vectors) @ vectors.T)
            self.rotated = array_api.on_host(array_api.beside(objective.delta, vectors) @ vectors)
        np.maximum(self.values, 0.0, out=self.values)
        largest = float(self.values.max(initial=0.0))
        self._cut = largest * self.values.size * np.finfo(float).eps  # what eigh can resolve

    def coefs(self, l2s: np.ndarray) -> np.ndarray:
        """One row of coefficients for each l2; directions in which neither l2 nor the data show get nothing.

        For l2 = 0 that is the shortest minimiser.
        """
        shifted = self.values + np.asarray(l2s)[:, np.newaxis] / self.objective.k
        known = shifted > self._cut
        return self._rotate(np.where(known, self.rotated / np.where(known, shifted, 1.0), 0.0))

    def coef(self, l2: float) -> np.ndarray:
        return self.coefs(np.array([l2]))[0]

    def solve(self, l2s: np.ndarray, tol: float) -> list[Solution]:
        """The certified minimisers; where the eigenvectors are not accurate enough, Cholesky is."""
        coefs = self.coefs(l2s)
        products = np.asarray(self.objective.within) @ coefs.T
        found = []
        for l2, w, product in zip(l2s.tolist(), coefs, products.T, strict=True):
            objective = self.objective.with_penalty(l2)
            solution = certify(objective, w, 1, tol, product)
            found.append(solution if solution.converged or l2 == 0.0 else _solve_cholesky(objective, tol))
        return found


class GramDescent:
    """Elastic net on a d×d matrix: coordinate descent, and Newton steps on the support when that is slow.

    Within the orthant of the present signs F is a quadratic, whose minimiser is one Cholesky solve away.
    Moving towards it until a coordinate reaches zero never raises F, so ill-conditioned problems, on which
    coordinate descent crawls, end after a few such steps. One object serves all penalties of a grid.
    """

    def __init__(self, objective: Objective):
        delta = objective.delta
        self.gram = np.ascontiguousarray(objective.k * (np.asarray(objective.within) + np.outer(delta, delta)))
        self.linear = objective.k * delta

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        from vrspam import kernels  # compiled code is loaded only when it is needed

        l2, l1 = objective.penalty
        curvature, target = gap_curvature(objective), target_gap(objective, tol)
        w = np.zeros_like(self.linear) if w0 is None else np.array(w0, dtype=np.float64)
        grad = self.gram @ w - self.linear
        sweeps, stalled = 0, False
        while sweeps < max_iter and not stalled:
            before = w.copy()
            budget = min(SWEEPS_PER_NEWTON, max_iter - sweeps)
            done, _ = kernels.gram_descent(self.gram, w, grad, l1, l2, curvature, target, budget)
            sweeps += done
            grad = self.gram @ w - self.linear  # rounding has crept into the running one
            if stopping_gap(objective, w, grad) <= target:
                break
            w = self._minimise_on_support(objective, w)
            stalled = np.array_equal(w, before)  # the last digit is reached
            grad = self.gram @ w - self.linear
        return certify(objective, w, max(sweeps, 1), tol)

    def _minimise_on_support(self, objective: Objective, w: np.ndarray) -> np.ndarray:
        """Newton steps, each in the orthant of the present signs, until one is taken whole.

        Each step that is cut short sets at least one coordinate to zero, so there are at most d of them.
        """
        l2, l1 = objective.penalty
        value = objective.value(w)
        while True:
            support = np.flatnonzero(w)
            if support.size == 0:
                return w
            start, signs = w[support], np.sign(w[support])
            matrix = self.gram[np.ix_(support, support)]
            matrix[np.diag_indices_from(matrix)] += l2
            try:
                factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
            except linalg.LinAlgError:
                return w
            goal = linalg.cho_solve(factor, self.linear[support] - l1 * signs, check_finite=False)
            crossing = goal * signs < 0.0
            fractions = np.ones(support.size)
            fractions[crossing] = start[crossing] / (start[crossing] - goal[crossing])
            improved = False
            for fraction in dict.fromkeys((1.0, float(fractions.min()))):  # all at once if that helps, else one by one
                moved = start + fraction * (goal - start)
                moved[crossing & (fractions <= fraction)] = 0.0
                candidate = np.zeros_like(w)
                candidate[support] = moved
                candidate_value = objective.value(candidate)
                if candidate_value < value:
                    w, value, improved = candidate, candidate_value, True
                    break
            if not improved or not crossing.any():
                return w


class ConjugateGradient:
    """(Σ + δδᵀ + l2/k I) w = δ by conjugate gradient, one product with X and one with Xᵀ an iteration.

    The residual is the gradient up to a factor, so the certificate is free. With l2 > 0 the diagonal is the
    preconditioner; with l2 = 0 there is none (but a scale), so that from w = 0 the least-norm solution is
    reached.
    """

    def __init__(self, w0: np.ndarray | None = None):
        self.w0 = w0

    def init(self, objective: Objective) -> State:
        l2, k = objective.penalty.l2, objective.k
        diagonal = objective.gram_diagonal + l2
        if l2 == 0.0:
            diagonal = np.full_like(diagonal, diagonal.mean())
        self._inverse_diagonal = k / np.where(diagonal > 0.0, diagonal, k)
        if self.w0 is None:
            return State(np.zeros_like(objective.delta), -k * objective.delta, objective.pq, passes=1.0)
        w = np.array(self.w0, dtype=np.float64)
        value, grad, _ = objective.evaluate(w)
        return State(w, grad, value, passes=3.0)

    def epoch(self, objective: Objective, state: State) -> None:
        l2, k = objective.penalty.l2, objective.k
        if state.fresh:  # the first step, or the driver has replaced the updated gradient by a computed one
            self._residual = -(state.grad + l2 * state.w) / k
            self._direction = self._inverse_diagonal * self._residual
            self._rho = float(self._residual @ self._direction)
            self._floor = max(self._rho, getattr(self, "_floor", 0.0))
            state.fresh = False
        if self._rho <= 1e-30 * self._floor:
            return  # nothing but rounding is left, and following it would lead into the null space
        direction = self._direction
        product = objective.within @ direction + float(objective.delta @ direction) * objective.delta
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
        state.value = objective.pq * (1.0 - float(state.w @ (objective.delta + self._residual)))


class ColumnDescent:
    """Elastic net by coordinate descent on the columns of X, the class means subtracted implicitly.

    An epoch is one sweep over all columns, which finds the ones in use, and then the exact solution for those:
    from their Gram matrix while they are few, by more sweeps when they are many. It keeps one copy of X by columns.
    """

    ACTIVE_SWEEPS = 10
    GRAM_MAX_SUPPORT = 500

    def __init__(self, w0: np.ndarray | None = None):
        self.w0 = w0
        self._copied: WithinProducts | None = None

    def init(self, objective: Objective) -> State:
        within = objective.within
        if not isinstance(within, WithinProducts):
            raise TypeError("ColumnDescent works on products with X; use GramDescent for a matrix.")
        if self._copied is not within:  # one object serves many penalties of the same data
            self._copy_columns(within)
            self._copied = within
        w = np.zeros_like(objective.delta) if self.w0 is None else np.array(self.w0, dtype=np.float64)
        value, grad, _ = objective.evaluate(w)
        return State(w, grad, value, passes=3.0)

    def epoch(self, objective: Objective, state: State) -> None:
        from vrspam import kernels

        l2, l1 = objective.penalty
        scores = np.zeros(objective.within.X.shape[0])  # type: ignore[attr-defined]
        kernels.weighted_row_sum(self._columns, np.flatnonzero(state.w), state.w, scores)
        # The margin needs δ·w even when the columns are centred, so it is carried as a third number.
        running = np.array([*(self._means @ state.w), float(objective.delta @ state.w)])

        def sweep(only_active: bool) -> None:
            kernels.column_sweep(
                self._columns, self._means, objective.delta, objective.k, objective.gram_diagonal,
                state.w, scores, running, l1, l2, only_active,
            )  # fmt: skip

        sweep(False)
        support = np.flatnonzero(state.w)
        if 0 < support.size <= self.GRAM_MAX_SUPPORT:
            part = self._restrict(objective, support)
            state.w[support] = GramDescent(part).solve(part, tol=1e-14, max_iter=200, w0=state.w[support]).w
            state.passes += 1.0
        else:
            for _ in range(self.ACTIVE_SWEEPS):
                sweep(True)
            state.passes += self.ACTIVE_SWEEPS * support.size / max(state.w.size, 1)
        state.value, state.grad, _ = objective.evaluate(state.w)
        state.passes += 3.0

    def _copy_columns(self, within: WithinProducts) -> None:
        from vrspam import kernels

        root = np.sqrt(within.share).astype(within.X.dtype, copy=False)
        if sparse.issparse(within.X):
            csc = (sparse.diags_array(root) @ within.X).tocsc()
            self._columns: kernels.CSR | np.ndarray = kernels.CSR(csc.data, csc.indices, csc.indptr)
            self._means = within.means
        else:
            centred = np.asfortranarray(within.X - within.means.astype(within.X.dtype)[within.side])
            centred *= root[:, np.newaxis]
            self._columns = centred.T
            self._means = np.zeros_like(within.means)

    def _restrict(self, objective: Objective, support: np.ndarray) -> Objective:
        """The same problem on some of the columns, with Σ as a matrix."""
        within = self._gram(support)
        within -= self._means[:, support].T @ self._means[:, support]
        return replace(objective, delta=objective.delta[support], within=within, diagonal=objective.diagonal[support])

    def _gram(self, support: np.ndarray) -> np.ndarray:
        if isinstance(self._columns, np.ndarray):
            chosen = self._columns[support].astype(np.float64)
            return chosen @ chosen.T
        data, indices, indptr = self._columns
        matrix = sparse.csr_array((data, indices, indptr))[support].astype(np.float64)
        return (matrix @ matrix.T).toarray()
