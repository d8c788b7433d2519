"""Cross-validation of a map that learns from labels: the trees of each fold score the rows that it holds out.

Such a map has one feature for each fold (`vrspam.features.boosted`), and the scorer of a fold takes this one alone: its
coefficients of the others are 0. The factor of the scores is fitted on held-out scores of all folds. It changes no
ranking, is never negative, and is the same for all folds, so that no label of a held-out row decides its place.
"""

from dataclasses import replace

import numpy as np

from vrspam._utils.validation import Rows
from vrspam.features.boosted import LabelledTrees
from vrspam.metrics.correction import group_numbers
from vrspam.model_selection.cross_validate import GridScores, GridSearch
from vrspam.model_selection.folds import FoldedRows
from vrspam.model_selection.held_out import HeldOut
from vrspam.model_selection.sources import FoldProblem, over_folds
from vrspam.moments import ClassMoments
from vrspam.solvers import ExactFit
from vrspam.solvers.base import Solution
from vrspam.solvers.exact import ExactSolver
from vrspam.solvers.path import check_grid_axis
from vrspam.tables.frames import rows_of


def cross_validate_labelled(
    features: LabelledTrees, folds: FoldedRows, search: GridSearch
) -> tuple[GridScores, np.ndarray, np.ndarray | None, ExactFit]:
    """Grow the trees of each fold, and measure the ranking of the rows that it holds out; the map keeps the trees.

    Returns the scores of a grid of one point, `held_out` and `by_all` of a `Candidate`, and the fit that is handed out.
    What is handed out is the mean of the scores of all folds, where each row trains the same number of them; where that
    is not so, as in folds that look forward in time, it is the score of trees of all rows.
    """
    (X, y, weights), n, positive = folds.rows, folds.rows.y.size, folds.positive
    trainings, parts = [split.train for split in folds.splits], [split.validation for split in folds.splits]
    uses = np.bincount(np.concatenate(parts), minlength=n)
    even = uses.min() == uses.max() and all(split.train.size + split.validation.size == n for split in folds.splits)
    groups = None if folds.groups is None else group_numbers(folds.groups, n)
    numbers = None if folds.pairs is None or np.unique(folds.pairs.rank).size == 2 else folds.pairs
    grow = features.grower(X, positive, weights, groups, numbers)
    needed = 4 * n * X.shape[1] + (1 << 24)  # codes, gradients and histograms
    sets = list(enumerate(trainings if even else [*trainings, np.arange(n)]))
    features.groves_ = over_folds(grow, sets, FoldProblem(True, False, needed), search.n_jobs)
    raw = [features.scores_by(number, rows_of(X, part)) for number, part in enumerate(parts)]
    index = np.concatenate(parts)
    rows = Rows(np.concatenate(raw)[:, np.newaxis], y[index], None if weights is None else weights[index])
    own = search if folds.pairs is None else replace(search, loss=search.loss.on_pairs(folds.pairs.take(index)))
    # no point of a grid changes the ranking: of several the largest l2, and the smallest l1, as elsewhere of ties
    l2 = "auto" if isinstance(search.l2s, str) else float(check_grid_axis("l2s", search.l2s).max())
    l1 = 0.0 if isinstance(search.l1s, str) else float(check_grid_axis("l1s", search.l1s).min())
    if any(np.ptp(scores) > 0.0 for scores in raw):
        solver = ExactSolver(l2, l1, search.tol, search.max_iter, search.penalty, own.loss)
        fit = solver.from_rows(rows, folds.classes, "moments")
        if not (factor := float(fit.solution.w[0])) > 0.0:  # they rank no better than chance: no certificate
            factor, nan = 1.0 / float(rows.X.std()), float("nan")
            fit = fit._replace(solution=Solution(np.array([factor]), nan, nan, n_iter=0, converged=True))
    else:  # no tree could be split: every score is the same
        factor, moments = 0.0, ClassMoments(1, classes=folds.classes).add_checked(*rows)
        nothing = Solution(np.zeros(1), moments.p * moments.q, 0.0, n_iter=0, converged=True)
        fit = ExactFit(nothing, moments, 0.0 if isinstance(l2, str) else l2, "moments")
    scores = GridScores.empty({"l2": np.array([fit.l2]), "l1": np.zeros(1)}, len(parts), search)
    scores.gaps[:], scores.converged[:] = fit.solution.gap, fit.solution.converged
    scores.intercepts[:] = -factor * float(fit.moments.means.mean())
    scores.coefs, point = np.zeros((len(parts), 1, 1, len(sets))), np.zeros(1, dtype=np.intp)
    for fold, (part, column) in enumerate(zip(parts, raw, strict=True)):
        scores.coefs[fold, 0, 0, fold] = factor
        mass = None if weights is None else weights[part]
        scores.measure(fold, point, HeldOut(positive[part], factor * column[:, np.newaxis], fold, mass, part), point)
    by_all = None
    if search.sample is not None:
        by_all = factor * features.features_of(rows_of(X, search.sample.rows))[:, : len(parts)].astype(np.float64)
    w = np.full(len(sets), factor / len(sets))
    if not even:
        w[:-1], w[-1] = 0.0, factor
    moments = ClassMoments.side_by_side([fit.moments] * len(sets))
    handed_out = fit._replace(solution=replace(fit.solution, w=w), moments=moments)
    return scores, factor * rows.X[:, 0], by_all, handed_out
