"""Tables whose columns have types: Parquet, Arrow/Feather and Excel files in blocks, and columns of arrow tables."""

from __future__ import annotations

import os
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.messages import how_to_install
from vrspam._utils.validation import plain_arrow
from vrspam._utils.warnings import warn
from vrspam.data.readers.base import Block, Choice, DataError, Problems, Reader, as_table, problem_of, similar
from vrspam.tables.frames import check_frame, columns_of


def type_kind(kind: Any) -> str:
    """Return what a column of this arrow type can be: "number", "bool", "string" or "other"."""
    import pyarrow.types as t

    if t.is_boolean(kind):
        return "bool"
    if t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind) or t.is_null(kind):
        return "number"
    if t.is_dictionary(kind):
        return "string" if type_kind(kind.value_type) == "string" else "other"
    if t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind):
        return "string"
    return "other"


def is_exact(kind: Any) -> bool:
    """Whether an arrow or NumPy type holds integers or decimals, which float64 may round."""
    import pyarrow.types as t

    return kind.kind in "iu" if isinstance(kind, np.dtype) else t.is_integer(kind) or t.is_decimal(kind)


class _File(NamedTuple):
    """An opened file: its columns, the rows of each group, and batches(group, rows, columns) of its rows."""

    schema: Any
    group_rows: list[int]
    batches: Callable[[int, int, list[str]], Iterable[Any]]


class ArrowReader(Reader):
    """What Parquet, Feather and Excel share: a schema in the file, and groups of rows that are read one by one."""

    _called: str  # the file, and a group of its rows, in messages
    _part: str

    def _read(self, path: str) -> _File:
        raise NotImplementedError

    def columns(self, path: str) -> dict[str, Any]:
        schema = self._open(path).schema
        return dict(zip(schema.names, schema.types, strict=True))

    def rows(self, path: str) -> int:
        return sum(self._open(path).group_rows)

    def blocks(self, path: str, wanted: Choice, rows: int, problems: Problems) -> Iterator[Block]:
        import pyarrow as pa

        try:
            file = self._open(path)
        except DataError as error:
            problems.report(path, None, None, problem_of(error), rows=None)
            return
        own = dict(zip(file.schema.names, file.schema.types, strict=True))
        chosen = wanted(own)
        types = {}
        for name, kind in chosen.types.items():  # text is parsed as dates later, when its form is known
            types[name] = own.get(name) if kind is None or pa.types.is_timestamp(kind) else kind
        texts = set()  # columns of text where numbers are wanted: each value is checked
        for name, kind in types.items():
            if chosen.lenient and name in own and type_kind(own[name]) == "string" and kind == pa.float64():
                texts.add(name)
                types[name] = pa.string()
        total = sum(file.group_rows)
        for name, kind in types.items():
            if reason := _mismatch(file.schema, name, kind):
                problems.refuse(path, reason, rows=total)
                return
        target = pa.schema(list(types.items()))
        index = group_start = 0
        for group, size in enumerate(file.group_rows):
            done = group_start
            try:
                for batch in file.batches(group, rows, list(types)):
                    index += 1
                    start, done = done, done + batch.num_rows
                    batch, strays = _typed(batch, target, texts)

                    def where(row: int, start: int = start) -> str:
                        return f"row {start + row + 1}"

                    yield Block(path, index, batch.num_rows, where, done / total, table=batch, strays=strays)
                group_start = done
            except MemoryError as error:
                fix = f"write the file with smaller ones, or free memory ({_one_line(error)})"
                raise DataError(f"{path}: {self._part} {group + 1} does not fit into memory; {fix}") from error
            except (pa.ArrowException, OSError, ValueError) as error:
                group_start += size
                reason = f"{self._part} {group + 1} is damaged ({_one_line(error)})"
                problems.report(path, index + 1, f"row {done + 1}", reason, rows=group_start - done)

    def _open(self, path: str) -> Any:
        import pyarrow as pa

        try:
            file = self._read(path)
        except MemoryError as error:
            raise DataError(f"{path} does not fit into memory ({_one_line(error)}); free some") from error
        except (pa.ArrowException, OSError, ValueError) as error:
            problem = f"is truncated, or not {self._called} ({_one_line(error)}); get it again"
            raise DataError("{path} {problem}", path=path, problem=problem) from error
        twice = [name for name in file.schema.names if file.schema.names.count(name) > 1]
        if twice:
            raise DataError("{path} {problem}", path=path, problem=f"names the column {twice[0]!r} twice; rename one")
        return file


class ParquetReader(ArrowReader):
    """Parquet files."""

    name, title, suffixes, magic = "parquet", "Parquet", (".parquet", ".pq"), b"PAR1"
    _called, _part = "a Parquet file", "row group"

    def _read(self, path: str) -> _File:
        import pyarrow.parquet as pq

        # no pre-buffering: it would hold whole row groups, whatever their size
        file = pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)

        def batches(group: int, rows: int, columns: list[str]) -> Iterator[Any]:
            for batch in file.iter_batches(rows, row_groups=[group], columns=columns):
                yield from plain_arrow(as_table(batch, columns)).to_batches()

        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        return _File(plain_arrow(file.schema_arrow.empty_table()).schema, sizes, batches)


