"""AUCClassifier as a scikit-learn user uses it."""

import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import sklearn
from helpers import CONTAINERS, DTYPES, make_data
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError, UndefinedMetricWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, ClassMoments
from vrspam.estimators import exact_fits


@pytest.fixture(params=["moments", "products"])
def route(request, monkeypatch):
    """Both solvers, whatever the size of the data."""
    monkeypatch.setattr(exact_fits, "choose_solver", lambda *_: request.param)
    return request.param


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("l1", [0.0, 0.02])
def test_containers_and_precisions_agree(container, dtype, l1, route):
    X, y = make_data(150, 6)
    plain = AUCClassifier(l2=0.05, l1=l1, tol=1e-10).fit(X, y)
    model = AUCClassifier(l2=0.05, l1=l1, tol=1e-10, max_iter=10_000)
    model.fit(CONTAINERS[container](X.astype(dtype)), y)
    assert model.solver_ == route
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-5 if dtype == np.float64 else 2e-3)
    scores = model.decision_function(CONTAINERS[container](X.astype(dtype)))
    np.testing.assert_allclose(scores, X @ model.coef_[0] + model.intercept_[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("labels", [("a", "b"), (0, 1), (-1, 1), (False, True), (3, 7), (0.0, 1.0)])
def test_labels_of_any_type(labels):
    X, y = make_data()
    target = np.array(labels)[y]
    model = AUCClassifier().fit(X, target)
    assert model.classes_.tolist() == list(labels)
    assert model.classes_.dtype == target.dtype
    assert set(model.predict(X)) <= set(labels)
    assert model.score(X, target) == pytest.approx(roc_auc_score(y, model.decision_function(X)))
    np.testing.assert_array_equal(model.coef_, AUCClassifier().fit(X, y).coef_)


def test_object_labels_from_a_frame():
    pd = pytest.importorskip("pandas")
    X, y = make_data()
    target = pd.Series(np.array(["sick", "well"])[y], dtype=object)
    assert AUCClassifier().fit(X, target).classes_.tolist() == ["sick", "well"]


def test_score_is_zero_half_way_between_the_class_means():
    X, y = make_data()
    model = AUCClassifier().fit(X, y)
    half_way = (X[y == 0].mean(0) + X[y == 1].mean(0)) / 2
    assert model.decision_function(half_way[None])[0] == pytest.approx(0.0, abs=1e-12)
    assert model.coef_.shape == (1, X.shape[1])
    assert model.intercept_.shape == (1,)


def test_frames_bring_feature_names():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X, y = make_data(d=3)
    names = ["age", "Größe", "weight"]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = AUCClassifier().fit(frame, y)
        assert model.feature_names_in_.tolist() == names
        np.testing.assert_allclose(model.decision_function(frame), AUCClassifier().fit(X, y).decision_function(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=["x", "y", "z"]))


def test_weights_are_repetitions(route):
    X, y = make_data(80, 4)
    counts = np.random.default_rng(0).integers(0, 4, 80)
    weighted = AUCClassifier(l2=0.01, tol=1e-14).fit(X, y, sample_weight=counts)
    repeated = AUCClassifier(l2=0.01, tol=1e-14).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
    assert weighted.objective_ == pytest.approx(repeated.objective_)


@pytest.mark.parametrize("heavy", [0, 1])
@pytest.mark.parametrize("ratio", [1e17, 1e200])
def test_one_class_may_outweigh_the_other(heavy, ratio, route):
    X, y = make_data(80, 4)
    moments_pq = 1.0 / ratio * (y != heavy).sum() / (y == heavy).sum()
    even = AUCClassifier(tol=1e-14).fit(X, y)  # F depends on the classes' weights only through its factor pq
    model = AUCClassifier(tol=1e-14).fit(X, y, sample_weight=np.where(y == heavy, ratio, 1.0))
    np.testing.assert_allclose(model.coef_, even.coef_, rtol=1e-6)
    assert 0.0 <= model.gap_ <= 1e-14 * moments_pq


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("l1", [0.0, 0.1])
@pytest.mark.parametrize("scale", [1e30, 1e-37])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_float32_of_any_scale(container, l1, scale, route):
    X, y = make_data(80, 4)
    X32 = (X * scale).astype(np.float32)
    moments = ClassMoments.from_data(X32.astype(np.float64), y)
    l1 *= 2 * moments.p * (1 - moments.p) * np.abs(moments.delta).max()
    expected = AUCClassifier(l1=l1).fit_moments(moments)
    model = AUCClassifier(l1=l1).fit(CONTAINERS[container](X32), y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-4 * np.abs(expected.coef_).max())
    scores = X32.astype(np.float64) @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(CONTAINERS[container](X32)), scores, rtol=1e-4, atol=1e-4)


def ill_conditioned(spread, seed=0):
    """float32 rows whose principal axes are from 1 to 1/spread long, and the Hessian and ∇f(0) of F in float64."""
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    lengths = np.geomspace(1.0, 1.0 / spread, 6)
    y = (rng.random(200) < 0.3).astype(int)
    X = (((rng.standard_normal((200, 6)) + 0.3 * y[:, None]) * lengths) @ axes).astype(np.float32)
    groups = [X[y == c].astype(np.float64) for c in (0, 1)]
    delta, k = groups[1].mean(0) - groups[0].mean(0), 2 * y.mean() * (1 - y.mean())
    hessian = k * (sum(np.cov(g.T, bias=True) for g in groups) + np.outer(delta, delta))
    return X, y, hessian, k * delta


@pytest.mark.parametrize("spread", [1e2, 1e4])
@pytest.mark.parametrize("l2", [1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("how", ["fit", "fit_sparse", "partial_fit", "fit_moments"])
def test_the_certificate_holds_for_the_data_in_float32(spread, l2, how, route):
    """F(coef_) - F* of the rows themselves, by NumPy in float64, is at most gap_ although products are rounded."""
    X, y, hessian, linear = ill_conditioned(spread)
    model = AUCClassifier(l2=l2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if how == "fit_moments":
            model.fit_moments(ClassMoments.from_data(X, y))
        elif how == "partial_fit":
            model.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
        else:
            model.fit(X if how == "fit" else sparse.csr_array(X), y)
    matrix = hessian + l2 * np.eye(6)
    error = model.coef_[0] - np.linalg.solve(matrix, linear)
    assert model.gap_ is not None
    assert error @ matrix @ error / 2 <= model.gap_ + 1e-14
    converged = not any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert converged == (model.gap_ <= 1e-8 * y.mean() * (1 - y.mean()))
    if how in ("fit", "fit_sparse"):
        assert converged  # moments are gathered again in float64 where float32 is too coarse; products are float64's


def test_a_warning_says_when_float32_is_to_blame():
    X, y, *_ = ill_conditioned(1e4)
    with pytest.warns(ConvergenceWarning, match="float64"):
        AUCClassifier(l2=1e-9).fit_moments(ClassMoments().add_checked(X, y, precise=False))


def test_partial_fit_is_fit(route):
    X, y = make_data(90, 5)
    weights = np.random.default_rng(0).uniform(0.5, 2, 90)
    whole = AUCClassifier().fit(X, y, sample_weight=weights) if route == "moments" else None
    order = np.argsort(y, kind="stable")  # the first batches hold one class only
    stream = AUCClassifier()
    for start in range(0, 90, 10):
        rows = order[start : start + 10]
        stream.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
        if np.unique(y[order[: start + 10]]).size < 2:
            with pytest.raises(NotFittedError):
                stream.predict(X)
    if whole is not None:
        np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-8)
        whole.partial_fit(X[:5], y[:5])  # fit keeps its moments, so a stream can go on from it
        assert whole.moments_.rows.sum() == 95


def test_partial_fit_refuses_and_stays_as_it_was():
    X, y = make_data(60, 4)
    model = AUCClassifier().partial_fit(X, y, classes=[0, 1])
    before = pickle.dumps(model)
    for bad, match in [
        ((X, np.where(y == 1, 2, 0)), "Only two classes"),
        ((X[:, :3], y), "features"),
        ((np.full_like(X, np.nan), y), "NaN"),
    ]:
        with pytest.raises(ValueError, match=match):
            model.partial_fit(*bad)
        assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match=r"Only two classes are possible, got labels \[0, 1, 2\] \(so far \[0, 1\]\)"):
        model.partial_fit(X, y, classes=[1, 2])
    with pytest.raises(ValueError, match="classes must hold exactly two different labels"):
        model.partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match="l2"):
        model.set_params(l2=-1.0).partial_fit(X, y)
    fresh = AUCClassifier()
    with pytest.raises(ValueError, match="Only two classes"):
        fresh.partial_fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="exactly two"):
        fresh.partial_fit(X, y, classes=[0, 1, 2])
    assert not hasattr(fresh, "n_features_in_")
    fresh.partial_fit(X[:, :2], y)  # a refused first batch leaves nothing behind
    with pytest.raises(ValueError, match="partial_fit keeps two"):
        AUCClassifier().partial_fit(np.zeros((2, 30_000)), [0, 1])


