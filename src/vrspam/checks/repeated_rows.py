"""A check: rows that are not independent, by a column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vrspam._utils.findings import OPTION, Finding, Fix
from vrspam._utils.names import COPIES, INDEPENDENT
from vrspam.checks.base import Check, failed
from vrspam.checks.judged_groups import JudgedGroups
from vrspam.checks.seen import Seen


class RepeatedRows(Check):
    """Rows with the same value of a column (a patient, an incident, a household) agree in other columns far beyond
    chance, and their labels go together too. Folds that put one visit of a patient into the training part and
    another one into the test part reward remembering the patient. On new patients that is worth nothing.

    The finding has two AUCs of a quick model (straight lines or curves, at most 5,000 rows): as independent rows,
    and with rows of one group kept together. The second is what new groups will give. The first is the AUC that
    folds of independent rows would show: its model also knows the errors of other rows of the group, as flexible
    models learn them. **`train` and `report` then keep the groups together by themselves**, as with `--groups
    COLUMN`: the AUC to expect is that of the full run on such folds, and that of independent rows stands beside it
    (`independent_auc` in the JSON). It is severe if the AUC falls by 0.02 or more, and by more than twice its
    error; otherwise a warning, because intervals of independent rows would be too narrow. The column is not used as
    a feature then.

    What to do: nothing, or name another column with `--groups`. If patients or cards that the model was trained on
    will come back in new rows, add `--groups none`: rows count as independent, and the model may know them by their
    column. On the table `fraud` above, with `vrspam train` on a random 70 % of the rows and `vrspam evaluate` on
    the others, that gives an AUC of 0.96 instead of 0.87. For new cards what it promises is too high by 0.1.

    If rows of a class are in fewer groups than there are folds, there are fewer folds, and one sentence says so. If
    even two folds cannot keep the groups together (all sick rows are of one patient), nothing is done and the
    finding is severe: the AUC to expect is that of known patients. A row without a value in the column is a group
    of its own.

    How it is found: by what the rows say, not by names of columns. A column can name groups if it has at least 20
    values, of at most 100 rows in the mean. Then pairs of rows with the same value are compared in every other
    column: for numbers by the correlation of their ranks within groups, for categories by their agreement beyond
    chance, (a - c) / (1 - c), where a is the share of these pairs that agree and c the share of all pairs; the
    larger of both for columns of numbers. For a column that has an order, rows of the *next* value are the
    yardstick: persons of 50 are like those of 51, but patient 1050 is like nobody beside him. What is left beyond
    that must be above 0.25 in the mean of all columns, and above 0.4 in two columns of which none follows from the
    other (as a country from its region), or in one if rows of a group differ in another one more than by chance, as
    in the number of a visit. Less is enough where the labels of a group go together far beyond chance and the
    yardstick; where they go together very much, a column of numbers names groups by that alone, as a household that
    always buys the same brand. Only there names decide: a column of text then has to be called an "id". Where no
    column names groups, pairs of columns are tried, such as patients that are numbered from 1 in each hospital:
    `--groups hospital,number`. Columns that give the answer away are left out of the quick model, because they hide
    the errors by which groups are known. The order of the rows in the file changes nothing.

    Whether groups matter is told by the errors of the quick model: those of two rows of one group have a
    correlation above 0.1, more than three standard errors from 0 (by the labels themselves if a class has fewer
    than 20 rows). Where groups cross, such as cards that pay in several stores, folds can keep only one kind
    together: the one with the larger correlation. The finding names the other one too.
    """

    code = "repeated-rows"
    subject = "repeated rows"

    def look(self, seen: Seen) -> Iterator[Finding]:
        groups = seen.groups.groups
        if seen.groups.failure is not None:
            yield failed(self.subject, seen.groups.failure)
        if groups is not None and groups.name != COPIES:
            yield describe_groups(groups, seen.groups.others)


def describe_groups(groups: JudgedGroups, others: Sequence[str] = ()) -> Finding:
    """The finding on groups of rows that a column names; `others` are more columns whose groups matter."""
    name = groups.name
    if not groups.matters:
        sentence = f"rows with the same {name!r} are alike; that changes no number here"
        fix = Fix("groups", name, f", and {OPTION} would keep them together")
        return Finding("repeated-rows", "note", sentence, [fix], columns=[name])

    sentence = f"rows with the same {name!r} are alike{groups.what_it_changes(f'each {name}', f'rows of a new {name}')}"
    if not groups.possible:
        mute = Fix("groups", INDEPENDENT, f". {OPTION} mutes this")
        return Finding("repeated-rows", "severe", sentence, [mute], groups.numbers, [name])
    fixes = [
        Fix("groups", name, f". So folds keep them together, as with {OPTION}"),
        Fix("groups", INDEPENDENT, f"; add {OPTION} if a known {name} will come back in new rows"),
    ]
    if others:
        alike = " or ".join(repr(other) for other in others)
        keep_those = f". Rows with the same {alike} are alike too: {OPTION} would keep those together"
        fixes.append(Fix("groups", others[0], keep_those))
    return Finding("repeated-rows", groups.severity, sentence, fixes, groups.numbers, [name])
