"""Rules for a threshold, sensitivity at fixed specificity, lift, and single numbers with what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vrspam._utils.texts import auc_text, percent
from vrspam.model.outcome import Outcome
from vrspam.report.blocks import Block, Cell, Facts, Paragraph, Row, Table
from vrspam.report.words.auc import AUC_IS, describe_partial
from vrspam.report.words.numbers import describe_measure, describe_numbers
from vrspam.report.words.thresholds import CALLED, LIFT, SENSITIVITY, SHARES, describe_thresholds

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation


def further_numbers(outcome: Outcome, evaluation: Evaluation, cost_ratio: float | None, recall: float) -> list[Block]:
    """Tables of thresholds and of sensitivities, and a list of single numbers."""
    meaning = AUC_IS
    if evaluation.partial_auc is not None and evaluation.max_fpr is not None:
        meaning = f"{meaning} {describe_partial(evaluation.max_fpr)}"
    numbers = {
        **describe_measure(outcome, evaluation),
        **describe_numbers(evaluation),
        "rows": f"{evaluation.n:,}",
        "positives": f"{evaluation.positives:,} ({percent(evaluation.positives / evaluation.n)})",
    }
    return [
        table_of_thresholds(evaluation, cost_ratio, recall),
        Paragraph(SHARES, soft=True),
        table_of_sensitivities(evaluation),
        Paragraph(meaning, numbers=True),
        Facts(numbers, numbers=True),
    ]


def table_of_thresholds(evaluation: Evaluation, cost_ratio: float | None, recall: float) -> Table:
    """What follows from the threshold of each rule."""
    columns = ["rule", "score at least", "sensitivity", "specificity", "precision", "rows called"]
    rows: list[Row] = []
    for rule, at in describe_thresholds(evaluation, cost_ratio, recall):
        precision = "" if at.precision is None else _share_cell(at.precision)
        called = Cell(percent(at.share, 2), at.share)
        shares = _share_cell(at.sensitivity), _share_cell(at.specificity), precision, called
        rows.append([rule, Cell(f"{at.threshold:.6g}", at.threshold), *shares])
    return Table(columns, rows, CALLED)


def table_of_sensitivities(evaluation: Evaluation) -> Table:
    """The sensitivity at each specificity."""
    rows: list[Row] = []
    for specificity, sensitivity in evaluation.sensitivity.items():
        rows.append([Cell(f"{100 * specificity:g} %", specificity), _share_cell(sensitivity)])
    return Table(["specificity", "sensitivity"], rows, SENSITIVITY)


def table_of_lift(evaluation: Evaluation) -> Table:
    """The lift of each share of the highest scores."""
    rows: list[Row] = []
    for share, lift in evaluation.lift.items():
        rows.append([Cell(f"top {100 * share:g} %", share), Cell(f"{lift:.2f}", lift)])
    return Table(["rows", "lift"], rows, LIFT)


def _share_cell(share: float) -> Cell:
    return Cell(auc_text(share, 4), share)
