"""Excel workbooks and NumPy arrays; what other files are, and how to make one of them that is read."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.messages import how_to_install
from vrspam._utils.warnings import warn
from vrspam.data.errors import DataError, Problems, problem_of, unusable
from vrspam.data.readers.arrow_reader import ArrowReader
from vrspam.data.readers.base import Block, RequestOrChoice, choose


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


# Excel workbooks (.xlsx): the first sheet as a table, by openpyxl.


def read_sheet(path: str) -> Any:
    """The first sheet of a workbook as an arrow table; its first row that is not empty has the names."""
    try:
        import openpyxl
        from openpyxl.utils.exceptions import InvalidFileException
    except ModuleNotFoundError as error:
        raise DataError(f"{path}: {how_to_install('openpyxl', 'excel')}") from error
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        rows = [row for row in sheet.iter_rows(values_only=True) if any(cell is not None for cell in row)]
        others = len(book.worksheets) - 1
        title = sheet.title
        book.close()
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError, IndexError, OSError, TypeError) as error:
        raise DataError(f"{path} is cut off, damaged, or not an Excel workbook; save it again") from error
    if others:
        warn(f"{path}: the sheet {title!r} is read, the first of {others + 1}")
    if not rows:
        raise DataError(f"{path} is empty; get it again, or leave it out")
    names = [str(cell).strip() if cell is not None else "" for cell in rows[0]]
    while names and names[-1] == "" and all(len(row) < len(names) or row[len(names) - 1] is None for row in rows):
        names.pop()
    if len(rows) == 1:
        raise DataError(f"{path} has a header but no rows; get it again, or leave it out")
    import pyarrow as pa

    columns = [[row[j] if j < len(row) else None for row in rows[1:]] for j in range(len(names))]
    return pa.Table.from_arrays([_as_column(cells) for cells in columns], names=names)


def _as_column(cells: list[Any]) -> Any:
    """Cells of one type as such; of several types as text, whose meaning is found where the table is read."""
    import pyarrow as pa

    from vrspam.data.readers.csv_parsing import NULLS

    present = [cell for cell in cells if cell is not None and cell not in NULLS]
    kept = [None if cell in NULLS else cell for cell in cells]
    if all(isinstance(cell, bool) for cell in present):
        return pa.array(kept, pa.bool_() if present else pa.null())
    if all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in present):
        whole = all(isinstance(cell, int) and abs(cell) < 2**63 for cell in present)
        return pa.array(
            kept if whole else [None if c is None else float(c) for c in kept], pa.int64() if whole else pa.float64()
        )
    if all(isinstance(cell, date) for cell in present):
        moments = [c if c is None or isinstance(c, datetime) else datetime(c.year, c.month, c.day) for c in kept]
        return pa.array(moments, pa.timestamp("us"))
    if all(isinstance(cell, time | timedelta) for cell in present):  # Excel has durations below a day as times
        midnight = datetime.min
        since = [datetime.combine(midnight, c) - midnight if isinstance(c, time) else c for c in kept]
        return pa.array(since, pa.duration("us"))
    return pa.array([None if cell is None else str(cell) for cell in kept], pa.string())


class _Workbook:
    """A workbook, as one group of rows."""

    part, called = "sheet", "an Excel workbook"

    def __init__(self, path: str) -> None:
        state = os.stat(path)
        key = (path, state.st_size, state.st_mtime_ns)
        if key not in _KEPT:
            table = read_sheet(path)
            _KEPT.clear()
            _KEPT[key] = table
        self._table = _KEPT[key]
        self.schema, self.rows, self.groups = self._table.schema, self._table.num_rows, 1

    def group_rows(self, group: int) -> int:
        return self.rows

    def batches(self, group: int, rows: int, columns: list[str]) -> Iterator[Any]:
        yield from self._table.select(columns).to_batches(max_chunksize=rows)


_KEPT: dict[tuple[str, int, int], Any] = {}  # the last workbook: a table is looked at more than once


class ExcelReader(ArrowReader):
    """Excel workbooks."""

    name, title, suffixes, magic = "excel", "Excel", (".xlsx", ".xlsm"), b"PK\x03\x04"
    _kind = _Workbook


# `.npy` arrays in blocks.


class NpyReader:
    """Arrays that NumPy has saved; columns have numbers."""

    name, title, suffixes, magic = "npy", ".npy", (".npy",), b"\x93NUMPY"
    tabular, sparse, options = False, False, ()
    line = None

    def columns(self, path: str) -> dict[str, Any]:
        """Return the numbers of the columns, as text, with their type."""
        array = open_npy(path)
        if array.ndim != 2:
            raise DataError(f"{path} has shape {array.shape}; rows and columns are needed")
        return {str(number): array.dtype for number in range(array.shape[1])}

    def rows(self, path: str) -> int:
        """Return the number of rows."""
        return len(open_npy(path))

    def blocks(self, path: str, wanted: RequestOrChoice, rows: int, problems: Problems) -> Iterator[Block]:
        """Yield the wanted columns as float64, and the label column, `rows` rows at a time."""
        try:
            array = open_npy(path)
        except DataError as error:
            problems.report(path, None, None, problem_of(error), rows=None)
            return
        asked = choose(wanted, {})
        features, label = list(asked.features), asked.label
        needed = max([*features, -1 if label is None else label]) + 1
        if array.ndim != 2 or array.shape[1] < needed:
            problems.refuse(path, f"it has shape {array.shape}, and columns 0 to {needed - 1} are needed", len(array))
            return
        everything = features == list(range(array.shape[1]))
        for index, start in enumerate(range(0, len(array), rows)):
            part = np.asarray(array[start : start + rows])
            X = np.array(part if everything else part[:, features], dtype=np.float64, order="C")
            y = None if label is None else np.array(part[:, label])

            def where(row: int, start: int = start) -> str:
                return f"row {start + row + 1}"

            yield Block(path, index + 1, len(X), where, (start + len(X)) / len(array), X=X, y=y)


def open_npy(path: str) -> np.ndarray:
    """Return a memory map of a numeric array, or say why not."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise unusable(path, "is truncated, or not a .npy file of numbers; get it again") from error
    if array.ndim not in (1, 2) or array.dtype.kind not in "biuf":
        raise unusable(path, f"holds {array.ndim} dimensions of {array.dtype}; an array of numbers is needed")
    return array


def with_labels(blocks: Iterator[Block], labels: np.ndarray) -> Iterator[Block]:
    """Give blocks the labels of a separate array, in order."""
    start = 0
    for block in blocks:
        yield replace(block, y=np.array(labels[start : start + block.rows]))
        start += block.rows
