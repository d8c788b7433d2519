"""Save and load class moments: a NumPy archive without pickle, written completely or not at all, checked when read."""

from __future__ import annotations

import os

import numpy as np

from vrspam._utils.atomic import replacing

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
}


def write(path: str | os.PathLike, content: dict[str, np.ndarray | float]) -> None:
    """Write the arrays; an existing file is replaced only when all of them are written."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, format=FILE_FORMAT, version=FILE_VERSION, **content)  # type: ignore[arg-type]


def read(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """The arrays of a file that `write` wrote; anything else is a ValueError."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            content = {name: archive[name] for name in archive.files}
        known = str(content["format"]) == FILE_FORMAT
        version = int(content["version"])
    except (FileNotFoundError, PermissionError):
        raise
    except Exception:  # a damaged archive makes zipfile and NumPy raise almost anything
        known, version = False, FILE_VERSION
    if known and version > FILE_VERSION:
        raise ValueError(f"{path} was written by a newer version of vrspam: update the package to read it.")
    if not known or version < 1 or not _whole(content):
        raise ValueError(f"{path} is not a file of class moments, or it is damaged: save the moments again.")
    return content


def _whole(content: dict[str, np.ndarray]) -> bool:
    """Whether all arrays are there, and can be the statistics of some rows."""
    if any(name not in content or content[name].dtype.kind not in kinds for name, kinds in _KINDS.items()):
        return False
    classes, rows, weights, means, scatters, peaks, roundings = (content[name] for name in _KINDS)
    if means.ndim != 2 or not 1 <= means.shape[0] <= 2 or means.shape[1] == 0:
        return False
    count, d = means.shape
    shapes = (
        classes.shape == rows.shape == weights.shape == roundings.shape == (count,)
        and peaks.shape == (count, d)
        and scatters.shape in ((count, d), (count, d, d))
    )
    if not shapes or not all(np.isfinite(a).all() for a in (weights, means, scatters, peaks)):
        return False
    full = scatters.ndim == 3
    diagonals = np.einsum("cii->ci", scatters) if full else scatters
    half_life = content.get("half_life", np.zeros(1))
    return bool(
        np.array_equal(np.unique(classes), classes)
        and not (classes != classes).any()  # NaN
        and (rows >= 0).all()
        and (roundings >= 0).all()
        and ((weights > 0) == (rows > 0)).all()
        and (diagonals >= -1e-9 * peaks).all()
        and (not full or _symmetric(scatters, peaks))
        and half_life.shape == ()
        and half_life.dtype.kind == "f"
        and half_life > 0.0
    )


def _symmetric(scatters: np.ndarray, peaks: np.ndarray) -> bool:
    """Whether both triangles agree to rounding, which is relative to the largest diagonal so far."""
    root = np.sqrt(np.abs(peaks))
    difference = np.abs(scatters - scatters.transpose(0, 2, 1))
    return bool((difference <= 1e-9 * root[:, :, np.newaxis] * root[:, np.newaxis, :]).all())
