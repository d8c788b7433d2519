"""Training rows for a method that reads them one at a time, and Σ as one reading of all of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from vrspam.moments import ClassMoments
from vrspam.solvers.online import kernel_rows, without_duplicates


class TrainingRows:
    """Rows, classes and weights as the kernels take them; `rows @ w` is Σw, for `vrspam.objective.SquaredPairLoss`.

    X is used as it is, dense or CSR, float32 or float64, also when it is a file mapped into memory.

    Parameters
    ----------
    X : ndarray (C-ordered) or CSR of shape (n, d)
    is_positive : ndarray of shape (n,)
    sample_weight : ndarray of shape (n,), optional
    moments : ClassMoments
        Of the same rows and weights; scatter matrices are not needed.

    Attributes
    ----------
    side : ndarray of shape (n,)
        1 for positive rows, 0 for negative ones.
    mass : ndarray of shape (n,)
        Weight of each row over that of all rows.
    share : ndarray of shape (n,)
        Weight of each row over that of its class.
    n : int
        Rows with a positive weight.
    """

    def __init__(self, X, is_positive: np.ndarray, sample_weight: np.ndarray | None, moments: ClassMoments):
        X = without_duplicates(X)
        weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.X = X
        self.is_sparse = sparse.issparse(X)
        self.kernel = kernel_rows(X)
        self.side = np.asarray(is_positive).astype(np.int64)
        self.mass = weight / weight.sum()
        self.share = weight / np.bincount(self.side, weights=weight, minlength=2)[self.side]
        self.n = int(np.count_nonzero(weight))
        self.p, self.q, self.means, self.delta = moments.p, moments.q, moments.means, moments.delta
        self.k = 2.0 * self.p * self.q
        self.moments = moments

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        from vrspam import kernels  # compiled code is loaded only when it is needed

        out, left = np.zeros(w.size), np.zeros(2)
        kernels.within_product(self.kernel, self.side, self.share, self.means @ w, w, out, left)
        return out - left @ self.means  # `left` is 0 but for the rounding of large means

    def scores(self, w: np.ndarray) -> np.ndarray:
        """w·x of each row."""
        from vrspam import kernels

        out = np.empty(self.side.size)
        kernels.all_row_dots(self.kernel, w, out)
        return out

    def hessian_product(self, u: np.ndarray) -> np.ndarray:
        """k (Σ + δδᵀ) u, the change of ∇f along u."""
        return self.k * (self @ u + float(self.delta @ u) * self.delta)

    @cached_property
    def distances(self) -> np.ndarray:
        """‖x‖², ‖x - μ₋‖² and ‖x - μ₊‖² of each row: one reading of X."""
        from vrspam import kernels

        out = np.empty((self.side.size, 3))
        kernels.all_row_distances(self.kernel, self.means, np.einsum("cj,cj->c", self.means, self.means), out)
        return out

    @property
    def own_distances(self) -> np.ndarray:
        """‖x - μ‖² to the mean of the row's own class."""
        return np.where(self.side == 1, self.distances[:, 2], self.distances[:, 1])

    @property
    def other_distances(self) -> np.ndarray:
        """‖x - μ‖² to the mean of the other class."""
        return np.where(self.side == 1, self.distances[:, 1], self.distances[:, 2])
