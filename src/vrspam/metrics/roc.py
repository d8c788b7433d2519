"""ROC AUC of two or more classes by ranks, the sensitivity at a specificity, and the checks that all measures share.

AUC is the probability that a random positive scores above a random negative, ties counting one half:

    AUC = mean over pairs (i in +, j in -) of  1[s_i > s_j] + 1/2 · 1[s_i = s_j]

in O(n log n): scores are sorted once.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit
from sklearn.exceptions import UndefinedMetricWarning

from vrspam._utils import array_api
from vrspam._utils.warnings import warn


def warn_of_one_class(measure: str) -> None:
    """Warn, as scikit-learn does, that a measure needs both classes."""
    text = f"Only one class is present in y_true (with positive weight): {measure} is not defined."
    warn(text, UndefinedMetricWarning)


def positive_rows(y_true: ArrayLike, at_least: int = 0) -> NDArray[np.bool_]:
    """Which labels are the positive one, the last of the two in sorted order; each class has at least so many rows."""
    y = np.asarray(y_true)
    if y.ndim != 1:
        raise ValueError(f"y_true must be one-dimensional, got shape {y.shape}.")
    if y.dtype != bool:
        labels = sorted_labels(y)
        if labels.size > 2:
            raise ValueError(
                f"y_true has {labels.size} different labels and AUC compares two; pass y_true == positive_label."
            )
        y = y == labels[-1] if labels.size else np.zeros(0, dtype=bool)
    if at_least:
        up = int(np.count_nonzero(y))
        down = y.size - up
        if min(up, down) < at_least:
            raise ValueError(f"{up} positive and {down} negative rows: at least {at_least} of each class are needed.")
    return y


def sorted_labels(y: NDArray) -> NDArray:
    """The different labels in sorted order; an error if one is missing."""
    try:
        labels = np.unique(y)
    except TypeError:
        raise ValueError("y_true mixes labels that cannot be sorted; use one type, with none missing.") from None
    if np.any(labels != labels):
        raise ValueError("y_true contains NaN; remove rows without a label.")
    return labels


def checked_scores(values: ArrayLike, n: int, name: str, chances: bool = False) -> NDArray:
    """The scores, checked: one for each of n labels; with `chances` 64-bit floats from 0 to 1, and at least one."""
    score = np.asarray(values)
    if score.ndim != 1 or score.size != n:
        raise ValueError(f"{name} has shape {score.shape}; it needs one number for each of {n} labels.")
    score = ordered_numbers(score, name)
    if chances and (score.size == 0 or score.min() < 0.0 or score.max() > 1.0):
        raise ValueError(f"{name} must hold numbers from 0 to 1: convert scores to probabilities first.")
    return score.astype(np.float64) if chances else score


def ordered_numbers(score: NDArray, name: str) -> NDArray:
    """Real numbers without NaN, so that any two can be compared."""
    if score.dtype == object:
        score = _plain_numbers(score)
    if score.dtype.kind not in "fiub":
        raise ValueError(f"{name} must contain real numbers, got {score.dtype}.")
    if score.dtype.kind == "f" and np.isnan(score).any():
        raise ValueError(f"{name} contains NaN, which has no rank; remove or impute those rows.")
    return _signed(score)


def _plain_numbers(score: NDArray) -> NDArray:
    """Numbers of a type of NumPy, whole ones as whole ones; the objects as they are if they are no numbers."""
    values = score.ravel().tolist()
    if all(isinstance(value, int) for value in values):
        with suppress(OverflowError):
            return score.astype(np.int64)
        with suppress(OverflowError):
            return score.astype(np.uint64)
    with suppress(TypeError, ValueError, OverflowError):
        return score.astype(np.float64)
    return score


def _signed(score: NDArray) -> NDArray:
    """The same numbers in a type that knows negative ones: minus an unsigned number wraps round, a boolean has none."""
    if score.dtype.kind == "b":
        return score.astype(np.int64)
    if score.dtype.kind != "u":
        return score
    if score.dtype.itemsize < 8 or score.max(initial=0) <= np.iinfo(np.int64).max:
        return score.astype(np.int64)
    return score.astype(np.longdouble)  # on most machines exact up to 2⁶⁴


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
    positive: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None, measure: str
) -> tuple[NDArray[np.bool_], NDArray, NDArray[np.float64] | None, NDArray[np.intp], NDArray[np.intp]]:
    """Labels, a matrix of scores with a row for each of them, and their weights, all on the host.

    Also the indices of the positive and of the negative rows of weight above 0; a warning if a class has none.
    """
    positive = array_api.on_host(positive)
    scores = array_api.on_host(scores)
    if positive.dtype != bool or positive.ndim != 1:
        raise ValueError("positive must be a one-dimensional boolean array; pass y == positive_label.")
    if scores.ndim != 2 or scores.shape[0] != positive.size:
        raise ValueError(f"scores has shape {scores.shape}; it needs one row for each of {positive.size} labels.")
    weight = None if sample_weight is None else checked_weights(array_api.on_host(sample_weight), positive.size)
    scores = ordered_numbers(scores, "scores")
    present = np.ones(positive.size, bool) if weight is None else weight > 0
    up, down = np.flatnonzero(positive & present), np.flatnonzero(~positive & present)
    if up.size == 0 or down.size == 0:
        warn_of_one_class(measure)
    return positive, scores, weight, up, down


def quantile(confidence: float, freedom: float = np.inf) -> float:
    """How many standard errors an interval reaches to each side: of a normal variable, or of Student's t."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}.")
    return beyond(0.5 - confidence / 2.0, freedom)


