"""How the fields of a CSV file are written (`Dialect`), and which numbers a model would misread (`NumberRule`)."""

from __future__ import annotations

import re
from typing import NamedTuple

from vrspam.tables.kinds.numbers import Numbers
from vrspam.tables.writing import Writing

_SIGNS = {".": "point", ",": "comma"}


class NumberRule(NamedTuple):
    """Which numbers of a file for a model could be meant otherwise than the model would read them.

    With the decimal sign of training (`decimal`), a number that has the other sign is refused. A sign before three
    digits that may separate thousands is understood only if the file is written as the training file was (`trusted`);
    if training had whole numbers alone (`whole`), each single sign before three digits could be either.
    """

    decimal: str
    whole: bool
    trusted: bool

    @property
    def unread(self) -> str:
        """The regular expression of texts that are numbers with the other decimal sign."""
        other = "," if self.decimal == "." else "."
        return f"{Numbers(other, self.decimal).pattern}|{Numbers(other).pattern}"

    @property
    def doubtful(self) -> str:
        """The regular expression of texts whose signs may be decimal ones or separate thousands; "" if none is."""
        patterns = []
        if not self.trusted:
            other = "," if self.decimal == "." else "[.]"
            patterns.append(rf"^[+-]?[1-9]\d{{0,2}}({other}\d{{3}})+$")
        if self.whole:
            patterns.append(r"^[+-]?[1-9]\d{0,2}[.,]\d{3}$")
        return "|".join(patterns)

    def why(self, name: str, text: str) -> str:
        """Say why a number is refused, and how to write it."""
        trained_sign = _SIGNS[self.decimal]
        if not re.fullmatch(r"[+-]?[1-9]\d{0,2}([.,]\d{3})+", text):
            used_sign = "point" if self.decimal == "," else "comma"
            return (
                f"column {name!r} holds {text!r}, with a decimal {used_sign}, where training had decimal "
                f"{trained_sign}s: write the numbers as training did"
            )
        if self.whole:
            known = "training had whole numbers alone"
        else:
            known = f"the training file was not written like this one, and had decimal {trained_sign}s"
        without_sign = re.sub("[.,]", "", text)
        fraction = text.replace(",", ".")
        return f"column {name!r} holds {text!r}, {without_sign} or {fraction}: {known}; write it as training did"


class Dialect(NamedTuple):
    """How the fields of a file are written; `spaced` where a space follows each delimiter.

    `decimal` is "" where no number has a sign. A file for a model has a `rule` for numbers that are refused.
    """

    names: list[str]
    delimiter: str
    decimal: str = "."
    spaced: bool = False
    rule: NumberRule | None = None

    @property
    def sign(self) -> str:
        """The decimal sign; a point where no number has one."""
        return self.decimal or "."

    @property
    def writing(self) -> Writing:
        """What a model remembers of the dialect."""
        return Writing(self.delimiter, self.decimal, self.spaced)
