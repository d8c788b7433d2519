"""Calibration by scikit-learn, fitted on scores of rows that the model had not seen."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from vrspam.tool.calibration import Calibration, Isotonic, Sigmoid

METHODS = ("sigmoid", "isotonic")


class _KnownScores(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are its one feature."""

    def fit(self, X, y):
        self.classes_ = np.array([False, True])
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]

    def predict(self, X):
        return self.decision_function(X) > 0


def calibrate(scores: np.ndarray, positive: np.ndarray, method: str, weights: np.ndarray | None = None) -> Calibration:
    """Fit a calibration to scores of rows that the scoring model had not seen.

    scikit-learn's `CalibratedClassifierCV` does the fitting; it is told that the scores are final, because they
    already come from cross-validation.

    Parameters
    ----------
    scores : array of n numbers
        Out-of-fold scores.
    positive : boolean array of n
    method : {"sigmoid", "isotonic"}
        "sigmoid" has two parameters and suits few rows; "isotonic" any monotone shape and wants thousands.
    weights : array of n numbers, optional
        How many rows each one stands for, where the classes were sampled unequally.

    Returns
    -------
    Sigmoid or Isotonic

    References
    ----------
    J. Platt. Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers, 1999.
    B. Zadrozny and C. Elkan. Transforming classifier scores into accurate multiclass probability estimates.
    KDD 2002.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.standard_normal(5000)
    >>> positive = rng.random(5000) < 1 / (1 + np.exp(-2 * scores))
    >>> calibration = calibrate(scores, positive, "sigmoid")
    >>> print(f"{calibration.slope:.1f} {calibration(np.array([0.0]))[0]:.1f}")
    2.0 0.5
    """
    if method not in METHODS:
        raise ValueError(f"calibration {method!r} is not known; give {' or '.join(METHODS)}")
    column = scores[:, np.newaxis]
    known = FrozenEstimator(_KnownScores().fit(column, positive))
    with warnings.catch_warnings():  # that weights reach the calibration alone: just so, the scores are final
        warnings.filterwarnings("ignore", message="Since FrozenEstimator does not appear to accept sample_weight")
        fitted = CalibratedClassifierCV(known, method=method, cv=2).fit(column, positive, sample_weight=weights)
    calibrator = fitted.calibrated_classifiers_[0].calibrators[0]
    if method == "sigmoid":
        return Sigmoid(-float(calibrator.a_), -float(calibrator.b_))
    return Isotonic(
        np.asarray(calibrator.X_thresholds_, dtype=np.float64), np.asarray(calibrator.y_thresholds_, dtype=np.float64)
    )
