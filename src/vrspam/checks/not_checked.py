"""A check: what could not be looked at."""

from __future__ import annotations

from collections.abc import Iterator

from vrspam._utils.findings import Finding
from vrspam.checks.base import Check, Need, not_checked
from vrspam.checks.seen import Seen


class NotChecked(Check):
    """What the doctor could not look at. Streams and Spark frames are seen as a sample of rows: rows that repeat
    across the file, and drift, need all rows. Tables of more than 1,000 columns, LIBSVM and `.npy` files are looked
    at column by column.

    What to do: `vrspam check` on a part of the table that fits into memory, with whole groups of rows.
    """

    code = "not-checked"

    def look(self, seen: Seen) -> Iterator[Finding]:
        if seen.sampled_of is not None:
            yield describe_sample(seen.positive.size, seen.sampled_of)
        elif Need.FEW_NAMED_COLUMNS not in seen.has:
            yield not_checked("repeated rows and drift, which need a table of at most 1,000 named columns")


def describe_sample(rows: int, of: int) -> Finding:
    """The finding that only a sample of the rows was seen."""
    seen = f"; only {rows:,} rows of {of:,} were seen" if rows < of else ""
    return not_checked(f"whether rows repeat across the table, or drift{seen}")
