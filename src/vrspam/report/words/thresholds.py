"""Thresholds: their rules, what the stored one promises, and what it calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vrspam.report.words.names import describe_direction, describe_ranks, equals_positive

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation
    from vrspam.metrics.thresholds import ChosenThreshold, Threshold
    from vrspam.model.model import Model

ZERO = "A score of 0 is half-way between the average scores of the two classes."
LIFT = "Lift: how many times more positives the highest scores hold than rows drawn at random"
SENSITIVITY = "Sensitivity (share of positives found) at each specificity (share of negatives not called)"
CALLED = "A row is called positive if its score reaches the threshold"
SHARES = (
    "Sensitivity: share of the positives that is called; specificity: share of the negatives that is not; precision: "
    "share of the called rows that is positive."
)


def describe_thresholds(
    evaluation: Evaluation, cost_ratio: float | None, recall: float
) -> Iterator[tuple[str, Threshold]]:
    """The thresholds with their meaning in words."""
    rules = {
        "youden": "highest sensitivity + specificity (Youden)",
        "recall": f"finds {100 * recall:g} % of the positives",
    }
    if cost_ratio:
        rules["cost"] = f"least cost, one miss worth {cost_ratio:g} false alarms"
    if evaluation.promised is not None:
        rules["model"] = f"of the model: {evaluation.promised.words}"
    for name, threshold in evaluation.thresholds.items():
        yield rules.get(name, ""), threshold


def describe_promise(evaluation: Evaluation) -> list[str]:
    """What the threshold of the model promised, and what it does on these rows: a sentence or two, or none."""
    promised = evaluation.promised
    if promised is None:
        return []
    reached = evaluation.thresholds["model"]
    if (promised.sensitivity, promised.share) == (reached.sensitivity, reached.share):  # of the same rows
        if promised.confidence is None:
            return [f"The model stores the threshold {promised.threshold:g}, which {promised.words}."]
        return [f"The model promises to {_promise(promised)}: threshold {promised.threshold:g}."]
    changes = []
    for name in ("sensitivity", "specificity", "precision", "share"):
        before, now = getattr(promised, name), getattr(reached, name)
        if before is not None and now is not None:
            what = "share of the rows called" if name == "share" else name
            changes.append(f"{what} {before:.3f} in training, found {now:.3f}")
    kept = _whether_kept(promised, reached)
    return [f"{kept}The threshold of the model, score at least {promised.threshold:g}: {'; '.join(changes)}."]


def _promise(promised: ChosenThreshold) -> str:
    """What a threshold promises, and how surely."""
    asked = f"{100 * promised.asked:g} %"
    promises = {"recall": f"find at least {asked} of the positives", "alerts": f"call at most {asked} of the rows"}
    what = promises.get(promised.rule, f"be right in at least {asked} of the calls")
    return f"{what}, with {100 * (promised.confidence or 0.0):g} % confidence{promised.condition}"


def _whether_kept(promised: ChosenThreshold, reached: Threshold) -> str:
    """Whether a promise is kept on these rows; "" without a promise, or where no row is called."""
    measures = {"recall": reached.sensitivity, "alerts": reached.share}
    measure = measures.get(promised.rule, reached.precision)
    if promised.confidence is None or measure is None:
        return ""
    is_kept = measure <= promised.asked if promised.rule == "alerts" else measure >= promised.asked
    verdict = "kept" if is_kept else "not kept"
    return f"The model promised to {_promise(promised)}. Here it is {100 * measure:.1f} %: {verdict}. "


def describe_scores(model: Model, called: int) -> list[str]:
    """How many rows of a file are called positive, by which rule; what a score means; what a probability assumes."""
    direction = describe_direction(model.outcome)
    if model.ranks:
        return [f"{direction} {describe_ranks(model.outcome)}"]
    by = "score above 0"
    rests_on = "It is not a probability."
    if model.calibration is not None:
        by = "probability above 1/2"
        facts = model.training
        share = ""
        if facts.keys() >= {"rows", "positives"}:
            share = f" ({facts['positives'] / facts['rows']:.0%})"
        positive = equals_positive(model.outcome)
        rests_on = f"The probability assumes that {positive} is as common as in training{share}."
    if (chosen := model.threshold) is not None:
        by = f"the threshold of the model, score at least {chosen.threshold:g}, which {chosen.words}"
    return [f"{called:,} rows of the file are called {model.positive} ({by}).", f"{direction} {rests_on}"]
