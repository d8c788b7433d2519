"""`StackedFeatures`: the features of several maps side by side, so that a weighted sum of scorers is one scorer."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from vrspam._utils.parameters import Instance
from vrspam._utils.warnings import NumbersAreNames
from vrspam.features.base import FeatureMap, Places, share_map_texts
from vrspam.features.encoders import Curves, SharedColumns
from vrspam.features.parts import Block


@share_map_texts
class StackedFeatures(FeatureMap):
    """The features of several maps of this package, side by side.

    A linear scorer of these features is a sum of linear scorers, one for each map. `AUCClassifierCV` stores a blend in
    this way.

    Parameters
    ----------
    maps : list of FeatureMap
        Each is fitted on the same rows. Maps that are stacked themselves are not allowed.

    Attributes
    ----------
    maps_ : list of FeatureMap
        The fitted maps.
    map_slices_ : list of slice
        Where the features of each map are.
    encoders_ : list
        The encoders of each column in all maps, one map after the other.
    column_slices_ : list of slice
        Where the encoded values of each column are, map after map; not places in the output of `transform`.
    {grouped_categories_, numbers_as_names_, n_features_in_}
    n_rows_held_ : int
        Number of training rows that the maps store; rows of maps with the same landmarks count once.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.features import AdditiveFeatures, KernelFeatures, StackedFeatures
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> maps = [AdditiveFeatures(), KernelFeatures(additive=False, random_state=0)]
    >>> both = StackedFeatures(maps).fit(X)
    >>> np.array_equal(both.transform(X), np.hstack([new.fit_transform(X) for new in maps]))
    True
    """

    _parameter_constraints: dict = {"maps": [Instance(list), Instance(tuple)]}
    maps_: list[FeatureMap]

    def __init__(self, maps: Sequence[FeatureMap]):
        self.maps = maps

    @classmethod
    def of_fitted(cls, maps: Sequence[FeatureMap]) -> Self:
        """Return the stack of fitted maps of the same columns; a map that is a stack is replaced by its maps."""
        maps = [one for part in maps for one in part.members]
        new = cls([clone(part) for part in maps])
        new.maps_ = []
        for part in maps:  # straight lines end far outside the range of training, where curves are constant
            if any(isinstance(one, Curves) and one.extend for one in part.encoders_):
                part = copy(part)
                part.encoders_ = [
                    replace(one, limited=True) if isinstance(one, Curves) else one for one in part.encoders_
                ]
            new.maps_.append(part)
        new.encoders_ = [encoder for part in new.maps_ for encoder in part.encoders_]
        new.n_features_in_ = maps[0].n_features_in_
        if hasattr(maps[0], "feature_names_in_"):
            new.feature_names_in_ = maps[0].feature_names_in_
        return new

    def holding_no_rows(self) -> StackedFeatures:
        """Return the same stack, not fitted, in a form that will store no training row."""
        return StackedFeatures([part.holding_no_rows() for part in self.maps])

    def blocks(self) -> list[Block]:
        """Return the features of the fitted map as blocks: those of each map."""
        return [block for part in self.maps_ for block in part.blocks()]

    def feature_places(self) -> tuple[list[Places], slice | None]:
        """Where the features of each column are in all maps; one slice of all if columns are not kept apart."""
        if not self.keeps_columns_apart:
            return [], slice(0, self.n_features_out_)
        starts, slices = [where.start for where in self.map_slices_], (part.column_slices_ for part in self.maps_)
        return [
            np.concatenate([np.arange(one.start, one.stop) + start for one, start in zip(own, starts, strict=True)])
            for own in zip(*slices, strict=True)
        ], None

    @property
    def numbers_as_names_(self) -> list[NumbersAreNames]:
        """Columns whose numbers trees treat as names: one warning for each column."""
        every = [said for part in self.maps_ for said in getattr(part, "numbers_as_names_", ())]
        return list({said.column: said for said in every}.values())

    def learn_labels(self, X, y, sample_weight=None) -> None:
        """Learn from labels, after `learn`, in the maps that use labels."""
        for part in self.maps_:
            part.learn_labels(X, y, sample_weight)

    def learn(self, X, sample_weight=None, shared: SharedColumns | None = None) -> None:
        """Fit without labels and without warnings; `shared` is as in `FeatureMap.learn`."""
        shared = {} if shared is None else shared
        self._validate_params()
        fits = [isinstance(part, FeatureMap) and not isinstance(part, StackedFeatures) for part in self.maps]
        if not fits or not all(fits):
            from vrspam.features import MAPS

            known = ", ".join(name for name in MAPS if name != type(self).__name__)
            raise ValueError(f"maps must be a list of maps out of {known}, got {self.maps!r}.")
        X = self._check(X, reset=True)
        found = [clone(part) for part in self.maps]
        for part in found:
            part.learn(X, sample_weight, shared)
        side_by_side = self.of_fitted(found)
        self.maps_, self.encoders_ = side_by_side.maps_, side_by_side.encoders_

    @property
    def map_slices_(self) -> list[slice]:
        """Where the features of each map are."""
        stops = np.cumsum([part.n_features_out_ for part in self.maps_]).tolist()
        return [slice(stop - part.n_features_out_, stop) for stop, part in zip(stops, self.maps_, strict=True)]

    def _write_block(self, X, out: np.ndarray) -> None:
        for part, where in zip(self.maps_, self.map_slices_, strict=True):
            part._write_block(X, out[:, where])

    def _many_products(self, X, coefs: np.ndarray) -> np.ndarray:
        parts = zip(self.maps_, self.map_slices_, strict=True)
        return np.sum([part._many_products(X, coefs[where]) for part, where in parts], axis=0)

    def _feature_names(self, columns: Sequence[Any]) -> list[str]:
        maps = enumerate(self.maps_)
        return [f"{number}: {name}" for number, part in maps for name in part._feature_names(columns)]
