"""The files of the registry: found on this machine or fetched, unpacked, checked and parsed."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from vrspam.data.download import download
from vrspam.data.errors import DataError
from vrspam.data.registry import FileInfo, file_registry
from vrspam.data.textfile import DAMAGED, TextFile


def cache_directory() -> Path:
    """Return the directory in which downloaded files are kept (of the user, by the system's custom)."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "vrspam"


@dataclass(frozen=True)
class Part:
    """One file, read."""

    name: str
    X: sp.csr_matrix
    labels: np.ndarray
    sha256: str
    source: str


def own_directory() -> Path | None:
    """Return the directory named by VRSPAM_DATA, if any."""
    value = os.environ.get("VRSPAM_DATA")
    if not value:
        return None
    if not Path(value).is_dir():
        raise DataError(f"VRSPAM_DATA names {value!r}, which is no directory; correct it or unset it")
    return Path(value)


def find(info: FileInfo) -> Path | None:
    """Return where this machine has the file, packed or not, under our name or the publisher's."""
    names = [info.name + packing for packing in ("", ".xz", ".bz2", ".gz")]
    names += [info.published_name] if info.published_name else []
    for directory in (own_directory(), cache_directory()):
        for name in names if directory else ():
            path = Path(directory) / name  # type: ignore[arg-type]
            if path.is_file():
                return path
    return None


def read_file(info: FileInfo, allow_download: bool, progress: bool, timeout: float) -> Part:
    """Return the file's rows, checked; fetch it first where this machine does not have it."""
    path = find(info)
    if path is not None:
        advice = "delete it and load again, or put the right file in its place"
        return _checked(info, _text(path, info, advice), str(path), advice)
    if info.scaled_from:
        part = _scaled(
            info,
            *(read_file(file_registry()[f], allow_download, progress, timeout) for f in info.scaled_from),
        )
        return part
    where = f"put {info.published_name} into the directory that VRSPAM_DATA names, or into {cache_directory()}"
    if not allow_download:
        raise DataError(f"{info.name} is not on this machine and downloads are off; get {info.url} and {where}")
    return _downloaded(info, where, progress, timeout)


def _downloaded(info: FileInfo, where: str, progress: bool, timeout: float) -> Part:
    """Fetch, check, and only then put the unpacked text into the cache under its own name."""
    assert info.url is not None
    directory = cache_directory()
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix="part-") as folder:
        fetched = Path(folder) / str(info.published_name)
        try:
            download(info.url, fetched, timeout=timeout, progress=progress)
        except DataError as error:
            raise DataError(f"{error}; try again, or get it by another way and {where}") from error
        advice = f"nothing was kept; try again, or get the file by another way and {where}"
        text = _text(fetched, info, advice, shown=info.url)
        part = _checked(info, text, info.url, advice)
        unpacked = Path(folder) / "text"
        unpacked.write_bytes(text)
        os.replace(unpacked, directory / info.name)
    return part


def _text(path: Path, info: FileInfo, advice: str, shown: str | None = None) -> bytes:
    """Return the file as LIBSVM text: unpacked, and converted where the publisher's format is another."""
    try:
        with TextFile(path) as file:
            data = file.stream.read()
    except DAMAGED as error:
        raise DataError(f"{shown or path} is cut off or damaged ({error}); {advice}") from error
    if path.name != info.published_name or info.format == "libsvm":
        return data
    try:
        return _converted(data, info.format)
    except Exception as error:  # what parsers of other formats raise is beyond counting, and quotes any bytes
        raise DataError(f"{shown or path} is cut off or damaged; {advice}") from error


def _converted(data: bytes, format: str) -> bytes:
    from sklearn.datasets import dump_svmlight_file

    if format == "npz":
        arrays = np.load(io.BytesIO(data), allow_pickle=False)
        X, labels = arrays["X"], np.where(arrays["y"] == arrays["y"].max(), 1, -1)
    else:
        if not data.strip():
            raise ValueError("no rows")
        table = np.loadtxt(io.BytesIO(data), ndmin=2)
        X, labels = table[:, :-1], table[:, -1].astype(np.int64)
    text = io.BytesIO()
    dump_svmlight_file(X, labels, text, zero_based=False)
    return text.getvalue()


def _checked(info: FileInfo, text: bytes, source: str, advice: str) -> Part:
    """Parse the text after its hash, or its rows, features and labels, have been found right."""
    from sklearn.datasets import load_svmlight_file

    digest = hashlib.sha256(text).hexdigest()
    if info.publisher_bytes and digest != info.sha256:
        lines = text.count(b"\n")
        raise DataError(
            f"{source} is not {info.name} as it was published: its text has {lines} lines and "
            f"sha256 {digest[:12]}..., not {info.n} lines and sha256 {str(info.sha256)[:12]}...; {advice}"
        )
    try:
        X, labels = load_svmlight_file(io.BytesIO(text), zero_based=False)
    except Exception as error:  # its words quote the bytes, whatever they are
        raise DataError(f"{source} is cut off or no LIBSVM text; {advice}") from error
    if X.shape != (info.n, info.d):
        found, wanted = (f"{n} rows, {d} features" for n, d in (X.shape, (info.n, info.d)))
        raise DataError(f"{source} has {found} where {info.name} has {wanted}; {advice}")
    if not (np.isfinite(X.data).all() and np.isfinite(labels).all() and (labels == np.rint(labels)).all()):
        raise DataError(f"{source} has values that are not finite, or labels that are not whole; {advice}")
    counts = {int(label): int(count) for label, count in zip(*np.unique(labels, return_counts=True), strict=True)}
    if info.labels is not None and counts != info.labels:
        raise DataError(f"{source} has labels {counts} where {info.name} has {dict(info.labels)}; {advice}")
    return Part(info.name, sp.csr_matrix(X), labels, digest, source)


def _scaled(info: FileInfo, part: Part, ranges: Part) -> Part:
    """Map each feature from its range in `ranges` to [-1, 1], as LIBSVM's svm-scale does and prints (%g)."""
    low, high = (getattr(ranges.X, side)(axis=0).toarray().ravel() for side in ("min", "max"))
    width = np.where(high > low, high - low, 1.0)
    X = np.where(high > low, 2 * (part.X.toarray() - low) / width - 1, 0.0)  # a constant feature is left out
    X = np.array([float(f"{value:g}") for value in X.ravel()]).reshape(X.shape)
    return Part(info.name, sp.csr_matrix(X), part.labels, part.sha256, f"{part.source}, scaled")
