"""Estimators of two classes: their labels, `predict`, and the AUC as `score`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from vrspam import metrics
from vrspam._utils import array_api, validation
from vrspam._utils.validation import Rows
from vrspam._utils.warnings import ScoredAcrossStrata, warn
from vrspam.estimators.base import PairwiseEstimator
from vrspam.pairs import LossChoice, Ranked


class PairwiseClassifier(ClassifierMixin, PairwiseEstimator):
    """Base class of estimators that rank one class above the other; `score` is the area under the ROC curve."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _labels(self, rows: Rows, several: bool = False) -> np.ndarray:
        """The labels of a training set that have rows with weight, sorted: two, or more where `several` are allowed."""
        labels = array_api.labels_of(rows.y)
        if labels.size > 2 and not several:  # targets other than class labels were refused before
            on_device = array_api.device_namespace(rows.y) is not None
            kind = type_of_target(labels if on_device else rows.y, input_name="y", raise_unknown=True)
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}. For several classes use "
                "vrspam.OneVsRestAUC, or wrap the estimator: "
                f"sklearn.multiclass.OneVsRestClassifier({type(self).__name__}())."
            )
        if rows.weights is not None:
            labels = array_api.labels_of(rows.y, rows.weights)
        if labels.size < 2:
            weighted = " with positive weight" if rows.weights is not None else ""
            raise ValueError(f"AUC needs two classes, but y holds only one class{weighted}: {labels.tolist()}.")
        return labels

    def _loss_inside(self, rows: Rows, classes: np.ndarray, strata: Any) -> LossChoice:
        """The loss on pairs of the two classes inside strata; on all pairs if there is a single stratum."""
        numbers = validation.numbers_of(strata, rows.X.shape[0], "strata", "stratum")
        if numbers.max(initial=0) == 0:
            return self._loss
        rank = (array_api.on_host(rows.y) == classes[1]).astype(np.float64)
        every_event = np.ones(rank.size, dtype=bool)
        return self._loss_of_pairs(rows, Ranked(rank, every_event, numbers, self.strata_weight == "strata"))

    def predict(self, X) -> np.ndarray:
        """`classes_[1]` where the score is positive, else `classes_[0]`; for several classes, the highest-scoring one.

        With `threshold_`, `classes_[1]` is predicted where the score is at least ``threshold_.threshold`` instead.
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
        calibration: Any = getattr(self, "calibration_", None)
        scores = self.decision_function(X)
        chosen = getattr(self, "threshold_", None)
        if chosen is None and calibration is not None and calibration.half is None:
            above = calibration(array_api.on_host(scores)) - 0.5
            scores = above if isinstance(scores, np.ndarray) else array_api.beside(above, scores)
        called = scores > 0 if chosen is None else scores >= chosen.threshold
        if array_api.device_namespace(scores) is not None:
            return array_api.choose(self.classes_, called)
        return self.classes_[called.astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)]

    def score(self, X, y, sample_weight=None, strata=None) -> float:
        """Area under the ROC curve of the scores of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        strata : array-like of shape (n_samples,), optional
            Count only pairs of rows of the same stratum (`vrspam.metrics.concordance_index`). A model that was fitted
            with strata warns without them.

        Returns
        -------
        float
            NaN, with a warning, when y holds one class only, or no stratum holds both.
        """
        return self._auc_of(self.decision_function(X), y, sample_weight, strata)

    def _auc_of(self, scores, y, sample_weight=None, strata=None) -> float:
        """The AUC of scores, as `score` computes it."""
        on_device = array_api.device_namespace(scores) is not None
        y = y if on_device else column_or_1d(y)
        self._refuse_unknown_labels(y)
        if strata is not None:
            return metrics.concordance_index(
                array_api.on_host(y) == self.classes_[1],
                array_api.on_host(scores),
                strata=strata,
                sample_weight=sample_weight,
                strata_weight=getattr(self, "strata_weight", "pairs"),
            )
        if hasattr(self, "pairs_"):
            warn(ScoredAcrossStrata())
        if on_device:
            positive = array_api.is_label(y, self.classes_[1], scores)
            return float(metrics.roc_auc_columns(positive, scores[:, None], sample_weight)[0])
        return metrics.roc_auc(y == self.classes_[1], scores, sample_weight=sample_weight)

    def _refuse_unknown_labels(self, y) -> None:
        """Refuse a vector y with labels that fit has not seen, because they are neither positive nor negative."""
        if isinstance(y, np.ndarray) and y.dtype == object:  # labels of several types cannot be sorted
            labels = sorted(set(y), key=str)
        else:
            labels = array_api.labels_of(y).tolist()
        unknown = [label for label in labels if label not in self.classes_.tolist()]
        if unknown:
            raise ValueError(
                f"y holds labels {unknown[:3]} that were not seen in fit: leave their rows out, or write them as "
                f"one of {self.classes_.tolist()}."
            )