def test_partial_fit_after_products_explains_itself(monkeypatch):
    monkeypatch.setattr(exact_fits, "choose_solver", lambda *_: "products")
    X, y = make_data()
    model = AUCClassifier().fit(X, y)
    with pytest.raises(ValueError, match="kept no moments"):
        model.partial_fit(X, y)


def test_fit_moments():
    X, y = make_data()
    moments = ClassMoments.from_data(X[:50], y[:50]) + ClassMoments.from_data(X[50:], y[50:])
    model = AUCClassifier().fit_moments(moments)
    np.testing.assert_allclose(model.coef_, AUCClassifier().fit(X, y).coef_, rtol=1e-10)
    assert model.n_features_in_ == X.shape[1]
    moments.update(X, y)  # the model keeps its own copy
    assert model.moments_ != moments
    with pytest.raises(ValueError, match="takes a ClassMoments"):
        AUCClassifier().fit_moments(X)
    with pytest.raises(ValueError, match="two classes"):
        AUCClassifier().fit_moments(ClassMoments.from_data(X[y == 0], y[y == 0]))
    with pytest.raises(ValueError, match="scatter=False"):
        AUCClassifier().fit_moments(ClassMoments.from_data(X, y, scatter=False))


def test_works_inside_scikit_learn():
    X, y = make_data(120, 4)
    model = AUCClassifier(l1=0.01).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(make_pipeline(StandardScaler(), AUCClassifier()), {"aucclassifier__l2": [1e-3, 1e-1]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.5
    with sklearn.config_context(enable_metadata_routing=True):
        weighing = AUCClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        weights = np.arange(1.0, 121.0)
        # the estimator by itself: before version 1.8 scikit-learn does not hand weights to the score of a pipeline
        result = cross_validate(weighing, X, y, params={"sample_weight": weights}, cv=3, error_score="raise")
        plain = cross_validate(AUCClassifier(), X, y, cv=3)
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        routed = make_pipeline(scaler, weighing).fit(X, y, sample_weight=weights)
        by_hand = AUCClassifier().fit(StandardScaler().fit_transform(X, sample_weight=weights), y, weights)
        assert routed.score(X, y, sample_weight=weights) != routed.score(X, y, sample_weight=np.ones(120))
    assert not np.allclose(result["test_score"], plain["test_score"])
    np.testing.assert_array_equal(routed[-1].coef_, by_hand.coef_)


def test_several_classes_are_refused_with_the_way_out():
    X, _ = make_data(90, 4)
    y = np.arange(90) % 3
    X[np.arange(90), y] += 3
    with pytest.raises(ValueError, match=r"Only binary.*OneVsRestClassifier\(AUCClassifier\(\)\)"):
        AUCClassifier().fit(X, y)
    assert OneVsRestClassifier(AUCClassifier()).fit(X, y).score(X, y) > 0.7


def test_one_class_scores_nan_with_a_warning():
    X, y = make_data()
    model = AUCClassifier().fit(X, y)
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(model.score(X[y == 1], y[y == 1]))
    for unknown in (y + 5, np.array(["a", 1], dtype=object)[y]):
        with pytest.raises(ValueError, match="not seen in fit"):
            model.score(X, unknown)


def test_stopping_early_warns():
    X, y = make_data(200, 20)
    with pytest.warns(ConvergenceWarning, match="gap_"):
        AUCClassifier(l1=1e-4, l2=1e-6, max_iter=1, tol=1e-14).fit(X, y)


BAD_INPUT: dict[str, Any] = {
    "nan": (lambda X, y: (np.where(X > 1, np.nan, X), y), {}, "NaN"),
    "infinity": (lambda X, y: (np.where(X > 1, np.inf, X), y), {}, "infinity"),
    "one class": (lambda X, y: (X, np.zeros_like(y)), {}, "one class"),
    "one class after weights": (lambda X, y: (X, y, (y == 1).astype(float)), {}, "one class"),
    "negative weights": (lambda X, y: (X, y, -np.ones(len(y))), {}, "[Nn]egative"),
    "short weights": (lambda X, y: (X, y, np.ones(3)), {}, "sample_weight"),
    "nan weights": (lambda X, y: (X, y, np.full(len(y), np.nan)), {}, "NaN"),
    "complex": (lambda X, y: (X + 1j, y), {}, "[Cc]omplex"),
    "text": (lambda X, y: (X.astype(object) + "x" if False else np.full(X.shape, "abc", object), y), {}, "could not"),
    "empty": (lambda X, y: (X[:0], y[:0]), {}, "0 sample"),
    "no features": (lambda X, y: (X[:, :0], y), {}, "0 feature"),
    "continuous target": (lambda X, y: (X, y + 0.5 * np.arange(len(y))), {}, "continuous"),
    "nan target": (lambda X, y: (X, np.where(y == 1, np.nan, 0.0)), {}, "NaN"),
    "lengths": (lambda X, y: (X, y[:-1]), {}, "inconsistent"),
    "negative l2": (lambda X, y: (X, y), {"l2": -1.0}, "l2"),
    "nan l2": (lambda X, y: (X, y), {"l2": float("nan")}, "l2"),
    "infinite l2": (lambda X, y: (X, y), {"l2": float("inf")}, "l2"),
    "negative l1": (lambda X, y: (X, y), {"l1": -1.0}, "l1"),
    "negative tol": (lambda X, y: (X, y), {"tol": -1.0}, "tol"),
    "no iterations": (lambda X, y: (X, y), {"max_iter": 0}, "max_iter"),
    "word for l2": (lambda X, y: (X, y), {"l2": "best"}, "l2"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_named(case):
    damage, parameters, match = BAD_INPUT[case]
    model = AUCClassifier(**parameters)
    with pytest.raises(ValueError, match=match):
        model.fit(*damage(*make_data()))
    assert not hasattr(model, "coef_")


def test_wrong_number_of_features_at_predict():
    X, y = make_data()
    with pytest.raises(ValueError, match="features"):
        AUCClassifier().fit(X, y).predict(X[:, :-1])


HARD_DATA = {
    "constant columns": lambda X, y: (np.hstack([X, np.ones((len(y), 2))]), y),
    "all constant": lambda X, y: (np.ones_like(X), y),
    "duplicated columns": lambda X, y: (np.hstack([X, X]), y),
    "more features than rows": lambda X, y: (make_data(12, 40)[0], make_data(12, 40)[1]),
    "one sample per class": lambda X, y: (X[[0, 1]], np.array([0, 1])),
    "huge": lambda X, y: (X * 1e149, y),  # numbers above 1e150 are refused
    "tiny": lambda X, y: (X * 1e-150, y),
    "mixed scales": lambda X, y: (X * np.logspace(-150, 150, X.shape[1]), y),
    "rare positives": lambda X, y: (X, (np.arange(len(y)) == 3).astype(int)),
}


@pytest.mark.parametrize("case", HARD_DATA)
@pytest.mark.parametrize("l2", ["auto", 1e-3])
@pytest.mark.parametrize("relative_l1", [0.0, 0.1])
def test_hard_data_give_a_certified_answer_or_a_warning(case, l2, relative_l1, route):
    X, y = HARD_DATA[case](*make_data())
    moments = ClassMoments.from_data(X, y, scatter=False)
    l1 = relative_l1 * 2 * moments.p * (1 - moments.p) * np.abs(moments.delta).max()
    model = AUCClassifier(l2=l2, l1=l1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.decision_function(X)).all()
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert warned or (model.gap_ is not None and model.gap_ <= 1e-8 * moments.p * (1 - moments.p))
    assert not any(issubclass(w.category, RuntimeWarning) for w in caught)
    if case not in ("all constant", "mixed scales") and l2 == "auto":
        assert not warned


def test_import_is_light():
    code = (
        "import sys, vrspam;"
        "assert not {'numba', 'sklearn', 'numpy', 'pyarrow', 'matplotlib', 'dask', 'rich'} & set(sys.modules);"
        "import sklearn.linear_model, sklearn.utils.validation; theirs = set(sys.modules);"
        "from vrspam import AUCClassifier; import numpy as np;"
        "AUCClassifier().fit(np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]);"
        "heavy = {'numba', 'matplotlib', 'dask', 'pyarrow', 'typer', 'pandas'} & set(sys.modules) - theirs;"
        "assert not heavy, heavy; assert 'AUCClassifier' in dir(vrspam);"
        "rng = np.random.default_rng(0); y = rng.random(80) < 0.5; X = rng.standard_normal((80, 3)) + y[:, None];"
        "from vrspam import AUCClassifierCV; AUCClassifierCV(cv=2).fit(X, y);"
        "assert 'numba' not in sys.modules, 'a grid of straight lines needs no compiled code'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    import vrspam

    with pytest.raises(AttributeError, match="No vrspam attribute absent"):
        _ = vrspam.absent  # type: ignore[attr-defined]
    for name in vrspam.__all__:
        assert hasattr(vrspam, name)


def test_both_labels_may_be_named_after_rows_of_one():
    X, y = make_data(60, 4)
    first = np.flatnonzero(y == 0)[:5]
    rest = np.setdiff1d(np.arange(60), first)
    model = AUCClassifier().partial_fit(X[first], y[first]).partial_fit(X[rest], y[rest], classes=[0, 1])
    np.testing.assert_allclose(model.coef_, AUCClassifier().fit(X, y).coef_, rtol=1e-10)
