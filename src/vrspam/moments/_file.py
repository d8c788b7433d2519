"""Read a file of class moments: a NumPy archive without pickle, all of which is checked."""

import os
import zipfile
from math import prod

import numpy as np
from scipy import linalg

from vrspam.moments._rounding import UNIT, UNIT_FLOAT32, Errors, gamma
from vrspam.moments._statistics import FLOAT32_ROUNDING, MOST_WEIGHT

FILE_FORMAT = "vrspam.ClassMoments"
FILE_VERSION = 1
_KINDS = {
    "classes": "biufUS",
    "rows": "iu",
    "weights": "f",
    "means": "f",
    "scatters": "f",
    "peaks": "f",
    "roundings": "f",
    "half_life": "f",
}
_SINCE_ROUNDING = {"lows": "f", "weight_errors": "f", "mean_errors": "f", "scatter_errors": "f"}  # not in older files
MOST_CHECKED = 4096  # features up to which a scatter is factorised, in seconds; with more only its entries are checked
TOLERANCE = 1e-9  # of an entry of the scatter, relative to the largest diagonals so far


def read(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """The arrays of a file that `ClassMoments.save` wrote; anything else is a ValueError."""
    content: dict[str, np.ndarray] = {}
    newer = False
    try:
        with zipfile.ZipFile(path) as archive:
            short = 1024  # bytes; format and version take fewer
            known = str(_array(archive, "format", "U", short)) == FILE_FORMAT
            version = int(_array(archive, "version", "iu", short))
            newer = known and version > FILE_VERSION
            if known and version == FILE_VERSION and _fitting(archive, os.path.getsize(path)):
                content = {name: _array(archive, name, kinds) for name, kinds in _names(archive).items()}
    except (FileNotFoundError, PermissionError):
        raise
    except Exception:  # a damaged archive makes zipfile and NumPy raise almost anything
        content = {}
    if newer:
        raise ValueError(f"{path} was written by a newer version of vrspam: update the package to read it.")
    if not content or not _possible(content):
        raise ValueError(f"{path} is not a file of class moments, or it is damaged: save the moments again.")
    if "lows" not in content:
        _add_errors(content)
    return content


def _names(archive: zipfile.ZipFile) -> dict[str, str]:
    """The arrays of a file, with the kinds of their types: older files have no bounds on rounding errors."""
    known = set(archive.namelist())
    if not any(f"{name}.npy" in known for name in _SINCE_ROUNDING):
        return _KINDS
    return {**_KINDS, **_SINCE_ROUNDING}


def _add_errors(content: dict[str, np.ndarray]) -> None:
    """Add bounds on the rounding errors to the content of a file that has none.

    Rows were multiplied in blocks of 64 MB, less the mean of up to 64 of them, which multiplies the sums of squares by
    at most 1 + rows / 64.
    """
    rows, weights, means, peaks = (content[name] for name in ("rows", "weights", "means", "peaks"))
    content["lows"], content["weight_errors"] = np.zeros_like(means), np.zeros_like(weights)
    content["mean_errors"], content["scatter_errors"] = np.zeros_like(means), np.zeros_like(means)
    old_block_bytes = 1 << 26  # of the blocks of versions that kept no bounds on rounding
    for c, count in enumerate(rows.tolist()):
        if count == 0:
            continue
        coarse = content["roundings"][c] > 0.0
        block = min(count, max(64, old_block_bytes // ((4 if coarse else 8) * max(means.shape[1], 1))))
        squares = (1.0 + block / 64.0) * peaks[c]
        share, residual = gamma(block + 8, UNIT_FLOAT32 if coarse else UNIT), np.sqrt(squares / weights[c])
        errors = Errors.of_block(block, weights[c], squares, residual, of_weight=gamma(block), of_weights=share)
        merges = gamma(8 * count)  # at most one block a row
        content["weight_errors"][c] = gamma(count) * weights[c]
        content["mean_errors"][c] = errors.mean + merges * (np.abs(means[c]) + np.sqrt(squares / weights[c]))
        offset = weights[c] * (errors.mean + 4.0 * UNIT * np.abs(means[c])) ** 2
        content["scatter_errors"][c] = errors.scatter + 2.0 * merges * squares + offset


def _shape(archive: zipfile.ZipFile, name: str, kinds: str) -> tuple[int, ...]:
    """The shape of an array, if it has a type of these kinds and the size that the directory of the archive says."""
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as member:
        first = np.lib.format.read_magic(member) == (1, 0)
        read_header = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(member)
        size = member.tell() + prod(shape) * dtype.itemsize
    if dtype.kind not in kinds or size != info.file_size:
        raise ValueError(f"{name} has another type or size")
    return shape


def _array(archive: zipfile.ZipFile, name: str, kinds: str, most: int | None = None) -> np.ndarray:
    """An array of the archive, read only if it has a type of these kinds and at most so many bytes."""
    _shape(archive, name, kinds)
    info = archive.getinfo(f"{name}.npy")
    if most is not None and info.file_size > most:
        raise ValueError(f"{name} is too large")
    with archive.open(info) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _fitting(archive: zipfile.ZipFile, size: int) -> bool:
    """Whether all arrays are there, of shapes that fit together and with no more bytes than such a file can hold."""
    names = _names(archive)
    unpacked = sum(archive.getinfo(f"{name}.npy").file_size for name in names)
    small = 1 << 26  # bytes that an archive may always unpack to
    most_unpacked = 100  # times the size of a larger archive; it is not compressed at all
    if unpacked > max(small, most_unpacked * size):
        return False
    shapes = {name: _shape(archive, name, kinds) for name, kinds in names.items()}
    if len(shapes["means"]) != 2:
        return False
    count, d = shapes["means"]
    return (
        1 <= count <= 2
        and d > 0
        and all(shapes[name] == (count,) for name in ("classes", "rows", "weights", "roundings"))
        and shapes["peaks"] == (count, d)
        and all(shapes.get(name, (count, d)) == (count, d) for name in ("lows", "mean_errors", "scatter_errors"))
        and shapes.get("weight_errors", (count,)) == (count,)
        and shapes["scatters"] in ((count, d), (count, d, d))
        and shapes["half_life"] == ()
    )


def _possible(content: dict[str, np.ndarray]) -> bool:
    """Whether the arrays can be the statistics of some rows."""
    classes, rows, weights, means, scatters, peaks, roundings, half_life = (content[name] for name in _KINDS)
    errors = [content[name] for name in _SINCE_ROUNDING if name in content]
    if not all(np.isfinite(a).all() for a in (weights, means, scatters, peaks, roundings, *errors)):
        return False
    if errors and not all((bound >= 0.0).all() for bound in errors[1:]):
        return False
    if errors and not (np.abs(errors[0]) <= np.spacing(np.abs(means))).all():  # what rounding dropped is not larger
        return False
    full, allowed = scatters.ndim == 3, content.get("scatter_errors", np.zeros_like(peaks))
    diagonals = np.einsum("cii->ci", scatters) if full else scatters
    return bool(
        np.array_equal(np.unique(classes), classes)
        and not (classes != classes).any()  # NaN
        and (rows >= 0).all()
        and (rows < 2**62).all()  # their sum is an integer of 64 bits
        and (roundings >= 0).all()
        and (roundings <= FLOAT32_ROUNDING).all()
        and ((weights > 0) == (rows > 0)).all()
        and (weights <= MOST_WEIGHT).all()
        and (diagonals >= -TOLERANCE * peaks).all()
        and (not full or all(map(_semidefinite, scatters, peaks, roundings, allowed)))
        and half_life > 0.0
    )


def _semidefinite(scatter: np.ndarray, peak: np.ndarray, rounding: float, errors: np.ndarray) -> bool:
    """Whether a scatter is symmetric and has no negative eigenvalue, up to rounding.

    Rounding is relative to the largest diagonal so far: with that as the unit of each feature, an error of t in each
    entry changes the eigenvalues of d features by at most t·d. `errors` are the bounds that the file has: an error
    matrix with entries below √(e_i e_j) is above -d·diag(e).
    """
    d, scatter = len(scatter), scatter.astype(np.float64)
    scatter.flat[:: d + 1] += d * errors
    peak = peak + d * errors
    info = np.finfo(np.float64)
    root = np.sqrt(np.maximum(peak, info.tiny / info.eps))  # squares below have lost digits
    scatter /= root[:, np.newaxis]
    scatter /= root
    allowed = np.sqrt(errors) / root
    if (np.abs(scatter - scatter.T) > TOLERANCE + 2.0 * np.outer(allowed, allowed)).any():
        return False
    tolerance = TOLERANCE + 16.0 * float(rounding)
    if d > MOST_CHECKED:
        return bool((np.abs(scatter) <= 1.0 + tolerance).all())
    scatter.flat[:: d + 1] += tolerance * d
    try:
        linalg.cholesky(scatter, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True
