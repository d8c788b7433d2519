"""The online methods, which learn from one row at a time, and their epochs over a data set.

An online method (`SPAM`, `SOLAM`, `OPAUC`) holds its whole state in arrays. Its `advance` visits the rows of an
index array one by one. With `learn=True` it estimates p and the class means from the rows seen so far (a stream); with
`learn=False` it uses the statistics that `know` was given (epochs over a data set).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from vrspam import kernels
from vrspam._utils.array_api import padded
from vrspam._utils.arrays import own_arrays
from vrspam._utils.blas import blas_threads
from vrspam.moments import ClassMoments
from vrspam.objective import AUTO_L2_SHARE, ElasticNet, Objective, SquaredPairLoss
from vrspam.solvers.base import State, proximal_point


def kernel_rows(X) -> np.ndarray | kernels.CSR:
    """Return X (dense, or CSR) for the kernels: a C-ordered array, or a `CSR` tuple without duplicate entries."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    if not X.has_canonical_format:  # squares of an entry in two parts would be wrong
        X = X.copy()
        X.sum_duplicates()
    return kernels.CSR(X.data, X.indices, X.indptr)


def largest_square(X) -> float:
    """max ‖x_i‖²."""
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1, dtype=np.float64))
    else:
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return float(squares.max(initial=0.0))


def step_rule(step_size: float | str, l2: float | None, *, theory: bool = False) -> kernels.StepRule:
    """Return the `StepRule` for a `step_size` ("auto" or a number) and an l2 (None: computed from the rows so far)."""
    size = 0.0 if isinstance(step_size, str) else float(step_size)
    return kernels.StepRule(size, theory, 0.0 if l2 is None else float(l2), AUTO_L2_SHARE if l2 is None else 0.0)


def known_sums(moments: ClassMoments, largest_square: float = 0.0, *, relative: bool = False) -> kernels.ClassSums:
    """The statistics of a complete data set; only the theoretical step uses `largest_square` = max ‖x‖².

    With `relative` the class sizes are divided by a power of two, so that squares of weights stay in range: for sums to
    which no rows of a stream are added.
    """
    counts = moments.weights
    means = moments.means
    if relative:
        counts = np.ldexp(counts, -int(np.frexp(counts.max())[1]))
    sums = counts[:, np.newaxis] * means
    squares = counts * (moments.variances.sum(axis=1) + np.einsum("cj,cj->c", means, means))
    cross = sums @ sums.T
    totals = np.array([*squares, cross[0, 0], cross[1, 1], cross[0, 1], largest_square])
    return kernels.ClassSums(counts, sums, totals)


