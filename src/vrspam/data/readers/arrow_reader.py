"""Parquet and Arrow/Feather files in blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vrspam.data.errors import DataError, Problems, problem_of, similar, unusable
from vrspam.data.readers.base import Block, RequestOrChoice, choose


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


def is_integer(kind: Any) -> bool:
    """Whether an arrow type is one of integers."""
    import pyarrow.types as t

    return t.is_integer(kind)


def is_exact(kind: Any) -> bool:
    """Whether an arrow or NumPy type holds integers or decimals, which float64 may round."""
    import pyarrow.types as t

    return kind.kind in "iu" if isinstance(kind, np.dtype) else t.is_integer(kind) or t.is_decimal(kind)


def numeric_values(table: Any, names: Sequence[str]) -> np.ndarray:
    """Return float64 columns of a record batch as one row-major array, missing values as NaN."""
    if not names:
        return np.empty((table.num_rows, 0))
    return table.select(list(names)).to_tensor(null_to_nan=True, row_major=True).to_numpy()


def column_values(table: Any, name: str) -> np.ndarray:
    """Return a float64 column of a record batch or a table, missing values as NaN."""
    column = table.column(name)
    return column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)


def as_table(batch: Any, names: Sequence[str] | None = None) -> Any:
    """A record batch, or some columns of it, as a table, which narwhals takes for a frame."""
    import pyarrow as pa

    return pa.Table.from_batches([batch if names is None else batch.select(list(names))])


def as_batch(table: Any) -> Any:
    """A table in one piece."""
    import pyarrow as pa

    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)


class ArrowReader:
    """What Parquet and Feather share: a schema in the file, and groups of rows that are read one by one."""

    tabular, sparse, options = True, False, ()
    line = None
    _kind: Any

    def columns(self, path: str) -> dict[str, Any]:
        """Return the columns of a file with their arrow types."""
        schema = self._open(path).schema
        return dict(zip(schema.names, schema.types, strict=True))

    def rows(self, path: str) -> int:
        """Return the number of rows a file says it has."""
        return self._open(path).rows

    def blocks(self, path: str, wanted: RequestOrChoice, rows: int, problems: Problems) -> Iterator[Block]:
        """Yield the wanted columns, at most `rows` rows at a time."""
        import pyarrow as pa

        try:
            file = self._open(path)
        except DataError as error:
            problems.report(path, None, None, problem_of(error), rows=None)
            return
        own = dict(zip(file.schema.names, file.schema.types, strict=True))
        chosen = choose(wanted, own)
        types = {}
        for name, kind in chosen.types.items():  # dates are read where their form is known
            types[name] = own.get(name) if kind is None or pa.types.is_timestamp(kind) else kind
        texts = {}  # where numbers are wanted: each is looked at
        for name, kind in types.items():
            if chosen.lenient and name in own and type_kind(own[name]) == "string" and kind == pa.float64():
                texts[name], types[name] = kind, pa.string()
        for name, kind in types.items():
            if reason := _mismatch(file.schema, name, kind):
                problems.refuse(path, reason, rows=file.rows)
                return
        target = pa.schema(list(types.items()))
        index = group_start = 0
        for group in range(file.groups):
            done = group_start
            try:
                for batch in file.batches(group, rows, list(types)):
                    index += 1
                    if batch.schema.types != target.types:
                        batch = _cast(batch, target)
                    start, done = done, done + batch.num_rows
                    batch, strays = _convert(batch, texts)

                    def where(row: int, start: int = start) -> str:
                        return f"row {start + row + 1}"

                    yield Block(path, index, batch.num_rows, where, done / file.rows, table=batch, strays=strays)
                group_start = done
            except (pa.ArrowException, OSError, ValueError) as error:
                group_start += file.group_rows(group)
                reason = f"{file.part} {group + 1} is damaged ({_one_line(error)})"
                problems.report(path, index + 1, f"row {done + 1}", reason, rows=group_start - done)

    def _open(self, path: str) -> Any:
        import pyarrow as pa

        try:
            file = self._kind(path)
        except (pa.ArrowException, OSError, ValueError) as error:
            problem = f"is truncated, or not {self._kind.called} ({_one_line(error)}); get it again"
            raise unusable(path, problem) from error
        twice = [name for name in file.schema.names if file.schema.names.count(name) > 1]
        if twice:
            raise unusable(path, f"names the column {twice[0]!r} twice; rename one")
        return file


class _Parquet:
    """A Parquet file, row group by row group."""

    part, called = "row group", "a Parquet file"

    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pq

        # no pre-buffering: it would hold whole row groups, whatever their size
        self._file = pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)
        self.schema = self._file.schema_arrow
        self.rows = self._file.metadata.num_rows
        self.groups = self._file.num_row_groups

    def group_rows(self, group: int) -> int:
        return self._file.metadata.row_group(group).num_rows

    def batches(self, group: int, rows: int, columns: list[str]) -> Iterator[Any]:
        for batch in self._file.iter_batches(rows, row_groups=[group], columns=columns):
            yield batch.select(columns)


class _Feather:
    """An Arrow IPC file (Feather), record batch by record batch."""

    part, called = "record batch", "an Arrow file"

    def __init__(self, path: str) -> None:
        import pyarrow as pa

        # data are not memory-mapped: mapped pages would count as memory of this process
        self._file = pa.ipc.open_file(pa.OSFile(path))
        self.schema = self._file.schema
        self.groups = self._file.num_record_batches
        mapped = pa.ipc.open_file(pa.memory_map(path))  # touches the heads of the batches only
        self._rows = [mapped.get_batch(group).num_rows for group in range(self.groups)]
        self.rows = sum(self._rows)

    def group_rows(self, group: int) -> int:
        return self._rows[group]

    def batches(self, group: int, rows: int, columns: list[str]) -> Iterator[Any]:
        batch = self._file.get_batch(group).select(columns)
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


class ParquetReader(ArrowReader):
    """Parquet files."""

    name, title, suffixes, magic = "parquet", "Parquet", (".parquet", ".pq"), b"PAR1"
    _kind = _Parquet


class FeatherReader(ArrowReader):
    """Arrow IPC files, also called Feather."""

    name, title, suffixes, magic = "feather", "Feather", (".feather", ".arrow", ".ipc"), b"ARROW1"
    _kind = _Feather


def _cast(batch: Any, target: Any) -> Any:
    """The batch with the types of another schema; integers beyond 2⁵³ may lose digits as floats, nothing else may."""
    import pyarrow as pa

    columns = []
    for column, wanted in zip(batch.columns, target.types, strict=True):
        rounds = pa.types.is_integer(column.type) and pa.types.is_floating(wanted)
        columns.append(column if column.type == wanted else column.cast(wanted, safe=not rounds))
    return pa.RecordBatch.from_arrays(columns, schema=target)


def _convert(batch: Any, texts: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The batch with text turned into numbers, and the texts that are none."""
    import pyarrow as pa

    from vrspam.data.readers.csv_parsing import convert_texts

    strays: dict[str, Any] = {}
    for name, kind in texts.items():
        place = batch.schema.get_field_index(name)
        column = pa.chunked_array([batch.column(place)])
        numbers, stray = convert_texts(column, kind, ".", lenient=True)
        if stray.any():
            strays[name] = Counter(column.take(np.flatnonzero(stray)).to_pylist())
        batch = batch.set_column(place, name, numbers.combine_chunks())
    return batch, strays


def _mismatch(schema: Any, name: str, kind: Any) -> str | None:
    """Say why a file's column cannot be what is wanted."""
    import pyarrow as pa

    if name not in schema.names:
        return f"there is no column {name!r}{similar(name, schema.names)}"
    found = schema.field(name).type
    if found == kind:
        return None
    found_kind, wanted_kind = type_kind(found), type_kind(kind)
    if found == kind or found_kind == wanted_kind or pa.types.is_null(found):
        return None
    fits = {"number": ("number", "bool"), "string": ("string", "number", "bool"), "bool": ("bool",)}
    if found_kind in fits.get(wanted_kind, ()):
        return None
    return f"column {name!r} has type {found} where {kind} is expected"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
