"""A block of CSV text to a table, by pyarrow. A block that it refuses is parsed once more as text, and each cell and
line that is wrong is located there."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vrspam.data.readers.base import count_lines

NULLS = ["", "#N/A", "#NA", "N/A", "NA", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None", "n/a"]
_WHOLE_NUMBER, _FLAG = r"^[+-]?[0-9]+$", r"^(?:true|false|True|False|TRUE|FALSE|0|1)$"
_NOT_FINITE = r"^[+-]?(?:inf|Inf|INF|infinity|Infinity|nan|NaN)$"


NOT_TEXT = "not UTF-8 text (save the file as UTF-8)"


class Dialect(NamedTuple):
    """How the fields of a file are written; `spaced` where a space follows each delimiter."""

    names: list[str]
    delimiter: str
    decimal: str = "."
    spaced: bool = False


@dataclass
class ParsedBlock:
    """A block as a table, None if nothing in it can be read.

    Attributes
    ----------
    line_of : callable
        The line of each row of the table.
    strays : dict of str to Counter
        Texts in columns of numbers and dates that are neither; they are missing in the table.
    broken : list of (int, str)
        Lines that are left out: how many rows of the table come before, and what is wrong with it.
    reports : list of (str, str, int)
        The same for `Problems.report`: where, why, and how many rows.
    """

    table: Any
    line_of: Callable[[int], int]
    strays: dict[str, Counter[str]] = field(default_factory=dict)
    broken: list[tuple[int, str]] = field(default_factory=list)
    reports: list[tuple[str, str, int]] = field(default_factory=list)


def parse_block(
    text: bytes, line: int, dialect: Dialect, types: Mapping[str, Any], lenient: bool = False
) -> ParsedBlock:
    """Parse a block that starts at `line`; with `lenient`, cells of the wrong type are missing, not bad."""
    import pyarrow as pa

    def line_of(row: int) -> int:
        return line + line_at(lines_of_rows(text, dialect), row)

    if dialect.spaced:
        text = without_spaces(text, dialect.delimiter)
    if not text or text.isspace():
        return ParsedBlock(None, line_of)
    try:
        return ParsedBlock(parse(text, dialect, types), line_of)
    except pa.ArrowInvalid as error:
        refused = " ".join(str(error).split())
    try:
        return _salvage(text, line, dialect, types, lenient)
    except pa.ArrowInvalid:
        last = line + count_lines(text) - 1
        return ParsedBlock(None, line_of, reports=[(f"lines {line} to {last}", refused, last - line + 1)])


def parse(text: bytes, dialect: Dialect, types: Mapping[str, Any], invalid: Any = None) -> Any:
    """Read text into a table; `invalid` is told of lines with the wrong number of fields."""
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


def _salvage(text: bytes, line: int, dialect: Dialect, types: Mapping[str, Any], lenient: bool) -> ParsedBlock:
    """Parse a block as text, then convert column by column: each wrong line and cell is found in one pass."""
    import pyarrow as pa

    wrong: dict[int, str] = {}  # among all rows of the block, good or bad

    def note(row: Any) -> str:
        wrong[row.number - 1] = f"{row.actual_columns} fields where the header has {len(dialect.names)}"
        return "skip"

    cleaned, not_text = replace_other_bytes(text)
    table = parse(cleaned, dialect, dict.fromkeys(types, pa.string()), note)
    where = lines_of_rows(cleaned, dialect)
    rows = np.setdiff1d(np.arange(table.num_rows + len(wrong)), list(wrong))  # those of the table
    if not_text:
        for place, (start, stop) in enumerate(zip(where, [*where[1:], count_lines(cleaned) + 1], strict=True)):
            if any(start <= number < stop for number in not_text):
                wrong[place] = NOT_TEXT
    strays: dict[str, Counter[str]] = {}
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
                wrong.setdefault(place, f"column {name!r} holds {value!r} where {_word(kind)} is expected")
    table = pa.table(columns)
    good = np.flatnonzero(~np.isin(rows, list(wrong)))
    broken, reports, places = [], [], sorted(wrong)
    for place, before in zip(places, np.searchsorted(rows[good], places).tolist(), strict=True):
        number = line + line_at(where, place)
        reports.append((f"line {number}", wrong[place], 1))
        broken.append((before, f"line {number}: {wrong[place]}"))
    if good.size < len(rows):
        table = table.take(good)
    lines = [line_at(where, place) for place in rows[good].tolist()]
    return ParsedBlock(table, lambda row: line + lines[row], strays, broken, reports)


def replace_other_bytes(text: bytes) -> tuple[bytes, list[int]]:
    """The text with a sign for bytes that are not UTF-8, and the lines, from 0, that had such bytes."""
    try:
        text.decode("utf-8")
        return text, []
    except UnicodeDecodeError:
        lines = text.split(b"\n")
    bad = []
    for number, content in enumerate(lines):
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            bad.append(number)
            lines[number] = content.decode("utf-8", "replace").encode("utf-8")
    return b"\n".join(lines), bad


def convert_texts(column: Any, kind: Any, decimal: str, lenient: bool) -> tuple[Any, np.ndarray]:
    """A column of text as another type, and which of its texts are not of that type; these are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    none = np.zeros(len(column), dtype=bool)
    if pa.types.is_string(kind):
        return column, none
    trimmed = pc.utf8_trim_whitespace(column)
    if pa.types.is_floating(kind):
        return _convert_numbers(trimmed, kind, decimal, lenient)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _convert_dates(trimmed, kind)
    try:
        return trimmed.cast(kind), none
    except pa.ArrowInvalid:
        fits = pc.match_substring_regex(trimmed, _FLAG if pa.types.is_boolean(kind) else _WHOLE_NUMBER)
    good = pc.if_else(fits, trimmed, None)
    try:
        return good.cast(kind), _mask(column, fits)
    except pa.ArrowInvalid:  # a number beyond all integers of this type, or a type for which there is no pattern
        return _convert_one_by_one(trimmed, kind)


