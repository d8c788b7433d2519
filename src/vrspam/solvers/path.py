"""Coefficients along a grid of penalties, each point with its certificate.

For l1 = 0 one eigendecomposition, or one run of conjugate gradient, gives all l2. For l1 > 0 each solve starts from its
neighbour: from large to small l1 and, within each, from large to small l2. Where l1 makes all coefficients 0, nothing
is solved. A penalty that is not convex starts from the solution of its convex `start` at the same point, so that what
is found does not depend on the rest of the grid.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vrspam.moments import PairSums
from vrspam.objective import ElasticNet, Objective, SmoothLoss, Strengths, l2_unit
from vrspam.solvers import exact_solvers, solve
from vrspam.solvers.base import Solver
from vrspam.solvers.gram import EIGEN_MIN_POINTS, RidgePath
from vrspam.solvers.products import DualRidge, ShiftedConjugateGradient


class GridSolution(NamedTuple):
    """Minimisers on a grid; the first two axes of each array belong to l2s and l1s."""

    coefs: np.ndarray
    gaps: np.ndarray
    converged: np.ndarray


AUTO_L2S = 17
AUTO_L1S = 30


def grid_axes(moments: PairSums, l2s: ArrayLike, l1s: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The values of l2 and of l1 as arrays.

    For l2s="auto" 17 values from 1e-6 to 1e2 times the unit of l2; for l1s="auto" 30 values from the least l1 that
    gives w = 0, which is 2pq · max |δ|, down to 1e-3 of it.
    """
    if isinstance(l1s, str) and l1s == "auto":
        classes = moments.pair_statistics()
        shift = float(np.max(np.abs(classes.delta), initial=0.0))
        l1s = 2.0 * classes.p * classes.q * (shift if shift > 0.0 else 1.0) * np.logspace(0, -3, AUTO_L1S)
    l1_axis = check_grid_axis("l1s", l1s)
    if isinstance(l2s, str) and l2s == "auto":
        l2s = l2_unit(moments) * np.logspace(-6, 2, AUTO_L2S)
    return check_grid_axis("l2s", l2s), l1_axis


def check_grid_axis(name: str, values: ArrayLike) -> np.ndarray:
    """The values of l2 or l1 as an array, or an error that says what is wrong with them."""
    try:
        axis = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        axis = np.empty(0)
    if axis.ndim != 1 or axis.size == 0:
        raise ValueError(f"{name} must be a non-empty list of numbers, got {values!r}.")
    if not np.isfinite(axis).all() or (axis < 0).any():
        raise ValueError(f"{name} must hold finite numbers that are not negative, got {axis.tolist()}.")
    return axis


def solve_grid(
    loss: SmoothLoss,
    l2s: np.ndarray,
    l1s: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    penalty: Strengths = ElasticNet,
    like=None,
) -> GridSolution:
    """The minimisers of loss + penalty(l2, l1) for all pairs of l2 and l1.

    Each point is solved by the first solver that accepts it: of those that solve all l2 at once, then of
    `exact_solvers`. With `like`, an array on a device, eigenvectors are computed there.
    """
    shape = (len(l2s), len(l1s))
    grid = GridSolution(np.zeros((*shape, loss.n_features)), np.zeros(shape), np.ones(shape, dtype=bool))
    at_once: list[Solver] = [
        RidgePath(l2s, like),
        DualRidge(many=l2s.size >= EIGEN_MIN_POINTS),
        ShiftedConjugateGradient(l2s),
    ]
    solvers = [*at_once, *exact_solvers()]
    # ∇f(0) is the same at every point of the grid: it tells where w = 0 is the solution.
    grad = loss.value_and_grad(np.zeros(loss.n_features))[1]
    first = None
    for j in np.argsort(-l1s, kind="stable"):
        w = first
        first = None
        for i in np.argsort(-l2s, kind="stable"):
            point = penalty(float(l2s[i]), float(l1s[j]))
            if l1s[j] > 0.0 and l1s[j] >= point.zero_from(grad):
                gap, left = Objective(loss, point).certificate(grid.coefs[i, j], grad)
                grid.gaps[i, j] = gap
                grid.converged[i, j] = left <= tol * loss.scale
                continue
            start = point.start()
            convex = solve(Objective(loss, start or point), tol=tol, max_iter=max_iter, w0=w, solvers=solvers)
            w = convex.w
            first = w if first is None else first
            solution = convex
            if start is not None:
                solution = solve(Objective(loss, point), tol=tol, max_iter=max_iter, w0=w, solvers=solvers)
            grid.coefs[i, j] = solution.w
            grid.converged[i, j] = solution.converged
            grid.gaps[i, j] = np.nan if solution.gap is None else solution.gap
    return grid
