"""Ways into the rows of files: to learn from them, with the columns of a known schema, or without features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from vrspam._utils.findings import Finding, Fix
from vrspam._utils.roles import GROUPS, GROUPS_TOO, ROLES, WEIGHTS
from vrspam.data.beside import beside_values, column_series, split_groups, without_value
from vrspam.data.first_look import first_look, request_of
from vrspam.data.infer import NO_FEATURE, schema_of
from vrspam.data.labels import choose_positive, coded_labels, one_spelling
from vrspam.data.learning import LearnedTable, counted_part, learn_table
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.arrow import type_kind
from vrspam.data.readers.problems import Problems
from vrspam.data.readers.reader import ColumnRequest
from vrspam.data.request import TableRequest
from vrspam.data.rows import as_in_file, has_lost_digits, stack, stack_columns
from vrspam.data.source import Source
from vrspam.data.stream import ReadingRules, Stream
from vrspam.data.table import Origin, Table
from vrspam.tables.decide import ColumnRules
from vrspam.tables.errors import DataError
from vrspam.tables.learner import complete
from vrspam.tables.schema import Label, Schema

_LARGEST = 1e150  # whose square is finite, with room for sums


def open_table(path: Any, request: TableRequest, **reading: Any) -> Table:
    """Learn the columns of a table, and hold its labelled rows in memory: the file is read once.

    Parameters
    ----------
    path : path, directory, pattern or list of paths; or frame
    request : TableRequest
        The columns of labels, weights, groups, ..., and how features are chosen.
    **reading
        `chunk_bytes` of `vrspam.data.read_chunks`.

    Returns
    -------
    Table
    """
    source = request.open_source(path, **reading)
    request.check_target(source)
    if not source.reader.tabular:
        return _stream_without_names(source, request).as_table()

    learned = learn_table(source, request, holds_rows=True)
    labels = _labels_of(learned)
    schema = _learned_schema(learned, labels.known)
    raw = stack_columns(learned.raw)
    with ThreadPoolExecutor() as pool:  # arrow releases Python's lock
        rows = stack(list(pool.map(lambda frame: _features(schema, frame), learned.frames)))
    schema = complete(schema, [counted_part(rows, raw, learned.request.roles.get(WEIGHTS))])
    refuse_overflow(schema.ranges)

    positive = np.isin(np.concatenate(learned.labels), labels.spelt_positive)
    if request.is_order:
        positive = np.ones(positive.size, dtype=bool)
    roles = learned.request.roles
    return Table(
        rows=rows,
        schema=schema,
        positive=positive,
        label=labels.positive,
        beside=beside_values(raw, roles, source.paths[0]),
        named=roles,
        raw=_shown_columns(learned, raw, schema),
        places=np.concatenate(learned.places),
        findings=(*_findings(learned, labels), *_on_missing_groups(raw, roles)),
        origin=_origin(learned, labels),
    )


def open_stream(path: Any, request: TableRequest) -> Stream:
    """Learn the columns of files larger than memory: they are read once now, and block by block when asked for."""
    source = request.open_source(path)
    request.check_target(source)
    request.refuse_raw()
    if not source.reader.tabular:
        return _stream_without_names(source, request)

    learned = learn_table(source, request, holds_rows=False)
    labels = _labels_of(learned)
    weights = request.roles.get(WEIGHTS)
    stream = Stream(
        source,
        _learned_schema(learned, labels.known),
        ReadingRules(on_error=request.on_error, progress=request.progress),
        keep=[] if weights is None else [weights],
        label=labels.positive,
        named={} if weights is None else {WEIGHTS: weights},
        findings=tuple(_findings(learned, labels)),
        origin=_origin(learned, labels),
    )
    silent = replace(stream, rules=replace(stream.rules, progress=False))
    rows_that_count = (counted_part(block.rows, block.raw, weights) for block in silent.blocks())
    schema = complete(stream.schema, rows_that_count)
    refuse_overflow(schema.ranges)
    return replace(stream, schema=schema)


def _stream_without_names(source: Source, request: TableRequest) -> Stream:
    """Open files whose columns have numbers instead of names."""
    request.check_without_names(source)
    schema = schema_of(
        source,
        request.target,
        labels=True,
        missing=0.0 if source.reader.sparse else "mean",
        problems=Problems(request.on_error, leave_unlabelled=True),
        progress=request.progress,
    )
    rules = ReadingRules(on_error=request.on_error, progress=request.progress)
    positive = choose_positive(schema.labels or (), request.positive)[1]
    return Stream(source, schema, rules, label=positive, origin=Origin(source.paths, has_names=False))


# What was learned


class _Labels:
    """The labels of a table, in one spelling each, with the number of their rows.

    `known` are those of the schema, None for an order; `spelt_positive` are all spellings of the positive label.
    """

    def __init__(self, spelling_counts: Mapping[Label, int], request: TableRequest) -> None:
        self.spelling_counts = spelling_counts
        self.spellings = one_spelling(spelling_counts)
        self.counts: Counter[Label] = Counter()
        for spelling, label in self.spellings.items():
            self.counts[label] += spelling_counts[spelling]
        self.known: tuple[Label, ...] | None = None
        self.positive: Label = ""
        if not request.is_order:
            self.known, self.positive = choose_positive(self.counts, request.positive, request.event)

    @property
    def spelt_positive(self) -> list[Label]:
        return [spelling for spelling, label in self.spellings.items() if label == self.positive]


def _labels_of(learned: LearnedTable) -> _Labels:
    return _Labels(learned.counts, learned.request)


def _learned_schema(learned: LearnedTable, labels: tuple[Label, ...] | None) -> Schema:
    """The schema of a table that was read through; means of numbers in text are still unknown."""
    schema = replace(
        learned.learner.finish(),
        target=learned.request.label_column,
        target_type=learned.look.schema.target_type,
        labels=labels,
        source=(),
        writing=learned.learner.writing(learned.source.reader.writing(learned.path)),
    )
    if schema.columns:
        return schema
    names = schema.identifiers
    if not names:
        raise DataError(NO_FEATURE.format(path=learned.path))
    what, keep = "looks like an identifier", "keep it with "
    if len(names) > 1:
        what, keep = "look like identifiers", "keep one with "
    listed = ", ".join(map(repr, names))
    sentence = f"{learned.path}: no feature column is left: {listed} {what}; {keep}"
    raise DataError(sentence, Fix("include", [names[0]]))


def _features(schema: Schema, frame: Any) -> Any:
    """The feature columns of a part of a table, read as numbers where they are."""
    return schema.read(frame)[0].select(list(schema.columns))


def _shown_columns(learned: LearnedTable, raw: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Identifiers and columns that were asked for, as they are in the file, where features do not hold them."""
    shown = {}
    for name in (*schema.identifiers, *learned.request.kept_raw):
        if name in raw:
            shown[name] = raw[name]
        elif name not in schema.columns and name in learned.frames[0].column_names:
            shown[name] = as_in_file([frame.column(name) for frame in learned.frames])
    rounded = [name for name, column in shown.items() if has_lost_digits(column)]
    if rounded:
        shown.update(learned.read_exactly(rounded))
    return shown


