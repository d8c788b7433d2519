"""Rows on a device against NumPy: products, factors, folds, kept rows and cross-validation that stay there."""

import pickle
from typing import Any

import numpy as np
import pytest
from helpers import make_data, pairwise_auc
from sklearn import config_context
from sklearn.model_selection import StratifiedKFold

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, coef_path
from vrspam._utils import array_api
from vrspam._utils.validation import Rows
from vrspam.metrics import roc_auc_columns
from vrspam.metrics.correction import draw_sample
from vrspam.model_selection.calibration import calibrate
from vrspam.model_selection.device_folds import DeviceFolds, fold_sizes, shuffled_folds
from vrspam.moments._device import DeviceStatistics


@pytest.fixture(params=["torch", "array_api_strict"])
def xp(request, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    module = pytest.importorskip(request.param)
    with config_context(array_api_dispatch=True):
        yield module


@pytest.mark.parametrize("shape", [(5, 1), (8192, 3), (4096, 130), (12, 600)])
def test_products_are_symmetric_and_those_of_numpy(xp, shape):
    rows = np.random.default_rng(0).standard_normal(shape)
    found = np.asarray(array_api.gram(xp.asarray(rows)))
    np.testing.assert_allclose(found, rows.T @ rows, rtol=1e-12, atol=1e-10)
    np.testing.assert_array_equal(found, found.T)


def test_moments_of_many_blocks_and_columns(xp, monkeypatch):
    """More than one block, more than one product in a batch, and rows that do not fill the last one."""
    monkeypatch.setattr(array_api, "GRAM_ROWS", 16)
    monkeypatch.setattr(array_api, "BLOCK_BYTES", 8 * 136 * 50)
    X, y = make_data(333, 130, seed=1)
    weights = np.random.default_rng(1).integers(0, 3, 333).astype(float)
    for given in (None, weights):
        there = None if given is None else xp.asarray(given)
        moments = ClassMoments.from_data(xp.asarray(X + 30.0), xp.asarray(y), there)
        host = ClassMoments.from_data(X + 30.0, y, given)
        assert moments == host
        np.testing.assert_allclose(moments.means, host.means, rtol=1e-13)
        np.testing.assert_allclose(moments.within, host.within, rtol=1e-11, atol=1e-11)
    narrow = ClassMoments.from_data(xp.asarray(X.astype(np.float32)), xp.asarray(y))
    np.testing.assert_allclose(
        narrow.within, ClassMoments.from_data(X.astype(np.float32).astype(float), y).within, rtol=1e-11, atol=1e-12
    )


def test_sums_and_differences_stay_on_the_device(xp):
    X, y = make_data(300, 4, seed=2)
    there, labels = xp.asarray(X), xp.asarray(y)
    a, b = ClassMoments.from_data(there[:100, :], labels[:100]), ClassMoments.from_data(there[100:, :], labels[100:])
    host = [ClassMoments.from_data(X[:100], y[:100]), ClassMoments.from_data(X[100:], y[100:])]
    whole, first = a + b, (a + b) - b
    for moments in (whole, first):
        assert moments.within_on_device is not None
        assert all(isinstance(s, DeviceStatistics) and s.on_device is not None for s in moments._stats)
    np.testing.assert_allclose(whole.within, (host[0] + host[1]).within, rtol=1e-13)
    np.testing.assert_allclose(first.within, host[0].within, rtol=1e-11)
    np.testing.assert_allclose(first.pair_errors().within, ((host[0] + host[1]) - host[1]).pair_errors().within, rtol=1)
    # One part on the host brings the sum there; so does reading the matrices, and a pickle.
    assert (a + host[1]).within_on_device is None
    assert a + host[1] == whole
    assert host[0] + b == whole
    kept = pickle.loads(pickle.dumps(whole))
    assert kept == host[0] + host[1]
    assert not any(isinstance(s, DeviceStatistics) and s.on_device is not None for s in kept._stats)
    with config_context(array_api_dispatch=False):
        assert a + b == host[0] + host[1]


def test_overflow_is_refused_on_a_device(xp):
    X, y = make_data(50, 2)
    with pytest.raises(ValueError, match="overflow"):
        ClassMoments.from_data(xp.asarray(1e200 * X), xp.asarray(y))


@pytest.mark.parametrize("share", [0.2, 0.8])
@pytest.mark.parametrize("block_bytes", [1 << 29, 2000])
def test_auc_of_many_columns_with_ties_and_weights(xp, share, block_bytes, monkeypatch):
    monkeypatch.setattr(array_api, "BLOCK_BYTES", block_bytes)
    rng = np.random.default_rng(7)
    scores, positive = rng.integers(0, 9, (90, 7)).astype(float), rng.random(90) < share
    scores[3, 2], scores[4, 2] = np.inf, -np.inf
    for weights in (None, rng.integers(0, 3, 90) / 7.0, 1e200 * rng.random(90)):
        there = None if weights is None else xp.asarray(weights)
        found = roc_auc_columns(xp.asarray(positive), xp.asarray(scores), there)
        given = None if weights is None else weights / weights.max()
        np.testing.assert_allclose(found, [pairwise_auc(positive, s, given) for s in scores.T], rtol=0, atol=1e-12)
        np.testing.assert_allclose(found, roc_auc_columns(positive, scores, weights), rtol=0, atol=1e-12)
    scores[0, 6] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        roc_auc_columns(xp.asarray(positive), xp.asarray(scores))


def test_cholesky_factors_of_a_path(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    monkeypatch.setattr(array_api, "CHOLESKY_DEVICES", ("cpu",))
    X, y = make_data(200, 6, seed=3)
    A, b, shifts = X.T @ X, np.arange(6.0), np.array([0.0, 1.0, 50.0])
    with config_context(array_api_dispatch=True):
        for block_bytes in (1 << 29, 1):
            monkeypatch.setattr(array_api, "BLOCK_BYTES", block_bytes)
            solver = array_api.shifted_solver(torch.asarray(A), shifts)
            assert solver is not None
            expected = [np.linalg.solve(A + shift * np.eye(6), b) for shift in shifts]
            np.testing.assert_allclose(solver(b), expected, rtol=1e-12)
        assert array_api.shifted_solver(torch.asarray(-A), shifts) is None
        monkeypatch.setattr(array_api, "BLOCK_BYTES", 1 << 29)
        there, labels = torch.asarray(X), torch.asarray(y)
        model: Any = AUCClassifier().fit(there, labels)
        l2s = model.l2_ * np.logspace(-3, 3, 7)
        path = coef_path(model.moments_, l2s, like=there)[:, 0]
        # Two equal columns and l2 = 0: no factor, and the shortest solution all the same.
        twice = torch.concat([there, there[:, :1]], dim=1)
        shortest = coef_path(ClassMoments.from_data(twice, labels), [0.0, 1e-3, 1e-2, 1e-1], like=twice)[0, 0]
    host = AUCClassifier().fit(X, y)
    np.testing.assert_allclose(model.coef_.numpy(), host.coef_, rtol=1e-10)
    np.testing.assert_allclose(path, coef_path(host.moments_, l2s)[:, 0], rtol=1e-10)
    assert shortest[0] == pytest.approx(shortest[-1], rel=1e-6)


@pytest.mark.parametrize("seed", [0, 11])
@pytest.mark.parametrize(("n", "n_folds"), [(23, 2), (4001, 5), (1200, 100)])
def test_folds_are_those_of_scikit_learn(xp, n, n_folds, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 2)), (rng.random(n) < 0.4).astype(int)
    for labels in (y, 1 - y, np.where(y == 1, "yes", "no")):
        classes = np.unique(labels)
        there = labels if labels.dtype.kind == "U" else xp.asarray(labels)
        folds = DeviceFolds.of(n_folds, Rows(xp.asarray(X), there, None), classes, seed)
        assert folds is not None
        splits = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, labels))
        expected = np.empty(n, dtype=int)
        for number, (_, part) in enumerate(splits):
            expected[part] = number
            np.testing.assert_array_equal(np.sort(np.asarray(folds.held_out(number))), part)
            np.testing.assert_array_equal(folds.sizes[number], [np.sum(labels[part] == label) for label in classes])
        np.testing.assert_array_equal(np.asarray(folds.fold), expected)


