"""What the text of a column means: the one list of kinds of text (`KINDS`), and how one is found for a column.

A kind is found from the different texts of a column and how often each occurs (`find_kind`), kept with a model, and
used again on new rows. A text in new rows that does not fit the kind is a missing value, and is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.texts import show_texts
from vrspam.tables.kinds.base import FoundKind, KindOfText
from vrspam.tables.kinds.dates import Dates
from vrspam.tables.kinds.missing import count_missing, means_missing
from vrspam.tables.kinds.numbers import CODE, LONG_ZIP, Numbers
from vrspam.tables.kinds.times import Times

#: All kinds of text, in the order in which they are tried.
KINDS: tuple[type[KindOfText], ...] = (
    Dates,
    Times,
    Numbers,
)

NEARLY_ALL = 0.9  # share of the rows that must agree on one format
_ENOUGH_TEXTS = 2_000  # different texts that are enough to choose a format


def find_kind(counts: Mapping[str, int], least_texts: int = 2) -> FoundKind | None:
    """Return the kind of text of a column, from its texts and their counts, if nearly all agree; None for words.

    One text alone may be a name, so `least_texts` different ones must agree.

    >>> find_kind({"$4,012.50": 1, "$12.00": 2, "n/a": 1}).kind
    Numbers(decimal='.', thousands=',', unit='$')
    >>> find_kind({"21.12.2020": 1, "3.1.2021": 1}).kind.order, find_kind({"Graz": 3, "Linz 1": 4})
    ('dmy', None)
    """
    rows = 0
    texts: dict[str, int] = {}  # those that say something
    for text, count in islice(counts.items(), _ENOUGH_TEXTS):
        rows += count
        if not means_missing(text):
            texts[text.strip()] = texts.get(text.strip(), 0) + count
    if not texts:
        return None

    for kind in KINDS:
        found = kind.find(texts)
        if found is None or len(found.read) < least_texts:
            continue
        # texts that cannot be read are mistakes; without any, half of the rows may be words for a missing value
        least_share = 0.5 if len(found.read) == len(texts) else NEARLY_ALL
        if sum(found.read.values()) >= least_share * rows:
            return found
    return None


def kind_called(words: Any) -> type[KindOfText] | None:
    """The kind whose values are called so, "dates" for example; None if there is none."""
    return next((kind for kind in KINDS if kind.words == words), None)


def typed_kind(column: Any) -> KindOfText | None:
    """The kind of a column of dates or times that are not text; None for other columns."""
    if column.dtype == nw.Unknown and hasattr(getattr(column.to_native(), "dtype", None), "tz"):
        return Dates()  # narwhals does not know zones of pandas with "_" or "-" in their names
    for kind in KINDS:
        if column.dtype in kind.types:
            return kind()
    if column.dtype != nw.Object:
        return None
    cells = [cell for cell in column.to_list() if cell is not None]
    for kind in KINDS:
        if cells and kind.objects and all(isinstance(cell, kind.objects) or cell != cell for cell in cells):
            return kind()
    return None


def looks_like(texts: Sequence[str]) -> str | None:
    """What most of the different texts of a column look like ("numbers", "dates"); None for words and codes (02139)."""
    if len(texts) < 2 or any(CODE.fullmatch(text) or LONG_ZIP.fullmatch(text) for text in texts):
        return None
    for kind in KINDS:
        if kind.nearly is None:
            continue
        alike = sum(kind.nearly.fullmatch(text.strip()) is not None for text in texts)
        if alike > len(texts) / 2:
            return kind.words
    return None


def describe(found: FoundKind, texts: Sequence[str], strays: Mapping[str, int]) -> str:
    """How a column of text is read, with examples, and which texts count as missing.

    >>> describe(FoundKind(Numbers(".", ",")), ["1,200", "?"], {"?": 3})
    "text that was read as numbers ('1,200'); 3 values that are not ('?') count as missing"
    """
    kind = found.kind
    readable_texts = [text for text in dict.fromkeys(texts) if not np.isnan(kind.number(text))]
    examples = show_texts(readable_texts[:2])
    sentence = f"text that was read as {kind.words}{kind.form(texts)}{found.remark} ({examples})"
    if strays:
        sentence += f"; {count_missing(strays)}"
    return sentence
