"""Open a training file once: its columns, labels as booleans, columns beside the features, and notes on the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from vrspam._utils.messages import Finding, Parameter
from vrspam._utils.names import COPIES, INDEPENDENT
from vrspam._utils.validation import LARGEST_EXACT
from vrspam.data import Chunks, DataError, Schema
from vrspam.data.encode import encode_block
from vrspam.data.infer import NO_FEATURE, read_until_typed, schema_of
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.block import as_table
from vrspam.data.readers.problems import Problems, no_column
from vrspam.data.readers.reader import ColumnRequest
from vrspam.data.request import first_look, request_of
from vrspam.data.source import Source
from vrspam.model_selection.pairs import whole_units
from vrspam.tables.decide import ColumnRules
from vrspam.tables.decisions import Decision
from vrspam.tables.frames import is_numeric, rows_of, texts_of, value_counts
from vrspam.tables.kinds import find_kind, typed_kind
from vrspam.tables.kinds.numbers import Numbers
from vrspam.tables.learner import TableLearner, complete
from vrspam.tables.schema import Label
from vrspam.tool.plan import TrainPlan, holds_labels, named_by

# how rows are read for training: as they are in the file, without rows that have no label
_ROWS: dict[str, Any] = {"unknown": "ignore", "raw": True, "lenient": True}


@dataclass(frozen=True)
class OpenedTable:
    """Labelled rows of a file, in memory or to be read block by block as often as needed.

    Rows are arrow tables of typed columns, or arrays for files without names; `encode` makes features of them.
    """

    chunks: Chunks
    positive: Label
    notes: tuple[Finding, ...] = ()
    schema: Schema = field(default_factory=Schema)  # that of `chunks`
    loaded: tuple[Any, np.ndarray] | None = None  # all rows, and whether each is positive, if they are in memory
    plan: TrainPlan = field(default_factory=TrainPlan)
    weights: np.ndarray | None = None  # of rows in memory, as are groups and time
    groups: np.ndarray | None = None
    time: np.ndarray | None = None
    times: np.ndarray | None = None  # of events (positive rows) or of censoring; or an order, negated
    within: np.ndarray | None = None  # numbers of strata: only rows of the same one are compared
    kept: Mapping[str, Any] = field(default_factory=dict)  # columns that were asked for, as they are in the file
    names: tuple[str, ...] = ()  # all columns of the file
    counts: Mapping[Label, int] = field(default_factory=dict)  # rows of each label
    unlabelled: int = 0  # rows that were left out because they have no label
    scaling: Callable[[Any], Any] = lambda X: X  # of encoded blocks

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
        beside = {name: getattr(self, name) for name in ("weights", "groups", "time", "times", "within")}
        some: Any = {name: None if values is None else values[places] for name, values in beside.items()}
        kept = {name: column.take(places) for name, column in self.kept.items()}
        return replace(self, loaded=(rows_of(rows, places), positive[places]), kept=kept, **some)

    def blocks(self) -> Iterator[tuple[Any, np.ndarray, np.ndarray | None]]:
        """Yield (rows as they are, whether each is positive, weights or None); rows in memory are one block."""
        if self.loaded is not None:
            yield *self.loaded, self.weights
            return
        for rows, labels, *more in self.chunks:
            weights = None
            if (name := self.plan.weights) is not None:
                weights = beside_values(more[0], {"weights": name}, self.chunks.source.paths[0])["weights"]
            yield rows, labels == self.positive, weights

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield blocks of (encoded and scaled rows, whether each is positive), with weights where there are some."""
        for rows, *more in self.blocks():
            yield self.scaling(self.encode(rows)), *(values for values in more if values is not None)

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
        found = list(self.blocks())
        if not found:
            raise self.chunks.nothing_left()
        return stack([rows for rows, *_ in found]), np.concatenate([positive for _, positive, _ in found])


