"""Text that is numbers: decimal signs, thousands, currencies, percent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np

from vrspam.tables import frames
from vrspam.tables.kinds.base import FoundKind, KindOfText

CURRENCIES = ("$", "€", "£", "¥", "₹", "US$", "USD", "EUR", "GBP", "CHF", "JPY")
_UNITS = (*CURRENCIES, "%")
#: (decimal sign, sign between thousands); of formats that read the same number of rows the first is taken.
FORMATS = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))

_SPACES = " \u00a0\u202f\u2009"
#: What every engine is told to strip: engines differ in what they take for blank.
BLANKS = "\t\n\v\f\r \x85\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_MINUS = "\u2212"
_SIGN = f"[+\\-{_MINUS}]"

CODE = re.compile(r"0\d+")  # 007 is a name
_ZIP = re.compile(r"\d{5}")
LONG_ZIP = re.compile(r"\d{5}-\d{4}")


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
    def find(cls, texts: Mapping[str, int]) -> FoundKind | None:
        """The format in which most texts are numbers; None for codes (007) and ZIP codes."""
        best_kind = cls()
        best_read: dict[str, int] = {}
        best_rows = 0
        units_present = ["", *(unit for unit in _UNITS if any(unit in text for text in texts))]
        for unit in units_present:
            for decimal, thousands in FORMATS:
                kind = cls(decimal, thousands, unit)
                read = kind.written_so(texts)
                rows = sum(read.values())
                if rows > best_rows:
                    best_kind, best_read, best_rows = kind, read, rows

        digits_alone = sum(count for text, count in best_read.items() if text.isdigit())
        are_codes = (
            any(map(CODE.fullmatch, best_read)) and digits_alone > best_rows / 2
        )  # among fractions it is a number
        are_zips = any(map(LONG_ZIP.fullmatch, texts)) and all(map(_ZIP.fullmatch, best_read))
        if are_codes or are_zips:
            return None
        return FoundKind(best_kind, read=best_read)

    def written_so(self, texts: Mapping[str, int]) -> dict[str, int]:
        """The texts, with their counts, that are written in this format, even where their numbers are too large."""
        pattern = re.compile(self.pattern)
        return {text: count for text, count in texts.items() if pattern.search(text)}

    @cached_property
    def pattern(self) -> str:
        """The regular expression of a whole text; plain enough for all engines."""
        digits = f"(?:{self._grouped_digits}[0-9]+)"
        point = re.escape(self.decimal)
        body = f"(?:{digits}(?:{point}[0-9]*)?|{point}[0-9]+)"
        unit = re.escape(self.unit)
        if self.unit == "%":
            return f"^{_SIGN}?{body}[{_SPACES}]?{unit}$"
        if not self.unit:
            number = f"{body}(?:[eE][+-]?[0-9]+)?"
            return f"^(?:{_SIGN}?{number}|\\({number}\\))$"
        before = f"(?:{unit}[{_SPACES}]?)?"
        behind = f"(?:[{_SPACES}]?{unit})?"
        number = f"{body}{behind}"  # with one sign, before the unit or behind it, or in parentheses
        return f"^(?:(?:{_SIGN}?{before}|{before}{_SIGN}){number}|\\({before}{number}\\))$"

    @property
    def _grouped_digits(self) -> str:
        """Digits in groups of three, as the first choice of a regular expression; "" where none are separated."""
        if not self.thousands:
            return ""
        between = f"[{_SPACES}]" if self.thousands == " " else re.escape(self.thousands)
        return f"[1-9][0-9]{{0,2}}(?:{between}[0-9]{{3}})+|"

    @property
    def _kept(self) -> str:
        """The letters of a number that mean something, for a set of a regular expression."""
        return f"0-9{self.decimal}-" if self.unit else f"0-9eE{self.decimal}-"

    def values(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        unreadable = np.zeros(len(column), dtype=bool)
        if column.dtype in (nw.Enum, nw.Categorical):  # as Parquet and Feather files keep repeated text
            column = column.cast(nw.String)
        if column.dtype != nw.String:
            return frames.numbers(column, infinite=True), unreadable  # whoever asks refuses infinite ones

        values = np.full(len(column), np.nan)
        present = np.flatnonzero(~column.is_null().to_numpy())
        texts = column if present.size == len(column) else column[present]
        stripped = texts.str.strip_chars(BLANKS)
        is_number = stripped.str.contains(self.pattern).to_numpy().astype(bool)
        written_well = stripped if is_number.all() else stripped[np.flatnonzero(is_number)]
        if len(written_well):
            numbers = self._numbers(written_well)
            finite = np.isfinite(numbers)  # 1e999 is written like a number, but is infinite
            values[present[is_number]] = np.where(finite, numbers, np.nan)
            is_number[np.flatnonzero(is_number)[~finite]] = False
        unreadable[present[~is_number]] = True
        return values, unreadable

    def _numbers(self, texts: Any) -> np.ndarray:
        """The numbers of a series of texts that all are of this format."""
        in_parentheses = texts.str.starts_with("(").to_numpy().astype(bool)
        plain = texts.str.replace_all(_MINUS, "-", literal=True).str.replace_all(f"[^{self._kept}]", "")
        if self.decimal == ",":
            plain = plain.str.replace_all(",", ".", literal=True)
        numbers = plain.cast(nw.Float64).to_numpy()
        return np.where(in_parentheses, -numbers, numbers)

    def number(self, text: str) -> float:
        text = text.strip(BLANKS)
        if re.search(self.pattern, text) is None:
            return np.nan
        plain = re.sub(f"[^{self._kept}]", "", text.replace(_MINUS, "-"))
        value = float(plain.replace(",", "."))
        if np.isinf(value):
            return np.nan
        return -value if text.startswith("(") else value

    @property
    def hint(self) -> str:  # type: ignore[override]
        if self == Numbers():
            return ""
        number = f"1{self.thousands}234{self.decimal}5"
        text = f"{number} %" if self.unit == "%" else f"{self.unit}{number}"
        return f"In training this was text such as {text!r}: give the number, 1234.5."

    def check(self) -> bool:
        return (self.decimal, self.thousands) in FORMATS and self.unit in ("", *_UNITS)
