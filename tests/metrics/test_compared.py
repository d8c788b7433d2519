"""Partial AUCs of groups and weights, unpaired tests, and several models at once: copies of rows, resampling, Holm."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from vrspam.metrics import (
    compare_aucs,
    delong_test,
    partial_auc,
    partial_auc_ci,
    partial_auc_test,
    roc_auc_ci,
    unpaired_auc_test,
)


def patients(rng, n=120, each=3, size=1.0, shared=1.0, alike=False):
    """Rows of patients, each with a shift of its own that both scores have."""
    patient = np.repeat(np.arange(n), each)
    y = (rng.random(n)[patient] if alike else rng.random(patient.size)) < 0.4  # all rows of a patient alike, or not
    common = shared * rng.normal(size=n)[patient]
    a, b = (common + rng.normal(size=patient.size) + size * y for _ in range(2))
    return patient, y, a, b


@pytest.mark.parametrize("max_fpr", [0.2, 1.0])
@pytest.mark.parametrize("ties", [False, True])
def test_weights_that_are_whole_numbers_are_copies_of_rows(max_fpr, ties):
    rng = np.random.default_rng(0)
    y, score, weight = rng.random(200) < 0.4, rng.normal(size=200), rng.integers(0, 4, 200)
    score = np.round(score + y, 0 if ties else 9)
    rows = np.repeat(np.arange(200), weight)
    found = partial_auc_ci(y, score, max_fpr=max_fpr, sample_weight=weight)
    assert found.auc == pytest.approx(partial_auc(y[rows], score[rows], max_fpr=max_fpr), abs=1e-12)
    # copies of one row are one group: then the errors agree too
    grouped = partial_auc_ci(y[rows], score[rows], max_fpr=max_fpr, groups=rows)
    alone = partial_auc_ci(y, score, max_fpr=max_fpr, sample_weight=weight, groups=np.arange(200))
    assert grouped.standard_error == pytest.approx(alone.standard_error, rel=1e-9)
    other = score + rng.normal(size=200).round(0 if ties else 9)
    tests = [
        partial_auc_test(y, score, other, max_fpr=max_fpr, sample_weight=weight, groups=np.arange(200)),
        partial_auc_test(y[rows], score[rows], other[rows], max_fpr=max_fpr, groups=rows),
    ]
    assert tests[0].difference == pytest.approx(tests[1].difference, abs=1e-12)
    assert tests[0].standard_error == pytest.approx(tests[1].standard_error, rel=1e-9)


def test_the_whole_curve_is_delongs():
    rng = np.random.default_rng(1)
    patient, y, a, b = patients(rng)
    weight = rng.random(y.size)
    for given in ({}, {"groups": patient}, {"sample_weight": weight}, {"groups": patient, "sample_weight": weight}):
        part, whole = partial_auc_ci(y, a, max_fpr=1.0, **given), roc_auc_ci(y, a, **given)
        assert (part.auc, part.standard_error) == pytest.approx((whole.auc, whole.standard_error), rel=1e-9)
        test, other = partial_auc_test(y, a, b, max_fpr=1.0, **given), delong_test(y, a, b, **given)
        assert (test.p_value, test.low) == pytest.approx((other.p_value, other.low), rel=1e-8)


def test_errors_of_groups_are_those_of_resampled_patients():
    rng = np.random.default_rng(2)
    patient, y, a, b = patients(rng, n=150)
    given: dict[str, Any] = {"max_fpr": 0.3, "standardized": False}
    drawn = []
    for _ in range(400):
        rows = (rng.integers(0, 150, 150)[:, np.newaxis] * 3 + np.arange(3)).ravel()
        drawn.append([partial_auc(y[rows], s[rows], **given) for s in (a, b)])
    spread, of_difference = np.std(drawn, axis=0)[0], np.std(np.diff(drawn, axis=1))
    assert partial_auc_ci(y, a, groups=patient, **given).standard_error == pytest.approx(spread, rel=0.12)
    assert partial_auc_test(y, a, b, groups=patient, **given).standard_error == pytest.approx(of_difference, rel=0.12)


def test_an_interval_of_groups_covers():
    truth, covered, narrow = partial_of_normal(1.0, 0.3), 0, 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        patient, y, a, _ = patients(rng, size=2.0**0.5, alike=True)  # with the shift of a patient: variance 2
        found = partial_auc_ci(y, a, max_fpr=0.3, groups=patient)
        plain = partial_auc_ci(y, a, max_fpr=0.3)
        covered += found.low <= truth <= found.high
        narrow += plain.low <= truth <= plain.high
    assert 0.91 <= covered / 200 <= 0.99
    assert narrow < covered - 10  # as independent rows: too narrow


def partial_of_normal(distance, max_fpr):
    """McClish's partial AUC of normal scores, by adding up the curve."""
    false = np.linspace(0.0, max_fpr, 20_001)
    area = np.trapezoid(norm.sf(norm.isf(false) - distance), false)
    return 0.5 * (1.0 + (area - max_fpr**2 / 2) / (max_fpr - max_fpr**2 / 2))


