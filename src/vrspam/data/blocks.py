"""A block of rows as a reader hands it on, before any encoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Block:
    """Rows of one file: `table` (an arrow record batch) for tables, `X` and `y` for LIBSVM and `.npy`.

    `where(i)` names the place of the block's row i; `done` is the share of the file up to the block's end.
    """

    file: str
    index: int
    rows: int
    where: Callable[[int], str]
    done: float
    table: Any = None
    X: Any = None
    y: Any = None

    def pieces(self, rows: int) -> Iterator[Block]:
        """Cut the block into blocks of at most `rows` rows."""
        if self.rows <= rows:
            yield self
            return
        for start in range(0, self.rows, rows):
            stop = min(start + rows, self.rows)

            def where(row: int, start: int = start) -> str:
                return self.where(start + row)

            yield replace(
                self,
                rows=stop - start,
                where=where,
                table=None if self.table is None else self.table.slice(start, stop - start),
                X=None if self.X is None else self.X[start:stop],
                y=None if self.y is None else self.y[start:stop],
            )
