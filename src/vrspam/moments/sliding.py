"""Moments of the last rows of a stream: a sliding window."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy import sparse

from vrspam._utils import array_api
from vrspam._utils.validation import check_rows
from vrspam.moments._rounding import UNIT, gamma, relative, two_sum
from vrspam.moments._statistics import ClassStatistics
from vrspam.moments.class_moments import ClassMoments

# Subtracting rounds to 1e-16 of the largest spread a column had. Once its spread has fallen to 1/TRACE of that,
# the column is computed afresh, so that traces of rows that have left the window stay below 1e-11 of the rest.
TRACE = 1e4


class SlidingMoments:
    """Moments of the last `window_rows` rows of a stream, and of no others.

    New rows are added and the oldest subtracted, so the cost of a step grows with its rows, not with the window.
    Subtracting leaves rounding behind: it is cleared by computing everything anew each time the window has
    been replaced, and at once for columns whose spread has fallen far below what it was (a burst of huge
    values has left). The rows of the window are kept: up to 2 · window_rows · n_features numbers.

    Parameters
    ----------
    window_rows : int
        Length of the window.
    classes : array-like of two labels, optional
        The labels (negative, positive) in sorted order; otherwise found as rows come in.
    scatter : bool, default=True
        Keep the d×d scatter of each class. With False only its diagonal is kept.

    Attributes
    ----------
    moments : ClassMoments
        Of the rows now in the window. It changes with the next `update`; `moments.copy()` does not.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import AUCClassifier, ClassMoments, SlidingMoments
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((1000, 3)), rng.integers(0, 2, 1000)
    >>> window = SlidingMoments(300)
    >>> for start in range(0, 1000, 70):
    ...     _ = window.update(X[start : start + 70], y[start : start + 70])
    >>> window.moments == ClassMoments.from_data(X[-300:], y[-300:])
    True
    >>> AUCClassifier().fit_moments(window.moments).coef_.shape
    (1, 3)
    """

    def __init__(self, window_rows: int, *, classes=None, scatter: bool = True):
        if window_rows < 1:
            raise ValueError(f"window_rows must be at least 1, got {window_rows}.")
        self.window_rows = int(window_rows)
        self.moments = ClassMoments(classes=classes, scatter=scatter)
        self._blocks: list[tuple] = []  # (X, y, weights), oldest first
        self._held = 0
        self._replaced = 0

    def update(self, X, y, sample_weight=None) -> Self:
        """Add rows and drop the oldest beyond the window; if they are refused, nothing changes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Oldest row first.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        if array_api.device_namespace(X) is not None:
            raise ValueError("SlidingMoments keeps its rows on the host: give NumPy arrays, or use ClassMoments.")
        block = check_rows(sparse.csr_array(X) if sparse.issparse(X) else X, y, sample_weight)
        if not block[1].size:
            return self
        block = _cut(block, max(0, block[1].size - self.window_rows), block[1].size)
        self.moments.add_checked(*block)
        self._blocks.append(tuple(None if part is None else part.copy() for part in block))
        self._held += block[1].size
        self._drop(self._held - self.window_rows)
        if self._replaced >= self.window_rows:
            self._recompute()
        else:
            for label, statistics in zip(self.moments.classes, self.moments._stats, strict=True):
                self._repair(label, statistics)
        return self

    def _drop(self, excess: int) -> None:
        """Subtract the `excess` oldest rows."""
        while excess > 0:
            size = self._blocks[0][1].size
            gone = min(excess, size)
            old = ClassMoments(self.moments.n_features, scatter=self.moments.has_scatter)
            self.moments.take_out(old.add_checked(*_cut(self._blocks[0], 0, gone)))
            self._blocks[0] = _cut(self._blocks[0], gone, size)
            if gone == size:
                del self._blocks[0]
            self._held -= gone
            self._replaced += gone
            excess -= gone

    def _recompute(self) -> None:
        """Compute all statistics from the rows held, which become one block."""
        Xs, ys, weights = zip(*self._blocks, strict=True)
        if any(sparse.issparse(X) for X in Xs):
            X = sparse.vstack([sparse.csr_array(X) for X in Xs], format="csr")
        else:
            X = np.concatenate(Xs)
        joined = None
        if any(w is not None for w in weights):
            joined = np.concatenate([np.ones(y.size) if w is None else w for y, w in zip(ys, weights, strict=True)])
        self._blocks = [(X, np.concatenate(ys), joined)]
        labels = self.moments.classes
        fresh = ClassMoments(
            self.moments.n_features, classes=labels if labels.size == 2 else None, scatter=self.moments.has_scatter
        )
        self.moments = fresh.add_checked(*self._blocks[0])
        self._replaced = 0

    def _repair(self, label, statistics: ClassStatistics) -> None:
        """Compute afresh the columns whose spread has collapsed since they were last computed."""
        floor = (np.finfo(float).eps * np.abs(statistics.mean)) ** 2 * statistics.weight
        collapsed = np.flatnonzero(statistics.peak > TRACE * np.maximum(statistics.diagonal, floor))
        if collapsed.size == 0:
            return
        rows = [_members(block, label) for block in self._blocks]
        mean = sum(c @ X[:, collapsed] for X, c in rows) / statistics.weight
        shape = (*statistics.scatter.shape[:-1], collapsed.size)
        scatter = np.zeros(shape)
        residual = np.zeros(collapsed.size)
        squares = np.zeros(collapsed.size)
        statistics.mean[collapsed] = mean
        for X, c in rows:
            centred = np.asarray(X[:, collapsed].toarray() if sparse.issparse(X) else X[:, collapsed]) - mean
            weighted = c[:, np.newaxis] * centred
            residual += weighted.sum(axis=0)
            squares += (weighted * centred).sum(axis=0)
            if statistics.scatter.ndim == 1:
                scatter = squares
            elif sparse.issparse(X):
                scatter += X.T @ weighted - np.outer(statistics.mean, weighted.sum(axis=0))
            else:
                scatter += (X - statistics.mean).T @ weighted
        if statistics.scatter.ndim == 2:
            statistics.scatter[collapsed] = scatter.T
        statistics.scatter[..., collapsed] = scatter
        residual /= statistics.weight
        statistics.mean[collapsed], statistics.low[collapsed] = two_sum(mean, residual)
        statistics.peak[collapsed] = statistics.diagonal[collapsed]
        _bound_repair(statistics, collapsed, squares, residual, any(sparse.issparse(X) for X, _ in rows))


