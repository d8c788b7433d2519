"""Tables whose columns have types: Parquet, Arrow/Feather and Excel files in blocks, and columns of arrow tables."""

from __future__ import annotations

import os
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.validation import plain_arrow
from vrspam._utils.warnings import warn
from vrspam.data.readers.base import (
    Block,
    Choice,
    DataError,
    Problems,
    Reader,
    as_table,
    named_twice,
    problem_of,
    similar,
)
from vrspam.data.readers.csv_reader import NumberRule, convert_texts, refused_numbers
from vrspam.tables.frames import check_frame, columns_of
from vrspam.tables.schema import Writing


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


class NoTable(DataError):
    """A file holds no table that could be read, and nothing of it could be left out."""


class _File(NamedTuple):
    """An opened file: its columns, the rows of each group, and batches(group, rows, columns) of its rows."""

    schema: Any
    group_rows: list[int]
    batches: Callable[[int, int, list[str]], Iterable[Any]]


class ArrowReader(Reader):
    """What Parquet, Feather and Excel share: a schema in the file, and groups of rows that are read one by one."""

    options = ("trained",)
    _called: str  # the file, and a group of its rows, in messages
    _part: str

    def __init__(self, trained: Writing | None = None) -> None:
        self.trained = trained  # how the training file was written: text among numbers is read so

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
        except NoTable:
            raise
        except DataError as error:
            problems.report(path, None, None, problem_of(error), rows=None)
            return
        own = dict(zip(file.schema.names, file.schema.types, strict=True))
        chosen = wanted(own)
        types = {}
        for name, kind in chosen.types.items():  # text is parsed as dates later, when its form is known
            types[name] = own.get(name) if kind is None or pa.types.is_timestamp(kind) else kind
        rule = None if self.trained is None else NumberRule.in_typed_files(self.trained)
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
                    yield _typed(batch, target, texts, rule, Block(path, index, 0, _row_after(start), done / total))
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
        except DataError:
            raise
        except MemoryError as error:
            raise DataError(f"{path} does not fit into memory ({_one_line(error)}); free some") from error
        except (pa.ArrowException, OSError, ValueError) as error:
            problem = f"is truncated, or not {self._called} ({_one_line(error)}); get it again"
            raise DataError("{path} {problem}", path=path, problem=problem) from error
        if (twice := named_twice(file.schema.names)) is not None:
            raise DataError("{path} {problem}", path=path, problem=f"names the column {twice!r} twice; rename one")
        return file


class ParquetReader(ArrowReader):
    """Parquet files."""

    name, title, suffixes, magic = "parquet", "Parquet", (".parquet", ".pq"), b"PAR1"
    _called, _part = "a Parquet file", "row group"

    def _read(self, path: str) -> _File:
        import pyarrow.parquet as pq

        # no pre-buffering: it would hold whole row groups, whatever their size
        file = pq.ParquetFile(_as_arrow_takes(path), pre_buffer=False, buffer_size=1 << 20)

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
        named = _as_arrow_takes(path)
        file = pa.ipc.open_file(pa.OSFile(path) if named == path else named)
        # touches the heads of the batches only
        mapped = pa.ipc.open_file(pa.memory_map(path) if named == path else _as_arrow_takes(path))

        def batches(group: int, rows: int, columns: list[str]) -> Iterator[Any]:
            whole = plain_arrow(as_table(file.get_batch(group), columns))
            yield from whole.to_batches(max_chunksize=rows)

        sizes = [mapped.get_batch(group).num_rows for group in range(file.num_record_batches)]
        return _File(plain_arrow(file.schema.empty_table()).schema, sizes, batches)


def _row_after(start: int) -> Callable[[int], str]:
    """The words for a row of a block whose first row has this place in the file."""
    return lambda row: f"row {start + row + 1}"


