"""Compare feature maps, each with its grid, and take the best, the simplest that is nearly as good, or a blend.

On many rows all maps are first compared on a part of the rows, and only those that may still win go on (`race`). With
few positive rows, the candidate with the best cross-validated score is often best by luck: a blend is the weighted sum
of all candidates whose lag behind the best may be luck, each divided by the spread of its held-out scores.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from vrspam._utils.blas import SMALL
from vrspam._utils.progress import StepProgress
from vrspam._utils.validation import Rows
from vrspam._utils.warnings import MapsNotFitted, warn
from vrspam.features import FeatureMap, StackedFeatures
from vrspam.features.encoders import NearlyAllDiffer, SharedColumns
from vrspam.features.mapped import MapNotFitted, MappedArray, TooManyFeatures, hold_features
from vrspam.metrics import CorrectedAUC
from vrspam.metrics.correction import MANY_GROUPS, Sample, group_numbers, some_of_each_class, stable_share
from vrspam.metrics.groups import Clusters
from vrspam.model_selection import sources
from vrspam.model_selection.correction import Nested, OtherMeasure, correct
from vrspam.model_selection.cross_validate import (
    FoldModels,
    GridScores,
    GridSearch,
    cross_validate,
    cross_validate_labelled,
)
from vrspam.model_selection.folds import DeviceFolds, FoldedRows, Split
from vrspam.model_selection.held_out import HeldOut, sample_of, scores_of, stable_share_of_moments
from vrspam.model_selection.pairs import have_pairs, measure_columns
from vrspam.model_selection.selection import ROC_AUC, Choice, Grid, SelectionRule, blend_weights, select
from vrspam.moments import ClassMoments, FinishedMoments
from vrspam.solvers import ExactFit, SolverName
from vrspam.solvers.base import Solution
from vrspam.tables.frames import rows_of

# Errors with which a map leaves a comparison; any other error is one of the caller, or a defect.
CANNOT_BE_FITTED = (TooManyFeatures, MapNotFitted, np.linalg.LinAlgError)
FEW_BYTES = 1 << 25  # features of all rows are held up to this size, for the moments and then for the scores
Watch = Callable[[Any], None]  # receives the result of each step; str(result) is one line


@dataclass
class Candidate:
    """A fitted map (None for the columns as they are), the scores of its grid, and the chosen point of the grid."""

    name: str
    features: Any
    n_features: int
    n_rows: int
    scores: GridScores
    choice: Choice
    measured: tuple[float, float]  # the score at the point, and its standard error
    fit: ExactFit | None = None  # at the point, on all rows, if the model may need it
    spread: float = 1.0  # of the held-out scores at the point
    held_out: np.ndarray | None = None  # held-out scores of all rows, fold by fold and without intercepts, if kept
    by_all: np.ndarray | None = None  # scores of the rows of the sample by the models of all folds, if known
    models: FoldModels | None = None  # the models of all folds at the point, if their coefficients were kept
    lift: float = 0.0  # how much further apart the classes are in the fit's scores of new rows than in held-out scores

    @classmethod
    def of(
        cls, name: str, features: Any, n_features: int, n_rows: int, scores: GridScores, rule: SelectionRule
    ) -> Candidate:
        """Choose a point by the rule; take the models of the folds and the spread of the kept scores at that point."""
        measure = "" if scores.scoring is ROC_AUC else scores.scoring.name
        choice = select(scores.score, scores.grid, "best" if rule == "blend" else rule, measure=measure)
        measured = float(choice.mean[choice.index]), float(choice.standard_error[choice.index])
        found = cls(name, features, n_features, n_rows, scores, choice, measured)
        if scores.coefs is not None:
            i, j = choice.index
            found.models = FoldModels(scores.coefs[:, i, j].copy(), scores.intercepts[i, j])
        if scores.sample is not None and scores.kept is not None:
            point = np.ravel_multi_index([[index] for index in choice.index], choice.mean.shape)
            found.spread = float(scores.sample.spreads(scores.kept[:, point])[0])
        return found

    @property
    def aligned_models(self) -> FoldModels | None:
        """The models of all folds, moved so that all rows have the mean score that the fit on all rows gives them.

        A model has its zero half-way between the means of its classes, and the training rows of few positives are
        scored too far apart: by the more, the fewer they are. The mean of all rows does not depend on that.
        """
        if self.models is None or self.fit is None or getattr(self.features, "supervised", False):
            return self.models
        moments = self.fit.moments
        if moments.weights.size != 2:  # pairs of rows, which no constant moves
            return self.models
        means = moments.means
        middle, centre = np.average(means, axis=0, weights=moments.weights), means.mean(axis=0)
        at_middle = float(self.fit.solution.w @ (middle - centre))
        return self.models._replace(intercepts=at_middle - self.models.coefs @ middle)

    @property
    def densest(self) -> np.ndarray | None:
        """The fold models at the smallest l1, or None if the chosen l1 is 0: sparse models may agree by luck."""
        if self.scores.coefs is None or not self.choice.values["l1"] > 0.0:
            return None
        return self.scores.coefs[:, self.choice.index[0], int(self.scores.grid["l1"].argmin())]

    def __str__(self) -> str:
        """Name and score in a line."""
        mean, error = self.measured
        return f"{self.name}: {self.scores.scoring.name} {mean:.4f} ± {error:.4f} on {self.n_rows:,} rows"


class Fitted(NamedTuple):
    """What was chosen, fitted on all rows: one scorer, linear in the features of one map."""

    features: Any  # a fitted map, or None for the columns as they are
    solution: Solution  # for a blend `gap` is the largest of the members, whose F(0) is the same, and `value` is NaN
    moments: ClassMoments  # of the features; those of a blend have no scatter matrices
    l2: float  # of the best candidate
    solver: SolverName  # of the best candidate
    models: FoldModels | None  # this and the next three: as in `Candidate`
    held_out: np.ndarray | None = None
    by_all: np.ndarray | None = None
    lift: float = 0.0


class NotLearnt(ValueError):
    """A transformer of another package could not be fitted to these rows."""


def largest_gap(solutions: Sequence[Solution]) -> float | None:
    """The largest certificate of several solutions; None if one of them has none."""
    gaps = [solution.gap for solution in solutions]
    known = [gap for gap in gaps if gap is not None]
    return max(known) if len(known) == len(gaps) else None


@dataclass(frozen=True)
class Comparison:
    """All candidates, and their weights in the model."""

    candidates: list[Candidate]  # each with its own best point
    chosen: Candidate  # at the chosen point; for a blend the best candidate
    weights: np.ndarray  # of the candidates: 1 for the chosen one, or those of a blend
    order: tuple[str, ...] = ()  # the names of all maps, if some were compared only on a part of the rows
    others: Mapping[str, Candidate] = field(default_factory=dict)  # the maps compared only on a part of the rows

    @property
    def members(self) -> list[tuple[Candidate, float]]:
        """The candidates in the model, each with its factor: its weight divided by the spread of its scores."""
        best = int(self.weights.argmax())
        taken = [self.chosen if number == best else candidate for number, candidate in enumerate(self.candidates)]
        return [(c, weight / c.spread) for c, weight in zip(taken, self.weights.tolist(), strict=True) if weight > 0.0]

    def table(self) -> dict[str, list]:
        """`selection_` of the estimators: candidates with their CV score, one list for each column of the table."""
        found = {c.name: (c, weight) for c, weight in zip(self.candidates, self.weights.tolist(), strict=True)}
        found[self.chosen.name] = (self.chosen, found[self.chosen.name][1])
        found |= {name: (candidate, 0.0) for name, candidate in self.others.items()}
        rows = []
        for candidate, weight in [found[name] for name in self.order or found if name in found]:
            point, auc = candidate.choice, float(candidate.scores.auc[candidate.choice.index].mean())
            gap = None if candidate.fit is None else candidate.fit.solution.gap
            sizes, taken = (candidate.n_features, *point.values.values()), (weight > 0.0, weight, gap, candidate.n_rows)
            rows.append((candidate.name, *sizes, auc, *candidate.measured, *taken))
        names = ["features", "n_features", "l2", "l1", "auc", "score", "standard_error"]
        names += ["chosen", "weight", "gap", "rows"]
        table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        if self.chosen.scores.scoring is ROC_AUC:
            del table["score"]
        return table

    def fitted(self) -> Fitted:
        """The chosen candidate, or the blend, as one scorer."""
        best = self.chosen.fit
        assert best is not None
        if len(self.members) == 1:
            one = self.chosen
            return Fitted(one.features, *best, one.aligned_models, one.held_out, one.by_all, one.lift)
        members, factors = zip(*self.members, strict=True)
        fits = [member.fit for member in members if member.fit is not None]
        known_models = [member.aligned_models for member in members]
        models = [one for one in known_models if one is not None]
        solutions = [fit.solution for fit in fits]
        stationarities = [solution.stationarity for solution in solutions if solution.stationarity is not None]
        solution = Solution(
            w=np.concatenate([factor * part.w for factor, part in zip(factors, solutions, strict=True)]),
            value=float("nan"),
            gap=largest_gap(solutions),
            n_iter=max(part.n_iter for part in solutions),
            converged=all(part.converged for part in solutions),
            stationarity=max(stationarities, default=None),
        )
        coefs = [factor * model.coefs for factor, model in zip(factors, models, strict=True)]
        mixed: list[Any] = []
        for parts in ([member.held_out for member in members], [member.by_all for member in members]):
            known = [part for part in parts if part is not None]
            mixed.append(np.tensordot(factors, np.stack(known), axes=1) if len(known) == len(parts) else None)
        return Fitted(
            StackedFeatures.of_fitted([member.features for member in members]),
            solution,
            ClassMoments.side_by_side([fit.moments for fit in fits]),
            best.l2,
            best.solver,
            FoldModels(np.concatenate(coefs, axis=1), np.array(factors) @ np.stack([m.intercepts for m in models])),
            held_out=mixed[0],
            by_all=mixed[1],
            lift=float(np.dot(factors, [member.lift for member in members])),
        )

    def corrected(self, sample: Sample, search: GridSearch, held_out: HeldOut, **more: Any) -> CorrectedAUC:
        """The AUC of what was chosen, whose scores are `held_out`, corrected for the choice; more as in `correct`."""
        found = [candidate.scores for candidate in self.candidates]
        kept = np.concatenate([scores.kept for scores in found if scores.kept is not None], axis=1)
        other = None
        if found[0].scoring is not ROC_AUC:
            measured, intercepts = (
                np.concatenate([part.reshape(-1, part.shape[-1]) for part in parts])
                for parts in zip(*[(scores.score, scores.intercepts) for scores in found], strict=True)
            )
            other = OtherMeasure(found[0].scoring, measured, intercepts)
        if search.rule == "blend":  # even one candidate: the correction would measure it on the sample
            aucs = []
            for number in np.unique(held_out.fold):
                rows = held_out.fold == number
                positive, weights, places = held_out.positive[rows], held_out.weights[rows], held_out.places
                both = np.unique(positive[weights > 0.0]).size == 2
                places = None if sample.pairs is None else places[rows]
                scores = held_out.scores[rows, np.newaxis]
                aucs.append(measure_columns(sample.pairs, places, positive, scores, weights)[0] if both else 0.5)
            more["before"] = float(np.mean(aucs))
        grid = Grid.of([(scores.auc, scores.grid) for scores in found])
        return correct(sample, kept, grid, search.rule, search.seed, other, **more)


class Selected(NamedTuple):
    """What was compared, what was chosen and fitted, its held-out rows, and the corrected AUC where it is known."""

    comparison: Comparison
    fit: Fitted
    held_out: HeldOut
    corrected: CorrectedAUC | None


def choose_point(
    folds: FoldedRows | DeviceFolds, search: GridSearch, keep_coefs: bool = True, progress: StepProgress | None = None
) -> Selected:
    """Choose the penalties for the columns as they are, of rows in memory or on a device, and fit these on all rows."""
    if progress is not None:
        progress.start(folds.n_folds)
    watch = (lambda what: None) if progress is None else progress.tell
    sample = folds.sample(search.n_points, search.seed)
    source, sampled = _source(folds, search), replace(search, sample=sample)
    # The smallest l2 of the default grid take most of the iterations and are rarely chosen: try few iterations first.
    default = isinstance(search.l2s, str) and not isinstance(search.l1s, str) and not any(search.l1s)
    hurries = default and not search.loss.needs_rows and search.max_iter > 100
    few = replace(sampled, max_iter=100) if hurries else sampled
    scores = cross_validate(source, few, keep_coefs=keep_coefs, watch=watch)
    best = int(scores.score.mean(axis=-1)[:, 0].argmax())
    if hurries and not scores.converged[max(best - 1, 0) : best + 2].all():  # the best l2, or a neighbour
        scores = cross_validate(source, sampled, keep_coefs=keep_coefs)
    solver, total = source.solver, source.total
    del source  # frees the moments of the folds
    columns = Candidate.of("linear", None, total.means.shape[1], int(total.rows.sum()), scores, search.rule)
    columns.fit = search.solver(columns.choice).from_rows(folds.rows, folds.classes, solver, total)
    return _selected(Comparison([columns], columns, np.ones(1)), folds, search, sample)


def choose_point_of_blocks(source: sources.FoldSource, search: GridSearch, correct: bool = True) -> Selected:
    """Choose the penalties on folds of blocks, and fit them on the moments of all rows."""
    scores, total = cross_validate(source, search, keep_coefs=True), source.total
    columns = Candidate.of("linear", None, total.means.shape[1], int(total.rows.sum()), scores, search.rule)
    columns.fit = search.solver(columns.choice).from_moments(total)
    found = Comparison([columns], columns, np.ones(1))
    fit, every = found.fitted(), scores.held_out
    assert every is not None
    assert fit.models is not None
    point = int(np.ravel_multi_index(columns.choice.index, columns.choice.mean.shape))
    held_out = every.at(point, fit.models.intercepts)
    if not correct:
        return Selected(found, fit, held_out, None)
    scores.keep(sample := sample_of(every, search.n_points, search.seed))
    stable = stable_share_of_moments(source.total, sample, fit.models.coefs)
    if (dense := columns.densest) is not None:
        stable = min(stable, stable_share_of_moments(source.total, sample, dense))
    return Selected(found, fit, held_out, found.corrected(sample, search, held_out, stable=stable))


def choose_map(
    maps: dict[str, Any],
    folds: FoldedRows,
    search: GridSearch,
    alone: bool,
    progress: StepProgress | None,
    shared: SharedColumns,
) -> Selected:
    """Compare the maps on rows in memory, after a race if there are many rows, and fit the choice on all rows."""
    watch = (lambda what: None) if progress is None else progress.tell
    sample = folds.sample(len(maps) * search.n_points, search.seed)
    if progress is not None:
        progress.start(len(maps))
    finalists, others = race(maps, folds, search, watch, alone)
    if progress is not None:
        progress.start(len(finalists))
    learn_maps(list(finalists.values()), folds.rows, search.n_jobs, shared)
    grouped: dict[Any, Any] = {}  # one warning for each column, not for each map
    for features in finalists.values():
        for one in getattr(features, "grouped_categories_", ()):
            grouped.setdefault(one.column, one)
    for warning in grouped.values():
        warn(warning)
    evaluator = MapsInMemory(folds, replace(search, sample=sample))
    found = compare(finalists, evaluator, search.rule, watch)
    lead, error = max(one.measured for one in found.candidates)
    (mean, own), missed = max(((one.measured, one.name) for one in others.values()), default=((0.0, 0.0), ""))
    # Trees cut a column into bins of equally many rows, so on many rows each bin joins more of the different values:
    # one of the others may have been clearly better on its part than the finalists are on all rows.
    if mean - lead > max(0.002, 3.0 * float(np.hypot(error, own))):
        others = {name: candidate for name, candidate in others.items() if name != missed}
        finalists = {name: features for name, features in maps.items() if name in finalists or name == missed}
        learn_maps([maps[missed]], folds.rows, search.n_jobs, shared)
        found = compare(finalists, evaluator, search.rule, watch)
    named = [one for features in finalists.values() for one in getattr(features, "numbers_as_names_", ())]
    for said in {one.column: one for one in named}.values():
        warn(said)
    return _selected(replace(found, order=tuple(maps), others=others), folds, search, sample)


def _source(folds: FoldedRows | DeviceFolds, search: GridSearch) -> sources.RowsInMemory | sources.RowsOnDevice:
    """The columns as they are, as a source of folds."""
    if isinstance(folds, DeviceFolds):
        return sources.RowsOnDevice(folds)
    return sources.RowsInMemory(*folds[:3], search.n_jobs, search.loss)


def _selected(found: Comparison, folds: FoldedRows | DeviceFolds, search: GridSearch, sample: Sample) -> Selected:
    """Score all held-out rows by the chosen model, and correct its AUC for the choice."""
    fit, rows, unmapped = found.fitted(), folds.rows, folds
    models, point = fit.models, found.chosen.choice.values
    if models is None:  # the coefficients of all points would take too much memory: solve the folds again
        alone = replace(search, l2s=[point["l2"]], l1s=[point["l1"]])
        again = cross_validate(_source(folds, search), alone, keep_coefs=True)
        assert again.coefs is not None
        found.chosen.models = FoldModels(again.coefs[:, 0, 0], again.intercepts[0, 0])
        models = found.chosen.aligned_models
        assert models is not None
    if isinstance(folds, FoldedRows) and fit.features is not None:
        rows = rows._replace(X=MappedArray(rows.X, fit.features))
        folds = folds._replace(rows=rows)
    known = () if fit.held_out is None else (fit.held_out,)
    held_out = folds.out_of_fold(*models, *known)
    by_all = scores_of(rows.X, sample.rows, models.coefs) if fit.by_all is None else fit.by_all
    stable = stable_share(by_all, folds.overlap(), sample)
    if len(found.members) == 1 and (dense := found.chosen.densest) is not None:
        stable = min(stable, stable_share(scores_of(rows.X, sample.rows, dense), folds.overlap(), sample))
    nested = clusters = None
    if isinstance(unmapped, FoldedRows) and unmapped.groups is not None and unmapped.pairs is None:
        numbers = group_numbers(unmapped.groups, folds.rows.y.size)
        # pairs of rows in different folds count too: a fold of few groups has hardly any pairs of two groups
        clusters = Clusters.of(held_out.positive, held_out.scores, held_out.weights, numbers[held_out.places])
        nested = nested_scores(found, unmapped, search) if clusters.n_groups < MANY_GROUPS else None
    corrected = found.corrected(sample, search, held_out, stable=stable, nested=nested, clusters=clusters)
    return Selected(found, fit, held_out, corrected)


def nested_scores(found: Comparison, folds: FoldedRows, search: GridSearch) -> Nested | None:
    """Solve all candidates again without each pair of folds; None if the folds do not allow it.

    There must be at least three folds, each trained on all rows that it does not hold out, and each row held out once.
    """
    n, fold = folds.rows.X.shape[0], np.full(folds.rows.X.shape[0], -1)
    for number, split in enumerate(folds.splits):
        fold[split.validation] = number
    whole = sum(split.validation.size for split in folds.splits) == n and fold.min() >= 0
    if len(folds.splits) < 3 or not whole or any(sum(map(len, split)) != n for split in folds.splits):
        return None
    pairs = list(combinations(range(len(folds.splits)), 2))
    splits = [Split(np.flatnonzero(~held), np.flatnonzero(held)) for held in (np.isin(fold, pair) for pair in pairs)]
    if any(np.unique(folds.positive[split.train]).size < 2 for split in splits):
        return None
    paired = folds._replace(splits=splits)
    sample = paired.sample(sum(candidate.choice.mean.size for candidate in found.candidates), search.seed)
    kept, intercepts = [], []
    for candidate in found.candidates:
        rows, axes = folds.rows, candidate.scores.grid
        again = replace(search, l2s=axes["l2"], l1s=axes["l1"], sample=sample)
        if getattr(candidate.features, "supervised", False):
            scores = cross_validate_labelled(copy(candidate.features), paired, again).scores
        else:
            if candidate.features is not None:
                rows = rows._replace(X=hold_features(MappedArray(rows.X, candidate.features), FEW_BYTES))
            source = sources.RowsInMemory(rows, paired.splits, folds.classes, search.n_jobs, search.loss)
            scores = cross_validate(source, again.on(candidate.features))
        assert scores.kept is not None
        kept.append(scores.kept)
        intercepts.append(scores.intercepts.reshape(-1, len(pairs)))
    return Nested(pairs, fold, sample, np.concatenate(kept, axis=1), np.concatenate(intercepts), search.scoring)


class MapsInMemory(NamedTuple):
    """Cross-validates and fits learnt maps on rows in memory."""

    folds: FoldedRows
    search: GridSearch

    def evaluate(self, name: str, features: Any) -> tuple[Candidate, sources.RowsInMemory | None]:
        """Cross-validate the grid of a fitted map; also return the source of its folds (None if it is supervised)."""
        folds, search = self
        if getattr(features, "supervised", False):
            scores, held_out, by_all, fit, lift = cross_validate_labelled(features, folds, search)
            refuse_not_finite(scores)
            found = Candidate.of(name, features, features.n_features_out_, folds.rows.y.size, scores, search.rule)
            found.held_out, found.by_all, found.fit, found.lift = held_out, by_all, fit, lift
            return found, None
        X: Any = hold_features(MappedArray(folds.rows.X, features), FEW_BYTES)
        source = sources.RowsInMemory(folds.rows._replace(X=X), folds.splits, folds.classes, search.n_jobs, search.loss)
        sizes = () if search.sample is None else [split.validation.size for split in folds.splits]
        scores = cross_validate(source, search.on(features), keep_coefs=True, held_out=sizes)
        refuse_not_finite(scores)
        found = Candidate.of(name, features, X.shape[1], folds.rows.y.size, scores, search.rule)
        if scores.held_out is not None:
            point = int(np.ravel_multi_index(found.choice.index, found.choice.mean.shape))
            found.held_out = scores.held_out.scores[:, point].copy()
            scores.held_out = None  # all points of all maps would take too much memory
        if search.sample is not None and isinstance(X, np.ndarray) and found.models is not None:
            found.by_all = scores_of(X, search.sample.rows, found.models.coefs)
        return found, source

    def fit(self, candidate: Candidate, source: sources.RowsInMemory | None = None) -> ExactFit:
        """Fit a candidate on all rows at its point; without the `source` of `evaluate` moments are computed again."""
        if candidate.fit is not None:  # of trees that learnt from labels
            return candidate.fit
        if source is None:
            X = MappedArray(self.folds.rows.X, candidate.features)
            rows, solver, total = *sources.rows_for_solver(self.folds.rows._replace(X=X)), None
        else:
            rows, solver, total = source.rows, source.solver, candidate.scores.total
        if self.search.loss.needs_rows:
            rows = rows._replace(X=hold_features(rows.X))
        exact = self.search.on(candidate.features).solver(candidate.choice)
        fit = exact.from_rows(rows, self.folds.classes, solver, total)
        moments = fit.moments  # computed completely, so that the rows are no longer needed
        return fit._replace(moments=moments.settled) if isinstance(moments, FinishedMoments) else fit


def compare(maps: dict[str, Any], evaluator: Any, rule: SelectionRule, watch: Watch = lambda what: None) -> Comparison:
    """Evaluate each map, and fit what is chosen on all rows; `evaluator` is `MapsInMemory`, or has its methods.

    Maps that cannot be fitted, or give too many features, are left out, with a warning; if all are, that is an error.
    """
    candidates: list[Candidate] = []
    refusals: dict[str, Exception] = {}
    for name, features in maps.items():
        try:
            new, source = evaluator.evaluate(name, features)
        except CANNOT_BE_FITTED as refusal:
            refusals[name] = refusal
            continue
        candidates.append(new)
        # Fitted now, while its moments are at hand: the matrices of all maps would take too much memory.
        if rule != "one-standard-error" and weights_of(candidates, rule)[-1] > 0.0:
            new.fit = evaluator.fit(new, source)
        new.scores.total = None
        if rule != "one-standard-error":  # that rule may still take another point
            new.scores.coefs = None  # those of a grid with l1 would take much memory
        del source  # frees the features that its rows may hold
        watch(new)
        best = int(weights_of(candidates, rule).argmax())
        for number, one in enumerate(candidates):  # keep the square matrices of the best alone
            if number != best and one.fit is not None and one.fit.moments.has_scatter:
                one.fit = one.fit._replace(moments=ClassMoments.side_by_side([one.fit.moments]))
    if not candidates:
        raise list(refusals.values())[-1]
    if refusals:
        warn(MapsNotFitted(tuple(refusals), tuple(map(str, refusals.values()))))
    weights = weights_of(candidates, rule)
    if rule == "one-standard-error":
        weights, chosen = _simplest(candidates)
    else:
        chosen = candidates[int(weights.argmax())]
    found = Comparison(candidates, chosen, weights)
    for member, _ in found.members:
        if member.fit is None:
            member.fit = evaluator.fit(member)
    return found


def refuse_not_finite(scores: GridScores) -> None:
    """Raise an error if the models of the folds have coefficients, or measures, that are not numbers."""
    parts = [scores.score, scores.auc, scores.intercepts]
    if scores.coefs is not None:
        parts.append(scores.coefs)
    if not all(np.isfinite(part).all() for part in parts):
        raise MapNotFitted("the coefficients or the scores of its models are not finite: rescale its features")


def learn_maps(maps: Sequence[Any], rows: Rows, n_jobs: int | None, shared: SharedColumns) -> None:
    """Fit the maps without labels: the first one fills `shared` for all maps, then the others fit in parallel."""

    def learn(features: Any) -> None:
        if isinstance(features, FeatureMap):
            features.learn(rows.X, rows.weights, shared)
            return
        try:
            features.fit(rows.X)
        except (TypeError, ValueError) as error:
            raise NotLearnt(
                f"{type(features).__name__} could not be fitted as a feature map, which is given X alone and no "
                f"labels: {error}"
            ) from error

    first, *others = maps
    learn(first)
    if others:
        in_turn = not all(isinstance(features, FeatureMap) for features in others)
        learn_bytes = 1 << 25  # that a map takes at most while it is fitted
        sources.over_folds(learn, others, sources.FoldProblem(True, False, learn_bytes, in_turn), n_jobs)


def weights_of(candidates: Sequence[Candidate], rule: SelectionRule) -> np.ndarray:
    """The weight of each candidate: 1 for the first of the best ones, or those of a blend."""
    if rule == "blend":
        return blend_weights(np.stack([candidate.scores.score[candidate.choice.index] for candidate in candidates]))
    number, _ = chosen_point(candidates, "best")
    return (np.arange(len(candidates)) == number).astype(np.float64)


def chosen_point(candidates: Sequence[Candidate], rule: SelectionRule) -> tuple[int, tuple[int, ...]]:
    """The number of the candidate that "best" or "one-standard-error" takes, and its point."""
    grid = Grid.of([(candidate.scores.score, candidate.scores.grid) for candidate in candidates])
    point = int(grid.chosen(rule, grid.auc[:, :, np.newaxis])[0])
    stops = np.cumsum(grid.sizes)
    number = int(np.searchsorted(stops, point, side="right"))
    inside = point - int(stops[number] - grid.sizes[number])
    index = np.unravel_index(inside, candidates[number].choice.mean.shape)
    return number, tuple(np.array(index).tolist())


def _simplest(candidates: Sequence[Candidate]) -> tuple[np.ndarray, Candidate]:
    """The first candidate with a point within one standard error of the best of all, moved to the simplest of these."""
    number, index = chosen_point(candidates, "one-standard-error")
    chosen = candidates[number]
    values = {name: float(axis[i]) for (name, axis), i in zip(chosen.scores.grid.items(), index, strict=True)}
    point = replace(chosen.choice, index=index, values=values)
    measured = float(point.mean[index]), float(point.standard_error[index])
    coefs, (i, j) = chosen.scores.coefs, index
    models = None if coefs is None else FoldModels(coefs[:, i, j].copy(), chosen.scores.intercepts[i, j])
    chosen = replace(chosen, choice=point, measured=measured, models=models, held_out=None, by_all=None)
    return (np.arange(len(candidates)) == number).astype(np.float64), chosen


class Race(NamedTuple):
    """The maps that go on, and the others as candidates with their scores on a part of the rows."""

    finalists: dict[str, Any]
    others: dict[str, Candidate]


def race(maps: dict[str, Any], folds: FoldedRows, search: GridSearch, watch: Watch, alone: bool = True) -> Race:
    """Compare the maps on a part of the rows, if there are many rows and more maps than may go on.

    With `alone`, one winner goes on if there are very many rows, where blends gain least: the narrowest of kernels that
    differ in width, else the map that is ahead on a larger part. The best map that gains more than others from more
    rows and the best of the others both go on unless one is clearly ahead. Only the AUC can be raced, because the share
    of positives is larger in the part, and no race finds the simplest map, which "one-standard-error" asks for.
    """
    n, other_question = folds.rows.y.size, search.scoring is not ROC_AUC or search.rule == "one-standard-error"
    if len(maps) <= RULES.finalists or n < RULES.from_rows or search.loss.needs_rows or other_question:
        return Race(maps, {})
    rng = np.random.default_rng(search.seed)
    candidates = RULES.heat.run(maps, folds, search, rng, watch)
    if not candidates:
        return Race(maps, {})
    weights = weights_of(candidates, "blend")
    order = np.argsort(-weights, kind="stable")[: RULES.finalists]
    kept = {candidates[number].name for number in order if weights[number] >= RULES.still * weights.max()}
    lead, both = _lead(candidates)
    kept = both if -RULES.behind <= lead <= RULES.ahead else kept  # a part cannot tell them apart
    very_many = n >= RULES.again_from_rows
    if very_many and alone:  # on all rows kernels have more landmarks, from which the narrowest of a kind gains most
        ours: dict[str, Any] = {name: maps[name] for name in kept if isinstance(maps[name], FeatureMap)}
        kept -= {name for name in ours if any(other.is_finer(ours[name]) for other in ours.values())}
    others = {candidate.name: candidate for candidate in candidates if candidate.name not in kept}
    if very_many and len(kept) > 1:
        finalists = {name: maps[name] for name in maps if name in kept}
        candidates = RULES.again.run(finalists, folds, search, rng, lambda what: None)
        if len(candidates) == len(kept):
            weights = weights_of(candidates, "blend")
            gains = [RULES.gain * getattr(one.features, "gains_by_rows", False) for one in candidates]
            leads = np.array([one.choice.mean.max() for one in candidates]) + gains
            enough = np.arange(leads.size) == leads.argmax() if alone else weights > 0.0
            others |= {one.name: one for one, goes_on in zip(candidates, enough, strict=True) if not goes_on}
    # A map with too many features even here has too many on all rows: `compare` raises the error.
    return Race({name: new for name, new in maps.items() if name not in others}, others)


def _lead(candidates: Sequence[Candidate]) -> tuple[float, set[str]]:
    """The lead of the best map that gains more from more rows over the best of the others, and both names."""
    best: dict[bool, tuple[float, str]] = {}
    for candidate in candidates:
        gains, mean = getattr(candidate.features, "gains_by_rows", False), float(candidate.choice.mean.max())
        best[gains] = max(best.get(gains, (0.0, "")), (mean, candidate.name))
    lead = best[True][0] - best[False][0] if len(best) == 2 else -np.inf
    return lead, {name for _, name in best.values()}


class Heat(NamedTuple):
    """A comparison of maps on a part of the rows: how many rows, landmarks and folds it has at most."""

    rows: int
    landmarks: int
    folds: int

    def run(
        self, maps: dict[str, Any], folds: FoldedRows, search: GridSearch, rng: np.random.Generator, watch: Watch
    ) -> list[Candidate]:
        """Cross-validate each map on the part; empty if the part is too small."""
        part = self._part(folds, rng)
        if any(np.unique(part.rows.y[index]).size < 2 for split in part.splits for index in split):
            return []  # a fold has rows of one class only in the part
        if part.pairs is not None and not have_pairs(part.pairs, part.splits, part.rows.weights):
            return []
        try:
            small = {name: clone(features) for name, features in maps.items()}
            for features in small.values():
                landmarks = features.get_params().get("n_landmarks")
                if isinstance(landmarks, int | str):
                    few = self.landmarks if isinstance(landmarks, str) else min(landmarks, self.landmarks)
                    features.set_params(n_landmarks=few)
            learn_maps(list(small.values()), part.rows, search.n_jobs, {})
        except (NearlyAllDiffer, NotLearnt):
            # Perhaps the part is too small. If all rows have the same problem, `choose_map` raises the error.
            return []
        loss = search.loss if part.pairs is None else search.loss.on_pairs(part.pairs)
        found = self._evaluate(small, part, replace(search, rule="best", loss=loss), watch)
        return [found[name] for name in maps if name in found]

    def _part(self, folds: FoldedRows, rng: np.random.Generator) -> FoldedRows:
        """Some rows (half of them of each class, or all rows of a class that has fewer) and their folds."""
        X, y, weights = folds.rows
        counts = np.ones(y.size, dtype=bool) if weights is None else weights > 0.0
        strata = None if folds.pairs is None else folds.pairs.stratum
        if strata is None:
            sides = [np.flatnonzero(counts & (folds.positive == side)) for side in (False, True)]
            index = np.sort(np.concatenate(some_of_each_class(sides, self.rows, rng)))
        else:  # whole strata, up to that many rows
            order, sizes = rng.permutation(int(strata.max()) + 1), np.bincount(strata)
            some = order[: max(2, int(np.searchsorted(np.cumsum(sizes[order]), self.rows, "right")))]
            index = np.flatnonzero(np.isin(strata, some))
        place = np.full(y.size, -1)
        place[index] = np.arange(index.size)
        splits = [Split(*(place[part][place[part] >= 0] for part in split)) for split in folds.splits[: self.folds]]
        rows = Rows(rows_of(X, index), y[index], None if weights is None else weights[index])
        pairs = None if folds.pairs is None else folds.pairs.take(index)
        groups = None if folds.groups is None else group_numbers(folds.groups, y.size)[index]
        return FoldedRows(rows, splits, folds.classes, folds.positive[index], groups, pairs)

    def _evaluate(
        self, maps: dict[str, Any], folds: FoldedRows, search: GridSearch, watch: Watch
    ) -> dict[str, Candidate]:
        """Cross-validate fitted maps, small ones side by side; those with too many features are left out."""
        found: dict[str, Candidate] = {}
        untold, done, lock = deque(maps), set(), Lock()

        def evaluate(name: str, search: GridSearch) -> None:
            with suppress(
                TooManyFeatures, MapNotFitted, np.linalg.LinAlgError
            ):  # `compare` meets them again, and names them
                new, _ = MapsInMemory(folds, search).evaluate(name, maps[name])
                new.scores.total = new.scores.coefs = None  # those of all maps would take too much memory
                found[name] = new
            with lock:  # maps end in any order, but are reported in their own order
                done.add(name)
                while untold and untold[0] in done:
                    told = untold.popleft()
                    if told in found:
                        watch(found[told])

        ours = [name for name, features in maps.items() if isinstance(features, FeatureMap)]
        small = [name for name in ours if maps[name].n_features_out_ <= SMALL]
        widest = max((maps[name].n_features_out_ for name in small), default=1)
        needed = FEW_BYTES + (16 * len(folds.splits) + 80) * widest**2  # features that are held, moments, and one fold
        problem = sources.FoldProblem(True, False, needed)
        if sources.how_many_at_once(len(small), problem, search.n_jobs) == 1:
            small = []
        else:
            sources.over_folds(partial(evaluate, search=replace(search, n_jobs=1)), small, problem, search.n_jobs)
        for name in maps:
            if name not in small:
                evaluate(name, search)
        return found


class RaceRules(NamedTuple):
    """When and how maps race; on very many rows the finalists race again."""

    from_rows: int = 15_000  # below, the race would take as long as what it saves
    heat: Heat = Heat(4_000, 150, 3)
    finalists: int = 2
    still: float = 0.3  # maps go on whose weight in a blend on the part is at least this share of the best's
    # The best map that gains more than others from more rows and the best of the others both go on if the AUC of the
    # first, on the part (where landmarks are few), is at most so much behind, or ahead.
    behind: float = 0.02
    ahead: float = 0.03
    gain: float = 0.005  # added to the AUC of such a map, for its gain from all rows, if one map goes on alone
    again_from_rows: int = 50_000
    again: Heat = Heat(10_000, 500, 3)


RULES = RaceRules()
