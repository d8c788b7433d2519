"""Model files: readable JSON with a version and a checksum. Nothing in them is ever executed.

Floats are written with as many digits as their bits need (Python's repr), so what is read back has the same bits.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

import vrspam
from vrspam._utils.atomic import write_text
from vrspam._utils.messages import WordedText
from vrspam.data import DataError, Schema
from vrspam.data.errors import problem_of
from vrspam.features import map_from_dict
from vrspam.tool.calibration import calibration_from_dict
from vrspam.tool.model import Model, Shapes
from vrspam.tool.modelfile_v1 import EncodedMap, EncodedModel

FORMAT = "vrspam-model"
VERSION = 2
HEAD = 256  # bytes that tell a model file from others
_LABELS = (bool, int, float, str)


class ModelFileError(ValueError):
    """A file cannot be used as a model; the message says why."""


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model; an old file is replaced only by a whole new one.

    Parameters
    ----------
    model : Model
    path : path
        By custom `something.json`.
    """
    content = {
        "schema": model.schema.to_dict(),
        "positive": model.positive,
        "coef": model.coef.tolist(),
        "intercept": model.intercept,
        "means": model.means.tolist(),
        "deviations": model.deviations.tolist(),
        "features": None if model.features is None else plain_values(model.features.to_dict()),
        "shapes": None if model.shapes is None else model.shapes.to_dict(),
        "calibration": None if model.calibration is None else model.calibration.to_dict(),
        "identifiers": list(model.identifiers),
        "training": _with_notes(model.training, _plain_note),
    }
    head = {"format": FORMAT, "version": model.version, "written_by": f"vrspam {vrspam.__version__}"}
    whole = {**head, "checksum": _checksum(content), "model": content}
    write_text(path, json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1) + "\n")


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
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
            if f'"{FORMAT}"'.encode() not in head:
                raise ModelFileError(f"{name} is not a vrspam model file: give one that `vrspam train` has written")
            text = (head + file.read()).decode("utf-8")
        whole = json.loads(text, parse_constant=_no_constant)
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read ({error.strerror}): check the name of the model file") from error
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{name} is cut off or damaged: train the model again or get a whole copy") from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise ModelFileError(f"{name} is not a vrspam model file: give one that `vrspam train` has written")
    version = whole.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ModelFileError(f"{name} was written by a newer version of vrspam: update the program to use it")
    content = whole.get("model")
    whole_content = version in (1, VERSION) and isinstance(content, dict)
    if not whole_content or whole.get("checksum") != _checksum(content):
        raise ModelFileError(f"{name} was changed or damaged after it was written: train the model again")
    try:
        return _model(content, version)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        # without the advice to those who put the parts together
        raise ModelFileError(f"{name} contradicts itself ({problem_of(error)}): train the model again") from error


def _model(content: Any, version: Any) -> Model:
    """The model, from what JSON can hold; raises where the parts do not fit."""
    schema = Schema.from_dict(content["schema"])
    _check_schema(schema)
    calibration = content["calibration"]
    if not isinstance(content["training"], dict):
        raise TypeError("training must be a dict")
    if not isinstance(content["positive"], _LABELS):
        raise TypeError("the positive label must be a number or a text")
    features, kind = content["features"], Model
    if features is not None and version == 1:
        kind, features = EncodedModel, EncodedMap.from_dict(features)
    elif features is not None:
        features = map_from_dict(features)
    return kind(
        schema=schema,
        positive=content["positive"],
        coef=_floats(content["coef"]),
        intercept=float(content["intercept"]),
        means=_floats(content["means"]),
        deviations=_floats(content["deviations"]),
        features=features,
        shapes=None if content.get("shapes") is None else Shapes.from_dict(content["shapes"]),
        calibration=None if calibration is None else calibration_from_dict(calibration),
        identifiers=tuple(str(name) for name in content["identifiers"]),
        training=_with_notes(content["training"], WordedText.from_plain),
    )


def _check_schema(schema: Schema) -> None:
    filled = 1 if schema.width is not None else len(schema.numeric)
    if schema.fill is not None and len(schema.fill) != filled:
        raise DataError(f"{len(schema.fill)} fill values for {filled} numeric columns")
    if not np.isfinite(schema.fill or 0.0).all():
        raise DataError("fill values must be finite")
    if schema.target_type not in ("bool", "int64", "double", "string"):
        raise DataError(f"labels of type {schema.target_type!r}")
    if not all(isinstance(label, _LABELS) for label in schema.labels or ()):
        raise DataError("labels must be numbers or texts")


def _floats(values: Any) -> np.ndarray:
    array = np.array(values)
    if array.dtype.kind not in "fi":
        raise TypeError("an array holds something else than numbers")
    return array.astype(np.float64)


def plain_values(value: Any) -> Any:
    """Arrays as lists."""
    if isinstance(value, dict):
        return {str(key): plain_values(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _with_notes(training: Mapping[str, Any], form: Callable[[Any], Any]) -> dict[str, Any]:
    """Facts about the training with its warnings in another form."""
    if "warnings" not in training:
        return dict(training)
    return {**training, "warnings": [form(note) for note in training["warnings"]]}


def _plain_note(note: str) -> Any:
    """A warning with its fields, so that a reader can be shown parameters in other terms."""
    return note.to_plain() if isinstance(note, WordedText) else note


def _checksum(content: Any) -> str:
    """A hash of the content that does not depend on blanks."""
    text = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
