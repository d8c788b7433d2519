"""`Block`: rows of one file as a reader hands them on; and how large a block is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from vrspam.data.readers.problems import NoLabel, Problems

BLOCK_BYTES = 8 << 20  # the usual size of a block
_FEWEST_ROWS = 1024  # of a usual block, because each block takes some time for each of its columns
_LARGEST_BLOCK = 64 << 20


def block_size(asked: int, n_columns: int) -> int:
    """Return the size of a block in bytes: what was asked for; of the usual size, larger for tables of many columns.

    >>> block_size(1000, 20_000), block_size(BLOCK_BYTES, 100) >> 20, block_size(BLOCK_BYTES, 4000) >> 20
    (1000, 8, 31)
    """
    if asked != BLOCK_BYTES:
        return asked
    return max(asked, min(_FEWEST_ROWS * 8 * n_columns, _LARGEST_BLOCK))


class BrokenPart(NamedTuple):
    """An unreadable part of a block.

    Attributes
    ----------
    place : int
        The number of good rows before it.
    where : str
        Its place in the file, in words.
    reason : str
    rows : int or None
        The number of its rows if that is known.
    """

    place: int
    where: str
    reason: str
    rows: int | None


class BrokenRow(NamedTuple):
    """A row that cannot be used: its number in the file, from 1, the reason, and columns as they are in the file."""

    number: int
    reason: str
    raw: Mapping[str, Any]


@dataclass(frozen=True)
class Block:
    """Rows of one file: `table` (an arrow record batch) for tables, `X` and `y` for LIBSVM and `.npy`."""

    file: str
    index: int
    rows: int
    where: Callable[[int], str]  # the place of the block's row i, in words
    done: float  # the share of the file up to the block's end
    table: Any = None
    X: Any = None
    y: Any = None
    strays: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # counts of the texts taken as missing
    broken: tuple[BrokenPart, ...] = ()  # `Source.blocks` reports it
    raw: Any = None  # the table before text was read as numbers and dates, if it was

    @property
    def n_rows(self) -> int:
        """Number of its rows, with those that could not be read, as far as known."""
        return self.rows + sum(part.rows or 0 for part in self.broken)

    def numbers(self, first: int) -> np.ndarray:
        """The number of each row in the file, if the block begins with row `first`; unread rows count, too."""
        unread = np.cumsum([0, *(part.rows or 0 for part in self.broken)])
        rows = np.arange(self.rows)
        return first + rows + unread[np.searchsorted([part.place for part in self.broken], rows, side="right")]

    def split(self, most_rows: int) -> Iterator[Block]:
        """Cut the block into blocks of at most so many rows."""
        for start in range(0, self.rows, most_rows):
            yield self._part(start, min(start + most_rows, self.rows))

    def _part(self, start: int, stop: int) -> Block:
        """The rows from `start` to `stop`, and what is broken before each of them; the last part has what follows."""

        def where(row: int) -> str:
            return self.where(start + row)

        end = stop + 1 if stop == self.rows else stop
        broken = [part._replace(place=part.place - start) for part in self.broken if start <= part.place < end]
        return replace(
            self,
            rows=stop - start,
            where=where,
            table=None if self.table is None else self.table.slice(start, stop - start),
            strays=self.strays if start == 0 else {},
            broken=tuple(broken),
            X=None if self.X is None else self.X[start:stop],
            y=None if self.y is None else self.y[start:stop],
        )

    def without(self, bad: Mapping[int, str], problems: Problems) -> np.ndarray:
        """Report bad rows; return the positions of the others."""
        for row in sorted(bad):
            if problems.leave_unlabelled and isinstance(bad[row], NoLabel) and problems.on_error != "keep":
                problems.unlabelled += 1
            else:
                problems.report(self.file, self.index, self.where(row), bad[row])
        return np.setdiff1d(np.arange(self.rows), list(bad))


def cut(blocks: Iterator[Block], most_rows: int) -> Iterator[Block]:
    """Yield the blocks; those of more rows in parts."""
    for block in blocks:
        if block.rows <= most_rows:  # or none, with broken rows alone
            yield block
        else:
            yield from block.split(most_rows)


def as_table(batch: Any, names: Sequence[str] | None = None) -> Any:
    """Return a record batch, or some columns of it, as an arrow table, which narwhals accepts as a frame."""
    import pyarrow as pa

    return pa.Table.from_batches([batch if names is None else batch.select(list(names))])


def as_batch(table: Any) -> Any:
    """Return an arrow table as one record batch."""
    import pyarrow as pa

    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)
