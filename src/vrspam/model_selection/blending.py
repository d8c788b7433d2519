"""Blend the scores of several candidates, with weights that come from held-out rows alone.

With few positive rows the candidate with the best cross-validated score is often best by luck. A blend is the weighted
sum of all candidates that luck alone may separate from the best, each divided by the spread of its held-out scores.
One candidate that is clearly ahead gets all the weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vrspam.model_selection.kept_scores import KeptRows
from vrspam.model_selection.selection import TIE

SHARE = 0.5  # of the deviation of the best candidate's scores over the folds: so far behind it, a weight falls to 1/e
NEGLIGIBLE = 0.02  # weights below this share of the largest are 0


def blend_weights(scores: np.ndarray) -> np.ndarray:
    """Weights of candidates from their scores on the folds; they add up to 1.

    A candidate whose mean score is Δ behind the best gets exp(-Δ / (s/2)) times its weight, with s the standard
    deviation of the best one's scores over the folds. Where that is 0 only candidates that are as good get any weight.

    Parameters
    ----------
    scores : ndarray of shape (candidates, folds, ...)
        Higher is better; further axes are independent of each other.

    Returns
    -------
    ndarray of shape (candidates, ...)

    Examples
    --------
    >>> scores = np.array([[0.80, 0.84], [0.79, 0.85], [0.70, 0.74]])
    >>> blend_weights(scores).tolist()
    [0.5, 0.5, 0.0]
    """
    mean = scores.mean(axis=1)
    best = mean.argmax(axis=0)[np.newaxis]
    behind = np.take_along_axis(mean, best, axis=0) - mean
    scale = np.zeros(behind.shape[1:])
    if scores.shape[1] > 1:
        of_best = np.take_along_axis(scores, np.expand_dims(best, 1), axis=0)[0]
        scale = SHARE * of_best.std(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.exp(-behind / scale)
    weights = np.where(behind <= TIE, 1.0, np.where(scale > TIE, weights, 0.0))
    weights = np.where(weights < NEGLIGIBLE, 0.0, weights)
    return weights / weights.sum(axis=0)


def spreads(rows: KeptRows, scores: Sequence[np.ndarray]) -> np.ndarray:
    """Standard deviation of the held-out scores of each point about the mean of their fold; 1 where they are all equal.

    Parameters
    ----------
    rows : KeptRows
    scores : list of ndarray of shape (points, rows of the fold)

    Returns
    -------
    ndarray of shape (points,)
    """
    total, squares = 0.0, np.zeros(scores[0].shape[0])
    for fold, part in zip(rows.folds, scores, strict=True):
        if fold.positive.size == 0:
            continue
        weights = fold.standing_for
        centred = part - (part @ weights / weights.sum())[:, np.newaxis]
        squares += centred**2 @ weights
        total += float(weights.sum())
    found = np.sqrt(squares / total)
    return np.where(found > 0.0, found, 1.0)
