"""A penalty of a user's own, under a name: every estimator with `penalty` takes it, here and in other processes."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import make_data
from other_toys import Huber, NetNumbers
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from vrspam import AUCClassifier, AUCClassifierCV, ConcordanceRanker, ConcordanceRankerCV, VRSPAMClassifier, coef_path
from vrspam.moments import ClassMoments
from vrspam.objective import Objective, Separable, SquaredPairLoss, register_penalty
from vrspam.penalties import family

L2, L1 = 0.05, 0.1


@pytest.fixture(autouse=True)
def huber():
    register_penalty("huber")(Huber)
    yield
    del family.PENALTIES["huber"]


@pytest.fixture(scope="module")
def data():
    X, y = make_data(150, 5, correlated=False)
    return X / X.std(axis=0), y


@pytest.fixture(scope="module")
def solution(data):
    """By L-BFGS, from the definition of F."""
    X, y = data
    objective = Objective(SquaredPairLoss.from_moments(ClassMoments.from_data(X, y)), Huber(L2, L1))
    found = minimize(objective.value, np.zeros(5), method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-12})
    assert np.all(found.x != 0.0)
    return found.x


@pytest.mark.parametrize(
    "estimator",
    [
        AUCClassifier(L2, L1, penalty="huber", tol=1e-10),
        AUCClassifierCV([L2], l1s=[L1], penalty="huber", cv=3, tol=1e-10),
        VRSPAMClassifier(l2=L2, l1=L1, penalty="huber", tol=1e-8, random_state=0),
        ConcordanceRanker(L2, L1, penalty="huber", tol=1e-10),
        ConcordanceRankerCV([L2], l1s=[L1], penalty="huber", cv=3, tol=1e-10),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_estimator_takes_the_name(estimator, data, solution):
    X, y = data
    assert clone(estimator).get_params()["penalty"] == "huber"
    fitted = clone(estimator).fit(X, y)
    np.testing.assert_allclose(np.ravel(fitted.coef_), solution, atol=1e-4)
    assert fitted.gap_ <= 1e-8
    assert not hasattr(fitted, "stationarity_")
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.coef_, fitted.coef_)


def test_a_path_and_bounds_take_it_too(data, solution):
    X, y = data
    path = coef_path(ClassMoments.from_data(X, y), [L2], [L1, 0.0], penalty="huber", tol=1e-12)
    np.testing.assert_allclose(path[0, 0], solution, atol=1e-5)
    bounded = AUCClassifier(L2, L1, penalty="huber", bounds=(-0.01, 0.02), tol=1e-10).fit(X, y)
    assert bounded.coef_.min() >= -0.01
    assert bounded.coef_.max() == 0.02
    assert bounded.gap_ <= 1e-8


def test_workers_know_the_name(data, solution):
    X, y = data
    search = GridSearchCV(AUCClassifier(L2, penalty="huber", tol=1e-10), {"l1": [L1]}, cv=2, n_jobs=2)
    search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    np.testing.assert_allclose(search.best_estimator_.coef_[0], solution, atol=1e-4)


def test_another_session_knows_the_name_of_what_it_reads(data, tmp_path):
    X, y = data
    fitted = AUCClassifier(L2, L1, penalty="huber").fit(X, y)
    stored = tmp_path / "model.pickle"
    stored.write_bytes(pickle.dumps((fitted, X, y)))
    toys = Path(__file__).resolve().parents[1]
    program = f"""
import pickle, sys
from pathlib import Path
from sklearn.base import clone
sys.path.insert(0, {str(toys)!r})
model, X, y = pickle.loads(Path({str(stored)!r}).read_bytes())
assert (clone(model).fit(X, y).coef_ == model.coef_).all()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_numbers_of_its_own_come_from_the_loss(data):
    """`of_loss` is asked once for each loss: here for a ridge in units of the curvature of each column."""

    class Scaled(NetNumbers, Separable):
        is_convex = True
        curvature = None

        @classmethod
        def of_loss(cls, loss, gamma):
            cls.curvature = loss.curvature()
            return cls

        def value(self, w):
            return float(0.5 * self.l2 * (self.curvature @ w**2))

        def prox(self, v, step):
            return v / (1.0 + step * self.l2 * self.curvature)

    X, y = data
    register_penalty("scaled")(Scaled)
    try:
        first, second = (AUCClassifier(0.1, penalty="scaled", tol=1e-12).fit(X * scale, y) for scale in (1.0, 10.0))
    finally:
        del family.PENALTIES["scaled"]
    np.testing.assert_allclose(second.coef_ * 10.0, first.coef_, rtol=1e-4)
    assert first.gap_ is None or np.isnan(first.gap_)
    assert first.stationarity_ >= 0.0


def test_what_cannot_be_registered_is_refused():
    with pytest.raises(ValueError, match="'mcp' is a penalty of vrspam"):
        register_penalty("mcp")(Huber)
    with pytest.raises(TypeError, match="int must inherit from"):
        register_penalty("whole numbers")(int)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="'elasticnet', 'huber', 'mcp', 'scad'"):
        AUCClassifier(penalty="hubert").fit([[0.0], [1.0]], [0, 1])
