"""`Table`: rows in memory, of a whole file or of one block of it, with what stands beside their features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vrspam._utils.findings import Finding
from vrspam._utils.names import COPIES
from vrspam._utils.roles import GROUPS, GROUPS_TOO, TIME, TIMES, WEIGHTS, WITHIN
from vrspam.data.readers.block import BrokenRow
from vrspam.data.rows import as_in_file
from vrspam.pairs import whole_units
from vrspam.tables.frames import rows_of
from vrspam.tables.schema import Label, Schema


@dataclass(frozen=True)
class Origin:
    """Where rows come from.

    Attributes
    ----------
    paths : tuple of str
        The files.
    has_names : bool
        Whether their columns have names.
    columns : tuple of str
        All columns of the files; none if they have no names.
    counts : dict of label to int
        The rows of each label; empty if they were not counted.
    unlabelled : int
        Rows that were left out because they have no label.
    """

    paths: tuple[str, ...] = ()
    has_names: bool = True
    columns: tuple[str, ...] = ()
    counts: Mapping[Label, int] = field(default_factory=dict)
    unlabelled: int = 0


@dataclass(frozen=True, eq=False)
class Table:
    """Rows in memory: of a file, of a sample of it, or one block of a stream.

    Attributes
    ----------
    rows : arrow table, array or CSR matrix
        The columns of the schema as they are: numbers first, categories as text, missing values missing. An array for
        files without names; None where features were not read, or all rows of a block are broken.
    schema : Schema
    positive : boolean array
        Which rows are positive; None where no labels were read.
    label : label
        That of positive rows.
    labels : array or None
        The labels of a block as they are in the file. A whole table keeps `positive` alone.
    beside : dict of str to array
        Weights, groups, times and strata, by their roles (`vrspam._utils.roles`).
    named : dict of str to str
        The columns of these roles.
    raw : dict of str to arrow column
        Columns that were asked for, as they are in the file.
    places : array of int
        The number of each row in the file, from 1.
    broken : tuple of BrokenRow
        Rows of a block that cannot be used, where they keep their places.
    findings : tuple of Finding
        What was decided about the columns, and noticed of the rows.
    origin : Origin
    sampled_of : int or None
        The number of rows of which these are a random sample.
    """

    rows: Any
    schema: Schema = field(default_factory=Schema)
    positive: Any = None
    label: Label = ""
    labels: np.ndarray | None = None
    beside: Mapping[str, np.ndarray] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict)
    places: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    broken: Sequence[BrokenRow] = ()
    findings: tuple[Finding, ...] = ()
    origin: Origin = field(default_factory=Origin)
    sampled_of: int | None = None

    @property
    def weights(self) -> np.ndarray | None:
        """The weights of the rows."""
        return self.beside.get(WEIGHTS)

    @property
    def groups(self) -> np.ndarray | None:
        """The number of each row's group."""
        return self.beside.get(GROUPS)

    @property
    def time(self) -> np.ndarray | None:
        """When each row was known."""
        return self.beside.get(TIME)

    @property
    def times(self) -> np.ndarray | None:
        """Times of events (positive rows) or of censoring; or an order, negated."""
        return self.beside.get(TIMES)

    @property
    def within(self) -> np.ndarray | None:
        """The number of each row's stratum: only rows of the same one are compared."""
        return self.beside.get(WITHIN)

    @property
    def relative_weights(self) -> np.ndarray | None:
        """The weights with the mean 1: only their ratios count, not their unit."""
        return None if self.weights is None else self.weights / self.weights.mean()

    @property
    def whole(self) -> np.ndarray | None:
        """The units that folds keep together: groups, strata, or groups and strata joined; None without any."""
        if self.within is None or self.groups is None:
            return self.within if self.groups is None else self.groups
        return whole_units(self.within, self.groups)

    @property
    def name_of_groups(self) -> str:
        """The column that names the groups, or two with a comma; groups of copies are named by none."""
        names = [self.named[role] for role in (GROUPS, GROUPS_TOO) if role in self.named]
        return ",".join(names) or COPIES

    def features(self) -> Any:
        """The rows as numbers alone: missing ones are replaced by their means, categories are one-hot."""
        return self.schema.encode(self.rows, sparse=self.schema.is_mostly_zeros)

    def first_rows(self, count: int = 20) -> Any:
        """A few rows as they are."""
        return rows_of(self.rows, slice(0, count))

    def take(self, places: np.ndarray) -> Table:
        """The table with some of its rows, by their places from 0."""
        return replace(
            self,
            rows=None if self.rows is None else rows_of(self.rows, places),
            positive=self.positive[places],
            labels=None if self.labels is None else self.labels[places],
            beside={role: values[places] for role, values in self.beside.items()},
            raw={name: column.take(places) for name, column in self.raw.items()},
            places=self.places[places],
        )

    def with_groups(self, groups: np.ndarray, name: str = COPIES) -> Table:
        """The table with groups of rows, and the name of the column that names them."""
        named = self.named if name == COPIES else {**self.named, GROUPS: name}
        return replace(self, beside={**self.beside, GROUPS: groups}, named=named)

    def without_feature(self, name: str) -> Table:
        """The table without one of its features, whose column stays as it is."""
        schema = self.schema.without(name)
        gone = [column for column in self.schema.columns if column not in schema.columns]
        raw = dict(self.raw)
        if name in gone:
            raw[name] = as_in_file([self.rows.column(name)])
        return replace(self, rows=self.rows.select(list(schema.columns)), schema=schema, raw=raw)

    def column(self, name: str) -> Any:
        """A column, a feature or not, as it is kept."""
        return self.raw[name] if name in self.raw else self.rows.column(name)
