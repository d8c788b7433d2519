"""Which columns of a table are read, and as what, by the types that its file gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vrspam._utils.findings import Fix
from vrspam.data.readers.arrow import type_kind
from vrspam.data.readers.problems import no_column
from vrspam.data.readers.reader import ColumnRequest
from vrspam.tables.decide import ColumnRules
from vrspam.tables.decisions import Decision, LeftOut
from vrspam.tables.errors import DataError
from vrspam.tables.kinds.dates import Dates
from vrspam.tables.kinds.times import Times
from vrspam.tables.schema import Schema

_LABEL_TYPES = {"bool": "bool", "number": "double", "string": "string"}  # the arrow type for labels of each kind


def request_of(schema: Schema, tabular: bool = True, keep: Iterable[str] = ()) -> ColumnRequest:
    """Return what a reader must read: the columns of the schema, and those in `keep` unchanged."""
    if not tabular:
        label = int(schema.target) if schema.target is not None and schema.target.isdigit() else None
        features = () if schema.width is not None else tuple(int(name) for name in schema.numeric)
        return ColumnRequest(features=features, label=label, width=int(schema.width or 0))

    import pyarrow as pa

    types: dict[str, Any] = dict.fromkeys(schema.inputs(), pa.float64())
    for name, kind in schema.readings.items():
        types[name] = pa.timestamp("us") if isinstance(kind, Dates) else None
    types.update(dict.fromkeys(schema.categorical, pa.string()))
    if schema.target is not None:
        types[schema.target] = pa.type_for_alias(str(schema.target_type))
    for name in keep:
        types.setdefault(name, None)
    return ColumnRequest(types)


@dataclass(frozen=True)
class FirstLook:
    """What the types of a table's columns say before its rows are read.

    Attributes
    ----------
    schema : Schema
        Which columns are read, and how. Categories that are not given are empty, to be found later, and it is found
        later which parts of dates vary.
    decisions : tuple of Decision
        Columns that are left out by their type.
    """

    schema: Schema
    decisions: tuple[Decision, ...] = ()

    @property
    def taken(self) -> tuple[str, ...]:
        """The names that columns made from dates may not have."""
        target = () if self.schema.target is None else (self.schema.target,)
        return (*self.schema.numeric, *self.schema.categorical, *target)


def first_look(
    types: Mapping[str, Any],
    target: str | int | None,
    rules: ColumnRules,
    columns: Sequence[str | int] | None = None,
    drop: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
) -> FirstLook:
    """Say which columns of a table with these arrow types are read, and how; `rules.path` is the file.

    Columns of other types than number and text are left out if empty columns are; else these are refused.
    """
    categories = categories or {}
    named = [*(columns or ()), *drop, *rules.include, *rules.categorical, *categories]
    for name in named if target is None else [*named, target]:
        if name not in types:
            raise DataError(no_column(rules.path, str(name), types))

    numeric: list[str] = []
    categorical: dict[str, tuple[str, ...]] = {}
    readings: dict[str, Any] = {}
    decisions: list[Decision] = []
    without = {*drop, target}
    for name in map(str, types if columns is None else columns):
        if name in without:
            continue
        if name in categories or name in rules.categorical:
            categorical[name] = tuple(map(str, categories.get(name, ())))
            continue
        use = _use_of_type(types[name])
        reason = _reason_to_leave_out(types[name], use)
        if reason and rules.empty == "leave out" and name not in rules.include:
            decisions.append(LeftOut(name, reason))
        elif use == "dates":
            readings[name] = Dates(parts=())
        elif use == "times":
            readings[name] = Times()
        elif use == "categories":
            categorical[name] = ()
        elif use == "numbers":
            numeric.append(name)
        else:
            what = f"{rules.path}: column {name!r} of type {types[name]} is neither number, text nor date"
            raise DataError(f"{what}; leave it out with ", Fix("drop", [name]))

    if target is None:
        return FirstLook(Schema(tuple(numeric), categorical, readings=readings), tuple(decisions))
    label = str(target)
    target_type = type_of_labels(types[label], label, rules.path)
    schema = Schema(tuple(numeric), categorical, target=label, target_type=target_type, readings=readings)
    return FirstLook(schema, tuple(decisions))


def _use_of_type(kind: Any) -> str:
    """What a column of an arrow type is read as: "numbers", "categories", "dates", "times" or ""."""
    import pyarrow.types as t

    if t.is_timestamp(kind) or t.is_date(kind):
        return "dates"
    if t.is_time(kind) or t.is_duration(kind):
        return "times"
    return {"string": "categories", "number": "numbers", "bool": "numbers"}.get(type_kind(kind), "")


def _reason_to_leave_out(kind: Any, use: str) -> str:
    """Why a column of an arrow type has nothing to learn from; "" if it may have."""
    import pyarrow.types as t

    if t.is_null(kind):
        return "has no values"
    return "" if use else f"is of type {kind}, neither number nor category"


def type_of_labels(kind: Any, label: str, path: str) -> str:
    """The arrow type as which a column of labels is read."""
    import pyarrow.types as t

    target_type = "int64" if t.is_integer(kind) else _LABEL_TYPES.get(type_kind(kind))
    if target_type is None:
        raise DataError(f"{path}: the label column {label!r} of type {kind} is neither number nor text")
    return target_type


def refuse_unread(schema: Schema, categorical: Sequence[str], categories: Mapping[str, Sequence[str]]) -> None:
    """Refuse names of categories that are no feature."""
    for option, names in (("categorical", categorical), ("categories", categories)):
        for name in names:
            if name not in schema.categorical:
                what = f"column {name!r} is not read as a feature: leave it out of "
                raise DataError(what, Fix(option), ", or change columns=, drop= or keep=")
