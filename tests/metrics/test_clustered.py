"""Rows that belong together, and rows of different weight: errors, intervals and paired tests of their AUCs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from vrspam.metrics import delong_test, roc_auc_ci


def patients(rng, n_groups=100, rows=5, auc=0.8, shared=0.7, labels="group"):
    """Scores of normal noise, a share of it the same for all rows of a patient; labels of patients, or of rows."""
    groups = np.repeat(np.arange(n_groups), rows)
    positive = rng.random(n_groups)[groups] < 0.4 if labels == "group" else rng.random(groups.size) < 0.3
    noise = np.sqrt(shared) * rng.standard_normal(n_groups)[groups]
    noise += np.sqrt(1.0 - shared) * rng.standard_normal(groups.size)
    return positive, noise + np.sqrt(2.0) * ndtri(auc) * positive, groups


def pairs_written_out(positive, scores):
    return np.array([[1.0 if a > b else 0.5 if a == b else 0.0 for b in scores[~positive]] for a in scores[positive]])


def brute_force_error(positive, pairs, weights, groups):
    """One sum for each group over all its pairs, written out; each class makes up for its mean."""
    up, down = weights[positive] / weights[positive].sum(), weights[~positive] / weights[~positive].sum()
    auc = up @ pairs @ down
    moves = np.empty(positive.size)
    moves[positive], moves[~positive] = up * (pairs @ down - auc), down * (up @ pairs - auc)
    names = sorted(set(groups.tolist()))
    sums = {name: 0.0 for name in names}
    for side in (positive, ~positive):
        share = {name: weights[side & (groups == name)].sum() / weights[side].sum() for name in names}
        squares = sum(one**2 for one in share.values())
        for name in names:
            sums[name] += moves[side & (groups == name)].sum() / np.sqrt(1.0 - 2.0 * share[name] + squares)
    return np.sqrt(sum(one**2 for one in sums.values()))


@pytest.mark.parametrize("weighted", [False, True])
def test_error_of_groups_is_that_of_all_pairs(weighted):
    rng = np.random.default_rng(5)
    groups, positive = rng.integers(0, 7, 60), rng.random(60) < 0.4
    a, b = rng.integers(0, 9, (2, 60)) / 2.0
    weights = rng.integers(0, 4, 60).astype(float) if weighted else np.ones(60)
    used, given = weights > 0.0, weights if weighted else None
    kept = positive[used], weights[used], groups[used]
    of_a, of_b = (pairs_written_out(kept[0], score[used]) for score in (a, b))
    found = roc_auc_ci(positive, a, groups=groups, sample_weight=given)
    assert found.standard_error == pytest.approx(brute_force_error(kept[0], of_a, *kept[1:]), rel=1e-12)
    assert found.auc == pytest.approx(roc_auc_score(positive, a, sample_weight=given), rel=1e-12)
    test = delong_test(positive, a, b, groups=groups, sample_weight=given)
    assert test.standard_error == pytest.approx(brute_force_error(kept[0], of_a - of_b, *kept[1:]), rel=1e-12)
    assert test.difference == pytest.approx(test.auc_a - test.auc_b, rel=1e-12)


def test_error_of_groups_is_that_of_a_cluster_bootstrap():
    rng = np.random.default_rng(1)
    positive, scores, groups = patients(rng)
    other = scores + 0.5 * rng.standard_normal(scores.size)
    rows = [np.flatnonzero(groups == group) for group in range(100)]
    drawn = []
    for _ in range(1000):
        some = np.concatenate([rows[group] for group in rng.integers(0, 100, 100)])
        drawn.append([roc_auc_score(positive[some], values[some]) for values in (scores, other)])
    a, b = np.array(drawn).T
    assert roc_auc_ci(positive, scores, groups=groups).standard_error == pytest.approx(a.std(), rel=0.1)
    assert delong_test(positive, scores, other, groups=groups).standard_error == pytest.approx((a - b).std(), rel=0.1)


@pytest.mark.parametrize("labels", ["group", "row"])
def test_intervals_of_groups_cover_the_truth(labels):
    rng, auc = np.random.default_rng(2), 0.8
    inside, alone, different = [], [], []
    for _ in range(400):
        positive, scores, groups = patients(rng, auc=auc, labels=labels)
        found, plain = roc_auc_ci(positive, scores, groups=groups), roc_auc_ci(positive, scores)
        inside.append(found.low <= auc <= found.high)
        alone.append(plain.low <= auc <= plain.high)
        noise = np.sqrt(0.7) * rng.standard_normal(100)[groups] + np.sqrt(0.3) * rng.standard_normal(groups.size)
        other = noise + np.sqrt(2.0) * ndtri(auc) * positive  # as good a score, of another disease
        different.append(delong_test(positive, scores, other, groups=groups).p_value < 0.05)
    assert 0.92 <= np.mean(inside) <= 0.98
    assert 0.02 <= np.mean(different) <= 0.08
    assert np.mean(alone) < 0.8 or labels == "row"  # rows of one patient, taken as independent


def test_a_weighted_comparison_is_how_much_the_difference_varies():
    """Weights that have nothing to do with the scores: the error of the difference, over 300 sets."""
    rng = np.random.default_rng(3)
    found, errors = [], []
    for _ in range(300):
        positive, weights = rng.random(200) < 0.4, rng.exponential(size=200)
        a, b = rng.standard_normal((2, 200)) + positive
        test = delong_test(positive, a, b, sample_weight=weights)
        found.append(test.difference)
        errors.append(test.standard_error)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(found), rel=0.1)


def test_rows_alone_are_groups_of_one_and_weights_of_one_change_nothing():
    rng = np.random.default_rng(4)
    positive, a, _ = patients(rng)
    b = a + rng.standard_normal(a.size)
    plain, alone = roc_auc_ci(positive, a), roc_auc_ci(positive, a, groups=np.arange(a.size).astype(str))
    assert alone.standard_error == pytest.approx(plain.standard_error, rel=0.01)  # n/(n-1) of all, or of each class
    ones = np.ones(a.size)
    assert roc_auc_ci(positive, a, sample_weight=ones).low == pytest.approx(plain.low, rel=1e-12)
    weighted, test = delong_test(positive, a, b, sample_weight=ones), delong_test(positive, a, b)
    assert (weighted.p_value, weighted.low) == pytest.approx((test.p_value, test.low), rel=1e-9)


def test_equal_scores_and_separated_classes_of_groups_have_no_error():
    positive, groups = np.arange(12) >= 6, np.arange(12) // 2
    same = delong_test(positive, np.arange(12.0), np.arange(12.0), groups=groups)
    assert (same.difference, same.standard_error, same.p_value) == (0.0, 0.0, 1.0)
    perfect = roc_auc_ci(positive, positive.astype(float), groups=groups)
    assert (perfect.auc, perfect.standard_error, perfect.high) == (1.0, 0.0, 1.0)
    alone = roc_auc_ci(positive[::2], positive[::2].astype(float))  # one row of each group
    assert perfect.low == pytest.approx(alone.low, rel=1e-9)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2, 3], "groups has shape \\(3,\\); it needs one label for each of 6 rows"),
        ([1, 1, 1, 1, 1, 1], "a single value"),
        (["a", None, "a", "b", "b", "b"], "groups is missing in 1 rows"),
        ([1.0, np.nan, 1.0, 2.0, 2.0, 2.0], "groups is missing in 1 rows"),
    ],
)
def test_groups_that_say_nothing_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        roc_auc_ci([0, 0, 0, 1, 1, 1], [1, 2, 3, 3, 4, 5], groups=groups)
