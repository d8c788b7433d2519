"""Curves of several scores, or of several groups of rows, in one picture."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vrspam.metrics.thresholds import Curve
from vrspam.report.blocks import Grid
from vrspam.report.html import Html
from vrspam.report.pictures.frame import UNIT, Frame, axes, legend_of_lines, line, picture
from vrspam.report.stops import Stops

Curves = Mapping[str, tuple[np.ndarray, np.ndarray]]  # x and y by what they belong to

STYLES = ("negative", "positive other", "middle", "negative other", "positive", "middle other")
COARSE = 1.0 / 400.0  # how far a curve may move between two of its points


def several_curves(title: str, curves: Curves, labels: tuple[str, str]) -> Html:
    """Curves of two or more models in one unit square."""
    frame = Frame(UNIT, UNIT, width=440.0, height=380.0, right=28.0)  # room for half of "100 %" on a phone
    marks = [axes(frame, *labels, percents="xy")]
    entries = []
    for number, (name, (x, y)) in enumerate(curves.items()):
        css = STYLES[number % len(STYLES)]
        marks.append(line(frame, x, y, f"line {css}"))
        entries.append((css, name))
    marks.append(legend_of_lines(frame, entries, below=True))
    return picture(frame, marks, label=f"{title} of {' and '.join(curves)}.", title=title)


def curves_of(curves: Mapping[str, Curve]) -> Grid:
    """ROC curves, and curves of precision and recall, of two or more scores."""
    roc, precision = {}, {}
    for name, curve in curves.items():
        stops = Stops.of(curve, COARSE)
        hits, alarms = stops.hits[::-1], stops.alarms[::-1]
        roc[name] = alarms / curve.negatives, hits / curve.positives
        precision[name] = hits[1:] / curve.positives, hits[1:] / (hits[1:] + alarms[1:])
    drawn = [
        several_curves("ROC curves", roc, ("negatives called positive", "positives found")),
        several_curves("Precision and recall", precision, ("positives found", "positives among those called")),
    ]
    return Grid(drawn, "large")


def survival_curves(curves: Curves, labels: tuple[str, str]) -> Html:
    """Kaplan-Meier curves of three groups of rows, (times, share free of the event after each), the lowest first."""
    last = max(float(times[-1]) for times, _ in curves.values()) or 1.0
    frame = Frame((0.0, last), UNIT, width=480.0, height=310.0, top=64.0)
    marks = [axes(frame, *labels, percents="y")]
    entries = []
    for css, (name, (times, free)) in zip(("negative", "middle", "positive other"), curves.items(), strict=True):
        x = np.repeat(np.concatenate([[0.0], times]), 2)[1:]
        y = np.repeat(np.concatenate([[1.0], free]), 2)[:-1]
        marks.append(line(frame, x, y, f"line {css}"))
        entries.append((css, name))
    marks.append(legend_of_lines(frame, entries))
    label = f"Kaplan-Meier curves of {', '.join(curves)}."
    return picture(frame, marks, label=label, title="Thirds of the score (Kaplan-Meier)")
