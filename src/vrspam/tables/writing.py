"""`Writing`: how the text of the training file was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Writing:
    """How the text of the training file was written; files for a model are read as it was, and never guessed anew.

    Attributes
    ----------
    delimiter : str or None
        What stands between the fields; None if the training file was no text.
    decimal : {".", ",", ""}
        The decimal sign of the numbers; "" if all of them were whole.
    spaced : bool
        Whether a space follows each delimiter.
    """

    delimiter: str | None = None
    decimal: str = "."
    spaced: bool = False

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Writing:
        """Restore what `dataclasses.asdict` made plain; raise an error if it is invalid."""
        writing = cls(plain["delimiter"], plain["decimal"], plain["spaced"])
        writing.check()
        return writing

    def check(self) -> None:
        """Refuse what no file is written with."""
        if not self._is_valid:
            raise ValueError(f"{vars(self)!r} is no way to write a table")

    @property
    def _is_valid(self) -> bool:
        is_sign = self.delimiter is None or (isinstance(self.delimiter, str) and len(self.delimiter.encode()) == 1)
        return is_sign and self.decimal in (".", ",", "") and isinstance(self.spaced, bool)
