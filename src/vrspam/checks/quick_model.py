"""A quick model, straight lines or curves on a few thousand rows, that shows what a table promises."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from vrspam import AUCClassifierCV
from vrspam._utils.blas import blas_threads
from vrspam.estimators.search import fit_read_columns
from vrspam.features import AdditiveFeatures, LinearFeatures
from vrspam.tables.frames import numeric_flags

QUICK_ROWS = 5_000
QUICK_COLUMNS = 200


class QuickScores(NamedTuple):
    """The mean AUC of the folds of a quick model, and the score of each row by a model that has not seen it."""

    auc: float
    scores: np.ndarray


def quick_scores(
    X: Any, positive: np.ndarray, folds: Any, seed: int, maps: dict[str, Any] | None = None
) -> QuickScores:
    """Fit a quick model in folds.

    The model has straight lines or curves, whichever the folds find better, unless other maps are given; rows that no
    fold holds out score 0.
    """
    if maps is None:
        n_texts = sum(not numeric for numeric in numeric_flags(X))
        most = max(5, min(50, 2_000 // max(n_texts, 1)))
        maps = {"linear": LinearFeatures(max_categories=most), "additive": AdditiveFeatures(max_categories=most)}
    search = AUCClassifierCV(features=maps, cv=folds, selection="best", calibration=None, n_jobs=1, random_state=seed)
    with warnings.catch_warnings(action="ignore"), blas_threads(1 if positive.size <= 5_000 else None):
        fitted = fit_read_columns(search, X, positive)

    scores = np.zeros(positive.size)
    scores[fitted.out_of_fold_.places] = fitted.out_of_fold_.scores
    return QuickScores(float(fitted.best_score_), scores)


def draw_groups(codes: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Places of at most `most` rows: all rows of groups drawn at random, or of the table if it has no more."""
    if codes.size <= most:
        return np.arange(codes.size)
    order = np.random.default_rng(seed).permutation(int(codes.max()) + 1)
    sizes = np.bincount(codes)[order]
    return np.flatnonzero(np.isin(codes, order[np.cumsum(sizes) <= most]))
