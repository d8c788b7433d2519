"""Columns beside the features: weights of rows, groups that folds keep together, and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.messages import Parameter
from vrspam.data import DataError
from vrspam.features import frames
from vrspam.features.readings import Dates, Found, Numbers, as_moments
from vrspam.features.tables import find_in_column, texts_of


def check_beside(beside: Mapping[str, str], target: str, drop: Sequence[str]) -> None:
    """Refuse the label column, and columns that are left out, as weights, groups or times."""
    for option, name in beside.items():
        if name == target:
            raise DataError(
                "column {column!r} holds the labels: name another with {option}", column=name, option=Parameter(option)
            )
        if name in drop:
            raise DataError(
                "column {column!r} is left out by {drop} and named by {option}: name it once",
                column=name,
                drop=Parameter("drop"),
                option=Parameter(option),
            )


def beside_values(others: Any, beside: Mapping[str, str], path: str) -> dict[str, np.ndarray]:
    """The weights, groups and times of all rows, from a table of these columns."""
    import pyarrow as pa

    found = {}
    for option, name in beside.items():
        values = others.column(name)
        whole = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
        column = nw.from_native(whole, series_only=True).alias(name)
        if option == "groups":
            found[option] = _groups(column, path)
        else:
            numbers = _ordered_numbers(column, path, option)
            found[option] = check_weights(numbers, path, name) if option == "weights" else numbers
    return found


def check_weights(values: np.ndarray, path: str, name: str) -> np.ndarray:
    """Refuse weights that are missing, negative or infinite."""
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
    if wrong.size:
        raise DataError(
            f"{path}: column {name!r} holds weights, and {wrong.size:,} of them are missing, negative or infinite (the "
            f"first in row {wrong[0] + 1}): correct them"
        )
    return values


def _groups(column: Any, path: str) -> np.ndarray:
    if column.null_count():
        raise DataError(
            f"{path}: column {column.name!r} names groups, and {column.null_count():,} rows have none: fill them in, "
            "or give each such row a name of its own"
        )
    names, codes = np.unique(np.array(column.to_list(), dtype=str), return_inverse=True)
    if names.size < 4:
        raise DataError(f"{path}: column {column.name!r} has {names.size} groups, and folds need at least 4 of them")
    return codes


def _ordered_numbers(column: Any, path: str, option: str) -> np.ndarray:
    """The numbers, or dates as numbers, of a column; none may be missing."""
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        values = np.asarray(frames.column_numbers(column), dtype=np.float64)
    else:
        texts = texts_of(column)
        found = (
            Found(Numbers()) if texts is not None and not Numbers().values(texts)[1].any() else find_in_column(column)
        )
        if found is None or (option == "weights" and isinstance(found.reading, Dates)):
            what = "numbers" if option == "weights" else "numbers or dates"
            raise DataError(
                "{path}: column {column!r} holds text that is not {what}: name another with {option}",
                path=path,
                column=column.name,
                what=what,
                option=Parameter(option),
            )
        if not isinstance(found.reading, Dates):
            values = found.reading.values(column if texts is None else texts)[0]
        else:
            moments = as_moments(column) if texts is None else found.reading.moments(texts)[0]
            values = np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(np.float64))
    if np.isnan(values).any():
        raise DataError(
            f"{path}: column {column.name!r} is missing in {int(np.isnan(values).sum()):,} rows: fill them in, or "
            "leave these rows out of the file"
        )
    return values
