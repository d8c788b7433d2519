"""The page: sections of blocks, as one HTML file or as Markdown.

The HTML page makes no network request (its content security policy forbids it, and allows only its own script and
style), prints well, and can be read on a phone, in the dark, by keyboard and by a screen reader.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from vrspam._utils.atomic import write_text
from vrspam._utils.plain import json_text, readable
from vrspam.report.blocks import Alerts, Headline, Shown
from vrspam.report.html import Html, whole_page
from vrspam.report.markdown import as_markdown, heading, plain


class Section(NamedTuple):
    """A heading, blocks below it, and what the script of the page needs for them."""

    heading: str
    blocks: Sequence[Shown]
    data: Mapping[str, Any] = {}


@dataclass
class Page:
    """A page, built section by section; `data` is what its script needs.

    Examples
    --------
    >>> from vrspam.report.blocks import Cell, Table
    >>> page = Page("Scores", "Two models on one set")
    >>> page.add("Result", Table(["model", "AUC"], [["a", Cell(".91", 0.91)], ["b", Cell(".89", 0.89)]]))
    >>> "<h2>Result</h2>" in page.html()
    True
    >>> print(page.markdown())
    # Scores
    <BLANKLINE>
    Two models on one set
    <BLANKLINE>
    ## Result
    <BLANKLINE>
    | model | AUC |
    |---|--:|
    | a | .91 |
    | b | .89 |
    <BLANKLINE>
    """

    title: str
    summary: str = ""
    sections: list[Section] = field(default_factory=list)
    headline: Headline | Alerts | None = None
    data: dict[str, Any] = field(default_factory=dict)

    def add(self, heading: str, *blocks: Shown) -> None:
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

    def markdown(self) -> str:
        """Return the page as Markdown, without pictures and slider."""
        parts = [heading(1, self.title), plain(self.summary), as_markdown(self.headline)]
        for section in self.sections:
            parts += [heading(2, section.heading), *map(as_markdown, section.blocks)]
        return readable("\n\n".join(filter(None, parts))) + "\n"

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to an HTML file; readers see the old file or the complete new one."""
        return write_text(path, self.html())

    def write_markdown(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a Markdown file, whole as `write` does."""
        return write_text(path, self.markdown())
