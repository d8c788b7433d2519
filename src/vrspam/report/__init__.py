"""Tables, figures and text in one HTML page that needs no other file.

A page is a list of sections, and a section is a list of parts: text, a table, a figure or a list of facts.
The page makes no network request (its content security policy forbids it), prints well, and can be read on a phone.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path

from vrspam._utils.atomic import write_text


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
        head = "".join(
            f'<th scope="col" aria-sort="none"><button type="button">{escape(name)}</button></th>'
            for name in self.columns
        )
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows)
        caption = f"<caption><span>{escape(self.caption)}</span></caption>" if self.caption else ""
        return (
            f'<div class="wide" tabindex="0"><table class="sortable">{caption}'
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
            f'{figure}<div class="wide" tabindex="0"><img src="data:{kind};base64,{data}" alt="{escape(self.alt)}">'
            f"</div><figcaption>{escape(self.caption)}</figcaption></figure>"
        )


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str

    def html(self) -> str:
        return f"<p>{escape(self.text)}</p>"


@dataclass(frozen=True)
class Bullets:
    """A list of short statements."""

    items: Sequence[str]

    def html(self) -> str:
        # a line must not break inside an option, between its hyphens and its name
        items = (re.sub(r"--[a-z][a-z-]*", r"<code>\g<0></code>", escape(item)) for item in self.items)
        return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    values: Mapping[str, str]

    def html(self) -> str:
        pairs = (f"<div><dt>{escape(key)}</dt><dd>{escape(value)}</dd></div>" for key, value in self.values.items())
        return f"<dl>{''.join(pairs)}</dl>"


Block = Text | Bullets | Facts | Table | Figure


@dataclass
class Page:
    """A page, built section by section.

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
        template = files("vrspam.report").joinpath("template.html").read_text("utf-8")
        parts = {"title": escape(self.title), "summary": escape(self.summary), "links": links, "body": body}
        return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)  # values may hold braces

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file; readers see the old file or the complete new one."""
        return write_text(path, self.html())


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
    attributes = "" if cell.sort is None else f' data-sort="{cell.sort!r}" class="number"'
    lines = [escape(cell.text), *(f"<small>{escape(line)}</small>" for line in cell.note.splitlines())]
    if cell.mark:
        lines[-1] = f'<span class="{escape(cell.mark)}">{lines[-1]}</span>'
    return f"<td{attributes}>{''.join(lines)}</td>"
