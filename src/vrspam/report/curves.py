"""Pictures of scores: ROC, precision and recall, gain, calibration, the distribution by class, an AUC on a scale.

Those that have a point for the threshold carry a `data-kind`, by which the script of the page moves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vrspam.report.explorer import Stops
from vrspam.report.layout import Drawing
from vrspam.report.numbers import NUMBERS, percent, shorten_all, text_width
from vrspam.report.svg import Frame, band, box, dot, line, number_axes, picture, rule, segment, words, x_axis, y_axis

UNIT = (0.0, 1.0)
BINS = (12, 40)  # least and most bars of a distribution
OUTSIDE = 0.005  # share of the rows on each side that the outermost bars of a distribution hold
GUESSING = "dashed: scores drawn at random"


def roc(stops: Stops, place: int, names: Mapping[str, str], max_fpr: float | None = None) -> Drawing:
    """Positives found against false alarms; with `max_fpr` what lies beyond is shaded."""
    frame = Frame.of(UNIT, UNIT)
    x, y = stops.alarms / stops.negatives, stops.hits / stops.positives
    beyond = shaded = ""
    if max_fpr is not None and max_fpr < 1.0:
        left = float(frame.x(max_fpr))
        beyond = box(left, frame.y.stop, frame.x.stop - left, frame.y.start - frame.y.stop, "shade")
        shaded = "; shaded: what does not count"
    marks = [
        beyond,
        number_axes(frame, f"rows with {names['negative']} called", "", shares=True),
        line(frame, np.array(UNIT), np.array(UNIT), "guess"),
        line(frame, x, y),
        _point(frame, x[place], y[place]),
    ]
    label = f"ROC curve: rows with {names['positive']} found against false alarms."
    remark = f"upwards: rows with {names['positive']} found; {GUESSING}{shaded}"
    return Drawing("ROC curve", picture(frame, marks, label=label, kind="roc"), remark)


def precision_recall(stops: Stops, place: int, names: Mapping[str, str]) -> Drawing:
    """Share of positives among the alerts, against the share of positives found."""
    frame = Frame.of(UNIT, UNIT)
    prevalence = stops.positives / (stops.positives + stops.negatives)
    x, y = stops.hits / stops.positives, stops.precision
    marks = [
        number_axes(frame, f"rows with {names['positive']} found", "", shares=True),
        line(frame, np.array(UNIT), np.full(2, prevalence), "guess"),
        line(frame, x, y),
        _point(frame, x[place], y[place]),
    ]
    label = f"Precision against recall: share of rows with {names['positive']} among those called."
    remark = f"upwards: rows with {names['positive']} among those called; {GUESSING}"
    return Drawing("Precision and recall", picture(frame, marks, label=label, kind="precision"), remark)


def gain(stops: Stops, place: int, names: Mapping[str, str]) -> Drawing:
    """Share of the positives found against the share of rows looked at, the highest scores first."""
    frame = Frame.of(UNIT, UNIT)
    total = stops.positives + stops.negatives
    x, y = stops.called / total, stops.hits / stops.positives
    best = stops.positives / total
    marks = [
        number_axes(frame, "rows looked at, highest scores first", "", shares=True),
        line(frame, np.array([0.0, best, 1.0]), np.array([0.0, 1.0, 1.0]), "guess best"),
        line(frame, np.array(UNIT), np.array(UNIT), "guess"),
        line(frame, x, y),
        _point(frame, x[place], y[place]),
    ]
    label = f"Gain: rows with {names['positive']} found against rows looked at."
    remark = f"upwards: rows with {names['positive']} found; {GUESSING}, dotted: the best possible"
    return Drawing("Gain", picture(frame, marks, label=label, kind="gain"), remark)


def calibration(
    predicted: np.ndarray, observed: np.ndarray, rows: np.ndarray, names: Mapping[str, str], at: float | None
) -> Drawing:
    """Observed frequencies against predicted probabilities of groups of rows, with 95 % intervals (Wilson)."""
    top = float(min(1.0, 1.08 * max(predicted.max(), np.max(wilson(observed, rows)[1]))))
    frame = Frame.of((0.0, top), (0.0, top))
    low, high = wilson(observed, rows)
    marks = [
        number_axes(frame, "predicted probability", "", shares=True),
        line(frame, np.array([0.0, top]), np.array([0.0, top]), "guess"),
        line(frame, predicted, observed),
    ]
    for p, o, a, b, n in zip(predicted, observed, low, high, rows, strict=True):
        x, y, ya, yb = (float(v) for v in (frame.x(p), frame.y(o), frame.y(a), frame.y(b)))
        title = f"{n:,.0f} rows: predicted {percent(p)}, observed {percent(o)} ({percent(a)} to {percent(b)})"
        marks += [segment(x, ya, x, yb), dot(x, y, title=title, radius=3.0)]
    if at is not None:
        at = min(at, top)
        marks.append(_point(frame, at, float(np.interp(at, predicted, observed))))
    label = f"Calibration: observed share of rows with {names['positive']} against predicted probability."
    remark = f"upwards: rows with {names['positive']} in groups, with 95 % intervals; dashed: as predicted"
    return Drawing("Calibration", picture(frame, marks, label=label, kind="calibration"), remark)


def distribution(
    positive: np.ndarray,
    scores: np.ndarray,
    names: Mapping[str, str],
    threshold: float,
    weights: np.ndarray | None = None,
) -> Drawing:
    """Scores of both classes as shares of their class, with the threshold."""
    low, high = np.quantile(scores, [OUTSIDE, 1.0 - OUTSIDE])
    if not low < high:
        low, high = low - 0.5, high + 0.5
    smaller = int(min(positive.sum(), (~positive).sum()))
    edges = np.linspace(low, high, int(np.clip(np.sqrt(smaller), *BINS)) + 1)
    mass = np.ones(scores.size) if weights is None else weights
    inside = np.clip(scores, low, high)
    shares = []
    for side in (~positive, positive):
        counts = np.histogram(inside[side], edges, weights=mass[side])[0]
        shares.append(counts / counts.sum())
    highest = 1.05 * max(float(share.max()) for share in shares)
    frame = Frame.of((low, high), (0.0, highest), width=480.0, height=250.0, top=44.0)
    marks = [x_axis(frame, "score"), y_axis(frame, "", shares=True)]
    for css, share in zip(("negative", "positive"), shares, strict=True):
        steps_x, steps_y = np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(share, 2), [0.0]])
        marks += [
            band(frame, steps_x, np.zeros_like(steps_x), steps_y, f"area {css}"),
            line(frame, steps_x, steps_y, f"line {css}"),
        ]
    marks.append(rule(frame, x=float(np.clip(threshold, low, high)), css="threshold", more=' data-threshold=""'))
    marks.append(_legend(frame, [("negative", names["negative"]), ("positive", names["positive"])]))
    label = f"Distribution of the scores of {names['negative']} and {names['positive']}."
    remark = "share of the class in each bar; the outermost bars hold all rows beyond them; dashed: the threshold"
    return Drawing("Scores of both classes", picture(frame, marks, label=label, kind="scores"), remark)


def two_curves(title: str, curves: Mapping[str, tuple[np.ndarray, np.ndarray]], axes: tuple[str, str]) -> Drawing:
    """Curves of two models in one unit square."""
    frame = Frame.of(UNIT, UNIT, width=440.0, height=380.0, left=60.0)
    marks = [number_axes(frame, *axes, shares=True)]
    styles = ("line negative", "line positive other")
    for css, (x, y) in zip(styles, curves.values(), strict=True):
        marks.append(line(frame, x, y, css))
    marks.append(_legend(frame, list(zip(("negative", "positive"), curves, strict=True)), below=True))
    return Drawing(title, picture(frame, marks, label=f"{title} of {' and '.join(curves)}."))


def auc_scale(auc: float, low: float, high: float) -> str:
    """An AUC and its interval on a scale from guessing to perfect."""
    least = 0.5 if low >= 0.5 else float(np.floor(10 * low) / 10)
    frame = Frame.of((least, 1.0), UNIT, width=240.0, height=52.0, left=6.0, right=8.0, top=4.0, bottom=22.0)
    a, b, at = (float(v) for v in (frame.x(low), frame.x(high), frame.x(auc)))
    guessing = float(frame.x(0.5))
    below = words(guessing, 46.0, "0.5 guessing", "" if least == 0.5 else "middle")
    marks = [
        segment(frame.x.start, 16.0, frame.x.stop, 16.0, "scale"),
        segment(guessing, 11.0, guessing, 21.0, "tick"),
        box(a, 9.0, b - a, 14.0, "interval"),
        segment(at, 5.0, at, 27.0, "at"),
        f"<g{NUMBERS}>{below}{words(frame.x.stop, 46.0, '1 perfect', 'end')}</g>",
    ]
    return picture(frame, marks, label=f"AUC {auc:.3f}, interval {low:.3f} to {high:.3f}, on a scale to 1.")


def forest(rows: Sequence[tuple[str, float, float, float, bool]], reference: float) -> str:
    """AUCs with intervals below each other, each with a name; `reference` is a line through all of them.

    The last entry of a row says whether it is marked.
    """
    names = shorten_all([row[0] for row in rows], 22)
    least = max(0.0, min(0.5, *(row[2] - 0.02 for row in rows)))  # an interval that ends beside its name looks cut
    left, height = 12.0 + max(map(text_width, names)), 52.0 + 21.0 * len(rows)
    frame = Frame.of((least, 1.0), UNIT, width=360.0, height=height, left=left)
    marks = [x_axis(frame, "AUC"), rule(frame, x=reference, css="guess")]
    for number, (row, name) in enumerate(zip(rows, names, strict=True)):
        y = frame.y.stop + 11.0 + 21.0 * number
        full, auc, low, high, marked = row
        a, b, at = (float(v) for v in (frame.x(low), frame.x(high), frame.x(auc)))
        title = f"{full}: AUC {auc:.3f} ({low:.3f} to {high:.3f})"
        css = "marked" if marked else "dot"
        marks += [
            words(frame.x.start - 6.0, y + 4.0, name, "end", full if name != full else ""),
            segment(a, y, b, y),
            dot(at, y, css, title),
        ]
    return picture(frame, marks, label="AUC of each group with its interval; dashed: all rows.")


def _point(frame: Frame, x: float, y: float) -> str:
    """The point of the threshold; where it has no value it is hidden."""
    there = np.isfinite(x) and np.isfinite(y)
    px, py = (float(frame.x(x)), float(frame.y(y))) if there else (0.0, 0.0)
    return dot(px, py, "point", radius=6.0, more="" if there else ' visibility="hidden"')


def _legend(frame: Frame, entries: Sequence[tuple[str, str]], below: bool = False) -> str:
    """Which colour is which, in a corner of the plot area."""
    parts = []
    short = shorten_all([name for _, name in entries], 44 if below else 34)
    for number, ((css, name), text) in enumerate(zip(entries, short, strict=True)):
        y = (frame.y.start - 30.0 if below else 12.0) + 18.0 * number
        x = frame.x.start + (160.0 if below else 24.0)
        parts.append(box(x - 22.0, y - 6.0, 14.0, 10.0, f"key {css}"))
        parts.append(words(x - 3.0, y + 3.5, text, "", name if text != name else ""))
    return "".join(parts)


def wilson(share: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's 95 % interval of a share."""
    z = 1.959963984540054
    middle = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z * np.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2)) / (1 + z**2 / rows)
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)
