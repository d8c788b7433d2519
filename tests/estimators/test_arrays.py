"""Arrays of other libraries against NumPy: moments, fits, scores and ranks computed on the device of the data."""

import pickle

import numpy as np
import pytest
from helpers import make_data, pairwise_auc, scaled_penalty
from sklearn import config_context

import vrspam._utils.array_api
from vrspam import AUCClassifier, ClassMoments
from vrspam.estimators import exact_fits
from vrspam.metrics import roc_auc_columns


def library(name):
    if name == "torch":
        return pytest.importorskip("torch", reason="PyTorch is not installed")
    return pytest.importorskip("array_api_strict")


@pytest.fixture(params=["torch", "array_api_strict"])
def xp(request, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    module = library(request.param)
    with config_context(array_api_dispatch=True):
        yield module


def is_native(array, xp):
    return isinstance(array, type(xp.asarray([1.0])))


@pytest.fixture
def data():
    return make_data(400, 5, share=0.3, seed=3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scatter", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("block_bytes", [1 << 29, 1000])
def test_moments(xp, data, weighted, scatter, offset, block_bytes, monkeypatch):
    monkeypatch.setattr(vrspam._utils.array_api, "BLOCK_BYTES", block_bytes)
    X, y = data[0] + offset, data[1]
    weights = np.random.default_rng(0).integers(0, 3, 400).astype(float) if weighted else None
    expected = ClassMoments.from_data(X, y, weights, scatter=scatter)
    there = None if weights is None else xp.asarray(weights)
    for labels in (xp.asarray(y), y):
        moments = ClassMoments.from_data(xp.asarray(X), labels, there, scatter=scatter)
        assert moments == expected
        np.testing.assert_allclose(moments.variances, expected.variances, rtol=1e-11)
        np.testing.assert_array_equal(moments.rows, expected.rows)
        np.testing.assert_allclose(moments.weights, expected.weights)
        if scatter:
            np.testing.assert_allclose(moments.within, expected.within, rtol=1e-9, atol=1e-10)
    text = np.where(y == 1, "yes", "no")
    assert ClassMoments.from_data(xp.asarray(X), text, there, scatter=scatter).classes.tolist() == ["no", "yes"]


def test_float32_accumulates_in_float64(xp):
    X, y = make_data(30_000, 3, seed=4)
    X = (X + 50.0).astype(np.float32)
    exact64 = ClassMoments.from_data(X.astype(np.float64), y)
    moments = ClassMoments.from_data(xp.asarray(X), xp.asarray(y))
    np.testing.assert_allclose(moments.within, exact64.within, rtol=1e-11)


@pytest.mark.parametrize("penalty", ["ridge", "net"])
def test_fit_and_predict_stay_with_the_data(xp, data, penalty):
    X, y = data
    l2, l1 = scaled_penalty(ClassMoments.from_data(X, y), penalty)
    host = AUCClassifier(l2, l1, tol=1e-13).fit(X, y)
    there, labels = xp.asarray(X), xp.asarray(y)
    model = AUCClassifier(l2, l1, tol=1e-13).fit(there, labels)
    assert is_native(model.coef_, xp)
    np.testing.assert_allclose(np.asarray(model.coef_), host.coef_, rtol=1e-8, atol=1e-12)
    scores, predicted = model.decision_function(there), model.predict(there)
    assert is_native(scores, xp)
    assert is_native(predicted, xp)
    np.testing.assert_allclose(np.asarray(scores), host.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(np.asarray(predicted), host.predict(X))
    assert model.score(there, labels) == pytest.approx(host.score(X, y), abs=1e-12)
    weights = np.random.default_rng(1).uniform(0, 1, 400)
    assert model.score(there, labels, xp.asarray(weights)) == pytest.approx(host.score(X, y, weights), abs=1e-12)
    # A model goes from one library to the other.
    np.testing.assert_allclose(model.decision_function(X), host.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(np.asarray(host.decision_function(there)), host.decision_function(X), atol=1e-9)
    text = AUCClassifier(l2, l1).fit(there, np.where(y == 1, "yes", "no"))
    assert set(text.predict(there)) == {"no", "yes"}


@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_wide_data_by_products(xp, data, l1, monkeypatch):
    X, y = data
    monkeypatch.setattr(vrspam._utils.array_api, "BLOCK_BYTES", 1000)
    host = AUCClassifier(l1=l1, tol=1e-13).fit(X, y)
    monkeypatch.setattr(exact_fits, "choose_solver", lambda *_, **__: "products")
    weights = np.ones(400)
    for given in (None, xp.asarray(weights)):
        model = AUCClassifier(l1=l1, tol=1e-13).fit(xp.asarray(X), xp.asarray(y), sample_weight=given)
        assert model.solver_ == "products"
        np.testing.assert_allclose(np.asarray(model.coef_), host.coef_, rtol=1e-5, atol=1e-6)


def test_partial_fit_stream_and_pickle(xp, data):
    X, y = data
    host = AUCClassifier().fit(X, y)
    blocks = [(xp.asarray(X[a : a + 90]), xp.asarray(y[a : a + 90])) for a in range(0, 400, 90)]
    streamed, partial = AUCClassifier().fit_stream(blocks), AUCClassifier()
    for block in blocks:
        partial.partial_fit(*block, classes=[0, 1])
    np.testing.assert_allclose(streamed.coef_, host.coef_, rtol=1e-8)
    np.testing.assert_allclose(np.asarray(partial.coef_), host.coef_, rtol=1e-8)
    if xp.__name__ == "torch":
        assert is_native(pickle.loads(pickle.dumps(partial)).coef_, xp)


@pytest.mark.parametrize("weighted", [False, True])
def test_ranks(xp, weighted):
    rng = np.random.default_rng(5)
    scores, positive = rng.integers(0, 6, (80, 3)).astype(float), rng.random(80) < 0.3
    weights = rng.integers(0, 3, 80).astype(float) if weighted else None
    there = None if weights is None else xp.asarray(weights)
    aucs = roc_auc_columns(xp.asarray(positive), xp.asarray(scores), there)
    expected = [pairwise_auc(positive, scores[:, j], weights) for j in range(3)]
    np.testing.assert_allclose(aucs, expected, rtol=1e-12)
    with pytest.warns(UserWarning, match="Only one class"):
        assert np.isnan(roc_auc_columns(xp.asarray(np.ones(80, bool)), xp.asarray(scores))).all()


def test_refusals(xp, data):
    X, y = data
    broken = X.copy()
    broken[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        AUCClassifier().fit(xp.asarray(broken), xp.asarray(y))
    with pytest.raises(ValueError, match="Only binary classification"):
        AUCClassifier().fit(xp.asarray(X), xp.asarray(np.arange(400) % 3))
    with pytest.raises(ValueError, match="one class"):
        AUCClassifier().fit(xp.asarray(X), xp.asarray(np.zeros(400, int)))
    with pytest.raises(ValueError, match="one label for each"):
        AUCClassifier().fit(xp.asarray(X), xp.asarray(y[:5]))
    with pytest.raises(ValueError, match="not negative"):
        ClassMoments.from_data(xp.asarray(X), y, xp.asarray(-np.ones(400)))
    with pytest.raises(ValueError, match="X has 3 features"):
        AUCClassifier().fit(X, y).predict(xp.asarray(X[:, :3]))
    from vrspam import SPAMClassifier

    with pytest.raises(ValueError, match="on the host"):
        SPAMClassifier().fit(xp.asarray(X), xp.asarray(y))
    half = ClassMoments(half_life=50).update(xp.asarray(X), xp.asarray(y))
    assert half == ClassMoments(half_life=50).update(X, y)


def test_path_on_the_device(xp, data):
    from vrspam.objective import Objective
    from vrspam.solvers.gram import ridge_coefs

    X, y = data
    moments = ClassMoments.from_data(xp.asarray(X), xp.asarray(y))
    l2s = np.logspace(-4, 1, 6)
    coefs = ridge_coefs(Objective.from_moments(moments, 1.0).loss, l2s, like=xp.asarray(X))
    for l2, coef in zip(l2s, coefs, strict=True):
        np.testing.assert_allclose(coef, AUCClassifier(l2).fit(X, y).coef_[0], rtol=1e-8)


@pytest.mark.filterwarnings("ignore:The best l")
@pytest.mark.parametrize("l1s", [(0.0,), (0.0, 1e-3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_validation(xp, data, l1s, weighted):
    from vrspam import AUCClassifierCV, HashFolds

    X, y = data
    weights = np.random.default_rng(2).integers(1, 3, 400).astype(float) if weighted else None
    there = None if weights is None else xp.asarray(weights)
    for cv, jobs in ((3, None), (HashFolds(3), 2)):
        host = AUCClassifierCV(l1s=l1s, cv=cv, tol=1e-13).fit(X, y, sample_weight=weights)
        model = AUCClassifierCV(l1s=l1s, cv=cv, tol=1e-13, n_jobs=jobs)
        model.fit(xp.asarray(X), xp.asarray(y), sample_weight=there)
        assert (model.l2_, model.l1_) == pytest.approx((host.l2_, host.l1_), rel=1e-10)
        np.testing.assert_allclose(model.auc_path_, host.auc_path_, atol=1e-6)
        assert is_native(model.coef_, xp)
        np.testing.assert_allclose(np.asarray(model.coef_), host.coef_, rtol=1e-7, atol=1e-10)
        assert is_native(model.predict(xp.asarray(X)), xp)
        assert model.score(xp.asarray(X), xp.asarray(y)) == pytest.approx(host.score(X, y), abs=1e-9)


@pytest.mark.filterwarnings("ignore:The best l")
def test_parts_of_a_model_fitted_on_a_device(xp, data):
    from vrspam import AUCClassifierCV

    X, y = data
    host, model = AUCClassifierCV(cv=3).fit(X, y), AUCClassifierCV(cv=3).fit(xp.asarray(X), xp.asarray(y))
    assert model.corrected_score_ == pytest.approx(host.corrected_score_, abs=1e-9)
    assert model.corrected_interval_ == pytest.approx(host.corrected_interval_, abs=1e-9)
    assert model.importances_ == pytest.approx(host.importances_, rel=1e-6)
    for row in (X[0], xp.asarray(X[0]), xp.asarray(X[:1])):
        assert model.explain_one(row) == pytest.approx(host.explain_one(X[0]), rel=1e-6)


@pytest.mark.filterwarnings("ignore:The best l")
def test_what_works_on_the_host_alone_says_so(xp, data):
    from vrspam import AUCClassifierCV, HashFolds, SlidingMoments

    X, y = data
    there, labels = xp.asarray(X), xp.asarray(y)
    np.testing.assert_array_equal(HashFolds(3).fold_of(there), HashFolds(3).fold_of(X))
    mapped = AUCClassifierCV(features="additive", cv=3)
    calls = [
        lambda: mapped.fit(there, labels),
        lambda: mapped.fit(X, y).predict(there),
        lambda: AUCClassifierCV(cv=3).fit_stream([(there, labels)]),
        lambda: SlidingMoments(50).update(there, labels),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"on the host: give .*NumPy arrays"):
            call()
