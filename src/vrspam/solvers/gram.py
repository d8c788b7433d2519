"""Exact solvers of a quadratic loss whose Σ is a d×d matrix.

| solver | penalty |
|---|---|
| `Cholesky` | l2 alone |
| `RidgePath` | l2 alone, many values: one eigendecomposition |
| `GramDescent` | any: coordinate descent, with Newton steps on the columns in use |
| `ShapedGram` | l2 alone, with curves that must rise or fall |
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from vrspam import kernels
from vrspam._utils import array_api
from vrspam.objective import ElasticNet, Objective, Shaped
from vrspam.penalties.shaped import nonnegative_minimum
from vrspam.solvers.base import Solution, certify, is_done
from vrspam.solvers.tridiagonal import solve_shifted

# (H + shift I)⁻¹ b where some columns are indicators of one categorical column: only the others are factorised.
#
# At most one of these is not 0 in a row, so that their Σ_c + μ_c μ_cᵀ is diagonal for either class c. Their part of H =
# Σ + δδᵀ is, with s = μ₊ + μ₋,
#
#     H_cc = E - ½ s sᵀ + ½ δ δᵀ,     E = diag(Σ_cc) + μ₊² + μ₋²,
#
# of which a shift changes only the diagonal, and whose inverse costs as much as reading it (Sherman, Morrison and
# Woodbury). What is left is a Cholesky factor of the Schur complement of the other columns, for each shift.


def pays(loss: Any, n_shifts: int) -> bool:
    """Whether so many columns exclude each other that `exclusive_coefs` is faster than one tridiagonal form."""
    exclusive = getattr(loss, "exclusive", None)  # losses defined elsewhere need not have it
    if exclusive is None:
        return False
    width = float(exclusive.means.shape[1])
    n_others = loss.n_features - width
    reduction_cost = 4.0  # of d³ multiplications: a tridiagonal form has 4/3 d³, at a third of the speed
    return n_shifts * (width * n_others**2 + n_others**3 / 3.0) < reduction_cost * float(loss.n_features) ** 3


def exclusive_coefs(loss: Any, b: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """(H + s I)⁻¹ b for each s, one row for each; an error if one of these matrices is not positive definite.

    Each row is refined once: if the category of every row is known, the indicators and a constant are linearly
    dependent, and in that direction Woodbury's formula has only the shift left.
    """
    where, means = loss.exclusive
    delta = loss.delta
    matrix = loss.matrix
    others = np.delete(np.arange(loss.n_features), where)
    A = matrix[np.ix_(others, others)] + np.outer(delta[others], delta[others])
    B = matrix[where][:, others] + np.outer(delta[where], delta[others])
    E = loss.diagonal[where] + (means**2).sum(axis=0)
    U = np.stack([means.sum(axis=0), delta[where]], axis=1)  # (s, δ)

    def shifted(shift: float) -> Callable[[np.ndarray], np.ndarray]:
        """The function b -> (H + shift I)⁻¹ b."""
        diagonal = E + shift
        W = U / diagonal[:, np.newaxis]
        small = np.linalg.inv(np.diag([-2.0, 2.0]) + U.T @ W)

        def eliminate(v: np.ndarray) -> np.ndarray:
            return v / diagonal - W @ (small @ (W.T @ v))

        rows = B / np.sqrt(diagonal)[:, np.newaxis]
        low_rank = W.T @ B
        left = A - rows.T @ rows + low_rank.T @ small @ low_rank
        left[np.diag_indices_from(left)] += shift
        factor = (np.linalg.cholesky(left), True)  # SciPy's BLAS would wait for the threads of NumPy's

        def solve(b: np.ndarray) -> np.ndarray:
            inside = eliminate(b[where])
            w = np.empty_like(b)
            w[others] = linalg.cho_solve(factor, b[others] - inside @ B, check_finite=False)
            w[where] = inside - eliminate(B @ w[others])
            return w

        return solve

    solvers = [shifted(shift) for shift in shifts.tolist()]
    solutions = np.stack([solve(b) for solve in solvers])
    products = (matrix @ solutions.T).T + np.outer(solutions @ delta, delta) + shifts[:, np.newaxis] * solutions
    for w, solve, product in zip(solutions, solvers, products, strict=True):
        w += solve(b - product)
    return solutions


EIGEN_MIN_POINTS = 4  # so many Cholesky solves cost as much as one eigendecomposition
NO_MATRIX = "it needs the d×d matrix of the data"
NOT_RIDGE = "it solves a linear system, and the penalty is not l2/2 ‖w‖² alone"


def refuse_uncompiled(objective: Objective) -> str | None:
    """Why compiled loops cannot take the penalty; None if they can."""
    if kernels.has_prox(objective.penalty):
        return None
    return "the prox of the penalty is not registered for compiled code (vrspam.kernels.register_prox)"


class Cholesky:
    """w = u / (1 + δ·u) with (Σ + l2/k I) u = δ (Sherman-Morrison), refined; eigenvectors where l2 is too small."""

    def refuses(self, objective: Objective) -> str | None:
        if objective.penalty.ridge is None:
            return NOT_RIDGE
        return None if objective.loss.matrix is not None else NO_MATRIX

    def solve(self, objective: Objective, *, tol: float, max_iter: int = 1, w0: Any = None) -> Solution:
        loss = objective.loss
        l2 = objective.penalty.ridge
        delta = loss.delta
        assert l2 is not None
        multiply = shifted_inverse(loss, l2 / loss.k)
        if multiply is None:  # l2 is 0, or lost in the rounding of Σ
            return certify(objective, ridge_coefs(loss, np.array([l2]))[0], 1, tol)
        base = multiply(delta)

        def solve(b: np.ndarray) -> np.ndarray:
            """(Σ + δδᵀ + l2/k I)⁻¹ b."""
            u = multiply(b)
            return u - base * (float(delta @ u) / (1.0 + float(delta @ base)))

        tilt = getattr(loss, "tilt", None)
        start = base / (1.0 + float(delta @ base)) if tilt is None else solve(delta - tilt / loss.k)
        solution = certify(objective, start, 1, tol)
        target = tol * objective.loss.scale
        for n_iter in range(2, 6):
            if solution.converged or solution.gap is None:
                break
            grad = loss.value_and_grad(solution.w)[1]
            if is_done(objective, solution.w, grad, target):
                return solution
            residual = grad + l2 * solution.w
            better = certify(objective, solution.w - solve(residual / loss.k), n_iter, tol)
            if not better.bound < solution.bound:
                break
            solution = better
        if not solution.converged:  # perhaps l2 is too small for Cholesky, although it raised no error
            spectral = certify(objective, ridge_coefs(loss, np.array([l2]))[0], 1, tol)
            solution = spectral if spectral.bound < solution.bound or solution.gap is None else solution
        return solution


def shifted_inverse(loss: Any, shift: float) -> Callable[[np.ndarray], np.ndarray] | None:
    """The function b -> (Σ + shift I)⁻¹ b, on the device where Σ lies; None where there is no Cholesky factor."""
    if not shift > 0.0:
        return None
    there = getattr(loss, "matrix_on_device", None)
    solver = None if there is None else array_api.shifted_solver(there, np.array([shift]))
    if solver is not None:
        return lambda b: solver(b)[0]

    matrix = np.array(loss.matrix, order="F")
    matrix[np.diag_indices_from(matrix)] += shift
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    return lambda b: linalg.cho_solve(factor, b, check_finite=False)


def ridge_coefs(loss: Any, l2s: np.ndarray, like: Any = None) -> np.ndarray:
    """One row of coefficients for each l2, l1 = 0, from one eigendecomposition H = QΛQᵀ: w = Q (Qᵀδ / (Λ + l2/k)).

    Where all l2 are above the rounding of H, a tridiagonal matrix in the place of Λ serves as well, in a third of the
    time; indicators of one categorical column can be eliminated instead (`exclusive_coefs`). Directions in which both
    l2 and the data are lost in rounding get 0, so that l2 = 0 gives the shortest minimiser. With `like`, an array on a
    device, all is computed there, if possible by Cholesky factors of all H + l2/k I at once.
    """
    tilt = getattr(loss, "tilt", None)
    linear = loss.delta if tilt is None else loss.delta - tilt / loss.k
    shifts = np.asarray(l2s) / loss.k
    trace = float(np.sum(loss.curvature())) / loss.k
    is_resolved = bool(shifts.min() > share_of_rounding(linear.size) * trace)  # no direction is lost; not so for NaN
    if like is not None and array_api.device_namespace(like) is not None:
        return _ridge_coefs_on_device(loss, linear, shifts, is_resolved, like)

    tridiagonal_from = 32  # features; below, both take as long
    if is_resolved and shifts.size >= EIGEN_MIN_POINTS and linear.size >= tridiagonal_from:
        with suppress(np.linalg.LinAlgError):
            if pays(loss, shifts.size):
                return exclusive_coefs(loss, linear, shifts)
            return solve_shifted(_with_shift_of_means(loss), linear, shifts)
    values, vectors = np.linalg.eigh(_with_shift_of_means(loss))  # SciPy's would not let other folds run meanwhile
    return _divided(values, linear @ vectors, shifts) @ vectors.T


def share_of_rounding(n_features: int) -> float:
    """The share of the largest eigenvalue of a matrix below which an eigenvalue is rounding."""
    return n_features * float(np.finfo(float).eps)


def _with_shift_of_means(loss: Any) -> np.ndarray:
    """H = Σ + δδᵀ, an array of its own."""
    H = np.outer(loss.delta, loss.delta)
    H += loss.matrix
    return H


def _ridge_coefs_on_device(
    loss: Any, linear: np.ndarray, shifts: np.ndarray, is_resolved: bool, like: Any
) -> np.ndarray:
    """`ridge_coefs` where the matrix is, or is sent to, the device of `like`."""
    matrix = getattr(loss, "matrix_on_device", None)
    if matrix is None:
        matrix = array_api.beside(loss.matrix, like)
    delta = array_api.beside(loss.delta, like)
    H = matrix + delta[:, None] * delta[None, :]
    solver = array_api.shifted_solver(H, shifts) if is_resolved else None
    if solver is not None:
        return solver(linear)
    values, vectors = array_api.device_namespace(like).linalg.eigh(H)
    rotated = array_api.on_host(array_api.beside(linear, vectors) @ vectors)
    scaled = _divided(array_api.on_host(values), rotated, shifts)
    return array_api.on_host(array_api.beside(scaled, vectors) @ vectors.T)


def _divided(values: np.ndarray, rotated: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Components along eigenvectors, divided by eigenvalue + shift; 0 where both are lost in rounding."""
    eigenvalues = np.maximum(values, 0.0)
    shifted = eigenvalues + shifts[:, np.newaxis]
    known = shifted > share_of_rounding(values.size) * eigenvalues.max(initial=0.0)
    return np.where(known, rotated / np.where(known, shifted, 1.0), 0.0)


