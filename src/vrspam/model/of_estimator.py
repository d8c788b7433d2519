"""The model of a fitted estimator: `estimator.to_model()`."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vrspam._utils import array_api
from vrspam._utils.roles import ORDER, TIMES
from vrspam.features import FeatureMap
from vrspam.features.parts import Parts, lines_alone
from vrspam.model.inputs import NotExportable, column_names
from vrspam.model.model import Model
from vrspam.tables.schema import Label, Schema


def model_of_estimator(estimator: Any) -> Model:
    """Return the score of a fitted estimator of two classes, or of a ranker, with all that is needed to use it."""
    parts = parts_of(estimator, one_line_of(estimator))
    target = target_of(estimator)
    return Model(
        schema=replace(schema_of(estimator), target=target.name, labels=target.labels),
        positive=target.positive,
        parts=parts,
        intercept=float(array_api.on_host(estimator.intercept_)[0]),
        calibration=getattr(estimator, "calibration_", None),
        baseline=float(getattr(estimator, "baseline_", 0.0)),
        threshold=getattr(estimator, "threshold_", None),
        roles=target.roles,
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


def schema_of(estimator: Any) -> Schema:
    """The columns that an estimator was fitted on: of a matrix, or of a frame in its order, as it was read."""
    read = getattr(estimator, "_table_schema", None)
    if read is None:
        if not hasattr(estimator, "feature_names_in_"):
            return Schema(width=estimator.n_features_in_, zero_based=True)
        read = Schema(source=tuple(estimator.feature_names_in_))

    names = column_names(read)
    features = getattr(estimator, "features_", None)
    holds_numbers = [True] * len(names) if features is None else features.numeric_columns
    numeric: list[str] = []
    categorical: dict[str, tuple[str, ...]] = {}
    for name, is_number in zip(names, holds_numbers, strict=True):
        if is_number:
            numeric.append(name)
        else:
            categorical[name] = read.categorical.get(name, ())
    return replace(read, numeric=tuple(numeric), categorical=categorical, fill=None)


class Target(NamedTuple):
    """What an estimator ranks."""

    name: str | None
    positive: Label
    labels: tuple[Label, ...] = ()
    roles: dict[str, str] = {}


def target_of(estimator: Any) -> Target:
    """The classes of an estimator, or what a ranker ranks by."""
    higher = getattr(estimator, "higher_", None)
    if higher == "y":
        return Target("y", 1, roles={ORDER: "y"})
    if higher == "event":
        return Target(None, "event", roles={TIMES: "y"})
    negative, positive = np.asarray(getattr(estimator, "classes_", (False, True))).tolist()
    return Target(None, positive, (negative, positive))
