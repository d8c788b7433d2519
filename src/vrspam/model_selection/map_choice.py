"""Cross-validate several feature maps, and take the best one, the simplest that is nearly as good, or a blend.

Each map is fitted without labels and has a grid of its own; the map and the point of its grid are chosen together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.validation import Rows
from vrspam._utils.warnings import warn
from vrspam.features import FeatureMap, StackedFeatures
from vrspam.features.encoders import SharedColumns
from vrspam.features.mapped import MappedArray, TooManyFeatures, hold_features
from vrspam.metrics import roc_auc_columns
from vrspam.model_selection.blending import blend_weights
from vrspam.model_selection.corrected import Corrected, Grid, OtherMeasure, correct
from vrspam.model_selection.cross_validate import GridScores, GridSearch, cross_validate
from vrspam.model_selection.folds import Split
from vrspam.model_selection.held_out import HeldOut
from vrspam.model_selection.kept_scores import KeptRows
from vrspam.model_selection.selection import TIE, Choice, SelectionRule, simplest
from vrspam.model_selection.sources import FoldProblem, RowsInMemory, over_folds, rows_for_solver
from vrspam.model_selection.stability import scores_by_all
from vrspam.moments import ClassMoments, FinishedMoments
from vrspam.solvers import ExactFit, SolverName
from vrspam.solvers.base import Solution

FEW_BYTES = 1 << 25  # features of all rows are held up to this size: they are read for the moments, and for the scores
LEARN_BYTES = 1 << 25  # that a map takes at most while it is fitted
# From rows, the way to read them, the chosen point and the moments of all rows, where they are known, to its fit.
Fitter = Callable[[Rows, SolverName, Choice, ClassMoments | None], ExactFit]


class FoldModels(NamedTuple):
    """Linear scorers, one trained on each fold: coefs of shape (folds, features), intercepts of shape (folds,)."""

    coefs: np.ndarray
    intercepts: np.ndarray


@dataclass
class Candidate:
    """A fitted map (None for the columns as they are), the scores of its grid, and the chosen point of it.

    `fit` is that of the point on all rows, where it may be needed; `spread` that of the held-out scores at the point;
    `held_out` are these scores for each fold, without intercept, where they were kept; `by_all` are those of the rows
    that the search keeps by the models of all folds, where the features were at hand; `models` are those of the folds
    at the point, where the other points were forgotten.
    """

    name: str
    features: Any
    n_features: int
    n_rows: int
    scores: GridScores
    choice: Choice
    fit: ExactFit | None = None
    spread: float = 1.0
    held_out: list[np.ndarray] | None = None
    by_all: np.ndarray | None = None
    models: FoldModels | None = None

    @property
    def fold_scores(self) -> np.ndarray:
        """The measure that chooses, at the chosen point, on each fold."""
        return self.scores.score[self.choice.index]

    @property
    def described(self) -> str:
        """Name and score in a line."""
        mean, error = self.choice.mean[self.choice.index], self.choice.standard_error[self.choice.index]
        return f"{self.name}: {self.scores.scoring.name} {mean:.4f} ± {error:.4f} on {self.n_rows:,} rows"

    @property
    def fold_models(self) -> FoldModels | None:
        """The models of the folds at the chosen point, where their coefficients were kept."""
        (i, j), coefs = self.choice.index, self.scores.coefs
        return self.models if coefs is None else FoldModels(coefs[:, i, j], self.scores.intercepts[i, j])

    def forget_other_points(self) -> None:
        """Keep the models of the folds at the chosen point alone: of a grid with l1 all would take much memory."""
        kept, self.scores.coefs = self.fold_models, None
        self.models = None if kept is None else FoldModels(kept.coefs.copy(), kept.intercepts)


class FittedChoice(NamedTuple):
    """What was chosen, fitted on all rows: one scorer, linear in the features of one map.

    Attributes
    ----------
    features : fitted map, or None for the columns as they are
    solution : Solution
        Of a blend `value` is NaN, and `gap` the largest of its members: F(0) is the same for all of them.
    moments : ClassMoments
        Of the features; those of a blend have no scatter matrices.
    l2 : float
    solver : str
        Of the best candidate, as l2.
    fold_models : FoldModels or None
    held_out : list of ndarray or None
        Scores of the rows that each fold holds out by its model, without intercept, where they were kept.
    by_all : ndarray or None
        Scores of kept rows by the models of all folds (`vrspam.model_selection.stability`), where they are known.
    """

    features: Any
    solution: Solution
    moments: ClassMoments
    l2: float
    solver: SolverName
    fold_models: FoldModels | None
    held_out: list[np.ndarray] | None = None
    by_all: np.ndarray | None = None


@dataclass(frozen=True)
class MapChoice:
    """All candidates, and what the model is made of.

    Attributes
    ----------
    candidates : list of Candidate
        Each with its own best point.
    chosen : Candidate
        The one that was taken, with the point that was taken; of a blend the best.
    weights : ndarray of shape (candidates,)
        1 for the chosen one, or the weights of a blend.
    scales : ndarray of shape (candidates,)
        Spread of the held-out scores of each.
    order : tuple of str
        The names of all that were compared, if some of them did not come so far.
    others : dict of str to Candidate
        Those, compared on a part of the rows.
    """

    candidates: list[Candidate]
    chosen: Candidate
    weights: np.ndarray
    scales: np.ndarray
    order: tuple[str, ...] = ()
    others: Mapping[str, Candidate] = field(default_factory=dict)

    @property
    def point(self) -> Choice:
        """The chosen point of the best candidate."""
        return self.chosen.choice

    @property
    def _with_chosen(self) -> list[Candidate]:
        """The candidates, and the chosen one at the point that was taken."""
        best = int(self.weights.argmax())
        return [self.chosen if number == best else candidate for number, candidate in enumerate(self.candidates)]

    @property
    def members(self) -> list[Candidate]:
        """What the model is made of."""
        return [candidate for candidate, weight in zip(self._with_chosen, self.weights, strict=True) if weight > 0.0]

    @property
    def is_blend(self) -> bool:
        """Whether the model is made of several candidates."""
        return len(self.members) > 1

    def table(self) -> dict[str, list]:
        """Candidates with their CV score ± standard error, one list for each column of the table.

        The score has a column of its own where it is not the AUC; the standard error is that of the score. The gap is
        that of the fit on all rows, NaN where there was none; `rows` are those that the score rests on.
        """
        rows = []
        found = {c.name: (c, weight) for c, weight in zip(self._with_chosen, self.weights.tolist(), strict=True)}
        found |= {name: (candidate, 0.0) for name, candidate in self.others.items()}
        for candidate, weight in [found[name] for name in self.order or found if name in found]:
            point = candidate.choice
            score, error = float(point.mean[point.index]), float(point.standard_error[point.index])
            auc = score if candidate.scores.by_auc else float(candidate.scores.auc[point.index].mean())
            gap = float("nan") if candidate.fit is None else float(candidate.fit.solution.gap)
            chosen = weight > 0.0
            sizes, taken = (candidate.n_features, *point.values.values()), (chosen, weight, gap, candidate.n_rows)
            rows.append((candidate.name, *sizes, auc, score, error, *taken))
        names = ["features", "n_features", "l2", "l1", "auc", "score", "standard_error"]
        names += ["chosen", "weight", "gap", "rows"]
        table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        if self.chosen.scores.by_auc:
            del table["score"]
        return table

    def fitted(self) -> FittedChoice:
        """The chosen candidate, or the blend, as one scorer."""
        best = self.chosen.fit
        assert best is not None
        if not self.is_blend:
            one = self.chosen
            return FittedChoice(one.features, *best, one.fold_models, one.held_out, one.by_all)
        used = np.flatnonzero(self.weights)
        members = self.members
        factors = self.weights[used] / self.scales[used]
        fits = [member.fit for member in members if member.fit is not None]
        solutions = [fit.solution for fit in fits]
        stationarities = [solution.stationarity for solution in solutions if solution.stationarity is not None]
        solution = Solution(
            w=np.concatenate([factor * part.w for factor, part in zip(factors, solutions, strict=True)]),
            value=float("nan"),
            gap=float(np.max([part.gap for part in solutions])),
            n_iter=max(part.n_iter for part in solutions),
            converged=all(part.converged for part in solutions),
            stationarity=max(stationarities, default=None),
        )
        models = [member.fold_models for member in members if member.fold_models is not None]
        coefs = [factor * model.coefs for factor, model in zip(factors, models, strict=True)]
        intercepts = factors @ np.stack([model.intercepts for model in models])
        return FittedChoice(
            StackedFeatures.of_fitted([member.features for member in members]),
            solution,
            ClassMoments.side_by_side([fit.moments for fit in fits]),
            best.l2,
            best.solver,
            FoldModels(np.concatenate(coefs, axis=1), intercepts),
            _add_up(factors, [member.held_out for member in members]),
            _sum_of(factors, [member.by_all for member in members]),
        )

    def corrected(
        self, rows: KeptRows, rule: SelectionRule, seed: int, held_out: HeldOut | None = None, stable: float = 0.0
    ) -> Corrected:
        """The AUC of the chosen point or blend, corrected for the choice among all points of all candidates.

        `held_out` are the scores of all rows that a fold holds out, by what was chosen; `stable` is the share of them
        that would be the same with other training rows.
        """
        found = [candidate.scores for candidate in self.candidates]
        grid = Grid.of([(scores.auc, scores.grid) for scores in found])
        kept = list(map(np.concatenate, zip(*[scores.kept for scores in found], strict=True)))
        other = None
        if not found[0].by_auc:
            measured, intercepts = (
                np.concatenate([part.reshape(-1, part.shape[-1]) for part in parts])
                for parts in zip(*[(scores.score, scores.intercepts) for scores in found], strict=True)
            )
            other = OtherMeasure(found[0].scoring, measured, intercepts)
        # Also where one candidate has all the weight: mixtures are scored on the rows that were kept alone.
        blend_auc = _mean_auc(held_out) if rule == "blend" and held_out is not None else None
        return correct(rows, kept, grid, rule, seed, other, blend_auc, stable)


def _add_up(factors: np.ndarray, parts: Sequence[list[np.ndarray] | None]) -> list[np.ndarray] | None:
    """Weighted sums of the scores of several candidates, fold by fold; None where those of one were not kept."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return [factors @ np.stack(of_fold) for of_fold in zip(*known, strict=True)]


