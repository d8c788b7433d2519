"""Algorithms that minimise an objective, and which of them runs.

`choose_solver` decides how the data is held; `solve` then runs the first of `exact_solvers` that accepts the objective.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from vrspam.moments import PairSums
from vrspam.objective import Objective
from vrspam.solvers.base import EpochSolver, Solution, Solver, State
from vrspam.solvers.gram import Cholesky, GramDescent, ShapedGram
from vrspam.solvers.newton import PairNewton
from vrspam.solvers.products import ColumnDescent, ConjugateGradient, DualRidge
from vrspam.solvers.proximal_newton import EdgeWeights, MatrixNewton, PairProximalNewton
from vrspam.solvers.smooth import ProximalGradient, TruncatedNewton

__all__ = ["EpochSolver", "Solution", "Solver", "State", "choose_solver", "exact_solvers", "solve"]

MOMENTS_MAX_FEATURES_DENSE = 5_000
MOMENTS_ALWAYS = 1_000

SolverName = Literal["moments", "products", "newton"]


class ExactFit(NamedTuple):
    """A solution, the moments of the data it belongs to, the l2 that was used, and which solver ran."""

    solution: Solution
    moments: PairSums
    l2: float
    solver: SolverName


def choose_solver(n_samples: int, n_features: int, is_sparse: bool) -> SolverName:
    """The one rule that decides how the data is held.

    "moments" gathers two d×d matrices in one pass and solves from them; it costs n d² and does not mind bad
    conditioning. "products" only multiplies by X, once or twice an iteration, and never holds a d×d matrix; dense
    tables of fewer rows than features (up to 5,000 rows) without l1 are solved from one matrix of rows × rows instead.

    * up to 1,000 features: moments;
    * dense X, up to 5,000 features and at least as many rows as features: moments;
    * sparse X, up to 2,000 features: moments;
    * otherwise products.

    The features of a map count as a dense table; for products they are held in memory.

    `exact_solvers` lists the solvers of both.

    Parameters
    ----------
    n_samples, n_features : int
        Rows and features.
    is_sparse : bool
        Whether X is sparse.

    Returns
    -------
    "moments" or "products"

    Examples
    --------
    >>> from vrspam.solvers import choose_solver
    >>> choose_solver(60_000, 780, is_sparse=False), choose_solver(16_000, 62_000, is_sparse=True)
    ('moments', 'products')
    """
    if n_features <= MOMENTS_ALWAYS:
        return "moments"
    if is_sparse:
        moments_max_features_sparse = 2_000
        return "moments" if n_features <= moments_max_features_sparse else "products"
    return "moments" if n_features <= min(n_samples, MOMENTS_MAX_FEATURES_DENSE) else "products"


def exact_solvers() -> list[Solver]:
    """Every exact solver, the best one first: `solve` runs the first that does not refuse.

    They keep what they compute of a loss, so one list serves all penalties of a grid.

    Returns
    -------
    list of Solver

    Examples
    --------
    >>> from vrspam.solvers import exact_solvers
    >>> [type(solver).__name__ for solver in exact_solvers()][:2]
    ['Cholesky', 'GramDescent']
    """
    return [
        # quadratic losses
        Cholesky(),
        GramDescent(),
        DualRidge(),
        ConjugateGradient(),
        ColumnDescent(),
        ShapedGram(),
        # losses that sort scores
        EdgeWeights(),
        PairNewton(),
        PairProximalNewton(),
        MatrixNewton(),
        # any smooth loss
        TruncatedNewton(),
        ProximalGradient(),
    ]


def solve(
    objective: Objective,
    *,
    tol: float,
    max_iter: int,
    w0: np.ndarray | None = None,
    solvers: Sequence[Solver] | None = None,
) -> Solution:
    """Minimise F by the first solver that accepts the objective.

    Parameters
    ----------
    objective : Objective
    tol : float
        Stop when the certificate is at most tol·F(0).
    max_iter : int
        Most iterations of iterative solvers.
    w0 : ndarray of shape (d,), optional
        A start for those that can use one. Without it, a penalty that is not convex starts from the solution of its
        convex `start`; iterations, passes and seconds of the latter count.
    solvers : sequence of Solver, optional
        By default `exact_solvers()`.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ClassMoments
    >>> from vrspam.objective import Objective
    >>> from vrspam.solvers import solve
    >>> moments = ClassMoments.from_data(np.array([[0.0], [1.0], [2.0], [5.0]]), [-1, -1, 1, 1])
    >>> solution = solve(Objective.from_moments(moments, l2=0.5), tol=1e-10, max_iter=100)
    >>> bool(solution.converged), round(float(solution.w[0]), 4)
    (True, 0.24)
    """
    solvers = exact_solvers() if solvers is None else solvers
    start = objective.penalty.start() if w0 is None else None
    if start is not None:
        convex = solve(Objective(objective.loss, start), tol=tol, max_iter=max_iter, solvers=solvers)
        last = solve(objective, tol=tol, max_iter=max_iter, w0=convex.w, solvers=solvers)
        history = dict(last.history)
        for name in {"passes", "seconds"} & convex.history.keys() & history.keys():
            history[name] = history[name] + convex.history[name][-1]
        return replace(last, n_iter=convex.n_iter + last.n_iter, history=history)
    refusals = []
    for solver in solvers:
        refusal = solver.refuses(objective)
        if refusal is None:
            return solver.solve(objective, tol=tol, max_iter=max_iter, w0=w0)
        refusals.append(f"{type(solver).__name__}: {refusal}")
    raise ValueError(f"No solver accepts this objective. {'; '.join(refusals)}.")
