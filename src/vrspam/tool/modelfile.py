"""Write models to files, for this package or other programs, and check them when they are read.

A file is JSON with a version and a checksum, whose long arrays are packed. Nothing in it is ever executed. A packed
array is Base64 of its compressed bytes, little-endian, with its type and shape; equal arrays are stored once. Arrays
are read back with the same bits. Their unpacked size is bounded by the shapes before anything is allocated.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

import vrspam
from vrspam._utils.atomic import replacing, replacing_all
from vrspam._utils.findings import Note, VrspamError, note_from_plain
from vrspam._utils.names import THRESHOLD_RULES
from vrspam._utils.plain import readable, without_surrogates
from vrspam._utils.roles import REMEMBERED
from vrspam.data import DataError, Schema
from vrspam.features.storage import finite_array, parts_from_plain, parts_to_plain
from vrspam.inspection import Shapes
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.model.fingerprint import Fingerprint
from vrspam.model_selection.calibration import Calibration, Isotonic, Sigmoid
from vrspam.tool.model import Model
from vrspam.tool.read_back import ProbeRows, check_onnx, check_python, check_sql

FORMAT = "vrspam-model"
VERSION = 5
PACKED = ("coef", "means", "deviations", "features", "shapes", "calibration")  # where arrays may be packed
TYPES = ("|u1", "|i1", "<u2", "<i2", "<i4", "<i8", "<f8")
_LABELS = {"bool": (bool,), "int64": (int,), "double": (int, float), "string": (str,)}


class ModelFileError(VrspamError):
    """A file cannot be used as a model; the message says why.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from vrspam.tool import ModelFileError, load_model
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "notes.json"
    >>> _ = path.write_text("{}")
    >>> try:
    ...     load_model(path)
    ... except ModelFileError as error:
    ...     print(str(error).partition(" ")[2])
    is not a vrspam model file: give one that `vrspam train` has written
    """


def save_model(model: Model, path: str | os.PathLike[str], rows: Any = None) -> None:
    """Write a model; an old file is replaced only by a whole new one that was read back and gives the same scores.

    Parameters
    ----------
    model : Model
    path : path
        Usually `something.json`.
    rows : frame or array, optional
        Rows with the columns of the model, such as the first ones of its training, that the written model must score
        as `model` does. By default such rows are drawn from the ranges and categories of the columns.

    Raises
    ------
    ModelFileError
        If no file can hold the model, because it has a number that is not finite, or if what was written does not give
        the model back. The old file stays.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import load_model, save_model, train
    >>> model = train(load_breast_cancer(as_frame=True).frame, "target", features="linear")
    >>> path = f"{tempfile.mkdtemp()}/cells.json"
    >>> save_model(model, path)
    >>> bool((load_model(path).coef == model.coef).all())
    True
    """
    name, content = readable(os.fspath(path)), model_to_dict(model)
    if wrong := not_finite(content):
        where = " of ".join(reversed(wrong))
        raise ModelFileError(f"{name} was not written: {where} is not a finite number. Train the model again")
    if wrong_texts := [text for text in _texts_of(model.schema) if not _is_utf8(text)]:
        words = f"{wrong_texts[0]!r} holds half of a surrogate pair, which no file can hold. Correct the text"
        raise ModelFileError(f"{name} was not written: {words}")
    whole = _head(content)
    text = without_surrogates(json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1))
    with replacing(path) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8", newline="")
        try:
            again = load_model(temporary)
        except ModelFileError as error:
            reason = str(error.__cause__ or error)
            raise ModelFileError(f"{name} was not written: the file would not be readable ({reason})") from error
        if checksum(model_to_dict(again)) != whole["checksum"] or not _same_scores(model, again, rows):
            raise ModelFileError(f"{name} was not written: the model in the file would give other scores")


def model_to_dict(model: Model) -> dict[str, Any]:
    """The fields of a model as JSON holds them, with long arrays packed."""
    content: dict[str, Any] = {}
    for name in (one.name for one in fields(model) if one.init):
        value = getattr(model, name)
        content[name] = value.to_dict() if hasattr(value, "to_dict") else value
    content["features"] = None if model.features is None else parts_to_plain(model.features)
    content["threshold"] = None if model.threshold is None else asdict(model.threshold)
    if "warnings" in model.training:  # with their fields, so that parameters can be shown as keywords or as options
        said = model.training["warnings"]
        plain = [note.to_plain() if isinstance(note, Note) else note for note in said]
        content["training"] = {**model.training, "warnings": plain}
    return pack(content)


def _head(content: dict[str, Any]) -> dict[str, Any]:
    """What a file holds: its format, its version and a checksum, then the model."""
    head = {"format": FORMAT, "version": VERSION, "written_by": f"vrspam {vrspam.__version__}"}
    return {**head, "checksum": checksum(content), "model": content}


def not_finite(value: Any, way: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The way to the first number that JSON cannot hold, NaN or an infinity; empty if there is none.

    >>> not_finite({"training": {"rows": 3, "gap": float("nan")}})
    ('training', 'gap')
    """
    if isinstance(value, float):
        return () if np.isfinite(value) else way or ("it",)
    entries: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        entries = value.items()
    elif isinstance(value, list | tuple):
        entries = enumerate(value)
    for key, part in entries:
        if found := not_finite(part, (*way, str(key))):
            return found
    return ()


