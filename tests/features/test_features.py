"""Feature maps against their definitions, scikit-learn's checks, and themselves after storing."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_global_output_transform_pandas, parametrize_with_checks
from stored import read_again

from vrspam._utils.warnings import CategoriesGrouped
from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures, TreeFeatures, encoders
from vrspam.features.encoders import N_NODES, Curves, distribution
from vrspam.features.scoring import PreparedParts

MAPS = [
    LinearFeatures(),
    AdditiveFeatures(),
    KernelFeatures(n_landmarks=40, random_state=0),
    TreeFeatures(n_trees=20, n_landmarks=40, random_state=0),
]
IDS = [type(m).__name__ for m in MAPS]


def random_landmarks(estimator):
    """Landmarks are rows drawn at random: repeated rows and weights give different ones."""
    kinds = ("dense", "sparse") if isinstance(estimator, (KernelFeatures, TreeFeatures)) else ()
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


def arrow_table(columns):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({**columns, "city": columns["city"].tolist()})
    age = pa.array(columns["age"], from_pandas=True)
    return table.set_column(0, "age", pa.chunked_array([age[:50], age[50:]]))


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
    """Five values give four functions, which span the same space as one-hot; two values give only the column itself."""
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
    assert features.additive_ is not None
    width = features.additive_.n_features_out_
    assert np.isclose(F[:, :width].var(axis=0).sum(), 1.0)
    assert np.isclose(F[:, width:].var(axis=0).sum(), 1.0)
    assert features.get_feature_names_out()[width] == "kernel0"


@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_frames_of_all_kinds_agree(features, mixed):
    pandas_frame, polars_frame = pd.DataFrame(mixed), pl.DataFrame({**mixed, "city": mixed["city"].tolist()})
    polars_frame = polars_frame.with_columns(pl.col("age").fill_nan(None))
    F = features.fit(pandas_frame).transform(pandas_frame)
    names = features.get_feature_names_out().tolist()
    assert F.shape == (120, len(names))
    assert np.isfinite(F).all()
    assert np.allclose(F, features.transform(polars_frame))
    for frame in (polars_frame, arrow_table(mixed)):
        again = features.fit(frame)
        assert np.allclose(F, again.transform(frame))
        assert names == again.get_feature_names_out().tolist()
        assert again.feature_names_in_.tolist() == list(mixed)


def test_categories_and_missing_values(mixed):
    features = LinearFeatures().fit(pd.DataFrame(mixed))
    assert features.get_feature_names_out().tolist() == [
        "age", "age_missing", "city=Bonn", "city=Oslo", "city=Rome", "city_missing", "smokes", "weight"
    ]  # fmt: skip
    new = pd.DataFrame({"age": [np.nan], "city": ["Bern"], "smokes": [True], "weight": [70.0]})
    assert features.transform(new)[0, :6].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="'smokes' held numbers in fit and holds text"):
        features.transform(new.assign(smokes="yes"))
    with pytest.raises(ValueError, match="'city' held categories in fit and holds numbers"):
        features.transform(new.assign(city=3.5))
    with pytest.raises(ValueError, match="held categories in fit: give a frame"), pytest.warns(match="feature names"):
        features.transform(np.zeros((1, 4)))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_the_rows_at_hand_do_not_decide_what_a_column_is(mixed, kind):
    """A single row whose age is missing has a column without numbers; there are similar cases."""
    features = LinearFeatures().fit(pd.DataFrame(mixed))
    row = {"age": None, "city": None, "smokes": None, "weight": 70.0}
    gone = pd.DataFrame([row]) if kind == "pandas" else pl.DataFrame([row])
    assert features.transform(gone)[0, :7].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    if kind == "pandas":
        row = pd.DataFrame(mixed).iloc[[1]]
        as_objects = row.astype(object)
        assert np.array_equal(features.transform(as_objects), features.transform(row))
        assert features.transform(row.assign(city=np.nan))[0, 5] == 1.0


def test_booleans_with_gaps_stay_what_they_were():
    frame = pd.DataFrame({"a": np.array([True, False, None, True], dtype=object)})
    features = LinearFeatures().fit(frame)
    names = features.get_feature_names_out().tolist()
    whole = features.transform(pd.DataFrame({"a": [True, False]}))
    assert names == ["a=False", "a=True", "a_missing"]
    assert whole.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]


@pytest.mark.filterwarnings("ignore:X .*feature names")  # scikit-learn's check asks for it
@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_output_as_frames_changes_no_number(features, rows):
    F = clone(features).fit(rows).transform(rows)
    with config_context(transform_output="pandas"):
        framed = clone(features).fit(rows)
        table = framed.transform(rows)
        assert isinstance(table, pd.DataFrame)
        assert table.columns.tolist() == framed.get_feature_names_out().tolist()
        assert np.array_equal(table.to_numpy(), F)
    check_global_output_transform_pandas("map", clone(features))


def test_curves_are_not_rationed_by_categories(rows):
    """Many columns of two values do not reduce the number of curves of the other columns."""
    rng = np.random.default_rng(0)
    X = np.hstack([rows, rng.random((len(rows), 300)) < 0.3])
    features = AdditiveFeatures(max_features=100).fit(X)
    widths = [encoder.width for encoder in features.encoders_]
    alone = [encoder.width for encoder in AdditiveFeatures(max_features=100).fit(rows).encoders_]
    assert widths == alone + [1] * 300
    assert max(alone) > 5


def test_what_is_rare_is_seen_beyond_max_rows():
    """Ranks come from a sample of rows; categories, missing values and rare values come from all rows."""
    n = 3000
    frame = pd.DataFrame({"flag": np.zeros(n), "kind": ["a"] * n, "dense": np.random.default_rng(0).random(n)})
    frame.loc[17, ["flag", "kind"]] = 1.0, "b"
    frame.loc[18, "dense"] = np.nan
    for seed in range(5):  # whichever rows are drawn
        features = AdditiveFeatures(max_rows=100, random_state=seed).fit(frame)
        names = features.get_feature_names_out().tolist()
        assert "kind=b" in names
        assert "dense_missing" in names
        F = features.transform(frame.iloc[[16, 17]])
        assert F[0, 0] != F[1, 0]


def test_shares_of_a_heavy_value():
    """Nine rows of ten are 0: the node at 0 must have that weight, whatever the other values are."""
    rng = np.random.default_rng(0)
    column = np.concatenate([np.zeros(9000), rng.lognormal(size=1000)])
    seen = distribution(column)
    assert seen.values.size <= N_NODES + 1
    assert seen.shares[0] == pytest.approx(0.9, abs=0.003)
    assert seen.shares.sum() == pytest.approx(1.0)
    F = AdditiveFeatures().fit(column[:, None]).transform(column[:, None])[:, 1:]
    assert np.abs(F.mean(axis=0)).max() < 0.02
    assert F[:, 0].var() == pytest.approx(1.0, abs=0.05)


def test_ranks_under_very_unequal_weights():
    column = np.arange(5000.0)
    seen = distribution(column, 0.99**column)
    assert seen.ranks.min() >= 0.0
    assert seen.ranks.max() <= 1.0
    AdditiveFeatures().fit(column[:, None], sample_weight=0.99**column)


def test_kernel_products_stay_small_on_wide_categories(monkeypatch):
    """A block is as wide as the encoded columns, and categories become many columns."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.integers(0, 300, 2000).astype(str), "age": rng.random(2000)})
    features = KernelFeatures(n_landmarks=20, random_state=0).fit(frame)
    sizes = []
    encode = encoders.encode

    def watched(encoders, X):
        sizes.append(encode(encoders, X).size)
        return encode(encoders, X)

    monkeypatch.setattr("vrspam.features.scoring.encode", watched)
    monkeypatch.setattr("vrspam.tables.frames.BLOCK_ENTRIES", 301 * 192 * 2)
    features.products(frame, np.ones(features.n_features_out_))
    assert max(sizes) <= 301 * 192 * 2


