"""ROC curve, precision and recall, gain, calibration: with a point that the slider moves; and how scores are spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vrspam._utils.texts import percent
from vrspam.measures.measure import Evaluation
from vrspam.metrics.calibration import BINS, LEAST_IN_BIN, Bin, reliability
from vrspam.metrics.thresholds import Curve
from vrspam.pictures.calibration import plan_calibration
from vrspam.report.html import Html
from vrspam.report.pictures.frame import UNIT, Frame, area, axes, legend, line, picture, upright_rule
from vrspam.report.pictures.marks import box, dot, whisker
from vrspam.report.stops import Stops
from vrspam.report.words.probabilities import CalibrationNumber


class ThresholdCurve(NamedTuple):
    """A curve with a point for the threshold, in a unit square.

    `guess` are the heights of the line of random scores at both ends.
    """

    kind: str
    title: str
    x: np.ndarray
    y: np.ndarray
    labels: tuple[str, str]
    guess: tuple[float, float]
    spoken: str
    remark: str = "dashed: random scores"
    behind: str = ""  # what is drawn behind the curve


def threshold_curves(stops: Stops, place: int, names: Mapping[str, str], max_fpr: float | None = None) -> list[Html]:
    """ROC curve, precision and recall, gain, with the point of the threshold; what lies beyond `max_fpr` is shaded."""
    frame = Frame(UNIT, UNIT)
    total = stops.positives + stops.negatives
    share = stops.positives / total
    found = stops.hits / stops.positives
    called = stops.hits + stops.alarms
    with np.errstate(invalid="ignore"):
        precision = stops.hits / called  # NaN where no row is called
    positive = f"rows with {names['positive']}"
    positives_found = f"{positive} found"
    roc = ThresholdCurve(
        "roc",
        "ROC curve",
        x=stops.alarms / stops.negatives,
        y=found,
        labels=(f"rows with {names['negative']} called positive", positives_found),
        guess=UNIT,
        spoken=f"ROC curve: {positives_found} against false alarms.",
    )
    if max_fpr is not None and max_fpr < 1.0:
        remark = f"{roc.remark}; shaded: not in the partial AUC"
        roc = roc._replace(behind=_shade_beyond(frame, max_fpr), remark=remark)
    precision_recall = ThresholdCurve(
        "precision",
        "Precision and recall",
        x=found,
        y=precision,
        labels=(positives_found, f"called rows that have {names['positive']}"),
        guess=(share, share),
        spoken=f"Precision against recall: share of {positive} among those called.",
    )
    gain = ThresholdCurve(
        "gain",
        "Gain",
        x=called / total,
        y=found,
        labels=("rows looked at, highest scores first", positives_found),
        guess=UNIT,
        spoken=f"Gain: {positives_found} against rows looked at.",
        remark="dashed: random scores; dotted: the best possible",
        behind=line(frame, np.array([0.0, share, 1.0]), np.array([0.0, 1.0, 1.0]), "guess best"),
    )
    drawn = []
    for curve in (roc, precision_recall, gain):
        marks = [
            curve.behind,
            _curve_and_guess(frame, curve.x, curve.y, curve.labels, curve.guess),
            _point(frame, curve.x[place], curve.y[place]),
        ]
        drawn.append(picture(frame, marks, label=curve.spoken, title=curve.title, remark=curve.remark, kind=curve.kind))
    return drawn


def _shade_beyond(frame: Frame, max_fpr: float) -> str:
    """The part of the plot area to the right of a false-positive rate."""
    left = float(frame.x(max_fpr))
    return box(left, frame.y.stop, frame.x.stop - left, frame.y.start - frame.y.stop, "shade")


def _curve_and_guess(
    frame: Frame, x: np.ndarray, y: np.ndarray, labels: tuple[str, str], guess: tuple[float, float]
) -> str:
    """Axes, the line of random scores, and a curve."""
    ends = np.array([frame.x.low, frame.x.high])
    return axes(frame, *labels, percents="xy") + line(frame, ends, np.array(guess), "guess") + line(frame, x, y)


def _point(frame: Frame, x: float, y: float) -> str:
    """The point of the threshold, hidden where it has no value."""
    if not (np.isfinite(x) and np.isfinite(y)):
        return dot(0.0, 0.0, "point", radius=6.0, more=' visibility="hidden"')
    return dot(float(frame.x(x)), float(frame.y(y)), "point", radius=6.0)


def drawn_bins(evaluation: Evaluation) -> tuple[Bin, ...]:
    """The groups of the calibration on the page: of few rows fewer than the ten of `Evaluation.bins`."""
    if evaluation.probabilities is None or evaluation.n >= BINS * LEAST_IN_BIN:
        return evaluation.bins
    return reliability(evaluation.positive, evaluation.probabilities, weights=evaluation.weights)


def calibration(
    bins: Sequence[Bin],
    names: Mapping[str, str],
    at: float | None,
    numbers: Sequence[CalibrationNumber] = (),
    title: str = "Calibration",
) -> Html:
    """Observed frequencies against predicted probabilities of groups of rows, with 95 % intervals (Wilson).

    `at` is the probability of the threshold, and `numbers` are measures of calibration.
    """
    plan = plan_calibration(*np.array(bins).T)
    top = plan.top
    frame = Frame((0.0, top), (0.0, top))
    labels = "predicted probability", f"observed: {names['positive']}"
    marks = [_curve_and_guess(frame, plan.predicted, plan.observed, labels, (0.0, top))]
    if at is not None:
        inside = min(at, top)
        marks.append(_point(frame, inside, float(np.interp(inside, plan.predicted, plan.observed))))
    for group, interval in zip(bins, zip(plan.low, plan.high, strict=True), strict=True):
        seen, *ends = map(percent, (group.observed, *interval))
        said = f"{group.rows:,.0f} rows: predicted {percent(group.predicted)}, observed {seen} ({' to '.join(ends)})"
        places = frame.y(np.array([group.observed, *interval]))
        marks.append(whisker(float(frame.x(group.predicted)), places, "dot", said, radius=3.0))
    remarks = ["groups of rows with 95 % intervals", "dashed: as predicted"]
    remarks += [f"{number.name.removeprefix('calibration ')} {number.value}" for number in numbers]
    return picture(
        frame,
        marks,
        label=f"Calibration: observed share of rows with {names['positive']} against predicted probability.",
        title=title,
        remark="; ".join(remarks),
        kind="calibration" if title == "Calibration" else "",  # the slider moves a point on this picture
    )


def distribution(curve: Curve, edges: np.ndarray, names: Mapping[str, str], threshold: float) -> Html:
    """Scores of both classes as shares of their class, with the threshold."""
    low, high = float(edges[0]), float(edges[-1])
    shares = {
        "negative": _shares_of_bars(curve, curve.alarms, edges),
        "positive": _shares_of_bars(curve, curve.hits, edges),
    }
    highest = 1.05 * max(float(share.max()) for share in shares.values())
    frame = Frame((low, high), (0.0, highest), width=480.0, height=250.0, top=44.0)
    marks = [axes(frame, "score", "share of the class", percents="y")]
    for css, share in shares.items():
        x, y = np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(share, 2), [0.0]])
        marks.append(area(frame, x, np.zeros_like(x), y, f"area {css}"))
        marks.append(line(frame, x, y, f"line {css}"))
    shown = float(np.clip(threshold, low, high))
    marks.append(upright_rule(frame, shown, "threshold", ' data-threshold=""'))
    marks.append(legend(frame, [("negative", names["negative"]), ("positive", names["positive"])]))
    return picture(
        frame,
        marks,
        label=f"Distribution of the scores of {names['negative']} and {names['positive']}.",
        title="Scores of both classes",
        remark="the outermost bars hold all rows beyond them; dashed: the threshold",
        kind="scores",
    )


def _shares_of_bars(curve: Curve, counts: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The share of a class in each bar; `counts` are its rows at or above each threshold of the curve."""
    places = np.searchsorted(-curve.thresholds, -edges[1:-1], side="right") - 1  # last scores >= each edge
    above_edges = np.concatenate([counts[-1:], counts[places], [0.0]])
    return -np.diff(above_edges) / counts[-1]
