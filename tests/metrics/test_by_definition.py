"""Measures, thresholds and intervals against their definitions, counted row by row or taken from SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from vrspam.metrics import concordance_index, concordance_index_ci, corrected_auc, net_benefit, roc_auc_ci
from vrspam.metrics.calibration import calibration_measures, effective_share, reliability, wilson
from vrspam.metrics.concordance import concordance_index as index_of
from vrspam.metrics.promises import choose_threshold, stored_threshold
from vrspam.metrics.roc import quantile
from vrspam.metrics.thresholds import Curve
from vrspam.model_selection.selection import Points, choose

SEEDS = range(8)


def scored(seed, n=30, digits=1):
    """Scores with ties, and weights of whole numbers."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) % 3 == 0
    return positive, np.round(rng.standard_normal(n) + positive, digits), rng.integers(1, 4, n).astype(float)


def counts(positive, scores, weights, threshold):
    called = scores >= threshold
    return weights[called & positive].sum(), weights[called & ~positive].sum()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("rule", "asked"), [("recall", 0.7), ("precision", 0.6), ("alerts", 0.3), ("cost_ratio", 3.0)])
def test_a_chosen_threshold_is_that_of_a_search(rule, asked, seed):
    positive, scores, weights = scored(seed)
    chosen = choose_threshold(positive, scores, rule, asked, weights)
    hits, alarms = counts(positive, scores, weights, chosen.threshold)
    positives, negatives = weights[positive].sum(), weights[~positive].sum()
    assert chosen.sensitivity == pytest.approx(hits / positives)
    assert chosen.specificity == pytest.approx(1 - alarms / negatives)
    assert chosen.share == pytest.approx((hits + alarms) / weights.sum())
    assert chosen.precision == pytest.approx(hits / (hits + alarms))
    values = np.unique(scores)[::-1]
    each = [counts(positive, scores, weights, value) for value in values]
    if rule == "recall":
        expected = next(v for v, (h, _) in zip(values, each, strict=True) if h >= asked * positives)
    elif rule == "cost_ratio":
        assert alarms + asked * (positives - hits) == min(a + asked * (positives - h) for h, a in each)
        return
    elif rule == "precision":
        expected = [v for v, (h, a) in zip(values, each, strict=True) if h >= asked * (h + a)][-1]
    else:
        expected = [v for v, (h, a) in zip(values, each, strict=True) if h + a <= asked * weights.sum()][-1]
    assert (scores >= chosen.threshold).tolist() == (scores >= expected).tolist()


def test_a_share_that_is_just_reached_is_reached():
    scores = np.arange(20.0)
    positive = scores % 2 == 0
    for share in (0.1, 0.3, 0.6, 0.7, 0.9):  # of ten; 0.1 * 3 is more than 0.3
        assert choose_threshold(positive, scores, "recall", share).sensitivity == pytest.approx(share)
    assert choose_threshold(scores >= 14.0, scores, "precision", 0.6).precision == 0.6
    assert choose_threshold(positive, scores, "alerts", 0.3).share == 0.3


@pytest.mark.parametrize("seed", SEEDS)
def test_any_score_is_a_threshold(seed):
    positive, scores, _ = scored(seed)
    curve, ones = Curve.of(positive, scores), np.ones(30)
    for threshold in np.linspace(scores.min() - 0.5, scores.max() + 0.5, 23):
        hits, alarms = counts(positive, scores, ones, threshold)
        found = curve.at_score(threshold)
        if threshold <= scores.min():  # the lowest threshold calls all rows
            hits, alarms = 10, 20
        assert (found.sensitivity, found.specificity) == (hits / 10, 1 - alarms / 20)
        assert found.precision == (hits / (hits + alarms) if hits + alarms else None)
        assert found.threshold == threshold
    for place in range(curve.thresholds.size):  # short numbers call the same rows
        short = curve.short(place)
        assert counts(positive, scores, ones, short.threshold) == (curve.hits[place], curve.alarms[place])


