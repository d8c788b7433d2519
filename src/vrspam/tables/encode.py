"""Typed rows as features: missing numbers are filled, categories become one-hot; rows that cannot be used are noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from vrspam._utils.findings import Fix, Note

if TYPE_CHECKING:
    from vrspam.tables.schema import Schema

#: Why rows of a block cannot be used, by their numbers in it.
BadRows = dict[int, str]

_MEAN = Fix("missing", "mean")
_ZERO = Fix("missing", 0.0)


def missing_in(column: Any) -> Note:
    """The reason that a column has a missing value."""
    return Note(f"column {column!r} has a missing value (", _MEAN, " or ", _ZERO, " would fill it)")


def infinite_in(column: Any) -> str:
    """The reason that a column is infinite."""
    return f"column {column!r} is infinite"


def encode_rows(schema: Schema, rows: Any, sparse: bool) -> Any:
    """X of rows that were read, an arrow table or an array; of a CSR matrix, the matrix itself."""
    if sp.issparse(rows):
        return rows
    if isinstance(rows, np.ndarray):
        return check_dense(rows, schema, {})
    blocks = [encode_table(batch, schema, {}, sparse=sparse, filled=True) for batch in rows.to_batches()]
    return sp.csr_matrix(sp.vstack(blocks)) if sparse else np.concatenate(blocks)


def encode_table(
    table: Any, schema: Schema, bad: BadRows, *, sparse: bool, filled: bool, refuse_unknown: bool = False
) -> Any:
    """Return the numbers of a record batch and beside them an indicator for each category; note rows that are bad.

    Categories that the schema does not have are rows of zeros or, with `refuse_unknown`, bad; so are missing ones
    unless missing values are `filled`.
    """
    X = np.empty((table.num_rows, 0))
    if schema.numeric:
        X = table.select(list(schema.numeric)).to_tensor(null_to_nan=True, row_major=True).to_numpy()
    X = check_dense(X, schema, bad)
    if not schema.categorical and not sparse:
        return X

    codes = []
    for name, values in schema.categorical.items():
        column = table.column(name)
        codes.append(_category_codes(column, values))
        _note_categories(column, name, codes[-1], bad, filled=filled, refuse_unknown=refuse_unknown)
    widths = [len(values) for values in schema.categorical.values()]
    if sparse:
        indicators = [_indicators(places, width) for places, width in zip(codes, widths, strict=True)]
        return sp.csr_matrix(sp.hstack([sp.csr_matrix(X), *indicators], format="csr"))
    return _with_indicators(X, codes, widths)


def _category_codes(column: Any, values: Sequence[str]) -> np.ndarray:
    """The place of each row's category, -1 for a missing or an unknown one."""
    places = {value: place for place, value in enumerate(values)}
    coded = column.dictionary_encode()
    place_of_code = [places.get(text, -1) for text in coded.dictionary.to_pylist()]
    missing = len(place_of_code)
    return np.array([*place_of_code, -1], dtype=np.int32)[coded.indices.fill_null(missing).to_numpy()]


def _note_categories(
    column: Any, name: str, codes: np.ndarray, bad: BadRows, *, filled: bool, refuse_unknown: bool
) -> None:
    """Note the rows whose category is missing or unknown, where that is refused."""
    for row in np.flatnonzero(codes < 0).tolist():
        value = column[row].as_py()
        if value is None:
            if not filled:
                bad.setdefault(row, missing_in(name))
        elif refuse_unknown:
            what = f"column {name!r} holds {value!r}, a category that the schema does not have ("
            bad.setdefault(row, Note(what, Fix("unknown", "ignore"), " makes it a row of zeros)"))


def _indicators(codes: np.ndarray, width: int) -> sp.csr_matrix:
    """One column for each of `width` categories, as a CSR matrix."""
    known = codes >= 0
    indptr = np.concatenate([[0], np.cumsum(known)])
    return sp.csr_matrix((np.ones(indptr[-1]), codes[known], indptr), shape=(len(codes), width))


def _with_indicators(X: np.ndarray, codes: Sequence[np.ndarray], widths: Sequence[int]) -> np.ndarray:
    """The columns of X and behind them one for each category of each column."""
    out = np.zeros((X.shape[0], X.shape[1] + sum(widths)))
    out[:, : X.shape[1]] = X
    start = X.shape[1]
    for places, width in zip(codes, widths, strict=True):
        rows = np.flatnonzero(places >= 0)
        out[rows, start + places[rows]] = 1.0
        start += width
    return out


def check_dense(X: np.ndarray, schema: Schema, bad: BadRows) -> np.ndarray:
    """Fill missing values of the columns of numbers, or note their rows; note rows with infinite values."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):  # one cheap pass; the rest is for blocks with something in them
            return X
    missing = np.isnan(X)
    if schema.fill is not None:
        X = np.where(missing, np.asarray(schema.fill), X)
    else:
        note_rows(missing, schema.numeric, missing_in, bad, schema.made())
    note_rows(np.isinf(X), schema.numeric, infinite_in, bad)
    return X


def check_sparse(X: sp.csr_matrix, fill: tuple[float, ...] | None, first: int, bad: BadRows) -> None:
    """Fill or note missing and infinite values of a CSR matrix, in place; `first` is the index of its first column."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.data.sum()):
            return
    if fill is not None:
        X.data[np.isnan(X.data)] = fill[0]
    for row, index in _places_of(X, np.isnan(X.data)):
        what = f"the value of index {index + first} is missing ("
        bad.setdefault(row, Note(what, _ZERO, " would fill it)"))
    for row, index in _places_of(X, np.isinf(X.data)):
        bad.setdefault(row, f"the value of index {index + first} is infinite")


def _places_of(X: sp.csr_matrix, mask: np.ndarray) -> Iterator[tuple[int, int]]:
    """The row and the column of some entries of a CSR matrix."""
    for place in np.flatnonzero(mask):
        yield int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])


def note_rows(
    mask: np.ndarray,
    names: Sequence[str],
    reason_of: Callable[[Any], str],
    bad: BadRows,
    made: Mapping[str, tuple[Any, str]] = {},
) -> None:
    """Note the rows of a mask, whose columns have these names; of a column that was `made` its source is named."""
    for row in np.flatnonzero(mask.any(axis=1)).tolist():
        name = names[int(mask[row].argmax())]
        source = made.get(name, (name, ""))[0]
        bad.setdefault(row, reason_of(source))
