"""A check: columns with one value in all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vrspam._utils.findings import Finding
from vrspam._utils.warnings import in_short
from vrspam.checks.base import Check, Need
from vrspam.checks.seen import Seen


class Constant(Check):
    """Columns with one value in all rows say nothing. Nothing has to be done."""

    code = "constant"
    needs = frozenset({Need.ALL_ROWS})

    def look(self, seen: Seen) -> Iterator[Finding]:
        if seen.constant:
            yield describe_constant(seen.constant)


def describe_constant(columns: Sequence[str]) -> Finding:
    """The finding that columns, or features made of them, are the same in all rows."""
    shown = in_short([str(name) for name in columns])
    return Finding("constant", "note", f"constant and so without effect: {shown}", columns=columns)
