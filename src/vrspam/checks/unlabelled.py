"""A check: rows without a label."""

from __future__ import annotations

from collections.abc import Iterator

from vrspam._utils.findings import Finding, Severity
from vrspam.checks.base import Check
from vrspam.checks.seen import Seen


class Unlabelled(Check):
    """Rows without a label (or with a blank one) are left out. It is severe if they are half of the table or more,
    a warning from 5 %. A model of the rest is right for new rows only if labels are missing by chance.

    What to do: find out why labels are missing. If the rows without a label are one of the classes, write the label
    into the file.
    """

    code = "unlabelled"

    def look(self, seen: Seen) -> Iterator[Finding]:
        if seen.table.origin.unlabelled:
            yield describe_unlabelled(seen.table.origin.unlabelled, sum(seen.label_counts.values()))


def describe_unlabelled(unlabelled: int, labelled: int) -> Finding:
    """The finding that some rows have no label."""
    rows = unlabelled + labelled
    share = 100.0 * unlabelled / rows
    severity: Severity = "note"
    if share >= 50.0:
        severity = "severe"
    elif share >= 5.0:
        severity = "warning"
    sentence = (
        f"{unlabelled:,} of {rows:,} rows ({share:.1f} %) have no label and are left out: are the rest like new rows?"
    )
    return Finding("unlabelled", severity, sentence, numbers={"unlabelled": unlabelled, "rows": rows})
