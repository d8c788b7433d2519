"""Rules for a threshold, sensitivity at fixed specificity, and single numbers with what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vrspam._utils.texts import auc_text, interval_text
from vrspam.report.page import Cell, Html, Row, facts, number_cell, paragraph, table
from vrspam.report.words.auc import AUC_IS, describe_partial, describe_source
from vrspam.report.words.thresholds import CALLED, SENSITIVITY, describe_thresholds

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation


def further_numbers(evaluation: Evaluation, cost_ratio: float | None, recall: float) -> list[Html]:
    """Tables of thresholds and of sensitivities, and a list of single numbers."""
    meaning = AUC_IS
    if evaluation.partial_auc is not None and evaluation.max_fpr is not None:
        meaning = f"{meaning} {describe_partial(evaluation.max_fpr)}"
    return [
        _table_of_thresholds(evaluation, cost_ratio, recall),
        _table_of_sensitivities(evaluation),
        paragraph(meaning, numbers=True),
        facts(single_numbers(evaluation), numbers=True),
    ]


def single_numbers(evaluation: Evaluation) -> dict[str, str]:
    """Single numbers by their names, in the order of the page."""
    auc, partial_auc = evaluation.auc, evaluation.partial_auc
    interval = f"{100 * auc.confidence:g} % interval"
    shown = {
        "AUC of these rows": auc_text(auc.auc, 4),
        f"{interval} ({describe_source(evaluation)})": interval_text(auc.low, auc.high, 4),
        "average precision": auc_text(evaluation.average_precision, 4),
    }
    if partial_auc is not None:
        ends = interval_text(partial_auc.low, partial_auc.high, 4)
        shown[f"partial AUC and its {interval}"] = f"{auc_text(partial_auc.auc, 4)} ({ends}, {partial_auc.source})"
    shown["rows"] = f"{evaluation.n:,}"
    shown["positives"] = f"{evaluation.positives:,} ({evaluation.positives / evaluation.n:.2%})"
    if evaluation.brier is not None:
        shown["Brier score (less is better)"] = f"{evaluation.brier:.4f}"
        shown["mean calibration error"] = f"{evaluation.calibration_error:.4f}"
    return shown


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
