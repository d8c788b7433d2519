"""ROC AUC and DeLong against scikit-learn, the pairwise definitions, published numbers and simulation."""

from fractions import Fraction

import numpy as np
import pytest
from helpers import pairwise_auc
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score, roc_curve

from vrspam.metrics import (
    delong_test,
    hand_till_auc,
    newcombe_interval,
    one_vs_rest_auc,
    roc_auc,
    roc_auc_ci,
    roc_auc_columns,
    sensitivity_at_specificity,
)

# Hanley & McNeil (1982), Radiology 143: ratings 1-5 of the CT images of 58 normal and 51 abnormal patients.
CT_TRUTH = np.repeat([0, 1], [58, 51])
CT_RATING = np.concatenate([np.repeat(range(1, 6), [33, 6, 6, 11, 2]), np.repeat(range(1, 6), [3, 2, 2, 11, 33])])


def sample(rng, n=80, ties=True, prevalence=0.3):
    y = rng.random(n) < prevalence
    y[:2], y[2:4] = True, False  # two of each at least
    score = rng.standard_normal(n) + y
    return y, np.round(2 * score) / 2 if ties else score


def kernel(y, score):
    """The n₊ × n₋ table of 1 (positive above), 1/2 (tie), 0: every definition below is a mean over it."""
    up, down = score[y][:, None], score[~y]
    return (up > down) + 0.5 * (up == down)


def variance_by_definition(table):
    n_up, n_down = table.shape
    return table.mean(1).var(ddof=1) / n_up + table.mean(0).var(ddof=1) / n_down


def satterthwaite_by_definition(table):
    n_up, n_down = table.shape
    of_up, of_down = table.mean(1).var(ddof=1) / n_up, table.mean(0).var(ddof=1) / n_down
    return (of_up + of_down) ** 2 / (of_up**2 / (n_up - 1) + of_down**2 / (n_down - 1))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prevalence", [0.05, 0.5, 0.9])
def test_auc_equals_scikit_learn_and_definition(ties, weighted, prevalence):
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, score = sample(rng, ties=ties, prevalence=prevalence)
        weight = None
        if weighted:
            weight = rng.choice([0.0, 0.3, 1.0, 7.0], y.size)
            weight[[0, 2]] = 1.0
        expected = roc_auc_score(y, score, sample_weight=weight)
        assert roc_auc(y, score, sample_weight=weight) == pytest.approx(expected, abs=1e-13)
        assert pairwise_auc(y, score, weight) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8, bool])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_are_the_one_column_case(dtype, order, weighted):
    rng = np.random.default_rng(1)
    y = rng.random(150) < 0.3
    scores = np.asarray(rng.integers(0, 40, (150, 7)), dtype=dtype, order=order)
    weight = rng.random(150) if weighted else None
    expected = [roc_auc_score(y, scores[:, j], sample_weight=weight) for j in range(7)]
    np.testing.assert_allclose(roc_auc_columns(y, scores, weight), expected, atol=1e-13)


def test_nearly_equal_scores_are_not_ties():
    y, score = np.array([0, 1, 0, 1]), np.array([1.0, np.nextafter(1.0, 2), 2.0, np.nextafter(2.0, 3)])
    assert roc_auc(y, score) == 0.75
    assert roc_auc(y, score.astype(np.float32)) == 0.5  # in float32 they are


@pytest.mark.parametrize(
    "y", [[0, 1, 1, 0], [-1, 1, 1, -1], [1, 2, 2, 1], ["no", "yes", "yes", "no"], [False, True, True, False]]
)
def test_positive_label_sorts_last(y):
    assert roc_auc(y, [0.1, 0.2, 0.4, 0.3]) == 0.75
    assert roc_auc(np.array(y, dtype=object), [0.1, 0.2, 0.4, 0.3]) == 0.75


def test_infinite_scores_are_ranked():
    assert roc_auc([0, 1, 0, 1], [-np.inf, 0.0, 1.0, np.inf]) == 0.75


