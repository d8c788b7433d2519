"""A table from which a model is to learn is read once: what its columns hold is learned while its rows pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vrspam._utils.roles import WEIGHTS
from vrspam.data.beside import plain_values, split_groups
from vrspam.data.first_look import FirstLook, first_look, request_of
from vrspam.data.infer import read_until_typed
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.block import Block
from vrspam.data.readers.problems import Problems
from vrspam.data.readers.reader import ColumnRequest
from vrspam.data.request import TableRequest
from vrspam.data.source import Source
from vrspam.data.usable_rows import TypedRows, raw_columns, usable_rows
from vrspam.tables.decide import ColumnRules
from vrspam.tables.errors import DataError
from vrspam.tables.frames import rows_of
from vrspam.tables.learner import TableLearner
from vrspam.tables.schema import Label, Schema

_ROWS_AT_ONCE = 1 << 15


class LearnedTable:
    """A table that is read once: its columns, the types that they are read as, and its rows in blocks.

    Attributes
    ----------
    request : TableRequest
        With two columns of groups where two were named together.
    names : list of str
        All columns of the file.
    look : FirstLook
        How columns are read, by the types of the first file.
    learner : TableLearner
    frames, raw, labels, places : lists
        Blocks of features as they are in the file, of columns beside them, of labels, and of row numbers; empty if rows
        are not held.
    counts : Counter
        The rows of each label.
    unlabelled : int
        The rows without one.
    """

    def __init__(self, source: Source, request: TableRequest, holds_rows: bool) -> None:
        self.source = source
        self.request = request
        self.holds_rows = holds_rows
        self.path = source.paths[0]
        self.names: list[str] = []
        self.look = FirstLook(Schema())
        self.learner = TableLearner()
        self.frames: list[Any] = []
        self.raw: list[Mapping[str, Any]] = []
        self.labels: list[np.ndarray] = []
        self.places: list[np.ndarray] = []
        self.counts: Counter[Label] = Counter()
        self.unlabelled = 0
        self._raw_names: list[str] = []
        self._rows_before = 0
        self._any_row_counts = False  # one of weight 0 does not

    def read(self) -> LearnedTable:
        """Learn the columns block by block, and hold the blocks if they are to stay in memory."""
        problems = Problems(self.request.on_error, leave_unlabelled=True)
        label = "reading" if self.request.progress else None
        for block in read_ahead(self.source.blocks(self._choose, _ROWS_AT_ONCE, problems, label)):
            self._add(block, problems)
        if not self.counts:
            raise problems.nothing_left(self.path)
        weights = self.request.roles.get(WEIGHTS)
        if not self._any_row_counts and self.names and weights is not None:
            what = f"{self.path}: column {weights!r} gives every row the weight 0"
            raise DataError(f"{what}, so that no row counts: correct the weights")
        self.unlabelled = problems.unlabelled
        problems.unlabelled = 0  # the doctor says how many
        problems.warn()
        return self

    def _choose(self, types: Mapping[str, Any]) -> ColumnRequest:
        """Choose what to read of a file whose columns have these types; the first file decides for all."""
        if not self.names:
            roles = split_groups(self.request.roles, types)
            self.request = replace(self.request, roles=roles)
            self.request.check_columns(self.path, types)
            self._look_at(types)
        columns = request_of(self.look.schema, keep=self._raw_names)
        return columns._replace(lenient=True, learns=True)

    def _look_at(self, types: Mapping[str, Any]) -> None:
        """Decide by the types of the first file how its columns are read, and begin to learn them."""
        import pyarrow.types as t

        request = self.request
        rules = ColumnRules(
            include=request.include,
            categorical=request.categorical,
            max_categories=request.max_categories,
            dates=request.dates,
            empty="leave out",
            declared=self.source.reader.declared,
            path=self.path,
        )
        self.look = first_look(types, request.label_column, rules, drop=[*request.drop, *request.no_features])
        schema = self.look.schema
        integers = [name for name in schema.numeric if t.is_integer(types[name])]
        self.learner = TableLearner(replace(rules, integers=integers, taken=self.look.taken))
        self.names = list(types)

        read_anyway = {*schema.inputs(), request.label_column}
        only_raw = [name for name in request.kept_raw if name not in read_anyway]
        self._raw_names = list(dict.fromkeys([*request.roles.values(), *only_raw]))

    def _add(self, block: Block, problems: Problems) -> None:
        """Learn from a block, and hold it if rows are to stay in memory."""
        import pyarrow as pa

        schema = self.look.schema
        typed = list(schema.readings)  # dates and times, which are read as they are
        first = self._rows_before + 1
        self._rows_before += block.n_rows
        if not block.rows:
            return
        usable = usable_rows(block, schema, problems, TypedRows(), keep=[*typed, *self._raw_names], first=first)
        if usable is None:
            return

        columns = dict(zip(usable.rows.column_names, usable.rows.columns, strict=True))
        columns.update({name: usable.raw[name] for name in typed})
        frame = pa.table({name: columns[name] for name in self.names if name in columns})
        counted = counted_part(frame, usable.raw, self.request.roles.get(WEIGHTS))
        if counted.num_rows:
            self.learner.add(counted, block.strays)
            self._any_row_counts = True

        y = np.asarray(usable.labels)
        labels, counts = np.unique(y, return_counts=True)
        self.counts.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))
        if self.holds_rows:
            self.frames.append(frame)
            self.raw.append({name: usable.raw[name] for name in self._raw_names})
            self.labels.append(y)
            self.places.append(usable.places)

    def read_exactly(self, names: Sequence[str]) -> dict[str, Any]:
        """Columns of the held rows, read once more as they are in the file: as floats they have lost digits."""
        import pyarrow as pa

        request = ColumnRequest(dict.fromkeys(names))
        problems = Problems(self.request.on_error)
        held = np.concatenate(self.places)
        pieces: dict[str, list[Any]] = {name: [] for name in names}
        rows_before = 0
        for block in self.source.blocks(lambda _: request, _ROWS_AT_ONCE, problems, None):
            are_held = np.flatnonzero(np.isin(block.numbers(rows_before + 1), held))
            rows_before += block.n_rows
            if are_held.size:
                for name, column in raw_columns(block, names).items():
                    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
                    pieces[name].append(whole.take(are_held))
        return {name: pa.chunked_array(parts) for name, parts in pieces.items()}


def learn_table(source: Source, request: TableRequest, *, holds_rows: bool) -> LearnedTable:
    """Read a table; it is begun again where rows show that a column has to be read in another way."""
    return read_until_typed(lambda: LearnedTable(source, request, holds_rows).read())


def counted_part(rows: Any, raw: Mapping[str, Any], weights: str | None) -> Any:
    """The rows of a table whose weight is not 0: others are no rows, and their values are not learned from.

    `raw` holds the column of `weights`; without its name all rows count.
    """
    if weights is None:
        return rows
    counted = np.flatnonzero(plain_values(raw, weights) != 0.0)  # wrong weights are refused later, with their places
    return rows if counted.size == rows.num_rows else rows_of(rows, counted)
