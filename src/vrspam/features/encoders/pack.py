"""The curves of many columns in one set of arrays: compiled code then takes few rows of all columns at once."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam import kernels
from vrspam._utils.kept import kept_for
from vrspam.features.encoders.curves import Curves

MOST_ROWS = 160  # in blocks of at most so many rows, compiled code over all columns is faster than column by column
MANY_COLUMNS = 200  # with so many, preparing each column alone takes longer than computing its rows
MOST_ROWS_OF_MANY = 2_000


def can_pack(encoders: Sequence[Any], X: Any) -> bool:
    """Whether X is a float64 array of few rows, and all its columns are encoded as numbers."""
    most = MOST_ROWS if len(encoders) < MANY_COLUMNS else MOST_ROWS_OF_MANY
    if not isinstance(X, np.ndarray) or X.dtype != np.float64 or X.shape[0] > most:
        return False
    return all(isinstance(one, Curves) and one.limits is None and one.names_as is None for one in encoders)


class PackedCurves(NamedTuple):
    """The curves of all columns, as `vrspam.kernels.write_many_curves` takes them."""

    nodes: np.ndarray  # of all columns, one after the other
    starts: np.ndarray  # (columns + 1,): where those of each column begin
    bins: np.ndarray  # (columns, bins + 1): how many nodes are in lower bins
    per_bin: np.ndarray  # (columns,): number of bins per unit of the column
    table: np.ndarray  # the functions at the nodes, by lines
    slopes: np.ndarray  # their differences from node to node, by lines
    lines: np.ndarray  # (columns + 1, 2): where those of each column begin in `table` and in `slopes`
    # (columns + 1, 2): where the features of each column begin, and how many functions they are; an indicator
    # of missing values may follow
    places: np.ndarray
    extend: np.ndarray


def pack(encoders: Sequence[Curves]) -> PackedCurves:
    """Return the curves of all columns in one set of arrays, which is kept for the same encoders."""
    known = kept_for(encoders[0], "packed", lambda: _pack_with_encoders(encoders))
    if not _are_same(known[0], encoders):  # the first column is encoded alike in other maps too
        return _pack(encoders)
    return known[1]


def _pack_with_encoders(encoders: Sequence[Curves]) -> tuple[list[weakref.ref[Curves]], PackedCurves]:
    return [weakref.ref(encoder) for encoder in encoders], _pack(encoders)


def _are_same(known: Sequence[weakref.ref[Curves]], encoders: Sequence[Curves]) -> bool:
    if len(known) != len(encoders):
        return False
    return all(reference() is encoder for reference, encoder in zip(known, encoders, strict=True))


def _pack(encoders: Sequence[Curves]) -> PackedCurves:
    nodes = np.concatenate([encoder.nodes for encoder in encoders])
    starts = _starts([encoder.nodes.size for encoder in encoders])
    bins, per_bin = kernels.pack_bins(nodes, starts)
    tables = [encoder.table for encoder in encoders]
    slopes = [_slopes(table) for table in tables]
    of_tables = _starts([table.size for table in tables])
    of_slopes = _starts([slope.size for slope in slopes])
    begins = _starts([encoder.width for encoder in encoders])
    widths = [table.shape[1] for table in tables]
    return PackedCurves(
        nodes=nodes,
        starts=starts,
        bins=bins,
        per_bin=per_bin,
        table=np.concatenate([table.ravel() for table in tables]),
        slopes=np.concatenate([slope.ravel() for slope in slopes]),
        lines=np.stack([of_tables, of_slopes], axis=1),
        places=np.stack([begins, [*widths, 0]], axis=1),
        extend=np.array([encoder.extend for encoder in encoders]),
    )


def _slopes(table: np.ndarray) -> np.ndarray:
    """Differences from node to node; a single node has slope 0."""
    return np.diff(table, axis=0) if len(table) > 1 else np.zeros_like(table)


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
