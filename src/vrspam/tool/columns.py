"""Which columns of a table are features, and which are left out and why: found while the table is read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.messages import Message, Parameter
from vrspam._utils.validation import LARGEST_EXACT
from vrspam.data import DataError, Schema
from vrspam.data.errors import no_column
from vrspam.data.first_pass import Label, Means
from vrspam.data.readers.arrow_reader import column_values, is_integer, type_kind
from vrspam.data.readers.base import ColumnRequest
from vrspam.data.schema import made_columns, table_schema
from vrspam.features.readings import (
    MISSING_WORDS,
    NEARLY_ALL,
    PARTS,
    YEAR,
    Dates,
    Reading,
    date_part,
    find_reading,
    show_texts,
    varying_parts,
)
from vrspam.features.tables import describe_texts, differs_nearly_everywhere, is_identifier
from vrspam.features.times import Times

MOST_COUNTED = 100_000  # different values of a text column; one with more is left out
MOSTLY_STRAY = 0.5  # share of text in a column whose first rows are numbers from which it is refused
_NUMBER = re.compile(r"[<>~]?[+-]?\d+([ ,.'\u00a0\u202f]\d+)*\s?%?")  # 57,5  1 237  <5  20 %
_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}([ T].*)?")


@dataclass
class ColumnInspector:
    """Looks at the columns of a table, block by block, for those that cannot or should not be features.

    Text that is numbers, and dates, become columns of numbers (`vrspam.features.readings`). Left out are: texts that
    differ in nearly every row, texts with more than 100,000 values, other types, columns without values, and whole
    numbers that name the rows. `include` names columns to keep all the same. Of texts with more than `max_categories`
    values the most frequent are categories; the others count as one. `dates="drop"` leaves dates out. `beside` are
    columns that are read and are no features: weights, groups, times.

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
    dates: str = "features"
    beside: Mapping[str, Any] = field(default_factory=dict)
    schema: Schema = field(init=False)
    identifiers: list[str] = field(init=False, default_factory=list)
    grouped: list[str] = field(init=False, default_factory=list)
    notes: list[str] = field(init=False, default_factory=list)
    _left_out: set[str] = field(init=False, default_factory=set)
    _wanted: ColumnRequest | None = field(init=False, default=None)
    _row_numbers: list[str] | None = field(init=False, default=None)  # known after the first block
    _dates: dict[str, DatesSeen] = field(init=False, default_factory=dict)
    _times: dict[str, int] = field(init=False, default_factory=dict)  # values in each column
    _strays: dict[str, Counter[str]] = field(init=False, default_factory=dict)
    _readings: dict[str, Reading] = field(init=False, default_factory=dict)

    def choose(self, types: Mapping[str, Any]) -> ColumnRequest:
        """Say what to read of a file whose columns have these types; the first file decides for all."""
        if self._wanted is not None:
            return self._wanted
        import pyarrow as pa
        import pyarrow.types as t

        for name in (*self.include, *self.categorical, *self.beside):
            if name not in types:
                raise DataError(no_column(self.path, name, types))
        if self.target in self.drop:
            raise DataError(
                "column {column!r} holds the labels and cannot be left out: name another with {drop}",
                column=self.target,
                drop=Parameter("drop"),
            )
        for name in types:
            if name in self.drop or name in (self.target, *self.beside) or name in self.categorical:
                continue
            if t.is_timestamp(types[name]) or t.is_date(types[name]):
                if self.dates == "drop":
                    self._leave_out(name, "holds dates; left out")
                else:
                    self._dates[name] = DatesSeen()
            elif t.is_time(types[name]) or t.is_duration(types[name]):
                self._times[name] = 0
            elif name in self.include:
                continue
            elif str(types[name]) == "null":
                self._leave_out(name, "has no values; left out")
            elif type_kind(types[name]) == "other":
                self._leave_out(name, "is of type {type}, neither number nor category; left out", type=str(types[name]))
        unused = [*self.drop, *self._left_out, *self.beside]
        known = {name: kind for name, kind in types.items() if name not in (*self._dates, *self._times)}
        if set(known) - {*unused, self.target}:
            self.schema = table_schema(self.path, known, self.target, None, unused, self.categorical, {})
        else:  # nothing but dates and times
            self.schema = table_schema(self.path, types, self.target, (), (), self.categorical, {})
        self._order = list(types)
        wanted = self.schema.wanted(tabular=True)
        dates = dict.fromkeys(self._dates, pa.timestamp("us")) | dict.fromkeys(self._times)
        self._wanted = wanted._replace(types={**wanted.types, **dates, **self.beside}, lenient=True)
        self._seen: dict[str, Counter[str]] = {name: Counter() for name in self.schema.categorical}
        self._filled = dict.fromkeys(self._seen, 0)  # values among which those of `_seen` were found
        self._means = Means(self.schema.numeric)
        self._integers = {name for name in self.schema.numeric if is_integer(types[name])}
        self._labels: set[Label] = set()
        return self._wanted

    @property
    def handed_on(self) -> list[str]:
        """What is read beside numbers and text: dates and times, weights, groups, the order of the rows."""
        return [*self._dates, *self._times, *self.beside]

    @property
    def times_seen(self) -> list[str]:
        """The columns of dates and of times."""
        return [*self._dates, *self._times]

    @property
    def has_rows(self) -> bool:
        """Whether any row has been looked at."""
        return bool(self._labels)

    def add(self, frame: Any, others: Any, labels: np.ndarray, strays: Mapping[str, Mapping[str, int]]) -> None:
        """Look at a block of rows: numbers and text, the columns of `handed_on`, and texts that were not numbers."""
        for name, texts in strays.items():
            self._strays.setdefault(name, Counter()).update(texts)
        for name, dates in self._dates.items():
            dates.add(others.column(name))
        for name in self._times:
            self._times[name] += len(others.column(name)) - others.column(name).null_count
        for name, seen in self._seen.items():
            column = frame.column(name)
            if len(seen) <= MOST_COUNTED:
                self._filled[name] += len(column) - column.null_count
                counts = column.drop_null().value_counts()
                seen.update(
                    dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
                )
        if self._row_numbers is None:
            optional = [name for name in self.schema.numeric if name not in self.include]
            self._row_numbers = [name for name in optional if is_identifier(column_values(frame, name), name)]
        self._means.add_table(frame)
        self._labels.update(np.unique(labels).tolist())

    def finish(self) -> Schema:
        """Decide on the columns; return those that are left, with their categories, means and labels.

        Columns that text and dates become have no mean yet: NaN stands for it.
        """
        categories = {}
        for name in self.schema.categorical:
            if not self._is_read(name) and self._is_category(name):
                categories[name] = self._kept_categories(name)
        for name, dates in self._dates.items():
            if dates.first is None:
                self._leave_out(name, "has no values; left out")
            else:
                self._readings[name] = Dates("ymd", dates.parts)
                self._note_dates(name, "holds dates", dates.parts, self._strays.pop(name, Counter()))
        for name, values in self._times.items():
            if values:
                self._readings[name] = Times()
                self._note(
                    name, "holds times, which are read as hours; {drop} leaves it out", drop=Parameter("drop", [name])
                )
            else:
                self._leave_out(name, "has no values; left out")
        for name in self._row_numbers or ():
            self.identifiers.append(name)
            reason = "numbers the rows: it looks like an identifier and was left out"
            self._leave_out(name, reason + self._way_in(name), include=Parameter("include", [name]))
        self._note_strays()
        self._note_large_integers()
        numeric = [name for name in self.schema.numeric if name not in self._left_out]
        made = {new: name for name, reading in self._readings.items() for new in made_columns(name, reading)}
        if not (numeric or categories or made):
            raise DataError(f"{self.path}: no feature column is left; take at least one beside the labels")
        for new, name in made.items():
            if new != name and new in (*self._order, *categories):
                raise DataError(f"{self.path}: column {name!r} holds dates, and {new!r} is the name of another column")
        place = {name: self._order.index(made.get(name, name)) for name in (*numeric, *made)}
        ordered = sorted((*numeric, *made), key=lambda name: place[name])  # parts of one date stay in their order
        means = dict(zip(numeric, self._means.values(self.path, numeric), strict=True))
        ends = zip(self.schema.numeric, self._means.low.tolist(), self._means.high.tolist(), strict=True)
        return replace(
            self.schema,
            numeric=tuple(ordered),
            categorical=categories,
            fill=tuple(means.get(name, float("nan")) for name in ordered),
            labels=tuple(sorted(self._labels)),
            readings=self._readings,
            ranges={name: (low, high) for name, low, high in ends if name in means and np.isfinite([low, high]).all()},
            grouped=tuple(self.grouped),
        )

    def _is_read(self, name: str) -> bool:
        """Whether the text of a column is numbers or dates, which is noted; dates may be left out."""
        seen = self._seen[name]
        if name in self.categorical or (found := find_reading(seen)) is None:
            return False
        texts = text_series([*seen])
        moments = np.empty(0)
        if isinstance(found.reading, Dates):
            moments, stray = found.reading.moments(texts)
        else:
            _, stray = found.reading.values(texts)
        strays = {texts[place]: seen[texts[place]] for place in np.flatnonzero(stray).tolist()}
        others = sum(count for text, count in strays.items() if text.strip().lower() not in MISSING_WORDS)
        if others > (1.0 - NEARLY_ALL) * self._filled[name]:
            return False
        remark = describe_texts(found, list(islice(seen, 100)), strays)
        if isinstance(found.reading, Dates):
            if self.dates == "drop":
                self._leave_out(name, "holds dates; left out")
                return True
            parts = varying_parts(moments)
            self._readings[name] = replace(found.reading, parts=parts)
            self._note_dates(name, f"holds {remark}", parts, {})
        else:
            self._readings[name] = found.reading
            self._note(
                name,
                f"holds {escaped(remark)}: leave it out ({{drop}}), or take it as categories ({{categorical}})",
                drop=Parameter("drop", [name]),
                categorical=Parameter("categorical", [name]),
            )
        return True

    def _note_dates(self, name: str, what: str, parts: Sequence[str], strays: Mapping[str, int]) -> None:
        if strays:
            what += f"; {sum(strays.values()):,} values that are none ({show_texts(list(strays))}) count as missing"
        self._note(
            name,
            f"{escaped(what)}: its {' and '.join([', '.join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]} "
            "are features; {dates} leaves dates out",
            dates=Parameter("dates", "drop"),
        )

    def _note_strays(self) -> None:
        """Say which texts in columns of numbers count as missing; refuse columns that are text for the most part."""
        for name, texts in self._strays.items():
            count = sum(texts.values())
            if name in self._left_out or name == self.target or name in self.beside:
                continue
            rows = count + int(self._means.counts[self.schema.numeric.index(name)])
            if count > MOSTLY_STRAY * rows:
                raise DataError(
                    "{path}: column {column!r} begins with numbers, and {count:,} of its {rows:,} values are text "
                    "({examples}): take it as categories with {categorical}, or leave it out with {drop}",
                    path=self.path,
                    column=name,
                    count=count,
                    rows=rows,
                    examples=show_texts([text for text, _ in texts.most_common(4)]),
                    categorical=Parameter("categorical", [name]),
                    drop=Parameter("drop", [name]),
                )
            one = count == 1
            self._note(
                name,
                "holds numbers; {count:,} value{s} ({examples}) {are} not, and count{ends} as missing",
                count=count,
                s="" if one else "s",
                examples=show_texts([text for text, _ in texts.most_common(4)]),
                are="is" if one else "are",
                ends="s" if one else "",
            )

    def _note_large_integers(self) -> None:
        largest = np.fmax(np.abs(self._means.low), np.abs(self._means.high))
        for name, value in zip(self.schema.numeric, largest.tolist(), strict=True):
            # 2⁵³ + 1 has become 2⁵³
            if value >= LARGEST_EXACT and name in self._integers and name not in self._left_out:
                self._note(
                    name,
                    "holds integers beyond 2**53, which lose digits as 64-bit floats: leave it out ({drop}) if it "
                    "names the rows, or take its numbers as categories ({categorical})",
                    drop=Parameter("drop", [name]),
                    categorical=Parameter("categorical", [name]),
                )

    def _is_category(self, name: str) -> bool:
        """Whether a text column is a feature; notes what is odd about it, or why it is left out."""
        seen, different = self._seen[name], len(self._seen[name])
        if name not in self.include and differs_nearly_everywhere(different, self._filled[name]):
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
        self.notes.append(Message(subject + text, column=name, **fields))

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


class DatesSeen:
    """Which parts of the dates of a column differ between rows, block by block."""

    def __init__(self) -> None:
        self.first: dict[str, float] | None = None
        self.varying: set[str] = set()

    def add(self, column: Any) -> None:
        """Look at a block of a column, an arrow array of dates or of text."""
        import pyarrow as pa

        whole = pa.chunked_array([column]).drop_null()
        if not len(whole) or len(self.varying) == len(PARTS):
            return
        moments = Dates().moments(nw.from_native(whole, series_only=True))[0]
        for part in (part for part in PARTS if part not in self.varying):
            values = date_part(moments[~np.isnat(moments)], part)
            if values.size:
                self.first = self.first or {}
                first = self.first.setdefault(part, float(values[0]))
                if (values != first).any():
                    self.varying.add(part)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that differ, the position in time where none does."""
        return tuple(part for part in PARTS if part in self.varying) or (YEAR,)


def text_series(texts: Sequence[str]) -> Any:
    """Texts as a series."""
    import pyarrow as pa

    return nw.from_native(pa.chunked_array([pa.array(texts, pa.string())]), series_only=True)


def escaped(text: str) -> str:
    """A text that a template shows as it is."""
    return text.replace("{", "{{").replace("}", "}}")
