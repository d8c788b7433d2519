"""What a file is: by its name, else by its first bytes; and what files are that are not read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from vrspam.data.readers import READERS
from vrspam.data.readers.csv import CSVReader
from vrspam.data.readers.text_file import DAMAGED, open_text
from vrspam.tables.errors import DataError


def guess_format(path: str) -> str:
    """Return the format of one file: by its name, else by its first bytes."""
    named = _format_of_name(path)
    if named is not None:
        return named
    start = _first_bytes(path)
    _refuse_others(path, start)
    for name, kind in READERS.items():
        if kind.begins(start):
            return name
    return _format_of_text(path, start)


def check_same_format(paths: Sequence[str]) -> None:
    """Refuse files whose names say that they have different formats."""
    first_of_format = {name: path for path in reversed(paths) if (name := _format_of_name(path)) is not None}
    if len(first_of_format) < 2:
        return
    (one, path), (other, other_path) = sorted(first_of_format.items())[:2]
    folder = os.path.dirname(path)
    pattern = os.path.join(folder, f"*{Path(path).suffix}")
    raise DataError(
        f"{folder or 'the files'}: {os.path.basename(path)} is {READERS[one].title}, and "
        f"{os.path.basename(other_path)} is {READERS[other].title}; name files of one format, such as {pattern!r}"
    )


def _format_of_name(path: str) -> str | None:
    """Return the format that the name of a file says; None if it says none."""
    for suffix in reversed(Path(path).suffixes):
        for name, kind in READERS.items():
            if suffix.lower() in kind.suffixes:
                return name
    return None


def _first_bytes(path: str) -> bytes:
    """The first bytes of a file, unpacked."""
    try:
        with open_text(path) as file:
            return file.stream.read(1 << 16)
    except DAMAGED as error:
        raise DataError(f"{path} is cut off or damaged ({error}); get it again") from error


def _format_of_text(path: str, start: bytes) -> str:
    """The format that the first line of a text looks like; CSV if it looks like no other."""
    lines = (line for line in start.splitlines() if line.strip() and not line.startswith(b"#"))
    line = next(lines, b"")
    if not line:
        raise DataError(f"{path} is empty; get it again, or leave it out")
    head = line[:4096].rpartition(b" ")[0] or line  # a line that was cut may end in the middle of a word
    for name, kind in READERS.items():
        if kind.line and kind.line.match(head):
            return name
    return CSVReader.name


class OtherFormat(NamedTuple):
    """A format that is not read.

    Attributes
    ----------
    title : str
    suffixes : tuple of str
    magic : tuple of bytes
        What its files may begin with.
    advice : str
        What to do, or the function of pandas that reads it.
    """

    title: str
    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...]
    advice: str

    def is_format_of(self, path: str, start: bytes) -> bool:
        """Whether a file has this format, by its name and its first bytes."""
        return Path(path).suffix.lower() in self.suffixes or start.startswith(self.magic)

    def refusal(self, path: str) -> str:
        """Say what a file is, and what to do."""
        advice = self.advice
        if advice.startswith("read_"):
            name = Path(path).name
            table = f"pandas.{advice}({name!r}){'[0]' if advice == 'read_html' else ''}"
            advice = f"write it as Parquet first, with {table}.to_parquet({Path(name).stem + '.parquet'!r})"
        return f"{path} is {self.title}, which is not read: {advice}"


def _refuse_others(path: str, start: bytes) -> None:
    """Refuse files of formats that are not read."""
    for other in OTHERS:
        if other.is_format_of(path, start):
            raise DataError(other.refusal(path))


#: Formats that are not read.
OTHERS = (
    OtherFormat("a Stata file", (".dta",), (b"<stata_dta>",), "read_stata"),
    OtherFormat("an SPSS file", (".sav", ".zsav", ".por"), (b"$FL2", b"$FL3"), "read_spss"),
    OtherFormat("a SAS file", (".sas7bdat", ".xpt"), (b"HEADER RECORD*******LIBRARY",), "read_sas"),
    OtherFormat("a JSON file", (".json", ".jsonl", ".ndjson"), (b"{", b"["), "read_json"),
    OtherFormat("an HDF5 file", (".h5", ".hdf5", ".hdf"), (b"\x89HDF\r\n\x1a\n",), "read_hdf"),
    OtherFormat("a pickle", (".pkl", ".pickle"), (b"\x80\x04", b"\x80\x05"), "read_pickle"),
    OtherFormat("an ORC file", (".orc",), (b"ORC",), "read_orc"),
    OtherFormat("an HTML page", (".html", ".htm"), (b"<!DOCTYPE html", b"<!doctype html", b"<html"), "read_html"),
    OtherFormat(
        "a database file",
        (".sqlite", ".sqlite3", ".db", ".db3", ".duckdb"),
        (b"SQLite format 3\0",),
        "write the table as CSV first (sqlite3 -header -csv FILE 'select * from TABLE' > table.csv)",
    ),
    OtherFormat("an Access database", (".mdb", ".accdb"), (b"\0\1\0\0Standard",), "export the table as CSV first"),
    OtherFormat("an R file", (".rds", ".rda", ".rdata"), (), "write the table with R's write.csv first"),
    OtherFormat("an Avro file", (".avro",), (b"Obj\x01",), "write the table as CSV or Parquet first"),
    OtherFormat("a zip archive", (".zip",), (), "unpack it first"),
    OtherFormat("an archive", (".tar", ".tgz", ".7z", ".rar"), (b"7z\xbc\xaf", b"Rar!"), "unpack it first"),
    OtherFormat("a PDF document", (".pdf",), (b"%PDF",), "get the table as CSV or Excel"),
)
