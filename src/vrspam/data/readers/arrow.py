"""What formats share whose columns have arrow types: groups of rows in a file, read one by one (`ArrowReader`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from vrspam.data.readers.block import Block, BrokenPart
from vrspam.data.readers.cells import convert_texts
from vrspam.data.readers.number_rule import NumberRule, refused_numbers
from vrspam.data.readers.problems import FileProblem, Problems, named_twice, problem_of, similar
from vrspam.data.readers.reader import Choice, ColumnRequest, Reader
from vrspam.tables.errors import DataError
from vrspam.tables.writing import Writing

#: Which kinds of columns can become a kind that is wanted.
_FITS = {"number": ("number", "bool"), "string": ("string", "number", "bool"), "bool": ("bool",)}


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

    if isinstance(kind, np.dtype):
        return kind.kind in "iu"
    return t.is_integer(kind) or t.is_decimal(kind)


class NoTable(FileProblem):
    """A file holds no table that could be read, and nothing of it could be left out."""


class OpenedFile(NamedTuple):
    """An opened file: its columns, the rows of each group, and batches(group, rows, columns) of its rows."""

    schema: Any
    group_rows: list[int]
    batches: Callable[[int, int, list[str]], Iterable[Any]]

    @property
    def types(self) -> dict[str, Any]:
        return dict(zip(self.schema.names, self.schema.types, strict=True))


def table_file(table: Any) -> OpenedFile:
    """A table in memory, as one group of rows."""

    def batches(group: int, rows: int, columns: list[str]) -> Iterable[Any]:
        return table.select(columns).to_batches(max_chunksize=rows)

    return OpenedFile(table.schema, [table.num_rows], batches)


class ArrowReader(Reader):
    """What Parquet, Feather and Excel share: a schema in the file, and groups of rows that are read one by one.

    A subclass has a `read_file`, and says in `called` and `group_called` what a file and a group of its rows are.
    """

    options = ("trained",)
    called: str
    group_called: str

    def __init__(self, trained: Writing | None = None) -> None:
        self.trained = trained  # how the training file was written: text among numbers is read so

    def read_file(self, path: str) -> OpenedFile:
        """Open a file; what is wrong in it is raised as arrow or the system raises it."""
        raise NotImplementedError

    def columns(self, path: str) -> dict[str, Any]:
        file = self._open(path)
        if problem := _refused_names(file):
            raise DataError(f"{path}: {problem}")
        return file.types

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
        total = sum(file.group_rows)
        if problem := _refused_names(file):
            problems.refuse(path, problem, rows=total)
            return
        request = wanted(file.types)
        types = _types_read(request, file.types)
        texts = _texts_among_numbers(types, file.types) if request.lenient else []
        types.update(dict.fromkeys(texts, pa.string()))
        for name, kind in types.items():
            if reason := _mismatch(file.schema, name, kind):
                problems.refuse(path, reason, rows=total)
                return

        rule = None if self.trained is None else NumberRule.in_typed_files(self.trained)
        target = pa.schema(list(types.items()))
        index = 0
        group_start = 0
        for group, size in enumerate(file.group_rows):
            stop = group_start
            try:
                for batch in file.batches(group, rows, list(types)):
                    index += 1
                    start, stop = stop, stop + batch.num_rows
                    block = Block(path, index, batch.num_rows, _place_after(start), stop / total)
                    yield _typed(block, batch, target, texts, rule)
                group_start = stop
            except MemoryError as error:
                fix = f"write the file with smaller ones, or free memory ({_one_line(error)})"
                raise DataError(f"{path}: {self.group_called} {group + 1} does not fit into memory; {fix}") from error
            except (pa.ArrowException, OSError, ValueError) as error:
                group_start += size
                reason = f"{self.group_called} {group + 1} is damaged ({_one_line(error)})"
                problems.report(path, index + 1, f"row {stop + 1}", reason, rows=group_start - stop)

    def _open(self, path: str) -> OpenedFile:
        import pyarrow as pa

        try:
            file = self.read_file(path)
        except DataError:
            raise
        except MemoryError as error:
            raise DataError(f"{path} does not fit into memory ({_one_line(error)}); free some") from error
        except (pa.ArrowException, OSError, ValueError) as error:
            problem = f"is truncated, or not {self.called} ({_one_line(error)}); get it again"
            raise FileProblem(path, problem) from error
        return file


def _refused_names(file: OpenedFile) -> str | None:
    """Why the names of a file's columns cannot be used, or None if they can."""
    twice = named_twice(file.schema.names)
    return None if twice is None else f"two columns are called {twice!r}; rename one"


