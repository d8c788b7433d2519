"""Out-of-fold scores: the rows of each fold, and how much more their AUC varies than that of rows of a test set.

Each row is scored by a model that was trained on the other folds. Scores are compared inside their fold alone, because
they come from another model in another fold, and the AUC is the mean of those of the folds. Every row also trains the
models that score the others. If scores come from the training rows alone, as they do where there is nothing to find,
each pair of rows of two folds enters twice, once each way, and the variance is 1 + K/(K - 1) times that of a test set.
Where much is found, less: the share of the scores that other training rows would give, too, does not count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vrspam._utils.validation import numbers_of


def fold_parts(folds: ArrayLike, positive: NDArray, weight: NDArray | None, groups: ArrayLike | None) -> list[NDArray]:
    """The rows that each fold holds out: of both classes, and whole groups."""
    names = np.asarray(folds)
    if names.shape != positive.shape:
        raise ValueError(f"folds has shape {names.shape}; it needs one entry for each of {positive.size} rows.")
    values, fold = np.unique(names, return_inverse=True)
    if values.size < 2:
        raise ValueError("folds has a single value: rows must be scored by models of at least two folds.")
    counts = np.ones(positive.size, dtype=bool) if weight is None else weight > 0.0
    parts = [np.flatnonzero(fold == number) for number in range(values.size)]
    for name, part in zip(values, parts, strict=True):
        if np.unique(positive[part][counts[part]]).size < 2:
            raise ValueError(f"fold {name} holds rows of one class alone: use fewer folds, or stratified ones.")
    if groups is not None and (torn := torn_groups(numbers_of(groups, positive.size, "groups", "group"), fold)):
        raise ValueError(f"{torn} groups have rows in several folds: make folds of whole groups, by GroupKFold.")
    return parts


def torn_groups(groups: NDArray, parts: NDArray) -> int:
    """How many groups have rows in several parts; both are given by the number of each row's."""
    size = int(parts.max()) + 1
    return int(np.count_nonzero(np.bincount(np.unique(groups * size + parts) // size) > 1))


def shared_training(parts: Sequence[NDArray], n_rows: int) -> float:
    """What shared training rows add to the variance, relative to that of a test set: at most K/(K - 1) for K folds."""
    held_out_per_trained = float(np.mean([part.size / (n_rows - part.size) for part in parts]))
    return len(parts) * held_out_per_trained


PARAMETERS_PER_ROW = 1.0 / 3.0  # that a model is taken to have; benchmarks/out_of_fold.py shows how this holds


def stable_by_strength(auc: float, error: float, n_rows: float) -> float:
    """The share of the scores' variance that other training rows would give, too, as the strength of an AUC shows it.

    `error` is DeLong's. Let a score be linear in d parameters, each estimated from the rows, and x the squared distance
    of the best such score from an AUC of 1/2, in standard errors. Estimates add d to the variance of the scores, so the
    score at hand has the squared distance z² = x²/(x + d), and x/(x + d) of its variance is stable.
    """
    if error == 0.0:
        return 0.0
    z2 = ((auc - 0.5) / error) ** 2
    parameters = PARAMETERS_PER_ROW * n_rows
    best = (z2 + np.sqrt(z2**2 + 4.0 * z2 * parameters)) / 2.0
    return float(best / (best + parameters))


def weights_by_fold(parts: Sequence[NDArray], positive: NDArray, weights: NDArray) -> NDArray:
    """Weights with which a mean over the rows of a class is the mean over folds of the means inside them."""
    placed = np.zeros(positive.size)
    for part in parts:
        for side in (positive[part], ~positive[part]):
            rows = part[side]
            placed[rows] = weights[rows] / weights[rows].sum()
    return placed