def _bound_repair(
    statistics: ClassStatistics, columns: np.ndarray, squares: np.ndarray, rest: np.ndarray, is_sparse: bool
) -> None:
    """Update the errors after some columns were computed afresh about a centre that is `rest` off their means."""
    errors = statistics.errors
    weight = statistics.weight
    share = gamma(2 * statistics.rows + 8) + relative(errors.weight, weight)
    of_mean = share * np.sqrt(squares / weight) + (share + 4.0 * UNIT) * np.abs(rest)
    moved = weight * errors.mean**2
    size = statistics.diagonal + errors.scatter + moved
    if is_sparse:  # large means of sparse columns are subtracted after the product
        size = size + 4.0 * weight * statistics.mean**2
    errors.scatter = np.maximum(errors.scatter, 1.01 * (share * size + moved))
    errors.mean = errors.mean.copy()
    errors.mean[columns] = 1.01 * of_mean
    squared_means = weight * statistics.mean[columns] ** 2 if is_sparse else 0.0
    errors.scatter[columns] = 1.01 * (
        share * (squares + 4.0 * squared_means) + 2.0 * weight * (np.abs(rest) + of_mean) ** 2
    )


def _cut(block: tuple, start: int, stop: int) -> tuple:
    """Some rows of a block."""
    return tuple(None if part is None else part[start:stop] for part in block)


def _members(block: tuple, label) -> tuple:
    """Rows of one class (float64) and their weights."""
    X, y, weights = block
    index = np.flatnonzero(y == label)
    return X[index].astype(np.float64), np.ones(index.size) if weights is None else weights[index]
