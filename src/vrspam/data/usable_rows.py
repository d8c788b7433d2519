"""The rows of a block that can be used, as they are or as numbers alone: labels are taken out, bad rows reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from vrspam.data.readers.block import Block, BrokenRow, as_table
from vrspam.data.readers.problems import NoLabel, Problems
from vrspam.tables.encode import BadRows, check_dense, check_sparse, encode_table, infinite_in, note_rows
from vrspam.tables.schema import Schema


class UsableRows(NamedTuple):
    """The rows of a block that can be used.

    Attributes
    ----------
    rows, labels : array, CSR matrix or arrow table; and array or None
        Both are None where only broken rows are left.
    raw : dict of str to arrow array
        The columns to keep, as they are in the file.
    places : array of int
        The number of each row in the file, from 1.
    broken : list of BrokenRow
        With `on_error="keep"`: bad rows and those that could not be read.
    """

    rows: Any
    labels: np.ndarray | None
    raw: Mapping[str, Any]
    places: np.ndarray
    broken: Sequence[BrokenRow] = ()


@dataclass(frozen=True)
class TypedRows:
    """Rows as they are: arrow tables of typed columns, numbers first, or arrays in which missing values are NaN.

    Categories stay text, and only infinite numbers make a row bad. Text among numbers is missing, and rows without a
    label are left out.
    """

    is_lenient = True

    def of(self, block: Block, schema: Schema, bad: BadRows, zero_based: bool) -> Any:
        """The rows of a block; bad ones are noted."""
        if block.table is None:
            return _chosen_columns(block.X, schema.keeping_missing(), bad, zero_based)
        for name in schema.numeric:
            values = block.table.column(name).to_numpy(zero_copy_only=False)  # missing ones are NaN
            note_rows(np.isinf(values)[:, np.newaxis], (name,), infinite_in, bad)
        return as_table(block.table, schema.columns)


@dataclass(frozen=True)
class EncodedRows:
    """Rows as numbers alone, dense or CSR: missing values are filled, each category is a column.

    What cannot be filled or read makes a row bad, as a missing label does; so does an unknown category, if it is
    refused.
    """

    sparse: bool
    refuse_unknown: bool
    is_lenient = False

    def of(self, block: Block, schema: Schema, bad: BadRows, zero_based: bool) -> Any:
        """The rows of a block; bad ones are noted."""
        if block.table is not None:
            return encode_table(
                block.table,
                schema,
                bad,
                sparse=self.sparse,
                filled=schema.fill is not None,
                refuse_unknown=self.refuse_unknown,
            )
        X = _chosen_columns(block.X, schema, bad, zero_based)
        if self.sparse == sp.issparse(X):
            return X
        return sp.csr_matrix(X) if self.sparse else X.toarray()


def _chosen_columns(X: Any, schema: Schema, bad: BadRows, zero_based: bool) -> Any:
    """The chosen columns of an array or a CSR matrix, with missing values filled."""
    if not sp.issparse(X):
        return check_dense(X, schema, bad)
    check_sparse(X, schema.fill, 0 if zero_based else 1, bad)
    if not schema.numeric:
        return X
    first = 0 if schema.zero_based else 1
    return X[:, [int(name) - first for name in schema.numeric]]


def usable_rows(
    block: Block,
    schema: Schema,
    problems: Problems,
    form: TypedRows | EncodedRows,
    *,
    keep: Sequence[str] = (),
    zero_based: bool = False,
    first: int = 1,
) -> UsableRows | None:
    """Return the rows of a block that can be used, in a form; None when nothing is left to tell.

    `keep` names columns to hand on as they are in the file; `zero_based` says where indices of a LIBSVM file start, and
    `first` is the number of the first row of the block.
    """
    bad: BadRows = {}
    rows = form.of(block, schema, bad, zero_based)
    labels = _labels_of(block, schema, bad, problems)
    kept = raw_columns(block, keep)

    good = block.without(bad, problems) if bad else np.arange(block.rows)
    numbers = block.numbers(first)
    broken = _broken_rows(block, bad, numbers, first, kept) if problems.on_error == "keep" else []
    places = numbers[good]
    if not good.size:
        if problems.on_error != "keep":
            return None
        return UsableRows(None, None, {name: column.take(good) for name, column in kept.items()}, places, broken)
    if bad:
        rows = rows.take(good) if hasattr(rows, "schema") else rows[good]
        labels = None if labels is None else labels[good]
        kept = {name: column.take(good) for name, column in kept.items()}
    return UsableRows(rows, labels, kept, places, broken)


def raw_columns(block: Block, names: Sequence[str]) -> dict[str, Any]:
    """Columns of a block as they are in the file."""
    if block.table is None:
        return {}
    in_file = block.table if block.raw is None else block.raw
    return {name: in_file.column(name) for name in names}


def _broken_rows(
    block: Block, bad: Mapping[int, Any], numbers: np.ndarray, first: int, kept: Mapping[str, Any]
) -> list[BrokenRow]:
    """What could not be read of a block, and its bad rows, in the order of the file."""
    broken = []
    n_unread = 0
    for part in block.broken:
        broken.append(BrokenRow(first + part.place + n_unread, f"{part.where}: {part.reason}", {}))
        n_unread += part.rows or 0
    for row, reason in bad.items():
        raw = {name: column.slice(row, 1) for name, column in kept.items()}
        broken.append(BrokenRow(int(numbers[row]), f"{block.where(row)}: {reason}", raw))
    return sorted(broken, key=lambda row: row.number)


# Labels


def _labels_of(block: Block, schema: Schema, bad: BadRows, problems: Problems) -> np.ndarray | None:
    """Return labels as a NumPy array: bool, int64, float64 or text without outer blanks; empty text is no label.

    A text that differs from a known label by case alone is that label. Where a model has taken several labels as one
    class, a new label is of this class as well, and is counted.
    """
    column = block.y
    if block.table is not None:
        column = None if schema.target is None else block.table.column(schema.target)
    if column is None:
        return None
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