def _types_read(request: ColumnRequest, own: Mapping[str, Any]) -> dict[str, Any]:
    """The types of the wanted columns in blocks; text is parsed as dates later, when its form is known."""
    import pyarrow as pa

    return {
        name: own.get(name) if kind is None or pa.types.is_timestamp(kind) else kind
        for name, kind in request.types.items()
    }


def _texts_among_numbers(types: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    """The columns of text of which numbers are wanted: each value is checked."""
    import pyarrow as pa

    numbers = [name for name, kind in types.items() if name in own and kind == pa.float64()]
    return [name for name in numbers if type_kind(own[name]) == "string"]


def _place_after(start: int) -> Callable[[int], str]:
    """A function that names the row of a block whose first row has this place in the file."""
    return lambda row: f"row {start + row + 1}"


def _typed(block: Block, batch: Any, target: Any, texts: Collection[str], rule: NumberRule | None) -> Block:
    """Fill a block with a batch that has the types of a schema, and the columns `texts` as numbers.

    Texts that are no numbers are counted; rows with numbers that the rule refuses are left out and named.
    """
    import pyarrow as pa

    columns = []
    strays: dict[str, Counter[str]] = {}
    wrong: dict[int, str] = {}  # reasons by row
    decimal = "." if rule is None else rule.decimal
    for column, field in zip(batch.columns, target, strict=True):
        if column.type != field.type:
            column = _cast(column, field.type)
        if field.name in texts:
            words = pa.chunked_array([column])
            numbers, unreadable = convert_texts(words, pa.float64(), decimal, lenient=True)
            column = numbers.combine_chunks()
            if rule is not None:
                for row, text in refused_numbers(words, unreadable, rule):
                    wrong.setdefault(row, rule.why(field.name, text))
            if unreadable.any():
                strays[field.name] = Counter(words.take(np.flatnonzero(unreadable)).to_pylist())
        columns.append(_without_empty_texts(column))
    table = pa.RecordBatch.from_arrays(columns, names=target.names)
    block = replace(block, table=table, strays=strays)
    return _without_wrong_rows(block, wrong) if wrong else block


def _without_wrong_rows(block: Block, wrong: Mapping[int, str]) -> Block:
    """A block of which some rows are left out, and named with the reasons."""
    rows = sorted(wrong)
    kept = np.setdiff1d(np.arange(block.rows), rows)
    kept_before = np.searchsorted(kept, rows).tolist()
    broken = [BrokenPart(place, block.where(row), wrong[row], 1) for place, row in zip(kept_before, rows, strict=True)]
    return replace(
        block,
        rows=kept.size,
        table=block.table.take(kept),
        broken=tuple(broken),
        where=lambda row: block.where(int(kept[row])),
    )


def _cast(column: Any, kind: Any) -> Any:
    """A column with another type. Only integers beyond 2⁵³ may lose digits, as floats."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rounds = pa.types.is_integer(column.type) and pa.types.is_floating(kind)
    is_moment = pa.types.is_temporal(column.type) and pa.types.is_string(kind)
    cast = column.cast(kind, safe=not rounds)
    if is_moment:  # the same text in whatever unit: "2020-12-31", "2020-12-31 10:30:00"
        cast = pc.replace_substring_regex(cast, r"( 00:00:00)?(\.0+)?$", "")
    return cast


def _without_empty_texts(column: Any) -> Any:
    """A column in which an empty text is a missing value, as in CSV."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if type_kind(column.type) != "string" or pa.types.is_dictionary(column.type):
        return column
    empty = pc.equal(column, "")
    if not pc.any(empty).as_py():
        return column
    return pc.if_else(empty, pa.scalar(None, column.type), column)


def _mismatch(schema: Any, name: str, kind: Any) -> str | None:
    """Return why a file's column cannot have the wanted type, or None if it can."""
    import pyarrow as pa

    if name not in schema.names:
        return f"there is no column {name!r}{similar(name, schema.names)}"
    own = schema.field(name).type
    own_kind, wanted_kind = type_kind(own), type_kind(kind)
    if own == kind or own_kind == wanted_kind or pa.types.is_null(own):
        return None
    if own_kind in _FITS.get(wanted_kind, ()) or (wanted_kind == "string" and pa.types.is_temporal(own)):
        return None
    return f"column {name!r} has type {own} where {kind} is expected"


def as_arrow_takes(path: str) -> Any:
    """The name of a file, or an open file where the name is not UTF-8, which is all that arrow takes."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return open(path, "rb")
    return path


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
