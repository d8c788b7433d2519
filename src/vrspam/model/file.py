"""Model files: JSON with a version and a checksum, whose long arrays are packed. Nothing in them is ever executed.

A packed array is Base64 of its compressed bytes, little-endian, with its type and shape; equal ones are there once.
What is read back has the same bits. The unpacked size is bounded by the shapes before anything is allocated.
"""

import base64
import hashlib
import json
import lzma
import os
import zlib
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

import vrspam
from vrspam._utils.atomic import write_text
from vrspam.features import parts
from vrspam.features.encoders import Curves, Encoder, Indicators, encoder_from_dict, same_encoders

FORMAT = "vrspam-model"
VERSION = 5  # 4: maps instead of the parts of the score, numbers as text; 3: no readings of text and dates; 2: no pairs
PACKED = ("coef", "means", "deviations", "features", "shapes", "calibration")  # where arrays may be packed
TYPES = ("|u1", "|i1", "<u2", "<i2", "<i4", "<i8", "<f8")


class ModelFileError(ValueError):
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


def write_file(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write the content of a model, which may hold arrays; an old file is replaced only by a whole new one."""
    content = pack(content)
    head = {"format": FORMAT, "version": VERSION, "written_by": f"vrspam {vrspam.__version__}"}
    whole = {**head, "checksum": checksum(content), "model": content}
    write_text(path, json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], int]:
    """The content of a model file, with arrays still packed, and its version; other files are refused."""
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
    content = whole.get("model")
    known = version if isinstance(version, int) and 1 <= version <= VERSION else None
    if known is None or not isinstance(content, dict) or whole.get("checksum") != checksum(content):
        raise ModelFileError(f"{name} was changed or damaged after it was written: train the model again")
    return content, int(known)


def checksum(content: Any) -> str:
    """A hash of the content that does not depend on blanks."""
    text = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


# Arrays.


def pack(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with its arrays, and long lists of numbers, in one list `arrays`, each once."""
    few_numbers = 32  # up to so many stay a readable list
    arrays: dict[tuple[str, tuple[int, ...], bytes], dict[str, Any]] = {}
    places: dict[tuple[str, tuple[int, ...], bytes], int] = {}

    def referred(array: np.ndarray) -> dict[str, int]:
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in places:
            arrays[key] = _pack_array(array)
            places[key] = len(places)
        return {"array": places[key]}

    def packed(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): packed(part) for key, part in value.items()}
        if isinstance(value, np.ndarray | np.generic) and value.size <= few_numbers:
            return value.tolist()
        if isinstance(value, np.ndarray):
            return referred(_smallest(value))
        if isinstance(value, list | tuple):
            numbers = (one is None or (type(one) is float and bool(np.isfinite(one))) for one in value)
            if len(value) > few_numbers and all(numbers):
                return referred(np.array(value, dtype="<f8"))  # None is NaN
            return [packed(part) for part in value]
        return value

    found = {name: packed(value) if name in PACKED else value for name, value in content.items()}
    return {**found, "arrays": list(arrays.values())} if arrays else found


def unpack(content: Mapping[str, Any]) -> dict[str, Any]:
    """What `pack` was given, with arrays where lists of numbers were long; forged sizes are refused."""
    packed = content.get("arrays", [])
    if not isinstance(packed, list) or not all(isinstance(one, dict) for one in packed):
        raise TypeError("arrays must be a list")
    data = sum(len(one["data"]) if isinstance(one.get("data"), str) else 0 for one in packed)
    if sum(map(_declared_bytes, packed)) > max(1 << 28, 64 * data):  # bytes that any file may hold, or times its size
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
    """One array; where there are few different numbers, these numbers and the place of each one among them."""
    own = _compressed(array)
    if array.itemsize > 1:
        bits, places = np.unique(array.ravel().view(f"<i{array.itemsize}"), return_inverse=True)  # -0.0 is not 0.0
        if bits.size < array.size / 2:
            values, numbers = _compressed(bits.view(array.dtype)), _compressed(_smallest(places.reshape(array.shape)))
            if len(values["data"]) + len(numbers["data"]) < len(own["data"]):
                return {**numbers, "values": values}
    return own


def _compressed(array: np.ndarray) -> dict[str, Any]:
    # the first bytes of all numbers, then the second ones: those of the exponents are much alike
    raw = np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8).T.tobytes()
    ways = {"zlib": zlib.compress(raw, 9)}
    if len(raw) >= 1 << 12:  # fewer bytes are not packed tighter, and take long
        ways["lzma"] = lzma.compress(raw)
    way = min(ways, key=lambda name: len(ways[name]))
    data = base64.b64encode(ways[way]).decode("ascii")
    return {"type": array.dtype.str, "shape": list(array.shape), "packed": way, "data": data}


def _declared_bytes(plain: Mapping[str, Any]) -> int:
    """The size of an array by its type and shape, which are checked."""
    kind, shape, values = plain.get("type"), plain.get("shape"), plain.get("values")
    if kind not in TYPES or not isinstance(shape, list) or not 1 <= len(shape) <= 3:
        raise ValueError("an array has no type or shape")
    if not all(type(size) is int and 0 <= size < 2**40 for size in shape):
        raise ValueError("an array has no type or shape")
    own = prod(shape) * np.dtype(kind).itemsize
    if values is None:
        return own
    if not isinstance(values, dict) or values.get("values") is not None:
        raise ValueError("the values of an array are damaged")
    return own + _declared_bytes(values) + 8 * prod(shape)


