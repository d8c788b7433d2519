"""Blocks of rows as (X, y): labels are taken out, and rows that cannot be used are reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from vrspam._utils.messages import Message
from vrspam.data.readers.block import Block, BrokenRow, as_table
from vrspam.data.readers.problems import NoLabel, Problems
from vrspam.tables.encode import INFINITE, BadRows, check_dense, check_sparse, encode_table, note_rows
from vrspam.tables.schema import Schema


class EncodedBlock(NamedTuple):
    """The rows of a block that can be used.

    Attributes
    ----------
    X, y : array, CSR matrix or arrow table; and array or None
        Both are None where only broken rows are left.
    kept : arrow record batch or None
        The columns to keep.
    broken : list of BrokenRow
        With `on_error="keep"`: bad rows and those that could not be read.
    """

    X: Any
    y: np.ndarray | None
    kept: Any
    broken: list[BrokenRow]


def encode_block(
    block: Block,
    schema: Schema,
    problems: Problems,
    *,
    keep: Sequence[str] = (),
    sparse: bool = False,
    refuse_unknown: bool = False,
    raw: bool = False,
    zero_based: bool = False,
) -> EncodedBlock | None:
    """Return the rows of a block that can be used; None when nothing is left.

    With `raw` missing values stay missing, and the X of a table is an arrow table of the feature columns, numbers
    first: categories stay text, and only infinite numbers and labels that cannot be used make a row bad.
    """
    bad: BadRows = {}
    if block.table is None:
        X = _encode_array(block.X, schema.keeping_missing() if raw else schema, bad, zero_based)
        labels, kept = block.y, None
    else:
        if raw:
            X = _typed_rows(block.table, schema, bad)
        else:
            filled = schema.fill is not None
            X = encode_table(block.table, schema, bad, sparse=sparse, filled=filled, refuse_unknown=refuse_unknown)
        labels = None if schema.target is None else block.table.column(schema.target)
        kept = (block.table if block.raw is None else block.raw).select(list(keep))
    y = None if labels is None else _labels(labels, schema, bad, problems)

    good = block.without(bad, problems) if bad else np.arange(block.rows)
    broken = _broken_rows(block, bad, good, kept) if problems.on_error == "keep" else []
    if not good.size:
        if problems.on_error != "keep":
            return None
        return EncodedBlock(None, None, None if kept is None else kept.take(good), broken)
    if bad:
        X = X.take(good) if hasattr(X, "schema") else X[good]
        y = None if y is None else y[good]
        kept = None if kept is None else kept.take(good)
    if block.table is None and sparse != sp.issparse(X):
        X = sp.csr_matrix(X) if sparse else X.toarray()
    return EncodedBlock(X, y, kept, broken)


def _encode_array(X: Any, schema: Schema, bad: BadRows, zero_based: bool) -> Any:
    """The chosen columns of an array or a CSR matrix, with missing values filled."""
    if not sp.issparse(X):
        return check_dense(X, schema, bad)
    check_sparse(X, schema.fill, 0 if zero_based else 1, bad)
    if not schema.numeric:
        return X
    first = 0 if schema.zero_based else 1
    return X[:, [int(name) - first for name in schema.numeric]]


def _typed_rows(table: Any, schema: Schema, bad: BadRows) -> Any:
    """The feature columns of a record batch as they are; rows with infinite numbers are noted."""
    for name in schema.numeric:
        values = table.column(name).to_numpy(zero_copy_only=False)  # missing ones are NaN
        note_rows(np.isinf(values)[:, np.newaxis], (name,), INFINITE, bad)
    return as_table(table, schema.columns)


def _broken_rows(block: Block, bad: Mapping[int, str | Message], good: np.ndarray, kept: Any) -> list[BrokenRow]:
    """What could not be read of a block, and its bad rows, in the order of the file."""
    in_order = [(part.place, 0, f"{part.where}: {part.reason}", None) for part in block.broken]
    for row, reason in bad.items():
        in_order.append((row, 1, f"{block.where(row)}: {reason}", None if kept is None else kept.slice(row, 1)))
    in_order.sort(key=lambda place_and_row: place_and_row[:2])
    return [BrokenRow(int(np.searchsorted(good, place)), reason, row) for place, _, reason, row in in_order]


# Labels


def _labels(column: Any, schema: Schema, bad: BadRows, problems: Problems) -> np.ndarray:
    """Return labels as a NumPy array: bool, int64, float64 or text without outer blanks; empty text is no label.

    A text that differs from a known label by case alone is that label. Where a model has taken several labels as one
    class, a new label is of this class as well, and is counted.
    """
    if isinstance(column, np.ndarray):
        y, missing = column, np.zeros(0, dtype=bool)
    elif schema.target_type == "string":
        y, missing = _text_labels(column, schema)
    else:
        missing = column.is_null().to_numpy(zero_copy_only=False)
        nothing = False if str(column.type) == "bool" else 0
        y = (column.fill_null(nothing) if missing.any() else column).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(missing).tolist():
        bad.setdefault(row, NoLabel(f"the label in column {schema.target!r} is missing"))
    if y.dtype.kind == "f":
        for row in np.flatnonzero(~np.isfinite(y)).tolist():
            reason = "the label is not a finite number"
            bad.setdefault(row, NoLabel(reason) if np.isnan(y[row]) else reason)
    if schema.labels is not None:
        _note_unknown_labels(y, schema.labels, bad, problems)
    return y


def _text_labels(column: Any, schema: Schema) -> tuple[np.ndarray, np.ndarray]:
    """Labels that are text, in their known spelling, and which of them are missing."""
    known = [str(label) for label in schema.labels or ()]
    spellings = {label.casefold(): label for label in known}
    coded = column.dictionary_encode()
    texts = [text.strip() for text in (*coded.dictionary.to_pylist(), "")]
    labels = np.array([text if text in known else spellings.get(text.casefold(), text) for text in texts], dtype=str)
    codes = coded.indices.fill_null(len(labels) - 1).to_numpy()
    return labels[codes], (labels == "")[codes]


def _note_unknown_labels(y: np.ndarray, known: Sequence[Any], bad: BadRows, problems: Problems) -> None:
    """Note the rows whose label is not known; if several labels are one class, count the label instead."""
    unknown = np.flatnonzero(~np.isin(y, np.array(known))).tolist()
    joins_class = problems.leave_unlabelled and len(known) > 2
    listed = ", ".join(map(repr, known))
    for row in unknown:
        if not joins_class:
            bad.setdefault(row, f"the label {y[row].item()!r} is none of {listed}")
        elif row not in bad:
            problems.new_labels[str(y[row])] += 1
