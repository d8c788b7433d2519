"""All checks of a table, one after the other, and their findings in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vrspam._utils.findings import SEVERITIES, Finding, Severity
from vrspam.checks.base import Check, failed
from vrspam.checks.codes import Codes
from vrspam.checks.constant import Constant
from vrspam.checks.drift import Drift
from vrspam.checks.duplicates import Duplicates
from vrspam.checks.few_rows import FewRows
from vrspam.checks.judged_groups import JudgedGroups
from vrspam.checks.labels import Labels
from vrspam.checks.leak import Leak
from vrspam.checks.majority import Majority
from vrspam.checks.missing_values import MissingValues
from vrspam.checks.missingness import Missingness
from vrspam.checks.not_checked import NotChecked
from vrspam.checks.reading import (
    Dates,
    Identifiers,
    LargeIntegers,
    LeftOut,
    ManyCategories,
    TextNumbers,
    UnreadText,
)
from vrspam.checks.repeated_rows import RepeatedRows
from vrspam.checks.row_order import RowOrder
from vrspam.checks.seen import Seen
from vrspam.checks.spellings import Spellings
from vrspam.checks.unlabelled import Unlabelled

if TYPE_CHECKING:
    from vrspam.data.table import Table
    from vrspam.tool.plan import TrainPlan

#: All checks, in the order in which findings of one severity are shown.
CHECKS: tuple[type[Check], ...] = (
    RepeatedRows,
    Duplicates,
    Leak,
    Missingness,
    Unlabelled,
    Labels,
    FewRows,
    Drift,
    RowOrder,
    Codes,
    Spellings,
    UnreadText,
    LargeIntegers,
    ManyCategories,
    Majority,
    MissingValues,
    Constant,
    Identifiers,
    LeftOut,
    Dates,
    TextNumbers,
    NotChecked,
)


def all_codes() -> list[str]:
    """The codes of all checks, in their order."""
    return [check.code for check in CHECKS]


class Diagnosis(NamedTuple):
    """What the checks found in a table.

    Attributes
    ----------
    findings : list of Finding
        As the checks gave them; `merged` puts them in order.
    groups : JudgedGroups or None
        The groups of rows that folds must keep together.
    column_of_groups : str or None
        The column that names them, if it is no feature then.
    constant : sequence of str
        Columns that are the same in all rows, where all columns were looked at.
    aucs : mapping of str to float
        The AUCs of single columns.
    """

    findings: list[Finding]
    groups: JudgedGroups | None = None
    column_of_groups: str | None = None
    constant: Sequence[str] = ()
    aucs: Mapping[str, float] = {}

    @property
    def has_leaks(self) -> bool:
        """Whether a finding says that columns give the answer away, one of them or many together."""
        return any(finding.code in ("leak", "missingness") for finding in self.findings)


def diagnose(
    table: Table,
    plan: TrainPlan,
    can_keep_together: Callable[[np.ndarray], bool] = lambda groups: True,
) -> Diagnosis:
    """Look at a table, or at a sample of a stream.

    `can_keep_together` tells whether folds can keep groups of rows together that have these numbers.
    """
    seen = Seen(table, plan, can_keep_together)
    findings: list[Finding] = []
    for check in CHECKS:
        if check.needs <= seen.has:
            findings += guarded(check.subject, check().look(seen))
    groups = seen.groups.groups if seen.groups.kept_together else None
    looked_at_all = table.sampled_of is None and len(seen.columns.codes) == len(table.schema.columns)
    constant = seen.constant if looked_at_all else ()
    return Diagnosis(findings, groups, seen.column_of_groups, constant, seen.single_aucs)


class Fitted(NamedTuple):
    """A table, what was found in it, and the AUC that a model fitted to it promises."""

    table: Table
    diagnosis: Diagnosis
    promised: float
    seed: int


def look_after(fitted: Fitted) -> list[Finding]:
    """Look at a model that was fitted."""
    findings: list[Finding] = []
    for check in CHECKS:
        findings += guarded(check.subject, check().look_after(fitted))
    return findings


def guarded(subject: str, findings: Iterator[Finding]) -> list[Finding]:
    """The findings of one look at a table; that it failed is a finding too: a doctor ends no command."""
    found: list[Finding] = []
    try:
        found.extend(findings)  # keeps those that came before a failure
    except Exception as error:
        found.append(failed(subject, error))
    return found


def merged(findings: Iterable[Finding], ignore: Sequence[str] = ()) -> list[Finding]:
    """One finding for each code, without the codes to ignore; the most severe come first."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        of_code = by_code.setdefault(finding.code, [])
        if finding.code not in ignore and finding not in of_code:
            of_code.append(finding)
    checks = {check.code: check() for check in CHECKS}
    one_each = [_as_one(checks[code], of_code) for code, of_code in by_code.items() if of_code]
    order = all_codes()
    return sorted(one_each, key=lambda finding: (SEVERITIES.index(finding.severity), order.index(finding.code)))


def _as_one(check: Check, findings: Sequence[Finding]) -> Finding:
    """One finding of several of one code: about all their columns, or one sentence after the other."""
    if len(findings) == 1:
        return findings[0]
    severity: Severity = min((finding.severity for finding in findings), key=SEVERITIES.index)
    columns = [str(name) for finding in findings for name in finding.columns]
    if all(len(finding.columns) == 1 for finding in findings):
        about_all = check.several(columns, severity)
        if about_all is not None:
            return about_all

    sentence = findings[0].sentence
    fixes = list(findings[0].fixes)
    for finding in findings[1:]:
        if fixes:
            fixes[-1] = fixes[-1]._replace(does=f"{fixes[-1].does}; {finding.sentence}")
        else:
            sentence += f"; {finding.sentence}"
        fixes += finding.fixes
    return Finding(findings[0].code, severity, sentence, fixes, _all_numbers(findings), columns)


def _all_numbers(findings: Iterable[Finding]) -> dict[str, Any]:
    """The numbers of several findings; of those with one name, the first."""
    numbers: dict[str, Any] = {}
    for finding in findings:
        numbers = {**finding.numbers, **numbers}
    return numbers
