"""Rows for an interval and for a comparison: what normal scores give that are drawn in such numbers."""

import numpy as np
import pytest
from scipy.stats import norm

from vrspam.metrics import delong_test, roc_auc_ci, rows_for_difference, rows_for_width


@pytest.mark.parametrize(("auc", "width", "share"), [(0.8, 0.05, 0.5), (0.7, 0.1, 0.2), (0.9, 0.05, 0.3)])
def test_intervals_of_so_many_rows_are_so_wide(auc, width, share):
    n, rng = rows_for_width(auc, width, share=share), np.random.default_rng(0)
    y, shift = np.arange(n) < round(share * n), np.sqrt(2.0) * norm.ppf(auc)
    found = [roc_auc_ci(y, rng.normal(size=n) + shift * y, method="logit") for _ in range(60)]
    assert np.mean([one.high - one.low for one in found]) == pytest.approx(width, rel=0.06)


@pytest.mark.parametrize(("auc", "difference", "share", "power"), [(0.7, 0.05, 0.5, 0.8), (0.8, 0.05, 0.3, 0.5)])
def test_a_difference_is_seen_as_often_as_asked(auc, difference, share, power):
    common, rng = 0.5, np.random.default_rng(1)
    n = rows_for_difference(auc, difference, share=share, power=power, correlation=0.5)
    y, shifts = np.arange(n) < round(share * n), [np.sqrt(2.0) * norm.ppf(a) for a in (auc, auc + difference)]
    seen = 0
    for _ in range(250):
        both = np.sqrt(common) * rng.normal(size=n)
        a, b = (both + np.sqrt(1.0 - common) * rng.normal(size=n) + shift * y for shift in shifts)
        test = delong_test(y, b, a)
        seen += test.p_value < 0.05 and test.difference > 0.0
    assert seen / 250 == pytest.approx(power, abs=0.1)


def test_a_known_error_falls_with_the_root_of_the_rows():
    n = rows_for_width(0.8, 0.05, known=(1000, 0.02))
    half = 1.96 * 0.02 * np.sqrt(1000 / n) / 0.16
    ends = 1.0 / (1.0 + np.exp(-(np.log(4.0) + np.array([-half, half]))))
    assert np.diff(ends)[0] == pytest.approx(0.05, rel=1e-3)
    assert rows_for_width(0.8, 0.025, known=(1000, 0.02)) == pytest.approx(4 * n, rel=0.02)
    z = 1.959964 + 0.841621
    exact = z**2 * 2 * 0.02**2 * 1000 * (1 - 0.5) / 0.02**2
    assert rows_for_difference(0.8, 0.02, known=(1000, 0.02)) == pytest.approx(exact, abs=1.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"width": 0.0}, "width is 0.0, but must be between 0 and 1"),
        ({"share": 1.0}, "share is 1.0, but must be between"),
        ({"auc": 1.0}, "auc is 1.0, but must be between"),
    ],
)
def test_what_has_no_answer_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        rows_for_width(**{"auc": 0.8, "width": 0.1, **given})


def test_differences_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match=r"larger auc is 1\.0\d*, but must be between"):
        rows_for_difference(0.9, 0.1)
    with pytest.raises(ValueError, match=r"correlation is 1\.0, but must be at least -1 and less than 1"):
        rows_for_difference(0.8, 0.1, correlation=1.0)
    with pytest.raises(ValueError, match="power is 2"):
        rows_for_difference(0.8, 0.1, power=2)
