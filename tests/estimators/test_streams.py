"""All online estimators: the batches of a stream do not matter, defaults work, and invalid input is refused."""

import itertools
import pickle

import numpy as np
import pytest
from helpers import make_data
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, ClassMoments, OPAUCClassifier, SOLAMClassifier, SPAMClassifier
from vrspam.objective import l2_unit

STREAMS = {
    "spam": SPAMClassifier(),
    "spam_average": SPAMClassifier(average=True),
    "spam_net": SPAMClassifier(l1=0.02),
    "spam_theory": SPAMClassifier(l2=0.1, schedule="theory"),
    "solam": SOLAMClassifier(),
    "solam_ball": SOLAMClassifier(radius=0.3),
    "opauc": OPAUCClassifier(),
    "opauc_sketch": OPAUCClassifier(sketch=2),
}
METHODS = [
    SPAMClassifier(),
    SPAMClassifier(average=True),
    SOLAMClassifier(),
    OPAUCClassifier(),
    OPAUCClassifier(sketch=20),
]


@pytest.fixture(params=STREAMS)
def stream(request):
    return clone(STREAMS[request.param])


def feed(model, X, y, cuts, **first):
    edges = [0, *cuts, X.shape[0]]
    for start, stop in itertools.pairwise(edges):
        model.partial_fit(X[start:stop], y[start:stop], **first)
        first = {}
    return model


def assert_same_bits(a, b):
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    np.testing.assert_array_equal(a.classes_, b.classes_)
    assert a.l2_ == b.l2_
    assert a.n_steps_ == b.n_steps_


@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_cuts_make_no_difference(stream, container):
    X, y = make_data(1300, 5)
    y[:60] = 0  # one class alone at first; and the scale of SPAM and SOLAM is folded after 1,000 steps
    X = container(X)
    whole = feed(clone(stream), X, y, [])
    assert_same_bits(whole, feed(clone(stream), X, y, [1, 2, 50, 777, 1060]))
    assert_same_bits(whole, feed(clone(stream), X, y, [*range(1, 130), *range(1030, 1100)]))


@pytest.mark.parametrize("labels", [["a", "b"], [1, -1], [True, False]])
def test_whichever_class_comes_first(stream, labels):
    """Rows of a single class are remembered, whether its label later turns out to be the smaller or the larger one."""
    X, y = make_data(200, 4)
    order = np.argsort(-y if labels[0] > labels[1] else y, kind="stable")
    order = np.r_[order[:20], np.setdiff1d(np.arange(200), order[:20])]
    X, y = X[order], np.array(labels)[y[order]]
    for flipped in (False, True):
        y = y if not flipped else np.array(labels)[(y == labels[0]).astype(int)]
        whole = feed(clone(stream), X, y, [])
        piecewise = clone(stream)
        piecewise.partial_fit(X[:10], y[:10])
        for call in (piecewise.predict, piecewise.decision_function):
            with pytest.raises(NotFittedError):
                call(X)
        assert_same_bits(whole, feed(piecewise, X[10:], y[10:], [5, 60]))
        assert_same_bits(whole, feed(clone(stream), X, y, [3, 12], classes=labels))
        assert whole.n_steps_ == 200 - np.argmax(y != y[0])
        np.testing.assert_array_equal(whole.classes_, np.unique(labels))


def test_statistics_of_the_stream(stream):
    X, y = make_data(300, 4)
    model = feed(stream, X, y, [17, 100])
    moments = ClassMoments.from_data(X, y)
    if stream.l2 == "auto":
        assert model.l2_ == pytest.approx(1e-3 * l2_unit(moments), rel=1e-9)
    assert model.intercept_[0] == pytest.approx(-model.coef_[0] @ moments.means.sum(axis=0) / 2, rel=1e-9)


def test_dense_equals_csr(stream):
    X, y = make_data(300, 6)
    X[np.random.default_rng(0).random(X.shape) < 0.6] = 0.0
    for method, kept in (("partial_fit", {}), ("fit", {"random_state": 0})):
        dense = getattr(clone(stream).set_params(**kept), method)(X, y)
        for container in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
            other = getattr(clone(stream).set_params(**kept), method)(container(X), y)
            np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-7, atol=1e-10)
        single = getattr(clone(stream).set_params(**kept), method)(X.astype(np.float32), y)
        np.testing.assert_allclose(single.coef_, dense.coef_, rtol=1e-3, atol=1e-4)


