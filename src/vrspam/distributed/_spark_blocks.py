"""The partitions of Spark data frames as `Blocks`: Arrow takes them to Python, and a tree of sums adds totals."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from vrspam._utils.extras import require

require("spark", "pyspark")  # its message says what to install; a failed import below would not

# ruff: noqa: E402
import numpy as np
import pyarrow as pa
from pyspark import StorageLevel, TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from vrspam._utils.warnings import in_short, warn
from vrspam.data.infer import warn_of_decisions
from vrspam.data.readers.arrow import type_kind
from vrspam.distributed._cluster import NO_ROWS, RowChecks, add_block
from vrspam.estimators.base import PairwiseEstimator
from vrspam.tables.decide import ColumnRules
from vrspam.tables.learner import TableLearner
from vrspam.tables.schema import Schema

MAX_CATEGORIES = 1000  # of a column of text; if it has more, the most frequent are kept
LABEL, WEIGHT = "__label__", "__weight__"
PACKED = "is_total boolean, number int, content binary"  # a packet: rows as Arrow writes them, or a pickled total


class MissingNumbers(ValueError):
    """A frame that was assumed complete has missing numbers: the means to fill them must be found first."""


class SparkBlocks:
    """The partitions of a Spark data frame as `Blocks`: columns of numbers and text, labels, and weights.

    For several passes rows are kept in Spark's cache as Arrow wrote them, until `release`. With `is_complete` the frame
    is assumed to have no missing numbers, and a pass over rows raises `MissingNumbers` if it has one. All of Spark that
    is used here is there in Spark Connect too.
    """

    feature_names = None  # a model of a frame encodes its columns itself, by the schema
    read_once = False

    def __init__(
        self,
        estimator: PairwiseEstimator,
        X: Any,
        y: str,
        sample_weight: str | None,
        *,
        several_passes: bool = False,
        is_complete: bool = False,
    ):
        check_frame(X)
        for name, what in ((y, "y"), (sample_weight, "sample_weight")):
            if name is not None and (not isinstance(name, str) or name not in X.columns):
                raise ValueError(f"{what} must be the name of a column of the frame, got {name!r}.")
        self.schema = learn_schema(X.drop(*[n for n in (y, sample_weight) if n is not None]), is_complete)
        beside = [F.col(quoted(y)).alias(LABEL)]
        if sample_weight is not None:
            beside.append(F.col(quoted(sample_weight)).cast("double").alias(WEIGHT))
        # mapInArrow would take a name such as "b.c" for the field c of b: columns are named by numbers
        features = [column.alias(str(number)) for number, column in enumerate(typed_columns(self.schema))]
        self.frame = X.select(*features, *beside)
        self.several_passes = several_passes
        self.n_features = self.schema.n_features
        self.checks = RowChecks.of(estimator, self.n_features)
        self.fan_in = 4 if self.n_features > 256 else 16  # totals that one task, or the driver, adds; they are large
        self.kept: DataFrame | None = None  # rows and totals of the first pass, in Spark's cache
        self.n_partitions = 0  # of `kept`

    @property
    def for_maps(self) -> bool:
        """Whether the rows are for feature maps."""
        return self.checks.for_maps

    def reduce(self, task: Callable, add: Callable, *shared: Any) -> Any:
        """The total of all partitions, in one pass over the rows."""
        schema = self.schema
        keeps_rows = self.several_passes
        add_rows = partial(add_block, self.checks, task, shared)

        def first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return run_partition(batches, schema, add_rows, keeps_rows)

        def again(packets: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return run_partition(unpacked_rows(packets), schema, add_rows, False)

        if self.kept is not None:
            totals = self.kept.where("NOT is_total").mapInArrow(again, PACKED)
            return checked(add_by_tree(totals, self.n_partitions, add, self.fan_in))
        totals = self.frame.mapInArrow(first, PACKED)
        if not keeps_rows:
            return checked(add_once(totals, add, self.fan_in))
        self.kept = totals.persist(StorageLevel.MEMORY_AND_DISK)
        totals = self.kept.where("is_total")
        self.n_partitions = totals.count()
        return checked(add_by_tree(totals, self.n_partitions, add, self.fan_in))

    def release(self) -> None:
        """Free the rows that were kept."""
        if self.kept is not None:
            self.kept.unpersist()
        self.kept = None


# Sums of what the partitions give. Results travel as packets: rows of a frame, each with a pickled total.


def add_once(totals: DataFrame, add: Callable, fan_in: int) -> Any:
    """The sum of the totals of all partitions, which are computed once, counted, and then added."""
    totals = totals.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        return add_by_tree(totals, totals.count(), add, fan_in)
    finally:
        totals.unpersist()


def add_by_tree(totals: DataFrame, count: int, add: Callable, fan_in: int) -> Any:
    """The sum of `count` totals, one for each partition; the workers add them in groups, the driver the last few."""

    def add_group(group: pa.Table) -> pa.Table:
        numbers = group.column("number").to_pylist()
        total = sum_of_packets(group, add)
        return pa.Table.from_batches([packed(True, min(numbers) // fan_in, pickle.dumps(total))])

    while count > fan_in:
        of_group = F.floor(F.col("number") / F.lit(fan_in)).alias("of_group")
        totals = totals.groupBy(of_group).applyInArrow(add_group, PACKED)
        count = math.ceil(count / fan_in)
    return sum_of_packets(totals.toArrow(), add)


def sum_of_packets(packets: pa.Table, add: Callable) -> Any:
    """The sum of the totals in some packets, in the order of their numbers: that of their rows may be any."""
    contents = packets.column("content")
    total: Any = None
    for place in np.argsort(packets.column("number").to_numpy(), kind="stable").tolist():
        total = joined(total, pickle.loads(contents[place].as_buffer()), add)
    return total


def run_partition(
    batches: Iterable[pa.RecordBatch], schema: Schema, add_rows: Callable, keeps_rows: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition unchanged, if they are kept, and then their total.

    The total is None without rows. An error in the data is returned in its place: Spark would retry an error that is
    raised, and show a worker's traceback.
    """
    number = partition_number()
    total: Any = None
    for batch in batches:
        if not batch.num_rows:
            continue
        if keeps_rows:
            yield packed(False, number, written(batch))
        try:
            total = add_rows(total, number, *encoded(batch, schema))
        except ValueError as error:
            total = error
            break
    yield packed(True, number, pickle.dumps(total))


