"""The readers of all formats (`READERS`), and `Source`: files read one after the other by one of them."""

from __future__ import annotations

import atexit
import glob
import os
import select
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vrspam._utils.messages import Parameter, how_to_install
from vrspam._utils.progress import Progress
from vrspam.data.readers.array_readers import LibsvmReader, NpyReader
from vrspam.data.readers.arrow_reader import ExcelReader, FeatherReader, FrameReader, ParquetReader
from vrspam.data.readers.base import DAMAGED, Block, Choice, DataError, Problems, Reader, open_text
from vrspam.data.readers.csv_reader import CSVReader
from vrspam.tables.frames import is_frame
from vrspam.tables.schema import Writing

PathLike = str | os.PathLike[str]

#: Every format that can be read. A new one is a reader and a line here.
READERS: dict[str, Any] = {
    kind.name: kind for kind in (CSVReader, LibsvmReader, ParquetReader, FeatherReader, NpyReader, ExcelReader)
}


@dataclass(frozen=True)
class Source:
    """Files of one format, read one after the other, and their reader."""

    paths: tuple[str, ...]
    reader: Reader
    block_bytes: int = 8 << 20
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
        chunk_bytes: int = 8 << 20,
    ) -> Source:
        """Find the files, or take a frame; the format is found from the name of the first file, else from its content.

        Indices of LIBSVM files start as `zero_based` says, else as they did in earlier files (`zero_based_before`).
        Text for a model is read as the training file was written (`trained`).
        """
        if is_frame(path):
            named = {"format": format, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
            for name, value in named.items():
                if value is not None:
                    raise DataError(
                        "a frame has its own types and names; leave {parameter} out", parameter=Parameter(name)
                    )
            return cls(("the frame",), FrameReader(path, trained), chunk_bytes)
        paths = find_paths(path)
        if format is not None and format not in READERS:
            raise DataError(
                "{given} is not known; give one of {known}", given=Parameter("format", format), known=", ".join(READERS)
            )
        if format is None:
            _check_formats(paths)
        kind = READERS[format or guess_format(paths[0])]
        if kind.tabular and find_spec("pyarrow") is None:
            raise DataError(f"{paths[0]}: {how_to_install('pyarrow', 'data')}")
        if chunk_bytes < 1:
            raise DataError("{given} must be at least 1", given=Parameter("chunk_bytes", chunk_bytes))
        if delimiter is not None and len(delimiter.encode()) != 1:
            raise DataError("{given} must be one ASCII character", given=Parameter("delimiter", delimiter))
        try:
            "".encode("utf-8" if encoding is None else encoding)
        except (LookupError, UnicodeError):
            raise DataError(
                "{given} is not known; give utf-8, windows-1252, latin-1, utf-16 or another name of Python",
                given=Parameter("encoding", encoding),
            ) from None
        given = {"delimiter": delimiter, "encoding": encoding, "zero_based": zero_based or None}
        for name, value in given.items():
            if value is not None and name not in kind.options:
                raise DataError(
                    "{path} is read as {format}, and {parameter} is for {other}; leave it out",
                    path=paths[0],
                    format=kind.title,
                    parameter=Parameter(name, True if value is True else None),
                    other=next(other.title for other in READERS.values() if name in other.options),
                )
        from_zero = zero_based_before if zero_based is None else zero_based
        known = {**given, "zero_based": from_zero, "block_bytes": chunk_bytes, "trained": trained}
        reader = kind(**{name: known[name] for name in kind.options})
        return cls(paths, reader, chunk_bytes, from_zero and kind.sparse)

    @property
    def n_bytes(self) -> int:
        """Size of all files on disk."""
        return sum(map(self.reader.size, self.paths))

    @property
    def n_rows(self) -> int | None:
        """Number of rows if the headers of all files give it, else None."""
        counts = [self.reader.rows(path) for path in self.paths]
        return None if None in counts else sum(count for count in counts if count is not None)

    def check_named(self, parameter: str = "") -> None:
        """Refuse files without named columns: for a parameter that names some, or for what needs a table."""
        if not self.reader.tabular:
            way = "leave {parameter} out" if parameter else "give a table"
            words = f"a {{format}} file has no named columns; {way}"
            raise DataError(words, format=self.reader.title, parameter=Parameter(parameter))

    def blocks(self, wanted: Choice, rows: int, problems: Problems, label: str | None = None) -> Iterator[Block]:
        """Read the files one after the other; with a `label` a line shows the progress."""
        before = count = 0
        with Progress(label, self.n_bytes, "rows") if label else nullcontext() as bar:
            for path in self.paths:
                size = self.reader.size(path) if bar else 0
                for block in self.reader.blocks(path, wanted, rows, problems):
                    for _, where, reason, n_rows in block.broken:
                        problems.report(path, block.index, where, reason, n_rows)
                    if block.rows or (block.broken and problems.on_error == "keep"):
                        yield block
                    count += block.rows
                    if bar:
                        bar.update(before + int(size * block.done), count)
                before += size


def find_paths(path: PathLike | Sequence[PathLike]) -> tuple[str, ...]:
    """Return the files of a path, a directory, a pattern (both sorted by name) or a list of paths (in its order)."""
    if isinstance(path, str) and path == "-":
        found = [_standard_input()]
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


def _check_formats(paths: Sequence[str]) -> None:
    """Refuse files whose names say that they have different formats."""
    known = {name: path for path in reversed(paths) if (name := _format_of_name(path)) is not None}
    if len(known) > 1:
        (one, first), (other, second) = sorted(known.items())[:2]
        folder = os.path.dirname(first)
        pattern = os.path.join(folder, f"*{Path(first).suffix}")
        raise DataError(
            f"{folder or 'the files'}: {os.path.basename(first)} is {READERS[one].title}, and "
            f"{os.path.basename(second)} is {READERS[other].title}; name files of one format, such as {pattern!r}"
        )


def _format_of_name(path: str) -> str | None:
    """Return the format that the name of a file says; None if it says none."""
    for suffix in reversed(Path(path).suffixes):
        for name, kind in READERS.items():
            if suffix.lower() in kind.suffixes:
                return name
    return None


@cache
def _standard_input() -> str:
    """Copy the standard input to a file, because a table may be read more than once; return the file's path."""
    if sys.stdin is None:
        raise DataError("the standard input is closed: name a file, or open it")
    folder = tempfile.mkdtemp(prefix="vrspam-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path, left_free = os.path.join(folder, "standard input"), 1 << 30
    with open(path, "wb") as file:
        while block := _next_block(sys.stdin.buffer):
            if shutil.disk_usage(folder).free < left_free:
                raise DataError(
                    f"the standard input fills the disk: {file.tell() >> 20:,} MiB came, and less than "
                    f"{left_free >> 30} GiB is free in {tempfile.gettempdir()}; save it as a file, and name the file"
                )
            file.write(block)
    return path


def _next_block(stream: Any) -> bytes:
    """Return the next bytes of a stream. It waits a second at a time: a read misses a signal that came just before."""
    if os.name == "posix":
        with suppress(OSError, TypeError):  # not a file of the system
            while not select.select([stream], [], [], 1.0)[0]:
                pass
    return bytes(stream.read1(16 << 20))


def guess_format(path: str) -> str:
    """Return the format of one file: by its name, else by its first bytes."""
    if (named := _format_of_name(path)) is not None:
        return named
    try:
        with open_text(path) as file:
            start = file.stream.read(1 << 16)
    except DAMAGED as error:
        raise DataError(f"{path} is cut off or damaged ({error}); get it again") from error
    for title, suffixes, magic, how in OTHERS:
        if Path(path).suffix.lower() in suffixes or start.startswith(magic):
            if how.startswith("read_"):
                name = Path(path).name
                table = f"pandas.{how}({name!r}){'[0]' if how == 'read_html' else ''}"
                how = f"write it as Parquet first, with {table}.to_parquet({Path(name).stem + '.parquet'!r})"
            raise DataError(f"{path} is {title}, which is not read: {how}")
    for name, kind in READERS.items():
        if kind.magic and start.startswith(kind.magic):
            return name
    line = next((line for line in start.splitlines() if line.strip() and not line.startswith(b"#")), b"")
    if not line:
        raise DataError(f"{path} is empty; get it again, or leave it out")
    head = line[:4096].rpartition(b" ")[0] or line  # a line that was cut may end in the middle of a word
    return next((name for name, kind in READERS.items() if kind.line and kind.line.match(head)), CSVReader.name)


# Formats that are not read: their title, suffixes and first bytes, and the advice, or the pandas function to read them.
OTHERS: tuple[tuple[str, tuple[str, ...], tuple[bytes, ...], str], ...] = (
    ("a Stata file", (".dta",), (b"<stata_dta>",), "read_stata"),
    ("an SPSS file", (".sav", ".zsav", ".por"), (b"$FL2", b"$FL3"), "read_spss"),
    ("a SAS file", (".sas7bdat", ".xpt"), (b"HEADER RECORD*******LIBRARY",), "read_sas"),
    ("a JSON file", (".json", ".jsonl", ".ndjson"), (b"{", b"["), "read_json"),
    ("an old Excel workbook", (".xls",), (b"\xd0\xcf\x11\xe0",), "read_excel"),
    ("an OpenDocument table", (".ods",), (), "read_excel"),
    ("an HDF5 file", (".h5", ".hdf5", ".hdf"), (b"\x89HDF\r\n\x1a\n",), "read_hdf"),
    ("a pickle", (".pkl", ".pickle"), (b"\x80\x04", b"\x80\x05"), "read_pickle"),
    ("an ORC file", (".orc",), (b"ORC",), "read_orc"),
    ("an HTML page", (".html", ".htm"), (b"<!DOCTYPE html", b"<!doctype html", b"<html"), "read_html"),
    (
        "a database file",
        (".sqlite", ".sqlite3", ".db", ".db3", ".duckdb"),
        (b"SQLite format 3\0",),
        "write the table as CSV first (sqlite3 -header -csv FILE 'select * from TABLE' > table.csv)",
    ),
    ("an Access database", (".mdb", ".accdb"), (b"\0\1\0\0Standard",), "export the table as CSV first"),
    ("an R file", (".rds", ".rda", ".rdata"), (), "write the table with R's write.csv first"),
    ("an Avro file", (".avro",), (b"Obj\x01",), "write the table as CSV or Parquet first"),
    ("a zip archive", (".zip",), (), "unpack it first"),
    ("an archive", (".tar", ".tgz", ".7z", ".rar"), (b"7z\xbc\xaf", b"Rar!"), "unpack it first"),
    ("a PDF document", (".pdf",), (b"%PDF",), "get the table as CSV or Excel"),
)