def test_entries_in_two_parts(stream):
    """A CSR matrix may list a position twice; the value is the sum."""
    X, y = make_data(60, 3)
    parts = sparse.csr_array((np.repeat(X.ravel(), 2) * np.tile([0.25, 0.75], X.size), np.tile([0, 0, 1, 1, 2, 2], 60),
                              np.arange(0, 361, 6)), shape=X.shape)  # fmt: skip
    for method, kept in (("partial_fit", {}), ("fit", {"random_state": 0})):
        expected = getattr(clone(stream).set_params(**kept), method)(X, y)
        found = getattr(clone(stream).set_params(**kept), method)(parts.copy(), y)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9, atol=1e-12)


def test_same_seed_same_bits(stream):
    X, y = make_data(200, 4)
    first, second = (clone(stream).set_params(random_state=7).fit(X, y) for _ in range(2))
    assert_same_bits(first, second)
    other = clone(stream).set_params(random_state=8).fit(X, y)
    assert (other.coef_ != first.coef_).any()
    np.testing.assert_allclose(other.score(X, y), first.score(X, y), atol=0.05)


def test_a_stream_survives_pickling(stream):
    X, y = make_data(200, 4)
    half = pickle.loads(pickle.dumps(clone(stream).partial_fit(X[:90], y[:90])))
    assert_same_bits(half.partial_fit(X[90:], y[90:]), clone(stream).partial_fit(X, y))


def test_partial_fit_goes_on_from_fit_and_fit_starts_anew(stream):
    X, y = make_data(200, 4)
    model = stream.set_params(random_state=0).fit(X, y)
    fitted, steps = model.coef_.copy(), model.n_steps_
    model.partial_fit(X[:1], y[:1])
    assert model.n_steps_ == steps + 1
    assert not hasattr(model, "history_")
    assert 0 < np.abs(model.coef_ - fitted).max() < 0.2 * np.abs(fitted).max()
    model.fit(X, y)
    np.testing.assert_array_equal(model.coef_, fitted)


def test_refusals_leave_the_model_as_it_was(stream):
    X, y = make_data(100, 4)
    model = stream.partial_fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="two classes"):
        model.partial_fit(X[:3], [0, 1, 2])
    with pytest.raises(ValueError, match="two classes"):
        model.partial_fit(X[:1], [5])
    with pytest.raises(ValueError, match="different types"):
        model.partial_fit(X[:1], ["a"])
    with pytest.raises(ValueError, match="two classes"):
        model.partial_fit(X[:1], y[:1], classes=[1, 2])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3], y)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((1, 4), np.nan), [0])
    with pytest.raises(ValueError, match="minimum of 1"):
        model.partial_fit(X[:0], y[:0])
    assert pickle.dumps(model) == before


def test_a_refused_first_batch_leaves_nothing(stream):
    X, y = make_data(30, 4)
    with pytest.raises(ValueError, match="binary"):
        stream.partial_fit(X[:3], [0, 1, 2])
    with pytest.raises(ValueError, match="exactly two"):
        stream.partial_fit(X, y, classes=[0, 1, 2])
    assert not [name for name in vars(stream) if name.endswith("_") or name.startswith("_")]
    stream.partial_fit(X[:, :3], y)  # and another width is welcome
    assert stream.n_features_in_ == 3


@pytest.mark.parametrize(
    ("estimator", "bad"),
    [
        *[(e, {"step_size": v}) for e in (SPAMClassifier, SOLAMClassifier, OPAUCClassifier) for v in (0, -1.0, "fast")],
        *[(e, {"l2": v}) for e in (SPAMClassifier, SOLAMClassifier, OPAUCClassifier) for v in (-1.0, "none")],
        *[(e, {"max_iter": 0}) for e in (SPAMClassifier, SOLAMClassifier, OPAUCClassifier)],
        *[(e, {"tol": -1.0}) for e in (SPAMClassifier, SOLAMClassifier, OPAUCClassifier)],
        (SPAMClassifier, {"l1": -0.1}),
        (SPAMClassifier, {"schedule": "linear"}),
        (SPAMClassifier, {"average": "yes"}),
        (SOLAMClassifier, {"radius": 0}),
        (SOLAMClassifier, {"radius": -1.0}),
        (OPAUCClassifier, {"sketch": 0}),
        (OPAUCClassifier, {"sketch": 1.5}),
    ],
)
def test_bad_parameters(estimator, bad):
    X, y = make_data(20, 3)
    for begin in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=next(iter(bad))):
            getattr(estimator(**bad), begin)(X, y)
    model = estimator().partial_fit(X, y)
    before = pickle.dumps(model)
    good = {name: model.get_params()[name] for name in bad}
    with pytest.raises(ValueError, match=next(iter(bad))):  # in the middle of a stream as well
        model.set_params(**bad).partial_fit(X, y)
    assert pickle.dumps(model.set_params(**good)) == before