def _origin(learned: LearnedTable, labels: _Labels) -> Origin:
    return Origin(
        paths=learned.source.paths,
        columns=tuple(learned.names),
        counts=labels.counts,
        unlabelled=learned.unlabelled,
    )


def _findings(learned: LearnedTable, labels: _Labels) -> Iterator[Finding]:
    """What was decided about columns, and which labels differ by case alone."""
    for decision in learned.look.decisions:
        yield decision.finding()
    for spelling, label in labels.spellings.items():
        if spelling != label:
            count = f"{labels.spelling_counts[spelling]:,} rows"
            sentence = f"the label {spelling!r} ({count}) differs from {label!r} by case alone, and is the same class"
            yield Finding("labels", "note", sentence)
    for decision in learned.learner.decisions:
        yield decision.finding()


def _on_missing_groups(raw: Mapping[str, Any], roles: Mapping[str, str]) -> Iterator[Finding]:
    """Say how many rows are without a group."""
    for role in (GROUPS, GROUPS_TOO):
        if role in roles:
            yield from rows_without_group(roles[role], without_value(column_series(raw, roles[role])))


def rows_without_group(column: str, is_missing: np.ndarray) -> Iterator[Finding]:
    """The finding that rows are in no group, if some are."""
    alone = int(is_missing.sum())
    if alone:
        sentence = f"{alone:,} rows have no {column!r}: each counts as a group of its own"
        yield Finding("missing-values", "note", sentence, columns=[column])


def refuse_overflow(ranges: Mapping[str, tuple[float, float]], most: float = _LARGEST) -> None:
    """Refuse numbers whose squares overflow, by the name of their column."""
    for name, (low, high) in ranges.items():
        largest = max(-low, high)
        if largest > most:
            raise DataError(
                f"column {name!r} holds numbers up to {largest:.2g}, whose squares overflow: rescale it so that it "
                f"stays below {most:.0e}, or leave it out with ",
                Fix("drop", [name]),
            )


# New rows of a known schema


