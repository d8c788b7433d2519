"""What the text of a column means: the one list of kinds of text (`KINDS`), and the words for missing values.

A kind is found from the different texts of a column and how often each occurs (`find_kind`), kept with a model, and
used again on new rows. A text in new rows that does not fit the kind is a missing value, and is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, time, timedelta
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.texts import shorten
from vrspam.tables import frames

NEARLY_ALL = 0.9  # share of the rows that must agree on one format
#: Texts that say that there is no value, in lower case.
MISSING_WORDS = frozenset(
    [
        *["", "-", "--", "---", "–", "—", ".", "..", "?", "??", "*", "n/a", "na", "#n/a", "#na", "n.a.", "n/d", "nd"],
        *["n.d.", "n.k.", "k.a.", "nan", "null", "none", "nil", "unknown", "unk", "missing", "(missing)", "tbd"],
        *["#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!", "not available", "not known", "not applicable"],
        *["not recorded", "no data"],
    ]
)


class Found(NamedTuple):
    """A kind of text, a remark on how it was found, and the texts, with their counts, that it can read."""

    kind: KindOfText
    remark: str = ""
    read: Mapping[str, int] = {}


class KindOfText:
    """Text that means one or several numbers; a kind is a subclass of this, and an entry in `KINDS`.

    Attributes
    ----------
    words : str
        What its values are called in messages and files: "numbers", "dates".
    parts : tuple of str
        A column of numbers is made for each; "" is the column itself.
    types, objects : tuple of types
        Types of columns, and of Python objects in columns, that are of this kind without being text.
    meaning : str
        What the numbers are, such as hours; "" if `words` makes this plain.
    nearly : pattern or None
        Texts that look like this kind, even where they cannot be read.
    hint : str
        What to give to a model that only takes numbers; "" if no hint is needed.
    """

    words: ClassVar[str]
    meaning: ClassVar[str] = ""
    types: ClassVar[tuple[Any, ...]] = ()
    objects: ClassVar[tuple[type, ...]] = ()
    nearly: ClassVar[re.Pattern[str] | None] = None
    hint: ClassVar[str] = ""
    parts: tuple[str, ...] = ("",)

    @classmethod
    def find(cls, texts: Mapping[str, int]) -> Found | None:
        """The format that fits most of some texts and their counts; None if they are of another kind."""
        read = {text: count for text, count in texts.items() if not np.isnan(cls().number(text))}
        return Found(cls(), f", in {cls.meaning}" if cls.meaning else "", read)

    def number(self, text: str) -> float:
        """What one text means: hours, or microseconds since 1970 for a date; NaN for a text that cannot be read."""
        raise NotImplementedError

    def values(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of a series of text, or of `types`, missing ones as NaN, and which texts cannot be read."""
        different = [text for text in column.unique().to_list() if isinstance(text, str)]
        if not different:
            return np.full(len(column), np.nan), np.zeros(len(column), dtype=bool)
        table = np.array([*map(self.number, different), np.nan])
        named = column.alias("text")  # pandas 2 replaces nothing in a series without a name
        codes = named.replace_strict(different, list(range(len(different))), return_dtype=nw.Int64)
        places = codes.fill_null(len(different)).to_numpy().astype(np.intp, copy=False)
        found = table[places]
        return found, np.isnan(found) & (places < len(different))

    def read(self, column: Any) -> tuple[list[np.ndarray], np.ndarray]:
        """The numbers of each part, and which texts cannot be read."""
        values, stray = self.values(column)
        return [values], stray

    def made(self, name: Any) -> list[str]:
        """The names of the columns of numbers that a column becomes: "day (year)" of the part "year" of "day"."""
        return [f"{name} ({part})" if part else str(name) for part in self.parts]

    def narrowed(self, varying: Sequence[bool]) -> KindOfText:
        """The same without parts that do not vary; the first part stays if none does."""
        return self

    def form(self, texts: Sequence[str]) -> str:
        """A remark on how these texts were read, for messages."""
        return ""

    def show(self, part: str, value: float) -> str:
        """A number of one part as people write it."""
        return f"{value:.7g}"

    def check(self) -> bool:
        """Whether the fields have valid values; those from a file may be invalid."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Plain values, from which `TableSchema.from_dict` restores the kind."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.words, **{name: list(v) if isinstance(v, tuple) else v for name, v in plain.items()}}


CURRENCIES = ("$", "€", "£", "¥", "₹", "US$", "USD", "EUR", "GBP", "CHF", "JPY")
_UNITS = (*CURRENCIES, "%")
_SPACES = " \u00a0\u202f\u2009"
BLANKS = "\t\n\v\f\r \x85\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
# (decimal sign, sign between thousands); of formats that read the same number of rows the first is taken
FORMATS = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
_CODE = re.compile(r"0\d+")  # 007 is a name
_ZIP, LONG_ZIP = re.compile(r"\d{5}"), re.compile(r"\d{5}-\d{4}")
_SIGN = "[+\\-\u2212]"


@dataclass(frozen=True)
class Numbers(KindOfText):
    """Text that is numbers, all written alike.

    Attributes
    ----------
    decimal, thousands : str
        The decimal sign, and the sign between groups of three digits ("" for none, " " for any space).
    unit : str
        A currency before or after the number, which a text may lack, or "%" after it, which no text may lack.
    """

    words: ClassVar[str] = "numbers"
    nearly = re.compile(r"[<>~]?[+-]?\d+([ ,.'\u00a0\u202f]\d+)*\s?%?")  # 57,5  1 237  <5  20 %
    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    @classmethod
    def find(cls, texts: Mapping[str, int]) -> Found | None:
        """The format in which most texts are numbers."""
        best: tuple[int, Numbers, dict[str, int]] = (0, cls(), {})
        units = ["", *(unit for unit in _UNITS if any(unit in text for text in texts))]
        for unit in units:
            for decimal, thousands in FORMATS:
                kind = cls(decimal, thousands, unit)
                pattern = re.compile(kind.pattern)
                read = {text: count for text, count in texts.items() if pattern.search(text)}
                if (fit := sum(read.values())) > best[0]:
                    best = fit, kind, read
        fit, kind, read = best
        whole = sum(count for text, count in read.items() if text.isdigit())
        are_codes = any(map(_CODE.fullmatch, read)) and whole > fit / 2  # 007 among fractions is a number
        are_zips = any(map(LONG_ZIP.fullmatch, texts)) and all(map(_ZIP.fullmatch, read))
        return None if are_codes or are_zips else Found(kind, read=read)

    @cached_property
    def pattern(self) -> str:
        """The regular expression of a whole text; plain enough for all engines."""
        point, between = re.escape(self.decimal), f"[{_SPACES}]" if self.thousands == " " else self.thousands
        grouped = f"[1-9][0-9]{{0,2}}(?:{re.escape(between) if len(between) == 1 else between}[0-9]{{3}})+|"
        body = f"(?:{grouped if self.thousands else ''}[0-9]+)(?:{point}[0-9]*)?|{point}[0-9]+"
        power = "" if self.unit else "(?:[eE][+-]?[0-9]+)?"
        unit = re.escape(self.unit)
        if self.unit == "%":
            return f"^{_SIGN}?(?:{body})[{_SPACES}]?{unit}$"
        before, behind = (f"(?:{unit}[{_SPACES}]?)?", f"(?:[{_SPACES}]?{unit})?") if unit else ("", "")
        number = f"(?:{body}){power}{behind}"  # with one sign, before the unit or behind it, or in parentheses
        return f"^(?:(?:{_SIGN}?{before}|{before}{_SIGN}){number}|\\({before}{number}\\))$"

    def values(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        found, stray = np.full(len(column), np.nan), np.zeros(len(column), dtype=bool)
        if column.dtype in (nw.Enum, nw.Categorical):  # as Parquet and Feather files keep repeated text
            column = column.cast(nw.String)
        if column.dtype != nw.String:
            return frames.numbers(column, infinite=True), stray  # whoever asks refuses infinite ones
        present = np.flatnonzero(~column.is_null().to_numpy())
        stripped = (column if present.size == len(column) else column[present]).str.strip_chars(BLANKS)
        fits = stripped.str.contains(self.pattern).to_numpy().astype(bool)
        good = stripped if fits.all() else stripped[np.flatnonzero(fits)]
        if len(good):
            negative = good.str.starts_with("(").to_numpy().astype(bool)
            kept = f"0-9{self.decimal}-" if self.unit else f"0-9eE{self.decimal}-"
            plain = good.str.replace_all("\u2212", "-", literal=True).str.replace_all(f"[^{kept}]", "")
            if self.decimal == ",":
                plain = plain.str.replace_all(",", ".", literal=True)
            numbers = plain.cast(nw.Float64).to_numpy()
            finite = np.isfinite(numbers)  # 1e999 is written like a number, but is infinite
            found[present[fits]] = np.where(finite, np.where(negative, -numbers, numbers), np.nan)
            fits[np.flatnonzero(fits)[~finite]] = False
        stray[present[~fits]] = True
        return found, stray

    def number(self, text: str) -> float:
        text = text.strip(BLANKS)  # engines differ in what they take for blank
        if re.search(self.pattern, text) is None:
            return np.nan
        kept = f"[^0-9{self.decimal}-]" if self.unit else f"[^0-9eE{self.decimal}-]"
        value = float(re.sub(kept, "", text.replace("\u2212", "-")).replace(",", "."))
        return np.nan if np.isinf(value) else -value if text.startswith("(") else value

    @property
    def hint(self) -> str:  # type: ignore[override]
        if self == Numbers():
            return ""
        number = f"1{self.thousands}234{self.decimal}5"
        text = f"{number} %" if self.unit == "%" else f"{self.unit}{number}"
        return f"In training this was text such as {text!r}: give the number, 1234.5."

    def check(self) -> bool:
        return (self.decimal, self.thousands) in FORMATS and self.unit in ("", *_UNITS)


_CLOCK = re.compile(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d(?:[.,]\d+)?))?(?:\s?([AaPp])\.?[Mm]\.?)?")


@dataclass(frozen=True)
class Times(KindOfText):
    """Times of day ("08:30", "8:30 pm") and durations ("26:15:00"), read as hours."""

    words: ClassVar[str] = "times"
    meaning: ClassVar[str] = "hours"
    hint: ClassVar[str] = "In training this was a time such as '08:30': give hours, 8.5."
    types: ClassVar[tuple[Any, ...]] = (nw.Time, nw.Duration)
    objects: ClassVar[tuple[type, ...]] = (time, timedelta)

    def values(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        if column.dtype == nw.Duration:
            hours = column.dt.total_microseconds().cast(nw.Float64).to_numpy() / 3_600e6
            return hours, np.zeros(len(column), dtype=bool)
        if column.dtype in (nw.String, nw.Enum, nw.Categorical):
            return super().values(column)
        missing = np.array(column.is_null().to_list(), dtype=bool)
        found = np.full(len(column), np.nan)
        for place, cell in enumerate(column.to_list()):
            if isinstance(cell, timedelta) and not missing[place]:
                found[place] = cell / timedelta(hours=1)
            elif isinstance(cell, time | str):
                found[place] = self.number(str(cell))
        return found, np.isnan(found) & ~missing

    def number(self, text: str) -> float:
        match = _CLOCK.fullmatch(text.strip())
        if match is None:
            return np.nan
        hour, half = int(match[1]), (match[4] or "").lower()
        if half:
            if not 1 <= hour <= 12:
                return np.nan
            hour = hour % 12 + (12 if half == "p" else 0)
        seconds = float((match[3] or "0").replace(",", "."))
        return hour + int(match[2]) / 60.0 + seconds / 3600.0


_TIME = (
    r"(?:[T ]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d+))?)?"
    r"(?:\s*(?P<half>[AaPp]\.?[Mm]\.?))?(?:\s*(?:Z|UTC|[+-]\d{2}:?\d{2}))?)?"  # no blanks twice: it would be quadratic
)
_LONGEST_DATE, _EPOCH = 100, datetime(1970, 1, 1)
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
YEAR, MONTH, WEEKDAY, HOUR = "year", "month", "weekday", "hour"
PARTS = (YEAR, MONTH, WEEKDAY, HOUR)
DAYS_OF_A_YEAR = 365.2425
ORDERS = {"ymd": "year first", "dmy": "day first", "mdy": "month first"}


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
    def find(cls, texts: Mapping[str, int]) -> Found | None:
        """The order in which most texts are dates."""
        sample = list(islice(texts, 20))  # quick for words and numbers
        kinds = [cls(order) for order in ORDERS]
        if 2 * sum(any(not np.isnan(kind.number(text)) for kind in kinds) for text in sample) <= len(sample):
            return None
        fits = {kind.order: {t: n for t, n in texts.items() if not np.isnan(kind.number(t))} for kind in kinds}
        most = {order: sum(read.values()) for order, read in fits.items()}
        order, remark = max(most, key=lambda name: most[name]), ""
        if most["dmy"] == most["mdy"] > most["ymd"]:
            order = "mdy" if any("/" in text for text in fits["mdy"]) else "dmy"
            if any(_NUMERIC.fullmatch(text) for text in fits[order]):
                remark = ", as no value shows whether day or month comes first"
        elif most["dmy"] == most["mdy"] == most["ymd"]:
            order = "ymd"
        return Found(cls(order), remark, fits[order])

    def moments(self, texts: Any) -> tuple[np.ndarray, np.ndarray]:
        """Texts, or dates, as datetime64 with NaT for missing ones, and which texts are not dates.

        Times of day are local times; time zones are ignored.
        """
        if texts.null_count() == len(texts):  # a column without values can have any type
            return np.full(len(texts), np.datetime64("NaT", "us")), np.zeros(len(texts), dtype=bool)
        if texts.dtype not in (nw.String, nw.Enum, nw.Categorical):
            if texts.dtype == nw.Object:
                gone = texts.is_null().to_numpy().tolist()
                days = [None if absent else day for day, absent in zip(texts.to_list(), gone, strict=True)]
                local = [day.replace(tzinfo=None) if isinstance(day, datetime) else day for day in days]
                return np.array(local, dtype="datetime64[us]"), np.zeros(len(texts), dtype=bool)
            if texts.dtype == nw.Unknown or getattr(texts.dtype, "time_zone", None) is not None:
                texts = texts.dt.replace_time_zone(None)
            elif texts.dtype == nw.Date:
                texts = texts.cast(nw.Datetime("us"))
            return texts.to_numpy().astype("datetime64[us]"), np.zeros(len(texts), dtype=bool)
        found, stray = super().values(texts)
        with np.errstate(invalid="ignore"):
            moments = found.astype(np.int64).astype("datetime64[us]")
        return np.where(np.isnan(found), np.datetime64("NaT", "us"), moments), stray

    def values(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        moments, stray = self.moments(column)
        return np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(np.float64)), stray

    def number(self, text: str) -> float:
        moment = _one_moment(text, self.order) if len(text) <= _LONGEST_DATE else None
        return np.nan if moment is None else float((moment - _EPOCH) // timedelta(microseconds=1))

    def read(self, column: Any) -> tuple[list[np.ndarray], np.ndarray]:
        """One number of each part for each date, NaN for a missing one, and which texts are not dates.

        >>> import pyarrow as pa
        >>> day = nw.from_native(pa.chunked_array([["2020-12-21 10:30"]]), series_only=True)  # a Monday
        >>> [float(part[0].round(3)) for part in Dates().read(day)[0]]
        [2020.973, 12.0, 1.0, 10.0]
        """
        moments, stray = self.moments(column)
        gone, found = np.isnat(moments), list[np.ndarray]()
        some = np.where(gone, np.datetime64(0, "us"), moments)
        days = some.astype("datetime64[D]")
        for part in self.parts:
            values: np.ndarray
            if part == YEAR:
                values = 1970.0 + some.astype(np.int64) / (86_400e6 * DAYS_OF_A_YEAR)
            elif part == MONTH:
                values = some.astype("datetime64[M]").astype(np.int64) % 12 + 1.0
            elif part == WEEKDAY:
                values = (days.astype(np.int64) + 3) % 7 + 1.0
            else:
                values = ((some - days).astype(np.int64) // 3_600_000_000).astype(np.float64)
            found.append(np.where(gone, np.nan, values))
        return found, stray

    def narrowed(self, varying: Sequence[bool]) -> Dates:
        """The parts that differ between dates; the position in time where none does."""
        return replace(self, parts=tuple(p for p, varies in zip(self.parts, varying, strict=True) if varies) or (YEAR,))

    def form(self, texts: Sequence[str]) -> str:
        """The order of day, month and year, if the numbers alone do not show it."""
        if not any(re.match(r"\s*\d{1,2}[-/.]\d", text) for text in texts):
            return ""
        return f", the {ORDERS[self.order]}"

    def show(self, part: str, value: float) -> str:
        return part_text(part, value)

    def check(self) -> bool:
        return self.order in ORDERS and bool(self.parts) and not set(self.parts) - set(PARTS)


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
    months, weekdays = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", "Mon Tue Wed Thu Fri Sat Sun"
    return (months if part == MONTH else weekdays).split()[round(value) - 1]


@lru_cache(100_000)
def _one_moment(text: str, order: str) -> datetime | None:
    """The date of a text; None if the text is not a date in this order."""
    text = text.strip()
    if match := _NUMERIC.fullmatch(text):
        first, second, third = match["a"], match["b"], match["c"]
        if len(first) > 2:
            order = "ymd" if len(first) == 4 else ""
        elif order == "ymd":
            return None
        if order not in ORDERS:
            return None
        found = dict(zip(order, (first, second, third), strict=True))
        year, month, day = found["y"], int(found["m"]), int(found["d"])
    elif match := _DAY_MONTH.fullmatch(text) or _MONTH_DAY.fullmatch(text):
        year, month, day = match["year"], _MONTHS.get(match["month"].lower(), 0), int(match["day"])
    else:
        return None
    if len(year) not in (2, 4):
        return None
    whole_year = int(year) if len(year) == 4 else int(year) + (2000 if int(year) < 69 else 1900)
    hour, half = int(match["hour"] or 0), (match["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    try:
        microseconds = int((match["part"] or "")[:6].ljust(6, "0"))
        return datetime(
            whole_year, month, day, hour, int(match["minute"] or 0), int(match["second"] or 0), microseconds
        )
    except ValueError:
        return None


#: All kinds of text, in the order in which they are tried. A new kind is a subclass of `KindOfText`, listed here.
KINDS: tuple[type[KindOfText], ...] = (Dates, Times, Numbers)


def find_kind(counts: Mapping[str, int], least_texts: int = 2) -> Found | None:
    """Return the kind of text of a column, from its texts and their counts, if nearly all agree; None for words.

    One text alone may be a name, so `least_texts` different ones must agree.

    >>> find_kind({"$4,012.50": 1, "$12.00": 2, "n/a": 1}).kind
    Numbers(decimal='.', thousands=',', unit='$')
    >>> find_kind({"21.12.2020": 1, "3.1.2021": 1}).kind.order, find_kind({"Graz": 3, "Linz 1": 4})
    ('dmy', None)
    """
    rows = 0
    looked_at: dict[str, int] = {}
    for text, count in islice(counts.items(), 2_000):  # enough to choose a format
        if text.strip().lower() not in MISSING_WORDS:
            looked_at[text.strip()] = looked_at.get(text.strip(), 0) + count
        rows += count
    for kind in KINDS if looked_at else ():
        if (found := kind.find(looked_at)) is not None and len(found.read) >= least_texts:
            # texts that cannot be read are mistakes; without any, half of the rows may be words for a missing value
            least = 0.5 if len(found.read) == len(looked_at) else NEARLY_ALL
            if sum(found.read.values()) >= least * rows:
                return found
    return None


def typed_kind(column: Any) -> KindOfText | None:
    """The kind of a column of dates or times that are not text; None for other columns."""
    present: list[Any] | None = None
    if column.dtype == nw.Unknown and hasattr(getattr(column.to_native(), "dtype", None), "tz"):
        return Dates()  # narwhals does not know zones of pandas with "_" or "-" in their names
    for kind in KINDS:
        if column.dtype in kind.types:
            return kind()
        if column.dtype == nw.Object and kind.objects:
            present = [v for v in column.to_list() if v is not None] if present is None else present
            if present and all(isinstance(value, kind.objects) or value != value for value in present):
                return kind()
    return None


def looks_like(texts: Sequence[str]) -> str | None:
    """What most of the different texts of a column look like ("numbers", "dates"); None for words and codes (02139)."""
    if any(_CODE.fullmatch(text) or LONG_ZIP.fullmatch(text) for text in texts):
        return None
    for kind in KINDS:
        alike = [text for text in texts if kind.nearly is not None and kind.nearly.fullmatch(text.strip())]
        if len(texts) > 1 and len(alike) > len(texts) / 2:
            return kind.words
    return None


def describe(found: Found, texts: Sequence[str], strays: Mapping[str, int]) -> str:
    """How a column of text is read, with examples, and which texts count as missing.

    >>> describe(Found(Numbers(".", ",")), ["1,200", "?"], {"?": 3})
    "text that was read as numbers ('1,200'); 3 values that are not ('?') count as missing"
    """
    kind = found.kind
    examples = show_texts([text for text in dict.fromkeys(texts) if not np.isnan(kind.number(text))][:2])
    said = f"text that was read as {kind.words}{kind.form(texts)}{found.remark} ({examples})"
    return said + (f"; {count_missing(strays)}" if strays else "")


def count_missing(strays: Mapping[str, int]) -> str:
    """How many texts that cannot be read count as missing: "2 values that are not ('?') count as missing"."""
    count, one = sum(strays.values()), sum(strays.values()) == 1
    words = show_texts(sorted(strays, key=lambda text: -strays[text]))
    return f"{count:,} value{' that is' if one else 's that are'} not ({words}) count{'s' if one else ''} as missing"


def show_texts(texts: Sequence[str], most: int = 3) -> str:
    """Some texts as examples, long ones without their middle: "'n/a', '?', '-', ..."."""
    shown = [repr(text if len(text) <= 60 else shorten(text, 60)) for text in texts[:most]]
    return ", ".join(shown) + (", ..." if len(texts) > most else "")
