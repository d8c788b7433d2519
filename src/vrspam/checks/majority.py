"""A check: the label that is looked for is that of most rows."""

from __future__ import annotations

from collections.abc import Iterator

from vrspam._utils.findings import OPTION, Finding, Fix
from vrspam.checks.base import Check
from vrspam.checks.seen import Seen


class Majority(Check):
    """No label was named, and the one that is looked for is that of most rows.

    What to do: `--positive LABEL`.
    """

    code = "majority"

    def look(self, seen: Seen) -> Iterator[Finding]:
        positive, counts = seen.table.label, seen.label_counts
        if seen.plan.positive is not None or len(counts) != 2:
            return
        positives = counts.get(positive, 0)
        labelled = sum(counts.values())
        if positives > 0.6 * labelled:
            (other,) = (str(label) for label in counts if label != positive)
            sentence = f"I look for {str(positive)!r} ({100.0 * positives / labelled:.0f} % of the rows)."
            fix = Fix("positive", other, f" Looking for {other!r}? Add {OPTION}.")
            yield Finding(self.code, "note", sentence, [fix], {"share": positives / labelled})
