"""Rows of cells, as Excel and other programs keep them, as an arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from vrspam.data.readers.arrow import NoTable
from vrspam.data.readers.cells import NULLS
from vrspam.data.readers.problems import FileProblem

_ROWS_AT_ONCE = 4096  # rows of a sheet that are held as Python objects
_MOST_ROWS = 1 << 20  # that a sheet can have


def table_of_rows(path: str, rows: Iterable[Sequence[Any]]) -> Any:
    """Return the rows of a sheet as an arrow table; the first that is not empty holds the column names.

    Only some thousand rows are in memory as Python objects.
    """
    filled_rows = _filled_rows(path, rows)
    header = next(filled_rows, None)
    if header is None:
        raise NoTable(path, "is empty; get it again, or leave it out")
    columns = _Columns()
    for row in filled_rows:
        columns.add(row)
    columns.keep_rows()
    if not columns.n_rows:
        problem = "has a header but no rows; get it again, or leave it out"
        raise NoTable(path, problem)
    return columns.table(["" if cell is None else str(cell).strip() for cell in header])


def _filled_rows(path: str, rows: Iterable[Sequence[Any]]) -> Iterator[list[Any]]:
    """The rows that hold any cell, without the empty cells at their ends."""
    for number, cells in enumerate(rows):
        if number >= _MOST_ROWS:
            raise FileProblem(path, f"has more than {_MOST_ROWS:,} rows; save it again")
        row = list(cells)
        while row and row[-1] is None:
            row.pop()
        if row:
            yield row


class _Columns:
    """Columns that grow by rows of different lengths: as arrow arrays, and at last some rows as Python objects."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._pieces: list[list[Any]] = []  # for each column, what was read of it
        self._rows: list[list[Any]] = []

    def add(self, row: list[Any]) -> None:
        self._rows.append(row)
        if len(self._rows) == _ROWS_AT_ONCE:
            self.keep_rows()

    def keep_rows(self) -> None:
        """Turn the rows that are Python objects into arrow arrays."""
        self._widen(max(map(len, self._rows), default=0))
        for place, pieces in enumerate(self._pieces):
            pieces.append(as_column([row[place] if place < len(row) else None for row in self._rows]))
        self.n_rows += len(self._rows)
        self._rows.clear()

    def _widen(self, width: int) -> None:
        """Add columns without values in the rows so far, up to a number of columns."""
        import pyarrow as pa

        while len(self._pieces) < width:
            self._pieces.append([pa.nulls(self.n_rows)])

    def table(self, names: list[str]) -> Any:
        """All rows as an arrow table; columns without a name have an empty one."""
        import pyarrow as pa

        self._widen(len(names))
        without_name = [""] * (len(self._pieces) - len(names))
        return pa.Table.from_arrays([_joined(pieces) for pieces in self._pieces], names=[*names, *without_name])


def _joined(pieces: list[Any]) -> Any:
    """Return the pieces of a column as one: of their common type, or as text if they have none."""
    import pyarrow as pa

    kinds = {piece.type for piece in pieces if not pa.types.is_null(piece.type)}
    if kinds == {pa.int64(), pa.float64()}:
        kinds = {pa.float64()}
    if len(kinds) > 1:
        texts = [pa.array(_texts_of(piece.to_pylist()), pa.string()) for piece in pieces]
        return pa.chunked_array(texts)
    kind = kinds.pop() if kinds else pa.null()
    return pa.chunked_array([piece.cast(kind, safe=False) for piece in pieces], kind)


def as_column(cells: list[Any]) -> Any:
    """Return cells of one type with that type, and cells of several types as text, which is interpreted later."""
    import pyarrow as pa

    kept = [None if isinstance(cell, str) and cell in NULLS else cell for cell in cells]
    present = [cell for cell in kept if cell is not None]
    if not present:
        return pa.array(kept, pa.null())
    if all(isinstance(cell, bool) for cell in present):
        return pa.array(kept, pa.bool_())
    if all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in present):
        return _column_of_numbers(kept)
    if all(isinstance(cell, date) for cell in present):
        return pa.array([_as_moment(cell) for cell in kept], pa.timestamp("us"))
    if all(isinstance(cell, time | timedelta) for cell in present):
        return pa.array([_since_midnight(cell) for cell in kept], pa.duration("us"))
    return pa.array(_texts_of(kept), pa.string())


def _column_of_numbers(cells: list[Any]) -> Any:
    """Numbers as integers, if all are and fit, else as floats."""
    import pyarrow as pa

    present = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, int) and abs(cell) < 2**63 for cell in present):
        return pa.array(cells, pa.int64())
    return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())


def _as_moment(cell: date | None) -> datetime | None:
    if cell is None or isinstance(cell, datetime):
        return cell
    return datetime(cell.year, cell.month, cell.day)


def _since_midnight(cell: Any) -> Any:
    """Return a time of day as a duration, as Excel has durations below a day as times; anything else as it is."""
    return datetime.combine(datetime.min, cell) - datetime.min if isinstance(cell, time) else cell


def _texts_of(cells: list[Any]) -> list[str | None]:
    """Return cells as the texts that a column of their own type becomes, where it is wanted as text."""
    import pyarrow as pa

    floats = pa.array([cell for cell in cells if isinstance(cell, float)], pa.float64())
    texts_of_floats = iter(floats.cast(pa.string()).to_pylist())
    return [next(texts_of_floats) if isinstance(cell, float) else _text_of(cell) for cell in cells]


def _text_of(cell: Any) -> str | None:
    """Any cell but a fraction as text."""
    if cell is None:
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, datetime):
        return str(cell).removesuffix(" 00:00:00")
    return str(_since_midnight(cell))
