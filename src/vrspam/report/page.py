"""The blocks of a page, and the page.

A page is a list of sections, and a section is a list of blocks: text, a table, a picture, a list of facts, each made by
a function of this module. The page makes no network request (its content security policy forbids it, and allows only
its own script and style), prints well, and can be read on a phone, in the dark, by keyboard and by a screen reader.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NewType

import numpy as np

from vrspam._utils.atomic import write_text
from vrspam._utils.findings import text_of
from vrspam._utils.messages import Parameter
from vrspam._utils.plain import json_text, readable
from vrspam._utils.texts import auc_text, interval_text, percent, short_between
from vrspam.metrics.thresholds import Curve, wilson

if TYPE_CHECKING:
    from vrspam.metrics import AUCInterval, ComparedPair

Html = NewType("Html", str)  # a text in which names and values are escaped

#: The attribute of elements whose numbers the page writes as the reader's browser does (0,83 in German). Such an
#: element must hold no names from a file.
NUMBERS = " data-numbers"
WORRIES, QUIET = "What to worry about", "The checks of the data found nothing to worry about."


class Cell(NamedTuple):
    """One cell of a table.

    Attributes
    ----------
    text : str
    sort : float or None
        The value by which the column is sorted; None sorts by the text.
    note : str
        Shown below the text in small letters, line by line.
    mark : str
        "", "above", "below" or "bad": colours the last line of the cell.
    """

    text: str
    sort: float | None = None
    note: str = ""
    mark: str = ""


def number_cell(value: float, *, sign: bool = False) -> Cell:
    return Cell(f"{value:{'+' if sign else ''}.4{'f' if abs(value) < 1e4 else 'g'}}", value)


Row = Sequence[Cell | str]


def table(columns: Sequence[str], rows: Iterable[Row], caption: str = "") -> Html:
    """A table that the reader can sort by clicking on a heading."""
    cells = [[Cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    head = body = ""
    for place, name in enumerate(columns):
        sorts = [row[place].sort for row in cells if row[place].text not in ("", "–")]
        side = ' class="number"' if sorts and None not in sorts else ""  # at the right, like the numbers below
        head += f'<th scope="col" aria-sort="none"{side}><button type="button">{escape(name)}</button></th>'
    for row in cells:
        body += "<tr>"
        for cell in row:
            attributes = "" if cell.sort is None else f' data-sort="{cell.sort!r}" class="number"{NUMBERS}'
            lines = [spelled(cell.text), *(f"<small>{spelled(line)}</small>" for line in cell.note.splitlines())]
            if cell.mark:
                lines[-1] = f'<span class="{escape(cell.mark)}">{lines[-1]}</span>'
            body += f"<td{attributes}>{''.join(lines)}</td>"
        body += "</tr>"
    above = f"<caption><span>{spelled(caption)}</span></caption>" if caption else ""
    name = escape(caption or f"Table: {', '.join(columns)}")
    return Html(
        f'<div class="wide" tabindex="0" role="region" aria-label="{name}"><table class="sortable">{above}'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def pair_tables(measure: str, pairs: Sequence[ComparedPair], intervals: Sequence[AUCInterval] = ()) -> list[Html]:
    """A table of the scores with their AUCs, and one of the tests of all pairs."""
    aucs = {name: auc for a, b, test, _ in pairs for name, auc in ((a, test.auc_a), (b, test.auc_b))}
    rows: list[Row] = [[name, Cell(auc_text(auc, 4), auc)] for name, auc in aucs.items()]
    for row, found in zip(rows, intervals, strict=bool(intervals)):
        row.append(Cell(interval_text(found.low, found.high, 4), found.low))  # type: ignore[attr-defined]
    confidence, adjusted = f"{100 * pairs[0].test.confidence:g} % interval", len(pairs) > 1
    tests: list[Row] = [
        [
            f"{a} minus {b}",
            number_cell(test.difference, sign=True),
            Cell(f"{test.low:+.4f} to {test.high:+.4f}", test.low),
            Cell(f"{test.z:.3f}", test.z),
            Cell(f"{test.p_value:.3g}", test.p_value),
            *([Cell(f"{p:.3g}", p)] if adjusted else []),
        ]
        for a, b, test, p in pairs
    ]
    names = ["difference of", measure, confidence, "z", "p, two-sided", *(["p, adjusted"] if adjusted else [])]
    several = f"; adjusted: for {len(pairs)} pairs, by Holm's method" if adjusted else ""
    each = table(["scores", measure, *([confidence] if intervals else [])], rows)
    return [each, table(names, tests, f"Paired tests{several}")]


def figure(path: Path, caption: str, alt: str) -> Html:
    """A figure (an SVG or PNG file) inside the page, with a description in words."""
    kind = {".svg": "image/svg+xml", ".png": "image/png"}[path.suffix]
    data = base64.b64encode(path.read_bytes()).decode()
    return Html(
        f'<figure><div class="wide" tabindex="0" role="region" aria-label="{escape(alt)}">'
        f'<img src="data:{kind};base64,{data}" alt="{escape(alt)}">'
        f"</div><figcaption>{spelled(caption)}</figcaption></figure>"
    )


_KEPT = re.compile(
    r"(?P<option>--[a-z][a-z-]*)"
    r"|(?<![\w.,-])(?:\w+ [=<] )?[-+]?\d[\d.,]*(?:e[-+]?\d+)?(?: %| to [-+]?\d[\d.,]*| ± \d[\d.,]*)+(?: interval\b)?"
    r"|(?<![\w.,-])\w+ [=<] [-+]?\d[\d.,]*(?:e[-+]?\d+)?"
)


def spelled(text: str) -> str:
    """Return a text as HTML that keeps each option, each interval, and each number with its unit on one line.

    >>> spelled("use --rows 0: 95 % interval 0.47 to 0.64")
    'use <code>--rows</code> 0: <span class="n">95 % interval</span> <span class="n">0.47 to 0.64</span>'
    """
    parts, end = [], 0
    for found in _KEPT.finditer(text):
        kept = escape(found[0])
        kept = f"<code>{kept}</code>" if found["option"] else f'<span class="n">{kept}</span>'
        parts += [escape(text[end : found.start()]), kept]
        end = found.end()
    return "".join([*parts, escape(text[end:])])


def paragraph(text: str, *, soft: bool = False, numbers: bool = False, code: str = "") -> Html:
    """A paragraph, and a command to be copied below it.

    `soft` is for remarks, `numbers` are written as the reader's browser writes them.
    """
    copied = f'<pre tabindex="0"><code>{escape(code)}</code></pre>' if code else ""
    remark = ' class="remark"' if soft else ""
    return Html(f"<p{remark}{NUMBERS if numbers else ''}>{spelled(text)}</p>{copied}")


def bullets(items: Iterable[str]) -> Html:
    """A list of short statements."""
    return Html(f"<ul>{''.join(f'<li>{spelled(item)}</li>' for item in items)}</ul>")


def facts(values: Mapping[str, str], numbers: bool = False) -> Html:
    """Names and values; numbers among the values are written as the reader's browser writes them, if asked for."""
    local = NUMBERS if numbers else ""
    pairs = (f"<div><dt>{spelled(key)}</dt><dd{local}>{spelled(value)}</dd></div>" for key, value in values.items())
    return Html(f"<dl>{''.join(pairs)}</dl>")


