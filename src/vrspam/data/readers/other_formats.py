"""Files that are not read: what they are, and how to make one of them that is."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class OtherFormat(NamedTuple):
    """A format that is not read: what it is called, how its files end and begin, and what converts it."""

    title: str
    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...] = ()
    pandas: str = ""


OTHERS = (
    OtherFormat("a Stata file", (".dta",), (b"<stata_dta>",), "read_stata"),
    OtherFormat("an SPSS file", (".sav", ".zsav", ".por"), (b"$FL2", b"$FL3"), "read_spss"),
    OtherFormat("a SAS file", (".sas7bdat", ".xpt"), (b"HEADER RECORD*******LIBRARY",), "read_sas"),
    OtherFormat("a JSON file", (".json", ".jsonl", ".ndjson"), (b"{", b"["), "read_json"),
    OtherFormat("an old Excel workbook", (".xls",), (b"\xd0\xcf\x11\xe0",), "read_excel"),
    OtherFormat("an OpenDocument table", (".ods",), (), "read_excel"),
    OtherFormat("an HDF5 file", (".h5", ".hdf5", ".hdf"), (b"\x89HDF\r\n\x1a\n",), "read_hdf"),
    OtherFormat("a pickle", (".pkl", ".pickle"), (b"\x80\x04", b"\x80\x05"), "read_pickle"),
    OtherFormat("an ORC file", (".orc",), (b"ORC",), "read_orc"),
    OtherFormat("an HTML page", (".html", ".htm"), (b"<!DOCTYPE html", b"<!doctype html", b"<html"), "read_html"),
    OtherFormat("a database file", (".sqlite", ".sqlite3", ".db", ".db3", ".duckdb"), (b"SQLite format 3\0",)),
    OtherFormat("an Access database", (".mdb", ".accdb"), (b"\0\1\0\0Standard",)),
    OtherFormat("an R file", (".rds", ".rda", ".rdata")),
    OtherFormat("an Avro file", (".avro",), (b"Obj\x01",)),
    OtherFormat("a zip archive", (".zip",)),
    OtherFormat("an archive", (".tar", ".tgz", ".7z", ".rar"), (b"7z\xbc\xaf", b"Rar!")),
    OtherFormat("a PDF document", (".pdf",), (b"%PDF",)),
)
_HOW = {
    "a database file": "write the table as CSV first (sqlite3 -header -csv FILE 'select * from TABLE' > table.csv)",
    "an Access database": "export the table as CSV first",
    "an R file": "write the table with R's write.csv first",
    "a zip archive": "unpack it first",
    "an archive": "unpack it first",
    "a PDF document": "get the table as CSV or Excel",
}


def describe_other_format(path: str, start: bytes) -> str | None:
    """What a file is that is not read, and what to do; None for a file that may be text.

    >>> describe_other_format("survey.sav", b"")
    "survey.sav is an SPSS file, which is not read: write it as Parquet first, with pandas.read_spss('survey.sav')..."
    """
    suffix = Path(path).suffix.lower()
    for found in OTHERS:
        if suffix in found.suffixes or any(start.startswith(magic) for magic in found.magic):
            how = _HOW.get(found.title)
            if how is None:
                name = Path(path).name
                table = f"pandas.{found.pandas}({name!r}){'[0]' if found.pandas == 'read_html' else ''}"
                how = f"write it as Parquet first, with {table}.to_parquet({Path(name).stem + '.parquet'!r})"
            return f"{path} is {found.title}, which is not read: {how}"
    return None
