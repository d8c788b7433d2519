"""All compiled code, in one file: Numba's disk cache notices an edit only in the file the kernel is in.

Penalties come in as plain numbers and matrices as arrays or as `CSR` tuples; `row_dot` and `add_row` are
overloaded for both, so each algorithm has one loop. Random numbers are drawn by the caller and handed in as
arrays of indices. A matrix in CSC form, seen as the CSR form of its transpose, gives access by columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

# Sums may be reordered so that they vectorise (a strict dot product is five times slower), but nothing here
# may assume that NaN and infinity do not occur: divergence is detected by them.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


class CSR(NamedTuple):
    """Compressed rows: the entries of row i are at indptr[i]:indptr[i+1]."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


def row_dot(X, i, w):
    """x_i · w."""
    raise NotImplementedError("only compiled code calls this")


def add_row(X, i, scale, out):
    """out += scale · x_i."""
    raise NotImplementedError("only compiled code calls this")


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _dense_row_dot(X, i, w):
    total = 0.0
    row = X[i]
    for j in range(row.shape[0]):
        total += row[j] * w[j]
    return total


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _sparse_row_dot(X, i, w):
    total = 0.0
    for position in range(X.indptr[i], X.indptr[i + 1]):
        total += X.data[position] * w[X.indices[position]]
    return total


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _dense_add_row(X, i, scale, out):
    row = X[i]
    for j in range(row.shape[0]):
        out[j] += scale * row[j]


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _sparse_add_row(X, i, scale, out):
    for position in range(X.indptr[i], X.indptr[i + 1]):
        out[X.indices[position]] += scale * X.data[position]


@overload(row_dot, inline="always")
def _overload_row_dot(X, i, w):
    if isinstance(X, types.Array):
        return lambda X, i, w: _dense_row_dot(X, i, w)
    return lambda X, i, w: _sparse_row_dot(X, i, w)


@overload(add_row, inline="always")
def _overload_add_row(X, i, scale, out):
    if isinstance(X, types.Array):
        return lambda X, i, scale, out: _dense_add_row(X, i, scale, out)
    return lambda X, i, scale, out: _sparse_add_row(X, i, scale, out)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def soft(v, threshold):
    """Shrink v towards 0 by threshold."""
    if v > threshold:
        return v - threshold
    if v < -threshold:
        return v + threshold
    return 0.0


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def fenchel_gap(w, grad, l1, l2):
    """The certificate, as in `vrspam.penalties.ElasticNet.gap` (l2 > 0)."""
    total = 0.0
    root = np.sqrt(2.0 * l2)
    for j in range(w.shape[0]):
        s = soft(grad[j], l1)
        scaled = (l2 * w[j] + s) / root
        total += scaled * scaled + max(l1 * abs(w[j]) + (grad[j] - s) * w[j], 0.0)
    return total


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def gram_descent(gram, w, grad, l1, l2, gap_l2, target, max_sweeps):
    """Coordinate descent on wᵀ gram w / 2 - b·w + Ω(w), with grad = gram w - b kept up to date.

    A step along coordinate j is exact; it changes grad by a multiple of row j of gram, so the certificate is
    known after every sweep for O(d). Only one sweep in `FULL_EVERY` visits coordinates that are zero: most of
    a sparse solution's zeros stay what they are. `gap_l2` replaces l2 in the certificate (they differ when
    l2 = 0, where the certificate would be infinite). Returns (sweeps done, gap); w and grad change in place.
    """
    full_every = 5
    d = w.shape[0]
    gap = fenchel_gap(w, grad, l1, gap_l2)
    sweep = 0
    while sweep < max_sweeps and not gap <= target:
        for j in range(d):
            old = w[j]
            if old == 0.0 and sweep % full_every != 0:
                continue
            curvature = gram[j, j]
            if curvature + l2 <= 0.0:
                continue
            new = soft(curvature * old - grad[j], l1) / (curvature + l2)
            if new != old:
                w[j] = new
                _dense_add_row(gram, j, new - old, grad)
        sweep += 1
        gap = fenchel_gap(w, grad, l1, gap_l2)
    return sweep, gap


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def add_scaled_row(X, i, scale, out):
    """`add_row` for callers outside compiled code."""
    add_row(X, i, scale, out)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def column_sweep(columns, means, delta, k, diagonal, w, scores, running, l1, l2, only_active):
    """One sweep of coordinate descent with products by the columns of X alone.

    `columns` holds, as rows, the columns of diag(√a) X, where a_i is the weight of row i over the weight of its
    class; `scores` is √a ∘ Xw and `running` holds μ_0·w, μ_1·w and δ·w. Because Σ_(i in c) a_i x_ij = μ_cj,

        ∂f/∂w_j = k (columns_j · scores - μ_0j (μ_0·w) - μ_1j (μ_1·w) - (1 - δ·w) δ_j):

    the class means are subtracted by two numbers, and a step costs O(nonzeros of the column). Columns that
    were centred beforehand come with `means` of zero.
    """
    for j in range(w.shape[0]):
        old = w[j]
        if (only_active and old == 0.0) or diagonal[j] + l2 <= 0.0:
            continue
        grad = k * (
            row_dot(columns, j, scores)
            - means[0, j] * running[0]
            - means[1, j] * running[1]
            - (1.0 - running[2]) * delta[j]
        )
        new = soft(diagonal[j] * old - grad, l1) / (diagonal[j] + l2)
        if new != old:
            step = new - old
            w[j] = new
            add_row(columns, j, step, scores)
            running[0] += step * means[0, j]
            running[1] += step * means[1, j]
            running[2] += step * delta[j]
