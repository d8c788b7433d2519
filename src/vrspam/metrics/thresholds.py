"""Average precision of many scores at once; rows grouped by predicted probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vrspam.metrics._inputs import checked_columns, rows_of_classes, unit_weights


def average_precision_columns(
    positive: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Average precision of every column of a matrix of scores: one row per sample, one column per model.

    The mean, over the positives, of the precision at the threshold that just includes them:

        AP = mean over i in + of  TP(s_i) / (TP(s_i) + FP(s_i)),   TP(s), FP(s): positives, negatives with score ≥ s

    Parameters
    ----------
    positive : boolean array of n
    scores : array (n, m)
        Scores on a device are copied to the host.
    sample_weight : array of n numbers, optional
        How many rows each one stands for.

    Returns
    -------
    array of m
        Equal to :func:`sklearn.metrics.average_precision_score` to rounding. All NaN, with a warning, when only one
        class has weight.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import average_precision_columns
    >>> scores = np.array([[0.1, 3.0], [0.4, 3.0], [0.35, 3.0], [0.8, 3.0]])
    >>> average_precision_columns(np.array([False, False, True, True]), scores).round(4).tolist()
    [0.8333, 0.5]
    """
    positive, scores, weight = checked_columns(positive, scores, sample_weight)
    if weight is not None:
        weight = unit_weights(weight)
    sides = rows_of_classes(positive, weight, "average precision")
    if sides is None:
        return np.full(scores.shape[1], np.nan)
    up, down = sides
    found = np.empty(scores.shape[1])
    for j in range(scores.shape[1]):
        of_up, of_down = scores[up, j], scores[down, j]
        if weight is None:
            of_up, ranked = np.sort(of_up), np.sort(of_down)
            hits = up.size - of_up.searchsorted(of_up)
            alarms = down.size - ranked.searchsorted(of_up)
            found[j] = np.mean(hits / (hits + alarms))
        else:
            order_up, order_down = np.argsort(of_up), np.argsort(of_down)
            of_up, ranked, parts = of_up[order_up], of_down[order_down], weight[up][order_up]
            hits = _mass_from(parts)[of_up.searchsorted(of_up)]
            alarms = _mass_from(weight[down][order_down])[ranked.searchsorted(of_up)]
            found[j] = parts @ (hits / (hits + alarms)) / parts.sum()
    return np.clip(found, 0.0, 1.0)


def _mass_from(weight: NDArray) -> NDArray:
    """The sum of the weights from each place on, and 0 after the last."""
    return np.append(weight[::-1].cumsum()[::-1], 0.0)


def group_by_probability(
    positive: np.ndarray, probabilities: np.ndarray, groups: int = 10, weights: np.ndarray | None = None
) -> list[tuple[int, float, float]]:
    """(rows, mean predicted probability, observed frequency of positives) of groups of about equal size.

    Rows are taken in order of their probability; equal probabilities stay together, and rows count by their weights.

    >>> group_by_probability(np.array([False, True]), np.array([0.2, 0.6]), groups=2)
    [(1, 0.2, 0.0), (1, 0.6, 1.0)]
    """
    edges = np.unique(np.quantile(probabilities, np.linspace(0, 1, groups + 1)[1:-1], method="higher"))
    group = np.searchsorted(edges, probabilities, side="right")
    found = []
    for number in range(edges.size + 1):
        rows = group == number
        own = None if weights is None else weights[rows]
        if rows.any() and (own is None or own.any()):
            predicted, observed = (float(np.average(part[rows], weights=own)) for part in (probabilities, positive))
            found.append((int(rows.sum()), predicted, observed))
    return found