def grid(blocks: Iterable[Html], least: Literal["medium", "large", "curves", "beside"] = "medium") -> Html:
    """Blocks side by side, as many as there is room for; `least` is their least width."""
    return Html(f'<div class="grid {least}">{"".join(blocks)}</div>')


def folded(title: str, *blocks: Html) -> Html:
    """Blocks that are shown when the reader asks for them, and in print."""
    return Html(f"<details><summary>{escape(title)}</summary>{''.join(blocks)}</details>")


def noticed(
    worries: Sequence[str], parameter: Callable[[Parameter], str] = str, alert: str = WORRIES, quiet: str = QUIET
) -> Html:
    """What the reader should not miss, the gravest first; notes are folded.

    `parameter` returns how a parameter is shown. Findings have a severity and a code of docs/doctor.md; other texts
    count as warnings.
    """
    severities = [getattr(worry, "severity", "warning") for worry in worries]
    label, grave, notes = escape(alert), "", ""
    for place in sorted(range(len(worries)), key=lambda place: severities[place] != "severe"):
        severity, code = severities[place], escape(getattr(worries[place], "code", ""))
        code = f' <code title="docs/doctor.md#{code}">{code}</code>' if code else ""
        severe = "<b>Severe:</b> " if severity == "severe" else ""
        item = f'<li class="{escape(severity)}">{severe}{spelled(text_of(worries[place], parameter))}{code}</li>'
        grave, notes = (grave, notes + item) if severity == "note" else (grave + item, notes)
    title, count = f'<p class="title">{label}</p>', severities.count("note")
    more = folded(f"{count} note{'s' if count > 1 else ''} on the table", Html(f"<ul>{notes}</ul>")) if notes else ""
    if not grave:
        return Html(f'<div class="quiet">{title}<p>{escape(quiet)}</p>{more}</div>')
    severe = " severe" if "severe" in severities else ""
    return Html(f'<aside class="alert{severe}" aria-label="{label}">{title}<ul>{grave}</ul>{more}</aside>')