def stack(parts: list[Any]) -> Any:
    """Blocks of rows, arrow tables or arrays, below each other."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts))
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pyarrow as pa

    whole = pa.concat_tables(parts)
    if whole.nbytes >= 1 << 30:  # a copy in one piece would take too much memory
        return whole
    with ThreadPoolExecutor() as pool:
        columns = list(pool.map(lambda column: column.combine_chunks(), whole.columns))
    return pa.Table.from_arrays(columns, schema=whole.schema)


class RowSample:
    """A random sample of at most `size` rows of a stream: those with the smallest random keys."""

    def __init__(self, size: int, seed: int):
        self.size, self.rng, self.seen = size, np.random.default_rng(seed), 0
        self.keys, self.y = np.empty(0), np.empty(0, dtype=bool)
        self.X: Any = None

    def add(self, X: Any, y: np.ndarray) -> None:
        self.seen += y.size
        keys = np.concatenate([self.keys, self.rng.random(y.size)])
        labels = np.concatenate([self.y, y])
        both = X if self.X is None else stack([self.X, X])
        if keys.size > self.size:
            kept = np.sort(np.argpartition(keys, self.size)[: self.size])
            keys, labels, both = keys[kept], labels[kept], rows_of(both, kept)
        self.keys, self.y, self.X = keys, labels, both


def open_labelled(path: Any, plan: TrainPlan, keep: Sequence[str] | None = None, **reading: Any) -> OpenedTable:
    """Find the columns and labels of a file, as a plan says.

    If there are several labels, all but `positive` are negative; by default it is the larger of two. With `event`, that
    column holds the labels, and `target` the times. If `event` is "none", `target` holds an order: its negated numbers
    are the times, and all rows have their event. `keep` names columns to keep in memory as they are in the file, beside
    those that only name the rows; None keeps nothing. With `streaming` the rows of a table are not kept in memory.
    `reading` holds more arguments of `vrspam.data.readers.Source.open`.
    """
    form = {name: getattr(plan, name) for name in ("format", "delimiter", "encoding", "zero_based")}
    source = Source.open(path, **form, **reading)
    on_error, event, progress = "skip" if plan.skip_errors else "raise", plan.event, plan.progress
    check_target(source, plan.target)
    if keep and (plan.streaming or not source.reader.tabular):
        words = "{option} needs the named columns of a table in memory: leave it out"
        option = "by" if getattr(plan, "by", ()) else "beside"
        raise DataError(words, option=Parameter(option, list(getattr(plan, option, keep))))
    order = plan.target if event == INDEPENDENT else None
    target, times = (plan.target, None) if event is None or order else (event, plan.target)
    groups = None if plan.groups in (INDEPENDENT, COPIES) else plan.groups
    options = {"weights": plan.weights, "groups": groups, "time": plan.time, "times": times, "order": order}
    beside = {option: name for option, name in {**options, "within": plan.within}.items() if name}
    if not source.reader.tabular:  # columns have numbers instead of names
        for option in ("event", "drop", "include", "categorical", *beside):
            if option in beside or getattr(plan, option):
                source.check_named(option)
        problems = Problems(on_error, leave_unlabelled=True)
        missing = 0.0 if source.reader.sparse else "mean"
        schema = schema_of(source, target, labels=True, missing=missing, problems=problems, progress=progress)
        chunks = Chunks(source, schema, on_error=on_error, progress=progress, **_ROWS)
        return OpenedTable(chunks, choose_positive(schema.labels or (), plan.positive)[1], schema=schema, plan=plan)
    path = source.paths[0]

    def read() -> TableReading:
        rules = ColumnRules(
            include=plan.include,
            categorical=plan.categorical,
            max_categories=plan.max_categories,
            dates=plan.dates,
            empty="leave out",
            declared=source.reader.declared,
            path=path,
        )
        table = TableReading(rules, str(target), plan.drop, beside, tuple(keep or ()))
        table.read(source, Problems(on_error, leave_unlabelled=True), progress, hold=not plan.streaming)
        return table

    table = read_until_typed(read)
    learner, notes = table.learner, [decision.finding() for decision in table.left_out]
    spelt, counts = one_spelling(table.counts), Counter[Label]()
    for text, one in spelt.items():
        counts[one] += table.counts[text]
        if text != one:
            words = "the label {label!r} ({count:,} rows) differs from {other!r} by case alone, and is the same class"
            notes.append(Finding("labels", "note", words, label=text, count=table.counts[text], other=one))
    known, label = (None, "") if order else choose_positive(counts, plan.positive, event)
    schema = replace(
        learner.finish(),
        target=table.target,
        target_type=table.schema.target_type,
        labels=known,
        source=(),
        writing=learner.writing(source.reader.writing(path)),
    )
    notes += [decision.finding() for decision in learner.decisions]
    if not schema.columns:
        if names := schema.identifiers:
            words = "{path}: no feature column is left: {names} looks like an identifier; keep it with {include}"
            if len(names) > 1:
                words = "{path}: no feature column is left: {names} look like identifiers; keep one with {include}"
            raise DataError(
                words, path=path, names=", ".join(map(repr, names)), include=Parameter("include", [names[0]])
            )
        raise DataError(NO_FEATURE, path=path)
    kept = [plan.weights] if plan.weights else ()
    chunks = Chunks(source, schema, keep=kept, on_error=on_error, progress=progress, **_ROWS)
    columns: dict[str, Any] = {}
    if plan.streaming:
        read_again = chunks.keeping(kept)
        counted = (counted_part(rows, more[0] if more else None, plan.weights) for rows, _, *more in read_again)
        chunks.schema = complete(schema, counted)
    else:
        with ThreadPoolExecutor() as pool:  # arrow releases Python's lock
            parts = pool.map(lambda part: schema.read(part)[0].select(list(schema.columns)), table.frames)
        frame, others = stack(list(parts)), stack(table.others)
        chunks.schema = complete(schema, [counted_part(frame, others, plan.weights)])
        columns = beside_values(others, beside, path) if beside else {}
        for option in ("groups", GROUPS_TOO):
            if option in beside and (alone := int(without_value(column_series(others, beside[option])).sum())):
                words = "{count:,} rows have no {column!r}: each counts as a group of its own"
                notes.append(Finding("missing-values", "note", words, count=alone, column=beside[option]))
        if wanted := () if keep is None else (*schema.identifiers, *keep):
            columns["kept"] = _kept_columns(table.frames, others, schema, wanted)
        is_positive = np.isin(np.concatenate(table.labels), [text for text, one in spelt.items() if one == label])
        if order is not None:
            is_positive = np.ones(is_positive.size, dtype=bool)
        columns["loaded"] = frame, is_positive
    refuse_overflow(chunks.schema.ranges)
    columns |= {"plan": plan, "names": tuple(table.names), "counts": counts, "unlabelled": table.unlabelled}
    return OpenedTable(chunks, label, tuple(notes), chunks.schema, **columns)


def refuse_overflow(ranges: Mapping[str, tuple[float, float]], most: float = 1e150) -> None:
    """Refuse numbers whose squares overflow, by the name of their column."""
    for name, (low, high) in ranges.items():
        if (largest := max(-low, high)) > most:
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


@dataclass
class TableReading:
    """A table that is read once: its columns, the types that they are read as, and its rows in blocks.

    `beside` are weights, groups and times, by option; `keep` are columns that are also wanted as they are in the file.
    """

    rules: ColumnRules
    target: str
    drop: Sequence[str]
    beside: dict[str, str]
    keep: Sequence[str]
    learner: TableLearner = field(default_factory=TableLearner)
    left_out: Sequence[Decision] = ()  # columns that are left out by their type
    names: list[str] = field(default_factory=list)
    schema: Schema = field(default_factory=Schema)  # as columns are read: dates and times are readings
    raw: list[str] = field(default_factory=list)  # columns of `keep` that are not used as features
    frames: list[Any] = field(default_factory=list)  # features as they are
    others: list[Any] = field(default_factory=list)  # columns of `beside` and `raw`
    labels: list[np.ndarray] = field(default_factory=list)
    counts: Counter[Label] = field(default_factory=Counter)  # of labels
    unlabelled: int = 0  # rows without one
    counted: bool = False  # whether any row counts: one of weight 0 does not

    def choose(self, types: Mapping[str, Any]) -> ColumnRequest:
        """Choose what to read of a file whose columns have these types; the first file decides for all.

        Labels may not be left out, kept or used as weights, groups or times. Weights, groups, times and columns to keep
        must be in the file, and the first three may not be left out.
        """
        import pyarrow.types as t

        if not self.names:
            split_groups(self.beside, types)
        beside = self.beside.values()
        if not self.names:
            if self.target in self.drop:
                words = "column {column!r} holds the labels and cannot be left out: name another with {drop}"
                raise DataError(words, column=self.target, drop=Parameter("drop"))
            for option, name in self.beside.items():
                if name == self.target and option != "order":
                    raise holds_labels(name, option)
                if name in self.drop:
                    words = "column {column!r} is left out by {drop} and named by {option}: name it once"
                    raise DataError(words, column=name, drop=Parameter("drop"), option=named_by(option))
                if name not in types:
                    raise DataError(no_column(self.rules.path, name, types))
            for name in self.keep:
                if name not in types:
                    raise DataError(no_column(self.rules.path, name, types))
                if name == self.target:
                    raise holds_labels(name, "by")
            together = [self.beside["groups"], self.beside[GROUPS_TOO]] if GROUPS_TOO in self.beside else []
            no_features = [name for name in beside if name not in together]
            look = first_look(types, self.target, self.rules, drop=[*self.drop, *no_features])
            integers = [name for name in look.schema.numeric if t.is_integer(types[name])]
            self.learner = TableLearner(replace(self.rules, integers=integers, taken=look.taken))
            self.schema, self.left_out = look.schema, look.decisions
            self.names, read = list(types), {*self.schema.inputs(), *beside, self.target}
            self.raw = [name for name in self.keep if name not in read]
        return request_of(self.schema, keep=[*beside, *self.raw])._replace(lenient=True, learns=True)

    def read(self, source: Source, problems: Problems, progress: bool, hold: bool) -> None:
        """Learn the columns block by block, and keep the blocks if they are to stay in memory."""
        import pyarrow as pa

        for block in read_ahead(source.blocks(self.choose, 1 << 15, problems, "reading" if progress else None)):
            typed, beside = list(self.schema.readings), list(dict.fromkeys([*self.beside.values(), *self.raw]))
            keep = [*typed, *beside]
            checked = encode_block(block, self.schema, problems, keep=keep, raw=True) if block.rows else None
            if checked is None:
                continue
            frame, y, other = checked.X, checked.y, checked.kept
            assert y is not None
            columns = dict(zip(frame.column_names, frame.columns, strict=True))
            columns |= {name: other.column(name) for name in typed}
            frame = pa.table({name: columns[name] for name in self.names if name in columns})
            counted = counted_part(frame, other, self.beside.get("weights"))
            if counted.num_rows:
                self.learner.add(counted, block.strays)
                self.counted = True
            self.counts.update(dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True)), strict=True)))
            if hold:
                self.frames.append(frame)
                self.others.append(as_table(other, beside))
                self.labels.append(y)
        if not self.counts:
            raise problems.nothing_left(source.paths[0])
        if not self.counted and self.names and "weights" in self.beside:
            words = "{path}: column {column!r} gives every row the weight 0, so that no row counts: correct the weights"
            raise DataError(words, path=source.paths[0], column=self.beside["weights"])
        self.unlabelled, problems.unlabelled = problems.unlabelled, 0  # the doctor says how many
        problems.warn()


def counted_part(rows: Any, beside: Any, weights: str | None) -> Any:
    """The rows of a table whose weight is not 0: others are no rows, and their values are not learned from.

    `beside` is a table of columns that holds the `weights`; without their name all rows count.
    """
    if weights is None:
        return rows
    counted = np.flatnonzero(plain_values(beside, weights) != 0.0)  # wrong weights are refused later, with their places
    return rows if counted.size == rows.num_rows else rows_of(rows, counted)


def _kept_columns(parts: list[Any], others: Any, schema: Schema, names: Sequence[str]) -> dict[str, Any]:
    """Identifiers and other columns not used as features, as they are in the file; without columns that changed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = {name: others.column(name) for name in names if name in others.column_names}
    for name in names:
        if name in found or name in schema.columns or name not in parts[0].column_names:
            continue
        column = pa.chunked_array([chunk for part in parts for chunk in part.column(name).chunks])
        largest = pc.max(pc.abs(column)).as_py() if pa.types.is_floating(column.type) else None
        if largest is not None and largest < LARGEST_EXACT:
            column = column.cast(pa.int64()).cast(pa.string())  # whole numbers, all different
        if pa.types.is_string(column.type):
            found[name] = column
    return found


