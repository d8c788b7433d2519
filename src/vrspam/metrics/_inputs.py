"""Checks of labels, scores and weights that all measures share."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.exceptions import UndefinedMetricWarning

from vrspam._utils import array_api
from vrspam._utils.warnings import warn


def labels_and_scores(y_true: ArrayLike, y_score: ArrayLike) -> tuple[NDArray[np.bool_], NDArray]:
    """Which labels are the positive one, and a score for each label."""
    positive = positive_rows(y_true)
    return positive, checked_scores(y_score, positive.size, "y_score")


def rows_of_classes(
    positive: NDArray[np.bool_], weight: NDArray | None, measure: str
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """The numbers of the positive rows and of the negative ones; rows of weight 0 do not count.

    None, with a warning, if a class has no rows.
    """
    present = np.ones(positive.size, dtype=bool) if weight is None else weight > 0
    up, down = np.flatnonzero(positive & present), np.flatnonzero(~positive & present)
    if up.size == 0 or down.size == 0:
        warn_of_one_class(measure)
        return None
    return up, down


def warn_of_one_class(measure: str) -> None:
    """Warn, as scikit-learn does, that a measure needs both classes."""
    text = f"Only one class is present in y_true (with positive weight): {measure} is not defined."
    warn(text, UndefinedMetricWarning)


def positive_rows(y_true: ArrayLike) -> NDArray[np.bool_]:
    """Which labels are the positive one, the last of the two in sorted order."""
    y = np.asarray(y_true)
    if y.ndim != 1:
        raise ValueError(f"y_true must be one-dimensional, got shape {y.shape}.")
    if y.dtype == bool:
        return y
    try:
        labels = np.unique(y)
    except TypeError:
        raise ValueError("y_true mixes labels that cannot be sorted; use one type, with none missing.") from None
    if np.any(labels != labels):
        raise ValueError("y_true contains NaN; remove rows without a label.")
    if labels.size > 2:
        raise ValueError(
            f"y_true has {labels.size} different labels and AUC compares two; pass y_true == positive_label."
        )
    return y == labels[-1] if labels.size else np.zeros(0, dtype=bool)


def checked_scores(values: ArrayLike, n: int, name: str) -> NDArray:
    score = np.asarray(values)
    if score.ndim != 1 or score.size != n:
        raise ValueError(f"{name} has shape {score.shape}; it needs one number for each of {n} labels.")
    return ordered_numbers(score, name)


def ordered_numbers(score: NDArray, name: str) -> NDArray:
    """Real numbers without NaN, so that any two can be compared."""
    if score.dtype == object:
        with suppress(TypeError, ValueError):  # what is no number is refused below
            score = score.astype(np.float64)
    if score.dtype.kind not in "fiub":
        raise ValueError(f"{name} must contain real numbers, got {score.dtype}.")
    if score.dtype.kind == "f" and np.isnan(score).any():
        raise ValueError(f"{name} contains NaN, which has no rank; remove or impute those rows.")
    return score


def checked_weights(sample_weight: ArrayLike, n: int) -> NDArray[np.float64]:
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight has shape {weight.shape}; it needs one number for each of {n} labels.")
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise ValueError("sample_weight must be finite and not negative.")
    return weight


def unit_weights(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights in another unit, a power of two, in which their sums and products stay within range."""
    return np.ldexp(weight, -int(np.frexp(weight.max(initial=0.0))[1]))


def checked_columns(
    positive: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.bool_], NDArray, NDArray[np.float64] | None]:
    """Labels, a matrix of scores with a row for each of them, and their weights, all on the host."""
    positive, scores = array_api.on_host(positive), array_api.on_host(scores)
    if positive.dtype != bool or positive.ndim != 1:
        raise ValueError("positive must be a one-dimensional boolean array; pass y == positive_label.")
    if scores.ndim != 2 or scores.shape[0] != positive.size:
        raise ValueError(f"scores has shape {scores.shape}; it needs one row for each of {positive.size} labels.")
    weight = None if sample_weight is None else checked_weights(array_api.on_host(sample_weight), positive.size)
    return positive, ordered_numbers(scores, "scores"), weight


def both_classes(positive: NDArray[np.bool_], at_least: int) -> NDArray[np.bool_]:
    up, down = int(positive.sum()), int((~positive).sum())
    if min(up, down) < at_least:
        raise ValueError(f"{up} positive and {down} negative rows: at least {at_least} of each class are needed.")
    return positive


def normal_quantile(confidence: float) -> float:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}.")
    return float(ndtri(0.5 + confidence / 2.0))
