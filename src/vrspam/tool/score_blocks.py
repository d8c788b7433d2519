"""Rows of files, opened with the columns of a model and scored block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.blas import blas_thread_count, blas_threads
from vrspam.data.open import open_with
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.stream import Pass, Stream
from vrspam.data.table import Table
from vrspam.model.model import Model
from vrspam.tables.frames import columns_of, numbers
from vrspam.tables.unseen import far_outside


class ScoredBlock(NamedTuple):
    """A block of rows, and their scores.

    `far` says which rows have a number far outside the range of training; None where ranges are not known.
    """

    table: Table
    scores: np.ndarray
    far: np.ndarray | None


def open_rows(
    model: Model,
    path: Any,
    *,
    labels: bool,
    keep: Sequence[str] | Callable[[Mapping[str, Any]], Sequence[str]] = (),
    **reading: Any,
) -> Stream:
    """Open a file with the columns of a model, and its labels if they are asked for; more as `open_with` takes it."""
    schema = model.schema if labels else model.schema.without_target()
    return open_with(path, schema, label=model.positive if labels else None, keep=keep, **reading)


def score_blocks(model: Model, reading: Pass, look: Callable[[Table], None] | None = None) -> Iterator[ScoredBlock]:
    """Score a file that `open_rows` opened, block by block, in the order of the rows; `look` is called with each."""
    tables = _looked_at(reading, look)
    threads = blas_thread_count()
    if threads == 1:
        for table in tables:
            yield _scored(model, reading, table)
        return
    with blas_threads(1):  # products of one block are small: it is faster to score several blocks at once
        yield from read_ahead(tables, lambda table: _scored(model, reading, table), threads)


def _looked_at(reading: Pass, look: Callable[[Table], None] | None) -> Iterator[Table]:
    for table in reading:
        if look is not None:
            look(table)
        yield table


def _scored(model: Model, reading: Pass, table: Table) -> ScoredBlock:
    """A block with its scores."""
    scores = np.empty(0)
    if table.rows is not None:
        with np.errstate(over="ignore", invalid="ignore"):  # who writes the scores says which are not finite
            scores = model.score(table.rows)
    if reading.unseen is None:
        return ScoredBlock(table, scores, None)
    far_columns = [name for name in model.schema.numeric if reading.unseen.far[name]]
    return ScoredBlock(table, scores, _far_from_training(model, table, far_columns))


def _far_from_training(model: Model, table: Table, names: Sequence[str]) -> np.ndarray:
    """Which rows have a number far outside the range of training, in one of these columns of numbers."""
    far = np.zeros(table.places.size, dtype=bool)
    if table.rows is None:
        return far
    columns = columns_of(table.rows)
    places = {name: place for place, name in enumerate(model.schema.numeric)}
    for name in names:
        far |= far_outside(numbers(columns, places[name]), *model.schema.ranges[name])
    return far


def positives_of(model: Model, table: Table) -> np.ndarray:
    """Which rows of a labelled block are positive: all of them where the model ranks an order."""
    if model.outcome.order is not None:
        return np.ones(table.places.size, dtype=bool)
    return np.asarray(table.positive)