GROUPS_TOO = "groups too"  # the second of two columns that name groups together


def split_groups(beside: dict[str, str], names: Collection[str]) -> None:
    """Let two columns with a comma between them name groups together, if there is no column of that name.

    >>> split_groups(beside := {"groups": "hospital,number"}, ["hospital", "number", "age"])
    >>> beside
    {'groups': 'hospital', 'groups too': 'number'}
    """
    name = beside.get("groups", "")
    if name in names:
        return
    for place in (place for place, letter in enumerate(name) if letter == ","):
        first, second = name[:place].strip(), name[place + 1 :].strip()
        if first in names and second in names and first != second:
            beside.update({"groups": first, GROUPS_TOO: second})
            return


def beside_values(others: Any, beside: Mapping[str, str], path: str, least_groups: int = 4) -> dict[str, Any]:
    """The weights, groups and times of all rows, from a table of these columns; the numbers of an order are negated."""
    found: dict[str, Any] = {}
    for option, name in beside.items():
        if option == "groups":
            found[option] = _groups_of(others, beside, path, least_groups)
        elif option == GROUPS_TOO:  # joined with the first
            continue
        elif option in ("within", "folds"):
            column = column_series(others, name)
            missing = without_value(column)
            if missing.any():
                gaps = int(missing.sum())
                if option == "folds":
                    raise DataError(
                        f"{path}: column {name!r} has no fold for {gaps:,} rows, and out-of-fold scores need the fold "
                        "of each row: fill them in, or leave these rows out"
                    )
                raise DataError(
                    f"{path}: column {name!r} says which rows are compared, and {gaps:,} rows have no "
                    "value there: fill them in, or leave these rows out of the file"
                )
            found[option] = numbered_groups(column, missing)
        elif option == "order":
            found["times"] = -ordered_numbers(others, name, path, option)
        else:
            found[option] = ordered_numbers(others, name, path, option)
    return found


