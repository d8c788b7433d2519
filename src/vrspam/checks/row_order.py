"""A check: the order of the rows tells the label."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vrspam._utils.findings import Finding, Severity
from vrspam._utils.texts import auc_text
from vrspam.checks.base import Check, Need
from vrspam.checks.seen import Seen
from vrspam.checks.telling import auc_alone
from vrspam.metrics import roc_auc_ci


class RowOrder(Check):
    """The number of the row in the file, or a column that only names rows, tells the label. Such columns are not
    features, so that no number is wrong. But tables that were put together from a list of cases and a list of
    controls often differ in other ways too: units, gaps, spellings.

    What to do: look how the lists were made.
    """

    code = "order"
    needs = frozenset({Need.TWENTY_OF_EACH})

    def look(self, seen: Seen) -> Iterator[Finding]:
        places, y, fold = seen.drawn
        aucs = {"the order of the rows": auc_alone(places, y, fold, True)}
        for name, codes in seen.columns.names.items():
            aucs[f"column {name!r}"] = auc_alone(codes[places], y, fold, True)
        what = max(aucs, key=aucs.__getitem__)
        auc = aucs[what]
        noise = roc_auc_ci(y, np.random.default_rng(0).random(y.size)).standard_error
        if auc < max(0.6, 0.5 + 4.0 * noise):
            return
        severity: Severity = "warning" if auc >= 0.8 else "note"
        sentence = (
            f"{what} goes with the label (AUC {auc_text(auc)}), and is not used: was the table put together from lists?"
        )
        yield Finding(self.code, severity, sentence, numbers={"auc": auc})