def test_categorical_dtype_and_nullable_integers():
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y", None, "x"]), "b": pd.array([1, None, 3, 4], dtype="Int64")})
    F = LinearFeatures().fit(frame).transform(frame)
    assert F[:, :3].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert F[:, 4].tolist() == [0, 1, 0, 0]
    assert F[1, 3] == 0.0


@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_blocks_and_rows_do_not_matter(features, rows, monkeypatch):
    whole = features.fit(rows).transform(rows)
    monkeypatch.setattr("vrspam.tables.frames.BLOCK_ENTRIES", 64)
    assert np.allclose(features.transform(rows), whole, atol=1e-12)
    parts = np.vstack([features.transform(rows[:130]), features.transform(rows[130:])])
    assert np.allclose(parts, whole, atol=1e-12)


@pytest.mark.parametrize("features", [*MAPS, KernelFeatures(additive=False, random_state=0)])
def test_products_by_blocks(features, rows, monkeypatch):
    F = features.fit(rows).transform(rows)
    monkeypatch.setattr("vrspam.tables.frames.BLOCK_ENTRIES", 4096)
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
    again = pickle.loads(pickle.dumps(features))
    assert np.array_equal(again.transform(frame), F)
    assert again.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()
    assert again.get_params() == features.get_params()
    parts = features.parts(np.cos(np.arange(F.shape[1])))
    assert np.array_equal(PreparedParts(read_again(parts)).scores(frame), PreparedParts(parts).scores(frame))


