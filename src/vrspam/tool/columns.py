"""A first look at a table: which columns are features, and which are left out, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vrspam.data import Schema, read_chunks
from vrspam.data.arrow_blocks import type_kind
from vrspam.data.errors import DataError, no_column
from vrspam.data.source import Source
from vrspam.data.streams import table_types

ENOUGH_ROWS = 20  # with fewer rows even a true category may differ in all of them
NEARLY_ALL = 0.9  # share of different values that makes a text an identifier
_NUMBER = re.compile(r"[<>~]?[+-]?\d+([ ,.'\u00a0\u202f]\d+)*\s?%?")  # 57,5  1 237  <5  20 %
_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}([ T].*)?")
TABLES = ("csv", "parquet", "feather")


@dataclass
class Columns:
    """What was found: categories of the text columns in use, columns left out, and why."""

    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def leave_out(self, name: str, reason: str) -> None:
        self.dropped.append(name)
        self.notes.append(f"{_called(name)} {reason}")


def look(
    path: Any,
    target: str | None,
    *,
    drop: Sequence[str] = (),
    include: Sequence[str] = (),
    categorical: Sequence[str] = (),
    max_categories: int = 1000,
    on_error: str = "raise",
    **reading: Any,
) -> Columns:
    """Find columns that cannot or should not be features of the table at `path`.

    Text columns are read through once. Left out are: texts that differ in nearly every row, texts with more
    than `max_categories` values, dates and other types, columns without values, and whole numbers that count
    the rows. `include` names columns to take in all the same.
    """
    columns = Columns(dropped=list(drop))
    source = Source.open(path, **reading)
    if source.format not in TABLES:
        for option, given in {"drop": drop, "include": include, "categorical": categorical}.items():
            if given:
                raise DataError(f"a {source.format} file has no named columns; leave {option}= out")
        return columns
    types = table_types(source)
    for name in (*include, *categorical):
        if name not in types:
            raise DataError(no_column(str(source.paths[0]), name, types))
    if target in drop:
        raise DataError(f"column {target!r} holds the labels and cannot be left out: name another with drop=")
    names = [name for name in types if name not in drop and name != target]
    texts = [name for name in names if name in categorical or type_kind(types[name]) == "string"]
    numbers = []
    for name in names:
        kind = type_kind(types[name])
        if name in texts:
            continue
        if str(types[name]) == "null" and name not in include:
            columns.leave_out(name, "has no values; left out")
        elif kind == "other" and name not in include:
            columns.leave_out(name, f"is of type {types[name]}, neither number nor category; left out")
        else:
            numbers.append(name)
    if texts:
        _look_at_texts(path, texts, include, categorical, max_categories, columns, on_error, reading)
    asked = [name for name in numbers if name not in include]
    if asked:
        _look_at_numbers(path, asked, columns, on_error, reading)
    return columns


def _look_at_texts(
    path: Any,
    names: list[str],
    include: Iterable[str],
    categorical: Iterable[str],
    most: int,
    columns: Columns,
    on_error: str,
    reading: dict[str, Any],
) -> None:
    seen: dict[str, set[str]] = {name: set() for name in names}
    filled = dict.fromkeys(names, 0)  # values among which those of `seen` were found
    chunks = read_chunks(path, schema=Schema(), keep=names, sparse=False, on_error=on_error, **reading)
    for _, _, table in chunks:
        for name in names:
            column = table.column(name)
            if len(seen[name]) <= most:
                filled[name] += len(column) - column.null_count
                seen[name].update(str(value) for value in column.unique().drop_null().to_pylist())
    for name in names:
        different = len(seen[name])
        if name not in include and different > max(NEARLY_ALL * filled[name], ENOUGH_ROWS):
            columns.identifiers.append(name)
            columns.leave_out(name, f"differs in nearly every row: taken for an identifier and left out{_way_in(name)}")
        elif different > most:
            columns.leave_out(name, f"has more than {most:,} categories; left out (raise max_categories to take it in)")
        elif different == 0:
            columns.leave_out(name, "has no values; left out")
        else:
            columns.categories[name] = tuple(sorted(seen[name]))
            if name not in categorical and (what := looks_like(seen[name])):
                columns.notes.append(
                    f"{_called(name)} holds text that looks like {what}, taken as {different} categories: write plain "
                    f"numbers, with nothing where one is missing, leave it out (drop=[{name!r}]) or confirm it "
                    f"(categorical=[{name!r}])"
                )


def _look_at_numbers(path: Any, names: list[str], columns: Columns, on_error: str, reading: dict[str, Any]) -> None:
    """A column of whole numbers that count the rows of the first block names them."""
    schema = Schema(numeric=tuple(names), fill=(np.pi,) * len(names))  # π: a gap is no whole number
    first = next(iter(read_chunks(path, schema=schema, sparse=False, on_error=on_error, **reading)), None)
    if first is None or len(first[0]) < ENOUGH_ROWS:
        return
    for name, values in zip(names, first[0].T, strict=True):
        if counts_rows(values):
            columns.identifiers.append(name)
            columns.leave_out(name, f"numbers the rows: taken for an identifier and left out{_way_in(name)}")


def looks_like(values: Iterable[str]) -> str | None:
    """What most of the different values of a text column are, if not words.

    >>> looks_like(["57,5", "61", "?"]), looks_like(["13.01.2024", "2.5.2024"]), looks_like(["Graz", "Linz 1"])
    ('numbers', 'dates', None)
    """
    texts = [value.strip() for value in values]
    for what, pattern in (("dates", _DATE), ("numbers", _NUMBER)):
        if len(texts) > 1 and sum(pattern.fullmatch(text) is not None for text in texts) > len(texts) / 2:
            return what
    return None


def _called(name: str) -> str:
    return f"column {name!r}" if name else "the column without a name"


def _way_in(name: str) -> str:
    return f" (include=[{name!r}] takes it in)" if name else ""


def counts_rows(values: np.ndarray) -> bool:
    """Whether whole numbers, all different, are in order without a turn or lie close together.

    >>> rng = np.random.default_rng(0)
    >>> counts_rows(np.arange(100.0)), counts_rows(rng.permutation(100.0 + np.arange(50))), counts_rows(rng.random(50))
    (True, True, False)
    >>> counts_rows(rng.choice(90_000, 50, replace=False) * 1.0)  # salaries, say
    False
    """
    if (values != np.floor(values)).any():
        return False
    different = np.unique(values)
    if different.size < values.size:
        return False
    steps = np.diff(values)
    return bool((steps > 0).all() or (steps < 0).all() or np.ptp(values) < 2 * values.size)
