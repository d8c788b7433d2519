"""Read a file of class moments: a NumPy archive without pickle, checked before it is used."""

import os
import zipfile
from math import prod
from typing import NamedTuple

import numpy as np

from vrspam.moments._rounding import FLOAT32_ROUNDING
from vrspam.moments._statistics import MOST_WEIGHT

FILE_FORMAT = "vrspam.ClassMoments"
FILE_VERSION = 1
SHORT = 1024  # bytes; format and version take fewer
SMALL = 1 << 26  # bytes that an archive may always unpack to
MOST_UNPACKED = 100  # times the size of a larger archive; `save` does not compress at all


class Stored(NamedTuple):
    """What an array of the file has to be."""

    kinds: str  # of its type, as in `numpy.dtype.kind`
    axes: str  # c: an entry for each class; d: for each feature


ARRAYS = {
    "classes": Stored("biufUS", "c"),
    "rows": Stored("iu", "c"),
    "weights": Stored("f", "c"),
    "means": Stored("f", "cd"),
    "scatters": Stored("f", "cdd"),  # "cd" without scatter matrices
    "peaks": Stored("f", "cd"),
    "roundings": Stored("f", "c"),
    "lows": Stored("f", "cd"),
    "weight_errors": Stored("f", "c"),
    "mean_errors": Stored("f", "cd"),
    "scatter_errors": Stored("f", "cd"),
    "half_life": Stored("f", ""),
}


class NotMoments(Exception):
    """An archive of something else, or a damaged one."""


def read(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """The arrays of a file that `ClassMoments.save` wrote; anything else is a ValueError."""
    try:
        version, content = _read_archive(path)
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # a damaged archive makes zipfile and NumPy raise almost anything
        raise ValueError(f"{path} is not a file of class moments, or it is damaged: save the moments again.") from error
    if version > FILE_VERSION:
        raise ValueError(f"{path} was written by a newer version of vrspam: update the package to read it.")
    return content


def _read_archive(path: str | os.PathLike) -> tuple[int, dict[str, np.ndarray]]:
    """The version of a file and, unless it is a newer one, its arrays."""
    with zipfile.ZipFile(path) as archive:
        if str(_array(archive, "format", "U", SHORT)) != FILE_FORMAT:
            raise NotMoments
        version = int(_array(archive, "version", "iu", SHORT))
        if version > FILE_VERSION:
            return version, {}
        if version < FILE_VERSION:
            raise NotMoments
        _check_sizes(archive, os.path.getsize(path))
        content = {name: _array(archive, name, stored.kinds) for name, stored in ARRAYS.items()}
    _check_values(content)
    return version, content


def _array(archive: zipfile.ZipFile, name: str, kinds: str, most: int | None = None) -> np.ndarray:
    """An array of the archive, read only if it has a type of these kinds and at most so many bytes."""
    _shape(archive, name, kinds)
    info = archive.getinfo(f"{name}.npy")
    if most is not None and info.file_size > most:
        raise NotMoments
    with archive.open(info) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _shape(archive: zipfile.ZipFile, name: str, kinds: str) -> tuple[int, ...]:
    """The shape of an array, if it has a type of these kinds and the size that the directory of the archive says."""
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as member:
        if np.lib.format.read_magic(member) == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(member)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(member)
        size = member.tell() + prod(shape) * dtype.itemsize
    if dtype.kind not in kinds or size != info.file_size:
        raise NotMoments
    return shape


def _check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse arrays whose shapes do not fit together, or that unpack to more bytes than such a file can hold."""
    unpacked = sum(archive.getinfo(f"{name}.npy").file_size for name in ARRAYS)
    if unpacked > max(SMALL, MOST_UNPACKED * size):
        raise NotMoments
    shapes = {name: _shape(archive, name, stored.kinds) for name, stored in ARRAYS.items()}
    count, d = shapes["means"]
    if not (1 <= count <= 2 and d > 0):
        raise NotMoments
    if shapes["scatters"] == (count, d):
        shapes["scatters"] = (count, d, d)
    lengths = {"c": count, "d": d}
    for name, stored in ARRAYS.items():
        if shapes[name] != tuple(lengths[axis] for axis in stored.axes):
            raise NotMoments


def _check_values(content: dict[str, np.ndarray]) -> None:
    """Refuse numbers that cannot be the statistics of any rows."""
    for name, stored in ARRAYS.items():
        if stored.kinds == "f" and name != "half_life" and not np.isfinite(content[name]).all():
            raise NotMoments
    classes, rows, weights = content["classes"], content["rows"], content["weights"]
    scatters, peaks = content["scatters"], content["peaks"]
    diagonals = np.einsum("cii->ci", scatters) if scatters.ndim == 3 else scatters
    possible = [
        np.array_equal(np.unique(classes), classes),
        not (classes != classes).any(),  # NaN
        (rows >= 0).all(),
        (rows < 2**62).all(),  # their sum is an integer of 64 bits
        ((weights > 0.0) == (rows > 0)).all(),
        (weights <= MOST_WEIGHT).all(),
        (diagonals >= -1e-9 * peaks).all(),
        (content["roundings"] >= 0.0).all(),
        (content["roundings"] <= FLOAT32_ROUNDING).all(),
        (np.abs(content["lows"]) <= np.spacing(np.abs(content["means"]))).all(),  # rounding drops no more
        (content["weight_errors"] >= 0.0).all(),
        (content["mean_errors"] >= 0.0).all(),
        (content["scatter_errors"] >= 0.0).all(),
        content["half_life"] > 0.0,
    ]
    if not all(possible):
        raise NotMoments