def _groups_of(others: Any, beside: Mapping[str, str], path: str, least_groups: int) -> np.ndarray:
    """The number of each row's group, by one column or by two together."""
    names = [beside[option] for option in ("groups", GROUPS_TOO) if option in beside]
    columns = [column_series(others, name) for name in names]
    missing = np.any([without_value(column) for column in columns], axis=0)
    groups = numbered_groups(columns[0], missing)
    for column in columns[1:]:
        more = numbered_groups(column, missing)
        groups = np.unique(groups * (int(more.max(initial=0)) + 1) + more, return_inverse=True)[1]
    count = int(groups.max(initial=-1)) + 1
    if count < least_groups:
        who = "folds need" if least_groups == 4 else "an interval needs"
        words = "{path}: column {names!r} of {groups} has {count} groups, and {who} at least {least} of them"
        raise DataError(words, path=path, names=", ".join(names), count=count, who=who, least=least_groups)
    return groups


def without_value(column: Any) -> np.ndarray:
    """Whether each row of a column has no value: a gap, a number that is NaN, or blank text."""
    values = column.to_list()
    return np.array([v is None or v != v or (isinstance(v, str) and not v.strip()) for v in values], dtype=bool)


def numbered_groups(column: Any, missing: np.ndarray) -> np.ndarray:
    """The number of each row's group, in the order of their texts; a row without a value is a group of its own."""
    texts = np.array(column.to_list(), dtype=object)[~missing].astype(str)
    names, numbers = np.unique(texts, return_inverse=True)
    groups = np.empty(missing.size, dtype=np.intp)
    groups[~missing] = numbers
    groups[missing] = names.size + np.arange(int(missing.sum()))
    return groups


