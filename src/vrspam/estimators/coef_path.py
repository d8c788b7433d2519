"""`coef_path`: coefficients along a grid of penalties, from moments; the warning for grids that were not certified."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vrspam._utils.blas import blas_threads
from vrspam._utils.warnings import CANCELLED, GridNotCertified, warn
from vrspam.estimators.constraints import Constraints, limits_of
from vrspam.moments import ClassMoments, PairSums
from vrspam.objective import PenaltyFamily, SquaredPairLoss
from vrspam.solvers.path import grid_axes, solve_grid


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
    PenaltyFamily(penalty, gamma).check(l1_axis)
    loss = SquaredPairLoss.from_moments(moments)
    limits = limits_of(Constraints(monotonic_cst, positive, bounds, penalty), loss.n_features)
    family = PenaltyFamily(penalty, gamma, limits)
    with blas_threads(columns=loss.n_features, square=True):
        grid = solve_grid(loss, l2_axis, l1_axis, tol=tol, max_iter=max_iter, penalty=family(loss), like=like)
    warn_if_not_converged(grid.converged, family, CANCELLED if moments.has_cancelled else "")
    return grid.coefs


def warn_if_not_converged(converged: np.ndarray, penalty: PenaltyFamily, more_advice: str = "") -> None:
    """One warning for all points of a grid whose certificate, or stationarity, did not reach the tolerance."""
    missed = int(np.count_nonzero(~converged))
    if missed:
        warn(GridNotCertified(missed, converged.size, penalty.kind.has_gap, more_advice))
