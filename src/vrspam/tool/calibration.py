"""From scores to probabilities: functions that a model file can hold, fitted on rows that the model had not seen."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from vrspam._utils.messages import Parameter, WordedError

METHODS = ("sigmoid", "isotonic")


class Calibration(Protocol):
    """A non-decreasing function from scores to probabilities that a model file can hold."""

    @property
    def method(self) -> str: ...

    def __call__(self, scores: np.ndarray, /) -> np.ndarray: ...

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Sigmoid:
    """Platt's calibration: 1 / (1 + exp(-(slope·score + offset)))."""

    slope: float
    offset: float
    method = "sigmoid"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.slope) and np.isfinite(self.offset)):
            raise ValueError("slope and offset of the calibration must be finite numbers")

    def __call__(self, scores: np.ndarray, /) -> np.ndarray:
        return expit(self.slope * scores + self.offset)

    def to_dict(self) -> dict[str, Any]:
        return {"method": self.method, "slope": self.slope, "offset": self.offset}


@dataclass(frozen=True, eq=False)
class Isotonic:
    """Isotonic calibration: straight lines between (score, probability) nodes, constant outside them."""

    scores: np.ndarray
    probabilities: np.ndarray
    method = "isotonic"

    def __post_init__(self) -> None:
        nodes = self.scores.ndim == self.probabilities.ndim == 1 and self.scores.size == self.probabilities.size > 0
        if not nodes or not (np.isfinite(self.scores).all() and np.isfinite(self.probabilities).all()):
            raise ValueError("the calibration needs as many probabilities as scores, all of them finite")
        if (np.diff(self.scores) < 0).any() or (np.diff(self.probabilities) < 0).any():
            raise ValueError("scores and probabilities of the calibration must not decrease")
        if self.probabilities[0] < 0 or self.probabilities[-1] > 1:
            raise ValueError("probabilities of the calibration must lie between 0 and 1")

    def __call__(self, scores: np.ndarray, /) -> np.ndarray:
        return np.interp(scores, self.scores, self.probabilities)

    def to_dict(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "scores": self.scores.tolist(),
            "probabilities": self.probabilities.tolist(),
        }


def calibration_from_dict(plain: Mapping[str, Any]) -> Calibration:
    """Return the calibration that `to_dict` wrote, or say what is wrong with it."""
    values = dict(plain)
    method = values.pop("method", None)
    if method == "sigmoid" and set(values) == {"slope", "offset"}:
        return Sigmoid(float(values["slope"]), float(values["offset"]))
    if method == "isotonic" and set(values) == {"scores", "probabilities"}:
        return Isotonic(*(np.array(values[name], dtype=np.float64) for name in ("scores", "probabilities")))
    raise ValueError(f"calibration method {method!r} with keys {sorted(values)} is not known")


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
    from sklearn.calibration import CalibratedClassifierCV  # here, because commands that only score do without
    from sklearn.frozen import FrozenEstimator

    if method not in METHODS:
        wanted = Parameter("calibration", method)
        raise WordedError("{wanted} is not known; give {known}", wanted=wanted, known=" or ".join(METHODS))
    column = scores[:, np.newaxis]
    known = FrozenEstimator(_KnownScores().fit(column, positive))
    with warnings.catch_warnings():  # that weights reach the calibration alone, which is right: the scores are final
        warnings.simplefilter("ignore", UserWarning)
        fitted = CalibratedClassifierCV(known, method=method, cv=2).fit(column, positive, sample_weight=weights)
    calibrator = fitted.calibrated_classifiers_[0].calibrators[0]
    if method == "sigmoid":
        return Sigmoid(-float(calibrator.a_), -float(calibrator.b_))
    return Isotonic(
        np.asarray(calibrator.X_thresholds_, dtype=np.float64), np.asarray(calibrator.y_thresholds_, dtype=np.float64)
    )
