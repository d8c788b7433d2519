"""Checks that hand on what the reader of the table decided about its columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vrspam._utils.findings import Finding, Fix, Severity
from vrspam._utils.warnings import in_short
from vrspam.checks.base import Check
from vrspam.checks.seen import Seen
from vrspam.tables.decisions import SEVERAL


def decisions(seen: Seen, code: str) -> Iterator[Finding]:
    """What the reader decided about the columns that are features, as far as it has this code."""
    for finding in seen.table.findings:
        about_groups = seen.column_of_groups is not None and finding.columns == (seen.column_of_groups,)
        if finding.code == code and not about_groups:
            yield finding


def about_several(code: str, columns: list[str], severity: Severity) -> Finding:
    """One finding about columns of which the same was decided; a note names one of them as an example."""
    says, option, does = SEVERAL[code]
    sentence = f"columns {in_short(columns)} {says}"
    if option is None:
        return Finding(code, severity, sentence, columns=columns)
    value: Any = columns[:1] if severity == "note" else columns
    if option == "dates":
        value = "drop"
    return Finding(code, severity, sentence, [Fix(option, value, does)], columns=columns)


class DecisionOfReader(Check):
    """A decision of the reader about a column, which is handed on."""

    def look(self, seen: Seen) -> Iterator[Finding]:
        yield from decisions(seen, self.code)

    def several(self, columns: list[str], severity: Severity) -> Finding:
        return about_several(self.code, columns, severity)


class UnreadText(DecisionOfReader):
    """A column of numbers holds some text, which counts as missing. A column of one number alone beside words such as
    `-` is taken as categories, as a flag is; a frame then has to hold the same text.

    What to do: correct the file, or `--categorical COLUMN`.
    """

    code = "unread-text"


class LargeIntegers(DecisionOfReader):
    """Integers beyond 2⁵³ lose their last digits as floating-point numbers.

    What to do: `--drop COLUMN` if they name rows, else `--categorical COLUMN`.
    """

    code = "large-integers"


class ManyCategories(DecisionOfReader):
    """A text column has more categories than `--max-categories`: the rare ones count as one.

    What to do: `--drop COLUMN` if it is a name; raise `--max-categories` if each category matters.
    """

    code = "many-categories"


class Identifiers(DecisionOfReader):
    """Columns that number the rows, or differ in nearly every one, are left out.

    What to do: `--include COLUMN` if it is a measurement.
    """

    code = "identifiers"


class LeftOut(DecisionOfReader):
    """Columns without values, and columns of types that are neither numbers nor categories, are left out. Nothing
    has to be done.
    """

    code = "left-out"


class Dates(DecisionOfReader):
    """Dates become a position in time, month, weekday and hour.

    What to do: `--dates drop` if they should not matter.
    """

    code = "dates"


class TextNumbers(DecisionOfReader):
    """Text that is numbers ("$1,200", "12 %") or times is read as such.

    What to do: `--categorical COLUMN` if it is not a quantity.
    """

    code = "text-numbers"
