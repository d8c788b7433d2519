"""The facts of the first screen: rows, the share of positives, times, strata, the partial AUC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from vrspam._utils.texts import auc_text, interval_text, percent, rounded
from vrspam.model.outcome import Outcome

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation


def first_facts(
    outcome: Outcome,
    evaluation: Evaluation,
    names: Mapping[str, str],
    *,
    rows: int,
    of_partial_auc: str,
    further: Mapping[str, str],
) -> dict[str, str]:
    """What the first screen tells.

    `rows` are those of the table, `of_partial_auc` is a remark on that measure, and `further` facts come before it.
    """
    facts = {"rows": f"{rows:,}"}
    if outcome.order is None:
        name, value = _positives(evaluation, names, rows)
        facts[name] = value
    if evaluation.times is not None:
        name, value = _times(outcome, evaluation.times)
        facts[name] = value
    if evaluation.within is not None:
        facts[f"values of {outcome.within}"] = _strata(evaluation)
    facts |= further
    partial_auc = evaluation.partial_auc
    if partial_auc is not None and evaluation.max_fpr is not None:
        interval = interval_text(partial_auc.low, partial_auc.high)
        name = f"partial AUC up to {100 * evaluation.max_fpr:g} % false positives"
        facts[name] = f"{auc_text(partial_auc.auc)} ({interval}), {of_partial_auc}"
    return facts


def _positives(evaluation: Evaluation, names: Mapping[str, str], rows: int) -> tuple[str, str]:
    """The number and the share of positive rows, by weight if rows have some."""
    name = f"rows with {names['positive']}"
    if evaluation.weights is not None:
        name = f"{name}, by weight"
    count = f"{evaluation.positives:,}"
    if rows != evaluation.n:
        count = f"{count} of {evaluation.n:,}"
    return name, f"{count} ({percent(evaluation.share_of_positives)})"


def _times(outcome: Outcome, times: np.ndarray) -> tuple[str, str]:
    """The range of the times, or of an order, whose numbers are negated."""
    name, values = f"{outcome.times} observed", times
    if outcome.order is not None:
        name, values = outcome.order, -times
    low, middle, high = (rounded(quantile, 4) for quantile in np.quantile(values, (0.0, 0.5, 1.0)))
    return name, f"{low} to {high}, half of them up to {middle}"


def _strata(evaluation: Evaluation) -> str:
    """How many strata there are, and how many of them hold pairs."""
    target = evaluation.positive if evaluation.times is None else evaluation.times
    stratum_and_target = np.unique(np.stack([evaluation.within, target]), axis=1)  # type: ignore[list-item]
    strata, different_targets = np.unique(stratum_and_target[0], return_counts=True)
    if evaluation.times is not None:
        return f"{strata.size:,}"
    with_pairs = int((different_targets > 1).sum())
    return f"{strata.size:,}, {with_pairs:,} of them with both kinds of rows"
