"""Training data larger than memory: a sample to look at, and standardised blocks that can be read again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from vrspam import ClassMoments
from vrspam.tool.opening import Opened, stack
from vrspam.tool.scaling import Scaling, count_gaps, fill_gaps

SUSPECT_ROWS = 20_000  # rows in which leaking features are looked for


@dataclass(frozen=True)
class Standardised:
    """The blocks of a file, standardised; go through it as often as needed."""

    opened: Opened
    scaling: Scaling

    @property
    def n_rows(self) -> int | None:
        return self.opened.n_rows

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        for X, y in self.opened:
            yield self.scaling(X), y


class RowSample:
    """A random sample of at most `size` rows of a stream: those with the smallest random keys."""

    def __init__(self, size: int, rng: np.random.Generator):
        self.size, self.rng = size, rng
        self.keys, self.y, self.X = np.empty(0), np.empty(0, dtype=bool), None

    def add(self, X: Any, y: np.ndarray) -> None:
        keys = np.concatenate([self.keys, self.rng.random(y.size)])
        labels = np.concatenate([self.y, y])
        both = X if self.X is None else stack([self.X, X])
        if keys.size > self.size:
            kept = np.sort(np.argpartition(keys, self.size)[: self.size])
            keys, labels, both = keys[kept], labels[kept], both[kept]
        self.keys, self.y, self.X = keys, labels, both


def gather(opened: Opened, seed: int) -> tuple[ClassMoments, RowSample, np.ndarray]:
    """The spread of each feature, a sample of rows to look at, and the gaps of each numeric column, in one pass."""
    schema = opened.schema
    moments = ClassMoments(schema.n_features, classes=[False, True], scatter=False)
    sample = RowSample(SUSPECT_ROWS, np.random.default_rng(seed))
    gaps = np.zeros(len(schema.numeric), dtype=np.int64)
    for holed, y in opened.keeping_gaps():
        gaps += count_gaps(holed, gaps.size)
        X = fill_gaps(holed, schema.fill or ())
        moments.update(X, y)
        sample.add(X, y)
    return moments, sample, gaps
