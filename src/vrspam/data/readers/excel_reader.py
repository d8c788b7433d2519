"""Excel workbooks (.xlsx): the first sheet as a table, by openpyxl."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

from vrspam._utils.messages import how_to_install
from vrspam._utils.warnings import warn
from vrspam.data.errors import DataError
from vrspam.data.readers.arrow_reader import ArrowReader


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
