"""What is learned from a column, block by block: a class for numbers, for dates and times, and for text.

`merge` adds what was learned from another part of the table. How the column is then used is decided in `decide`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vrspam.tables import frames
from vrspam.tables.identifiers import is_identifier
from vrspam.tables.kinds.base import KindOfText

MOST_COUNTED = 100_000  # different texts of a column that are counted


@dataclass
class NumberColumn:
    """Numbers: their mean and range, and whether they only name the rows."""

    name: Any
    total: float = 0.0
    count: int = 0
    low: float = float("nan")
    high: float = float("nan")
    strays: Counter[str] = field(default_factory=Counter)  # text where numbers were expected
    has_fractions: bool = False
    names_rows: bool = False
    rows_seen_for_names: int = 0  # number of rows that decided `names_rows`

    @property
    def empty(self) -> bool:
        """Whether no value is known."""
        return not (self.count or self.strays)

    @property
    def mean(self) -> float:
        """The mean of the values; NaN if none was counted."""
        return self.total / self.count if self.count else float("nan")

    def add(self, column: Any) -> None:
        """Add a series or an array.

        The first rows of a series decide whether it names the rows. Infinite and missing numbers are ignored.
        """
        if isinstance(column, np.ndarray):
            self._add_values(column)
            return
        values = frames.numbers(column, infinite=True)
        if values.size and not self.rows_seen_for_names:
            self.rows_seen_for_names = values.size
            self.names_rows = is_identifier(values, str(self.name))
        self._add_values(values)

    def _add_values(self, values: np.ndarray) -> None:
        with np.errstate(invalid="ignore"):  # inf - inf
            total = values.sum()
        if not np.isfinite(total):
            values = values[np.isfinite(values)]
            total = values.sum()
        if not values.size:
            return
        self.total += float(total)
        self.count += values.size
        self.low = float(np.fmin(self.low, values.min()))
        self.high = float(np.fmax(self.high, values.max()))
        if not self.has_fractions:
            self.has_fractions = bool((values != np.floor(values)).any())

    def merge(self, other: NumberColumn) -> None:
        """Add what was learned from other rows; the part with more rows decides whether numbers name the rows."""
        if other.rows_seen_for_names > self.rows_seen_for_names:
            self.rows_seen_for_names = other.rows_seen_for_names
            self.names_rows = other.names_rows
        self.total += other.total
        self.count += other.count
        self.has_fractions = self.has_fractions or other.has_fractions
        self.low = float(np.fmin(self.low, other.low))
        self.high = float(np.fmax(self.high, other.high))
        self.strays.update(other.strays)


@dataclass
class TypedColumn:
    """A column whose type is dates or times."""

    name: Any
    kind: KindOfText
    parts: list[NumberColumn]
    strays: Counter[str] = field(default_factory=Counter)  # text that cannot be read

    @property
    def empty(self) -> bool:
        """Whether no value is known."""
        return not (self.parts[0].count or self.strays)

    def add(self, column: Any) -> None:
        """Add a series; a later file may have text in it."""
        texts = frames.texts_of(column)
        numbers, unreadable = self.kind.read(column if texts is None else texts)
        for part, values in zip(self.parts, numbers, strict=True):
            part.add(values)
        if texts is not None and unreadable.any():
            self.strays.update(texts[np.flatnonzero(unreadable)].to_list())

    def merge(self, other: TypedColumn) -> None:
        """Add what was learned from other rows."""
        for part, other_part in zip(self.parts, other.parts, strict=True):
            part.merge(other_part)
        self.strays.update(other.strays)


@dataclass
class TextColumn:
    """Text, or values that are neither numbers nor dates: how often each occurs."""

    name: Any
    is_text: bool = True
    counts: Counter[str] = field(default_factory=Counter)
    filled: int = 0  # number of values that were counted
    stopped: bool = False  # whether later values were not counted
    backend: Any = None

    @property
    def empty(self) -> bool:
        """Whether no value is known."""
        return not self.counts

    @property
    def _is_full(self) -> bool:
        return len(self.counts) > MOST_COUNTED

    def add(self, column: Any) -> None:
        """Count the values of a series, unless more than `MOST_COUNTED` different ones are known already."""
        if self._is_full:
            self.stopped = True
            return
        texts = frames.texts_of(column) if self.is_text else None
        self.backend = column.implementation
        counts = frames.value_counts(column if texts is None else texts)
        self.filled += sum(counts.values())
        self.counts.update(counts)

    def merge(self, other: TextColumn) -> None:
        """Add what was learned from other rows."""
        self.stopped = self.stopped or other.stopped or self._is_full
        if not self._is_full:
            self.counts.update(other.counts)
            self.filled += other.filled
            self.backend = self.backend or other.backend


Column = NumberColumn | TypedColumn | TextColumn