@pytest.mark.parametrize("y", [[1, 1, 1], [0, 0, 0], [True, True, True], [False, False, False], ["a", "a", "a"]])
def test_one_class_is_nan_with_a_warning(y):
    with pytest.warns(UndefinedMetricWarning, match="one class"):
        assert np.isnan(roc_auc(y, [1, 2, 3]))


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**1000])
@pytest.mark.filterwarnings("error")
def test_the_unit_of_weights_does_not_matter(unit):
    rng = np.random.default_rng(0)
    y, score, weight = rng.random(40) < 0.4, rng.integers(0, 9, 40), rng.uniform(0.1, 9.0, 40)
    expected = roc_auc_score(y, score, sample_weight=weight)
    assert roc_auc(y, score, sample_weight=unit * weight) == pytest.approx(expected, abs=1e-13)
    assert roc_auc(y, score, sample_weight=np.where(y, unit, 1.0) * weight) == pytest.approx(expected, abs=1e-13)


def test_weights_are_left_as_they_are_and_rounding_leads_nowhere_beyond_one():
    rng = np.random.default_rng(4)
    for _ in range(50):
        y, weight = np.repeat([0, 1], [13, 8]), rng.uniform(0.0, 9.0, 21)
        given_weight = weight.copy()
        assert 1.0 - 1e-15 <= roc_auc(y, y, sample_weight=weight) <= 1.0
        assert 0.0 <= roc_auc(y, -y, sample_weight=weight) <= 1e-15
        np.testing.assert_array_equal(weight, given_weight)


def test_class_without_weight_is_absent():
    with pytest.warns(UndefinedMetricWarning, match="one class"):
        assert np.isnan(roc_auc([0, 1, 1], [1, 2, 3], sample_weight=[0, 1, 1]))


scores_and_labels = st.lists(st.tuples(st.integers(-4, 4), st.booleans(), st.integers(0, 3)), min_size=2).filter(
    lambda rows: {y for _, y, weight in rows if weight} == {False, True}
)


@given(scores_and_labels)
@settings(max_examples=150, deadline=None)
def test_auc_properties(rows):
    score, y, weight = (np.array(column) for column in zip(*rows, strict=True))
    auc = roc_auc(y, score, sample_weight=weight)
    assert auc == pytest.approx(pairwise_auc(y, score, weight), abs=1e-12)
    assert roc_auc(y, -score, sample_weight=weight) == pytest.approx(1 - auc, abs=1e-12)
    assert roc_auc(~y, score, sample_weight=weight) == pytest.approx(1 - auc, abs=1e-12)
    assert roc_auc(y, np.exp(score / 3.0) - 7, sample_weight=weight) == pytest.approx(auc, abs=1e-12)
    assert roc_auc(np.repeat(y, weight), np.repeat(score, weight)) == pytest.approx(auc, abs=1e-12)


def best_of_all_thresholds(rows, specificity):
    """The definition, in exact arithmetic: weights are integers."""
    negatives, positives = ([(s, weight) for s, y, weight in rows if y == label] for label in (False, True))
    below = {t: sum(weight for s, weight in negatives if s <= t) for t in [-99, *(s for s, _ in negatives)]}
    return max(
        sum(weight for s, weight in positives if s > threshold) / sum(weight for _, weight in positives)
        for threshold, mass in below.items()
        if mass >= specificity * below[max(below)]
    )


@given(scores_and_labels, st.floats(0, 1))
@example([(0, False, 1), (1, False, 1), (1, True, 1)], 0.5000000000002274)  # half of the negatives is too few
@settings(max_examples=150, deadline=None)
def test_sensitivity_is_the_best_of_all_thresholds(rows, specificity):
    score, y, weight = (np.array(column) for column in zip(*rows, strict=True))
    repeated = np.repeat(y, weight), np.repeat(score, weight)
    unit = Fraction(np.finfo(float).eps)
    for found, allowance in (
        (sensitivity_at_specificity(y, score, specificity, sample_weight=weight), (4 + len(rows)) * unit),
        (sensitivity_at_specificity(*repeated, specificity), 4 * unit),
    ):
        # a threshold that misses the specificity by rounding alone may count, and its sensitivity is not smaller
        least = best_of_all_thresholds(rows, Fraction(specificity))
        most = best_of_all_thresholds(rows, max(Fraction(0), Fraction(specificity) - 2 * allowance))
        assert least - 1e-12 <= found <= most + 1e-12


