"""The partial AUC against scikit-learn, the polygon itself, derivatives in the weights, and simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit, logit, ndtr, ndtri
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from vrspam.metrics import (
    average_precision_columns,
    delong_test,
    partial_auc,
    partial_auc_ci,
    partial_auc_columns,
    partial_auc_test,
    roc_auc,
    roc_auc_ci,
)


def polygon_area(y, score, max_fpr, weight=None):
    """The area under the ROC polygon up to max_fpr: trapezoids between its corners, the last one cut by hand."""
    fpr, tpr, _ = roc_curve(y, score, sample_weight=weight, drop_intermediate=False)
    area = 0.0
    for x0, x1, y0, y1 in zip(fpr, fpr[1:], tpr, tpr[1:], strict=False):
        if x0 >= max_fpr:
            break
        end = min(x1, max_fpr)
        height = y0 if x1 == x0 else y0 + (y1 - y0) * (end - x0) / (x1 - x0)
        area += (end - x0) * (y0 + height) / 2
    return area


def sample(rng, n=80, ties=True, prevalence=0.3, weighted=False):
    y = rng.random(n) < prevalence
    y[:2], y[2:4] = True, False
    score = rng.standard_normal(n) + y
    weight = None
    if weighted:
        weight = rng.choice([0.0, 0.3, 1.0, 7.0], n)
        weight[[0, 2]] = 1.0
    return y, np.round(2 * score) / 2 if ties else score, weight


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prevalence", [0.05, 0.5, 0.9])
def test_partial_auc_equals_scikit_learn_and_the_polygon(ties, weighted, prevalence):
    rng = np.random.default_rng(0)
    for max_fpr in (1e-6, 0.01, 0.1, 0.25, 0.5, 0.9, 0.999, 1.0, *rng.random(6)):
        y, score, weight = sample(rng, ties=ties, prevalence=prevalence, weighted=weighted)
        expected = roc_auc_score(y, score, sample_weight=weight, max_fpr=max_fpr)
        assert partial_auc(y, score, max_fpr=max_fpr, sample_weight=weight) == pytest.approx(expected, abs=1e-12)
        area = partial_auc(y, score, max_fpr=max_fpr, standardized=False, sample_weight=weight) * max_fpr
        assert area == pytest.approx(polygon_area(y, score, max_fpr, weight), abs=1e-12)


scores_and_labels = st.lists(st.tuples(st.integers(-4, 4), st.booleans(), st.integers(0, 3)), min_size=2).filter(
    lambda rows: {y for _, y, weight in rows if weight} == {False, True}
)


@given(scores_and_labels, st.floats(0.001, 1.0))
@settings(max_examples=100, deadline=None)
def test_partial_auc_properties(rows, max_fpr):
    score, y, weight = (np.array(column) for column in zip(*rows, strict=True))
    found = partial_auc(y, score, max_fpr=max_fpr, sample_weight=weight)
    assert found == pytest.approx(roc_auc_score(y, score, sample_weight=weight, max_fpr=max_fpr), abs=1e-12)
    share = partial_auc(y, score, max_fpr=max_fpr, standardized=False, sample_weight=weight)
    assert share * max_fpr == pytest.approx(polygon_area(y, score, max_fpr, weight), abs=1e-12)
    assert partial_auc(np.repeat(y, weight), np.repeat(score, weight), max_fpr=max_fpr) == pytest.approx(
        found, abs=1e-12
    )
    assert partial_auc(y, np.exp(score / 3.0), max_fpr=max_fpr, sample_weight=weight) == pytest.approx(found, abs=1e-12)
    auc = roc_auc(y, score, sample_weight=weight)
    assert partial_auc(y, score, max_fpr=1.0, sample_weight=weight) == pytest.approx(auc, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8, bool])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_are_the_one_column_case(dtype, order, weighted):
    rng = np.random.default_rng(1)
    y = rng.random(150) < 0.3
    scores = np.asarray(rng.integers(0, 40, (150, 7)), dtype=dtype, order=order)
    weight = rng.choice([0.0, 0.5, 2.0], 150) if weighted else None
    expected = [roc_auc_score(y, scores[:, j], sample_weight=weight, max_fpr=0.2) for j in range(7)]
    np.testing.assert_allclose(partial_auc_columns(y, scores, weight, max_fpr=0.2), expected, atol=1e-12)
    expected = [average_precision_score(y, scores[:, j], sample_weight=weight) for j in range(7)]
    np.testing.assert_allclose(average_precision_columns(y, scores, weight), expected, atol=1e-12)


@given(scores_and_labels)
@settings(max_examples=150, deadline=None)
def test_average_precision_equals_scikit_learn(rows):
    score, y, weight = (np.array(column) for column in zip(*rows, strict=True))
    expected = average_precision_score(y, score, sample_weight=weight)
    assert average_precision_columns(y, score[:, None], weight)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**1000])
@pytest.mark.filterwarnings("error")
def test_the_unit_of_weights_does_not_matter(unit):
    rng = np.random.default_rng(0)
    y, score, weight = rng.random(40) < 0.4, rng.integers(0, 9, 40), rng.uniform(0.1, 9.0, 40)
    expected = roc_auc_score(y, score, sample_weight=weight, max_fpr=0.3)
    assert partial_auc(y, score, max_fpr=0.3, sample_weight=unit * weight) == pytest.approx(expected, abs=1e-12)
    one_class = np.where(y, unit, 1.0) * weight
    assert partial_auc(y, score, max_fpr=0.3, sample_weight=one_class) == pytest.approx(expected, abs=1e-12)
    expected = average_precision_score(y, score, sample_weight=weight)
    assert average_precision_columns(y, score[:, None], unit * weight)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("y", [[1, 1, 1], [0, 0, 0]])
def test_one_class_is_nan_with_a_warning(y):
    with pytest.warns(UndefinedMetricWarning, match="one class"):
        assert np.isnan(partial_auc(y, [1, 2, 3], max_fpr=0.1))
    with pytest.warns(UndefinedMetricWarning, match="one class"):
        assert np.isnan(average_precision_columns(np.array(y, dtype=bool), [[1], [2], [3]])).all()


def influences(y, score, max_fpr):
    """n times the derivative of area / max_fpr by each row's weight, by central differences."""
    found = np.empty(y.size)

    def share(weight):
        return partial_auc(y, score, max_fpr=max_fpr, standardized=False, sample_weight=weight)

    for i in range(y.size):
        step = np.zeros(y.size)
        step[i] = 1e-5
        found[i] = (share(1 + step) - share(1 - step)) / 2e-5
    return found * np.where(y, y.sum(), (~y).sum())


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("max_fpr", [0.123, 0.417, 0.9])
def test_the_standard_error_is_that_of_the_derivatives_in_the_weights(ties, max_fpr):
    """The infinitesimal jackknife, from the weighted number alone; it sees that the cut is estimated too."""
    rng = np.random.default_rng(3)
    y, a, _ = sample(rng, n=60, ties=ties)
    b = np.round(2 * (a + rng.standard_normal(60))) / 2 if ties else a + rng.standard_normal(60)
    slope = 0.5 / (1 - max_fpr / 2)

    def error(influence):
        return np.sqrt(sum(influence[rows].var(ddof=1) / rows.sum() for rows in (y, ~y)))

    of_a, of_b = influences(y, a, max_fpr), influences(y, b, max_fpr)
    plain = partial_auc_ci(y, a, max_fpr=max_fpr, standardized=False)
    assert plain.standard_error == pytest.approx(error(of_a), rel=1e-5)
    found = partial_auc_ci(y, a, max_fpr=max_fpr)
    assert found.standard_error == pytest.approx(slope * error(of_a), rel=1e-5)
    assert found.auc == pytest.approx(roc_auc_score(y, a, max_fpr=max_fpr), abs=1e-12)
    test = partial_auc_test(y, a, b, max_fpr=max_fpr)
    assert test.standard_error == pytest.approx(slope * error(of_a - of_b), rel=1e-5)
    assert test.difference == pytest.approx(test.auc_a - test.auc_b, abs=1e-12)
    assert test.auc_b == pytest.approx(roc_auc_score(y, b, max_fpr=max_fpr), abs=1e-12)
    parts = [((of_a - of_b)[rows].var(ddof=1) / rows.sum(), rows.sum() - 1) for rows in (y, ~y)]
    freedom = sum(part for part, _ in parts) ** 2 / sum(part**2 / own for part, own in parts)
    assert test.p_value == pytest.approx(2 * student.sf(abs(test.difference / test.standard_error), freedom), rel=1e-4)
    reach = student.ppf(0.975, freedom) * test.standard_error
    assert (test.low, test.high) == pytest.approx((test.difference - reach, test.difference + reach))


