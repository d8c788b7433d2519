"""What the solvers that take one row at a time share: rows for the kernels, running class statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from vrspam.moments import ClassMoments

if TYPE_CHECKING:
    from vrspam import kernels


def kernel_rows(X) -> np.ndarray | kernels.CSR:
    """X as the kernels take it: C-ordered, or a `CSR` tuple."""
    from vrspam import kernels  # compiled code is loaded only when it is needed

    if sparse.issparse(X):
        X = X.tocsr()
        return kernels.CSR(X.data, X.indices, X.indptr)
    return np.ascontiguousarray(X)


def empty_sums(n_features: int) -> kernels.ClassSums:
    """Statistics of no rows at all."""
    from vrspam import kernels

    return kernels.ClassSums(np.zeros(2), np.zeros((2, n_features)), np.zeros(6))


def known_sums(moments: ClassMoments, largest_square: float = 0.0) -> kernels.ClassSums:
    """The statistics of a complete data set; `largest_square` = max ‖x‖² matters to the theoretical step only."""
    from vrspam import kernels

    counts, means = moments.weights, moments.means
    sums = counts[:, np.newaxis] * means
    squares = counts * (moments.variances.sum(axis=1) + np.einsum("cj,cj->c", means, means))
    cross = sums @ sums.T
    totals = np.array([*squares, cross[0, 0], cross[1, 1], cross[0, 1], largest_square])
    return kernels.ClassSums(counts, sums, totals)