def test_random_states_go_on_as_after_scikit_learns_folds():
    y = np.repeat([0, 1], [30, 20])
    ours, theirs = np.random.RandomState(5), np.random.RandomState(5)
    found = shuffled_folds(fold_sizes((30, 20), 3), ours)
    splits = StratifiedKFold(3, shuffle=True, random_state=theirs).split(y, y)
    for number, (_, part) in enumerate(splits):
        np.testing.assert_array_equal(np.flatnonzero(np.concatenate(found) == number), part)
    assert ours.randint(1000) == theirs.randint(1000)


def test_many_numbers_are_drawn_in_parts():
    rng = np.random.RandomState(3)
    expected = [np.repeat(np.arange(4), counts) for counts in fold_sizes((70, 30), 4)]
    for values in expected:
        rng.shuffle(values)
    for found, values in zip(shuffled_folds(fold_sizes((70, 30), 4), 3, at_once=7), expected, strict=True):
        np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("weighted", [False, True])
def test_kept_rows_are_those_of_the_host(xp, weighted):
    X, y = make_data(3000, 2, share=0.2, seed=4)
    weights = np.random.default_rng(0).integers(0, 3, 3000).astype(float) if weighted else None
    there = None if weights is None else xp.asarray(weights)
    folds = DeviceFolds.of(3, Rows(xp.asarray(X), xp.asarray(y), there), np.array([0, 1]), 8)
    assert folds is not None
    splits = list(StratifiedKFold(3, shuffle=True, random_state=8).split(X, y))
    host = draw_sample([v for _, v in splits], [t.size for t, _ in splits], y == 1, weights, None, 17, seed=6)
    kept = folds.sample(17, seed=6)
    assert (kept.n_units, kept.totals) == (host.n_units, host.totals)
    assert kept.held_out_per_trained == pytest.approx(host.held_out_per_trained, rel=1e-12)
    for name in ("rows", "positive", "fold", "unit", "sizes"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(host, name))
    np.testing.assert_allclose(kept.weights, host.weights, rtol=1e-15)
    for number, part in enumerate(kept.parts):
        np.testing.assert_array_equal(np.asarray(folds.held_out(number))[kept.places[part]], kept.rows[part])
        np.testing.assert_array_equal(splits[number][1][host.places[part]], host.rows[part])