@pytest.mark.parametrize("ties", [False, True])
def test_the_whole_curve_is_delong(ties):
    rng = np.random.default_rng(4)
    y, a, _ = sample(rng, ties=ties)
    b = np.round(a + rng.standard_normal(y.size), 0 if ties else 9)
    for method in ("plain", "logit"):
        whole, part = roc_auc_ci(y, a, method=method), partial_auc_ci(y, a, max_fpr=1.0, method=method)
        expected = (whole.auc, whole.low, whole.high, whole.standard_error)
        assert (part.auc, part.low, part.high, part.standard_error) == pytest.approx(expected, rel=1e-12)
    assert vars(partial_auc_test(y, a, b, max_fpr=1.0)) == pytest.approx(vars(delong_test(y, a, b)), rel=1e-9)


def test_intervals_by_hand():
    rng = np.random.default_rng(5)
    y = np.repeat([True, False], [30, 200])
    score = rng.standard_normal(230) + 1.5 * y
    z = norm.ppf(0.95)
    plain, on_logit = (
        partial_auc_ci(y, score, max_fpr=0.1, standardized=False, confidence=0.9, method=method)
        for method in ("plain", "logit")
    )
    share, error = plain.auc, plain.standard_error
    assert (plain.low, plain.high) == pytest.approx((share - z * error, share + z * error))
    half = z * error / (share * (1 - share))
    assert (on_logit.low, on_logit.high) == pytest.approx(expit(logit(share) + np.array([-half, half])))
    for method in ("plain", "logit", "score"):  # the scale does not matter, only what is shown
        raw = partial_auc_ci(y, score, max_fpr=0.1, standardized=False, method=method)
        standard = partial_auc_ci(y, score, max_fpr=0.1, method=method)
        values = np.array([raw.auc, raw.low, raw.high])
        expected = 0.5 * (1 + (0.1 * values - 0.005) / (0.1 - 0.005))
        assert (standard.auc, standard.low, standard.high) == pytest.approx(expected)


