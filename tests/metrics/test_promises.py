"""Promised thresholds against populations whose measures are known; net benefit by counting rows."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom, norm

from vrspam.metrics import net_benefit, promised_threshold
from vrspam.metrics.net_benefit import benefit_over_all

SHARE = 0.3  # of positives; scores are normal, those of positives with the mean 1.5
TRUTH = {
    "recall": lambda t: norm.sf(t - 1.5),
    "specificity": norm.cdf,
    "precision": lambda t: SHARE * norm.sf(t - 1.5) / (SHARE * norm.sf(t - 1.5) + (1 - SHARE) * norm.sf(t)),
    "alerts": lambda t: SHARE * norm.sf(t - 1.5) + (1 - SHARE) * norm.sf(t),
}


def sample(rng, n=700):
    y = rng.random(n) < SHARE
    return y, rng.normal(size=n) + 1.5 * y


@pytest.mark.parametrize(
    ("measure", "promised"), [("recall", 0.9), ("specificity", 0.9), ("precision", 0.6), ("alerts", 0.2)]
)
def test_the_population_keeps_the_promise(measure, promised):
    rng, kept, true = np.random.default_rng(0), 0, []
    for _ in range(1000):
        y, score = sample(rng)
        try:
            found = promised_threshold(y, score, **{measure: promised})
        except ValueError:  # a precision that these rows do not show is not promised
            continue
        true.append(TRUTH[measure](found.threshold))
        kept += true[-1] <= promised if measure == "alerts" else true[-1] >= promised
    assert len(true) >= (990 if measure == "precision" else 1000)
    assert kept >= 0.936 * len(true)  # 0.95 less two standard errors
    # and it is not vacuous; about 130 rows above a threshold show a precision to 0.12 at the level 0.005
    assert abs(np.mean(true) - promised) < (0.15 if measure == "precision" else 0.06)


@pytest.mark.parametrize("m", [29, 30, 57, 200])
def test_the_order_statistic_is_the_last_that_the_binomial_allows(m):
    """By trying every place: one place further up the promise would be too bold."""
    rng = np.random.default_rng(m)
    y, score = np.arange(3 * m) < m, rng.normal(size=3 * m)
    place = int(np.searchsorted(np.sort(score[y]), promised_threshold(y, score, recall=0.9).threshold)) + 1
    assert binom.cdf(place - 1, m, 0.1) <= 0.05 < binom.cdf(place, m, 0.1)
    mirrored = promised_threshold(~y, -score, specificity=0.9).threshold
    assert mirrored == pytest.approx(-np.sort(score[y])[place - 1], abs=1e-12)


def test_ties_and_what_is_returned():
    y, score = np.repeat([0, 1], 100), np.repeat([0, 1, 1, 2], 50)
    found = promised_threshold(y, score, recall=0.9)
    assert (found.threshold, found.found, found.rows, found.measure) == (1.0, 1.0, 100, "recall")
    found = promised_threshold(y, score, precision=0.8)
    assert found.threshold > 1.0
    assert (found.found, found.rows, found.promised, found.confidence) == (1.0, 50, 0.8, 0.95)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"recall": 0.9}, "28 positives are too few to promise recall=0.9 with 95 % confidence: it takes 29"),
        ({"specificity": 0.999}, "500 negatives are too few .* it takes 2995"),
        ({"precision": 0.99}, "No threshold shows precision=0.99"),
        ({}, "exactly one of recall, specificity, precision and alerts, got 0"),
        ({"recall": 0.9, "alerts": 0.1}, "got 2"),
        ({"recall": 1.0}, "recall must lie strictly between 0 and 1"),
        ({"recall": 0.5, "confidence": 1.0}, "confidence must lie strictly between 0 and 1"),
    ],
)
def test_what_cannot_be_promised_is_said(given, words):
    y = np.arange(528) < 28
    with pytest.raises(ValueError, match=words):
        promised_threshold(y, np.random.default_rng(0).normal(size=y.size), **given)


def test_rows_without_a_positive_show_no_precision():
    y = np.arange(40) < 2  # the two lowest scores
    with pytest.raises(ValueError, match="the highest shown precision is 0"):
        promised_threshold(y, np.arange(40.0), precision=0.001)


@pytest.mark.parametrize("weighted", [False, True])
def test_net_benefit_is_that_of_counting_rows(weighted):
    rng = np.random.default_rng(1)
    y, chance = rng.random(300) < 0.3, rng.integers(0, 21, 300) / 20
    weight = rng.integers(0, 4, 300) if weighted else None
    rows = np.arange(300) if weight is None else np.repeat(np.arange(300), weight)
    points = np.array([0.05, 0.2, 0.5, 0.95])
    found = net_benefit(y, chance, points, sample_weight=weight)
    for k, t in enumerate(points):
        gains = np.where(chance >= t, np.where(y, 1.0, -t / (1 - t)), 0.0)
        assert found.model[k] == pytest.approx(gains[rows].mean(), abs=1e-12)
        assert found.treat_all[k] == pytest.approx(np.where(y, 1.0, -t / (1 - t))[rows].mean(), abs=1e-12)
        if weight is None:
            assert found.standard_error[k] == pytest.approx(gains.std() / np.sqrt(300), abs=1e-12)


def test_net_benefit_over_treating_all_rows_is_that_of_counting():
    rng = np.random.default_rng(2)
    y, chance = rng.random(400) < 0.3, rng.integers(0, 21, 400) / 20
    for t in (0.05, 0.2, 0.5):
        gains = np.where(y, 1.0, -t / (1 - t))
        more = np.where(chance >= t, gains, 0.0) - gains
        found = benefit_over_all(y, chance, t)
        assert found.value == pytest.approx(more.mean(), abs=1e-12)
        parts = [
            (np.sum((more[side] - more.mean()) ** 2), side.sum() - 1.0) for side in (~y, y)
        ]  # Satterthwaite's freedom
        freedom = sum(part for part, _ in parts) ** 2 / sum(part**2 / own for part, own in parts)
        assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, freedom) * more.std() / 20.0, abs=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_band_of_net_benefit_covers_the_truth(grouped):
    """Rows have the probability p itself; groups are copies of a row, five of each, in a random share of the rows."""
    rng, points = np.random.default_rng(4), np.array([0.1, 0.3, 0.6])
    many = rng.beta(1.0, 2.0, 1_000_000)
    truth = np.array([np.mean((many >= t) * (many - (1.0 - many) * t / (1.0 - t))) for t in points])
    inside, narrow = np.zeros(3), np.zeros(3)
    for _ in range(300):
        chance = rng.beta(1.0, 2.0, 250)
        y, group = rng.random(250) < chance, np.arange(250)
        if grouped:
            chance, y, group = np.repeat(chance, 5), np.repeat(y, 5), np.repeat(group, 5)
        found = net_benefit(y, chance, points, groups=group if grouped else None)
        inside += (found.low <= truth) & (truth <= found.high)
        alone = net_benefit(y, chance, points)
        narrow += (alone.low <= truth) & (truth <= alone.high)
    assert (inside >= 0.915 * 300).all()
    assert (inside <= 0.985 * 300).all()
    if grouped:  # as independent rows they would be covered far too seldom
        assert (narrow < 0.75 * 300).all()


def test_net_benefit_refuses_scores():
    with pytest.raises(ValueError, match="convert scores to probabilities first"):
        net_benefit([0, 1], [-0.5, 2.0])
    with pytest.raises(ValueError, match="3 positive and 0 negative rows: at least 1 of each class"):
        net_benefit([0, 0, 0], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="0 positive and 0 negative rows"):
        net_benefit([0, 1], [0.1, 0.2], sample_weight=[0.0, 0.0])
    with pytest.raises(ValueError, match="thresholds must lie strictly between 0 and 1"):
        net_benefit([0, 1], [0.5, 0.2], [1.0])


@pytest.mark.parametrize("rule", ["recall", "specificity", "alerts"])
@pytest.mark.parametrize("widened", [1.0, 1.25, 1.5])
def test_the_margin_of_out_of_fold_scores_is_as_many_times_as_large(rule, widened):
    """Up to the steps of a share of so many rows, and never less than one row."""
    rng = np.random.default_rng(3)
    y = np.arange(900) % 3 == 0
    scores = rng.standard_normal(y.size) + y
    judged = {"recall": 300, "specificity": 600, "alerts": 900}[rule]
    asked = 0.2 if rule == "alerts" else 0.8
    alone = promised_threshold(y, scores, **{rule: asked})
    found = promised_threshold(y, scores, **{rule: asked}, widened=widened)
    margin, wider = abs(alone.found - asked), abs(found.found - asked)
    assert abs(wider - widened * margin) <= (1.0 + widened) / judged
    few = promised_threshold(y[:90], scores[:90], recall=0.9, widened=widened)
    assert few.found == 1.0  # of 30 positives


def test_margins_below_those_of_a_test_set_are_refused():
    with pytest.raises(ValueError, match=r"widened must be at least 1, got 0.5"):
        promised_threshold([0, 1] * 50, range(100), recall=0.9, widened=0.5)
