"""The measure that chooses a point of a grid: one definition for rows in memory, blocks and clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from vrspam import metrics
from vrspam._utils import array_api
from vrspam._utils.messages import Parameter, WordedError

ScoringFunction = Callable[[np.ndarray, np.ndarray, np.ndarray | None], float]


@dataclass(frozen=True)
class Scoring:
    """A measure of how well held-out rows are ranked; higher is better.

    Attributes
    ----------
    name : str
        In the words of messages and plots.
    columns : callable (positive, scores, weights) -> array
        The measure of each column of a matrix of scores.
    needs_values : bool
        Whether the scores themselves count, and not their ranks alone: they must come with their intercepts then.
    """

    name: str
    columns: Callable[[Any, Any, Any], np.ndarray]
    needs_values: bool = False


ROC_AUC = Scoring("AUC", metrics.roc_auc_columns)


def make_scoring(scoring: str | ScoringFunction = "auto", max_fpr: float | None = None) -> Scoring:
    """The measure that the parameters of `AUCClassifierCV` ask for.

    Parameters
    ----------
    scoring : {"auto", "roc_auc", "partial_roc_auc", "average_precision"} or callable
        A callable takes (positive, scores, sample_weight) and returns a number.
    max_fpr : float in (0, 1], optional

    Examples
    --------
    >>> make_scoring().name, make_scoring(max_fpr=0.05).name, make_scoring("average_precision").name
    ('AUC', 'partial AUC up to 5 % false positives', 'average precision')
    """
    if scoring == "auto":
        scoring = "roc_auc" if max_fpr is None else "partial_roc_auc"
    if scoring == "partial_roc_auc":
        if max_fpr is None:
            raise ValueError("scoring='partial_roc_auc' needs max_fpr, the false-positive rate at which the part ends.")
        return partial_auc_up_to(max_fpr)
    if scoring == "roc_auc":
        return ROC_AUC
    if scoring == "average_precision":
        return Scoring("average precision", metrics.average_precision_columns)
    assert callable(scoring)
    return from_function(scoring)


def partial_auc_up_to(max_fpr: float) -> Scoring:
    """The standardised partial AUC; held-out rows with less than one negative in the part are refused."""

    def columns(positive: Any, scores: Any, weights: Any) -> np.ndarray:
        negative = ~array_api.on_host(positive)
        if weights is not None:
            negative &= array_api.on_host(weights) > 0
        if max_fpr * negative.sum() < 1.0 - 1e-12:
            raise WordedError(
                "{part} of the {negatives} negative rows that a fold holds out is less than one: "
                "use a larger share, fewer folds, or more rows.",
                part=Parameter("max_fpr", max_fpr),
                negatives=int(negative.sum()),
            )
        return metrics.partial_auc_columns(positive, scores, weights, max_fpr=max_fpr)

    return Scoring(f"partial AUC up to {100 * max_fpr:g} % false positives", columns)


def from_function(function: ScoringFunction) -> Scoring:
    """A measure of the user's own, called for each column of scores on the host."""
    name = getattr(function, "__name__", type(function).__name__)

    def columns(positive: Any, scores: Any, weights: Any) -> np.ndarray:
        positive, scores = array_api.on_host(positive), array_api.on_host(scores)
        weights = None if weights is None else array_api.on_host(weights)
        found = np.empty(scores.shape[1])
        for j in range(scores.shape[1]):
            try:
                value = function(positive, np.ascontiguousarray(scores[:, j], dtype=np.float64), weights)
            except Exception as error:
                raise ValueError(f"The scoring function {name} failed on held-out rows: {error}") from error
            if isinstance(value, np.ndarray) and value.ndim == 0:
                value = value.item()
            if not isinstance(value, Real) or not np.isfinite(value):
                raise ValueError(f"The scoring function {name} must return one finite number, got {value!r}.")
            found[j] = value
        return found

    return Scoring(name, columns, needs_values=True)
