"""Compare feature maps, each with its grid, and take the best, the simplest that is nearly as good, or a blend.

On many rows all maps are first compared on a part of the rows, and only those that may still win go on (`race`). With
few positive rows, the candidate with the best cross-validated score is often best by luck: a blend is the weighted sum
of all candidates whose lag behind the best may be luck, each divided by the spread of its held-out scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.validation import Rows
from vrspam._utils.warnings import MapsNotFitted, warn
from vrspam.features import FeatureMap, StackedFeatures
from vrspam.features.learning import SharedColumns
from vrspam.features.mapped import MapNotFitted, MappedArray, TooManyFeatures, hold_features
from vrspam.metrics import CorrectedAUC
from vrspam.metrics.correction import Sample
from vrspam.model_selection.correction import OtherMeasure, correct
from vrspam.model_selection.cross_validate import FoldModels, GridScores, cross_validate
from vrspam.model_selection.folds import FoldedRows
from vrspam.model_selection.held_out import HeldOut, scores_of
from vrspam.model_selection.labelled import cross_validate_labelled
from vrspam.model_selection.scoring import ROC_AUC
from vrspam.model_selection.search import GridSearch
from vrspam.model_selection.selection import Choice, Grid, SelectionRule, blend_weights, select
from vrspam.model_selection.sources import FoldProblem, RowsInMemory, over_folds, rows_for_solver
from vrspam.moments import ClassMoments, FinishedMoments, PairSums
from vrspam.solvers import ExactFit, SolverName
from vrspam.solvers.base import Solution

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
    moments: PairSums  # of the features; those of a blend have no scatter matrices
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
                places = None if places is None else places[rows]
                scores = held_out.scores[rows, np.newaxis]
                aucs.append(search.loss.pairs.columns(places, positive, scores, weights)[0] if both else 0.5)
            more["before"] = float(np.mean(aucs))
        grid = Grid.of([(scores.auc, scores.grid) for scores in found])
        pairs = search.loss.pairs
        return correct(sample, kept, grid, search.rule, search.seed, other, pairs=pairs, **more)


class MapsInMemory(NamedTuple):
    """Cross-validates and fits learnt maps on rows in memory."""

    folds: FoldedRows
    search: GridSearch

    def evaluate(self, name: str, features: Any) -> tuple[Candidate, RowsInMemory | None]:
        """Cross-validate the grid of a fitted map; also return the source of its folds (None if it is supervised)."""
        folds, search = self
        if getattr(features, "supervised", False):
            scores, held_out, by_all, fit, lift = cross_validate_labelled(features, folds, search)
            refuse_not_finite(scores)
            found = Candidate.of(name, features, features.n_features_out_, folds.rows.y.size, scores, search.rule)
            found.held_out, found.by_all, found.fit, found.lift = held_out, by_all, fit, lift
            return found, None
        X: Any = hold_features(MappedArray(folds.rows.X, features), FEW_BYTES)
        source = RowsInMemory(folds.rows._replace(X=X), folds.splits, folds.classes, search.n_jobs, search.loss)
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

    def fit(self, candidate: Candidate, source: RowsInMemory | None = None) -> ExactFit:
        """Fit a candidate on all rows at its point; without the `source` of `evaluate` moments are computed again."""
        if candidate.fit is not None:  # of trees that learnt from labels
            return candidate.fit
        if source is None:
            X = MappedArray(self.folds.rows.X, candidate.features)
            rows, solver, total = *rows_for_solver(self.folds.rows._replace(X=X)), None
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
        over_folds(learn, others, FoldProblem(True, False, learn_bytes, in_turn), n_jobs)


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
