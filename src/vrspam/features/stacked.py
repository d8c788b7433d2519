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
from vrspam.features.base import FeatureMap, Places
from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.reading import Encoder
from vrspam.features.learning import SharedColumns
from vrspam.features.parts import Block


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
    grouped_categories_ : list
        Columns of more than `max_categories` categories: their names, and how many were kept and grouped.
    numbers_as_names_ : list
        Columns whose numbers most sets of trees treat as names, and how many different numbers each column has.
    n_features_in_, n_features_out_ : int
        Number of columns, and number of features.
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
        members = [member for part in maps for member in part.members]
        stack = cls([clone(member) for member in members])
        stack.maps_ = [with_lines_that_end(member) for member in members]
        stack.encoders_ = [encoder for member in stack.maps_ for encoder in member.encoders_]
        stack.n_features_in_ = members[0].n_features_in_
        if hasattr(members[0], "feature_names_in_"):
            stack.feature_names_in_ = members[0].feature_names_in_
        return stack

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
        places: list[list[np.ndarray]] = [[] for _ in range(self.n_features_in_)]
        for member, of_map in zip(self.maps_, self.map_slices_, strict=True):
            for j, where in enumerate(member.column_slices_):
                places[j].append(np.arange(where.start, where.stop) + of_map.start)
        return [np.concatenate(of_column) for of_column in places], None

    @property
    def numbers_as_names_(self) -> list[NumbersAreNames]:
        """Columns whose numbers trees treat as names: one warning for each column."""
        warnings: dict[str, NumbersAreNames] = {}
        for member in self.maps_:
            for warning in getattr(member, "numbers_as_names_", ()):
                warnings[warning.column] = warning
        return list(warnings.values())

    def learn_labels(self, X, y, sample_weight=None) -> None:
        """Learn from labels, after `learn`, in the maps that use labels."""
        for part in self.maps_:
            part.learn_labels(X, y, sample_weight)

    def learn(self, X, sample_weight=None, shared: SharedColumns | None = None) -> None:
        """Fit without labels and without warnings; `shared` is as in `FeatureMap.learn`."""
        shared = {} if shared is None else shared
        self._validate_params()
        self._check_maps()
        X = self._check(X, reset=True)
        members = [clone(part) for part in self.maps]
        for member in members:
            member.learn(X, sample_weight, shared)
        side_by_side = self.of_fitted(members)
        self.maps_ = side_by_side.maps_
        self.encoders_ = side_by_side.encoders_

    def _check_maps(self) -> None:
        """Refuse what is no map, and a stack in a stack."""
        if self.maps and all(is_single_map(part) for part in self.maps):
            return
        from vrspam.features import MAPS  # which lists stacks too

        known = ", ".join(name for name in MAPS if name != type(self).__name__)
        raise ValueError(f"maps must be a list of maps out of {known}, got {self.maps!r}.")

    @property
    def map_slices_(self) -> list[slice]:
        """Where the features of each map are."""
        stops = np.cumsum([part.n_features_out_ for part in self.maps_]).tolist()
        return [slice(stop - part.n_features_out_, stop) for stop, part in zip(stops, self.maps_, strict=True)]

    def _write_block(self, X, out: np.ndarray) -> None:
        for part, where in zip(self.maps_, self.map_slices_, strict=True):
            part._write_block(X, out[:, where])

    def _many_products(self, X, coefs: np.ndarray) -> np.ndarray:
        products = [
            member._many_products(X, coefs[where]) for member, where in zip(self.maps_, self.map_slices_, strict=True)
        ]
        return np.sum(products, axis=0)

    def _feature_names(self, columns: Sequence[Any]) -> list[str]:
        names: list[str] = []
        for number, member in enumerate(self.maps_):
            names += [f"{number}: {name}" for name in member._feature_names(columns)]
        return names


def is_single_map(features: Any) -> bool:
    """Whether this is a map of the package that is no stack."""
    return isinstance(features, FeatureMap) and not isinstance(features, StackedFeatures)


def with_lines_that_end(features: FeatureMap) -> FeatureMap:
    """The map whose straight lines end far outside the range of training, where the curves beside it are constant."""
    if not any(isinstance(encoder, Curves) and encoder.extend for encoder in features.encoders_):
        return features
    ended = copy(features)
    ended.encoders_ = [_ended(encoder) for encoder in features.encoders_]
    return ended


def _ended(encoder: Encoder) -> Encoder:
    return replace(encoder, limited=True) if isinstance(encoder, Curves) else encoder
