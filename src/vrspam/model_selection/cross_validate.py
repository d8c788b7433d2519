"""Cross-validate a grid of penalties: each solution is certified, and scored on the rows that its fold holds out.

A fold is solved and measured by functions that return what they find; `cross_validate` puts the folds side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from vrspam.metrics.correction import Sample
from vrspam.model_selection.grid_search import GridSearch
from vrspam.model_selection.held_out import HeldOut, as_they_are, in_range
from vrspam.model_selection.scoring import ROC_AUC, Scoring
from vrspam.model_selection.sources import FoldSource, over_folds
from vrspam.solvers.path import grid_axes, solve_grid

OF_ROWS_BYTES = 1 << 26  # scores of all held-out rows at all points are kept up to this size


class FoldModels(NamedTuple):
    """Linear scorers, one trained on each fold: coefs of shape (folds, features), intercepts of shape (folds,)."""

    coefs: np.ndarray
    intercepts: np.ndarray


class GridScores(NamedTuple):
    """The results of cross-validating one grid; arrays have the shape (l2s, l1s, folds) unless another is given."""

    grid: dict[str, np.ndarray]  # the values of "l2" and of "l1"
    auc: np.ndarray  # or the concordance, where only some pairs of rows count
    score: np.ndarray  # the measure that chooses; the same array as `auc` if that is the AUC
    gaps: np.ndarray
    converged: np.ndarray
    intercepts: np.ndarray
    scoring: Scoring = ROC_AUC
    kept: np.ndarray | None = None  # held-out scores of the rows of a sample, (rows of the sample, points)

    @classmethod
    def of_folds(
        cls,
        l2s: np.ndarray,
        l1s: np.ndarray,
        solved: Sequence[SolvedFold],
        measured: Sequence[MeasuredFold],
        scoring: Scoring,
    ) -> GridScores:
        """The folds side by side."""

        def on_grid(of_folds: list[np.ndarray]) -> np.ndarray:
            return np.stack(of_folds, axis=-1).reshape(l2s.size, l1s.size, len(of_folds))

        auc = on_grid([fold.auc for fold in measured])
        kept = [fold.kept for fold in measured if fold.kept is not None]
        return cls(
            {"l2": l2s, "l1": l1s},
            auc,
            auc if scoring is ROC_AUC else on_grid([fold.score for fold in measured]),
            on_grid([fold.gaps for fold in solved]),
            on_grid([fold.converged for fold in solved]),
            on_grid([fold.intercepts for fold in solved]),
            scoring,
            np.concatenate(kept, axis=1).T if kept else None,
        )


class CrossValidated(NamedTuple):
    """The scores of a grid; models and held-out scores where the caller asks for them."""

    scores: GridScores
    coefs: np.ndarray | None = None  # of shape (folds, l2s, l1s, features)
    held_out: HeldOut | None = None  # all held-out rows, fold by fold, with their scores at all points

    def sampled(self, sample: Sample) -> CrossValidated:
        """The same with the scores of some held-out rows, a sample of them, in place of those of all."""
        assert self.held_out is not None
        kept = self.held_out.scores[sample.rows]
        return self._replace(scores=self.scores._replace(kept=kept), held_out=None)

    def models_at(self, index: tuple[int, ...]) -> FoldModels | None:
        """The models of all folds at a point, if their coefficients are kept."""
        if self.coefs is None:
            return None
        i, j = index
        return FoldModels(self.coefs[:, i, j].copy(), self.scores.intercepts[i, j])


class SolvedFold(NamedTuple):
    """The solutions at all points of the grid, row by row, on the training part of a fold."""

    coefs: np.ndarray  # (points, features)
    intercepts: np.ndarray
    gaps: np.ndarray
    converged: np.ndarray


class MeasuredFold(NamedTuple):
    """The measures of the rows that a fold holds out, at all points of the grid, and their scores where asked for."""

    auc: np.ndarray
    score: np.ndarray
    kept: np.ndarray | None = None  # (points, rows of the sample in this fold)
    held_out: HeldOut | None = None


def cross_validate(
    source: FoldSource,
    search: GridSearch,
    *,
    sample: Sample | None = None,
    keep_coefs: bool = False,
    held_out: Sequence[int] = (),
    watch: Callable[[str], None] = lambda what: None,
) -> CrossValidated:
    """Solve the whole grid on the training part of each fold, and measure the ranking of the rows that it holds out.

    The scores of the rows of `sample` are kept. To get those of all held-out rows (up to a size limit), give as
    `held_out` how many rows each fold holds out. `watch` is called with the name of each fold that is done.
    """
    l2s, l1s = grid_axes(source.total, search.l2s, search.l1s)
    n_points = l2s.size * l1s.size
    problem = source.problem(many_products=bool(l1s.any()))

    every: HeldOut | None
    if source.points_at_once(0) is None:  # one pass scores the rows of all folds

        def solve(fold: int) -> SolvedFold:
            solved = solve_fold(source, fold, search, l2s, l1s)
            watch(f"fold {fold + 1}")
            return solved

        solved = over_folds(solve, range(source.n_folds), problem, search.n_jobs)
        in_blocks = source.held_out({fold: of_fold.coefs for fold, of_fold in enumerate(solved)})
        measured = []
        for fold, of_fold in enumerate(solved):
            measured.append(measure_whole_fold(in_blocks.of_fold(fold), search, of_fold.intercepts))
        every = in_blocks
    else:
        keep_held_out = 8 * n_points * sum(held_out) <= OF_ROWS_BYTES and len(held_out) > 0

        def solve_and_measure(fold: int) -> tuple[SolvedFold, MeasuredFold]:
            solved = solve_fold(source, fold, search, l2s, l1s)
            measured = measure_fold(source, fold, search, solved, sample, keep_held_out)
            watch(f"fold {fold + 1}")
            return solved if keep_coefs else solved._replace(coefs=np.empty(0)), measured

        folds = over_folds(solve_and_measure, range(source.n_folds), problem, search.n_jobs)
        solved, measured = [fold[0] for fold in folds], [fold[1] for fold in folds]
        every = join_folds([fold.held_out for fold in measured])

    scores = GridScores.of_folds(l2s, l1s, solved, measured, search.scoring)
    coefs = None
    if keep_coefs:
        coefs = np.stack([fold.coefs for fold in solved]).reshape(source.n_folds, l2s.size, l1s.size, -1)
    return CrossValidated(scores, coefs, every)


def solve_fold(source: FoldSource, fold: int, search: GridSearch, l2s: np.ndarray, l1s: np.ndarray) -> SolvedFold:
    """Solve the grid on the training part of a fold."""
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
    n_points = l2s.size * l1s.size
    intercepts = -(grid.coefs @ centre)
    return SolvedFold(
        grid.coefs.reshape(n_points, -1),
        intercepts.reshape(n_points),
        grid.gaps.reshape(n_points),
        grid.converged.reshape(n_points),
    )


def measure_fold(
    source: FoldSource,
    fold: int,
    search: GridSearch,
    solved: SolvedFold,
    sample: Sample | None,
    keep_held_out: bool,
) -> MeasuredFold:
    """Score the rows that a fold holds out, some points at a time, and measure them.

    At points without coefficients all scores are 0, and tied.
    """
    n_points = solved.coefs.shape[0]
    auc = np.full(n_points, 0.5)
    score = auc if search.scoring is ROC_AUC else np.full(n_points, np.nan)
    rows = slice(0) if sample is None else sample.parts[fold]
    kept = None if sample is None else np.zeros((n_points, rows.stop - rows.start))
    of_rows = None

    used = np.flatnonzero(solved.coefs.any(axis=1))
    used = used if used.size else np.zeros(1, dtype=np.intp)  # at least one point, for labels and weights
    step = source.points_at_once(fold) or used.size
    for first in range(0, used.size, step):
        points = used[first : first + step]
        coefs, exponents = in_range(solved.coefs[points])
        part = source.held_out({fold: coefs})
        auc[points], score[points] = measure_rows(part, search, exponents, solved.intercepts[points])
        if sample is not None and kept is not None:
            kept[points] = as_they_are(part.scores, exponents, sample.places[rows]).T
        if keep_held_out:
            if of_rows is None:
                of_rows = np.zeros((n_points, part.positive.shape[0]))
            of_rows[points] = as_they_are(part.scores, exponents).T

    missing = np.isnan(score)
    if missing.any():  # points without coefficients: all rows are tied
        tied = search.scoring.columns(part.positive, part.scores[:, :1] * 0.0, part.weights)
        score[missing] = float(tied[0])
    if of_rows is None:
        return MeasuredFold(auc, score, kept)
    numbers = np.full(of_rows.shape[1], fold)
    return MeasuredFold(auc, score, kept, HeldOut(part.positive, of_rows.T, numbers, None))


def measure_whole_fold(
    part: HeldOut, search: GridSearch, intercepts: np.ndarray, sample: Sample | None = None, fold: int = 0
) -> MeasuredFold:
    """Measure the rows that a fold holds out, whose scores at all points are at hand."""
    exponents = np.zeros(intercepts.size, dtype=np.intc)
    auc, score = measure_rows(part, search, exponents, intercepts)
    kept = None
    if sample is not None:
        kept = as_they_are(part.scores, exponents, sample.places[sample.parts[fold]]).T
    return MeasuredFold(auc, score, kept)


def measure_rows(
    part: HeldOut, search: GridSearch, exponents: np.ndarray, intercepts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The AUC, and the measure that chooses, of each column of scores by coefficients `in_range`."""
    auc = search.loss.pairs.columns(part.places, part.positive, part.scores, part.weights)
    if search.scoring is ROC_AUC:
        return auc, auc
    values = part.scores
    if search.scoring.needs_values:
        values = as_they_are(values, exponents) + intercepts
    return auc, search.scoring.columns(part.positive, values, part.weights)


def join_folds(folds: Sequence[HeldOut | None]) -> HeldOut | None:
    """The held-out rows of all folds, fold by fold; None if they were not kept."""
    known = [fold for fold in folds if fold is not None]
    if len(known) < len(folds):
        return None
    positive = np.concatenate([fold.positive for fold in known])
    scores = np.concatenate([fold.scores.T for fold in known], axis=1).T
    return HeldOut(positive, scores, np.concatenate([fold.fold for fold in known]), None)
