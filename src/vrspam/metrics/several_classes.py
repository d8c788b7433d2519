"""AUC of several classes: the mean of each class against the rest, and that of Hand & Till over pairs of classes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from vrspam._utils.warnings import warn
from vrspam.metrics._inputs import checked_weights, ordered_numbers, warn_of_one_class
from vrspam.metrics.roc import roc_auc_columns


def one_vs_rest_auc(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None, labels: ArrayLike | None = None
) -> float:
    """Mean over the classes of the AUC of a class against all others, by its own column of scores.

    Parameters
    ----------
    y_true : array of n labels
    y_score : array (n, classes)
        One column for each class, in the order of `labels`; higher means more likely that class. Columns are compared
        with themselves alone, so they need no common scale. For two classes also an array of n scores of the second.
    sample_weight : array of n numbers, optional
    labels : array of labels, optional
        The labels of the columns, where `y_true` may not hold all of them; by default those of `y_true`, sorted.

    Returns
    -------
    float
        `sklearn.metrics.roc_auc_score(multi_class="ovr")` without its condition that rows add up to 1. Classes without
        rows are left out of the mean, with a warning; NaN, with a warning, when only one class has rows.

    Examples
    --------
    >>> from vrspam.metrics import one_vs_rest_auc
    >>> one_vs_rest_auc(["a", "b", "c", "c"], [[3, 1, 0], [2, 2, 1], [1, 2, 4], [0, 1, 2]])
    0.944444...
    """
    codes, scores, weight, present = _checked(y_true, y_score, sample_weight, labels)
    if len(present) < 2:
        return float("nan")
    return float(np.mean([_auc(codes == k, scores[:, k], weight) for k in present]))


def hand_till_auc(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None, labels: ArrayLike | None = None
) -> float:
    """Hand & Till's M: the mean over all pairs of classes of the AUC between the two.

    The AUC between classes i and j is the mean of two: rows of i against rows of j by the scores of i, and rows of j
    against rows of i by the scores of j. It does not depend on how many rows a class has.

    Parameters
    ----------
    y_true, y_score, sample_weight, labels
        As in `one_vs_rest_auc`.

    Returns
    -------
    float
        `sklearn.metrics.roc_auc_score(multi_class="ovo")` without its condition that rows add up to 1, and with
        weights. Classes without rows are left out, with a warning; NaN, with a warning, when only one class has rows.

    References
    ----------
    D. J. Hand and R. J. Till. A Simple Generalisation of the Area Under the ROC Curve for Multiple Class
    Classification Problems. Machine Learning 45, 2001.

    Examples
    --------
    >>> from vrspam.metrics import hand_till_auc
    >>> hand_till_auc(["a", "b", "c", "c"], [[3, 1, 0], [2, 2, 1], [1, 2, 4], [0, 1, 2]])
    0.958333...
    """
    codes, scores, weight, present = _checked(y_true, y_score, sample_weight, labels)
    if len(present) < 2:
        return float("nan")
    aucs = []
    for pair in combinations(present, 2):
        rows = np.flatnonzero(np.isin(codes, pair))
        of_rows = None if weight is None else weight[rows]
        aucs += [_auc(codes[rows] == k, scores[rows, k], of_rows) for k in pair]
    return float(np.mean(aucs))


def _auc(positive: NDArray[np.bool_], scores: NDArray, weight: NDArray | None) -> float:
    return float(roc_auc_columns(positive, scores[:, None], weight)[0])


def _checked(
    y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None, labels: ArrayLike | None
) -> tuple[NDArray[np.intp], NDArray, NDArray | None, list[int]]:
    """The class of each row as a number, the scores, the weights, and the classes that have rows with weight."""
    y = np.asarray(y_true)
    if y.ndim != 1:
        raise ValueError(f"y_true must be one-dimensional, got shape {y.shape}.")
    known = np.unique(y) if labels is None else np.asarray(labels)
    scores = ordered_numbers(np.asarray(y_score), "y_score")
    if scores.ndim == 1 and known.size == 2:
        scores = np.column_stack([-scores, scores])
    if scores.ndim != 2 or scores.shape[0] != y.size:
        raise ValueError(f"y_score has shape {scores.shape}; it needs one row for each of {y.size} labels.")
    if scores.shape[1] != known.size:
        raise ValueError(
            f"y_score has {scores.shape[1]} columns and there are {known.size} labels: give labels= in the order of "
            "the columns."
        )
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known, y, sorter=order), known.size - 1)
    codes = order[place]
    strange = known[codes] != y
    if strange.any():
        raise ValueError(f"y_true holds labels {np.unique(y[strange]).tolist()[:3]} that labels= does not name.")
    weight = None if sample_weight is None else checked_weights(sample_weight, y.size)
    sizes = np.bincount(codes, weight, known.size)
    present = np.flatnonzero(sizes > 0).tolist()
    if len(present) < 2:
        warn_of_one_class("ROC AUC")
    elif len(present) < known.size:
        missing = known[sizes == 0].tolist()
        warn(f"There are no rows of the classes {missing[:5]}: the mean leaves them out.", UndefinedMetricWarning)
    return codes, scores, weight, present
