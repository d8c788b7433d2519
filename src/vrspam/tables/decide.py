"""What a learned column becomes: columns of numbers, categories, an identifier, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.findings import Fix
from vrspam._utils.texts import show_texts
from vrspam._utils.validation import LARGEST_EXACT
from vrspam.tables import columns
from vrspam.tables.columns import Column, NumberColumn, TextColumn, TypedColumn
from vrspam.tables.decisions import (
    Decision,
    DigitsLost,
    HoldsCodes,
    LeftOut,
    LooksLike,
    LooksLikeIdentifier,
    ManyCategories,
    OneText,
    PartsBecomeFeatures,
    TextAmongNumbers,
    TextReadAsNumbers,
    TypeReadAsNumbers,
)
from vrspam.tables.errors import DataError
from vrspam.tables.identifiers import ENOUGH_ROWS
from vrspam.tables.kinds import NEARLY_ALL, FoundKind, describe, find_kind, looks_like
from vrspam.tables.kinds.base import KindOfText
from vrspam.tables.kinds.dates import Dates
from vrspam.tables.kinds.missing import count_missing, means_missing
from vrspam.tables.kinds.numbers import LONG_ZIP


@dataclass(frozen=True)
class ColumnRules:
    """What the user asked for about columns, and what is known of a file before its rows are read.

    Attributes
    ----------
    include, categorical : sequence of str
        Columns to keep although they look like identifiers; and columns to take as categories.
    max_categories : int or None
        If text has more, the most frequent are kept and the others count as one.
    most_known : int
        Without `max_categories`, a column with more categories has no unknown ones.
    dates : {"features", "drop"}
    empty : {"keep", "leave out", "refuse"}
        What to do with columns without values.
    declared : sequence of str
        Columns of a frame whose type says that they are categories.
    integers : sequence of str
        Columns of a file that hold integers, which become floats.
    taken : sequence of str
        Names that no column made from dates may have.
    path : str
        The file, for errors.
    """

    include: Sequence[str] = ()
    categorical: Sequence[str] = ()
    max_categories: int | None = None
    most_known: int = 10_000
    dates: str = "features"
    empty: str = "keep"
    declared: Sequence[str] = ()
    integers: Sequence[str] = ()
    taken: Sequence[str] = ()
    path: str = ""

    @property
    def leaves_dates_out(self) -> bool:
        return self.dates == "drop"


@dataclass(frozen=True)
class ColumnUse:
    """How a column is used, and what is said about that.

    Attributes
    ----------
    numbers : dict of str to NumberColumn
        The columns of numbers that it becomes.
    kind : KindOfText or None
        How its text, or its dates, are read as numbers.
    categories : tuple of str or None
    grouped : bool
        Whether there are more categories than these.
    is_identifier, left_out : bool
    decisions : tuple of Decision
    text_remark : str
        How its text was read, for a warning; "" if it was no text.
    """

    numbers: Mapping[str, NumberColumn] = field(default_factory=dict)
    kind: KindOfText | None = None
    categories: tuple[str, ...] | None = None
    grouped: bool = False
    is_identifier: bool = False
    left_out: bool = False
    decisions: tuple[Decision, ...] = ()
    text_remark: str = ""


def decide(column: Column, rules: ColumnRules) -> ColumnUse:
    """Return how a column is used."""
    if isinstance(column, NumberColumn):
        return decide_numbers(column, rules)
    if isinstance(column, TypedColumn):
        return decide_typed(column, rules)
    return decide_text(column, rules)


# Columns of numbers


def decide_numbers(column: NumberColumn, rules: ColumnRules) -> ColumnUse:
    """Numbers, unless they name the rows or the column has none."""
    if column.names_rows and column.name not in rules.include:
        return _identifier(column.name, "numbers the rows")
    _refuse_mostly_text(column, rules)
    if not column.count and (left_out := _without_values(column.name, rules)):
        return left_out

    decisions: list[Decision] = []
    if any(LONG_ZIP.fullmatch(text) for text in column.strays):
        decisions.append(HoldsCodes(column.name))
    elif column.strays:
        decisions.append(TextAmongNumbers(column.name, column.strays))
    if column.name in rules.integers and max(abs(column.low), abs(column.high)) >= LARGEST_EXACT:
        decisions.append(DigitsLost(column.name))  # 2⁵³ + 1 has become 2⁵³
    return ColumnUse({str(column.name): column}, decisions=tuple(decisions))


def _refuse_mostly_text(column: NumberColumn, rules: ColumnRules) -> None:
    """Refuse a column of which only the first rows are numbers."""
    texts = column.strays.total()
    rows = column.count + texts
    if texts > 0.5 * rows:
        examples = show_texts([text for text, _ in column.strays.most_common(4)])
        raise DataError(
            f"{rules.path}: column {column.name!r} begins with numbers, and {texts:,} of its {rows:,} values are text "
            f"({examples}): take it as categories with ",
            Fix("categorical", [column.name]),
            ", or leave it out with ",
            Fix("drop", [column.name]),
        )


# Columns whose type is dates or times


def decide_typed(column: TypedColumn, rules: ColumnRules) -> ColumnUse:
    """Numbers of the parts that vary, unless dates are left out or the column has no value."""
    if rules.leaves_dates_out and isinstance(column.kind, Dates):
        return _left_out(column.name, "holds dates")
    if not column.parts[0].count and (left_out := _without_values(column.name, rules)):
        return left_out

    what = column.kind.words
    if column.strays:
        what += f"; {count_missing(column.strays)}"
    kind = column.kind.narrowed(_varying(column.parts))
    decision = _decision(column.name, kind, what)
    return ColumnUse(_kept_parts(kind, column.name, column.parts), kind, decisions=(decision,))


# Columns of text


def decide_text(column: TextColumn, rules: ColumnRules) -> ColumnUse:
    """Numbers that the text means, else an identifier, else categories."""
    is_category = column.name in rules.categorical
    if column.is_text and not is_category:
        if (use := _text_as_numbers(column, rules)) is not None:
            return use
        if _names_rows(column) and column.name not in rules.include:
            return _identifier(column.name, "differs in nearly every row")
    if not column.counts and (left_out := _without_values(column.name, rules)):
        return left_out
    if rules.max_categories is None:
        return _all_categories(column, rules.most_known)

    if len(column.counts) > columns.MOST_COUNTED:
        return _left_out(column.name, f"has more than {columns.MOST_COUNTED:,} categories")
    looks = looks_like([*column.counts]) if column.is_text and not is_category else None
    decisions: tuple[Decision, ...] = ()
    if looks:
        decisions = (LooksLike(column.name, looks, len(column.counts)),)
    elif column.is_text and not is_category:
        decisions = _one_text(column)
    return _most_frequent_categories(column, rules.max_categories, decisions)


def _one_text(column: TextColumn) -> tuple[OneText, ...]:
    """What is said of a column with one number or date alone, and words for missing at most; nothing of others."""
    words = tuple(filter(means_missing, column.counts))
    if len(column.counts) != len(words) + 1:
        return ()
    (text,) = column.counts.keys() - set(words)
    found = find_kind({text: 1}, least_texts=1)
    return () if found is None else (OneText(column.name, found.kind.words, text, words),)


def _names_rows(column: TextColumn) -> bool:
    """Whether text differs in nearly every row."""
    return len(column.counts) > max(NEARLY_ALL * column.filled, ENOUGH_ROWS)


def _all_categories(column: TextColumn, most_known: int) -> ColumnUse:
    """All categories of a column; none, as a group, if there are too many."""
    if len(column.counts) > min(most_known, columns.MOST_COUNTED):
        return ColumnUse(categories=(), grouped=True)
    return ColumnUse(categories=tuple(sorted(column.counts)))


def _most_frequent_categories(column: TextColumn, most: int, decisions: tuple[Decision, ...]) -> ColumnUse:
    """The categories of a column; where there are more than `most`, the others count as one."""
    different = len(column.counts)
    if different <= most:
        return ColumnUse(categories=tuple(sorted(column.counts)), decisions=decisions)
    by_frequency = sorted(column.counts, key=lambda value: (-column.counts[value], value))
    kept = by_frequency[: most - 1]
    many = ManyCategories(column.name, most, kept=len(kept), rare=different - len(kept))
    return ColumnUse(categories=tuple(sorted(kept)), grouped=True, decisions=(*decisions, many))


def _text_as_numbers(column: TextColumn, rules: ColumnRules) -> ColumnUse | None:
    """The numbers that the text means; None if it means none."""
    found = find_kind(column.counts)
    if found is None:
        return None
    texts = [*column.counts]
    numbers, unreadable = found.kind.read(nw.new_series("text", texts, nw.String, backend=column.backend))
    strays = {texts[place]: column.counts[texts[place]] for place in np.flatnonzero(unreadable).tolist()}
    mistakes = sum(count for text, count in strays.items() if not means_missing(text))
    if mistakes > (1.0 - NEARLY_ALL) * column.filled:
        return None
    if rules.leaves_dates_out and isinstance(found.kind, Dates):
        return _left_out(column.name, "holds dates")

    parts = _parts_of_texts(column.name, found, numbers)
    varying = [True] * len(parts) if column.stopped else _varying(parts)
    kind = found.kind.narrowed(varying)
    remark = describe(found, list(islice(texts, 100)), strays)
    decision = _decision(column.name, kind, remark, is_text=True)
    return ColumnUse(_kept_parts(kind, column.name, parts), kind, decisions=(decision,), text_remark=remark)


def _parts_of_texts(name: Any, found: FoundKind, numbers: Iterable[np.ndarray]) -> list[NumberColumn]:
    """The parts of a column of text: their ranges, without a mean, as each different text stands here once."""
    parts = [NumberColumn(part) for part in found.kind.made(name)]
    for part, values in zip(parts, numbers, strict=True):
        part.add(values)
        part.count = 0
    return parts


# What several kinds of columns share


def _varying(parts: Iterable[NumberColumn]) -> list[bool]:
    return [part.low < part.high for part in parts]


def _kept_parts(kind: KindOfText, name: Any, parts: Iterable[NumberColumn]) -> dict[str, NumberColumn]:
    """The columns of numbers that a kind makes of a column, among all of its parts."""
    kept = kind.made(name)
    return {str(part.name): part for part in parts if part.name in kept}


def _decision(name: Any, kind: KindOfText, what: str, is_text: bool = False) -> Decision:
    """What is said of a column that is read as numbers."""
    if kind.parts != ("",):
        return PartsBecomeFeatures(name, what, kind.parts)
    if is_text:
        return TextReadAsNumbers(name, what)
    return TypeReadAsNumbers(name, what, kind.meaning)


def _identifier(name: Any, reason: str) -> ColumnUse:
    return ColumnUse(is_identifier=True, decisions=(LooksLikeIdentifier(name, reason),))


def _left_out(name: Any, reason: str) -> ColumnUse:
    return ColumnUse(left_out=True, decisions=(LeftOut(name, reason),))


def _without_values(name: Any, rules: ColumnRules) -> ColumnUse | None:
    """The use of a column without values: none, or (None) like that of any other; an error if such are refused."""
    if rules.empty == "refuse":
        raise DataError(f"column {name!r} has no value at all; leave it out")
    if rules.empty == "leave out":
        return _left_out(name, "has no values")
    return None