def _unpack_array(plain: Mapping[str, Any]) -> np.ndarray:
    kind, shape, data = np.dtype(plain["type"]), plain["shape"], plain.get("data")
    if not isinstance(data, str):
        raise TypeError("an array holds no data")
    size = prod(shape) * kind.itemsize
    unpacking: Any = zlib.decompressobj() if plain.get("packed") == "zlib" else lzma.LZMADecompressor(memlimit=1 << 26)
    try:
        raw = unpacking.decompress(base64.b64decode(data, validate=True), size + 1)  # never more than was declared
    except (ValueError, zlib.error, lzma.LZMAError) as error:
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


# The parts of a score.


def parts_to_dict(score: parts.Parts) -> dict[str, Any]:
    """Plain values and arrays; encoders that several parts have alike are there once."""
    encoders: list[Sequence[Encoder]] = []

    def number(own: Sequence[Encoder]) -> int:
        for place, known in enumerate(encoders):
            if same_encoders(own, known):
                return place
        encoders.append(own)
        return len(encoders) - 1

    kernels = [
        {"encoders": number(part.encoders), "landmarks": part.landmarks, "gamma": part.gamma, "coef": part.coef}
        for part in score.kernels
    ]
    trees = [
        {
            "encoders": number(part.encoders),
            "trees": _with_few_splits(part),
            **({"codes": part.codes} if part.codes is not None else {}),
            **({"leaves": part.leaves} if part.codes is None and part.has_landmarks else {}),
            "coef": part.coef,
        }
        for part in score.trees
    ]
    return {
        "effects": [None if effect is None else _effect_to_dict(effect) for effect in score.effects],
        "encoders": [[encoder.to_dict() for encoder in own] for own in encoders],
        "kernels": kernels,
        "trees": trees,
    }


def _effect_to_dict(effect: parts.Effect) -> dict[str, Any]:
    if isinstance(effect, parts.Curve):
        ends = {"left": float(effect.left), "right": float(effect.right), "missing": float(effect.missing)}
        return {"nodes": effect.nodes, "values": effect.values, **ends}
    names = {"categories": list(effect.values), "values": np.array(list(effect.values.values()), dtype=np.float64)}
    return {**names, "missing": float(effect.missing), "other": float(effect.other)}


def _with_few_splits(part: parts.TreePart) -> dict[str, np.ndarray]:
    """The trees with the same numbers wherever nodes split the categories of a column in the same way."""
    trees = {name: part.trees[name].copy() for name in parts.TREE_ARRAYS}
    for column, encoder in enumerate(part.encoders):
        here = trees["columns"] == column
        if isinstance(encoder, Indicators) and here.any():
            sides = parts.split_sides(trees["multipliers"][here], trees["thresholds"][here], encoder.width)
            _, first, numbers = np.unique(sides, axis=0, return_index=True, return_inverse=True)
            for name in ("multipliers", "thresholds"):
                trees[name][here] = trees[name][here][first][numbers.ravel()]
    return trees


def parts_from_dict(plain: Any) -> parts.Parts:
    """The parts that `parts_to_dict` wrote, or what is wrong with them."""
    if not isinstance(plain, dict) or set(plain) != {"effects", "encoders", "kernels", "trees"}:
        raise ValueError("this is not a stored score: save the model again")
    effects = tuple(None if effect is None else _effect_from_dict(effect) for effect in plain["effects"])
    encoders = [[encoder_from_dict(encoder) for encoder in own] for own in plain["encoders"]]
    if any(len(own) != len(effects) for own in encoders):
        raise ValueError(f"a score of {len(effects)} columns has parts of another number")
    kernels = tuple(parts.kernel_from_dict(part, _own(encoders, part)) for part in plain["kernels"])
    trees = tuple(parts.trees_from_dict(part, _own(encoders, part)) for part in plain["trees"])
    for j, effect in enumerate(effects):
        kinds = [isinstance(own[j], Curves) for own in encoders]
        kinds += [] if effect is None else [isinstance(effect, parts.Curve)]
        if len(set(kinds)) > 1:
            raise ValueError(f"column {j} holds numbers in one part of the score, and categories in another")
    return parts.Parts(effects, kernels, trees)


def _own(encoders: list[list[Encoder]], part: Mapping[str, Any]) -> list[Encoder]:
    """The encoders of a part, which says their number."""
    number = part["encoders"]
    if type(number) is not int or not 0 <= number < len(encoders):
        raise ValueError("a part of the score has no encoders")
    return encoders[number]


def _effect_from_dict(plain: Mapping[str, Any]) -> parts.Effect:
    values, missing = parts.floats(plain["values"]), parts.finite(plain["missing"])
    if "categories" in plain:
        names = plain["categories"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TypeError("categories must be different texts")
        if values.shape != (len(names),) or len(set(names)) < len(names):
            raise ValueError("categories must be different texts, with a number each")
        return parts.Table(dict(zip(names, values.tolist(), strict=True)), missing, parts.finite(plain["other"]))
    nodes = parts.floats(plain["nodes"])
    if nodes.ndim != 1 or nodes.size == 0 or values.shape != nodes.shape or not (np.diff(nodes) > 0.0).all():
        raise ValueError("a curve needs a number at each of its increasing nodes")
    return parts.Curve(nodes, values, parts.finite(plain["left"]), parts.finite(plain["right"]), missing)
