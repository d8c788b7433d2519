"""Pictures as SVG: axes and marks; curves and a distribution of scores; curves of columns, heat maps, bars.

Colours are classes (page.css), so that a picture follows the light or dark page around it. Lengths are in units of the
picture, about pixels of the screen. `vrspam.model.drawing` decides what is drawn of a column. Pictures that have a
point for the threshold carry a `data-kind`, by which the script of the page finds and moves the point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import zip_longest
from typing import Any

import numpy as np

from vrspam._utils import texts
from vrspam._utils.messages import Parameter
from vrspam.inspection import PairEffect, Shape
from vrspam.metrics import NetBenefit
from vrspam.metrics.thresholds import BINS, LEAST_IN_BIN, Bin, Curve, reliability, wilson
from vrspam.model import drawing
from vrspam.model_selection.learning_curve import LearningCurve
from vrspam.report.page import NUMBERS, QUIET, WORRIES, Html, Stops, facts, grid, noticed, spelled

WIDTH, HEIGHT = 330.0, 270.0


class Frame:
    """The plot area of a picture within its margins, for values from x[0] to x[1] and from y[0] to y[1]."""

    def __init__(
        self,
        x: tuple[float, float] | drawing.Scale,
        y: tuple[float, float],
        *,
        width: float = WIDTH,
        height: float = HEIGHT,
        left: float = 60.0,
        right: float = 20.0,
        top: float = 8.0,
        bottom: float = 42.0,
    ):
        self.width, self.height = width, height
        scale = x if isinstance(x, drawing.Scale) else drawing.Scale(*x)
        self.x = scale._replace(start=left, stop=width - right)
        self.y = drawing.Scale(*y, start=height - bottom, stop=top)


def picture(
    frame: Frame, marks: Iterable[str], *, label: str, title: str = "", remark: str = "", kind: str = "", part: str = ""
) -> Html:
    """Return the picture with a title above and a remark below, or the picture alone without them.

    `label` is what a screen reader says, `kind` tells the script of the page what kind of picture it is, and `part`
    names the part of a date on the x axis ("month").
    """
    size = f'viewBox="0 0 {frame.width:g} {frame.height:g}" width="{1.3 * frame.width:.0f}"'
    broad = ' class="broad"' if frame.width > 400.0 else ""  # larger letters on a phone
    kind = f' data-kind="{escape(kind)}"' if kind else ""
    kind += f' data-part="{escape(part)}"' if part else ""
    spoken = f'role="img" aria-label="{escape(label)}"'
    # what the script needs to find values under the pointer
    numbers = [f"{v:.10g}" for s in (frame.x, frame.y) for v in (s.low, s.high, s.start, s.stop)]
    bent = {"linear": "", "log": ' data-log="0"', "symlog": f' data-log="{frame.x.middle:.10g}"'}
    data = f'data-frame="{" ".join(numbers)}"{bent[frame.x.kind]}'
    svg = f"<svg {size}{broad} {spoken}{kind} {data}>{''.join(marks)}</svg>"
    if not (title or remark):
        return Html(svg)
    below = f'<p class="remark">{spelled(remark)}</p>' if remark else ""
    return Html(f"<figure><figcaption><bdi>{escape(title)}</bdi></figcaption>{svg}{below}</figure>")


def axes(
    frame: Frame, x_label: str, y_label: str = "", *, ticks: drawing.Ticks | None = None, percents: str = ""
) -> str:
    """Ticks and names of the axes: x below the plot area (round numbers by default), y beside it if it has a name.

    The values of `percents` ("x", "y", "xy") are shares, shown in percent.
    """
    left, right, base, top = frame.x.start, frame.x.stop, frame.y.start, frame.y.stop
    if ticks is None:
        ticks = drawing.number_ticks(frame.x.low, frame.x.high, room=right - left, shares="x" in percents)
    parts = []
    for tick, text in zip(*ticks, strict=True):
        at, half = float(frame.x(tick)), texts.text_width(text) / 2
        parts.append(f'<path class="grid-line" d="M{at:.1f} {base:g}V{top:g}"/>')
        parts.append(words(min(max(at, half), frame.width - half), base + 15.0, text, "middle"))
    if y_label:
        heights = drawing.number_ticks(frame.y.low, frame.y.high, room=np.inf, shares="y" in percents)
        for tick, text in zip(*heights, strict=True):
            at = float(frame.y(tick))
            parts.append(f'<path class="grid-line" d="M{left:g} {at:.1f}H{right:g}"/>')
            parts.append(words(left - 6.0, at + 4.0, text, "end"))
    name = axis_name(frame, y_label, upright=True) if y_label else ""
    return f"<g{NUMBERS}>{''.join(parts)}</g>{axis_name(frame, x_label)}{name}"


def axis_name(frame: Frame, label: str, upright: bool = False) -> str:
    """The name of an axis, below the plot area or `upright` beside it, moved where it would leave the picture."""
    side, room = (frame.y, frame.height - 10.0) if upright else (frame.x, frame.width)
    short = texts.shorten_distinct([label], len(label), room)[0]
    half = texts.text_width(short) / 2
    middle = min(max((side.start + side.stop) / 2, half), room - half)
    if not upright:
        return words(middle, frame.height - 6.0, short, "middle name", label)
    return f'<g transform="translate(11 {middle:.1f}) rotate(-90)">{words(0, 0, short, "middle name", label)}</g>'


def label_room(names: Sequence[str], most: int = 22) -> float:
    """The room that names beside an axis need."""
    return 12.0 + max(map(texts.text_width, texts.shorten_distinct(names, most)), default=0.0)


def row_names(frame: Frame, names: Sequence[str], places: Sequence[float], most: int = 22) -> str:
    """Names beside the plot area, each at its place; the pointer shows the full form of a name that is cut."""
    return "".join(
        words(frame.x.start - 6.0, at + 4.0, short, "end", name)
        for name, short, at in zip(names, texts.shorten_distinct(names, most, frame.x.start - 8.0), places, strict=True)
    )


def line(frame: Frame, x: np.ndarray, y: np.ndarray, css: str = "line", below: np.ndarray | None = None) -> str:
    """A line through points, to a tenth of a unit, broken where a number is missing.

    With `below`, the area between this line and that one, or nothing if a number of either is missing.
    """
    shape, x, y = "polyline", np.asarray(x, float), np.asarray(y, float)
    if below is not None:
        if not (np.isfinite(below).all() and np.isfinite(y).all()):
            return ""
        shape, x, y = "polygon", np.concatenate([x, x[::-1]]), np.concatenate([y, below[::-1]])
    there = np.isfinite(x) & np.isfinite(y)
    parts = []
    for piece in np.split(np.arange(x.size), np.flatnonzero(~there)):
        piece = piece[there[piece]]
        points: list[str] = []
        for a, b in zip(frame.x(x[piece]).tolist(), frame.y(y[piece]).tolist(), strict=True):
            text = f"{a:.1f},{b:.1f}"
            if not points or text != points[-1]:  # a point at the same place as the last one is left out
                points.append(text)
        if points:
            parts.append(f'<{shape} class="{css}" points="{" ".join(points)}"/>')
    return "".join(parts)


def rule(frame: Frame, *, x: float | None = None, css: str = "rule", more: str = "") -> str:
    """A line across the plot area: upright at a value of x, else along y = 0."""
    if x is None:
        at = float(frame.y(0.0))
        return segment(frame.x.start, at, frame.x.stop, at, css)
    at = float(frame.x(x))
    return segment(at, frame.y.start, at, frame.y.stop, css, more)


def dot(x: float, y: float, css: str = "dot", title: str = "", radius: float = 4.0, more: str = "") -> str:
    """A point, at a place in units of the picture."""
    words = f"<title>{escape(title)}</title>" if title else ""
    return f'<circle class="{css}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"{more}>{words}</circle>'


def segment(x1: float, y1: float, x2: float, y2: float, css: str = "whisker", more: str = "") -> str:
    """A straight line between two places."""
    return f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{more}/>'


def box(x: float, y: float, width: float, height: float, css: str, title: str = "", more: str = "") -> str:
    """A rectangle, at a place in units of the picture."""
    words = f"<title>{escape(title)}</title>" if title else ""
    sizes = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.0):.1f}" height="{max(height, 0.0):.1f}"'
    return f'<rect class="{css}" {sizes}{more}>{words}</rect>'


def words(x: float, y: float, text: str, css: str = "", full: str = "") -> str:
    """A text, at a place in units of the picture; if it was cut, the pointer shows its `full` form."""
    more = f"<title>{escape(full)}</title>" if full not in ("", text) else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}">{escape(text)}{more}</text>'


UNIT = (0.0, 1.0)
BAR_LETTERS = 25  # the longest name beside a bar
ROW = 19.0  # height of a row of a list


def threshold_curves(stops: Stops, place: int, names: Mapping[str, str], max_fpr: float | None = None) -> list[Html]:
    """ROC curve, precision and recall, gain, with the point of the threshold; what lies beyond `max_fpr` is shaded."""
    frame, positive = Frame(UNIT, UNIT), f"rows with {names['positive']}"
    total, found = stops.positives + stops.negatives, stops.hits / stops.positives
    share, false, called = stops.positives / total, stops.alarms / stops.negatives, (stops.hits + stops.alarms) / total
    with np.errstate(invalid="ignore"):
        precision = stops.hits / (stops.hits + stops.alarms)  # NaN where no row is called
    hit = f"{positive} found"
    curves = {
        "roc": ("ROC curve", false, found, (f"rows with {names['negative']} called positive", hit), UNIT),
        "precision": (
            "Precision and recall",
            found,
            precision,
            (hit, f"called rows that have {names['positive']}"),
            (share, share),
        ),
        "gain": ("Gain", called, found, ("rows looked at, highest scores first", hit), UNIT),
    }
    spoken = {
        "roc": f"ROC curve: {hit} against false alarms.",
        "precision": f"Precision against recall: share of {positive} among those called.",
        "gain": f"Gain: {hit} against rows looked at.",
    }
    remarks = dict.fromkeys(curves, "dashed: random scores")
    remarks["gain"] += "; dotted: the best possible"
    more = {"gain": line(frame, np.array([0.0, share, 1.0]), np.array([0.0, 1.0, 1.0]), "guess best")}
    if max_fpr is not None and max_fpr < 1.0:
        left = float(frame.x(max_fpr))
        more["roc"] = box(left, frame.y.stop, frame.x.stop - left, frame.y.start - frame.y.stop, "shade")
        remarks["roc"] += "; shaded: not in the partial AUC"
    drawn = []
    for kind, (title, x, y, labels, guess) in curves.items():
        marks = [more.get(kind, ""), _threshold_curve(frame, x, y, (x[place], y[place]), labels, guess)]
        drawn.append(picture(frame, marks, label=spoken[kind], title=title, remark=remarks[kind], kind=kind))
    return drawn


def _threshold_curve(
    frame: Frame,
    x: np.ndarray,
    y: np.ndarray,
    point: tuple[float, float] | None,
    labels: tuple[str, str],
    guess: tuple[float, float],
) -> str:
    """Axes, the line of random scores, a curve, and the point of the threshold, hidden where it has no value."""
    ends = np.array([frame.x.low, frame.x.high])
    drawn = axes(frame, *labels, percents="xy") + line(frame, ends, np.array(guess), "guess") + line(frame, x, y)
    if point is None:
        return drawn
    if not np.isfinite(point).all():
        return drawn + dot(0.0, 0.0, "point", radius=6.0, more=' visibility="hidden"')
    return drawn + dot(float(frame.x(point[0])), float(frame.y(point[1])), "point", radius=6.0)


def drawn_bins(evaluation: Any) -> tuple[Bin, ...]:
    """The groups of the calibration on the page: of few rows fewer than the ten of `Evaluation.bins`."""
    if evaluation.probabilities is None or evaluation.n >= BINS * LEAST_IN_BIN:
        return evaluation.bins
    return reliability(evaluation.positive, evaluation.probabilities, weights=evaluation.weights)


def calibration(
    bins: Sequence[Bin],
    names: Mapping[str, str],
    at: float | None,
    numbers: Sequence[tuple[str, str, str]] = (),
    title: str = "Calibration",
) -> Html:
    """Observed frequencies against predicted probabilities of groups of rows, with 95 % intervals (Wilson).

    `numbers` are measures of calibration: name, value, what would be right.
    """
    rows, predicted, observed = np.array(bins).T
    low, high = wilson(observed, rows)
    top = float(min(1.0, 1.08 * max(predicted.max(), high.max())))
    frame = Frame((0.0, top), (0.0, top))
    point = None if at is None else (min(at, top), float(np.interp(min(at, top), predicted, observed)))
    labels = "predicted probability", f"observed: {names['positive']}"
    marks = [_threshold_curve(frame, predicted, observed, point, labels, (0.0, top))]
    for p, n, part in zip(predicted, rows, zip(observed, low, high, strict=True), strict=True):
        o, a, b = map(texts.percent, part)
        said = f"{n:,.0f} rows: predicted {texts.percent(p)}, observed {o} ({a} to {b})"
        marks.append(whisker(float(frame.x(p)), frame.y(np.array(part)), "dot", said, radius=3.0))
    label = f"Calibration: observed share of rows with {names['positive']} against predicted probability."
    remark = "groups of rows with 95 % intervals; dashed: as predicted"
    remark = "; ".join([remark, *(f"{name.removeprefix('calibration ')} {value}" for name, value, _ in numbers)])
    kind = "calibration" if title == "Calibration" else ""  # the slider moves a point on this picture
    return picture(frame, marks, label=label, title=title, remark=remark, kind=kind)


def decision_curve(found: NetBenefit, last: float) -> Html:
    """Net benefit per 100 rows of acting from a probability on, with its band; beside it acting on all and on none."""
    inside = found.thresholds <= last
    at, model, low, high, _, every = (values[inside] for values in found)
    top = 105.0 * max(float(high.max()), 1e-3)
    bottom = min(-top / 5.0, 105.0 * float(low.min()))
    frame = Frame((0.0, last), (max(bottom, -top), top), width=440.0, height=280.0, right=28.0, top=12.0)
    low, high = (np.clip(100.0 * values, frame.y.low, top) for values in (low, high))
    model, every = (  # a line is broken where the picture has no room for it
        np.where((100.0 * values >= frame.y.low) & (100.0 * values <= top), 100.0 * values, np.nan)
        for values in (model, every)
    )
    marks = [axes(frame, "act on rows from this probability on", "net true alerts per 100 rows", percents="x")]
    marks += [rule(frame), line(frame, at, every, "guess")]
    marks += [line(frame, at, high, "band", low), line(frame, at, model)]
    label = "Decision curve: net benefit of the model, of acting on everyone and on no one."
    remark = "band: interval; dashed: acting on everyone; line at 0: on no one"
    return picture(frame, marks, label=label, title="Decision curve", remark=remark)


def distribution(curve: Curve, edges: np.ndarray, names: Mapping[str, str], threshold: float) -> Html:
    """Scores of both classes as shares of their class, with the threshold."""
    low, high, shares = float(edges[0]), float(edges[-1]), []
    places = np.searchsorted(-curve.thresholds, -edges[1:-1], side="right") - 1  # last scores >= each edge
    for counts in (curve.alarms, curve.hits):
        shares.append(-np.diff(np.concatenate([counts[-1:], counts[places], [0.0]])) / counts[-1])
    highest = 1.05 * max(float(share.max()) for share in shares)
    frame = Frame((low, high), (0.0, highest), width=480.0, height=250.0, top=44.0)
    marks = [axes(frame, "score", "share of the class", percents="y")]
    for css, share in zip(("negative", "positive"), shares, strict=True):
        steps_x, steps_y = np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(share, 2), [0.0]])
        marks += [
            line(frame, steps_x, steps_y, f"area {css}", np.zeros_like(steps_x)),
            line(frame, steps_x, steps_y, f"line {css}"),
        ]
    marks.append(rule(frame, x=float(np.clip(threshold, low, high)), css="threshold", more=' data-threshold=""'))
    marks.append(_legend(frame, [("negative", names["negative"]), ("positive", names["positive"])]))
    label = f"Distribution of the scores of {names['negative']} and {names['positive']}."
    remark = "the outermost bars hold all rows beyond them; dashed: the threshold"
    return picture(frame, marks, label=label, title="Scores of both classes", remark=remark, kind="scores")


def several_curves(title: str, curves: Mapping[str, tuple[np.ndarray, np.ndarray]], labels: tuple[str, str]) -> Html:
    """Curves of two or more models in one unit square."""
    frame = Frame(UNIT, UNIT, width=440.0, height=380.0, right=28.0)  # room for half of "100 %" on a phone
    marks = [axes(frame, *labels, percents="xy")]
    known = "negative", "positive other", "middle", "negative other", "positive", "middle other"
    styles = [known[place % len(known)] for place in range(len(curves))]
    for css, (x, y) in zip(styles, curves.values(), strict=True):
        marks.append(line(frame, x, y, f"line {css}"))
    marks.append(_legend(frame, list(zip(styles, curves, strict=True)), below=True))
    return picture(frame, marks, label=f"{title} of {' and '.join(curves)}.", title=title)


def curves_of(curves: Mapping[str, Curve]) -> Html:
    """ROC curves, and curves of precision and recall, of two or more scores."""
    roc, precision = {}, {}
    for name, curve in curves.items():
        stops = Stops.of(curve, 1.0 / 400.0)
        hits, alarms = stops.hits[::-1], stops.alarms[::-1]
        roc[name] = alarms / curve.negatives, hits / curve.positives
        precision[name] = hits[1:] / curve.positives, hits[1:] / (hits[1:] + alarms[1:])
    drawn = [
        several_curves("ROC curves", roc, ("negatives called positive", "positives found")),
        several_curves("Precision and recall", precision, ("positives found", "positives among those called")),
    ]
    return grid(drawn, "large")


def survival_curves(curves: Mapping[str, tuple[np.ndarray, np.ndarray]], labels: tuple[str, str]) -> Html:
    """Kaplan-Meier curves of three groups of rows, (times, share free of the event after each), the lowest first."""
    last = max(float(times[-1]) for times, _ in curves.values()) or 1.0
    frame = Frame((0.0, last), UNIT, width=480.0, height=310.0, top=64.0)
    marks, styles = [axes(frame, *labels, percents="y")], ("negative", "middle", "positive other")
    for css, (times, free) in zip(styles, curves.values(), strict=True):
        x, y = np.repeat(np.concatenate([[0.0], times]), 2)[1:], np.repeat(np.concatenate([[1.0], free]), 2)[:-1]
        marks.append(line(frame, x, y, f"line {css}"))
    marks.append(_legend(frame, list(zip(styles, curves, strict=True)), lines=True))
    label = f"Kaplan-Meier curves of {', '.join(curves)}."
    return picture(frame, marks, label=label, title="Thirds of the score (Kaplan-Meier)")


def learning_curve(curve: LearningCurve) -> Html:
    """The AUC of models trained on parts of the rows, and the AUC to expect from up to four times the rows."""
    rows = np.geomspace(curve.rows[0], 4.0 * curve.total, 40)
    middle, low, high = np.array([curve.at(float(n)) for n in rows]).T
    ahead = rows >= curve.rows[-1]
    lowest, highest = float(min(low[ahead].min(), curve.auc.min(), middle.min())), min(1.0, float(high[ahead].max()))
    room = 0.05 * (highest - lowest)
    scale = drawing.Scale(float(rows[0]), float(rows[-1]), "log")
    frame = Frame(scale, (lowest - room, highest + room), width=440.0, right=36.0)
    shown = curve.total * 4.0 ** np.arange(-2, 2)
    shown = shown[shown >= rows[0]]
    marks = [axes(frame, "rows to train on", "AUC", ticks=drawing.Ticks(shown, [f"{n:,.0f}" for n in shown]))]
    marks += [line(frame, rows[ahead], high[ahead], "band", low[ahead]), line(frame, rows, middle)]
    marks.append(rule(frame, x=float(curve.total), css="guess"))
    for n, auc in zip(curve.rows, curve.auc, strict=True):
        marks.append(dot(float(frame.x(n)), float(frame.y(auc)), title=f"{n:,.0f} rows: AUC {texts.auc_text(auc)}"))
    label = "Learning curve: AUC against rows to train on, with a band."
    remark = "dots: models trained on parts of the rows; band: 90 %; dashed: the rows at hand"
    return picture(frame, marks, label=label, title="Learning curve", remark=remark)


def headline(
    name: str,
    found: Any,
    interval: str,
    sentence: str,
    values: Mapping[str, str],
    worries: Sequence[str],
    remark: str,
    parameter: Callable[[Parameter], str] = str,
    alert: str = WORRIES,
    quiet: str = QUIET,
) -> Html:
    """The first screen of a page: one large AUC, what it means, and what the reader should not miss.

    `found` has an AUC and the ends of its interval (NaN if unknown), drawn on a scale from guessing to perfect.
    `parameter` returns how a parameter in `worries` is shown.
    """
    auc, low, high = (found.auc, found.auc, found.auc) if np.isnan(found.low) else (found.auc, found.low, found.high)
    least = 0.5 if low >= 0.5 else float(np.floor(10 * low) / 10)
    frame = Frame((least, 1.0), UNIT, width=240.0, height=52.0, left=6.0, right=8.0, top=4.0, bottom=22.0)
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
    spoken = "" if low == high else f", interval {texts.interval_text(low, high)}"
    scale = picture(frame, marks, label=f"{name}: {texts.auc_text(auc)}{spoken}, on a scale to 1.")
    return Html(
        '<div class="headline"><div class="number">'
        f"<p><span>{escape(name)}</span><strong{NUMBERS}>{escape(texts.auc_text(auc, 2))}</strong></p>"
        f'{scale}<p class="interval"{NUMBERS}>{spelled(interval)}</p></div>'
        f'<div class="meaning"><p class="sentence">{spelled(sentence)}</p>{facts(values, True)}'
        f'<p class="remark"{NUMBERS}>{spelled(remark)}</p></div>{noticed(worries, parameter, alert, quiet)}</div>'
    )


def forest(title: str, groups: Sequence[Any], reference: float, measure: str) -> Html:
    """The AUCs of groups of rows with their intervals; a line marks `reference`, the AUC of all rows."""
    names = [group.name for group in groups]
    least = max(0.0, min(0.5, *(group.auc.low - 0.02 for group in groups)))  # no interval touches its name
    frame = Frame((least, 1.0), UNIT, width=360.0, height=52.0 + 21.0 * len(groups), left=label_room(names))
    places = [frame.y.stop + 11.0 + 21.0 * number for number in range(len(groups))]
    marks = [axes(frame, measure), rule(frame, x=reference, css="guess"), row_names(frame, names, places)]
    for y, group in zip(places, groups, strict=True):
        value, low, high = group.auc.auc, group.auc.low, group.auc.high
        said = f"{group.name}: {measure} {texts.auc_text(value)} ({texts.interval_text(low, high)})"
        css = "marked" if group.ranked_differently else "dot"
        marks.append(whisker(y, frame.x(np.array([value, low, high])), css, said, across=True))
    label = f"{measure} of each group with its interval; dashed: all rows."
    return picture(frame, marks, label=label, title=title, remark="dashed: all rows")


def _legend(frame: Frame, entries: Sequence[tuple[str, str]], below: bool = False, lines: bool = False) -> str:
    """A legend of colours, or of lines, in a corner of the plot area."""
    parts = []
    short = texts.shorten_distinct([name for _, name in entries], 44 if below else 34)
    for number, ((css, name), text) in enumerate(zip(entries, short, strict=True)):
        y = (frame.y.start + 6.0 - 18.0 * len(entries) if below else 12.0) + 18.0 * number
        x = frame.x.start + (160.0 if below else 32.0 if lines else 24.0)
        drawn = segment(x - 30.0, y, x - 8.0, y, f"line {css}") if below or lines else ""
        parts.append(drawn or box(x - 22.0, y - 6.0, 14.0, 10.0, f"key {css}"))
        parts.append(words(x - 3.0, y + 3.5, text, "", name))
    return "".join(parts)


def column_picture(shape: Shape, ends: tuple[float, float]) -> Html:
    """What one column adds to the score: a curve with its band, or points for categories and few values."""
    plan = drawing.plan_column(shape, ends)
    remarks, chosen, missing = list(plan.remarks), plan.chosen, shape.missing
    if shape.together:
        remarks.append(f"says nearly the same as {', '.join(texts.shorten(name, 40) for name in shape.together)}")
    points: list[tuple[float, str, tuple[float, float, float], float | None]]
    if plan.curve:
        grid = shape.grid[chosen]
        widest = max(map(texts.text_width, drawing.number_ticks(*ends, room=np.inf).labels))
        frame = Frame(plan.scale, ends, height=230.0, left=26.0 + widest, right=16.0 if missing is None else 68.0)
        scale = f" ({plan.scale.words})" if plan.scale.words else ""
        marks = [axes(frame, f"{texts.shorten(shape.name, 36)}{scale}", drawing.ADDED, ticks=plan.ticks), rule(frame)]
        low, high = (np.clip(side[chosen], *ends) for side in (shape.low, shape.high))
        marks.append(line(frame, grid, high, "band", low))
        for css, values in (("mean", shape.mean_score), ("line", shape.contribution)):
            if values is not None:  # a line is broken where the picture has no room for it
                inside = (values[chosen] >= ends[0]) & (values[chosen] <= ends[1])
                marks.append(line(frame, grid, np.where(inside, values[chosen], np.nan), css))
        for at in frame.x(plan.rug):
            marks.append(segment(float(at), frame.y.start, float(at), frame.y.start - 6.0, "tick"))
        label = f"What {shape.name} adds to the score, from {' to '.join(plan.ends)}."
        points = [] if missing is None else [(frame.x.stop + 38.0, "missing", missing, None)]
    else:
        names = [*plan.ticks.labels, *([] if missing is None else ["missing"])]
        parts = [(shape.contribution[i], shape.low[i], shape.high[i]) for i in chosen]
        means = [None if shape.mean_score is None else float(shape.mean_score[i]) for i in chosen]
        if missing is not None:
            parts, means = [*parts, missing], [*means, shape.missing_mean_score]
        frame = Frame(ends, UNIT, height=ROW * len(names) + 56.0, left=min(label_room(names), 0.45 * WIDTH))
        places = [frame.y.stop + ROW * (k + 0.6) for k in range(len(names))]
        marks = [axes(frame, drawing.ADDED), row_names(frame, names, places), rule(frame, x=0.0)]
        label = f"What each value of {shape.name} adds to the score."
        points = list(zip(places, names, parts, means, strict=True))
    for at, name, part, mean in points:  # with their intervals
        if mean is not None and np.isfinite(mean):
            marks.append(dot(float(frame.x(mean)), at, "ring"))
        interval = f" ({part[1]:+.3f} to {part[2]:+.3f})" if np.isfinite(part).all() else ""
        css, side = "missing" if part is missing else "dot", frame.y if plan.curve else frame.x
        said = f"{name}: {part[0]:+.3f}{interval}"
        marks.append(whisker(at, side(np.clip(part, *ends)), css, said, across=not plan.curve))
        if plan.curve:
            marks.append(words(at, frame.y.start + 15.0, name, "middle"))
    title, remark, kind = texts.shorten(shape.name, 70), "; ".join(remarks), "column" if plan.curve else ""
    of_a_date = shape.part if plan.curve else ""
    return picture(frame, marks, label=label, title=title, remark=remark, kind=kind, part=of_a_date)


def key(shapes: Sequence[Shape]) -> Html:
    """The legend of the pictures of these columns: what the marks that occur in curves and in points mean."""
    banded = [shape for shape in shapes if np.isfinite(shape.low).all()]
    averaged = [shape for shape in shapes if shape.mean_score is not None]
    marks = [
        (drawing.OWN_PART, shapes, [segment(0.0, 7.0, 26.0, 7.0, "line"), dot(37.0, 7.0)]),
        (drawing.BAND, [s for s in banded if drawing.is_curve(s)], [box(18.0, 1.0, 26.0, 12.0, "band")] * 2),
        (drawing.INTERVAL, [s for s in banded if not drawing.is_curve(s)], [segment(20.0, 7.0, 40.0, 7.0)] * 2),
        (drawing.MEAN_SCORE, averaged, [segment(0.0, 7.0, 26.0, 7.0, "mean"), dot(37.0, 7.0, "ring")]),
        ("missing value", [shape for shape in shapes if shape.missing is not None], [dot(30.0, 7.0, "missing")] * 2),
    ]
    entries = []
    for name, having, drawn in marks:
        kinds = {drawn[0] if drawing.is_curve(shape) else drawn[1] for shape in having}
        svg = f'<svg viewBox="0 0 46 14" width="46" aria-hidden="true">{"".join(sorted(kinds))}</svg>'
        entries += [f'<span class="n">{svg}{name}</span>'] if kinds else []
    return Html(f'<p class="remark marks">{" ".join(entries)}</p>')


def whisker(at: float, part: np.ndarray, css: str, title: str, *, across: bool = False, radius: float = 4.0) -> str:
    """A point with its interval if both ends are known, upright or `across`; `part` has the places of all three."""
    value, low, high = map(float, part)
    bar = ""
    if np.isfinite(low) and np.isfinite(high):
        bar = segment(low, at, high, at) if across else segment(at, low, at, high)
    return bar + (dot(value, at, css, title, radius) if across else dot(at, value, css, title, radius))


def heat_map(pair: PairEffect, largest: float) -> Html:
    """What a pair of columns adds to the score beyond the curves of both, in bins of both."""
    first, second = pair.columns
    below, beside = drawing.bin_ticks(first), drawing.bin_ticks(second)
    short, names = texts.shorten_distinct(below.labels, 14), beside.labels
    columns, rows = pair.values.shape
    room = 10.0 + 0.77 * max(map(texts.text_width, short))
    left, height = min(label_room(names, 16) + 14.0, 0.4 * WIDTH), HEIGHT + room - 20.0
    frame = Frame((0.0, float(columns)), (0.0, float(rows)), height=height, left=left, bottom=room + 22.0)
    wide, high = (frame.x.stop - frame.x.start) / columns, (frame.y.start - frame.y.stop) / rows
    marks = []
    for i in range(columns):
        for j in range(rows):
            value = float(pair.values[i, j])
            x, y = frame.x.start + i * wide, frame.y.start - (j + 1) * high
            where = f"{first.name}: {first.labels[i]}, {second.name}: {second.labels[j]}"
            if np.isfinite(value):
                css, strength = "cell up" if value > 0 else "cell down", min(1.0, abs(value) / largest)
                marks.append(box(x, y, wide, high, css, f"{where}: {value:+.3f}", f' fill-opacity="{strength:.2f}"'))
            else:
                marks.append(box(x, y, wide, high, "cell none", f"{where}: fewer than three rows"))
    marks.append(row_names(frame, names, frame.y(beside.places).tolist(), 16))
    for place, text, full in zip(below.places, short, below.labels, strict=True):
        at = f"translate({float(frame.x(place)) + 3.0:.1f} {frame.y.start + 12.0:.1f}) rotate(-50)"
        marks.append(f'<g transform="{at}">{words(0, 0, text, "end", full)}</g>')
    marks += [axis_name(frame, first.name), axis_name(frame, second.name, upright=True)]
    across, upwards = texts.shorten(first.name, 50), texts.shorten(second.name, 60)
    title, remark = f"{across} × {upwards}", f"{texts.percent(pair.share)} {drawing.OF_VARIANCE}"
    return picture(frame, marks, label=f"How {first.name} and {second.name} interact.", title=title, remark=remark)


def bars(
    entries: Sequence[tuple[str, float]],
    label: str,
    title: str = "",
    *,
    values: Sequence[str] = (),
    ends: tuple[float, float] | None = None,
    spoken: str = "",
) -> Html:
    """One bar for each (name, size), to the left of 0 for negative sizes; `label` is what the sizes measure.

    `values` are shown after the names, `ends` is the scale for pictures that share one, and `spoken` is what a screen
    reader says, by default the title and the first names.
    """
    names = [name for name, _ in entries]
    sizes = np.array([size for _, size in entries], dtype=float)
    shown = []  # a column and its value in a row, short enough to stand beside a bar
    for name, value in zip_longest(names, (texts.shorten(value, 12) for value in values), fillvalue=""):
        short = texts.shorten(name, BAR_LETTERS - 3 - len(value))
        shown.append(f"{texts.isolated(short)} = {texts.isolated(value)}" if value else name)
    low, high = ends or (float(sizes.min(initial=0.0)), float(sizes.max(initial=0.0)))
    low, high = min(0.0, low), max(0.0, high)
    left = min(label_room(shown, BAR_LETTERS), 0.52 * WIDTH)
    numbers = [texts.signed(size, max(high, -low), sign=low < 0.0) for size in sizes]
    sides, room = 2 if low < 0.0 else 1, 6.0 + 0.92 * max(map(texts.text_width, numbers), default=0.0)
    margin = (high - low) * room / (WIDTH - left - 16.0 - sides * room) or 1.0  # for numbers at the ends of bars
    scale = (low - (margin if low < 0.0 else 0.0), high + margin)
    frame = Frame(scale, (0.0, 1.0), height=ROW * len(names) + 50.0, left=left, right=16.0)
    places = [frame.y.stop + ROW * (k + 0.5) for k in range(len(names))]
    zero = float(frame.x(0.0))
    marks = [axes(frame, label), row_names(frame, shown, places, BAR_LETTERS), rule(frame, x=0.0)]
    for name, size, text, y in zip(shown, sizes, numbers, places, strict=True):
        end, right = float(frame.x(size)), size >= 0.0
        marks.append(box(min(zero, end), y - 6.0, abs(end - zero), 12.0, f"bar {'up' if right else 'down'}", name))
        number = words(end + (4.0 if right else -4.0), y + 4.0, text, "small" if right else "small end")
        marks.append(f"<g{NUMBERS}>{number}</g>")
    spoken = spoken or f"{title or label}: {', '.join(names[:5])}."
    return picture(frame, marks, label=spoken, title=title)
