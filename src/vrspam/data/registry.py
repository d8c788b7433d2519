"""Data by name (`registry.toml`): files found here or downloaded, then checked and joined, with labels -1 and +1."""

from __future__ import annotations

import difflib
import hashlib
import io
import os
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from vrspam import __version__
from vrspam._utils.extras import how_to_install
from vrspam._utils.findings import Fix
from vrspam._utils.progress import Progress
from vrspam.data.readers.text_file import DAMAGED, open_text
from vrspam.tables.errors import DataError
from vrspam.tables.schema import DENSE_ABOVE


@dataclass(frozen=True)
class Dataset:
    """A binary data set and where it came from; `X, y = dataset` unpacks it.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n, d)
        Features, float64; dense when more than a tenth of the entries are not zero.
    y : ndarray of shape (n,)
        Labels -1 and +1 (int64).
    name, title : str
        The name it was loaded by, and what it is.
    n, d : int
        Rows and features.
    files, rows, sha256, source : tuples
        The files that were joined, in order; their rows, the hash of their unpacked text, and where they were found.

    Examples
    --------
    >>> from vrspam.data import load
    >>> data = load("breast-cancer")
    >>> data.n, data.d, int((data.y == 1).sum())
    (569, 30, 357)
    """

    X: np.ndarray | sp.csr_matrix
    y: np.ndarray
    name: str
    title: str
    files: tuple[str, ...]
    rows: tuple[int, ...]
    sha256: tuple[str, ...]
    source: tuple[str, ...]

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def d(self) -> int:
        return self.X.shape[1]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def __repr__(self) -> str:
        kind = "CSR" if sp.issparse(self.X) else "dense"
        return f"Dataset({self.name!r}, n={self.n}, d={self.d}, positives={int((self.y == 1).sum())}, {kind})"


def load(
    name: str,
    *,
    positive: int | Iterable[int] | None = None,
    sparse: bool | None = None,
    allow_download: bool = True,
    progress: bool = True,
    timeout: float = 30.0,
) -> Dataset:
    """Load a data set by its name: from `VRSPAM_DATA`, else the user's cache, else by a checked download.

    Parameters
    ----------
    name : str
        A name that `available` lists.
    positive : int or collection of int, optional
        The label or labels that become +1; all others become -1. By default the larger of two labels, or, with
        several classes, the even labels, as in the paper.
    sparse : bool, optional
        True for CSR, False for a dense array; by default dense when more than a tenth of the entries are not
        zero.
    allow_download : bool, default=True
        False never touches the network.
    progress : bool, default=True
        Show the progress of a download on the standard error stream.
    timeout : float, default=30
        How many seconds the server may send nothing.

    Returns
    -------
    Dataset
        With `X`, `y` and where they came from; `X, y = load(name)` works.

    Examples
    --------
    >>> from vrspam.data import load
    >>> X, y = load("digits")
    >>> X.shape, sorted(set(y.tolist()))
    ((1797, 64), [-1, 1])
    >>> load("digits", positive=8)
    Dataset('digits', n=1797, d=64, positives=174, dense)
    """
    info = set_info(name)
    parts = [read_file(file, allow_download, progress, timeout) for file in info.files]
    if info.sklearn:
        from sklearn import datasets

        table, y = getattr(datasets, info.sklearn)(return_X_y=True)
        digest = hashlib.sha256(np.ascontiguousarray(table).tobytes() + y.astype(np.int64).tobytes()).hexdigest()
        name_there = f"sklearn.datasets.{info.sklearn}"
        parts = [LoadedFile(name_there, sp.csr_matrix(table), y, digest, "scikit-learn")]
    labels = np.concatenate([part.labels for part in parts])
    blocks = [sp.csr_matrix((p.X.data, p.X.indices, p.X.indptr), shape=(p.X.shape[0], info.d)) for p in parts]
    X = blocks[0] if len(blocks) == 1 else sp.csr_matrix(sp.vstack(blocks))
    if info.divide_by != 1.0:
        X = X / info.divide_by
    if sparse is None:
        sparse = X.nnz <= DENSE_ABOVE * X.shape[0] * X.shape[1]
    return Dataset(
        X=X if sparse else X.toarray(),
        y=_signs(labels, info, positive),
        name=name,
        title=info.title,
        files=tuple(part.name for part in parts),
        rows=tuple(part.X.shape[0] for part in parts),
        sha256=tuple(part.sha256 for part in parts),
        source=tuple(part.source for part in parts),
    )


