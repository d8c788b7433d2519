"""Rows of a matrix, for loops that are written once: a matrix is an array or a `CSR` tuple.

`entries`, `value_at` and `column_at` are for both. For access by columns the caller passes a CSC matrix, which is the
CSR form of the transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from vrspam.kernels.compiling import compiled


class CSR(NamedTuple):
    """Compressed rows: the entries of row i are at indptr[i]:indptr[i+1]."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


def either(of_array: Callable, of_csr: Callable) -> Any:
    """A function of a matrix, for compiled code: the first for an array, the second for a `CSR`."""

    def function(X, *more):
        raise TypeError("only compiled code calls this")

    def chosen(X, *more):
        return of_array if isinstance(X, types.Array) else of_csr

    overload(function, inline="always", strict=False)(chosen)
    return function


# The places of the entries of a row, and the value and the column of the entry at a place.
entries = either(lambda X, i: range(X.shape[1]), lambda X, i: range(X.indptr[i], X.indptr[i + 1]))
value_at = either(lambda X, i, place: X[i, place], lambda X, i, place: X.data[place])
column_at = either(lambda X, place: place, lambda X, place: X.indices[place])


@compiled
def row_dot(X, i, w):
    """x_i · w."""
    total = 0.0
    for place in entries(X, i):
        total += value_at(X, i, place) * w[column_at(X, place)]
    return total


@compiled
def row_square(X, i):
    """‖x_i‖²."""
    total = 0.0
    for place in entries(X, i):
        x = np.float64(value_at(X, i, place))
        total += x * x
    return total


@compiled
def add_row(X, i, scale, out):
    """out += scale · x_i."""
    for place in entries(X, i):
        out[column_at(X, place)] += scale * value_at(X, i, place)


@compiled
def weighted_row_sum(X, rows, factor, out):
    """out += Σ factor_i x_i over the given rows i."""
    for i in rows:
        add_row(X, i, factor[i], out)


@compiled
def _written_out(X, i, buffer):
    buffer[:] = 0.0
    add_row(X, i, 1.0, buffer)
    return buffer


# Row i as an array of length d: a view of a dense X, or `buffer`, filled with the row of a CSR.
whole_row = either(lambda X, i, buffer: X[i], lambda X, i, buffer: _written_out(X, i, buffer))
