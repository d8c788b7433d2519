"""Indicators of many categories are not written out: moments, scores and solutions beside those of all columns."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from vrspam import AUCClassifierCV, ClassMoments
from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures, StackedFeatures, TreeFeatures, base
from vrspam.features.mapped import MappedArray
from vrspam.inspection.projection import MANY_FUNCTIONS, whitening
from vrspam.objective import Objective, SquaredPairLoss
from vrspam.penalties.elastic_net import ElasticNet
from vrspam.solvers.gram import RidgePath, exclusive_coefs, pays
from vrspam.tables.frames import HeldColumns

MAPS = [LinearFeatures(), AdditiveFeatures(n_knots=5), KernelFeatures(n_landmarks=20, random_state=0)]
TREES = TreeFeatures(n_trees=20, n_landmarks=20, random_state=0)
ROWS = 900


def table(dtype=np.float64, common=0.2, seed=0):
    """Numbers far from 0, two columns of many categories, some missing, and one of few; labels that follow them."""
    rng = np.random.default_rng(seed)
    town = np.where(rng.random(ROWS) < common, 0, rng.integers(0, 50, ROWS))
    trade = rng.integers(0, 40, ROWS)
    frame = pd.DataFrame(
        {
            "age": (1e4 + rng.standard_normal(ROWS)).astype(dtype),
            "town": pd.Series([f"town {t}" for t in town], dtype="str"),
            "sex": rng.choice(["f", "m"], ROWS),
            "trade": pd.Series([f"trade {t}" for t in trade], dtype="str").where(rng.random(ROWS) > 0.1),
        }
    )
    score = 0.3 * (frame.age - 1e4) + rng.standard_normal(50)[town] + rng.standard_normal(40)[trade]
    return frame, (score + rng.standard_normal(ROWS) > 0.5).to_numpy()


def in_long_double(F, y, weights):
    """Mean and scatter of both classes, from features that are written out."""
    found = []
    for side in (False, True):
        rows, mass = F[y == side].astype(np.longdouble), weights[y == side].astype(np.longdouble)
        mean = mass @ rows / mass.sum()
        found.append((mean, ((rows - mean) * mass[:, np.newaxis]).T @ (rows - mean)))
    return found


@pytest.mark.parametrize("features", MAPS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dtype", "common"), [(np.float64, 0.2), (np.float64, 0.9), (np.float32, 0.6)])
def test_moments_are_those_of_columns_that_are_written_out_and_the_bounds_hold(features, weighted, dtype, common):
    frame, y = table(dtype, common)
    features = features.fit(frame)
    X = MappedArray(HeldColumns.of(frame), features)
    assert X.coded_rows is not None
    assert X.written_width == X.shape[1] - sum(where.stop - where.start for where in X.exclusive)
    weights = np.random.default_rng(1).uniform(0.1, 3.0, ROWS) if weighted else None
    moments = ClassMoments(X.shape[1], classes=[False, True]).add_checked(X, y, weights, index=np.arange(ROWS))
    spread = ClassMoments(X.shape[1], classes=[False, True], scatter=False).add_checked(X, y, weights)
    expected = in_long_double(features.transform(frame), y, np.ones(ROWS) if weights is None else weights)
    for statistics, diagonal, (mean, scatter) in zip(moments._stats, spread._stats, expected, strict=True):
        scale = np.sqrt(np.diagonal(scatter) + 1e-300)
        of_mean = np.abs(statistics.mean.astype(np.longdouble) + statistics.low - mean)
        of_scatter = np.abs(statistics.scatter - scatter)
        bound = np.sqrt(np.outer(statistics.errors.scatter, statistics.errors.scatter))
        assert (of_mean <= statistics.errors.mean + 1e-30).all()
        assert (of_scatter <= bound + 1e-30).all()
        assert (of_scatter <= 1e-11 * np.outer(scale, scale) + 1e-30).all()
        assert statistics.errors.scatter.max() < 1e-9 * scale.max() ** 2  # and the bounds are no excuse
        np.testing.assert_allclose(diagonal.diagonal, statistics.diagonal, rtol=1e-10, atol=1e-12)


def test_a_category_of_nearly_all_rows_is_bounded_as_a_column_that_is_written_out():
    frame, y = table()
    frame["town"] = [f"town {max(row - ROWS + 41, 0)}" for row in np.random.default_rng(0).permutation(ROWS)]
    assert frame.town.value_counts().iloc[:2].tolist() == [ROWS - 40, 1]
    features = LinearFeatures().fit(frame)
    X = MappedArray(HeldColumns.of(frame), features)
    found = ClassMoments(X.shape[1], classes=[False, True]).add_checked(X, y)
    written = ClassMoments.from_data(features.transform(frame), y)
    for one, other in zip(found._stats, written._stats, strict=True):
        assert (one.errors.scatter <= 4.0 * other.errors.scatter + 1e-300).all()


def test_rows_of_one_category_and_blocks_without_rows_of_some(monkeypatch):
    frame, y = table()
    features = AdditiveFeatures(n_knots=4).fit(frame)
    monkeypatch.setattr("vrspam.moments._gather.BLOCK_BYTES", 64 * 8)  # 64 rows in a block
    X = MappedArray(HeldColumns.of(frame), features)
    rows = np.concatenate([np.flatnonzero(frame.town == "town 3"), np.arange(300)])
    found = ClassMoments(X.shape[1], classes=[False, True]).add_checked(X, y, index=rows)
    assert found == ClassMoments.from_data(features.transform(frame)[rows], y[rows])


@pytest.mark.parametrize("features", MAPS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("columns", [1, 3, 17])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_are_those_of_columns_that_are_written_out(features, columns, dtype):
    frame, _ = table(dtype)
    features = features.fit(frame)
    new = frame.assign(town=frame.town.where(frame.index % 7 > 0, "elsewhere"))  # an unknown category has no feature
    coefs = np.random.default_rng(0).standard_normal((features.n_features_out_, columns))
    expected = features.transform(new).astype(np.float64) @ coefs
    tol = 1e-12 if dtype == np.float64 else 1e-4
    assert np.abs(features.products(new, coefs) - expected).max() < tol * np.abs(expected).max()
    held = HeldColumns.of(new)
    for _ in range(2):  # the second time, codes are known
        assert np.array_equal(features.products(held, coefs), features.products(new, coefs))


def one_column_of_many(common=0.2):
    frame, y = table(common=common)
    features = AdditiveFeatures(n_knots=4).fit(frame)
    X = MappedArray(HeldColumns.of(frame), features)
    moments = ClassMoments(X.shape[1], classes=[False, True]).add_checked(X, y)
    return SquaredPairLoss.from_moments(moments, X.exclusive), SquaredPairLoss.from_moments(moments)


@pytest.mark.parametrize("common", [0.2, 0.9])
def test_systems_with_indicators_eliminated_are_solved(common):
    loss, _ = one_column_of_many(common=common)
    assert loss.exclusive.means.shape == (2, table(common=common)[0].town.nunique())  # the widest
    H = loss.matrix + np.outer(loss.delta, loss.delta)
    trace = np.trace(H)
    shifts = trace * np.logspace(-9, 1, 6)
    found = exclusive_coefs(loss, loss.delta, shifts)
    for w, shift in zip(found, shifts, strict=True):
        shifted = H + shift * np.eye(len(H))
        left = np.abs(shifted @ w - loss.delta).max()
        assert left < 1e-12 * (np.abs(shifted) @ np.abs(w)).max()
        np.testing.assert_allclose(w, np.linalg.solve(shifted, loss.delta), rtol=0, atol=1e-6 * np.abs(w).max())


@pytest.mark.parametrize("l2s", [np.logspace(-6, 2, 17), np.array([0.0, 1e-18, 1e-3, 1.0])])
def test_a_grid_is_certified_as_without_knowing_of_indicators(l2s):
    loss, plain = one_column_of_many()
    path, other = RidgePath(l2s), RidgePath(l2s)
    for l2 in l2s.tolist():
        one = path.solve(Objective(loss, ElasticNet(l2)), tol=1e-8)
        two = other.solve(Objective(plain, ElasticNet(l2)), tol=1e-8)
        assert one.converged == two.converged
        if l2 > 1e-8:
            assert one.converged
            best = Objective(plain, ElasticNet(l2)).value(two.w)
            assert abs(Objective(plain, ElasticNet(l2)).value(one.w) - best) <= one.bound + two.bound + 1e-15
            assert np.abs(one.w - two.w).max() < 1e-5 * np.abs(two.w).max()


def test_where_eliminating_pays():
    loss, plain = one_column_of_many()
    assert not pays(plain, 4)
    assert pays(loss, 1)
    assert not pays(loss, 10_000)
    assert loss.restricted_to(np.arange(60), loss.matrix[:60, :60]).exclusive is None


def test_a_fit_is_that_of_columns_that_are_written_out(monkeypatch):
    frame, y = table()
    fitted = []
    for many in (32, 10_000):
        monkeypatch.setattr(base, "MANY_CATEGORIES", many)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted.append(AUCClassifierCV(features="additive", random_state=0).fit(frame, y))
    coded, written = fitted
    assert coded.l2_ == written.l2_
    assert coded.best_score_ == pytest.approx(written.best_score_, abs=1e-12)
    scores = written.decision_function(frame)
    np.testing.assert_allclose(coded.decision_function(frame), scores, rtol=0, atol=1e-9 * np.ptp(scores))
    assert roc_auc_score(y, scores) > 0.8  # the categories say something


def test_whitening_of_many_functions_of_a_column():
    rng = np.random.default_rng(0)
    size = MANY_FUNCTIONS + 20
    counts = rng.integers(1, 50, size)
    share = counts / counts.sum()
    scale = rng.uniform(1.0, 20.0, size)  # of indicators, which add up to 1: one of them is a sum of the others
    covariance = (np.diag(share) - np.outer(share, share)) * np.outer(scale, scale)
    covariance = np.pad(covariance, (0, 1))  # a function without variance
    W = whitening(covariance)
    assert W.shape == (size + 1, size - 1)
    np.testing.assert_allclose(W.T @ covariance @ W, np.eye(size - 1), atol=1e-8)
    # what a function of the column explains of another: vᵀ C⁺ v
    v = covariance @ rng.standard_normal(size + 1)
    assert ((W.T @ v) ** 2).sum() == pytest.approx(v @ np.linalg.pinv(covariance, hermitian=True) @ v, rel=1e-8)


@pytest.mark.parametrize("features", [MAPS[2], StackedFeatures([*MAPS, TREES])], ids=["kernel", "stacked"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame_are_read_once_for_all_parts_of_a_map(features, make):
    frame, _ = table()
    features = features.fit(make(frame))
    coefs = np.random.default_rng(0).standard_normal(features.n_features_out_)
    new = frame.assign(town=frame.town.where(frame.index % 7 > 0, "elsewhere"), age=frame.age.where(frame.index > 9))
    expected = features.transform(make(new)) @ coefs
    np.testing.assert_allclose(features.products(make(new), coefs), expected, rtol=0, atol=1e-10 * np.ptp(expected))
    gone = make({"age": [None, None], "town": [None, "town 1"], "sex": [None, None], "trade": [None, None]})
    expected = features.transform(gone) @ coefs  # columns without any value have no type that tells numbers from text
    np.testing.assert_allclose(features.products(gone, coefs), expected, rtol=0, atol=1e-10 * np.ptp(expected))
