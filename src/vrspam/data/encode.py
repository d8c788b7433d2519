"""From a block of columns to (X, y): numbers checked and filled, categories one-hot, labels taken out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from vrspam._utils.messages import Message, Parameter
from vrspam.data.errors import NoLabel, Problems
from vrspam.data.readers.arrow_reader import as_table, column_values, numeric_values
from vrspam.data.readers.base import Block
from vrspam.data.schema import Schema

EncodedBlock = tuple[Any, np.ndarray | None, Any]
BadRows = dict[int, str | Message]
MISSING = "column {column!r} is missing ({mean} or {zero} would fill it)"
NO_LABEL = "the label in column {target!r} is missing"
INFINITE = "column {column!r} is infinite"
_FILLS = {"mean": Parameter("missing", "mean"), "zero": Parameter("missing", 0.0)}


def encode_block(
    block: Block,
    schema: Schema,
    problems: Problems,
    *,
    keep: Sequence[str] = (),
    sparse: bool = False,
    unknown: str = "ignore",
    raw: bool = False,
    zero_based: bool = False,
) -> EncodedBlock | None:
    """Return (X, y, kept columns) of a block, without its bad rows; None when no row is left.

    With `raw` missing values stay missing, and X is, of a table, an arrow table of the feature columns, numbers first:
    categories stay text, and only infinite numbers and missing labels are bad.
    """
    bad: BadRows = {}
    table, kept, y = block.table, None, block.y
    if table is None:
        schema = schema.keeping_missing() if raw else schema
        parts = [_checked_array(block.X, schema, zero_based, bad)]
    elif raw:
        for name in schema.numeric:
            values = column_values(table, name)
            if not np.isfinite(values.sum()):
                _note(np.isinf(values)[:, np.newaxis], (name,), INFINITE, bad)
        parts = [as_table(table, schema.columns)]
    else:
        parts = _numbers_and_codes(table, schema, schema.fill is not None, unknown, bad)
    if table is not None:
        y = None if schema.target is None else _labels(table.column(schema.target), schema, bad)
        kept = (table if block.raw is None else block.raw).select(list(keep))
    elif y is not None:
        _check_labels(y, schema, bad)
    if bad:
        good = block.without(bad, problems)
        if not good.size:
            return None
        parts = [part.take(good) if hasattr(part, "schema") else part[good] for part in parts]
        y, kept = None if y is None else y[good], None if kept is None else kept.take(good)
    if table is not None:
        return parts[0] if raw else _join(parts, schema, sparse), y, kept
    X = parts[0]
    if sparse != sp.issparse(X):
        X = sp.csr_matrix(X) if sparse else X.toarray()
    return X, y, None


def _checked_array(X: Any, schema: Schema, zero_based: bool, bad: BadRows) -> Any:
    """The chosen columns of LIBSVM text or of a `.npy` array, filled where they are missing."""
    if not sp.issparse(X):
        return check_dense(X, schema.numeric, schema.fill, bad)
    check_sparse(X, schema.fill, 0 if zero_based else 1, bad)
    first = 0 if schema.zero_based else 1
    return X[:, [int(name) - first for name in schema.numeric]] if schema.numeric else X


def encode_rows(rows: Any, schema: Schema, *, sparse: bool) -> Any:
    """Return X of rows that were read with missing values: these are filled, categories become one-hot.

    `rows` is an arrow table of the feature columns, or an array whose missing values are NaN.
    """
    if sp.issparse(rows):
        return rows
    if isinstance(rows, np.ndarray):
        return check_dense(rows, schema.numeric, schema.fill, {})
    parts = []
    for batch in rows.to_batches():
        parts.append(_join(_numbers_and_codes(batch, schema, True, "ignore", {}), schema, sparse))
    return sp.csr_matrix(sp.vstack(parts)) if sparse else np.concatenate(parts)


def check_dense(X: np.ndarray, names: tuple[str, ...], fill: tuple[float, ...] | None, bad: BadRows) -> np.ndarray:
    """Fill missing values, or note their rows; note rows with infinite values."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):  # one cheap pass; the rest is for blocks with something in them
            return X
    nan = np.isnan(X)
    if fill is not None:
        X = np.where(nan, np.asarray(fill), X)
    else:
        _note(nan, names, MISSING, bad)
    _note(np.isinf(X), names, INFINITE, bad)
    return X


