"""Rows in memory: blocks below each other, and a random sample of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import sparse

from vrspam._utils.validation import LARGEST_EXACT
from vrspam.tables.frames import rows_of

_LARGE = 1 << 30  # bytes of a table of which a copy would take too much memory


def stack(parts: Sequence[Any]) -> Any:
    """Blocks of rows, arrow tables or arrays, below each other."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts))
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pyarrow as pa

    whole = pa.concat_tables(parts)
    if whole.nbytes >= _LARGE:
        return whole
    with ThreadPoolExecutor() as pool:  # each column in one piece
        columns = list(pool.map(lambda column: column.combine_chunks(), whole.columns))
    return pa.Table.from_arrays(columns, schema=whole.schema)


def stack_columns(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Arrow columns of blocks below each other, by their names."""
    if not parts[0]:
        return {}
    import pyarrow as pa

    return {name: pa.chunked_array([columns[name] for columns in parts]) for name in parts[0]}


def as_in_file(parts: Sequence[Any]) -> Any:
    """A column as the file writes it: whole numbers that were read as floats as text, others as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pa.chunked_array([chunk for part in parts for chunk in part.chunks])
    if not pa.types.is_floating(column.type):
        return column
    largest = pc.max(pc.abs(column)).as_py()
    if largest is None or largest >= LARGEST_EXACT or not pc.all(pc.equal(column, pc.trunc(column))).as_py():
        return column
    return column.cast(pa.int64()).cast(pa.string())


def has_lost_digits(column: Any) -> bool:
    """Whether an arrow column holds whole numbers as floats, some so large that floats do not hold all of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return False
    largest = pc.max(pc.abs(column)).as_py()
    return largest is not None and largest >= LARGEST_EXACT and pc.all(pc.equal(column, pc.trunc(column))).as_py()


class RowSample:
    """A random sample of at most `size` rows of a stream: those with the smallest random keys."""

    def __init__(self, size: int, seed: int):
        self.size = size
        self.rng = np.random.default_rng(seed)
        self.seen = 0
        self.keys = np.empty(0)
        self.y = np.empty(0, dtype=bool)
        self.X: Any = None

    def add(self, X: Any, y: np.ndarray) -> None:
        """Add a block of rows and labels."""
        self.seen += y.size
        self.keys = np.concatenate([self.keys, self.rng.random(y.size)])
        self.y = np.concatenate([self.y, y])
        self.X = X if self.X is None else stack([self.X, X])
        if self.keys.size > self.size:
            kept = np.sort(np.argpartition(self.keys, self.size)[: self.size])
            self.keys = self.keys[kept]
            self.y = self.y[kept]
            self.X = rows_of(self.X, kept)
