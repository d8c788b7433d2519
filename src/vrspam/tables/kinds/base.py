"""`KindOfText`: what a kind of text must be able to do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np


class KindOfText:
    """Text that means one or several numbers; a kind is a subclass of this, and an entry in `KINDS`.

    Attributes
    ----------
    words : str
        What its values are called in messages and files: "numbers", "dates".
    parts : tuple of str
        A column of numbers is made for each; "" is the column itself.
    types, objects : tuple of types
        Types of columns, and of Python objects in columns, that are of this kind without being text.
    meaning : str
        What the numbers are, such as hours; "" if `words` makes this plain.
    nearly : pattern or None
        Texts that look like this kind, even where they cannot be read.
    hint : str
        What to give to a model that only takes numbers; "" if no hint is needed.
    """

    words: ClassVar[str]
    meaning: ClassVar[str] = ""
    types: ClassVar[tuple[Any, ...]] = ()
    objects: ClassVar[tuple[type, ...]] = ()
    nearly: ClassVar[re.Pattern[str] | None] = None
    hint: ClassVar[str] = ""
    parts: tuple[str, ...] = ("",)

    @classmethod
    def find(cls, texts: Mapping[str, int]) -> FoundKind | None:
        """The format that fits most of some texts and their counts; None if they are of another kind."""
        kind = cls()
        remark = f", in {cls.meaning}" if cls.meaning else ""
        return FoundKind(kind, remark, kind.readable(texts))

    def readable(self, texts: Mapping[str, int]) -> dict[str, int]:
        """The texts, with their counts, that this kind can read."""
        return {text: count for text, count in texts.items() if not np.isnan(self.number(text))}

    def number(self, text: str) -> float:
        """What one text means: hours, or microseconds since 1970 for a date; NaN for a text that cannot be read."""
        raise NotImplementedError

    def values(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of a series of text, or of `types`, missing ones as NaN, and which texts cannot be read."""
        different_texts = [text for text in column.unique().to_list() if isinstance(text, str)]
        if not different_texts:
            return np.full(len(column), np.nan), np.zeros(len(column), dtype=bool)

        # each different text is read once; the last entry is for a missing value
        missing = len(different_texts)
        numbers = np.array([*map(self.number, different_texts), np.nan])
        named = column.alias("text")  # pandas 2 replaces nothing in a series without a name
        codes = named.replace_strict(different_texts, list(range(missing)), return_dtype=nw.Int64)
        places = codes.fill_null(missing).to_numpy().astype(np.intp, copy=False)

        values = numbers[places]
        unreadable = np.isnan(values) & (places < missing)
        return values, unreadable

    def read(self, column: Any) -> tuple[list[np.ndarray], np.ndarray]:
        """The numbers of each part, and which texts cannot be read."""
        values, unreadable = self.values(column)
        return [values], unreadable

    def made(self, name: Any) -> list[str]:
        """The names of the columns of numbers that a column becomes: "day (year)" of the part "year" of "day"."""
        return [f"{name} ({part})" if part else str(name) for part in self.parts]

    def narrowed(self, varying: Sequence[bool]) -> KindOfText:
        """The same without parts that do not vary; the first part stays if none does."""
        return self

    def form(self, texts: Sequence[str]) -> str:
        """A remark on how these texts were read, for messages."""
        return ""

    def show(self, part: str, value: float) -> str:
        """A number of one part as people write it."""
        return f"{value:.7g}"

    def check(self) -> bool:
        """Whether the fields have valid values; those from a file may be invalid."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Plain values, from which `from_fields` restores the kind."""
        plain: dict[str, Any] = {"kind": self.words}
        for attribute in fields(self):  # type: ignore[arg-type]
            value = getattr(self, attribute.name)
            plain[attribute.name] = list(value) if isinstance(value, tuple) else value
        return plain

    @classmethod
    def from_fields(cls, plain: Mapping[str, Any]) -> KindOfText:
        """The kind whose fields `to_dict` made plain; `check` says whether their values are valid."""
        values = {attribute.name: plain[attribute.name] for attribute in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


@dataclass(frozen=True)
class FoundKind:
    """A kind of text, a remark on how it was found, and the texts, with their counts, that it can read."""

    kind: KindOfText
    remark: str = ""
    read: Mapping[str, int] = field(default_factory=dict)