def _mask(column: Any, fits: Any) -> np.ndarray:
    """Texts that are there and do not fit."""
    return column.is_valid().to_numpy() & ~fits.fill_null(True).to_numpy()


def _convert_numbers(texts: Any, kind: Any, decimal: str, lenient: bool) -> tuple[Any, np.ndarray]:
    import narwhals.stable.v2 as nw
    import pyarrow as pa
    import pyarrow.compute as pc

    from vrspam.tables.texts import Numbers, find_kind

    series = nw.from_native(texts, series_only=True)
    values, stray = Numbers(decimal).values(series)
    not_finite = pc.match_substring_regex(texts, _NOT_FINITE).fill_null(False).to_numpy()
    if not_finite.any():
        places = np.flatnonzero(not_finite)
        values[places] = [float(text) for text in texts.take(places).to_pylist()]
        stray &= ~not_finite
    if stray.any() and lenient:  # thousands that only the larger numbers have
        places = np.flatnonzero(stray)
        others = series[places]
        found = find_kind(Counter(others.to_list()))
        if found is not None and isinstance(found.kind, Numbers) and found.kind.decimal == decimal:
            read, unread = found.kind.values(others)
            values[places], stray[places] = read, unread
    return pa.chunked_array([pa.array(values, mask=np.isnan(values) & ~not_finite)]).cast(kind), stray


def _convert_dates(texts: Any, kind: Any) -> tuple[Any, np.ndarray]:
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    from vrspam.tables.texts import Dates

    moments, stray = Dates().moments(nw.from_native(texts, series_only=True))
    return pa.chunked_array([pa.array(moments)]).cast(kind, safe=False), stray


def _convert_one_by_one(texts: Any, kind: Any) -> tuple[Any, np.ndarray]:
    import pyarrow as pa

    different = texts.drop_null().unique().to_pylist()
    wrong = set()
    for value in different:
        try:
            pa.array([value]).cast(kind)
        except pa.ArrowInvalid:
            wrong.add(value)
    stray = np.array([value in wrong for value in texts.to_pylist()], dtype=bool)
    kept = [None if value in wrong else value for value in texts.to_pylist()]
    return pa.chunked_array([pa.array(kept, pa.string())]).cast(kind), stray


def lines_of_rows(text: bytes, dialect: Dialect) -> list[int]:
    """The line, from 0, at which each row begins."""
    if b'"' not in text:
        lines = enumerate(text.split(b"\n"))
        if b"\r" not in text:
            return [number for number, content in lines if content]
        return [number for number, content in lines for part in content.split(b"\r") if part]  # each ends a row
    return [start for start, _, _ in csv_rows(text, dialect)]


def line_at(starts: list[int], row: int) -> int:
    """The line of a row; where quotes leave in doubt what a row is, the last line that is known."""
    return starts[min(row, len(starts) - 1)] if starts else 0


def csv_rows(text: bytes, dialect: Dialect) -> Iterator[tuple[int, int, list[str]]]:
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


def without_spaces(text: bytes, delimiter: str) -> bytes:
    """The text without spaces behind delimiters and at line ends; what stands in quotes stays."""
    sign = delimiter.encode()
    if b'"' not in text:
        while (shorter := text.replace(sign + b" ", sign)) != text:
            text = shorter
        return text
    return re.sub(rb'("(?:[^"]|"")*")|(?<=' + re.escape(sign) + rb") +", lambda found: found[1] or b"", text)


def not_castable(values: Sequence[str], kind: Any, decimal: str = ".") -> list[int]:
    """Return the positions of the texts that are not of this type."""
    import pyarrow as pa

    if not values:
        return []
    column = pa.chunked_array([pa.array([None if value in NULLS else value for value in values], pa.string())])
    return np.flatnonzero(convert_texts(column, kind, decimal, lenient=False)[1]).tolist()


def _word(kind: Any) -> str:
    return {"double": "a number", "int64": "a whole number", "bool": "true or false"}.get(str(kind), str(kind))
