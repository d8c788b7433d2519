"""One view of arrays, sparse matrices and data frames: typed columns, read in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse

BLOCK_ENTRIES = 1 << 21
WHOLE_ROWS = 192  # products with a multiple of so many rows sum all of them in the same order


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
    values = [None if gone else str(value) for value, gone in _values(_column(X, index))]
    return np.array(values, dtype=object)


def categories(X: Any, index: int) -> set[str | None]:
    """The different values of column `index` of a frame as strings, None for a missing one."""
    column = _column(X, index)
    different = column.drop_duplicates() if hasattr(column, "drop_duplicates") else column.unique()
    return {None if gone else str(value) for value, gone in _values(different)}


def _values(column: Any) -> Iterator[tuple[Any, bool]]:
    """(value, whether it is missing) for each row."""
    missing = np.asarray(column.isna() if hasattr(column, "isna") else column.is_null().to_numpy(), dtype=bool)
    return zip(column.to_list(), missing.tolist(), strict=True)


def as_numbers(X: Any, index: int) -> np.ndarray:
    """Column `index`, whatever its type here, as the numbers that it held in fit.

    What type a frame gives to a column may depend on the rows at hand: one row with a missing value has no numbers.
    """
    if not is_frame(X) or _is_number(list(X.dtypes)[index]):
        return numbers(X, index)
    values = list(_values(_column(X, index)))
    if not all(gone or isinstance(value, Number) for value, gone in values):
        raise ValueError(f"Column {X.columns[index]!r} held numbers in fit and holds text now: convert it to numbers.")
    return np.array([np.nan if gone else float(value) for value, gone in values])


def as_words(X: Any, index: int) -> np.ndarray:
    """Column `index`, whatever its type here, as the categories that it held in fit."""
    if not is_frame(X):
        raise ValueError(f"Column {index} held categories in fit: give a frame with the same columns.")
    found = words(X, index)
    dtype = list(X.dtypes)[index]
    if _is_number(dtype) and str(dtype).lower() not in ("bool", "boolean") and any(word is not None for word in found):
        raise ValueError(
            f"Column {X.columns[index]!r} held categories in fit and holds numbers now: convert it to text."
        )
    return found


def blocks(n_rows: int, width: int, entries: int | None = None) -> Iterator[slice]:
    """Slices of rows such that `width` columns of each hold about so many entries (by default two million).

    All but the last have a multiple of `WHOLE_ROWS` rows.
    """
    step = WHOLE_ROWS * max(1, (entries or BLOCK_ENTRIES) // max(width, 1) // WHOLE_ROWS)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
