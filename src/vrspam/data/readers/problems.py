"""What is wrong in a file: raised at once, or collected while reading goes on (`Problems`); and words for it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from vrspam._utils.findings import Fix, parts_of
from vrspam._utils.warnings import warn
from vrspam.tables.errors import DataError

_MOST_NOTES = 1000
_SHOWN_COLUMNS = 20  # columns named in one message


class NoLabel(str):
    """The reason for refusing a row without a label; the tool leaves such rows out."""


class Skipped(NamedTuple):
    """Rows that were left out of a file.

    Attributes
    ----------
    file, where, reason : str
        The file, the place in it in words (a line, say; None if that is not known), and what is wrong there.
    block, rows : int or None
        The number of the block (None for a whole file), and the number of rows (None if it is not known).

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


class RowsUnlabelled(UserWarning):
    """Rows without a label were left out; in training a note of the doctor takes the place of this warning."""


class Problems:
    """Raise at the first problem (`on_error="raise"`), or collect them (`"skip"`, and `"keep"` for single rows).

    With `leave_unlabelled` (as in `vrspam.tool`, where the parameter is called `skip_errors`), rows without a label are
    left out and counted in `unlabelled`. At most 1,000 notes are kept.
    """

    def __init__(self, on_error: str, leave_unlabelled: bool = False) -> None:
        if on_error not in ("raise", "skip", "keep"):
            raise DataError(Fix("on_error", on_error), " is not known; give 'raise' or 'skip'")
        self.on_error = on_error
        self.leave_unlabelled = leave_unlabelled
        self.notes: list[Skipped] = []
        self.count = 0  # broken parts
        self.rows = 0  # rows in them, as far as known
        self.unlabelled = 0
        self.new_labels: Counter[str] = Counter()  # labels that training did not have, of a class of several labels

    def report(self, file: str, block: int | None, where: str | None, reason: str, rows: int | None = 1) -> None:
        """Raise an error that names file, block and line, or add a note."""
        if self.on_error == "raise" or (self.on_error == "keep" and rows != 1):
            place = ", ".join(filter(None, [file, f"block {block}" if block else None, where]))
            skip = Fix("skip_errors", True) if self.leave_unlabelled else Fix("on_error", "skip")
            raise DataError(f"{place}: ", *parts_of(reason), "; correct it, or give ", skip, " to leave it out")
        self.count += 1
        self.rows += rows or 0
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(Skipped(file, block, where, rows, str(reason)))

    def refuse(self, file: str, reason: str, rows: int | None = None) -> None:
        """Raise an error because a whole file cannot be used, or leave the file out."""
        if self.on_error == "skip":
            self.report(file, None, None, reason, rows=rows)
        else:
            raise DataError(f"{file}: ", *parts_of(reason))

    def nothing_left(self, path: str) -> DataError:
        """Return the error to raise if no row of a file can be used."""
        if self.unlabelled:
            return DataError(f"no row of {path} has a label: {self.unlabelled} rows are without one")
        if self.notes:
            return DataError(f"no row of {path} can be used: {self.notes[0].reason}")
        return DataError(f"{path} has no rows; get it again")

    def warn(self) -> None:
        """Warn at the end of what was left out, and of labels that are new."""
        if self.new_labels:
            warn(_about_new_labels(self.new_labels))
        if self.unlabelled == 1:
            warn(RowsUnlabelled("1 row without a label was left out"))
        elif self.unlabelled:
            warn(RowsUnlabelled(f"{self.unlabelled:,} rows without a label were left out"))
        if self.count and self.on_error == "skip":
            first = self.notes[0]
            place = ", ".join(filter(None, [first.file, first.where]))
            parts = f"{self.count} broken part{'' if self.count == 1 else 's'}"
            rows = f"{self.rows} row{'' if self.rows == 1 else 's'}"
            warn(f"left out {parts} with at least {rows}, the first at {place}: {first.reason}")


def _about_new_labels(counts: Counter[str]) -> str:
    labels = [repr(label) for label, _ in counts.most_common(4)]
    shown = ", ".join(labels[:3])
    if len(labels) > 3:
        shown += ", ..."
    total = counts.total()
    if total == 1:
        return f"1 row has a label that training did not have ({shown}): it counts as not positive, like the others"
    return (
        f"{total:,} rows have labels that training did not have ({shown}): they count as not positive, like the others"
    )


class FileProblem(DataError):
    """A whole file cannot be used: its path, and what is wrong with it."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path} {problem}")

    def __reduce__(self) -> tuple[type[FileProblem], tuple[str, str]]:
        return type(self), (self.path, self.problem)


def problem_of(error: DataError) -> str:
    """What is wrong with a file, without its path where that is known; else the whole text."""
    return error.problem if isinstance(error, FileProblem) else error.note


def no_column(path: str, name: str, columns: Iterable[str]) -> str:
    """Say that a table has no column of this name, and what it has."""
    return f"{path} has no column {name!r}{similar(name, columns)}"


def similar(name: str, columns: Iterable[str]) -> str:
    """Return a list of the columns as text, after a hint at a similar name if there is one.

    >>> similar("Age", ["age", "sex"])
    " (did you mean 'age'?); it has 'age', 'sex'"
    """
    names = list(columns)
    plain = {column.strip().casefold(): column for column in names}
    near = difflib.get_close_matches(name.strip().casefold(), plain, 1, 0.75)
    hint = f" (did you mean {plain[near[0]]!r}?)" if near else ""
    shown = ", ".join(map(repr, names[:_SHOWN_COLUMNS]))
    if len(names) > _SHOWN_COLUMNS:
        shown += ", ..."
    return f"{hint}; it has {shown}"


def named_twice(names: Iterable[str]) -> str | None:
    """Return the first name that occurs again later; None if all differ."""
    counts = Counter(names)
    return next((name for name, number in counts.items() if number > 1), None)
