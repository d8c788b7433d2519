"""Model files: readable JSON with a version and a checksum. Nothing in them is ever executed.

Floats are written with as many digits as their bits need (Python's repr), so what is read back has the same bits.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, NoReturn

import numpy as np

import vrspam
from vrspam._utils.atomic import write_text
from vrspam.data import DataError, Schema
from vrspam.tool.calibration import calibration_from_dict
from vrspam.tool.model import Model
from vrspam.tool.scaling import Map
from vrspam.tool.shapes import Shapes

FORMAT = "vrspam-model"
VERSION = 1
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
        "features": None if model.features is None else _plain(model.features.to_dict()),
        "shapes": None if model.shapes is None else model.shapes.to_dict(),
        "calibration": None if model.calibration is None else model.calibration.to_dict(),
        "identifiers": list(model.identifiers),
        "training": dict(model.training),
    }
    head = {"format": FORMAT, "version": VERSION, "written_by": f"vrspam {vrspam.__version__}"}
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
        If the file is no model file, is cut off or changed, or was written by a newer version.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
            if f'"{FORMAT}"'.encode() not in head:
                raise ModelFileError(f"{name} is no vrspam model file: give one that `vrspam train` has written")
            text = (head + file.read()).decode("utf-8")
        whole = json.loads(text, parse_constant=_no_constant)
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read ({error.strerror}): check the name of the model file") from error
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{name} is cut off or damaged: train the model again or get a whole copy") from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise ModelFileError(f"{name} is no vrspam model file: give one that `vrspam train` has written")
    version = whole.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ModelFileError(f"{name} was written by a newer version of vrspam: update the program to use it")
    content = whole.get("model")
    if version != VERSION or not isinstance(content, dict) or whole.get("checksum") != _checksum(content):
        raise ModelFileError(f"{name} was changed or damaged after it was written: train the model again")
    try:
        return _model(content)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = str(error).partition("; ")[0]  # without advice to those who put the parts together
        raise ModelFileError(f"{name} contradicts itself ({reason}): train the model again") from error


def _model(content: dict[str, Any]) -> Model:
    """The model, from what JSON can hold; raises where the parts do not fit."""
    schema = Schema.from_dict(content["schema"])
    _check_schema(schema)
    calibration = content["calibration"]
    if not isinstance(content["training"], dict):
        raise TypeError("training must be a dict")
    if not isinstance(content["positive"], _LABELS):
        raise TypeError("the positive label must be a number or a text")
    return Model(
        schema=schema,
        positive=content["positive"],
        coef=_floats(content["coef"]),
        intercept=float(content["intercept"]),
        means=_floats(content["means"]),
        deviations=_floats(content["deviations"]),
        features=None if content["features"] is None else Map.from_dict(content["features"]),
        shapes=None if content.get("shapes") is None else Shapes.from_dict(content["shapes"]),
        calibration=None if calibration is None else calibration_from_dict(calibration),
        identifiers=tuple(str(name) for name in content["identifiers"]),
        training=content["training"],
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


def _plain(value: Any) -> Any:
    """Arrays as lists."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _checksum(content: dict[str, Any]) -> str:
    """A hash of the content that does not depend on blanks."""
    text = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
