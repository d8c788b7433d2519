"""Rows seen through a feature map: their features are computed when they are read, a block at a time.

A `MappedArray` has the shape and dtype of the features and hands out rows, which is all that cross-validation asks of
X (`vrspam.model_selection.sources`). It never holds the features of all rows at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from vrspam._utils.findings import Fix, VrspamError
from vrspam.features.base import MANY_CATEGORIES, FeatureMap, kind_of_map
from vrspam.features.encoders.indicators import Indicators
from vrspam.features.parts import ColumnBlock
from vrspam.features.stacked import StackedFeatures
from vrspam.moments import CodedRows, LastProduct
from vrspam.tables.frames import WHOLE_ROWS, blocks, rows_of

MAX_FEATURES = 5_000
HELD_BYTES = 1 << 28  # losses that read the features of all rows many times hold them up to this size


class MapNotFitted(ValueError):
    """A map, or a model of its features, cannot be fitted to these rows: of several maps it leaves the comparison."""


class TooManyFeatures(VrspamError):
    """A map gives more features than the solver can take."""


class MappedArray:
    """The features of the rows of X under a fitted map, computed when rows are taken."""

    def __init__(self, X: Any, features: Any):
        self.X = X
        self.features = features
        if isinstance(features, FeatureMap):
            width, self.dtype = features.n_features_out_, features.dtype_of(X)
        else:
            first = self[:1]
            width, self.dtype = first.shape[1], first.dtype
        self.shape = (X.shape[0], width)
        if width > MAX_FEATURES and not isinstance(features, StackedFeatures):  # its maps were solved alone
            raise TooManyFeatures(
                f"The {kind_of_map(features)} map gives {width} features, and the solver keeps a square matrix of "
                f"them: at most {MAX_FEATURES} are possible. Leave columns out, or use ",
                Fix("features", "linear"),
                ".",
            )
        # slices of features that are the indicators of a column of many categories; empty for a stack
        self.exclusive = indicators_of_many(features)
        # gives moments the rows without writing out the indicators of many categories
        self.coded_rows = self._coded_rows if self.exclusive else None
        self.written_width = width - sum(where.stop - where.start for where in self.exclusive)

    def _coded_rows(self, rows: slice | np.ndarray) -> CodedRows:
        return self.features._coded_rows(self.features._check(rows_of(self.X, rows), reset=False))

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        if isinstance(self.features, FeatureMap):
            return self.features.features_of(rows_of(self.X, rows))
        block_rows = rows_of(self.X, rows)
        block = self.features.transform(block_rows)
        block = block.toarray() if sparse.issparse(block) else np.array(block)  # a copy: it may be a frame's
        if block.ndim != 2 or block.shape[0] != block_rows.shape[0]:
            raise ValueError(
                f"{type(self.features).__name__} turned {block_rows.shape[0]} rows into an array of shape "
                f"{block.shape}: a feature map gives a row of features for each row."
            )
        if block.dtype not in (np.float32, np.float64):
            block = block.astype(np.float64)
        if not np.isfinite(block).all():
            raise MapNotFitted(f"{type(self.features).__name__} gave features that are not finite: impute first.")
        return block

    def unfinished(self) -> tuple[MappedArray, LastProduct] | None:
        """Cheaper features and the product that turns them into these, if it makes moments of many rows faster."""
        if not isinstance(self.features, FeatureMap) or self.dtype != np.float64:
            return None
        unfinished = self.features._unfinished(self.shape[0])
        if unfinished is None:
            return None
        features, last_product = unfinished
        return MappedArray(self.X, features), last_product

    def products(self, rows: slice | np.ndarray, coefs: np.ndarray) -> np.ndarray:
        """Return the features of some rows times `coefs`."""
        if isinstance(self.features, FeatureMap):
            return self.features.products(rows_of(self.X, rows), coefs)
        return (self[rows].astype(np.float64, copy=False) @ coefs).astype(self.dtype, copy=False)

    def __matmul__(self, coefs: np.ndarray) -> np.ndarray:
        if isinstance(self.features, FeatureMap):  # goes by blocks itself
            return self.features.products(self.X, coefs)
        return np.concatenate([self.products(rows, coefs) for rows in blocks(*self.shape)])


def indicators_of_many(features: Any) -> list[slice]:
    """Where a single map has the indicators of columns of many categories."""
    if not isinstance(features, FeatureMap) or len(features.members) > 1:
        return []
    places: list[slice] = []
    for block, column, where in features.block_places():
        is_indicators = isinstance(block, ColumnBlock) and isinstance(block.encoders[column], Indicators)
        if is_indicators and where.stop - where.start >= MANY_CATEGORIES:
            places.append(where)
    return places


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
