"""A check: rows that are copies of others."""

from __future__ import annotations

from collections.abc import Iterator

from vrspam._utils.findings import OPTION, Finding, Fix
from vrspam._utils.names import COPIES, INDEPENDENT
from vrspam.checks.base import Check
from vrspam.checks.judged_groups import JudgedGroups
from vrspam.checks.seen import Seen


class Duplicates(Check):
    """Rows that equal another row in all columns, or in all but one; or that nearly agree in all columns of many
    different numbers, as visits of a patient whose number was left out of the table (a quarter of the rows and more
    have another one so near that only one of fifty independent rows has it). Where columns have few values, rows are
    equal by chance, which harms nothing: that is a note, or no finding. Rows are copies if the errors of a model go
    together in them; folds then keep them together, as with `--groups duplicates`. It is severe if that changes the
    AUC. If labels also go together in rows that have the same value of a column, but are no copies, that column
    says whose the copies are, and its groups are kept together instead: what a household buys at equal prices is
    equal because of the household.

    What to do: remove the copies if they are a mistake of the export. Otherwise nothing.
    """

    code = "duplicates"
    subject = "repeated rows"

    def look(self, seen: Seen) -> Iterator[Finding]:
        copies = seen.groups.groups
        if copies is None or copies.name != COPIES:
            return
        if copies.matters:
            yield describe_copies(copies)
        elif copies.share >= 0.05:
            percent = f"{100.0 * copies.share:.0f} %"
            sentence = f"{percent} of the rows are copies or near copies. The AUC does not depend on them"
            yield Finding(self.code, "note", sentence, numbers={"share": copies.share})


def describe_copies(copies: JudgedGroups) -> Finding:
    """The finding on copies that matter."""
    percent = f"{100.0 * copies.share:.0f} %"
    sentence = f"{percent} of the rows are copies{copies.what_it_changes('copies', 'new rows')}"
    if not copies.possible:
        mute = Fix("groups", INDEPENDENT, f". {OPTION} mutes this")
        return Finding("duplicates", "severe", sentence, [mute], copies.numbers)
    fixes = [
        Fix("groups", COPIES, f". So folds keep them together, as with {OPTION}"),
        Fix("groups", INDEPENDENT, f"; {OPTION} takes rows as independent"),
    ]
    return Finding("duplicates", copies.severity, sentence, fixes, copies.numbers)
