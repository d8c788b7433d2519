"""A check: columns that give the answer away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vrspam._utils.findings import OPTION, Finding, Fix, Severity
from vrspam._utils.texts import auc_text
from vrspam._utils.warnings import SHOWN, in_short
from vrspam.checks.base import Check, Need
from vrspam.checks.company import TOO_GOOD, look_at_company
from vrspam.checks.seen import Seen
from vrspam.checks.telling import SEVERE_LEAK, shown_auc, to_leave_out


class Leak(Check):
    """One column alone ranks the rows with an AUC of 0.99 (severe), or of 0.95 where no other column comes near (a
    warning: the errors of the next one, 1 - AUC, are three times as large). Mostly such a column is filled in after
    the answer is known: the date of death, the code of a refund, the result of the test that the label comes from.

    Several such columns hide each other: no one stands out, and leaving one out changes little. So an AUC of 0.99
    and more, of a quick model where one column alone has 0.85, or of the model that was trained, is severe by
    itself. The finding names the columns to look at first: they are left out one after the other, each time the one
    without which the quick model is worst, until its AUC has fallen below 0.95 and no column that is left has 0.85
    alone; the finding says how far it falls. Some questions are that easy: then the AUC hardly falls, or the
    columns named are ones that you know beforehand.

    What to do: leave it out (`--drop COLUMN`) if it is not known when the score is needed. If it is known then,
    there is nothing to mend: `--ignore leak`.
    """

    code = "leak"
    needs = frozenset({Need.TWENTY_OF_EACH})

    def look(self, seen: Seen) -> Iterator[Finding]:
        if seen.all_events:  # the classes are halves of an order: a column that separates them is no leak
            return
        if seen.telling.leaks:
            yield _describe_leaks(seen.telling.leaks)
        if seen.company is not None:
            yield seen.company

    def look_after(self, fitted: Any) -> Iterator[Finding]:
        """The AUC that a model promises is too good to be true, and no leak was found before."""
        table, diagnosis = fitted.table, fitted.diagnosis
        if round(fitted.promised, 3) < TOO_GOOD or diagnosis.has_leaks:
            return
        if table.times is not None or table.within is not None:
            return
        X = table.rows if table.sampled_of is None else None
        aucs = {name: auc for name, auc in diagnosis.aucs.items() if name in table.schema.inputs()}
        finding = look_at_company(X, table.positive, aucs, (), table.groups, fitted.seed, fitted.promised)
        if finding is not None:
            yield finding


def _describe_leaks(aucs: Mapping[str, float]) -> Finding:
    columns = sorted(aucs, key=lambda name: -aucs[name])
    best = aucs[columns[0]]
    severity: Severity = "severe" if shown_auc(best) >= SEVERE_LEAK else "warning"
    listed = ", ".join(auc_text(aucs[name]) for name in columns[:SHOWN])
    if len(columns) == 1:
        subject, them = in_short(columns), "it"
    else:
        subject, them = f"each of {in_short(columns)}", "them"
    sentence = f"{subject} alone nearly separates the classes (AUC {listed}): is it known before the outcome?"
    fix = Fix("drop", to_leave_out(aucs, SEVERE_LEAK), f" If not, leave {them} out with {OPTION}")
    return Finding("leak", severity, sentence, [fix], {"auc": best}, columns)
