"""LIBSVM text and `.npy` arrays in blocks: numbers in columns without names."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from vrspam._utils.messages import Message, Parameter
from vrspam._utils.warnings import warn
from vrspam.data.readers.base import (
    Block,
    Broken,
    Choice,
    DataError,
    Problems,
    Reader,
    TextBlock,
    count,
    open_text,
    problem_of,
    text_blocks,
)


@dataclass(eq=False)
class LibsvmReader(Reader):
    """LIBSVM text, compressed or not: each line has a label, then index:value pairs."""

    name, title, suffixes = "libsvm", "LIBSVM", (".libsvm", ".svm", ".svmlight")
    line = re.compile(rb"\s*[+-]?[\d.eE+-]+(\s+qid:\d+)?(\s+\d+:\S+)*\s*(#.*)?$")
    tabular, sparse, options = False, True, ("zero_based", "block_bytes")
    zero_based: bool = False
    block_bytes: int = 8 << 20
    _says_qid: bool = False

    def blocks(self, path: str, wanted: Choice, rows: int, problems: Problems) -> Iterator[Block]:
        """Yield the rows of a file as CSR blocks with their labels, a block of text at a time."""
        from sklearn.datasets import load_svmlight_file

        width = wanted({}).width
        parse = partial(load_svmlight_file, n_features=width, zero_based=self.zero_based)
        for index, line, text, done, _ in self._texts(path, problems):
            if not self._says_qid and b"qid:" in text:
                self._says_qid = True
                warn(f"{path}: the numbers behind qid: are not used; to compare rows of one query alone, give a table")
            broken: list[Broken] = []
            try:
                X, y = parse(io.BytesIO(text))
            except ValueError as error:
                text, broken = _blank_bad_lines(text, line, width, self.zero_based)
                if not broken:
                    last = line + count(text, b"\n") - 1
                    problems.report(path, index, f"lines {line} to {last}", str(error), rows=last - line + 1)
                    continue
                X, y = parse(io.BytesIO(text))

            @cache  # one pass, however many rows are located
            def used(text: bytes = text) -> list[int]:
                return [i for i, part in enumerate(text.split(b"\n")) if part.partition(b"#")[0].strip()]

            def where(row: int, used: Callable[[], list[int]] = used, line: int = line) -> str:
                return f"line {line + used()[row]}"

            yield Block(path, index, X.shape[0], where, done, X=X, y=y, broken=tuple(broken))

    def scan(self, path: str, problems: Problems) -> Iterator[tuple[int, set[bytes], int, int]]:
        for block in self._texts(path, problems):
            yield *_scan_block(block.text, self.zero_based), len(block.text), count(block.text, b"\n")

    def _texts(self, path: str, problems: Problems) -> Iterator[TextBlock]:
        """The text of a file in blocks; damage is reported."""
        with open_text(path) as file:
            for block in text_blocks(file, self.block_bytes):
                if block.damage:
                    reason = f"cut off or damaged ({block.damage})"
                    problems.report(path, block.number, f"after line {block.line}", reason, rows=None)
                else:
                    yield block


def _scan_block(text: bytes, zero_based: bool) -> tuple[int, set[bytes]]:
    """Return the number of features and the label texts of a block, without parsing its values.

    Indices grow along a line, so the digits before the last colon of each line are enough.
    """
    if b"#" in text:
        text = re.sub(rb"#[^\n]*", b"", text)
    labels = set(re.findall(rb"^[^\S\n]*(\S+)", text, re.MULTILINE))
    bytes_ = np.frombuffer(text, np.uint8)
    colons = np.flatnonzero(bytes_ == ord(":"))
    if not colons.size:
        return 0, labels
    ends = np.append(np.flatnonzero(bytes_ == ord("\n")), bytes_.size)
    last = colons[np.searchsorted(colons, ends) - 1]
    largest, power = np.zeros(last.size, np.int64), 1
    digits = np.ones(last.size, bool)
    for back in range(1, 19):
        value = bytes_[np.maximum(last - back, 0)] - np.uint8(ord("0"))  # above 9 for all but digits: it wraps
        digits &= (value <= 9) & (last >= back)
        if not digits.any():
            break
        largest[digits] += value[digits].astype(np.int64) * power
        power *= 10
    return int(largest.max()) + zero_based, labels


def _blank_bad_lines(text: bytes, first_line: int, width: int, zero_based: bool) -> tuple[bytes, list[Broken]]:
    """Return the text with its bad lines blanked, and a list of the bad lines."""
    lines, good = text.split(b"\n"), 0
    bad: list[Broken] = []
    for i, line in enumerate(lines):
        content = line.partition(b"#")[0]
        if reason := _why_bad(content, width, zero_based):
            bad.append((good, f"line {first_line + i}", reason, 1))
            lines[i] = b""
        elif content.strip():
            good += 1
    return b"\n".join(lines), bad


def _why_bad(line: bytes, width: int, zero_based: bool) -> str | Message | None:
    """Say what is wrong with one line, None when nothing is."""
    cells = line.split()
    if not cells:
        return None
    try:
        float(cells[0])
    except ValueError:
        return f"the label {cells[0].decode('utf-8', 'replace')[:40]!r} is not a number"
    last = -1 if zero_based else 0
    for cell in cells[1:]:
        index, _, value = cell.partition(b":")
        if index == b"qid":
            continue
        try:
            number, _ = int(index), float(value)
        except ValueError:
            return f"{cell.decode('utf-8', 'replace')[:40]!r} is not an index:value pair"
        if number <= last:
            reason = f"index {number} after {last}: indices must grow along a line"
            if number != 0:
                return reason
            fix = Parameter("zero_based", True)
            return Message("{reason} (give {fix} if indices start at 0)", reason=reason, fix=fix)
        if number > width - zero_based:
            return f"index {number} where the data have {width} features"
        last = number
    return None


class NpyReader(Reader):
    """Arrays saved by NumPy; columns are named by their numbers."""

    name, title, suffixes, magic = "npy", ".npy", (".npy",), b"\x93NUMPY"
    tabular = False

    def columns(self, path: str) -> dict[str, Any]:
        """Return the numbers of the columns, as text, with their type."""
        array = open_npy(path)
        if array.ndim != 2:
            raise DataError(f"{path} has shape {array.shape}; rows and columns are needed")
        return {str(number): array.dtype for number in range(array.shape[1])}

    def rows(self, path: str) -> int:
        return len(open_npy(path))

    def blocks(self, path: str, wanted: Choice, rows: int, problems: Problems) -> Iterator[Block]:
        """Yield the wanted columns as float64, and the label column, `rows` rows at a time."""
        try:
            array = open_npy(path)
        except DataError as error:
            problems.report(path, None, None, problem_of(error), rows=None)
            return
        asked = wanted({})
        features, label = list(asked.features), asked.label
        needed = max([*features, -1 if label is None else label]) + 1
        if array.ndim != 2 or array.shape[1] < needed:
            problems.refuse(path, f"it has shape {array.shape}, and columns 0 to {needed - 1} are needed", len(array))
            return
        everything = features == list(range(array.shape[1]))
        for index, start in enumerate(range(0, len(array), rows)):
            part = np.asarray(array[start : start + rows])
            X = np.array(part if everything else part[:, features], dtype=np.float64, order="C")
            y = None if label is None else np.array(part[:, label])

            def where(row: int, start: int = start) -> str:
                return f"row {start + row + 1}"

            yield Block(path, index + 1, len(X), where, (start + len(X)) / len(array), X=X, y=y)


def open_npy(path: str) -> np.ndarray:
    """Return a memory map of a numeric array; raise `DataError` if the file has none."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        problem = "is truncated, or not a .npy file of numbers; get it again"
        raise DataError("{path} {problem}", path=path, problem=problem) from error
    if array.ndim not in (1, 2) or array.dtype.kind not in "biuf":
        problem = f"holds {array.ndim} dimensions of {array.dtype}; an array of numbers is needed"
        raise DataError("{path} {problem}", path=path, problem=problem)
    return array
