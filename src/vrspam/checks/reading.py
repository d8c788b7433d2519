"""Checks that hand on what the reader of the table decided about its columns."""

from __future__ import annotations

from collections.abc import Iterator

from vrspam._utils.findings import OPTION, Finding, Fix, Severity
from vrspam._utils.warnings import in_short
from vrspam.checks.base import Check
from vrspam.checks.seen import Seen


def decisions(seen: Seen, code: str) -> Iterator[Finding]:
    """What the reader decided about the columns that are features, as far as it has this code."""
    for finding in seen.table.notes:
        about_groups = seen.column_of_groups is not None and finding.columns == (seen.column_of_groups,)
        if finding.code == code and not about_groups:
            yield finding


class Decision(Check):
    """A decision of the reader about a column, which is handed on."""

    def look(self, seen: Seen) -> Iterator[Finding]:
        yield from decisions(seen, self.code)


class UnreadText(Decision):
    """A column of numbers holds some text, which counts as missing.

    What to do: correct the file, or `--categorical COLUMN`.
    """

    code = "unread-text"

    def several(self, columns: list[str], severity: Severity) -> Finding:
        sentence = f"columns {in_short(columns)} hold numbers; text among them counts as missing"
        return Finding(self.code, severity, sentence, columns=columns)


class LargeIntegers(Decision):
    """Integers beyond 2⁵³ lose their last digits as floating-point numbers.

    What to do: `--drop COLUMN` if they name rows, else `--categorical COLUMN`.
    """

    code = "large-integers"

    def several(self, columns: list[str], severity: Severity) -> Finding:
        sentence = f"columns {in_short(columns)} hold integers beyond 2**53, which lose digits"
        fix = Fix("drop", columns, f": leave them out with {OPTION}")
        return Finding(self.code, severity, sentence, [fix], columns=columns)


class ManyCategories(Decision):
    """A text column has more categories than `--max-categories`: the rare ones count as one.

    What to do: `--drop COLUMN` if it is a name; raise `--max-categories` if each category matters.
    """

    code = "many-categories"

    def several(self, columns: list[str], severity: Severity) -> Finding:
        names = in_short(columns)
        sentence = f"columns {names} have very many categories, of which the rare ones count as one, as do new ones"
        fix = Fix("drop", columns, f"; use {OPTION} if they are names")
        return Finding(self.code, severity, sentence, [fix], columns=columns)


class Identifiers(Decision):
    """Columns that number the rows, or differ in nearly every one, are left out.

    What to do: `--include COLUMN` if it is a measurement.
    """

    code = "identifiers"

    def several(self, columns: list[str], severity: Severity) -> Finding:
        sentence = f"columns {in_short(columns)} look like identifiers and were left out"
        fix = Fix("include", columns[:1], f"; {OPTION} would keep one")
        return Finding(self.code, severity, sentence, [fix], columns=columns)


class LeftOut(Decision):
    """Columns without values, and columns of types that are neither numbers nor categories, are left out. Nothing
    has to be done.
    """

    code = "left-out"

    def several(self, columns: list[str], severity: Severity) -> Finding:
        sentence = f"columns {in_short(columns)} have no values that can be used; left out"
        return Finding(self.code, severity, sentence, columns=columns)


class Dates(Decision):
    """Dates become a position in time, month, weekday and hour.

    What to do: `--dates drop` if they should not matter.
    """

    code = "dates"

    def several(self, columns: list[str], severity: Severity) -> Finding:
        sentence = f"columns {in_short(columns)} hold dates: their year, month, weekday and hour are features"
        fix = Fix("dates", "drop", f"; {OPTION} leaves dates out")
        return Finding(self.code, severity, sentence, [fix], columns=columns)


class TextNumbers(Decision):
    """Text that is numbers ("$1,200", "12 %") or times is read as such.

    What to do: `--categorical COLUMN` if it is not a quantity.
    """

    code = "text-numbers"

    def several(self, columns: list[str], severity: Severity) -> Finding:
        sentence = f"columns {in_short(columns)} hold text that was read as numbers"
        fix = Fix("categorical", columns[:1], f"; {OPTION} would take one as categories")
        return Finding(self.code, severity, sentence, [fix], columns=columns)
