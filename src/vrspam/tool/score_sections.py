"""What pages say about scores: what an AUC means, the threshold slider with its curves, both classes, lift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from vrspam.model_selection.calibration import Calibration
from vrspam.report import Block, Cell, Facts, Folded, Grid, Page, Table, Text, curves
from vrspam.report.explorer import Explorer, Stops
from vrspam.report.numbers import isolated, shorten
from vrspam.tables.schema import Label
from vrspam.tool.evaluation import Evaluation, describe_thresholds
from vrspam.tool.model import Model
from vrspam.tool.model_sections import number_cell
from vrspam.tool.score_measures import BINS, Bin, calibration_error, reliability

LABEL = 40  # letters of a label
ROWS_PER_BIN = 15  # of the calibration curve, at least


def class_names(model: Model) -> dict[str, str]:
    """What rows of both classes have, in the words of the table.

    A row has "sick = yes" or "sick = no"; with more than two labels, the others are "sick other than yes".
    """
    labels = [_shown(label) for label in model.schema.labels or () if label != model.positive]
    target = model.schema.target
    name = (
        f"{isolated(shorten(str(target), LABEL))} = " if target is not None and not str(target).isdigit() else "label "
    )
    positive = f"{name}{_shown(model.positive)}"
    if len(labels) == 1:
        return {"positive": positive, "negative": f"{name}{labels[0]}"}
    return {"positive": positive, "negative": f"another {name.removesuffix(' = ').strip()}"}


def _shown(label: Label) -> str:
    """A label as text; LIBSVM files hold numbers such as 1.0, which are shown as 1."""
    whole = isinstance(label, float) and label.is_integer()
    return isolated(shorten(str(int(label) if whole else label), LABEL))


def pairs_sentence(auc: float, names: Mapping[str, str]) -> str:
    """What an AUC means.

    >>> pairs_sentence(0.834, {"positive": "sick = yes", "negative": "sick = no"})
    'Of 100 pairs of a row with sick = yes and a row with sick = no, 83 are ranked right.'
    """
    count = round(100 * auc)
    shown = "more than 99" if count == 100 and auc < 1.0 else "all" if count == 100 else str(count)
    pair = f"a row with {names['positive']} and a row with {names['negative']}"
    return f"Of 100 pairs of {pair}, {shown} are ranked right."


def prevalence(evaluation: Evaluation) -> float:
    """Share of positives, by their weights if rows have some."""
    return float(np.average(evaluation.positive, weights=evaluation.weights))


def add_thresholds(
    page: Page,
    calibration: Calibration | None,
    evaluation: Evaluation,
    names: Mapping[str, str],
    cost_ratio: float | None,
    recall: float = 0.9,
    remark: str = "",
) -> None:
    """Add the slider, the curves on which it moves a point, and the tables of thresholds; `remark` stands below."""
    stops = Stops.of(evaluation.positive, evaluation.scores, evaluation.weights)
    if calibration is not None:
        stops = replace(stops, probabilities=calibration(stops.thresholds))
    ratio = cost_ratio or float(f"{stops.negatives / stops.positives:.1g}")
    place = stops.youden() if cost_ratio is None else stops.cheapest(cost_ratio)
    start = "The threshold of the highest sensitivity + specificity." if cost_ratio is None else "The least cost."
    drawn = [
        curves.roc(stops, place, names, evaluation.max_fpr),
        curves.precision_recall(stops, place, names),
        curves.gain(stops, place, names),
    ]
    bins = _groups_of_rows(evaluation)
    predicted, observed, rows = (np.array([getattr(b, k) for b in bins]) for k in ("predicted", "observed", "rows"))
    if bins:
        at = None if stops.probabilities is None else float(stops.probabilities[place])
        drawn.append(curves.calibration(predicted, observed, rows, names, at))
    page.data = {
        "explorer": {
            **stops.data(),
            "curve": [predicted.tolist(), observed.tolist()] if bins else None,
            "names": dict(names),
            "ratio": ratio,
        }
    }
    counted = "Rows are counted by their weights. " if evaluation.weights is not None else ""
    words = (
        f"{counted}The slider stops at {stops.thresholds.size:,} thresholds; the numbers are exact at each. "
        "Click on a curve to go there. A threshold that is chosen because it looks best on these rows will be a little "
        "worse on new ones."
    )
    words = f"{words} {remark}".strip()
    page.add(
        "Choose a threshold",
        Explorer(stops, place, names, ratio, start, drawn),
        Text(words, soft=True, numbers=True),
        Folded(
            "Rules for a threshold, sensitivity at fixed specificity, and further numbers",
            [
                _threshold_table(evaluation, cost_ratio, recall),
                *_sensitivity_table(evaluation),
                *_ranking(evaluation),
                *_reliability(evaluation),
            ],
        ),
    )


def _groups_of_rows(evaluation: Evaluation) -> tuple[Bin, ...]:
    """Groups of similar probability for the calibration curve; few rows make fewer groups, of about 15 rows."""
    if evaluation.probabilities is None or evaluation.n >= ROWS_PER_BIN * BINS:
        return evaluation.bins
    count = max(2, evaluation.n // ROWS_PER_BIN)
    return reliability(evaluation.positive, evaluation.probabilities, count, evaluation.weights)


def add_scores(page: Page, evaluation: Evaluation, names: Mapping[str, str]) -> None:
    threshold = evaluation.thresholds["youden"].threshold
    drawn = curves.distribution(evaluation.positive, evaluation.scores, names, threshold, evaluation.weights)
    page.add("Scores", Grid([drawn, *_lift_table(evaluation)], "large"))


def _ranking(evaluation: Evaluation) -> list[Block]:
    auc, part = evaluation.auc, evaluation.partial_auc
    words = "AUC is the probability that a positive row scores above a negative one; 0.5 is guessing, 1 is perfect."
    of_part: dict[str, str] = {}
    interval = f"{100 * auc.confidence:g} % interval"
    if part is not None and evaluation.max_fpr is not None:
        words = f"{words} {describe_partial(evaluation.max_fpr)}"
        numbers = f"{part.auc:.4f} ({part.low:.4f} to {part.high:.4f}, {part.source})"
        of_part[f"partial AUC and its {interval}"] = numbers
    facts = {
        "AUC of these rows": f"{auc.auc:.4f}",
        f"{interval} ({auc.source})": f"{auc.low:.4f} to {auc.high:.4f}",
        "average precision": f"{evaluation.average_precision:.4f}",
        **of_part,
        "rows": f"{evaluation.n:,}",
        "positives": f"{evaluation.positives:,} ({evaluation.positives / evaluation.n:.2%})",
    }
    return [Text(words, numbers=True), Facts(facts, numbers=True)]


def partial_fact(evaluation: Evaluation, remark: str = "0.5 is guessing") -> dict[str, str]:
    """The partial AUC, where there is one, for the first screen."""
    part = evaluation.partial_auc
    if part is None or evaluation.max_fpr is None:
        return {}
    name = f"partial AUC up to {100 * evaluation.max_fpr:g} % false positives"
    return {name: f"{part.auc:.3f} ({part.low:.3f} to {part.high:.3f}), {remark}"}


def describe_partial(max_fpr: float) -> str:
    """What a partial AUC is, in one sentence."""
    return (
        f"The partial AUC is the AUC of the part of the curve up to {100 * max_fpr:g} % false positives, standardised: "
        "0.5 is guessing, 1 is perfect."
    )


def _lift_table(evaluation: Evaluation) -> list[Block]:
    rows = [[Cell(f"top {100 * share:g} %", share), Cell(f"{v:.2f}", v)] for share, v in evaluation.lift.items()]
    words = "Lift: how many times more positives are among the highest scores than among rows drawn at random"
    return [Table(["rows", "lift"], rows, words)]


def _threshold_table(evaluation: Evaluation, cost_ratio: float | None, recall: float) -> Table:
    rows = [
        [
            words,
            number_cell(found.threshold),
            number_cell(found.sensitivity),
            number_cell(found.specificity),
            "" if found.precision is None else number_cell(found.precision),
            Cell(f"{found.share:.2%}", found.share),
        ]
        for words, found in describe_thresholds(evaluation, cost_ratio, recall)
    ]
    names = ["rule", "score at least", "sensitivity", "specificity", "precision", "rows called positive"]
    return Table(names, rows, "A row is called positive if its score reaches the threshold")


def _sensitivity_table(evaluation: Evaluation) -> list[Block]:
    rows = [[Cell(f"{100 * s:g} %", s), number_cell(value)] for s, value in evaluation.sensitivity.items()]
    words = (
        "Share of the positives called positive (sensitivity) when at least this share of the negatives is called "
        "negative (specificity)"
    )
    return [Table(["specificity", "sensitivity"], rows, words)]


def _reliability(evaluation: Evaluation) -> list[Block]:
    if evaluation.brier is None:
        return []
    facts = {
        "Brier score (less is better)": f"{evaluation.brier:.4f}",
        "mean calibration error": f"{calibration_error(evaluation.bins):.4f}",
    }
    return [Facts(facts, numbers=True)]
