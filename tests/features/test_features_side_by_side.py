"""Tests of scores of several kernel maps at once: against the features of each map times its coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from stored import read_again

from vrspam import kernels
from vrspam.features import AdditiveFeatures, KernelFeatures, StackedFeatures, TreeFeatures
from vrspam.features.scoring import PreparedParts, group_kernels


def rows(n=400, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    X[3, 1] = np.nan
    return X


def kernel(bandwidth, additive=True, seed=0, **more):
    return KernelFeatures(bandwidth=bandwidth, additive=additive, random_state=seed, n_landmarks=50, **more)


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_are_those_of_the_features(width, dtype):
    X = rows().astype(dtype)
    maps = [AdditiveFeatures(), kernel(3.0), kernel(1.0), kernel(0.3), kernel(1.0, False), kernel(0.7, False)]
    maps += [kernel(1.0, seed=5), kernel(1.0, max_additive=9), TreeFeatures(n_trees=20, n_landmarks=50, random_state=0)]
    stacked = StackedFeatures(maps).fit(X)
    coefs = np.random.default_rng(1).standard_normal((stacked.n_features_out_, width))
    assert list(map(len, group_kernels(stacked.parts(coefs).kernels))) == [6, 1]
    expected = stacked.transform(X).astype(np.float64) @ coefs
    size = np.abs(expected).max()
    np.testing.assert_allclose(
        stacked.products(X, coefs), expected, atol=size * (1e-10 if dtype is np.float64 else 1e-3)
    )
    np.testing.assert_allclose(stacked.products(X, coefs[:, 0]), stacked.products(X, coefs)[:, 0], atol=1e-3 * size)


def test_maps_read_from_a_file_are_grouped_too():
    maps = [kernel(3.0), kernel(1.0)]
    stacked = StackedFeatures(maps).fit(rows())
    parts = stacked.parts(np.random.default_rng(1).standard_normal(stacked.n_features_out_))
    again = read_again(parts)
    assert list(map(len, group_kernels(again.kernels))) == [2]
    np.testing.assert_array_equal(PreparedParts(again).scores(rows(seed=2)), PreparedParts(parts).scores(rows(seed=2)))


def test_powers_are_added_up():
    rng = np.random.default_rng(0)
    values, powers = rng.random((7, 5)), np.array([1, 2, 9, 100])
    weights, out = rng.standard_normal((4, 2, 5)), rng.standard_normal((7, 2))
    expected = out + sum(values ** int(power) @ weights[k].T for k, power in enumerate(powers))
    kernels.add_powers(values, powers, weights, out)
    np.testing.assert_allclose(out, expected, rtol=1e-12)
