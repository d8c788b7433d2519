"""A check: few rows of a class."""

from __future__ import annotations

from collections.abc import Iterator

from vrspam._utils.findings import Finding
from vrspam.checks.base import Check
from vrspam.checks.seen import Seen


class FewRows(Check):
    """Fewer than 50 rows of a class: intervals are wide, and the choice between models is uncertain.

    What to do: collect more rows of that class, or read the interval, not the number.
    """

    code = "few-rows"

    def look(self, seen: Seen) -> Iterator[Finding]:
        positives = seen.label_counts.get(seen.table.label, 0)
        others = sum(seen.label_counts.values()) - positives
        if others < 50 and seen.table.times is None:
            yield self._describe(others, "not positive")
        if positives < 50:
            yield self._describe(positives, "positive")

    def _describe(self, count: int, name: str) -> Finding:
        sentence = f"only {count} rows are {name}: intervals are wide and the choice of the penalty is shaky"
        return Finding(self.code, "warning", sentence, numbers={"rows": count})
