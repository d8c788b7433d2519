"""Calibration slope, intercept and ratio: scikit-learn's logistic regression, known truths, copies of rows."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from vrspam.metrics import calibration_measures


def rows(rng, n=400, slope=1.0, shift=0.0):
    """Probabilities, and labels whose log-odds are slope · logit(p) + shift."""
    z = rng.normal(size=n)
    return rng.random(n) < expit(slope * z + shift), expit(z)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_slope_is_that_of_a_logistic_regression(weighted):
    rng = np.random.default_rng(0)
    y, p = rows(rng, slope=0.6, shift=0.4)
    weight = rng.random(400) if weighted else None
    found = calibration_measures(y, p, sample_weight=weight)
    fitted = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(logit(p)[:, np.newaxis], y, weight)
    assert found.slope.value == pytest.approx(fitted.coef_[0, 0], abs=1e-5)
    # at the intercept as many positives are expected as there are
    own = np.ones(400) if weight is None else weight
    assert own @ expit(logit(p) + found.intercept.value) == pytest.approx(own @ y, rel=1e-9)
    assert found.ratio.value == pytest.approx(own @ p / (own @ y), rel=1e-12)


def test_the_interval_of_the_slope_agrees_with_the_information_where_the_model_is_true():
    rng = np.random.default_rng(1)
    y, p = rows(rng, n=20_000)
    found, z = calibration_measures(y, p), logit(p)
    X = np.column_stack([np.ones_like(z), z])
    error = np.sqrt(np.linalg.inv((X * (p * (1 - p))[:, np.newaxis]).T @ X)[1, 1])
    assert found.slope.high - found.slope.low == pytest.approx(2 * 1.96 * error, rel=0.03)


def test_intervals_cover_also_with_patients():
    covered = np.zeros(6)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y, p = rows(rng, n=300, slope=0.7, shift=-0.3)
        truth = 0.7, None, None
        found = calibration_measures(y, p)
        covered[0] += found.slope.low <= truth[0] <= found.slope.high
        y, p = rows(rng, n=300, shift=0.5)
        found = calibration_measures(y, p)
        covered[1] += found.intercept.low <= 0.5 <= found.intercept.high
        patient = np.arange(300) // 3
        y, p = y[patient], p[patient]  # three copies of each of 100 rows
        grouped, alone = calibration_measures(y, p, groups=patient), calibration_measures(y, p)
        covered[2] += grouped.intercept.low <= 0.5 <= grouped.intercept.high
        covered[3] += alone.intercept.low <= 0.5 <= alone.intercept.high
        expected = np.mean(expit(np.random.default_rng(0).normal(size=100_000)))
        observed = np.mean(expit(np.random.default_rng(0).normal(size=100_000) + 0.5))
        covered[4] += found.ratio.low <= expected / observed <= found.ratio.high
        covered[5] += grouped.ratio.low <= expected / observed <= grouped.ratio.high
    share = covered / 200
    assert np.all(share[[0, 1, 2, 4, 5]] >= 0.91)
    assert np.all(share[[0, 1, 4]] <= 0.99)
    assert share[3] < 0.85  # copies are not new rows


def test_probabilities_that_are_far_off_have_their_intercept():
    found = calibration_measures([0, 1] * 50, np.full(100, 1e-6))
    assert found.intercept.value == pytest.approx(-logit(1e-6), abs=1e-8)  # half of the rows are positive
    assert found.ratio.value == pytest.approx(2e-6)


def test_what_the_rows_do_not_say_is_nan():
    separated = calibration_measures([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    assert np.isnan(separated.slope).all()
    assert np.isfinite(separated.ratio).all()
    assert np.isnan(calibration_measures([0, 1, 1], [0.5, 0.5, 0.5]).slope.value)
    sure = calibration_measures([0, 1, 1, 0], [0.0, 1.0, 0.3, 0.2])
    assert np.isfinite(sure.intercept).all()
    with pytest.raises(ValueError, match="from 0 to 1"):
        calibration_measures([0, 1], [0.5, 1.5])


def test_many_rows_of_few_probabilities_have_the_intervals_of_single_rows():
    """Rows of one probability are summed up; rows that are their own groups are not."""
    rng = np.random.default_rng(3)
    p = np.where(rng.random(60_000) < 0.5, 0.2, 0.8)
    y = rng.random(60_000) < p
    found, alone = calibration_measures(y, p), calibration_measures(y, p, groups=np.arange(60_000))
    for ours, expected in zip(found, alone, strict=True):
        assert tuple(ours) == pytest.approx(tuple(expected), rel=1e-4, abs=1e-5)
    # of both probabilities the log-odds have the variance 1/(n p q): the slope is their difference over logit's
    sizes = [np.count_nonzero(p == one) * y[p == one].mean() * (1.0 - y[p == one].mean()) for one in (0.2, 0.8)]
    error = np.sqrt(sum(1.0 / size for size in sizes)) / (logit(0.8) - logit(0.2))
    assert found.slope.high - found.slope.low == pytest.approx(2.0 * 1.959964 * error, rel=1e-3)


def test_rows_of_weight_zero_count_for_nothing():
    rng = np.random.default_rng(4)
    (y, p), weight, names = rows(rng, n=200), rng.integers(0, 3, 200).astype(float), np.arange(200) // 4
    there = weight > 0.0
    for groups in (None, names):
        some = None if groups is None else groups[there]
        found = calibration_measures(y, p, sample_weight=weight, groups=groups)
        alone = calibration_measures(y[there], p[there], sample_weight=weight[there], groups=some)
        assert np.ravel(found) == pytest.approx(np.ravel(alone), rel=1e-12)
    with pytest.raises(ValueError, match="0 positive and 2 negative rows: at least 1 of each class"):
        calibration_measures([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], sample_weight=[1, 0, 1, 0])
