"""The interval of an AUC, or of a concordance index where only some pairs of rows are compared."""

from __future__ import annotations

from typing import Any

from vrspam.measures.rows import ScoredRows, ranked_target
from vrspam.metrics import AUCInterval, concordance_index_ci, roc_auc_ci


def auc_interval(rows: ScoredRows, confidence: float = 0.95) -> AUCInterval:
    """The AUC with its interval; with times, the concordance index; with strata, only of pairs inside them."""
    beside: dict[str, Any] = {"sample_weight": rows.weights, "groups": rows.groups, "confidence": confidence}
    if rows.has_classes:
        return roc_auc_ci(rows.positive, rows.scores, **beside)
    target, event = ranked_target(rows.positive, rows.times)
    return concordance_index_ci(target, rows.scores, event=event, strata=rows.within, **beside)