def ordered_numbers(table: Any, name: str, path: str, option: str) -> np.ndarray:
    """Return a column as numbers, dates too; only scores (of `scores` or `beside`) may be missing, and are NaN."""
    column = column_series(table, name)
    texts = texts_of(column)
    if is_numeric(column) or (texts is not None and not Numbers().values(texts)[1].any()):
        kind: Any = Numbers()
    else:
        # no column of names is asked for: where all values are alike, one text shows how they are written
        found = None if texts is None else find_kind(value_counts(texts), least_texts=1)
        kind = typed_kind(column) if found is None else found.kind
    dates = option in ("time", "order")
    if kind is None or (not dates and kind.words == "dates"):
        words = "{path}: column {column!r} holds text that is not {what}: name another with {option}"
        fields = {"path": path, "column": column.name, "what": "numbers or dates" if dates else "numbers"}
        raise DataError(words, **fields, option=named_by(option))
    values = np.asarray(kind.values(column if texts is None else texts)[0], dtype=np.float64)
    if option not in ("scores", "beside") and np.isnan(values).any():
        raise DataError(
            f"{path}: column {column.name!r} is missing in {int(np.isnan(values).sum()):,} rows: fill them in, or "
            "leave these rows out of the file"
        )
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0))) if option in ("weights", "times") else np.empty(0)
    if wrong.size:
        raise DataError(
            f"{path}: column {column.name!r} holds {option}, and {wrong.size:,} of them are negative or infinite (the "
            f"first in row {int(wrong[0]) + 1}): correct them"
        )
    if option == "time" and not np.isfinite(values).all():
        raise DataError(f"{path}: column {column.name!r} holds infinite numbers, which are no times: correct them")
    if option == "order" and (not np.isfinite(values).all() or np.ptp(values) == 0.0):
        wrong_order = "is the same in every row" if np.isfinite(values).all() else "holds infinite numbers"
        raise DataError(f"{path}: column {column.name!r} {wrong_order}, and has no order: name another as the target")
    return values


