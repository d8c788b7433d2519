"""What all feature maps share: reading columns, transforming in blocks, names, storing."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names_in, _check_sample_weight, check_is_fitted, validate_data

from vrspam.features import table
from vrspam.features.encoders import Curves, Encoder, Indicators, encoder_from_dict
from vrspam.features.ranks import Distribution, distribution

MAX_CATEGORIES = 1_000


# What fit keeps of a column: its distribution and whether values are missing, or its categories.
Seen = tuple[Distribution, bool] | Indicators


def _numbers_seen(values: np.ndarray, weights: np.ndarray | None) -> Seen:
    present = ~np.isnan(values)
    if present.all():
        return distribution(values, weights), False
    return distribution(values[present], None if weights is None else weights[present]), True


def _categories_seen(X, j: int) -> Seen:
    found = set(table.words(X, j).tolist())
    if len(found) > MAX_CATEGORIES:
        raise ValueError(
            f"Column {X.columns[j]!r} has more than {MAX_CATEGORIES} different values that are not numbers: "
            "drop it if it is a name, convert it if it holds numbers as text, or group its rare values."
        )
    return Indicators(tuple(sorted(found - {None})), None in found)


class FeatureMap(TransformerMixin, BaseEstimator):
    """Base of the maps: each column is encoded by itself, `_curves` says how; labels are never looked at."""

    encoders_: list[Encoder]
    max_rows: int
    random_state: Any
    _parameter_constraints: dict = {
        "max_rows": [Interval(Integral, 100, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # What a map says of itself.

    def _curves(self, seen: Distribution, missing: bool) -> Curves:
        """Return the functions of a numeric column with this distribution."""
        raise NotImplementedError

    def _fit_further(self, X, seen: list[Seen], rng: np.random.RandomState) -> None:
        """Learn what goes beyond single columns."""

    def _transform_block(self, X) -> np.ndarray:
        return self._encode(X)

    def _width(self) -> int:
        """Columns of the widest array that a block needs."""
        return self.n_features_out_

    # What all of them do.

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None) -> Self:
        """Learn the map from the rows of X; labels are not looked at.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            NaN is a missing value. Columns of a frame that do not hold numbers are categories.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows in means and ranks; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        X = self._check(X, reset=True)
        rng = check_random_state(self.random_state)
        weights, rows = None, np.arange(X.shape[0])
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            rows = np.flatnonzero(weights)
            if rows.size == 0:
                raise ValueError("All sample weights are 0: at least one row must count.")
        if rows.size > self.max_rows:
            rows = np.sort(rng.choice(rows, self.max_rows, replace=False))
        if rows.size < X.shape[0]:
            X = table.rows_of(X, rows)
        weights = None if weights is None else weights[rows]
        columns = sparse.csc_array(X) if sparse.issparse(X) else X
        seen = [
            _numbers_seen(table.numbers(columns, j), weights) if numeric else _categories_seen(X, j)
            for j, numeric in enumerate(table.numeric_flags(X))
        ]
        self._fit_columns(seen)
        self._fit_further(X, seen, rng)
        return self

    def transform(self, X) -> np.ndarray:
        """Return the features of the rows of X, computed in blocks of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out_)
            float32 if all numbers of X are.
        """
        check_is_fitted(self, "encoders_")
        X = self._check(X, reset=False)
        out = None
        for rows in table.blocks(X.shape[0], self._width()):
            block = self._transform_block(table.rows_of(X, rows))
            if block.shape[0] == X.shape[0]:
                return block
            if out is None:
                out = np.empty((X.shape[0], block.shape[1]), dtype=block.dtype)
            out[rows] = block
        assert out is not None  # `_check` refuses X without rows
        return out

    def products(self, X, coefs: np.ndarray) -> np.ndarray:
        """Return transform(X) @ coefs, block by block and by a shorter way where there is one.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        coefs : array of shape (n_features_out_,) or (n_features_out_, m)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, m)
        """
        check_is_fitted(self, "encoders_")
        X = self._check(X, reset=False)
        parts = [
            self._block_products(table.rows_of(X, rows), coefs) for rows in table.blocks(X.shape[0], self._width())
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _block_products(self, X, coefs: np.ndarray) -> np.ndarray:
        block = self._transform_block(X)
        return block @ coefs.astype(block.dtype, copy=False)

    def _check(self, X, *, reset: bool):
        if table.is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if min(X.shape) == 0:
                raise ValueError(f"Found a frame of shape {X.shape}: at least one row and one column are needed.")
            return X
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )

    def _fit_columns(self, seen: list[Seen]) -> None:
        self.encoders_ = [column if isinstance(column, Indicators) else self._curves(*column) for column in seen]

    @property
    def column_slices_(self) -> list[slice]:
        """Where the features of each column are."""
        ends = np.cumsum([0] + [encoder.width for encoder in self.encoders_]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]

    @property
    def n_features_out_(self) -> int:
        """Number of features."""
        return sum(encoder.width for encoder in self.encoders_)

    def _encode(self, X) -> np.ndarray:
        """Return the features of all columns for the rows of X, which is checked already and not large."""
        if sparse.issparse(X):
            X = X.toarray()
        flags = table.numeric_flags(X)
        for j, (encoder, numeric) in enumerate(zip(self.encoders_, flags, strict=True)):
            if numeric != isinstance(encoder, Curves):
                was, now = ("categories", "numbers") if numeric else ("numbers", "categories")
                name = X.columns[j] if table.is_frame(X) else j
                raise ValueError(f"Column {name!r} held {was} in fit and holds {now} now.")
        columns = [table.numbers(X, j) if numeric else table.words(X, j) for j, numeric in enumerate(flags)]
        floats = {column.dtype for column, numeric in zip(columns, flags, strict=True) if numeric}
        dtype = np.float32 if floats == {np.dtype(np.float32)} else np.float64
        out = np.empty((X.shape[0], sum(encoder.width for encoder in self.encoders_)), dtype=dtype)
        for encoder, where, values in zip(self.encoders_, self.column_slices_, columns, strict=True):
            encoder.write(values, out[:, where])
        return out

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the name of each feature: that of its column, and what it is."""
        check_is_fitted(self, "encoders_")
        columns = _check_feature_names_in(self, input_features)
        names = [n for encoder, column in zip(self.encoders_, columns, strict=True) for n in encoder.names(str(column))]
        return np.array(names, dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted map as plain values, lists and NumPy arrays (`from_dict` reads it, no pickle)."""
        check_is_fitted(self, "encoders_")
        params = self.get_params(deep=False)
        if not isinstance(params["random_state"], (int, np.integer, type(None))):
            params["random_state"] = None  # a generator has moved on; the fitted map does not need it
        names = getattr(self, "feature_names_in_", None)
        return {
            "map": type(self).__name__,
            "params": params,
            "n_features_in": self.n_features_in_,
            "feature_names_in": None if names is None else [str(name) for name in names],
            "encoders": [encoder.to_dict() for encoder in self.encoders_],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the fitted map that `to_dict` wrote; arrays may have become lists on the way (JSON)."""
        if not isinstance(plain, Mapping) or plain.get("map") != cls.__name__:
            raise ValueError(f"This is no stored {cls.__name__}: save the model again.")
        new = cls(**plain["params"])
        new.n_features_in_ = int(plain["n_features_in"])
        if plain["feature_names_in"] is not None:
            new.feature_names_in_ = np.array(plain["feature_names_in"], dtype=object)
        new.encoders_ = [encoder_from_dict(encoder) for encoder in plain["encoders"]]
        return new
