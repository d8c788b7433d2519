"""How encoders read a block of checked rows: as numbers and codes, as features, as places among the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from vrspam import kernels
from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.indicators import Indicators
from vrspam.features.encoders.pack import can_pack, pack
from vrspam.tables import frames

Encoder = Curves | Indicators


def same_encoders(first: Sequence[Encoder], second: Sequence[Encoder]) -> bool:
    """Whether columns are encoded alike."""
    if len(first) != len(second):
        return False
    return all(_same(a, b) for a, b in zip(first, second, strict=True))


def _same(a: Encoder, b: Encoder) -> bool:
    if a is b:
        return True
    if isinstance(a, Indicators) or isinstance(b, Indicators):
        return type(a) is type(b) and a == b
    if (a.missing, a.extend, a.limited) != (b.missing, b.extend, b.limited):
        return False
    if a.names_as is None or b.names_as is None:
        if a.names_as is not b.names_as:
            return False
    elif not np.array_equal(a.names_as, b.names_as):
        return False
    return np.array_equal(a.nodes, b.nodes) and np.array_equal(a.table, b.table)


def read_columns(encoders: Sequence[Encoder], X: Any) -> tuple[list[np.ndarray], np.dtype]:
    """The columns of X, numbers or codes of categories, and the type of their features."""
    rows = X.toarray() if sparse.issparse(X) else frames.columns_of(X)
    columns = []
    types = set()
    for j, encoder in enumerate(encoders):
        if isinstance(encoder, Curves):
            numbers = frames.numbers(rows, j)
            columns.append(numbers)
            types.add(numbers.dtype)
        else:
            columns.append(frames.category_codes(rows, j, encoder.codes, encoder.other))
    return columns, np.dtype(np.float32 if types == {np.dtype(np.float32)} else np.float64)


def encode(encoders: Sequence[Encoder], X: Any, out: np.ndarray | None = None) -> np.ndarray:
    """The features of all columns, side by side, written to `out` if it is given."""
    width = sum(encoder.width for encoder in encoders)
    if can_pack(encoders, X):
        if out is None:
            out = np.empty((X.shape[0], width))
        kernels.write_many_curves(X, *pack(encoders), out)  # type: ignore[arg-type]
        return out
    columns, dtype = read_columns(encoders, X)
    if out is None:
        out = np.empty((X.shape[0], width), dtype=dtype)
    start = 0
    for encoder, values in zip(encoders, columns, strict=True):
        encoder.write(values, out[:, start : start + encoder.width])
        start += encoder.width
    return out


def places_of(encoders: Sequence[Encoder], X: Any) -> tuple[np.ndarray, np.dtype]:
    """How many nodes of its column are below each value, or the code of its category; -1 if absent or unknown."""
    if can_pack(encoders, X):
        packed = pack(encoders)  # type: ignore[arg-type]
        return kernels.places_of_many(X, packed.nodes, packed.starts, packed.bins, packed.per_bin), X.dtype
    columns, dtype = read_columns(encoders, X)
    codes = np.empty((X.shape[0], len(encoders)), dtype=np.int32)
    for j, (encoder, values) in enumerate(zip(encoders, columns, strict=True)):
        codes[:, j] = places_among_nodes(encoder, values) if isinstance(encoder, Curves) else values
    return codes, dtype


def places_among_nodes(encoder: Curves, values: np.ndarray) -> np.ndarray:
    """How many nodes are below each value, or the code of the node that it equals; -1 for none."""
    nodes = encoder.nodes.astype(values.dtype, copy=False)
    places = np.searchsorted(nodes, values)
    if encoder.names_as is None:
        return np.where(np.isnan(values), -1, places)
    places = np.minimum(places, nodes.size - 1)
    return np.where(nodes[places] == values, encoder.names_as[places], -1)