def plain_values(table: Any, name: str) -> np.ndarray:
    """A column as numbers, missing ones as NaN, or as texts and None."""
    column = column_series(table, name)
    texts = texts_of(column)
    if is_numeric(column) or (texts is not None and not Numbers().values(texts)[1].any()):
        return np.asarray(Numbers().values(column if texts is None else texts)[0], dtype=np.float64)
    return np.array([None if value is None else str(value) for value in column.to_list()], dtype=object)


def column_series(table: Any, name: str) -> Any:
    """A column of an arrow table as a series that narwhals reads."""
    import pyarrow as pa

    whole = table[name] if isinstance(table[name], pa.ChunkedArray) else pa.chunked_array([table[name]])
    return nw.from_native(whole, series_only=True).alias(name)


def one_spelling(counts: Mapping[Label, int]) -> dict[Label, Label]:
    """Map each label to its most frequent spelling; spellings of a label differ only by case.

    >>> one_spelling({"no": 7, "Yes": 1, "yes": 3})
    {'no': 'no', 'yes': 'yes', 'Yes': 'yes'}
    """
    best: dict[Label, Label] = {}
    ordered = sorted(counts, key=lambda label: -counts[label])
    return {text: best.setdefault(text.casefold() if isinstance(text, str) else text, text) for text in ordered}


def choose_positive(
    found: Iterable[Label], wanted: str | None, event: str | None = None
) -> tuple[tuple[Label, ...], Label]:
    """The labels, and the one to rank above the others; a column of events may say 1 in every row, but not 0.

    >>> choose_positive((0, 1), None), choose_positive((-1.0, 1.0), "-1")
    (((0, 1), 1), ((-1.0, 1.0), -1.0))
    >>> choose_positive(("ill", "well"), "ill"), choose_positive([1], None, "died")
    ((('ill', 'well'), 'ill'), ((0, 1), 1))
    """
    labels, wanted = tuple(sorted(set(found))), None if wanted is None else str(wanted)
    if event is not None and len(labels) == 1:
        (only,) = labels
        if str(only).casefold() == (wanted or ("true" if isinstance(only, bool) else "1")).casefold() or only == 1:
            return (labels if isinstance(only, str) else (type(only)(0), only)), only
        if isinstance(only, str) and wanted is None:
            words = "column {event!r} says {label} in every row: if that is the event, say so with {positive}"
            raise DataError(words, event=event, label=only, positive=Parameter("positive", only))
        words = "column {event!r} says {label} in every row: with all rows censored no two of them can be compared"
        raise DataError(words, event=event, label=only)
    shown = ", ".join(" ".join(str(label).split()) for label in labels[:10]) + (", ..." if len(labels) > 10 else "")
    if len(labels) < 2:
        raise DataError(f"the label column holds only {shown or 'missing values'}: rows of two classes are needed")
    if wanted is None:
        if len(labels) > 2:
            words = "the label column holds {count} different values: {shown}. Add {positive}, or another of them; all "
            words += "other labels then count as negative"
            if not isinstance(labels[-1], str):
                words += ". If larger values are to rank higher, `train`, `report` and `evaluate` take {order} instead"
            given = {"positive": Parameter("positive", str(labels[-1])), "order": Parameter("event", INDEPENDENT)}
            raise DataError(words, count=len(labels), shown=shown, **given)
        return labels, labels[-1]
    texts, wanted = [str(label) for label in labels], wanted.strip() or wanted
    if wanted in texts:
        return labels, labels[texts.index(wanted)]
    for label in labels:
        with suppress(ValueError):
            if not isinstance(label, str) and float(label) == float(wanted):
                return labels, label
    for label, text in zip(labels, texts, strict=True):
        if text.casefold() == wanted.casefold():
            return labels, label
    raise DataError(f"no row has the label {wanted!r}; there are {shown}")