def test_bad_input_is_refused(rows):
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(1500)]})
    with pytest.raises(ValueError, match=r"'id' has more than 1000 different values.*raise max_categories="):
        AdditiveFeatures().fit(frame)
    with pytest.raises(ValueError, match="shape"):
        AdditiveFeatures().fit(frame[:0])
    with pytest.raises(ValueError, match="'a' contains infinity"):
        AdditiveFeatures().fit(pd.DataFrame({"a": [1.0, np.inf]}))
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
    assert kernel.additive_ is not None
    assert np.array_equal(kernel.additive_.transform(rows), alone.transform(rows))
    unweighted = AdditiveFeatures(max_features=250).fit(rows)
    assert not np.allclose(alone.transform(rows), unweighted.transform(rows))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("m", [None, 1, 3, 9])
@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_products_are_those_of_the_features(features, m, dtype, mixed):
    """Scores computed in the faster way (curves summed first, the kernel in small blocks) are the same."""
    frame = pd.DataFrame({**mixed, "age": mixed["age"].astype(dtype)})
    numbers = frame.select_dtypes("number")
    for X in (numbers.astype(dtype), frame):
        fitted = features.fit(X)
        coefs = np.random.default_rng(0).standard_normal((fitted.n_features_out_, m or 1))
        coefs = coefs[:, 0] if m is None else coefs
        F = fitted.transform(X)
        products = fitted.products(X, coefs)
        assert products.dtype == F.dtype
        tolerance = 1e-10 if F.dtype == np.float64 else 2e-4
        assert np.allclose(products, F.astype(np.float64) @ coefs, rtol=0, atol=tolerance)


@pytest.mark.parametrize("factor", [2.0**-1060, 2.0**-600, 2.0**600, 2.0**1000])
@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_no_scale_is_too_large_or_too_small(features, factor):
    """Features do not depend on the unit of a column, also where its squares leave the range of numbers."""
    X = np.random.default_rng(0).integers(-7, 8, (200, 3)).astype(float)  # few bits: exact also in subnormal numbers
    F = clone(features).fit(X).transform(X)
    with np.errstate(all="raise", under="ignore"):
        scaled = clone(features).fit(factor * X).transform(factor * X)
    # the deviation itself is subnormal in the smallest unit, and has few digits there
    assert np.allclose(scaled, F, rtol=0.1 if factor < 2.0**-1000 else 1e-9, atol=1e-9)


