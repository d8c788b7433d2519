"""A check: columns whose gaps tell the label."""

from __future__ import annotations

from collections.abc import Iterator

from vrspam._utils.findings import OPTION, Finding, Fix, Severity
from vrspam._utils.texts import auc_text
from vrspam._utils.warnings import SHOWN, in_short
from vrspam.checks.base import Check, Need
from vrspam.checks.seen import Seen
from vrspam.checks.telling import SEVERE_GAPS, shown_auc, to_leave_out


class Missingness(Check):
    """Whether a column is filled in tells the label, with an AUC of 0.8 (a warning) or 0.95 (severe): the length of
    stay of those who were admitted, the wage of those who work.

    What to do: the same as for a [leak](#leak).
    """

    code = "missingness"
    needs = frozenset({Need.TWENTY_OF_EACH})

    def look(self, seen: Seen) -> Iterator[Finding]:
        aucs = seen.telling.gaps
        if not aucs:
            return
        columns = sorted(aucs, key=lambda name: -aucs[name])
        best = aucs[columns[0]]
        severity: Severity = "severe" if shown_auc(best) >= SEVERE_GAPS else "warning"
        listed = ", ".join(auc_text(aucs[name]) for name in columns[:SHOWN])
        if len(columns) == 1:
            subject, them = in_short(columns), "it"
        else:
            subject, them = f"each of {in_short(columns)}", "them"
        sentence = f"{subject} is filled in for one class (AUC {listed}): are its gaps known before the outcome?"
        fix = Fix("drop", to_leave_out(aucs, SEVERE_GAPS), f" If not, leave {them} out with {OPTION}")
        yield Finding(self.code, severity, sentence, [fix], {"auc": best}, columns)
