"""What the estimators of every cluster engine share: the fit from blocks of rows, products with them, and folds.

No engine is imported here. An engine brings its blocks (`Blocks`), and estimators that make them of its collections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, Self

import numpy as np
from sklearn.base import clone

from vrspam.distributed import _tasks
from vrspam.estimators import base
from vrspam.estimators.base import AUCClassifierBase
from vrspam.estimators.cv import AUCClassifierCV
from vrspam.estimators.exact import AUCClassifier
from vrspam.model_selection.folds import HashFolds
from vrspam.model_selection.held_out import HeldOutBlock
from vrspam.model_selection.map_choice import MapChoice
from vrspam.model_selection.sources import FoldMoments
from vrspam.moments import ClassMoments

NOT_CORRECTED = (
    "{} has no {}: to correct the AUC for the choice, the {} alone would make the choice anew "
    "some hundred times at all points of the grid. AUCClassifierCV.fit_stream on the same rows gives it."
)
NO_ROWS = "There are no rows: every block of X is empty."


class Blocks(Protocol):
    """Blocks of rows on a cluster.

    Attributes
    ----------
    n_features : int
    feature_names : ndarray of str or None
        The names of the columns if they have any.
    """

    @property
    def n_features(self) -> int: ...

    @property
    def feature_names(self) -> np.ndarray | None: ...

    def reduce(self, task: Callable, add: Callable, *shared: Any) -> Any:
        """add(...add(task(number, X, y, weights, *shared)...)) over all blocks: one pass, one result.

        `add` takes a list of results. The shared values are sent once to each worker.
        """


class ClusterClassifier(AUCClassifier):
    """An `AUCClassifier` that is fitted from blocks on a cluster."""

    _works_on_devices = False

    def _fit_blocks(self, blocks: Blocks) -> Self:
        """Find the optimum for the rows of all blocks."""
        full = blocks.n_features <= base.MOMENTS_MAX_FEATURES
        moments = blocks.reduce(_tasks.block_moments, _tasks.add, clone(self), full)
        if moments.n_features is None:
            raise ValueError(NO_ROWS)
        if full:
            fit = self._solver.from_moments(moments)
        else:
            fit = self._solver.from_operator(ClusterProducts(blocks, moments, clone(self)), moments)
        return self._store_exact(fit)._store_columns(moments.n_features, blocks.feature_names)


class ClusterProducts:
    """Σ as a sum over blocks on the cluster: each multiplication is one distributed pass."""

    def __init__(self, blocks: Blocks, moments: ClassMoments, estimator: AUCClassifierBase):
        self.blocks, self.moments, self.estimator = blocks, moments, estimator

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        known = (self.moments.classes[1], self.moments.means, self.moments.weights)
        return self.blocks.reduce(_tasks.block_product, _tasks.add, self.estimator, known, w)


class ClusterClassifierCV(AUCClassifierCV):
    """An `AUCClassifierCV` that is fitted from blocks on a cluster."""

    _works_on_devices = False
    _collector = "client"  # what the engine calls the process that sums up

    def _fit_blocks(self, blocks: Blocks, folds: HashFolds, validation_rows: int) -> Self:
        """Choose the penalties by cross-validation on all blocks, then fit all rows with them."""
        return self._fit_folds(ClusterFolds(blocks, clone(self), folds, validation_rows), blocks.feature_names)

    def _correct_blocks(self, found: MapChoice, total: ClassMoments) -> None:
        return None

    @property
    def corrected_score_(self) -> float:  # type: ignore[override]
        """Not available on a cluster: an AttributeError says why."""
        raise AttributeError(NOT_CORRECTED.format(type(self).__name__, "corrected_score_", self._collector))

    @property
    def corrected_interval_(self) -> tuple[float, float]:  # type: ignore[override]
        """Not available on a cluster: an AttributeError says why."""
        raise AttributeError(NOT_CORRECTED.format(type(self).__name__, "corrected_interval_", self._collector))


class ClusterFolds(FoldMoments):
    """Folds of blocks on the cluster: one distributed pass for the moments, one for the scores.

    Parameters
    ----------
    blocks : Blocks
    estimator : AUCClassifierBase
        It validates the blocks.
    hash_folds : HashFolds
    most : int
        At most this many held-out rows of each class send their scores to the client.
    """

    def __init__(self, blocks: Blocks, estimator: AUCClassifierBase, hash_folds: HashFolds, most: int):
        self.blocks, self.estimator, self.hash_folds, self.most = blocks, estimator, hash_folds, most
        moments = blocks.reduce(_tasks.block_fold_moments, _tasks.add_fold_moments, estimator, hash_folds)
        if all(fold.n_features is None for fold in moments):
            raise ValueError(NO_ROWS)
        super().__init__(moments)

    def held_out(self, coefs: Mapping[int, np.ndarray]) -> Iterator[HeldOutBlock]:
        """Return the scores of all rows, or of a sample of each class, from one distributed pass."""
        stacked = np.stack([coefs[fold] for fold in range(self.n_folds)])
        known = (self.estimator, self.hash_folds, stacked, self.total.classes[1], self.most)
        return self.blocks.reduce(_tasks.block_scores, _tasks.add_scores, *known).blocks(self.n_folds)
