"""The partitions of Spark data frames as blocks of rows: Arrow takes them to Python, a tree of sums adds results."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
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
from vrspam.distributed._cluster import NO_ROWS
from vrspam.tables.decide import ColumnRules
from vrspam.tables.learner import TableLearner
from vrspam.tables.schema import Schema

GATHERED_BYTES = 1 << 27  # frames up to this size are gathered in the driver for a second, light pass
MAX_CATEGORIES = 1000  # of a column of text; if it has more, the most frequent are kept
LABEL, WEIGHT = "__label__", "__weight__"
PACKED = "is_result boolean, number int, content binary"  # rows as Arrow writes them, or a pickled result


class MissingNumbers(ValueError):
    """A frame that was assumed complete has missing numbers: the means to fill them must be found first."""


class SparkBlocks:
    """The partitions of a Spark data frame: columns of numbers and text, labels, and weights.

    For several passes rows are kept as Arrow wrote them, until `release`: in the driver if the frame is small and the
    passes after the first are `light`, such as scores of linear models; else in Spark's cache. With `is_complete` the
    frame is assumed to have no missing numbers, and a pass over rows raises `MissingNumbers` if it has one.
    """

    feature_names = None  # a model of a frame encodes its columns itself, by the schema

    def __init__(
        self,
        X: Any,
        y: str,
        sample_weight: str | None,
        *,
        several_passes: bool = False,
        light: bool = False,
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
        self.several_passes, self.light, self.n_features = several_passes, light, self.schema.n_features
        self.fan_in = 4 if self.n_features > 256 else 16  # results that one task, or the driver, adds; they are large
        self.kept: DataFrame | None = None  # in Spark's cache
        self.gathered: list[tuple[int, pa.RecordBatch]] | None = None  # in the driver, by number of partition

    def reduce(self, task: Callable, add: Callable, *shared: Any) -> Any:
        """add(...add(task(number, X, y, weights, *shared)...)) over all partitions: one pass, one result."""
        if self.gathered is not None:
            return checked(sum_of(self.gathered, self.schema, task, add, shared))
        schema, keep = self.schema, self.several_passes and self.kept is None
        gather = keep and self.light and estimated_bytes(self.frame) <= GATHERED_BYTES
        gather = gather and self.frame.rdd.getNumPartitions() <= self.fan_in
        most = 2 * GATHERED_BYTES / self.frame.rdd.getNumPartitions() if gather else math.inf if keep else 0

        def first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return run_partition(batches, schema, task, add, shared, most)

        def again(kept: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            written = (content.as_buffer() for rows in kept for content in rows.column("content"))
            batches = (batch for content in written for batch in pa.ipc.open_stream(content))
            return run_partition(batches, schema, task, add, shared, 0)

        if self.kept is None:
            results = self.frame.mapInArrow(first, PACKED)
        else:
            results = self.kept.where("NOT is_result").select("content").mapInArrow(again, PACKED)
        if keep and not gather:
            self.kept = results.persist(StorageLevel.MEMORY_AND_DISK)
            results = self.kept.where("is_result")
        if gather or results.rdd.getNumPartitions() <= self.fan_in:
            return self._add_in_driver(results, add, gather)
        return checked(add_by_tree(results, add, self.fan_in))

    def _add_in_driver(self, results: DataFrame, add: Callable, gather: bool) -> Any:
        """Return the sum of the results; with `gather` the rows come too, and are kept if all have come."""
        total: Any = None
        rows, numbers = [], []
        for packet in results.toArrow().to_batches():
            for is_result, number, content in zip(*(column.to_pylist() for column in packet.columns), strict=True):
                if is_result:
                    numbers.append(number)
                    total = joined(total, pickle.loads(content), add)
                else:
                    rows += [(number, batch) for batch in pa.ipc.open_stream(content)]
        if gather:
            self.light = None not in numbers  # else the frame was larger than Spark's planner had said
            self.gathered = rows if self.light else None
        return checked(total)

    def release(self) -> None:
        """Free the rows that were kept."""
        if self.kept is not None:
            self.kept.unpersist()
        self.kept = self.gathered = None


def add_by_tree(results: DataFrame, add: Callable, fan_in: int) -> Any:
    """Return the sum of pickled results; the workers add most of them."""

    def join(a: Any, b: Any) -> Any:
        return joined(a, b, add)

    rows = results.rdd
    depth = max(1, math.ceil(math.log(max(rows.getNumPartitions(), 2), fan_in)))
    return rows.map(lambda row: pickle.loads(row.content)).treeAggregate(None, join, join, depth=depth)


def estimated_bytes(frame: DataFrame) -> float:
    """Return a frame's size as Spark's planner estimates it: exact once it is cached, huge if it is not known."""
    try:  # the planner is not public; where it cannot be asked, rows stay on the cluster
        return float(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    except AttributeError:
        return float("inf")


def run_partition(
    batches: Iterator[pa.RecordBatch], schema: Schema, task: Callable, add: Callable, shared: tuple, most: float
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition unchanged, up to `most` bytes of them, then the result of the task for all rows.

    The result has no number if rows are wanted (`most` > 0) and some were left out, and is None without rows. An error
    in the data is returned as a result: Spark would retry an error that is raised, and show a worker's traceback.
    """
    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    total: Any = None
    sent = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        sent += batch.nbytes
        if sent <= most:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield packed(False, number, sink.getvalue().to_pybytes())
        total = sum_of([(number, batch)], schema, task, add, shared, total)
        if isinstance(total, Exception):
            break
    yield packed(True, number if sent <= most or not most else None, pickle.dumps(total))


