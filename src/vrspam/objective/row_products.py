"""Products with the rows of X, whatever holds them: dense, sparse, float32, or features that are made when read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from vrspam.objective.losses import multiply

BLOCK_BYTES = 1 << 22  # float32 rows converted at once
MADE_ENTRIES = 1 << 21  # features made at once


class RowProducts:
    """X w and Xᵀ r in float64, for a matrix that is never copied or densified.

    Parameters
    ----------
    X : ndarray, CSR matrix, or an object with `shape`, `dtype` and rows `X[slice]`
        float32 rows are converted block by block for `scores` and `back`, whose rounding is that of float64.
    """

    def __init__(self, X: Any):
        self.X = X
        self.shape: tuple[int, int] = X.shape
        self.is_sparse = sparse.issparse(X)
        self.in_memory = self.is_sparse or isinstance(X, np.ndarray)
        self._direct = self.is_sparse or (self.in_memory and X.dtype == np.float64)
        self.exact = self._direct or not self.in_memory  # whether the quick products are those of float64
        self.work = int(X.nnz) if self.is_sparse else self.shape[0] * self.shape[1]  # multiplications in a product
        self._transposed = X.T if self.in_memory else None

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        n, d = self.shape
        step = max(192, (BLOCK_BYTES // 8 if self.in_memory else MADE_ENTRIES) // max(d, 1))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, np.asarray(self.X[rows], dtype=np.float64)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """X w, or X W for a matrix of columns."""
        if self._direct:
            return self.X @ w
        out = np.empty((self.shape[0], *w.shape[1:]))
        for rows, block in self._blocks():
            out[rows] = block @ w
        return out

    def back(self, r: np.ndarray) -> np.ndarray:
        """Xᵀ r."""
        if self._direct:
            return self._transposed @ r
        out = np.zeros((self.shape[1], *r.shape[1:]))
        for rows, block in self._blocks():
            out += block.T @ r[rows]
        return out

    def quick_scores(self, v: np.ndarray) -> np.ndarray:
        """X v in the precision of X: for steps, not for certificates."""
        if self.exact:
            return self.scores(v)
        return multiply(self.X, v)

    def quick_back(self, r: np.ndarray) -> np.ndarray:
        """Xᵀ r in the precision of X."""
        if self.exact:
            return self.back(r)
        return multiply(self._transposed, r)

    def take(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Some rows, and of them some columns, as a dense float64 array of their own."""
        part = self.X[rows]  # a copy: `rows` are numbers
        if columns is not None:
            part = part[:, columns]
        return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)
