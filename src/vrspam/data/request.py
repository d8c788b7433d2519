"""`TableRequest`: what is asked of a table from which a model is to learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vrspam._utils.findings import Fix
from vrspam._utils.roles import GROUPS, GROUPS_TOO, ORDER, ROLES, named_by
from vrspam.data.readers.problems import no_column
from vrspam.data.source import Source
from vrspam.tables.errors import DataError


@dataclass(frozen=True)
class TableRequest:
    """What is asked of a table from which a model is to learn.

    Attributes
    ----------
    target : str or None
        The column that holds the labels, times or an order; None for a file whose rows carry their labels.
    positive : str or None
        The label of positive rows; by default the larger of two. All other labels are negative.
    event : str or None
        The column that holds the labels where `target` holds times.
    roles : dict of str to str
        The columns beside the features, by their roles (`vrspam._utils.roles`): weights, groups, times, strata, ...
    raw : dict of str to sequence of str
        More columns to keep in memory as they are in the file, by the role for which they are kept. Those that only
        name the rows are kept anyway.
    drop, include, categorical, max_categories, dates
        As in `vrspam.tool.train`.
    format, delimiter, encoding, zero_based
        As in `vrspam.data.read_chunks`.
    skip_errors : bool
        Leave out broken lines.
    progress : bool
        Show a line.
    """

    target: str | None = None
    positive: str | None = None
    event: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    raw: Mapping[str, Sequence[str]] = field(default_factory=dict)
    drop: Sequence[str] = ()
    include: Sequence[str] = ()
    categorical: Sequence[str] = ()
    max_categories: int = 1000
    dates: Literal["features", "drop"] = "features"
    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    zero_based: bool | None = None
    skip_errors: bool = False
    progress: bool = False

    @property
    def is_order(self) -> bool:
        """Whether the target is an order of all rows: there are no labels."""
        return ORDER in self.roles

    @property
    def label_column(self) -> str:
        """The column of the labels; an order is its own."""
        return str(self.target if self.event is None else self.event)

    @property
    def on_error(self) -> str:
        """What becomes of broken lines."""
        return "skip" if self.skip_errors else "raise"

    @property
    def kept_raw(self) -> list[str]:
        """The columns of `raw`, each once."""
        return list(dict.fromkeys(name for names in self.raw.values() for name in names))

    @property
    def no_features(self) -> list[str]:
        """Columns beside the features that cannot be features too."""
        if GROUPS_TOO in self.roles:  # each of two columns says more than which group a row is of
            features_too = {GROUPS, GROUPS_TOO}
        else:
            features_too = {role for role in self.roles if ROLES[role].is_feature}
        return [name for role, name in self.roles.items() if role not in features_too]

    def open_source(self, path: Any, **reading: Any) -> Source:
        """Open the files."""
        return Source.open(
            path,
            self.format,
            delimiter=self.delimiter,
            encoding=self.encoding,
            zero_based=self.zero_based,
            **reading,
        )

    def check_target(self, source: Source) -> None:
        """Ask for the label column, unless the rows of the file carry their labels."""
        if self.target is None and not source.reader.sparse:
            raise DataError(f"which column of {source.paths[0]} holds the labels? Name it with ", Fix("target"))

    def check_without_names(self, source: Source) -> None:
        """Refuse what is asked of columns that have no names."""
        self.refuse_raw()
        for option in ("event", "drop", "include", "categorical"):
            if getattr(self, option):
                source.check_named(option)
        for role in self.roles:
            source.check_named("event" if role == ORDER else ROLES[role].option)

    def refuse_raw(self) -> None:
        """Refuse columns to keep in memory where no named columns are in memory."""
        for role, names in self.raw.items():
            if names:
                option = Fix(ROLES[role].option, list(names))
                raise DataError(option, " needs the named columns of a table in memory: leave it out")

    def check_columns(self, path: str, types: Mapping[str, Any]) -> None:
        """Refuse columns that are asked for twice or are not in the file.

        Labels may not be left out, kept or used as weights, groups or times. Weights, groups, times and columns to keep
        must be in the file, and the first three may not be left out.
        """
        if self.label_column in self.drop:
            what = f"column {self.label_column!r} holds the labels and cannot be left out: name another with "
            raise DataError(what, Fix("drop"))
        for role, name in self.roles.items():
            if name == self.label_column and role != ORDER:
                raise holds_labels(name, role)
            if name in self.drop:
                fixes = (Fix("drop"), " and named by ", named_by(role), ": name it once")
                raise DataError(f"column {name!r} is left out by ", *fixes)
            if name not in types:
                raise DataError(no_column(path, name, types))
        for role, names in self.raw.items():
            for name in names:
                if name not in types:
                    raise DataError(no_column(path, name, types))
                if name == self.label_column:
                    raise holds_labels(name, role)


def holds_labels(column: str, role: str) -> DataError:
    """The error that the column of a role is that of the labels."""
    return DataError(f"column {column!r} holds the labels: name another with ", named_by(role))
