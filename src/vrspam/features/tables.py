"""Frames as people have them: which columns are numbers in text, dates or names of the rows, learned once from a frame.

Maps take numbers and categories. `FrameReading` makes such a frame of any other, the same way for training rows and for
new ones: text that is numbers becomes numbers, a date becomes a position in time, a month, a weekday and an hour, and
columns that only name the rows are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.warnings import ColumnsLeftOut, TextRead, UnseenValues, warn
from vrspam.features import frames
from vrspam.features.readings import (
    NEARLY_ALL,
    Dates,
    Found,
    Numbers,
    Reading,
    date_part,
    find_reading,
    show_texts,
    varying_parts,
)
from vrspam.features.times import Times
from vrspam.features.unseen import SeenColumn, Unseen, see_column

ENOUGH_ROWS = 20  # with fewer rows even a true category may differ in all of them
ENOUGH_NUMBERS = 100  # rows in which whole numbers in no order must differ to be names
COUNTED = 20_000  # rows by which the meaning of a text is found
EXAMPLES = 2
_NESTED = (list, tuple, dict, set, np.ndarray)
_ID_NAME = re.compile(r"(^|[^a-z])(id|ids|key|uuid|guid|nr|no|number|code)$|(?<=[a-z])I[dD]$")


@dataclass(frozen=True)
class FrameReading:
    """How the columns of a frame are read.

    Attributes
    ----------
    columns : tuple
        All columns of the frame.
    readings : dict
        Columns of text that is numbers, and of dates, with how they are read.
    identifiers : tuple
        Columns that only name the rows; they are left out.
    names : tuple
        The columns of the frame that is made.
    seen : dict
        What training had in each of them.
    """

    columns: tuple[Any, ...]
    readings: Mapping[Any, Reading]
    identifiers: tuple[Any, ...]
    names: tuple[Any, ...]
    seen: Mapping[str, SeenColumn]

    @classmethod
    def learn(cls, X: Any) -> FrameReading:
        """Look at all columns of a frame; warn once of what is read in a way that one might not expect."""
        frame = nw.from_native(X)
        found: dict[Any, Found] = {}
        identifiers: list[Any] = []
        others: list[Any] = []
        columns = frames.columns_of(X)
        for index, numeric in enumerate(frames.numeric_flags(X)):
            name, column = columns.names[index], columns.columns[index]
            if numeric:
                # the values as such: one beyond all numbers is refused where the map is fitted
                names_rows = is_identifier(column.to_numpy(), str(name)) if _may_name_rows(column) else False
            else:
                refuse_nested(column, name)
                if (what := find_in_column(column)) is not None:
                    found[name] = what
                    continue
                names_rows = _differs_nearly_everywhere(column)
            (identifiers if names_rows else others).append(name)
        if not (found or others):
            raise ValueError("Every column looks like an identifier: give at least one that says something.")
        readings = {name: what.reading for name, what in found.items()}
        read, strays = read_frame(frame, readings, identifiers)
        for name, what in found.items():
            column = columns.columns[columns.names.index(name)]
            if (remark := describe(what, column, strays.get(name, {}))) is not None:
                warn(TextRead(name, what.reading.words, remark))
        if identifiers:
            warn(ColumnsLeftOut(tuple(identifiers)))
        for name, reading in readings.items():
            readings[name] = _with_varying_parts(reading, columns.columns[columns.names.index(name)])
        native = drop_parts(read, readings).to_native()
        flags = frames.numeric_flags(native)
        columns = frames.columns_of(native)
        seen = {str(columns.names[j]): see_column(columns, j, numeric) for j, numeric in enumerate(flags)}
        known = {name: what for name, what in seen.items() if what is not None}
        return cls(tuple(frame.columns), readings, tuple(identifiers), tuple(columns.names), known)

    @property
    def is_plain(self) -> bool:
        """Whether frames are taken as they are."""
        return not (self.readings or self.identifiers)

    def by_column(self, effects: np.ndarray) -> np.ndarray:
        """What the columns of a frame do, from deviations of what the columns do that are made of them (`names`).

        Those of the parts of a date are added up as squares; columns that are left out have 0.
        """
        squares, found = iter((effects**2).tolist()), []
        for column in self.columns:
            reading = self.readings.get(column)
            made = len(reading.parts) if isinstance(reading, Dates) else int(column not in self.identifiers)
            found.append(sum(next(squares) for _ in range(made)))
        return np.sqrt(found)

    def read(self, X: Any, *, new: bool = True) -> Any:
        """The frame that maps take; with `new`, warn of what training did not have."""
        strays: Mapping[Any, Mapping[str, int]] = {}
        if not self.is_plain:
            frame, strays = read_frame(nw.from_native(X), self.readings, self.identifiers)
            X = frame.to_native()
        if new:
            unseen = Unseen(self.seen)
            unseen.add_strays(strays)
            unseen.add(X)
            if said := unseen.sentences():
                warn(UnseenValues(tuple(said)))
        return X


def refuse_nested(column: Any, name: Any) -> None:
    """Refuse a column of lists, arrays or records."""
    nested = column.dtype in (nw.List, nw.Array, nw.Struct)
    if column.dtype in (nw.Object, nw.Unknown):
        nested = any(isinstance(value, _NESTED) for value in column.to_list())
    if nested:
        raise ValueError(f"Column {name!r} holds lists or records: make a column of each part, or drop it.")


def find_in_column(column: Any) -> Found | None:
    """What the values of a column that are not numbers mean; None for categories."""
    if column.dtype in (nw.Datetime, nw.Date):
        return Found(Dates())
    if column.dtype in (nw.Time, nw.Duration):
        return Found(Times())
    texts = texts_of(column)
    if texts is None:
        present = [value for value in column.to_list() if value is not None] if column.dtype == nw.Object else []
        for kinds, reading in ((date, Dates()), ((time, timedelta), Times())):
            if present and all(isinstance(value, kinds) or value != value for value in present):
                return Found(reading)
        return None
    if len(texts) > COUNTED:
        texts = texts.gather_every(len(texts) // COUNTED + 1)
    return find_reading(Counter(text for text in texts.to_list() if isinstance(text, str)))


def texts_of(column: Any) -> Any:
    """The column as a series of text, if it holds text (among numbers, say); None for categories and other types."""
    if column.dtype == nw.String:
        return column
    if column.dtype != nw.Object:
        return None
    values = column.to_list()
    if not any(isinstance(value, str) for value in values):
        return None
    gone = column.is_null().to_numpy().tolist()
    texts = [None if absent else str(value) for value, absent in zip(values, gone, strict=True)]
    return nw.new_series(column.name, texts, nw.String, backend=column.implementation)


def read_frame(frame: Any, readings: Mapping[Any, Reading], left_out: Any = ()) -> tuple[Any, dict[Any, Counter[str]]]:
    """The frame with numbers where columns are read as such, and the texts of each column that could not be read."""
    strays: dict[Any, Counter[str]] = {}
    kept: list[int] = []  # by position: names need not be text
    made: list[Any] = []
    order: list[tuple[int, int]] = []
    for index, (name, column) in enumerate(zip(frame.columns, frame.iter_columns(), strict=True)):
        if name not in readings:
            if name not in left_out:
                order.append((0, len(kept)))
                kept.append(index)
            continue
        values, unread = read_column(column, readings[name])
        if unread:
            strays[name] = unread
        for new, numbers in values.items():
            order.append((1, len(made)))
            made.append(nw.new_series(str(new), numbers, nw.Float64, backend=frame.implementation))
    if not made:
        return (frame if len(kept) == len(frame.columns) else frame[:, kept]), strays
    others = frame[:, kept]
    if not all(isinstance(name, str) for name in others.columns):  # names must all be text, as those of the new ones
        others = others.rename({name: str(name) for name in others.columns})
    whole = others.with_columns(*made) if kept else nw.from_dict({one.name: one for one in made})
    return whole[:, [place + len(kept) * new for new, place in order]], strays


def read_column(column: Any, reading: Reading) -> tuple[dict[str, np.ndarray], Counter[str]]:
    """The columns of numbers that a column becomes, and the texts in it that could not be read."""
    texts = texts_of(column)
    if not isinstance(reading, Dates):
        if texts is None and isinstance(reading, Numbers):
            values, stray = frames.column_numbers(column), np.zeros(len(column), dtype=bool)
        else:
            values, stray = reading.values(column if texts is None else texts)
        return {column.name: values}, _counted(texts, stray)
    moments, stray = reading.moments(column if texts is None else texts)
    parts = {part_name(column.name, part): date_part(moments, part) for part in reading.parts}
    return parts, _counted(texts, stray)


def part_name(column: Any, part: str) -> str:
    """What the column of one part of a date is called.

    >>> part_name("admitted", "month")
    'admitted (month)'
    """
    return f"{column} ({part})"


def _counted(texts: Any, stray: np.ndarray) -> Counter[str]:
    if texts is None or not stray.any():
        return Counter()
    return Counter(texts[np.flatnonzero(stray)].to_list())


def describe(found: Found, column: Any, strays: Mapping[str, int]) -> str | None:
    """What is to be said of a column that is read in another way than one might expect; None for nothing."""
    texts = texts_of(column)
    if texts is None:
        return None
    return describe_texts(found, [text for text in texts.head(100).to_list() if isinstance(text, str)], strays)


def describe_texts(found: Found, texts: list[str], strays: Mapping[str, int]) -> str:
    """How a text is read, with examples, and what in it is missing.

    >>> describe_texts(Found(Numbers(".", ",")), ["1,200", "?"], {"?": 3})
    "text that was read as numbers ('1,200'); 3 values that are not ('?') count as missing"
    """
    examples = show_texts([text for text in dict.fromkeys(texts) if found.reading.parses(text)][:EXAMPLES])
    how = ""
    if isinstance(found.reading, Dates) and any(re.match(r"\s*\d{1,2}[-/.]\d", text) for text in texts):
        how = ", " + {"dmy": "the day first", "mdy": "the month first"}.get(found.reading.order, "the year first")
    said = f"text that was read as {found.reading.words}{how}{found.remark} ({examples})"
    if strays:
        count, words = sum(strays.values()), show_texts(sorted(strays, key=lambda text: -strays[text]))
        one = count == 1
        said += f"; {count:,} value{' that is' if one else 's that are'} not ({words}) "
        said += "counts as missing" if one else "count as missing"
    return said


def _with_varying_parts(reading: Reading, column: Any) -> Reading:
    if not isinstance(reading, Dates):
        return reading
    texts = texts_of(column)
    return replace(reading, parts=varying_parts(reading.moments(column if texts is None else texts)[0]))


def drop_parts(frame: Any, readings: Mapping[Any, Reading]) -> Any:
    """The frame without the parts of dates that are not asked for."""
    unused = []
    for name, reading in readings.items():
        if isinstance(reading, Dates):
            unused += [part_name(name, part) for part in Dates().parts if part not in reading.parts]
    return frame.drop([name for name in unused if name in frame.columns])


def _may_name_rows(column: Any) -> bool:
    """A quick look at the first rows of a column of numbers."""
    if len(column) < ENOUGH_ROWS or column.dtype == nw.Boolean or column.dtype == nw.Object:
        return False
    first = column.head(1000).to_numpy().astype(np.float64)
    with np.errstate(invalid="ignore"):
        return bool((first == np.floor(first)).all() and np.unique(first).size == first.size)


def _differs_nearly_everywhere(column: Any) -> bool:
    texts = texts_of(column)
    if texts is None:
        return False
    filled = len(texts) - texts.null_count()
    return differs_nearly_everywhere(texts.drop_nulls().n_unique() if filled else 0, filled)


def differs_nearly_everywhere(different: int, filled: int) -> bool:
    """Whether so many of the texts of a column are different that it names the rows.

    >>> differs_nearly_everywhere(95, 100), differs_nearly_everywhere(20, 20)
    (True, False)
    """
    return different > max(NEARLY_ALL * filled, ENOUGH_ROWS)


def is_identifier(values: np.ndarray, name: str = "") -> bool:
    """Whether a column names its rows: whole numbers, all different, that look like nothing that was measured.

    They only rise, only fall or lie close together; or they are in no order, but the column is called so ("id",
    "number", "code"), or they are spread as evenly over their range as drawn lots, which amounts are not. With fewer
    than 20 rows (100 for numbers in no order) nothing can be said, and the answer is no.

    >>> rng = np.random.default_rng(0)
    >>> is_identifier(np.arange(100.0)), is_identifier(rng.permutation(100.0 + np.arange(50)))
    (True, True)
    >>> is_identifier(rng.choice(90_000_000, 900, replace=False) * 1.0), is_identifier(rng.random(50))
    (True, False)
    >>> is_identifier(np.unique(rng.lognormal(10.0, 1.0, 500).round())[::-1][rng.permutation(400)])  # salaries, say
    False
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iuf" or values.size < ENOUGH_ROWS:
        return False
    values = values.astype(np.float64)
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    ordered = np.sort(values)
    if (np.diff(ordered) == 0.0).any():
        return False
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all() or np.ptp(values) < 2 * values.size:
        return True
    if values.size < ENOUGH_NUMBERS:
        return False
    if _ID_NAME.search(name) or _ID_NAME.search(name.lower()):
        return True
    # The distance of Kolmogorov and Smirnov from evenly spread numbers; even ones exceed 1.36 / √n in 5 % of cases.
    even = (ordered - ordered[0]) / (ordered[-1] - ordered[0])
    places = np.arange(values.size) / (values.size - 1.0)
    return bool(np.abs(even - places).max() < 1.36 / np.sqrt(values.size))
