"""The first pass over files: means, categories, and the width and labels of sparse rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from vrspam._utils.messages import Parameter
from vrspam._utils.progress import Progress
from vrspam.data.errors import DataError, Problems
from vrspam.data.readers import Source
from vrspam.data.readers.arrow_reader import column_values
from vrspam.data.readers.base import Block, SparseReader

Label = bool | int | float | str


class Means:
    """Means and ranges of numeric columns, block by block; values that are missing or infinite do not count."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._total, self._count = np.zeros(len(names)), np.zeros(len(names))
        self.low, self.high = np.full((2, len(names)), np.nan)

    def add_table(self, table: Any) -> None:
        """Add the rows of a record batch or a table."""
        for place, name in enumerate(self.names):
            values = column_values(table, name)
            total = values.sum()
            if not np.isfinite(total):
                values = values[np.isfinite(values)]
                total = values.sum()
            if values.size:
                self._total[place] += total
                self._count[place] += values.size
                self.low[place] = np.fmin(self.low[place], values.min())
                self.high[place] = np.fmax(self.high[place], values.max())

    def add(self, X: np.ndarray) -> None:
        """Add the rows of an array."""
        finite = np.isfinite(X)
        self._total += np.where(finite, X, 0.0).sum(axis=0)
        self._count += finite.sum(axis=0)
        known = np.where(finite, X, np.nan)
        self.low = np.fmin(self.low, np.fmin.reduce(known, axis=0, initial=np.nan))
        self.high = np.fmax(self.high, np.fmax.reduce(known, axis=0, initial=np.nan))

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The smallest and the largest value of each column that has one."""
        ends = zip(self.names, self.low.tolist(), self.high.tolist(), strict=True)
        return {name: (low, high) for name, low, high in ends if not np.isnan(low)}

    @property
    def counts(self) -> np.ndarray:
        """How many values of each column counted."""
        return self._count

    def values(self, path: str, names: Sequence[str] | None = None) -> tuple[float, ...]:
        """Return the means of all columns, or of those named; a column without values has none, and is refused."""
        places = [self.names.index(name) for name in (self.names if names is None else names)]
        for place in places:
            if self._count[place] == 0:
                raise DataError(f"{path}: column {self.names[place]!r} has no value at all; leave it out")
        return tuple((self._total[places] / self._count[places]).tolist())


def add_categories(block: Block, name: str, seen: set[str], most: int) -> None:
    """Add the categories of a column in a block to those seen before; refuse too many."""
    seen.update(block.table.column(name).unique().drop_null().to_pylist())
    if len(seen) > most:
        raise DataError(
            "{file}: column {column!r} has more than {most} categories; leave it out with {drop}, or raise "
            "{most_allowed}",
            file=block.file,
            column=name,
            most=most,
            drop=Parameter("drop", [name]),
            most_allowed=Parameter("max_categories"),
        )


def scan_sparse(source: Source, problems: Problems, progress: bool) -> tuple[int, set[Label]]:
    """Return the number of features and the labels of files that do not say them."""
    texts: set[bytes] = set()
    width = done = lines = 0
    reader = cast(SparseReader, source.reader)
    with Progress("first pass", source.n_bytes, "rows", progress) as bar:
        for path in source.paths:
            for more, labels, size, rows in reader.scan(path, problems):
                width, texts = max(width, more), texts | labels
                done, lines = done + size, lines + rows
                bar.update(done, lines)
    values: set[Label] = set()
    for text in texts:
        try:
            values.add(float(text))
        except ValueError:
            continue  # a bad line: the parser will name it
    return width, values