def _same_scores(model: Model, again: Model, rows: Any) -> bool:
    """Whether both models give rows the same scores, and whether the positive class is called where it was."""
    rows = ProbeRows(model.schema).table if rows is None else rows
    with np.errstate(all="ignore"):  # scores may overflow: both then do
        scores = model.score(rows), again.score(rows)
        if not np.array_equal(*scores, equal_nan=True):
            return False
        if model.calibration is None or again.calibration is None:
            return model.calibration is again.calibration
        return np.array_equal(model.calibration(scores[0]), again.calibration(scores[1]), equal_nan=True)


def _texts_of(schema: Schema) -> list[str]:
    """The names, categories and labels that a table must have as they are."""
    categories = [text for texts in schema.categorical.values() for text in texts]
    labels = [label for label in schema.labels or () if isinstance(label, str)]
    return [*schema.columns, *categories, *labels, schema.target or ""]


def _is_utf8(text: str) -> bool:
    return without_surrogates(text) == text


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
    >>> path = f"{tempfile.mkdtemp()}/cells.json"
    >>> save_model(train(load_breast_cancer(as_frame=True).frame, "target", features="linear"), path)
    >>> load_model(path).training["rows"]
    569
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            head = file.read(256)
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
    if isinstance(version, int) and 1 <= version < VERSION:
        raise ModelFileError(f"{name} was written before the first release of vrspam: train the model again")
    content = whole.get("model")
    if version != VERSION or not isinstance(content, dict) or whole.get("checksum") != checksum(content):
        raise ModelFileError(f"{name} was changed or damaged after it was written: train the model again")
    try:
        return _model(unpack(content))
    except Exception as error:  # wrong types deep inside make NumPy and others raise almost anything
        reason = getattr(error, "problem", str(error))  # without the advice to those who put the parts together
        reason = f"{reason} is missing" if isinstance(error, KeyError) else " ".join(reason.split())
        reason = reason if len(reason) <= 200 else f"{reason[:200]}..."
        raise ModelFileError(f"{name} contradicts itself ({reason}): train the model again") from error


def export_model(
    model: Model,
    *,
    onnx: str | os.PathLike[str] | None = None,
    python: str | os.PathLike[str] | None = None,
    sql: str | os.PathLike[str] | None = None,
    dtype: str = "float64",
) -> list[Path]:
    """Write a model for other programs, in one or more forms; nothing is written if one of them is refused or fails.

    Each form first scores test rows as its reader does (Python, SQLite, onnxruntime where it is installed), and must
    give the scores of the model.

    Parameters
    ----------
    model : Model
    onnx : path, optional
        An ONNX graph; see `vrspam.export.to_onnx`.
    python, sql : path, optional
        A file of plain Python, or one SQL expression, of a linear or additive model; see `vrspam.export.to_python` and
        `vrspam.export.to_sql`.
    dtype : {"float64", "float32"}, default="float64"
        Type of the numbers that go into the ONNX graph and come out of it.

    Returns
    -------
    list of Path
        What was written, each file whole or not at all.

    Raises
    ------
    NotExportable
        With the reason, where a form cannot hold the model.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import export_model, train
    >>> model, path = train(load_breast_cancer(as_frame=True).frame, "target", features="linear"), tempfile.mkdtemp()
    >>> [written.name for written in export_model(model, python=f"{path}/cells.py", sql=f"{path}/cells.sql")]
    ['cells.py', 'cells.sql']
    """
    from vrspam.export import to_python, to_sql

    contents: dict[Path, bytes] = {}
    named = [Path(path) for path in (onnx, python, sql) if path is not None]
    if twice := [path for number, path in enumerate(named) if path in named[:number]]:
        raise ValueError(f"{twice[0]} is named for two forms: give each a file of its own")
    if onnx is not None:
        from vrspam.export import to_onnx  # needs an extra

        contents[Path(onnx)] = to_onnx(model, dtype=dtype).SerializeToString()
        check_onnx(contents[Path(onnx)], model)
    if python is not None:
        text = to_python(model)
        check_python(text, model)
        contents[Path(python)] = text.encode("utf-8")
    if sql is not None:
        text = to_sql(model)
        check_sql(text, model)
        contents[Path(sql)] = text.encode("utf-8")
    with replacing_all(list(contents)) as files:  # no file gets its name before all of them are written
        for file, content in zip(files, contents.values(), strict=True):
            file.write_bytes(content)
    return list(contents)


