"""CSV in blocks that end at line ends, each parsed by pyarrow; a second pass locates what pyarrow refuses.

Parsing block by block is as fast as pyarrow's streaming reader, and reading can go on after a bad line.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.warnings import warn
from vrspam.data.readers.base import (
    DAMAGED,
    Block,
    Choice,
    DataError,
    Problems,
    Reader,
    TextBlock,
    TextFile,
    as_batch,
    count,
    open_text,
    read_ahead,
    similar,
    text_blocks,
)
from vrspam.tables.texts import BLANKS, LONG_ZIP, Dates, Numbers, find_kind

_FEW = 0.1  # largest share of cells in the first rows that may deviate from the others
_POINT, _COMMA, _WHOLE = (re.compile(rf"[+-]?\d+{part}") for part in (r"\.\d+", r",\d+", ""))
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_ODD_NUMBER = re.compile(f"{_THOUSANDS.pattern}|{LONG_ZIP.pattern}")  # thousands, and ZIP codes, which are names


@dataclass(eq=False)
class CSVReader(Reader):
    """CSV text, compressed or not.

    The types of columns are found from the first rows of a file, once for each file: when it is first opened. They are
    kept for later readings.
    """

    name, title, suffixes = "csv", "CSV", (".csv", ".tsv")
    options = ("delimiter", "encoding", "block_bytes")
    delimiter: str | None = None
    encoding: str | None = None
    block_bytes: int = 8 << 20
    _encodings: dict[str, str] = field(default_factory=dict)
    _heads: dict[tuple[str, int, int], tuple[Dialect, dict[str, Any], int]] = field(default_factory=dict)

    def columns(self, path: str) -> dict[str, Any]:
        """Return the columns of a file with the arrow types of its first rows."""
        with open_text(path, self.encoding or self._encodings.get(path)) as file:
            try:
                return dict(self._read_head(path, file)[1])
            except DAMAGED as error:
                raise DataError(f"{path} is cut off or damaged ({error}); get it again") from error

    def blocks(self, path: str, wanted: Choice, rows: int, problems: Problems) -> Iterator[Block]:
        """Yield the wanted columns of a file, a block of text at a time."""
        import pyarrow as pa

        parsers = min(4, os.cpu_count() or 1)  # blocks that are parsed at the same time
        with open_text(path, self.encoding or self._encodings.get(path)) as file:
            try:
                dialect, own, first_line = self._read_head(path, file)
                chosen = wanted(own)
                types = {name: pa.string() if kind is None else kind for name, kind in chosen.types.items()}
                missing = [name for name in types if name not in own]
                if missing:
                    reason = f"there is no column {missing[0]!r}{similar(missing[0], own)}"
                    problems.refuse(path, reason)
                    return
                for name, kind in types.items():
                    if pa.types.is_timestamp(kind) and not pa.types.is_temporal(own[name]):
                        types[name] = pa.string()  # text is parsed as dates later, when its form is known
                flags = [n for n, t in types.items() if t == pa.float64() and pa.types.is_boolean(own[n])]
                parsed = types | dict.fromkeys(flags, pa.bool_())  # true and false become numbers afterwards
            except DAMAGED as error:
                problems.report(path, 1, "after line 1", f"cut off or damaged ({error})", rows=None)
                return

            parse_each = partial(parse_block, path=path, dialect=dialect, types=parsed, lenient=chosen.lenient)
            texts = text_blocks(file, self.block_bytes, first_line=first_line, quoted=True)
            for block in read_ahead(texts, parse_each, parsers):
                if block.table is not None:
                    block = replace(block, table=as_batch(block.table.cast(pa.schema(list(types.items())))))
                yield block

    def _read_head(self, path: str, file: TextFile) -> tuple[Dialect, dict[str, Any], int]:
        """Return how fields are written, the arrow types of the columns, and the line where the rows begin.

        The stream is left at the first row. The types come from the first rows, in the first call for a file. Lines
        that are wrong are reported when they are read.

        The encoding is found when the file is first opened; a warning names it if it is not UTF-8.
        """
        if path not in self._encodings and self.encoding is None and file.encoding != "utf-8":
            warn(f"{path} is read as {file.encoding.upper()} text, as it is not UTF-8")
        self._encodings[path] = file.encoding
        state = os.stat(path)
        key = (path, state.st_size, state.st_mtime_ns)
        if key in self._heads:
            for _ in range(self._heads[key][2] - 1):
                file.stream.readline()
            return self._heads[key]
        import pyarrow as pa

        names, delimiter, lines = _read_names(path, file, self.delimiter)
        first = list(islice(text_blocks(file, 1 << 12, quoted=True), 64))  # about 256 KiB of whole lines
        if first and first[0].damage:
            raise first[0].damage
        text = b"".join(block.text for block in first)  # if the file is cut off: what comes before the cut
        file.stream.seek(0)
        for _ in range(lines):
            file.stream.readline()
        rows = islice(csv_rows(text, Dialect([], delimiter)), 200)
        sample = [row for _, row in rows if len(row) == len(names)]
        later = [cell for row in sample for cell in row[1:]]
        spaced = bool(later) and sum(cell.startswith(" ") for cell in later) >= (1.0 - _FEW) * len(later)
        decimal = "." if delimiter == "," else _find_decimal_sign(sample)
        dialect = Dialect(names, delimiter, decimal, spaced)
        if not text or text.isspace():
            raise DataError(f"{path} has a header but no rows; get it again, or leave it out")
        text = without_spaces(text, delimiter) if spaced else text
        table = parse(text.decode("utf-8", "replace").encode(), dialect, {}, lambda row: "skip")
        if table.num_rows == 0:
            texts, nothing = dict.fromkeys(names, pa.string()), Block(path, 1, 0, str, 0.0)
            if broken := _salvage(text, lines + 1, nothing, dialect, texts, lenient=False).broken:
                raise DataError(f"{path}, {broken[0][1]}: {broken[0][2]}; the first rows are all wrong: correct them")
        types = {name: _prevailing_type(table.column(name), decimal) for name in names}
        self._heads[key] = dialect, types, lines + 1
        return self._heads[key]


def _prevailing_type(column: Any, decimal: str) -> Any:
    """Return a column's type; text counts as numbers, or as true and false, if all but a few cells are such.

    So a bad cell among the first rows is reported, and does not make its column categorical.
    """
    import pyarrow as pa

    if pa.types.is_time(column.type):
        return pa.string()  # times are interpreted when the table is read
    if not pa.types.is_string(column.type):
        return column.type
    cells = column.drop_null().to_pylist()
    cells = cells[:: len(cells) // 300 + 1]  # a sample is enough, and quick
    texts = pa.chunked_array([pa.array(cells, pa.string())])
    for kind in (pa.float64(), pa.bool_()):
        wrong = [cells[place] for place in np.flatnonzero(convert_texts(texts, kind, decimal, lenient=False)[1])]
        if not cells or len(wrong) > _FEW * len(cells):
            continue
        # if the wrong cells are numbers written in another way, the whole column must be read to find its kind
        if find_kind(Counter(wrong)) is None and not any(_ODD_NUMBER.fullmatch(cell.strip()) for cell in wrong):
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
        names = [name.strip(" ") for name in next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))]
    except csv.Error as error:
        reason = "a stray carriage return, or a name that is too long"
        raise DataError(f"{path}: line {lines} is not a line of column names ({reason}); correct it") from error
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        words = "rename one, or give the delimiter of the fields with {delimiter}"
        raise DataError("{path} names the column {column!r} twice; " + words, path=path, column=twice[0])
    return names, delimiter, lines


def _find_decimal_sign(sample: list[list[str]]) -> str:
    """Return the decimal sign: a comma if the numbers of a column in the first rows have commas, else a point.

    If some numbers of a column have no comma, and all commas precede groups of three digits, they separate thousands.
    """
    columns = [[cell.strip() for cell in column if cell not in NULLS] for column in zip(*sample, strict=False)]
    if any(_POINT.fullmatch(cell) for column in columns for cell in column):
        return "."
    for column in columns:
        commas = [cell for cell in column if _COMMA.fullmatch(cell)]
        whole = sum(_WHOLE.fullmatch(cell) is not None for cell in column)
        thousands = whole > 0 and all(_THOUSANDS.fullmatch(cell) for cell in commas)
        if commas and not thousands and len(commas) + whole >= (1.0 - _FEW) * len(column):
            return ","
    return "."


# A block of text to a table. A block that pyarrow refuses is parsed once more as text, and each cell and line that is
# wrong is located there.


NULLS = ["", "#N/A", "#NA", "N/A", "NA", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None", "n/a"]


class Dialect(NamedTuple):
    """How the fields of a file are written; `spaced` where a space follows each delimiter."""

    names: list[str]
    delimiter: str
    decimal: str = "."
    spaced: bool = False


def parse_block(text: TextBlock, path: str, dialect: Dialect, types: Mapping[str, Any], lenient: bool) -> Block:
    """Parse a block into a table; with `lenient`, cells of the wrong type become missing values, not errors."""
    import pyarrow as pa

    line, content = text.line, text.text
    if dialect.spaced:
        content = without_spaces(content, dialect.delimiter)

    def where(row: int) -> str:
        return f"line {line + line_at(lines_of_rows(content, dialect), row)}"

    nothing = Block(path, text.number, 0, where, text.share)
    if text.damage:
        return replace(nothing, broken=((0, f"after line {line}", f"cut off or damaged ({text.damage})", None),))
    if not content or content.isspace():
        return nothing
    try:
        table = parse(content, dialect, types)
        return replace(nothing, rows=table.num_rows, table=table)
    except pa.ArrowInvalid as error:
        refused = " ".join(str(error).split())
    try:
        return _salvage(content, line, nothing, dialect, types, lenient)
    except pa.ArrowInvalid:
        last = line + count(content, b"\n") - 1
        return replace(nothing, broken=((0, f"lines {line} to {last}", refused, last - line + 1),))


def parse(text: bytes, dialect: Dialect, types: Mapping[str, Any], invalid: Any = None) -> Any:
    """Read text into a table; `invalid` is called with each line that has the wrong number of fields."""
    from pyarrow import BufferReader
    from pyarrow import csv as arrow_csv

    # In one piece, by one thread: other threads parse other blocks, and pieces need not be put together.
    return arrow_csv.read_csv(
        BufferReader(text),
        read_options=arrow_csv.ReadOptions(column_names=dialect.names, use_threads=False, block_size=len(text) + 1),
        parse_options=arrow_csv.ParseOptions(
            delimiter=dialect.delimiter, newlines_in_values=b'"' in text, invalid_row_handler=invalid
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict(types),
            include_columns=list(types),
            null_values=NULLS,
            strings_can_be_null=True,
            decimal_point=dialect.decimal,
        ),
    )


def _salvage(text: bytes, line: int, block: Block, dialect: Dialect, types: Mapping[str, Any], lenient: bool) -> Block:
    """Fill a block by parsing it as text, then column by column: each wrong line and cell is found in one pass."""
    import pyarrow as pa

    wrong: dict[int, str] = {}  # reasons by the row's number among all rows of the block, good or bad

    def note(row: Any) -> str:
        wrong[row.number - 1] = f"{row.actual_columns} fields where the header has {len(dialect.names)}"
        return "skip"

    cleaned = text.decode("utf-8", "replace").encode()  # U+FFFD in place of bytes that are not UTF-8
    table = parse(cleaned, dialect, dict.fromkeys(types, pa.string()), note)
    starts = lines_of_rows(cleaned, dialect)
    rows = np.setdiff1d(np.arange(table.num_rows + len(wrong)), list(wrong))  # numbers of the table's rows
    if cleaned != text:
        both = zip(text.split(b"\n"), cleaned.split(b"\n"), strict=True)
        not_text = [number for number, (before, after) in enumerate(both) if before != after]
        for place, (start, stop) in enumerate(zip(starts, [*starts[1:], count(cleaned, b"\n") + 1], strict=True)):
            if any(start <= number < stop for number in not_text):
                wrong[place] = "not UTF-8 text (save the file as UTF-8)"
    strays: dict[str, Counter[str]] = {}
    words = {"double": "a number", "int64": "a whole number", "bool": "true or false", "timestamp[us]": "a date"}
    columns = {}
    for name, kind in types.items():
        column, stray = convert_texts(table.column(name), kind, dialect.decimal, lenient)
        columns[name] = column
        if stray.any():
            texts = table.column(name).take(np.flatnonzero(stray))
            if lenient:
                strays[name] = Counter(texts.to_pylist())
                continue
            for place, value in zip(rows[stray].tolist(), texts.to_pylist(), strict=True):
                expected = words.get(str(kind), str(kind))
                wrong.setdefault(place, f"column {name!r} holds {value!r} where {expected} is expected")
    good, places = np.flatnonzero(~np.isin(rows, list(wrong))), sorted(wrong)
    kept = rows[good]

    def where(place: int) -> str:
        return f"line {line + line_at(starts, place)}"

    before = np.searchsorted(kept, places).tolist()
    broken = tuple((n, where(place), wrong[place], 1) for n, place in zip(before, places, strict=True))
    table = pa.table(columns) if good.size == len(rows) else pa.table(columns).take(good)
    more: Any = {"strays": strays, "broken": broken, "where": lambda row: where(int(kept[row]))}
    return replace(block, rows=good.size, table=table, **more)


def convert_texts(column: Any, kind: Any, decimal: str, lenient: bool) -> tuple[Any, np.ndarray]:
    """Return a column of text as another type, and a mask of texts that are not of that type; these become missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    none = np.zeros(len(column), dtype=bool)
    if pa.types.is_string(kind):
        return column, none
    trimmed = pc.utf8_trim(column, characters=BLANKS)
    series = nw.from_native(trimmed, series_only=True)
    if pa.types.is_floating(kind):
        values, stray = Numbers(decimal).values(series)
        words = r"^[+-]?(?:inf|Inf|INF|infinity|Infinity|nan|NaN)$"
        not_finite = pc.match_substring_regex(trimmed, words).fill_null(False).to_numpy()
        if not_finite.any():
            places = np.flatnonzero(not_finite)
            values[places] = [float(text) for text in trimmed.take(places).to_pylist()]
            stray &= ~not_finite
        if stray.any() and lenient:  # thousands separators, maybe of the larger numbers alone
            places = np.flatnonzero(stray)
            found = find_kind(Counter([*series[places].to_list(), f"1{decimal}5", f"2{decimal}5"]))
            if found is not None and isinstance(found.kind, Numbers) and found.kind.decimal == decimal:
                values[places], stray[places] = found.kind.values(series[places])
        return pa.chunked_array([pa.array(values, mask=np.isnan(values) & ~not_finite)]).cast(kind), stray
    if pa.types.is_temporal(kind):
        moments, stray = Dates().moments(series)
        return pa.chunked_array([pa.array(moments)]).cast(kind, safe=False), stray
    try:
        return trimmed.cast(kind), none
    except pa.ArrowInvalid:
        texts, wrong = trimmed.to_pylist(), set()
    for text in {*texts} - {None}:
        try:
            pa.array([text]).cast(kind)
        except pa.ArrowInvalid:
            wrong.add(text)
    kept = [None if text in wrong else text for text in texts]
    return pa.chunked_array([pa.array(kept, pa.string())]).cast(kind), np.array([t in wrong for t in texts], bool)


