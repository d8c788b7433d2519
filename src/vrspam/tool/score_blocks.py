"""Files of any size, read with the columns of a model and scored block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.blas import blas_thread_count, blas_threads
from vrspam.data import Chunks
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.block import BrokenRow
from vrspam.data.source import Source
from vrspam.model.model import Model
from vrspam.tables.frames import columns_of, numbers
from vrspam.tables.unseen import far_outside


class ScoredBlock(NamedTuple):
    """Scores of a block of rows, which of them are positive (None without labels), columns handed on, broken rows.

    `far` says which rows have a number far outside the range of training; None where ranges are not known.
    """

    scores: np.ndarray
    positive: np.ndarray | None
    kept: Any = None
    broken: Sequence[BrokenRow] = ()
    far: np.ndarray | None = None


def open_rows(
    model: Model,
    path: Any,
    *,
    labels: bool,
    keep: Any = (),
    skip_errors: bool = False,
    keep_errors: bool = False,
    progress: bool = False,
    allow_missing: Sequence[str] = (),
    **reading: Any,
) -> Chunks:
    """Open a file with the columns of a model; `reading` is that of `vrspam.data.source.Source.open`.

    Indices of LIBSVM files start as they did in training, unless told otherwise. A category that training did not
    have sets all indicators of its column to 0. Text in columns of numbers counts as missing; rows without a label
    are left out. With `keep_errors` rows that cannot be scored keep their places.
    """
    schema = model.schema
    on_error = "raise"
    if skip_errors:
        on_error = "skip"
    elif keep_errors:
        on_error = "keep"
    return Chunks(
        Source.open(path, zero_based_before=schema.zero_based, trained=schema.writing, **reading),
        schema if labels else schema.without_target(),
        unknown="ignore",
        keep=keep,
        on_error=on_error,
        progress=progress,
        raw=True,
        lenient=True,
        compared=True,
        allow_missing=allow_missing,
    )


def score_blocks(model: Model, chunks: Chunks) -> Iterator[ScoredBlock]:
    """Score what `open_rows` opened, block by block, in the order of the rows."""

    def score(block: tuple[Any, ...]) -> ScoredBlock:
        return _score_block(model, chunks, *block)

    threads = blas_thread_count()
    if threads == 1:
        yield from map(score, chunks)
        return
    with blas_threads(1):  # products of one block are small: it is faster to score several blocks at once
        yield from read_ahead(iter(chunks), score, threads)


def _score_block(
    model: Model, chunks: Chunks, X: Any, y: Any, kept: Any = None, broken: Sequence[BrokenRow] = ()
) -> ScoredBlock:
    scores = np.empty(0)
    if X is not None:
        with np.errstate(over="ignore", invalid="ignore"):  # who writes the scores says which are not finite
            scores = model.score(X)
    positive = None
    if y is not None:
        positive = np.full(y.shape, True) if model.outcome.order is not None else y == model.positive
    return ScoredBlock(scores, positive, kept, broken, _far_rows(model, chunks, X, scores.size))


def _far_rows(model: Model, chunks: Chunks, X: Any, n_rows: int) -> np.ndarray | None:
    """Which rows have a number far outside the range of training."""
    if chunks.unseen is None:
        return None
    far = np.zeros(n_rows, dtype=bool)
    if X is None:
        return far
    columns = columns_of(X)
    for j, name in enumerate(model.schema.numeric):
        if chunks.unseen.far[name]:
            far = far | far_outside(numbers(columns, j), *model.schema.ranges[name])
    return far