def test_sensitivity_equals_the_roc_curve():
    rng = np.random.default_rng(2)
    y, score = sample(rng, n=400)
    false_positives, sensitivity, _ = roc_curve(y, score, drop_intermediate=False)
    wanted = np.linspace(0, 1, 41).reshape(1, 41)
    expected = [sensitivity[1 - false_positives >= s - 1e-12].max() for s in wanted.ravel()]
    found = sensitivity_at_specificity(y, score, wanted)
    assert found.shape == (1, 41)
    np.testing.assert_allclose(found.ravel(), expected)


def test_rows_of_weight_zero_are_no_class():
    with pytest.raises(ValueError, match="0 positive and 2 negative"):
        sensitivity_at_specificity([0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0], 0.5, sample_weight=[1.0, 1.0, 0.0, 0.0])


def test_specificity_that_a_threshold_meets_exactly():
    y = np.repeat([0, 1], 100)
    score = np.concatenate([np.arange(100), np.arange(100) + 0.5])
    # 55 of 100 negatives lie at or below 54, and 46 positives above; 0.55 * 100 rounds to more than 55
    assert sensitivity_at_specificity(y, score, 0.55) == pytest.approx(0.46)
    assert isinstance(sensitivity_at_specificity(y, score, 0.55), float)
    # 1 - 0.7 is larger than 0.3, by rounding; tenths as weights do not add up exactly
    assert sensitivity_at_specificity(y, score, 1 - 0.7) == pytest.approx(0.71)
    assert sensitivity_at_specificity(y, score, 0.3, sample_weight=np.full(200, 0.1)) == pytest.approx(0.71)


@pytest.mark.parametrize("ties", [False, True])
def test_delong_equals_the_quadratic_definition(ties):
    rng = np.random.default_rng(3)
    for _ in range(20):
        y, a = sample(rng, ties=ties)
        b = np.round(a + rng.standard_normal(y.size), 0 if ties else 9)
        table_a, table_b = kernel(y, a), kernel(y, b)
        interval, test = roc_auc_ci(y, a, method="plain"), delong_test(y, a, b)
        assert interval.auc == pytest.approx(table_a.mean(), abs=1e-13)
        assert interval.standard_error == pytest.approx(np.sqrt(variance_by_definition(table_a)), rel=1e-12)
        error = np.sqrt(variance_by_definition(table_a - table_b))
        assert (test.auc_a, test.auc_b) == pytest.approx((table_a.mean(), table_b.mean()), abs=1e-13)
        assert test.difference == pytest.approx(test.auc_a - test.auc_b, abs=1e-13)
        assert test.standard_error == pytest.approx(error, rel=1e-12)
        freedom = satterthwaite_by_definition(table_a - table_b)
        assert test.p_value == pytest.approx(2 * student.sf(abs(test.difference / error), freedom), rel=1e-9)
        width = student.ppf(0.975, freedom) * error
        limits = np.clip([test.difference - width, test.difference + width], -1, 1)
        assert (test.low, test.high) == pytest.approx(limits, abs=1e-12)
        other = delong_test(y, b, a)
        assert (other.z, other.p_value, other.low) == pytest.approx((-test.z, test.p_value, -test.high))


def test_published_ct_ratings():
    # 0.893 in Hanley & McNeil (1982); DeLong error and interval in the manual of Stata (roctab, same data).
    interval = roc_auc_ci(CT_TRUTH, CT_RATING, method="plain")
    assert round(interval.auc, 4) == 0.8932
    assert round(interval.standard_error, 4) == 0.0307
    assert (round(interval.low, 5), round(interval.high, 5)) == (0.83295, 0.95339)