def test_one_absurd_value_leaves_the_curves_of_the_others():
    column = np.append(np.arange(50.0), 1e300)[:, np.newaxis]
    with np.errstate(over="raise", invalid="raise"):
        F = AdditiveFeatures().fit(column).transform(column)
    other = AdditiveFeatures().fit(np.append(np.arange(50.0), 60.0)[:, np.newaxis])
    assert np.allclose(F[:50, 1:], other.transform(column[:50])[:, 1:])
    with pytest.raises(ValueError, match="Column 0 holds numbers beyond"):
        LinearFeatures().fit(np.array([[-1.7e308], [1.7e308]]))


def test_new_values_far_outside(rows):
    features = AdditiveFeatures().fit(rows)
    ends = features.transform(rows.max(axis=0, keepdims=True))
    with np.errstate(over="raise", invalid="raise"):
        assert np.allclose(features.transform(np.full((1, 4), 1.7e308)), ends)
        far = AdditiveFeatures().fit(rows * 1e200)
        assert np.isfinite(far.transform(rows.astype(np.float32))).all()


@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_numbers_in_other_dress_are_numbers(features):
    """Columns of objects (from missing values or databases), decimals and arrow types give the same as plain floats."""
    pa = pytest.importorskip("pyarrow")
    values: list[float | None] = [float(v) for v in np.random.default_rng(0).integers(-50, 50, 90) / 4]
    values[::9] = [None] * 10
    decimals = [None if v is None else Decimal(str(v)) for v in values]
    expected = clone(features).fit(pd.DataFrame({"a": pd.Series(values, dtype=float)}))
    F = expected.transform(pd.DataFrame({"a": pd.Series(values, dtype=float)}))
    for frame in (
        pd.DataFrame({"a": pd.Series(values, dtype=object)}),
        pd.DataFrame({"a": pd.Series(decimals, dtype=object)}),
        pd.DataFrame({"a": pd.Series(decimals, dtype=pd.ArrowDtype(pa.decimal128(10, 2)))}),
        pd.DataFrame({"a": pd.Series(values, dtype="double[pyarrow]")}),
        pl.DataFrame({"a": decimals}),
        pa.table({"a": decimals}),
        pa.table({"a": values}),
    ):
        again = clone(features).fit(frame)
        assert again.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
        assert np.array_equal(again.transform(frame), F)
        assert np.array_equal(expected.transform(frame), F)
    narrow = pd.DataFrame({"a": pd.Series([1.0, 2.0, 3.0], dtype="float[pyarrow]")})
    assert clone(features).fit(narrow).transform(narrow).dtype == np.float32
    with pytest.raises(ValueError, match="'a' contains infinity"):
        clone(features).fit(pd.DataFrame({"a": np.array([1, 2.5, np.inf], dtype=object)}))


def test_arrow_tables(mixed):
    pa = pytest.importorskip("pyarrow")
    table, frame = arrow_table(mixed), pd.DataFrame(mixed)
    features = LinearFeatures().fit(frame)
    coded = table.set_column(1, "city", table.column("city").dictionary_encode())
    assert np.array_equal(features.transform(coded), features.transform(frame))
    new = pa.table({"age": pa.nulls(1), "city": ["Bern"], "smokes": [True], "weight": [70.0]})
    assert features.transform(new)[0, :6].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    narrow = pa.table({"a": pa.array([1.0, 2.0, None], pa.float32())})
    assert LinearFeatures().fit(narrow).transform(narrow).dtype == np.float32
    with pytest.raises(ValueError, match="'a' contains infinity"):
        LinearFeatures().fit(pa.table({"a": [1.0, np.inf]}))
    with pytest.raises(ValueError, match="'d' holds dates or times"):
        LinearFeatures().fit(pa.table({"d": pd.date_range("2024-01-01", periods=3)}))
    with pytest.raises(ValueError, match="at least one row"):
        LinearFeatures().fit(table[:0])
    with pytest.raises(ValueError, match="feature names should match"):
        features.transform(table.rename_columns(["a", "b", "c", "d"]))


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(ValueError, match="Two columns of the frame have the same name: rename one"):
        LinearFeatures().fit(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))


