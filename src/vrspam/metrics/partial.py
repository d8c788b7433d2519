"""The partial AUC: the area under the left end of the ROC curve, where few negatives are called positive.

The ROC curve is the polygon through the points of all thresholds. The part goes up to `max_fpr`, where the polygon is
cut by linear interpolation, also inside a group of tied scores. A positive with the share a of the negatives above it
and the share e tied with it adds to the area

    ∫₀ᵘ clip((t - a)/e, 0, 1) dt,   u = max_fpr

(max(0, u - a) where e = 0), so that only the highest negatives have to be sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vrspam._utils.messages import Parameter, WordedError
from vrspam.metrics._inputs import checked_columns, labels_and_scores, rows_of_classes, unit_weights

ROUNDING = 1e-12  # 0.55 · 100 is 55.00000000000001


def partial_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    max_fpr: float,
    standardized: bool = True,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Area under the ROC curve up to the false-positive rate `max_fpr`.

    Parameters
    ----------
    y_true, y_score, sample_weight
        As in :func:`roc_auc`.
    max_fpr : float in (0, 1]
        Where the part ends; 1 is the whole curve.
    standardized : bool, default=True
        Standardised after McClish: 0.5 for random scores and 1 for perfect ones, whatever `max_fpr` is. With False,
        the area divided by `max_fpr`: the mean sensitivity over the false-positive rates of the part.

    Returns
    -------
    float
        Equal to ``sklearn.metrics.roc_auc_score(max_fpr=)`` to rounding, ties included. NaN, with a warning, when only
        one class is present.

    References
    ----------
    McClish (1989), Medical Decision Making 9, 190-195.

    Examples
    --------
    >>> from vrspam.metrics import partial_auc
    >>> y, score = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7, 8]
    >>> partial_auc(y, score, max_fpr=0.25, standardized=False)  # three of four positives are above all negatives
    0.75
    >>> round(partial_auc(y, score, max_fpr=0.25), 4)
    0.8571
    """
    positive, score = labels_and_scores(y_true, y_score)
    columns = partial_auc_columns(positive, score[:, None], sample_weight, max_fpr=max_fpr, standardized=standardized)
    return float(columns[0])


def partial_auc_columns(
    positive: ArrayLike,
    scores: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    max_fpr: float,
    standardized: bool = True,
) -> NDArray[np.float64]:
    """Partial AUC of every column of a matrix of scores: one row per sample, one column per model.

    Without weights a column costs one pass over the scores and a sort of the negatives in the part alone.

    Parameters
    ----------
    positive : boolean array of n
    scores : array (n, m)
        Scores on a device are copied to the host.
    sample_weight : array of n numbers, optional
    max_fpr, standardized
        As in :func:`partial_auc`.

    Returns
    -------
    array of m
        All NaN, with a warning, when only one class has weight.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import partial_auc_columns
    >>> scores = np.array([[0.1, 3.0], [0.4, 3.0], [0.35, 3.0], [0.8, 3.0]])
    >>> partial_auc_columns(np.array([False, False, True, True]), scores, max_fpr=0.5).tolist()
    [0.666..., 0.5]
    """
    check_max_fpr(max_fpr)
    positive, scores, weight = checked_columns(positive, scores, sample_weight)
    sides = rows_of_classes(positive, weight, "the partial AUC")
    if sides is None:
        return np.full(scores.shape[1], np.nan)
    up, down = sides
    shares = np.empty(scores.shape[1])
    of_up, of_down = (None if weight is None else unit_weights(weight[side]) for side in (up, down))
    for j in range(scores.shape[1]):
        areas = area_of_each_positive(scores[up, j], scores[down, j], max_fpr, of_down)
        shares[j] = areas.mean() if of_up is None else areas @ of_up / of_up.sum()
    shares = np.clip(shares / max_fpr, 0.0, 1.0)
    return standardise(shares, max_fpr) if standardized else shares


def standardise(share: Any, max_fpr: float) -> Any:
    """McClish's scale of area ÷ max_fpr: random scores, whose share is max_fpr/2, have 0.5."""
    return 0.5 * (1.0 + (share - max_fpr / 2.0) / (1.0 - max_fpr / 2.0))


def check_max_fpr(max_fpr: float) -> None:
    """Refuse what is not a share of the negatives."""
    if not 0.0 < max_fpr <= 1.0:
        raise WordedError("{given} must be above 0 and at most 1.", given=Parameter("max_fpr", max_fpr))


def area_of_each_positive(up: NDArray, down: NDArray, max_fpr: float, weight: NDArray | None = None) -> NDArray:
    """What the scores `up` of the positives add to the area; `weight` is that of the negatives."""
    areas = np.zeros(up.size)
    if weight is None:
        place = down.size - negatives_up_to_cut(down.size, max_fpr)
        cut = np.partition(down, place)[place]
        ranked, inside = np.sort(down[down >= cut]), up >= cut  # no other row matters
        below, not_above = (ranked.searchsorted(up[inside], side=side) for side in ("left", "right"))
        above, tied = (ranked.size - not_above) / down.size, (not_above - below) / down.size
        areas[inside] = _area_beyond(np.maximum(max_fpr - above, 0.0), tied)
        return areas
    order = np.argsort(down)
    ranked, mass = down[order], np.append(weight[order][::-1].cumsum()[::-1], 0.0)
    below, not_above = (ranked.searchsorted(up, side=side) for side in ("left", "right"))
    above, tied = mass[not_above] / mass[0], (mass[below] - mass[not_above]) / mass[0]
    return _area_beyond(np.maximum(max_fpr - above, 0.0), tied)


def _area_beyond(room: NDArray, tied: NDArray) -> NDArray:
    """Area under a line that rises from 0 to 1 over the width `tied`, then stays at 1, up to the width `room`."""
    rising = np.minimum(room, tied)
    return room - rising + rising * np.divide(rising, tied, out=np.zeros_like(rising), where=tied > 0) / 2.0


def negatives_up_to_cut(negatives: int, max_fpr: float) -> int:
    """The place, from the top, of the negative at which the part ends: the first that is not wholly inside."""
    return min(negatives, int(max_fpr * negatives * (1.0 + ROUNDING)) + 1)
