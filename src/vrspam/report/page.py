"""The blocks of a page, and the page.

A page is a list of sections, and a section is a list of blocks: text, a table, a picture, a list of facts, each made by
a function of this module. The page makes no network request (its content security policy forbids it, and allows only
its own script and style), prints well, and can be read on a phone, in the dark, by keyboard and by a screen reader.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from vrspam._utils.atomic import write_text
from vrspam._utils.plain import json_text, readable
from vrspam.report.html import Html, block, whole_page

EMPTY = ("", "–")  # cells that say that there is nothing


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


Row = Sequence[Cell | str]


def number_cell(value: float, *, sign: bool = False) -> Cell:
    """A number with four decimals, or four digits if it is large."""
    form = ".4f" if abs(value) < 1e4 else ".4g"
    return Cell(format(value, f"+{form}" if sign else form), value)


class _Column(NamedTuple):
    """A heading, and whether what stands below it are numbers."""

    name: str
    is_number: bool


def table(columns: Sequence[str], rows: Iterable[Row], caption: str = "") -> Html:
    """A table that the reader can sort by clicking on a heading."""
    cells = [[Cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    headings = []
    for place, name in enumerate(columns):
        filled = [row[place] for row in cells if row[place].text not in EMPTY]
        is_number = bool(filled) and all(cell.sort is not None for cell in filled)
        headings.append(_Column(name, is_number))
    label = caption or f"Table: {', '.join(columns)}"
    return block("table", columns=headings, rows=cells, caption=caption, label=label)


def figure(path: Path, caption: str, alt: str) -> Html:
    """A figure (an SVG or PNG file) inside the page, with a description in words."""
    kind = {".svg": "image/svg+xml", ".png": "image/png"}[path.suffix]
    data = base64.b64encode(path.read_bytes()).decode()
    return block("figure", source=f"data:{kind};base64,{data}", caption=caption, alt=alt)


def paragraph(text: str, *, soft: bool = False, numbers: bool = False, code: str = "") -> Html:
    """A paragraph, and a command to be copied below it.

    `soft` is for remarks, `numbers` are written as the reader's browser writes them.
    """
    return block("paragraph", text=text, soft=soft, numbers=numbers, code=code)


def bullets(items: Iterable[str]) -> Html:
    """A list of short statements."""
    return block("bullets", items=items)


def facts(values: Mapping[str, str], numbers: bool = False) -> Html:
    """Names and values; numbers among the values are written as the reader's browser writes them, if asked for."""
    return block("facts", values=values, numbers=numbers)


def grid(blocks: Iterable[Html], least: Literal["medium", "large", "curves", "beside"] = "medium") -> Html:
    """Blocks side by side, as many as there is room for; `least` is their least width."""
    return block("grid", blocks=blocks, least=least)


def folded(title: str, *blocks: Html) -> Html:
    """Blocks that are shown when the reader asks for them, and in print."""
    return block("folded", title=title, blocks=blocks)


def subheading(title: str, below: Html) -> Html:
    """A heading inside a section, with a block below it."""
    return block("subheading", title=title, block=below)


def card(title: str, *blocks: Html) -> Html:
    """Blocks in a frame, with a title."""
    return block("card", title=title, blocks=blocks)


class Section(NamedTuple):
    """A heading, blocks below it, and what the script of the page needs for them."""

    heading: str
    blocks: Sequence[Html]
    data: Mapping[str, Any] = {}


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
    sections: list[Section] = field(default_factory=list)
    headline: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    def add(self, heading: str, *blocks: Html) -> None:
        """Append a section of these blocks."""
        self.put(Section(heading, blocks))

    def put(self, section: Section | None) -> None:
        """Append a section; None is one that this page does not have."""
        if section is not None:
            self.sections.append(section)
            self.data.update(section.data)

    def html(self) -> str:
        """Return the page as HTML."""
        data = json_text(self.data, separators=(",", ":"), ensure_ascii=False)
        inside_script = data.replace("<", "\\u003c")  # "<" cannot end the element that holds the data
        return readable(whole_page(self, Html(inside_script)))

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
