"""Columns beside the features: weights, groups, times, orders, strata, by their roles."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.findings import Fix
from vrspam._utils.roles import FOLDS, GROUPS, GROUPS_TOO, ORDER, ROLES, TIMES, Role, named_by
from vrspam.tables.errors import DataError
from vrspam.tables.frames import is_numeric, texts_of, value_counts
from vrspam.tables.kinds import find_kind, typed_kind
from vrspam.tables.kinds.base import KindOfText
from vrspam.tables.kinds.dates import Dates
from vrspam.tables.kinds.numbers import Numbers


def split_groups(columns: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Let two columns with a comma between them name groups together, if there is no column of that name.

    >>> split_groups({"groups": "hospital,number"}, ["hospital", "number", "age"])
    {'groups': 'hospital', 'groups too': 'number'}
    """
    name = columns.get(GROUPS, "")
    if name not in names:
        for place in (place for place, letter in enumerate(name) if letter == ","):
            first, second = name[:place].strip(), name[place + 1 :].strip()
            if first in names and second in names and first != second:
                return {**columns, GROUPS: first, GROUPS_TOO: second}
    return dict(columns)


def beside_values(table: Any, columns: Mapping[str, str], path: str, least_groups: int = 4) -> dict[str, np.ndarray]:
    """The values of all rows by role, from a table that holds the columns; an order becomes negated times."""
    values: dict[str, np.ndarray] = {}
    for name, column in columns.items():
        role = ROLES[name]
        if role.reads == "strata":
            values[name] = _strata(column_series(table, column), role, path)
        elif name == ORDER:
            values[TIMES] = -ordered_numbers(table, column, path, name)
        elif name == GROUPS:
            names = [columns[part] for part in (GROUPS, GROUPS_TOO) if part in columns]
            values[name] = _groups(table, names, path, least_groups)
        elif role.reads == "numbers":
            values[name] = ordered_numbers(table, column, path, name)
    return values


# Groups and strata


def _strata(column: Any, role: Role, path: str) -> np.ndarray:
    """The number of each row's stratum, or of its fold; no row may lack one."""
    missing = without_value(column)
    count = int(missing.sum())
    if count and role.name == FOLDS:
        raise DataError(
            f"{path}: column {column.name!r} has no fold for {count:,} rows, and out-of-fold scores need the fold "
            "of each row: fill them in, or leave these rows out"
        )
    if count:
        raise DataError(
            f"{path}: column {column.name!r} says which rows are compared, and {count:,} rows have no "
            "value there: fill them in, or leave these rows out of the file"
        )
    return numbered_groups(column, missing)


def _groups(table: Any, names: list[str], path: str, least_groups: int) -> np.ndarray:
    """The number of each row's group, by one column or by two together."""
    columns = [column_series(table, name) for name in names]
    missing = np.any([without_value(column) for column in columns], axis=0)
    groups = numbered_groups(columns[0], missing)
    for column in columns[1:]:
        others = numbered_groups(column, missing)
        pairs = groups * (int(others.max(initial=0)) + 1) + others
        groups = np.unique(pairs, return_inverse=True)[1]

    count = int(groups.max(initial=-1)) + 1
    if count < least_groups:
        who = "folds need" if least_groups == 4 else "an interval needs"
        raise DataError(
            f"{path}: column {', '.join(names)!r} of ",
            Fix("groups"),
            f" has {count} groups, and {who} at least {least_groups} of them",
        )
    return groups


def without_value(column: Any) -> np.ndarray:
    """Whether each row of a column has no value: a gap, a number that is NaN, or blank text."""
    return np.array([_is_missing(value) for value in column.to_list()], dtype=bool)


def _is_missing(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def numbered_groups(column: Any, missing: np.ndarray) -> np.ndarray:
    """The number of each row's group, in the order of their texts; a row without a value is a group of its own."""
    texts = np.array(column.to_list(), dtype=object)[~missing].astype(str)
    names, numbers = np.unique(texts, return_inverse=True)
    groups = np.empty(missing.size, dtype=np.intp)
    groups[~missing] = numbers
    groups[missing] = names.size + np.arange(int(missing.sum()))
    return groups


# Numbers


def ordered_numbers(table: Any, name: str, path: str, role: str) -> np.ndarray:
    """Return a column as numbers, dates too; only scores may be missing, and are NaN."""
    rules = ROLES[role]
    column = column_series(table, name)
    texts = texts_of(column)
    kind = _kind_of_numbers(column, texts)
    if kind is None or (not rules.takes_dates and isinstance(kind, Dates)):
        what = "numbers or dates" if rules.takes_dates else "numbers"
        raise DataError(f"{path}: column {name!r} holds text that is not {what}: name another with ", named_by(role))
    values = np.asarray(kind.values(column if texts is None else texts)[0], dtype=np.float64)
    _check_numbers(values, rules, name, path)
    return values


def _kind_of_numbers(column: Any, texts: Any) -> KindOfText | None:
    """How the values of a column are read as numbers; None if they are words."""
    if _are_plain_numbers(column, texts):
        return Numbers()
    if texts is None:
        return typed_kind(column)
    # no column of names is asked for: where all values are alike, one text shows how they are written
    found = find_kind(value_counts(texts), least_texts=1)
    return typed_kind(column) if found is None else found.kind


def _check_numbers(values: np.ndarray, role: Role, name: str, path: str) -> None:
    """Refuse numbers that a role does not take: missing, negative or infinite ones, and an order that is none."""
    missing = int(np.isnan(values).sum())
    if missing and not role.may_be_missing:
        raise DataError(
            f"{path}: column {name!r} is missing in {missing:,} rows: fill them in, or leave these rows out of the file"
        )
    is_finite = np.isfinite(values)
    if role.is_nonnegative:
        wrong = np.flatnonzero(~(is_finite & (values >= 0.0)))
        if wrong.size:
            raise DataError(
                f"{path}: column {name!r} holds {role.name}, and {wrong.size:,} of them are negative or infinite (the "
                f"first in row {int(wrong[0]) + 1}): correct them"
            )
    elif role.name == ORDER:
        problem = "holds infinite numbers" if not is_finite.all() else "is the same in every row"
        if not is_finite.all() or np.ptp(values) == 0.0:
            raise DataError(f"{path}: column {name!r} {problem}, and has no order: name another as the target")
    elif role.is_finite and not is_finite.all():
        raise DataError(f"{path}: column {name!r} holds infinite numbers, which are no times: correct them")


def plain_values(table: Any, name: str) -> np.ndarray:
    """A column as numbers, missing ones as NaN, or as texts and None."""
    column = column_series(table, name)
    texts = texts_of(column)
    if _are_plain_numbers(column, texts):
        return np.asarray(Numbers().values(column if texts is None else texts)[0], dtype=np.float64)
    return np.array([None if value is None else str(value) for value in column.to_list()], dtype=object)


def _are_plain_numbers(column: Any, texts: Any) -> bool:
    """Whether a column holds numbers, or text that is nothing else."""
    return is_numeric(column) or (texts is not None and not Numbers().values(texts)[1].any())


def column_series(table: Any, name: str) -> Any:
    """A column of an arrow table as a series that narwhals reads."""
    import pyarrow as pa

    column = table[name]
    if not isinstance(column, pa.ChunkedArray):
        column = pa.chunked_array([column])
    return nw.from_native(column, series_only=True).alias(name)