@dataclass(eq=False)
class RidgePath:
    """All minimisers of a grid of l2, computed together; `Cholesky` solves those that are not accurate enough."""

    l2s: np.ndarray
    like: Any = None
    _loss: Any = None  # the loss that `_solutions` belong to, and the tolerance they were solved to
    _tol: float = 0.0
    _solutions: dict[float, Solution] = field(default_factory=dict)

    def refuses(self, objective: Objective) -> str | None:
        if self.l2s.size < EIGEN_MIN_POINTS:
            return f"an eigendecomposition pays from {EIGEN_MIN_POINTS} values of l2 on"
        if objective.penalty.ridge not in self.l2s.tolist():
            return NOT_RIDGE
        return None if objective.loss.matrix is not None else NO_MATRIX

    def solve(self, objective: Objective, *, tol: float, max_iter: int = 1, w0: Any = None) -> Solution:
        loss = objective.loss
        if self._loss is not loss or self._tol != tol:
            coefs = ridge_coefs(loss, self.l2s, self.like)
            products = loss.matrix @ coefs.T
            for l2, w, product in zip(self.l2s.tolist(), coefs, products.T, strict=True):
                point = Objective(loss, ElasticNet(l2))
                solution = certify(point, w, 1, tol, product)
                accurate = solution.converged or l2 == 0.0
                self._solutions[l2] = solution if accurate else Cholesky().solve(point, tol=tol)
            self._loss = loss
            self._tol = tol
        return self._solutions[objective.penalty.ridge]


