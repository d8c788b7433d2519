"""What is wrong in a file: stop at it, or note it and go on."""

from __future__ import annotations

from typing import NamedTuple

from vrspam._utils.warnings import warn
from vrspam.data.errors import DataError

_KEPT = 1000  # notes kept in full; all are counted


class Skipped(NamedTuple):
    """One thing that was left out: `rows` is None where their number cannot be known."""

    file: str
    block: int | None
    where: str | None
    rows: int | None
    reason: str


class Problems:
    """Raise at the first problem (`on_error="raise"`), or collect them (`"skip"`)."""

    def __init__(self, on_error: str) -> None:
        if on_error not in ("raise", "skip"):
            raise DataError(f"on_error={on_error!r} is not known; give 'raise' or 'skip'")
        self.on_error = on_error
        self.notes: list[Skipped] = []
        self.count = 0
        self.rows = 0

    def report(self, file: str, block: int | None, where: str | None, reason: str, rows: int | None = 1) -> None:
        """Stop with file, block and line in the message, or take a note."""
        if self.on_error == "raise":
            place = ", ".join(filter(None, [file, f"block {block}" if block else None, where]))
            raise DataError(f"{place}: {reason}; correct it, or pass on_error='skip' to leave it out")
        self.count += 1
        self.rows += rows or 0
        if len(self.notes) < _KEPT:
            self.notes.append(Skipped(file, block, where, rows, reason))

    def warn(self) -> None:
        """Say at the end what was left out."""
        if self.count:
            first = self.notes[0]
            place = ", ".join(filter(None, [first.file, first.where]))
            warn(
                f"left out {self.count} broken part(s) holding {self.rows} known row(s), the first at {place}: "
                f"{first.reason}"
            )
