"""Rows with their labels and scores, and what stands beside them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from vrspam.metrics.roc import Ranked


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with scores: all that a measure needs.

    Attributes
    ----------
    positive : boolean array of n
    scores : array of n
    probabilities, weights, groups : array of n or None
    times, within : array of n or None
        `times` are those of events or censoring (a positive row has its event), or the negated numbers of an order
        (all rows are positive); `within` are strata. With either, only some pairs of rows are compared.
    folds : array of n or None
        For out-of-fold scores: the fold that held each row out.
    """

    positive: np.ndarray
    scores: np.ndarray
    probabilities: np.ndarray | None = None
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    times: np.ndarray | None = None
    within: np.ndarray | None = None
    folds: np.ndarray | None = None

    @property
    def n(self) -> int:
        return self.positive.size

    @property
    def positives(self) -> int:
        return int(self.positive.sum())

    @property
    def share_of_positives(self) -> float:
        """The share of positive rows, by weight if rows have some."""
        return float(np.average(self.positive, weights=self.weights))

    @property
    def has_classes(self) -> bool:
        """Whether every positive row is compared with every negative one: no times, no order and no strata."""
        return self.times is None and self.within is None

    @cached_property
    def sorted_scores(self) -> Ranked:
        """The rows from the highest score to the lowest: sorted once for all measures."""
        return Ranked.of(self.positive, self.scores, self.weights)

    def arrays(self) -> dict[str, Any]:
        """All arrays by their names, None where there is none."""
        return {field.name: getattr(self, field.name) for field in fields(ScoredRows)}

    def take(self, places: np.ndarray) -> ScoredRows:
        """Some of the rows, by their places or by a mask."""
        taken: dict[str, Any] = {}
        for name, values in self.arrays().items():
            taken[name] = None if values is None else values[places]
        return ScoredRows(**taken)

    def with_scores(self, scores: np.ndarray, probabilities: np.ndarray | None = None) -> Self:
        """The same rows with other scores."""
        return replace(self, scores=scores, probabilities=probabilities)


def two_sides(positive: np.ndarray, times: np.ndarray | None, weights: np.ndarray | None = None) -> np.ndarray:
    """Two classes: the labels; with times, events and censored rows; if none is censored, earlier and later rows.

    Rows of weight 0 do not count.
    """
    counted = np.ones(positive.size, dtype=bool) if weights is None else weights > 0.0
    if times is None or not positive[counted].all():
        return positive
    middle = np.median(times[counted])
    earlier = times < middle
    return earlier if earlier[counted].any() else times <= middle


def ranked_target(positive: np.ndarray, times: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """What is ordered and, for times, which rows have their event: both for the measures of concordance."""
    if times is None:
        return positive.astype(np.int8), None
    return times, positive
