"""One AUC on its scale, and the AUCs of groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vrspam._utils.texts import auc_text, interval_text
from vrspam.report.html import NUMBERS, Html
from vrspam.report.pictures.frame import UNIT, Frame, axes, label_room, picture, row_names, upright_rule
from vrspam.report.pictures.marks import box, segment, whisker, words

if TYPE_CHECKING:
    from vrspam.measures.subgroups import Subgroup

LEVEL = 21.0  # height of the row of a group
MOST_LETTERS = 26  # of the name of a group: two dates


def auc_scale(name: str, auc: float, low: float, high: float) -> Html:
    """An AUC with its interval, if that is known, on a scale from guessing (or less) to perfect."""
    has_interval = not np.isnan(low)
    leftmost = low if has_interval else auc
    least = 0.5  # where the scale begins
    if leftmost < 0.5:
        least = float(np.floor(10 * leftmost) / 10)
    frame = Frame((least, 1.0), UNIT, width=240.0, height=52.0, left=6.0, right=8.0, top=4.0, bottom=22.0)
    at = float(frame.x(auc))
    guessing = float(frame.x(0.5))
    start = stop = at
    if has_interval:
        start = float(frame.x(low))
        stop = float(frame.x(high))
    ends = words(guessing, 46.0, "0.5 guessing", "" if least == 0.5 else "middle")
    ends += words(frame.x.stop, 46.0, "1 perfect", "end")
    marks = [
        segment(frame.x.start, 16.0, frame.x.stop, 16.0, "scale"),
        segment(guessing, 11.0, guessing, 21.0, "tick"),
        box(start, 9.0, stop - start, 14.0, "interval"),
        segment(at, 5.0, at, 27.0, "at"),
        f"<g{NUMBERS}>{ends}</g>",
    ]
    interval = f", interval {interval_text(low, high)}" if has_interval and low != high else ""
    return picture(frame, marks, label=f"{name}: {auc_text(auc)}{interval}, on a scale to 1.")


def forest(title: str, groups: Sequence[Subgroup], reference: float, measure: str) -> Html:
    """The AUCs of groups of rows with their intervals; a line marks `reference`, the AUC of all rows."""
    names = [group.name for group in groups]
    aucs = [group.auc for group in groups if group.auc is not None]
    least = max(0.0, min(0.5, *(auc.low - 0.02 for auc in aucs)))  # no interval touches its name
    frame = Frame(
        (least, 1.0), UNIT, width=360.0, height=52.0 + LEVEL * len(groups), left=label_room(names, MOST_LETTERS)
    )
    heights = [frame.y.stop + 11.0 + LEVEL * number for number in range(len(groups))]
    marks = [
        axes(frame, measure),
        upright_rule(frame, reference, "guess"),
        row_names(frame, names, heights, MOST_LETTERS),
    ]
    for y, group, auc in zip(heights, groups, aucs, strict=True):
        said = f"{group.name}: {measure} {auc_text(auc.auc)} ({interval_text(auc.low, auc.high)})"
        css = "marked" if group.ranked_differently else "dot"
        marks.append(whisker(y, frame.x(np.array([auc.auc, auc.low, auc.high])), css, said, across=True))
    label = f"{measure} of each group with its interval; dashed: all rows."
    return picture(frame, marks, label=label, title=title, remark="dashed: all rows")