def test_logit_interval_is_the_plain_one_on_the_logit_scale():
    interval = roc_auc_ci(CT_TRUTH, CT_RATING, confidence=0.9, method="logit")
    odds = np.log(interval.auc / (1 - interval.auc))
    half = norm.ppf(0.95) * interval.standard_error / (interval.auc * (1 - interval.auc))
    limits = 1 / (1 + np.exp(-np.array([odds - half, odds + half])))
    assert (interval.low, interval.high) == pytest.approx(limits, rel=1e-12)
    mirrored = roc_auc_ci(CT_TRUTH, -CT_RATING, confidence=0.9, method="logit")
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - interval.high, 1 - interval.low))


@pytest.mark.parametrize("levels", [None, 5])
@pytest.mark.parametrize(("auc", "n_up", "n_down"), [(0.6, 60, 60), (0.8, 50, 200), (0.9, 100, 100)])
def test_interval_covers_between_93_and_97_percent(levels, auc, n_up, n_down):
    rng = np.random.default_rng(4)
    shift = norm.ppf(auc) * np.sqrt(2)  # two unit normals this far apart have that AUC
    cuts = None if levels is None else np.linspace(-1.2, 1.2 + shift, levels - 1)
    if cuts is not None:  # the AUC of the ratings follows from their distribution in each class
        up, down = (np.diff(norm.cdf(cuts - mean), prepend=0, append=1) for mean in (shift, 0.0))
        auc = up @ (np.cumsum(down) - down / 2)
    y = np.repeat([True, False], [n_up, n_down])
    covered = 0
    for _ in range(2000):
        score = rng.standard_normal(y.size) + shift * y
        interval = roc_auc_ci(y, score if cuts is None else np.digitize(score, cuts), method="logit")
        covered += interval.low <= auc <= interval.high
    assert 0.93 <= covered / 2000 <= 0.97


@pytest.mark.parametrize("spread", [1.0, 2.0])
@pytest.mark.parametrize(("auc", "n_up", "n_down"), [(0.8, 5, 50), (0.97, 10, 1000), (0.99, 20, 200), (0.9, 100, 10)])
def test_the_default_interval_holds_for_few_positives(auc, n_up, n_down, spread):
    """DeLong's covers 79 % in the second case, 83 % in the first with scores of the positives that vary more."""
    rng = np.random.default_rng(5)
    shift = norm.ppf(auc) * np.hypot(1.0, spread)
    y = np.repeat([True, False], [n_up, n_down])
    covered = 0
    for _ in range(1000):
        score = np.where(y, shift + spread * rng.standard_normal(y.size), rng.standard_normal(y.size))
        interval = roc_auc_ci(y, score)
        covered += interval.low <= auc <= interval.high
    assert covered / 1000 >= 0.93  # three standard errors below 95 %


def newcombe_variance(auc, n_up, n_down):
    """Hanley & McNeil (1982) with Newcombe's (2006) average of the two class sizes."""
    others = (n_up + n_down) / 2 - 1
    second = others * (auc / (2 - auc) - auc**2) + others * (2 * auc**2 / (1 + auc) - auc**2)
    return (auc * (1 - auc) + second) / (n_up * n_down)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("spread", [0.5, 1.0, 3.0])
def test_newcombe_bounds_lie_z_standard_errors_from_the_auc(confidence, spread):
    rng = np.random.default_rng(6)
    raised = []
    for _ in range(20):
        y = np.repeat([True, False], [12, 40])
        score = rng.standard_normal(52) * np.where(y, spread, 1.0) + y
        interval = roc_auc_ci(y, score, confidence=confidence, method="newcombe")
        table = kernel(y, score)
        auc, error = table.mean(), np.sqrt(variance_by_definition(table))
        ratio = max(1.0, error**2 / newcombe_variance(auc, 12, 40))
        raised.append(ratio > 1)
        assert interval.low < interval.auc < interval.high
        for bound in (interval.low, interval.high):
            expected = norm.ppf(0.5 + confidence / 2) * np.sqrt(ratio * newcombe_variance(bound, 12, 40))
            assert abs(bound - auc) == pytest.approx(expected, rel=1e-9)
        assert (interval.auc, interval.standard_error) == pytest.approx((auc, error))  # DeLong's in any case
        for other in (roc_auc_ci(y, -score, confidence=confidence), roc_auc_ci(~y, score, confidence=confidence)):
            assert (other.low, other.high) == pytest.approx((1 - interval.high, 1 - interval.low), abs=1e-9)
    assert any(raised) or spread < 1
    assert not all(raised) or spread > 1


