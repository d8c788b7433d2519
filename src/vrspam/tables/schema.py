"""`Schema`: how the columns of a table become numbers and categories. It is learned once, kept with a model, and used
on new rows.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Annotated, Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.warnings import UnseenValues, warn_once_in_cross_validation
from vrspam.tables import frames, kinds
from vrspam.tables.encode import encode_rows
from vrspam.tables.errors import DataError
from vrspam.tables.kinds.base import KindOfText
from vrspam.tables.unseen import Unseen
from vrspam.tables.writing import Writing

Label = bool | int | float | str
Name = Annotated[Any, str]  # of a column: a frame may have others than texts, files hold texts

#: The types of Python of each type of labels.
TYPES_OF_LABELS: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int64": (int,),
    "double": (int, float),
    "string": (str,),
}

#: Rows are handed out dense when more than this share of their entries can be other than zero.
DENSE_ABOVE = 0.1


@dataclass(frozen=True)
class Schema:
    """The input columns of a model, in order: numeric ones first, then one indicator per category.

    Attributes
    ----------
    numeric : tuple of str
        Numeric columns. For `.npy` files the column numbers "0", "1", ...; for LIBSVM files the chosen
        indices, empty when all are taken.
    categorical : dict of str to tuple of str
        Categories of each categorical column; each category is one 0/1 feature.
    fill : tuple of float or None
        The value that replaces missing ones in each numeric column (NaN keeps them); None refuses missing values. If it
        is given, a missing category is a row of zeros in its indicators.
    target : str or None
        The label column (None: no labels are read).
    target_type : str or None
        Type of the labels: "bool", "int64", "double" or "string".
    labels : tuple or None
        The sorted labels; None if the label column has not been read through.
    width : int or None
        Number of features of a LIBSVM file.
    zero_based : bool
        Whether the indices of a LIBSVM file start at 0.
    readings : dict of str to KindOfText
        How columns of dates, and of text that holds numbers, are read (`vrspam.tables.kinds`). `numeric` has the
        columns of numbers that they become.
    ranges : dict of str to (float, float)
        The smallest and the largest training value of each numeric column.
    writing : Writing
        How the training file was written: its delimiter, decimal sign and blanks. New files are read in the same way.
    grouped : tuple of str
        Categorical columns whose rare categories are not listed.
    identifiers, source : tuple of str
        Columns that only identify the rows; and all columns of a frame, in its order (empty for files). Names of a
        frame, here and in `readings`, need not be text.

    Examples
    --------
    >>> from vrspam.data import Schema
    >>> schema = Schema(numeric=("age",), categorical={"sex": ("f", "m")}, target="sick")
    >>> schema.feature_names
    ('age', 'sex=f', 'sex=m')
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    numeric: tuple[str, ...] = ()
    categorical: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fill: tuple[float, ...] | None = None
    target: str | None = None
    target_type: str | None = None
    labels: tuple[Label, ...] | None = None
    width: int | None = None
    zero_based: bool = False
    readings: Mapping[Name, KindOfText] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    grouped: tuple[str, ...] = ()
    identifiers: tuple[Name, ...] = ()
    source: tuple[Name, ...] = ()
    writing: Writing | None = None

    # The names of columns

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

    @property
    def is_mostly_zeros(self) -> bool:
        """Whether most entries of X are zero: in LIBSVM files, and where categories make most of its columns."""
        few_columns = len(self.numeric) + len(self.categorical) <= DENSE_ABOVE * self.n_features
        return self.width is not None or few_columns

    def made(self) -> dict[str, tuple[Any, str]]:
        """For each column of numbers read from another one: that other column, and its part ("" for the whole)."""
        return {
            new: (name, part)
            for name, kind in self.readings.items()
            for new, part in zip(kind.made(name), kind.parts, strict=True)
        }

    def inputs(self) -> list[Any]:
        """The columns that a table must have: numbers, columns that are read as numbers, and categories."""
        made = self.made()
        return [*(name for name in self.numeric if name not in made), *self.readings, *self.categorical]

    @property
    def names(self) -> tuple[Any, ...]:
        """The columns of a frame that was read, in the order of `source`."""
        identifiers = set(self.identifiers)
        kept = [name for name in self.source if name not in identifiers]
        if not self.readings:
            return tuple(kept)
        names: list[str] = []
        for name in kept:
            names += self.readings[name].made(name) if name in self.readings else [str(name)]
        return tuple(names)

    def by_column(self, effects: np.ndarray) -> np.ndarray:
        """The effects of the columns of a frame, from those of `names`; for a date, the root of the sum of squares."""
        sizes = dict.fromkeys(self.source, 1)
        sizes |= dict.fromkeys(self.identifiers, 0)
        sizes |= {name: len(kind.parts) for name, kind in self.readings.items()}
        squares = iter((effects**2).tolist())
        return np.sqrt([sum(next(squares) for _ in range(sizes[name])) for name in self.source])

    # Rows

    def read(self, table: Any) -> tuple[Any, dict[Any, Counter[str]]]:
        """The frame without identifiers, with text and dates read as numbers; and the texts that cannot be read."""
        strays: dict[Any, Counter[str]] = {}
        if not (self.readings or self.identifiers):
            return table, strays

        frame = nw.from_native(table)
        kept: list[int] = []  # columns that stay as they are, by place: names need not be text
        made: list[Any] = []  # columns of numbers read from others
        order: list[tuple[bool, int]] = []  # for each column of the result: whether it was made, and its place there
        for index, (name, column) in enumerate(zip(frame.columns, frame.iter_columns(), strict=True)):
            if name in self.readings:
                numbers, unreadable = _read_column(self.readings[name], name, column)
                if unreadable:
                    strays[name] = unreadable
                order += [(True, len(made) + place) for place in range(len(numbers))]
                made += numbers
            elif name not in self.identifiers:
                order.append((False, len(kept)))
                kept.append(index)

        others = frame if len(kept) == len(frame.columns) else frame[:, kept]
        if not made:
            return others.to_native(), strays
        if not all(isinstance(name, str) for name in others.columns):  # as the names of the new ones are
            others = others.rename({name: str(name) for name in others.columns})
        together = others.with_columns(*made) if kept else nw.from_dict({series.name: series for series in made})
        in_order = together[:, [place + len(kept) if is_made else place for is_made, place in order]]
        return in_order.to_native(), strays

    def compare(self, table: Any) -> Unseen:
        """Count what a frame holds that the training rows did not; `Unseen.sentences` says it."""
        return Unseen(self).add(*self.read(table))

    def read_frame(self, X: Any) -> Any:
        """Return the frame as maps take it, and warn about values that training did not have."""
        frame, strays = self.read(X)
        sentences = Unseen(self).add(frame, strays).sentences()
        if sentences:
            warn_once_in_cross_validation(UnseenValues(tuple(sentences)), tuple(self.source))
        return frame

    def encode(self, rows: Any, *, sparse: bool = False) -> Any:
        """Return X for rows that were read: missing values are filled, and categories become one-hot.

        Parameters
        ----------
        rows : arrow table of the feature columns, or array whose missing values are NaN
        sparse : bool, default=False
            Whether X of a table is a CSR matrix.

        Returns
        -------
        array or CSR matrix
        """
        return encode_rows(self, rows, sparse)

    # Other schemas

    @property
    def unfinished(self) -> list[str]:
        """Columns that are read from text or dates, whose means are unknown until all rows have been read."""
        return [name for name, value in zip(self.numeric, self.fill or (), strict=False) if np.isnan(value)]

    def with_numbers_of(self, other: Schema) -> Schema:
        """The schema with the means and ranges of the columns of numbers of another one."""
        means = dict(zip(other.numeric, other.fill or (), strict=True))
        fill = tuple(means.get(name, value) for name, value in zip(self.numeric, self.fill or (), strict=True))
        return replace(self, fill=fill, ranges={**self.ranges, **other.ranges})

    def keeping_missing(self) -> Schema:
        """Return the schema that hands missing numbers on as NaN (absent values of LIBSVM files stay zeros)."""
        if self.fill is None or self.width is not None:
            return self
        return replace(self, fill=(float("nan"),) * len(self.numeric))

    def without(self, source: Any) -> Schema:
        """Return the schema without a column of the table, and without the columns of numbers read from it."""
        gone = {name for name, (column, _) in self.made().items() if column == source} | {source}
        places = [place for place, name in enumerate(self.numeric) if name not in gone]
        return replace(
            self,
            numeric=tuple(self.numeric[place] for place in places),
            categorical={name: values for name, values in self.categorical.items() if name != source},
            fill=None if self.fill is None else tuple(self.fill[place] for place in places),
            readings={name: kind for name, kind in self.readings.items() if name != source},
            ranges={name: ends for name, ends in self.ranges.items() if name not in gone},
            grouped=tuple(name for name in self.grouped if name != source),
            identifiers=tuple(name for name in self.identifiers if name != source),
            source=tuple(name for name in self.source if name != source),
        )

    def without_target(self) -> Schema:
        """Return the schema for files that carry no labels (prediction)."""
        return replace(self, target=None, target_type=None, labels=None)

    # As plain values

    def check(self) -> None:
        """Refuse columns that no table can have, as a file may hold them."""
        self._check_names()
        self._check_fill()
        self._check_labels()
        for name, kind in self.readings.items():
            if not set(kind.made(name)) <= set(self.numeric) or name in self.categorical:
                raise DataError(f"column {name!r} is read as numbers that are not there")

    def _check_names(self) -> None:
        columns = [*self.numeric, *self.categorical]
        if self.target is not None:
            columns.append(self.target)
        for names in (columns, *self.categorical.values()):
            if len(set(names)) < len(names):
                raise DataError("two columns or categories have the same name")
        if len(set(self.identifiers)) < len(self.identifiers):
            raise DataError("identifiers must be a list of different texts")
        for name in (*columns, *self.identifiers, *self.source, *self.readings):
            if not isinstance(name, str):
                raise DataError(f"the name {name!r} of a column is no text")

    def _check_fill(self) -> None:
        if self.fill is None:
            return
        needed = 1 if self.width is not None else len(self.numeric)
        if len(self.fill) != needed:
            raise DataError(f"{len(self.fill)} fill values for {needed} numeric columns")
        if not np.isfinite(self.fill).all():
            raise DataError("fill values must be finite")

    def _check_labels(self) -> None:
        if self.target_type is None:
            return
        if self.target_type not in TYPES_OF_LABELS:
            raise DataError(f"labels of type {self.target_type!r}")
        kinds = TYPES_OF_LABELS[self.target_type]
        for label in self.labels or ():
            if not isinstance(label, kinds) or (bool not in kinds and isinstance(label, bool)):
                raise DataError(f"the label {label!r} is not of type {self.target_type}")
            if isinstance(label, int | float) and not abs(label) <= sys.float_info.max:
                raise DataError("a label is too large")

    def to_dict(self) -> dict[str, Any]:
        """Return a dict that JSON can hold."""
        plain: dict[str, Any] = {}
        for attribute in fields(self):
            value = getattr(self, attribute.name)
            plain[attribute.name] = list(value) if isinstance(value, tuple) else value
        plain["readings"] = {name: kind.to_dict() for name, kind in self.readings.items()}
        plain["ranges"] = {name: list(ends) for name, ends in self.ranges.items()}
        plain["categorical"] = {name: list(values) for name, values in self.categorical.items()}
        plain["writing"] = None if self.writing is None else asdict(self.writing)
        for name in ("identifiers", "source", "writing"):
            if not plain[name]:
                del plain[name]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the schema that `to_dict` wrote; raise an error if it is invalid."""
        keys = {attribute.name for attribute in fields(cls)}
        if isinstance(plain, Mapping):
            plain = {**_OPTIONAL, **plain}
        if not isinstance(plain, Mapping) or set(plain) != keys:
            names = ", ".join(sorted(keys))
            raise NoSchema(f"its keys must be {names}")
        try:
            return cls(
                numeric=_names(plain["numeric"]),
                categorical={str(name): _names(values) for name, values in plain["categorical"].items()},
                fill=None if plain["fill"] is None else tuple(float(value) for value in plain["fill"]),
                target=_text(plain["target"]),
                target_type=_text(plain["target_type"]),
                labels=None if plain["labels"] is None else tuple(plain["labels"]),
                width=_count(plain["width"]),
                zero_based=_flag(plain["zero_based"]),
                readings={str(name): kind_from_plain(stored) for name, stored in plain["readings"].items()},
                ranges={str(name): _range(*ends) for name, ends in plain["ranges"].items()},
                grouped=_names(plain["grouped"]),
                identifiers=_names(plain["identifiers"]),
                source=_names(plain["source"]),
                writing=None if plain["writing"] is None else Writing.from_dict(plain["writing"]),
            )
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise NoSchema(str(error)) from error


class NoSchema(DataError):
    """Plain values are no schema: `problem` says why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.problem = f"this is not a schema ({reason})"
        super().__init__(f"{self.problem}; give what Schema.to_dict wrote")

    def __reduce__(self) -> tuple[type[NoSchema], tuple[str]]:
        return type(self), (self.reason,)


