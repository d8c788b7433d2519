"""Dates, as text or as such: positions in time, months, weekdays and hours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from vrspam.tables.kinds.base import FoundKind, KindOfText
from vrspam.tables.kinds.times import hour_of_day

YEAR, MONTH, WEEKDAY, HOUR = "year", "month", "weekday", "hour"
PARTS = (YEAR, MONTH, WEEKDAY, HOUR)
DAYS_OF_A_YEAR = 365.2425
ORDERS = {"ymd": "year first", "dmy": "day first", "mdy": "month first"}

_LONGEST_DATE = 100
_EPOCH = datetime(1970, 1, 1)
_TIME = (
    r"(?:[T ]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d+))?)?"
    r"(?:\s*(?P<half>[AaPp]\.?[Mm]\.?))?(?:\s*(?:Z|UTC|[+-]\d{2}:?\d{2}))?)?"  # no blanks twice: it would be quadratic
)
_DAY_NAME = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\.?,?\s+)?"
_NUMERIC = re.compile(r"(?P<a>\d{1,4})(?P<sign>[-/.])(?P<b>\d{1,2})(?P=sign)(?P<c>\d{1,4})" + _TIME)
_DAY_MONTH = re.compile(
    _DAY_NAME
    + r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?[ -]+(?P<month>[^\W\d_]{3,9})\.?,?[ -]+(?P<year>\d{2}|\d{4})"
    + _TIME
)
_MONTH_DAY = re.compile(
    _DAY_NAME + r"(?P<month>[^\W\d_]{3,9})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})" + _TIME
)
_MONTH_NAMES = (
    "jan january januar jän jänner, feb february februar, mar march mär märz, apr april, may mai, jun june juni, "
    "jul july juli, aug august, sep sept september, oct october okt oktober, nov november, dec december dez dezember"
)
_MONTHS = {name: month for month, names in enumerate(_MONTH_NAMES.split(", "), 1) for name in names.split()}

_SHORT_NAMES = {
    MONTH: "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    WEEKDAY: "Mon Tue Wed Thu Fri Sat Sun",
}


@dataclass(frozen=True)
class Dates(KindOfText):
    """Dates, as text or as such, with or without times of day.

    Attributes
    ----------
    order : {"ymd", "dmy", "mdy"}
        The order of the numbers in a text.
    parts : tuple of str
        What becomes a column: "year" (a position in time: 1970 + days since then / 365.2425), "month" (1 to 12),
        "weekday" (1, Monday, to 7) and "hour" (0 to 23).
    """

    words: ClassVar[str] = "dates"
    types: ClassVar[tuple[Any, ...]] = (nw.Datetime, nw.Date)
    objects: ClassVar[tuple[type, ...]] = (date,)
    nearly = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}([ T].*)?")
    order: str = "ymd"
    parts: tuple[str, ...] = PARTS

    @classmethod
    def find(cls, texts: Mapping[str, int]) -> FoundKind | None:
        """The order in which most texts are dates."""
        kinds = [cls(order) for order in ORDERS]
        if not _look_like_dates(list(islice(texts, 20)), kinds):  # quick for words and numbers
            return None
        read = {kind.order: kind.readable(texts) for kind in kinds}
        rows = {order: sum(counts.values()) for order, counts in read.items()}

        if rows["dmy"] == rows["mdy"] == rows["ymd"]:
            return FoundKind(cls("ymd"), "", read["ymd"])
        if rows["dmy"] == rows["mdy"] > rows["ymd"]:
            order = "mdy" if any("/" in text for text in read["mdy"]) else "dmy"
            is_open = any(_NUMERIC.fullmatch(text) for text in read[order])
            remark = ", as no value shows whether day or month comes first" if is_open else ""
            return FoundKind(cls(order), remark, read[order])
        order = max(rows, key=lambda name: rows[name])
        return FoundKind(cls(order), "", read[order])

    def moments(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        """Texts, or dates, as datetime64 with NaT for missing ones, and which texts are not dates.

        Times of day are local times; time zones are ignored.
        """
        every_date_is_one = np.zeros(len(column), dtype=bool)
        if column.null_count() == len(column):  # a column without values can have any type
            return np.full(len(column), np.datetime64("NaT", "us")), every_date_is_one
        if column.dtype == nw.Object:
            return _moments_of_objects(column), every_date_is_one
        if column.dtype not in (nw.String, nw.Enum, nw.Categorical):
            return _moments_of_dates(column), every_date_is_one

        values, unreadable = super().values(column)
        with np.errstate(invalid="ignore"):
            moments = values.astype(np.int64).astype("datetime64[us]")
        return np.where(np.isnan(values), np.datetime64("NaT", "us"), moments), unreadable

    def values(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        moments, unreadable = self.moments(column)
        microseconds = moments.astype(np.int64).astype(np.float64)
        return np.where(np.isnat(moments), np.nan, microseconds), unreadable

    def number(self, text: str) -> float:
        if len(text) > _LONGEST_DATE:
            return np.nan
        moment = _moment_of(text, self.order)
        return np.nan if moment is None else float((moment - _EPOCH) // timedelta(microseconds=1))

    def read(self, column: Any) -> tuple[list[np.ndarray], np.ndarray]:
        """One number of each part for each date, NaN for a missing one, and which texts are not dates.

        >>> import pyarrow as pa
        >>> day = nw.from_native(pa.chunked_array([["2020-12-21 10:30"]]), series_only=True)  # a Monday
        >>> [float(part[0].round(3)) for part in Dates().read(day)[0]]
        [2020.973, 12.0, 1.0, 10.0]
        """
        moments, unreadable = self.moments(column)
        missing = np.isnat(moments)
        filled = np.where(missing, np.datetime64(0, "us"), moments)
        numbers = [np.where(missing, np.nan, _numbers_of_part(filled, part)) for part in self.parts]
        return numbers, unreadable

    def narrowed(self, varying: Sequence[bool]) -> Dates:
        """The parts that differ between dates; the position in time where none does."""
        parts = tuple(part for part, varies in zip(self.parts, varying, strict=True) if varies)
        return replace(self, parts=parts or (YEAR,))

    def form(self, texts: Sequence[str]) -> str:
        """The order of day, month and year, if the numbers alone do not show it."""
        if not any(re.match(r"\s*\d{1,2}[-/.]\d", text) for text in texts):
            return ""
        return f", the {ORDERS[self.order]}"

    def show(self, part: str, value: float) -> str:
        return part_text(part, value)

    def check(self) -> bool:
        return self.order in ORDERS and bool(self.parts) and not set(self.parts) - set(PARTS)


def _look_like_dates(texts: Sequence[str], kinds: Sequence[Dates]) -> bool:
    """Whether more than half of some texts are dates in one order or another."""
    dates = sum(any(not np.isnan(kind.number(text)) for kind in kinds) for text in texts)
    return 2 * dates > len(texts)


def _moments_of_objects(column: Any) -> np.ndarray:
    """A series of Python's dates as datetime64."""
    missing = column.is_null().to_numpy().tolist()
    days = [None if is_missing else day for day, is_missing in zip(column.to_list(), missing, strict=True)]
    local = [day.replace(tzinfo=None) if isinstance(day, datetime) else day for day in days]
    return np.array(local, dtype="datetime64[us]")


