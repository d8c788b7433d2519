"""Frames in memory: pandas, polars, an arrow table."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from vrspam.data.readers.arrow import ArrowReader, OpenedFile, table_file
from vrspam.data.readers.sheet import as_column
from vrspam.tables.errors import DataError
from vrspam.tables.frames import check_frame, columns_of
from vrspam.tables.writing import Writing


class FrameReader(ArrowReader):
    """A frame in memory: pandas, polars, an arrow table; its columns are read as those of a Parquet file.

    Categories become text, and so do columns of objects of several types.
    """

    name = "frame"
    title = "frame"
    suffixes = ()
    called = "a table"
    group_called = "table"

    def __init__(self, frame: Any, trained: Writing | None = None) -> None:
        import pyarrow as pa

        super().__init__(trained)
        check_frame(frame)
        columns: dict[str, Any] = {}
        declared: list[str] = []
        for name, column in zip(*columns_of(frame), strict=True):
            if str(name) in columns:
                raise DataError(f"two columns of the frame are called {str(name)!r}: rename one")
            columns[str(name)] = _as_arrow(column)
            if column.dtype in (nw.Categorical, nw.Enum):
                declared.append(str(name))
        self._table = pa.table(columns)
        self.declared = declared

    def size(self, path: str) -> int:
        return int(self._table.nbytes)

    def read_file(self, path: str) -> OpenedFile:
        return table_file(self._table)


def _as_arrow(column: Any) -> Any:
    """A series as an arrow array; where arrow does not take its values, by the types of its cells."""
    import pyarrow as pa

    try:
        values = column.to_arrow()
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type).cast(pa.string())
    except (pa.ArrowException, TypeError, ValueError):  # ArrowNotImplementedError: categories of intervals
        cells = zip(column.to_list(), column.is_null().to_list(), strict=True)
        values = as_column([None if is_missing else cell for cell, is_missing in cells])
    return values
