"""Open a training file once: its columns, labels as booleans, columns beside the features, and notes on the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vrspam._utils.findings import Finding
from vrspam._utils.messages import Parameter
from vrspam._utils.names import COPIES, INDEPENDENT
from vrspam._utils.roles import BY, GROUPS, GROUPS_TOO, ORDER, ROLES, TIME, TIMES, WEIGHTS, WITHIN, named_by
from vrspam._utils.validation import LARGEST_EXACT
from vrspam.data import Chunks, DataError, Schema
from vrspam.data.beside import beside_values, column_series, plain_values, split_groups, without_value
from vrspam.data.encode import encode_block
from vrspam.data.infer import NO_FEATURE, read_until_typed, schema_of
from vrspam.data.labels import choose_positive, one_spelling
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.block import Block, as_table
from vrspam.data.readers.problems import Problems, no_column
from vrspam.data.readers.reader import ColumnRequest
from vrspam.data.request import FirstLook, first_look, request_of
from vrspam.data.rows import stack
from vrspam.data.source import Source
from vrspam.pairs import whole_units
from vrspam.tables.decide import ColumnRules
from vrspam.tables.frames import rows_of
from vrspam.tables.learner import TableLearner, complete
from vrspam.tables.schema import Label
from vrspam.tool.conflicts import holds_labels
from vrspam.tool.plan import TrainPlan

_ROWS_AT_ONCE = 1 << 15
_LARGEST = 1e150  # whose square is finite, with room for sums

# how rows are read for training: as they are in the file, without rows that have no label
_ROWS: dict[str, Any] = {"unknown": "ignore", "raw": True, "lenient": True}


@dataclass(frozen=True)
class OpenedTable:
    """Labelled rows of a file, in memory or to be read block by block as often as needed.

    Rows are arrow tables of typed columns, or arrays for files without names; `encode` makes features of them.

    Attributes
    ----------
    chunks : Chunks
    positive : label
    notes : tuple of Finding
    schema : Schema
        That of `chunks`.
    loaded : tuple or None
        All rows, and whether each is positive, if they are in memory.
    plan : TrainPlan
    beside : dict of str to array
        Weights, groups, times and strata of rows in memory, by their roles (`vrspam._utils.roles`).
    kept : dict of str to column
        Columns that were asked for, as they are in the file.
    names : tuple of str
        All columns of the file.
    counts : dict of label to int
        The rows of each label.
    unlabelled : int
        Rows that were left out because they have no label.
    scaling : callable
        Of encoded blocks.
    """

    chunks: Chunks
    positive: Label
    notes: tuple[Finding, ...] = ()
    schema: Schema = field(default_factory=Schema)
    loaded: tuple[Any, np.ndarray] | None = None
    plan: TrainPlan = field(default_factory=TrainPlan)
    beside: Mapping[str, np.ndarray] = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    counts: Mapping[Label, int] = field(default_factory=dict)
    unlabelled: int = 0
    scaling: Callable[[Any], Any] = lambda X: X

    @property
    def weights(self) -> np.ndarray | None:
        """The weights of rows in memory."""
        return self.beside.get(WEIGHTS)

    @property
    def groups(self) -> np.ndarray | None:
        """The number of each row's group."""
        return self.beside.get(GROUPS)

    @property
    def time(self) -> np.ndarray | None:
        """When each row was known."""
        return self.beside.get(TIME)

    @property
    def times(self) -> np.ndarray | None:
        """Times of events (positive rows) or of censoring; or an order, negated."""
        return self.beside.get(TIMES)

    @property
    def within(self) -> np.ndarray | None:
        """The number of each row's stratum: only rows of the same one are compared."""
        return self.beside.get(WITHIN)

    @property
    def relative_weights(self) -> np.ndarray | None:
        """The weights of rows in memory with the mean 1: only their ratios count, not their unit."""
        return None if self.weights is None else self.weights / self.weights.mean()

    @property
    def whole(self) -> np.ndarray | None:
        """The units that folds keep together: groups, strata, or groups and strata joined; None without any."""
        if self.within is None or self.groups is None:
            return self.within if self.groups is None else self.groups
        return whole_units(self.within, self.groups)

    def take(self, places: np.ndarray) -> OpenedTable:
        """The table with some of its rows, all in memory."""
        rows, positive = self.load_rows()
        return replace(
            self,
            loaded=(rows_of(rows, places), positive[places]),
            beside={role: values[places] for role, values in self.beside.items()},
            kept={name: column.take(places) for name, column in self.kept.items()},
        )

    def with_groups(self, groups: np.ndarray) -> OpenedTable:
        """The table with other groups of rows."""
        return replace(self, beside={**self.beside, GROUPS: groups})

    def blocks(self) -> Iterator[tuple[Any, np.ndarray, np.ndarray | None]]:
        """Yield (rows as they are, whether each is positive, weights or None); rows in memory are one block."""
        if self.loaded is not None:
            yield *self.loaded, self.weights
            return
        name = self.plan.weights
        for rows, labels, *kept in self.chunks:
            weights = None
            if name is not None:
                weights = beside_values(kept[0], {WEIGHTS: name}, self.chunks.source.paths[0])[WEIGHTS]
            yield rows, labels == self.positive, weights

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield blocks of (encoded and scaled rows, whether each is positive), with weights where there are some."""
        for rows, positive, weights in self.blocks():
            X = self.scaling(self.encode(rows))
            yield (X, positive) if weights is None else (X, positive, weights)

    def encode(self, rows: Any) -> Any:
        """Features of rows: missing numbers are replaced by their means, categories are one-hot."""
        return self.schema.encode(rows, sparse=self.chunks.sparse)

    def first_rows(self, count: int = 20) -> Any:
        """A few rows as they are."""
        rows, *_ = next(iter(self.blocks()))
        return rows_of(rows, slice(0, count))

    def load_rows(self) -> tuple[Any, np.ndarray]:
        """All rows as they are, and whether each is positive."""
        if self.loaded is not None:
            return self.loaded
        blocks = list(self.blocks())
        if not blocks:
            raise self.chunks.nothing_left()
        return stack([rows for rows, *_ in blocks]), np.concatenate([positive for _, positive, _ in blocks])


def open_labelled(path: Any, plan: TrainPlan, keep: Sequence[str] | None = None, **reading: Any) -> OpenedTable:
    """Find the columns and labels of a file, as a plan says.

    If there are several labels, all but `positive` are negative; by default it is the larger of two. With `event`, that
    column holds the labels, and `target` the times. If `event` is "none", `target` holds an order: its negated numbers
    are the times, and all rows have their event. `keep` names columns to keep in memory as they are in the file, beside
    those that only name the rows; None keeps nothing. With `streaming` the rows of a table are not kept in memory.
    `reading` holds more arguments of `vrspam.data.source.Source.open`.
    """
    source = Source.open(
        path,
        plan.format,
        delimiter=plan.delimiter,
        encoding=plan.encoding,
        zero_based=plan.zero_based,
        **reading,
    )
    check_target(source, plan.target)
    if keep and (plan.streaming or not source.reader.tabular):
        words = "{option} needs the named columns of a table in memory: leave it out"
        option = "by" if getattr(plan, "by", ()) else "beside"
        raise DataError(words, option=Parameter(option, list(getattr(plan, option, keep))))
    if not source.reader.tabular:
        return _open_array(source, plan)
    reading_of_table = read_until_typed(lambda: TableReading(source, plan, tuple(keep or ())).read())
    return _opened(reading_of_table, source, plan, keep)


def columns_of_roles(plan: TrainPlan) -> dict[str, str]:
    """The columns beside the features that a plan names, by their roles."""
    is_order = plan.event == INDEPENDENT
    named = {
        WEIGHTS: plan.weights,
        GROUPS: None if plan.groups in (INDEPENDENT, COPIES) else plan.groups,
        TIME: plan.time,
        TIMES: None if plan.event is None or is_order else plan.target,
        ORDER: plan.target if is_order else None,
        WITHIN: plan.within,
    }
    return {role: str(name) for role, name in named.items() if name}


def column_of_labels(plan: TrainPlan) -> str | None:
    """The column that holds the labels: the target, or with times the events; an order is its own."""
    return plan.target if plan.event in (None, INDEPENDENT) else plan.event


def _on_error(plan: TrainPlan) -> str:
    return "skip" if plan.skip_errors else "raise"


def _open_array(source: Source, plan: TrainPlan) -> OpenedTable:
    """Open a file whose columns have numbers instead of names."""
    roles = columns_of_roles(plan)
    for option in ("event", "drop", "include", "categorical", *roles):
        if option in roles or getattr(plan, option):
            source.check_named(option)
    schema = schema_of(
        source,
        column_of_labels(plan),
        labels=True,
        missing=0.0 if source.reader.sparse else "mean",
        problems=Problems(_on_error(plan), leave_unlabelled=True),
        progress=plan.progress,
    )
    chunks = Chunks(source, schema, on_error=_on_error(plan), progress=plan.progress, **_ROWS)
    positive = choose_positive(schema.labels or (), plan.positive)[1]
    return OpenedTable(chunks, positive, schema=schema, plan=plan)


def _opened(table: TableReading, source: Source, plan: TrainPlan, keep: Sequence[str] | None) -> OpenedTable:
    """The table that was read, with its schema and its labels."""
    spellings = one_spelling(table.counts)
    counts: Counter[Label] = Counter()
    for spelling, label in spellings.items():
        counts[label] += table.counts[spelling]
    known: tuple[Label, ...] | None = None
    positive: Label = ""
    if plan.event != INDEPENDENT:
        known, positive = choose_positive(counts, plan.positive, plan.event)
    schema = _learned_schema(table, source, known)
    notes = [decision.finding() for decision in table.look.decisions]
    notes += _notes_on_spellings(spellings, table.counts)
    notes += [decision.finding() for decision in table.learner.decisions]

    chunks = Chunks(
        source,
        schema,
        keep=[plan.weights] if plan.weights else [],
        on_error=_on_error(plan),
        progress=plan.progress,
        **_ROWS,
    )
    opened = OpenedTable(
        chunks,
        positive,
        plan=plan,
        names=tuple(table.names),
        counts=counts,
        unlabelled=table.unlabelled,
    )
    if plan.streaming:
        chunks.schema = _completed_by_stream(chunks, plan)
    else:
        others = stack(table.others)
        with ThreadPoolExecutor() as pool:  # arrow releases Python's lock
            frame = stack(list(pool.map(lambda part: _features(schema, part), table.frames)))
        chunks.schema = complete(schema, [counted_part(frame, others, plan.weights)])
        spelt_positive = [spelling for spelling, label in spellings.items() if label == positive]
        is_positive = np.isin(np.concatenate(table.labels), spelt_positive)
        if plan.event == INDEPENDENT:
            is_positive = np.ones(is_positive.size, dtype=bool)
        notes += _notes_on_groups(others, table.roles)
        opened = replace(
            opened,
            loaded=(frame, is_positive),
            beside=beside_values(others, table.roles, source.paths[0]),
            kept={} if keep is None else _kept_columns(table.frames, others, schema, (*schema.identifiers, *keep)),
        )
    refuse_overflow(chunks.schema.ranges)
    return replace(opened, notes=tuple(notes), schema=chunks.schema)


def _learned_schema(table: TableReading, source: Source, labels: tuple[Label, ...] | None) -> Schema:
    """The schema of a table that was read through; means of numbers in text are still unknown."""
    path = source.paths[0]
    schema = replace(
        table.learner.finish(),
        target=table.target,
        target_type=table.look.schema.target_type,
        labels=labels,
        source=(),
        writing=table.learner.writing(source.reader.writing(path)),
    )
    if schema.columns:
        return schema
    names = schema.identifiers
    if not names:
        raise DataError(NO_FEATURE, path=path)
    words = "{path}: no feature column is left: {names} looks like an identifier; keep it with {include}"
    if len(names) > 1:
        words = "{path}: no feature column is left: {names} look like identifiers; keep one with {include}"
    raise DataError(words, path=path, names=", ".join(map(repr, names)), include=Parameter("include", [names[0]]))


def _features(schema: Schema, part: Any) -> Any:
    """The feature columns of a part of a table, read as numbers where they are."""
    return schema.read(part)[0].select(list(schema.columns))


def _completed_by_stream(chunks: Chunks, plan: TrainPlan) -> Schema:
    """The schema of chunks with the means of numbers in text, by reading them again if there are such."""
    blocks = (
        counted_part(rows, kept[0] if kept else None, plan.weights) for rows, _, *kept in chunks.keeping(chunks.keep)
    )
    return complete(chunks.schema, blocks)


def _notes_on_spellings(spellings: Mapping[Label, Label], counts: Mapping[Label, int]) -> Iterator[Finding]:
    """Say which labels differ by case alone."""
    for spelling, label in spellings.items():
        if spelling != label:
            words = f"the label {spelling!r} ({counts[spelling]:,} rows) differs from {label!r} by case alone"
            yield Finding("labels", "note", f"{words}, and is the same class")


def _notes_on_groups(others: Any, roles: Mapping[str, str]) -> Iterator[Finding]:
    """Say how many rows are without a group."""
    for role in (GROUPS, GROUPS_TOO):
        if role not in roles:
            continue
        alone = int(without_value(column_series(others, roles[role])).sum())
        if alone:
            sentence = f"{alone:,} rows have no {roles[role]!r}: each counts as a group of its own"
            yield Finding("missing-values", "note", sentence, columns=[roles[role]])


def refuse_overflow(ranges: Mapping[str, tuple[float, float]], most: float = _LARGEST) -> None:
    """Refuse numbers whose squares overflow, by the name of their column."""
    for name, (low, high) in ranges.items():
        largest = max(-low, high)
        if largest > most:
            raise DataError(
                "column {column!r} holds numbers up to {largest}, whose squares overflow: rescale it so that it stays "
                "below {most}, or leave it out with {drop}",
                column=name,
                largest=f"{largest:.2g}",
                most=f"{most:.0e}",
                drop=Parameter("drop", [name]),
            )


def check_target(source: Source, target: str | None) -> None:
    """Ask for the label column, unless the rows of the file carry their labels."""
    if target is None and not source.reader.sparse:
        raise DataError("which column of {path} holds the labels? Name it with {target}", path=source.paths[0])


class TableReading:
    """A table that is read once: its columns, the types that they are read as, and its rows in blocks.

    Attributes
    ----------
    target : str
        The column of labels.
    roles : dict of str to str
        The columns beside the features, by their roles.
    names : list of str
        All columns of the file.
    look : FirstLook
        How columns are read, by the types of the first file.
    learner : TableLearner
    frames, others, labels : lists
        Blocks of features as they are, of the columns of `roles` and those that are kept, and of labels; empty for a
        stream.
    counts : Counter
        The rows of each label.
    unlabelled : int
        The rows without one.
    """

    def __init__(self, source: Source, plan: TrainPlan, keep: Sequence[str]) -> None:
        self.source = source
        self.plan = plan
        self.keep = keep
        self.path = source.paths[0]
        self.target = str(column_of_labels(plan))
        self.roles = columns_of_roles(plan)
        self.names: list[str] = []
        self.look = FirstLook(Schema())
        self.learner = TableLearner()
        self.frames: list[Any] = []
        self.others: list[Any] = []
        self.labels: list[np.ndarray] = []
        self.counts: Counter[Label] = Counter()
        self.unlabelled = 0
        self._raw: list[str] = []  # columns of `keep` that are not read for anything else
        self._any_row_counts = False  # one of weight 0 does not

    def read(self) -> TableReading:
        """Learn the columns block by block, and keep the blocks if they are to stay in memory."""
        problems = Problems(_on_error(self.plan), leave_unlabelled=True)
        label = "reading" if self.plan.progress else None
        for block in read_ahead(self.source.blocks(self._choose, _ROWS_AT_ONCE, problems, label)):
            if block.rows:
                self._add(block, problems)
        if not self.counts:
            raise problems.nothing_left(self.path)
        if not self._any_row_counts and self.names and WEIGHTS in self.roles:
            words = "{path}: column {column!r} gives every row the weight 0, so that no row counts: correct the weights"
            raise DataError(words, path=self.path, column=self.roles[WEIGHTS])
        self.unlabelled = problems.unlabelled
        problems.unlabelled = 0  # the doctor says how many
        problems.warn()
        return self

    @property
    def _others_read(self) -> list[str]:
        """The columns that are passed on as they are."""
        return list(dict.fromkeys([*self.roles.values(), *self._raw]))

    def _choose(self, types: Mapping[str, Any]) -> ColumnRequest:
        """Choose what to read of a file whose columns have these types; the first file decides for all."""
        if not self.names:
            split_groups(self.roles, types)
            self._check_columns(types)
            self._look_at(types)
        return request_of(self.look.schema, keep=self._others_read)._replace(lenient=True, learns=True)

    def _check_columns(self, types: Mapping[str, Any]) -> None:
        """Refuse columns that are asked for twice or are not in the file.

        Labels may not be left out, kept or used as weights, groups or times. Weights, groups, times and columns to keep
        must be in the file, and the first three may not be left out.
        """
        if self.target in self.plan.drop:
            words = "column {column!r} holds the labels and cannot be left out: name another with {drop}"
            raise DataError(words, column=self.target, drop=Parameter("drop"))
        for role, name in self.roles.items():
            if name == self.target and role != ORDER:
                raise holds_labels(name, role)
            if name in self.plan.drop:
                words = "column {column!r} is left out by {drop} and named by {option}: name it once"
                raise DataError(words, column=name, drop=Parameter("drop"), option=named_by(role))
            if name not in types:
                raise DataError(no_column(self.path, name, types))
        for name in self.keep:
            if name not in types:
                raise DataError(no_column(self.path, name, types))
            if name == self.target:
                raise holds_labels(name, BY)

    def _look_at(self, types: Mapping[str, Any]) -> None:
        """Decide by the types of the first file how its columns are read, and begin to learn them."""
        import pyarrow.types as t

        plan = self.plan
        rules = ColumnRules(
            include=plan.include,
            categorical=plan.categorical,
            max_categories=plan.max_categories,
            dates=plan.dates,
            empty="leave out",
            declared=self.source.reader.declared,
            path=self.path,
        )
        features_too = [name for role, name in self.roles.items() if ROLES[role].is_feature]
        if GROUPS_TOO in self.roles:  # each of two columns says more than which group a row is of
            features_too.append(self.roles[GROUPS])
        no_features = [name for name in self.roles.values() if name not in features_too]
        self.look = first_look(types, self.target, rules, drop=[*plan.drop, *no_features])
        integers = [name for name in self.look.schema.numeric if t.is_integer(types[name])]
        self.learner = TableLearner(replace(rules, integers=integers, taken=self.look.taken))
        self.names = list(types)
        read = {*self.look.schema.inputs(), *self.roles.values(), self.target}
        self._raw = [name for name in self.keep if name not in read]

    def _add(self, block: Block, problems: Problems) -> None:
        """Learn from a block, and keep it if rows are to stay in memory."""
        import pyarrow as pa

        schema = self.look.schema
        typed = list(schema.readings)  # dates and times, which are read as they are
        encoded = encode_block(block, schema, problems, keep=[*typed, *self._others_read], raw=True)
        if encoded is None:
            return
        columns = dict(zip(encoded.X.column_names, encoded.X.columns, strict=True))
        columns.update({name: encoded.kept.column(name) for name in typed})
        frame = pa.table({name: columns[name] for name in self.names if name in columns})
        counted = counted_part(frame, encoded.kept, self.roles.get(WEIGHTS))
        if counted.num_rows:
            self.learner.add(counted, block.strays)
            self._any_row_counts = True
        y = np.asarray(encoded.y)
        labels, counts = np.unique(y, return_counts=True)
        self.counts.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))
        if not self.plan.streaming:
            self.frames.append(frame)
            self.others.append(as_table(encoded.kept, self._others_read))
            self.labels.append(y)


def counted_part(rows: Any, beside: Any, weights: str | None) -> Any:
    """The rows of a table whose weight is not 0: others are no rows, and their values are not learned from.

    `beside` is a table of columns that holds the `weights`; without their name all rows count.
    """
    if weights is None:
        return rows
    counted = np.flatnonzero(plain_values(beside, weights) != 0.0)  # wrong weights are refused later, with their places
    return rows if counted.size == rows.num_rows else rows_of(rows, counted)


def _kept_columns(parts: list[Any], others: Any, schema: Schema, names: Iterable[str]) -> dict[str, Any]:
    """Identifiers and other columns not used as features, as they are in the file; without columns that changed."""
    kept: dict[str, Any] = {}
    for name in names:
        if name in others.column_names:
            kept[name] = others.column(name)
        elif name not in schema.columns and name in parts[0].column_names:
            column = _as_in_file(parts, name)
            if column is not None:
                kept[name] = column
    return kept


def _as_in_file(parts: list[Any], name: str) -> Any:
    """A column of text, or of whole numbers, as the file writes it; None for others, which have changed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pa.chunked_array([chunk for part in parts for chunk in part.column(name).chunks])
    if pa.types.is_string(column.type):
        return column
    if not pa.types.is_floating(column.type):
        return None
    largest = pc.max(pc.abs(column)).as_py()
    if largest is None or largest >= LARGEST_EXACT:
        return None
    return column.cast(pa.int64()).cast(pa.string())  # whole numbers, all different
