"""The learning curve."""

from __future__ import annotations

import numpy as np

from vrspam._utils.texts import auc_text
from vrspam.model_selection.learning_curve import LearningCurve
from vrspam.pictures.scales import Scale, Ticks
from vrspam.report.html import Html
from vrspam.report.pictures.frame import Frame, area, axes, line, picture, upright_rule
from vrspam.report.pictures.marks import dot


def learning_curve(curve: LearningCurve) -> Html:
    """The AUC of models trained on parts of the rows, and the AUC to expect from up to four times the rows."""
    rows = np.geomspace(curve.rows[0], 4.0 * curve.total, 40)
    middle, low, high = np.array([curve.at(float(n)) for n in rows]).T
    ahead = rows >= curve.rows[-1]
    lowest = float(min(low[ahead].min(), curve.auc.min(), middle.min()))
    highest = min(1.0, float(high[ahead].max()))
    room = 0.05 * (highest - lowest)
    scale = Scale(float(rows[0]), float(rows[-1]), "log")
    frame = Frame(scale, (lowest - room, highest + room), width=440.0, right=36.0)
    marks = [
        axes(frame, "rows to train on", "AUC", ticks=_ticks(curve, rows[0])),
        area(frame, rows[ahead], low[ahead], high[ahead], "band"),
        line(frame, rows, middle),
        upright_rule(frame, float(curve.total), "guess"),
    ]
    for n, auc in zip(curve.rows, curve.auc, strict=True):
        said = f"{n:,.0f} rows: AUC {auc_text(auc)}"
        marks.append(dot(float(frame.x(n)), float(frame.y(auc)), title=said))
    return picture(
        frame,
        marks,
        label="Learning curve: AUC against rows to train on, with a band.",
        title="Learning curve",
        remark="dots: models trained on parts of the rows; band: 90 %; dashed: the rows at hand",
    )


def _ticks(curve: LearningCurve, first: float) -> Ticks:
    """All rows, four times as many, and a quarter and a sixteenth of them."""
    places = curve.total * 4.0 ** np.arange(-2, 2)
    places = places[places >= first]
    return Ticks(places, [f"{place:,.0f}" for place in places])
