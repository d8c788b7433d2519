"""Cross-validate a grid of penalties: each solution is certified, and scored on the rows that its fold holds out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vrspam import metrics
from vrspam.model_selection.blending import spreads
from vrspam.model_selection.held_out import HeldOut, HeldOutBlock, held_out_at
from vrspam.model_selection.kept_scores import KeptRows
from vrspam.model_selection.scoring import ROC_AUC, Scoring
from vrspam.model_selection.selection import Choice, SelectionRule, select
from vrspam.model_selection.sources import FoldSource, over_folds
from vrspam.moments import ClassMoments
from vrspam.objective import ELASTIC_NET, SQUARED, LossChoice, PenaltyFamily
from vrspam.solvers.path import AUTO_L1S, AUTO_L2S, auto_l1s, auto_l2s, check_grid_axis, solve_grid

OF_ROWS_BYTES = 1 << 26  # scores of all held-out rows at all points are kept up to this size


@dataclass(frozen=True)
class GridSearch:
    """The grid, and how it is solved; the parameters are those of `AUCClassifierCV`.

    `keep` names held-out rows whose scores at all points are returned.
    """

    l2s: Any
    l1s: Any
    tol: float
    max_iter: int
    n_jobs: int | None
    penalty: PenaltyFamily = ELASTIC_NET
    scoring: Scoring = ROC_AUC
    loss: LossChoice = SQUARED
    keep: KeptRows | None = None

    @property
    def n_points(self) -> int:
        """Points of the grid."""
        l2s = AUTO_L2S if isinstance(self.l2s, str) else check_grid_axis("l2s", self.l2s).size
        return l2s * (AUTO_L1S if isinstance(self.l1s, str) else check_grid_axis("l1s", self.l1s).size)


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
        Moments of all rows; dropped when another feature map is better.
    held_out : list of HeldOutBlock or None
        Scores of the held-out rows at all points, where they are read for all folds at once.
    of_rows : list of ndarray of shape (points, rows) or None
        Scores of all rows that each fold holds out, at all points, where the caller asks for them and they are few.
    kept : list of ndarray of shape (points, rows)
        Scores of some held-out rows of each fold at all points; empty unless the caller asks for them.
    scoring : Scoring
        The measure that chooses a point.
    other : ndarray of shape (l2s, l1s, folds) or None
        That measure, where it is not the AUC.
    """

    grid: dict[str, np.ndarray]
    auc: np.ndarray
    gaps: np.ndarray
    converged: np.ndarray
    intercepts: np.ndarray
    coefs: np.ndarray | None = None
    total: ClassMoments | None = None
    held_out: list[HeldOutBlock] | None = None
    scoring: Scoring = ROC_AUC
    other: np.ndarray | None = None
    kept: list[np.ndarray] = field(default_factory=list)
    of_rows: list[np.ndarray] | None = None

    @property
    def by_auc(self) -> bool:
        """Whether the AUC chooses."""
        return self.other is None

    @property
    def score(self) -> np.ndarray:
        """The measure that chooses."""
        return self.auc if self.other is None else self.other

    def select(self, rule: SelectionRule) -> Choice:
        """The point that the measure chooses."""
        return select(self.score, self.grid, rule, measure="" if self.by_auc else self.scoring.name)

    def spread_at(self, choice: Choice, rows: KeptRows) -> float:
        """The spread of the held-out scores that were kept, at the chosen point."""
        point = int(np.ravel_multi_index(choice.index, self.auc.shape[:2]))
        return float(spreads(rows, [part[point : point + 1] for part in self.kept])[0])

    def take_rows_at(self, choice: Choice) -> list[np.ndarray] | None:
        """The scores of all held-out rows at the chosen point, one array for each fold; other points are forgotten."""
        found, self.of_rows = self.of_rows, None
        point = int(np.ravel_multi_index(choice.index, self.auc.shape[:2]))
        return None if found is None else [part[point].copy() for part in found]

    def held_out_at(self, choice: Choice) -> HeldOut:
        """The held-out rows at the chosen point, where their scores were kept."""
        assert self.held_out is not None
        point = int(np.ravel_multi_index(choice.index, self.auc.shape[:2]))
        return held_out_at(self.held_out, point, self.intercepts[choice.index])


