"""Standardisation of encoded rows out of their moments."""

from __future__ import annotations

import numpy as np

from vrspam import ClassMoments
from vrspam.tool.scaling import Scaling, spread


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
