"""Numbers with leading zeros, such as 007: they are names, and their columns are text."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache

import numpy as np

from vrspam._utils.findings import Fix
from vrspam.data.readers.csv_dialect import Dialect
from vrspam.data.readers.csv_repair import parse
from vrspam.tables.errors import DataError
from vrspam.tables.kinds.numbers import CODE


class LateCodes(DataError):
    """A column that looked like numbers in the first rows holds codes such as 007: its text has to be read again."""

    def __init__(self, path: str, column: str, text: str) -> None:
        super().__init__(
            f"{path}: column {column!r} begins with numbers, and {text!r} in later rows is a code: take it as "
            "categories with ",
            Fix("categorical", [column]),
            ", or leave it out with ",
            Fix("drop", [column]),
        )


def columns_of_codes(text: bytes, dialect: Dialect, names: Collection[str]) -> dict[str, str]:
    """Return the columns among these in which a cell is a number with a leading zero (007), and such a cell."""
    starts = _starts_of_codes(text, dialect)
    if not starts.size:
        return {}
    if b'"' in text:  # delimiters may be inside quotes
        return _codes_of_cells(text, dialect, names)
    wanted = frozenset(names)
    places = {place: name for place, name in enumerate(dialect.names) if name in wanted}
    return _codes_of_fields(text, dialect, places, starts)


def _starts_of_codes(text: bytes, dialect: Dialect) -> np.ndarray:
    """Where a zero stands before a digit at the start of a cell, or of what may be one."""
    letters = np.frombuffer(text, np.uint8)
    is_zero = letters[:-1] == ord("0")
    before_digit = letters[1:] - np.uint8(ord("0")) <= 9
    zeros = np.flatnonzero(is_zero & before_digit)
    before = letters[zeros - 1]  # of the first byte this is the last one, a line end
    starts_cell = (before <= ord(" ")) | (before == ord('"')) | (before == ord(dialect.delimiter))
    return zeros[(zeros == 0) | starts_cell]


def _codes_of_cells(text: bytes, dialect: Dialect, names: Collection[str]) -> dict[str, str]:
    """The columns that hold codes, and one of each, where quotes have to be understood."""
    import pyarrow as pa

    try:
        table = parse(text, dialect, dict.fromkeys(names, pa.string()), lambda row: "skip")
    except pa.ArrowInvalid:  # not UTF-8, say: wrong cells are located later
        return {}
    codes: dict[str, str] = {}
    for name in names:
        cells = (cell.strip(" ") for cell in table.column(name).drop_null().to_pylist())
        code = next(filter(CODE.fullmatch, cells), "")
        if code:
            codes[name] = code
    return codes


def _codes_of_fields(text: bytes, dialect: Dialect, names: Mapping[int, str], starts: np.ndarray) -> dict[str, str]:
    """The columns that hold codes, and one of each, by counting delimiters; `names` has the places of the columns."""
    letters = np.frombuffer(text, np.uint8)
    delimiters = np.flatnonzero(letters == ord(dialect.delimiter))
    ends = np.flatnonzero((letters == ord("\n")) | (letters == ord("\r")))
    lines = np.searchsorted(ends, starts)
    begins = np.where(lines > 0, ends[lines - 1], 0) if ends.size else np.zeros(starts.size, dtype=int)
    columns = np.searchsorted(delimiters, starts) - np.searchsorted(delimiters, begins)

    codes: dict[str, str] = {}
    for place in np.intersect1d(columns, list(names)).tolist():
        cells = (_code_at(text, start, dialect.delimiter) for start in starts[columns == place].tolist())
        code = next(filter(None, cells), "")
        if code:
            codes[names[place]] = code
    return codes


def _code_at(text: bytes, start: int, delimiter: str) -> str:
    """The code that fills the cell from here on; "" if other letters follow its digits."""
    match = _code_cell(delimiter).match(text, start)
    return match[1].decode() if match else ""


@cache
def _code_cell(delimiter: str) -> re.Pattern[bytes]:
    return re.compile(rb"(0\d+) *(?:[%s\r\n]|$)" % re.escape(delimiter).encode())