def beyond(tail: float, freedom: float = np.inf) -> float:
    """The number that a normal variable, or Student's t, exceeds with the probability `tail`."""
    return -float(ndtri(tail) if freedom == np.inf else stdtrit(freedom, tail))


def roc_auc(y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Area under the ROC curve in O(n log n), ties counted one half.

    Parameters
    ----------
    y_true : array of n labels
        Two values, the positive one sorting last (0/1, -1/+1, "no"/"yes"), or booleans.
    y_score : array of n numbers
        Higher means more positive. Infinite scores are ranked; NaN is an error.
    sample_weight : array of n numbers, optional
        Non-negative; each pair then counts with the product of its two weights.

    Returns
    -------
    float
        Equal to :func:`sklearn.metrics.roc_auc_score` to rounding; NaN, with scikit-learn's
        ``UndefinedMetricWarning``, when only one class is present.

    Examples
    --------
    >>> from vrspam.metrics import roc_auc
    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    positive = positive_rows(y_true)
    score = checked_scores(y_score, positive.size, "y_score")
    return float(roc_auc_columns(positive, score[:, None], sample_weight)[0])


def roc_auc_columns(
    positive: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """AUC of every column of a matrix of scores: one row per sample, one column per model.

    Parameters
    ----------
    positive : boolean array of n
    scores : array (n, m)
    sample_weight : array of n numbers, optional

    Returns
    -------
    array of m
        All NaN, with a warning, when only one class has weight.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import roc_auc_columns
    >>> scores = np.array([[0.1, 3.0], [0.4, 3.0], [0.35, 3.0], [0.8, 3.0]])
    >>> roc_auc_columns(np.array([False, False, True, True]), scores).tolist()
    [0.75, 0.5]
    """
    if array_api.device_namespace(scores) is not None:
        aucs = array_api.auc_columns(positive, scores, sample_weight)
        if np.isnan(aucs).all():
            warn_of_one_class("ROC AUC")
        return aucs
    positive, scores, weight, few, many = checked_columns(positive, scores, sample_weight, "ROC AUC")
    if few.size == 0 or many.size == 0:
        return np.full(scores.shape[1], np.nan)
    if swapped := few.size > many.size:
        few, many = many, few
    if weight is not None:  # a power of two for each class keeps products of weights within range
        weight = weight.copy()
        for side in (few, many):
            weight[side] = unit_weights(weight[side])

    wins = np.empty(scores.shape[1])
    for j in range(scores.shape[1]):
        column = scores[:, j]
        if weight is None:  # sorted look-ups walk through the sorted class in order: kind to the cache
            wins[j] = twice_below(np.sort(column[few]), column[many]).sum()
        else:
            wins[j] = weight[few] @ twice_below(column[few], column[many], weight[many])
    pairs = 2.0 * (few.size * many.size if weight is None else weight[few].sum() * weight[many].sum())
    return np.clip((pairs - wins if swapped else wins) / pairs, 0.0, 1.0)


def sensitivity_at_specificity(
    y_true: ArrayLike, y_score: ArrayLike, specificity: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> Any:
    """Largest sensitivity among the thresholds whose specificity is at least the one asked for.

    A row is called positive when its score exceeds the threshold. Nothing is interpolated: a threshold with
    this sensitivity exists. A specificity that is missed only by rounding counts as reached: 1 - 0.7 asks for 0.3. The
    allowance is 4 units in the last place of 1, and with weights one more for each negative row.

    Parameters
    ----------
    y_true, y_score, sample_weight
        As in :func:`roc_auc`; both classes must be present.
    specificity : number or array in [0, 1]

    Returns
    -------
    float, or array of the shape of `specificity`

    Examples
    --------
    >>> from vrspam.metrics import sensitivity_at_specificity
    >>> y, score = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7, 8]
    >>> sensitivity_at_specificity(y, score, [0.5, 0.75, 0.9]).tolist()
    [1.0, 1.0, 0.75]
    """
    positive = positive_rows(y_true)
    score = checked_scores(y_score, positive.size, "y_score")
    weight = None if sample_weight is None else checked_weights(sample_weight, positive.size)
    positive_rows(positive if weight is None else positive[weight > 0.0], at_least=1)
    wanted = np.asarray(specificity, dtype=np.float64)
    if not np.all((wanted >= 0.0) & (wanted <= 1.0)):
        raise ValueError("specificity must lie between 0 and 1.")

    _, _, hits, alarms = Ranked.of(positive, score, weight)
    # 1 - 0.7 is 0.30000000000000004, and sums of weights are rounded: that must not cost a whole negative
    rounding = (4 + (0 if weight is None else np.count_nonzero(~positive))) * np.finfo(np.float64).eps
    most = (1.0 - wanted + rounding) * alarms[-1]
    sensitivity = hits[alarms.searchsorted(most, side="right") - 1] / hits[-1]
    return float(sensitivity) if wanted.ndim == 0 else sensitivity


class Ranked(NamedTuple):
    """Rows from the highest score to the lowest, and the counts of rows at or above each different score."""

    order: NDArray[np.intp]
    thresholds: NDArray  # the different scores
    hits: NDArray[np.float64]  # positives, or their weights; one more than thresholds: 0 comes first
    alarms: NDArray[np.float64]  # negatives

    @classmethod
    def of(cls, positive: NDArray[np.bool_], scores: NDArray, weights: NDArray | None = None) -> Ranked:
        """Sort scores, once for all that follows from them; rows of weight 0 are left out."""
        order = np.argsort(scores)[::-1]
        if weights is not None and not weights.all():
            order = order[weights[order] > 0.0]
        ranked = scores[order]
        label = positive[order]
        hits, alarms = np.zeros(ranked.size + 1), np.arange(ranked.size + 1.0)
        if weights is None:
            hits[1:] = np.cumsum(label)
            alarms -= hits
        else:
            np.cumsum(np.where(label, weights[order], 0.0), out=hits[1:])
            np.cumsum(np.where(label, 0.0, weights[order]), out=alarms[1:])
        if (tied := ranked[1:] == ranked[:-1]).any():
            last = np.flatnonzero(np.append(~tied, True))  # of equal scores
            ranked = ranked[last]
            hits = hits[np.append(0, last + 1)]
            alarms = alarms[np.append(0, last + 1)]
        return cls(order, ranked, hits, alarms)


def twice_below(values: NDArray, others: NDArray, weight: NDArray | None = None) -> NDArray:
    """For each value twice the (weighted) number of `others` below it, plus that of its ties."""
    order = None if weight is None else np.argsort(others)
    others = np.sort(others) if order is None else others[order]
    below = others.searchsorted(values, side="left")
    not_above = others.searchsorted(values, side="right")
    if weight is None:
        return below + not_above
    mass = np.concatenate([[0.0], np.cumsum(weight[order])])
    return mass[below] + mass[not_above]


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
    return float(np.mean([roc_auc_columns(codes == k, scores[:, [k]], weight)[0] for k in present]))


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
        aucs += [roc_auc_columns(codes[rows] == k, scores[rows, k, None], of_rows)[0] for k in pair]
    return float(np.mean(aucs))


def _checked(
    y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None, labels: ArrayLike | None
) -> tuple[NDArray[np.intp], NDArray, NDArray | None, list[int]]:
    """The class of each row as a number, the scores, the weights, and the classes that have rows with weight."""
    y = np.asarray(y_true)
    if y.ndim != 1:
        raise ValueError(f"y_true must be one-dimensional, got shape {y.shape}.")
    seen = sorted_labels(y)
    known = seen if labels is None else np.asarray(labels)
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
