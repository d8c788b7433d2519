"""Rules for a threshold, sensitivity at fixed specificity, and single numbers with what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vrspam._utils.texts import auc_text
from vrspam.model.outcome import Outcome
from vrspam.report.page import Cell, Html, Row, facts, number_cell, paragraph, table
from vrspam.report.words.auc import AUC_IS, describe_partial
from vrspam.report.words.numbers import describe_measure, describe_numbers
from vrspam.report.words.thresholds import CALLED, SENSITIVITY, describe_thresholds

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation


def further_numbers(outcome: Outcome, evaluation: Evaluation, cost_ratio: float | None, recall: float) -> list[Html]:
    """Tables of thresholds and of sensitivities, and a list of single numbers."""
    meaning = AUC_IS
    if evaluation.partial_auc is not None and evaluation.max_fpr is not None:
        meaning = f"{meaning} {describe_partial(evaluation.max_fpr)}"
    numbers = {
        **describe_measure(outcome, evaluation),
        **describe_numbers(evaluation),
        "rows": f"{evaluation.n:,}",
        "positives": f"{evaluation.positives:,} ({evaluation.positives / evaluation.n:.2%})",
    }
    return [
        _table_of_thresholds(evaluation, cost_ratio, recall),
        _table_of_sensitivities(evaluation),
        paragraph(meaning, numbers=True),
        facts(numbers, numbers=True),
    ]


def _table_of_thresholds(evaluation: Evaluation, cost_ratio: float | None, recall: float) -> Html:
    """What follows from the threshold of each rule."""
    columns = ["rule", "score at least", "sensitivity", "specificity", "precision", "rows called positive"]
    rows: list[Row] = []
    for rule, at in describe_thresholds(evaluation, cost_ratio, recall):
        precision = "" if at.precision is None else _share_cell(at.precision)
        called = Cell(f"{at.share:.2%}", at.share)
        shares = _share_cell(at.sensitivity), _share_cell(at.specificity), precision, called
        rows.append([rule, number_cell(at.threshold), *shares])
    return table(columns, rows, CALLED)


def _table_of_sensitivities(evaluation: Evaluation) -> Html:
    """The sensitivity at each specificity."""
    rows: list[Row] = []
    for specificity, sensitivity in evaluation.sensitivity.items():
        rows.append([Cell(f"{100 * specificity:g} %", specificity), _share_cell(sensitivity)])
    return table(["specificity", "sensitivity"], rows, SENSITIVITY)


def _share_cell(share: float) -> Cell:
    return Cell(auc_text(share, 4), share)
