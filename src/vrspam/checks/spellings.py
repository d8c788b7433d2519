"""A check: categories that are spelt in several ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vrspam._utils.findings import Finding
from vrspam._utils.warnings import in_short
from vrspam.checks.base import Check
from vrspam.checks.seen import Seen

MOST_TEXTS = 100_000  # of a column that is looked at


class Spellings(Check):
    """Categories that differ by case or blanks alone ('Yes ' and 'yes') count as different ones.

    What to do: spell them in one way in the file; with pandas, `frame[c] = frame[c].str.strip().str.lower()`.
    """

    code = "spellings"

    def look(self, seen: Seen) -> Iterator[Finding]:
        columns = []
        examples = []
        for name, texts in seen.features.texts.items():
            alike = spelt_alike(texts) if len(texts) <= MOST_TEXTS else []
            if alike:
                columns.append(name)
                examples.append(f"{name!r} ({alike[0]!r} and {alike[1]!r})")
        if columns:
            listed = in_short(examples, quoted=False)
            sentence = (
                f"categories differ by case or blanks alone and count as different: {listed}; spell them in one way"
            )
            yield Finding(self.code, "warning", sentence, columns=columns)


def spelt_alike(texts: Iterable[str]) -> list[str]:
    """The first texts that differ by case or blanks alone; none if there are no such.

    >>> spelt_alike(["no", "yes", "Yes "])
    ['Yes ', 'yes']
    """
    spellings: dict[str, list[str]] = {}
    for text in texts:
        spellings.setdefault(" ".join(text.split()).casefold(), []).append(text)
    return next((sorted(alike) for alike in spellings.values() if len(alike) > 1), [])
