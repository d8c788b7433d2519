"""One class for each kind of column: it learns from a column, block by block, and decides how it is used (`decide`).

`merge` adds what was learned from another part of the table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.messages import Finding, Parameter, WordedError
from vrspam._utils.texts import show_texts
from vrspam._utils.validation import LARGEST_EXACT
from vrspam.tables import frames
from vrspam.tables.kinds import NEARLY_ALL, describe, find_kind, looks_like
from vrspam.tables.kinds.base import KindOfText
from vrspam.tables.kinds.missing import MISSING_WORDS, count_missing
from vrspam.tables.kinds.numbers import LONG_ZIP

_ENOUGH_ROWS = 20  # with fewer rows even a true category may differ in all of them
MOST_COUNTED = 100_000  # different texts of a column that are counted
_WAY_IN = ("", "; use {include} to keep it")  # by whether a column has a name
ID_NAME = re.compile(r"(^|[^a-z])(id|ids|key|uuid|guid|nr|no|number|code)$|(?<=[a-z])I[dD]$")


@dataclass
class Asked:
    """What the user asked for about the columns, and the notes on how the columns are used."""

    include: Sequence[str] = ()  # columns to keep although they look like identifiers
    categorical: Sequence[str] = ()  # columns to take as categories
    max_categories: int | None = None  # if text has more, the most frequent are kept and the others count as one
    dates: str = "features"  # or "drop"
    most_known: int = 10_000  # without `max_categories`, a column with more categories has no unknown ones
    declared: Sequence[str] = ()  # columns of a frame whose type says that they are categories
    taken: Sequence[str] = ()  # names that no column made from dates may have
    empty: str = "keep"  # what to do with columns without values: "keep", "leave out" or "refuse"
    path: str = ""  # the file, for errors
    integers: Sequence[str] = ()  # columns of a file that hold integers, which become floats
    error: type[WordedError] = WordedError  # raised for columns that are refused
    notes: list[Finding] = field(default_factory=list)
    readings: dict[Any, tuple[str, str]] = field(default_factory=dict)  # (kind, remark) of text that was read

    def note(self, code: str, name: Any, text: str, severity: str = "note", **fields: Any) -> None:
        """Add a note on a column; `drop`, `categorical` and `include` in the text are options that the user may set."""
        subject = "column {column!r} " if name else "the column without a name "
        self.notes.append(Finding(code, severity, subject + text, column=name, **fields))

    def without_values(self, name: Any) -> bool:
        """Whether a column without values is left out; raise an error if such columns are refused."""
        if self.empty == "refuse":
            raise self.error("column {column!r} has no value at all; leave it out", column=name)
        if self.empty == "leave out":
            self.note("left-out", name, "has no values; left out")
        return self.empty == "leave out"


class Learned(NamedTuple):
    """How a column is used: as named columns of numbers, as categories, or not.

    With a `kind` the numbers are read from text or dates. `grouped` says that there are more categories than these.
    """

    numbers: Mapping[str, NumberColumn] = {}
    kind: KindOfText | None = None
    categories: tuple[str, ...] | None = None
    grouped: bool = False
    is_identifier: bool = False


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
    rows: int = 0  # number of rows that decided `names_rows`

    @property
    def empty(self) -> bool:
        """Whether no value is known."""
        return not (self.count or self.strays)

    def add(self, column: Any) -> None:
        """Add a series or an array.

        The first rows of a series decide whether it names the rows. Infinite and missing numbers are ignored.
        """
        values = column
        if not isinstance(column, np.ndarray):
            values = frames.numbers(column, infinite=True)
            if not self.rows and values.size:
                self.rows, self.names_rows = values.size, is_identifier(values, str(self.name))
        with np.errstate(invalid="ignore"):  # inf - inf
            total = values.sum()
        if not np.isfinite(total):
            values = values[np.isfinite(values)]
            total = values.sum()
        if values.size:
            self.total += float(total)
            self.count += values.size
            self.low = float(np.fmin(self.low, values.min()))
            self.high = float(np.fmax(self.high, values.max()))
            if not self.has_fractions:
                self.has_fractions = bool((values != np.floor(values)).any())

    def merge(self, other: NumberColumn) -> None:
        """Add what was learned from other rows; the part with more rows decides whether numbers name the rows."""
        if other.rows > self.rows:
            self.rows, self.names_rows = other.rows, other.names_rows
        self.total, self.count = self.total + other.total, self.count + other.count
        self.has_fractions = self.has_fractions or other.has_fractions
        self.low, self.high = float(np.fmin(self.low, other.low)), float(np.fmax(self.high, other.high))
        self.strays.update(other.strays)

    def decide(self, asked: Asked) -> Learned | None:
        """Numbers, unless they name the rows; None if the column is left out."""
        name, rows = self.name, self.count + self.strays.total()
        if self.names_rows and name not in asked.include:
            reason = "numbers the rows: it looks like an identifier and was left out"
            asked.note("identifiers", name, reason + _WAY_IN[bool(name)])
            return Learned(is_identifier=True)
        if self.strays.total() > 0.5 * rows:  # only its first rows are numbers
            raise asked.error(
                "{path}: column {column!r} begins with numbers, and {count:,} of its {rows:,} values are text "
                "({examples}): take it as categories with {categorical}, or leave it out with {drop}",
                path=asked.path,
                column=name,
                count=self.strays.total(),
                rows=rows,
                examples=show_texts([text for text, _ in self.strays.most_common(4)]),
            )
        if any(LONG_ZIP.fullmatch(text) for text in self.strays):
            words = "holds codes that look like numbers: take it as categories with {categorical}"
            asked.note("codes", name, words, "warning")
        elif self.strays:
            odd = any(text.strip().lower() not in MISSING_WORDS for text in self.strays)
            missing = count_missing(self.strays)
            asked.note("unread-text", name, "holds numbers; {missing}", "warning" if odd else "note", missing=missing)
        if not self.count and asked.without_values(name):
            return None
        if name in asked.integers and max(abs(self.low), abs(self.high)) >= LARGEST_EXACT:  # 2⁵³ + 1 has become 2⁵³
            asked.note(
                "large-integers",
                name,
                "holds integers beyond 2**53, which lose digits as 64-bit floats: leave it out ({drop}) if it names "
                "the rows, or take its numbers as categories ({categorical})",
                "warning",
            )
        return Learned({str(name): self})


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
        numbers, stray = self.kind.read(column if texts is None else texts)
        for part, values in zip(self.parts, numbers, strict=True):
            part.add(values)
        if texts is not None and stray.any():
            self.strays.update(texts[np.flatnonzero(stray)].to_list())

    def merge(self, other: TypedColumn) -> None:
        """Add what was learned from other rows."""
        for part, more in zip(self.parts, other.parts, strict=True):
            part.merge(more)
        self.strays.update(other.strays)

    def decide(self, asked: Asked) -> Learned | None:
        """Numbers of the parts that vary; None if the column is left out."""
        if asked.dates == "drop" and self.kind.words == "dates":
            asked.note("left-out", self.name, "holds dates; left out")
            return None
        if not self.parts[0].count and asked.without_values(self.name):
            return None
        missing = f"; {count_missing(self.strays)}" if self.strays else ""
        return _read(self.name, self.kind, self.parts, f"{self.kind.words}{missing}", asked)


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

    def add(self, column: Any) -> None:
        """Count the values of a series, unless more than `MOST_COUNTED` different ones are known already."""
        if len(self.counts) > MOST_COUNTED:
            self.stopped = True
            return
        texts = frames.texts_of(column) if self.is_text else None
        self.backend = column.implementation
        counts = frames.value_counts(column if texts is None else texts)
        self.filled += sum(counts.values())
        self.counts.update(counts)

    def merge(self, other: TextColumn) -> None:
        """Add what was learned from other rows."""
        self.stopped = self.stopped or other.stopped or len(self.counts) > MOST_COUNTED
        if len(self.counts) <= MOST_COUNTED:
            self.counts.update(other.counts)
            self.filled += other.filled
            self.backend = self.backend or other.backend

    def decide(self, asked: Asked) -> Learned | None:
        """Numbers, categories or an identifier; None if the column is left out."""
        name, different = self.name, len(self.counts)
        if self.is_text:
            if name not in asked.categorical and (found := self._as_kind(asked)) is not None:
                return found if found.kind is not None else None
            names_rows = different > max(NEARLY_ALL * self.filled, _ENOUGH_ROWS)
            if names_rows and name not in (*asked.include, *asked.categorical):
                reason = "differs in nearly every row: it looks like an identifier and was left out"
                asked.note("identifiers", name, reason + _WAY_IN[bool(name)])
                return Learned(is_identifier=True)
        if not different and asked.without_values(name):
            return None
        if asked.max_categories is None:
            known = different <= min(asked.most_known, MOST_COUNTED)
            return Learned(categories=tuple(sorted(self.counts)) if known else (), grouped=not known)
        if different > MOST_COUNTED:
            asked.note("left-out", name, "has more than {most:,} categories; left out", most=MOST_COUNTED)
            return None
        if self.is_text and name not in asked.categorical and (what := looks_like([*self.counts])):
            asked.note(
                "unread-text",
                name,
                "holds text that looks like {what}, taken as {different} categories: write plain numbers, with nothing "
                "where one is missing, leave it out ({drop}) or confirm it ({categorical})",
                "warning",
                what=what,
                different=different,
            )
        if different <= asked.max_categories:
            return Learned(categories=tuple(sorted(self.counts)))
        kept = sorted(self.counts, key=lambda value: (-self.counts[value], value))[: asked.max_categories - 1]
        asked.note(
            "many-categories",
            name,
            "has more than {most:,} categories: the {kept:,} most frequent are kept, and the other {rare:,} count as "
            "one, as do new ones; use {drop} if it is a name, or raise {max_categories} to keep more",
            "warning",
            most=asked.max_categories,
            kept=len(kept),
            rare=different - len(kept),
        )
        return Learned(categories=tuple(sorted(kept)), grouped=True)

    def _as_kind(self, asked: Asked) -> Learned | None:
        """The numbers that the text means, None if it means none; without a kind if dates are to be left out."""
        found = find_kind(self.counts)
        if found is None:
            return None
        texts = [*self.counts]
        parts, stray = found.kind.read(nw.new_series("text", texts, nw.String, backend=self.backend))
        strays = {texts[place]: self.counts[texts[place]] for place in np.flatnonzero(stray).tolist()}
        others = sum(count for text, count in strays.items() if text.strip().lower() not in MISSING_WORDS)
        if others > (1.0 - NEARLY_ALL) * self.filled:
            return None
        if asked.dates == "drop" and found.kind.words == "dates":
            asked.note("left-out", self.name, "holds dates; left out")
            return Learned()
        made = [NumberColumn(name) for name in found.kind.made(self.name)]
        for part, values in zip(made, parts, strict=True):
            part.add(values)
            part.count = 0  # each text counts once: this gives the range, not the mean
        remark = describe(found, list(islice(texts, 100)), strays)
        asked.readings[self.name] = found.kind.words, remark
        return _read(self.name, found.kind, made, remark, asked, complete=not self.stopped)


Column = NumberColumn | TypedColumn | TextColumn


def _read(
    name: Any, kind: KindOfText, parts: Sequence[NumberColumn], what: str, asked: Asked, *, complete: bool = True
) -> Learned:
    """Keep the parts of a column that vary, all parts if its values are not `complete`, and add a note."""
    kind = kind.narrowed([part.low < part.high or not complete for part in parts])
    made = {str(part.name): part for part in parts if part.name in kind.made(name)}
    if kind.parts != ("",):
        *others, last = kind.parts
        listed = f"{', '.join(others)} and {last}" if others else last
        words = (
            f"holds {{what}}: its {listed} {'are features' if others else 'is a feature'}; {{dates}} leaves dates out"
        )
        asked.note("dates", name, words, what=what, dates=Parameter("dates", "drop"))
    elif name in asked.readings:
        words = "holds {what}: leave it out ({drop}), or take it as categories ({categorical})"
        asked.note("text-numbers", name, words, what=what)
    else:
        asked.note(
            "text-numbers", name, f"holds {{what}}, which are read as {kind.meaning}; {{drop}} leaves it out", what=what
        )
    return Learned(made, kind)


def is_identifier(values: np.ndarray, name: str = "") -> bool:
    """Whether a column names its rows: its numbers are whole, all different, and do not look like measurements.

    They only rise, only fall or lie close together; or they are in no order, but the column has a name such as "id",
    "number" or "code", or they are spread evenly over their range like random numbers, unlike amounts. With fewer
    than 20 rows (100 for numbers in no order) the answer is always no.

    >>> rng = np.random.default_rng(0)
    >>> is_identifier(np.arange(100.0)), is_identifier(rng.permutation(100.0 + np.arange(50)))
    (True, True)
    >>> is_identifier(rng.choice(90_000_000, 900, replace=False) * 1.0), is_identifier(rng.random(50))
    (True, False)
    >>> is_identifier(np.unique(rng.lognormal(10.0, 1.0, 500).round())[::-1][rng.permutation(400)])  # salaries, say
    False
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iuf" or values.size < _ENOUGH_ROWS:
        return False
    for some in (values[:1000], values):  # a quick look first: most columns end there
        values, ordered = some.astype(np.float64), np.sort(some.astype(np.float64))
        if not np.isfinite(values).all() or (values != np.floor(values)).any() or (np.diff(ordered) == 0.0).any():
            return False
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all() or np.ptp(values) < 2 * values.size:
        return True
    if values.size < 100:
        return False
    if ID_NAME.search(name) or ID_NAME.search(name.lower()):
        return True
    # The Kolmogorov-Smirnov distance from a uniform distribution; uniform numbers exceed 1.36 / √n in 5 % of cases.
    even = (ordered - ordered[0]) / (ordered[-1] - ordered[0])
    places = np.arange(values.size) / (values.size - 1.0)
    return bool(np.abs(even - places).max() < 1.36 / np.sqrt(values.size))
