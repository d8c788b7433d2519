"""The measure by which held-out rows choose a model: the AUC, or another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from vrspam import metrics
from vrspam._utils import array_api
from vrspam.metrics.partial import check_max_fpr

ScoringFunction = Callable[[np.ndarray, np.ndarray, np.ndarray | None], float]


@dataclass(frozen=True)
class Scoring:
    """A measure of how well held-out rows are ranked; higher is better."""

    name: str  # in the words of messages and plots
    columns: Callable[[Any, Any, Any], np.ndarray]  # (positive, scores, weights) -> one number a column
    needs_values: bool = False  # whether it depends on the scores (with intercepts), not only on their ranks


ROC_AUC = Scoring("AUC", metrics.roc_auc_columns)


MEASURES = {
    "roc_auc": ROC_AUC,
    "average_precision": Scoring("average precision", metrics.average_precision_columns),
}
SCORINGS = {"auto", "partial_roc_auc", *MEASURES}  # the names that `scoring` takes


def make_scoring(scoring: str | ScoringFunction = "auto", max_fpr: float | None = None) -> Scoring:
    """The measure that the parameters of `AUCClassifierCV` ask for.

    >>> make_scoring().name, make_scoring(max_fpr=0.05).name, make_scoring("average_precision").name
    ('AUC', 'partial AUC up to 5 % false positives', 'average precision')
    """
    if callable(scoring):
        return scoring_by_function(scoring)
    if scoring == "auto":
        scoring = "roc_auc" if max_fpr is None else "partial_roc_auc"
    if scoring != "partial_roc_auc":
        return MEASURES[scoring]
    if max_fpr is None:
        raise ValueError("scoring='partial_roc_auc' needs max_fpr, the false-positive rate at which the part ends.")
    return partial_auc_scoring(max_fpr)


def partial_auc_scoring(max_fpr: float) -> Scoring:
    """The partial AUC up to a false-positive rate."""

    def columns(positive: Any, scores: Any, weights: Any) -> np.ndarray:
        negative = ~array_api.on_host(positive)
        if weights is not None:
            negative &= array_api.on_host(weights) > 0
        check_max_fpr(max_fpr, int(negative.sum()), of_fold=True)  # at least one negative in the part
        return metrics.partial_auc_columns(positive, scores, weights, max_fpr=max_fpr)

    return Scoring(f"partial AUC up to {100 * max_fpr:g} % false positives", columns)


def scoring_by_function(function: ScoringFunction) -> Scoring:
    """A measure by a function of the user: labels, scores and weights in, a number out."""
    name = getattr(function, "__name__", type(function).__name__)

    def columns(positive: Any, scores: Any, weights: Any) -> np.ndarray:
        positive = array_api.on_host(positive)
        scores = array_api.on_host(scores)
        if weights is not None:
            weights = array_api.on_host(weights)
        values = np.empty(scores.shape[1])
        for j in range(scores.shape[1]):
            try:
                value = function(positive, np.ascontiguousarray(scores[:, j], dtype=np.float64), weights)
            except Exception as error:
                raise ValueError(f"The scoring function {name} failed on held-out rows: {error}") from error
            if isinstance(value, np.ndarray) and value.ndim == 0:
                value = value.item()
            if not isinstance(value, Real) or not np.isfinite(value):
                raise ValueError(f"The scoring function {name} must return one finite number, got {value!r}.")
            values[j] = value
        return values

    return Scoring(name, columns, needs_values=True)
