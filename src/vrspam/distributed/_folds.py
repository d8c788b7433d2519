"""Blocks of rows on a cluster, and the folds of a cross-validation on them. No engine is imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from vrspam.distributed import _tasks
from vrspam.estimators.base import AUCClassifierBase
from vrspam.features import FeatureMap
from vrspam.model_selection.folds import HashFolds
from vrspam.model_selection.held_out import HeldOutBlock
from vrspam.model_selection.sources import FoldMoments

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
    features : FeatureMap, optional
        A fitted map; the moments and the scores are those of its features.
    """

    def __init__(
        self,
        blocks: Blocks,
        estimator: AUCClassifierBase,
        hash_folds: HashFolds,
        most: int,
        features: FeatureMap | None = None,
    ):
        self.blocks, self.estimator, self.hash_folds, self.most = blocks, estimator, hash_folds, most
        self.features = features
        moments = blocks.reduce(_tasks.block_fold_moments, _tasks.add_fold_moments, estimator, hash_folds, features)
        if all(fold.n_features is None for fold in moments):
            raise ValueError(NO_ROWS)
        super().__init__(moments)

    def held_out(self, coefs: Mapping[int, np.ndarray]) -> Iterator[HeldOutBlock]:
        """Return the scores of all rows, or of a sample of each class, from one distributed pass."""
        stacked = np.stack([coefs[fold] for fold in range(self.n_folds)])
        known = (self.estimator, self.hash_folds, stacked, self.total.classes[1], self.most, self.features)
        return self.blocks.reduce(_tasks.block_scores, _tasks.add_scores, *known).blocks(self.n_folds)
