"""LIBSVM text in blocks: each line has a label, then the numbers of columns without names."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from vrspam._utils.findings import Fix, Note
from vrspam._utils.warnings import warn
from vrspam.data.readers.block import Block, BrokenPart
from vrspam.data.readers.problems import Problems
from vrspam.data.readers.reader import Choice, Reader
from vrspam.data.readers.text_file import TextBlock, count, open_text, text_blocks

_MOST_DIGITS = 18  # of an index


@dataclass(eq=False)
class LibsvmReader(Reader):
    """LIBSVM text, compressed or not: each line has a label, then index:value pairs."""

    name = "libsvm"
    title = "LIBSVM"
    suffixes = (".libsvm", ".svm", ".svmlight")
    line = re.compile(rb"\s*[+-]?[\d.eE+-]+(\s+qid:\d+)?(\s+\d+:\S+)*\s*(#.*)?$")
    tabular = False
    sparse = True
    options = ("zero_based", "block_bytes")
    zero_based: bool = False
    block_bytes: int = 8 << 20
    _has_warned_of_queries: bool = False

    def blocks(self, path: str, wanted: Choice, rows: int, problems: Problems) -> Iterator[Block]:
        """Yield the rows of a file as CSR blocks with their labels, a block of text at a time."""
        from sklearn.datasets import load_svmlight_file

        width = wanted({}).width
        parse = partial(load_svmlight_file, n_features=width, zero_based=self.zero_based)
        for part in self._texts(path, problems):
            text = part.text
            self._warn_of_queries(path, text)
            broken: list[BrokenPart] = []
            try:
                X, y = parse(io.BytesIO(text))
            except ValueError as error:
                text, broken = _blank_bad_lines(text, part.line, width, self.zero_based)
                if not broken:
                    lines = count(text, b"\n")
                    where = f"lines {part.line} to {part.line + lines - 1}"
                    problems.report(path, part.number, where, str(error), rows=lines)
                    continue
                X, y = parse(io.BytesIO(text))
            where_of = _place_of_rows(text, part.line)
            yield Block(path, part.number, X.shape[0], where_of, part.share, X=X, y=y, broken=tuple(broken))

    def scan(self, path: str, problems: Problems) -> Iterator[tuple[int, set[bytes], int, int]]:
        for block in self._texts(path, problems):
            width, labels = _scan_block(block.text, self.zero_based)
            yield width, labels, len(block.text), count(block.text, b"\n")

    def _texts(self, path: str, problems: Problems) -> Iterator[TextBlock]:
        """The text of a file in blocks; damage is reported."""
        with open_text(path) as file:
            for block in text_blocks(file, self.block_bytes):
                if block.damage:
                    reason = f"cut off or damaged ({block.damage})"
                    problems.report(path, block.number, f"after line {block.line}", reason, rows=None)
                else:
                    yield block

    def _warn_of_queries(self, path: str, text: bytes) -> None:
        if not self._has_warned_of_queries and b"qid:" in text:
            self._has_warned_of_queries = True
            warn(f"{path}: the numbers behind qid: are not used; to compare rows of one query alone, give a table")


def _place_of_rows(text: bytes, first_line: int) -> Callable[[int], str]:
    """A function that names the line of a row; lines are counted when it is first called."""

    @cache  # one pass, however many rows are located
    def lines_of_rows() -> list[int]:
        return [number for number, line in enumerate(text.split(b"\n")) if _content(line).strip()]

    def where(row: int) -> str:
        return f"line {first_line + lines_of_rows()[row]}"

    return where


def _content(line: bytes) -> bytes:
    """A line without its comment."""
    return line.partition(b"#")[0]


def _scan_block(text: bytes, zero_based: bool) -> tuple[int, set[bytes]]:
    """Return the number of features and the label texts of a block, without parsing its values.

    Indices grow along a line, so the digits before the last colon of each line are enough.
    """
    if b"#" in text:
        text = re.sub(rb"#[^\n]*", b"", text)
    labels = set(re.findall(rb"^[^\S\n]*(\S+)", text, re.MULTILINE))
    letters = np.frombuffer(text, np.uint8)
    colons = np.flatnonzero(letters == ord(":"))
    if not colons.size:
        return 0, labels
    line_ends = np.append(np.flatnonzero(letters == ord("\n")), letters.size)
    last_colons = colons[np.searchsorted(colons, line_ends) - 1]
    return int(_numbers_before(letters, last_colons).max()) + zero_based, labels


def _numbers_before(letters: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The whole numbers whose digits end right before some places of a text, digit by digit from behind."""
    numbers = np.zeros(places.size, np.int64)
    is_digit = np.ones(places.size, bool)
    power = 1
    for back in range(1, _MOST_DIGITS + 1):
        digits = letters[np.maximum(places - back, 0)] - np.uint8(ord("0"))  # above 9 for all but digits: it wraps
        is_digit &= (digits <= 9) & (places >= back)
        if not is_digit.any():
            break
        numbers[is_digit] += digits[is_digit].astype(np.int64) * power
        power *= 10
    return numbers


def _blank_bad_lines(text: bytes, first_line: int, width: int, zero_based: bool) -> tuple[bytes, list[BrokenPart]]:
    """Return the text with its bad lines blanked, and a list of the bad lines."""
    lines = text.split(b"\n")
    good_lines = 0
    bad: list[BrokenPart] = []
    for number, line in enumerate(lines):
        if reason := _why_bad(_content(line), width, zero_based):
            bad.append(BrokenPart(good_lines, f"line {first_line + number}", reason, 1))
            lines[number] = b""
        elif _content(line).strip():
            good_lines += 1
    return b"\n".join(lines), bad


def _why_bad(line: bytes, width: int, zero_based: bool) -> str | None:
    """Say what is wrong with one line, None when nothing is."""
    cells = line.split()
    if not cells:
        return None
    try:
        float(cells[0])
    except ValueError:
        return f"the label {_shown(cells[0])} is not a number"
    previous = -1 if zero_based else 0
    for cell in cells[1:]:
        index, _, value = cell.partition(b":")
        if index == b"qid":
            continue
        try:
            number = int(index)
            float(value)
        except ValueError:
            return f"{_shown(cell)} is not an index:value pair"
        if number <= previous:
            return _not_growing(number, previous)
        if number > width - zero_based:
            return f"index {number} where the data have {width} features"
        previous = number
    return None


def _not_growing(number: int, previous: int) -> str:
    reason = f"index {number} after {previous}: indices must grow along a line"
    if number != 0:
        return reason
    return Note(f"{reason} (give ", Fix("zero_based", True), " if indices start at 0)")


def _shown(cell: bytes) -> str:
    """The start of a cell, for messages."""
    return repr(cell.decode("utf-8", "replace")[:40])
