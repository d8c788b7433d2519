"""Folds of the tool, and the interval of the mean AUC over them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import pairwise_auc
from scipy.special import expit, logit
from scipy.stats import norm

from vrspam.data.table import Table
from vrspam.measures.fold_interval import fold_auc_ci
from vrspam.metrics import roc_auc_ci
from vrspam.tool.folds import make_folds
from vrspam.tool.plan import TrainPlan


@pytest.mark.parametrize(("smaller", "expected"), [(4, 2), (5, 2), (6, 3), (9, 4), (10, 5), (40, 5)])
def test_every_fold_has_two_rows_of_each_class(smaller, expected):
    positive = np.arange(100) < smaller
    folds = make_folds(Table(None, positive=positive, label="yes"), TrainPlan("sick"))
    counts = np.array([positive[inside].sum() for _, inside in folds.split(positive, positive)])
    assert (counts.size, folds.get_n_splits()) == (expected, expected)
    assert counts.min() >= 2


def test_folds_of_two_rows_count_and_those_of_one_do_not():
    rng = np.random.default_rng(0)
    sizes = [(2, 5), (5, 2), (1, 6), (6, 1), (4, 4)]  # positives and negatives of each fold
    positive = np.concatenate([np.repeat([True, False], size) for size in sizes])
    fold = np.repeat(np.arange(5), [sum(size) for size in sizes])
    scores = rng.integers(0, 6, positive.size) + positive
    used = [pairwise_auc(positive[fold == k], scores[fold == k]) for k in (0, 1, 4)]
    assert fold_auc_ci(positive, scores, fold).auc == pytest.approx(np.mean(used), abs=1e-14)
    only_small = np.isin(fold, [2, 3])
    with pytest.raises(ValueError, match="no fold has two rows of each class"):
        fold_auc_ci(positive[only_small], scores[only_small], fold[only_small])


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_interval_is_symmetric_on_the_logit_scale_and_as_wide_as_asked_for(confidence):
    rng = np.random.default_rng(1)
    positive, fold = rng.random(300) < 0.3, rng.integers(0, 4, 300)
    scores = rng.standard_normal(300) + positive
    parts = [roc_auc_ci(positive[fold == k], scores[fold == k]) for k in range(4)]
    auc, error = np.mean([part.auc for part in parts]), np.linalg.norm([part.standard_error for part in parts]) / 4
    half = norm.ppf(0.5 + confidence / 2) * error / (auc * (1 - auc))
    found = fold_auc_ci(positive, scores, fold, confidence)
    assert (found.auc, found.standard_error, found.confidence) == pytest.approx((auc, error, confidence))
    assert (found.low, found.high) == pytest.approx((expit(logit(auc) - half), expit(logit(auc) + half)))
