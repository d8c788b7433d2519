"""Fits with given penalties, from whatever an estimator has of its rows, kept attribute by attribute."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from vrspam._utils.validation import Rows
from vrspam._utils.warnings import CANCELLED, NothingAtTheTop, warn
from vrspam.estimators.base import warn_of_missed_tolerance, warn_of_raw_columns
from vrspam.moments import PairMoments
from vrspam.pairs import LossChoice
from vrspam.solvers import ExactFit, choose_solver
from vrspam.solvers.exact import FitSettings


def settings_of(estimator: Any, n_features: int) -> FitSettings:
    """What the parameters of an exact estimator ask for, on so many columns."""
    family = estimator._family(n_features)
    return FitSettings(estimator.l2, estimator.l1, estimator.tol, estimator.max_iter, family, estimator._loss)


def fit_rows(estimator: Any, rows: Rows, classes: np.ndarray, loss: LossChoice) -> None:
    """Find the optimum for validated rows, by moments or by products with them, and keep it."""
    is_sparse = sparse.issparse(rows.X)
    solver = choose_solver(rows.X.shape[0], rows.X.shape[1], is_sparse)
    settings = replace(settings_of(estimator, rows.X.shape[1]), loss=loss)
    fit = settings.fit_rows(rows, classes, solver)
    keep_exact_fit(estimator, fit, like=rows.X)
    if not is_sparse:
        warn_of_raw_columns(estimator, fit.moments, fit.l2)


def keep_exact_fit(estimator: Any, fit: ExactFit, like: Any = None) -> None:
    """Assign the attributes of an optimum, with the moments if it was computed from them, and warn of what it lacks."""
    solution, moments = fit.solution, fit.moments
    hint = ""
    if moments.rounding > 0.0:
        hint = " or rows in float64"
    if moments.has_cancelled:
        hint += CANCELLED

    estimator._keep_fit(solution, moments.classes, moments.means, fit.l2, like=like, hint=hint)
    estimator.solver_ = fit.solver
    if fit.solver == "moments":
        estimator.moments_ = moments
    if isinstance(moments, PairMoments):
        estimator.pairs_ = moments.pairs

    if estimator.max_fpr is not None and not solution.w.any() and estimator.l1 == 0.0:
        warn(NothingAtTheTop(estimator.max_fpr))
    warn_of_missed_tolerance(estimator, solution, hint)
