"""Cross-validate a grid of penalties: each solution is certified, and scored on the rows that its fold holds out.

A map that learns from labels has one feature for each set of rows that trees learnt from (`vrspam.features.boosted`),
and the scorer of a fold uses the features of the sets that leave this fold out: its other coefficients are 0. The
factor of the scores is fitted on held-out scores of all folds. It changes no ranking, is never negative, and is the
same for all folds, so that the label of a held-out row does not influence the rank of this row.

The learning curve comes from moments, which add up: rows are cut into parts of about the same size, and every fifth
part is in one fold. A model of some parts needs only the sum of their moments, so models of many sets of rows, at all
penalties, cost two readings of the rows. The largest size is all rows of the other folds; the sizes halve from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from vrspam._utils.validation import Rows
from vrspam.features.boosted import LabelledTrees
from vrspam.metrics.correction import Sample, draw_sample, group_numbers, stable_share
from vrspam.metrics.groups import Clusters, influence, placements
from vrspam.metrics.roc import quantile, roc_auc_columns
from vrspam.metrics.thresholds import Estimate
from vrspam.model_selection.bags import bags_of
from vrspam.model_selection.folds import FoldedRows
from vrspam.model_selection.held_out import HeldOut, as_they_are, in_range, scores_of
from vrspam.model_selection.pairs import measure_columns
from vrspam.model_selection.selection import ROC_AUC, Choice, Scoring, SelectionRule
from vrspam.model_selection.sources import FoldProblem, FoldSource, over_folds
from vrspam.moments import ClassMoments, RankedPairs
from vrspam.objective import (
    ELASTIC_NET,
    SQUARED,
    LossChoice,
    Objective,
    PenaltyFamily,
    SmoothLoss,
    SquaredPairLoss,
    l2_unit,
)
from vrspam.solvers import ExactFit
from vrspam.solvers.base import Solution
from vrspam.solvers.exact import ExactSolver
from vrspam.solvers.path import AUTO_L1S, AUTO_L2S, check_grid_axis, grid_axes, solve_grid
from vrspam.tables.frames import rows_of

# The deviation of scores of trees that rank held-out rows no better than chance. Their calibration has the least slope
# there is, 0.001 for a deviation: so it is 1, and a score is about a logarithm of odds, as where there is some signal.
LEAST_SPREAD = 1e-3
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

    def on(self, features: Any) -> GridSearch:
        """The search for a fitted map, with the limits of its coefficients if it has any."""
        if getattr(features, "monotonic_cst", None) is None:
            return self
        return replace(self, penalty=replace(self.penalty, limits=features.limits))

    def solver(self, point: Choice) -> ExactSolver:
        """The solver that fits all rows at a point of the grid."""
        l2, l1 = point.values["l2"], point.values["l1"]
        return ExactSolver(l2, l1, self.tol, self.max_iter, self.penalty, self.loss)


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
    total: ClassMoments | None = None  # moments of all rows; dropped when another feature map is better
    scoring: Scoring = ROC_AUC
    sample: Sample | None = None  # held-out rows whose scores are kept
    kept: np.ndarray | None = None  # the kept scores, of shape (rows of the sample, points)
    held_out: HeldOut | None = None  # all held-out rows, fold by fold, with their scores at all points, where asked for
    pairs: RankedPairs | None = None  # the pairs that count, if not all of two classes: `auc` is their concordance

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
    numbers = None if folds.pairs is None or np.unique(folds.pairs.rank).size == 2 else folds.pairs
    grow = features.grower(X, positive, weights, groups, numbers)
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
    own = search if folds.pairs is None else replace(search, loss=search.loss.on_pairs(folds.pairs.take(index)))
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


def stretched_moments(moments: ClassMoments, rows: Rows, stretch: float) -> ClassMoments:
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


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """The AUC of held-out rows by the number of rows that a model was trained on.

    Attributes
    ----------
    rows : array of k
        Rows that models were trained on, from few to many.
    auc, noise : array of k
        Mean AUC of these models, and its standard error from the draw of the training rows.
    error : float
        Standard error from the draw of the held-out rows, which all sizes share.
    total : int
        Rows of the table.
    """

    rows: np.ndarray
    auc: np.ndarray
    noise: np.ndarray
    error: float
    total: int

    def at(self, rows: float, confidence: float = 0.9) -> Estimate:
        """The AUC to expect of a model of so many rows, with its band, which is symmetric on the logit scale."""
        middle, spread = self._trend(rows)
        inside = min(max(middle, 1e-6), 1.0 - 1e-6)
        half = quantile(confidence) * np.hypot(spread, self.error) / (inside * (1.0 - inside))
        return Estimate(middle, float(expit(logit(inside) - half)), float(expit(logit(inside) + half)))

    def gain(self, times: float, confidence: float = 0.9) -> Estimate:
        """The gain in AUC from `times` as many rows, with its band; both AUCs are for the same held-out rows."""
        (now, _), (then, spread) = self._trend(self.total), self._trend(times * self.total)
        half = quantile(confidence) * spread
        return Estimate(then - now, max(then - now - half, 0.0), then - now + half)

    def _trend(self, rows: float) -> tuple[float, float]:
        """AUC(n) = a - b·n^-c at n rows, and its standard error.

        For each c, weighted least squares give a and b ≥ 0; c has the prior 0.8 ± 0.3, and the curves of all c are
        averaged by how well they fit. No curve is exactly a power of n: the AUC of a size is taken to be off by 0.4 of
        its drop, a gain beyond the largest size by 0.7 of itself. These were chosen on tables that no figure uses.
        """
        drop = np.maximum.accumulate((self.auc.max() - self.auc)[::-1])[::-1]
        weight = 1.0 / (self.noise**2 + (0.4 * drop) ** 2 + 1e-8)
        found = []
        for c in np.linspace(0.1, 1.6, 31):
            design = np.column_stack([np.ones(self.rows.size), -((self.rows / self.rows[-1]) ** -c)])
            inverse = np.linalg.inv((design * weight[:, np.newaxis]).T @ design)
            point = np.array([1.0, -((rows / self.rows[-1]) ** -c)])
            coef, variance = inverse @ (design.T @ (weight * self.auc)), float(point @ inverse @ point)
            if coef[1] < 0.0:  # more rows do not make a model worse
                coef, variance = np.array([weight @ self.auc / weight.sum(), 0.0]), 1.0 / weight.sum()
            misfit = float(weight @ (self.auc - design @ coef) ** 2) + ((c - 0.8) / 0.3) ** 2
            found.append((misfit - np.log(np.linalg.det(inverse)), float(point @ coef), variance))
        misfits, values, variances = np.array(found).T
        share = np.exp(-0.5 * (misfits - misfits.min()))
        share /= share.sum()
        middle = float(share @ values)
        ahead = 0.7 * max(middle - float(self.auc[-1]), 0.0)
        return middle, float(np.sqrt(share @ (variances + (values - middle) ** 2) + ahead**2))


def learning_curve(
    rows: Rows, part: np.ndarray, *, groups: np.ndarray | None = None, n_folds: int = 5, most: int = 4, seed: int = 0
) -> LearningCurve:
    """The learning curve of the exact model of features, from moments of parts of the rows.

    `rows` has features (an array, or `MappedArray`) and whether rows are positive; `part` is the number of each row's
    part, from 0 on, the same for all rows of a group. Each fold has at most `most` models of a size, which share no
    part; each size has its own best penalty. The rows of one of the `groups` vary together.
    """
    classes, n_parts = np.array([False, True]), int(part.max()) + 1
    moments = [SQUARED.gather(rows, classes, np.flatnonzero(part == number)) for number in range(n_parts)]
    l2s = l2_unit(sum(moments[1:], moments[0])) * np.logspace(-6, 2, 9)
    exclusive, fold = getattr(rows.X, "exclusive", ()), np.arange(n_parts) % n_folds
    pools = [np.random.default_rng([seed, f]).permutation(np.flatnonzero(fold != f)) for f in range(n_folds)]
    largest = min(pool.size for pool in pools)
    sizes = [largest >> k for k in range(largest.bit_length())][::-1]
    aucs: list[list[np.ndarray]] = [[] for _ in sizes]  # for each size and each model: AUCs at all penalties
    held_out = []  # rows of each fold, and their scores by the models of the largest size
    largest_coefs = []  # of these models, at all penalties
    counts = np.bincount(part)
    used = np.zeros((n_folds, n_parts))  # rows of each part that they are trained on
    for f, pool in enumerate(pools):
        test, coefs, owner = np.flatnonzero(fold[part] == f), [], []
        for number, size in enumerate(sizes):
            for start in range(min(most, largest // size)):
                some = [moments[k] for k in pool[start * size : (start + 1) * size]]
                loss = SquaredPairLoss.from_moments(sum(some[1:], some[0]), exclusive)
                solved = solve_grid(loss, l2s, np.zeros(1), tol=1e-6, max_iter=1000)
                coefs.append(solved.coefs[:, 0])
                owner.append(number)
        scored = scores_of(rows.X, test, np.concatenate(coefs))
        weights = None if rows.weights is None else rows.weights[test]
        measured = roc_auc_columns(rows.y[test], scored, weights).reshape(len(owner), -1)
        for number, found in zip(owner, measured, strict=True):
            aucs[number].append(found)
        held_out.append((test, scored[:, -l2s.size :]))
        largest_coefs.append(coefs[-1])
        used[f, pool[:largest]] = np.sqrt(counts[pool[:largest]])
    overlap = used @ used.T
    by_fold = [np.mean(np.reshape(found, (n_folds, -1, l2s.size)), axis=1) for found in aucs]
    best = int(np.argmax(by_fold[-1].mean(axis=0)))
    widened = _widening(rows, groups, held_out, [coefs[best] for coefs in largest_coefs], overlap)
    of_folds = np.array([_without_optimism(found, widened) for found in by_fold])
    # standard error of the difference from the largest size; half of the one before for the largest size itself
    noise = np.std(of_folds - of_folds[-1], axis=1, ddof=1) / np.sqrt(n_folds)
    noise[-1] = noise[-2] / 2.0 if len(sizes) > 1 else 0.0
    noise = np.maximum.accumulate(noise[::-1])[::-1]
    mass = np.ones(part.size) if rows.weights is None else rows.weights
    moves = np.zeros(part.size)
    for test, scored in held_out:
        placed = placements(rows.y[test], scored[np.newaxis, :, best], mass[test])[0]
        moves[test] = influence(rows.y[test], placed, mass[test]) / n_folds
    units = np.arange(part.size) if groups is None else groups
    error = widened * Clusters.of_moves(moves, mass, units, rows.y.astype(bool)).error
    trained = np.array(sizes) * (part.size / n_parts)
    return LearningCurve(trained, of_folds.mean(axis=1), noise, error, part.size)


def _without_optimism(by_fold: np.ndarray, widened: float) -> np.ndarray:
    """The AUC of each fold at the best penalty, without the optimism of its choice; `by_fold` is (folds, penalties).

    The penalty is chosen again without each fold, and the lead of the choice of all folds over that one is taken off.
    The other folds know something of this one, because all share training rows: so the lead counts as often as errors
    are `widened` for that reason.
    """
    best, found = int(np.argmax(by_fold.mean(axis=0))), by_fold.copy()
    for fold in range(by_fold.shape[0]):
        others = np.delete(by_fold, fold, axis=0).mean(axis=0)
        found[fold] -= widened * (by_fold[fold, best] - by_fold[fold, int(np.argmax(others))])
    return found[:, best]


def _widening(
    rows: Rows,
    groups: np.ndarray | None,
    held_out: Sequence[tuple[np.ndarray, np.ndarray]],
    coefs: Sequence[np.ndarray],
    overlap: np.ndarray,
) -> float:
    """How much larger the error of the mean AUC of the folds is than that of one model on rows of a test set.

    Each row trains the models that score the others; `coefs` are those of the folds, which have `overlap` training rows
    in common. What their scores have in common for other training rows, too, does not count: `stable_share`.
    """
    n, positive = rows.y.size, np.asarray(rows.y, dtype=bool)
    parts = [test for test, _ in held_out]
    sample = draw_sample(parts, [n - test.size for test in parts], positive, rows.weights, groups, 1, seed=0)
    by_all = scores_of(rows.X, sample.rows, np.stack(coefs))
    return sample.widening(stable_share(by_all, overlap, sample))