def check_sparse(X: sp.csr_matrix, fill: tuple[float, ...] | None, first: int, bad: BadRows) -> None:
    """Fill or note missing and infinite values of a CSR matrix, in place; `first` is the index of its first column."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.data.sum()):
            return
    nan = np.isnan(X.data)
    if fill is not None:
        X.data[nan] = fill[0]
    for mask, what in ((np.isnan(X.data), "is missing ({zero} would fill it)"), (np.isinf(X.data), "is infinite")):
        for place in np.flatnonzero(mask):
            row = int(np.searchsorted(X.indptr, place, side="right")) - 1
            index = X.indices[place] + first
            bad.setdefault(row, Message(f"the value of index {{index}} {what}", index=index, **_FILLS))


def _note(mask: np.ndarray, names: tuple[str, ...], template: str, bad: BadRows) -> None:
    for row in np.flatnonzero(mask.any(axis=1)):
        bad.setdefault(int(row), Message(template, column=names[int(mask[row].argmax())], **_FILLS))


def _numbers_and_codes(table: Any, schema: Schema, filled: bool, unknown: str, bad: BadRows) -> list[np.ndarray]:
    """Return the numeric columns, and for each categorical one the positions of its categories."""
    X = check_dense(numeric_values(table, schema.numeric), schema.numeric, schema.fill, bad)
    return [X] + [
        _category_codes(table.column(name), name, values, filled, unknown, bad)
        for name, values in schema.categorical.items()
    ]


def _category_codes(
    column: Any, name: str, values: tuple[str, ...], filled: bool, unknown: str, bad: BadRows
) -> np.ndarray:
    """Return the position of each row's category, -1 for none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = pc.index_in(column, value_set=pa.array(values, pa.string())).fill_null(-1).to_numpy()
    if codes.size and codes.min() >= 0:
        return codes
    for row in np.flatnonzero(codes < 0):
        value = column[int(row)].as_py()
        if value is None and not filled:
            bad.setdefault(int(row), Message(MISSING, column=name, **_FILLS))
        elif value is not None and unknown == "error":
            reason = Message(
                "column {column!r} holds {value!r}, a category not met before ({ignore} would allow it)",
                column=name,
                value=value,
                ignore=Parameter("unknown", "ignore"),
            )
            bad.setdefault(int(row), reason)
    return codes


def _labels(column: Any, schema: Schema, bad: BadRows) -> np.ndarray:
    """Return labels as a NumPy array: bool, int64, float64 or text."""
    missing = column.is_null().to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(missing):
        bad.setdefault(int(row), NoLabel(NO_LABEL.format(target=schema.target)))
    if schema.target_type == "string":
        coded = column.dictionary_encode()
        words = np.array([*coded.dictionary.to_pylist(), ""], dtype=str)
        y = words[coded.indices.fill_null(len(words) - 1).to_numpy()]
    else:
        y = (column.fill_null(0) if missing.any() else column).to_numpy(zero_copy_only=False)
    _check_labels(y, schema, bad)
    return y


def _check_labels(y: np.ndarray, schema: Schema, bad: BadRows) -> None:
    if y.dtype.kind == "f" and not np.isfinite(y.sum()):
        for row in np.flatnonzero(~np.isfinite(y)):
            reason = "the label is not a finite number"
            bad.setdefault(int(row), NoLabel(reason) if np.isnan(y[row]) else reason)
    if schema.labels is not None:
        for row in np.flatnonzero(~np.isin(y, np.array(schema.labels))):
            known = ", ".join(map(repr, schema.labels))
            bad.setdefault(int(row), f"the label {y[row].item()!r} is none of {known}")


def _join(parts: list[np.ndarray], schema: Schema, sparse: bool) -> Any:
    """Put the indicators of the categories beside the numbers."""
    X, *codes = parts
    widths = [len(values) for values in schema.categorical.values()]
    if sparse:
        columns = [sp.csr_matrix(X)]
        for code, width in zip(codes, widths, strict=True):
            there = code >= 0
            indptr = np.concatenate([[0], np.cumsum(there)])
            columns.append(sp.csr_matrix((np.ones(indptr[-1]), code[there], indptr), shape=(len(code), width)))
        return sp.csr_matrix(sp.hstack(columns, format="csr"))
    if not codes:
        return X
    out = np.zeros((X.shape[0], X.shape[1] + sum(widths)))
    out[:, : X.shape[1]] = X
    start = X.shape[1]
    for code, width in zip(codes, widths, strict=True):
        rows = np.flatnonzero(code >= 0)
        out[rows, start + code[rows]] = 1.0
        start += width
    return out
