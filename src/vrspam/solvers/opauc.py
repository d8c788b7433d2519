"""OPAUC (Gao, Jin, Zhu & Zhou 2013): one pass over the rows, with running means and covariances of both classes.

    w ← w - η (λ w - (x-μ₋) + ((x-μ₋)(x-μ₋)ᵀ + Σ₋) w)   for a positive row,
    w ← w - η (λ w + (x-μ₊) + ((x-μ₊)(x-μ₊)ᵀ + Σ₊) w)   for a negative one,   λ = l2 / (2pq).

For large d the covariances are replaced by a sketch of rank τ: frequent directions (Liberty 2013), where half of what
is cut off is added back as a multiple of the identity (robust frequent directions, Luo et al. 2019). The sketch is
deterministic, never indefinite, and exact when τ is at least the rank of the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from vrspam._utils.array_api import padded
from vrspam._utils.blas import blas_threads
from vrspam.moments import ClassMoments
from vrspam.objective import ElasticNet, Objective, SquaredPairLoss

if TYPE_CHECKING:
    from vrspam import kernels

BUFFERED_ROWS = 32  # rows gathered before they are added to a d×d matrix


class OPAUC:
    """The state of OPAUC, and its steps.

    Parameters
    ----------
    n_features : int
    sketch : int or None
        Rank of the sketch of each covariance; None keeps the d×d matrices.
    """

    def __init__(self, n_features: int, sketch: int | None = None):
        from vrspam import kernels

        d = n_features
        self.sketch = sketch
        self.w = np.zeros(d)
        self.carry = np.zeros(1)
        self.classes = kernels.RunningCovariances(np.zeros(2), np.zeros((2, d)), np.zeros(2))
        self.scatters = np.zeros((2, d, d) if sketch is None else (2, 0, 0))
        self.buffers = np.zeros((2, BUFFERED_ROWS if sketch is None else 2 * sketch, d))
        self.filled = np.zeros(2, dtype=np.int64)
        self.spread = np.zeros(2)

    def add_features(self, count: int) -> None:
        size = self.w.size + count
        self.w = padded(self.w, size)
        self.classes = self.classes._replace(means=padded(self.classes.means, size, (1,)))
        self.buffers = padded(self.buffers, size, (2,))
        if self.sketch is None:
            self.scatters = padded(self.scatters, size, (1, 2))

    def know(self, moments: ClassMoments) -> None:
        """Use the statistics of a data set; it needs scatter matrices, and works only without a sketch."""
        from vrspam import kernels

        scatters = np.ascontiguousarray(moments.scatters)
        self.classes = kernels.RunningCovariances(moments.weights, moments.means, np.trace(scatters, axis1=1, axis2=2))
        self.scatters = scatters

    def advance(
        self,
        X: np.ndarray | kernels.CSR,
        order: np.ndarray,
        side: np.ndarray,
        rule: kernels.StepRule,
        *,
        learn: bool,
        step: bool = True,
    ) -> None:
        """Visit the rows `order`; `side` is 1 for positive rows. Without `step` only the statistics change."""
        from vrspam import kernels

        # The products here are small: threads would wait for each other longer than they work.
        with blas_threads(1):
            start = 0
            while start < order.size:
                start += kernels.opauc_steps(
                    X, order[start:], side, self.classes, self.scatters, self.buffers, self.filled, self.spread,
                    learn, step, self.w, self.carry, rule,
                )  # fmt: skip
                for c in np.flatnonzero(self.filled == self.buffers.shape[1]):
                    self._empty_buffer(int(c))

    def _empty_buffer(self, c: int) -> None:
        buffer = self.buffers[c]
        if self.sketch is None:
            block = 1024  # rows of the matrix that are updated at once
            for first in range(0, buffer.shape[1], block):
                self.scatters[c, first : first + block] += buffer[:, first : first + block].T @ buffer
            self.filled[c] = 0
            return
        # The squared singular values of the buffer, largest first; all are reduced by the largest that is cut off.
        values, vectors = linalg.eigh(buffer @ buffer.T)
        values, vectors = values[::-1], vectors[:, ::-1]
        rank = self.sketch
        cut = max(float(values[rank]), 0.0)
        kept = np.maximum(values[:rank] - cut, 0.0)
        scale = np.sqrt(kept / np.where(values[:rank] > 0.0, values[:rank], 1.0))
        buffer[:rank] = scale[:, np.newaxis] * (vectors[:, :rank].T @ buffer)
        self.filled[c] = rank
        self.spread[c] += cut / 2.0

    @property
    def n_steps(self) -> int:
        return int(self.carry[0])  # the only slot, kernels.STEPS

    @property
    def coef(self) -> np.ndarray:
        return self.w.copy()

    @property
    def counts(self) -> np.ndarray:
        return self.classes.counts

    @property
    def means(self) -> np.ndarray:
        return self.classes.means.copy()

    @property
    def p(self) -> float:
        """Share of the positive class so far."""
        return float(self.counts[1] / self.counts.sum())

    @property
    def trace(self) -> float:
        """tr H of the rows so far."""
        delta = self.classes.means[1] - self.classes.means[0]
        return float((self.classes.traces / self.counts).sum() + delta @ delta)

    @property
    def l2_unit(self) -> float:
        mean_diagonal = self.trace / max(self.w.size, 1)
        return 2.0 * self.p * (1.0 - self.p) * (mean_diagonal if mean_diagonal > 0.0 else 1.0)

    def swap_classes(self) -> None:
        for array in (*self.classes, self.scatters, self.buffers, self.filled, self.spread):
            array[:] = array[::-1].copy()

    def within(self, v: np.ndarray) -> np.ndarray:
        """Return (Σ₊ + Σ₋) v for the rows so far (an approximation with a sketch)."""
        total = np.zeros_like(v)
        for c in range(2):
            rows = self.buffers[c, : self.filled[c]]
            product = (self.scatters[c] @ v if self.sketch is None else 0.0) + self.spread[c] * v
            total += (product + rows.T @ (rows @ v)) / self.counts[c]
        return total

    def objective(self, l2: float) -> Objective:
        """F of all rows so far; exact without a sketch."""
        delta = self.classes.means[1] - self.classes.means[0]
        diagonal = np.full(delta.size, (self.classes.traces / self.counts).sum() / max(delta.size, 1))
        return Objective(SquaredPairLoss(self.p, delta, _Product(self), diagonal), ElasticNet(l2))


class _Product:
    """Σ₊ + Σ₋ of an `OPAUC` as an operator: it can be multiplied by a vector."""

    def __init__(self, method: OPAUC):
        self.method = method

    def __matmul__(self, v: np.ndarray, /) -> np.ndarray:
        return self.method.within(v)
