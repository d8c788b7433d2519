"""CSV in blocks: cut at line ends, each parsed by pyarrow; a block that fails is looked at line by line.

Parsing block by block, not with pyarrow's streaming reader, is as fast and lets reading go on after a bad line.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from vrspam._utils.messages import Parameter
from vrspam.data.errors import DataError, Problems, similar
from vrspam.data.readers.base import DAMAGED, Block, RequestOrChoice, TextFile, choose, count_lines, line_blocks

_PEEK = 1 << 18  # bytes from which the types of columns are guessed
_FEW = 0.1  # share of cells that may be out of type there
_NULLS = ["", "#N/A", "#NA", "N/A", "NA", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None", "n/a"]
_SAMPLE = 200  # rows by which points and commas are told apart
_POINT, _COMMA, _WHOLE = (re.compile(rf"[+-]?\d+{part}") for part in (r"\.\d+", r",\d+", ""))


class _Dialect(NamedTuple):
    names: list[str]
    delimiter: str
    decimal: str = "."


class _Head(NamedTuple):
    """What the first lines of a file say: how fields are written, the type of each column, where the rows begin."""

    dialect: _Dialect
    types: dict[str, Any]
    first_line: int


class CSVReader:
    """CSV text, compressed or not.

    The types of columns come from the first rows of a file. They are found once for each file, in the same opening as
    the first reading, and kept for the next one.
    """

    name, title, suffixes, magic = "csv", "CSV", (".csv", ".tsv"), b""
    tabular, sparse, options = True, False, ("delimiter", "block_bytes")
    line = None

    def __init__(self, delimiter: str | None = None, block_bytes: int = 8 << 20) -> None:
        self.delimiter, self.block_bytes = delimiter, block_bytes
        self._heads: dict[tuple[str, int, int], _Head] = {}

    def columns(self, path: str) -> dict[str, Any]:
        """Return the columns of a file with the arrow types of its first rows."""
        with TextFile(path) as file:
            try:
                return dict(self._read_head(path, file).types)
            except DAMAGED as error:
                raise DataError(f"{path} is cut off or damaged ({error}); get it again") from error

    def rows(self, path: str) -> None:
        """Text does not say how many rows it has."""

    def blocks(self, path: str, wanted: RequestOrChoice, rows: int, problems: Problems) -> Iterator[Block]:
        """Yield the wanted columns of a file, a block of text at a time."""
        import pyarrow as pa

        index, line = 0, 1
        with TextFile(path) as file:
            try:
                head = self._read_head(path, file)
                chosen = choose(wanted, head.types)
                types = {name: pa.string() if kind is None else kind for name, kind in chosen.types.items()}
                missing = [name for name in types if name not in head.types]
                if missing:
                    reason = f"there is no column {missing[0]!r}{similar(missing[0], head.types)}"
                    problems.report(path, None, "line 1", reason, rows=None)
                    return
                flags = [n for n, t in types.items() if t == pa.float64() and pa.types.is_boolean(head.types[n])]
                parsed = types | dict.fromkeys(flags, pa.bool_())  # true and false become numbers afterwards
                schema = pa.schema(list(types.items()))
                for text, line in line_blocks(file.stream, self.block_bytes, first_line=head.first_line, quoted=True):
                    index += 1
                    text, table = _parse_or_report(path, index, text, line, head.dialect, parsed, problems)
                    if table is None or table.num_rows == 0:
                        continue
                    batch = table.cast(schema).combine_chunks().to_batches()[0]

                    def where(row: int, text: bytes = text, line: int = line) -> str:
                        return f"line {_line_of_row(text, line, head.dialect, row)}"

                    yield Block(path, index, batch.num_rows, where, file.share, table=batch)
            except DAMAGED as error:
                problems.report(path, index + 1, f"after line {line}", f"cut off or damaged ({error})", rows=None)

    def _read_head(self, path: str, file: TextFile) -> _Head:
        """Read the first lines, or skip the line of names where they are known; the rows come next in the stream."""
        state = os.stat(path)
        key = (path, state.st_size, state.st_mtime_ns)
        if key in self._heads:
            for _ in range(self._heads[key].first_line - 1):
                file.stream.readline()
            return self._heads[key]
        names, delimiter, lines = _read_names(path, file, self.delimiter)
        start = file.stream.tell()
        text = _first_lines(file)
        file.stream.seek(start)
        decimal = "." if delimiter == "," else _find_decimal_sign(text, delimiter, len(names))
        dialect = _Dialect(names, delimiter, decimal)
        self._heads[key] = head = _Head(dialect, _find_types(path, text, lines + 1, dialect), lines + 1)
        return head


def _find_types(path: str, text: bytes, line: int, dialect: _Dialect) -> dict[str, Any]:
    """Return the columns with the arrow types of the first rows."""
    import pyarrow as pa

    if not text or text.isspace():
        raise DataError(f"{path} has a header but no rows; get it again, or leave it out")
    try:
        table = _parse(text, dialect, {})
        whole = not any(pa.types.is_binary(column.type) for column in table.columns)  # binary: text, but not UTF-8
    except pa.ArrowInvalid:
        whole = False
    if not whole:  # go by the other lines; those that are wrong are named when they are read
        good, bad = _examine(text, line, dialect, {})
        if good.isspace() and bad:
            raise DataError(f"{path}, line {bad[0][0]}: {bad[0][2]}; no row there is right, correct them")
        table = _parse(good, dialect, {})
    return {name: _prevailing_type(table.column(name), dialect.decimal) for name in dialect.names}


def _first_lines(file: TextFile) -> bytes:
    """Return about `_PEEK` bytes of whole lines; of a file that is cut off, what comes before the cut."""
    blocks: list[bytes] = []
    try:
        for block, _ in line_blocks(file.stream, _PEEK // 64, quoted=True):
            blocks.append(block)
            if len(blocks) == 64:
                break
    except DAMAGED:
        if not blocks:
            raise
    return b"".join(blocks)


def _prevailing_type(column: Any, decimal: str = ".") -> Any:
    """Return a column's type; text that is numbers, or true and false, but for a few cells counts as such.

    So a bad cell among the first rows is named as one, and does not make its column a categorical one.
    """
    import pyarrow as pa

    if not pa.types.is_string(column.type):
        return column.type
    cells = column.drop_null().to_pylist()
    cells = cells[:: len(cells) // 300 + 1]  # a sample is enough, and quick
    for kind in (pa.float64(), pa.bool_()):
        if cells and len(_not_castable(cells, kind, decimal)) <= _FEW * len(cells):
            return kind
    return column.type


def _read_names(path: str, file: TextFile, delimiter: str | None) -> tuple[list[str], str, int]:
    """Read the line of names; return them, the delimiter and the number of lines that they take."""
    raw, lines = b"", 0
    while not raw.strip() or raw.count(b'"') % 2:
        line = file.stream.readline(1 << 24)
        if not line:
            raise DataError(f"{path} is empty; get it again, or leave it out")
        raw, lines = raw + line, lines + 1
    try:
        text = raw.decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError as error:
        book = raw.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0"))
        advice = "it may be an Excel workbook or an archive: save the table as CSV" if book else "save it as UTF-8"
        raise DataError(f"{path} is not UTF-8 text (line {lines}); {advice}") from error
    if delimiter is None:
        delimiter = max(",;\t|", key=text.count)
    try:
        names = next(csv.reader([text], delimiter=delimiter))
    except csv.Error as error:
        reason = "a stray carriage return, or a name beyond all bounds"
        raise DataError(f"{path}: line {lines} is not a line of column names ({reason}); correct it") from error
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(
            "{path} names the column {column!r} twice; rename one, or say with {fix} what stands between the fields",
            path=path,
            column=twice[0],
            fix=Parameter("delimiter"),
        )
    return names, delimiter, lines


def _find_decimal_sign(text: bytes, delimiter: str, width: int) -> str:
    """The sign before a fraction: a comma where whole columns of the first rows have one, a point otherwise."""
    rows = _rows(text, _Dialect([], delimiter))
    cells = [row for _, _, row in islice(rows, _SAMPLE) if len(row) == width]
    columns = [[cell.strip() for cell in column if cell not in _NULLS] for column in zip(*cells, strict=False)]
    if any(_POINT.fullmatch(cell) for column in columns for cell in column):
        return "."
    for column in columns:
        commas = sum(_COMMA.fullmatch(cell) is not None for cell in column)
        whole = sum(_WHOLE.fullmatch(cell) is not None for cell in column)
        if commas and commas + whole >= (1.0 - _FEW) * len(column):
            return ","
    return "."


def _parse(text: bytes, dialect: _Dialect, types: Mapping[str, Any]) -> Any:
    from pyarrow import BufferReader
    from pyarrow import csv as arrow_csv

    # quoted line ends cost pyarrow its parallel parsing: allow them only where there are quotes
    return arrow_csv.read_csv(
        BufferReader(text),
        read_options=arrow_csv.ReadOptions(column_names=dialect.names),
        parse_options=arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=b'"' in text),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict(types),
            include_columns=list(types),
            null_values=_NULLS,
            strings_can_be_null=True,
            decimal_point=dialect.decimal,
        ),
    )


def _parse_or_report(
    path: str, index: int, text: bytes, line: int, dialect: _Dialect, types: Mapping[str, Any], problems: Problems
) -> tuple[bytes, Any]:
    """Parse a block; report its bad lines and parse the others (bad lines are blanked, so line numbers hold)."""
    import pyarrow as pa

    for _ in range(2):
        try:
            return text, (None if text.isspace() else _parse(text, dialect, types))
        except pa.ArrowInvalid as error:
            refused = " ".join(str(error).split())
        text, bad = _examine(text, line, dialect, types)
        for number, rows, reason in bad:
            problems.report(path, index, f"line {number}", reason, rows=rows)
        if not bad:
            break
    last = line + count_lines(text) - 1
    problems.report(path, index, f"lines {line} to {last}", refused, rows=last - line + 1)
    return text, None


def _examine(
    text: bytes, first_line: int, dialect: _Dialect, types: Mapping[str, Any]
) -> tuple[bytes, list[tuple[int, int, str]]]:
    """Find bad lines: return the text with them blanked, and (line, lines, reason) of each."""
    lines = text.split(b"\n")
    rows = list(_rows(text, dialect))
    reasons: dict[int, str] = {}
    for i, (start, stop, cells) in enumerate(rows):
        if len(cells) != len(dialect.names):
            reasons[i] = f"{len(cells)} fields where the header has {len(dialect.names)}"
        elif not _is_utf8(b"\n".join(lines[start:stop])):
            reasons[i] = "not UTF-8 text (save the file as UTF-8)"
    for name, kind in types.items():
        column = dialect.names.index(name)
        good = [i for i in range(len(rows)) if i not in reasons]
        for i in _not_castable([rows[i][2][column] for i in good], kind, dialect.decimal):
            value = rows[good[i]][2][column]
            reasons[good[i]] = f"column {name!r} holds {value!r} where {_word(kind)} is expected"
    bad = []
    for i in sorted(reasons):
        start, stop, _ = rows[i]
        lines[start:stop] = [b""] * (stop - start)
        bad.append((first_line + start, stop - start, reasons[i]))
    return b"\n".join(lines), bad


def _rows(text: bytes, dialect: _Dialect) -> Iterator[tuple[int, int, list[str]]]:
    """Yield (first line, line after the last, fields) of each row that is not blank; lines count from 0."""
    reader = csv.reader(
        (line + "\n" for line in text.decode("utf-8", "replace").split("\n")), delimiter=dialect.delimiter
    )
    start = 0
    try:
        for cells in reader:
            if cells:
                yield start, reader.line_num, cells
            start = reader.line_num
    except csv.Error:  # a field beyond the csv module's limit: what comes after it cannot be named
        return


def _line_of_row(text: bytes, first_line: int, dialect: _Dialect, row: int) -> int:
    starts = (start for start, _, _ in _rows(text, dialect))
    return first_line + next((start for i, start in enumerate(starts) if i == row), row)


def _not_castable(values: Sequence[str], kind: Any, decimal: str = ".") -> list[int]:
    """Return the positions of the values that pyarrow cannot turn into this type."""
    import pyarrow as pa

    if pa.types.is_string(kind):
        return []
    swapped = str.maketrans(",.", ".,") if decimal == "," else {}
    cleaned = [None if value in _NULLS else value.strip().translate(swapped) for value in values]
    try:
        pa.array(cleaned, pa.string()).cast(kind)
    except pa.ArrowInvalid:
        if len(values) == 1:
            return [0]
        return [i for i, value in enumerate(values) if _not_castable([value], kind, decimal)]
    return []


def _word(kind: Any) -> str:
    return {"double": "a number", "int64": "a whole number", "bool": "true or false"}.get(str(kind), str(kind))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
