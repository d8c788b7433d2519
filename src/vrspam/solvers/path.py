"""Coefficients along a grid of penalties, each point with its certificate.

For l1 = 0 one eigendecomposition, or one run of conjugate gradient, gives all l2. For l1 > 0 each solve starts from its
neighbour: from large to small l1 and, within each, from large to small l2. Where l1 makes all coefficients 0, nothing
is solved. A penalty that is not convex starts from the solution of its convex `start` at the same point, so that what
is found does not depend on the rest of the grid.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vrspam._utils.blas import blas_threads
from vrspam._utils.warnings import CANCELLED, GridNotCertified, warn
from vrspam.moments import ClassMoments, PairSums
from vrspam.objective import ElasticNet, Objective, PenaltyFamily, SmoothLoss, SquaredPairLoss, Strengths, l2_unit
from vrspam.solvers import exact_solvers, solve
from vrspam.solvers.base import Solver
from vrspam.solvers.gram import EIGEN_MIN_POINTS, RidgePath
from vrspam.solvers.limits import Asked, limits_of
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
        w, first = first, None
        for i in np.argsort(-l2s, kind="stable"):
            point = penalty(float(l2s[i]), float(l1s[j]))
            if l1s[j] > 0.0 and l1s[j] >= point.zero_from(grad):
                gap, left = Objective(loss, point).certificate(grid.coefs[i, j], grad)
                grid.gaps[i, j], grid.converged[i, j] = gap, left <= tol * loss.scale
                continue
            start = point.start()
            convex = solve(Objective(loss, start or point), tol=tol, max_iter=max_iter, w0=w, solvers=solvers)
            w = convex.w
            first = w if first is None else first
            solution = convex
            if start is not None:
                solution = solve(Objective(loss, point), tol=tol, max_iter=max_iter, w0=w, solvers=solvers)
            grid.coefs[i, j], grid.converged[i, j] = solution.w, solution.converged
            grid.gaps[i, j] = np.nan if solution.gap is None else solution.gap
    return grid


def coef_path(
    moments: ClassMoments,
    l2s: ArrayLike = "auto",
    l1s: ArrayLike = (0.0,),
    *,
    penalty: str = "elasticnet",
    gamma: float | None = None,
    monotonic_cst: ArrayLike | None = None,
    positive: bool = False,
    bounds: ArrayLike | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    like=None,
) -> np.ndarray:
    """Coefficients along a grid of penalties, from moments alone.

    At each point of the grid they minimise

        F(w) = p q · mean over pairs (i in +, j in -) of (1 - w·(x_i - x_j))²  +  l2/2 ‖w‖²  +  l1 ‖w‖₁.

    Parameters
    ----------
    moments : ClassMoments
        With scatter matrices and rows of both classes.
    l2s : list of numbers or "auto"
        "auto" is 17 values from 1e-6 to 1e2 times 2pq · (mean second derivative).
    l1s : list of numbers or "auto", default=(0.0,)
        "auto" is 30 values from the least l1 that makes all coefficients 0 down to 1e-3 of it.
    penalty, gamma
        As in `vrspam.AUCClassifier`: "mcp" and "scad" replace l1 ‖w‖₁.
    monotonic_cst, positive, bounds
        As in `vrspam.AUCClassifier`, in the order of the columns.
    tol : float, default=1e-8
        Each point is certified to lie within tol·F(0) of the optimum ("mcp" and "scad": stationary to it); if some are
        not, a `ConvergenceWarning` says how many.
    max_iter : int, default=1000
        Most sweeps at a point with l1 > 0.
    like : array, optional
        An array on a device (`vrspam._utils.array_api`), to compute the eigenvectors there.

    Returns
    -------
    ndarray of shape (len(l2s), len(l1s), n_features)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam import ClassMoments, coef_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> moments = ClassMoments.from_data((X - X.mean(axis=0)) / X.std(axis=0), y)
    >>> coefs = coef_path(moments, l2s=[1e-3, 1e-1], l1s=[0.0, 0.01, 0.1])
    >>> coefs.shape, (coefs != 0).sum(axis=2).tolist()
    ((2, 3, 30), [[30, 14, 3], [30, 17, 6]])
    """
    if not isinstance(moments, PairSums):
        raise ValueError(f"coef_path takes a ClassMoments, got {type(moments).__name__}.")
    if not tol >= 0.0 or max_iter < 1:
        raise ValueError(f"coef_path needs tol ≥ 0 and max_iter ≥ 1, got tol={tol!r} and max_iter={max_iter!r}.")
    l2_axis, l1_axis = grid_axes(moments, l2s, l1s)
    family = PenaltyFamily(penalty, gamma, partial(limits_of, Asked(monotonic_cst, positive, bounds, penalty)))
    family.check(l1_axis)
    loss = SquaredPairLoss.from_moments(moments)
    with blas_threads(columns=loss.n_features, square=True):
        grid = solve_grid(loss, l2_axis, l1_axis, tol=tol, max_iter=max_iter, penalty=family(loss), like=like)
    warn_if_not_converged(grid.converged, family, CANCELLED if moments.has_cancelled else "")
    return grid.coefs


def warn_if_not_converged(converged: np.ndarray, penalty: PenaltyFamily, more_advice: str = "") -> None:
    """One warning for all points of a grid whose certificate, or stationarity, did not reach the tolerance."""
    missed = int(np.count_nonzero(~converged))
    if missed:
        warn(GridNotCertified(missed, converged.size, penalty.kind.has_gap, more_advice))
