"""Blocks of rows of one class: where their centre lies, how they are gathered, and the sums of sparse ones."""

from __future__ import annotations

import numpy as np
from scipy import sparse

CENTRE_ROWS = 64  # rows of a block whose mean is subtracted before all of them are multiplied


class ChosenRows:
    """Some rows of a C-ordered array, which are copied to a buffer a few at a time.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    index : ndarray of shape (m,)
        The numbers of the rows.
    buffer : ndarray of shape (rows held at once, d)
        Of the type in which the rows are multiplied. Used again and again: fresh memory would cost as much as the copy.
    product : ndarray of shape (d, d), or None
        Of the same type, for products of the rows in the buffer.
    """

    def __init__(self, X: np.ndarray, index: np.ndarray, buffer: np.ndarray, product: np.ndarray | None):
        self.X, self.index, self.buffer, self.product = X, index, buffer, product
        self.shape, self.dtype, self.itemsize = (index.size, X.shape[1]), buffer.dtype, buffer.itemsize

    def __getitem__(self, chosen: slice) -> np.ndarray:
        return self.X[self.index[chosen]].astype(self.dtype, copy=False)

    def copy_to(self, out: np.ndarray, start: int) -> None:
        """Copy as many rows as `out` has, from row `start` on."""
        chosen = self.index[start : start + out.shape[0]]
        if out.dtype == self.X.dtype:
            np.take(self.X, chosen, axis=0, out=out, mode="clip")
        else:
            out[:] = self.X[chosen]


def centre_of(rows) -> np.ndarray:
    """A vector to subtract from the rows of a block before they are multiplied, with digits of their type.

    It is the mean of some of the rows, which lies within a fraction of the spread of the mean of all: enough to keep
    the digits, and no second reading of the block.
    A sparse block is centred only in columns that are more than half full: in the others the mean is small
    against the root mean square, and subtracting it afterwards loses at most one bit.
    """
    some = rows[:: -(-rows.shape[0] // CENTRE_ROWS)]  # spread over all of them
    centre = np.asarray(some.mean(axis=0, dtype=np.float64), dtype=rows.dtype).ravel()
    if sparse.issparse(rows):
        full = np.bincount(rows.indices, minlength=rows.shape[1]) > rows.shape[0] / 2
        centre = np.where(full, centre, 0).astype(rows.dtype)
    return centre.astype(np.float64)


def sparse_sums(rows, centre: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, int]:
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


def sparse_spread(rows, weights: np.ndarray | None, total: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(centre, mean - centre, sum of squares around it) of each column of a CSR block, from its entries alone.

    The centre is 0 but in columns that are more than half full, see `centre_of`.
    """
    rows.sum_duplicates()  # the block is a copy; an entry in two parts would spoil the squares
    columns = rows.indices.astype(np.intp)  # once, for all the counting
    d, each = rows.shape[1], None if weights is None else np.repeat(weights, np.diff(rows.indptr))
    count = np.bincount(columns, minlength=d)
    present = count if each is None else np.bincount(columns, each, d)
    # The weight of zeros; where there are none, rounding would be multiplied by the square of the centre.
    absent = np.where(count < rows.shape[0], np.maximum(total - present, 0.0), 0.0)
    values = rows.data.astype(np.float64, copy=False)
    sums = np.bincount(columns, values if each is None else each * values, d)
    centre = np.where(present > total / 2, sums / total, 0.0)
    if centre.any():
        values = values - centre[columns]
        sums = np.bincount(columns, values if each is None else each * values, d) - absent * centre
    squares = np.bincount(columns, values**2 if each is None else each * values**2, d)
    return centre, sums / total, squares + absent * centre**2
