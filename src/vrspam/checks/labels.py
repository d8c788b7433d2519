"""A check: labels that are misspelt, or more than two."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from vrspam._utils.findings import Finding
from vrspam._utils.warnings import SHOWN
from vrspam.checks.base import Check
from vrspam.checks.reading import decisions
from vrspam.checks.seen import Seen


class Labels(Check):
    """Labels that differ by case alone are one class; a rare label that is nearly spelt like another one may be a
    mistake, and counts as a class of its own; with more than two labels, all but the positive one are taken
    together.

    What to do: correct the file. Rows that belong to neither class need an empty label.
    """

    code = "labels"

    def look(self, seen: Seen) -> Iterator[Finding]:
        positive, counts = seen.table.label, seen.label_counts
        others = {str(label): count for label, count in counts.items() if label != positive}
        most = max(counts.values())
        for label, count in others.items():
            if count > 0.05 * most:
                continue
            near = next((str(other) for other in counts if are_nearly_spelt_alike(label, str(other))), None)
            if near is not None:
                sentence = (
                    f"the label {label!r} ({count:,} rows) may be a misspelt {near!r}, and counts as another class"
                )
                yield Finding(self.code, "warning", sentence, numbers={"rows": count})
        if len(counts) > 2:
            listed = ", ".join(f"{label!r} ({count:,} rows)" for label, count in list(others.items())[:SHOWN])
            sentence = (
                f"all labels but {str(positive)!r} are one class: {listed}; rows that are to be left out need an empty "
                "label"
            )
            yield Finding(self.code, "note", sentence)
        yield from decisions(seen, self.code)


def are_nearly_spelt_alike(label: str, other: str) -> bool:
    """Whether two texts differ, but at least 80 % of the letters of both match.

    >>> (
    ...     are_nearly_spelt_alike("Regan", "Reagan"),
    ...     are_nearly_spelt_alike("no", "none"),
    ...     are_nearly_spelt_alike("101", "100"),
    ... )
    (True, False, False)
    """
    label_in_short = label.strip().casefold()
    other_in_short = other.strip().casefold()
    if label == other or label_in_short.isdigit() or min(len(label_in_short), len(other_in_short)) < 3:
        return False
    return SequenceMatcher(None, label_in_short, other_in_short).ratio() >= 0.8
