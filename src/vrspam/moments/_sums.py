"""Sums over the rows of one block, about a centre close to their mean.

Rows are centred before they are multiplied, so a large common offset costs no digits; a sum of raw squares would lose
them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam.moments._coded import CodedRows
from vrspam.moments._rounding import gamma

CHUNK_ROWS = 1 << 12  # so many rows are multiplied at once: the bound on rounding grows with them
COARSE_CHUNK_ROWS = 1 << 14  # the same for products in float32, which are too coarse for a certificate anyway
CENTRE_ROWS = 64  # rows of a block whose mean is subtracted before all of them are multiplied
SLICE_BYTES = 1 << 20  # rows centred and summed at once: they stay in the cache meanwhile


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """Some rows of a C-ordered array, copied a few at a time to a buffer; `product` is room for their products."""

    X: np.ndarray
    index: np.ndarray
    buffer: np.ndarray
    product: np.ndarray | None
    shape: tuple[int, int]
    dtype: np.dtype

    def every(self, step: int) -> np.ndarray:
        """One in so many of the rows."""
        return self.X[self.index[::step]].astype(self.dtype, copy=False)

    def copy_to(self, out: np.ndarray, first: int) -> None:
        """Copy as many rows as `out` has, from the one of number `first` on."""
        chosen = self.index[first : first + len(out)]
        if out.dtype == self.X.dtype:
            np.take(self.X, chosen, axis=0, out=out, mode="clip")
        else:
            out[:] = self.X[chosen]


class BlockSums(NamedTuple):
    """Sums over the rows of one block."""

    centre: np.ndarray  # close to their mean
    residual: np.ndarray  # the mean minus the centre
    products: np.ndarray  # Σ c x xᵀ of x = row - centre, or its diagonal
    operations: int  # most roundings that one element goes through
    uncertain: Any = 0.0  # error of the squares, where the weight of zeros is a difference of weights


def sums_of_block(rows: Any, weights: np.ndarray | None, total: float, full: bool) -> BlockSums:
    """The sums of some rows, of total weight `total`, with their products or only the diagonal of these."""
    if sparse.issparse(rows) and not full:
        return _sparse_spread(rows, weights, total)
    if isinstance(rows, CodedRows):
        return _coded_sums(rows, weights, total, full)
    centre = centre_of(rows)
    if sparse.issparse(rows):
        sums, products, operations = _sparse_products(rows, centre, weights)
    else:
        sums, products, operations = dense_sums(rows, centre, weights, full)
    return BlockSums(centre, sums / total, products, operations)


def centre_of(rows: Any) -> np.ndarray:
    """The mean of some of the rows, rounded to their type, to subtract from all before they are multiplied.

    A sparse block is centred only in columns that are more than half full: in the others the mean is small against the
    root mean square, and subtracting it afterwards loses at most one bit.
    """
    step = -(-rows.shape[0] // CENTRE_ROWS)
    sample = rows.every(step) if isinstance(rows, ChosenRows) else rows[::step]
    centre = np.asarray(sample.mean(axis=0, dtype=np.float64), dtype=rows.dtype).ravel()
    if sparse.issparse(rows):
        full = np.bincount(rows.indices, minlength=rows.shape[1]) > rows.shape[0] / 2
        centre = np.where(full, centre, 0).astype(rows.dtype)
    return centre.astype(np.float64)


def _coded_sums(rows: CodedRows, weights: np.ndarray | None, total: float, full: bool) -> BlockSums:
    centre = np.zeros(rows.shape[1])  # indicators are not centred: none is in more than half of the rows
    centre[rows.places] = centre_of(rows.dense)
    of_dense, products_of_dense, operations = dense_sums(rows.dense, centre[rows.places], weights, full)
    sums, products, most = rows.sums(products_of_dense, of_dense, None if weights is None else np.sqrt(weights))
    return BlockSums(centre, sums / total, products, max(operations, most + 2))


def _sparse_products(rows: Any, centre: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, int]:
    """(Σ c x, Σ c x xᵀ, most roundings of one element) of x = row - centre for a sparse block, which stays sparse."""
    m = rows.shape[0]
    root = np.ones(m) if weights is None else np.sqrt(weights)
    if centre.any():
        ones = sparse.csr_array(np.ones((m, 1), rows.dtype))
        rows = rows - ones @ sparse.csr_array(centre.astype(rows.dtype)[np.newaxis])
    if weights is not None:
        rows = (sparse.diags_array(root.astype(rows.dtype)) @ rows).tocsr()
    sums = np.asarray(root @ rows, dtype=np.float64).ravel()
    rows = rows.astype(np.float64, copy=False)  # float32 would be no faster
    return sums, (rows.T @ rows).toarray().T, m


def _sparse_spread(rows: Any, weights: np.ndarray | None, total: float) -> BlockSums:
    """The squares of each column of a CSR block, from its entries alone.

    The centre is 0 except in columns that are more than half full, see `centre_of`.
    """
    rows.sum_duplicates()  # the block is a copy; an entry in two parts would spoil the squares
    m, d = rows.shape
    columns = rows.indices.astype(np.intp)  # once, for all the counting
    mass = None if weights is None else np.repeat(weights, np.diff(rows.indptr))  # of each entry
    count = np.bincount(columns, minlength=d)
    present = count if mass is None else np.bincount(columns, mass, d)
    # The weight of zeros; where there are none, rounding would be multiplied by the square of the centre.
    absent = np.where(count < m, np.maximum(total - present, 0.0), 0.0)

    values = rows.data.astype(np.float64, copy=False)
    sums = np.bincount(columns, _weighed(values, mass), d)
    centre = np.where(present > total / 2, sums / total, 0.0)
    if centre.any():
        values = values - centre[columns]
        sums = np.bincount(columns, _weighed(values, mass), d) - absent * centre
    squares = np.bincount(columns, _weighed(values**2, mass), d) + absent * centre**2

    # The weight of zeros is a difference; without weights it is a number of rows.
    uncertain = 0.0 if weights is None else gamma(m) * total * centre**2
    return BlockSums(centre, sums / total, squares, 2 * m, uncertain)


def _weighed(values: np.ndarray, mass: np.ndarray | None) -> np.ndarray:
    return values if mass is None else mass * values


def dense_sums(
    rows: np.ndarray | ChosenRows, centre: np.ndarray, weights: np.ndarray | None, full: bool
) -> tuple[np.ndarray, np.ndarray, int]:
    """(Σ c x, Σ c x xᵀ or its diagonal, most roundings of one element) of x = row - centre.

    A few rows at a time are copied or overwritten, centred and multiplied, and the results are added in float64. Sums
    are computed in float64; float32 rows are centred and multiplied in float32.
    """
    m, d = rows.shape
    step = min(m, COARSE_CHUNK_ROWS if rows.dtype == np.float32 else CHUNK_ROWS)
    room = None
    if isinstance(rows, ChosenRows):
        step = min(step, len(rows.buffer))
        room = rows.product
    slice_rows = min(max(SLICE_BYTES // (rows.dtype.itemsize * max(d, 1)), 64), CHUNK_ROWS)
    sums = np.zeros(d)
    products = np.zeros((d, d) if full else d)
    slices = 0
    for start in range(0, m, step):
        stop = min(start + step, m)
        chunk = rows.buffer[: stop - start] if isinstance(rows, ChosenRows) else rows[start:stop]
        for first in range(start, stop, slice_rows):
            last = min(first + slice_rows, stop)
            part = chunk[first - start : last - start]
            if isinstance(rows, ChosenRows):
                rows.copy_to(part, first)
            if weights is None:
                sums += _centre(part, centre)
            else:
                sums += _centre_weighed(part, centre, weights[first:last], np.sqrt(weights[first:last]))
            slices += 1
        if not full:
            products += np.einsum("ij,ij->j", chunk, chunk, dtype=np.float64)
        elif m <= step:
            products = _product(chunk, None).astype(np.float64, copy=False)
        else:
            products += _product(chunk, room)
    operations = max(step + -(-m // step), min(slice_rows, step) + slices)
    return sums, products.T, operations  # T: by columns, as all scatters


def _centre(part: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Subtract the centre from some rows, in place; their sum in float64."""
    ones = np.ones(len(part))
    if part.dtype == np.float32:
        sums = ones @ (part.astype(np.float64) - centre)
        part -= centre.astype(np.float32)
        return sums
    part -= centre
    return ones @ part


def _centre_weighed(part: np.ndarray, centre: np.ndarray, weights: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Turn some rows into √c (row - centre), in place; the sum Σ c (row - centre) in float64."""
    if part.dtype == np.float32:
        sums = weights @ (part.astype(np.float64) - centre)
        part -= centre.astype(np.float32)
        part *= root.astype(np.float32)[:, np.newaxis]
        return sums
    part -= centre
    part *= root[:, np.newaxis]
    return root @ part


def _product(chunk: np.ndarray, room: np.ndarray | None) -> np.ndarray:
    """The product of some rows with themselves, in `room` if there is any."""
    with np.errstate(over="ignore", invalid="ignore"):
        product = np.matmul(chunk.T, chunk, out=room)  # SciPy's BLAS would keep Python's lock
    if chunk.dtype == np.float32 and not 2.0**-80 < product.diagonal().max(initial=0.0) < 2.0**80:  # not so for NaN
        # Far from 1, a power of two brings the squares into float32's range and changes no digit.
        exponent = int(np.frexp(np.max(np.abs(chunk), initial=0.0))[1])
        chunk = np.ldexp(chunk, -exponent)
        product = np.ldexp((chunk.T @ chunk).astype(np.float64), 2 * exponent)
    return product
