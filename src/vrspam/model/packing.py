"""Arrays as text in JSON: each once, Base64 of compressed bytes, little-endian, with type and shape.

They are read back with the same bits. Their unpacked size is bounded by their shapes before anything is allocated.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

TYPES = ("|u1", "|i1", "<u2", "<i2", "<i4", "<i8", "<f8")
MOST_BYTES = 1 << 28  # that the arrays of any file may declare
MOST_EXPANSION = 64  # or so many times the length of their data


class ArrayPacker:
    """Arrays to be written, equal ones once."""

    def __init__(self) -> None:
        self.packed: list[dict[str, Any]] = []
        self._places: dict[tuple[str, tuple[int, ...], bytes], int] = {}

    def place(self, array: np.ndarray) -> int:
        """The place of an array among those that are written."""
        smallest = _smallest(array)
        key = (smallest.dtype.str, smallest.shape, smallest.tobytes())
        if key not in self._places:
            self._places[key] = len(self.packed)
            self.packed.append(pack_array(smallest))
        return self._places[key]


def pack_array(array: np.ndarray) -> dict[str, Any]:
    """Pack an array; if it has few distinct numbers, pack them once, and the place of each element among them."""
    whole = _compressed(array)
    if array.itemsize == 1:
        return whole
    bits, places = np.unique(array.ravel().view(f"<i{array.itemsize}"), return_inverse=True)  # -0.0 is not 0.0
    if bits.size >= array.size / 2:
        return whole
    values = _compressed(bits.view(array.dtype))
    numbers = _compressed(_smallest(places.reshape(array.shape)))
    if len(values["data"]) + len(numbers["data"]) < len(whole["data"]):
        return {**numbers, "values": values}
    return whole


def _smallest(array: np.ndarray) -> np.ndarray:
    """The same numbers in the smallest type that holds all of them."""
    if array.dtype.kind == "f":
        return array.astype("<f8")
    low, high = 0, 1
    if array.dtype.kind != "b" and array.size:
        low, high = int(array.min()), int(array.max())
    for kind in TYPES[:-1]:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return array.astype(kind)
    raise ValueError("an array holds whole numbers that are too large")


def _compressed(array: np.ndarray) -> dict[str, Any]:
    # the first bytes of all numbers, then all second bytes: the bytes of exponents are much alike
    by_place = np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8).T.tobytes()
    data = base64.b64encode(zlib.compress(by_place, 9)).decode("ascii")
    return {"type": array.dtype.str, "shape": list(array.shape), "packed": "zlib", "data": data}


def unpack_arrays(packed: Any) -> list[np.ndarray]:
    """The arrays that an `ArrayPacker` packed; forged sizes are refused before anything is unpacked."""
    if not isinstance(packed, list) or not all(isinstance(plain, dict) for plain in packed):
        raise TypeError("arrays must be a list")
    data_length = 0
    declared_bytes = 0
    for plain in packed:
        if isinstance(plain.get("data"), str):
            data_length += len(plain["data"])
        declared_bytes += _declared_bytes(plain)
    if declared_bytes > max(MOST_BYTES, MOST_EXPANSION * data_length):
        raise ValueError("the arrays would be far larger than the file")
    return [_unpack_array(plain) for plain in packed]


def _declared_bytes(plain: Mapping[str, Any]) -> int:
    """The size of an array by its type and its shape."""
    values = plain.get("values")
    if values is None:
        return _size_of(plain)
    if not isinstance(values, dict) or values.get("values") is not None:
        raise ValueError("the values of an array are damaged")
    return _size_of(plain) + _size_of(values) + 8 * prod(plain["shape"])


def _size_of(plain: Mapping[str, Any]) -> int:
    kind, shape = plain.get("type"), plain.get("shape")
    if kind not in TYPES or not isinstance(shape, list) or not 1 <= len(shape) <= 3:
        raise ValueError("an array has no type or shape")
    if not all(type(length) is int and 0 <= length < 2**40 for length in shape):
        raise ValueError("an array has no type or shape")
    return prod(shape) * np.dtype(kind).itemsize


def _unpack_array(plain: Mapping[str, Any]) -> np.ndarray:
    kind, shape, data = np.dtype(plain["type"]), plain["shape"], plain.get("data")
    if not isinstance(data, str):
        raise TypeError("an array holds no data")
    if plain.get("packed") != "zlib":
        raise ValueError("an array is packed in an unknown way")
    size = prod(shape) * kind.itemsize
    try:
        unpacked = zlib.decompressobj().decompress(base64.b64decode(data, validate=True), size + 1)
    except (ValueError, zlib.error) as error:
        raise ValueError("an array is damaged") from error
    if len(unpacked) != size:
        raise ValueError("an array has another size than it says")
    by_place = np.frombuffer(unpacked, dtype=np.uint8).reshape(kind.itemsize, -1).T
    array = np.ascontiguousarray(by_place).view(kind).reshape(shape)
    if plain.get("values") is None:
        return array

    values = _unpack_array(plain["values"])
    if kind.kind == "f" or (array.size and not (array.min() >= 0 and array.max() < values.size)):
        raise ValueError("the values of an array are damaged")
    return values.ravel()[array]
