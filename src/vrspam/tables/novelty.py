"""What new rows hold that training rows did not: unknown categories, numbers far outside, columns without a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vrspam.tables import frames
from vrspam.tables.texts import is_missing, show_texts

FAR = 1.0  # beyond an end of the range, in widths of the range
SEVERAL = 5  # rows from which a column without a value is odd


class Range(NamedTuple):
    """The smallest and the largest number of a column in training."""

    low: float
    high: float

    def is_far(self, values: np.ndarray) -> np.ndarray:
        """Which numbers are far outside: by more than the width of the range; infinite ones are refused elsewhere.

        >>> Range(0.0, 10.0).is_far(np.array([-11.0, -5.0, 5.0, 20.5, np.nan, np.inf])).tolist()
        [True, False, False, True, False, False]
        """
        width = FAR * (self.high - self.low if self.high > self.low else max(abs(self.high), 1.0))
        with np.errstate(invalid="ignore", over="ignore"):
            return np.isfinite(values) & ((values < self.low - width) | (values > self.high + width))


#: What was seen of a column: the range of its numbers, or its categories.
SeenColumn = Range | frozenset[str]


@dataclass
class Comparison:
    """Counts what is new in rows, block by block.

    Parameters
    ----------
    seen : dict of str to SeenColumn
        Of training, in the order of the columns.
    """

    seen: Mapping[str, SeenColumn]
    rows: int = 0
    unknown: dict[str, Counter[str]] = field(default_factory=dict)
    far: dict[str, int] = field(default_factory=dict)
    present: dict[str, int] = field(default_factory=dict)
    strays: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, X: Any, names: Sequence[str] | None = None) -> None:
        """Look at a block of rows, whose columns have the names of `seen`; those of an array are given."""
        columns = frames.columns_of(X)
        given = columns.names if names is None else names
        places = {str(name): index for index, name in enumerate(given)}  # names of a frame need not be text
        self.rows += X.shape[0]
        for name, known in self.seen.items():
            if name not in places:
                continue
            if isinstance(known, Range):
                values = frames.numbers(columns, places[name], infinite=True)
                self._count(self.present, name, int(values.size - np.isnan(values).sum()))
                self._count(self.far, name, int(known.is_far(values).sum()))
            else:
                counts = frames.category_counts(columns, places[name])
                self._count(self.present, name, sum(counts.values()))
                if new := {text: count for text, count in counts.items() if text not in known}:
                    self.unknown.setdefault(name, Counter()).update(new)

    def add_strays(self, strays: Mapping[str, Mapping[str, int]]) -> None:
        """Count texts that could not be read as the numbers or dates that their columns hold."""
        for name, texts in strays.items():
            if new := {text: n for text, n in texts.items() if not is_missing(text)}:
                self.strays.setdefault(name, Counter()).update(new)

    @staticmethod
    def _count(counts: dict[str, int], name: str, number: int) -> None:
        counts[name] = counts.get(name, 0) + number

    def sentences(self) -> list[str]:
        """What is to be said, a sentence for each column; nothing where all is as in training."""
        found = []
        for name, new in self.unknown.items():
            hint = _near(new, self.seen[name])
            share, examples = _share(sum(new.values()), self.rows), show_texts([text for text, _ in new.most_common(4)])
            found.append(f"column {name!r} holds categories that training did not have in {share} ({examples}){hint}")
        for name, count in self.far.items():
            known = self.seen[name]
            if count and isinstance(known, Range):
                found.append(
                    f"column {name!r} is far outside the range of training, {known.low:g} to {known.high:g}, in "
                    f"{_share(count, self.rows)}: check its unit"
                )
        for name, texts in self.strays.items():
            count, examples = sum(texts.values()), show_texts([text for text, _ in texts.most_common(4)])
            found.append(
                f"column {name!r} holds text where training had other values, in {_share(count, self.rows)} "
                f"({examples}): these count as missing"
            )
        for name, count in self.present.items():
            if self.rows >= SEVERAL and count == 0 and name not in self.strays:
                found.append(f"column {name!r} has no value in any row, and had values in training")
        return found


def _share(count: int, rows: int) -> str:
    percent = 100.0 * count / max(rows, 1)
    shown = f"{percent:.1f} %" if percent >= 0.05 else "less than 0.1 %"
    return f"{shown} of the rows"


def _near(new: Iterable[str], known: Any) -> str:
    """A remark where unknown categories differ from known ones only in case and spaces."""
    plain = {text.strip().casefold() for text in known}
    alike = all(text.strip().casefold() in plain for text in new)
    return ": they differ from known ones in case or spaces alone" if alike else ""
