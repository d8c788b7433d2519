"""Cross-validate a grid of penalties: each solution is certified, and scored on the rows that its fold holds out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vrspam.metrics.correction import Sample
from vrspam.model_selection.held_out import HeldOut, as_they_are, in_range
from vrspam.model_selection.scoring import ROC_AUC, Scoring
from vrspam.model_selection.search import GridSearch
from vrspam.model_selection.sources import FoldSource, over_folds
from vrspam.moments import PairSums
from vrspam.pairs import TWO_CLASSES, Pairs
from vrspam.solvers.path import grid_axes, solve_grid

OF_ROWS_BYTES = 1 << 26  # scores of all held-out rows at all points are kept up to this size


class FoldModels(NamedTuple):
    """Linear scorers, one trained on each fold: coefs of shape (folds, features), intercepts of shape (folds,)."""

    coefs: np.ndarray
    intercepts: np.ndarray


@dataclass
class GridScores:
    """The results of cross-validating one grid; arrays have the shape (l2s, l1s, folds) unless another is given."""

    grid: dict[str, np.ndarray]  # the values of "l2" and of "l1"
    auc: np.ndarray
    score: np.ndarray  # the measure that chooses; the same array as `auc` if that is the AUC
    gaps: np.ndarray
    converged: np.ndarray
    intercepts: np.ndarray
    coefs: np.ndarray | None = None  # of shape (folds, l2s, l1s, features), where the caller asks for them
    total: PairSums | None = None  # moments of all rows; dropped when another feature map is better
    scoring: Scoring = ROC_AUC
    sample: Sample | None = None  # held-out rows whose scores are kept
    kept: np.ndarray | None = None  # the kept scores, of shape (rows of the sample, points)
    held_out: HeldOut | None = None  # all held-out rows, fold by fold, with their scores at all points, where asked for
    pairs: Pairs = TWO_CLASSES  # the pairs that count, whose AUC or concordance `auc` is

    @classmethod
    def empty(cls, grid: dict[str, np.ndarray], n_folds: int, search: GridSearch) -> GridScores:
        """Empty results for a grid; at points without coefficients all scores are 0, and tied."""
        shape = (grid["l2"].size, grid["l1"].size, n_folds)
        auc = np.full(shape, 0.5)
        score = auc if search.scoring is ROC_AUC else np.full(shape, np.nan)
        room = np.empty(shape), np.empty(shape, dtype=bool), np.empty(shape)
        new = cls(grid, auc, score, *room, scoring=search.scoring, sample=search.sample, pairs=search.loss.pairs)
        if search.sample is not None:
            new.kept = np.zeros((shape[0] * shape[1], search.sample.rows.size)).T
        return new

    def keep(self, sample: Sample) -> None:
        """Keep the scores of a sample that was drawn out of the held-out rows."""
        assert self.held_out is not None
        self.sample, self.kept = sample, self.held_out.scores[sample.rows]

    def measure(self, fold: int, points: np.ndarray, part: HeldOut, exponents: np.ndarray) -> None:
        """Measure the rows that a fold holds out, from their scores at some points by coefficients `in_range`."""
        i, j = np.unravel_index(points, self.auc.shape[:2])
        self.auc[i, j, fold] = self.pairs.columns(part.places, part.positive, part.scores, part.weights)
        if self.scoring is not ROC_AUC:
            values = part.scores
            if self.scoring.needs_values:
                values = as_they_are(values, exponents) + self.intercepts[i, j, fold]
            self.score[i, j, fold] = self.scoring.columns(part.positive, values, part.weights)
        if self.sample is not None and self.kept is not None:
            rows = self.sample.parts[fold]
            self.kept.T[points, rows] = as_they_are(part.scores, exponents, self.sample.places[rows]).T


def cross_validate(
    source: FoldSource,
    search: GridSearch,
    *,
    keep_coefs: bool = False,
    held_out: Sequence[int] = (),
    watch: Callable[[str], None] = lambda what: None,
) -> GridScores:
    """Solve the whole grid on the training part of each fold, and measure the ranking of the rows that it holds out.

    To get the scores of all held-out rows (up to a size limit), give as `held_out` how many rows each fold holds out.
    `watch` is called with the name of each fold that is done.
    """
    l2s, l1s = grid_axes(source.total, search.l2s, search.l1s)
    scores = GridScores.empty({"l2": l2s, "l1": l1s}, source.n_folds, search)
    scores.total, in_one_pass = source.total, source.points_at_once(0) is None
    if held_out and 8 * l2s.size * l1s.size * sum(held_out) <= OF_ROWS_BYTES:
        n, folds = sum(held_out), np.repeat(np.arange(source.n_folds), held_out)
        scores.held_out = HeldOut(np.empty(n, dtype=bool), np.zeros((l2s.size * l1s.size, n)).T, folds, None)

    def solve_fold(fold: int) -> np.ndarray:
        loss, centre = source.training(fold)
        grid = solve_grid(
            loss,
            l2s,
            l1s,
            tol=max(search.tol, search.loss.least_tol),
            max_iter=search.max_iter,
            penalty=search.penalty(loss),
            like=source.like,
        )
        del loss  # its matrices are not needed while rows are scored
        scores.gaps[..., fold], scores.converged[..., fold] = grid.gaps, grid.converged
        scores.intercepts[..., fold] = -(grid.coefs @ centre)
        coefs = grid.coefs.reshape(l2s.size * l1s.size, -1)
        if in_one_pass:
            watch(f"fold {fold + 1}")
            return coefs
        # Score the rows that the fold holds out, some points at a time; at least one point, for labels and weights.
        used = np.flatnonzero(coefs.any(axis=1))
        used = used if used.size else np.zeros(1, dtype=np.intp)
        step = source.points_at_once(fold) or used.size
        for first in range(0, used.size, step):
            points = used[first : first + step]
            some, exponents = in_range(coefs[points])
            part = source.held_out({fold: some})
            scores.measure(fold, points, part, exponents)
            if scores.held_out is not None:
                rows = slice(*np.searchsorted(scores.held_out.fold, [fold, fold + 1]).tolist())
                scores.held_out.positive[rows] = part.positive
                scores.held_out.scores.T[points, rows] = as_they_are(part.scores, exponents).T
        if (missing := np.isnan(scores.score[..., fold])).any():  # points without coefficients: all rows are tied
            tied = scores.scoring.columns(part.positive, part.scores[:, :1] * 0.0, part.weights)
            scores.score[missing, fold] = float(tied[0])
        watch(f"fold {fold + 1}")
        return coefs if keep_coefs else np.empty(0)

    problem = source.problem(many_products=bool(l1s.any()))
    coefs = over_folds(solve_fold, range(source.n_folds), problem, search.n_jobs)
    if in_one_pass:
        scores.held_out = source.held_out(dict(enumerate(coefs)))
        points = np.arange(l2s.size * l1s.size)
        for fold in range(source.n_folds):
            scores.measure(fold, points, scores.held_out.of_fold(fold), np.zeros(points.size, dtype=np.intc))
    if keep_coefs:
        scores.coefs = np.stack(coefs).reshape(source.n_folds, l2s.size, l1s.size, -1)
    return scores
