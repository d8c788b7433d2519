"""Multiplying by Σ = Σ₊ + Σ₋ without a d×d matrix: two products with the rows, on the host or on a device."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from vrspam._utils import array_api

BLOCK_BYTES = 1 << 22  # float32 rows converted at once


class Operator(Protocol):
    """Anything that multiplies a vector by Σ."""

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray: ...


def multiply(X, v: np.ndarray) -> np.ndarray:
    """X @ v in the precision of X; for float32 a power of two keeps v within its range and changes no digit."""
    if X.dtype != np.float32:
        return X @ v
    exponent = int(np.frexp(np.max(np.abs(v), initial=0.0))[1])
    return np.ldexp((X @ np.ldexp(v, -exponent).astype(np.float32)).astype(np.float64), exponent)


class WithinProducts:
    """Σ as two products with X: the class means are subtracted implicitly, X is never copied or densified.

    With a_i = weight_i / n_(class of i) and scores s = Xw, Σw = Xᵀr - Σ_c μ_c Σ_(i in c) r_i, where
    r_i = a_i (s_i - μ_(class of i)·w). The sums over r are 0 but for rounding; taking them off keeps the
    rounding of large means out of the result. With `sizes`, the class weights of a larger data set of which X is
    one block of rows, the result is the block's part of Σw: the parts add up. Products are those of float64 also for
    float32 rows, which are converted block by block: certificates hold to its rounding.
    """

    def __init__(self, X, is_positive: np.ndarray, sample_weight: np.ndarray | None, means: np.ndarray, sizes=None):
        share = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.X = X
        self._transposed = X.T
        self._coarse = X.dtype == np.float32 and not sparse.issparse(X)  # SciPy converts by itself
        self.side = is_positive.astype(np.intp)
        sizes = np.bincount(self.side, weights=share, minlength=2) if sizes is None else np.asarray(sizes)
        self.share = share / sizes[self.side]
        self.means = means

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        shift = (self.means @ w)[self.side]
        if self._coarse:
            step = max(1, BLOCK_BYTES // (8 * max(w.size, 1)))
            residual, back = np.empty(self.side.size), np.zeros(w.size)
            for start in range(0, self.side.size, step):
                rows = slice(start, start + step)
                block = self.X[rows].astype(np.float64)
                residual[rows] = self.share[rows] * (block @ w - shift[rows])
                back += block.T @ residual[rows]
        else:
            residual = self.share * (self.X @ w - shift)
            back = self._transposed @ residual
        return back - np.bincount(self.side, weights=residual, minlength=2) @ self.means


class DeviceProducts:
    """Σ as products with X where X lies (see `WithinProducts`)."""

    def __init__(self, X: Any, is_positive: Any, weights: Any, means: np.ndarray, sizes: np.ndarray):
        xp = array_api.device_namespace(X)
        self.X, self.means = X, array_api.beside(means, X)
        positive = xp.astype(array_api.beside(is_positive, X), xp.float64)
        self.member = xp.stack([1.0 - positive, positive], axis=1)
        share = self.member @ (1.0 / array_api.beside(sizes, X))
        self.share = share if weights is None else share * array_api.beside(weights, X)

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        xp = array_api.device_namespace(self.X)
        v = array_api.beside(w, self.X)
        level = self.means @ v
        total, sums = v * 0.0, level * 0.0
        for where, rows in array_api.row_blocks(self.X):
            member = self.member[where, :]
            residual = self.share[where] * (rows @ v - member @ level)
            total += residual @ rows
            sums += xp.sum(member * residual[:, None], axis=0)
        return array_api.on_host(total - sums @ self.means)
