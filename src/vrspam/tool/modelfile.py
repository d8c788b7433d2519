"""Models and the content of their files: what a model holds is written and, when it is read, checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vrspam._utils.messages import Message
from vrspam.data import DataError, Schema
from vrspam.data.errors import problem_of
from vrspam.model.file import (
    VERSION,
    ModelFileError,
    floats,
    parts_from_dict,
    parts_to_dict,
    read_file,
    unpack,
    write_file,
)
from vrspam.model.shapes import Shapes
from vrspam.model_selection.calibration import calibration_from_dict
from vrspam.tool.fingerprint import Fingerprint
from vrspam.tool.model import Model
from vrspam.tool.old_files import parts_of_old_file

LONGEST = 200  # characters of a reason that quotes a file
_LABELS = {"bool": (bool,), "int64": (int,), "double": (int, float), "string": (str,)}


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model; an old file is replaced only by a whole new one.

    Parameters
    ----------
    model : Model
    path : path
        By custom `something.json`.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import load_model, save_model, train
    >>> path = f"{tempfile.mkdtemp()}/cells.csv"
    >>> load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    >>> model = train(path, "target", features="linear")
    >>> save_model(model, f"{path}.json")
    >>> bool((load_model(f"{path}.json").coef == model.coef).all())
    True
    """
    content = {
        "schema": model.schema.to_dict(),
        "positive": model.positive,
        "coef": model.coef,
        "intercept": model.intercept,
        "means": model.means,
        "deviations": model.deviations,
        "features": None if model.features is None else parts_to_dict(model.features),
        "shapes": None if model.shapes is None else model.shapes.to_dict(),
        "calibration": None if model.calibration is None else model.calibration.to_dict(),
        "identifiers": list(model.identifiers),
        "fingerprint": None if model.fingerprint is None else model.fingerprint.to_dict(),
        "training": _with_notes(model.training, _plain_note),
    }
    write_file(path, content)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read what `save_model` wrote, to the bit; anything else is refused with one sentence.

    Parameters
    ----------
    path : path

    Returns
    -------
    Model

    Raises
    ------
    ModelFileError
        If the file is not a model file, is cut off or changed, or was written by a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import load_model, save_model, train
    >>> path = f"{tempfile.mkdtemp()}/cells.csv"
    >>> load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    >>> save_model(train(path, "target", features="linear"), f"{path}.json")
    >>> load_model(f"{path}.json").training["data"]
    ['cells.csv']
    """
    content, version = read_file(path)
    try:
        return _model(unpack(content) if version == VERSION else content, version)
    except Exception as error:  # wrong types deep inside make NumPy and others raise almost anything
        reason = str(problem_of(error))  # without the advice to those who put the parts together
        reason = f"{reason} is missing" if isinstance(error, KeyError) else " ".join(reason.split())
        reason = reason if len(reason) <= LONGEST else f"{reason[:LONGEST]}..."
        raise ModelFileError(f"{os.fspath(path)} contradicts itself ({reason}): train the model again") from error


def _model(content: Mapping[str, Any], version: int) -> Model:
    """The model, from what JSON can hold; raises where the parts do not fit."""
    schema = Schema.from_dict(content["schema"])
    _check_schema(schema, content["schema"])
    calibration = content["calibration"]
    _check_training(content["training"])
    if not isinstance(content["positive"], bool | int | float | str):
        raise TypeError("the positive label must be a number or a text")
    if not _is_texts(content["identifiers"]):
        raise TypeError("identifiers must be a list of texts")
    arrays: dict[str, Any] = {name: floats(content[name]) for name in ("coef", "means", "deviations")}
    if content["features"] is None:
        taken = len(arrays["coef"])
        if (schema.width or 0) > taken:  # before a name is made for each
            raise ValueError(f"coef has shape {(taken,)} where the columns need {(schema.width,)}")
    elif version == VERSION:
        arrays["features"] = parts_from_dict(content["features"])
        if (schema.width or 0) > len(arrays["features"].effects):
            raise ValueError(f"the score takes {len(arrays['features'].effects)} columns, not {schema.width}")
    else:
        arrays = parts_of_old_file(content["features"], schema, arrays["coef"], arrays["means"], version)
    return Model(
        schema=schema,
        positive=content["positive"],
        intercept=float(content["intercept"]),
        **arrays,
        shapes=None if content.get("shapes") is None else Shapes.from_dict(content["shapes"]),
        calibration=None if calibration is None else calibration_from_dict(calibration),
        identifiers=tuple(content["identifiers"]),
        fingerprint=None if content.get("fingerprint") is None else Fingerprint.from_dict(content["fingerprint"]),
        training=_with_notes(content["training"], Message.from_plain),
    )


def _check_schema(schema: Schema, plain: Mapping[str, Any]) -> None:
    """Refuse columns that no file can have; `Schema.from_dict` has turned some values into what they should be."""
    for name in ("target", "target_type"):
        if not isinstance(plain[name], str | None):
            raise DataError(f"{name} must be a text")
    if not _is_count(0 if schema.width is None else plain["width"]):
        raise DataError("width must be a number of columns")
    filled = 1 if schema.width is not None else len(schema.numeric)
    if schema.fill is not None and len(schema.fill) != filled:
        raise DataError(f"{len(schema.fill)} fill values for {filled} numeric columns")
    if not np.isfinite(schema.fill or 0.0).all():
        raise DataError("fill values must be finite")
    if schema.target_type not in _LABELS:
        raise DataError(f"labels of type {schema.target_type!r}")
    if schema.target is None and schema.width is None:
        raise DataError("no column holds the labels")
    columns = [*schema.numeric, *schema.categorical, *([] if schema.target is None else [schema.target])]
    for names in (columns, *schema.categorical.values()):
        if len(set(names)) < len(names):
            raise DataError("two columns or categories have the same name")
    for name, kind in schema.readings.items():
        if not set(kind.made(name)) <= set(schema.numeric) or name in schema.categorical:
            raise DataError(f"column {name!r} is read as numbers that are not there")
    if not all(isinstance(label, bool | int | float | str) for label in schema.labels or ()):
        raise DataError("labels must be numbers or texts")
    kinds = _LABELS[schema.target_type]
    for label in schema.labels or ():
        if not isinstance(label, kinds) or (bool not in kinds and isinstance(label, bool)):
            raise DataError(f"the label {label!r} is not of type {schema.target_type}")
        if isinstance(label, int | float) and not abs(label) <= sys.float_info.max:
            raise DataError("a label is too large")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_selection(value: Any) -> bool:
    """Whether these are the feature maps that were compared, as pages and commands show them."""
    shown = {"features": _is_text, "n_features": _is_count, "auc": _is_number, "standard_error": _is_number}
    return isinstance(value, list) and all(
        isinstance(row, dict)
        and isinstance(row.get("chosen"), bool)
        and all(name in row and fits(row[name]) for name, fits in shown.items())
        and all(name not in row or _is_number(row[name]) for name in ("score", "weight"))
        and _is_count(row.get("rows", 0))
        for row in value
    )


def _is_note(value: Any) -> bool:
    """Whether this is a text, or a template whose fields can be shown."""
    if not isinstance(value, dict):
        return isinstance(value, str)
    fields = value.get("fields")
    return _is_text(value.get("template")) and isinstance(fields, dict) and all(map(_is_field, fields.values()))


def _is_field(value: Any) -> bool:
    if isinstance(value, dict):
        return _is_text(value.get("parameter")) and "value" in value and _is_field_value(value["value"])
    return _is_field_value(value)


def _is_field_value(value: Any) -> bool:
    return value is None or isinstance(value, bool | str) or _is_number(value) or _is_texts(value)


def _is_number_or_none(value: Any) -> bool:
    return value is None or _is_number(value)


def _are_notes(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_note, value))


# What pages and commands show about the training; a model may lack any of these, and have others.
_FACTS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("rows", "positives", "columns", "features", "rows_held", "nonzero", "folds"), _is_count),
    **dict.fromkeys(
        ("l2", "l1", "cv_auc", "cv_auc_low", "cv_auc_high", "objective", "gap", "relative_gap"), _is_number
    ),
    **dict.fromkeys(("max_fpr", "cv_partial_auc", "cv_partial_auc_low", "cv_partial_auc_high"), _is_number),
    **dict.fromkeys(("corrected_auc", "corrected_auc_low", "corrected_auc_high"), _is_number_or_none),
    **dict.fromkeys(("stationarity", "relative_stationarity"), _is_number),
    "penalty": _is_text,
    "data": _is_texts,
    "map": _is_text,
    "loss": _is_text,
    "selection": _is_selection,
    "warnings": _are_notes,
}


def _check_training(training: Any) -> None:
    if not isinstance(training, dict):
        raise TypeError("training must be a dict")
    for name, fits in _FACTS.items():
        if name in training and not fits(training[name]):
            raise TypeError(f"training says about {name!r} what cannot be shown")


def _with_notes(training: Mapping[str, Any], form: Callable[[Any], Any]) -> dict[str, Any]:
    """Facts about the training with its warnings in another form."""
    if "warnings" not in training:
        return dict(training)
    return {**training, "warnings": [form(note) for note in training["warnings"]]}


def _plain_note(note: str) -> Any:
    """A warning with its fields, so that a reader can be shown parameters in other terms."""
    return note.to_plain() if isinstance(note, Message) else note
