"""What new rows hold that the training rows did not: unknown categories, numbers far outside, unreadable text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vrspam._utils.texts import show_texts
from vrspam.tables import frames
from vrspam.tables.kinds.dates import YEAR, part_text
from vrspam.tables.kinds.missing import means_missing

if TYPE_CHECKING:
    from vrspam.tables.schema import Schema

SEVERAL = 5  # with so many rows or more, a column without any readable value deserves a warning

#: Texts that cannot be read, with their counts, by column.
Strays = Mapping[Any, Mapping[str, int]]


class Unseen:
    """Counts, block by block, what new rows hold that the training rows, as the schema describes them, did not.

    A number is far outside if it misses the range of training by more than the width of that range; infinite ones are
    refused elsewhere.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.rows = 0
        self.unknown: dict[str, Counter[str]] = {}  # categories that training did not have
        self.far: Counter[str] = Counter()  # numbers that are far outside
        self.present: Counter[str] = Counter()  # values that are not missing
        self.strays: dict[Any, Counter[str]] = {}  # texts that cannot be read

    def add(self, X: Any, strays: Strays | None = None, names: Sequence[str] | None = None) -> Self:
        """Add rows that were read, and texts that could not be read; `names` are those of the columns of an array."""
        self.rows += X.shape[0]
        self._add_strays(strays or {})
        columns = frames.columns_of(X)
        column_names = columns.names if names is None else names
        places = {str(name): index for index, name in enumerate(column_names)}  # names of a frame need not be text
        for name in self.schema.numeric:
            if name in places and name in self.schema.ranges:
                self._add_numbers(name, frames.numbers(columns, places[name], infinite=True))
        for name, known in self.schema.categorical.items():
            if name in places and known and name not in self.schema.grouped:
                self._add_categories(name, frames.value_counts(columns.columns[places[name]]), frozenset(known))
        return self

    def _add_strays(self, strays: Strays) -> None:
        for column, texts in strays.items():
            unreadable = {text: count for text, count in texts.items() if not means_missing(text)}
            if unreadable:
                self.strays.setdefault(column, Counter()).update(unreadable)

    def _add_numbers(self, name: str, values: np.ndarray) -> None:
        self.present[name] += int(values.size - np.isnan(values).sum())
        self.far[name] += int(far_outside(values, *self.schema.ranges[name]).sum())

    def _add_categories(self, name: str, counts: Mapping[str, int], known: frozenset[str]) -> None:
        self.present[name] += sum(counts.values())
        new = {text: count for text, count in counts.items() if text not in known}
        if new:
            self.unknown.setdefault(name, Counter()).update(new)

    def share(self, column: Any) -> float:
        """The share of the rows whose text in a column cannot be read."""
        return self.strays[column].total() / max(self.rows, 1)

    def sentences(self, marked: str | None = None) -> list[str]:
        """The warnings, a sentence for each column; `marked` is the result column that marks rows far outside."""
        return [
            *self._about_categories(),
            *self._about_numbers(marked),
            *self._about_text(),
            *self._about_missing(),
        ]

    def _about_categories(self) -> Iterator[str]:
        for name, counts in self.unknown.items():
            known = {text.strip().casefold() for text in self.schema.categorical[name]}
            differ_in_case_alone = all(text.strip().casefold() in known for text in counts)
            hint = ": they differ from known ones in case or spaces alone" if differ_in_case_alone else ""
            share = share_of_rows(counts.total(), self.rows)
            what = f"column {name!r} holds categories that training did not have in {share}"
            yield f"{what} ({most_common(counts)}){hint}"

    def _about_numbers(self, marked: str | None) -> Iterator[str]:
        doubt = f", and do not rely on these scores (the column {marked!r} marks them)" if marked else ""
        made = self.schema.made()
        for name, count in self.far.items():
            if not count:
                continue
            low, high = self.schema.ranges[name]
            if name in made and made[name][1] == YEAR:
                span = f"{part_text(YEAR, low)} to {part_text(YEAR, high)}"
                advice = "a new model may be due"
            else:
                span = f"{low:g} to {high:g}"
                advice = "check its unit"
            share = share_of_rows(count, self.rows)
            yield f"column {name!r} is far outside the range of training, {span}, in {share}: {advice}{doubt}"

    def _about_text(self) -> Iterator[str]:
        for name, counts in self.strays.items():
            share = share_of_rows(counts.total(), self.rows)
            what = f"column {name!r} holds text where training had other values, in {share} ({most_common(counts)})"
            yield f"{what}: these count as missing"

    def _about_missing(self) -> Iterator[str]:
        if self.rows < SEVERAL:
            return
        made = self.schema.made()
        without_values = [made.get(name, (name, ""))[0] for name, count in self.present.items() if not count]
        for name in dict.fromkeys(without_values):  # a date column once, not for each part
            if name not in self.strays:
                yield f"column {name!r} has no value in any row, and had values in training"


def far_outside(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Which numbers are outside a range by more than its width.

    >>> far_outside(np.array([0.0, 29.0, 31.0, np.nan]), 10.0, 20.0).tolist()
    [False, False, True, False]
    """
    width = high - low if high > low else max(abs(high), 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.isfinite(values) & ((values < low - width) | (values > high + width))


def share_of_rows(count: int, rows: int) -> str:
    """A share of some rows, in words.

    >>> share_of_rows(1, 3), share_of_rows(1, 10_000)
    ('33.3 % of the rows', 'less than 0.1 % of the rows')
    """
    percent = 100.0 * count / max(rows, 1)
    shown = f"{percent:.1f} %" if percent >= 0.05 else "less than 0.1 %"
    return f"{shown} of the rows"


def most_common(counts: Counter[str]) -> str:
    """The most frequent texts as examples."""
    return show_texts([text for text, _ in counts.most_common(4)])
