"""A common interface to arrays, sparse matrices and data frames: typed columns, read in blocks of rows.

Frames are those that narwhals knows: pandas, polars, pyarrow tables and others whose rows are in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy import sparse

from vrspam._utils.validation import plain_arrow, refuse_same_names

BLOCK_ENTRIES = 1 << 21
WHOLE_ROWS = 192  # products with a multiple of so many rows sum all of them in the same order


class Categories(NamedTuple):
    """A column of categories: for each row the place of its category among `values`, -1 if it is missing.

    `known` keeps the codes that maps have given to the values; columns with some of the rows share it. The values of an
    `ordered` column are all values of its type, in their order.
    """

    codes: np.ndarray
    values: tuple[str, ...]
    known: dict[tuple[int, int], tuple[Mapping[str | None, int], np.ndarray]]
    ordered: bool = False


@dataclass(frozen=True, eq=False)
class HeldColumns:
    """The columns of a frame as arrays, made once: maps that read many blocks of rows do not ask the frame each time.

    Numbers are floats, missing ones NaN; anything else is `Categories`. Every function here accepts it as a frame.
    """

    names: list[Any]
    columns: list[np.ndarray | Categories]
    shape: tuple[int, int]

    @classmethod
    def of(
        cls,
        X: Any,
        numeric_columns: Sequence[bool | None] | None = None,
        orders: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> HeldColumns:
        """Hold all rows of a frame; `numeric_columns` says which columns hold numbers (None: their type decides).

        `orders` gives the order of the values of categories whose type has none.
        """
        frame = columns_of(X)
        columns: list[np.ndarray | Categories] = []
        for index, says_numeric in enumerate(numeric_columns or [None] * len(frame.columns)):
            holds_numbers = is_numeric(frame.columns[index]) if says_numeric is None else says_numeric
            if holds_numbers:
                columns.append(numbers(frame, index))
            else:
                columns.append(_held_categories(frame, index, orders.get(frame.names[index], ())))
        return cls(frame.names, columns, (X.shape[0], len(columns)))


def _held_categories(frame: FrameColumns, index: int, order: Sequence[str]) -> Categories:
    """A column as categories, in a given order, in that of its type, or sorted."""
    ordered_values = tuple(order) or levels(frame, index)
    present = {value for value in categories(frame, index) if value is not None}
    without_place = present - set(ordered_values)
    if ordered_values and without_place:
        raise ValueError(
            f"Column {frame.names[index]!r} holds {min(without_place)!r}, which has no place in the order "
            f"{', '.join(ordered_values)}: add it there."
        )
    values = ordered_values or tuple(sorted(present))
    places: dict[str | None, int] = {value: place for place, value in enumerate(values)}
    return Categories(category_codes(frame, index, places), values, {}, bool(ordered_values))


def is_frame(X: Any) -> bool:
    """Whether X is a table with typed columns."""
    return isinstance(X, HeldColumns) or _wrap(X) is not None


def _wrap(X: Any) -> Any:
    """X as a narwhals frame, None where it is not a frame."""
    if isinstance(X, np.ndarray | HeldColumns) or sparse.issparse(X):
        return None
    try:
        frame = nw.from_native(plain_arrow(X), pass_through=True)
    except DuplicateError as error:
        refuse_same_names(X)
        raise ValueError("Two columns of the frame have the same name: rename one.") from error
    return frame if isinstance(frame, nw.DataFrame | nw.LazyFrame) else None


def needs_reading(X: Any) -> bool:
    """Whether X is a frame with text, dates or gaps."""
    if not isinstance(_wrap(X), nw.DataFrame):
        return False
    columns = columns_of(X)
    return any(
        not is_numeric(column) or bool(np.isnan(numbers(columns, j, infinite=True)).any())
        for j, column in enumerate(columns.columns)
    )


def in_order(X: Any, names: Sequence[str]) -> Any:
    """The frame with the columns `names`, in this order; unchanged if it lacks one of them."""
    frame = _wrap(X)
    if frame is None or list(frame.columns) == list(names) or not set(names) <= set(frame.columns):
        return X
    return frame.select(*names).to_native()


def check_frame(X: Any) -> None:
    """Refuse frames whose rows are not in memory, and frames without rows or columns."""
    if isinstance(X, HeldColumns):
        return
    frame = _wrap(X)
    if isinstance(frame, nw.LazyFrame):
        raise ValueError(f"The rows of this {type(X).__name__} are not in memory: collect() or compute() them first.")
    if min(frame.shape) == 0:
        raise ValueError(f"Found a frame of shape {frame.shape}: at least one row and one column are needed.")


class FrameColumns(NamedTuple):
    """All columns of a frame, looked up once, because a frame searches all its names for each column."""

    names: list[Any]
    columns: list[Any]


def columns_of(X: Any) -> Any:
    """X in a form in which the functions below find single columns faster, if it is a frame of many columns."""
    frame = _wrap(X)
    return X if frame is None else FrameColumns(frame.columns, list(frame.iter_columns()))


def named_column(X: Any, index: int) -> tuple[Any, Any]:
    """The name of column `index` in messages, and the column, which is None if X is not a frame."""
    if isinstance(X, nw.Series):
        return X.name, X
    if isinstance(X, FrameColumns | HeldColumns):
        return X.names[index], X.columns[index]
    frame = _wrap(X)
    return (index, None) if frame is None else (frame.columns[index], frame[:, index])


def rows_of(X: Any, rows: Any) -> Any:
    """Return some rows of X in its own type; if `rows` has two axes, column j of row i comes from row `rows[i, j]`.

    >>> rows_of(np.array([[1.0, 10.0], [2.0, 20.0]]), np.array([[0, 1], [1, 1]])).tolist()
    [[1.0, 20.0], [2.0, 20.0]]
    """
    differ_by_column = getattr(rows, "ndim", 1) == 2
    if isinstance(X, HeldColumns):
        return _held_rows(X, rows, differ_by_column)
    frame = _wrap(X)
    if not differ_by_column:
        return X[rows] if frame is None else frame[rows].to_native()
    if frame is None:
        return np.take_along_axis(X.toarray() if sparse.issparse(X) else X, rows, axis=0)
    columns = [frame[:, index][rows[:, index]].alias(name) for index, name in enumerate(frame.columns)]
    return frame[rows[:, 0]].with_columns(*columns).to_native()


def _held_rows(X: HeldColumns, rows: Any, differ_by_column: bool) -> HeldColumns:
    """Some rows of columns that are held as arrays."""
    columns: list[np.ndarray | Categories] = []
    for index, column in enumerate(X.columns):
        rows_of_column = rows[:, index] if differ_by_column else rows
        if isinstance(column, Categories):
            columns.append(column._replace(codes=column.codes[rows_of_column]))
        else:
            columns.append(column[rows_of_column])
    if isinstance(rows, slice):
        size = len(range(X.shape[0])[rows])
    else:
        size = np.arange(X.shape[0])[rows].shape[0]
    return HeldColumns(X.names, columns, (size, len(columns)))


def numeric_flags(X: Any) -> list[bool]:
    """For each column whether it holds numbers; booleans are numbers, anything else is a category."""
    frame = columns_of(X)
    if isinstance(frame, HeldColumns):
        return [isinstance(column, np.ndarray) for column in frame.columns]
    if not isinstance(frame, FrameColumns):
        return [True] * X.shape[1]
    return [is_numeric(column) for column in frame.columns]


def is_numeric(column: Any) -> bool:
    """Whether a series holds numbers, possibly as Python objects, as databases give them."""
    if column.dtype != nw.Object:
        return column.dtype.is_numeric() or column.dtype == nw.Boolean
    present = column.drop_nulls().to_list()
    return bool(present) and all(isinstance(v, (Real, Decimal)) and not isinstance(v, bool) for v in present)


def texts_of(column: Any) -> Any:
    """The column as a series of text, if it holds text (among numbers, say); None for categories and other types."""
    if column.dtype == nw.String:
        return column
    if column.dtype != nw.Object:
        return None
    values = list(_values(column))
    if not any(isinstance(value, str) for value, _ in values):
        return None
    texts = [None if is_missing else str(value) for value, is_missing in values]
    return nw.new_series(column.name, texts, nw.String, backend=column.implementation)


def _values(column: Any) -> Iterator[tuple[Any, bool]]:
    """(value, whether it is missing) for each row."""
    return zip(column.to_list(), column.is_null().to_numpy().tolist(), strict=True)


def numbers(X: Any, index: int = 0, *, infinite: bool = False) -> np.ndarray:
    """Column `index`, of any type, or a series, as floats (float32 stays float32), missing values as NaN.

    The type that a frame gives to a column may depend on its rows: a single row with a missing value has no numeric
    type. Infinite numbers are refused unless `infinite` allows them.
    """
    name, column = named_column(X, index)
    if isinstance(column, np.ndarray):
        return column
    if column is None:
        return X[:, [index]].toarray().ravel() if sparse.issparse(X) else X[:, index]
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        values = _typed_numbers(column)
    else:
        cells = list(_values(column))
        if not all(is_missing or isinstance(value, (Real, Decimal)) for value, is_missing in cells):
            raise ValueError(f"Column {name!r} held numbers in fit and holds text now: convert it to numbers.")
        values = np.array([np.nan if is_missing else float(value) for value, is_missing in cells])
    if not infinite and np.isinf(values).any():
        raise ValueError(f"Column {name!r} contains infinity: remove or replace such values.")
    return values


def _typed_numbers(column: Any) -> np.ndarray:
    """A series of a type of numbers as floats; arrow refuses to cast integers beyond 2^53."""
    casts_itself = column.dtype in (nw.Float32, nw.Float64, nw.Int64, nw.UInt64)
    values = (column if casts_itself else column.cast(nw.Float64)).to_numpy()
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def categories(X: Any, index: int) -> set[str | None]:
    """The different values of column `index` of a frame as strings, None for a missing one, such as an empty text."""
    name, column = named_column(X, index)
    if isinstance(column, Categories):
        return {None if place < 0 else column.values[place] for place in np.unique(column.codes).tolist()}
    different = column.unique()
    texts: set[str | None] = {None} if different.null_count() else set()
    for value in different.drop_nulls().to_list():
        # Each date would be a category of its own, and new dates would match none of them.
        if isinstance(value, (date, time, timedelta)) or type(value).__name__ == "Period":
            raise ValueError(
                f"Column {name!r} holds dates or times: turn them into numbers (days since a day, the "
                "month), or into text if they are to be categories, or drop the column."
            )
        texts.add(str(value) or None)
    return texts


def levels(X: Any, index: int) -> tuple[str, ...]:
    """The values of an ordered category, in their order: an ordered type of pandas, an Enum of polars; else none."""
    _, column = named_column(X, index)
    if isinstance(column, Categories):
        return column.values if column.ordered else ()
    return tuple(map(str, column.dtype.categories)) if column is not None and column.dtype == nw.Enum else ()


def value_counts(column: Any) -> dict[str, int]:
    """How often each value of a series occurs, as text, in the order of appearance.

    Missing values are left out, and so is an empty text, which is one.
    """
    if column.dtype not in (nw.String, nw.Enum, nw.Categorical):
        return dict(Counter(filter(None, map(str, column.drop_nulls().to_list()))))
    present = column.drop_nulls().alias("value")
    counts = present.value_counts(sort=False, name="count")
    count_of_text = dict(zip(map(str, counts[:, 0].to_list()), counts[:, 1].to_list(), strict=True))
    count_of_text.pop("", None)
    if column.implementation.is_polars():  # which counts in no order
        in_order = map(str, present.unique(maintain_order=True).to_list())
        return {text: count_of_text[text] for text in in_order if text}
    return {text: count for text, count in count_of_text.items() if count}  # pandas counts absent categories as well


def category_codes(X: Any, index: int, codes: Mapping[str | None, int], other: int = -1) -> np.ndarray:
    """The code of each row's category in column `index` of a frame; `other` for a category that has none.

    An empty text is a missing value, unless it has a code: early versions took it for a category.
    """
    name, column = named_column(X, index)
    if column is None:
        raise ValueError(f"Column {index} held categories in fit: give a frame with the same columns.")
    missing = codes.get(None, -1)
    if isinstance(column, Categories):
        key = (id(codes), other)
        if key not in column.known:  # the mapping is kept with its codes, so that no other gets its id
            table = np.array([*(codes.get(value, other) for value in column.values), missing], dtype=np.intp)
            column.known[key] = (codes, table)
        return column.known[key][1][column.codes]
    if column.dtype.is_numeric() and column.null_count() < len(column):
        raise ValueError(f"Column {name!r} held categories in fit and holds numbers now: convert it to text.")

    def code_of(text: str) -> int:
        return codes.get(text, other if text else missing)

    if column.dtype in (nw.String, nw.Enum):
        texts = [value for value in column.unique().to_list() if isinstance(value, str)]
        if not texts:
            return np.full(len(column), missing, dtype=np.intp)
        coded = column.replace_strict(texts, [code_of(text) for text in texts], return_dtype=nw.Int64)
        return coded.fill_null(missing).to_numpy().astype(np.intp, copy=False)
    code_of_row = [missing if is_missing else code_of(str(value)) for value, is_missing in _values(column)]
    return np.array(code_of_row, dtype=np.intp)


def blocks(n_rows: int, width: int, entries: int | None = None) -> Iterator[slice]:
    """Slices of rows with about `entries` entries in `width` columns; all but the last in multiples of `WHOLE_ROWS`."""
    step = WHOLE_ROWS * max(1, (entries or BLOCK_ENTRIES) // max(width, 1) // WHOLE_ROWS)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