def _typed(batch: Any, target: Any, texts: Collection[str], rule: NumberRule | None, block: Block) -> Block:
    """Fill a block with a batch that has the types of a schema, and the columns `texts` as numbers.

    Texts that are no numbers are counted; rows with numbers that the rule refuses are left out and named. Only integers
    beyond 2⁵³ may lose digits, as floats.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns, strays, wrong = [], dict[str, Counter[str]](), dict[int, str]()
    for column, field in zip(batch.columns, target, strict=True):
        if column.type != field.type:
            rounds = pa.types.is_integer(column.type) and pa.types.is_floating(field.type)
            is_moment = pa.types.is_temporal(column.type) and pa.types.is_string(field.type)
            column = column.cast(field.type, safe=not rounds)
            if is_moment:  # the same text in whatever unit: "2020-12-31", "2020-12-31 10:30:00"
                column = pc.replace_substring_regex(column, r"( 00:00:00)?(\.0+)?$", "")
        if field.name in texts:
            words = pa.chunked_array([column])
            sign = "." if rule is None else rule.decimal
            numbers, stray = convert_texts(words, pa.float64(), sign, lenient=True)
            column = numbers.combine_chunks()
            if rule is not None:
                for place, refused in refused_numbers(words, stray, rule):
                    wrong.setdefault(place, rule.why(field.name, refused))
            if stray.any():
                strays[field.name] = Counter(words.take(np.flatnonzero(stray)).to_pylist())
        if type_kind(column.type) == "string" and not pa.types.is_dictionary(column.type):
            empty = pc.equal(column, "")
            if pc.any(empty).as_py():  # an empty text is a missing value, as in CSV
                column = pc.if_else(empty, pa.scalar(None, column.type), column)
        columns.append(column)
    table = pa.RecordBatch.from_arrays(columns, names=target.names)
    if not wrong:
        return replace(block, rows=table.num_rows, table=table, strays=strays)
    places = sorted(wrong)
    kept = np.setdiff1d(np.arange(table.num_rows), places)
    before = np.searchsorted(kept, places).tolist()
    broken = tuple((n, block.where(place), wrong[place], 1) for n, place in zip(before, places, strict=True))
    where = block.where
    return replace(
        block,
        rows=kept.size,
        table=table.take(kept),
        strays=strays,
        broken=broken,
        where=lambda row: where(int(kept[row])),
    )


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


def _as_arrow_takes(path: str) -> Any:
    """The name of a file, or an open file where the name is not UTF-8, which is all that arrow takes."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return open(path, "rb")
    return path


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


# Excel workbooks (.xlsx): the first sheet as a table, by openpyxl.


_ROWS_AT_ONCE = 4096  # rows of a sheet that are held as Python objects
_MOST_ROWS = 1 << 20  # that a sheet can have
_DAMAGED_BOOK = (zipfile.BadZipFile, zlib.error, SyntaxError, KeyError, ValueError, IndexError, OSError, TypeError)


@lru_cache(1)  # a table is read more than once
def read_sheet(path: str, size: int, changed: int) -> Any:
    """Return the first sheet of a workbook as an arrow table; its first non-empty row holds the column names.

    All rows are read, whatever the workbook says about its size.
    """
    if find_spec("openpyxl") is None:
        words = 'cannot be read: reading Excel needs one more package: pip install "vrspam[excel]"'
        raise NoTable("{path} {problem}", path=path, problem=words)
    _check_book(path)
    wrong_dates = 0
    try:
        # Not by its name, which may have any suffix or none; and a cell that is no date gives a warning of its own.
        with open(path, "rb") as file, warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always")
            book = _open_book(file)
            sheets = book.worksheets
            table = _table_of(path, sheets[0]) if sheets else None
        wrong_dates = sum("marked as a date" in str(remark.message) for remark in remarks)
    except DataError:
        raise
    except _DAMAGED_BOOK as error:
        words = "is cut off, damaged, or not an Excel workbook; save it again"
        raise DataError("{path} {problem}", path=path, problem=words) from error
    if table is None:
        raise NoTable("{path} {problem}", path=path, problem="has no sheet with a table, only charts; save one")
    if wrong_dates:
        words = "cells are marked as dates, and their numbers are none: they count as missing"
        if wrong_dates == 1:
            words = "cell is marked as a date, and its number is none: it counts as missing"
        warn(f"{path}: {wrong_dates:,} {words}")
    if len(sheets) > 1:
        warn(f"{path}: only the first of {len(sheets)} sheets, {sheets[0].title!r}, is read")
    return table


def _open_book(file: Any) -> Any:
    """Open a workbook without its sheets that are charts, of which openpyxl cannot read an empty one."""
    from openpyxl.reader.excel import ExcelReader

    class Tables(ExcelReader):
        """Reads sheets that hold cells."""

        def read_chartsheet(self, sheet: Any, rel: Any) -> None:
            """Leave a chart out."""

    reader = Tables(file, read_only=True, data_only=True)
    reader.read()
    return reader.wb


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
        problem = "is an OpenDocument file, not an Excel workbook: save it as .xlsx first"
    raise NoTable("{path} {problem}", path=path, problem=problem)