def gram_of(loss: Any) -> tuple[np.ndarray, np.ndarray]:
    """A quadratic loss as wᵀMw/2 - b·w: M and b."""
    linear = getattr(loss, "linear", None)
    if linear is not None:
        return loss.matrix, linear
    tilt = getattr(loss, "tilt", None)  # of a pair loss
    linear = loss.k * loss.delta
    if tilt is not None:
        linear = linear - tilt
    return np.ascontiguousarray(loss.k * (loss.matrix + np.outer(loss.delta, loss.delta))), linear


class GramDescent:
    """Any penalty on a d×d matrix: coordinate descent, and Newton steps on the columns in use when descent is slow.

    Where the penalty is quadratic as long as no coordinate changes its sign, the minimiser of F there is one Cholesky
    solve away, and moving towards it until a coordinate reaches zero never raises F. Other penalties have more pieces:
    a step is then taken only if it lowers F.
    """

    _loss: Any = None  # the one that was prepared

    def refuses(self, objective: Objective) -> str | None:
        return NO_MATRIX if objective.loss.matrix is None else refuse_uncompiled(objective)

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        loss = objective.loss
        if self._loss is not loss:
            self.gram, self.linear = gram_of(loss)
            self._diagonal = np.diagonal(self.gram).copy()
            self._loss = loss
        target = tol * objective.loss.scale
        w = np.zeros_like(self.linear) if w0 is None else np.array(w0, dtype=np.float64)
        grad = self.gram @ w - self.linear
        penalty = objective.penalty
        divisor = penalty.gap_curvature(self._diagonal)
        sweeps = 0
        inner_target = target
        stalled = False
        # If the penalty is not convex, pieces change for long, and often there is no Cholesky factor.
        sweeps_per_newton = 20 if penalty.is_convex else 200
        while sweeps < max_iter and not stalled:
            before = w.copy()
            budget = min(sweeps_per_newton, max_iter - sweeps)
            done, left = kernels.gram_descent(
                self.gram, self._diagonal, w, grad, penalty, divisor, inner_target, budget
            )
            sweeps += done
            grad = self.gram @ w - self.linear  # the updated gradient has gathered rounding
            if is_done(objective, w, grad, target):
                break
            w = self._minimise_on_support(objective, w)
            if 0.0 < left <= inner_target:  # the criterion of the loop is not the certificate
                inner_target = 0.1 * left
            else:
                stalled = np.array_equal(w, before)  # rounding allows no further progress
            grad = self.gram @ w - self.linear
        return certify(objective, w, max(sweeps, 1), tol)

    def _minimise_on_support(self, objective: Objective, w: np.ndarray) -> np.ndarray:
        """Newton steps, each on the present piece of the penalty, until one is taken whole: at most d of them."""
        value = objective.value(w)
        while True:
            low, high = objective.penalty.piece_ends(w)
            support = np.flatnonzero(low < high)
            piece = objective.penalty.restricted_to(support).quadratic_piece(w[support])
            if piece is None or support.size == 0:
                return w
            others = w.copy()  # coordinates that stay on a bound
            others[support] = 0.0
            goal = self._minimum_of_piece(support, others, *piece)
            if goal is None:
                return w

            start = w[support]
            low = low[support]
            high = high[support]
            ends = np.where(goal < low, low, high)
            crossing = (goal < low) | (goal > high)
            fractions = np.ones(support.size)
            fractions[crossing] = (start - ends)[crossing] / (start[crossing] - goal[crossing])
            improved = False
            for fraction in dict.fromkeys((1.0, float(fractions.min()))):  # all at once if that helps, else one by one
                moved = start + fraction * (goal - start)
                stopped = crossing & (fractions <= fraction)
                moved[stopped] = ends[stopped]
                candidate = others.copy()
                candidate[support] = moved
                candidate_value = objective.value(candidate)
                if candidate_value < value:
                    w = candidate
                    value = candidate_value
                    improved = True
                    break
            if not improved or not crossing.any():
                return w

    def _minimum_of_piece(
        self, support: np.ndarray, others: np.ndarray, curvature: Any, slope: np.ndarray
    ) -> np.ndarray | None:
        """The minimum of F over the columns `support` if the penalty went on as it is here; None without one."""
        matrix = self.gram[np.ix_(support, support)]
        matrix[np.diag_indices_from(matrix)] += curvature
        linear = self.linear[support] - slope
        if others.any():
            linear -= (self.gram @ others)[support]
        try:
            factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return None
        return linalg.cho_solve(factor, linear, check_finite=False)