def lines_of_rows(text: bytes, dialect: Dialect) -> list[int]:
    """The line, from 0, at which each row begins."""
    if b'"' not in text:
        lines = enumerate(text.split(b"\n"))
        if b"\r" not in text:
            return [number for number, content in lines if content]
        return [number for number, content in lines for part in content.split(b"\r") if part]  # each \r ends a row
    return [start for start, _ in csv_rows(text, dialect)]


def line_at(starts: list[int], row: int) -> int:
    """Return the line of a row; if quotes make the rows ambiguous, at most the last line that is known."""
    return starts[min(row, len(starts) - 1)] if starts else 0


def csv_rows(text: bytes, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, fields) of each row that is not blank; lines count from 0."""
    reader = csv.reader(
        (line + "\n" for line in text.decode("utf-8", "replace").split("\n")), delimiter=dialect.delimiter
    )
    start = 0
    try:
        for cells in reader:
            if cells:
                yield start, cells
            start = reader.line_num
    except csv.Error:  # a field beyond the csv module's limit: later rows cannot be located
        return


def without_spaces(text: bytes, delimiter: str) -> bytes:
    """Return the text without spaces after delimiters; quoted text stays as it is."""
    sign = delimiter.encode()
    if b'"' not in text:
        for _ in range(4):  # fast for a few spaces, which is the usual case
            longer, text = text, text.replace(sign + b" ", sign)
            if len(text) == len(longer):
                return text
        return re.sub(re.escape(sign) + b" +", sign, text)
    return re.sub(rb'("(?:[^"]|"")*")|(?<=' + re.escape(sign) + rb") +", lambda found: found[1] or b"", text)