def available() -> list[dict[str, Any]]:
    """List every data set known by name, and where each would come from.

    Returns
    -------
    list of dict
        Keys `name`, `n`, `d`, `positives` (None where not known), `paper` (True for a row of the paper's
        table), `where` ("scikit-learn", "VRSPAM_DATA", "cache" or "download") and `title`; ``DataFrame(available())``
        makes a table of the list.

    Examples
    --------
    >>> from vrspam.data import available
    >>> [row["name"] for row in available() if row["paper"]]
    ['diabetes', 'german', 'splice', 'usps', 'a9a', 'w8a', 'mnist', 'acoustic', 'ijcnn1']
    """
    rows = []
    for info in registry().values():
        found = [find(file) for file in info.files]
        if info.sklearn:
            where = "scikit-learn"
        elif None in found:
            where = "download"
        else:
            where = "VRSPAM_DATA" if all(p.parent == own_directory() for p in found if p) else "cache"
        row = {"name": info.name, "n": info.n, "d": info.d, "positives": info.positives}
        rows.append(row | {"paper": info.paper, "where": where, "title": info.title})
    return rows


def _signs(labels: np.ndarray, info: SetInfo, positive: int | Iterable[int] | None) -> np.ndarray:
    known = {int(label): 0 for label in np.unique(labels)}
    if positive is None:
        chosen = {label for label in known if is_positive(label, info.positive, known)}
    else:
        chosen = set(positive) if isinstance(positive, Iterable) else {positive}
    if not chosen <= set(known) or not 0 < len(chosen) < len(known):
        listed = ", ".join(map(str, known))
        raise DataError(
            Fix("positive", [] if positive is None else positive),
            f" does not divide the labels of {info.name!r} into two classes; choose some, not all, of {listed}",
        )
    return np.where(np.isin(labels, sorted(chosen)), 1, -1).astype(np.int64)


@dataclass(frozen=True)
class FileInfo:
    """One published file; the fields are explained at the head of `registry.toml`."""

    name: str
    n: int
    d: int
    url: str | None = None
    format: str = "libsvm"
    scaled_from: Sequence[str] = ()
    sha256: str | None = None
    publisher_bytes: bool = False
    labels: Mapping[int, int] | None = None

    @property
    def published_name(self) -> str:
        return (self.url or "").rpartition("/")[2]


@dataclass(frozen=True)
class SetInfo:
    """One data set: files joined, and how its labels become -1 and +1."""

    name: str
    title: str
    n: int
    d: int
    positives: int | None
    positive: str
    files: tuple[FileInfo, ...] = ()
    sklearn: str | None = None
    divide_by: float = 1.0
    paper: bool = False


def is_positive(label: float, rule: str, labels: Mapping[int, int]) -> bool:
    """Say whether a label is the positive class under the rule "larger" or "even"."""
    return label % 2 == 0 if rule == "even" else label == max(labels)


@cache
def file_registry() -> dict[str, FileInfo]:
    """Return every published file by its name here."""
    files = {}
    for name, entry in _table()["files"].items():
        if "labels" in entry:
            entry["labels"] = {int(label): count for label, count in entry["labels"].items()}
        files[name] = FileInfo(name=name, **entry)
    return files