def _moments_of_dates(column: Any) -> np.ndarray:
    """A series of a type of dates as datetime64."""
    if column.dtype == nw.Unknown or getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.replace_time_zone(None)
    elif column.dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    return column.to_numpy().astype("datetime64[us]")


def _numbers_of_part(moments: np.ndarray, part: str) -> np.ndarray:
    """One part of some datetime64 values as numbers."""
    days = moments.astype("datetime64[D]")
    if part == YEAR:
        return 1970.0 + moments.astype(np.int64) / (86_400e6 * DAYS_OF_A_YEAR)
    if part == MONTH:
        return moments.astype("datetime64[M]").astype(np.int64) % 12 + 1.0
    if part == WEEKDAY:
        return (days.astype(np.int64) + 3) % 7 + 1.0
    return ((moments - days).astype(np.int64) // 3_600_000_000).astype(np.float64)


def day_of(year: float) -> np.datetime64:
    """The day of a position in time, as in the part "year"."""
    days = int(np.floor((year - 1970.0) * DAYS_OF_A_YEAR + 1e-6))
    return np.datetime64("1970-01-01") + np.timedelta64(days, "D")


def part_text(part: str, value: float) -> str:
    """One number of a part of a date as people write it.

    >>> part_text("month", 12.0), part_text("weekday", 1.0), part_text("hour", 10.0), part_text("year", 2020.973)
    ('Dec', 'Mon', '10 h', '2020-12-21')
    """
    if part == YEAR:
        return str(day_of(value))
    if part == HOUR:
        return f"{value:.0f} h"
    return _SHORT_NAMES[part].split()[round(value) - 1]


class _Day(NamedTuple):
    """Year (as it is written), month and day of a text, and the match that has its time of day."""

    year: str
    month: int
    day: int
    match: re.Match[str]


@lru_cache(100_000)
def _moment_of(text: str, order: str) -> datetime | None:
    """The date of a text; None if the text is not a date in this order."""
    found = _day_of_text(text.strip(), order)
    if found is None or len(found.year) not in (2, 4):
        return None
    year = int(found.year)
    if len(found.year) == 2:
        year += 2000 if year < 69 else 1900

    match = found.match
    hour = int(match["hour"] or 0)
    if match["half"]:
        hour = hour_of_day(hour, match["half"])
    minute = int(match["minute"] or 0)
    second = int(match["second"] or 0)
    microsecond = int((match["part"] or "")[:6].ljust(6, "0"))
    try:
        return datetime(year, found.month, found.day, hour, minute, second, microsecond)
    except ValueError:  # the 30th of February
        return None


def _day_of_text(text: str, order: str) -> _Day | None:
    """Year, month and day of a text, in whichever form it is written; None if it is not a date in this order."""
    if match := _NUMERIC.fullmatch(text):
        return _numeric_day(match, order)
    if match := _DAY_MONTH.fullmatch(text) or _MONTH_DAY.fullmatch(text):
        return _Day(match["year"], _MONTHS.get(match["month"].lower(), 0), int(match["day"]), match)
    return None


def _numeric_day(match: re.Match[str], order: str) -> _Day | None:
    """Year, month and day of three numbers; a first one of four digits is the year in any order."""
    first = match["a"]
    if len(first) == 4:
        order = "ymd"
    elif len(first) == 3 or order == "ymd" or order not in ORDERS:
        return None
    numbers = dict(zip(order, (first, match["b"], match["c"]), strict=True))
    return _Day(numbers["y"], int(numbers["m"]), int(numbers["d"]), match)
