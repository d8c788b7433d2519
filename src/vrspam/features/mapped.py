"""Rows seen through a feature map: their features are computed when they are read, a block at a time.

A `MappedArray` has the shape and dtype of the features and hands out rows, which is all that cross-validation asks of
X (`vrspam.model_selection.sources`). It never holds the features of all rows at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from vrspam._utils.messages import Parameter, WordedError, usual_spelling
from vrspam.features.additive import AdditiveFeatures, LinearFeatures
from vrspam.features.base import MANY_CATEGORIES, FeatureMap
from vrspam.features.boosted import BoostedFeatures, ForestFeatures
from vrspam.features.encoders import Indicators
from vrspam.features.kernel import KernelFeatures
from vrspam.features.parts import ColumnBlock
from vrspam.features.stacked import StackedFeatures
from vrspam.features.trees import TreeFeatures
from vrspam.moments import CodedRows, LastProduct
from vrspam.tables.frames import WHOLE_ROWS, blocks, rows_of

# Every map that has a name of its own, from simple to complex; the numbers are bandwidths (from nearly quadratic to
# fine detail) and depths.
CANDIDATES: dict[str, FeatureMap] = {
    "standardized": LinearFeatures(),
    "additive": AdditiveFeatures(),
    **{
        f"kernel {width:g}": KernelFeatures(bandwidth=width, n_landmarks="auto", max_additive="auto")
        for width in (3.0, 1.0, 0.3)
    },
    **{
        f"kernel alone {width:g}": KernelFeatures(bandwidth=width, n_landmarks="auto", additive=False)
        for width in (3.0, 1.0, 0.3)
    },
    **{f"trees {depth}": TreeFeatures(max_depth=depth, n_landmarks="auto") for depth in (2, 4, 7)},
    "forest": ForestFeatures(),
    "boosted": BoostedFeatures(),
}
# The values of `features` that stand for several maps.
GROUPS: dict[str, tuple[str, ...]] = {
    "kernel": ("kernel 3", "kernel 1", "kernel 0.3"),
    "kernel alone": ("kernel alone 3", "kernel alone 1", "kernel alone 0.3"),
    "trees": ("trees 2", "trees 4", "trees 7"),
    "auto": ("standardized", "additive", "kernel 1", "kernel alone 1", "trees 4", "forest", "boosted"),
}
NAMES = ("linear", "standardized", "additive", "kernel", "kernel alone", "trees", "forest", "boosted", "auto")
SINGLE_NAMES = tuple(name for name in CANDIDATES if name not in NAMES)
SPELLED_NAMES = {*NAMES, *SINGLE_NAMES, "standardised"}  # what is accepted
MAX_FEATURES = 5_000
HELD_BYTES = 1 << 28  # losses that read the features of all rows many times hold them up to this size


class MapNotFitted(ValueError):
    """A map, or a model of its features, cannot be fitted to these rows: of several maps it leaves the comparison."""


class TooManyFeatures(WordedError):
    """A map gives more features than the solver can take."""


def kind_of_map(features: Any) -> str:
    """What a map is called, without its numbers; None stands for the columns as they are.

    >>> kind_of_map(None), kind_of_map(LinearFeatures()), kind_of_map(KernelFeatures(bandwidth=0.3))
    ('linear', 'standardized', 'kernel')
    """
    if features is None:
        return "linear"
    return features.kind if isinstance(features, FeatureMap) else type(features).__name__


class MappedArray:
    """The features of the rows of X under a fitted map, computed when rows are taken."""

    def __init__(self, X: Any, features: Any):
        self.X, self.features = X, features
        if isinstance(features, FeatureMap):
            self.shape, self.dtype = (X.shape[0], features.n_features_out_), features.dtype_of(X)
        else:
            first = self[:1]
            self.shape, self.dtype = (X.shape[0], first.shape[1]), first.dtype
        if self.shape[1] > MAX_FEATURES and not isinstance(features, StackedFeatures):  # its maps were solved alone
            raise TooManyFeatures(
                "The {map} map gives {count} features, and the solver keeps a square matrix of them: at most {most} "
                "are possible. Leave columns out, or use {linear}.",
                map=kind_of_map(features),
                count=self.shape[1],
                most=MAX_FEATURES,
                linear=Parameter("features", "linear"),
            )
        # slices of features that are the indicators of a column of many categories; empty for a stack
        self.exclusive: list[slice] = []
        if isinstance(features, FeatureMap) and len(features.members) == 1:
            for block, j, where in features._places():
                if isinstance(block, ColumnBlock) and isinstance(block.encoders[j], Indicators):
                    self.exclusive += [where] if where.stop - where.start >= MANY_CATEGORIES else []
        # gives moments the rows without writing out the indicators of many categories
        self.coded_rows = self._coded_rows if self.exclusive else None
        self.written_width = self.shape[1] - sum(where.stop - where.start for where in self.exclusive)

    def _coded_rows(self, rows: slice | np.ndarray) -> CodedRows:
        return self.features._coded_rows(self.features._check(rows_of(self.X, rows), reset=False))

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        if isinstance(self.features, FeatureMap):
            return self.features.features_of(rows_of(self.X, rows))
        given = rows_of(self.X, rows)
        block = self.features.transform(given)
        block = block.toarray() if sparse.issparse(block) else np.array(block)  # a copy: it may be a frame's
        if block.ndim != 2 or block.shape[0] != given.shape[0]:
            raise ValueError(
                f"{type(self.features).__name__} turned {given.shape[0]} rows into an array of shape {block.shape}: a "
                "feature map gives a row of features for each row."
            )
        if block.dtype not in (np.float32, np.float64):
            block = block.astype(np.float64)
        if not np.isfinite(block).all():
            raise MapNotFitted(f"{type(self.features).__name__} gave features that are not finite: impute first.")
        return block

    def unfinished(self) -> tuple[MappedArray, LastProduct] | None:
        """Cheaper features and the product that turns them into these, if it makes moments of many rows faster."""
        is_known = isinstance(self.features, FeatureMap) and self.dtype == np.float64
        found = self.features._unfinished(self.shape[0]) if is_known else None
        return None if found is None else (MappedArray(self.X, found[0]), found[1])

    def products(self, rows: slice | np.ndarray, coefs: np.ndarray) -> np.ndarray:
        """Return the features of some rows times `coefs`."""
        if isinstance(self.features, FeatureMap):
            return self.features.products(rows_of(self.X, rows), coefs)
        return (self[rows].astype(np.float64, copy=False) @ coefs).astype(self.dtype, copy=False)

    def __matmul__(self, coefs: np.ndarray) -> np.ndarray:
        if isinstance(self.features, FeatureMap):  # goes by blocks itself
            return self.features.products(self.X, coefs)
        return np.concatenate([self.products(rows, coefs) for rows in blocks(*self.shape)])


def hold_features(X: Any, most_bytes: int = HELD_BYTES) -> Any:
    """Return the features of all rows as an array if they take at most `most_bytes`; otherwise return X itself."""
    if not isinstance(X, MappedArray) or X.shape[0] * X.shape[1] * X.dtype.itemsize > most_bytes:
        return X
    held = np.empty(X.shape, dtype=X.dtype)
    for rows in blocks(*X.shape):
        size = rows.stop - rows.start
        if size % WHOLE_ROWS:  # equal rows must have equal features, for ties to count as ties
            whole = np.minimum(np.arange(rows.start, rows.stop + -size % WHOLE_ROWS), rows.stop - 1)
            held[rows] = X[whole][:size]
        else:
            held[rows] = X[rows]
    return held


def named_maps(features: Any, seed: int | None) -> dict[str, Any]:
    """The maps that `features` asks for, unfitted, from simple to complex; names as in `selection_`.

    >>> list(named_maps("auto", seed=0))
    ['standardized', 'additive', 'kernel 1', 'kernel alone 1', 'trees 4', 'forest', 'boosted']
    >>> list(named_maps(["trees", "kernel alone 1"], seed=0))
    ['trees 2', 'trees 4', 'trees 7', 'kernel alone 1']
    """
    maps: dict[str, Any] = {}
    several: list[tuple[Any, Any]] = []
    if isinstance(features, str):
        if features not in NAMES + SINGLE_NAMES:
            features = usual_spelling(features, NAMES)
        if features not in NAMES + SINGLE_NAMES:
            raise ValueError(f"features is {features!r}, but must be one of {NAMES}, a transformer or a list of them.")
        features = "standardized" if features == "linear" else features
        maps = {name: clone(CANDIDATES[name]) for name in GROUPS.get(features, (features,))}
    elif isinstance(features, dict):
        several = list(features.items())
    else:
        several = [(None, item) for item in (features if isinstance(features, (list, tuple)) else [features])]
    if not several and not maps:
        raise ValueError(f"features is an empty {type(features).__name__}: give at least one transformer, or 'auto'.")
    for given, item in several:
        if isinstance(item, str) and given is None:
            if item == "linear":
                raise ValueError("features: 'linear' stands alone. In a list of feature maps, write 'standardized'.")
            maps.update(named_maps(item, seed))
        elif hasattr(item, "fit") and hasattr(item, "transform"):
            name = given or " ".join(repr(item).split())
            maps[name if name not in maps else f"{name} ({len(maps) + 1})"] = clone(item)
        elif given is not None:
            raise ValueError(f"features[{given!r}] is {item!r}, but must be a transformer: names go into a list.")
        else:
            raise ValueError(f"features holds {item!r}, but must hold transformers or names out of {NAMES[1:]}.")
    for new in maps.values():  # set `seed` in each map, or part of it, that has no `random_state` of its own
        for part in new.maps if isinstance(new, StackedFeatures) else [new]:  # maps are not parameters of a stack
            if part is not new and getattr(part, "supervised", False):  # a stack cannot grow trees by folds
                words = "learns from labels and cannot be part of a stack here: give the maps as a list"
                raise ValueError(f"{type(part).__name__} {words}, features=[...], and they are blended.")
            params = part.get_params() if hasattr(part, "get_params") else {}
            unset = [key for key, value in params.items() if value is None and key.split("__")[-1] == "random_state"]
            if unset:
                part.set_params(**dict.fromkeys(unset, seed))
    return maps


def is_plain(features: Any, X: Any) -> bool:
    """Whether the columns are used as they are: for "linear", and for "auto" on a table too wide for any map."""
    if not isinstance(features, str):
        return False
    wide = len(getattr(X, "shape", ())) == 2 and X.shape[1] > MAX_FEATURES
    return features == "linear" or (features == "auto" and wide)
