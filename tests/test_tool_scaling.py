"""Standardisation of encoded rows out of their moments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from vrspam import ClassMoments
from vrspam.features import AdditiveFeatures, LinearFeatures
from vrspam.tool.scaling import Scaling, as_linear, count_gaps, fill_gaps, is_linear, spread


def test_spread_is_that_of_all_rows_and_a_constant_column_has_none():
    """The rounding of a mean must not pass for spread, by which a coefficient would be divided."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        n, constant = int(rng.integers(20, 200)), float(rng.uniform(0.1, 1e3))
        X = np.column_stack([rng.normal(5.0, 2.0, n), np.full(n, constant)])
        y, weights = rng.integers(0, 2, n), rng.uniform(0.1, 2.0, n)
        moments = ClassMoments()
        for start in range(0, n, 7):
            moments.update(X[start : start + 7], y[start : start + 7], weights[start : start + 7])
        mean, deviation = spread(moments)
        np.testing.assert_allclose(mean, np.average(X, axis=0, weights=weights), rtol=1e-12)
        assert np.isclose(deviation[0] ** 2, np.cov(X[:, 0], aweights=weights, ddof=0), rtol=1e-10)
        assert deviation[1] == 0.0
        assert Scaling.of(moments, is_sparse=False).deviations[1] == 1.0


def test_a_scorer_of_standard_scores_is_one_of_the_columns():
    rng = np.random.default_rng(1)
    X = rng.normal([5.0, -300.0, 0.0], [2.0, 40.0, 1e-3], (50, 3))
    features, coef = LinearFeatures().fit(X), np.array([1.0, -2.0, 0.5])
    slopes, intercept = as_linear(features, coef, 0.7)
    np.testing.assert_allclose(slopes, coef / X.std(axis=0), rtol=1e-9)
    np.testing.assert_allclose(X @ slopes + intercept, StandardScaler().fit_transform(X) @ coef + 0.7, atol=1e-9)


def test_a_map_with_indicators_of_gaps_is_not_linear():
    X = np.arange(12.0).reshape(6, 2)
    assert is_linear(LinearFeatures().fit(X))
    assert not is_linear(AdditiveFeatures().fit(X))
    X[2, 1] = np.nan
    assert not is_linear(LinearFeatures().fit(X))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_gaps_are_counted_and_filled_by_column(container):
    X = np.array([[np.nan, 0.0, 1.0, 0.0], [np.nan, np.nan, 0.0, 2.0], [3.0, 0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(count_gaps(container(X), 3), [2, 1, 0])
    filled = fill_gaps(container(X), [7.0, 8.0, 9.0])
    expected = [[7.0, 0.0, 1.0, 0.0], [7.0, 8.0, 0.0, 2.0], [3.0, 0.0, 0.0, 1.0]]
    np.testing.assert_array_equal(filled.toarray() if sparse.issparse(filled) else filled, expected)
    assert np.isnan(X).sum() == 3
