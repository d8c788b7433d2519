"""Groups of rows that are not independent: which there are, which of them folds keep together.

All random draws are made from rows in an order that their values give, so that the order of the file changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.names import COPIES
from vrspam.checks.coded import CodedColumns
from vrspam.checks.company import is_made_of
from vrspam.checks.copies import find_copies, owners_of_copies
from vrspam.checks.judged_groups import JudgedGroups, QuickTable, judge_groups
from vrspam.checks.named_groups import NamedGroups, name_crossed_groups, name_groups


class ChosenGroups(NamedTuple):
    """Groups of rows that were looked for: those that count, others that matter, and whether folds keep them together.

    `failure` is the error that ended the search.
    """

    groups: JudgedGroups | None = None
    others: Sequence[str] = ()
    kept_together: bool = False
    failure: Exception | None = None

    @property
    def name(self) -> str:
        """The column that names the groups; nothing without any."""
        return "" if self.groups is None else self.groups.name


def find_groups(
    X: Any, columns: CodedColumns, leaks: Collection[str], seed: int, only_copies: bool
) -> list[JudgedGroups]:
    """Groups of rows, the first of which counts; of several, all matter.

    Groups that a column names come before copies, those with the highest correlation of errors first. Rows that agree
    in nearly all columns are copies, whichever column names them. The quick models do not see columns that give the
    answer away: they leave no errors that could tell whether groups matter.
    """
    order, sorted_columns = columns.sorted()
    honest = [name for name in X.column_names if not is_made_of(name, leaks)]
    table = QuickTable(X.select(honest) if honest else X, order, sorted_columns.positive, seed)
    found = _choose_groups(sorted_columns, table, leaks, seed, only_copies)
    place_in_file = np.empty_like(order)
    place_in_file[order] = np.arange(order.size)
    return [groups._replace(codes=groups.codes[place_in_file]) for groups in found]


def _choose_groups(
    columns: CodedColumns, table: QuickTable, leaks: Collection[str], seed: int, only_copies: bool
) -> list[JudgedGroups]:
    """The groups that matter: of columns, of two columns together, of copies; else one of those that do not matter."""
    copies = find_copies(columns.codes, seed, columns.numeric)
    if only_copies:
        return [] if copies is None else [judge_groups(COPIES, copies, table)]

    positive, unordered = columns.positive, columns.unordered
    candidates = name_groups(columns.codes, columns.names, seed, positive, unordered, copies, leaks)
    if copies is not None:
        candidates = [groups for groups in candidates if groups.equal <= 0.95]
    of_columns = _judged(candidates, table)
    that_matter = _that_matter(of_columns)
    if that_matter:
        return sorted(that_matter, key=lambda groups: -groups.bound)

    if copies is None:
        crossed = _judged(name_crossed_groups(columns.codes, columns.names, seed), table)
        return _that_matter(crossed) or of_columns[:1]
    of_copies = judge_groups(COPIES, copies, table)
    if not of_copies.matters:
        return of_columns[:1] or [of_copies]
    owners = owners_of_copies(copies, {**columns.codes, **columns.names}, positive, unordered, seed)
    return _that_matter(_judged(owners, table)) or [of_copies]


def _judged(candidates: Iterable[NamedGroups], table: QuickTable) -> list[JudgedGroups]:
    return [judge_groups(groups.name, groups.codes, table) for groups in candidates]


def _that_matter(judged: Iterable[JudgedGroups]) -> list[JudgedGroups]:
    return [groups for groups in judged if groups.matters]