@cache
def registry() -> dict[str, SetInfo]:
    """Return every data set known by name, those of the paper first."""
    sets = {}
    for name, entry in _table()["sets"].items():
        parts = tuple(file_registry()[file] for file in entry.pop("files", ()))
        if parts:
            entry["n"] = sum(part.n for part in parts)
            entry.setdefault("d", max(part.d for part in parts))
            entry["positives"] = _positives(parts, entry["positive"])
        sets[name] = SetInfo(name=name, files=parts, **entry)
    return sets


def _positives(parts: Sequence[FileInfo], rule: str) -> int | None:
    """The number of rows of the positive class in some files; None if the labels of one are not known."""
    total = 0
    for part in parts:
        if not part.labels:
            return None
        total += sum(count for label, count in part.labels.items() if is_positive(label, rule, part.labels))
    return total


def set_info(name: str) -> SetInfo:
    """Return the entry of one set, or say which name may have been meant."""
    sets = registry()
    if name not in sets:
        close = difflib.get_close_matches(str(name), sets, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise DataError(f"no data set is called {name!r}; {hint}available() or `vrspam datasets` lists them all")
    return sets[name]


def _table() -> dict:
    return tomllib.loads(package_files("vrspam.data").joinpath("registry.toml").read_text("utf-8"))


def cache_directory() -> Path:
    """Return the directory in which downloaded files are kept: the usual cache of the user on this system.

    Returns
    -------
    Path
        The directory need not exist yet.

    Examples
    --------
    >>> from vrspam.data import cache_directory
    >>> cache_directory().name
    'vrspam'
    """
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "vrspam"


@dataclass(frozen=True)
class LoadedFile:
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
        raise DataError(f"VRSPAM_DATA names {value!r}, which is not a directory; correct it or unset it")
    return Path(value)


def find(info: FileInfo) -> Path | None:
    """Return the file's path on this machine, compressed or not, under our name or the publisher's, or None."""
    names = [info.name + packing for packing in ("", ".xz", ".bz2", ".gz")]
    names += [info.published_name] if info.published_name else []
    directories = [directory for directory in (own_directory(), cache_directory()) if directory is not None]
    paths = (directory / name for directory in directories for name in names)
    return next((path for path in paths if path.is_file()), None)


def read_file(info: FileInfo, allow_download: bool, progress: bool, timeout: float) -> LoadedFile:
    """Return the checked rows of the file; download it first if this machine does not have it."""
    path = find(info)
    if path is not None:
        return _checked(info, path, str(path), "delete it and load again, or put the right file in its place")[0]
    if info.scaled_from:
        parts = (read_file(file_registry()[file], allow_download, progress, timeout) for file in info.scaled_from)
        return _scaled(info, *parts)
    assert info.url is not None
    directory = cache_directory()
    where = f"put {info.published_name} into the directory that VRSPAM_DATA names, or into {directory}"
    if not allow_download:
        raise DataError(f"{info.name} is not on this machine and downloads are off; get {info.url} and {where}")
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix="part-") as folder:
        fetched, unpacked = Path(folder) / info.published_name, Path(folder) / "text"
        download(info.url, fetched, where, timeout, progress)
        advice = f"nothing was kept; try again, or get the file by another way and {where}"
        part, text = _checked(info, fetched, info.url, advice)
        unpacked.write_bytes(text)
        os.replace(unpacked, directory / info.name)
    return part