def open_with(
    path: Any,
    schema: Schema,
    *,
    label: Label | None = None,
    keep: Sequence[str] | Callable[[Mapping[str, Any]], Sequence[str]] = (),
    on_error: str = "raise",
    allow_missing: Sequence[str] = (),
    progress: bool = False,
    **reading: Any,
) -> Stream:
    """Open files with the columns of a schema that other files gave; the rows are read when they are asked for.

    Indices of LIBSVM files start, and text is written, as in those files, unless told otherwise. Categories that the
    schema does not have stay as they are, and text in columns of numbers counts as missing: a reading counts both
    (`Pass.unseen`). Rows without a label are left out.

    Parameters
    ----------
    path : path, directory, pattern or list of paths; or frame
    schema : Schema
        Without a target no labels are read.
    label : label, optional
        That of positive rows.
    keep : sequence of str, or callable
        Columns to hand on as they are in the file (`Table.raw`); or a function that chooses them from the columns of
        the file and their types.
    on_error : {"raise", "skip", "keep"}, default="raise"
        What becomes of rows that cannot be used: "keep" keeps their places.
    allow_missing : sequence of str
        Columns that may be unreadable in more than half of the rows.
    progress : bool, default=False
        Show a line.
    **reading
        `format`, `delimiter`, `encoding`, `zero_based` and `chunk_bytes` of `vrspam.data.read_chunks`.

    Returns
    -------
    Stream
    """
    source = Source.open(path, zero_based_before=schema.zero_based, trained=schema.writing, **reading)
    rules = ReadingRules(on_error=on_error, watched="unseen values", allow_missing=allow_missing, progress=progress)
    return Stream(source, schema, rules, keep=keep, label=label)


# Columns without features


def open_columns(path: Any, request: TableRequest) -> Table:
    """Read labels, and the columns that stand in `roles` and `raw` of a request; no other column is read.

    Columns of numbers are numbers, those that name rows stay as they are. Rows without a label are left out.
    """
    source = request.open_source(path)
    source.check_named()
    request.check_target(source)
    problems = Problems(request.on_error)
    reading = _ColumnsReading(request, source.paths[0])
    label = "reading" if request.progress else None
    batches: list[Any] = []
    places: list[np.ndarray] = []
    rows_before = 0
    for block in read_ahead(source.blocks(reading.choose, 1 << 20, problems, label)):
        batches.append(dict(zip(block.table.schema.names, block.table.columns, strict=True)))
        places.append(block.numbers(rows_before + 1))
        rows_before += block.n_rows
    if not batches:
        raise problems.nothing_left(source.paths[0])
    columns = stack_columns(batches)

    labels, codes = coded_labels(columns[request.label_column])
    labelled = codes >= 0
    problems.unlabelled = int((~labelled).sum())
    if not labels:
        raise problems.nothing_left(source.paths[0])
    problems.warn()
    known: tuple[Label, ...] = ()
    positive: Label = ""
    if not request.is_order:
        known, positive = choose_positive(labels, request.positive, request.event)
    is_positive = np.array([request.is_order or label == positive for label in labels])[codes]
    table = Table(
        rows=None,
        schema=Schema(target=request.label_column, labels=known),
        positive=is_positive,
        label=positive,
        named=reading.roles,
        raw=columns,
        places=np.concatenate(places),
        origin=Origin(source.paths, unlabelled=problems.unlabelled),
    )
    return table if labelled.all() else table.take(np.flatnonzero(labelled))


class _ColumnsReading:
    """Which columns of a table are read, and as what, once the types of its columns are known."""

    def __init__(self, request: TableRequest, path: str) -> None:
        self.request = request
        self.path = path
        self.roles: Mapping[str, str] = request.roles

    def choose(self, types: Mapping[str, Any]) -> ColumnRequest:
        """The label and the columns that were asked for; two columns may name groups together."""
        request = replace(self.request, roles=split_groups(self.request.roles, types))
        labels = first_look(types, request.label_column, ColumnRules(path=self.path), columns=[]).schema
        request.check_columns(self.path, types)
        self.roles = request.roles
        wanted = list(dict.fromkeys([*request.kept_raw, *request.roles.values()]))
        naming = {name for role, name in request.roles.items() if ROLES[role].reads in ("groups", "strata")}
        numbers = []  # what is text in a file of text may still be numbers
        for name in wanted:
            if type_kind(types[name]) in ("number", "bool") and name not in {request.label_column, *naming}:
                numbers.append(name)
        as_numbers = request_of(Schema(tuple(numbers))).types
        return ColumnRequest({**request_of(labels, keep=wanted).types, **as_numbers}, lenient=True)