@dataclass
class Page:
    """A page, built section by section; `data` is what its script needs.

    Examples
    --------
    >>> page = Page("Scores", "Two models on one set")
    >>> page.add("Result", table(["model", "AUC"], [["a", Cell(".91", 0.91)], ["b", Cell(".89", 0.89)]]))
    >>> "<h2>Result</h2>" in page.html()
    True
    """

    title: str
    summary: str = ""
    sections: list[tuple[str, tuple[Html, ...]]] = field(default_factory=list)
    headline: Html = Html("")
    data: Mapping[str, Any] = field(default_factory=dict)

    def add(self, heading: str, *blocks: Html) -> None:
        """Append a section."""
        self.sections.append((heading, blocks))

    def html(self) -> str:
        """Return the page as HTML."""
        links = body = ""
        for number, (heading, blocks) in enumerate(self.sections, 1):
            links += f'<a href="#section-{number}">{escape(heading)}</a>'
            body += f'<section id="section-{number}"><h2>{escape(heading)}</h2>{"".join(blocks)}</section>'
        parts = {
            "title": escape(self.title),
            "summary": (f"<p>{spelled(self.summary)}</p>" if self.summary else "") + self.headline,
            "links": links,
            "body": body,
            # "<" cannot end the element that holds the data
            "data": json_text(self.data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"),
        }
        names = ("page.css", "page.js", "template.html")
        style, script, template = (files("vrspam.report").joinpath(name).read_text("utf-8") for name in names)
        for name, text in (("style", style), ("script", script)):
            # the hash by which the content security policy allows this style or script
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            parts |= {name: text, f"{name}_hash": f"sha256-{digest}"}
        whole = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)  # values may hold braces
        return readable(whole)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file; readers see the old file or the complete new one."""
        return write_text(path, self.html())


def markdown_table(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """The cells as a Markdown table.

    >>> print(markdown_table(["set", "AUC"], [["a", Cell(".91", 0.91)]]))
    | set | AUC |
    |---|---|
    | a | .91 |
    """
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for row in rows:
        texts = [cell if isinstance(cell, str) else ", ".join([cell.text, *cell.note.splitlines()]) for cell in row]
        lines.append(f"| {' | '.join(text.replace('|', '/') for text in texts)} |")
    return "\n".join(lines)


FINE = 1.0 / 1500.0  # how far curves may move between two thresholds, as a part of a picture's side: under half a pixel


@dataclass(frozen=True, eq=False)
class Stops:
    """The thresholds at which the slider can stop, in increasing order, and the counts at each.

    A row is called positive if its score is at least the threshold; thresholds have few decimals and separate the same
    rows as the scores themselves. `hits` and `alarms` are the positive and negative rows that are called positive (sums
    of weights where rows have some). `probabilities` has the probability of a row whose score is the threshold.
    """

    thresholds: np.ndarray
    hits: np.ndarray
    alarms: np.ndarray
    positives: float
    negatives: float
    probabilities: np.ndarray | None = None
    # how many independent rows a positive counts for, and a row that is called positive
    effective: tuple[float, float] = (1.0, 1.0)

    @classmethod
    def of(cls, curve: Curve, fine: float = FINE) -> Stops:
        """Return the thresholds of a curve, thinned so that no share changes by more than `fine` from one to the next.

        Where the curve itself jumps by more, the jump stays.

        >>> stops = Stops.of(Curve.of(np.array([True, False, True]), np.array([3.0, 2.0, 1.0])))
        >>> stops.thresholds.tolist(), stops.hits.tolist(), stops.alarms.tolist()
        ([1.0, 2.0, 3.0, 3.04], [2.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0])
        >>> stops = Stops.of(Curve.of(np.arange(100_000) % 2 > 0, np.arange(100_000.0)))
        >>> stops.hits.size < 4_000, bool(np.abs(np.diff(stops.hits)).max() <= FINE * stops.positives + 1)
        (True, True)
        """
        last, places = curve.hits.size - 1, [curve.hits.size - 1]
        ends = [(curve.hits, fine * curve.positives), (curve.alarms, fine * curve.negatives)]
        precision = np.divide(curve.hits, curve.called, out=np.zeros(last + 1), where=curve.called > 0.0)
        while last > 0:  # the first point that is too far away is found by bisection
            far = max(int(rising.searchsorted(rising[last] - step)) for rising, step in ends)
            near = np.abs(precision[far:last] - precision[last]) > fine
            if near.any():
                far = last - int(np.argmax(near[::-1]))
            last = min(last - 1, far)
            places.append(last)
        kept, ranked = np.array(places), curve.thresholds
        low, high = float(ranked[-1]), float(ranked[1])
        margin = 0.02 * (high - low) or max(1.0, abs(low))
        at = np.where(kept == 0, high + margin, ranked[kept])  # no row reaches the last threshold
        below = np.where(kept == ranked.size - 1, low - margin, ranked[np.minimum(kept + 1, ranked.size - 1)])
        found = np.array(list(map(short_between, below.tolist(), at.tolist())))
        return cls(found, curve.hits[kept], curve.alarms[kept], curve.positives, curve.negatives)


def explorer(
    stops: Stops, place: int, names: Mapping[str, str], ratio: float, start: str, pictures: Sequence[Html] = ()
) -> tuple[Html, dict[str, Any]]:
    """Return the slider with the table of right and wrong calls and their shares, and the data for the page's script.

    The slider first stands at `place`, and `start` says why. `names` are what rows of both classes are called, `ratio`
    is how many false alarms are as bad as one missed positive. A point moves on the curves of `pictures`.
    """
    hits, alarms = float(stops.hits[place]), float(stops.alarms[place])
    misses, rejections, called = stops.positives - hits, stops.negatives - alarms, hits + alarms
    shown = {
        "tp": hits,
        "fp": alarms,
        "fn": misses,
        "tn": rejections,
        "sensitivity": hits / stops.positives,
        "specificity": rejections / stops.negatives,
        "ppv": hits / called if called > 0.0 else np.nan,
        "npv": rejections / (rejections + misses) if rejections + misses > 0.0 else np.nan,
        "alerts": 1000.0 * called / (stops.positives + stops.negatives),
    }
    threshold, probability = _value("threshold", f"{float(stops.thresholds[place]):.15g}"), ""
    if stops.probabilities is not None:
        probability = f", probability {_value('probability', percent(float(stops.probabilities[place])))}"
    bar = (
        '<div class="slider"><label for="threshold">Call a row positive if its score is at least '
        f'{threshold}{probability}</label><input type="range" id="threshold" min="0" '
        f'max="{stops.thresholds.size - 1}" step="1" value="{place}" hidden>'
        '<p class="remark ends" hidden><span>← every row is called</span><span>no row is called →</span></p>'
        f'<noscript><p class="remark">{escape(start)} With JavaScript a slider moves the threshold.</p>'
        "</noscript></div>"
    )
    counts = [("tp", "right", "found"), ("fn", "wrong", "missed"), ("fp", "wrong", "false alarms")]
    body = ""
    for name, css, note in [*counts, ("tn", "right", "left alone")]:
        if name in ("tp", "fp"):
            row = escape(names["positive" if name == "tp" else "negative"])
            body += f'<tr><th scope="row"><bdi dir="ltr">{row}</bdi></th>'
        text = f"{shown[name]:,.0f}" if shown[name] == int(shown[name]) else f"{shown[name]:,.1f}"
        body += f'<td class="{css}">{_value(name, text)}<small>{note}</small></td>'
        body += "</tr>" if name in ("fn", "tn") else ""
    matrix = (
        '<table class="confusion"><caption>Right and wrong calls</caption>'
        '<thead><tr><td></td><th scope="col">called positive</th><th scope="col">not called</th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )
    calls = f'<div class="calls">{matrix}{_shares(stops, place, shown, names, ratio)}</div>'
    data: dict[str, Any] = {"thresholds": stops.thresholds.tolist()}
    for name, sums in (("hits", stops.hits), ("alarms", stops.alarms)):
        data[name] = [int(v) if v == int(v) else v for v in np.round(sums, 6).tolist()]
    data |= {"positives": stops.positives, "negatives": stops.negatives, "effective": stops.effective}
    p = None if stops.probabilities is None else np.round(stops.probabilities, 8).tolist()  # shown to 0.1 %
    drawn = f'<div class="explorer">{bar}{calls}{grid(pictures, "curves")}</div>'
    return Html(drawn), {**data, "probabilities": p}


def _shares(stops: Stops, place: int, shown: Mapping[str, float], names: Mapping[str, str], ratio: float) -> str:
    """Tiles of shares and costs at the threshold, and boxes for costs, a share to find, alerts or a score."""
    measures = {
        "sensitivity": ("Sensitivity", "of the rows with {positive} are found"),
        "specificity": ("Specificity", "of the rows with {negative} are left alone"),
        "ppv": ("Positive predictive value", "of the rows called have {positive}"),
        "npv": ("Negative predictive value", "of the rows not called have {negative}"),
    }
    tiles = [
        (title, name, "–" if np.isnan(shown[name]) else percent(shown[name]), words.format_map(names))
        for name, (title, words) in measures.items()
    ]
    cost = (shown["fp"] + ratio * shown["fn"]) * 1000.0 / (stops.positives + stops.negatives)
    called = {"sensitivity": stops.positives, "ppv": shown["tp"] + shown["fp"]}  # rows of each share with an interval
    effective = dict(zip(called, stops.effective, strict=True))
    tiles.append(("Alerts per 1,000 rows", "alerts", f"{shown['alerts']:.1f}", "rows called positive"))
    tiles.append(("Cost per 1,000 rows", "cost", f"{cost:,.1f}", "by the costs below"))
    listed = ""
    for title, name, text, words in tiles:
        words = f'<small><bdi dir="ltr">{escape(words)}</bdi></small>'
        if name in called:
            rows = called[name]
            ends = wilson(np.array(shown["tp"] / rows), np.array(rows * effective[name])) if rows else ()
            interval = " to ".join(percent(float(end)) for end in ends)
            words += f'<small class="interval">95 % interval {_value(f"{name}-interval", interval)}</small>'
        listed += f"<div><dt>{title}</dt><dd>{_value(name, text)}{words}</dd></div>"
    price = (
        '<p class="price"><label for="cost">One missed row costs</label> '
        f'<input type="number" id="cost" min="0" step="any" value="{ratio:g}" hidden>'
        f'<span class="without-script">{ratio:g}</span>, <label for="alarm">one false alarm</label> '
        '<input type="number" id="alarm" min="0" step="any" value="1" hidden><span class="without-script">1</span>. '
        '<button type="button" id="cheapest" hidden>Go to the least cost</button> '
        '<button type="button" id="youden" hidden>Highest sensitivity + specificity</button></p>'
    )
    boxes = "".join(
        f'<label>{before} <input type="number" id="{name}" min="{least}" step="any"> {after}</label>'
        for name, before, after, least in (
            ("recall", "Find", f"% of the rows with <bdi>{escape(names['positive'])}</bdi>", 0),
            ("calls", "Call", "of 1,000 rows", 0),
            ("typed", "Score at least", "", ""),
        )
    )
    return f'<div><dl class="tiles">{listed}</dl>{price}<p class="rules" hidden>{boxes}</p></div>'


def _value(name: str, text: str) -> str:
    """A number that the slider changes."""
    return f'<span class="value" data-show="{name}"{NUMBERS}>{text}</span>'
