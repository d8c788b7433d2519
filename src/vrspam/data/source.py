"""Which files make one stream, and what format they have."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vrspam._utils.optional import how_to_install
from vrspam.data.errors import DataError
from vrspam.data.textfile import DAMAGED, TextFile

PathLike = str | os.PathLike[str]

FORMATS = ("csv", "libsvm", "parquet", "feather", "npy")
_BINARY = {b"PAR1": "parquet", b"ARROW1": "feather", b"\x93NUMPY": "npy"}
_SUFFIXES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".feather": "feather"}
_SUFFIXES |= {".arrow": "feather", ".ipc": "feather", ".npy": "npy", ".libsvm": "libsvm", ".svm": "libsvm"}
_SUFFIXES |= {".svmlight": "libsvm"}
_LIBSVM_LINE = re.compile(rb"\s*[+-]?[\d.eE+-]+(\s+qid:\d+)?(\s+\d+:\S+)*\s*(#.*)?$")


@dataclass(frozen=True)
class Source:
    """Files read one after the other, all of one format, and how to read them."""

    paths: tuple[str, ...]
    format: str
    delimiter: str | None = None
    zero_based: bool = False
    chunk_bytes: int = 8 << 20

    @classmethod
    def open(cls, path: PathLike | Sequence[PathLike], format: str | None = None, **options: Any) -> Source:
        """Find the files; the format is told from the first one's name, else from its content."""
        paths = find_paths(path)
        if format is not None and format not in FORMATS:
            raise DataError(f"format={format!r} is not known; give one of {', '.join(FORMATS)}")
        source = cls(paths, format or guess_format(paths[0]), **options)
        if source.format in ("csv", "parquet", "feather") and find_spec("pyarrow") is None:
            raise DataError(f"{paths[0]}: {how_to_install('pyarrow', 'data')}")
        if source.chunk_bytes < 1:
            raise DataError(f"chunk_bytes={source.chunk_bytes} must be at least 1")
        if source.delimiter is not None and len(source.delimiter.encode()) != 1:
            raise DataError(f"delimiter={source.delimiter!r} must be one ASCII character")
        if source.delimiter is not None and source.format != "csv":
            raise DataError(f"{paths[0]} is read as {source.format}, and delimiter= is for CSV; leave it out")
        if source.zero_based and source.format != "libsvm":
            raise DataError(f"{paths[0]} is read as {source.format}, and zero_based=True is for LIBSVM; leave it out")
        return source

    @property
    def n_bytes(self) -> int:
        """Size of all files on disk."""
        return sum(os.path.getsize(path) for path in self.paths)


def find_paths(path: PathLike | Sequence[PathLike]) -> tuple[str, ...]:
    """Return the files meant by a path, a directory, a pattern or a list of paths; by name within the first three."""
    if not isinstance(path, (str, os.PathLike)):
        found = [os.fspath(item) for item in path]
    elif os.path.isdir(path):
        found = sorted(str(p) for p in Path(path).iterdir() if p.is_file() and p.name[0] not in "._")
    elif os.path.exists(path):
        found = [os.fspath(path)]
    else:
        found = sorted(glob.glob(os.fspath(path)))
    if not found:
        raise DataError(f"no file is found at {path!s}; check the name")
    for name in found:
        if not os.path.isfile(name):
            raise DataError(f"{name} is no file; check the name")
    return tuple(found)


def guess_format(path: str) -> str:
    """Return the format of one file."""
    for suffix in reversed(Path(path).suffixes):
        if suffix.lower() in _SUFFIXES:
            return _SUFFIXES[suffix.lower()]
    try:
        with TextFile(path) as file:
            start = file.stream.read(1 << 16)
    except DAMAGED as error:
        raise DataError(f"{path} is cut off or damaged ({error}); get it again") from error
    binary = next((name for magic, name in _BINARY.items() if start.startswith(magic)), None)
    if binary:
        return binary
    line = next((line for line in start.splitlines() if line.strip() and not line.startswith(b"#")), b"")
    if not line:
        raise DataError(f"{path} is empty; get it again, or leave it out")
    # a cut 64 KiB line of LIBSVM text ends in a broken pair; its head still tells
    return "libsvm" if _LIBSVM_LINE.match(line[:4096].rpartition(b" ")[0] or line) else "csv"
