"""The model of a fitted estimator: `estimator.to_model()`."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vrspam._utils import array_api
from vrspam.features import FeatureMap
from vrspam.features.parts import Parts, lines_alone
from vrspam.model.inputs import NotExportable, named_columns
from vrspam.model.model import Label, Model


def model_of_estimator(estimator: Any) -> Model:
    """Return the score of a fitted estimator of two classes, or of a ranker, with all that is needed to use it."""
    parts = parts_of(estimator, one_line_of(estimator))
    calibration = getattr(estimator, "calibration_", None)
    schema = getattr(estimator, "_table_schema", None)
    is_matrix = schema is None and not hasattr(estimator, "feature_names_in_")
    if is_matrix:
        names = [str(number) for number in range(estimator.n_features_in_)]
    else:
        names = [str(name) for name in (estimator.feature_names_in_ if schema is None else schema.names)]
    features = getattr(estimator, "features_", None)
    numeric = [True] * estimator.n_features_in_ if features is None else features.numeric_columns
    inputs, columns = named_columns(names, numeric, schema)
    decides_by_score = calibration is None or calibration.half is not None
    return Model(
        inputs,
        columns,
        parts=parts,
        constant=float(array_api.on_host(estimator.intercept_)[0]),
        label=label_of(estimator),
        limit=0.0 if decides_by_score else None,
        threshold=getattr(estimator, "threshold_", None),
        calibration=calibration,
        baseline=float(getattr(estimator, "baseline_", 0.0)),
        is_matrix=is_matrix,
        left_out=() if schema is None else tuple(map(str, schema.identifiers)),
    )


def one_line_of(estimator: Any) -> np.ndarray:
    """The coefficients of an estimator that has one score for each row."""
    check_is_fitted(estimator, "coef_")
    coefs = np.asarray(array_api.on_host(estimator.coef_), dtype=np.float64)
    if len(coefs) != 1:
        raise NotExportable(
            f"{type(estimator).__name__} has {len(coefs)} scores for each row: export an estimator of two classes for "
            "each."
        )
    return coefs[0]


def parts_of(estimator: Any, coef: np.ndarray) -> Parts:
    """The parts of the score: of the map, or straight lines."""
    features = getattr(estimator, "features_", None)
    if features is None:
        return lines_alone(coef)
    if not isinstance(features, FeatureMap):
        raise NotExportable(
            f"The features come from {type(features).__name__}, which is not a map of vrspam.features: put it into a "
            "scikit-learn pipeline before a linear scorer, and export that scorer."
        )
    return features.parts(coef)


def label_of(estimator: Any) -> Label:
    """The classes of an estimator, or what a higher score of a ranker means."""
    classes = np.asarray(getattr(estimator, "classes_", (False, True))).tolist()  # rankers have none
    ranks = {"event": "an earlier event", "y": "a larger y"}
    return Label(tuple(classes), ranks.get(getattr(estimator, "higher_", ""), ""))
