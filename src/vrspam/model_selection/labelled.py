"""Cross-validate trees that learn from labels.

A map that learns from labels has one feature for each set of rows that trees learnt from (`vrspam.features.boosted`),
and the scorer of a fold uses the features of the sets that leave this fold out: its other coefficients are 0. The
factor of the scores is fitted on held-out scores of all folds. It changes no ranking, is never negative, and is the
same for all folds, so that the label of a held-out row does not influence the rank of this row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vrspam._utils.validation import Rows
from vrspam.features.boosted import LabelledTrees
from vrspam.metrics.correction import group_numbers
from vrspam.model_selection.bags import bags_of
from vrspam.model_selection.cross_validate import GridScores
from vrspam.model_selection.folds import FoldedRows
from vrspam.model_selection.held_out import HeldOut
from vrspam.model_selection.search import GridSearch
from vrspam.model_selection.sources import FoldProblem, over_folds
from vrspam.moments import ClassMoments, PairSums
from vrspam.objective import Objective, PenaltyFamily, SmoothLoss, SquaredPairLoss
from vrspam.pairs import LossChoice
from vrspam.solvers import ExactFit
from vrspam.solvers.base import Solution
from vrspam.solvers.exact import ExactSolver
from vrspam.solvers.path import check_grid_axis
from vrspam.tables.frames import rows_of

# The deviation of scores of trees that rank held-out rows no better than chance. Their calibration has the least slope
# there is, 0.001 for a deviation: so it is 1, and a score is about a logarithm of odds, as where there is some signal.
LEAST_SPREAD = 1e-3


class LabelledScores(NamedTuple):
    """What cross-validating trees that learn from labels gives: the fields of a `Candidate`."""

    scores: GridScores  # of a grid of one point
    held_out: np.ndarray
    by_all: np.ndarray | None
    fit: ExactFit
    lift: float  # how much further apart the classes are in scores of new rows than in held-out scores


def cross_validate_labelled(features: LabelledTrees, folds: FoldedRows, search: GridSearch) -> LabelledScores:
    """Grow the trees of each set of rows, and measure the ranking of the rows that folds hold out; the map keeps them.

    Held-out rows and new rows are scored by means over sets of trees (`vrspam.model_selection.bags`).
    """
    (X, y, weights), n, positive = folds.rows, folds.rows.y.size, folds.positive
    parts = [split.validation for split in folds.splits]
    groups = None if folds.groups is None else group_numbers(folds.groups, n)
    grow = features.grower(X, positive, weights, groups, folds.pairs)
    needed = 4 * n * X.shape[1] + (1 << 24)  # codes, gradients and histograms
    bags = bags_of(folds)
    features.groves_ = over_folds(grow, list(enumerate(bags.rows)), FoldProblem(True, False, needed), search.n_jobs)

    members, raw = [], []  # scores of the rows of each fold by its sets of trees, and their means
    for fold, part in enumerate(parts):
        some = rows_of(X, part)
        by_set = [features.scores_by(number, some) for number in bags.members(fold)]
        members.append(np.stack(by_set, axis=1))
        raw.append(members[-1].mean(axis=1))
    index = np.concatenate(parts)
    rows = Rows(np.concatenate(raw)[:, np.newaxis], y[index], None if weights is None else weights[index])
    own = replace(search, loss=search.loss.on_pairs(folds.pairs.take(index)))
    counted = raw if weights is None else [scores[weights[part] > 0.0] for scores, part in zip(raw, parts, strict=True)]
    varies = any(np.ptp(scores) > 0.0 for scores in counted)
    fit = fit_one_score(rows, folds.classes, own, varies)
    factor = float(fit.solution.w[0])

    scores = GridScores.empty({"l2": np.array([fit.l2]), "l1": np.zeros(1)}, len(parts), search)
    scores.gaps[:] = np.nan if fit.solution.gap is None else fit.solution.gap
    scores.converged[:] = fit.solution.converged
    scores.intercepts[:] = -factor * float(fit.moments.means.mean())
    scores.coefs, point = factor * bags.of_fold[:, np.newaxis, np.newaxis], np.zeros(1, dtype=np.intp)
    for fold, (part, column) in enumerate(zip(parts, raw, strict=True)):
        mass = None if weights is None else weights[part]
        scores.measure(fold, point, HeldOut(positive[part], factor * column[:, np.newaxis], fold, mass, part), point)
    by_all = None
    if search.sample is not None:
        features_of_sample = features.features_of(rows_of(X, search.sample.rows)).astype(np.float64)
        by_all = factor * features_of_sample @ bags.of_fold.T

    stretch = bags.stretch(members, [positive[part] for part in parts], n, features.further)
    w = stretch * factor * bags.of_model
    moments = ClassMoments.side_by_side([stretched_moments(fit.moments, rows, stretch)] * w.size)
    handed_out = fit._replace(solution=replace(fit.solution, w=w), moments=moments)
    lift = (stretch - 1.0) * factor * float(np.diff(class_means(rows.X[:, 0], positive[index], rows.weights))[0])
    return LabelledScores(scores, factor * rows.X[:, 0], by_all, handed_out, lift)


def fit_one_score(rows: Rows, classes: np.ndarray, search: GridSearch, varies: bool) -> ExactFit:
    """Fit the factor of a score; 0 if the scores of rows that count do not vary."""
    # no penalty changes the ranking: of several take the largest l2, as elsewhere of ties, and the smallest l1
    l2 = "auto" if isinstance(search.l2s, str) else float(check_grid_axis("l2s", search.l2s).max())
    l1 = 0.0 if isinstance(search.l1s, str) else float(check_grid_axis("l1s", search.l1s).min())
    if not varies:  # no tree could be split: every score is the same
        moments = ClassMoments(1, classes=classes).add_checked(*rows)
        nothing = Solution(np.zeros(1), moments.p * moments.q, 0.0, n_iter=0, converged=True)
        return ExactFit(nothing, moments, 0.0 if isinstance(l2, str) else l2, "moments")
    solver = ExactSolver(l2, l1, search.tol, search.max_iter, search.penalty, search.loss)
    fit = solver.from_rows(rows, classes, "moments")
    if not float(fit.solution.w[0]) > 0.0:  # the scores rank no better than chance
        return without_signal(fit, rows, l1, search.penalty, search.loss)
    return fit


def stretched_moments(moments: PairSums, rows: Rows, stretch: float) -> PairSums:
    """Moments of one score whose mean over all rows stays where it is when the score is multiplied by `stretch`.

    The intercept of a model follows from the point half-way between the means of the classes.
    """
    if stretch == 1.0:
        return moments
    middle = float(np.average(rows.X[:, 0], weights=rows.weights))
    moved = (rows.X + (stretch - 1.0) * middle) / stretch
    return ClassMoments(1, classes=moments.classes).add_checked(*rows._replace(X=moved))


def class_means(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The mean score of the negatives and of the positives; 0 for a class without weight."""
    mass = np.ones(scores.size) if weights is None else weights
    totals = np.bincount(positive, mass, 2)
    return np.bincount(positive, mass * scores, 2) / np.where(totals > 0.0, totals, 1.0)


def without_signal(fit: ExactFit, rows: Rows, l1: float, penalty: PenaltyFamily, loss: LossChoice) -> ExactFit:
    """The fit of one feature whose best factor is not positive: a factor so small that scores are next to nothing.

    The factor keeps the ranking, so it must be positive, and the loss is least without one: the scores get a deviation
    of `LEAST_SPREAD`. Such a factor is no optimum, and has no certificate.
    """
    values = rows.X[:, 0]
    weights = np.ones(values.size) if rows.weights is None else rows.weights
    centre = np.average(values, weights=weights)
    deviation = float(np.sqrt(np.average((values - centre) ** 2, weights=weights)))
    w = np.array([LEAST_SPREAD / deviation])

    if loss.needs_rows:
        measured: SmoothLoss = loss.from_rows(rows.X, rows.y == fit.moments.classes[1], rows.weights, fit.moments)
    else:
        measured = SquaredPairLoss.from_moments(fit.moments)
    value = Objective(measured, penalty(measured)(fit.l2, l1)).value(w)
    return fit._replace(solution=Solution(w, value, None, n_iter=0, converged=True))
