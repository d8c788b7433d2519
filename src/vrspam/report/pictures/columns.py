"""What one column adds to the score: a curve with its band, or points for categories and few values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vrspam._utils.texts import shorten, text_width
from vrspam.inspection import Shape
from vrspam.pictures import columns
from vrspam.pictures.scales import number_ticks
from vrspam.report.html import Html
from vrspam.report.pictures.frame import (
    UNIT,
    WIDTH,
    Frame,
    area,
    axes,
    label_room,
    level_rule,
    line,
    picture,
    row_names,
    upright_rule,
)
from vrspam.report.pictures.marks import box, dot, segment, whisker, words

VALUE = 19.0  # height of the row of a value
Ends = tuple[float, float]  # of the scale that all columns share


def column_picture(shape: Shape, ends: Ends) -> Html:
    """What one column adds to the score, on a scale from ends[0] to ends[1]."""
    plan = columns.plan_column(shape, ends)
    remarks = list(plan.remarks)
    if shape.together:
        others = ", ".join(shorten(name, 40) for name in shape.together)
        remarks.append(f"says nearly the same as {others}")
    title, remark = shorten(shape.name, 70), "; ".join(remarks)
    if not plan.curve:
        label = f"What each value of {shape.name} adds to the score."
        frame, marks = _values(shape, plan, ends)
        return picture(frame, marks, label=label, title=title, remark=remark)
    label = f"What {shape.name} adds to the score, from {' to '.join(plan.ends)}."
    frame, marks = _curve(shape, plan, ends)
    return picture(frame, marks, label=label, title=title, remark=remark, kind="column", part=shape.part)


def _curve(shape: Shape, plan: columns.ColumnPlan, ends: Ends) -> tuple[Frame, list[str]]:
    """A curve with its band, the mean score, and the missing value at the right."""
    missing = shape.missing
    widest = max(map(text_width, number_ticks(*ends, room=np.inf).labels))
    right = 16.0 if missing is None else 80.0
    frame = Frame(plan.scale, ends, height=230.0, left=26.0 + widest, right=right)
    name = shorten(shape.name, 36)
    if plan.scale.words:
        name = f"{name} ({plan.scale.words})"
    grid, low, high = (values[plan.chosen] for values in (shape.grid, shape.low, shape.high))
    marks = [
        axes(frame, name, columns.ADDED, ticks=plan.ticks),
        level_rule(frame),
        area(frame, grid, np.clip(low, *ends), np.clip(high, *ends), "band"),
    ]
    if shape.mean_score is not None:
        marks.append(line(frame, grid, _inside(shape.mean_score[plan.chosen], ends), "mean"))
    marks.append(line(frame, grid, _inside(shape.contribution[plan.chosen], ends), "line"))
    for at in frame.x(plan.rug):
        marks.append(segment(float(at), frame.y.start, float(at), frame.y.start - 6.0, "tick"))
    if missing is not None:
        at = frame.x.stop + 50.0
        places = frame.y(np.clip(missing, *ends))
        marks.append(whisker(at, places, "missing", _said("missing", missing)))
        marks.append(words(at, frame.y.start + 15.0, "missing", "middle"))
    return frame, marks


def _inside(values: np.ndarray, ends: Ends) -> np.ndarray:
    """Values, missing where the picture has no room for them: there a line is broken."""
    return np.where((values >= ends[0]) & (values <= ends[1]), values, np.nan)


class _Value(NamedTuple):
    """A value of a column, what it adds with the interval, and the mean score of its rows (NaN: not known)."""

    name: str
    part: tuple[float, float, float]
    mean_score: float
    css: str = "dot"


def _values(shape: Shape, plan: columns.ColumnPlan, ends: Ends) -> tuple[Frame, list[str]]:
    """A point with its interval for each value, one below the other, and a ring for the mean score of its rows."""
    values = _listed_values(shape, plan)
    names = [value.name for value in values]
    frame = Frame(ends, UNIT, height=VALUE * len(names) + 56.0, left=min(label_room(names), 0.45 * WIDTH))
    heights = [frame.y.stop + VALUE * (number + 0.6) for number in range(len(names))]
    marks = [axes(frame, columns.ADDED), row_names(frame, names, heights), upright_rule(frame, 0.0)]
    for y, value in zip(heights, values, strict=True):
        if np.isfinite(value.mean_score):
            marks.append(dot(float(frame.x(value.mean_score)), y, "ring"))
        places = frame.x(np.clip(value.part, *ends))
        marks.append(whisker(y, places, value.css, _said(value.name, value.part), across=True))
    return frame, marks


def _listed_values(shape: Shape, plan: columns.ColumnPlan) -> list[_Value]:
    """The values that are drawn, the missing one last."""
    values = []
    for place, name in zip(plan.chosen, plan.ticks.labels, strict=True):
        part = shape.contribution[place], shape.low[place], shape.high[place]
        mean_score = np.nan if shape.mean_score is None else float(shape.mean_score[place])
        values.append(_Value(name, part, mean_score))
    if shape.missing is not None:
        mean_score = np.nan if shape.missing_mean_score is None else shape.missing_mean_score
        values.append(_Value("missing", shape.missing, mean_score, css="missing"))
    return values


def _said(name: str, part: tuple[float, float, float]) -> str:
    """What the pointer shows of a value, with its interval if that is known."""
    value, low, high = part
    interval = f" ({low:+.3f} to {high:+.3f})" if np.isfinite(part).all() else ""
    return f"{name}: {value:+.3f}{interval}"


def key(shapes: Sequence[Shape]) -> Html:
    """The legend of the pictures of these columns: what the marks that occur in curves and in points mean."""
    curves = [shape for shape in shapes if columns.is_curve(shape)]
    points = [shape for shape in shapes if not columns.is_curve(shape)]
    missing = [shape for shape in shapes if shape.missing is not None]
    marks = {  # each with the columns that have it
        columns.OWN_PART: [(points, dot(37.0, 7.0)), (curves, segment(0.0, 7.0, 26.0, 7.0, "line"))],
        columns.BAND: [(_with_interval(curves), box(18.0, 1.0, 26.0, 12.0, "band"))],
        columns.INTERVAL: [(_with_interval(points), segment(20.0, 7.0, 40.0, 7.0))],
        columns.MEAN_SCORE: [
            (_with_mean_score(points), dot(37.0, 7.0, "ring")),
            (_with_mean_score(curves), segment(0.0, 7.0, 26.0, 7.0, "mean")),
        ],
        "missing value": [(missing, dot(30.0, 7.0, "missing"))],
    }
    entries = []
    for name, alternatives in marks.items():
        drawn = "".join(mark for having, mark in alternatives if having)
        if drawn:
            svg = f'<svg viewBox="0 0 46 14" width="46" aria-hidden="true">{drawn}</svg>'
            entries.append(f'<span class="n">{svg}{name}</span>')
    return Html(f'<p class="remark marks">{" ".join(entries)}</p>')


def _with_interval(shapes: Sequence[Shape]) -> list[Shape]:
    return [shape for shape in shapes if np.isfinite(shape.low).all()]


def _with_mean_score(shapes: Sequence[Shape]) -> list[Shape]:
    return [shape for shape in shapes if shape.mean_score is not None]