def _checked(info: FileInfo, path: Path, source: str, advice: str) -> tuple[LoadedFile, bytes]:
    """Check a file: its hash (with `publisher_bytes`), shape and labels. Return its rows and its LIBSVM text."""
    from sklearn.datasets import load_svmlight_file

    try:
        with open_text(path) as file:
            text = file.stream.read()
    except DAMAGED as error:
        raise DataError(f"{source} is cut off or damaged ({error}); {advice}") from error
    if path.name == info.published_name and info.format != "libsvm":
        try:
            text = _converted(text, info.format)
        except Exception as error:  # parsers raise errors of many kinds, whose texts may quote any bytes
            raise DataError(f"{source} is cut off or damaged; {advice}") from error
    digest = hashlib.sha256(text).hexdigest()
    if info.publisher_bytes and digest != info.sha256:
        lines = text.count(b"\n")
        raise DataError(
            f"{source} is not {info.name} as it was published: its text has {lines} lines and "
            f"sha256 {digest[:12]}..., not {info.n} lines and sha256 {str(info.sha256)[:12]}...; {advice}"
        )
    try:
        X, labels = load_svmlight_file(io.BytesIO(text), zero_based=False)
    except Exception as error:  # its text may quote any bytes
        raise DataError(f"{source} is cut off, or not LIBSVM text; {advice}") from error
    if X.shape != (info.n, info.d):
        found, wanted = (f"{n} rows, {d} features" for n, d in (X.shape, (info.n, info.d)))
        raise DataError(f"{source} has {found} where {info.name} has {wanted}; {advice}")
    if not (np.isfinite(X.data).all() and np.isfinite(labels).all() and (labels == np.rint(labels)).all()):
        raise DataError(f"{source} has values that are not finite, or labels that are not whole; {advice}")
    counts = {int(label): int(count) for label, count in zip(*np.unique(labels, return_counts=True), strict=True)}
    if info.labels is not None and counts != info.labels:
        raise DataError(f"{source} has labels {counts} where {info.name} has {dict(info.labels)}; {advice}")
    return LoadedFile(info.name, sp.csr_matrix(X), labels, digest, source), text


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


def _scaled(info: FileInfo, part: LoadedFile, ranges: LoadedFile) -> LoadedFile:
    """Map each feature from its range in `ranges` to [-1, 1], as LIBSVM's svm-scale does and prints (%g)."""
    low, high = (getattr(ranges.X, side)(axis=0).toarray().ravel() for side in ("min", "max"))
    width = np.where(high > low, high - low, 1.0)
    X = np.where(high > low, 2 * (part.X.toarray() - low) / width - 1, 0.0)  # a constant feature is left out
    X = np.array([float(f"{value:g}") for value in X.ravel()]).reshape(X.shape)
    return LoadedFile(info.name, sp.csr_matrix(X), part.labels, part.sha256, f"{part.source}, scaled")


def download(url: str, path: Path, where: str, timeout: float, progress: bool) -> None:
    """Write what is at `url` to `path`; on a failure raise `DataError` with the reason, and `where` to put the file.

    `timeout` is the longest silence, in seconds, that the server is allowed.
    """
    otherwise = f"try again, or get it by another way and {where}"
    try:
        import requests
        from urllib3.exceptions import IncompleteRead, ReadTimeoutError
    except ModuleNotFoundError as error:
        raise DataError(f"{url} could not be downloaded: {how_to_install('requests', 'data')}; {otherwise}") from error
    headers = {"User-Agent": f"vrspam/{__version__}", "Accept-Encoding": "identity"}
    try:
        with requests.get(url, stream=True, timeout=timeout, headers=headers) as answer, open(path, "wb") as file:
            answer.raise_for_status()
            total, done = int(answer.headers.get("Content-Length", 0)), 0
            with Progress(f"download {path.name}", total or None, "B", progress) as bar:
                for block in answer.iter_content(1 << 16):
                    done += file.write(block)
                    bar.update(min(done, total or done))
    except (requests.RequestException, OSError) as error:
        causes = [error, *error.args, *(part for cause in error.args for part in getattr(cause, "args", ()))]
        if isinstance(error, requests.HTTPError) and error.response is not None:
            reason = f"the server answers {error.response.status_code} {error.response.reason}"
        elif any(isinstance(cause, (requests.Timeout, ReadTimeoutError, TimeoutError)) for cause in causes):
            reason = f"nothing came for {timeout:g} seconds"
        elif any(isinstance(cause, IncompleteRead) for cause in causes):
            reason = "the connection closed before the whole file had come"
        else:
            reason = f"no connection ({' '.join(str(error).split())})"
        raise DataError(f"{url} could not be downloaded: {reason}; {otherwise}") from error
