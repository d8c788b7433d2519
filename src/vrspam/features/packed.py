"""Many columns of few rows at once: in compiled code, since Python takes longer to go from column to column.

The curves of all columns lie one after the other in a few arrays. Values are looked up by bisection, without the bins
of `vrspam.features.encoders.Nodes`, which pay where a column has many rows. Features are the same to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from vrspam.features.encoders import Curves, Encoder

MOST_ROWS = 2_000  # of a block, for which compiled code over all columns is used
_FLOAT64 = np.dtype(np.float64)


def can_pack(encoders: Sequence[Encoder], X: Any) -> TypeGuard[np.ndarray]:
    """Whether these rows are few, and all columns numbers in one array of float64."""
    if not isinstance(X, np.ndarray) or X.dtype != _FLOAT64 or X.shape[0] > MOST_ROWS:
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
    table, slopes : ndarray
        The functions at the nodes, and their differences from node to node, by lines.
    lines : ndarray of shape (columns + 1, 2)
        Where those of each column begin in `table` and in `slopes`.
    widths : ndarray of shape (columns, 2)
        How many functions a column has, and whether an indicator of missing values follows.
    extend : ndarray of bool
    """

    nodes: np.ndarray
    starts: np.ndarray
    table: np.ndarray
    slopes: np.ndarray
    lines: np.ndarray
    widths: np.ndarray
    extend: np.ndarray

    @classmethod
    def of(cls, encoders: Sequence[Any]) -> PackedCurves:
        """Put the curves of all columns into one."""
        tables = [encoder.table_in(_FLOAT64) for encoder in encoders]
        lines = np.array([(table.size, slopes.size) for table, slopes in tables])
        return cls(
            np.concatenate([encoder.nodes for encoder in encoders]),
            _starts([encoder.nodes.size for encoder in encoders]),
            np.concatenate([table.ravel() for table, _ in tables]),
            np.concatenate([slopes.ravel() for _, slopes in tables]),
            np.stack([_starts(lines[:, 0]), _starts(lines[:, 1])], axis=1),
            np.array([(encoder.table.shape[1], encoder.missing) for encoder in encoders], dtype=np.int64),
            np.array([encoder.extend for encoder in encoders]),
        )


def write_packed(encoders: Sequence[Encoder], X: np.ndarray, out: np.ndarray) -> None:
    """Fill `out` with the features of all columns."""
    from vrspam import kernels  # compiled code is loaded only when it is needed

    kernels.write_many_curves(X, *PackedCurves.of(encoders), out)


def packed_places(encoders: Sequence[Any], X: np.ndarray) -> np.ndarray:
    """The place of each value among the nodes of its column; -1 for missing ones."""
    from vrspam import kernels

    nodes = np.concatenate([encoder.nodes for encoder in encoders])
    return kernels.places_of_many(X, nodes, _starts([encoder.nodes.size for encoder in encoders]))


def _starts(sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
