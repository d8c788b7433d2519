"""Excel workbooks (.xlsx): the first sheet as a table, by openpyxl."""

from __future__ import annotations

import os
import warnings
import zipfile
import zlib
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from vrspam._utils.warnings import warn
from vrspam.data.readers.arrow import ArrowReader, NoTable, OpenedFile, table_file
from vrspam.data.readers.problems import FileProblem
from vrspam.data.readers.sheet import table_of_rows
from vrspam.tables.errors import DataError

_DAMAGED_BOOK = (zipfile.BadZipFile, zlib.error, SyntaxError, KeyError, ValueError, IndexError, OSError, TypeError)


class ExcelReader(ArrowReader):
    """Excel workbooks, as one group of rows."""

    name = "excel"
    title = "Excel"
    suffixes = (".xlsx", ".xlsm")
    magic = b"PK\x03\x04"
    called = "an Excel workbook"
    group_called = "sheet"

    def read_file(self, path: str) -> OpenedFile:
        state = os.stat(path)
        return table_file(read_sheet(path, state.st_size, state.st_mtime_ns))


@lru_cache(1)  # a table is read more than once
def read_sheet(path: str, size: int, changed: int) -> Any:
    """Return the first sheet of a workbook as an arrow table; its first non-empty row holds the column names.

    All rows are read, whatever the workbook says about its size.
    """
    if find_spec("openpyxl") is None:
        words = 'cannot be read: reading Excel needs one more package: pip install "vrspam[excel]"'
        raise NoTable(path, words)
    _check_book(path)
    try:
        # Not by its name, which may have any suffix or none; and a cell that is no date gives a warning of its own.
        with open(path, "rb") as file, warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always")
            sheets = _open_book(file).worksheets
            table = _table_of(path, sheets[0]) if sheets else None
    except DataError:
        raise
    except _DAMAGED_BOOK as error:
        words = "is cut off, damaged, or not an Excel workbook; save it again"
        raise FileProblem(path, words) from error
    if table is None:
        raise NoTable(path, "has no sheet with a table, only charts; save one")
    _warn_of_wrong_dates(path, sum("marked as a date" in str(remark.message) for remark in remarks))
    if len(sheets) > 1:
        warn(f"{path}: only the first of {len(sheets)} sheets, {sheets[0].title!r}, is read")
    return table


def _open_book(file: Any) -> Any:
    """Open a workbook without its sheets that are charts, of which openpyxl cannot read an empty one."""
    from openpyxl.reader.excel import ExcelReader

    class TableReader(ExcelReader):
        """Reads sheets that hold cells."""

        def read_chartsheet(self, sheet: Any, rel: Any) -> None:
            """Leave a chart out."""

    reader = TableReader(file, read_only=True, data_only=True)
    reader.read()
    return reader.wb


def _table_of(path: str, sheet: Any) -> Any:
    """All rows of a sheet as an arrow table."""
    sheet.reset_dimensions()
    return table_of_rows(path, sheet.iter_rows(values_only=True))


def _check_book(path: str) -> None:
    """Refuse archives that are no workbooks: by the names of the files in them."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return  # reported when it is read
    if any(name.startswith("xl/") for name in names):
        return
    problem = "is a zip archive, not an Excel workbook: unpack it first"
    if "mimetype" in names:
        problem = "is an OpenDocument file, not an Excel workbook: give it a name that ends in .ods"
    raise NoTable(path, problem)


def _warn_of_wrong_dates(path: str, count: int) -> None:
    if count == 1:
        warn(f"{path}: 1 cell is marked as a date, and its number is none: it counts as missing")
    elif count:
        warn(f"{path}: {count:,} cells are marked as dates, and their numbers are none: they count as missing")
