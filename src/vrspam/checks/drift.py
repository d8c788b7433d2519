"""A check: the past predicts the future less well."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vrspam._utils.findings import OPTION, Finding, Fix
from vrspam._utils.texts import auc_text
from vrspam.checks.base import Check, Need
from vrspam.checks.quick_model import QUICK_ROWS, quick_scores
from vrspam.checks.seen import Seen
from vrspam.metrics import roc_auc_ci
from vrspam.model_selection.folds import forward_folds, with_both_classes
from vrspam.tables.frames import rows_of


class Drift(Check):
    """A quick model that is trained on earlier rows and tested on later ones, by a column of dates, ranks clearly
    worse than one whose rows of all times are mixed.

    What to do: `--time COLUMN` makes the folds look forward, and the AUC to expect is then that of the future.
    """

    code = "drift"
    needs = frozenset({Need.ALL_ROWS, Need.FEW_NAMED_COLUMNS})
    subject = "drift"

    def look(self, seen: Seen) -> Iterator[Finding]:
        if not seen.looks_for_groups:  # the plan has folds of its own
            return
        groups = seen.groups.groups
        if groups is not None and groups.matters:  # models of other rows of a group differ, whatever the time
            return
        date = _date_of_all_rows(seen)
        if date is None or min(seen.positive.sum(), (~seen.positive).sum()) < 100:
            return

        rows = np.sort(np.random.default_rng(seen.seed).permutation(seen.positive.size)[:QUICK_ROWS])
        X, y = rows_of(seen.quick_rows, rows), seen.positive[rows]
        time = seen.columns.codes[date][rows].astype(np.float64)
        folds = with_both_classes(forward_folds(time, y, 5), y)
        if len(folds) < 2:
            return
        later = np.concatenate([test for _, test in folds])
        mixed = roc_auc_ci(y[later], quick_scores(X, y, 5, seen.seed).scores[later])
        forward = roc_auc_ci(y[later], quick_scores(X, y, folds, seen.seed).scores[later])
        if mixed.auc - forward.auc < max(0.03, 2.0 * forward.standard_error):
            return
        sentence = (
            f"the past predicts the future less well: a quick model has the AUC {auc_text(mixed.auc, 2)} with rows of "
            f"all times mixed, and {auc_text(forward.auc, 2)} for rows that are later (by {date!r}) than all it was "
            "trained on"
        )
        fix = Fix("time", date, f". Add {OPTION} to measure that")
        yield Finding(self.code, "warning", sentence, [fix], {"mixed": mixed.auc, "forward": forward.auc}, [date])


def _date_of_all_rows(seen: Seen) -> str | None:
    """The first column of dates that every row has, and that has more than fifty of them."""
    for name in seen.columns.dates:
        codes = seen.columns.codes[name]
        if (codes >= 0).all() and codes.max() >= 50:
            return name
    return None