@pytest.mark.parametrize("error", [0.0, 0.02, 0.2])
def test_newcombe_bounds_at_the_ends_allow_for_a_standard_error_from_elsewhere(error):
    """As of a corrected AUC that was cut off at 1: at least Newcombe's own bound, and z standard errors."""
    top, bottom = (newcombe_interval(auc, error, (40, 12)) for auc in (1.0, 0.0))
    z = norm.ppf(0.975)
    own = brentq(lambda true: 1.0 - true - z * np.sqrt(newcombe_variance(true, 12, 40)), 0.1, 1.0 - 1e-9)
    assert top.low == pytest.approx(min(own, 1.0 - z * error))
    assert (top.high, bottom.low) == (1.0, 0.0)
    assert bottom.high == pytest.approx(1.0 - top.low)


@pytest.mark.parametrize(
    ("n_up", "n_down", "method"), [(500, 500, "logit"), (499, 900, "newcombe"), (900, 499, "newcombe")]
)
def test_the_smaller_class_decides_about_the_method(n_up, n_down, method):
    rng = np.random.default_rng(7)
    y = np.repeat([True, False], [n_up, n_down])
    score = rng.standard_normal(y.size) + y
    found = roc_auc_ci(y, score)
    assert found.method == method
    assert found == roc_auc_ci(y, score, method=method)
    for asked in ("logit", "plain", "newcombe"):
        assert roc_auc_ci(y, score, method=asked).method == asked
    assert roc_auc_ci(y, y, method="logit").method == "pairs"
    assert [roc_auc_ci(y, score, method=m).source for m in ("logit", "plain", "newcombe")] == [
        "DeLong",
        "DeLong",
        "Newcombe",
    ]
    assert roc_auc_ci(y, y, method="logit").source == "disjoint pairs"


def test_paired_test_rejects_five_percent_under_the_null_hypothesis():
    rng = np.random.default_rng(5)
    y = np.repeat([True, False], [60, 90])
    rejected = 0
    for _ in range(2000):
        common = rng.standard_normal(y.size) + y
        a, b = (np.round(common + 0.7 * rng.standard_normal(y.size), 1) for _ in range(2))
        rejected += delong_test(y, a, b).p_value < 0.05
    assert 0.035 <= rejected / 2000 <= 0.065


def test_no_variance_to_learn_from():
    y = np.repeat([0, 1], [7, 4])
    bound = 0.025**0.25  # an AUC below it separates four independent pairs with probability below 2.5 %
    perfect, wrong, tied = (roc_auc_ci(y, s, method="logit") for s in (y, -y, 0 * y))
    assert (perfect.auc, perfect.standard_error) == (1.0, 0.0)
    assert (perfect.low, perfect.high) == pytest.approx((bound, 1.0))
    assert (wrong.low, wrong.high) == pytest.approx((0.0, 1 - bound))
    assert (tied.low, tied.high) == pytest.approx((bound / 2, 1 - bound / 2))
    assert roc_auc_ci(y, y, method="plain") == perfect

    perfect, wrong, tied = (roc_auc_ci(y, s) for s in (y, -y, 0 * y))
    assert (perfect.auc, perfect.standard_error, perfect.method) == (1.0, 0.0, "newcombe")
    assert perfect.high == 1.0
    assert 1 - perfect.low == pytest.approx(norm.ppf(0.975) * np.sqrt(newcombe_variance(perfect.low, 4, 7)))
    assert (wrong.low, wrong.high) == pytest.approx((0.0, 1 - perfect.low))
    assert tied.low == pytest.approx(1 - tied.high)
    assert 0.5 - tied.low == pytest.approx(norm.ppf(0.975) * np.sqrt(newcombe_variance(tied.low, 4, 7)))

    same = delong_test(y, y, 10 * y)
    assert (same.difference, same.z, same.p_value, same.low, same.high) == (0, 0, 1, 0, 0)
    opposite = delong_test(y, y, -y)
    assert (opposite.difference, opposite.standard_error) == (1, 0)
    assert np.isnan([opposite.z, opposite.p_value, opposite.low, opposite.high]).all()


