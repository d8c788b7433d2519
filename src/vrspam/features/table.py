"""One view of arrays, sparse matrices and data frames: typed columns, read in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

BLOCK_ENTRIES = 1 << 21


def is_frame(X: Any) -> bool:
    """Whether X is a table with typed columns (pandas, polars)."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def rows_of(X: Any, rows: slice | np.ndarray) -> Any:
    """Return some rows of X in its own type."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def numeric_flags(X: Any) -> list[bool]:
    """For each column whether it holds numbers; booleans are numbers, anything else is a category."""
    return [_is_number(dtype) for dtype in X.dtypes] if is_frame(X) else [True] * X.shape[1]


def _is_number(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in "iufb"


def _column(X: Any, index: int) -> Any:
    return X.iloc[:, index] if hasattr(X, "iloc") else X[:, index]


def numbers(X: Any, index: int) -> np.ndarray:
    """Column `index` as floats (float32 stays float32), missing values as NaN."""
    if not is_frame(X):
        return X[:, [index]].toarray().ravel() if sparse.issparse(X) else X[:, index]
    column = _column(X, index)
    dtype = np.float32 if str(column.dtype).lower() == "float32" else np.float64
    if hasattr(column, "iloc"):
        values = column.to_numpy(dtype=dtype, na_value=np.nan)
    else:
        values = column.to_numpy().astype(dtype)  # polars: null becomes NaN
    if np.isinf(values).any():
        raise ValueError(f"Column {X.columns[index]!r} contains infinity: remove or replace such values.")
    return values


def words(X: Any, index: int) -> np.ndarray:
    """Column `index` of a frame as an object array of strings, None where missing."""
    column = _column(X, index)
    missing = np.asarray(column.isna() if hasattr(column, "isna") else column.is_null().to_numpy(), dtype=bool)
    values = [None if gone else str(value) for value, gone in zip(column.to_list(), missing, strict=True)]
    return np.array(values, dtype=object)


def blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Slices of rows such that `width` columns of each hold about two million entries."""
    step = max(64, BLOCK_ENTRIES // max(width, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