# Curves that must rise or fall: in coefficients v of rising functions a limit is v ≥ 0, and F is quadratic. Pivoting
# finds which v are 0, starting from those of the neighbour on a grid. Features without a limit are eliminated first.

NO_CURVES = "it is for curves that must rise or fall"


def shaped_minimum(gram: np.ndarray, linear: np.ndarray, penalty: Shaped, w0: np.ndarray | None) -> np.ndarray:
    """The w that minimises wᵀHw/2 - b·w + Ω(w)."""
    least = 1e-13 * float(np.mean(np.diagonal(gram)))
    matrix = gram.copy()
    blocks = penalty.curves
    matrix[np.diag_indices_from(matrix)] += max(penalty.l2, least)
    inside = np.concatenate([np.arange(linear.size)[block.places] for block in blocks])
    others = np.setdiff1d(np.arange(linear.size), inside)
    back = linalg.block_diag(*(np.linalg.inv(block.rows) for block in blocks))
    bound = np.concatenate([block.bound for block in blocks])
    start = None
    if w0 is not None:
        start = np.concatenate([block.rows @ w0[block.places] for block in blocks]) > 0.0
    of_curves = matrix[np.ix_(inside, inside)]
    b = linear[inside]
    if others.size:
        factor = linalg.cho_factor(matrix[np.ix_(others, others)], lower=True, overwrite_a=True, check_finite=False)
        across = matrix[np.ix_(others, inside)]
        solved = linalg.cho_solve(factor, np.column_stack([across, linear[others]]), check_finite=False)
        of_curves = of_curves - across.T @ solved[:, :-1]
        b = b - across.T @ solved[:, -1]
    v = nonnegative_minimum(back.T @ of_curves @ back, back.T @ b, bound, start)[0]
    w = np.empty_like(linear)
    w[inside] = back @ v
    if others.size:
        w[others] = solved[:, -1] - solved[:, :-1] @ w[inside]
    return w


class ShapedGram:
    """A quadratic loss with curves that must rise or fall: a few linear systems for the features that are not 0."""

    _loss: Any = None  # the one that was prepared

    def refuses(self, objective: Objective) -> str | None:
        if not isinstance(objective.penalty, Shaped):
            return NO_CURVES
        return None if objective.loss.matrix is not None else NO_MATRIX

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        if self._loss is not objective.loss:
            self.gram, self.linear = gram_of(objective.loss)
            self._loss = objective.loss
        return certify(objective, shaped_minimum(self.gram, self.linear, objective.penalty, w0), 1, tol)