def test_everything_or_no_call_is_no_promise():
    positive, scores, weights = scored(0, 400)
    for asked, given, words in ((1.0, None, "no number of rows"), (0.9, weights, "with weights")):
        chosen, message = stored_threshold(positive, scores, "recall", asked, given)
        assert chosen.confidence is None
        assert words in str(message)
    chosen, message = stored_threshold(positive, scores, "recall", 0.9, grouped=True)
    assert chosen.confidence is None
    assert "rows in groups" in str(message)
    chosen, message = stored_threshold(positive, scores, "recall", 0.9)
    assert (chosen.confidence, message) == (0.95, None)


def test_quantiles_are_those_of_scipy():
    for confidence in (0.5, 0.9, 0.99):
        assert quantile(confidence) == pytest.approx(stats.norm.ppf(0.5 + confidence / 2))
        for freedom in (1.0, 4.5, 200.0):
            assert quantile(confidence, freedom) == pytest.approx(stats.t.ppf(0.5 + confidence / 2, freedom))


@pytest.mark.parametrize(("hits", "rows"), [(0, 5), (3, 7), (50, 60), (9, 9)])
def test_wilson_is_that_of_scipy(hits, rows):
    expected = stats.binomtest(hits, rows).proportion_ci(method="wilson")
    low, high = wilson(np.array(hits / rows), np.array(float(rows)))
    assert (float(low), float(high)) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_effective_rows_of_a_share():
    rng = np.random.default_rng(0)
    right = rng.random(40) < 0.7
    assert effective_share(right, np.ones(40)) == pytest.approx(1.0)
    wider = stats.t.ppf(0.975, 39) / stats.norm.ppf(0.975)  # 40 groups, which also tell how much groups vary
    of_groups = effective_share(np.repeat(right, 3), np.ones(120), np.repeat(np.arange(40), 3))
    assert of_groups == pytest.approx(1 / 3 / (40 / 39 * wider**2))
    assert effective_share(np.ones(10, dtype=bool), np.ones(10), np.arange(10) // 5) == pytest.approx(0.2)
    weights = rng.uniform(0.1, 3.0, 40)
    share = weights @ right / weights.sum()
    variance = np.sum((weights * (right - share)) ** 2) / weights.sum() ** 2
    assert effective_share(right, weights) == pytest.approx(share * (1 - share) / variance / weights.sum())


@pytest.mark.parametrize(("rows", "bins"), [(20, 2), (70, 4), (400, 10)])
def test_reliability_has_ten_groups_or_fewer_of_fifteen_rows(rows, bins):
    chance = np.random.default_rng(rows).permutation(rows) / rows
    found = reliability(chance > 0.5, chance)
    assert len(found) == bins
    assert reliability(chance > 0.5, chance, order=np.argsort(chance)[::-1]) == found
    assert sum(one.rows for one in found) == rows
    assert max(one.rows for one in found) - min(one.rows for one in found) <= 1
    assert np.average([one.predicted for one in found], weights=[one.rows for one in found]) == pytest.approx(
        chance.mean()
    )


def test_the_error_of_a_net_benefit_counts_each_row_by_its_weight():
    positive, scores, weights = scored(3, 60)
    chance = expit(scores)
    for given in (None, weights):
        share = np.ones(60) / 60 if given is None else weights / weights.sum()
        found = net_benefit(positive, chance, [0.2, 0.6], sample_weight=given)
        for place, at in enumerate((0.2, 0.6)):
            gains = np.where(positive, 1.0, -at / (1 - at)) * (chance >= at)
            assert found.model[place] == pytest.approx(share @ gains)
            error = np.sqrt(share**2 @ (gains - share @ gains) ** 2)
            assert found.standard_error[place] == pytest.approx(error)
    for bad in ([0.0], [1.0], [0.5, 0.0]):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            net_benefit(positive, chance, bad)


def test_a_narrow_range_of_probabilities_has_a_slope():
    rng = np.random.default_rng(0)
    chance = rng.uniform(0.45, 0.55, 4000)
    assert np.ptp(logit(chance)) < 1.0
    found = calibration_measures(rng.random(4000) < chance, chance)
    assert 0.0 < found.slope.value < 2.0
    assert np.isfinite([found.slope.low, found.slope.high]).all()


def test_two_groups_are_enough_for_an_interval():
    positive, scores, _ = scored(1)
    found = roc_auc_ci(positive, scores, groups=np.arange(30) % 2)
    assert found.low < found.auc < found.high
    with pytest.raises(ValueError, match="single value"):
        roc_auc_ci(positive, scores, groups=np.zeros(30))


@pytest.mark.parametrize("grouped", [False, True])
def test_the_order_of_the_models_does_not_matter(grouped):
    rng = np.random.default_rng(4)
    positive = rng.random(200) < 0.4
    scores = positive[:, None] * [0.2, 1.5, 0.7, 0.4] + rng.standard_normal((200, 4))
    options: Any = {"folds": np.arange(200) // 2 % 4, "groups": np.arange(200) // 2 if grouped else None}
    expected = corrected_auc(positive, scores, **options)
    for order in ([1, 0, 2, 3], [3, 2, 0, 1]):
        found = corrected_auc(positive, scores[:, order], **options)
        assert (found.auc, found.low, found.high) == pytest.approx((expected.auc, expected.low, expected.high))


def test_uno_takes_events_before_tau_alone():
    rng = np.random.default_rng(0)
    time, event, score = rng.exponential(size=60), rng.random(60) < 0.6, rng.standard_normal(60)
    tau = float(np.sort(time[event])[20])
    assert (time[event] == tau).any()
    free, left = {}, 1.0  # the share that is not censored before each time; events come before censoring
    for t in np.unique(time):
        free[t] = left
        censored = (~event & (time == t)).sum()
        if censored:
            left *= 1 - censored / ((time > t).sum() + censored)
    above = below = 0.0
    for i in np.flatnonzero(event & (time < tau)):
        later = (time > time[i]) | ((time == time[i]) & ~event)
        weight = free[time[i]] ** -2
        above += weight * (np.sum(score[i] > score[later]) + 0.5 * np.sum(score[i] == score[later]))
        below += weight * later.sum()
    found = concordance_index(time, score, event=event, weights="uno", tau=tau)
    assert found == pytest.approx(above / below)


@pytest.mark.parametrize("few", [4, 9])
def test_few_rows_of_a_side_widen_the_interval_as_students_t(few):
    """On the logit scale the interval is wider by the quantile of Student's t with the rows of the smaller side."""
    rng = np.random.default_rng(few)
    y = (np.arange(60) < few).astype(float)
    score = rng.standard_normal(60) + y
    found = concordance_index_ci(y, score)
    value = index_of(y, score)
    half = (logit(found.high) - logit(found.low)) / 2
    error = found.standard_error / (value * (1 - value))
    assert half == pytest.approx(stats.t.ppf(0.975, few - 1) * error, rel=1e-6)


def test_many_strata_are_the_units_of_an_interval():
    rng = np.random.default_rng(2)
    y, strata = np.tile([0.0, 1.0], 25), np.repeat(np.arange(25), 2)
    score = rng.standard_normal(50) + y
    found = concordance_index_ci(y, score, strata=strata)
    won = score[1::2] > score[::2]
    assert found.auc == pytest.approx(won.mean())
    half = (logit(found.high) - logit(found.low)) / 2
    error = found.standard_error / (found.auc * (1 - found.auc))
    assert half == pytest.approx(stats.t.ppf(0.975, 24) * error, rel=1e-6)


def test_the_points_of_several_candidates_keep_their_places():
    axes = {"l2": np.array([1.0, 0.1])}
    auc = np.array([[0.5, 0.5], [0.6, 0.6]]), np.array([[0.7, 0.7], [0.65, 0.65]]), np.array([[0.8, 0.8], [0.9, 0.9]])
    points = Points.of([(part, axes) for part in auc])
    everything = np.concatenate(auc)[:, :, np.newaxis]
    assert sorted(points.order.tolist()) == [0, 1, 2, 3, 4, 5]
    assert choose(everything, points, "best")[:, 0].tolist() == [0, 0, 0, 0, 0, 1]
    blend = choose(everything, points, "blend")[:, 0]
    assert set(np.flatnonzero(blend)) <= {1, 2, 5}
