"""A check: numbers that are codes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vrspam._utils.findings import OPTION, Finding, Fix, Severity
from vrspam.checks.base import Check
from vrspam.checks.reading import about_several, decisions
from vrspam.checks.seen import Seen

NAME_OF_CODES = re.compile(
    r"(^|[^a-z])(zip|zip.?codes?|plz|post.?codes?|postal.*|fips|naics|sic|icd.?\d*|phone|area.?code)$"
)


class Codes(Check):
    """A column of numbers whose name or values say that they are codes (ZIP codes): 90210 is not 9 times 10001.

    What to do: `--categorical COLUMN`.
    """

    code = "codes"

    def look(self, seen: Seen) -> Iterator[Finding]:
        columns = seen.features
        for name in sorted(columns.numeric):
            if not NAME_OF_CODES.search(name.lower()) or name in columns.dates:
                continue
            if columns.codes[name].max(initial=-1) >= 9:  # at least ten different numbers
                sentence = f"column {name!r} holds codes that look like numbers"
                fix = Fix("categorical", [name], f": take it as categories with {OPTION}")
                yield Finding(self.code, "warning", sentence, [fix], columns=[name])
        yield from decisions(seen, self.code)

    def several(self, columns: list[str], severity: Severity) -> Finding:
        return about_several(self.code, columns, severity)
