"""What checks look at: a table, and what several checks need of it, computed once when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from vrspam._utils.findings import Finding
from vrspam._utils.names import COPIES
from vrspam.checks.base import Need, failed
from vrspam.checks.coded import CodedColumns, most_distant
from vrspam.checks.company import SUSPECT, look_at_company
from vrspam.checks.groups import ChosenGroups, find_groups
from vrspam.checks.quick_model import QUICK_COLUMNS
from vrspam.checks.telling import DrawnRows, TellingColumns, auc_alone
from vrspam.measures.rows import two_sides
from vrspam.tables.frames import rows_of

if TYPE_CHECKING:
    from vrspam.data.table import Table
    from vrspam.tool.plan import TrainPlan


class Seen:
    """A table as checks see it.

    Parameters
    ----------
    table : Table
        All rows, or a sample of them.
    plan : TrainPlan
    can_keep_together : callable, optional
        Tells whether folds can keep groups of rows together that have these numbers.

    Attributes
    ----------
    X : table or array
        The rows as they are read.
    positive : array
        Two classes of the rows.
    all_events : bool
        Whether all rows are positive: the classes are then halves of an order.
    columns : CodedColumns
        All columns.
    sampled_of : int or None
        The number of rows of which these are a sample.
    """

    def __init__(
        self,
        table: Table,
        plan: TrainPlan,
        can_keep_together: Callable[[np.ndarray], bool] = lambda groups: True,
    ):
        self.table = table
        self.plan = plan
        self.seed = plan.random_state
        self.can_keep_together = can_keep_together
        self.X = table.rows
        self.sampled_of = table.sampled_of
        self.all_events = bool(table.positive.all())
        self.positive = two_sides(table.positive, table.times)
        self.columns = CodedColumns.of(self.X, self.positive, table.schema, table.raw)

    @cached_property
    def has(self) -> frozenset[Need]:
        """What checks may need and this table has."""
        has = set()
        if self.sampled_of is None:
            has.add(Need.ALL_ROWS)
        if self.table.origin.has_names and len(self.table.schema.columns) <= 5 * QUICK_COLUMNS:
            has.add(Need.FEW_NAMED_COLUMNS)
        if min(self.drawn.positive.sum(), (~self.drawn.positive).sum()) >= 20:
            has.add(Need.TWENTY_OF_EACH)
        return frozenset(has)

    @property
    def is_sparse(self) -> bool:
        """Whether a value that is not there is 0, and not missing."""
        return sparse.issparse(self.X)

    @cached_property
    def constant(self) -> list[str]:
        """The columns that are the same in all rows, if these are all rows."""
        if self.sampled_of is not None:
            return []
        return [name for name, codes in self.columns.codes.items() if (codes == codes[0]).all()]

    @cached_property
    def label_counts(self) -> Mapping[Any, int]:
        """The number of rows of each label, the positive one among them."""
        table = self.table
        counts = table.origin.counts
        labelled = self.positive.size if not counts else sum(counts.values())
        if table.times is not None and self.all_events:  # an order, or times of which none is censored
            return {table.label: labelled}
        if counts:
            return dict(counts)
        another = next(label for label in table.schema.labels or () if label != table.label)
        n_positive = int(self.positive.sum())
        return {table.label: n_positive, another: labelled - n_positive}

    @cached_property
    def drawn(self) -> DrawnRows:
        """The rows on which columns are looked at one by one."""
        return DrawnRows.of(self.positive, self.seed)

    @cached_property
    def choosing_rows(self) -> np.ndarray | None:
        """Whether each row is of the half that chooses columns for the quick model; None if it takes all columns.

        A column that was chosen by a row's own label would rank the row too well.
        """
        if len(self.table.schema.columns) <= QUICK_COLUMNS:
            return None
        chooses = np.zeros(self.positive.size, dtype=bool)
        rng = np.random.default_rng(self.seed)
        for label in (False, True):
            places = rng.permutation(np.flatnonzero(self.positive == label))
            chooses[places[: places.size // 2]] = True
        return chooses

    @cached_property
    def quick_rows(self) -> Any:
        """The rows with the columns that the quick model takes: of very many, those that differ most by class."""
        if self.choosing_rows is None:
            return self.X
        half = np.flatnonzero(self.choosing_rows)
        columns = most_distant(rows_of(self.X, half), self.positive[half], self.table.schema, QUICK_COLUMNS // 2)
        return self.X.select(columns[:QUICK_COLUMNS])

    @cached_property
    def aucs_of_all(self) -> dict[str, float]:
        """The AUC of each column alone; of none if there are too few rows of a class."""
        if Need.TWENTY_OF_EACH not in self.has:
            return {}
        rows = self.drawn
        aucs = {}
        for name, codes in self.columns.codes.items():
            is_ordered = name not in self.columns.texts
            aucs[name] = auc_alone(codes[rows.places], rows.positive, rows.fold, is_ordered)
        return aucs

    @cached_property
    def telling_of_all(self) -> TellingColumns:
        """The columns that tell the label, one of which may turn out to name groups."""
        return TellingColumns.of(self.columns, self.aucs_of_all, self.drawn)

    # Groups: those that leaks hide are looked for again, when more leaks are known.

    @property
    def looks_for_groups(self) -> bool:
        """Whether groups of rows are looked for: not where the plan names some, or an order of time."""
        if not {Need.ALL_ROWS, Need.FEW_NAMED_COLUMNS} <= self.has:
            return False
        return self.plan.groups == COPIES or (self.plan.groups is None and self.plan.time is None)

    def _find_groups(self, leaks: list[str]) -> ChosenGroups:
        only_copies = self.plan.groups == COPIES
        try:
            found = find_groups(self.quick_rows, self.columns, leaks, self.seed, only_copies)
        except Exception as error:
            return ChosenGroups(failure=error)
        if not found:
            return ChosenGroups()
        groups = found[0]._replace(possible=self.can_keep_together(found[0].codes))
        is_wanted = only_copies or groups.matters
        kept_together = is_wanted and groups.possible and groups.code not in self.plan.ignore
        return ChosenGroups(groups, [other.name for other in found[1:]], kept_together)

    @cached_property
    def _first_groups(self) -> ChosenGroups:
        return self._find_groups(self.telling_of_all.names) if self.looks_for_groups else ChosenGroups()

    @cached_property
    def groups(self) -> ChosenGroups:
        """The groups of rows that matter most, or that at least are there, and whether folds keep them together."""
        first = self._first_groups
        if not self.looks_for_groups or first.kept_together:
            return first
        if self.company is None or self.company.fix is None:  # no more leaks are known now
            return first
        again = self._find_groups([*self.telling_of_all.names, *self.company.fix.value])
        return again if again.kept_together and again.name != COPIES else first

    @cached_property
    def company(self) -> Finding | None:
        """The finding that columns tell the label together, where one of them is suspect alone."""
        chosen = self._first_groups
        aucs = dict(self.aucs_of_all)
        codes = None
        if chosen.kept_together and chosen.groups is not None:
            aucs.pop(chosen.name, None)
            codes = chosen.groups.codes
        if not hasattr(self.X, "column_names") or max(aucs.values(), default=0.0) < SUSPECT:
            return None
        X = self.quick_rows
        if codes is not None:
            X = X.select([name for name in X.column_names if name in aucs or name not in self.aucs_of_all])
        positive = self.positive
        if self.choosing_rows is not None:
            judged = np.flatnonzero(~self.choosing_rows)
            X = rows_of(X, judged)
            positive = positive[judged]
            codes = None if codes is None else np.unique(codes[judged], return_inverse=True)[1]
        try:
            return look_at_company(X, positive, aucs, self.telling_of_all.names, codes, self.seed)
        except Exception as error:
            return failed("leaks", error)

    # Features: a column that names groups is none, if it gives the answer away.

    @cached_property
    def features(self) -> CodedColumns:
        """The columns that are features."""
        return self.columns.without(self.groups.name) if self._groups_leak else self.columns

    @cached_property
    def single_aucs(self) -> dict[str, float]:
        """The AUC of each feature alone."""
        return {name: auc for name, auc in self.aucs_of_all.items() if name in self.features.codes}

    @cached_property
    def telling(self) -> TellingColumns:
        """The features that tell the label alone."""
        return TellingColumns.of(self.features, self.single_aucs, self.drawn)

    @cached_property
    def column_of_groups(self) -> str | None:
        """The column that names groups which folds keep together, and so is no feature; not if the user made it one."""
        schema, plan = self.table.schema, self.plan
        made_features = {*plan.include, *plan.categorical, *(plan.monotone or ()), *(plan.ordered or ())}
        name = self.groups.name
        if not self.groups.kept_together or name in made_features:
            return None
        return name if name in (*schema.inputs(), *schema.identifiers) else None

    @property
    def _groups_leak(self) -> bool:
        return self.groups.kept_together and self.groups.name in self.telling_of_all.names