TableSchema = Schema  # its name where estimators keep it

#: What a stored schema may lack.
_OPTIONAL: dict[str, Any] = {
    "zero_based": False,
    "readings": {},
    "ranges": {},
    "grouped": [],
    "identifiers": [],
    "source": [],
    "writing": None,
}


def _names(stored: Any) -> tuple[str, ...]:
    if isinstance(stored, str) or not all(isinstance(name, str) for name in stored):
        raise TypeError("names must be a list of strings")
    return tuple(stored)


def _text(stored: Any) -> str | None:
    if not isinstance(stored, str | None):
        raise TypeError("the target and its type must be texts")
    return stored


def _count(stored: Any) -> int | None:
    if stored is not None and (type(stored) is not int or not 0 <= stored < 2**63):
        raise TypeError("width must be a number of columns")
    return stored


def _flag(stored: Any) -> bool:
    if not isinstance(stored, bool):
        raise TypeError("zero_based must be true or false")
    return stored


def _range(low: Any, high: Any) -> tuple[float, float]:
    ends = float(low), float(high)
    if not -np.inf < ends[0] <= ends[1] < np.inf:
        raise ValueError("a range needs two finite numbers, the smaller first")
    return ends


def kind_from_plain(stored: Any) -> KindOfText:
    """The kind of text that its `to_dict` made plain."""
    kind = kinds.kind_called(stored.get("kind"))
    if kind is not None:
        restored = kind.from_fields(stored)
        if restored.check():
            return restored
    raise ValueError(f"{stored!r} is not a kind of text")


def _read_column(kind: KindOfText, name: Any, column: Any) -> tuple[list[Any], Counter[str]]:
    """The columns of numbers that a kind makes of a series, and the texts that cannot be read, with their counts."""
    if column.dtype in (nw.Categorical, nw.Enum):  # as Parquet and Feather files keep repeated text
        column = column.cast(nw.String)
    texts = frames.texts_of(column)
    parts, unreadable = kind.read(column if texts is None else texts)
    strays: Counter[str] = Counter()
    if texts is not None and unreadable.any():
        strays.update(texts[np.flatnonzero(unreadable)].to_list())
    made = [_series(new, numbers, column.implementation) for new, numbers in zip(kind.made(name), parts, strict=True)]
    return made, strays


def _series(name: str, numbers: np.ndarray, backend: Any) -> Any:
    """Numbers as a series of a library; in arrow a missing number is null, not NaN."""
    series = nw.new_series(name, numbers, nw.Float64, backend=backend)
    if backend.is_pyarrow() and np.isnan(numbers).any():
        without_nan = nw.when(~nw.col(name).is_nan()).then(nw.col(name)).alias(name)
        series = series.to_frame().select(without_nan)[name]
    return series
