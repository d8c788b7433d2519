"""Intervals hold the truth, and tests reject equals, about as often as they say: small simulations, always the same.

Rows, groups of both classes, groups of one label of which few are positive, few positives, out-of-fold scores. The
bounds are three standard errors of the simulation wide; `python -m benchmarks.coverage` measures the same more closely.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from laws_support import examples
from scipy.special import ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from vrspam import metrics
from vrspam._utils.validation import Rows
from vrspam.features import AdditiveFeatures
from vrspam.features.mapped import MappedArray
from vrspam.metrics.groups import Clusters, satterthwaite
from vrspam.model_selection.learning_curve import learning_curve

SETS = examples(200)


def at_most(share: float, found: int, sets: int) -> bool:
    return found <= sets * share + 3.0 * np.sqrt(sets * share * (1.0 - share))


def groups_of_one_label(rng, positive: int, n_groups: int, alike: float = 0.7, size: int = 5, auc: float = 0.8):
    """Labels of groups, of which so many are positive, and two scores that are equally good."""
    group = np.repeat(np.arange(n_groups), size)
    y, shift = group < positive, np.sqrt(2.0) * ndtri(auc)
    scores = []
    for _ in range(2):
        shared = rng.standard_normal(n_groups)[group]
        scores.append(np.sqrt(alike) * shared + np.sqrt(1.0 - alike) * rng.standard_normal(y.size) + shift * y)
    return y, *scores, group


@pytest.mark.parametrize(("positive", "n_groups"), [(3, 10), (3, 40), (3, 200), (5, 100)])
@pytest.mark.parametrize("alike", [0.1, 0.7])
def test_groups_of_one_label(positive, n_groups, alike):
    rng, auc = np.random.default_rng(positive + n_groups), 0.75
    outside = {"AUC": 0, "index": 0, "test": 0, "test of indices": 0}
    for _ in range(SETS):
        y, a, b, group = groups_of_one_label(rng, positive, n_groups, alike, auc=auc)
        found = metrics.roc_auc_ci(y, a, groups=group)
        outside["AUC"] += not found.low <= auc <= found.high
        outside["test"] += metrics.delong_test(y, a, b, groups=group).p_value < 0.05
        found = metrics.concordance_index_ci(y.astype(int), a, groups=group)
        outside["index"] += not found.low <= auc <= found.high
        outside["test of indices"] += metrics.concordance_test(y.astype(int), a, b, groups=group).p_value < 0.05
    for what, count in outside.items():
        assert at_most(0.065, count, SETS), (what, count)


def test_the_error_of_groups_of_one_label_is_that_of_many_draws():
    """Unbiased: G/(G-1) of each class, not of all groups."""
    rng, variances, aucs = np.random.default_rng(1), [], []
    for _ in range(max(600, SETS * 3)):  # fewer would not tell 15 % from chance
        y, a, _, group = groups_of_one_label(rng, 4, 60, auc=0.65)
        found = metrics.roc_auc_ci(y, a, groups=group)
        variances.append(found.standard_error**2)
        aucs.append(found.auc)
    assert np.mean(variances) == pytest.approx(np.var(aucs), rel=0.15)


@pytest.mark.parametrize("alike", [0.0, 0.5])
def test_rates_and_calibration_of_groups_of_one_label(alike):
    rng, outside = np.random.default_rng(2), 0
    for _ in range(SETS):
        group = np.repeat(np.arange(60), 5)
        z = rng.standard_normal(60)[group]
        chance = 1.0 / (1.0 + np.exp(2.0 - z))
        y = (rng.random(60)[group] < chance) if alike else (rng.random(300) < chance)
        if not 15 <= y.sum() <= 285:
            continue
        ratio = metrics.calibration_measures(y, chance, groups=group).ratio
        outside += not ratio.low <= 1.0 <= ratio.high
    assert at_most(0.07, outside, SETS)


@pytest.mark.parametrize(("positives", "negatives"), [(5, 50), (5, 500), (10, 100)])
def test_few_positives(positives, negatives):
    rng, y = np.random.default_rng(positives), np.repeat([True, False], [positives, negatives])
    rejected = {"paired": 0, "unpaired": 0}
    outside = 0
    for _ in range(SETS):
        a, b = (rng.standard_normal(y.size) + np.sqrt(2.0) * ndtri(0.7) * y for _ in range(2))
        rejected["paired"] += metrics.delong_test(y, a, b).p_value < 0.05
        rejected["unpaired"] += metrics.unpaired_auc_test((y, a), (y, b)).p_value < 0.05
        better = rng.standard_normal(y.size) + np.sqrt(2.0) * ndtri(0.98) * y
        good = rng.standard_normal(y.size) + np.sqrt(2.0) * ndtri(0.94) * y
        found = metrics.unpaired_auc_test((y, better), (y, good))
        outside += not found.low <= 0.04 <= found.high
    for what, count in rejected.items():
        assert at_most(0.065, count, SETS), (what, count)
    assert at_most(0.06, outside, SETS)


def test_two_perfect_samples_of_few_rows_say_little():
    perfect = np.repeat([0, 1], [50, 5])
    found = metrics.unpaired_auc_test((perfect, perfect), (perfect, perfect))
    assert (found.difference, found.p_value) == (0.0, 1.0)
    assert found.low < -0.15
    assert found.high > 0.15


@pytest.mark.parametrize("signal", [0.0, 0.5])
def test_out_of_fold_scores(signal):
    rng, sets = np.random.default_rng(3), SETS // 2
    rejected, naive, outside = 0, 0, 0
    for number in range(sets):
        y = np.arange(150) < 60
        X = rng.standard_normal((150, 16))
        X[:, [0, 8]] += signal * y[:, np.newaxis]
        scores, folds = np.empty((2, y.size)), np.empty(y.size, dtype=int)
        for fold, (train, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=number).split(X, y)):
            folds[test] = fold
            for model in (0, 1):
                columns = slice(8 * model, 8 * model + 8)
                fitted = LogisticRegression().fit(X[train, columns], y[train])
                scores[model, test] = fitted.decision_function(X[test, columns])
        rejected += metrics.delong_test(y, *scores, folds=folds).p_value < 0.05
        naive += metrics.delong_test(y, *scores).p_value < 0.05
        found = metrics.roc_auc_ci(y, scores[0], folds=folds)
        outside += signal == 0.0 and not found.low <= 0.5 <= found.high
    assert at_most(0.065, rejected, sets)
    assert at_most(0.065, outside, sets)
    assert naive > rejected  # as rows of a test set they are rejected more often


def some_rows(data):
    y = np.array(data.draw(st.lists(st.booleans(), min_size=8, max_size=20)))
    assume(3 <= y.sum() <= y.size - 3)
    score = np.array(data.draw(st.lists(st.integers(0, 6), min_size=y.size, max_size=y.size)), dtype=float)
    return y, score


@given(st.data())
@settings(max_examples=examples(60))
def test_rows_that_are_groups_of_one_are_rows(data):
    y, a = some_rows(data)
    b = np.array(data.draw(st.lists(st.integers(0, 6), min_size=y.size, max_size=y.size)), dtype=float)
    alone, grouped = metrics.delong_test(y, a, b), metrics.delong_test(y, a, b, groups=np.arange(y.size))
    for name in ("difference", "standard_error", "p_value", "low", "high"):
        assert getattr(grouped, name) == pytest.approx(getattr(alone, name), rel=1e-9, abs=1e-12, nan_ok=True), name
    found = metrics.roc_auc_ci(y, a, groups=np.arange(y.size))
    assert found.standard_error == pytest.approx(metrics.roc_auc_ci(y, a).standard_error, abs=1e-12)


@given(st.data())
@settings(max_examples=examples(60))
def test_degrees_of_freedom_lie_between_those_of_the_smaller_class_and_of_all_groups(data):
    """At least one less than the groups of the class with fewer; equal groups of both classes have G - 1."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    up, down = data.draw(st.integers(2, 6)), data.draw(st.integers(2, 30))
    size = data.draw(st.integers(1, 5))
    group = np.repeat(np.arange(up + down), size)
    y = group < up
    assume(y.sum() >= 2)
    assume((~y).sum() >= 2)
    found = Clusters.of(y, rng.standard_normal(y.size), np.ones(y.size), group)
    if found.error > 0.0:
        assert min(up, down) - 1.0 - 1e-9 <= found.freedom <= up + down - 2.0 + 1e-9
    both = np.tile([True, False], up + down)  # each group has one row of each class
    mixed = Clusters.of(both, rng.standard_normal(both.size), np.ones(both.size), np.repeat(np.arange(up + down), 2))
    if mixed.error > 0.0:
        assert mixed.freedom == pytest.approx(up + down - 1.0)