@pytest.mark.filterwarnings("ignore:The best l")
@pytest.mark.parametrize("case", ["plain", "weighted", "net", "average precision", "float32"])
def test_cross_validation_is_that_of_the_host(xp, case, monkeypatch):
    rng = np.random.default_rng(5)
    X, y = make_data(500, 6, share=0.3, seed=5)
    y = np.where(y == 1, 4, -2)
    weights = rng.integers(0, 3, 500).astype(float) if case == "weighted" else None
    more = {"l1s": (0.0, 1e-3), "tol": 1e-12} if case == "net" else {}
    more |= {"scoring": "average_precision"} if case == "average precision" else {}
    X = X.astype(np.float32) if case == "float32" else X
    there = None if weights is None else xp.asarray(weights)
    with monkeypatch.context() as patch:
        patch.delattr("vrspam.estimators.search.make_splits")  # which makes folds on the host
        model = AUCClassifierCV(cv=4, random_state=9, **more).fit(xp.asarray(X), xp.asarray(y), sample_weight=there)
    with config_context(array_api_dispatch=False):
        host = AUCClassifierCV(cv=4, random_state=9, **more).fit(X.astype(np.float64), y, sample_weight=weights)
    assert (model.l2_, model.l1_) == pytest.approx((host.l2_, host.l1_), rel=1e-10)
    np.testing.assert_allclose(np.asarray(model.coef_), host.coef_, rtol=1e-8 if case == "net" else 1e-10, atol=1e-12)
    np.testing.assert_allclose(model.auc_path_, host.auc_path_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.score_path_, host.score_path_, rtol=0, atol=1e-10)
    assert model.corrected_score_ == pytest.approx(host.corrected_score_, abs=1e-9)
    assert model.corrected_interval_ == pytest.approx(host.corrected_interval_, abs=1e-9)
    assert model.calibration_.slope == pytest.approx(host.calibration_.slope, rel=1e-8)
    assert model.calibration_.offset == pytest.approx(host.calibration_.offset, rel=1e-8, abs=1e-10)
    for name in ("positive", "scores", "fold", "weights", "places"):
        ours, theirs = getattr(model.out_of_fold_, name), getattr(host.out_of_fold_, name)
        assert isinstance(ours, np.ndarray)
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)
    assert model.out_of_fold_ is model.out_of_fold_
    for name, shape in host.shape_functions_.items():
        np.testing.assert_allclose(model.shape_functions_[name].contribution, shape.contribution, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(model.shape_functions_[name].grid, shape.grid, rtol=1e-6)
    # What the first fit left unread is not that of the second.
    with config_context(array_api_dispatch=False):
        again = model.fit(X[:, :4].astype(np.float64), y)
    assert again.out_of_fold_.places.size == 500
    assert len(again.shape_functions_) == 4


@pytest.mark.filterwarnings("ignore:The best l")
def test_large_matrices_are_gathered_again(xp, monkeypatch):
    monkeypatch.setattr("vrspam.model_selection.device_source.KEPT_BYTES", 1)
    X, y = make_data(200, 3, seed=6)
    model, host = AUCClassifierCV(cv=3).fit(xp.asarray(X), xp.asarray(y)), AUCClassifierCV(cv=3).fit(X, y)
    np.testing.assert_allclose(np.asarray(model.coef_), host.coef_, rtol=1e-9)
    monkeypatch.setattr(ClassMoments, "has_cancelled", True)  # as if nothing were left of the digits
    model = AUCClassifierCV(cv=3).fit(xp.asarray(X), xp.asarray(y))
    np.testing.assert_allclose(np.asarray(model.coef_), host.coef_, rtol=1e-9)


def test_parts_without_weight_are_refused(xp):
    X, y = make_data(60, 2, share=0.5, seed=7)
    weights = np.where(np.cumsum(y) * y == 1, 1.0, 1.0 - y)  # one positive row alone has weight
    with pytest.raises(ValueError, match="has no row of class 1 with positive weight") as host:
        AUCClassifierCV(cv=3).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="has no row of class 1 with positive weight") as there:
        AUCClassifierCV(cv=3).fit(xp.asarray(X), xp.asarray(y), sample_weight=xp.asarray(weights))
    assert str(there.value) == str(host.value)
    few = np.arange(60) < 2
    with (
        pytest.warns(UserWarning, match="least populated class"),
        pytest.raises(ValueError, match="has no row of class"),
    ):
        AUCClassifierCV(cv=3).fit(xp.asarray(X), xp.asarray(few.astype(int)))


@pytest.mark.parametrize("case", ["many rows", "tied", "reversed", "weighted"])
def test_sigmoids_on_a_device(xp, case, monkeypatch):
    monkeypatch.setattr("vrspam.model_selection.calibration.MANY_ROWS", 200 if case == "many rows" else 10**6)
    rng = np.random.default_rng(8)
    scores = np.full(400, 0.3) if case == "tied" else rng.standard_normal(400)
    positive = rng.random(400) < 1 / (1 + np.exp(-(-2 if case == "reversed" else 2) * scores))
    weights = rng.random(400) / 400 if case == "weighted" else None
    there = None if weights is None else xp.asarray(weights)
    found: Any = calibrate(xp.asarray(scores), xp.asarray(positive), "sigmoid", there)
    expected: Any = calibrate(scores, positive, "sigmoid", weights)
    assert (found.slope, found.offset) == pytest.approx((expected.slope, expected.offset), rel=1e-8, abs=1e-10)
