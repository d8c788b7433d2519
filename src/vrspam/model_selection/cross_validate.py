"""Cross-validate a grid of penalties: each solution is certified, and scored on the rows that its fold holds out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from vrspam.metrics.correction import Sample
from vrspam.model_selection.held_out import HeldOut, as_they_are, in_range
from vrspam.model_selection.pairs import measure_columns
from vrspam.model_selection.selection import ROC_AUC, Choice, Scoring, SelectionRule
from vrspam.model_selection.sources import FoldSource, over_folds
from vrspam.moments import ClassMoments, RankedPairs
from vrspam.objective import ELASTIC_NET, SQUARED, LossChoice, PenaltyFamily
from vrspam.solvers.exact import ExactSolver
from vrspam.solvers.path import AUTO_L1S, AUTO_L2S, check_grid_axis, grid_axes, solve_grid

OF_ROWS_BYTES = 1 << 26  # scores of all held-out rows at all points are kept up to this size


class FoldModels(NamedTuple):
    """Linear scorers, one trained on each fold: coefs of shape (folds, features), intercepts of shape (folds,)."""

    coefs: np.ndarray
    intercepts: np.ndarray


@dataclass(frozen=True)
class GridSearch:
    """The grid, how it is solved, and how a point is chosen; the parameters are those of `AUCClassifierCV`."""

    l2s: Any
    l1s: Any
    tol: float
    max_iter: int
    n_jobs: int | None
    penalty: PenaltyFamily = ELASTIC_NET
    scoring: Scoring = ROC_AUC
    loss: LossChoice = SQUARED
    rule: SelectionRule = "best"
    seed: int = 0  # of the correction for the choice
    sample: Sample | None = None  # held-out rows whose scores at all points are returned

    @property
    def n_points(self) -> int:
        """Points of the grid."""
        l2s = AUTO_L2S if isinstance(self.l2s, str) else check_grid_axis("l2s", self.l2s).size
        return l2s * (AUTO_L1S if isinstance(self.l1s, str) else check_grid_axis("l1s", self.l1s).size)

    @property
    def is_default_ridge(self) -> bool:
        """Whether the penalties are those that are taken where nobody names any, of a loss that moments tell."""
        no_l1 = not isinstance(self.l1s, str) and not any(self.l1s)
        return isinstance(self.l2s, str) and no_l1 and not self.loss.needs_rows

    def on(self, features: Any) -> GridSearch:
        """The search for a map that has learnt: with the limits of its coefficients, where it has some."""
        if getattr(features, "monotonic_cst", None) is None:
            return self
        return replace(self, penalty=replace(self.penalty, limits=features.limits))

    def solver(self, point: Choice) -> ExactSolver:
        """What fits all rows at a point of the grid."""
        l2, l1 = point.values["l2"], point.values["l1"]
        return ExactSolver(l2, l1, self.tol, self.max_iter, self.penalty, self.loss)


@dataclass
class GridScores:
    """What cross-validation of one grid gave; arrays but for the last ones have the shape (l2s, l1s, folds)."""

    grid: dict[str, np.ndarray]  # the values of "l2" and of "l1"
    auc: np.ndarray
    score: np.ndarray  # the measure that chooses: the same array as `auc`, or that of another measure
    gaps: np.ndarray
    converged: np.ndarray
    intercepts: np.ndarray
    coefs: np.ndarray | None = None  # of shape (folds, l2s, l1s, features), where the caller asks for them
    total: ClassMoments | None = None  # moments of all rows; dropped when another feature map is better
    scoring: Scoring = ROC_AUC
    sample: Sample | None = None  # held-out rows whose scores are kept,
    kept: np.ndarray | None = None  # and these scores, of shape (rows of the sample, points)
    held_out: HeldOut | None = None  # all held-out rows, fold by fold, with their scores at all points, where asked for
    pairs: RankedPairs | None = None  # those that count, if not all of two classes: then `auc` is their concordance

    @property
    def best_is_certified(self) -> bool:
        """Whether the best l2 and its neighbours reached the tolerance in all folds, without an l1."""
        best = int(self.score.mean(axis=-1)[:, 0].argmax())
        return bool(self.converged[max(best - 1, 0) : best + 2].all())

    def keep(self, sample: Sample) -> None:
        """Keep the scores of a sample that was drawn out of the held-out rows."""
        assert self.held_out is not None
        self.sample, self.kept = sample, self.held_out.scores[sample.rows]

    def measure(self, fold: int, points: np.ndarray, part: HeldOut, exponents: np.ndarray) -> None:
        """Take the rows that a fold holds out, with their scores at some points by coefficients `in_range`."""
        i, j = np.unravel_index(points, self.auc.shape[:2])
        self.auc[i, j, fold] = measure_columns(self.pairs, part.places, part.positive, part.scores, part.weights)
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

    `held_out` says how many rows each fold holds out, where the scores of all of them are to be returned, as far as
    they are few; `watch` is called with the name of each fold that is done.
    """
    scores = _empty_scores(source, search, held_out)
    l2s, l1s = scores.grid.values()
    in_one_pass = source.points_at_once(0) is None

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
        if not in_one_pass:
            _score_fold(source, fold, coefs, scores)
        watch(f"fold {fold + 1}")
        return coefs if keep_coefs or in_one_pass else np.empty(0)

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


def _empty_scores(source: FoldSource, search: GridSearch, held_out: Sequence[int]) -> GridScores:
    """The grid, and room for what is found; without coefficients all scores are 0, and tied."""
    l2s, l1s = grid_axes(source.total, search.l2s, search.l1s)
    shape = (l2s.size, l1s.size, source.n_folds)
    n_points, auc = l2s.size * l1s.size, np.full(shape, 0.5)
    scores = GridScores(
        {"l2": l2s, "l1": l1s},
        auc=auc,
        score=auc if search.scoring is ROC_AUC else np.full(shape, np.nan),
        gaps=np.empty(shape),
        converged=np.empty(shape, dtype=bool),
        intercepts=np.empty(shape),
        total=source.total,
        scoring=search.scoring,
        sample=search.sample,
        pairs=search.loss.pairs,
    )
    if search.sample is not None:
        scores.kept = np.zeros((n_points, search.sample.rows.size)).T
    if held_out and 8 * n_points * sum(held_out) <= OF_ROWS_BYTES:
        n, fold = sum(held_out), np.repeat(np.arange(source.n_folds), held_out)
        scores.held_out = HeldOut(np.empty(n, dtype=bool), np.zeros((n_points, n)).T, fold, None)
    return scores


def _score_fold(source: FoldSource, fold: int, coefs: np.ndarray, scores: GridScores) -> None:
    """Score the rows that a fold holds out, some points of the grid at a time; at least one, for labels and weights."""
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