def test_the_interval_of_a_difference_stays_between_minus_one_and_one():
    y, good, bad = [0, 0, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6], [6, 5, 1, 4, 2, 3]
    better, worse = delong_test(y, good, bad, confidence=0.9999), delong_test(y, bad, good, confidence=0.9999)
    freedom = satterthwaite_by_definition(
        kernel(np.array(y) == 1, np.array(good)) - kernel(np.array(y) == 1, np.array(bad))
    )
    reach = student.ppf(0.99995, freedom) * better.standard_error
    assert better.difference + reach > 1.0
    assert (better.low, better.high) == pytest.approx((max(-1.0, better.difference - reach), 1.0))
    assert (worse.low, worse.high) == pytest.approx((-1.0, min(1.0, reach - better.difference)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: roc_auc([0, 1, 2], [1, 2, 3]), "3 different labels"),
        (lambda: roc_auc([0, 1], [1, 2, 3]), "one number for each of 2 labels"),
        (lambda: roc_auc([0, 1], [[1], [2]]), "one number for each of 2 labels"),
        (lambda: roc_auc([[0], [1]], [1, 2]), "one-dimensional"),
        (lambda: roc_auc([0, 1], [1, np.nan]), "NaN"),
        (lambda: roc_auc([0, np.nan], [1, 2]), "NaN"),
        (lambda: roc_auc([0, None], [1, 2]), "cannot be sorted"),  # type: ignore[arg-type]
        (lambda: roc_auc([0, 1], ["a", "b"]), "real numbers"),
        (lambda: roc_auc([0, 1], [1, None]), "NaN"),  # type: ignore[arg-type]
        (lambda: roc_auc([0, 1], [1, {}]), "real numbers"),  # type: ignore[arg-type]
        (lambda: roc_auc([0, 1], [1j, 2]), "real numbers"),
        (lambda: roc_auc([0, 1], [1, 2], sample_weight=[1, -1]), "not negative"),
        (lambda: roc_auc([0, 1], [1, 2], sample_weight=[1, np.inf]), "finite"),
        (lambda: roc_auc([0, 1], [1, 2], sample_weight=[1]), "one number for each of 2 labels"),
        (lambda: roc_auc_columns([0, 1], [[1], [2]]), "boolean"),
        (lambda: roc_auc_columns([True, False], [1, 2]), "one row for each of 2 labels"),
        (lambda: roc_auc_ci([0, 1, 1], [1, 2, 3]), "2 positive and 1 negative"),
        (lambda: roc_auc_ci([0, 0, 1, 1], [1, 2, 3, 4], confidence=95), "between 0 and 1"),
        (lambda: roc_auc_ci([0, 0, 1, 1], [1, 2, 3, 4], method="wilson"), "newcombe"),  # type: ignore[arg-type]
        (lambda: delong_test([0, 0, 1, 1], [1, 2, 3, 4], [1, 2, 3]), "score_b"),
        (lambda: delong_test([1, 1], [1, 2], [1, 2]), "at least 2 of each class are needed"),
        (lambda: one_vs_rest_auc(["a", None, "b"], np.eye(3)), "with none missing"),  # type: ignore[arg-type]
        (lambda: hand_till_auc([0.0, np.nan, 1.0], np.eye(3)), "y_true contains NaN; remove rows without a label"),
        (lambda: hand_till_auc([0.0, np.nan, 1.0], np.eye(3), labels=[0, 1, 2]), "y_true contains NaN"),
        (lambda: sensitivity_at_specificity([0, 1], [1, 2], 95), "between 0 and 1"),
        (lambda: sensitivity_at_specificity([0, 1], [1, 2], np.nan), "between 0 and 1"),
        (lambda: sensitivity_at_specificity([1, 1], [1, 2], 0.9), "at least 1 of each class"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
