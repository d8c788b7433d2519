"""Probabilities of an estimator that has out-of-fold scores: `predict_proba`, and labels that agree with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from vrspam._utils import array_api
from vrspam.model_selection.calibration import Calibration, calibrate
from vrspam.model_selection.held_out import HeldOut


def _has_probabilities(estimator: Any) -> bool:
    if (estimator.calibration_ if hasattr(estimator, "coef_") else estimator.calibration) is None:
        raise AttributeError(
            "predict_proba needs calibrated scores: fit with calibration='sigmoid' or calibration='isotonic'."
        )
    return True


class CalibratedScores:
    """What an estimator with the parameter `calibration` has beside those of `AUCClassifierBase`.

    Where it is not None, `intercept_` is moved so that a score of 0 has the probability ½. Before that, and for
    `calibration_`, a score is 0 half-way between the class means; `baseline_` is the difference.
    """

    classes_: np.ndarray
    intercept_: np.ndarray
    decision_function: Callable[..., Any]
    calibration: str | None
    calibration_: Any  # a Calibration, or None
    baseline_: float

    def _calibrate(self, held_out: HeldOut) -> Calibration | None:
        """Fit the calibration on scores of rows by models that had not seen them."""
        if self.calibration is None:
            return None
        return calibrate(held_out.scores, held_out.positive, self.calibration, held_out.weights)

    def _store_calibration(self, calibration: Calibration | None) -> None:
        """Keep the calibration, and move the stored intercept to where the probability is ½ (if it ever is)."""
        half = None if calibration is None else calibration.half
        self.calibration_ = calibration
        self.baseline_ = 0.0 if half is None else -half
        self.intercept_ = self.intercept_ + self.baseline_

    @available_if(_has_probabilities)
    def predict_proba(self, X) -> np.ndarray:
        """Probabilities of both classes: scores through the function that was fitted on out-of-fold scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of `classes_`. The second column is more than ½ where `predict` gives `classes_[1]`.
        """
        check_is_fitted(self, "coef_")
        assert self.calibration_ is not None
        scores = self.decision_function(X)
        positive = self.calibration_(array_api.on_host(scores) - self.baseline_)
        both = np.column_stack([1.0 - positive, positive])
        return both if array_api.device_namespace(scores) is None else array_api.beside(both, scores)

    def predict(self, X) -> np.ndarray:
        """`classes_[1]` where the score is positive, else `classes_[0]`.

        With calibration a score is positive where the probability of `classes_[1]` is more than ½. An isotonic
        calibration may be on one side of ½ for all scores; then all rows get the same label.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "coef_")
        if self.calibration_ is None or self.calibration_.half is not None:
            inherited: Any = super()
            return inherited.predict(X)
        positive = self.predict_proba(X)[:, 1]
        if array_api.device_namespace(positive) is not None:
            return array_api.choose(self.classes_, positive > 0.5)
        return self.classes_[(positive > 0.5).astype(np.intp)]
