"""`StackedFeatures`: the features of several maps side by side, so that a weighted sum of scorers is one scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from vrspam._utils.warnings import CategoriesGrouped
from vrspam.features.additive import AdditiveFeatures, LinearFeatures
from vrspam.features.base import FEW_COEFS, FeatureMap
from vrspam.features.encoders import Encoder, SharedColumns
from vrspam.features.kernel import KernelFeatures
from vrspam.features.side_by_side import group_kernels, products_of_kernels
from vrspam.features.trees import TreeFeatures
from vrspam.tables import frames

_PARTS: dict[str, type[FeatureMap]] = {
    kind.__name__: kind for kind in (LinearFeatures, AdditiveFeatures, KernelFeatures, TreeFeatures)
}

SHARED_COEFS = 8  # up to this many columns of coefficients maps of the same landmarks are multiplied together


class StackedFeatures(FeatureMap):
    """The features of several maps of this package, side by side.

    A linear scorer of these features is a sum of linear scorers of each map: that is how `AUCClassifierCV` stores a
    blend.

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
        Where what they give is.
    grouped_categories_ : list
        Columns of more than `max_categories` categories: their names, and how many were kept and grouped.
    n_features_in_, n_features_out_ : int
        Columns, and features.
    n_rows_held_ : int
        Rows of the training table that the maps hold, added up; maps with the same landmarks hold the same rows.

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

    _parameter_constraints: dict = {"maps": [list, tuple]}
    maps_: list[FeatureMap]
    _found_groups: list[list[int]] | None = None

    def __init__(self, maps: Sequence[FeatureMap]):
        self.maps = maps

    @classmethod
    def of_fitted(cls, maps: Sequence[FeatureMap]) -> StackedFeatures:
        """Fitted maps of the same columns, side by side; one that is stacked itself stands there with its parts."""
        maps = [one for part in maps for one in (part.maps_ if isinstance(part, StackedFeatures) else [part])]
        new = cls([clone(part) for part in maps])
        new._take(maps)
        return new

    def _take(self, maps: Sequence[FeatureMap]) -> None:
        self.maps_, self._found_groups = list(maps), None
        self.n_features_in_ = maps[0].n_features_in_
        if hasattr(maps[0], "feature_names_in_"):
            self.feature_names_in_ = maps[0].feature_names_in_

    def holding_no_rows(self) -> StackedFeatures:
        """Return a map, not fitted, that holds no row of the training table."""
        return StackedFeatures([part.holding_no_rows() for part in self.maps])

    def collapsed(self, coef: np.ndarray, means: np.ndarray) -> tuple[StackedFeatures, np.ndarray, np.ndarray]:
        """The same maps, each collapsed."""
        parts = [
            part.collapsed(coef[where], means[:, where])
            for part, where in zip(self.maps_, self.map_slices_, strict=True)
        ]
        maps, coefs, of_classes = zip(*parts, strict=True)
        return StackedFeatures.of_fitted(maps), np.concatenate(coefs), np.hstack(of_classes)

    def learn(self, X, sample_weight=None, shared: SharedColumns | None = None) -> None:
        """Do what `fit` does, without a word about columns that are rounded or grouped."""
        shared = {} if shared is None else shared
        self._validate_params()
        if not self.maps or not all(isinstance(part, tuple(_PARTS.values())) for part in self.maps):
            raise ValueError(f"maps must be a list of maps out of {', '.join(_PARTS)}, got {self.maps!r}.")
        X = self._check(X, reset=True)
        found = [clone(part) for part in self.maps]
        for part in found:
            part.learn(X, sample_weight, shared)
        self._take(found)

    @property
    def max_categories(self) -> int:  # type: ignore[override]
        """That of the first map."""
        return self.maps[0].max_categories

    @property
    def n_rows_held_(self) -> int:
        """Rows of the training table that the fitted maps hold; maps with the same landmarks hold the same rows."""
        held: dict[Any, int] = {}
        for number, part in enumerate(self.maps_):
            landmarks = getattr(part, "landmarks_", None)
            held[number if landmarks is None else landmarks.tobytes()] = part.n_rows_held_
        return sum(held.values())

    @property
    def grouped_categories_(self) -> list[CategoriesGrouped]:
        """Columns of more than `max_categories` categories: their names, and how many were kept and grouped."""
        return self.maps_[0].grouped_categories_

    @property
    def encoders_(self) -> list[Encoder]:  # type: ignore[override]
        """The encoders of each column in all maps, one map after the other."""
        return [encoder for part in self.maps_ for encoder in part.encoders_]

    @property
    def map_slices_(self) -> list[slice]:
        """Where the features of each map are."""
        stops = np.cumsum([part.n_features_out_ for part in self.maps_]).tolist()
        return [slice(stop - part.n_features_out_, stop) for stop, part in zip(stops, self.maps_, strict=True)]

    @property
    def n_features_out_(self) -> int:
        """Number of features."""
        return self.map_slices_[-1].stop

    def _reads_columns_again(self) -> bool:
        return True

    def _coded_slices(self) -> list[slice]:
        """None: the maps were multiplied alone."""
        return []

    def dtype_of(self, X) -> np.dtype:
        """The type of the features of X, without computing any: float32 if all numbers of X are."""
        return self.maps_[0].dtype_of(X)

    def _write_block(self, X, out: np.ndarray) -> None:
        for part, where in zip(self.maps_, self.map_slices_, strict=True):
            part._write_block(X, out[:, where])

    def products(self, X, coefs: np.ndarray) -> np.ndarray:
        """Return transform(X) @ coefs, map by map, without computing all features where that is possible.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        coefs : array of shape (n_features_out_,) or (n_features_out_, m)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, m)
        """
        check_is_fitted(self, "maps_")
        X = self._held(self._check(X, reset=False))
        columns = coefs.reshape(len(coefs), -1)
        if columns.shape[1] > SHARED_COEFS:
            found = [part.products(X, coefs[where]) for part, where in zip(self.maps_, self.map_slices_, strict=True)]
            return np.sum(found, axis=0)
        few = columns.shape[1] <= FEW_COEFS
        width = max(part._few_width() if few else part.n_features_out_ for part in self.maps_)
        parts = []
        for rows in frames.blocks(X.shape[0], width):
            parts.append(self._block_products(frames.rows_of(X, rows), columns))
        return np.concatenate(parts).reshape(X.shape[0], *coefs.shape[1:])

    def _block_products(self, X, coefs: np.ndarray) -> np.ndarray:
        """Few products of one block; what maps of the same landmarks have in common is computed once."""
        slices, total = self.map_slices_, np.zeros((X.shape[0], coefs.shape[1]), dtype=self.dtype_of(X))
        for group in self._groups():
            parts, some = [self.maps_[number] for number in group], [coefs[slices[number]] for number in group]
            kernels = [part for part in parts if isinstance(part, KernelFeatures)]
            total += products_of_kernels(kernels, X, some) if kernels[1:] else parts[0]._block_products(X, some[0])
        return total

    def _groups(self) -> list[list[int]]:
        """The numbers of the maps, in groups of the same landmarks, found once."""
        if self._found_groups is None:
            self._found_groups = group_kernels(self.maps_)
        return self._found_groups

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the name of each feature: the number of its map, and its name there.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns, where `fit` saw none.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self, "maps_")
        names = []
        for number, part in enumerate(self.maps_):
            names += [f"{number}: {name}" for name in part.get_feature_names_out(input_features)]
        return np.array(names, dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted map as plain values, lists and NumPy arrays (`from_dict` reads it, no pickle)."""
        check_is_fitted(self, "maps_")
        return {"map": type(self).__name__, "maps": [part.to_dict() for part in self.maps_]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the fitted map that `to_dict` wrote; arrays may have become lists on the way (JSON).

        Parameters
        ----------
        plain : dict

        Returns
        -------
        FeatureMap
        """
        if not isinstance(plain, Mapping) or plain.get("map") != cls.__name__:
            raise ValueError(f"This is not a stored {cls.__name__}: save the model again.")
        maps = []
        for part in plain["maps"]:
            kind = part.get("map") if isinstance(part, Mapping) else None
            if kind not in _PARTS:
                raise ValueError(f"a stacked map holds something else than maps out of {', '.join(_PARTS)}")
            maps.append(_PARTS[kind].from_dict(part))
        if not maps:
            raise ValueError("a stacked map holds no map")
        if len({(part.n_features_in_, tuple(getattr(part, "feature_names_in_", ()))) for part in maps}) > 1:
            raise ValueError("the maps of a stacked map take different columns")
        new = cls.of_fitted(maps)
        assert isinstance(new, cls)
        return new
