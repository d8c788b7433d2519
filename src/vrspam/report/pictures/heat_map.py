"""What a pair of columns adds to the score beyond the curves of both."""

from __future__ import annotations

import numpy as np

from vrspam._utils.texts import percent, shorten, shorten_distinct, text_width
from vrspam.inspection import PairEffect
from vrspam.pictures.pairs import OF_VARIANCE, bin_ticks
from vrspam.report.html import Html
from vrspam.report.pictures.frame import HEIGHT, WIDTH, Frame, axis_name, label_room, picture, row_names
from vrspam.report.pictures.marks import box, words


def heat_map(pair: PairEffect, largest: float) -> Html:
    """A cell for each bin of both columns; a cell of the size `largest` has the strongest colour."""
    first, second = pair.columns
    below, beside = bin_ticks(first), bin_ticks(second)
    short_below = shorten_distinct(below.labels, 14)
    n_columns, n_rows = pair.values.shape
    room = 10.0 + 0.77 * max(map(text_width, short_below))  # of labels that are turned
    frame = Frame(
        (0.0, float(n_columns)),
        (0.0, float(n_rows)),
        height=HEIGHT + room - 20.0,
        left=min(label_room(beside.labels, 16) + 14.0, 0.4 * WIDTH),
        bottom=room + 22.0,
    )
    marks = _cells(frame, pair, largest)
    marks.append(row_names(frame, beside.labels, frame.y(beside.places).tolist(), 16))
    for place, short, label in zip(below.places, short_below, below.labels, strict=True):
        at = f"translate({float(frame.x(place)) + 3.0:.1f} {frame.y.start + 12.0:.1f}) rotate(-50)"
        marks.append(f'<g transform="{at}">{words(0, 0, short, "end", label)}</g>')
    marks += [axis_name(frame, first.name), axis_name(frame, second.name, upright=True)]
    return picture(
        frame,
        marks,
        label=f"How {first.name} and {second.name} interact.",
        title=f"{shorten(first.name, 50)} × {shorten(second.name, 60)}",
        remark=f"{percent(pair.share)} {OF_VARIANCE}",
    )


def _cells(frame: Frame, pair: PairEffect, largest: float) -> list[str]:
    """A box for each cell, grey where there are hardly any rows."""
    first, second = pair.columns
    n_columns, n_rows = pair.values.shape
    width, height = (frame.x.stop - frame.x.start) / n_columns, (frame.y.start - frame.y.stop) / n_rows
    cells = []
    for i in range(n_columns):
        for j in range(n_rows):
            value = float(pair.values[i, j])
            x, y = frame.x.start + i * width, frame.y.start - (j + 1) * height
            where = f"{first.name}: {first.labels[i]}, {second.name}: {second.labels[j]}"
            if not np.isfinite(value):
                cells.append(box(x, y, width, height, "cell none", f"{where}: fewer than three rows"))
                continue
            css = "cell up" if value > 0 else "cell down"
            strength = min(1.0, abs(value) / largest)
            opacity = f' fill-opacity="{strength:.2f}"'
            cells.append(box(x, y, width, height, css, f"{where}: {value:+.3f}", opacity))
    return cells
