"""`Source`: files read one after the other by one reader."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vrspam._utils.extras import how_to_install
from vrspam._utils.findings import Fix
from vrspam._utils.progress import Progress
from vrspam.data.formats import check_same_format, guess_format
from vrspam.data.readers import READERS
from vrspam.data.readers.block import BLOCK_BYTES, Block
from vrspam.data.readers.frame import FrameReader
from vrspam.data.readers.problems import Problems
from vrspam.data.readers.reader import Choice, Reader
from vrspam.data.standard_input import standard_input
from vrspam.tables.errors import DataError
from vrspam.tables.frames import is_frame
from vrspam.tables.writing import Writing

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Source:
    """Files of one format, read one after the other, and their reader."""

    paths: tuple[str, ...]
    reader: Reader
    block_bytes: int = BLOCK_BYTES
    zero_based: bool = False

    @classmethod
    def open(
        cls,
        path: Any,
        format: str | None = None,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        zero_based: bool | None = None,
        zero_based_before: bool = False,
        trained: Writing | None = None,
        chunk_bytes: int = BLOCK_BYTES,
    ) -> Source:
        """Find the files, or take a frame; the format is found from the name of the first file, else from its content.

        Indices of LIBSVM files start as `zero_based` says, else as they did in earlier files (`zero_based_before`).
        Text for a model is read as the training file was written (`trained`).
        """
        if is_frame(path):
            _refuse_options_of_files(format=format, delimiter=delimiter, encoding=encoding, zero_based=zero_based)
            return cls(("the frame",), FrameReader(path, trained), chunk_bytes)

        paths = find_paths(path)
        kind = _reader_of(paths, format)
        if kind.tabular and find_spec("pyarrow") is None:
            raise DataError(f"{paths[0]}: {how_to_install('pyarrow', 'data')}")
        _check_options(delimiter, encoding, chunk_bytes)
        _refuse_options_of_others(
            paths[0], kind, {"delimiter": delimiter, "encoding": encoding, "zero_based": zero_based or None}
        )
        starts_at_zero = zero_based_before if zero_based is None else zero_based
        options: dict[str, Any] = {
            "delimiter": delimiter,
            "encoding": encoding,
            "zero_based": starts_at_zero,
            "block_bytes": chunk_bytes,
            "trained": trained,
        }
        reader = kind(**{name: options[name] for name in kind.options})
        return cls(paths, reader, chunk_bytes, starts_at_zero and kind.sparse)

    @property
    def n_bytes(self) -> int:
        """Size of all files on disk."""
        return sum(map(self.reader.size, self.paths))

    @property
    def n_rows(self) -> int | None:
        """Number of rows if the headers of all files give it, else None."""
        total = 0
        for path in self.paths:
            rows = self.reader.rows(path)
            if rows is None:
                return None
            total += rows
        return total

    def check_named(self, parameter: str = "") -> None:
        """Refuse files without named columns: for a parameter that names some, or for what needs a table."""
        if not self.reader.tabular:
            what = f"a {self.reader.title} file has no named columns; "
            if parameter:
                raise DataError(what, "leave ", Fix(parameter), " out")
            raise DataError(f"{what}give a table")

    def blocks(self, wanted: Choice, rows: int, problems: Problems, label: str | None = None) -> Iterator[Block]:
        """Read the files one after the other; with a `label` a line shows the progress."""
        bytes_before = 0
        rows_read = 0
        with Progress(label, self.n_bytes, "rows") if label else nullcontext() as bar:
            for path in self.paths:
                size = self.reader.size(path) if bar else 0
                for block in self.reader.blocks(path, wanted, rows, problems):
                    for part in block.broken:
                        problems.report(path, block.index, part.where, part.reason, part.rows)
                    if block.rows or (block.broken and problems.on_error == "keep"):
                        yield block
                    rows_read += block.rows
                    if bar:
                        bar.update(bytes_before + int(size * block.done), rows_read)
                bytes_before += size


# Files


def find_paths(path: PathLike | Sequence[PathLike]) -> tuple[str, ...]:
    """Return the files of a path, a directory, a pattern (both sorted by name) or a list of paths (in its order)."""
    if isinstance(path, str) and path == "-":
        found = [standard_input()]
    elif not isinstance(path, (str, os.PathLike)):
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
        _check_file(name)
    return tuple(found)


def _check_file(name: str) -> None:
    """Refuse what is no file, and say what it is."""
    if os.path.isfile(name):
        return
    if not os.path.exists(name):
        raise DataError(f"{name} is not a file; check the name")
    if os.path.isdir(name):
        raise DataError(f"{name} is a directory, and files are needed; give it alone, or name its files")
    if stat.S_ISFIFO(os.stat(name).st_mode):
        raise DataError(f"{name} is a pipe, which can be read only once; give - as the file, and < {name} behind it")
    raise DataError(f"{name} is a device, not a file; save the table as a file")


# Options


def _reader_of(paths: Sequence[str], format: str | None) -> Any:
    """The class of the reader for some files."""
    if format is None:
        check_same_format(paths)
        return READERS[guess_format(paths[0])]
    if format not in READERS:
        raise DataError(Fix("format", format), f" is not known; give one of {', '.join(READERS)}")
    return READERS[format]


def _refuse_options_of_files(**options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise DataError("a frame has its own types and names; leave ", Fix(name), " out")


def _check_options(delimiter: str | None, encoding: str | None, chunk_bytes: int) -> None:
    if chunk_bytes < 1:
        raise DataError(Fix("chunk_bytes", chunk_bytes), " must be at least 1")
    if delimiter is not None and len(delimiter.encode()) != 1:
        raise DataError(Fix("delimiter", delimiter), " must be one ASCII character")
    try:
        "".encode("utf-8" if encoding is None else encoding)
    except (LookupError, UnicodeError):
        raise DataError(
            Fix("encoding", encoding),
            " is not known; give utf-8, windows-1252, latin-1, utf-16 or another name of Python",
        ) from None


def _refuse_options_of_others(path: str, kind: Any, options: dict[str, Any]) -> None:
    """Refuse options that are given and belong to another format."""
    for name, value in options.items():
        if value is not None and name not in kind.options:
            option = Fix(name, True if value is True else None)
            other = next(other.title for other in READERS.values() if name in other.options)
            raise DataError(f"{path} is read as {kind.title}, and ", option, f" is for {other}; leave it out")