def _sum_of(factors: np.ndarray, parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """A weighted sum of arrays; None where one is not known."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return np.tensordot(factors, np.stack(known), axes=1)


def _mean_auc(held_out: HeldOut) -> float:
    """Mean AUC of the folds that hold out both classes; 0.5 stands for the others."""
    found = []
    for number in np.unique(held_out.fold):
        rows = held_out.fold == number
        positive, weights = held_out.positive[rows], held_out.weights[rows]
        both = np.unique(positive[weights > 0.0]).size == 2
        found.append(roc_auc_columns(positive, held_out.scores[rows, np.newaxis], weights)[0] if both else 0.5)
    return float(np.mean(found))


def only_columns(scores: GridScores, n_features: int, rule: SelectionRule) -> MapChoice:
    """The choice of the penalties alone, for the columns as they are; the fit on all rows is left to the caller."""
    assert scores.total is not None
    columns = Candidate("linear", None, n_features, int(scores.total.rows.sum()), scores, scores.select(rule))
    return MapChoice([columns], columns, np.ones(1), np.ones(1))


Watch = Callable[[str], None]  # is told what was done


def _watch_nothing(what: str) -> None:
    pass


def evaluate_map(
    name: str,
    features: Any,
    rows: Rows,
    splits: list[Split],
    classes: np.ndarray,
    search: GridSearch,
    rule: SelectionRule,
) -> tuple[Candidate, RowsInMemory]:
    """Cross-validate the grid of a fitted map; with the source of its folds."""
    X: Any = hold_features(MappedArray(rows.X, features), FEW_BYTES)
    source = RowsInMemory(rows._replace(X=X), splits, classes, search.n_jobs, search.loss)
    sizes = () if search.keep is None else [split.validation.size for split in splits]
    scores = cross_validate(source, search, keep_coefs=True, held_out=sizes)
    choice = scores.select(rule)
    spread = 1.0 if search.keep is None else scores.spread_at(choice, search.keep)
    held_out = scores.take_rows_at(choice)
    found = Candidate(name, features, X.shape[1], rows.y.size, scores, choice, None, spread, held_out)
    if search.keep is not None and isinstance(X, np.ndarray) and (models := found.fold_models) is not None:
        found.by_all = scores_by_all(X, splits, search.keep, models.coefs)
    return found, source


def choose_map(
    maps: dict[str, Any],
    rows: Rows,
    splits: list[Split],
    classes: np.ndarray,
    search: GridSearch,
    rule: SelectionRule,
    fit: Fitter,
    watch: Watch = _watch_nothing,
    shared: SharedColumns | None = None,
) -> MapChoice:
    """Fit each map, without labels, cross-validate its grid, and fit what was chosen on all rows.

    Maps that give too many features are skipped; if all of them do, that is an error. The rule "one-standard-error"
    takes the first map, in the given order, that has a point within one standard error of the best point of all maps,
    and the simplest such point of it. `shared` is handed to all maps (`FeatureMap.learn`).
    """
    learn_maps(list(maps.values()), rows, search.n_jobs, {} if shared is None else shared)
    said: set[str] = set()  # columns whose rare categories are grouped: it is said once, not for each map

    def evaluate(name: str, features: Any) -> tuple[Candidate, Callable[[], ExactFit]]:
        for grouped in features.grouped_categories_ if isinstance(features, FeatureMap) else ():
            if grouped.column not in said:
                said.add(grouped.column)
                warn(grouped)
        new, source = evaluate_map(name, features, rows, splits, classes, search, rule)
        return new, lambda: _settled(fit(source.rows, source.solver, new.choice, new.scores.total))

    def fit_again(member: Candidate) -> ExactFit:
        mapped, solver = rows_for_solver(rows._replace(X=MappedArray(rows.X, member.features)))
        return fit(mapped, solver, member.choice, None)

    return choose_evaluated(maps, evaluate, fit_again, rule, watch)


def choose_evaluated(
    maps: dict[str, Any],
    evaluate: Callable[[str, Any], tuple[Candidate, Callable[[], ExactFit]]],
    fit_again: Callable[[Candidate], ExactFit],
    rule: SelectionRule,
    watch: Watch = _watch_nothing,
) -> MapChoice:
    """Do what `choose_map` does, wherever the rows are.

    Parameters
    ----------
    maps : dict of str to map
    evaluate : callable
        From the name of a map and the map, unfitted, to its candidate and a function that fits its point on all rows.
    fit_again : callable
        Fits the point of a candidate, when what `evaluate` gathered is gone.
    rule : {"best", "one-standard-error", "blend"}
    watch : callable
    """
    candidates: list[Candidate] = []
    too_many: TooManyFeatures | None = None
    for name, features in maps.items():
        try:
            new, fit_now = evaluate(name, features)
        except TooManyFeatures as refusal:
            too_many = refusal
            continue
        candidates.append(new)
        # Fitted now, while its moments are at hand: the matrices of all maps would take too much memory.
        if rule != "one-standard-error" and weights_of(candidates, rule)[-1] > 0.0:
            new.fit = fit_now()
        new.scores.total = None
        if rule != "one-standard-error":  # which may take another point
            new.forget_other_points()
        del fit_now  # and with it features that its rows may hold
        watch(new.described)
        _drop_matrices(candidates, rule)
    if not candidates:
        assert too_many is not None
        raise too_many
    weights = weights_of(candidates, rule)
    if rule == "one-standard-error":
        weights, chosen = _simplest(candidates)
    else:
        chosen = candidates[int(weights.argmax())]
    found = MapChoice(candidates, chosen, weights, np.array([candidate.spread for candidate in candidates]))
    for member in found.members:
        if member.fit is None:
            member.fit = fit_again(member)
    return found


def _settled(fit: ExactFit) -> ExactFit:
    """The fit with moments that are computed to the end."""
    moments = fit.moments
    return fit._replace(moments=moments.settled) if isinstance(moments, FinishedMoments) else fit


def learn_maps(maps: Sequence[Any], rows: Rows, n_jobs: int | None, shared: SharedColumns) -> None:
    """Fit the maps, without labels: the first one sees the columns for all, the others follow side by side.

    `shared` is what maps of the same rows share (`FeatureMap.learn`).
    """

    def learn(features: Any) -> None:
        if isinstance(features, FeatureMap):
            features.learn(rows.X, rows.weights, shared)
        else:
            _fit_transformer(features, rows.X)

    first, *others = maps
    learn(first)
    if others:
        in_turn = not all(isinstance(features, FeatureMap) for features in others)
        over_folds(learn, others, FoldProblem(True, False, LEARN_BYTES, in_turn), n_jobs)


def weights_of(candidates: Sequence[Candidate], rule: SelectionRule) -> np.ndarray:
    """The weight of each candidate: 1 for the first of the best ones, or those of a blend."""
    if rule == "blend":
        return blend_weights(np.stack([candidate.fold_scores for candidate in candidates]))
    best = np.array([candidate.choice.mean.max() for candidate in candidates])
    return (np.arange(best.size) == best.argmax()).astype(np.float64)


def _drop_matrices(candidates: Sequence[Candidate], rule: SelectionRule) -> None:
    """Keep the square matrices of the best candidate alone."""
    best = int(weights_of(candidates, rule).argmax())
    for number, candidate in enumerate(candidates):
        if number != best and candidate.fit is not None and candidate.fit.moments.has_scatter:
            candidate.fit = candidate.fit._replace(moments=ClassMoments.side_by_side([candidate.fit.moments]))


def _simplest(candidates: Sequence[Candidate]) -> tuple[np.ndarray, Candidate]:
    """The first candidate with a point within one standard error of the best of all, moved to the simplest of these."""
    leader = max(candidates, key=lambda candidate: candidate.choice.mean.max())
    best = np.unravel_index(np.argmax(leader.choice.mean), leader.choice.mean.shape)
    least = leader.choice.mean[best] - max(leader.choice.standard_error[best], TIE)
    number = next(n for n, candidate in enumerate(candidates) if (candidate.choice.mean >= least).any())
    chosen = candidates[number]
    index = simplest(chosen.choice.mean >= least, chosen.scores.grid)
    values = {name: float(axis[i]) for (name, axis), i in zip(chosen.scores.grid.items(), index, strict=True)}
    chosen = replace(chosen, choice=replace(chosen.choice, index=index, values=values), held_out=None, by_all=None)
    return (np.arange(len(candidates)) == number).astype(np.float64), chosen


def _fit_transformer(transformer: Any, X: Any) -> None:
    """Fit a transformer of another package, without labels."""
    try:
        transformer.fit(X)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{type(transformer).__name__} could not be fitted as a feature map, which is given X alone and no labels: "
            f"{error}"
        ) from error
