"""Scores of rows by models that have not seen them, and the AUC that follows with its interval."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from vrspam.features.frames import rows_of
from vrspam.metrics import AUCInterval, logit_interval, roc_auc_ci
from vrspam.model_selection.held_out import HeldOut

FOLDS = 5
LEAST = 4  # rows of each class: two folds of two


def check_size(counts: Any) -> int:
    """The rows of the smaller class, if they are enough to learn from and to check with."""
    smaller = int(min(counts))
    if smaller < LEAST:
        rows = f"{smaller} row{'s' if smaller != 1 else ''}"
        raise ValueError(f"one of the two classes has only {rows}: collect more, at least {LEAST} of each are needed")
    return smaller


def stratified_folds(positive: np.ndarray, n_splits: int, seed: int) -> StratifiedKFold:
    """Folds with at least two rows of each class in each, as many as asked for where the classes allow it."""
    smaller = check_size([positive.sum(), (~positive).sum()])
    return StratifiedKFold(min(n_splits, smaller // 2), shuffle=True, random_state=seed)


def fold_numbers(folds: Any, X: Any, positive: np.ndarray) -> np.ndarray:
    """The fold in which each row is held out."""
    number = np.empty(positive.size, dtype=np.intp)
    for fold, (_, held_out) in enumerate(folds.split(X, positive)):
        number[held_out] = fold
    return number


def cross_fit(estimator: Any, rows: Any, positive: np.ndarray, folds: Any) -> HeldOut:
    """Score each row by a clone of the estimator that was fitted on the other folds."""
    fold = fold_numbers(folds, np.empty((positive.size, 1)), positive)
    scores = np.empty(positive.size)
    for number in range(folds.get_n_splits()):
        inside = np.flatnonzero(fold == number)
        others = np.flatnonzero(fold != number)
        fitted = clone(estimator).fit(rows_of(rows, others), positive[others])
        scores[inside] = fitted.decision_function(rows_of(rows, inside))
    return HeldOut(positive, scores, fold, np.ones(positive.size))


def fold_auc_ci(positive: np.ndarray, scores: np.ndarray, fold: np.ndarray, confidence: float = 0.95) -> AUCInterval:
    """Mean AUC of the folds with an interval from DeLong's standard error of each.

    Rows are compared within their fold only, because other folds were scored by other models. The held-out rows of
    different folds are independent, so squared errors add:  se = √(Σ se_k²)/K; the interval is symmetric on the
    logit scale, as in `vrspam.metrics.roc_auc_ci`. The models share training rows, which this does not see: the
    interval says how well these folds were ranked, and is a little short for a model trained on other rows.

    Parameters
    ----------
    positive : boolean array of n
    scores : array of n
        Each from a model that has not seen the row.
    fold : array of n integers
        Folds with fewer than two rows of a class are left out.
    confidence : float in (0, 1)

    Returns
    -------
    AUCInterval

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(1000) < 0.3
    >>> interval = fold_auc_ci(positive, rng.standard_normal(1000) + positive, rng.integers(0, 5, 1000))
    >>> print(f"{interval.auc:.2f} [{interval.low:.2f}, {interval.high:.2f}]")
    0.77 [0.74, 0.80]
    """
    parts, smaller = [], 0
    for number in np.unique(fold):
        rows = fold == number
        count = int(min(positive[rows].sum(), (~positive[rows]).sum()))
        if count >= 2:
            smaller += count
            parts.append(roc_auc_ci(positive[rows], scores[rows], confidence=confidence))
    if not parts:
        raise ValueError("no fold has two rows of each class: take fewer folds or more rows")
    auc = float(np.mean([part.auc for part in parts]))
    error = float(np.sqrt(np.sum([part.standard_error**2 for part in parts]))) / len(parts)
    return logit_interval(auc, error, smaller, confidence)  # of complete separation: all folds together
