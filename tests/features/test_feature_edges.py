"""Feature maps when values are few, outliers, weighted or missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures
from vrspam.features.encoders import Curves, distribution
from vrspam.tables.frames import WHOLE_ROWS, blocks


def test_clipping_is_exact_between_values_that_were_seen():
    column = np.append(np.arange(50.0), 400.0)[:, np.newaxis]
    new = np.linspace(0.0, 400.0, 81)[:, np.newaxis]
    z = (new[:, 0] - column.mean()) / column.std()
    assert (z > 3.0).any()
    found = AdditiveFeatures().fit(column).transform(new)[:, 0]
    assert np.allclose(found, np.clip(z, -3.0, 3.0), atol=1e-9)


def test_functions_rise_at_the_upper_end():
    """The sign of an eigenvector is arbitrary: the features must not depend on the library that computed it."""
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


@pytest.mark.parametrize("m", [1, 30])
@pytest.mark.parametrize("features", [LinearFeatures(), AdditiveFeatures(), KernelFeatures(n_landmarks=20)])
def test_products_of_rows_unlike_those_of_fit(features, m):
    """Products are features times coefficients also for outliers, new categories and new missing values."""
    rng = np.random.default_rng(0)
    seen = pd.DataFrame({"age": rng.normal(50, 10, 80), "city": rng.choice(["Rome", "Oslo"], 80)})
    new = pd.DataFrame({"age": [-1e3, 50.0, 1e4, np.nan], "city": ["Oslo", "Paris", None, "Rome"]})
    features.fit(seen)
    coefs = rng.standard_normal((features.n_features_out_, m))
    expected = features.transform(new) @ coefs
    np.testing.assert_allclose(features.products(new, coefs), expected, rtol=1e-9, atol=1e-9)
    if isinstance(features, LinearFeatures):
        z = (1e4 - seen["age"].mean()) / seen["age"].std(ddof=0)
        assert features.transform(new)[2, 0] == pytest.approx(z)  # straight on, not clipped


def test_a_missing_value_is_a_middle_rank_for_the_kernel():
    column = np.append(np.random.default_rng(0).standard_normal(30), [np.nan] * 4)[:, np.newaxis]
    found = KernelFeatures(n_landmarks=34, additive=False, random_state=0).fit(column).landmarks_
    present = (rankdata(column[:30, 0]) - 0.5) / 30 - 0.5
    expected = [[0.0, 1.0]] * 4 + [[rank, 0.0] for rank in present]
    np.testing.assert_allclose(sorted(found.tolist()), sorted(expected), atol=1e-12)


def test_max_additive_bounds_the_curves_beside_a_kernel():
    X = np.random.default_rng(0).standard_normal((100, 20))
    for most in (100, 20):
        additive = KernelFeatures(max_additive=most, n_landmarks=30, random_state=0).fit(X).additive_
        assert additive is not None
        assert additive.n_features_out_ == most


@pytest.mark.parametrize(("rows", "curves", "landmarks"), [(150, 12, 20), (1_600, 27, 56), (5_400, 36, 44)])
def test_many_rows_have_more_curves_and_these_take_the_place_of_landmarks(rows, curves, landmarks, monkeypatch):
    """14 up to 200 rows, then with the third root up to 38; beyond 20, lines apart, each is worth two landmarks."""
    rules = {"AUTO_LANDMARKS": 20, "AUTO_ROWS": 200, "MOST_AUTO_LANDMARKS": 70}
    rules |= {"FEW_CURVES": 20, "LANDMARKS_PER_CURVE": 2, "LEAST_BESIDE": 40}
    for name, value in rules.items():
        monkeypatch.setattr(f"vrspam.features.kernel.{name}", value)
    monkeypatch.setattr("vrspam.features.kernel.AUTO_ADDITIVE", 14)
    monkeypatch.setattr("vrspam.features.kernel.MOST_AUTO_ADDITIVE", 38)
    X = np.random.default_rng(0).standard_normal((rows, 3))
    features = KernelFeatures(n_landmarks="auto", max_additive="auto", random_state=0).fit(X)
    assert features.additive_ is not None
    assert features.additive_.n_features_out_ == curves
    grown = int(20 * np.sqrt(max(rows, 200) / 200))
    assert len(features.landmarks_) == landmarks == min(grown, max(70 - 2 * max(curves - 3 - 20, 0), 40))
    towns = pd.DataFrame(X).set_axis(list("abc"), axis=1).assign(town=np.arange(rows) % 15)
    towns["town"] = towns["town"].astype(str)  # indicators of categories are no curves
    beside = KernelFeatures(n_landmarks="auto", max_additive="auto", random_state=0).fit(towns)
    assert len(beside.landmarks_) == landmarks


def test_ranks_stay_below_one_where_shares_add_up_to_more():
    column, beyond = np.arange(200.0), 0
    for seed in range(20):
        weights = np.append(np.random.default_rng(seed).random(199), 1e-30)
        beyond += np.cumsum(weights / weights.sum())[-1] > 1.0
        assert distribution(column, weights).ranks.max() <= 1.0
        AdditiveFeatures().fit(column[:, np.newaxis], sample_weight=weights)
    assert beyond > 0  # by rounding


@pytest.mark.parametrize("dtype", ["bool", "boolean", object])
def test_booleans_of_any_type_stay_the_categories_they_were(dtype):
    features = LinearFeatures().fit(pd.DataFrame({"a": np.array([True, False, None, True], dtype=object)}))
    assert features.transform(pd.DataFrame({"a": pd.array([True, False], dtype=dtype)})).tolist() == [
        [0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0],
    ]


@pytest.mark.parametrize("width", [0, 1, 7, 1_000, 20_000, 10**9])
def test_blocks_are_whole_so_that_equal_rows_have_equal_scores(width):
    """Some libraries sum the last rows of a product in another order if their number is not a multiple of a block."""
    cuts = list(blocks(5_001, width, 1 << 20))
    assert np.array_equal(np.concatenate([np.arange(5_001)[cut] for cut in cuts]), np.arange(5_001))
    assert all((cut.stop - cut.start) % WHOLE_ROWS == 0 for cut in cuts[:-1])
    assert all((cut.stop - cut.start) * width <= max(1 << 20, WHOLE_ROWS * width) for cut in cuts)


@pytest.mark.parametrize("rows", [3, 50, 191])
def test_copies_of_one_row_have_one_score(rows):
    """Also in tables of many columns and few rows, whose features could be computed all at once."""
    X = np.random.default_rng(0).standard_normal((400, 300))
    features = AdditiveFeatures().fit(X)
    coef = np.random.default_rng(1).standard_normal(features.n_features_out_)
    assert np.unique(features.products(np.tile(X[0], (rows, 1)), coef)).size == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("spacing", ["normal", "heavy tails", "ties in float32", "wide", "tiny", "one", "two"])
def test_curves_are_those_of_numpy(dtype, spacing):
    """Between the nodes, at them, beside them and far outside; missing values are 0."""
    rng = np.random.default_rng(0)
    nodes = {
        "normal": np.sort(rng.standard_normal(256)),
        "heavy tails": np.sort(np.exp(6.0 * rng.standard_normal(256))),
        "ties in float32": 1.0 + 1e-9 * np.arange(40.0),
        "wide": np.array([-1e38, -1.0, 0.0, 2.0, 1e38]),
        "tiny": 1e-30 * np.arange(1.0, 9.0),
        "one": np.array([3.0]),
        "two": np.array([-1.0, 4.0]),
    }[spacing]
    table = rng.standard_normal((nodes.size, 3))
    inside = rng.uniform(nodes[0], nodes[-1], 300)
    beside = [np.nextafter(nodes, side).astype(dtype) for side in (-np.inf, np.inf)]
    values = np.concatenate([nodes, inside, *beside, [nodes[0] - 5.0, nodes[-1] + 5.0, np.nan]]).astype(dtype)
    out = np.empty((values.size, 5), dtype=dtype)
    Curves(nodes, table, ("a", "b", "c"), missing=True).write(values, out[:, :4])
    known = ~np.isnan(values)
    np.testing.assert_array_equal(out[:, 3], ~known)
    assert not out[~known, :3].any()
    if spacing == "ties in float32" and dtype == np.float32:
        assert np.isfinite(out[:, :4]).all()  # the nodes are one number
        return
    for q in range(3):
        expected = np.interp(values[known].astype(np.float64), nodes.astype(dtype).astype(np.float64), table[:, q])
        np.testing.assert_allclose(out[known, q], expected, atol=2e-3 if dtype == np.float32 else 1e-9)
    straight = np.empty((values.size, 3), dtype=dtype)
    Curves(nodes, table, ("a", "b", "c"), missing=False, extend=True).write(values, straight)
    between = known & (values >= nodes[0]) & (values <= nodes[-1])
    np.testing.assert_allclose(straight[between], out[between, :3], atol=1e-6)
    if spacing == "two":
        slope = (table[1] - table[0]) / 5.0
        np.testing.assert_allclose(straight[-2], table[1] + 5.0 * slope, rtol=1e-5)
