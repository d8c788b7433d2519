"""The interval of the mean AUC of folds, whose rows are compared inside their fold alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vrspam.measures.auc_interval import auc_interval
from vrspam.measures.rows import ScoredRows
from vrspam.metrics import AUCInterval, partial_auc_ci, roc_auc_ci
from vrspam.metrics.concordance import crossed
from vrspam.metrics.groups import Clusters
from vrspam.metrics.intervals import logit_interval


def fold_auc_ci(
    positive: np.ndarray,
    scores: np.ndarray,
    fold: np.ndarray,
    confidence: float = 0.95,
    max_fpr: float | None = None,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    times: np.ndarray | None = None,
    within: np.ndarray | None = None,
) -> AUCInterval:
    """Mean AUC, or partial AUC up to `max_fpr`, of the folds, with an interval from DeLong's standard error of each.

    Rows are compared within their fold alone. The held-out rows of different folds are independent, so squared errors
    add, se = √(Σ se_k²)/K, and the interval is symmetric on the logit scale; where the folds give no standard error of
    a partial AUC, the bounds are the means of the folds' bounds. Folds with fewer than two rows of a class are left
    out. With `groups`, whose rows vary together, the standard error is over the pairs of all rows, as in
    `vrspam.metrics.roc_auc_ci`: a fold of few groups does not show how groups vary. With fewer than 6 groups, the
    interval is 0 to 1. With `times`, or `within` strata, the measure is the index of all pairs inside folds.

    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(1000) < 0.3
    >>> interval = fold_auc_ci(positive, rng.standard_normal(1000) + positive, rng.integers(0, 5, 1000))
    >>> print(f"{interval.auc:.2f} [{interval.low:.2f}, {interval.high:.2f}]")
    0.77 [0.74, 0.80]
    """
    rows = ScoredRows(positive, scores, weights=weights, groups=groups, times=times, within=within)
    if not rows.has_classes:
        return auc_interval(_inside_folds(rows, fold), confidence)
    parts, smaller = [], 0  # the folds that have two rows of each class, and the rows of their smaller classes
    for number in np.unique(fold):
        inside = fold == number
        if weights is not None:
            inside &= weights > 0.0
        part = rows.take(inside)
        count = min(part.positives, part.n - part.positives)
        if count >= 2:
            smaller += count
            parts.append(_one_fold(part, confidence, max_fpr))
    if not parts:
        raise ValueError("no fold has two rows of each class: take fewer folds or more rows")
    auc = float(np.mean([part.auc for part in parts]))
    error = float(np.sqrt(np.sum([part.standard_error**2 for part in parts]))) / len(parts)
    if groups is not None and max_fpr is None:
        mass = np.ones(scores.size) if weights is None else weights
        clusters = Clusters.of(positive, scores, mass, groups)
        if clusters.n_groups < 6 or clusters.error == np.inf:
            return AUCInterval(auc, 0.0, 1.0, np.inf, confidence, "logit")
        return logit_interval(auc, clusters.error, smaller, confidence, clusters.freedom)
    if max_fpr is not None and error == 0.0:
        low = float(np.mean([part.low for part in parts]))
        high = float(np.mean([part.high for part in parts]))
        return AUCInterval(auc, low, high, error, confidence, "score")
    return logit_interval(auc, error, smaller, confidence)  # with an error of 0, the pairs of all folds count


def _inside_folds(rows: ScoredRows, fold: np.ndarray) -> ScoredRows:
    """The same rows, compared only with rows of their fold."""
    strata = np.zeros(fold.size, dtype=np.intp) if rows.within is None else rows.within
    return replace(rows, within=crossed(strata, np.unique(fold, return_inverse=True)[1]))


def _one_fold(rows: ScoredRows, confidence: float, max_fpr: float | None) -> AUCInterval:
    """The AUC, or the partial AUC, of the rows of one fold, which count as independent."""
    if max_fpr is not None:
        return partial_auc_ci(rows.positive, rows.scores, max_fpr=max_fpr, confidence=confidence)
    return roc_auc_ci(rows.positive, rows.scores, confidence=confidence, sample_weight=rows.weights)
