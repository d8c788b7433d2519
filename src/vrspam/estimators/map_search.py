"""Choose a feature map and its penalties together, by cross-validation of the whole grid of each map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vrspam.estimators.base import Rows
from vrspam.estimators.grid_search import GridScores
from vrspam.estimators.mapped import MappedArray, TooManyFeatures
from vrspam.features import FeatureMap
from vrspam.model_selection.selection import TIE, Choice, SelectionRule, simplest


@dataclass(frozen=True)
class Candidate:
    """One fitted map, the scores of its grid, and the point of the grid that would be taken."""

    name: str
    rows: Rows
    scores: GridScores
    choice: Choice

    @property
    def best(self) -> tuple[float, float]:
        """The best mean AUC over the folds, and its standard error."""
        place = np.unravel_index(int(np.argmax(self.choice.mean)), self.choice.mean.shape)
        return float(self.choice.mean[place]), float(self.choice.standard_error[place])


def search_maps(
    maps: dict[str, Any], rows: Rows, evaluate: Callable[[Rows], GridScores], rule: SelectionRule
) -> tuple[list[Candidate], int, Choice]:
    """Fit each map, without labels, and cross-validate its grid.

    Maps that give too many features are passed over, unless all do. With the rule "one-standard-error" the first
    map, in the given order, that has a point within one standard error of the best point of all maps is taken, with
    its simplest such point.

    Returns
    -------
    list of Candidate, number of the chosen one, its point
    """
    candidates: list[Candidate] = []
    too_many: TooManyFeatures | None = None
    for name, features in maps.items():
        if isinstance(features, FeatureMap):
            features.fit(rows.X, sample_weight=rows.weights)
        else:
            _fit_without_labels(features, rows.X)
        try:
            mapped = Rows(MappedArray(rows.X, features), rows.y, rows.weights)  # type: ignore[arg-type]
        except TooManyFeatures as refusal:
            too_many = refusal
            continue
        scores = evaluate(mapped)
        candidates.append(Candidate(name, mapped, scores, scores.select(rule)))
        leader = max(candidates, key=lambda candidate: candidate.best[0])
        for candidate in candidates:
            if candidate is not leader:
                candidate.scores.moments = None
    if not candidates:
        assert too_many is not None
        raise too_many
    best = max(range(len(candidates)), key=lambda number: candidates[number].best[0])
    if rule == "best":
        return candidates, best, candidates[best].choice
    mean, error = candidates[best].best
    enough = [candidate.choice.mean >= mean - max(error, TIE) for candidate in candidates]
    chosen = next(number for number, allowed in enumerate(enough) if allowed.any())
    scores, choice = candidates[chosen].scores, candidates[chosen].choice
    index = simplest(enough[chosen], {"l2": scores.l2s, "l1": scores.l1s})
    values = {"l2": float(scores.l2s[index[0]]), "l1": float(scores.l1s[index[1]])}
    return candidates, chosen, replace(choice, index=index, values=values)


def _fit_without_labels(features: Any, X: Any) -> None:
    try:
        features.fit(X)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{type(features).__name__} could not be fitted as a feature map, which is given X alone and no labels: "
            f"{error}"
        ) from error


def selection_table(candidates: list[Candidate], chosen: int, choice: Choice) -> dict[str, list]:
    """Candidates with their CV AUC ± standard error, one list for each column of the table."""
    table: dict[str, list] = {
        key: [] for key in ("features", "n_features", "l2", "l1", "auc", "standard_error", "chosen")
    }
    for number, candidate in enumerate(candidates):
        point = choice if number == chosen else candidate.choice
        row = (
            candidate.name,
            candidate.rows.X.shape[1],
            *point.values.values(),
            float(point.mean[point.index]),
            float(point.standard_error[point.index]),
            number == chosen,
        )
        for key, value in zip(table, row, strict=True):
            table[key].append(value)
    return table
