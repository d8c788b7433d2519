"""What the estimators of every cluster engine share: the fit from blocks of rows, and products with them.

No engine is imported here. An engine brings its blocks (`Blocks`), and estimators that make them of its collections.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from vrspam.distributed import _tasks
from vrspam.distributed._folds import NO_ROWS, Blocks, ClusterFolds
from vrspam.distributed._maps import MapsOnBlocks
from vrspam.estimators import base
from vrspam.estimators.base import AUCClassifierBase
from vrspam.estimators.cv import AUCClassifierCV
from vrspam.estimators.exact import AUCClassifier
from vrspam.features import FeatureMap
from vrspam.features.mapped import is_plain, named_maps
from vrspam.model_selection.folds import HashFolds
from vrspam.model_selection.map_choice import MapChoice
from vrspam.model_selection.selection import Choice
from vrspam.moments import ClassMoments
from vrspam.solvers import ExactFit

NOT_CORRECTED = (
    "{} has no {}: to correct the AUC for the choice, the {} alone would make the choice anew "
    "some hundred times at all points of the grid. AUCClassifierCV.fit_stream on the same rows gives it."
)


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
        """Choose the penalties, and the feature map, by cross-validation on all blocks, then fit all rows with them."""
        if is_plain(self.features, np.empty((0, blocks.n_features))):
            return self._fit_folds(ClusterFolds(blocks, clone(self), folds, validation_rows), blocks.feature_names)
        seed = check_random_state(0 if self.random_state is None else self.random_state).randint(2**31)
        maps = named_maps(self.features, seed)
        for name, features in maps.items():
            if not isinstance(features, FeatureMap):
                raise ValueError(f"{name} cannot be a feature map on a cluster: use names, or maps of vrspam.features.")
        rule = self._rule(maps)

        def fit(point: Choice, total: ClassMoments) -> ExactFit:
            return self._exact(point).from_moments(total)

        on_blocks = MapsOnBlocks(blocks, clone(self), folds, validation_rows, self._search, rule, fit, seed)
        found = on_blocks.choose(maps)
        chosen = found.fitted()
        held_out = on_blocks.held_out(chosen)
        self._store_columns(blocks.n_features, blocks.feature_names)
        why = "the rows stayed on the cluster; fit of AUCClassifierCV reads curves from rows in memory"
        more = {"held_out_": held_out, "_frame_reading": None}
        return self._store_search(found, chosen, why, None, held_out, **more)

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
