"""Feature maps where values are few, far out, weighted or missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures


def test_clipping_is_exact_between_values_that_were_seen():
    column = np.append(np.arange(50.0), 400.0)[:, np.newaxis]
    new = np.linspace(0.0, 400.0, 81)[:, np.newaxis]
    z = (new[:, 0] - column.mean()) / column.std()
    assert (z > 3.0).any()
    found = AdditiveFeatures().fit(column).transform(new)[:, 0]
    assert np.allclose(found, np.clip(z, -3.0, 3.0), atol=1e-9)


def test_functions_rise_at_the_upper_end():
    """Eigenvectors have no sign of their own: theirs must not depend on the library that found them."""
    rng = np.random.default_rng(0)
    for column in (rng.standard_normal((400, 1)), rng.exponential(size=(400, 1)), rng.integers(0, 5, (400, 1))):
        assert (AdditiveFeatures().fit(column).transform(column.max(axis=0, keepdims=True)) >= 0.0).all()


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("max_rows", [5_000, 50_000])
def test_weights_count_beside_gaps_and_beyond_max_rows(gaps, max_rows):
    """Rows below 0 hardly count: the mean is that of the upper half of a normal column, √(2/π)."""
    column = np.random.default_rng(0).standard_normal((20_000, 1))
    weights = np.where(column[:, 0] < 0.0, 1e-3, 1.0)
    if gaps:
        column[::3] = np.nan
    features = LinearFeatures(max_rows=max_rows, random_state=0).fit(column, sample_weight=weights)
    at_mean = features.transform([[np.sqrt(2.0 / np.pi)]])[0, 0]
    assert abs(at_mean) < 0.1  # the mean of 2,500 rows has a standard error of 0.02 deviations


def test_a_thousand_categories_and_no_more():
    names = [f"c{number}" for number in range(1_001)]
    assert LinearFeatures().fit(pd.DataFrame({"city": names[:1_000]})).n_features_out_ == 1_000
    with pytest.raises(ValueError, match="more than 1000 different values"):
        LinearFeatures().fit(pd.DataFrame({"city": names}))


def test_a_stored_map_holds_no_generator():
    X = np.random.default_rng(0).standard_normal((50, 2))
    features = KernelFeatures(n_landmarks=10, random_state=np.random.RandomState(0)).fit(X)
    plain = features.to_dict()
    assert plain["params"]["random_state"] is None
    np.testing.assert_array_equal(KernelFeatures.from_dict(plain).transform(X), features.transform(X))