def _model(content: Mapping[str, Any]) -> Model:
    """Make a model from plain values; raise an error where the parts do not fit together."""
    schema = Schema.from_dict(content["schema"])
    _check_schema(schema, content["schema"])
    calibration: Calibration | None = None
    if content["calibration"] is not None:
        values = dict(content["calibration"])
        method = values.pop("method", None)
        if method == "sigmoid" and set(values) == {"slope", "offset"}:
            calibration = Sigmoid(float(values["slope"]), float(values["offset"]))
        elif method == "isotonic" and set(values) == {"scores", "probabilities"}:
            calibration = Isotonic(*(np.array(values[name], dtype=np.float64) for name in ("scores", "probabilities")))
        else:
            raise ValueError(f"calibration method {method!r} with keys {sorted(values)} is not known")
    chosen, known = content.get("threshold"), content.get("fingerprint")
    if chosen is not None and chosen["rule"] not in THRESHOLD_RULES:
        raise ValueError(f"the rule {chosen['rule']!r} of the threshold is not known")
    for name, value in (chosen or {}).items():
        kind = "text" if name == "rule" else "number or none" if name in ("precision", "confidence") else "number"
        if not _fits(kind, value):
            raise TypeError("the threshold must be a number")
    if known is not None and not (_fits("text", known["salt"]) and _fits("texts", known["rows"])):
        raise TypeError("a fingerprint needs a salt and a list of texts")
    if not isinstance(content["training"], dict):
        raise TypeError("training must be a dict")
    training = dict(content["training"])
    for kind, names in _FACTS.items():
        for name in names:
            if name in training and not _fits(kind, training[name]):
                raise TypeError(f"training holds a wrong value for {name!r}")
    if "warnings" in training:
        training["warnings"] = [note_from_plain(note) for note in training["warnings"]]
    for texts in (content["identifiers"], list(schema.identifiers)):
        if not _fits("texts", texts) or len(set(texts)) < len(texts):
            raise TypeError("identifiers must be a list of different texts")
    arrays: dict[str, Any] = {name: finite_array(content[name]) for name in ("coef", "means", "deviations")}
    if content["features"] is not None:
        arrays["features"] = parts_from_plain(content["features"])
    taken = len(arrays["features"].effects if "features" in arrays else arrays["coef"])
    if (schema.width or 0) > taken:  # before a name is made for each
        raise ValueError(f"the score takes {taken} columns, not {schema.width}")
    return Model(
        schema=schema,
        positive=content["positive"],
        intercept=float(content["intercept"]),
        **arrays,
        shapes=None if content.get("shapes") is None else Shapes.from_dict(content["shapes"]).dated(schema.made()),
        calibration=calibration,
        identifiers=tuple(content["identifiers"]),
        fingerprint=None if known is None else Fingerprint(known["salt"], frozenset(known["rows"])),
        threshold=None if chosen is None else ChosenThreshold(**chosen),
        training=training,
    )


