"""Data by name: the files of a set joined, its labels made -1 and +1."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from vrspam._utils.messages import Parameter
from vrspam.data.chunks import DENSE_ABOVE
from vrspam.data.errors import DataError
from vrspam.data.registry.files import (
    LoadedFile,
    SetInfo,
    find,
    is_positive,
    own_directory,
    read_file,
    registry,
    set_info,
)


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
        The name it was asked by, and what it is.
    n, d : int
        Rows and features.
    files : tuple of str
        The files that were joined, in order (their rows: `rows`).
    rows : tuple of int
        Rows of each file.
    sha256 : tuple of str
        Hash of each file's unpacked text.
    source : tuple of str
        Where each file was found.

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
        The label or labels that become +1; all others become -1. By default the larger of two labels, and of
        several classes the even labels, as in the paper.
    sparse : bool, optional
        True for CSR, False for a dense array; by default dense when more than a tenth of the entries are not
        zero.
    allow_download : bool, default=True
        False never touches the network.
    progress : bool, default=True
        Show the progress of a download on the standard error stream.
    timeout : float, default=30
        The longest silence of a server, in seconds.

    Returns
    -------
    Dataset
        With `X`, `y` and where they came from; `X, y = load(name)` works.

    Raises
    ------
    DataError
        When the set is not known, cannot be had, or is not what the registry says.

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
    if info.sklearn:
        parts = [_from_sklearn(info)]
    else:
        parts = [read_file(file, allow_download, progress, timeout) for file in info.files]
    labels = np.concatenate([part.labels for part in parts])
    blocks = [sp.csr_matrix((p.X.data, p.X.indices, p.X.indptr), shape=(p.X.shape[0], info.d)) for p in parts]
    X = sp.csr_matrix(sp.vstack(blocks)) if len(blocks) > 1 else blocks[0]
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
        table), `where` ("scikit-learn", "VRSPAM_DATA", "cache" or "download") and `title`; a `DataFrame`
        takes it as it is.

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


def _from_sklearn(info: SetInfo) -> LoadedFile:
    from sklearn import datasets

    X, labels = getattr(datasets, str(info.sklearn))(return_X_y=True)
    digest = hashlib.sha256(np.ascontiguousarray(X).tobytes() + labels.astype(np.int64).tobytes()).hexdigest()
    return LoadedFile(f"sklearn.datasets.{info.sklearn}", sp.csr_matrix(X), labels, digest, "scikit-learn")


def _signs(labels: np.ndarray, info: SetInfo, positive: int | Iterable[int] | None) -> np.ndarray:
    found = {int(label): 0 for label in np.unique(labels)}
    if positive is None:
        chosen = {label for label in found if is_positive(label, info.positive, found)}
    else:
        chosen = set(positive) if isinstance(positive, Iterable) else {positive}
    if not chosen <= set(found) or not 0 < len(chosen) < len(found):
        raise DataError(
            "{given} does not divide the labels of {name!r} into two classes; choose some, not all, of {labels}",
            given=Parameter("positive", [] if positive is None else positive),
            name=info.name,
            labels=", ".join(map(str, found)),
        )
    return np.where(np.isin(labels, sorted(chosen)), 1, -1).astype(np.int64)
