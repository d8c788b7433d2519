"""The decision curve."""

from __future__ import annotations

import numpy as np

from vrspam.metrics import NetBenefit
from vrspam.report.html import Html
from vrspam.report.pictures.frame import Frame, area, axes, level_rule, line, picture


def decision_curve(benefit: NetBenefit, last: float) -> Html:
    """Net benefit per 100 rows of acting from a probability on, with its band; beside it acting on all and on none."""
    inside = benefit.thresholds <= last
    at, model, low, high, _, everyone = (values[inside] for values in benefit)
    top = 105.0 * max(float(high.max()), 1e-3)
    bottom = min(-top / 5.0, 105.0 * float(low.min()))
    frame = Frame((0.0, last), (max(bottom, -top), top), width=440.0, height=280.0, right=28.0, top=12.0)
    marks = [
        axes(frame, "act on rows from this probability on", "net true alerts per 100 rows", percents="x"),
        level_rule(frame),
        line(frame, at, _inside(frame, 100.0 * everyone), "guess"),
        area(frame, at, _clipped(frame, 100.0 * low), _clipped(frame, 100.0 * high), "band"),
        line(frame, at, _inside(frame, 100.0 * model)),
    ]
    return picture(
        frame,
        marks,
        label="Decision curve: net benefit of the model, of acting on everyone and on no one.",
        title="Decision curve",
        remark="band: interval; dashed: acting on everyone; line at 0: on no one",
    )


def _inside(frame: Frame, values: np.ndarray) -> np.ndarray:
    """Values, missing where the picture has no room for them: there a line is broken."""
    return np.where((values >= frame.y.low) & (values <= frame.y.high), values, np.nan)


def _clipped(frame: Frame, values: np.ndarray) -> np.ndarray:
    """Values, moved to the edge where the picture has no room for them."""
    return np.clip(values, frame.y.low, frame.y.high)
