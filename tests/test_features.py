"""Feature maps against their definitions, scikit-learn's checks, and themselves after storing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures, map_from_dict
from vrspam.features.encoders import Curves
from vrspam.features.ranks import N_NODES, distribution

MAPS = [LinearFeatures(), AdditiveFeatures(), KernelFeatures(n_landmarks=40, random_state=0)]
IDS = [type(m).__name__ for m in MAPS]


def random_landmarks(estimator):
    """Landmarks are rows drawn at random: repeated rows and weights give different ones."""
    kinds = ("dense", "sparse") if isinstance(estimator, KernelFeatures) else ()
    return {f"check_sample_weight_equivalence_on_{kind}_data": "landmarks are drawn rows" for kind in kinds}


@parametrize_with_checks(
    [*MAPS, KernelFeatures(additive=False, random_state=0)], expected_failed_checks=random_landmarks
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    X[:, 1] = np.exp(2 * X[:, 1])  # a heavy tail
    X[:, 2] = rng.integers(0, 5, 400)
    X[:, 3] = rng.random(400) < 0.1
    return X


@pytest.fixture
def mixed():
    rng = np.random.default_rng(1)
    age = rng.normal(50, 10, 120)
    age[::7] = np.nan
    city = rng.choice(["Rome", "Oslo", "Bonn"], 120).astype(object)
    city[::11] = None
    return {"age": age, "city": city, "smokes": rng.random(120) < 0.3, "weight": rng.normal(70, 9, 120)}


def to_json(plain):
    return json.loads(json.dumps(plain, default=lambda value: value.tolist()))


def test_ranks_are_mid_ranks():
    from scipy.stats import rankdata

    column = np.random.default_rng(0).integers(0, 30, 500).astype(float)
    seen = distribution(column)
    expected = (rankdata(column) - 0.5) / 500
    assert np.allclose(np.interp(column, seen.values, seen.ranks), expected, atol=1e-14)
    assert np.isclose(seen.shares.sum(), 1.0)


def test_ranks_of_many_values_are_close():
    from scipy.stats import rankdata

    column = np.exp(np.random.default_rng(0).standard_normal(20_000))
    seen = distribution(column)
    assert seen.values.size <= N_NODES
    error = np.interp(column, seen.values, seen.ranks) - (rankdata(column) - 0.5) / column.size
    assert np.abs(error).max() < 2.0 / N_NODES
    assert np.isclose(seen.shares.sum(), 1.0)


@pytest.mark.parametrize("features", MAPS[:2], ids=IDS[:2])
def test_weights_count_as_repeated_rows(features, rows):
    X = np.vstack([rows, np.full((1, 4), np.nan)])
    counts = np.random.default_rng(0).integers(0, 4, 401)
    counts[-1] = 0
    weighted = features.fit(X, sample_weight=counts).transform(rows)
    assert np.allclose(weighted, features.fit(np.repeat(X, counts, axis=0)).transform(rows), atol=1e-6)


def test_linear_features_are_standard_scores(rows):
    assert np.allclose(LinearFeatures().fit_transform(rows), StandardScaler().fit_transform(rows), atol=1e-12)


def test_smooth_functions_solve_the_eigenproblem():
    """Uncorrelated, centred, of variance 1, in order of roughness; the first is straight in the ranks."""
    column = np.random.default_rng(0).permutation(200.0 * np.arange(200))[:, np.newaxis]
    features = AdditiveFeatures(decay=0.0).fit(column)
    F, ranks = features.transform(column)[:, 1:], (column[:, 0] / 200 + 0.5) / 200
    assert F.shape[1] == 17  # 18 splines less the constant
    assert np.allclose(F.mean(axis=0), 0.0, atol=1e-9)
    assert np.allclose(np.cov(F.T, ddof=0), np.eye(17), atol=1e-8)
    splines = SplineTransformer(degree=3, knots=np.linspace(0, 1, 16)[:, np.newaxis])
    basis = splines.fit_transform(ranks[:, np.newaxis])
    coefficients = np.linalg.lstsq(basis, F, rcond=None)[0]
    assert np.allclose(basis @ coefficients, F, atol=1e-8)
    differences = np.diff(coefficients, 2, axis=0)
    penalty = differences.T @ differences
    assert np.allclose(penalty, np.diag(np.diag(penalty)), atol=1e-6 * penalty.max())
    assert np.all(np.diff(np.diag(penalty)) > 0)
    assert abs(np.corrcoef(F[:, 0], column[:, 0])[0, 1]) > 1 - 1e-9


def test_decay_scales_the_rth_function(rows):
    plain = AdditiveFeatures(decay=0.0).fit_transform(rows[:, :1])
    scaled = AdditiveFeatures(decay=2.0).fit_transform(rows[:, :1])
    assert np.allclose(scaled[:, 1:], plain[:, 1:] / np.arange(1, plain.shape[1]) ** 2)
    assert np.allclose(scaled[:, 0], plain[:, 0])


def test_few_values_span_their_indicators(rows):
    """Five values give four functions, the same space as one-hot; two values only themselves."""
    features = AdditiveFeatures(max_features=4 * 18).fit(rows)
    widths = [s.stop - s.start for s in features.column_slices_]
    assert widths == [18, 18, 5, 1]
    F = features.transform(rows)[:, features.column_slices_[2]]
    onehot = OneHotEncoder(sparse_output=False).fit_transform(rows[:, [2]])
    both = np.hstack([F, np.ones((400, 1)), onehot])
    assert np.linalg.matrix_rank(F - F.mean(axis=0)) == 4
    assert np.linalg.matrix_rank(both) == 5


def test_straight_column_is_clipped(rows):
    features = AdditiveFeatures(clip=2.0).fit(rows)
    first = features.transform(rows)[:, features.column_slices_[1].start]
    z = (rows[:, 1] - rows[:, 1].mean()) / rows[:, 1].std()
    assert z.max() > 3
    assert np.allclose(first, np.clip(z, -2, 2), atol=1e-9)
    far = np.array([[1e9, 1e9, 1e9, 1e9]])
    assert np.allclose(features.transform(far), features.transform(rows.max(axis=0, keepdims=True)))


def test_wide_tables_get_fewer_functions():
    X = np.random.default_rng(0).standard_normal((100, 50))
    assert AdditiveFeatures(max_features=200).fit(X).n_features_out_ == 200
    assert AdditiveFeatures(max_features=20).fit(X).n_features_out_ == 50


@pytest.mark.parametrize("bandwidth", [0.3, 1.0])
def test_kernel_with_all_landmarks_is_the_kernel(rows, bandwidth):
    """With every row a landmark, inner products of features are the kernel itself."""
    X = rows[:80]
    features = KernelFeatures(n_landmarks=80, bandwidth=bandwidth, additive=False, random_state=0).fit(X)
    ranks = np.stack([[(np.sum(c < v) + np.sum(c <= v)) / 160 for v in c] for c in X.T], axis=1)
    distances = ((ranks[:, None] - ranks[None]) ** 2).sum(axis=2)
    length = bandwidth * np.sqrt(np.median(distances[np.triu_indices(80, 1)]))
    F = features.transform(X)
    assert np.allclose(F @ F.T, RBF(length)(ranks), atol=1e-4)


def test_kernel_and_additive_parts_have_equal_weight(rows):
    features = KernelFeatures(n_landmarks=400, random_state=0).fit(rows)
    F = features.transform(rows)
    width = features.additive_.n_features_out_
    assert np.isclose(F[:, :width].var(axis=0).sum(), 1.0)
    assert np.isclose(F[:, width:].var(axis=0).sum(), 1.0)
    assert features.get_feature_names_out()[width] == "kernel0"


@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_frames_of_both_kinds_agree(features, mixed):
    pandas_frame, polars_frame = pd.DataFrame(mixed), pl.DataFrame({**mixed, "city": mixed["city"].tolist()})
    polars_frame = polars_frame.with_columns(pl.col("age").fill_nan(None))
    F = features.fit(pandas_frame).transform(pandas_frame)
    names = features.get_feature_names_out().tolist()
    assert F.shape == (120, len(names))
    assert np.isfinite(F).all()
    assert np.allclose(F, features.transform(polars_frame))
    again = features.fit(polars_frame)
    assert np.allclose(F, again.transform(polars_frame))
    assert names == again.get_feature_names_out().tolist()


def test_categories_and_missing_values(mixed):
    features = LinearFeatures().fit(pd.DataFrame(mixed))
    assert features.get_feature_names_out().tolist() == [
        "age", "age_missing", "city=Bonn", "city=Oslo", "city=Rome", "city_missing", "smokes", "weight"
    ]  # fmt: skip
    new = pd.DataFrame({"age": [np.nan], "city": ["Bern"], "smokes": [True], "weight": [70.0]})
    assert features.transform(new)[0, :6].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    new["city"] = None
    with pytest.raises(ValueError, match="'smokes' held numbers in fit and holds categories"):
        features.transform(new.assign(smokes="yes"))


def test_categorical_dtype_and_nullable_integers():
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y", None, "x"]), "b": pd.array([1, None, 3, 4], dtype="Int64")})
    F = LinearFeatures().fit(frame).transform(frame)
    assert F[:, :3].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert F[:, 4].tolist() == [0, 1, 0, 0]
    assert F[1, 3] == 0.0


@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_blocks_and_rows_do_not_matter(features, rows, monkeypatch):
    whole = features.fit(rows).transform(rows)
    monkeypatch.setattr("vrspam.features.table.BLOCK_ENTRIES", 64)
    assert np.allclose(features.transform(rows), whole, atol=1e-12)
    parts = np.vstack([features.transform(rows[:130]), features.transform(rows[130:])])
    assert np.allclose(parts, whole, atol=1e-12)


@pytest.mark.parametrize("features", [*MAPS, KernelFeatures(additive=False, random_state=0)])
def test_products_are_those_of_the_features(features, rows, monkeypatch):
    F = features.fit(rows).transform(rows)
    monkeypatch.setattr("vrspam.features.table.BLOCK_ENTRIES", 4096)
    coefs = np.random.default_rng(0).standard_normal((F.shape[1], 3))
    assert np.allclose(features.products(rows, coefs), F @ coefs, atol=1e-9)
    assert np.allclose(features.products(rows, coefs[:, 0]), F @ coefs[:, 0], atol=1e-9)


@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_sparse_equals_dense(features, rows):
    X = rows * (np.random.default_rng(2).random(rows.shape) < 0.4)
    dense = features.fit(X).transform(X)
    for container in (sparse.csr_array, sparse.csc_matrix):
        assert np.allclose(features.fit(container(X)).transform(container(X)), dense, atol=1e-12)


@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_float32_throughout(features, rows):
    narrow = features.fit(rows.astype(np.float32)).transform(rows.astype(np.float32))
    assert narrow.dtype == np.float32
    frame = pd.DataFrame(rows.astype(np.float32), columns=list("abcd"))
    assert features.fit(frame).transform(frame).dtype == np.float32
    wide = features.fit(rows).transform(rows)
    assert np.allclose(narrow @ narrow.T, wide @ wide.T, atol=2e-2 * np.abs(wide @ wide.T).max())


@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_random_state_decides(features, rows):
    from sklearn.base import clone

    big = np.tile(rows, (2, 1)) + np.arange(800)[:, np.newaxis] * 1e-3
    one = clone(features).set_params(max_rows=300, random_state=3).fit(big).transform(big)
    two = clone(features).set_params(max_rows=300, random_state=3).fit(big).transform(big)
    other = clone(features).set_params(max_rows=300, random_state=4).fit(big).transform(big)
    assert np.array_equal(one, two)
    assert one.shape != other.shape or not np.allclose(one, other)


@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_stored_and_read_again(features, mixed):
    frame = pd.DataFrame(mixed)
    F = features.fit(frame).transform(frame)
    for plain in (features.to_dict(), to_json(features.to_dict())):
        again = map_from_dict(plain)
        assert np.array_equal(again.transform(frame), F)
        assert again.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()
        assert again.get_params() == features.get_params()


def test_bad_input_is_refused(rows):
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(1500)]})
    with pytest.raises(ValueError, match="'id' has more than 1000 different values"):
        AdditiveFeatures().fit(frame)
    with pytest.raises(ValueError, match="shape"):
        AdditiveFeatures().fit(frame[:0])
    with pytest.raises(ValueError, match="'a' contains infinity"):
        AdditiveFeatures().fit(pd.DataFrame({"a": [1.0, np.inf]}))
    with pytest.raises(ValueError, match="no stored feature map"):
        map_from_dict({"map": "Other"})
    with pytest.raises(ValueError, match="bandwidth"):
        KernelFeatures(bandwidth=0.0).fit(rows)


def test_constant_and_empty_columns_are_harmless():
    X = np.random.default_rng(0).standard_normal((30, 3))
    X[:, 1], X[:, 2] = 7.0, np.nan
    for features in MAPS:
        F = features.fit(X).transform(X)
        assert np.isfinite(F).all()
    assert LinearFeatures().fit(X).transform(X)[0].tolist()[1:] == [0.0, 0.0, 1.0]


def test_nodes_that_are_one_in_float32():
    """A clipping bound may lie so near a value that float32 cannot tell them apart."""
    curves = Curves(np.array([0.0, 1.0 - 1e-12, 1.0]), np.array([[0.0], [2.0], [2.0]]), ("",), missing=False)
    out = np.empty((3, 1), dtype=np.float32)
    curves.write(np.array([0.0, 0.5, 1.0], dtype=np.float32), out)
    assert out.ravel().tolist() == [0.0, 1.0, 2.0]


def test_weights_reach_the_additive_part_of_a_kernel(rows):
    weights = np.linspace(0.5, 3.0, len(rows))
    kernel = KernelFeatures(n_landmarks=40, random_state=0).fit(rows, sample_weight=weights)
    alone = AdditiveFeatures(max_features=250).fit(rows, sample_weight=weights)
    assert np.array_equal(kernel.additive_.transform(rows), alone.transform(rows))
    unweighted = AdditiveFeatures(max_features=250).fit(rows)
    assert not np.allclose(alone.transform(rows), unweighted.transform(rows))
