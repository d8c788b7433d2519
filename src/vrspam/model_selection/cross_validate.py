"""Cross-validate a grid of penalties: each solution is certified, and scored on the rows that its fold holds out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vrspam import metrics
from vrspam.model_selection.fold_threads import over_folds
from vrspam.model_selection.held_out import HeldOut, HeldOutBlock, held_out_at
from vrspam.model_selection.selection import Choice, SelectionRule, select
from vrspam.model_selection.sources import FoldSource
from vrspam.moments import ClassMoments
from vrspam.solvers.grid import GridSolution, auto_l2s, check_grid_axis, solve_grid


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
    l2s, l1s : ndarray
    auc, gaps, converged : ndarray of shape (l2s, l1s, folds)
    coefs : ndarray of shape (folds, l2s, l1s, features) or None
        Kept where the caller asks for them.
    total : ClassMoments or None
        Moments of all rows; given up when another feature map is better.
    intercepts : ndarray of shape (folds, points) or None
    held_out : list of HeldOutBlock
        Scores of the held-out rows at all points, where they are read for all folds at once.
    """

    l2s: np.ndarray
    l1s: np.ndarray
    auc: np.ndarray
    gaps: np.ndarray
    converged: np.ndarray
    coefs: np.ndarray | None = None
    total: ClassMoments | None = None
    intercepts: np.ndarray | None = None
    held_out: list[HeldOutBlock] | None = None

    def select(self, rule: SelectionRule) -> Choice:
        """The best point, or the simplest within one standard error of it."""
        return select(self.auc, {"l2": self.l2s, "l1": self.l1s}, rule)

    def held_out_at(self, choice: Choice) -> HeldOut:
        """The held-out rows at the chosen point, where their scores were kept."""
        assert self.held_out is not None
        assert self.intercepts is not None
        point = int(np.ravel_multi_index(choice.index, self.auc.shape[:2]))
        return held_out_at(self.held_out, point, self.intercepts[:, point])


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
    shape, n_points = (l2s.size, l1s.size), l2s.size * l1s.size
    auc = np.full((n_points, source.n_folds), 0.5)  # without coefficients all scores are tied
    intercepts = np.empty((source.n_folds, n_points))

    def take_auc(blocks: Iterable[HeldOutBlock]) -> None:
        for block in blocks:
            auc[block.points, block.fold] = metrics.roc_auc_columns(block.positive, block.scores, block.weights)

    def solve_fold(fold: int) -> GridSolution:
        objective, centre = source.training(fold)
        grid = solve_grid(objective, l2s, l1s, tol=search.tol, max_iter=search.max_iter, like=source.like)
        del objective  # its matrices are not needed while rows are scored
        coefs = grid.coefs.reshape(n_points, -1)
        intercepts[fold] = -(coefs @ centre)
        if source.scores_all_folds_at_once:
            return grid
        take_auc(source.held_out({fold: coefs}))
        return grid if keep_coefs else grid._replace(coefs=np.empty(0))

    grids = over_folds(solve_fold, source.problem(many_products=bool(l1s.any())), search.n_jobs)
    held_out = None
    if source.scores_all_folds_at_once:
        held_out = list(source.held_out({n: grid.coefs.reshape(n_points, -1) for n, grid in enumerate(grids)}))
        take_auc(held_out)
    return GridScores(
        l2s,
        l1s,
        auc.reshape(*shape, source.n_folds),
        np.stack([grid.gaps for grid in grids], axis=2),
        np.stack([grid.converged for grid in grids], axis=2),
        np.stack([grid.coefs for grid in grids]) if keep_coefs else None,
        source.total,
        intercepts,
        held_out,
    )
