"""The columns of a table as codes of their values, as checks see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from vrspam.checks.copies import order_by_values
from vrspam.moments import ClassMoments
from vrspam.tables.frames import numbers

MOST_COLUMNS = 1000  # columns that are looked at one by one


@dataclass(frozen=True)
class CodedColumns:
    """The columns of a table, as the place of each row's value among the distinct values of its column.

    Attributes
    ----------
    positive : array
        Whether each row is positive.
    codes : mapping of str to array
        The codes of each column; distinct values are sorted if they are numbers, and -1 is a missing value. Of a date
        only the first part is there.
    texts : mapping of str to sequence
        The distinct values of columns of text.
    names : mapping of str to array
        Codes of columns that only name rows.
    dates : sequence of str
        Columns of dates.
    unordered : frozenset of str
        Columns whose codes have no order.
    """

    positive: np.ndarray
    codes: Mapping[str, np.ndarray]
    texts: Mapping[str, Sequence[str]]
    names: Mapping[str, np.ndarray]
    dates: Sequence[str]
    unordered: frozenset[str]

    @classmethod
    def of(cls, X: Any, positive: np.ndarray, schema: Any, kept: Mapping[str, Any]) -> CodedColumns:
        """Look at typed rows, and at columns that were kept as they are in the file."""
        made_of = {}
        for name, kind in schema.readings.items():
            for part in kind.made(name):
                made_of[part] = str(name), kind.words
        columns = schema.columns
        if len(columns) > MOST_COLUMNS:
            columns = most_distant(X, positive, schema, MOST_COLUMNS)

        codes: dict[str, np.ndarray] = {}
        texts: dict[str, Sequence[str]] = {}
        dates: list[str] = []
        for name in columns:
            source, kind_of_text = made_of.get(name, (name, ""))
            if source in dates:
                continue
            if kind_of_text == "dates":
                dates.append(source)
            column = X.column(name) if hasattr(X, "column") else numbers(X, schema.columns.index(name))
            codes[source], distinct = codes_of(column)
            if distinct is not None:
                texts[name] = distinct

        names: dict[str, np.ndarray] = {}
        unordered = set(texts)
        for name, column in kept.items():
            if name not in schema.identifiers:
                continue
            with suppress(ValueError):  # whole numbers that were kept as text have an order
                column = column.cast("float64")
            names[name], distinct = codes_of(column)
            if distinct is not None:
                unordered.add(name)
        return cls(positive, codes, texts, names, dates, frozenset(unordered))

    @property
    def numeric(self) -> frozenset[str]:
        """The columns of numbers."""
        return frozenset(self.codes) - set(self.texts)

    def without(self, name: str) -> CodedColumns:
        """All columns but one."""
        return replace(self, codes={other: codes for other, codes in self.codes.items() if other != name})

    def sorted(self) -> tuple[np.ndarray, CodedColumns]:
        """An order of the rows that their values give, and the rows in it: what is drawn of them depends on no file."""
        codes = {name: _by_text(codes, self.texts.get(name)) for name, codes in self.codes.items()}
        order = order_by_values(codes, self.positive)
        return order, replace(
            self,
            codes={name: of_column[order] for name, of_column in codes.items()},
            names={name: of_column[order] for name, of_column in self.names.items()},
            positive=self.positive[order],
        )


def _by_text(codes: np.ndarray, texts: Sequence[str] | None) -> np.ndarray:
    """Codes of texts as places in their alphabetical order; codes of numbers as they are."""
    if texts is None:
        return codes
    place = np.empty(len(texts) + 1, dtype=np.intp)
    place[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    place[-1] = -1
    return place[codes]


def codes_of(column: Any) -> tuple[np.ndarray, list[str] | None]:
    """Return the place of each value among the distinct values, -1 for a missing one, and the distinct texts or None.

    >>> codes_of(np.array([3.0, np.nan, 2.0, 3.0]))[0].tolist()
    [1, -1, 0, 1]
    """
    if hasattr(column, "dictionary_encode"):
        import pyarrow.types as t

        whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        if t.is_string(whole.type) or t.is_large_string(whole.type):
            coded = whole.dictionary_encode()
            codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
            return codes, coded.dictionary.to_pylist()
        column = whole.to_numpy(zero_copy_only=False)
    values = np.asarray(column, dtype=np.float64)
    codes = np.unique(values, return_inverse=True)[1]
    return np.where(np.isnan(values), -1, codes), None


def most_distant(X: Any, positive: np.ndarray, schema: Any, most: int) -> list[str]:
    """The `most` numeric columns whose class means are furthest apart, and all columns of categories."""
    without = replace(schema, categorical={})
    encoded = without.encode(X, sparse=sparse.issparse(X))
    moments = ClassMoments(encoded.shape[1], classes=[False, True], scatter=False).update(encoded, positive)
    distance = np.abs(moments.delta) / np.sqrt(moments.within_diagonal + np.finfo(float).tiny)
    places = np.sort(np.argsort(-distance, kind="stable")[:most])
    return [*(without.columns[place] for place in places), *schema.categorical]
