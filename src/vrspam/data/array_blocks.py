"""LIBSVM text and `.npy` arrays in blocks."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from vrspam.data.blocks import Block
from vrspam.data.errors import DataError
from vrspam.data.problems import Problems
from vrspam.data.source import Source
from vrspam.data.textfile import DAMAGED, TextFile, count_lines, line_blocks

_COMMENT = re.compile(rb"#[^\n]*")
_LABEL = re.compile(rb"^[^\S\n]*(\S+)", re.MULTILINE)


def libsvm_text(path: str, source: Source, problems: Problems) -> Iterator[tuple[int, bytes, int, float]]:
    """Yield (block number, text, number of its first line, share of the file read so far)."""
    index, line = 0, 1
    with TextFile(path) as file:
        try:
            for text, line in line_blocks(file.stream, source.chunk_bytes):
                index += 1
                yield index, text, line, file.share
        except DAMAGED as error:
            problems.report(path, index + 1, f"after line {line}", f"cut off or damaged ({error})", rows=None)


def scan_libsvm(text: bytes, zero_based: bool) -> tuple[int, set[bytes]]:
    """Return the number of features and the label texts of a block, without parsing its values.

    Indices grow along a line, so the digits before the last colon of each line are enough.
    """
    if b"#" in text:
        text = _COMMENT.sub(b"", text)
    labels = set(_LABEL.findall(text))
    bytes_ = np.frombuffer(text, np.uint8)
    colons = np.flatnonzero(bytes_ == ord(":"))
    if not colons.size:
        return 0, labels
    ends = np.append(np.flatnonzero(bytes_ == ord("\n")), bytes_.size)
    last = colons[np.searchsorted(colons, ends) - 1]
    largest, power = np.zeros(last.size, np.int64), 1
    digits = np.ones(last.size, bool)
    for back in range(1, 19):
        value = bytes_[np.maximum(last - back, 0)] - np.uint8(ord("0"))  # wraps to above 9 for what is no digit
        digits &= (value <= 9) & (last >= back)
        if not digits.any():
            break
        largest[digits] += value[digits].astype(np.int64) * power
        power *= 10
    return int(largest.max()) + zero_based, labels


def libsvm_blocks(path: str, source: Source, width: int, problems: Problems) -> Iterator[Block]:
    """Yield the rows of a LIBSVM file as CSR blocks with their labels."""
    for index, text, line, done in libsvm_text(path, source, problems):
        try:
            X, y = _parse(text, width, source.zero_based)
        except ValueError as error:
            text, bad = _blank_bad_lines(text, line, width, source.zero_based)
            for number, reason in bad:
                problems.report(path, index, f"line {number}", reason)
            if not bad:
                last = line + count_lines(text) - 1
                problems.report(path, index, f"lines {line} to {last}", str(error), rows=last - line + 1)
                continue
            X, y = _parse(text, width, source.zero_based)

        def where(row: int, text: bytes = text, line: int = line) -> str:
            used = (i for i, part in enumerate(text.split(b"\n")) if part.partition(b"#")[0].strip())
            return f"line {line + next(i for k, i in enumerate(used) if k == row)}"

        if X.shape[0]:
            yield Block(path, index, X.shape[0], where, done, X=X, y=y)


def _parse(text: bytes, width: int, zero_based: bool) -> tuple[Any, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(io.BytesIO(text), n_features=width, zero_based=zero_based)


def _blank_bad_lines(text: bytes, first_line: int, width: int, zero_based: bool) -> tuple[bytes, list[tuple[int, str]]]:
    lines, bad = text.split(b"\n"), []
    for i, line in enumerate(lines):
        if reason := _why_bad(line.partition(b"#")[0], width, zero_based):
            bad.append((first_line + i, reason))
            lines[i] = b""
    return b"\n".join(lines), bad


def _why_bad(line: bytes, width: int, zero_based: bool) -> str | None:
    """Say what is wrong with one line, None when nothing is."""
    cells = line.split()
    if not cells:
        return None
    try:
        float(cells[0])
    except ValueError:
        return f"the label {_shown(cells[0])} is no number"
    last = -1 if zero_based else 0
    for cell in cells[1:]:
        index, _, value = cell.partition(b":")
        if index == b"qid":
            continue
        try:
            number, _ = int(index), float(value)
        except ValueError:
            return f"{_shown(cell)} is no index:value pair"
        if number <= last:
            hint = " (give zero_based=True if indices start at 0)" if number == 0 else ""
            return f"index {number} after {last}: indices must grow along a line{hint}"
        if number > width - zero_based:
            return f"index {number} where the data have {width} features"
        last = number
    return None


def _shown(cell: bytes) -> str:
    return repr(cell.decode("utf-8", "replace")[:40])


def open_npy(path: str) -> np.ndarray:
    """Return a memory map of a two-dimensional numeric array, or say why not."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is no whole .npy file of numbers; get it again") from error
    if array.ndim not in (1, 2) or array.dtype.kind not in "biuf":
        raise DataError(f"{path} holds {array.ndim} dimensions of {array.dtype}; an array of numbers is needed")
    return array


def npy_blocks(path: str, rows: int, wanted: list[int], target: int | None, problems: Problems) -> Iterator[Block]:
    """Yield the wanted columns of a `.npy` array as float64, and its label column, `rows` rows at a time."""
    try:
        array = open_npy(path)
    except DataError as error:
        problems.report(path, None, None, str(error).removeprefix(f"{path} "), rows=None)
        return
    needed = max([*wanted, -1 if target is None else target]) + 1
    if array.ndim != 2 or array.shape[1] < needed:
        reason = f"it has shape {array.shape} where {needed} columns are needed"
        problems.report(path, None, None, reason, rows=len(array))
        return
    everything = wanted == list(range(array.shape[1]))
    for index, start in enumerate(range(0, len(array), rows)):
        part = np.asarray(array[start : start + rows])
        X = np.array(part if everything else part[:, wanted], dtype=np.float64, order="C")
        y = None if target is None else np.array(part[:, target])

        def where(row: int, start: int = start) -> str:
            return f"row {start + row + 1}"

        yield Block(path, index + 1, len(X), where, (start + len(X)) / len(array), X=X, y=y)


def with_labels(blocks: Iterator[Block], labels: np.ndarray) -> Iterator[Block]:
    """Give the blocks of a stream the labels of a separate array, in order."""
    start = 0
    for block in blocks:
        yield replace(block, y=np.array(labels[start : start + block.rows]))
        start += block.rows
