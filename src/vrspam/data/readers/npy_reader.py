"""`.npy` arrays in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from vrspam.data.errors import DataError, Problems, problem_of, unusable
from vrspam.data.readers.base import Block, RequestOrChoice, choose


class NpyReader:
    """Arrays that NumPy has saved; columns have numbers."""

    name, title, suffixes, magic = "npy", ".npy", (".npy",), b"\x93NUMPY"
    tabular, sparse, options = False, False, ()
    line = None

    def columns(self, path: str) -> dict[str, Any]:
        """Return the numbers of the columns, as text, with their type."""
        array = open_npy(path)
        if array.ndim != 2:
            raise DataError(f"{path} has shape {array.shape}; rows and columns are needed")
        return {str(number): array.dtype for number in range(array.shape[1])}

    def rows(self, path: str) -> int:
        """Return the number of rows."""
        return len(open_npy(path))

    def blocks(self, path: str, wanted: RequestOrChoice, rows: int, problems: Problems) -> Iterator[Block]:
        """Yield the wanted columns as float64, and the label column, `rows` rows at a time."""
        try:
            array = open_npy(path)
        except DataError as error:
            problems.report(path, None, None, problem_of(error), rows=None)
            return
        asked = choose(wanted, {})
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
    """Return a memory map of a numeric array, or say why not."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise unusable(path, "is truncated, or not a .npy file of numbers; get it again") from error
    if array.ndim not in (1, 2) or array.dtype.kind not in "biuf":
        raise unusable(path, f"holds {array.ndim} dimensions of {array.dtype}; an array of numbers is needed")
    return array


def with_labels(blocks: Iterator[Block], labels: np.ndarray) -> Iterator[Block]:
    """Give blocks the labels of a separate array, in order."""
    start = 0
    for block in blocks:
        yield replace(block, y=np.array(labels[start : start + block.rows]))
        start += block.rows