class FeatherReader(ArrowReader):
    """Arrow IPC files, also called Feather."""

    name, title, suffixes, magic = "feather", "Feather", (".feather", ".arrow", ".ipc"), b"ARROW1"
    _called, _part = "an Arrow file", "record batch"

    def _read(self, path: str) -> _File:
        import pyarrow as pa

        # data are not memory-mapped: mapped pages would count as memory of this process
        file = pa.ipc.open_file(pa.OSFile(path))
        mapped = pa.ipc.open_file(pa.memory_map(path))  # touches the heads of the batches only

        def batches(group: int, rows: int, columns: list[str]) -> Iterator[Any]:
            whole = plain_arrow(as_table(file.get_batch(group), columns))
            yield from whole.to_batches(max_chunksize=rows)

        sizes = [mapped.get_batch(group).num_rows for group in range(file.num_record_batches)]
        return _File(plain_arrow(file.schema.empty_table()).schema, sizes, batches)


def _typed(batch: Any, target: Any, texts: Collection[str]) -> tuple[Any, dict[str, Any]]:
    """Return the batch with the types of a schema and the columns `texts` as numbers; and the texts that are none.

    Only integers beyond 2⁵³ may lose digits, as floats.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from vrspam.data.readers.csv_reader import convert_texts

    columns, strays = [], {}
    for column, field in zip(batch.columns, target, strict=True):
        if column.type != field.type:
            rounds = pa.types.is_integer(column.type) and pa.types.is_floating(field.type)
            is_moment = pa.types.is_temporal(column.type) and pa.types.is_string(field.type)
            column = column.cast(field.type, safe=not rounds)
            if is_moment:  # the same text in whatever unit: "2020-12-31", "2020-12-31 10:30:00"
                column = pc.replace_substring_regex(column, r"( 00:00:00)?(\.0+)?$", "")
        if field.name in texts:
            words = pa.chunked_array([column])
            numbers, stray = convert_texts(words, pa.float64(), ".", lenient=True)
            column = numbers.combine_chunks()
            if stray.any():
                strays[field.name] = Counter(words.take(np.flatnonzero(stray)).to_pylist())
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=target.names), strays


def _mismatch(schema: Any, name: str, kind: Any) -> str | None:
    """Return why a file's column cannot have the wanted type, or None if it can."""
    import pyarrow as pa

    if name not in schema.names:
        return f"there is no column {name!r}{similar(name, schema.names)}"
    found = schema.field(name).type
    found_kind, wanted_kind = type_kind(found), type_kind(kind)
    if found == kind or found_kind == wanted_kind or pa.types.is_null(found):
        return None
    fits = {"number": ("number", "bool"), "string": ("string", "number", "bool"), "bool": ("bool",)}
    if found_kind in fits.get(wanted_kind, ()) or (wanted_kind == "string" and pa.types.is_temporal(found)):
        return None
    return f"column {name!r} has type {found} where {kind} is expected"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


# Excel workbooks (.xlsx): the first sheet as a table, by openpyxl.


@lru_cache(1)  # a table is read more than once
def read_sheet(path: str, size: int, changed: int) -> Any:
    """Return the first sheet of a workbook as an arrow table; its first non-empty row holds the column names."""
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
        warn(f"{path}: only the first of {others + 1} sheets, {title!r}, is read")
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
    """Return cells of one type with that type, and cells of several types as text, which is interpreted later."""
    import pyarrow as pa

    from vrspam.data.readers.csv_reader import NULLS

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


def _table_file(table: Any) -> _File:
    """A table in memory, as one group of rows."""

    def batches(group: int, rows: int, columns: list[str]) -> Iterable[Any]:
        return table.select(columns).to_batches(max_chunksize=rows)

    return _File(table.schema, [table.num_rows], batches)


class FrameReader(ArrowReader):
    """A frame in memory: pandas, polars, an arrow table; its columns are read as those of a Parquet file.

    Categories become text, and so do columns of objects of several types.
    """

    name, title, suffixes = "frame", "frame", ()
    _called, _part = "a table", "table"

    def __init__(self, frame: Any) -> None:
        import pyarrow as pa

        check_frame(frame)
        columns, declared = {}, []
        for name, column in zip(*columns_of(frame), strict=True):
            if column.dtype in (nw.Categorical, nw.Enum):
                declared.append(str(name))
            try:
                values = column.to_arrow()
                if pa.types.is_dictionary(values.type):
                    values = values.cast(values.type.value_type).cast(pa.string())
            except (pa.ArrowException, TypeError, ValueError):  # ArrowNotImplementedError: categories of intervals
                pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
                values = _as_column([None if gone else value for value, gone in pairs])
            if str(name) in columns:
                raise DataError(f"two columns of the frame are called {str(name)!r}: rename one")
            columns[str(name)] = values
        self._table, self.declared = pa.table(columns), declared

    def size(self, path: str) -> int:
        return int(self._table.nbytes)

    def _read(self, path: str) -> _File:
        return _table_file(self._table)


class ExcelReader(ArrowReader):
    """Excel workbooks, as one group of rows."""

    name, title, suffixes, magic = "excel", "Excel", (".xlsx", ".xlsm"), b"PK\x03\x04"
    _called, _part = "an Excel workbook", "sheet"

    def _read(self, path: str) -> _File:
        state = os.stat(path)
        return _table_file(read_sheet(path, state.st_size, state.st_mtime_ns))
