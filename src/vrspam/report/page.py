"""The blocks of a page, and the page.

A page is a list of sections, and a section is a list of blocks: text, a table, a picture, a list of facts. The page
makes no network request (its content security policy forbids it, and allows only its own script and style), prints
well, and can be read on a phone, in the dark, by keyboard and by a screen reader.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from vrspam._utils.atomic import write_text
from vrspam._utils.texts import percent, short_between

#: The attribute of elements whose numbers the page writes as the reader's browser does (0,83 in German). Such an
#: element must hold no names from a file.
NUMBERS = " data-numbers"


class Block(Protocol):
    """A part of a section."""

    def html(self) -> str:
        """The block as HTML."""


@dataclass(frozen=True)
class Cell:
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


@dataclass(frozen=True)
class Table:
    """A table that the reader can sort by clicking on a heading."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    caption: str = ""

    def html(self) -> str:
        head = ""
        for place, name in enumerate(self.columns):
            cells = [row[place] for row in self.rows if row[place] not in ("", "–")]
            numbers = bool(cells) and all(isinstance(cell, Cell) and cell.sort is not None for cell in cells)
            side = ' class="number"' if numbers else ""  # above numbers at the right
            head += f'<th scope="col" aria-sort="none"{side}><button type="button">{escape(name)}</button></th>'
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows)
        caption = f"<caption><span>{escape(self.caption)}</span></caption>" if self.caption else ""
        name = escape(self.caption or f"Table: {', '.join(self.columns)}")
        return (
            f'<div class="wide" tabindex="0" role="region" aria-label="{name}"><table class="sortable">{caption}'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


@dataclass(frozen=True)
class Figure:
    """A figure (an SVG or PNG file) inside the page, with a description in words."""

    path: Path
    caption: str
    alt: str
    narrow: bool = False  # fits on a phone, where wider figures are shown larger than the screen

    def html(self) -> str:
        figure = '<figure class="narrow">' if self.narrow else "<figure>"
        kind = {".svg": "image/svg+xml", ".png": "image/png"}[self.path.suffix]
        data = base64.b64encode(self.path.read_bytes()).decode()
        return (
            f'{figure}<div class="wide" tabindex="0" role="region" aria-label="{escape(self.alt)}">'
            f'<img src="data:{kind};base64,{data}" alt="{escape(self.alt)}">'
            f"</div><figcaption>{escape(self.caption)}</figcaption></figure>"
        )


@dataclass(frozen=True)
class Drawing:
    """A picture that was drawn as SVG (`vrspam.report.pictures`), with a title above and a remark below."""

    title: str
    svg: str
    remark: str = ""

    def html(self) -> str:
        below = f'<p class="remark">{escape(self.remark)}</p>' if self.remark else ""
        return f"<figure><figcaption><bdi>{escape(self.title)}</bdi></figcaption>{self.svg}{below}</figure>"


def _with_options(text: str) -> str:
    """A text as HTML in which no line breaks inside an option, between its hyphens and its name."""
    return re.sub(r"--[a-z][a-z-]*", r"<code>\g<0></code>", escape(text))


@dataclass(frozen=True)
class Text:
    """A paragraph; `soft` is for remarks, `numbers` are written as the reader's browser writes them."""

    text: str
    soft: bool = False
    numbers: bool = False

    def html(self) -> str:
        soft = ' class="remark"' if self.soft else ""
        return f"<p{soft}{NUMBERS if self.numbers else ''}>{_with_options(self.text)}</p>"


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    text: str

    def html(self) -> str:
        return f"<h3><bdi>{escape(self.text)}</bdi></h3>"


@dataclass(frozen=True)
class Bullets:
    """A list of short statements."""

    items: Sequence[str]

    def html(self) -> str:
        return f"<ul>{''.join(f'<li>{_with_options(item)}</li>' for item in self.items)}</ul>"


@dataclass(frozen=True)
class Facts:
    """Names and values; numbers among the values are written as the reader's browser writes them, if asked for."""

    values: Mapping[str, str]
    numbers: bool = False

    def html(self) -> str:
        local = NUMBERS if self.numbers else ""
        pairs = (
            f"<div><dt>{escape(key)}</dt><dd{local}>{escape(value)}</dd></div>" for key, value in self.values.items()
        )
        return f"<dl>{''.join(pairs)}</dl>"


@dataclass(frozen=True)
class Code:
    """A command or a program, to be copied."""

    text: str

    def html(self) -> str:
        return f'<pre tabindex="0"><code>{escape(self.text)}</code></pre>'


@dataclass(frozen=True)
class Alert:
    """Statements that the reader should not miss."""

    title: str
    items: Sequence[str]

    def html(self) -> str:
        title, items = escape(self.title), Bullets(self.items).html()
        return f'<aside class="alert" aria-label="{title}"><p class="title">{title}</p>{items}</aside>'


@dataclass(frozen=True)
class Grid:
    """Blocks side by side, as many as there is room for; `least` is their least width."""

    blocks: Sequence[Block]
    least: Literal["medium", "large", "curves", "beside"] = "medium"

    def html(self) -> str:
        return f'<div class="grid {escape(self.least)}">{"".join(block.html() for block in self.blocks)}</div>'


@dataclass(frozen=True)
class Cards:
    """Boxes side by side, each with a heading and blocks."""

    cards: Sequence[tuple[str, Sequence[Block]]]

    def html(self) -> str:
        found = (
            f'<article class="card"><h4><bdi>{escape(title)}</bdi></h4>{"".join(b.html() for b in blocks)}</article>'
            for title, blocks in self.cards
        )
        return f'<div class="grid medium">{"".join(found)}</div>'


@dataclass(frozen=True)
class Folded:
    """Blocks that are shown when the reader asks for them, and in print."""

    title: str
    blocks: Sequence[Block]

    def html(self) -> str:
        inside = "".join(block.html() for block in self.blocks)
        return f"<details><summary>{escape(self.title)}</summary>{inside}</details>"


@dataclass(frozen=True)
class Headline:
    """The first screen of a page: one large number, what it means, and what to worry about."""

    name: str
    number: str
    interval: str
    sentence: str
    picture: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    worries: Sequence[str] = ()
    remark: str = ""
    alert: str = "What to worry about"
    quiet: str = "The checks of the data found nothing to worry about."

    def html(self) -> str:
        worries = Alert(self.alert, self.worries).html()
        if not self.worries:
            worries = f'<div class="quiet"><p class="title">{escape(self.alert)}</p><p>{escape(self.quiet)}</p></div>'
        return (
            '<div class="headline"><div class="number">'
            f"<p><span>{escape(self.name)}</span><strong{NUMBERS}>{escape(self.number)}</strong></p>"
            f'{self.picture}<p class="interval"{NUMBERS}>{escape(self.interval)}</p></div>'
            f'<div class="meaning"><p class="sentence">{escape(self.sentence)}</p>{Facts(self.facts, True).html()}'
            f'<p class="remark"{NUMBERS}>{escape(self.remark)}</p></div>{worries}</div>'
        )


@dataclass
class Page:
    """A page, built section by section; `data` is what its script needs.

    Examples
    --------
    >>> page = Page("Scores", "Two models on one set")
    >>> page.add("Result", Table(["model", "AUC"], [["a", Cell(".91", 0.91)], ["b", Cell(".89", 0.89)]]))
    >>> "<h2>Result</h2>" in page.html()
    True
    """

    title: str
    summary: str = ""
    sections: list[tuple[str, tuple[Block, ...]]] = field(default_factory=list)
    headline: Headline | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    def add(self, heading: str, *blocks: Block) -> None:
        """Append a section."""
        self.sections.append((heading, blocks))

    def html(self) -> str:
        """Return the page as HTML."""
        links = "".join(
            f'<a href="#section-{i}">{escape(heading)}</a>' for i, (heading, _) in enumerate(self.sections, 1)
        )
        body = "".join(
            f'<section id="section-{i}"><h2>{escape(heading)}</h2>{"".join(b.html() for b in blocks)}</section>'
            for i, (heading, blocks) in enumerate(self.sections, 1)
        )
        style, script = _file("page.css"), _file("page.js")
        # what a content security policy calls a text that stands between two tags
        hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
        digests = [f"sha256-{text}" for text in hashes]
        summary = f"<p>{escape(self.summary)}</p>" if self.summary else ""
        parts = {
            "title": escape(self.title),
            "summary": summary + ("" if self.headline is None else self.headline.html()),
            "links": links,
            "body": body,
            "style": style,
            "script": script,
            "style_hash": digests[0],
            "script_hash": digests[1],
            # "<" cannot end the element that holds the data
            "data": json.dumps(self.data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"),
        }
        return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _file("template.html"))  # values may hold braces

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file; readers see the old file or the complete new one."""
        return write_text(path, self.html())


@cache
def _file(name: str) -> str:
    return files("vrspam.report").joinpath(name).read_text("utf-8")


def markdown_table(columns: Iterable[str], rows: Iterable[Sequence[Cell | str]]) -> str:
    """Return the cells as a Markdown table.

    >>> print(markdown_table(["model", "AUC"], [["a", Cell(".91", 0.91)]]))
    | model | AUC |
    |---|---|
    | a | .91 |
    """
    names = list(columns)
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in rows:
        texts = [cell if isinstance(cell, str) else ", ".join([cell.text, *cell.note.splitlines()]) for cell in row]
        lines.append(f"| {' | '.join(text.replace('|', '/') for text in texts)} |")
    return "\n".join(lines)


def _cell(cell: Cell | str) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    attributes = "" if cell.sort is None else f' data-sort="{cell.sort!r}" class="number"{NUMBERS}'
    lines = [escape(cell.text), *(f"<small>{escape(line)}</small>" for line in cell.note.splitlines())]
    if cell.mark:
        lines[-1] = f'<span class="{escape(cell.mark)}">{lines[-1]}</span>'
    return f"<td{attributes}>{''.join(lines)}</td>"


FINE = 1.0 / 1500.0  # of the side of a picture, less than half a pixel: how far curves may move between two thresholds


@dataclass(frozen=True, eq=False)
class Stops:
    """Where the slider can stop: thresholds in increasing order, and what follows from each.

    A row is called positive if its score is at least the threshold; thresholds have few decimals and separate the same
    rows as the scores themselves. `hits` and `alarms` are the positive and negative rows that are called positive (sums
    of weights where rows have some), `probabilities` those of a row whose score is the threshold.
    """

    thresholds: np.ndarray
    hits: np.ndarray
    alarms: np.ndarray
    positives: float
    negatives: float
    probabilities: np.ndarray | None = None

    @classmethod
    def of(cls, positive: np.ndarray, scores: np.ndarray, weights: np.ndarray | None = None) -> Stops:
        """The thresholds of scores, thinned.

        >>> stops = Stops.of(np.array([True, False, True]), np.array([3.0, 2.0, 1.0]))
        >>> stops.thresholds.tolist(), stops.hits.tolist(), stops.alarms.tolist()
        ([1.0, 2.0, 3.0, 3.04], [2.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0])
        """
        mass = np.ones(scores.size) if weights is None else weights
        order = np.argsort(scores, kind="stable")
        ranked, label, mass = scores[order], positive[order], mass[order]
        first = np.flatnonzero(np.append(True, ranked[1:] > ranked[:-1]))  # of each different score
        hits, alarms = (np.append(np.cumsum((mass * side)[::-1])[::-1][first], 0.0) for side in (label, ~label))
        kept = thin(hits / hits[0], alarms / alarms[0], hits / np.maximum(hits + alarms, np.finfo(float).tiny))
        margin = 0.02 * (ranked[-1] - ranked[0]) or max(1.0, abs(ranked[0]))
        below = np.concatenate([[ranked[0] - margin], ranked[first]])  # the score before each threshold
        at = np.append(ranked[first], ranked[-1] + margin)  # which no row reaches
        found = np.array([short_between(below[k], at[k]) for k in kept])
        return cls(found, hits[kept], alarms[kept], float(hits[0]), float(alarms[0]))

    @property
    def called(self) -> np.ndarray:
        """Rows that are called positive."""
        return self.hits + self.alarms

    @property
    def precision(self) -> np.ndarray:
        """Share of positives among the rows that are called positive; NaN where there are none."""
        with np.errstate(invalid="ignore"):
            return self.hits / self.called

    def youden(self) -> int:
        """Where sensitivity + specificity is highest."""
        return int(np.argmax(self.hits / self.positives - self.alarms / self.negatives))

    def cheapest(self, ratio: float) -> int:
        """Where the cost is least, one missed positive being as bad as `ratio` false alarms."""
        return int(np.argmin(self.alarms + ratio * (self.positives - self.hits)))

    def data(self) -> dict[str, Any]:
        """What the script of the page needs."""
        sums = [np.round(part, 6).tolist() for part in (self.hits, self.alarms)]
        hits, alarms = ([int(v) if v == int(v) else v for v in part] for part in sums)
        p = (
            None if self.probabilities is None else np.round(self.probabilities, 8).tolist()
        )  # shown to 0.1 %, rounded once
        found: dict[str, Any] = {"thresholds": self.thresholds.tolist(), "hits": hits, "alarms": alarms}
        return {**found, "positives": self.positives, "negatives": self.negatives, "probabilities": p}


def thin(*curves: np.ndarray) -> np.ndarray:
    """Which points to keep so that between two of them no curve moves by more than `FINE`; jumps stay jumps.

    >>> thin(np.linspace(0, 1, 100_000)).size
    1517
    """
    table = np.stack(curves, axis=1)
    kept, last, size = [0], 0, table.shape[0]
    while last < size - 1:
        reach = 64
        while True:  # look ahead for the first point that is too far away
            part = np.abs(table[last + 1 : last + 1 + reach] - table[last]).max(axis=1) > FINE
            if part.any() or last + 1 + reach >= size:
                break
            reach *= 4
        ahead = int(np.argmax(part)) if part.any() else part.size
        last = last + max(1, ahead)
        kept.append(last)
    return np.array(kept)


def confusion(stops: Stops, place: int) -> dict[str, float]:
    """The numbers of one threshold, under the names that the page gives them."""
    hits, alarms = float(stops.hits[place]), float(stops.alarms[place])
    misses, rejections = stops.positives - hits, stops.negatives - alarms
    total = stops.positives + stops.negatives
    return {
        "tp": hits,
        "fp": alarms,
        "fn": misses,
        "tn": rejections,
        "sensitivity": hits / stops.positives,
        "specificity": rejections / stops.negatives,
        "ppv": hits / (hits + alarms) if hits + alarms > 0.0 else np.nan,
        "npv": rejections / (rejections + misses) if rejections + misses > 0.0 else np.nan,
        "alerts": 1000.0 * (hits + alarms) / total,
    }


@dataclass(frozen=True)
class Explorer:
    """The slider, the table of right and wrong calls, and their shares.

    The slider stands at `place` first, `start` says why. `names` say what rows of both classes have ("sick = yes"),
    `ratio` how many false alarms are as bad as one missed positive; a point moves on the curves of `pictures`.
    """

    stops: Stops
    place: int
    names: Mapping[str, str]
    ratio: float
    start: str
    pictures: Sequence[Drawing] = ()

    def html(self) -> str:
        calls = f'<div class="calls">{self._matrix()}{self._shares()}</div>'
        return f'<div class="explorer">{self._bar()}{calls}{Grid(self.pictures, "curves").html()}</div>'

    def _bar(self) -> str:
        stops, place = self.stops, self.place
        threshold = _value("threshold", f"{float(stops.thresholds[place]):.15g}")
        probability = ""
        if stops.probabilities is not None:
            probability = f", probability {_value('probability', percent(float(stops.probabilities[place])))}"
        return (
            '<div class="slider"><label for="threshold">Call a row positive if its score is at least '
            f'{threshold}{probability}</label><input type="range" id="threshold" min="0" '
            f'max="{stops.thresholds.size - 1}" step="1" value="{place}" hidden>'
            '<p class="remark ends" hidden><span>← every row is called</span><span>no row is called →</span></p>'
            f'<noscript><p class="remark">{escape(self.start)} With JavaScript a slider moves the threshold.</p>'
            "</noscript></div>"
        )

    def _matrix(self) -> str:
        shown = confusion(self.stops, self.place)
        positive, negative = (escape(self.names[side]) for side in ("positive", "negative"))

        def count(name: str, css: str, note: str) -> str:
            text = f"{shown[name]:,.0f}" if shown[name] == int(shown[name]) else f"{shown[name]:,.1f}"
            return f'<td class="{css}">{_value(name, text)}<small>{note}</small></td>'

        found = count("tp", "right", "found") + count("fn", "wrong", "missed")
        others = count("fp", "wrong", "false alarms") + count("tn", "right", "left alone")
        return (
            '<table class="confusion"><caption>Right and wrong calls</caption>'
            '<thead><tr><td></td><th scope="col">called positive</th><th scope="col">not called</th></tr></thead>'
            f'<tbody><tr><th scope="row"><bdi dir="ltr">{positive}</bdi></th>{found}</tr>'
            f'<tr><th scope="row"><bdi dir="ltr">{negative}</bdi></th>{others}</tr></tbody></table>'
        )

    def _shares(self) -> str:
        shown = confusion(self.stops, self.place)
        measures = {
            "sensitivity": ("Sensitivity", "of the rows with {positive} are found"),
            "specificity": ("Specificity", "of the rows with {negative} are left alone"),
            "ppv": ("Positive predictive value", "of the rows called have {positive}"),
            "npv": ("Negative predictive value", "of the rows not called have {negative}"),
        }
        tiles = [
            (title, name, "–" if np.isnan(shown[name]) else percent(shown[name]), words.format_map(self.names))
            for name, (title, words) in measures.items()
        ]
        cost = (shown["fp"] + self.ratio * shown["fn"]) * 1000.0 / (self.stops.positives + self.stops.negatives)
        tiles.append(("Alerts per 1,000 rows", "alerts", f"{shown['alerts']:.1f}", "rows called positive"))
        tiles.append(("Cost per 1,000 rows", "cost", f"{cost:,.1f}", "in false alarms"))
        listed = "".join(
            f"<div><dt>{title}</dt><dd>{_value(name, text)}"
            f'<small><bdi dir="ltr">{escape(words)}</bdi></small></dd></div>'
            for title, name, text, words in tiles
        )
        price = (
            '<p class="price"><label for="cost">One missed row is as bad as</label> '
            f'<input type="number" id="cost" min="0" step="any" value="{self.ratio:g}" hidden>'
            f'<span class="without-script">{self.ratio:g}</span> '
            'false alarms. <button type="button" id="cheapest" hidden>Go to the least cost</button> '
            '<button type="button" id="youden" hidden>Highest sensitivity + specificity</button></p>'
        )
        return f'<div><dl class="tiles">{listed}</dl>{price}</div>'


def _value(name: str, text: str) -> str:
    """A number that the slider changes."""
    return f'<span class="value" data-show="{name}"{NUMBERS}>{text}</span>'
