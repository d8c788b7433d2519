"""Many columns of few rows at once: in compiled code, since Python takes longer to go from column to column.

The curves of all columns lie one after the other in a few arrays. Features are the same to the last digit as those that
each encoder writes for its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from vrspam.features.encoders import Curves, Encoder

MOST_ROWS = 160  # of a block, for which compiled code over all columns is quicker than column after column
MANY_COLUMNS = 200  # and more: what is prepared for each column alone takes longer than its rows do, up to
MOST_ROWS_OF_MANY = 2_000
_FLOAT64 = np.dtype(np.float64)


def can_pack(encoders: Sequence[Encoder], X: Any) -> bool:
    """Whether these rows are few, and all columns numbers in one array of float64."""
    most = MOST_ROWS if len(encoders) < MANY_COLUMNS else MOST_ROWS_OF_MANY
    if not isinstance(X, np.ndarray) or X.dtype != _FLOAT64 or X.shape[0] > most:
        return False
    return all(isinstance(encoder, Curves) for encoder in encoders)


class PackedCurves(NamedTuple):
    """The curves of all columns, as `vrspam.kernels.write_many_curves` takes them.

    Attributes
    ----------
    nodes : ndarray
        Of all columns, one after the other.
    starts : ndarray of shape (columns + 1,)
        Where those of each column begin.
    bins : ndarray of shape (columns, bins + 1)
        How many nodes are in lower bins.
    per_bin : ndarray of shape (columns,)
        How many bins of a column there are in a unit.
    table, slopes : ndarray
        The functions at the nodes, and their differences from node to node, by lines.
    lines : ndarray of shape (columns + 1, 2)
        Where those of each column begin in `table` and in `slopes`.
    places : ndarray of shape (columns + 1, 2)
        Where the features of each column begin, and how many functions they are; an indicator of missing values may
        follow.
    extend : ndarray of bool
    """

    nodes: np.ndarray
    starts: np.ndarray
    bins: np.ndarray
    per_bin: np.ndarray
    table: np.ndarray
    slopes: np.ndarray
    lines: np.ndarray
    places: np.ndarray
    extend: np.ndarray

    @classmethod
    def of(cls, encoders: Sequence[Any]) -> PackedCurves:
        """Put the curves of all columns into one; made once for the same encoders."""
        known = encoders[0].made.get("packed")
        if known is None or len(known[0]) != len(encoders) or not all(map(is_, known[0], encoders)):
            known = encoders[0].made["packed"] = tuple(encoders), cls._of(encoders)
        return known[1]

    @classmethod
    def _of(cls, encoders: Sequence[Any]) -> PackedCurves:
        from vrspam import kernels  # compiled code is loaded only when it is needed

        nodes = np.concatenate([encoder.nodes for encoder in encoders])
        starts = _starts([encoder.nodes.size for encoder in encoders])
        bins, per_bin = kernels.pack_bins(nodes, starts)
        tables = [encoder.table for encoder in encoders]
        # One node is followed by itself.
        slopes = [np.diff(table, axis=0) if len(table) > 1 else np.zeros_like(table) for table in tables]
        sizes = [(table.size, slope.size) for table, slope in zip(tables, slopes, strict=True)]
        widths = [table.shape[1] for table in tables]
        begins = _starts([encoder.width for encoder in encoders])
        return cls(
            nodes,
            starts,
            bins,
            per_bin,
            np.concatenate([table.ravel() for table in tables]),
            np.concatenate([slope.ravel() for slope in slopes]),
            np.stack([_starts([size for size, _ in sizes]), _starts([size for _, size in sizes])], axis=1),
            np.stack([begins, [*widths, 0]], axis=1),
            np.array([encoder.extend for encoder in encoders]),
        )


def write_packed(encoders: Sequence[Encoder], X: np.ndarray, out: np.ndarray) -> None:
    """Fill `out` with the features of all columns."""
    from vrspam import kernels

    kernels.write_many_curves(X, *PackedCurves.of(encoders), out)


def packed_places(encoders: Sequence[Encoder], X: np.ndarray) -> np.ndarray:
    """The place of each value among the nodes of its column; -1 for missing ones."""
    from vrspam import kernels

    packed = PackedCurves.of(encoders)
    return kernels.places_of_many(X, packed.nodes, packed.starts, packed.bins, packed.per_bin)


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
