"""Cross-validate a grid of penalties: each solution is certified, and scored on the rows that its fold holds out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed  # these hand scikit-learn's settings on to the threads

from vrspam import metrics
from vrspam._utils.blas import FEW, SMALL, blas_thread_count, blas_threads
from vrspam.model_selection.held_out import HeldOut, HeldOutBlock, held_out_at
from vrspam.model_selection.selection import Choice
from vrspam.model_selection.sources import FoldSource
from vrspam.moments import ClassMoments
from vrspam.solvers.path import auto_l2s, check_grid_axis, solve_grid

T = TypeVar("T")
SIDE_BY_SIDE_BYTES = 1 << 28  # memory that folds solved at the same time may need, if the caller does not set n_jobs


@dataclass(frozen=True)
class FoldProblem:
    """What decides how folds share the threads.

    Attributes
    ----------
    folds : int
    small : bool
        Whether each fold is solved from small matrices. Threads then do more for folds side by side than within one.
    many_products : bool
        Whether there are very many small products, as for elastic nets.
    bytes_each : int
        Memory that one fold needs.
    in_turn : bool
        Whether the folds run one after the other unless the caller sets n_jobs. This is so on a device, and where the
        rows go through a transformer of another package, which two threads may not be allowed to call.
    """

    folds: int
    small: bool
    many_products: bool
    bytes_each: int
    in_turn: bool = False

    @classmethod
    def from_matrices(
        cls, folds: int, n_features: int, many_products: bool, block_bytes: int = 0, in_turn: bool = False
    ) -> FoldProblem:
        """Folds that are solved from matrices of n_features², and that then score blocks of rows."""
        needed = 2 * block_bytes + 10 * 8 * n_features**2
        return cls(folds, n_features <= SMALL, many_products, needed, in_turn)


def over_folds(function: Callable[[int], T], problem: FoldProblem, n_jobs: int | None) -> list[T]:
    """Call `function` with the number of each fold, some of them at the same time, in threads.

    Small matrix products, and the many products of elastic nets, are slower when several threads share them. The
    threads that small products do not use go to the folds, as far as memory allows, unless the caller sets n_jobs.
    """
    jobs = min(effective_n_jobs(n_jobs), problem.folds)
    if problem.small and n_jobs is None and jobs == 1 and not problem.in_turn:
        jobs = min(blas_thread_count(), problem.folds, max(1, SIDE_BY_SIDE_BYTES // problem.bytes_each))
    threads = None if jobs == 1 else max(1, effective_n_jobs(-1) // jobs)
    if problem.small or problem.many_products:
        threads = min(FEW, blas_thread_count()) if problem.in_turn and jobs == 1 else 1
    with blas_threads(threads):
        return Parallel(n_jobs=jobs, prefer="threads")(map(delayed(function), range(problem.folds)))


@dataclass(frozen=True)
class GridSearch:
    """The grid, and how it is solved; the parameters are those of `AUCClassifierCV`."""

    l2s: Any
    l1s: Any
    tol: float
    max_iter: int
    n_jobs: int | None


@dataclass
class GridScores:
    """What cross-validation of one grid gave.

    Attributes
    ----------
    grid : dict of ndarray
        The values of "l2" and of "l1".
    auc, gaps, converged, intercepts : ndarray of shape (l2s, l1s, folds)
    coefs : ndarray of shape (folds, l2s, l1s, features) or None
        Kept where the caller asks for them.
    total : ClassMoments or None
        Moments of all rows; given up when another feature map is better.
    held_out : list of HeldOutBlock or None
        Scores of the held-out rows at all points, where they are read for all folds at once.
    """

    grid: dict[str, np.ndarray]
    auc: np.ndarray
    gaps: np.ndarray
    converged: np.ndarray
    intercepts: np.ndarray
    coefs: np.ndarray | None = None
    total: ClassMoments | None = None
    held_out: list[HeldOutBlock] | None = None

    def held_out_at(self, choice: Choice) -> HeldOut:
        """The held-out rows at the chosen point, where their scores were kept."""
        assert self.held_out is not None
        point = int(np.ravel_multi_index(choice.index, self.auc.shape[:2]))
        return held_out_at(self.held_out, point, self.intercepts[choice.index])


def cross_validate(source: FoldSource, search: GridSearch, *, keep_coefs: bool = False) -> GridScores:
    """Solve the whole grid on the training part of each fold, and take the AUC on the rows that the fold holds out.

    Parameters
    ----------
    source : FoldSource
        Rows in memory, blocks of a stream, or blocks on a cluster.
    search : GridSearch
    keep_coefs : bool, default=False
        Whether the coefficients of all folds are returned.

    Returns
    -------
    GridScores
    """
    l1s = check_grid_axis("l1s", search.l1s)
    l2s = auto_l2s(source.total) if isinstance(search.l2s, str) else check_grid_axis("l2s", search.l2s)
    shape = (l2s.size, l1s.size, source.n_folds)
    scores = GridScores(
        {"l2": l2s, "l1": l1s},
        auc=np.full(shape, 0.5),  # without coefficients all scores are tied
        gaps=np.empty(shape),
        converged=np.empty(shape, dtype=bool),
        intercepts=np.empty(shape),
        total=source.total,
    )

    def take_auc(blocks: Iterable[HeldOutBlock]) -> None:
        for block in blocks:
            i, j = np.unravel_index(block.points, shape[:2])
            scores.auc[i, j, block.fold] = metrics.roc_auc_columns(block.positive, block.scores, block.weights)

    def solve_fold(fold: int) -> np.ndarray:
        loss, centre = source.training(fold)
        grid = solve_grid(loss, l2s, l1s, tol=search.tol, max_iter=search.max_iter, like=source.like)
        del loss  # its matrices are not needed while rows are scored
        scores.gaps[..., fold], scores.converged[..., fold] = grid.gaps, grid.converged
        scores.intercepts[..., fold] = -(grid.coefs @ centre)
        coefs = grid.coefs.reshape(l2s.size * l1s.size, -1)
        if not source.scores_all_folds_at_once:
            take_auc(source.held_out({fold: coefs}))
        return coefs if keep_coefs or source.scores_all_folds_at_once else np.empty(0)

    coefs = over_folds(solve_fold, source.problem(many_products=bool(l1s.any())), search.n_jobs)
    if source.scores_all_folds_at_once:
        scores.held_out = list(source.held_out(dict(enumerate(coefs))))
        take_auc(scores.held_out)
    if keep_coefs:
        scores.coefs = np.stack(coefs).reshape(source.n_folds, *shape[:2], -1)
    return scores
