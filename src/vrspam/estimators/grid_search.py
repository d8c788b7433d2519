"""Cross-validate a grid of penalties on given splits: each solution certified and scored on the rows left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.utils.parallel import Parallel, delayed  # these hand scikit-learn's settings on to the threads

from vrspam._utils import array_api
from vrspam._utils.blas import FEW, SMALL, blas_thread_count, blas_threads
from vrspam.estimators.base import Rows
from vrspam.estimators.exact import choose_solver
from vrspam.estimators.mapped import MappedArray
from vrspam.estimators.splits import BLOCK_BYTES, KEPT_BYTES, Split, auc_of_coefs, moments_of_splits
from vrspam.features import FeatureMap
from vrspam.features._frames import BLOCK_ENTRIES
from vrspam.model_selection.selection import Choice, SelectionRule, select
from vrspam.moments import ClassMoments
from vrspam.objective import Objective
from vrspam.solvers.grid import GridSolution, auto_l2s, check_grid_axis, solve_grid

T = TypeVar("T")
MAPPED_BYTES = 1 << 27  # moments of all folds in feature space are kept up to this size
SIDE_BY_SIDE_BYTES = 1 << 28  # what folds that are solved at the same time, unasked, may need


@dataclass
class GridScores:
    """What cross-validation of one grid gave; `auc`, `gaps` and `converged` have the axes l2s, l1s, folds.

    `coefs` (folds, l2s, l1s, features) are those of the folds, kept for feature maps; `moments` those of all rows,
    given up when another map is better.
    """

    l2s: np.ndarray
    l1s: np.ndarray
    auc: np.ndarray
    gaps: np.ndarray
    converged: np.ndarray
    coefs: np.ndarray | None
    moments: ClassMoments | None

    def select(self, rule: SelectionRule) -> Choice:
        """The best point, or the simplest within one standard error of it."""
        return select(self.auc, {"l2": self.l2s, "l1": self.l1s}, rule)


@dataclass(frozen=True)
class GridSearch:
    """What is searched, and how; the parameters are those of `AUCClassifierCV`."""

    l2s: Any
    l1s: Any
    tol: float
    max_iter: int
    n_jobs: int | None

    def scores(self, rows: Rows, splits: list[Split], classes: np.ndarray) -> GridScores:
        """Scores of the whole grid on the validation part of each split."""
        l1s, is_positive = check_grid_axis("l1s", self.l1s), array_api.is_label(rows.y, classes[1], rows.X)
        mapped = isinstance(rows.X, MappedArray)
        solver = solver_for(rows)
        if solver == "products" and array_api.device_namespace(rows.X) is not None:
            raise ValueError(
                f"On a device the grid is solved from moments, not for {rows.X.shape[1]:,} features: use AUCClassifier "
                "at a few l2, or give NumPy arrays."
            )
        problem = FoldProblem.of(rows, solver, len(splits), l1s)

        def over(function: Callable[[int], T]) -> list[T]:
            return over_folds(function, problem, self.n_jobs)

        if solver == "moments":
            # Features are made on one core, so that folds side by side pay; products of rows use all cores anyway.
            kept, how = (MAPPED_BYTES, over) if mapped else (KEPT_BYTES, None)
            moments, training = moments_of_splits(rows, splits, classes, kept, how)

            def objective_of(number: int) -> Objective:
                return Objective.from_moments(training(number), 0.0)

        else:
            moments = ClassMoments(rows.X.shape[1], classes=classes, scatter=False).add_checked(*rows)

            def objective_of(number: int) -> Objective:
                return _objective_from_products(rows, is_positive, splits[number], classes)

        l2s = auto_l2s(moments) if isinstance(self.l2s, str) else check_grid_axis("l2s", self.l2s)

        def one_fold(number: int) -> tuple[np.ndarray, GridSolution]:
            grid = solve_grid(objective_of(number), l2s, l1s, tol=self.tol, max_iter=self.max_iter, like=rows.X)
            coefs = grid.coefs.reshape(l2s.size * l1s.size, -1)
            auc = auc_of_coefs(rows, is_positive, splits[number].validation, coefs).reshape(l2s.size, l1s.size)
            return auc, grid if mapped else grid._replace(coefs=np.empty(0))

        aucs, grids = zip(*over(one_fold), strict=True)
        return GridScores(
            l2s,
            l1s,
            np.stack(aucs, axis=2),
            np.stack([grid.gaps for grid in grids], axis=2),
            np.stack([grid.converged for grid in grids], axis=2),
            np.stack([grid.coefs for grid in grids]) if mapped else None,
            moments,
        )


@dataclass(frozen=True)
class FoldProblem:
    """What decides how folds share the threads.

    Attributes
    ----------
    folds : int
    small : bool
        Whether each fold is solved from small matrices: threads do more for folds side by side than within one.
    many_products : bool
        Whether there are very many small products, as for elastic nets.
    bytes_each : int
        What one fold needs.
    in_turn : bool
        Whether the folds come one after the other unless the caller says otherwise: on a device, and where the rows go
        through a transformer of somebody else's, which may not expect to be called by two threads.
    """

    folds: int
    small: bool
    many_products: bool
    bytes_each: int
    in_turn: bool = False

    @classmethod
    def from_moments(cls, folds: int, n_features: int, l1s: np.ndarray, block_bytes: int = 0) -> FoldProblem:
        """Folds that are solved from matrices of n_features², and then score blocks of rows."""
        needed = 2 * block_bytes + 10 * 8 * n_features**2
        return cls(folds, n_features <= SMALL, bool(l1s.any()), needed)

    @classmethod
    def of(cls, rows: Rows, solver: str, folds: int, l1s: np.ndarray) -> FoldProblem:
        """Folds of rows in memory or on a device."""
        X: Any = rows.X
        n, d = X.shape
        if solver == "products":
            return cls(folds, False, False, 0)
        mapped = isinstance(X, MappedArray)
        problem = cls.from_moments(folds, d, l1s, min(8 * BLOCK_ENTRIES if mapped else BLOCK_BYTES, 8 * n * d))
        foreign = mapped and not isinstance(X.features, FeatureMap)
        return replace(problem, in_turn=foreign or array_api.device_namespace(X) is not None)


def over_folds(function: Callable[[int], T], problem: FoldProblem, n_jobs: int | None) -> list[T]:
    """What `function` gives for the number of each fold, some of them at the same time, in threads.

    Small products, and the many of elastic nets, lose by being shared out. The threads that small ones would have
    had go to the folds, as far as memory allows, unless the caller says how many folds at a time.
    """
    jobs = min(effective_n_jobs(n_jobs), problem.folds)
    if problem.small and n_jobs is None and jobs == 1 and not problem.in_turn:
        jobs = min(blas_thread_count(), problem.folds, max(1, SIDE_BY_SIDE_BYTES // problem.bytes_each))
    threads = None if jobs == 1 else max(1, effective_n_jobs(-1) // jobs)
    if problem.small or problem.many_products:
        threads = min(FEW, blas_thread_count()) if problem.in_turn and jobs == 1 else 1
    with blas_threads(threads):
        return Parallel(n_jobs=jobs, prefer="threads")(map(delayed(function), range(problem.folds)))


def solver_for(rows: Rows) -> str:
    """How the grid is solved on these rows: "moments" or "products"."""
    if isinstance(rows.X, MappedArray):
        return "moments"
    return choose_solver(rows.X.shape[0], rows.X.shape[1], sparse.issparse(rows.X))


def _objective_from_products(rows: Rows, is_positive: np.ndarray, split: Split, classes: np.ndarray) -> Objective:
    """F on a training part, with X as it is: rows outside have weight 0."""
    weights = np.bincount(split.train, minlength=rows.y.size).astype(np.float64)
    if rows.weights is not None:
        weights *= rows.weights
    moments = ClassMoments(rows.X.shape[1], classes=classes, scatter=False).add_checked(rows.X, rows.y, weights)
    return Objective.from_products(rows.X, is_positive, weights, moments, 0.0)