def normal_shares_and_variances(distances, n_up, n_down, max_fpr):
    """The population's area / max_fpr, and the variance, for unit normals: sums over 4,000 points of the curve."""
    t = max_fpr * (np.arange(4000) + 0.5) / 4000
    curves, ends = (ndtr(distances[:, None] + ndtri(at)) for at in (t, np.array([max_fpr])))
    area, rest, end = max_fpr * curves.mean(axis=1), 1 - max_fpr, ends[:, 0]
    of_up = 2 * max_fpr * (curves * (max_fpr - t)).mean(axis=1) - area**2
    of_down = max_fpr * (curves**2).mean(axis=1) + rest * end**2 - (area + rest * end) ** 2
    return area / max_fpr, (of_up / n_up + of_down / n_down) / max_fpr**2


@pytest.mark.parametrize("max_fpr", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("spread", [0.5, 1.0, 3.0])
def test_score_bounds_lie_z_standard_errors_of_normal_scores_away(max_fpr, spread):
    rng = np.random.default_rng(6)
    shares, variances = normal_shares_and_variances(np.linspace(-8, 8, 641), 12, 80, max_fpr)
    raised = []
    for _ in range(6):
        y = np.repeat([True, False], [12, 80])
        score = rng.standard_normal(92) * np.where(y, spread, 1.0) + 1.5 * y
        found = partial_auc_ci(y, score, max_fpr=max_fpr, standardized=False, method="score")
        if 0.0 < found.auc < 1.0:
            ratio = max(
                1.0, found.standard_error**2 / np.interp(np.clip(found.auc, 0.5 / 12, 1 - 0.5 / 12), shares, variances)
            )
            raised.append(ratio > 1)
            assert found.low < found.auc < found.high
            for bound in (found.low, found.high):
                expected = norm.ppf(0.975) * np.sqrt(ratio * np.interp(bound, shares, variances))
                assert abs(bound - found.auc) == pytest.approx(expected, rel=0.01)
    assert any(raised) or spread < 3


@pytest.mark.parametrize("max_fpr", [0.01, 0.2, 0.7])
def test_no_variance_to_learn_from(max_fpr):
    y = np.repeat([0, 1], [300, 10])
    for method in ("auto", "logit", "plain", "score"):
        perfect, wrong, tied = (partial_auc_ci(y, s, max_fpr=max_fpr, method=method) for s in (y, -y, 0 * y))
        assert (perfect.auc, perfect.high, perfect.standard_error, perfect.method) == (1.0, 1.0, 0.0, "score")
        assert 0.5 < perfect.low < 0.95
        least = 0.5 - 0.25 * max_fpr / (1 - max_fpr / 2)
        assert (wrong.auc, wrong.low) == pytest.approx((least, least))
        assert wrong.auc < wrong.high < 0.75
        assert tied.auc == pytest.approx(0.5)
        assert tied.low < 0.5 < tied.high
    same = partial_auc_test(y, y, 10 * y, max_fpr=max_fpr)
    assert (same.difference, same.z, same.p_value, same.low, same.high) == (0, 0, 1, 0, 0)
    opposite = partial_auc_test(y, y, -y, max_fpr=max_fpr)
    assert opposite.standard_error == 0
    assert np.isnan([opposite.z, opposite.p_value, opposite.low, opposite.high]).all()


def test_a_positive_at_the_edge_of_the_part_says_little():
    """50 positives, none or hardly one of them in the part: as if each were in it with a chance of a few percent."""
    y = np.repeat([True, False], [50, 1000])
    low = np.concatenate([np.arange(50.0) - 100, np.arange(1000.0)])
    for place in (-0.5, 988.5, 989.5, 990.5, 991.5):  # 990 to 999 are the ten negatives of the part
        score = low.copy()
        score[0] = place
        found = partial_auc_ci(y, score, max_fpr=0.01, standardized=False)
        assert found.auc == pytest.approx(max(0.0, np.floor(place) - 989) / 10 / 50)
        assert found.low >= 0.0
        assert found.auc + 0.03 < found.high < 0.2


@pytest.mark.parametrize("spread", [1.0, 2.0])
@pytest.mark.parametrize(
    ("auc", "n_up", "n_down", "max_fpr"), [(0.6, 20, 100, 0.1), (0.9, 20, 200, 0.05), (0.99, 20, 1000, 0.05)]
)
def test_the_default_interval_holds_for_few_rows(auc, n_up, n_down, max_fpr, spread):
    """The logit interval covers 84, 96 and 90 % (with spread 2: 97, 97, 82 %)."""
    rng = np.random.default_rng(7)
    shift = norm.ppf(auc) * np.hypot(1.0, spread)
    true = quad(lambda t: norm.cdf((shift + norm.ppf(t)) / spread), 0, max_fpr)[0] / max_fpr
    y = np.repeat([True, False], [n_up, n_down])
    covered = 0
    for _ in range(500):
        score = np.where(y, shift + spread * rng.standard_normal(y.size), rng.standard_normal(y.size))
        interval = partial_auc_ci(y, score, max_fpr=max_fpr, standardized=False)
        covered += interval.low <= true <= interval.high
    assert covered / 500 >= 0.92  # three standard errors below 95 %


def test_paired_test_rejects_five_percent_under_the_null_hypothesis():
    rng = np.random.default_rng(8)
    y = np.repeat([True, False], [100, 400])
    rejected = 0
    for _ in range(1000):
        common = rng.standard_normal(y.size) + 1.5 * y
        a, b = (np.round(common + 0.7 * rng.standard_normal(y.size), 1) for _ in range(2))
        rejected += partial_auc_test(y, a, b, max_fpr=0.1).p_value < 0.05
    assert 0.03 <= rejected / 1000 <= 0.07  # three standard errors


@pytest.mark.parametrize("max_fpr", [0.0, -0.1, 1.5, np.nan])
def test_a_share_of_the_negatives_lies_above_zero_and_at_most_one(max_fpr):
    y, score = np.array([0, 0, 1, 1]), np.arange(4.0)
    for call in (
        lambda: partial_auc(y, score, max_fpr=max_fpr),
        lambda: partial_auc_ci(y, score, max_fpr=max_fpr),
        lambda: partial_auc_test(y, score, -score, max_fpr=max_fpr),
    ):
        with pytest.raises(ValueError, match=r"max_fpr=.* must be above 0 and at most 1"):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: partial_auc_ci([0, 0, 1, 1], [1, 2, 3, 4], max_fpr=0.4), "of the 2 negative rows is less than one"),
        (lambda: partial_auc_ci([0, 0, 1, 1], [1, 2, 3, 4], max_fpr=0.5, method="newcombe"), '"score"'),  # type: ignore[arg-type]
        (lambda: partial_auc_ci([0, 1, 1], [1, 2, 3], max_fpr=1.0), "2 positive and 1 negative"),
        (lambda: partial_auc_ci([0, 0, 1, 1], [1, 2, 3, 4], max_fpr=1.0, confidence=95), "between 0 and 1"),
        (lambda: partial_auc_test([0, 0, 1, 1], [1, 2, 3, 4], [1, 2], max_fpr=0.5), "score_b"),
        (lambda: partial_auc([0, 1], [1, np.nan], max_fpr=0.5), "NaN"),
        (lambda: partial_auc([0, 1], [1, 2], max_fpr=0.5, sample_weight=[1, -1]), "not negative"),
        (lambda: partial_auc_columns([0, 1], [[1], [2]], max_fpr=0.5), "boolean"),
        (lambda: average_precision_columns([True, False], [1, 2]), "one row for each of 2 labels"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
