"""A check: columns with gaps."""

from __future__ import annotations

from collections.abc import Iterator

from vrspam._utils.findings import Finding
from vrspam._utils.warnings import SHOWN
from vrspam.checks.base import Check
from vrspam.checks.reading import decisions
from vrspam.checks.seen import Seen


class MissingValues(Check):
    """Columns with gaps, the worst first. A gap is a value of its own for the model; nothing has to be done."""

    code = "missing-values"

    def look(self, seen: Seen) -> Iterator[Finding]:
        shares: dict[str, float] = {}
        if not seen.is_sparse:  # a value that is not there is 0
            shares = {name: float((codes < 0).mean()) for name, codes in seen.features.codes.items()}
        with_gaps = [name for name in sorted(shares, key=lambda name: -shares[name]) if shares[name] > 0.0]
        if with_gaps:
            listed = ", ".join(f"{name!r} in {_percent(shares[name])} of the rows" for name in with_gaps[:SHOWN])
            not_shown = len(with_gaps) - SHOWN
            if not_shown > 0:
                listed += f", and in {not_shown} more column{'s' if not_shown > 1 else ''}"
            yield Finding(self.code, "note", f"values are missing: {listed}", columns=with_gaps)
        yield from decisions(seen, self.code)


def _percent(share: float) -> str:
    return "less than 0.1 %" if share < 5e-4 else f"{100 * share:.1f} %"
