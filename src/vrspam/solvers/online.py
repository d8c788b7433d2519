"""Common parts of the online methods, which learn from one row at a time: rows for the kernels, statistics, epochs.

An online method (`SPAM`, `SOLAM`, `OPAUC`) holds its whole state in arrays. Its `advance` visits the rows of an
index array one by one. With `learn=True` it estimates p and the class means from the rows seen so far (a stream); with
`learn=False` it uses the statistics that `know` was given (epochs over a data set).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy import sparse

from vrspam._utils.arrays import padded
from vrspam.moments import ClassMoments
from vrspam.objective import AUTO_L2_SHARE, Objective
from vrspam.solvers.base import State, proximal_point

if TYPE_CHECKING:
    from vrspam import kernels


class OnlineMethod(Protocol):
    """What an estimator needs from an online method."""

    @property
    def coef(self) -> np.ndarray:
        """The coefficients after the steps so far."""

    @property
    def n_steps(self) -> int:
        """Steps taken so far."""

    @property
    def counts(self) -> np.ndarray:
        """Number of rows of each class, index 0 negative."""

    @property
    def means(self) -> np.ndarray:
        """Mean of each class, shape (2, d)."""

    @property
    def l2_unit(self) -> float:
        """2pq · (mean diagonal of H) of the rows so far: the unit of l2."""

    def swap_classes(self) -> None:
        """Exchange the two classes; allowed only before the first step."""

    def add_features(self, count: int) -> None:
        """Append features that were 0 in all rows so far; their coefficients are 0."""


def kernel_rows(X) -> np.ndarray | kernels.CSR:
    """Return X (dense, or CSR) for the kernels: a C-ordered array, or a `CSR` tuple without duplicate entries."""
    from vrspam import kernels  # compiled code is loaded only when it is needed

    if sparse.issparse(X):
        X = without_duplicates(X)
        return kernels.CSR(X.data, X.indices, X.indptr)
    return np.ascontiguousarray(X)


def without_duplicates(X):
    """Return X, or a copy with duplicate entries of a CSR matrix summed, because their squares would be wrong."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def largest_square(X) -> float:
    """max ‖x_i‖²."""
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1, dtype=np.float64))
    else:
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return float(squares.max(initial=0.0))


def step_rule(step_size: float | str, l2: float | None, *, theory: bool = False) -> kernels.StepRule:
    """Return the `StepRule` for a `step_size` ("auto" or a number) and an l2 (None: computed from the rows so far)."""
    from vrspam import kernels

    size = 0.0 if isinstance(step_size, str) else float(step_size)
    return kernels.StepRule(size, theory, 0.0 if l2 is None else float(l2), AUTO_L2_SHARE if l2 is None else 0.0)


def empty_sums(n_features: int) -> kernels.ClassSums:
    """Return the statistics before the first row."""
    from vrspam import kernels

    return kernels.ClassSums(np.zeros(2), np.zeros((2, n_features)), np.zeros(6))


def known_sums(moments: ClassMoments, largest_square: float = 0.0, *, relative: bool = False) -> kernels.ClassSums:
    """Return the statistics of a complete data set; only the theoretical step uses `largest_square` = max ‖x‖².

    With `relative` the class sizes are divided by a power of two, so that squares of weights neither overflow nor
    underflow. It must be false if more rows of a stream will be added.
    """
    from vrspam import kernels

    counts, means = moments.weights, moments.means
    if relative:
        counts = np.ldexp(counts, -int(np.frexp(counts.max())[1]))
    sums = counts[:, np.newaxis] * means
    squares = counts * (moments.variances.sum(axis=1) + np.einsum("cj,cj->c", means, means))
    cross = sums @ sums.T
    totals = np.array([*squares, cross[0, 0], cross[1, 1], cross[0, 1], largest_square])
    return kernels.ClassSums(counts, sums, totals)


class SumsMethod:
    """Base of the methods whose class statistics are `ClassSums`: SPAM and SOLAM."""

    def __init__(self, n_features: int):
        self.classes = empty_sums(n_features)
        self.w = np.zeros(n_features)

    def know(self, moments: ClassMoments, largest_square: float) -> None:
        """Use the statistics of a data set."""
        self.classes = known_sums(moments, largest_square)

    @property
    def counts(self) -> np.ndarray:
        return self.classes.counts

    @property
    def means(self) -> np.ndarray:
        return self.classes.sums / self.classes.counts[:, np.newaxis]

    @property
    def l2_unit(self) -> float:
        from vrspam import kernels

        return float(kernels.running_unit(self.classes))

    def add_features(self, count: int) -> None:
        size = self.w.size + count
        self.classes = self.classes._replace(sums=padded(self.classes.sums, size, (1,)))
        self.w = padded(self.w, size)

    def swap_classes(self) -> None:
        for array in (self.classes.counts, self.classes.sums, self.classes.totals[:2], self.classes.totals[2:4]):
            array[:] = array[::-1].copy()


class ShuffledEpochs:
    """Epochs of an online method over a data set, each in a new order, for the driver `vrspam.solvers.base.run`.

    Parameters
    ----------
    method : OnlineMethod
    advance : callable
        Takes an array of row numbers; the method visits these rows.
    n_rows : int
    rng : numpy Generator
    diverged : callable
        Returns the error to raise when the steps diverge.
    sparsify : bool
        Return the coefficients after one proximal-gradient step: an average of sparse vectors has tiny entries where
        the optimum has zeros. The step does not increase F.
    """

    def __init__(
        self,
        method: OnlineMethod,
        advance: Callable[[np.ndarray], None],
        n_rows: int,
        rng: np.random.Generator,
        *,
        diverged: Callable[[], ValueError],
        sparsify: bool = False,
    ):
        self.method, self.advance, self.n_rows, self.rng = method, advance, n_rows, rng
        self.diverged, self.sparsify = diverged, sparsify

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
