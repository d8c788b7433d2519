"""A block of CSV text as a table.

A block that pyarrow refuses is parsed once more as text (`repair`), and each cell and line that is wrong is located.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from vrspam.data.readers.block import Block, BrokenPart
from vrspam.data.readers.cells import NULLS, convert_texts
from vrspam.data.readers.csv_dialect import Dialect
from vrspam.data.readers.number_rule import refused_numbers
from vrspam.data.readers.text_file import TextBlock, count

_ONE_GROUP = re.compile(rb"(?<![\d.,])[1-9]\d{0,2}[.,]\d{3}(?![\d.,])")  # thousands, or a fraction
_EXPECTED = {"double": "a number", "int64": "a whole number", "bool": "true or false", "timestamp[us]": "a date"}


def parse_block(text: TextBlock, path: str, dialect: Dialect, types: Mapping[str, Any], lenient: bool) -> Block:
    """Parse a block into a table; with `lenient`, cells of the wrong type become missing values, not errors."""
    import pyarrow as pa

    first_line = text.line
    content = without_spaces(text.text, dialect.delimiter) if dialect.spaced else text.text

    @cache  # one pass, however many rows are located
    def starts() -> list[int]:
        return lines_of_rows(content, dialect)

    def where(row: int) -> str:
        return f"line {first_line + line_at(starts(), row)}"

    nothing = Block(path, text.number, 0, where, text.share)
    if text.damage:
        damaged = BrokenPart(0, f"after line {first_line}", f"cut off or damaged ({text.damage})", None)
        return replace(nothing, broken=(damaged,))
    if not content or content.isspace():
        return nothing

    refused = ""
    if not (dialect.rule and dialect.rule.whole and _ONE_GROUP.search(content)):
        try:
            table = parse(content, dialect, types)
            return replace(nothing, rows=table.num_rows, table=table)
        except pa.ArrowInvalid as error:
            refused = " ".join(str(error).split())
    try:
        return repair(content, first_line, nothing, dialect, types, lenient)
    except pa.ArrowInvalid:
        lines = count(content, b"\n")
        whole = BrokenPart(0, f"lines {first_line} to {first_line + lines - 1}", refused, lines)
        return replace(nothing, broken=(whole,))


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
            decimal_point=dialect.sign,
        ),
    )


def repair(text: bytes, line: int, block: Block, dialect: Dialect, types: Mapping[str, Any], lenient: bool) -> Block:
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
    for number in _lines_that_differ(text, cleaned):
        wrong[bisect_right(starts, number) - 1] = "not UTF-8 text (save the file as UTF-8)"

    columns: dict[str, Any] = {}
    strays: dict[str, Counter[str]] = {}
    for name, kind in types.items():
        texts = table.column(name)
        if lenient and pa.types.is_boolean(kind):  # true and false are read among numbers too, each cell on its own
            kind = pa.float64()
        columns[name], unreadable = convert_texts(texts, kind, dialect.sign, lenient)
        if dialect.rule is not None and pa.types.is_floating(kind):
            for place, number_text in refused_numbers(texts, unreadable, dialect.rule):
                wrong.setdefault(int(rows[place]), dialect.rule.why(name, number_text))
        if not unreadable.any():
            continue
        unreadable_texts = texts.take(np.flatnonzero(unreadable)).to_pylist()
        if lenient:
            strays[name] = Counter(unreadable_texts)
            continue
        expected = _EXPECTED.get(str(kind), str(kind))
        for row, cell in zip(rows[unreadable].tolist(), unreadable_texts, strict=True):
            wrong.setdefault(row, f"column {name!r} holds {cell!r} where {expected} is expected")

    def where(row: int) -> str:
        return f"line {line + line_at(starts, row)}"

    good = np.flatnonzero(~np.isin(rows, list(wrong)))
    good_rows = rows[good]
    wrong_rows = sorted(wrong)
    good_before = np.searchsorted(good_rows, wrong_rows).tolist()
    broken = [BrokenPart(place, where(row), wrong[row], 1) for place, row in zip(good_before, wrong_rows, strict=True)]
    typed = pa.table(columns)
    return replace(
        block,
        rows=good.size,
        table=typed if good.size == len(rows) else typed.take(good),
        strays=strays,
        broken=tuple(broken),
        where=lambda row: where(int(good_rows[row])),
    )


def _lines_that_differ(text: bytes, cleaned: bytes) -> list[int]:
    """The numbers, from 0, of the lines in which two texts of as many lines differ."""
    if cleaned == text:
        return []
    pairs = zip(text.split(b"\n"), cleaned.split(b"\n"), strict=True)
    return [number for number, (before, after) in enumerate(pairs) if before != after]


# Where rows are in a text


def lines_of_rows(text: bytes, dialect: Dialect) -> list[int]:
    """The line, from 0, at which each row begins."""
    if b'"' in text:
        return [start for start, _ in csv_rows(text, dialect)]
    lines = enumerate(text.split(b"\n"))
    if b"\r" not in text:
        return [number for number, content in lines if content]
    return [number for number, content in lines for part in content.split(b"\r") if part]  # each \r ends a row


def line_at(starts: list[int], row: int) -> int:
    """Return the line of a row; if quotes make the rows ambiguous, at most the last line that is known."""
    return starts[min(row, len(starts) - 1)] if starts else 0


def csv_rows(text: bytes, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, fields) of each row that is not blank; lines count from 0."""
    lines = (line + "\n" for line in text.decode("utf-8", "replace").split("\n"))
    reader = csv.reader(lines, delimiter=dialect.delimiter)
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
    if b'"' in text:
        pattern = rb'("(?:[^"]|"")*")|(?<=' + re.escape(sign) + rb") +"
        return re.sub(pattern, lambda match: match[1] or b"", text)
    for _ in range(4):  # fast for a few spaces, which is the usual case
        longer, text = text, text.replace(sign + b" ", sign)
        if len(text) == len(longer):
            return text
    return re.sub(re.escape(sign) + b" +", sign, text)