def cross_validate(
    source: FoldSource,
    search: GridSearch,
    *,
    keep_coefs: bool = False,
    held_out: Sequence[int] = (),
    watch: Callable[[str], None] = lambda what: None,
) -> GridScores:
    """Solve the whole grid on the training part of each fold, and measure the ranking of the rows that it holds out.

    The AUC is always taken; the measure of `search.scoring` beside it, where that is another one.

    Parameters
    ----------
    source : FoldSource
        Rows in memory, blocks of a stream, or blocks on a cluster.
    search : GridSearch
    keep_coefs : bool, default=False
        Whether the coefficients of all folds are returned.
    held_out : list of int, optional
        How many rows each fold holds out, where the scores of all of them are to be returned, as far as they are few.
    watch : callable
        Called with the name of each fold that is done.

    Returns
    -------
    GridScores
    """
    l1s = auto_l1s(source.total) if isinstance(search.l1s, str) else check_grid_axis("l1s", search.l1s)
    l2s = auto_l2s(source.total) if isinstance(search.l2s, str) else check_grid_axis("l2s", search.l2s)
    shape = (l2s.size, l1s.size, source.n_folds)
    scores = GridScores(
        {"l2": l2s, "l1": l1s},
        auc=np.full(shape, 0.5),  # without coefficients all scores are tied
        gaps=np.empty(shape),
        converged=np.empty(shape, dtype=bool),
        intercepts=np.empty(shape),
        total=source.total,
        scoring=search.scoring,
        other=None if search.scoring is ROC_AUC else np.full(shape, np.nan),
    )
    if search.keep is not None:  # without coefficients all scores are 0
        scores.kept = [np.zeros((l2s.size * l1s.size, fold.places.size)) for fold in search.keep.folds]

    if held_out and 8 * l2s.size * l1s.size * sum(held_out) <= OF_ROWS_BYTES:
        scores.of_rows = [np.zeros((l2s.size * l1s.size, rows)) for rows in held_out]

    def take_scores(blocks: Iterable[HeldOutBlock]) -> None:
        last: dict[int, HeldOutBlock] = {}
        for block in blocks:
            i, j = np.unravel_index(block.points, shape[:2])
            scores.auc[i, j, block.fold] = metrics.roc_auc_columns(block.positive, block.scores, block.weights)
            if not scores.by_auc:
                intercepts = scores.intercepts[i, j, block.fold]
                scores.score[i, j, block.fold] = search.scoring.of_block(block, intercepts)
                last[block.fold] = block
            if search.keep is not None:
                scores.kept[block.fold][block.points] = search.keep.folds[block.fold].scores(block)
            if scores.of_rows is not None:
                scores.of_rows[block.fold][block.points] = block.values().T
        for fold, block in last.items():  # all rows are tied at the points that were left out
            missing = np.isnan(scores.score[..., fold])
            if missing.any():
                scores.score[missing, fold] = search.scoring.of_ties(block)

    def solve_fold(fold: int) -> np.ndarray:
        loss, centre = source.training(fold)
        grid = solve_grid(
            loss,
            l2s,
            l1s,
            tol=search.loss.tolerance(search.tol),
            max_iter=search.max_iter,
            penalty=search.penalty(loss),
            like=source.like,
        )
        del loss  # its matrices are not needed while rows are scored
        scores.gaps[..., fold], scores.converged[..., fold] = grid.gaps, grid.converged
        scores.intercepts[..., fold] = -(grid.coefs @ centre)
        coefs = grid.coefs.reshape(l2s.size * l1s.size, -1)
        if not source.scores_all_folds_at_once:
            take_scores(source.held_out({fold: coefs}))
        watch(f"fold {fold + 1}")
        return coefs if keep_coefs or source.scores_all_folds_at_once else np.empty(0)

    problem = source.problem(many_products=bool(l1s.any()))
    coefs = over_folds(solve_fold, range(source.n_folds), problem, search.n_jobs)
    if source.scores_all_folds_at_once:
        scores.held_out = list(source.held_out(dict(enumerate(coefs))))
        take_scores(scores.held_out)
    if keep_coefs:
        scores.coefs = np.stack(coefs).reshape(source.n_folds, *shape[:2], -1)
    return scores
