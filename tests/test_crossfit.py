"""Folds of the tool, and the interval of the mean AUC over them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import pairwise_auc

from vrspam.tool.crossfit import fold_auc_ci, fold_numbers, stratified_folds


@pytest.mark.parametrize(("smaller", "expected"), [(4, 2), (5, 2), (6, 3), (9, 4), (10, 5), (40, 5)])
def test_every_fold_has_two_rows_of_each_class(smaller, expected):
    positive = np.arange(100) < smaller
    folds = stratified_folds(positive, 5, seed=0)
    number = fold_numbers(folds, np.zeros((100, 1)), positive)
    counts = np.bincount(number[positive])
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
