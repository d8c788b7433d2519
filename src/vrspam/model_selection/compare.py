"""Compare feature maps, each with its grid, and take the best, the simplest that is nearly as good, or a blend.

With few positive rows, the candidate with the best cross-validated score is often best by luck: a blend is the weighted
sum of all candidates whose lag behind the best may be luck, each divided by the spread of its held-out scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vrspam._utils.warnings import MapsNotFitted, warn
from vrspam.features.mapped import MapNotFitted, TooManyFeatures
from vrspam.metrics import CorrectedAUC
from vrspam.metrics.correction import Sample
from vrspam.model_selection.candidates import Candidate
from vrspam.model_selection.correction import OtherMeasure, correct
from vrspam.model_selection.cross_validate import FoldModels
from vrspam.model_selection.grid_search import GridSearch
from vrspam.model_selection.held_out import HeldOut
from vrspam.model_selection.refit import Fitted, fitted_alone, fitted_blend, without_matrices
from vrspam.model_selection.scoring import ROC_AUC
from vrspam.model_selection.selection import Points, SelectionRule, choose
from vrspam.pairs import Pairs

# Errors with which a map leaves a comparison; any other error is one of the caller, or a defect.
CANNOT_BE_FITTED = (TooManyFeatures, MapNotFitted, np.linalg.LinAlgError)
Watch = Callable[[Any], None]  # receives the result of each step; str(result) is one line


@dataclass(frozen=True)
class Comparison:
    """All candidates, and their weights in the model."""

    candidates: list[Candidate]  # each with its own best point
    chosen: Candidate  # at the chosen point; for a blend the best candidate
    weights: np.ndarray  # of the candidates: 1 for the chosen one, or those of a blend
    order: tuple[str, ...] = ()  # the names of all maps, if some were compared only on a part of the rows
    others: Mapping[str, Candidate] = field(default_factory=dict)  # the maps compared only on a part of the rows

    @property
    def taken(self) -> list[tuple[Candidate, float]]:
        """All candidates, the chosen one at the chosen point, and their weights."""
        candidates = list(self.candidates)
        candidates[int(self.weights.argmax())] = self.chosen
        return list(zip(candidates, self.weights.tolist(), strict=True))

    @property
    def members(self) -> list[tuple[Candidate, float]]:
        """The candidates in the model, each with its factor: its weight divided by the spread of its scores."""
        return [(candidate, weight / candidate.spread) for candidate, weight in self.taken if weight > 0.0]

    def fitted(self) -> Fitted:
        """The chosen candidate, or the blend, as one scorer."""
        if len(self.members) == 1:
            return fitted_alone(self.chosen)
        return fitted_blend(self.members, self.chosen)

    def corrected(self, sample: Sample, search: GridSearch, held_out: HeldOut, **more: Any) -> CorrectedAUC:
        """The AUC of what was chosen, whose scores are `held_out`, corrected for the choice; more as in `correct`."""
        of_candidates = [candidate.scores for candidate in self.candidates]
        kept = np.concatenate([scores.kept for scores in of_candidates if scores.kept is not None], axis=1)
        scoring = self.chosen.scores.scoring
        other = None
        if scoring is not ROC_AUC:
            measured = np.concatenate([by_point(scores.score) for scores in of_candidates])
            intercepts = np.concatenate([by_point(scores.intercepts) for scores in of_candidates])
            other = OtherMeasure(scoring, measured, intercepts)
        if search.rule == "blend":  # even one candidate: the correction would measure it on the sample
            more["before"] = mean_auc_of_folds(held_out, search.loss.pairs)
        points = Points.of([(scores.auc, scores.grid) for scores in of_candidates])
        return correct(sample, kept, points, search.rule, search.seed, other, pairs=search.loss.pairs, **more)

    def table(self) -> dict[str, list]:
        """`selection_` of the estimators: candidates with their CV score, one list for each column of the table."""
        weighted = {candidate.name: (candidate, weight) for candidate, weight in self.taken}
        for name, candidate in self.others.items():
            weighted[name] = (candidate, 0.0)
        names = [name for name in self.order if name in weighted] if self.order else list(weighted)
        rows = [row_of(*weighted[name]) for name in names]
        table = {column: [row[column] for row in rows] for column in rows[0]}
        if self.chosen.scores.scoring is ROC_AUC:
            del table["score"]
        return table


def by_point(scores: np.ndarray) -> np.ndarray:
    """Scores on a grid, (*grid, folds), as one line for each point."""
    return scores.reshape(-1, scores.shape[-1])


def mean_auc_of_folds(held_out: HeldOut, pairs: Pairs) -> float:
    """The mean over the folds of the AUC of held-out scores; ½ for a fold whose rows are of one class."""
    aucs = []
    for number in np.unique(held_out.fold):
        rows = held_out.fold == number
        positive, weights = held_out.positive[rows], held_out.weights[rows]
        if np.unique(positive[weights > 0.0]).size < 2:
            aucs.append(0.5)
            continue
        places = None if held_out.places is None else held_out.places[rows]
        scores = held_out.scores[rows, np.newaxis]
        aucs.append(pairs.columns(places, positive, scores, weights)[0])
    return float(np.mean(aucs))


def row_of(candidate: Candidate, weight: float) -> dict[str, Any]:
    """The row of a candidate in `selection_`."""
    score, error = candidate.measured
    return {
        "features": candidate.name,
        "n_features": candidate.n_features,
        "l2": candidate.choice.values["l2"],
        "l1": candidate.choice.values["l1"],
        "auc": float(candidate.scores.auc[candidate.choice.index].mean()),
        "score": score,
        "standard_error": error,
        "chosen": weight > 0.0,
        "weight": weight,
        "gap": None if candidate.fit is None else candidate.fit.solution.gap,
        "rows": candidate.n_rows,
    }


def compare(maps: dict[str, Any], evaluator: Any, rule: SelectionRule, watch: Watch = lambda what: None) -> Comparison:
    """Evaluate each map, and fit what is chosen on all rows; `evaluator` is `MapsInMemory`, or has its methods.

    Maps that cannot be fitted, or give too many features, are left out, with a warning; if all are, that is an error.
    """
    candidates: list[Candidate] = []
    refusals: dict[str, Exception] = {}
    for name, features in maps.items():
        try:
            candidate, source = evaluator.evaluate(name, features)
        except CANNOT_BE_FITTED as refusal:
            refusals[name] = refusal
            continue
        # Fitted now, while its moments are at hand: the matrices of all maps would take too much memory.
        if rule != "one-standard-error":  # that rule may still take another point
            if weights_of([*candidates, candidate], rule)[-1] > 0.0:
                candidate = replace(candidate, fit=evaluator.fit(candidate, source))
            candidate = replace(candidate, coefs=None)  # those of a grid with l1 would take much memory
        del source  # frees the features that its rows may hold
        watch(candidate)
        candidates = with_matrices_of_the_best([*candidates, candidate], rule)
    if not candidates:
        raise list(refusals.values())[-1]
    if refusals:
        warn(MapsNotFitted(tuple(refusals), tuple(map(str, refusals.values()))))

    of_points, points = choose_points(candidates, rule)
    weights = np.bincount(points.candidate, of_points, len(candidates))
    best = int(weights.argmax())
    if rule == "one-standard-error":
        first = int(np.flatnonzero(points.candidate == best)[0])
        chosen = moved_to(candidates[best], int(of_points.argmax()) - first)
        return Comparison(candidates, fitted_by(evaluator, chosen), weights)
    for number in np.flatnonzero(weights > 0.0).tolist():
        candidates[number] = fitted_by(evaluator, candidates[number])
    return Comparison(candidates, candidates[best], weights)


def fitted_by(evaluator: Any, candidate: Candidate) -> Candidate:
    """The candidate with its fit on all rows."""
    if candidate.fit is not None:
        return candidate
    return replace(candidate, fit=evaluator.fit(candidate))


def choose_points(candidates: Sequence[Candidate], rule: SelectionRule) -> tuple[np.ndarray, Points]:
    """The weights of the points of all candidates that a rule gives, and these points."""
    points = Points.of([(candidate.scores.score, candidate.scores.grid) for candidate in candidates])
    return choose(points.of_draw(), points, rule)[:, 0], points


def weights_of(candidates: Sequence[Candidate], rule: SelectionRule) -> np.ndarray:
    """The weight of each candidate: 1 for the first of the best ones, or those of a blend."""
    of_points, points = choose_points(candidates, rule)
    return np.bincount(points.candidate, of_points, len(candidates))


def with_matrices_of_the_best(candidates: list[Candidate], rule: SelectionRule) -> list[Candidate]:
    """The same candidates; only the fit of the best one keeps its square matrices."""
    best = int(weights_of(candidates, "best" if rule == "one-standard-error" else rule).argmax())
    kept = []
    for number, candidate in enumerate(candidates):
        if number != best and candidate.fit is not None:
            candidate = replace(candidate, fit=without_matrices(candidate.fit))
        kept.append(candidate)
    return kept


def moved_to(candidate: Candidate, point: int) -> Candidate:
    """The candidate at another point of its grid, given by its number."""
    choice = candidate.choice
    index = tuple(int(place) for place in np.unravel_index(point, choice.mean.shape))
    values = {name: float(axis[i]) for (name, axis), i in zip(candidate.scores.grid.items(), index, strict=True)}
    models = None
    if candidate.coefs is not None:
        i, j = index
        models = FoldModels(candidate.coefs[:, i, j].copy(), candidate.scores.intercepts[i, j])
    moved = replace(choice, index=index, values=values)
    return replace(candidate, choice=moved, models=models, held_out=None, by_all=None)