def standardised(name):
    if name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True)
    elif name == "digits":
        X, y = load_digits(return_X_y=True)
        y = y % 2
    else:
        X, y = make_classification(
            3000, 20, n_informative=8, weights=[1 - float(name)], class_sep=0.7, flip_y=0, random_state=1
        )
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("name", ["breast_cancer", "digits", "0.3", "0.05", "0.01"])
@pytest.mark.parametrize("model", METHODS, ids=str)
def test_defaults_come_close_to_the_exact_auc(model, name):
    X, y = standardised(name)
    exact = AUCClassifier().fit(X, y).score(X, y)
    fitted = clone(model).set_params(random_state=0).fit(X, y)
    assert fitted.score(X, y) >= exact - 0.01
    assert fitted.l2_ == pytest.approx(AUCClassifier().fit(X, y).l2_, rel=1e-12)
    assert np.isfinite(fitted.gap_)


@pytest.mark.parametrize("model", METHODS, ids=str)
def test_one_pass_over_a_stream_ranks_well(model):
    X, y = standardised("0.05")
    order = np.random.default_rng(0).permutation(len(y))
    exact = AUCClassifier().fit(X, y).score(X, y)
    assert clone(model).partial_fit(X[order], y[order]).score(X, y) >= exact - 0.03


def unscaled():
    rng = np.random.default_rng(0)
    X, y = load_breast_cancer(return_X_y=True)
    yield X, y
    yield X * 1e6, y
    yield X * 1e-9, y
    yield X + 1e5, y
    X, y = make_data(300, 5, share=0.02)
    yield X * 10.0 ** rng.integers(-4, 5, 5), y
    yield rng.standard_cauchy((300, 5)) ** 3, y
    yield np.zeros((20, 3)), np.arange(20) % 2


@pytest.mark.parametrize("name", [name for name in STREAMS if name not in ("spam_net", "spam_theory")])
def test_unscaled_data_never_blow_up(name):
    stream = STREAMS[name]
    for X, y in unscaled():
        F0 = y.mean() * (1 - y.mean())
        model = clone(stream).set_params(random_state=0).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert model.objective_ <= 10 * F0
        order = np.random.default_rng(1).permutation(len(y))
        assert np.isfinite(clone(stream).partial_fit(X[order], y[order]).coef_).all()


@pytest.mark.parametrize("model", METHODS, ids=str)
def test_a_step_too_large_is_named_with_one_that_is_not(model):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="smaller step_size, such as") as error:
        clone(model).set_params(step_size=1.0, random_state=0).fit(X, y)
    named = float(str(error.value).rstrip(".").rsplit(" ", 1)[1])
    safe = clone(model).set_params(step_size=named, random_state=0).fit(X, y)
    assert safe.objective_ <= y.mean() * (1 - y.mean())
    streaming = clone(model).set_params(step_size=named).partial_fit(X[:50], y[:50])
    before = streaming.coef_.copy()
    streaming.set_params(step_size=1e200)
    for _ in range(2):
        with pytest.raises(ValueError, match="diverge"):
            streaming.partial_fit(X, y)
    np.testing.assert_array_equal(streaming.coef_, before)


@pytest.mark.parametrize("estimator", [SPAMClassifier(schedule="theory"), SOLAMClassifier()], ids=str)
def test_rows_beyond_any_scale_are_not_blamed_on_the_step(estimator):
    X, y = make_data(50, 3)
    unit = 1e100 if isinstance(estimator, SPAMClassifier) else 1e-100
    for begin in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="rescale the features") as error:
            getattr(clone(estimator), begin)(unit * X, y)
        assert "step_size" not in str(error.value)


def test_a_stream_that_is_lost_says_so():
    X, y = make_data(60, 6, correlated=False)
    model = SPAMClassifier()
    with pytest.raises(ValueError, match="rescale the features"):
        model.partial_fit(X + 1e8, y)
    w = model._stream.method.coef  # finite, but F(w) ≥ l2/2 ‖w‖² is far above F(0) = pq
    assert np.isfinite(w).all()
    assert np.linalg.norm(w) > 1e10
