"""Rows that an estimator cannot take, refused in the words of a table: which column, what is in it, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

LARGEST = 1e150  # squares of larger numbers overflow
MAPS = "AUCClassifierCV(features='auto')"
_ABOUT_VALUES = ("NaN", "infinity", "convert string to float", "promoted", "array element with a sequence", "DType")


@contextmanager
def named_columns(X: Any) -> Iterator[None]:
    """Refuse X in terms of its columns where scikit-learn, or NumPy, refuses its values."""
    refuse_same_names(X)
    try:
        yield
    except (TypeError, ValueError) as error:
        if any(words in str(error) for words in _ABOUT_VALUES) and (reason := _reason(X)) is not None:
            raise ValueError(reason) from error
        raise


def refuse_same_names(X: Any) -> None:
    """Refuse a frame in which two columns have one name.

    >>> import pandas as pd
    >>> refuse_same_names(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    Traceback (most recent call last):
    ValueError: Two columns of the frame have the same name: rename one of those called 'a'.
    """
    if (names := _names(X)) is not None and len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"Two columns of the frame have the same name: rename one of those called {twice!r}.")


def refuse_huge_columns(X: Any, names: Any) -> None:
    """Refuse numbers whose squares overflow, by the name of their column; X is an array."""
    if names is None or sparse.issparse(X) or X.size == 0:
        return
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    if (huge := int(np.argmax(largest))) >= 0 and largest[huge] > LARGEST:
        raise ValueError(
            f"Column {names[huge]!r} holds numbers up to {largest[huge]:.2g}, whose squares overflow: rescale it so "
            f"that it stays below {LARGEST:.0e}."
        )


def _names(X: Any) -> list[Any] | None:
    """The names of the columns of a frame, None for anything else."""
    if isinstance(X, np.ndarray | list | tuple) or sparse.issparse(X):
        return None
    names = getattr(X, "column_names", None)  # of arrow
    names = getattr(X, "columns", None) if names is None else names
    try:
        return [name if isinstance(name, str) else repr(name) for name in names] if names is not None else None
    except TypeError:
        return None


def _reason(X: Any) -> str | None:
    """What is wrong with the first column that is wrong; None where that cannot be told."""
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(X, pass_through=True)
    except Exception:
        return None
    if isinstance(frame, nw.DataFrame):
        columns = [(repr(name), column) for name, column in zip(frame.columns, frame.iter_columns(), strict=True)]
        kinds = [_kind(column) for _, column in columns]
        for kind in ("lists", "dates", "text"):
            if kind in kinds:
                return _worded(columns[kinds.index(kind)][0], kind)
        values = [(name, column.to_numpy()) for name, column in columns]
    else:
        values = _array_columns(X)
    for name, column in values:
        if column.dtype.kind not in "fc":
            continue
        if np.isnan(column).any():
            return _worded(name, "NaN")
        if np.isinf(column).any():
            return f"Input X contains infinity in column {name}: remove or replace such values."
    return None


def _array_columns(X: Any) -> list[tuple[str, np.ndarray]]:
    if sparse.issparse(X):
        coo = X.tocoo()
        wrong = np.flatnonzero(~np.isfinite(coo.data)) if coo.data.dtype.kind == "f" else np.empty(0, dtype=int)
        return [(str(int(coo.col[wrong[0]])), coo.data[wrong[:1]])] if wrong.size else []
    try:
        array = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return []
    return [(str(j), array[:, j]) for j in range(array.shape[1])] if array.ndim == 2 else []


def _kind(column: Any) -> str:
    import narwhals.stable.v2 as nw

    if column.dtype in (nw.List, nw.Array, nw.Struct):
        return "lists"
    if column.dtype in (nw.Date, nw.Datetime, nw.Duration):
        return "dates"
    if column.dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    if column.dtype == nw.Object:
        values = column.to_list()
        if any(isinstance(value, list | tuple | dict | set | np.ndarray) for value in values):
            return "lists"
        return "text" if any(isinstance(value, str) for value in values) else "other"
    return "number"


def _worded(name: str, kind: str) -> str:
    if kind == "lists":
        return f"Column {name} holds lists or records: make a column of each part, or drop it."
    if kind == "NaN":
        return (
            f"Input X contains NaN in column {name}: {MAPS} takes missing values as they are, or fill them in first "
            "(sklearn.impute.SimpleImputer)."
        )
    taken = "takes dates as features" if kind == "dates" else "takes text as categories"
    return f"Column {name} holds {kind}: {MAPS} {taken}, or make numbers of it first."
