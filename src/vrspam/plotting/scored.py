"""What plots of rankings take: labels and scores, fitted estimators with rows to score, or frames of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vrspam.tables.frames import columns_of, is_frame

SEVERAL = "several models: pass a dict from names to scores"
Scores = Any  # an array, an estimator, a dict of names to these, or a frame


def labelled_scores(y_true: Any, scores: Scores, X: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Which rows are positive, and the scores of each model; a single model has the name ""."""
    if scores is None:
        held_out = _held_out(y_true)
        return np.asarray(held_out.positive), {"": np.asarray(held_out.scores, dtype=float)}
    positive = _labels(y_true)
    if is_frame(scores):
        columns = columns_of(scores)
        named: Mapping[str, Any] = dict(zip(map(str, columns.names), columns.columns, strict=True))
    else:
        named = scores if isinstance(scores, Mapping) else {"": scores}
    several = {str(name): _scores_of(values, X) for name, values in named.items()}
    if not several or any(values.ndim != 1 for values in several.values()):
        raise ValueError(f"scores must be one number for each row, or {SEVERAL}.")
    for values in several.values():
        if values.size != positive.size:
            raise ValueError(f"there are {positive.size:,} labels and {values.size:,} scores: give one for each row.")
    return positive, several


def labelled_probabilities(y_true: Any, probabilities: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are positive, and their probabilities."""
    if probabilities is None:
        held_out = _held_out(y_true)
        if getattr(y_true, "calibration_", None) is None:
            raise ValueError("this estimator has no probabilities: fit it with calibration='sigmoid'.")
        return np.asarray(held_out.positive), np.asarray(y_true.calibration_(held_out.scores), dtype=float)
    if hasattr(probabilities, "predict_proba"):
        probabilities = probabilities.predict_proba(_rows(X))[:, 1]
    return _labels(y_true), np.asarray(probabilities, dtype=float)


def _held_out(estimator: Any) -> Any:
    if not hasattr(estimator, "out_of_fold_"):
        raise ValueError("give labels and scores, labels and a fitted estimator with X, or a fitted AUCClassifierCV.")
    return estimator.out_of_fold_


def _scores_of(scores: Any, X: Any) -> np.ndarray:
    if hasattr(scores, "decision_function"):
        return np.asarray(scores.decision_function(_rows(X)), dtype=float)
    if hasattr(scores, "predict_proba"):
        return np.asarray(scores.predict_proba(_rows(X))[:, 1], dtype=float)
    return np.asarray(scores, dtype=float)


def _rows(X: Any) -> Any:
    if X is None:
        raise ValueError("an estimator needs rows to score: give X as well.")
    return X


def _labels(y_true: Any) -> np.ndarray:
    if hasattr(y_true, "decision_function"):
        raise ValueError("the labels come first, then the estimator, then its rows: plot(y, estimator, X=X).")
    y = np.asarray(y_true)
    classes = np.unique(y)
    if classes.size != 2:
        raise ValueError(f"y_true has {classes.size} different labels; a curve needs two classes.")
    return y if y.dtype == bool else y == classes[1]
