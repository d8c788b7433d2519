"""`TableLearner`: learns from the columns of a table, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.warnings import ColumnsLeftOut, TextRead, warn
from vrspam.tables import frames
from vrspam.tables.columns import Column, NumberColumn, TextColumn, TypedColumn
from vrspam.tables.decide import ColumnRules, ColumnUse, decide
from vrspam.tables.decisions import Decision
from vrspam.tables.errors import DataError
from vrspam.tables.kinds import typed_kind
from vrspam.tables.schema import Schema
from vrspam.tables.unseen import Strays
from vrspam.tables.writing import Writing

_NESTED = (list, tuple, dict, set, np.ndarray)


class TableLearner:
    """Learns from the columns of a table, block by block; `merge` adds what was learned from another part.

    Attributes
    ----------
    rules : ColumnRules
        What the user asked for.
    columns : dict
        What is known of each column, by its name.
    decisions : list of Decision
        How the columns are used, as soon as that is decided (`finish`).
    text_remarks : dict
        How columns of text were read, by their names, in the same way.
    """

    def __init__(self, rules: ColumnRules | None = None) -> None:
        self.rules = ColumnRules() if rules is None else rules
        self.columns: dict[Any, Column] = {}
        self.decisions: list[Decision] = []
        self.text_remarks: dict[Any, str] = {}

    def add(self, block: Any, strays: Strays | None = None) -> None:
        """Add the rows of a frame, and the texts that its reader found in columns of numbers."""
        block_columns = frames.columns_of(block)
        for name, column in zip(block_columns.names, block_columns.columns, strict=True):
            known = self.columns.get(name)
            if known is None or known.empty:  # the type of its first values says what it is
                self.columns[name] = self._new_column(name, column)
            self.columns[name].add(column)
        for name, texts in (strays or {}).items():
            if name in self.columns:
                self.columns[name].strays.update(texts)  # type: ignore[union-attr]

    def _new_column(self, name: Any, column: Any) -> Column:
        """What learns from a series, by the type of its values."""
        if _is_nested(column):
            raise ValueError(f"Column {name!r} holds lists or records: make a column of each part, or drop it.")
        if frames.is_numeric(column):
            return NumberColumn(name)
        kind = typed_kind(column)
        if kind is not None:
            return TypedColumn(name, kind, [NumberColumn(part) for part in kind.made(name)])
        is_text = name not in self.rules.declared and frames.texts_of(column) is not None
        return TextColumn(name, is_text)

    def merge(self, other: TableLearner) -> TableLearner:
        """Add what was learned from other rows of the same table."""
        for name, column in other.columns.items():
            known = self.columns.get(name)
            if known is None or known.empty:
                self.columns[name] = column
            elif not column.empty:
                known.merge(column)  # type: ignore[arg-type]
        return self

    def writing(self, writing: Writing) -> Writing:
        """How the table was written, from what its reader says: a fraction among the numbers shows a decimal sign."""
        numbers = [column for column in self.columns.values() if isinstance(column, NumberColumn)]
        if not writing.decimal and any(column.has_fractions for column in numbers):
            return replace(writing, decimal=".")
        return writing

    def finish(self) -> Schema:
        """Decide how the columns are used and return the schema; unknown means are NaN (`complete`)."""
        uses = {name: decide(column, self.rules) for name, column in self.columns.items()}
        self.decisions = [decision for use in uses.values() for decision in use.decisions]
        self.text_remarks = {name: use.text_remark for name, use in uses.items() if use.text_remark}
        numbers = self._numbers(uses)
        return Schema(
            numeric=tuple(numbers),
            categorical={str(name): use.categories for name, use in uses.items() if use.categories is not None},
            fill=tuple(column.mean for column in numbers.values()),
            readings={name: use.kind for name, use in uses.items() if use.kind is not None},
            ranges={name: (column.low, column.high) for name, column in numbers.items() if np.isfinite(column.low)},
            grouped=tuple(str(name) for name, use in uses.items() if use.grouped),
            identifiers=tuple(name for name, use in uses.items() if use.is_identifier),
            source=tuple(self.columns),
        )

    def _numbers(self, uses: Mapping[Any, ColumnUse]) -> dict[str, NumberColumn]:
        """All columns of numbers by their names; a column made from dates may not be called like another one."""
        taken = {*map(str, self.columns), *self.rules.taken}
        numbers: dict[str, NumberColumn] = {}
        for name, use in uses.items():
            for new, column in use.numbers.items():
                if new != str(name) and new in taken:
                    where = f"{self.rules.path}: " if self.rules.path else ""
                    words = f"column {name!r} holds dates, and {new!r} is the name of another column: rename one"
                    raise DataError(where + words)
                numbers[new] = column
        return numbers


def _is_nested(column: Any) -> bool:
    """Whether a series holds lists or records."""
    if column.dtype in (nw.List, nw.Array, nw.Struct):
        return True
    if column.dtype not in (nw.Object, nw.Unknown):
        return False
    return any(isinstance(cell, _NESTED) for cell in column.to_list())


def complete(schema: Schema, blocks: Iterable[Any]) -> Schema:
    """The schema with the means and ranges of columns that were `unfinished`, from rows that were read."""
    names = schema.unfinished
    if not names:
        return schema
    learner = TableLearner(ColumnRules(include=names))
    for block in blocks:
        learner.add(nw.from_native(block).select(names).to_native())
    return schema.with_numbers_of(learner.finish())


def learn_schema(frame_or_blocks: Any, rules: ColumnRules | None = None, *, means: bool = True) -> Schema:
    """Return the schema of a frame, or of a table in several frames of rows.

    Warn about text that is read as numbers or dates, and about identifiers. Means of numbers in text take a second
    look at the rows; without `means` they are NaN.
    """
    blocks = [frame_or_blocks] if frames.is_frame(frame_or_blocks) else [*frame_or_blocks]
    learner = TableLearner(rules)
    for block in blocks:
        learner.add(block)
    schema = learner.finish()
    _refuse_nothing_left(schema)
    for name, remark in learner.text_remarks.items():
        warn(TextRead(name, schema.readings[name].words, remark))
    if schema.identifiers:
        warn(ColumnsLeftOut(schema.identifiers))
    if not means:
        return schema
    return complete(schema, (schema.read(block)[0] for block in blocks))


def _refuse_nothing_left(schema: Schema) -> None:
    """Refuse a frame of which no column is a feature."""
    if schema.numeric or schema.categorical:
        return
    if len(schema.identifiers) == len(schema.source):
        raise ValueError("Every column looks like an identifier: give at least one column that does not.")
    raise ValueError("No feature is left: identifiers and columns that are left out do not count. Add a column.")
