"""Which numbers in the text of new files a model would misread: `NumberRule`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from vrspam.tables.kinds.numbers import BLANKS, Numbers
from vrspam.tables.writing import Writing

_SIGNS = {".": "point", ",": "comma"}


class NumberRule(NamedTuple):
    """Which numbers of a file for a model could be meant otherwise than the model would read them.

    With the decimal sign of training (`decimal`), a number that has the other sign is refused. A sign before three
    digits that may separate thousands is understood only if the file is written as the training file was (`trusted`);
    if training had whole numbers alone (`whole`), each single sign before three digits could be either.
    """

    decimal: str
    whole: bool
    trusted: bool

    @classmethod
    def in_typed_files(cls, trained: Writing) -> NumberRule:
        """The rule for text among the numbers of a frame or a Parquet file, whose own numbers have decimal points."""
        return cls(trained.decimal or ".", whole=trained.decimal == "", trusted=trained.decimal != ",")

    @property
    def unread(self) -> str:
        """The regular expression of texts that are numbers with the other decimal sign."""
        other = "," if self.decimal == "." else "."
        return f"{Numbers(other, self.decimal).pattern}|{Numbers(other).pattern}"

    @property
    def doubtful(self) -> str:
        """The regular expression of texts whose signs may be decimal ones or separate thousands; "" if none is."""
        patterns = []
        if not self.trusted:
            other = "," if self.decimal == "." else "[.]"
            patterns.append(rf"^[+-]?[1-9]\d{{0,2}}({other}\d{{3}})+$")
        if self.whole:
            patterns.append(r"^[+-]?[1-9]\d{0,2}[.,]\d{3}$")
        return "|".join(patterns)

    def why(self, name: str, text: str) -> str:
        """Say why a number is refused, and how to write it."""
        trained_sign = _SIGNS[self.decimal]
        if not re.fullmatch(r"[+-]?[1-9]\d{0,2}([.,]\d{3})+", text):
            used_sign = "point" if self.decimal == "," else "comma"
            return (
                f"column {name!r} holds {text!r}, with a decimal {used_sign}, where training had decimal "
                f"{trained_sign}s: write the numbers as training did"
            )
        if self.whole:
            known = "training had whole numbers alone"
        else:
            known = f"the training file was not written like this one, and had decimal {trained_sign}s"
        without_sign = re.sub("[.,]", "", text)
        fraction = text.replace(",", ".")
        return f"column {name!r} holds {text!r}, {without_sign} or {fraction}: {known}; write it as training did"


def refused_numbers(column: Any, unreadable: np.ndarray, rule: NumberRule) -> Iterator[tuple[int, str]]:
    """Yield the places and texts of the numbers that a rule refuses; `unreadable` says which are no numbers."""
    import pyarrow.compute as pc

    texts = pc.utf8_trim(column, characters=BLANKS)
    refused = np.zeros(len(texts), dtype=bool)
    if unreadable.any():
        refused = unreadable & pc.match_substring_regex(texts, rule.unread).fill_null(False).to_numpy()
    if rule.doubtful:
        refused |= pc.match_substring_regex(texts, rule.doubtful).fill_null(False).to_numpy()
    for place in np.flatnonzero(refused).tolist():
        yield place, texts[place].as_py()