def test_dates_are_no_categories():
    days = pd.date_range("2024-01-01", periods=40)
    columns = [days, days.tz_localize("UTC"), days - days[0], days.to_period("D"), days.date, days.time]
    for column in columns:
        with pytest.raises(ValueError, match="'d' holds dates or times: turn them into numbers"):
            LinearFeatures().fit(pd.DataFrame({"d": column}))
    with pytest.raises(ValueError, match="'d' holds dates or times"):
        LinearFeatures().fit(pl.DataFrame({"d": days.to_numpy()}))
    assert LinearFeatures().fit(pd.DataFrame({"d": days.strftime("%A")})).n_features_out_ == 7


@pytest.mark.filterwarnings("ignore:Determining the")  # polars: its columns are not known either
def test_frames_whose_rows_are_elsewhere():
    with pytest.raises(ValueError, match="rows of this LazyFrame are not in memory"):
        LinearFeatures().fit(pl.DataFrame({"a": [1.0, 2.0]}).lazy())


@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_the_most_categories_are_a_parameter(features):
    frame = pd.DataFrame({"town": [f"t{i % 1200}" for i in range(1500)]})
    raised = clone(features).set_params(max_categories=1200).fit(frame)
    assert len(raised.encoders_[0].categories) == 1200
    with pytest.warns(CategoriesGrouped, match="the 1,198 most frequent are kept, and the other 2 count as one"):
        fewer = clone(features).set_params(max_categories=1199).fit(frame)
    assert len(fewer.encoders_[0].categories) == 1199


def test_maps_that_learn_from_the_same_rows_share_what_they_have_seen():
    X = np.random.default_rng(0).standard_normal((80, 3))
    X[4, 1] = np.nan
    shared: dict = {}
    maps = [AdditiveFeatures(), KernelFeatures(random_state=1), KernelFeatures(bandwidth=0.3, random_state=1)]
    maps += [TreeFeatures(random_state=1), AdditiveFeatures(n_knots=5), AdditiveFeatures(max_rows=100)]
    for new in maps:
        new.learn(X, None, shared)
        np.testing.assert_array_equal(new.transform(X), clone(new).fit_transform(X))
    assert len(shared) == 1
    assert maps[1].encoders_[0] is maps[2].encoders_[0]
    assert maps[0].encoders_[0] is not maps[4].encoders_[0]


@pytest.mark.parametrize("bandwidth", [0.05, 3.0])
def test_whitened_features_have_the_products_of_the_kernel(bandwidth):
    """Of landmarks among themselves: φ(z_i)·φ(z_j) = k(z_i, z_j), for a triangular W and with directions cut."""
    X = np.random.default_rng(0).standard_normal((300, 2))
    features = KernelFeatures(bandwidth=bandwidth, additive=False, random_state=0).fit(X)
    triangular = not np.tril(features.whitening_, -1).any()
    assert triangular == (bandwidth == 0.05)
    assert (features.whitening_.shape[1] == 300) == triangular
    ranks = encoders.encode(features.encoders_, X)
    distances = ((ranks[:, np.newaxis] - ranks[np.newaxis]) ** 2).sum(axis=2)
    found = features.transform(X)
    np.testing.assert_allclose(
        found @ found.T, np.exp(-features.gamma_ * distances), atol=1e-4 if not triangular else 1e-9
    )
