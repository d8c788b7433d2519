"""Products of many rows with one triangular matrix, at once or in two steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

STEP = 128  # columns of a triangular matrix that are multiplied at once


class RightFactor:
    """A matrix to multiply many blocks of rows with; the zeros of an upper triangular one are left out.

    >>> out = np.empty((1, 2))
    >>> RightFactor(np.array([[2.0, 3.0], [0.0, 1.0]])).multiply(np.array([[5.0, 7.0]]), out)
    >>> out
    array([[10., 22.]])
    """

    def __init__(self, matrix: np.ndarray, dtype: Any = np.float64):
        self.matrix = matrix.astype(dtype, copy=False)
        m, width = matrix.shape
        steps = range(0, width, STEP) if m == width >= 2 * STEP else range(0)
        is_upper = not any(matrix[start + STEP :, start : start + STEP].any() for start in steps)
        self._steps = list(steps) if is_upper else []

    def multiply(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write rows @ matrix to `out`."""
        if not self._steps:
            np.matmul(rows, self.matrix, out=out)
        for start in self._steps:
            stop = start + STEP
            np.matmul(rows[:, :stop], self.matrix[:stop, start:stop], out=out[:, start:stop])


class TwoSteps:
    """A triangular W = A B, where A is the identity but for its first rows, and B but for its last rows and columns.

    With k(x) the values of a kernel at its landmarks and k(x) W its whitened features, k(x) A are the values less what
    the first landmarks tell of them: a cheap step, after which columns are not nearly collinear any more.

    Parameters
    ----------
    whitening : ndarray of shape (m, m)
        Upper triangular.
    first : int
        Rows in which A is not the identity.
    """

    def __init__(self, whitening: np.ndarray, first: int, dtype: Any = np.float64):
        rest = whitening[first:, first:]
        above = linalg.solve_triangular(rest, whitening[:first, first:].T, trans="T", check_finite=False).T
        self.first, self.last = first, RightFactor(np.ascontiguousarray(rest), dtype)
        self._start = np.hstack([whitening[:first, :first], above]).astype(dtype, copy=False)

    def begin(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write rows @ A to `out`."""
        np.matmul(rows[:, : self.first], self._start, out=out)
        out[:, self.first :] += rows[:, self.first :]

    def multiply(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write rows @ A @ B to `out`."""
        self.begin(rows, begun := np.empty(out.shape, dtype=out.dtype))
        out[:, : self.first] = begun[:, : self.first]
        self.last.multiply(begun[:, self.first :], out[:, self.first :])