def partition_number() -> int:
    """The number of the partition that this worker is at."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def written(batch: pa.RecordBatch) -> bytes:
    """A batch of rows as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue().to_pybytes()


def unpacked_rows(packets: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches of rows in some packets."""
    for packet in packets:
        for content in packet.column("content"):
            yield from pa.ipc.open_stream(content.as_buffer())


def checked(total: Any) -> Any:
    """Return a total; raise an error if it is one, or is missing."""
    if isinstance(total, Exception):
        raise total
    if total is None:
        raise ValueError(NO_ROWS)
    return total


def packed(is_total: bool, number: int, content: bytes) -> pa.RecordBatch:
    """A packet: kept rows, or a total, of the partition of this number."""
    columns = [pa.array([is_total]), pa.array([number], pa.int32()), pa.array([content], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["is_total", "number", "content"])


def joined(a: Any, b: Any, add: Callable) -> Any:
    """The sum of two totals, either of which may be None or an error."""
    if a is None or isinstance(b, Exception):
        return b
    if b is None or isinstance(a, Exception):
        return a
    try:
        return add(a, b)
    except ValueError as error:  # such as a third label
        return error


def encoded(batch: pa.RecordBatch, schema: Schema) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """(X, y, weights) of a batch."""
    labels = batch.column(LABEL)
    if labels.null_count:
        raise ValueError("A row has no label: leave such rows out first (frame.dropna(subset=[label])).")
    weights = None
    if WEIGHT in batch.schema.names:
        weights = batch.column(WEIGHT).to_numpy(zero_copy_only=False)
    is_text = type_kind(labels.type) == "string"
    y = np.array(labels.to_pylist()) if is_text else labels.to_numpy(zero_copy_only=False)
    columns = schema.inputs()
    X = encode_table(pa.Table.from_arrays(batch.columns[: len(columns)], names=columns), schema)
    if schema.fill is None and np.isnan(X).any():
        raise MissingNumbers
    return X, y, weights


def check_frame(X: Any) -> None:
    """Refuse anything but a Spark data frame."""
    if not isinstance(X, DataFrame):
        raise ValueError(
            f"X must be a Spark data frame, got {type(X).__name__}; for data in memory use vrspam.AUCClassifier."
        )


def quoted(name: str) -> str:
    """Return the name of a column as an expression, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def typed_columns(schema: Schema) -> list[Column]:
    """The columns that a schema takes: numbers as double, categories as string, others as they are."""
    kinds: dict[str, Any] = dict.fromkeys(schema.inputs(), "double") | dict.fromkeys(schema.categorical, "string")
    return _columns({name: None if name in schema.readings else kind for name, kind in kinds.items()})


def _columns(kinds: Mapping[str, str | None]) -> list[Column]:
    """Columns of these names, cast to these types; None leaves a column as it is."""
    found = []
    for name, kind in kinds.items():
        column = F.col(quoted(name))
        found.append((column if kind is None else column.cast(kind)).alias(name))
    return found


def encode_table(table: pa.Table, schema: Schema) -> np.ndarray:
    """Return the features of a table that has the columns of a schema."""
    return schema.encode(schema.read(table)[0].select(list(schema.columns)))


def learn_schema(frame: DataFrame, is_complete: bool = False) -> Schema:
    """Return the schema of a frame: the kind of each column, the means that fill missing numbers, and the categories.

    Means are rounded to ten digits: later digits depend on the order of the partitions, and folds must not.
    """
    kinds: dict[str, str | None] = {}
    for field in frame.schema.fields:
        if isinstance(field.dataType, T.NumericType | T.BooleanType | T.NullType):
            kinds[field.name] = "double"
        elif isinstance(field.dataType, T.StringType | T.CharType | T.VarcharType):
            kinds[field.name] = "string"
        elif isinstance(field.dataType, T.DateType | T.TimestampType | T.TimestampNTZType):
            kinds[field.name] = None
        else:
            raise ValueError(
                f"Column {field.name!r} of type {field.dataType.simpleString()} is neither number, text nor date: make "
                "numbers of it first (vector_to_array), or drop it."
            )
    if not kinds:
        raise ValueError("No column is left beside the labels: the frame needs at least one more.")
    numeric = [name for name, kind in kinds.items() if kind == "double"]
    if is_complete and len(numeric) == len(kinds):
        return Schema(tuple(numeric))
    # columns of numbers are never left out as identifiers here: a frame of numbers alone is not examined either
    rules = ColumnRules(include=numeric, max_categories=MAX_CATEGORIES, empty="refuse")
    learner = _learn(frame, kinds, rules)
    schema = replace(learner.finish(), source=())
    if schema.unfinished:
        numbers = _learn(frame, kinds, ColumnRules(include=schema.unfinished), schema)
        schema = schema.with_numbers_of(numbers.finish())
    own_words = ("identifiers", "many-categories")  # said below: their parameters are not there for a Spark frame
    warn_of_decisions([decision for decision in learner.decisions if decision.code not in own_words], _ways)
    if schema.identifiers:
        shown = in_short(schema.identifiers)
        warn(f"Left out as identifiers (their text differs in nearly every row): {shown}. Drop such columns.")
    for name in schema.grouped:
        warn(
            f"Column {name!r} has more than {MAX_CATEGORIES:,} categories: the most frequent have a feature each, the "
            "others none. Drop the column if it is a name."
        )
    return replace(schema, fill=rounded(schema.fill or ()))


def _ways(name: str) -> dict[str, str]:
    """What to do with a column of a Spark frame, in place of the parameters that files have."""
    drop = f"frame.drop({name!r})"
    return {"drop": drop, "dates": drop, "categorical": "a letter before its values"}


def _learn(
    frame: DataFrame, kinds: Mapping[str, str | None], rules: ColumnRules, schema: Schema | None = None
) -> TableLearner:
    """Return what the workers learn about the columns; with a schema, about its unfinished columns as it reads them."""
    names = list(kinds)

    def learn(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        learner = TableLearner(rules)
        for batch in batches:
            table = pa.Table.from_batches([batch]).rename_columns(names)
            if batch.num_rows:
                learner.add(table if schema is None else schema.read(table)[0].select(schema.unfinished))
        yield packed(True, partition_number(), pickle.dumps(learner))

    # mapInArrow would take a name such as "b.c" for the field c of b: columns are named by numbers
    numbered = [column.alias(str(number)) for number, column in enumerate(_columns(kinds))]
    totals = frame.select(*numbered).mapInArrow(learn, PACKED)
    learner = add_once(totals, lambda a, b: a.merge(b), fan_in=16)
    if learner is None or not learner.columns:
        raise ValueError(NO_ROWS)
    return learner


def rounded(means: Iterable[float]) -> tuple[float, ...]:
    """Return each mean rounded to ten significant digits."""
    return tuple(float(f"{mean:.10g}") for mean in means)
