"""Texts that stand for a missing value."""

from __future__ import annotations

from collections.abc import Mapping

from vrspam._utils.texts import show_texts

#: Texts that say that there is no value, in lower case.
MISSING_WORDS = frozenset(
    [
        *["", "-", "--", "---", "–", "—", ".", "..", "?", "??", "*", "n/a", "na", "#n/a", "#na", "n.a.", "n/d", "nd"],
        *["n.d.", "n.k.", "k.a.", "nan", "null", "none", "nil", "unknown", "unk", "missing", "(missing)", "tbd"],
        *["#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!", "not available", "not known", "not applicable"],
        *["not recorded", "no data"],
    ]
)


def means_missing(text: str) -> bool:
    """Whether a text says that there is no value.

    >>> means_missing(" N/A "), means_missing("tall")
    (True, False)
    """
    return text.strip().lower() in MISSING_WORDS


def count_missing(strays: Mapping[str, int]) -> str:
    """How many texts that cannot be read count as missing: "2 values that are not ('?') count as missing"."""
    count = sum(strays.values())
    examples = show_texts(sorted(strays, key=lambda text: -strays[text]))
    if count == 1:
        return f"1 value that is not ({examples}) counts as missing"
    return f"{count:,} values that are not ({examples}) count as missing"
