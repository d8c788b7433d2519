"""How much of the scores is the same whatever rows a model was trained on: what narrows the interval of the AUC.

Models of two folds share training rows. If their scores were noise, they would correlate by the share of common rows
alone; what they have in common beyond that is there for other rows too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vrspam._utils.validation import Rows
from vrspam.model_selection.folds import Split
from vrspam.model_selection.kept_scores import FoldRows, KeptRows
from vrspam.model_selection.out_of_fold import scores_of
from vrspam.moments import ClassMoments


def scores_by_all(X: Any, splits: Sequence[Split], keep: KeptRows, coefs: np.ndarray) -> np.ndarray:
    """Scores of the kept rows of all folds, one fold after the other, by the model of each fold: (rows, folds)."""
    places = [split.validation[fold.places] for split, fold in zip(splits, keep.folds, strict=True)]
    return scores_of(X, np.concatenate(places), coefs)  # features of all of them at once


def stable_share(
    rows: Rows, splits: Sequence[Split], keep: KeptRows, coefs: np.ndarray, known: np.ndarray | None = None
) -> float:
    """The share of the variance of the scores, within the classes, that does not come from the choice of training rows.

    Each fold's rows are scored by its own model, which has not seen them, and by those of the other folds, which have.
    A score is s + e, where s is common to all training sets, and e is a sum over training rows: two models correlate by
    (var s + o var e) / (var s + var e), where o is the share of training rows they have in common. So the share is
    (correlation - o) / (1 - o), averaged over all pairs of folds. Scores that follow the labels of their own training
    rows correlate less on rows that one of them has not seen, and count as unstable.

    Parameters
    ----------
    rows : Rows
        Columns, or features of a map.
    splits : list of Split
    keep : KeptRows
        The rows to look at.
    coefs : ndarray of shape (folds, features)
        The model of each fold.
    known : ndarray, optional
        `scores_by_all`, where they were computed before.

    Returns
    -------
    float
        From 0 to 1.
    """
    overlap = _overlap([split.train for split in splits], rows.X.shape[0])
    found = scores_by_all(rows.X, splits, keep, coefs) if known is None else known
    ends = np.cumsum([fold.places.size for fold in keep.folds])[:-1]
    return stable_share_of(np.split(found, ends), overlap, keep)


def stable_share_of(scores: Sequence[np.ndarray], overlap: np.ndarray, keep: KeptRows) -> float:
    """The same from the scores of the kept rows of each fold, by all models, and the `_overlap` of the folds."""
    beyond, room = 0.0, 0.0
    for number, (part, fold) in enumerate(zip(scores, keep.folds, strict=True)):
        correlation = _correlation_within_classes(part, fold, number)
        others = np.isfinite(correlation) & (np.arange(len(overlap)) != number)
        beyond += float(np.sum(correlation[others] - overlap[number, others]))
        room += float(np.sum(1.0 - overlap[number, others]))
    return float(np.clip(beyond / room, 0.0, 1.0)) if room > 0.0 else 0.0


def stable_share_of_moments(moments: ClassMoments, keep: KeptRows, coefs: np.ndarray) -> float:
    """The same for rows that came in blocks: from the scatter of all columns within the classes.

    There are many more rows than columns then, so that it makes no difference which of them a model has seen.
    """
    products = coefs @ moments.within @ coefs.T
    others = ~np.eye(len(coefs), dtype=bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = (products / np.sqrt(np.outer(np.diagonal(products), np.diagonal(products))))[others]
    overlap = 1.0 - keep.held_out_per_trained
    if overlap >= 1.0 or not np.isfinite(correlation).all():
        return 0.0
    return float(np.clip((correlation.mean() - overlap) / (1.0 - overlap), 0.0, 1.0))


def _overlap(train: Sequence[np.ndarray], n: int) -> np.ndarray:
    """Training rows that each two folds have in common, over the geometric mean of their numbers."""
    used = np.zeros((len(train), n), dtype=np.float32)
    for line, part in zip(used, train, strict=True):
        line[part] = 1.0
    common = (used @ used.T).astype(np.float64)
    sizes = np.sqrt(np.diagonal(common))
    return common / np.outer(sizes, sizes)


def _correlation_within_classes(scores: np.ndarray, fold: FoldRows, own: int) -> np.ndarray:
    """Correlations of the scores of all models with those of one of them; both classes weigh the same."""
    centred, mass = scores.copy(), np.zeros(len(scores))
    for side in (fold.positive, ~fold.positive):
        weights = fold.weights[side]
        if weights.sum() > 0.0:
            mass[side] = weights / weights.sum()
            centred[side] -= mass[side] @ scores[side]
    products = (mass * centred[:, own]) @ centred
    with np.errstate(invalid="ignore", divide="ignore"):
        return products / np.sqrt(products[own] * (mass @ centred**2))
