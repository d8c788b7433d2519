"""`Dialect`: how the fields of a CSV file are written."""

from __future__ import annotations

from typing import NamedTuple

from vrspam.data.readers.number_rule import NumberRule
from vrspam.tables.writing import Writing


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
