"""The slider with the curves on which it moves a point, the tables of thresholds, and how scores are spread."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vrspam.metrics.calibration import effective_share
from vrspam.pictures.scores import score_edges
from vrspam.report.blocks import Folded, Grid, Paragraph, Shown
from vrspam.report.page import Section
from vrspam.report.pictures.thresholds import calibration, distribution, drawn_bins, threshold_curves
from vrspam.report.sections.numbers import further_numbers, table_of_lift
from vrspam.report.sections.shown import ShownScores
from vrspam.report.slider import explorer
from vrspam.report.stops import Stops
from vrspam.report.words.names import class_names
from vrspam.report.words.probabilities import calibration_numbers, describe_calibration
from vrspam.report.words.thresholds import ZERO, describe_promise

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation


def choose_threshold(
    shown: ShownScores, evaluation: Evaluation, cost_ratio: float | None, recall: float = 0.9
) -> Section:
    """The slider, the curves on which it moves a point, and the tables of thresholds."""
    names = class_names(shown.outcome)
    stops = stops_of(shown, evaluation)
    place, start = first_place(stops, evaluation, cost_ratio)
    stops = replace(stops, effective=effective_rows(stops, place, evaluation))
    ratio = cost_ratio or float(f"{stops.negatives / stops.positives:.1g}")

    drawn = threshold_curves(stops, place, names, evaluation.max_fpr)
    bins = drawn_bins(evaluation)
    curve = None
    if bins:
        at = None if stops.probabilities is None else float(stops.probabilities[place])
        drawn.append(calibration(bins, names, at, calibration_numbers(evaluation.calibration)))
        curve = [[group.predicted for group in bins], [group.observed for group in bins]]
    slider, data = explorer(stops, place, names, ratio, start, drawn)
    data |= {"curve": curve, "names": dict(names), "ratio": ratio}

    sentences = [*describe_promise(evaluation), *describe_calibration(evaluation.calibration)]
    title = "Rules for a threshold, sensitivity at fixed specificity, and further numbers"
    blocks: list[Shown] = [
        slider,
        Paragraph(_remark(shown, evaluation), soft=True),
        *(Paragraph(sentence) for sentence in sentences),
        Folded(title, further_numbers(shown.outcome, evaluation, cost_ratio, recall)),
    ]
    return Section("Choose a threshold", blocks, {"explorer": data})


def stops_of(shown: ShownScores, evaluation: Evaluation) -> Stops:
    """The thresholds at which the slider stops, with their probabilities if scores have some."""
    assert evaluation.curve is not None
    stops = Stops.of(evaluation.curve)
    if shown.probability_of is None:
        return stops
    return replace(stops, probabilities=shown.probability_of(stops.thresholds))


def first_place(stops: Stops, evaluation: Evaluation, cost_ratio: float | None) -> tuple[int, str]:
    """Where the slider first stands, and why: at the stored threshold, the least cost, or the highest Youden index."""
    if evaluation.promised is not None:
        called = evaluation.scores >= evaluation.promised.threshold
        mass = _weights(evaluation) @ called
        place = int(np.argmin(np.abs(stops.hits + stops.alarms - mass)))
        return place, f"The threshold of the model, which {evaluation.promised.words}."
    if cost_ratio is not None:
        cost = stops.alarms + cost_ratio * (stops.positives - stops.hits)
        return int(np.argmin(cost)), "The least cost."
    lost = stops.alarms / stops.negatives - stops.hits / stops.positives
    return int(np.argmin(lost)), "The threshold of the highest sensitivity + specificity."


def effective_rows(stops: Stops, place: int, evaluation: Evaluation) -> tuple[float, float]:
    """How many independent rows a positive counts for, and a row that is called positive."""
    if evaluation.weights is None and evaluation.groups is None:
        return 1.0, 1.0
    threshold = float(stops.thresholds[place])
    if evaluation.promised is not None:
        threshold = evaluation.promised.threshold
    called = evaluation.scores >= threshold
    of_positives = _effective(evaluation, inside=evaluation.positive, right=called)
    of_called = _effective(evaluation, inside=called, right=evaluation.positive)
    return of_positives, of_called


def _effective(evaluation: Evaluation, inside: np.ndarray, right: np.ndarray) -> float:
    """How many independent rows one of the rows `inside` counts for, in the share of them that is `right`."""
    groups = None if evaluation.groups is None else evaluation.groups[inside]
    return effective_share(right[inside], _weights(evaluation)[inside], groups)


def _weights(evaluation: Evaluation) -> np.ndarray:
    return np.ones(evaluation.n) if evaluation.weights is None else evaluation.weights


def _remark(shown: ShownScores, evaluation: Evaluation) -> str:
    """What the reader of the slider should know."""
    parts = ["The threshold that looks best here will do a little worse on new rows."]
    if evaluation.weights is not None:
        parts.insert(0, "Rows are counted by their weights.")
    if shown.zero_is_halfway:
        parts.append(ZERO)
    return " ".join(parts)


def distribution_of_scores(shown: ShownScores, evaluation: Evaluation, cost_ratio: float | None) -> Section:
    """How the scores of both classes are spread, and the lift of the highest ones."""
    assert evaluation.curve is not None
    names, stops = class_names(shown.outcome), stops_of(shown, evaluation)
    place, _ = first_place(stops, evaluation, cost_ratio)
    edges = score_edges(evaluation.positive, evaluation.scores)
    picture = distribution(evaluation.curve, edges, names, float(stops.thresholds[place]))
    return Section("Scores", [Grid([picture, table_of_lift(evaluation)], "large")])
