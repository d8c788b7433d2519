"""Read the rows of each class in blocks of bounded size, and gather their statistics, in several threads if many."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import numpy as np
from scipy import sparse

from vrspam._utils.blas import blas_thread_count, blas_threads
from vrspam.moments._statistics import ClassStatistics
from vrspam.moments._sums import CHUNK_ROWS, COARSE_CHUNK_ROWS, ChosenRows

BLOCK_BYTES = 1 << 26  # rows are gathered in dense blocks of about this size
WINDOW_ROWS = 1 << 16  # rows of a C-ordered array that make up one block, though fewer are copied at once
SPARSE_PRODUCT_DENSITY = 0.05  # below it a product of sparse blocks beats a dense one
THREAD_PRODUCTS = 1 << 27  # multiplications in a product of the rows from which on several threads share them
THREAD_BYTES = 1 << 27  # most of the matrices of all threads together


def statistics_in_memory(
    X: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    index: np.ndarray | None,
    labels: np.ndarray,
    full: bool,
    precise: bool,
    of_weights: float = 0.0,
) -> list[ClassStatistics]:
    """Statistics of the rows of each label (of those numbered in `index`), which are copied in blocks of bounded size.

    Blocks of a sparse X stay sparse if a sparse product is cheaper. With `precise`, float32 rows are multiplied in
    float64. With many rows, each thread that BLAS may use gathers and multiplies a part of them.
    """
    # Rows of weight zero are ignored: they do not count as rows either.
    members = [(y == label) if weights is None else (y == label) & (weights > 0) for label in labels]
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    n, d = X.shape
    count = n if index is None else index.size
    threads = _thread_count(X, count, full, len(members))
    stop = Event()

    @np.errstate(over="ignore", invalid="ignore")  # `check_range` reports it
    def of_part(first: int, last: int) -> list[ClassStatistics]:
        """Statistics of each label in some of the rows."""
        reader = RowReader(X, full, precise, BLOCK_BYTES // threads, last - first)
        of_labels = [ClassStatistics.empty(d, full) for _ in members]
        for start in range(first, last, reader.step):
            window = np.arange(start, min(start + reader.step, last))
            if index is not None:
                window = index[window]
            for statistics, member in zip(of_labels, members, strict=True):
                chosen = window[member[window]]
                if chosen.size == 0 or stop.is_set():
                    continue
                of_chosen = None if weights is None else weights[chosen]
                statistics.add_rows(reader.read(chosen), of_chosen, of_weights)
        return of_labels

    if threads == 1:
        return of_part(0, count)
    edges = [count * number // threads for number in range(threads + 1)]
    with blas_threads(1), ThreadPoolExecutor(threads, "vrspam moments") as pool:
        try:
            parts = pool.map(of_part, edges[:-1], edges[1:])
            return list(pool.map(_merged, *parts))
        finally:
            stop.set()  # after an interrupt


def _merged(first: ClassStatistics, *others: ClassStatistics) -> ClassStatistics:
    """The statistics of all parts of a class, in place of those of the first."""
    for other in others:
        first.merge(other)
    return first


def _is_ordered(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.flags.c_contiguous


def _thread_count(X: Any, count: int, full: bool, n_labels: int) -> int:
    """In how many threads the rows are gathered."""
    d = X.shape[1]
    if not (full and _is_ordered(X)) or count * d * d < THREAD_PRODUCTS:
        return 1
    threads = blas_thread_count()
    return threads if threads * (n_labels + 1) * 8 * d * d <= THREAD_BYTES else 1


class RowReader:
    """Rows of X by their numbers, in the container and the type in which they are multiplied; at most `step` at once.

    `room` is the size of a block in bytes, and `most` the number of rows that will be read in all.
    """

    def __init__(self, X: Any, full: bool, precise: bool, room: int, most: int):
        n, d = X.shape
        self.X = X
        self.is_sparse = sparse.issparse(X)
        self.stays_sparse = self.is_sparse and (not full or X.nnz < SPARSE_PRODUCT_DENSITY * n * max(d, 1))
        self.coded_rows = getattr(X, "coded_rows", None)  # indicators of many categories are not written out
        # Without a scatter there are no large products that float32 would make cheaper.
        in_float32 = full and not precise and not self.is_sparse and X.dtype == np.float32
        self.dtype = np.dtype(np.float32 if in_float32 else np.float64)
        self.buffer: np.ndarray | None = None
        self.product: np.ndarray | None = None

        width = max(d if self.coded_rows is None else X.written_width, 1)
        itemsize = self.dtype.itemsize if _is_ordered(X) else X.dtype.itemsize
        self.step = max(64, room // (itemsize * width))
        if _is_ordered(X):
            at_once = min(self.step, COARSE_CHUNK_ROWS if in_float32 else CHUNK_ROWS, most)
            self.buffer = np.empty((at_once, d), self.dtype)
            self.product = np.empty((d, d), self.dtype) if full else None
            self.step = max(self.step, WINDOW_ROWS)
        elif self.stays_sparse:
            self.step = max(self.step, int(n * BLOCK_BYTES / (12 * (X.nnz + 1))))

    def read(self, chosen: np.ndarray) -> Any:
        """The rows of these numbers, which may be overwritten."""
        if self.buffer is not None:
            shape = (chosen.size, self.X.shape[1])
            return ChosenRows(self.X, chosen, self.buffer, self.product, shape, self.buffer.dtype)
        if self.coded_rows is not None:
            return self.coded_rows(chosen).with_common_written_out(self.dtype)
        rows = self.X[chosen]  # np.take would first copy all of an X that is not C-ordered
        if self.is_sparse and not self.stays_sparse:
            rows = rows.toarray()
        return rows.astype(self.dtype, copy=False)