class SumsMethod:
    """Base of SPAM and SOLAM: `carry` is the kernel's state between calls; `total` is the sum for the average."""

    def __init__(self, n_features: int, slots: int, average: bool):
        self.classes = kernels.ClassSums(np.zeros(2), np.zeros((2, n_features)), np.zeros(6))
        self.average = average
        self.w = np.zeros(n_features)
        self.total = np.zeros(n_features if average else 0)
        self.carry = np.zeros(slots)
        self.carry[kernels.Carry.SCALE] = 1.0

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take arrays of its own: the steps write to them, which those of a mapped file do not allow."""
        self.__dict__.update(state)
        own_arrays(self)

    def know(self, moments: ClassMoments, largest_square: float) -> None:
        """Use the statistics of a data set."""
        self.classes = known_sums(moments, largest_square)

    @property
    def n_steps(self) -> int:
        return int(self.carry[kernels.Carry.STEPS])

    @property
    def counts(self) -> np.ndarray:
        return self.classes.counts

    @property
    def means(self) -> np.ndarray:
        return self.classes.sums / self.classes.counts[:, np.newaxis]

    @property
    def l2_unit(self) -> float:
        return float(kernels.running_unit(self.classes))

    def add_features(self, count: int) -> None:
        size = self.w.size + count
        self.classes = self.classes._replace(sums=padded(self.classes.sums, size, (1,)))
        self.w = padded(self.w, size)
        self.total = padded(self.total, size if self.average else 0)

    def swap_classes(self) -> None:
        for array in (self.classes.counts, self.classes.sums, self.classes.totals[:2], self.classes.totals[2:4]):
            array[:] = array[::-1].copy()


@dataclass(eq=False)
class ShuffledEpochs:
    """Epochs of an online method over a data set, each in a new order, for the driver `vrspam.solvers.base.run`.

    `advance` visits rows of given numbers; `diverged` makes the error for steps that diverge. With `sparsify` the
    coefficients are those after one proximal-gradient step: an average has tiny entries where the optimum has zeros.
    """

    method: SPAM | SOLAM | OPAUC
    advance: Callable[[np.ndarray], None]
    n_rows: int
    rng: np.random.Generator
    diverged: Callable[[], ValueError]
    sparsify: bool

    def refuses(self, objective: Objective) -> str | None:
        """None: the estimator has made the method for this objective."""
        return None

    def init(self, objective: Objective) -> State:
        value, grad = objective.value_and_grad(np.zeros(objective.loss.n_features))
        return State(np.zeros_like(grad), grad, value, passes=1.0)

    def epoch(self, objective: Objective, state: State) -> None:
        self.advance(self.rng.permutation(self.n_rows))
        w = self.method.coef
        if not np.isfinite(w).all():
            raise self.diverged()
        state.value, state.grad = objective.value_and_grad(w)
        state.passes += 2.0  # one for the steps, one for the evaluation
        if self.sparsify:
            w = proximal_point(objective, w, state.grad)
            state.value, state.grad = objective.value_and_grad(w)
            state.passes += 1.0
        state.w = w


def diverged(step_size: float | str, safe_step: float) -> ValueError:
    """Return the error for a step size that is too large; an automatic one is too large only for extreme scales."""
    if isinstance(step_size, str):
        return ValueError("The steps diverge: rescale the features (sklearn.preprocessing.StandardScaler).")
    return ValueError(
        f'The steps diverge: use step_size="auto", standardise the features, or give a smaller step_size, '
        f"such as {safe_step:.1g}."
    )


# SPAM (Natole, Ying & Lyu 2018): proximal stochastic gradient, with the best saddle variables inserted.
#
# w ← prox_{η_t}(w - η_t g_i(w)),   g_i(w) = 2q (w·(x-μ₋) - 1) x for a positive row,
#                                            2p (w·(x-μ₊) + 1) x for a negative one.


class SPAM(SumsMethod):
    """The state of SPAM, and its steps; with `average`, `coef` is Σ t w_t / Σ t instead of the last w_t."""

    def __init__(self, n_features: int, average: bool = False):
        super().__init__(n_features, 7, average)  # numbers in `carry`: see kernels.spam_steps

    def set_average(self, average: bool) -> None:
        """Start an average with the next step, or drop the average; do nothing if that is the case already."""
        if average != self.average:
            self.average = average
            self.total = np.zeros(self.w.size if average else 0)
            self.carry[[kernels.Spam.OF_V, kernels.Spam.WEIGHT]] = 0.0

    def advance(
        self,
        X: np.ndarray | kernels.CSR,
        order: np.ndarray,
        side: np.ndarray,
        rule: kernels.StepRule,
        l1: float = 0.0,
        *,
        learn: bool,
    ) -> None:
        """Visit the rows `order`; `side` is 1 for positive rows."""
        state = (self.w, self.total, self.carry)
        if l1 > 0.0 and self.carry[kernels.Spam.SINCE_FOLD] > 0.0:  # the steps before had no l1
            kernels.spam_fold(self.classes, *state)
        kernels.spam_steps(X, order, side, self.classes, learn, *state, rule, float(l1))
        if l1 > 0.0:  # for the case that steps without l1 follow
            kernels.spam_fold(self.classes, *state)

    @property
    def coef(self) -> np.ndarray:
        weight = self.carry[kernels.Spam.WEIGHT]
        if self.average and weight > 0.0:
            return (self.total + self.carry[kernels.Spam.OF_V] * self.w) / weight
        return self.carry[kernels.Carry.SCALE] * self.w


# SOLAM (Ying, Wen & Lyu 2016): stochastic descent in (w, a, b) and ascent in ζ on the saddle function
#
#     q (w·x - a)² - 2q (1+ζ) w·x - pq ζ²   of a positive row,
#     p (w·x - b)² + 2p (1+ζ) w·x - pq ζ²   of a negative one,       plus l2/2 ‖w‖².
#
# At its saddle point a = w·μ₊, b = w·μ₋, ζ = w·(μ₋ - μ₊), and w minimises F.


class SOLAM(SumsMethod):
    """The state of SOLAM, and its steps; `coef` is the average of the w_t weighted by the steps η_t."""

    def __init__(self, n_features: int):
        super().__init__(n_features, 12, average=True)  # numbers in `carry`: see kernels.solam_steps

    def advance(
        self,
        X: np.ndarray | kernels.CSR,
        order: np.ndarray,
        side: np.ndarray,
        rule: kernels.StepRule,
        radius: float | None = None,
        *,
        learn: bool,
    ) -> None:
        """Visit the rows `order`; `side` is 1 for positive rows, and `radius` bounds ‖w‖."""
        bound = np.inf if radius is None else float(radius)
        kernels.solam_steps(X, order, side, self.classes, learn, self.w, self.total, self.carry, rule, bound)

    @property
    def coef(self) -> np.ndarray:
        weight = self.carry[kernels.Solam.WEIGHT]
        if weight == 0.0:
            return np.zeros_like(self.w)
        return (self.total + self.carry[kernels.Solam.OF_V] * self.w) / weight

    @property
    def saddle(self) -> np.ndarray:
        """The averages of (a, b, ζ)."""
        return self.carry[kernels.Solam.SUMS :] / max(self.carry[kernels.Solam.WEIGHT], np.finfo(float).tiny)


# OPAUC (Gao, Jin, Zhu & Zhou 2013), with running means and covariances of both classes, and λ = l2 / (2pq):
#
#     w ← w - η (λ w - (x-μ₋) + ((x-μ₋)(x-μ₋)ᵀ + Σ₋) w)   for a positive row,
#     w ← w - η (λ w + (x-μ₊) + ((x-μ₊)(x-μ₊)ᵀ + Σ₊) w)   for a negative one.
#
# For large d a sketch of rank τ replaces the covariances: frequent directions (Liberty 2013), where half of what is cut
# off is added back as a multiple of the identity (robust frequent directions, Luo et al. 2019). It is deterministic,
# never indefinite, and exact when τ is at least the rank of the data.

BUFFERED_ROWS = 32  # rows gathered before they are added to a d×d matrix


class OPAUC:
    """The state of OPAUC, and its steps; `sketch` is the rank of each covariance's sketch, None keeps d×d matrices."""

    def __init__(self, n_features: int, sketch: int | None = None):
        d = n_features
        self.sketch = sketch
        self.w = np.zeros(d)
        self.carry = np.zeros(1)
        self.classes = kernels.RunningCovariances(np.zeros(2), np.zeros((2, d)), np.zeros(2))
        self.scatters = np.zeros((2, d, d) if sketch is None else (2, 0, 0))
        self.buffers = np.zeros((2, BUFFERED_ROWS if sketch is None else 2 * sketch, d))
        self.filled = np.zeros(2, dtype=np.int64)
        self.spread = np.zeros(2)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take arrays of its own: the steps write to them, which those of a mapped file do not allow."""
        self.__dict__.update(state)
        own_arrays(self)

    def add_features(self, count: int) -> None:
        size = self.w.size + count
        self.w = padded(self.w, size)
        self.classes = self.classes._replace(means=padded(self.classes.means, size, (1,)))
        self.buffers = padded(self.buffers, size, (2,))
        if self.sketch is None:
            self.scatters = padded(self.scatters, size, (1, 2))

    def know(self, moments: ClassMoments) -> None:
        """Use the statistics of a data set: `moments` must have scatter matrices, and `sketch` must be None."""
        self.scatters = np.ascontiguousarray(moments.scatters)
        traces = np.trace(self.scatters, axis1=1, axis2=2)
        self.classes = kernels.RunningCovariances(moments.weights, moments.means, traces)

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
        rising, of_rising = linalg.eigh(buffer @ buffer.T)
        values = rising[::-1]
        vectors = of_rising[:, ::-1]
        rank = self.sketch
        cut = max(float(values[rank]), 0.0)
        kept = np.maximum(values[:rank] - cut, 0.0)
        scale = np.sqrt(kept / np.where(values[:rank] > 0.0, values[:rank], 1.0))
        buffer[:rank] = scale[:, np.newaxis] * (vectors[:, :rank].T @ buffer)
        self.filled[c] = rank
        self.spread[c] += cut / 2.0

    @property
    def n_steps(self) -> int:
        return int(self.carry[0])  # the only slot, kernels.Carry.STEPS

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
    def l2_unit(self) -> float:
        delta = self.classes.means[1] - self.classes.means[0]
        p = float(self.counts[1] / self.counts.sum())
        mean_diagonal = float((self.classes.traces / self.counts).sum() + delta @ delta) / max(self.w.size, 1)
        return 2.0 * p * (1.0 - p) * (mean_diagonal if mean_diagonal > 0.0 else 1.0)

    def swap_classes(self) -> None:
        for array in (*self.classes, self.scatters, self.buffers, self.filled, self.spread):
            array[:] = array[::-1].copy()

    def __matmul__(self, v: np.ndarray, /) -> np.ndarray:
        """(Σ₊ + Σ₋) v for the rows so far (an approximation with a sketch): the operator of their loss."""
        total = np.zeros_like(v)
        for c in range(2):
            rows = self.buffers[c, : self.filled[c]]
            product = (self.scatters[c] @ v if self.sketch is None else 0.0) + self.spread[c] * v
            total += (product + rows.T @ (rows @ v)) / self.counts[c]
        return total

    def objective(self, l2: float) -> Objective:
        """F of all rows so far; exact without a sketch, but its certificate has no room for rounding."""
        delta = self.classes.means[1] - self.classes.means[0]
        p = float(self.counts[1] / self.counts.sum())
        diagonal = np.full(delta.size, (self.classes.traces / self.counts).sum() / max(delta.size, 1))
        return Objective(SquaredPairLoss(p, delta, self, diagonal), ElasticNet(l2))