def sum_of(
    batches: Iterable[tuple[int, pa.RecordBatch]],
    schema: Schema,
    task: Callable,
    add: Callable,
    shared: tuple,
    total: Any = None,
) -> Any:
    """Return `total` plus the results of the task for some batches; an error takes the place of the sum."""
    for number, batch in batches:
        try:
            found = task(number, *encoded(batch, schema), *shared)
        except ValueError as error:
            found = error
        total = joined(total, found, add)
    return total


def checked(result: Any) -> Any:
    """Return a result; raise an error if it is one, or is missing."""
    if isinstance(result, Exception):
        raise result
    if result is None:
        raise ValueError(NO_ROWS)
    return result


def packed(is_result: bool, number: int | None, content: bytes) -> pa.RecordBatch:
    columns = [pa.array([is_result]), pa.array([number], pa.int32()), pa.array([content], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["is_result", "number", "content"])


def joined(a: Any, b: Any, add: Callable) -> Any:
    """The sum of two results, either of which may be None or an error."""
    if a is None or isinstance(b, Exception):
        return b
    if b is None or isinstance(a, Exception):
        return a
    try:
        return add([a, b])
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
    """Refuse anything but a data frame of a classic Spark session."""
    if not isinstance(X, DataFrame):
        raise ValueError(
            f"X must be a Spark data frame, got {type(X).__name__}; for data in memory use vrspam.AUCClassifier."
        )
    if not hasattr(X, "rdd") or type(X).__module__.startswith("pyspark.sql.connect"):
        raise ValueError("A session of Spark Connect has no tree of sums: use a classic Spark session.")


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
        yield packed(True, None, pickle.dumps(learner))

    # mapInArrow would take a name such as "b.c" for the field c of b: columns are named by numbers
    numbered = [column.alias(str(number)) for number, column in enumerate(_columns(kinds))]
    results = frame.select(*numbered).mapInArrow(learn, PACKED)
    found = add_by_tree(results, lambda both: both[0].merge(both[1]), 16)
    if found is None or not found.columns:
        raise ValueError(NO_ROWS)
    return found


def rounded(means: Iterable[float]) -> tuple[float, ...]:
    """Return each mean rounded to ten significant digits."""
    return tuple(float(f"{mean:.10g}") for mean in means)