def _check_schema(schema: Schema, plain: Mapping[str, Any]) -> None:
    """Refuse columns that no file can have; `plain` is needed because `Schema.from_dict` has converted some values."""
    for name in ("target", "target_type"):
        if not isinstance(plain[name], str | None):
            raise DataError(f"{name} must be a text")
    if schema.width is not None and not _fits("count", plain["width"]):
        raise DataError("width must be a number of columns")
    filled = 1 if schema.width is not None else len(schema.numeric)
    if schema.fill is None and schema.numeric and plain.get("width") is None:
        raise DataError("the fill values of the numeric columns are missing")
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
    kinds = _LABELS[schema.target_type]
    for label in schema.labels or ():
        if not isinstance(label, kinds) or (bool not in kinds and isinstance(label, bool)):
            raise DataError(f"the label {label!r} is not of type {schema.target_type}")
        if isinstance(label, int | float) and not abs(label) <= sys.float_info.max:
            raise DataError("a label is too large")


# What pages and commands show about the training; a model may lack any of these, and have others.
_FACTS = {
    "count": ("rows", "positives", "columns", "features", "rows_held", "nonzero", "folds"),
    "number": (
        *("l2", "l1", "max_fpr", "objective"),
        *("independent_auc", "unconstrained_auc"),
        *("cv_auc", "cv_auc_low", "cv_auc_high", "cv_partial_auc", "cv_partial_auc_low", "cv_partial_auc_high"),
    ),
    "number or none": (
        *("corrected_auc", "corrected_auc_low", "corrected_auc_high"),
        *("gap", "relative_gap", "stationarity", "relative_stationarity"),
    ),
    "text": ("penalty", "map", "loss", *REMEMBERED),
    "texts": ("data",),
    "selection": ("selection",),
    "directions": ("monotone",),
    "notes": ("warnings",),
}


def _fits(kind: str, value: Any) -> bool:
    """Whether a fact about the training is of this kind."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    match kind:
        case "number":
            return is_number
        case "number or none":
            return value is None or is_number
        case "count":
            return is_number and isinstance(value, int) and 0 <= value < 2**63
        case "text":
            return isinstance(value, str)
        case "directions":
            return isinstance(value, dict) and all(sign in (-1, 0, 1) for sign in value.values())
        case "texts" | "notes":
            return isinstance(value, list) and all(_fits(kind[:-1], one) for one in value)
        case "note":  # `note_from_plain` looks at the parts of a dict
            return isinstance(value, str | dict)
        case _:  # the feature maps that were compared
            shown = {"features": "text", "n_features": "count", "auc": "number", "standard_error": "number"}
            others = {"score": "number", "weight": "number", "rows": "count"}
            return isinstance(value, list) and all(
                isinstance(row, dict)
                and isinstance(row.get("chosen"), bool)
                and all(_fits(kind, row.get(name)) for name, kind in shown.items())
                and all(_fits(kind, row.get(name, 0)) for name, kind in others.items())
                for row in value
            )


def checksum(content: Any) -> str:
    """A hash of the content that does not depend on blanks."""
    text = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def pack(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content with its arrays and long lists of numbers moved to one list `arrays`, each of them once."""
    few_numbers = 32  # a list of at most this many numbers stays readable
    arrays: list[dict[str, Any]] = []
    places: dict[tuple[str, tuple[int, ...], bytes], int] = {}

    def referred(array: np.ndarray) -> dict[str, int]:
        place = places.setdefault((array.dtype.str, array.shape, array.tobytes()), len(arrays))
        if place == len(arrays):
            arrays.append(_pack_array(array))
        return {"array": place}

    def packed(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): packed(part) for key, part in value.items()}
        if isinstance(value, np.ndarray | np.generic) and value.size <= few_numbers:
            return value.tolist()
        if isinstance(value, np.ndarray):
            return referred(_smallest(value))
        if isinstance(value, list | tuple):
            if len(value) > few_numbers and _are_numbers(value):
                return referred(np.array(value, dtype="<f8"))  # None is NaN
            return [packed(part) for part in value]
        return value

    found = {name: packed(value) if name in PACKED else value for name, value in content.items()}
    return {**found, "arrays": arrays} if arrays else found


def _are_numbers(values: Sequence[Any]) -> bool:
    """Whether values are finite numbers, some of which may be missing: nothing but None can be anything."""
    if all(value is None for value in values):
        return False
    return all(value is None or (type(value) is float and bool(np.isfinite(value))) for value in values)