def test_unpaired_errors_add_and_the_test_keeps_its_level():
    rng, rejected = np.random.default_rng(3), 0
    for _ in range(300):
        sets = [(y := rng.random(n) < 0.4, rng.normal(size=n) + y) for n in (150, 300)]
        test = unpaired_auc_test(*sets)
        rejected += test.p_value < 0.05
    parts = [roc_auc_ci(*one) for one in sets]
    assert test.standard_error == pytest.approx(np.hypot(parts[0].standard_error, parts[1].standard_error), rel=1e-12)
    assert test.difference == pytest.approx(parts[0].auc - parts[1].auc, abs=1e-12)
    assert test.p_value == pytest.approx(2 * norm.sf(abs(test.z)), rel=1e-9)
    assert 0.02 <= rejected / 300 <= 0.085


def test_unpaired_intervals_come_from_those_of_both_aucs():
    rng = np.random.default_rng(4)
    one, other = patients(rng, n=12), patients(rng, n=40)
    test = unpaired_auc_test((one[1], one[2]), (other[1], other[2]), groups=(one[0], other[0]))
    a, b = (roc_auc_ci(y, score, groups=patient) for patient, y, score, _ in (one, other))
    low = a.auc - b.auc - np.hypot(a.auc - a.low, b.high - b.auc)
    high = a.auc - b.auc + np.hypot(a.high - a.auc, b.auc - b.low)
    assert (test.low, test.high) == pytest.approx((low, high), rel=1e-12)
    edge = unpaired_auc_test(
        (one[1], one[2]), (other[1], other[2]), groups=(one[0], other[0]), confidence=1.0 - test.p_value
    )
    assert min(abs(edge.low), abs(edge.high)) == pytest.approx(0.0, abs=1e-9)  # the interval at 1 - p ends at 0
    with pytest.raises(ValueError, match="at least 2 of each class"):
        unpaired_auc_test(([0, 1], [1, 2]), (other[1], other[2]))


def test_several_models_are_the_tests_of_their_pairs_with_holms_p_values():
    rng = np.random.default_rng(5)
    patient, y, a, b = patients(rng)
    scores = {"a": a, "b": b, "c": a + 0.3 * b, "d": 2 * y + rng.normal(size=y.size)}
    for given in ({}, {"groups": patient, "sample_weight": rng.random(y.size)}):
        found = compare_aucs(y, scores, **given)
        assert [(pair.a, pair.b) for pair in found] == [
            ("a", "b"),
            ("a", "c"),
            ("a", "d"),
            ("b", "c"),
            ("b", "d"),
            ("c", "d"),
        ]
        for pair in found:
            assert pair.test == delong_test(y, scores[pair.a], scores[pair.b], **given)
        p = np.array([pair.test.p_value for pair in found])
        by_hand = [max(min(1.0, (p.size - k) * q) for k, q in enumerate(np.sort(p)) if q <= own) for own in p]
        assert [pair.adjusted_p for pair in found] == pytest.approx(by_hand, rel=1e-12)
    with pytest.raises(ValueError, match="b has shape"):
        compare_aucs(y, {"a": a, "b": b[:-1]})
