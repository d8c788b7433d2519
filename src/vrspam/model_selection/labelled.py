"""Cross-validate trees that learn from labels.

A map that learns from labels has one feature for each set of rows that trees learnt from (`vrspam.features.boosted`),
and the scorer of a fold uses the features of the sets that leave this fold out: its other coefficients are 0. The
factor of the scores is fitted on held-out scores of all folds. It changes no ranking, is never negative, and is the
same for all folds, so that the label of a held-out row does not influence the rank of this row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.validation import Rows
from vrspam.features.boosted import LabelledTrees
from vrspam.metrics.correction import Sample, group_numbers
from vrspam.model_selection.bags import Bags, bags_of
from vrspam.model_selection.candidates import Candidate, refuse_not_finite
from vrspam.model_selection.cross_validate import CrossValidated, GridScores, SolvedFold, measure_whole_fold
from vrspam.model_selection.folds import FoldedRows
from vrspam.model_selection.grid_search import GridSearch
from vrspam.model_selection.held_out import HeldOut
from vrspam.model_selection.sources import FoldProblem, over_folds
from vrspam.moments import ClassMoments, PairSums
from vrspam.objective import Objective, PenaltyFamily, SmoothLoss, SquaredPairLoss
from vrspam.pairs import LossChoice
from vrspam.solvers import ExactFit
from vrspam.solvers.base import Solution
from vrspam.solvers.exact import FitSettings
from vrspam.solvers.path import check_grid_axis
from vrspam.tables.frames import rows_of

# The deviation of scores of trees that rank held-out rows no better than chance. Their calibration has the least slope
# there is, 0.001 for a deviation: so it is 1, and a score is about a logarithm of odds, as where there is some signal.
LEAST_SPREAD = 1e-3


class ScoredTrees(NamedTuple):
    """Trees of several sets of rows, and what rows that they did not learn from say of them."""

    bags: Bags
    members: list[np.ndarray]  # scores of the rows of each fold, by each of its sets of trees
    rows: Rows  # the means of these scores, fold by fold, with labels and weights
    fit: ExactFit  # of the factor by which the means are multiplied
    scores: GridScores  # of a grid of one point

    @property
    def factor(self) -> float:
        """The factor of the scores."""
        return float(self.fit.solution.w[0])


def cross_validate_labelled(
    name: str, features: LabelledTrees, folds: FoldedRows, search: GridSearch, sample: Sample | None = None
) -> Candidate:
    """Grow the trees of each set of rows, and measure the ranking of the rows that folds hold out; the map keeps them.

    Held-out rows and new rows are scored by means over sets of trees (`vrspam.model_selection.bags`).
    """
    trees = score_trees(features, folds, search, sample)
    coefs = trees.factor * trees.bags.of_fold[:, np.newaxis, np.newaxis]
    refuse_not_finite(trees.scores, coefs)
    parts = [split.validation for split in folds.splits]
    index = np.concatenate(parts)
    n_rows = folds.rows.y.size

    stretch = trees.bags.stretch(trees.members, [folds.positive[part] for part in parts], n_rows, features.further)
    coef = stretch * trees.factor * trees.bags.of_model
    moments = ClassMoments.side_by_side([stretched_moments(trees.fit.moments, trees.rows, stretch)] * coef.size)
    solution = replace(trees.fit.solution, w=coef)
    apart = float(np.diff(class_means(trees.rows.X[:, 0], folds.positive[index], trees.rows.weights))[0])
    by_all = None
    if sample is not None:
        features_of_sample = features.features_of(rows_of(folds.rows.X, sample.rows)).astype(np.float64)
        by_all = trees.factor * features_of_sample @ trees.bags.of_fold.T
    return Candidate.of(
        name,
        features,
        CrossValidated(trees.scores, coefs),
        search.rule,
        sample,
        n_features=features.n_features_out_,
        n_rows=n_rows,
        held_out=trees.factor * trees.rows.X[:, 0],
        by_all=by_all,
        fit=trees.fit._replace(solution=solution, moments=moments),
        lift=(stretch - 1.0) * trees.factor * apart,
    )


def score_trees(
    features: LabelledTrees, folds: FoldedRows, search: GridSearch, sample: Sample | None = None
) -> ScoredTrees:
    """Grow the trees, fit the factor of their scores on rows that they did not learn from, and measure these rows."""
    _, y, weights = folds.rows
    bags = bags_of(folds)
    members = grow_trees(features, folds, bags, search.n_jobs)
    means = [scores.mean(axis=1) for scores in members]
    parts = [split.validation for split in folds.splits]
    index = np.concatenate(parts)

    rows = Rows(np.concatenate(means)[:, np.newaxis], y[index], None if weights is None else weights[index])
    of_these = replace(search, loss=search.loss.on_pairs(folds.pairs.take(index)))
    varies = any(np.ptp(scores) > 0.0 for scores in scores_that_count(means, parts, weights))
    fit = fit_one_score(rows, folds.classes, of_these, varies)

    factor = float(fit.solution.w[0])
    solved = SolvedFold(
        coefs=np.empty(0),
        intercepts=np.array([-factor * float(fit.moments.means.mean())]),
        gaps=np.array([np.nan if fit.solution.gap is None else fit.solution.gap]),
        converged=np.array([fit.solution.converged]),
    )
    measured = []
    for fold, (part, scores) in enumerate(zip(parts, means, strict=True)):
        mass = None if weights is None else weights[part]
        held_out = HeldOut(folds.positive[part], factor * scores[:, np.newaxis], fold, mass, part)
        measured.append(measure_whole_fold(held_out, search, solved.intercepts, sample, fold))
    of_grid = GridScores.of_folds(np.array([fit.l2]), np.zeros(1), [solved] * len(parts), measured, search.scoring)
    return ScoredTrees(bags, members, rows, fit, of_grid)


def grow_trees(features: LabelledTrees, folds: FoldedRows, bags: Bags, n_jobs: int | None) -> list[np.ndarray]:
    """Grow the trees of each set of rows, which the map keeps, and score the rows that folds hold out by them."""
    X, y, weights = folds.rows
    groups = None if folds.groups is None else group_numbers(folds.groups, y.size)
    grow = features.grower(X, folds.positive, weights, groups, folds.pairs)
    needed = 4 * y.size * X.shape[1] + (1 << 24)  # codes, gradients and histograms
    features.groves_ = over_folds(grow, list(enumerate(bags.rows)), FoldProblem(True, False, needed), n_jobs)

    members = []
    for fold, split in enumerate(folds.splits):
        held_out = rows_of(X, split.validation)
        by_set = [features.scores_by(number, held_out) for number in bags.members(fold)]
        members.append(np.stack(by_set, axis=1))
    return members


def scores_that_count(
    scores: list[np.ndarray], parts: list[np.ndarray], weights: np.ndarray | None
) -> list[np.ndarray]:
    """The scores of the rows of each fold that have a weight."""
    if weights is None:
        return scores
    return [of_fold[weights[part] > 0.0] for of_fold, part in zip(scores, parts, strict=True)]


def fit_one_score(rows: Rows, classes: np.ndarray, search: GridSearch, varies: bool) -> ExactFit:
    """Fit the factor of a score; 0 if the scores of rows that count do not vary."""
    # No penalty changes the ranking: of several take the largest l2, as elsewhere of ties, and the smallest l1.
    l2: Any = "auto"
    if not isinstance(search.l2s, str):
        l2 = float(check_grid_axis("l2s", search.l2s).max())
    l1 = 0.0
    if not isinstance(search.l1s, str):
        l1 = float(check_grid_axis("l1s", search.l1s).min())

    if not varies:  # no tree could be split: every score is the same
        moments = ClassMoments(1, classes=classes).add_checked(*rows)
        nothing = Solution(np.zeros(1), moments.p * moments.q, 0.0, n_iter=0, converged=True)
        return ExactFit(nothing, moments, 0.0 if l2 == "auto" else l2, "moments")
    settings = FitSettings(l2, l1, search.tol, search.max_iter, search.penalty, search.loss)
    fit = settings.fit_rows(rows, classes, "moments")
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
