"""One view of arrays, sparse matrices and data frames: typed columns, read in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

BLOCK_ENTRIES = 1 << 21
WHOLE_ROWS = 192  # products with a multiple of so many rows sum all of them in the same order


def is_frame(X: Any) -> bool:
    """Whether X is a table with typed columns (pandas, polars)."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def check_frame(X: Any) -> None:
    """Refuse frames whose rows are elsewhere, or that have none."""
    shape = getattr(X, "shape", (None,))
    if not all(isinstance(size, int) for size in shape):
        raise ValueError(f"The rows of this {type(X).__name__} are not in memory: collect() or compute() them first.")
    if min(shape) == 0:
        raise ValueError(f"Found a frame of shape {shape}: at least one row and one column are needed.")


def name_of(X: Any, index: int) -> Any:
    """What column `index` is called in messages."""
    return X.columns[index] if is_frame(X) else index


def rows_of(X: Any, rows: slice | np.ndarray) -> Any:
    """Return some rows of X in its own type."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def numeric_flags(X: Any) -> list[bool]:
    """For each column whether it holds numbers; booleans are numbers, anything else is a category."""
    if not is_frame(X):
        return [True] * X.shape[1]
    return [_is_number(dtype) or (str(dtype) == "object" and _all_numbers(X, j)) for j, dtype in enumerate(X.dtypes)]


def _is_number(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in "iufb" or str(dtype).startswith("decimal")


def _all_numbers(X: Any, index: int) -> bool:
    """Whether a column of Python objects holds numbers alone, and some: such come out of databases and of gaps."""
    present = [value for value, gone in _values(_column(X, index)) if not gone]
    return bool(present) and all(isinstance(v, (Real, Decimal)) and not isinstance(v, bool) for v in present)


def _column(X: Any, index: int) -> Any:
    return X.iloc[:, index] if hasattr(X, "iloc") else X[:, index]


def numbers(X: Any, index: int) -> np.ndarray:
    """Column `index` as floats (float32 stays float32), missing values as NaN."""
    if not is_frame(X):
        return X[:, [index]].toarray().ravel() if sparse.issparse(X) else X[:, index]
    column = _column(X, index)
    dtype = np.float32 if str(column.dtype).lower() in ("float32", "float[pyarrow]") else np.float64
    if hasattr(column, "iloc"):
        values = column.to_numpy(dtype=dtype, na_value=np.nan)
    else:
        values = column.to_numpy().astype(dtype)  # polars: null becomes NaN
    return _finite(X, index, values)


def _finite(X: Any, index: int, values: np.ndarray) -> np.ndarray:
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
    found: set[str | None] = set()
    for value, gone in _values(different):
        # Each date would be a category, and none of them met again.
        if not gone and (isinstance(value, (date, time, timedelta)) or type(value).__name__ == "Period"):
            raise ValueError(
                f"Column {X.columns[index]!r} holds dates or times: turn them into numbers (days since a day, the "
                "month), or into text if they are to be categories, or drop the column."
            )
        found.add(None if gone else str(value))
    return found


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
    if not all(gone or isinstance(value, (Real, Decimal)) for value, gone in values):
        raise ValueError(f"Column {X.columns[index]!r} held numbers in fit and holds text now: convert it to numbers.")
    return _finite(X, index, np.array([np.nan if gone else float(value) for value, gone in values]))


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
