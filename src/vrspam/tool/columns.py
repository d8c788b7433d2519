"""Which columns of a table are features, and which are left out and why: found while the table is read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vrspam._utils.columns import LARGEST_EXACT
from vrspam._utils.messages import Parameter, WordedText
from vrspam.data import DataError, Schema
from vrspam.data.errors import no_column
from vrspam.data.first_pass import Label, Means
from vrspam.data.readers.arrow_reader import is_integer, numeric_values, type_kind
from vrspam.data.readers.base import ColumnRequest
from vrspam.data.schema import table_schema

MOST_COUNTED = 100_000  # different values of a text column; one with more is left out
ENOUGH_ROWS = 20  # with fewer rows even a true category may differ in all of them
NEARLY_ALL = 0.9  # share of different values that makes a text an identifier
_NUMBER = re.compile(r"[<>~]?[+-]?\d+([ ,.'\u00a0\u202f]\d+)*\s?%?")  # 57,5  1 237  <5  20 %
_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}([ T].*)?")


@dataclass
class ColumnInspector:
    """Looks at the columns of a table, block by block, for those that cannot or should not be features.

    Left out are: texts that differ in nearly every row, texts with more than 100,000 values, dates and other types,
    columns without values, and whole numbers that count the rows. `include` names columns to keep all the same. Of
    texts with more than `max_categories` values the most frequent are categories; the others count as one.

    Attributes
    ----------
    schema : Schema
        What is read; known when `choose` has seen the types of the columns.
    identifiers : list of str
        Columns that only name the rows; known after `finish`.
    grouped : list of str
        Columns of too many categories, whose rare ones count as one; known after `finish`.
    notes : list of str
        What was left out or grouped, and what looks odd.
    """

    path: str
    target: str
    drop: Sequence[str] = ()
    include: Sequence[str] = ()
    categorical: Sequence[str] = ()
    max_categories: int = 1000
    schema: Schema = field(init=False)
    identifiers: list[str] = field(init=False, default_factory=list)
    grouped: list[str] = field(init=False, default_factory=list)
    notes: list[str] = field(init=False, default_factory=list)
    _left_out: set[str] = field(init=False, default_factory=set)
    _wanted: ColumnRequest | None = field(init=False, default=None)
    _row_numbers: list[str] | None = field(init=False, default=None)  # known after the first block

    def choose(self, types: Mapping[str, Any]) -> ColumnRequest:
        """Say what to read of a file whose columns have these types; the first file decides for all."""
        if self._wanted is not None:
            return self._wanted
        for name in (*self.include, *self.categorical):
            if name not in types:
                raise DataError(no_column(self.path, name, types))
        if self.target in self.drop:
            raise DataError(
                "column {column!r} holds the labels and cannot be left out: name another with {drop}",
                column=self.target,
                drop=Parameter("drop"),
            )
        for name in types:
            if name in self.drop or name == self.target or name in self.include or name in self.categorical:
                continue
            if str(types[name]) == "null":
                self._leave_out(name, "has no values; left out")
            elif type_kind(types[name]) == "other":
                self._leave_out(name, "is of type {type}, neither number nor category; left out", type=str(types[name]))
        unused = [*self.drop, *self._left_out]
        self.schema = table_schema(self.path, types, self.target, None, unused, self.categorical, {})
        self._wanted = self.schema.wanted(tabular=True)
        self._seen: dict[str, Counter[str]] = {name: Counter() for name in self.schema.categorical}
        self._filled = dict.fromkeys(self._seen, 0)  # values among which those of `_seen` were found
        self._means = Means(self.schema.numeric)
        self._integers = {name for name in self.schema.numeric if is_integer(types[name])}
        self._largest = np.zeros(len(self.schema.numeric))
        self._labels: set[Label] = set()
        return self._wanted

    def add(self, frame: Any, labels: np.ndarray) -> None:
        """Look at a block of rows."""
        for name, seen in self._seen.items():
            column = frame.column(name)
            if len(seen) <= MOST_COUNTED:
                self._filled[name] += len(column) - column.null_count
                counts = column.drop_null().value_counts()
                seen.update(
                    dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
                )
        for batch in frame.to_batches():
            numbers = numeric_values(batch, self.schema.numeric)
            self._largest = np.fmax(self._largest, np.fmax.reduce(np.abs(numbers), axis=0, initial=0.0))
            if self._row_numbers is None:
                optional = [
                    (n, v) for n, v in zip(self.schema.numeric, numbers.T, strict=True) if n not in self.include
                ]
                self._row_numbers = [name for name, values in optional if counts_rows(values)]
            self._means.add(numbers)
        self._labels.update(np.unique(labels).tolist())

    def finish(self) -> Schema:
        """Decide on the columns; return those that are left, with their categories, means and labels."""
        categories = {}
        for name in self.schema.categorical:
            if self._is_category(name):
                categories[name] = self._kept_categories(name)
        for name in self._row_numbers or ():
            self.identifiers.append(name)
            reason = "numbers the rows: it looks like an identifier and was left out"
            self._leave_out(name, reason + self._way_in(name), include=Parameter("include", [name]))
        for name, largest in zip(self.schema.numeric, self._largest, strict=True):
            # 2⁵³ + 1 has become 2⁵³
            if largest >= LARGEST_EXACT and name in self._integers and name not in self._left_out:
                self._note(
                    name,
                    "holds integers beyond 2**53, which lose digits as 64-bit floats: leave it out ({drop}) if it "
                    "names the rows, or take its numbers as categories ({categorical})",
                    drop=Parameter("drop", [name]),
                    categorical=Parameter("categorical", [name]),
                )
        numeric = tuple(name for name in self.schema.numeric if name not in self._left_out)
        if not (numeric or categories):
            raise DataError(f"{self.path}: no feature column is left; take at least one beside the labels")
        return replace(
            self.schema,
            numeric=numeric,
            categorical=categories,
            fill=self._means.values(self.path, numeric),
            labels=tuple(sorted(self._labels)),
        )

    def _is_category(self, name: str) -> bool:
        """Whether a text column is a feature; notes what is odd about it, or why it is left out."""
        seen, different = self._seen[name], len(self._seen[name])
        if name not in self.include and different > max(NEARLY_ALL * self._filled[name], ENOUGH_ROWS):
            self.identifiers.append(name)
            reason = "differs in nearly every row: it looks like an identifier and was left out"
            self._leave_out(name, reason + self._way_in(name), include=Parameter("include", [name]))
        elif different > MOST_COUNTED:
            self._leave_out(name, "has more than {most:,} categories; left out", most=MOST_COUNTED)
        elif different == 0:
            self._leave_out(name, "has no values; left out")
        else:
            if name not in self.categorical and (what := looks_like(seen)):
                self._note(
                    name,
                    "holds text that looks like {what}, taken as {different} categories: write plain numbers, with "
                    "nothing where one is missing, leave it out ({drop}) or confirm it ({categorical})",
                    what=what,
                    different=different,
                    drop=Parameter("drop", [name]),
                    categorical=Parameter("categorical", [name]),
                )
            return True
        return False

    def _kept_categories(self, name: str) -> tuple[str, ...]:
        """The categories of a column: all, or the most frequent where there are more than `max_categories`."""
        seen = self._seen[name]
        if len(seen) <= self.max_categories:
            return tuple(sorted(seen))
        kept = sorted(seen, key=lambda value: (-seen[value], value))[: self.max_categories - 1]
        self.grouped.append(name)
        self._note(
            name,
            "has more than {most:,} categories: the {kept:,} most frequent are kept, and the other {rare:,} count as "
            "one, as do new ones; use {drop} if it is a name, or raise {fix} to keep more",
            most=self.max_categories,
            kept=len(kept),
            rare=len(seen) - len(kept),
            drop=Parameter("drop", [name]),
            fix=Parameter("max_categories"),
        )
        return tuple(sorted(kept))

    def _leave_out(self, name: str, reason: str, **fields: Any) -> None:
        self._left_out.add(name)
        self._note(name, reason, **fields)

    def _note(self, name: str, text: str, **fields: Any) -> None:
        subject = "column {column!r} " if name else "the column without a name "
        self.notes.append(WordedText(subject + text, column=name, **fields))

    @staticmethod
    def _way_in(name: str) -> str:
        return "; use {include} to keep it" if name else ""


def looks_like(values: Iterable[str]) -> str | None:
    """What most of the different values of a text column are, if not words.

    >>> looks_like(["57,5", "61", "?"]), looks_like(["13.01.2024", "2.5.2024"]), looks_like(["Graz", "Linz 1"])
    ('numbers', 'dates', None)
    """
    texts = [value.strip() for value in values]
    for what, pattern in (("dates", _DATE), ("numbers", _NUMBER)):
        if len(texts) > 1 and sum(pattern.fullmatch(text) is not None for text in texts) > len(texts) / 2:
            return what
    return None


def counts_rows(values: np.ndarray) -> bool:
    """Whether a column numbers its rows: whole numbers, all different, that only rise, only fall or lie close together.

    With fewer than `ENOUGH_ROWS` rows nothing can be said, and the answer is no.

    >>> rng = np.random.default_rng(0)
    >>> counts_rows(np.arange(100.0)), counts_rows(rng.permutation(100.0 + np.arange(50))), counts_rows(rng.random(50))
    (True, True, False)
    >>> counts_rows(rng.choice(90_000, 50, replace=False) * 1.0)  # salaries, say
    False
    """
    if values.size < ENOUGH_ROWS or (values != np.floor(values)).any():  # NaN is not a whole number
        return False
    different = np.unique(values)
    if different.size < values.size:
        return False
    steps = np.diff(values)
    return bool((steps > 0).all() or (steps < 0).all() or np.ptp(values) < 2 * values.size)
