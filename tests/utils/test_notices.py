"""Warnings point at the user's line, however deep in the package they are raised, and have fields."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, VRSPAMClassifier, coef_path
from vrspam._utils.warnings import AllCoefficientsZero, GridEdge, GridNotCertified, NotConverged

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4))
y = rng.permutation(60) < 20

SOURCES = {
    "one penalty": lambda: AUCClassifier(l1=0.01, tol=0.0, max_iter=1).fit(X, y),
    "first block": lambda: AUCClassifier(l1=0.01, tol=0.0, max_iter=1).partial_fit(X, y),
    "stream": lambda: AUCClassifier(l1=0.01, tol=0.0, max_iter=1).fit_stream([(X, y)]),
    "stochastic": lambda: VRSPAMClassifier(tol=1e-12, max_iter=1).fit(X, y),
    "grid": lambda: AUCClassifierCV([1e-3], [0.001], tol=0.0, max_iter=1).fit(X, y),
    "path": lambda: coef_path(ClassMoments.from_data(X, y), [1e-3], [0.001], tol=0.0, max_iter=1),
    "pipeline": lambda: make_pipeline(StandardScaler(), AUCClassifier(l1=0.01, tol=0.0, max_iter=1)).fit(X, y),
    "folds": lambda: cross_val_score(AUCClassifier(l1=0.01, tol=0.0, max_iter=1), X, y),
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_warning_points_here(source):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SOURCES[source]()
    places = {warning.filename for warning in caught if issubclass(warning.category, ConvergenceWarning)}
    assert places == {__file__}


OBJECTS = [
    (
        NotConverged("AUCClassifier", 7, 0.125, " or rows in float64"),
        ConvergenceWarning,
        "a larger l2 or rows in float64.",
    ),
    (GridNotCertified(2, 60), ConvergenceWarning, "2 of 60 solutions of the grid were not certified to tol"),
    (
        GridEdge("l2", 0.1, "largest", lead=0.25, error=0.125),
        UserWarning,
        "beats its neighbour by 0.25",
    ),
    (AllCoefficientsZero(0.0), UserWarning, "the same mean in every feature"),
    (AllCoefficientsZero(0.5), UserWarning, "at the chosen l1 = 0.5"),
]


@pytest.mark.parametrize(("warning", "category", "words"), OBJECTS, ids=lambda value: type(value).__name__)
def test_a_warning_with_fields(warning, category, words):
    assert isinstance(warning, category)
    assert words in str(warning)
    for again in (pickle.loads(pickle.dumps(warning)), copy.deepcopy(warning)):
        assert type(again) is type(warning)
        assert vars(again) == vars(warning)
        assert str(again) == str(warning)
    with pytest.warns(type(warning)) as caught:
        warnings.warn(warning, stacklevel=1)
    assert caught[0].message is warning


def caught_from(work, kind):
    with pytest.warns(kind) as caught:
        work()
    return next(record.message for record in caught if isinstance(record.message, kind))


def test_estimators_fill_the_fields():
    model = AUCClassifier(l1=0.01, tol=0.0, max_iter=1)
    found = caught_from(lambda: model.fit(X, y), NotConverged)
    assert (found.estimator, found.n_iter, found.gap) == ("AUCClassifier", model.n_iter_, model.gap_)
    found = caught_from(SOURCES["path"], GridNotCertified)
    assert (found.missed, found.total) == (1, 1)
    assert caught_from(lambda: AUCClassifierCV([1.0], [1e3]).fit(X, y), AllCoefficientsZero).l1 == 1e3
    signal = X[:, :1] + 0.0
    wide = np.hstack([signal, rng.standard_normal((60, 50))])
    edge = caught_from(lambda: AUCClassifierCV([1e-6, 10.0], cv=3).fit(wide, signal[:, 0] > 0), GridEdge)
    assert (edge.parameter, edge.value, edge.end, edge.beyond) == ("l2", 10.0, "largest", "larger")
    assert edge.lead > edge.error
