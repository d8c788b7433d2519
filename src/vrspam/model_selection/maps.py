"""Choose a feature map and its penalties together, by cross-validation of the whole grid of each map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vrspam._utils.validation import Rows
from vrspam.features import FeatureMap
from vrspam.features.mapped import MappedArray, TooManyFeatures
from vrspam.model_selection.cross_validate import GridScores, GridSearch, cross_validate
from vrspam.model_selection.folds import Split
from vrspam.model_selection.selection import TIE, Choice, SelectionRule, select, simplest
from vrspam.model_selection.sources import RowsInMemory


@dataclass(frozen=True)
class Candidate:
    """A fitted map (None for the columns as they are), the scores of its grid, and the point that would be taken."""

    name: str
    features: Any
    n_features: int
    scores: GridScores
    choice: Choice

    @property
    def best(self) -> tuple[float, float]:
        """The best mean AUC over the folds, and its standard error."""
        place = np.unravel_index(int(np.argmax(self.choice.mean)), self.choice.mean.shape)
        return float(self.choice.mean[place]), float(self.choice.standard_error[place])


@dataclass(frozen=True)
class MapChoice:
    """All candidates, the chosen one, and the point of its grid that is taken."""

    candidates: list[Candidate]
    chosen: Candidate
    point: Choice

    def table(self) -> dict[str, list]:
        """Candidates with their CV AUC ± standard error, one list for each column of the table."""
        rows = []
        for candidate in self.candidates:
            taken = candidate is self.chosen
            point = self.point if taken else candidate.choice
            auc, error = float(point.mean[point.index]), float(point.standard_error[point.index])
            rows.append((candidate.name, candidate.n_features, *point.values.values(), auc, error, taken))
        names = ("features", "n_features", "l2", "l1", "auc", "standard_error", "chosen")
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def only_columns(scores: GridScores, n_features: int, rule: SelectionRule) -> MapChoice:
    """The choice where there is nothing to choose but the penalties: the columns as they are."""
    columns = Candidate("linear", None, n_features, scores, select(scores.auc, scores.grid, rule))
    return MapChoice([columns], columns, columns.choice)


def choose_map(
    maps: dict[str, Any], rows: Rows, splits: list[Split], classes: np.ndarray, search: GridSearch, rule: SelectionRule
) -> MapChoice:
    """Fit each map, without labels, and cross-validate its grid.

    Maps that give too many features are passed over, unless all do. With the rule "one-standard-error" the first
    map, in the given order, that has a point within one standard error of the best point of all maps is taken, with
    its simplest such point.
    """
    candidates: list[Candidate] = []
    too_many: TooManyFeatures | None = None
    leader: Candidate | None = None  # the map with the best point so far
    for name, features in maps.items():
        _fit_without_labels(features, rows)
        try:
            X: Any = MappedArray(rows.X, features)
        except TooManyFeatures as refusal:
            too_many = refusal
            continue
        mapped = Rows(X, rows.y, rows.weights)
        scores = cross_validate(RowsInMemory(mapped, splits, classes, search.n_jobs), search, keep_coefs=True)
        new = Candidate(name, features, X.shape[1], scores, select(scores.auc, scores.grid, rule))
        candidates.append(new)
        # The two matrices of features² of every map would be too much: only those of the best one stay.
        if leader is None or new.best[0] > leader.best[0]:
            leader, passed = new, leader
        else:
            passed = new
        if passed is not None:
            passed.scores.total = None
    if leader is None:
        assert too_many is not None
        raise too_many
    if rule == "best":
        return MapChoice(candidates, leader, leader.choice)
    mean, error = leader.best
    least = mean - max(error, TIE)
    chosen = next(candidate for candidate in candidates if (candidate.choice.mean >= least).any())
    index = simplest(chosen.choice.mean >= least, chosen.scores.grid)
    values = {name: float(axis[i]) for (name, axis), i in zip(chosen.scores.grid.items(), index, strict=True)}
    return MapChoice(candidates, chosen, replace(chosen.choice, index=index, values=values))


def _fit_without_labels(features: Any, rows: Rows) -> None:
    if isinstance(features, FeatureMap):
        features.fit(rows.X, sample_weight=rows.weights)
        return
    try:
        features.fit(rows.X)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{type(features).__name__} could not be fitted as a feature map, which is given X alone and no labels: "
            f"{error}"
        ) from error
