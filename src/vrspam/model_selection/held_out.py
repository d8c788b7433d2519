"""Held-out scores, one array of rows × points: each row is scored by a model that was trained on the other folds.

`HeldOut` holds them on the host or on a device. A `Sample` of `vrspam.metrics.correction` names the rows whose scores
are kept at all points of a grid. Blends, the correction of the AUC, calibration and reports are functions of these two.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vrspam._utils import array_api
from vrspam.features.mapped import MappedArray
from vrspam.metrics.correction import Sample, draw_sample
from vrspam.moments import PairSums
from vrspam.tables.frames import WHOLE_ROWS

BLOCK_BYTES = 1 << 25  # rows gathered, and scores held, at once


class HeldOut(NamedTuple):
    """Held-out rows with their scores, by the model of the other folds.

    Attributes
    ----------
    positive : boolean array of n
    scores : array of n
        At one point of the grid, with the intercept of the model. Inside this package also of shape (n, points),
        without intercepts.
    fold : array of n
        The fold that holds each row out.
    weights : array of n
        How many rows each one stands for.
    places : array of n or None
        The numbers of these rows among the training rows, if those were in memory.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam import AUCClassifierCV
    >>> model = AUCClassifierCV(features="standardized").fit(*load_breast_cancer(return_X_y=True))
    >>> held_out = model.out_of_fold_
    >>> held_out.scores.shape, sorted(set(held_out.fold.tolist()))
    ((569,), [0, 1, 2, 3, 4])
    """

    positive: Any
    scores: Any
    fold: Any
    weights: Any
    places: Any = None

    def of_fold(self, fold: int) -> HeldOut:
        """The rows that one fold holds out, where the rows lie fold by fold."""
        part = slice(*np.searchsorted(self.fold, [fold, fold + 1]).tolist())
        return HeldOut(*(None if column is None else column[part] for column in self))

    def at(self, point: int, intercepts: np.ndarray) -> HeldOut:
        """The scores at one point of the grid; `intercepts` has one entry per fold."""
        weights = np.ones(self.fold.size) if self.weights is None else self.weights
        return self._replace(scores=self.scores[:, point] + intercepts[self.fold], weights=weights)

    def on_host(self) -> HeldOut:
        """All rows of a data set, in their order, brought from a device to the memory of the host."""
        scores = np.asarray(array_api.on_host(self.scores), dtype=np.float64)
        weights = np.ones(scores.size) if self.weights is None else array_api.on_host(self.weights).astype(np.float64)
        positive, fold = np.asarray(array_api.on_host(self.positive)), array_api.on_host(self.fold).astype(np.intp)
        return HeldOut(positive, scores, fold, weights, np.arange(scores.size))


def sample_of(held_out: HeldOut, n_points: int, seed: int) -> Sample:
    """Draw rows out of held-out rows that lie fold by fold; the training part of a fold is all others."""
    sizes = np.bincount(held_out.fold)
    parts = np.split(np.arange(held_out.fold.size), np.cumsum(sizes)[:-1])
    return draw_sample(parts, sizes.sum() - sizes, held_out.positive, held_out.weights, None, n_points, seed)


def score_rows(X: Any, index: Any, coefs: np.ndarray) -> Any:
    """Scores of some rows by each of `coefs`, (rows, points), a few rows at a time; those of a device stay there."""
    if (xp := array_api.device_namespace(X)) is not None:
        return xp.matrix_transpose(array_api.score_lines(X, coefs, array_api.beside(index, X)))
    transposed = np.ascontiguousarray(coefs.T)
    step = max(64, BLOCK_BYTES // (X.dtype.itemsize * max(coefs.shape[1], 1)))
    scores = np.empty((coefs.shape[0], index.size), dtype=X.dtype)
    for start in range(0, index.size, step):
        block = index[start : start + step]
        # equal rows must have equal scores, for ties to count as ties; float32 products alone do not ensure this
        padded = np.pad(block, (0, -block.size % WHOLE_ROWS), mode="edge")
        product = X.products(padded, transposed) if isinstance(X, MappedArray) else X[padded] @ transposed
        scores[:, start : start + step] = product[: block.size].T
    return scores.T


def in_range(coefs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients divided by a power of two for each point, and these powers: scores stay in the range of float32."""
    exponents = np.frexp(np.abs(coefs).max(axis=1))[1]
    return np.ldexp(coefs, -exponents[:, np.newaxis]), exponents


def as_they_are(scores: Any, exponents: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    """Undo `in_range` for scores, of all rows or of those at `places`: float64 on the host."""
    if places is not None:  # only these rows leave a device
        xp = array_api.device_namespace(scores)
        scores = scores[places] if xp is None else xp.take(scores, array_api.beside(places, scores), axis=0)
    return np.ldexp(np.asarray(array_api.on_host(scores), dtype=np.float64), exponents)


def scores_of(X: Any, index: np.ndarray, coefs: np.ndarray) -> np.ndarray:
    """Scores of some rows, in memory or on a device, by several models: an array (rows, models) on the host."""
    coefs, exponents = in_range(coefs)
    return as_they_are(score_rows(X, index, coefs), exponents)


def stable_share_of_moments(moments: PairSums, sample: Sample, coefs: np.ndarray) -> float:
    """`stable_share` for rows in blocks: so many that it makes no difference which of them a model has seen."""
    products = coefs @ moments.within @ coefs.T
    others = ~np.eye(len(coefs), dtype=bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = (products / np.sqrt(np.outer(np.diagonal(products), np.diagonal(products))))[others]
    overlap = 1.0 - sample.held_out_per_trained
    if overlap >= 1.0 or not np.isfinite(correlation).all():
        return 0.0
    return float(np.clip((correlation.mean() - overlap) / (1.0 - overlap), 0.0, 1.0))
