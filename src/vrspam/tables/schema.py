"""`TableSchema`: how the columns of a table are read. It is learned once, kept with a model, and used on new rows.

A frame is one block of rows, a file is many, and a cluster merges what was learned from its parts (`TableLearner`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Self, TypeVar

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.messages import WordedError
from vrspam._utils.texts import show_texts
from vrspam._utils.warnings import ColumnsLeftOut, TextRead, UnseenValues, warn, warn_once_in_cross_validation
from vrspam.tables import frames, kinds
from vrspam.tables.columns import Asked, Column, NumberColumn, TextColumn, TypedColumn
from vrspam.tables.kinds import typed_kind
from vrspam.tables.kinds.base import KindOfText
from vrspam.tables.kinds.dates import YEAR, part_text
from vrspam.tables.kinds.missing import MISSING_WORDS

SEVERAL = 5  # with so many rows or more, a column without any readable value deserves a warning
_NESTED = (list, tuple, dict, set, np.ndarray)
Label = bool | int | float | str
Strays = Mapping[Any, Mapping[str, int]]


@dataclass
class Comparison:
    """Counts, block by block, what new rows hold that the training rows, as the schema describes them, did not.

    A number is far outside if it misses the range of training by more than the width of that range; infinite ones are
    refused elsewhere.
    """

    schema: TableSchema
    rows: int = 0
    unknown: dict[str, Counter[str]] = field(default_factory=dict)
    far: Counter[str] = field(default_factory=Counter)
    present: Counter[str] = field(default_factory=Counter)
    strays: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, X: Any, strays: Strays | None = None, names: Sequence[str] | None = None) -> Self:
        """Add rows that were read, and texts that could not be read; `names` are those of the columns of an array."""
        for column, texts in (strays or {}).items():
            if unread := {text: n for text, n in texts.items() if text.strip().lower() not in MISSING_WORDS}:
                self.strays.setdefault(column, Counter()).update(unread)
        columns = frames.columns_of(X)
        given = columns.names if names is None else names
        places = {str(name): index for index, name in enumerate(given)}  # names of a frame need not be text
        self.rows += X.shape[0]
        for name in self.schema.numeric:
            if name in places and name in self.schema.ranges:
                values = frames.numbers(columns, places[name], infinite=True)
                self.present[name] += int(values.size - np.isnan(values).sum())
                self.far[name] += int(far_outside(values, *self.schema.ranges[name]).sum())
        for name, listed in self.schema.categorical.items():
            if name in places and listed and name not in self.schema.grouped:
                counts, known = frames.value_counts(columns.columns[places[name]]), frozenset(listed)
                self.present[name] += sum(counts.values())
                if new := {text: count for text, count in counts.items() if text not in known}:
                    self.unknown.setdefault(name, Counter()).update(new)
        return self

    def sentences(self, marked: str | None = None) -> list[str]:
        """The warnings, a sentence for each column; `marked` is the result column that marks rows far outside."""
        doubt = f", and do not rely on these scores (the column {marked!r} marks them)" if marked else ""
        found, made = list[str](), self.schema.made()
        for name, new in self.unknown.items():
            plain = {text.strip().casefold() for text in self.schema.categorical[name]}
            alike = all(text.strip().casefold() in plain for text in new)
            hint = ": they differ from known ones in case or spaces alone" if alike else ""
            share, examples = (
                share_of_rows(sum(new.values()), self.rows),
                show_texts([text for text, _ in new.most_common(4)]),
            )
            found.append(f"column {name!r} holds categories that training did not have in {share} ({examples}){hint}")
        for name, count in self.far.items():
            if count:
                dated = made.get(name, (name, ""))[1] == YEAR
                low, high = (part_text(YEAR, end) if dated else f"{end:g}" for end in self.schema.ranges[name])
                words = f"column {name!r} is far outside the range of training, {low} to {high}, in "
                why = "a new model may be due" if dated else "check its unit"
                found.append(f"{words}{share_of_rows(count, self.rows)}: {why}{doubt}")
        for name, texts in self.strays.items():
            count, examples = sum(texts.values()), show_texts([text for text, _ in texts.most_common(4)])
            found.append(
                f"column {name!r} holds text where training had other values, in {share_of_rows(count, self.rows)} "
                f"({examples}): these count as missing"
            )
        absent = [made.get(name, (name, ""))[0] for name, count in self.present.items() if not count]
        for name in dict.fromkeys(absent) if self.rows >= SEVERAL else ():  # a date column once, not for each part
            if name not in self.strays:
                found.append(f"column {name!r} has no value in any row, and had values in training")
        return found


def far_outside(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Which numbers are outside a range by more than its width.

    >>> far_outside(np.array([0.0, 29.0, 31.0, np.nan]), 10.0, 20.0).tolist()
    [False, False, True, False]
    """
    width = high - low if high > low else max(abs(high), 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.isfinite(values) & ((values < low - width) | (values > high + width))


def share_of_rows(count: int, rows: int) -> str:
    percent = 100.0 * count / max(rows, 1)
    shown = f"{percent:.1f} %" if percent >= 0.05 else "less than 0.1 %"
    return f"{shown} of the rows"


@dataclass(frozen=True)
class Writing:
    """How the text of the training file was written; files for a model are read as it was, and never guessed anew.

    Attributes
    ----------
    delimiter : str or None
        What stands between the fields; None if the training file was no text.
    decimal : {".", ",", ""}
        The decimal sign of the numbers; "" if all of them were whole.
    spaced : bool
        Whether a space follows each delimiter.
    """

    delimiter: str | None = None
    decimal: str = "."
    spaced: bool = False

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Writing:
        """Restore what `dataclasses.asdict` made plain; raise an error if it is invalid."""
        writing = cls(plain["delimiter"], plain["decimal"], plain["spaced"])
        delimiter = writing.delimiter
        is_sign = delimiter is None or (isinstance(delimiter, str) and len(delimiter.encode()) == 1)
        if not is_sign or writing.decimal not in (".", ",", "") or not isinstance(writing.spaced, bool):
            raise ValueError(f"{plain!r} is no way to write a table")
        return writing


@dataclass(frozen=True)
class TableSchema:
    """How the columns of a table become numbers and categories; `vrspam.data.Schema` explains the attributes.

    The names of a frame, in `readings`, `identifiers` and `source`, need not be text.
    """

    numeric: tuple[str, ...] = ()
    categorical: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fill: tuple[float, ...] | None = None
    target: str | None = None
    target_type: str | None = None
    labels: tuple[Label, ...] | None = None
    width: int | None = None
    zero_based: bool = False
    readings: Mapping[Any, KindOfText] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    grouped: tuple[str, ...] = ()
    identifiers: tuple[Any, ...] = ()
    source: tuple[Any, ...] = ()
    writing: Writing | None = None

    error: ClassVar[type[WordedError]] = WordedError  # raised for what is refused

    @classmethod
    def learn(cls, blocks: Any, *, means: bool = True, **asked: Any) -> Self:
        """Return the schema of a frame, or of a table in several frames of rows; `asked` are fields of `Asked`.

        Warn about text that is read as numbers or dates, and about identifiers. Means of numbers in text take a second
        look at the rows; without `means` they are NaN.
        """
        blocks = [blocks] if frames.is_frame(blocks) else [*blocks]
        learner = TableLearner(**asked)
        for block in blocks:
            learner.add(block)
        found = learner.finish(cls)
        if not (found.numeric or found.categorical):
            if len(found.identifiers) == len(found.source):
                raise ValueError("Every column looks like an identifier: give at least one column that does not.")
            raise ValueError(
                "No feature is left: identifiers and columns that are left out do not count. Add a column."
            )
        for name, (kind, remark) in learner.readings.items():
            warn(TextRead(name, kind, remark))
        if found.identifiers:
            warn(ColumnsLeftOut(found.identifiers))
        return found.completed(found.read(block)[0] for block in blocks) if means else found

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name for each column of X."""
        if self.width is not None and not self.numeric:
            first = 0 if self.zero_based else 1
            return tuple(str(index) for index in range(first, first + self.width))
        indicators = (f"{name}={value}" for name, values in self.categorical.items() for value in values)
        return (*self.numeric, *indicators)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, numeric ones first; those of a LIBSVM file have numbers as names."""
        return (*self.numeric, *self.categorical) or self.feature_names

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        if self.width is not None and not self.numeric:
            return self.width
        return len(self.numeric) + sum(len(values) for values in self.categorical.values())

    def made(self) -> dict[str, tuple[Any, str]]:
        """For each column of numbers read from another one: that other column, and its part ("" for the whole)."""
        return {
            new: (name, part)
            for name, kind in self.readings.items()
            for new, part in zip(kind.made(name), kind.parts, strict=True)
        }

    def inputs(self) -> list[Any]:
        """The columns that a table must have: numbers, columns that are read as numbers, and categories."""
        made = {new for name, kind in self.readings.items() for new in kind.made(name)}
        return [*(name for name in self.numeric if name not in made), *self.readings, *self.categorical]

    @property
    def names(self) -> tuple[Any, ...]:
        """The columns of a frame that was read, in the order of `source`."""
        left_out = set(self.identifiers)
        kept = [name for name in self.source if name not in left_out]
        if not self.readings:
            return tuple(kept)
        plain = {name: [str(name)] for name in kept if name not in self.readings}
        made = plain | {name: kind.made(name) for name, kind in self.readings.items()}
        return tuple(new for name in kept for new in made[name])

    def by_column(self, effects: np.ndarray) -> np.ndarray:
        """The effects of the columns of a frame, from those of `names`; for a date, the root of the sum of squares."""
        sizes = dict.fromkeys(self.source, 1) | dict.fromkeys(self.identifiers, 0)
        sizes |= {name: len(kind.parts) for name, kind in self.readings.items()}
        squares = iter((effects**2).tolist())
        return np.sqrt([sum(next(squares) for _ in range(sizes[name])) for name in self.source])

    def read(self, table: Any) -> tuple[Any, dict[Any, Counter[str]]]:
        """The frame without identifiers, with text and dates read as numbers; and the texts that cannot be read."""
        strays: dict[Any, Counter[str]] = {}
        if not (self.readings or self.identifiers):
            return table, strays
        frame = nw.from_native(table)
        kept: list[int] = []  # by position: names need not be text
        made: list[Any] = []
        order: list[tuple[int, int]] = []
        for index, (name, column) in enumerate(zip(frame.columns, frame.iter_columns(), strict=True)):
            if name in self.readings:
                if column.dtype in (nw.Categorical, nw.Enum):  # as Parquet and Feather files keep repeated text
                    column = column.cast(nw.String)
                kind, texts = self.readings[name], frames.texts_of(column)
                parts, stray = kind.read(column if texts is None else texts)
                if texts is not None and stray.any():
                    strays[name] = Counter(texts[np.flatnonzero(stray)].to_list())
                for new, numbers in zip(kind.made(name), parts, strict=True):
                    series = nw.new_series(new, numbers, nw.Float64, backend=frame.implementation)
                    if frame.implementation.is_pyarrow() and np.isnan(numbers).any():  # there missing is null, not NaN
                        present = nw.when(~nw.col(new).is_nan()).then(nw.col(new)).alias(new)
                        series = series.to_frame().select(present)[new]
                    order.append((1, len(made)))
                    made.append(series)
            elif name not in self.identifiers:
                order.append((0, len(kept)))
                kept.append(index)
        others = frame if len(kept) == len(frame.columns) else frame[:, kept]
        if made:
            if not all(isinstance(name, str) for name in others.columns):  # as the names of the new ones are
                others = others.rename({name: str(name) for name in others.columns})
            whole = others.with_columns(*made) if kept else nw.from_dict({one.name: one for one in made})
            others = whole[:, [place + len(kept) * new for new, place in order]]
        return others.to_native(), strays

    def compare(self, table: Any) -> Comparison:
        """Count what a frame holds that the training rows did not; `Comparison.sentences` says it."""
        return Comparison(self).add(*self.read(table))

    def read_frame(self, X: Any) -> Any:
        """Return the frame as maps take it, and warn about values that training did not have."""
        frame, strays = self.read(X)
        if said := Comparison(self).add(frame, strays).sentences():
            warn_once_in_cross_validation(UnseenValues(tuple(said)), tuple(self.source))
        return frame

    @property
    def unfinished(self) -> list[str]:
        """Columns that are read from text or dates, whose means are unknown until all rows have been read."""
        return [name for name, value in zip(self.numeric, self.fill or (), strict=False) if np.isnan(value)]

    def completed(self, blocks: Iterable[Any]) -> Self:
        """The schema with the means and ranges of columns that were `unfinished`, from rows that were read."""
        if not (names := self.unfinished):
            return self
        learner = TableLearner(include=names)
        for block in blocks:
            learner.add(nw.from_native(block).select(names).to_native())
        return self.with_numbers(learner)

    def with_numbers(self, learner: TableLearner) -> Self:
        """The schema with the means and ranges of columns of numbers that were learned."""
        found = learner.finish(TableSchema)
        means = dict(zip(found.numeric, found.fill or (), strict=True))
        fill = tuple(means.get(name, value) for name, value in zip(self.numeric, self.fill or (), strict=True))
        return replace(self, fill=fill, ranges={**self.ranges, **found.ranges})

    def keeping_missing(self) -> Self:
        """Return the schema that hands missing numbers on as NaN (absent values of LIBSVM files stay zeros)."""
        if self.fill is None or self.width is not None:
            return self
        return replace(self, fill=(float("nan"),) * len(self.numeric))

    def without_target(self) -> Self:
        """Return the schema for files that carry no labels (prediction)."""
        return replace(self, target=None, target_type=None, labels=None)

    def to_dict(self) -> dict[str, Any]:
        """Return a dict that JSON can hold."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain["readings"] = {name: kind.to_dict() for name, kind in self.readings.items()}
        plain["ranges"] = {name: list(ends) for name, ends in self.ranges.items()}
        plain["categorical"] = {name: list(values) for name, values in self.categorical.items()}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}
        plain["writing"] = None if self.writing is None else asdict(self.writing)
        optional = ("identifiers", "source", "writing")
        return {name: value for name, value in plain.items() if value or name not in optional}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the schema that `to_dict` wrote; raise an error if it is invalid."""
        known, wrong = {f.name for f in fields(cls)}, "{problem}; give what Schema.to_dict wrote"
        if isinstance(plain, Mapping):  # schemas of older versions lack these
            lists: dict[str, list[str]] = {"grouped": [], "identifiers": [], "source": []}
            plain = {"zero_based": False, "readings": {}, "ranges": {}, "writing": None, **lists, **plain}
        if not isinstance(plain, Mapping) or set(plain) != known:
            raise cls.error(wrong, problem=f"this is not a schema (its keys must be {', '.join(sorted(known))})")
        try:
            if not isinstance(plain["zero_based"], bool):
                raise TypeError("zero_based must be true or false")
            names = {name: plain[name] for name in ("numeric", "grouped", "identifiers", "source")}
            for texts in (*names.values(), *plain["categorical"].values()):
                if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
                    raise TypeError("names must be a list of strings")
            ranges = {str(name): (float(low), float(high)) for name, (low, high) in plain["ranges"].items()}
            if not all(-np.inf < low <= high < np.inf for low, high in ranges.values()):
                raise ValueError("a range needs two finite numbers, the smaller first")
            readings: dict[str, KindOfText] = {}
            for name, stored in plain["readings"].items():
                kind = kinds.kind_called(stored.get("kind"))
                if kind is None or not (restored := kind.from_fields(stored)).check():
                    raise ValueError(f"{stored!r} is not a kind of text")
                readings[str(name)] = restored
            return cls(
                **{name: tuple(given) for name, given in names.items()},
                categorical={str(name): tuple(values) for name, values in plain["categorical"].items()},
                fill=None if plain["fill"] is None else tuple(float(value) for value in plain["fill"]),
                target=None if plain["target"] is None else str(plain["target"]),
                target_type=None if plain["target_type"] is None else str(plain["target_type"]),
                labels=None if plain["labels"] is None else tuple(plain["labels"]),
                width=None if plain["width"] is None else int(plain["width"]),
                zero_based=plain["zero_based"],
                readings=readings,
                ranges=ranges,
                writing=None if plain["writing"] is None else Writing.from_dict(plain["writing"]),
            )
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise cls.error(wrong, problem=f"this is not a schema ({error})") from error


AnySchema = TypeVar("AnySchema", bound=TableSchema)


@dataclass
class TableLearner(Asked):
    """Learns from the columns of a table, block by block; `merge` adds what was learned from another part."""

    columns: dict[Any, Column] = field(default_factory=dict)

    def add(self, block: Any, strays: Strays | None = None) -> None:
        """Add the rows of a frame, and the texts that its reader found in columns of numbers."""
        found = frames.columns_of(block)
        for name, column in zip(found.names, found.columns, strict=True):
            known = self.columns.get(name)
            if known is None or known.empty:  # the type of its first values says what it is
                is_object = column.dtype in (nw.Object, nw.Unknown)
                nested = is_object and any(isinstance(cell, _NESTED) for cell in column.to_list())
                if nested or column.dtype in (nw.List, nw.Array, nw.Struct):
                    raise ValueError(f"Column {name!r} holds lists or records: make a column of each part, or drop it.")
                if frames.is_numeric(column):
                    self.columns[name] = NumberColumn(name)
                elif (kind := typed_kind(column)) is not None:
                    self.columns[name] = TypedColumn(name, kind, [NumberColumn(made) for made in kind.made(name)])
                else:
                    is_text = name not in self.declared and frames.texts_of(column) is not None
                    self.columns[name] = TextColumn(name, is_text)
            self.columns[name].add(column)
        for name, texts in (strays or {}).items():
            if name in self.columns:
                self.columns[name].strays.update(texts)  # type: ignore[union-attr]

    def merge(self, other: TableLearner) -> TableLearner:
        """Add what was learned from other rows of the same table."""
        for name, column in other.columns.items():
            known = self.columns.get(name)
            if known is None or known.empty:
                self.columns[name] = column
            elif not column.empty:
                known.merge(column)  # type: ignore[arg-type]
        return self

    def writing(self, writing: Writing) -> Writing:
        """How the table was written, from what its reader says: a fraction among the numbers shows a decimal sign."""
        numbers = [column for column in self.columns.values() if isinstance(column, NumberColumn)]
        if not writing.decimal and any(column.has_fractions for column in numbers):
            return replace(writing, decimal=".")
        return writing

    def finish(self, kind: type[AnySchema], **more: Any) -> AnySchema:
        """Decide how the columns are used and return the schema; unknown means are NaN (`TableSchema.completed`)."""
        found = {name: column.decide(self) for name, column in self.columns.items()}
        learned = {name: one for name, one in found.items() if one is not None}
        numbers: dict[str, NumberColumn] = {}
        taken = {*map(str, self.columns), *self.taken}
        for name, one in learned.items():
            for new, column in one.numbers.items():
                if new != str(name) and new in taken:
                    where = f"{self.path}: " if self.path else ""
                    words = f"column {name!r} holds dates, and {new!r} is the name of another column: rename one"
                    raise self.error(where + words)
                numbers[new] = column
        schema = kind(
            numeric=tuple(numbers),
            categorical={str(n): one.categories for n, one in learned.items() if one.categories is not None},
            fill=tuple(one.total / one.count if one.count else float("nan") for one in numbers.values()),
            readings={name: one.kind for name, one in learned.items() if one.kind is not None},
            ranges={name: (one.low, one.high) for name, one in numbers.items() if np.isfinite(one.low)},
            grouped=tuple(str(name) for name, one in learned.items() if one.grouped),
            identifiers=tuple(name for name, one in learned.items() if one.is_identifier),
            source=tuple(self.columns),
        )
        return replace(schema, **more)
