"""Warnings point at the caller's line, however deep in the package they arise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, VRSPAMClassifier, coef_path

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
