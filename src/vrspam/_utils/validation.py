"""Check the rows, labels and weights that a user gives, before anything is computed."""

from __future__ import annotations

from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils import check_array

from vrspam._utils import array_api
from vrspam._utils.columns import check_columns
from vrspam._utils.messages import WordedError


class Rows(NamedTuple):
    """Validated training data: X, the labels, and the weights of the rows if there are any."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None


def error_in_block(number: int, error: ValueError) -> WordedError:
    """The same error with the number of its block in front; its fields are kept.

    >>> print(error_in_block(3, ValueError("X has no rows.")))
    Block 3: X has no rows.
    """
    return WordedError("Block {number}: {error}", number=number, error=getattr(error, "message", str(error)))


def union_of_labels(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sorted labels of a and b; raise an error for more than two labels, or numbers mixed with strings."""
    if a.size and b.size and (a.dtype.kind in "OUS") != (b.dtype.kind in "OUS"):
        raise ValueError(f"Labels {a.tolist()} and {b.tolist()} are of different types: give all labels one type.")
    union = np.union1d(a, b) if a.size and b.size else np.unique(b if b.size else a)
    if union.size > 2:
        known = f" (so far {a.tolist()})" if a.size else ""
        raise ValueError(
            f"Only two classes are possible, got labels {union.tolist()}{known}: the target must be binary."
        )
    return union


def column_names(estimator: Any, given: Any = None) -> np.ndarray:
    """The names of the columns that a fitted estimator has seen, else those given, else x0, x1, ..."""
    return OneToOneFeatureMixin.get_feature_names_out(estimator, given)


def check_weights(weights: Any, n_rows: int) -> np.ndarray:
    """The weights of n rows, finite, not negative and not all 0; a number stands for all rows."""
    if isinstance(weights, Number):
        weights = np.full(n_rows, weights)
    weights = check_array(weights, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight")
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight must have one entry per row, got shape {weights.shape} for {n_rows} rows.")
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    if (weights < 0).any():
        raise ValueError("Negative values in data passed to `sample_weight`.")
    return weights


def check_rows(X, y, sample_weight):
    """Return X as a float array or CSR/CSC matrix, y as a vector, and the weights as float64 or None."""
    check_columns(X)
    if array_api.device_namespace(X) is not None:
        return array_api.checked_rows(X, y, sample_weight)
    X = X if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    if X.shape[1] == 0:
        raise ValueError(f"X has no features: its shape is {X.shape}.")
    X = X.tocsr() if sparse.issparse(X) and X.format != "csc" else X
    if X.dtype not in (np.float32, np.float64):
        try:
            X = X.astype(np.float64, casting="unsafe" if X.dtype.kind in "OUSiub" else "same_kind")
        except (TypeError, ValueError) as error:
            raise ValueError(f"X is not numeric: encode it as numbers, without missing values ({error}).") from error
    y = np.asarray(y)
    if y.ndim != 1 or y.shape[0] != X.shape[0]:
        raise ValueError(f"y must be one label for each of the {X.shape[0]} rows, got shape {y.shape}.")
    _check_labels(y)
    if (
        not np.isfinite((X.data if sparse.issparse(X) else X).sum(dtype=np.float64))
        and not np.isfinite(X.data if sparse.issparse(X) else X).all()
    ):
        raise ValueError("X contains NaN or infinity: impute or drop those rows first.")
    if sample_weight is None:
        return X, y, None
    weights = np.asarray(sample_weight)
    weights = weights if weights.dtype.kind == "c" else weights.astype(np.float64)
    if weights.shape != y.shape:
        raise ValueError(f"sample_weight must have one entry per row, got shape {weights.shape} for {y.shape[0]} rows.")
    if weights.dtype.kind == "c" or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be real, finite and not negative.")
    return X, y, weights


def _check_labels(y: np.ndarray) -> None:
    if y.dtype.kind not in "biufUSOM":
        raise ValueError(f"The labels must be numbers, booleans or strings, got {y.dtype}.")
    try:
        labels = np.unique(y)
        missing = bool((labels != labels).any())  # NaN
    except TypeError:
        raise ValueError("y holds labels of different types, or missing ones: give all labels one type.") from None
    if missing:
        raise ValueError("y contains NaN: drop the rows that have no label.")
    if labels.size > 2:
        raise ValueError(f"Only two classes are possible, got labels {labels.tolist()[:5]}.")
