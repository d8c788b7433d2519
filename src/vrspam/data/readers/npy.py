"""Arrays saved by NumPy, in blocks: numbers in columns without names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from vrspam.data.readers.block import Block
from vrspam.data.readers.problems import FileProblem, Problems, problem_of
from vrspam.data.readers.reader import Choice, Reader
from vrspam.tables.errors import DataError


class NpyReader(Reader):
    """Arrays saved by NumPy; columns are named by their numbers."""

    name = "npy"
    title = ".npy"
    suffixes = (".npy",)
    magic = b"\x93NUMPY"
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
        request = wanted({})
        features, label = list(request.features), request.label
        needed = max([*features, -1 if label is None else label]) + 1
        if array.ndim != 2 or array.shape[1] < needed:
            problems.refuse(path, f"it has shape {array.shape}, and columns 0 to {needed - 1} are needed", len(array))
            return

        takes_all = features == list(range(array.shape[1]))
        for index, start in enumerate(range(0, len(array), rows)):
            part = np.asarray(array[start : start + rows])
            X = np.array(part if takes_all else part[:, features], dtype=np.float64, order="C")
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
        raise FileProblem(path, problem) from error
    if array.ndim not in (1, 2) or array.dtype.kind not in "biuf":
        problem = f"holds {array.ndim} dimensions of {array.dtype}; an array of numbers is needed"
        raise FileProblem(path, problem)
    return array
