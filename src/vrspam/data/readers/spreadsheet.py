"""Spreadsheets of other programs: old Excel workbooks (.xls) and OpenDocument tables (.ods), by calamine."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from typing import Any
from xml.parsers import expat

from vrspam._utils.warnings import warn
from vrspam.data.readers.arrow import ArrowReader, NoTable, OpenedFile, table_file
from vrspam.data.readers.problems import FileProblem
from vrspam.data.readers.sheet import table_of_rows
from vrspam.tables.errors import DataError

_MOST_CELLS = 1 << 25  # of all sheets of an OpenDocument file: about 1 GiB; an old workbook cannot hold more
_LARGEST_EXACT = 2.0**53
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"


class SpreadsheetReader(ArrowReader):
    """Old Excel workbooks and OpenDocument tables, as one group of rows."""

    name = "spreadsheet"
    title = "an old spreadsheet (.xls, .ods)"
    suffixes = (".xls", ".ods")
    magic = b"\xd0\xcf\x11\xe0"
    called = "a spreadsheet"
    group_called = "sheet"

    @classmethod
    def begins(cls, start: bytes) -> bool:
        return super().begins(start) or _OPEN_DOCUMENT in start[:128]

    def read_file(self, path: str) -> OpenedFile:
        state = os.stat(path)
        return table_file(read_spreadsheet(path, state.st_size, state.st_mtime_ns))


@lru_cache(1)  # a table is read more than once
def read_spreadsheet(path: str, size: int, changed: int) -> Any:
    """Return the first sheet of a file as an arrow table; its first non-empty row holds the column names."""
    if find_spec("python_calamine") is None:
        words = 'cannot be read: reading .xls and .ods needs one more package: pip install "vrspam[excel]"'
        raise NoTable(path, words)
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum

    try:
        if zipfile.is_zipfile(path):
            _check_size(path)
        with CalamineWorkbook.from_path(path) as book:
            names = [sheet.name for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
            if not names:
                raise NoTable(path, "has no sheet with a table, only charts; save one")
            table = table_of_rows(path, _rows(book.get_sheet_by_name(names[0])))
    except DataError:
        raise
    except PasswordError as error:
        raise FileProblem(path, "has a password; save it without one") from error
    except (CalamineError, zipfile.BadZipFile, zlib.error, expat.ExpatError, KeyError, ValueError, OSError) as error:
        words = "is cut off, damaged, or not a spreadsheet; save it again"
        raise FileProblem(path, words) from error
    if len(names) > 1:
        warn(f"{path}: only the first of {len(names)} sheets, {names[0]!r}, is read")
    return table


def _rows(sheet: Any) -> Iterator[list[Any]]:
    """The rows of a sheet as openpyxl would give them: empty cells are None, and whole numbers are integers."""
    for row in sheet.iter_rows():
        yield [_plain(cell) for cell in row]


def _plain(cell: Any) -> Any:
    if cell == "" and isinstance(cell, str):
        return None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _LARGEST_EXACT:
        return int(cell)
    return cell


# OpenDocument files: a cell may say that it stands a million times


def _check_size(path: str) -> None:
    """Refuse OpenDocument files whose cells would not fit into memory, by what they say about repeated rows."""
    counter = _CellCounter()
    with zipfile.ZipFile(path) as archive, archive.open("content.xml") as content:
        while piece := content.read(1 << 20):
            counter.parser.Parse(piece, False)
            if counter.cells > _MOST_CELLS:
                problem = f"has more than {_MOST_CELLS:,} cells; save it as CSV"
                raise FileProblem(path, problem)


class _CellCounter:
    """Counts the cells of an OpenDocument file up to the last row and column that hold anything."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self._cells_before = 0  # of the sheets before
        self._rows = self._filled_rows = 0
        self._columns = self._filled_columns = 0  # of this row
        self._most_columns = 0
        self._repeated = 1  # times that this row stands there

    @property
    def cells(self) -> int:
        return self._cells_before + self._filled_rows * self._most_columns

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "table:table-row":
            self._repeated = int(attributes.get("table:number-rows-repeated", 1))
            self._columns = self._filled_columns = 0
        elif name in ("table:table-cell", "table:covered-table-cell"):
            self._columns += int(attributes.get("table:number-columns-repeated", 1))
            if "office:value-type" in attributes:
                self._filled_columns = self._columns

    def _end(self, name: str) -> None:
        if name == "table:table-row":
            self._rows += self._repeated
            if self._filled_columns:
                self._filled_rows = self._rows
                self._most_columns = max(self._most_columns, self._filled_columns)
        elif name == "table:table":
            self._cells_before = self.cells
            self._rows = self._filled_rows = self._most_columns = 0