def _table_of(path: str, sheet: Any) -> Any:
    """Return a sheet as an arrow table; only `_ROWS_AT_ONCE` of its rows are in memory as Python objects."""
    import pyarrow as pa

    names: list[str] | None = None
    pieces: list[list[Any]] = []  # for each column, what was read of it
    rows: list[list[Any]] = []
    n_rows = 0

    def keep_rows() -> None:
        nonlocal n_rows
        width = max(len(pieces), max(map(len, rows), default=0))
        pieces.extend([pa.nulls(n_rows)] for _ in range(width - len(pieces)))
        for place, parts in enumerate(pieces):
            parts.append(_as_column([row[place] if place < len(row) else None for row in rows]))
        n_rows += len(rows)
        rows.clear()

    sheet.reset_dimensions()
    for number, cells in enumerate(sheet.iter_rows(values_only=True)):
        if number >= _MOST_ROWS:
            raise DataError("{path} {problem}", path=path, problem=f"has more than {_MOST_ROWS:,} rows; save it again")
        row = list(cells)
        while row and row[-1] is None:
            row.pop()
        if not row:
            continue
        if names is None:
            names = ["" if cell is None else str(cell).strip() for cell in row]
            continue
        rows.append(row)
        if len(rows) == _ROWS_AT_ONCE:
            keep_rows()
    keep_rows()
    if names is None:
        raise NoTable("{path} {problem}", path=path, problem="is empty; get it again, or leave it out")
    if not n_rows:
        problem = "has a header but no rows; get it again, or leave it out"
        raise NoTable("{path} {problem}", path=path, problem=problem)
    names += [""] * (len(pieces) - len(names))
    pieces.extend([pa.nulls(n_rows)] for _ in range(len(names) - len(pieces)))
    return pa.Table.from_arrays([_joined(parts) for parts in pieces], names=names)


def _joined(parts: list[Any]) -> Any:
    """Return the parts of a column as one: of their common type, or as text if they have none."""
    import pyarrow as pa

    kinds = {part.type for part in parts if not pa.types.is_null(part.type)}
    if kinds == {pa.int64(), pa.float64()}:
        kinds = {pa.float64()}
    if len(kinds) > 1:
        texts = [pa.array(_texts_of(part.to_pylist()), pa.string()) for part in parts]
        return pa.chunked_array(texts)
    kind = kinds.pop() if kinds else pa.null()
    return pa.chunked_array([part.cast(kind, safe=False) for part in parts], kind)


def _as_column(cells: list[Any]) -> Any:
    """Return cells of one type with that type, and cells of several types as text, which is interpreted later."""
    import pyarrow as pa

    from vrspam.data.readers.csv_reader import NULLS

    kept = [None if isinstance(cell, str) and cell in NULLS else cell for cell in cells]
    present = [cell for cell in kept if cell is not None]
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
        return pa.array([_since_midnight(cell) for cell in kept], pa.duration("us"))
    return pa.array(_texts_of(kept), pa.string())


def _since_midnight(cell: Any) -> Any:
    """Return a time of day as a duration; anything else as it is."""
    return datetime.combine(datetime.min, cell) - datetime.min if isinstance(cell, time) else cell


def _texts_of(cells: list[Any]) -> list[str | None]:
    """Return cells as the texts that a column of their own type becomes, where it is wanted as text."""
    import pyarrow as pa

    numbers = iter(
        pa.array([cell for cell in cells if isinstance(cell, float)], pa.float64()).cast(pa.string()).to_pylist()
    )
    texts: list[str | None] = []
    for cell in cells:
        if isinstance(cell, float):
            texts.append(next(numbers))
        elif isinstance(cell, bool):
            texts.append(str(cell).lower())
        elif isinstance(cell, datetime):
            texts.append(str(cell).removesuffix(" 00:00:00"))
        else:
            texts.append(None if cell is None else str(_since_midnight(cell)))
    return texts


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

    def __init__(self, frame: Any, trained: Writing | None = None) -> None:
        import pyarrow as pa

        super().__init__(trained)
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
