"""The sections about scores, which reports and evaluations share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vrspam.report.page import Section
from vrspam.report.sections.decisions import worth_acting
from vrspam.report.sections.pairs import strata, times_or_order
from vrspam.report.sections.scores import choose_threshold, distribution_of_scores
from vrspam.report.sections.shown import ShownScores

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation


def sections_of_scores(
    shown: ShownScores, evaluation: Evaluation, cost_ratio: float | None, recall: float = 0.9
) -> list[Section | None]:
    """Thresholds, the spread of the scores and what they are worth; or what scores say that only rank rows."""
    if shown.outcome.ranks:
        return [strata(shown), times_or_order(shown, evaluation)]
    return [
        choose_threshold(shown, evaluation, cost_ratio, recall),
        distribution_of_scores(shown, evaluation, cost_ratio),
        worth_acting(evaluation),
    ]
