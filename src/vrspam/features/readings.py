"""What the text of a column means: numbers with thousands and currencies, dates in any order, times, words for nothing.

A reading is found from the different texts of a column and how often each occurs (`find_reading`), kept with a model,
and used again on new rows. What does not fit it is missing there, and is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from vrspam.features.times import Times

NEARLY_ALL = 0.9  # share of the rows that must agree on one format
MOSTLY = 0.5  # where all others hold words for a missing value
LOOKED_AT = 2_000  # different texts by which a format is chosen
FEW_TEXTS = 2  # different numbers or dates that make a format
#: Texts that say that there is no value, in lower case.
MISSING_WORDS = frozenset(
    [
        *["", "-", "--", "---", "–", "—", ".", "..", "?", "??", "*", "n/a", "na", "#n/a", "#na", "n.a.", "n/d", "nd"],
        *["n.d.", "n.k.", "k.a.", "nan", "null", "none", "nil", "unknown", "unk", "missing", "(missing)", "tbd"],
        *["#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!", "not available", "not known", "not applicable"],
        *["not recorded", "no data"],
    ]
)
_UNITS = ("$", "€", "£", "¥", "₹", "US$", "USD", "EUR", "GBP", "CHF", "JPY", "%")
_SPACES = " \u00a0\u202f\u2009"
# (decimal sign, sign between thousands); of formats that read the same number of rows the first is taken
_FORMATS = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
_CODE = re.compile(r"0\d+")  # 007 is a name
_SIGNS = "[+\\-\u2212]?"


@dataclass(frozen=True)
class Numbers:
    """Text that is numbers, all written alike.

    Attributes
    ----------
    decimal, thousands : str
        The sign before a fraction, and the one between groups of three digits ("" for none, " " for any space).
    unit : str
        A currency or "%", before or behind; it may be left out, except the percent sign.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    @cached_property
    def pattern(self) -> str:
        """The regular expression of a whole text; plain enough for all engines."""
        point, between = re.escape(self.decimal), f"[{_SPACES}]" if self.thousands == " " else self.thousands
        grouped = f"[1-9][0-9]{{0,2}}(?:{re.escape(between) if len(between) == 1 else between}[0-9]{{3}})+|"
        body = f"(?:{grouped if self.thousands else ''}[0-9]+)(?:{point}[0-9]*)?|{point}[0-9]+"
        power = "" if self.unit else "(?:[eE][+-]?[0-9]+)?"
        unit = re.escape(self.unit)
        if self.unit == "%":
            return f"^{_SIGNS}(?:{body})[{_SPACES}]?{unit}$"
        before, behind = (f"(?:{unit}[{_SPACES}]?)?", f"(?:[{_SPACES}]?{unit})?") if unit else ("", "")
        number = f"{before}{_SIGNS}(?:{body}){power}{behind}"
        return f"^(?:{_SIGNS}{number}|\\({number}\\))$"

    def values(self, texts: Any) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of a series of texts, missing ones as NaN, and which texts are not numbers."""
        present = np.flatnonzero(~texts.is_null().to_numpy())
        found, stray = np.full(len(texts), np.nan), np.zeros(len(texts), dtype=bool)
        stripped = (texts if present.size == len(texts) else texts[present]).str.strip_chars()
        fits = stripped.str.contains(self.pattern).to_numpy().astype(bool)
        good = stripped if fits.all() else stripped[np.flatnonzero(fits)]
        if len(good):
            negative = good.str.starts_with("(").to_numpy().astype(bool)
            kept = f"0-9{self.decimal}-" if self.unit else f"0-9eE{self.decimal}-"
            plain = good.str.replace_all("\u2212", "-", literal=True).str.replace_all(f"[^{kept}]", "")
            if self.decimal == ",":
                plain = plain.str.replace_all(",", ".", literal=True)
            numbers = plain.cast(nw.Float64).to_numpy()
            found[present[fits]] = np.where(negative, -numbers, numbers)
        stray[present[~fits]] = True
        return found, stray

    def parses(self, text: str) -> bool:
        """Whether one text is such a number."""
        return re.search(self.pattern, text.strip()) is not None

    @property
    def words(self) -> str:
        """What it is called in a message."""
        return "numbers"


_TIME = (
    r"(?:[T ]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?)?"
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
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar jän jänner",
            "feb february februar",
            "mar march mär märz",
            "apr april",
            "may mai",
            "jun june juni",
            "jul july juli",
            "aug august",
            "sep sept september",
            "oct october okt oktober",
            "nov november",
            "dec december dez dezember",
        ),
        start=1,
    )
    for name in names.split()
}
YEAR, MONTH, WEEKDAY, HOUR = "year", "month", "weekday", "hour"
PARTS = (YEAR, MONTH, WEEKDAY, HOUR)
DAYS_OF_A_YEAR = 365.2425
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
ORDERS = {"ymd": "year first", "dmy": "day first", "mdy": "month first"}


@dataclass(frozen=True)
class Dates:
    """Dates, as text or as such, with or without times of day.

    Attributes
    ----------
    order : {"ymd", "dmy", "mdy"}
        The order of the numbers in a text.
    parts : tuple of str
        What becomes a column: "year" (a position in time: 1970 + days since then / 365.2425), "month" (1 to 12),
        "weekday" (1, Monday, to 7) and "hour" (0 to 23).
    """

    order: str = "ymd"
    parts: tuple[str, ...] = PARTS

    def moments(self, texts: Any) -> tuple[np.ndarray, np.ndarray]:
        """Texts, or dates, as datetime64 with NaT for missing ones, and which texts are not dates."""
        if texts.dtype not in (nw.String, nw.Enum, nw.Categorical):
            return as_moments(texts), np.zeros(len(texts), dtype=bool)
        different = [text for text in texts.unique().to_list() if isinstance(text, str)]
        if not different:
            return np.full(len(texts), np.datetime64("NaT", "us")), np.zeros(len(texts), dtype=bool)
        read = [_one_moment(text, self.order) for text in different]
        table = np.array([*read, None], dtype="datetime64[us]")
        named = texts.alias("text")  # pandas 2 replaces nothing in a series without a name
        codes = named.replace_strict(different, list(range(len(different))), return_dtype=nw.Int64)
        places = codes.fill_null(len(different)).to_numpy().astype(np.intp, copy=False)
        found = table[places]
        return found, np.isnat(found) & (places < len(different))

    def parses(self, text: str) -> bool:
        """Whether one text is such a date."""
        return _one_moment(text, self.order) is not None

    @property
    def words(self) -> str:
        """What it is called in a message."""
        return "dates"


Reading = Numbers | Dates | Times


def reading_from_dict(plain: Mapping[str, Any]) -> Reading:
    """The reading that `reading_to_dict` wrote, or an error that says what is wrong with it."""
    if plain.get("kind") == "numbers":
        found = Numbers(plain["decimal"], plain["thousands"], plain["unit"])
        if (found.decimal, found.thousands) not in _FORMATS or found.unit not in ("", *_UNITS):
            raise ValueError(f"{plain!r} is not a format of numbers")
        return found
    if plain.get("kind") == "times":
        return Times()
    dates = Dates(plain["order"], tuple(plain["parts"]))
    if plain.get("kind") != "dates" or dates.order not in ORDERS or not dates.parts or set(dates.parts) - set(PARTS):
        raise ValueError(f"{plain!r} is not a format of dates")
    return dates


def reading_to_dict(reading: Reading) -> dict[str, Any]:
    """Plain values.

    >>> reading_from_dict(reading_to_dict(Numbers(",", "."))) == Numbers(",", ".")
    True
    """
    plain = asdict(reading)
    return {"kind": reading.words, **{name: list(v) if isinstance(v, tuple) else v for name, v in plain.items()}}


def as_moments(column: Any) -> np.ndarray:
    """A series of dates, or of dates and times, as datetime64; the time of day is the one on the wall."""
    if column.dtype == nw.Object:
        gone = column.is_null().to_numpy().tolist()
        days = [None if absent else _on_the_wall(day) for day, absent in zip(column.to_list(), gone, strict=True)]
        return np.array(days, dtype="datetime64[us]")
    if column.dtype == nw.Datetime and getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.replace_time_zone(None)
    if column.dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    return column.to_numpy().astype("datetime64[us]")


def _on_the_wall(day: Any) -> Any:
    """A date, or a date and time without its time zone."""
    return day.replace(tzinfo=None) if getattr(day, "tzinfo", None) is not None else day


def date_part(moments: np.ndarray, part: str) -> np.ndarray:
    """One number for each date, NaN for a missing one.

    >>> day = np.array(["2020-12-21T10:30"], dtype="datetime64[us]")  # a Monday
    >>> [float(date_part(day, part)[0].round(3)) for part in PARTS]
    [2020.973, 12.0, 1.0, 10.0]
    """
    gone = np.isnat(moments)
    some = np.where(gone, np.datetime64(0, "us"), moments)
    days = some.astype("datetime64[D]")
    values: np.ndarray
    if part == YEAR:
        values = 1970.0 + some.astype(np.int64) / (86_400e6 * DAYS_OF_A_YEAR)
    elif part == MONTH:
        values = some.astype("datetime64[M]").astype(np.int64) % 12 + 1.0
    elif part == WEEKDAY:
        values = (days.astype(np.int64) + 3) % 7 + 1.0
    else:
        values = ((some - days).astype(np.int64) // 3_600_000_000).astype(np.float64)
    return np.where(gone, np.nan, values)


def day_of(year: float) -> np.datetime64:
    """The day of a position in time, which "year" is.

    >>> str(day_of(float(date_part(np.array(["2020-12-21"], dtype="datetime64[us]"), "year")[0])))
    '2020-12-21'
    """
    days = int(np.floor((year - 1970.0) * DAYS_OF_A_YEAR + 1e-6))
    return np.datetime64("1970-01-01") + np.timedelta64(days, "D")


def part_text(part: str, value: float) -> str:
    """One number of `date_part` as people write it.

    >>> part_text("month", 12.0), part_text("weekday", 1.0), part_text("hour", 10.0), part_text("year", 2020.973)
    ('Dec', 'Mon', '10 h', '2020-12-21')
    """
    if part == YEAR:
        return str(day_of(value))
    if part == HOUR:
        return f"{value:.0f} h"
    return (MONTHS if part == MONTH else WEEKDAYS)[round(value) - 1]


def varying_parts(moments: np.ndarray) -> tuple[str, ...]:
    """The parts that differ between these dates; the position in time where none does."""
    present = moments[~np.isnat(moments)]
    return tuple(part for part in PARTS if np.unique(date_part(present, part)).size > 1) or (YEAR,)


class Found(NamedTuple):
    """A reading, and what is to be said about it."""

    reading: Reading
    remark: str = ""


def find_reading(counts: Mapping[str, int]) -> Found | None:
    """What the texts of a column are, if nearly all of them agree; None for words.

    Parameters
    ----------
    counts : dict of str to int
        How often each text occurs.

    Examples
    --------
    >>> find_reading({"$4,012.50": 1, "$12.00": 2, "n/a": 1}).reading
    Numbers(decimal='.', thousands=',', unit='$')
    >>> find_reading({"21.12.2020": 1, "3.1.2021": 1}).reading.order, find_reading({"Graz": 3, "Linz 1": 4})
    ('dmy', None)
    """
    rows = 0
    looked_at: dict[str, int] = {}
    for text, count in islice(counts.items(), LOOKED_AT):
        if text.strip().lower() not in MISSING_WORDS:
            looked_at[text.strip()] = looked_at.get(text.strip(), 0) + count
        rows += count
    if not looked_at:
        return None
    return _find_dates(looked_at, rows) or _find_times(looked_at, rows) or _find_numbers(looked_at, rows)


def _agree(read: Mapping[str, int], looked_at: Mapping[str, int], rows: int) -> bool:
    """Whether so many texts fit that the others are mistakes."""
    fit = sum(read.values())
    return len(read) >= FEW_TEXTS and fit >= (MOSTLY if len(read) == len(looked_at) else NEARLY_ALL) * rows


def _find_numbers(texts: Mapping[str, int], rows: int) -> Found | None:
    best: tuple[int, Numbers, dict[str, int]] = (0, Numbers(), {})
    units = ["", *(unit for unit in _UNITS if any(unit in text for text in texts))]
    for unit in units:
        for decimal, thousands in _FORMATS:
            reading = Numbers(decimal, thousands, unit)
            pattern = re.compile(reading.pattern)
            read = {text: count for text, count in texts.items() if pattern.search(text)}
            if (fit := sum(read.values())) > best[0]:
                best = fit, reading, read
    _, reading, read = best
    if not _agree(read, texts, rows) or any(_CODE.fullmatch(text) for text in read):
        return None
    return Found(reading)


def _find_times(texts: Mapping[str, int], rows: int) -> Found | None:
    read = {text: count for text, count in texts.items() if Times().parses(text)}
    return Found(Times(), ", in hours") if _agree(read, texts, rows) else None


def _find_dates(texts: Mapping[str, int], rows: int) -> Found | None:
    sample = list(islice(texts, 20))  # quick for words and numbers
    if 2 * sum(any(_one_moment(text, order) for order in ORDERS) for text in sample) <= len(sample):
        return None
    fits = {order: {t: n for t, n in texts.items() if _one_moment(t, order)} for order in ORDERS}
    most = {order: sum(read.values()) for order, read in fits.items()}
    order, remark = max(most, key=lambda name: most[name]), ""
    if most["dmy"] == most["mdy"] > most["ymd"]:
        order = "mdy" if any("/" in text for text in fits["mdy"]) else "dmy"
        if any(_NUMERIC.fullmatch(text) for text in fits[order]):
            remark = ", as no value says which comes first"
    elif most["dmy"] == most["mdy"] == most["ymd"]:
        order = "ymd"
    return Found(Dates(order), remark) if _agree(fits[order], texts, rows) else None


@lru_cache(100_000)
def _one_moment(text: str, order: str) -> datetime | None:
    """The date that a text says, None if it is none in this order."""
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
        return datetime(whole_year, month, day, hour, int(match["minute"] or 0), int(match["second"] or 0))
    except ValueError:
        return None


def show_texts(texts: Sequence[str], most: int = 3) -> str:
    """Some texts as examples.

    >>> show_texts(["n/a", "?", "-", "x"])
    "'n/a', '?', '-', ..."
    """
    return ", ".join(map(repr, texts[:most])) + (", ..." if len(texts) > most else "")