def unpack(content: Mapping[str, Any]) -> dict[str, Any]:
    """Undo `pack`; long lists of numbers come back as arrays, and forged sizes are refused."""
    packed = content.get("arrays", [])
    if not isinstance(packed, list) or not all(isinstance(one, dict) for one in packed):
        raise TypeError("arrays must be a list")
    data = sum(len(one["data"]) if isinstance(one.get("data"), str) else 0 for one in packed)
    declared = 0  # the size of all arrays by their types and shapes
    for one in packed:
        values = one.get("values")
        if values is not None and (not isinstance(values, dict) or values.get("values") is not None):
            raise ValueError("the values of an array are damaged")
        for part in [one] if values is None else [one, values]:
            kind, shape = part.get("type"), part.get("shape")
            if kind not in TYPES or not isinstance(shape, list) or not 1 <= len(shape) <= 3:
                raise ValueError("an array has no type or shape")
            if not all(type(size) is int and 0 <= size < 2**40 for size in shape):
                raise ValueError("an array has no type or shape")
            declared += prod(shape) * np.dtype(kind).itemsize
        declared += 0 if values is None else 8 * prod(one["shape"])
    if declared > max(1 << 28, 64 * data):  # bytes that any file may declare, or a multiple of its data
        raise ValueError("the arrays would be far larger than the file")
    arrays = [_unpack_array(one) for one in packed]

    def unpacked(value: Any) -> Any:
        if isinstance(value, dict):
            if set(value) == {"array"} and type(value["array"]) is int:
                if not 0 <= value["array"] < len(arrays):
                    raise ValueError("an array is not there")
                return arrays[value["array"]]
            return {key: unpacked(part) for key, part in value.items()}
        return [unpacked(part) for part in value] if isinstance(value, list) else value

    return {name: unpacked(value) if name in PACKED else value for name, value in content.items() if name != "arrays"}


def _smallest(array: np.ndarray) -> np.ndarray:
    """The same numbers in the smallest type that holds all of them."""
    if array.dtype.kind == "f":
        return array.astype("<f8")
    low, high = (int(array.min()), int(array.max())) if array.dtype.kind != "b" else (0, 1)
    for kind in TYPES[:-1]:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return array.astype(kind)
    raise ValueError("an array holds whole numbers that are too large")


def _pack_array(array: np.ndarray) -> dict[str, Any]:
    """Pack an array; if it has few distinct numbers, pack them once, and the place of each element among them."""
    own = _compressed(array)
    if array.itemsize > 1:
        bits, places = np.unique(array.ravel().view(f"<i{array.itemsize}"), return_inverse=True)  # -0.0 is not 0.0
        if bits.size < array.size / 2:
            values, numbers = _compressed(bits.view(array.dtype)), _compressed(_smallest(places.reshape(array.shape)))
            if len(values["data"]) + len(numbers["data"]) < len(own["data"]):
                return {**numbers, "values": values}
    return own


def _compressed(array: np.ndarray) -> dict[str, Any]:
    # the first bytes of all numbers, then all second bytes: the bytes of exponents are much alike
    raw = np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8).T.tobytes()
    data = base64.b64encode(zlib.compress(raw, 9)).decode("ascii")
    return {"type": array.dtype.str, "shape": list(array.shape), "packed": "zlib", "data": data}


def _unpack_array(plain: Mapping[str, Any]) -> np.ndarray:
    kind, shape, data = np.dtype(plain["type"]), plain["shape"], plain.get("data")
    if not isinstance(data, str):
        raise TypeError("an array holds no data")
    size = prod(shape) * kind.itemsize
    if plain.get("packed") != "zlib":
        raise ValueError("an array is packed in an unknown way")
    try:
        raw = zlib.decompressobj().decompress(base64.b64decode(data, validate=True), size + 1)  # no more than declared
    except (ValueError, zlib.error) as error:
        raise ValueError("an array is damaged") from error
    if len(raw) != size:
        raise ValueError("an array has another size than it says")
    found = np.frombuffer(raw, dtype=np.uint8).reshape(kind.itemsize, -1).T
    array = np.ascontiguousarray(found).view(kind).reshape(shape)
    if plain.get("values") is None:
        return array
    values = _unpack_array(plain["values"])
    if kind.kind == "f" or (array.size and not (array.min() >= 0 and array.max() < values.size)):
        raise ValueError("the values of an array are damaged")
    return values.ravel()[array]
