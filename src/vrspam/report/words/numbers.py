"""Single numbers of an evaluation, as the page and the terminal show them (docs/add_a_number.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vrspam._utils.texts import auc_text, interval_text
from vrspam.model.outcome import Outcome
from vrspam.report.words.auc import describe_source
from vrspam.report.words.names import name_measure
from vrspam.report.words.probabilities import calibration_numbers

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation
    from vrspam.metrics import Estimate


def describe_measure(outcome: Outcome, evaluation: Evaluation) -> dict[str, str]:
    """The AUC, or the concordance index, with its interval and where that comes from."""
    auc = evaluation.auc
    interval = f"{100 * auc.confidence:g} % interval {interval_text(auc.low, auc.high, 4)}"
    return {name_measure(outcome): f"{auc_text(auc.auc, 4)}, {interval} ({describe_source(evaluation)})"}


def describe_numbers(evaluation: Evaluation) -> dict[str, str]:
    """Further numbers by their names, each with what it is compared with; none where scores only rank rows."""
    shown: dict[str, str] = {}
    if not evaluation.has_classes:
        return shown
    share = evaluation.share_of_positives
    partial_auc = evaluation.partial_auc
    if partial_auc is not None and evaluation.max_fpr is not None:
        interval = f"{100 * partial_auc.confidence:g} % interval {interval_text(partial_auc.low, partial_auc.high, 4)}"
        limit = f"up to {100 * evaluation.max_fpr:g} % false positives, standardised; {partial_auc.source}"
        shown["partial AUC"] = f"{auc_text(partial_auc.auc, 4)}, {interval} ({limit})"
    shown["average precision"] = f"{auc_text(evaluation.average_precision, 4)} ({share:.4f} by guessing)"
    if evaluation.brier is not None:
        of_the_share = f"{share * (1.0 - share):.4f} is the same probability for all rows"
        shown["Brier score"] = f"{evaluation.brier:.4f} (0 is perfect, {of_the_share})"
        meaning = "mean distance between predicted probability and observed frequency"
        shown["calibration error"] = f"{evaluation.calibration_error:.4f} ({meaning})"
    for number in calibration_numbers(evaluation.calibration):
        shown[number.name] = f"{number.value}: {number.ideal}"
    return shown


def estimate_text(estimate: Estimate, confidence: float) -> str:
    """A number with its interval."""
    return f"{estimate.value:.4f}, {100 * confidence:g} % interval {estimate.low:.4f} to {estimate.high:.4f}"
