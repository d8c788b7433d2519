"""`DataError`, the message for a column that is not there, and what to do about broken rows: stop, or skip them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from vrspam._utils.messages import Message, Parameter, WordedError
from vrspam._utils.warnings import warn


class DataError(WordedError):
    """A file or a named data set cannot be used; the message says which, why, and what to do.

    Examples
    --------
    >>> from vrspam.data import DataError, load
    >>> try:
    ...     load("breast_cancer")
    ... except DataError as error:
    ...     print(error)
    no data set is called 'breast_cancer'; did you mean 'breast-cancer'? available() or `vrspam datasets` lists them all
    """


def unusable(path: str, problem: str) -> DataError:
    """The error of a file that cannot be read at all; what is wrong is its field `problem`.

    >>> error = unusable("patients.npy", "is truncated; get it again")
    >>> str(error), problem_of(error)
    ('patients.npy is truncated; get it again', 'is truncated; get it again')
    """
    return DataError("{path} {problem}", path=path, problem=problem)


def problem_of(error: Exception) -> str | Message:
    """What is wrong, without the file and without advice, where the error has this as a field; else its whole text."""
    if isinstance(error, WordedError):
        return error.message.fields.get("problem", error.message)
    return str(error)


def no_column(path: str, name: str, columns: Iterable[str]) -> str:
    """Say that a table has no column of this name, and what it has.

    >>> no_column("patients.csv", "sik", ["age", "sick"])
    "patients.csv has no column 'sik' (did you mean 'sick'?); it has 'age', 'sick'"
    """
    return f"{path} has no column {name!r}{similar(name, columns)}"


def similar(name: str, columns: Iterable[str]) -> str:
    """The columns there are, a name much like the one wanted first."""
    names = list(columns)
    plain = {column.strip().casefold(): column for column in names}
    near = difflib.get_close_matches(name.strip().casefold(), plain, 1, 0.75)
    hint = f" (did you mean {plain[near[0]]!r}?)" if near else ""
    shown = 20  # columns named in one message
    return f"{hint}; it has {', '.join(map(repr, names[:shown]))}{', ...' if len(names) > shown else ''}"


class NoLabel(str):
    """The reason why a row is bad that has no label: the tool leaves such rows out."""


class Skipped(NamedTuple):
    """Rows that were left out of a file.

    Attributes
    ----------
    file : str
    block : int or None
        The number of the block, where the file has blocks.
    where : str or None
        The place in the file, in words: a line, say.
    rows : int or None
        How many rows; None where that cannot be known.
    reason : str

    Examples
    --------
    >>> from vrspam.data import Skipped
    >>> left_out = Skipped("rows.csv", None, "line 3", 1, "3 fields where the header has 2")  # of `Chunks.skipped_`
    >>> print(f"{left_out.file}, {left_out.where}: {left_out.reason}")
    rows.csv, line 3: 3 fields where the header has 2
    """

    file: str
    block: int | None
    where: str | None
    rows: int | None
    reason: str


class Problems:
    """Raise at the first problem (`on_error="raise"`), or collect them (`"skip"`, and `"keep"` for single rows).

    `unlabelled` counts rows without a label, where these are left out (`leave_unlabelled`). At most `most` notes are
    kept in full; all are counted.
    """

    def __init__(self, on_error: str, leave_unlabelled: bool = False, most: int = 1000) -> None:
        if on_error not in ("raise", "skip", "keep"):
            raise DataError("{given} is not known; give 'raise' or 'skip'", given=Parameter("on_error", on_error))
        self.on_error, self.leave_unlabelled, self._most = on_error, leave_unlabelled, most
        self.notes: list[Skipped] = []
        self.count = self.rows = self.unlabelled = 0

    def report(
        self, file: str, block: int | None, where: str | None, reason: str | Message, rows: int | None = 1
    ) -> None:
        """Stop with file, block and line in the message, or take a note."""
        if self.on_error == "raise" or (self.on_error == "keep" and rows != 1):
            raise DataError(
                "{place}: {reason}; correct it, or give {skip} to leave it out",
                place=", ".join(filter(None, [file, f"block {block}" if block else None, where])),
                reason=reason,
                skip=Parameter("on_error", "skip"),
            )
        self.count += 1
        self.rows += rows or 0
        if len(self.notes) < self._most:
            self.notes.append(Skipped(file, block, where, rows, str(reason)))

    def refuse(self, file: str, reason: str | Message, rows: int | None = None) -> None:
        """Stop because a whole file does not fit, or leave it out."""
        if self.on_error == "skip":
            self.report(file, None, None, reason, rows=rows)
        else:
            raise DataError("{path}: {problem}", path=file, problem=reason)

    def nothing_left(self, path: str) -> DataError:
        """The error where no row is left of a file."""
        if self.unlabelled:
            return DataError(f"no row of {path} has a label: {self.unlabelled} rows are without one")
        if self.notes:
            return DataError(f"no row of {path} can be used: {self.notes[0].reason}")
        return DataError(f"{path} has no rows; get it again")

    def warn(self) -> None:
        """Say at the end what was left out."""
        if self.unlabelled:
            one = self.unlabelled == 1
            warn(f"{self.unlabelled:,} row{'' if one else 's'} without a label {'was' if one else 'were'} left out")
        if self.count and self.on_error == "skip":
            first = self.notes[0]
            place = ", ".join(filter(None, [first.file, first.where]))
            warn(
                f"left out {self.count} broken part(s) holding {self.rows} known row(s), the first at {place}: "
                f"{first.reason}"
            )