def test_satterthwaite_is_that_of_two_variances():
    assert satterthwaite((2.0, 4.0), (1.0, 9.0)) == pytest.approx(3.0**2 / (4.0 / 4.0 + 1.0 / 9.0))


@given(st.data())
@settings(max_examples=examples(40))
def test_one_group_of_a_class_tells_nothing(data):
    """Where all positive rows are of one group, intervals are from 0 to 1, and tests find nothing."""
    y, a = some_rows(data)
    group = np.where(y, -1, np.arange(y.size))
    assume(np.unique(a).size > 1)
    found = metrics.roc_auc_ci(y, a, groups=group)
    if found.standard_error > 0.0:
        assert (found.low, found.high) == (0.0, 1.0)
    test = metrics.delong_test(y, a, -a, groups=group)
    assert test.p_value == 1.0 or np.isnan(test.p_value)


def test_the_band_of_rows_allows_for_the_choice_of_a_penalty():
    """On noise the best of nine penalties looks good by chance; the truth is 1/2 at any size."""
    now, inside, sets = [], 0, SETS // 8
    for number in range(sets):
        rng = np.random.default_rng(number)
        X, y, part = rng.standard_normal((200, 10)), np.arange(200) < 80, np.empty(200, dtype=np.intp)
        for side in (y, ~y):
            part[side] = rng.permutation(np.arange(side.sum()) % 20)
        curves = AdditiveFeatures()
        curves.learn(X, None)
        band = learning_curve(Rows(MappedArray(X, curves), y, None), part, seed=number).at(200)
        now.append(band.value)
        inside += band.low <= 0.5 <= band.high
    assert abs(np.mean(now) - 0.5) < 0.02
    assert at_most(0.13, sets - inside, sets)
