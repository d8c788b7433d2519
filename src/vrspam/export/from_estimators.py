"""From a fitted estimator to what is exported: its inputs, its columns, the parts of its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vrspam._utils import array_api
from vrspam.estimators.base import AUCClassifierBase
from vrspam.export.scorer import (
    DATE,
    NUMBER,
    TEXT,
    Column,
    Input,
    NotExportable,
    Scorer,
    linear_parts,
    map_parts,
)
from vrspam.features import StackedFeatures
from vrspam.features.encoders import Curves
from vrspam.moments.class_moments import spread
from vrspam.tables.texts import Dates, KindOfText


def scorer_of(model: Any) -> Scorer:
    """What is exported of a fitted estimator of this package, or of a model of the command-line tool.

    Parameters
    ----------
    model : estimator, `vrspam.tool.Model` or Scorer

    Returns
    -------
    Scorer

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam import AUCClassifierCV
    >>> from vrspam.export import scorer_of
    >>> scorer = scorer_of(AUCClassifierCV(features="standardized").fit(*load_breast_cancer(return_X_y=True)))
    >>> scorer.classes, len(scorer.inputs)
    ((0, 1), 30)
    """
    if isinstance(model, Scorer):
        return model
    if hasattr(model, "as_scorer"):
        return model.as_scorer()
    if not isinstance(model, AUCClassifierBase):
        raise NotExportable(
            f"{type(model).__name__} is not an estimator of this package: give one, or convert a pipeline that ends in "
            "one with skl2onnx (vrspam.export.register_skl2onnx)."
        )
    check_is_fitted(model, "coef_")
    coefs = np.asarray(array_api.on_host(model.coef_), dtype=np.float64)
    if len(coefs) != 1:
        raise NotExportable(
            f"{type(model).__name__} has {len(coefs)} scores for each row: export an estimator of two classes for each."
        )
    coef = coefs[0]
    features = getattr(model, "features_", None)
    calibration = getattr(model, "calibration_", None)
    parts = linear_parts(coef) if features is None else map_parts(features, coef)
    inputs, columns, left_out, matrix = _columns(model, features)
    return Scorer(
        inputs,
        columns,
        parts.effects,
        parts.kernels,
        parts.trees,
        constant=float(array_api.on_host(model.intercept_)[0]),
        classes=tuple(np.asarray(model.classes_).tolist()),
        threshold=0.0 if calibration is None or calibration.half is not None else None,
        calibration=calibration,
        baseline=float(getattr(model, "baseline_", 0.0)),
        matrix=matrix,
        left_out=left_out,
        typical=np.array(spread(model.moments_)) if features is None and hasattr(model, "moments_") else None,
    )


def _columns(model: Any, features: Any) -> tuple[tuple[Input, ...], tuple[Column, ...], tuple[str, ...], bool]:
    """The inputs, what becomes of them, the columns that are left out, and whether there is one matrix."""
    names = getattr(model, "feature_names_in_", None)
    reading = getattr(model, "_table_schema", None)
    numeric = [True] * model.n_features_in_ if features is None else numeric_columns(features)
    if reading is not None:
        names = reading.source
    if names is None:
        inputs = tuple(Input(str(j)) for j in range(model.n_features_in_))
        return inputs, tuple(Column(one.name, j) for j, one in enumerate(inputs)), (), True
    if reading is None:
        return *take_columns(list(map(str, names)), {}, numeric), (), False
    kept = [name for name in reading.source if name not in reading.identifiers]
    readings = {str(name): how for name, how in reading.readings.items()}
    return *take_columns(list(map(str, kept)), readings, numeric), tuple(map(str, reading.identifiers)), False


def numeric_columns(features: Any) -> list[bool]:
    """Whether each column of a fitted map of this package holds numbers."""
    first = features.maps_[0] if isinstance(features, StackedFeatures) else features
    return [isinstance(encoder, Curves) for encoder in first.encoders_]


def take_columns(
    names: Sequence[str], readings: Mapping[str, KindOfText], numeric: Sequence[bool]
) -> tuple[tuple[Input, ...], tuple[Column, ...]]:
    """The inputs of these names, in order, and the columns that they become; `numeric` is about the latter."""
    inputs: list[Input] = []
    columns: list[Column] = []
    for place, name in enumerate(names):
        kind = readings.get(name)
        if kind is None:
            inputs.append(Input(name, NUMBER if numeric[len(columns)] else TEXT))
            columns.append(Column(name, place))
        else:
            inputs.append(input_of_reading(name, kind))
            columns += [Column(new, place, part or None) for new, part in zip(kind.made(name), kind.parts, strict=True)]
    return tuple(inputs), tuple(columns)


def input_of_reading(name: str, kind: KindOfText) -> Input:
    """The input for a column that training read as dates, or as text that is numbers: the number itself.

    >>> from vrspam.tables.texts import Numbers
    >>> input_of_reading("income", Numbers(".", ",", "$")).note
    "In training this was text such as '$1,234.5': give the number, 1234.5."
    """
    return Input(name, DATE) if isinstance(kind, Dates) else Input(name, NUMBER, kind.hint)
