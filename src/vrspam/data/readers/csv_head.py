"""The head of a CSV file: how its fields are written, the names of its columns, and their types by the first rows."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.findings import Fix
from vrspam.data.readers.block import Block
from vrspam.data.readers.cells import NULLS, convert_texts
from vrspam.data.readers.csv_codes import columns_of_codes
from vrspam.data.readers.csv_dialect import Dialect
from vrspam.data.readers.csv_repair import csv_rows, parse, repair, without_spaces
from vrspam.data.readers.number_rule import NumberRule
from vrspam.data.readers.problems import named_twice
from vrspam.data.readers.text_file import TextFile, text_blocks
from vrspam.tables.errors import DataError
from vrspam.tables.kinds import find_kind
from vrspam.tables.kinds.numbers import LONG_ZIP
from vrspam.tables.writing import Writing

_FEW = 0.1  # largest share of cells in the first rows that may deviate from the others
_FIRST_ROWS = 200  # that show how numbers are written
_FIRST_CELLS = 300  # of a column that show its type

_POINT = re.compile(r"[+-]?\d+\.\d+")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_WHOLE = re.compile(r"[+-]?\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]+")  # pyarrow takes it for a whole number; it is a name, as 007 is
_ODD_NUMBER = re.compile(f"{_THOUSANDS.pattern}|{LONG_ZIP.pattern}")  # thousands, and ZIP codes, which are names


class Head(NamedTuple):
    """How a file is written, the arrow types of its columns, and the line where its rows begin."""

    dialect: Dialect
    types: dict[str, Any]
    first_line: int

    def skip(self, file: TextFile) -> None:
        """Read the lines before the first row."""
        for _ in range(self.first_line - 1):
            file.stream.readline()


class NameLine(NamedTuple):
    """The line of column names: the names, what stands between them, its last line, and whether blanks follow."""

    names: list[str]
    delimiter: str
    last_line: int
    spaced: bool


def read_head(
    path: str, file: TextFile, delimiter: str | None, trained: Writing | None, known_codes: Collection[str]
) -> Head:
    """Read the head of a file, and its first rows; the stream is left at the first row.

    `trained` says how the training file was written, if this one is for a model. Columns of `known_codes` are text.
    Lines that are wrong are reported when they are read.
    """
    line = read_names(path, file, delimiter, trained)
    text = _first_text(file)
    head_end = line.last_line
    file.stream.seek(0)
    for _ in range(head_end):
        file.stream.readline()

    dialect = _found_dialect(line, text) if trained is None else _trained_dialect(line, trained)
    if not text or text.isspace():
        raise DataError(f"{path} has a header but no rows; get it again, or leave it out")
    if dialect.spaced:
        text = without_spaces(text, dialect.delimiter)
    types = _types_of_rows(path, text, dialect, first_line=head_end + 1)
    make_text(types, {*columns_of_codes(text, dialect, dialect.names), *known_codes})
    return Head(dialect, types, head_end + 1)


def make_text(types: dict[str, Any], columns: Collection[str]) -> None:
    """Make columns text, in place."""
    import pyarrow as pa

    types.update((name, pa.string()) for name in columns if name in types)


def read_names(path: str, file: TextFile, delimiter: str | None, trained: Writing | None = None) -> NameLine:
    """Read the line of names.

    The most frequent delimiter is taken; of those that are equally frequent, that of the training file.
    """
    raw = b""
    lines = 0
    while not raw.strip() or raw.count(b'"') % 2:
        line = file.stream.readline(1 << 24)
        if not line:
            raise DataError(f"{path} is empty; get it again, or leave it out")
        raw += line
        lines += 1
    text = _decoded_names(path, raw, lines)
    unquoted = re.sub('"[^"]*"', "", text)
    if delimiter is None:
        usual = "" if trained is None else trained.delimiter
        delimiter = max(",;\t|", key=lambda sign: (unquoted.count(sign), sign == usual))
    try:
        fields = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))
    except csv.Error as error:
        reason = "a stray carriage return, or a name that is too long"
        raise DataError(f"{path}: line {lines} is not a line of column names ({reason}); correct it") from error
    names = [name.strip(" ") for name in fields]
    if (twice := named_twice(names)) is not None:
        what = f"{path} names the column {twice!r} twice; rename one, or give the delimiter of the fields with "
        raise DataError(what, Fix("delimiter"))
    spaced = delimiter in unquoted and all(part.startswith(" ") for part in unquoted.split(delimiter)[1:])
    return NameLine(names, delimiter, lines, spaced)


def _decoded_names(path: str, raw: bytes, lines: int) -> str:
    """The text of the line of names."""
    try:
        return raw.decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError as error:
        is_book = raw.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0"))
        advice = "it may be an Excel workbook or an archive: save the table as CSV" if is_book else "save it as UTF-8"
        raise DataError(f"{path} is not UTF-8 text (line {lines}); {advice}") from error


def _first_text(file: TextFile) -> bytes:
    """About 256 KiB of whole lines; if the file is cut off, what comes before the cut."""
    blocks = list(islice(text_blocks(file, 1 << 12, quoted=True), 64))
    if blocks and blocks[0].damage:
        raise blocks[0].damage
    return b"".join(block.text for block in blocks)


# How fields are written


def _found_dialect(line: NameLine, text: bytes) -> Dialect:
    """How the first rows are written."""
    rows = islice(csv_rows(text, Dialect([], line.delimiter)), _FIRST_ROWS)
    sample = [cells for _, cells in rows if len(cells) == len(line.names)]
    decimal = _find_decimal_sign(sample, line.delimiter)
    return Dialect(line.names, line.delimiter, decimal, line.spaced or _has_spaces(sample))


def _trained_dialect(line: NameLine, trained: Writing) -> Dialect:
    """Return how to read a file for a model: by the training file and the line of names, never by other rows.

    Between commas no number has a decimal comma.
    """
    decimal = trained.decimal
    if line.delimiter == "," and trained.delimiter != "," and decimal == ",":
        decimal = "."
    rule = NumberRule(decimal or ".", whole=decimal == "", trusted=line.delimiter == trained.delimiter)
    return Dialect(line.names, line.delimiter, decimal, line.spaced or trained.spaced, rule)


def _has_spaces(sample: Sequence[Sequence[str]]) -> bool:
    """Return whether a space follows nearly every delimiter in the first rows."""
    later = [cell for row in sample for cell in row[1:]]
    return bool(later) and sum(cell.startswith(" ") for cell in later) >= (1.0 - _FEW) * len(later)


def _find_decimal_sign(sample: Sequence[Sequence[str]], delimiter: str) -> str:
    """Return the decimal sign: a comma if the numbers of a column in the first rows have commas, else a point.

    If some numbers of a column have no comma, and all commas precede groups of three digits, they separate thousands.
    If no number has a sign, the result is "".
    """
    columns = [[cell.strip() for cell in column if cell not in NULLS] for column in zip(*sample, strict=False)]
    if any(_POINT.fullmatch(cell) for column in columns for cell in column):
        return "."
    if delimiter == ",":
        return ""
    return "," if any(map(_has_decimal_commas, columns)) else ""


def _has_decimal_commas(cells: Sequence[str]) -> bool:
    """Whether nearly all cells of a column are numbers, and some of them have decimal commas."""
    with_comma = [cell for cell in cells if _COMMA.fullmatch(cell)]
    whole = sum(_WHOLE.fullmatch(cell) is not None for cell in cells)
    are_thousands = whole > 0 and all(_THOUSANDS.fullmatch(cell) for cell in with_comma)
    if not with_comma or are_thousands:
        return False
    return len(with_comma) + whole >= (1.0 - _FEW) * len(cells)


# The types of columns


def _types_of_rows(path: str, text: bytes, dialect: Dialect, first_line: int) -> dict[str, Any]:
    """The types of the columns by some rows of text."""
    table = parse(text.decode("utf-8", "replace").encode(), dialect, {}, lambda row: "skip")
    if table.num_rows == 0:
        _refuse_wrong_rows(path, text, dialect, first_line)
    types = {name: _prevailing_type(table.column(name), dialect.sign) for name in dialect.names}
    make_text(types, _columns_of_hexadecimals(text, dialect, types))
    return types


def _columns_of_hexadecimals(text: bytes, dialect: Dialect, types: Mapping[str, Any]) -> list[str]:
    """The columns of whole numbers in which a cell is a number with letters (0x1f)."""
    import pyarrow as pa

    whole = [name for name, kind in types.items() if pa.types.is_integer(kind)]
    if not whole or b"0x" not in text.lower():
        return []
    table = parse(text, dialect, dict.fromkeys(whole, pa.string()), lambda row: "skip")
    cells = {name: table.column(name).drop_null().to_pylist() for name in whole}
    return [name for name in whole if any(_HEXADECIMAL.fullmatch(cell.strip()) for cell in cells[name])]


def _refuse_wrong_rows(path: str, text: bytes, dialect: Dialect, first_line: int) -> None:
    """Raise an error if all rows of a text are wrong; it names the first of them."""
    import pyarrow as pa

    texts = dict.fromkeys(dialect.names, pa.string())
    broken = repair(text, first_line, Block(path, 1, 0, str, 0.0), dialect, texts, lenient=False).broken
    if broken:
        raise DataError(f"{path}, {broken[0].where}: {broken[0].reason}; the first rows are all wrong: correct them")


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
    cells = cells[:: len(cells) // _FIRST_CELLS + 1]  # a sample is enough, and quick
    if not cells:
        return column.type

    texts = pa.chunked_array([pa.array(cells, pa.string())])
    for kind in (pa.float64(), pa.bool_()):
        unreadable = convert_texts(texts, kind, decimal, lenient=False)[1]
        wrong = [cells[place] for place in np.flatnonzero(unreadable)]
        if len(wrong) <= _FEW * len(cells) and not _are_numbers_otherwise(wrong):
            return kind
    return column.type


def _are_numbers_otherwise(cells: Sequence[str]) -> bool:
    """Whether cells may be numbers written in another way: then the whole column must be read to find its kind."""
    return find_kind(Counter(cells)) is not None or any(_ODD_NUMBER.fullmatch(cell.strip()) for cell in cells)
