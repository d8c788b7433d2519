"""The blocks of which pages and the output of commands are made: records of texts and numbers.

html.py, markdown.py and the terminal (`vrspam.cli.terminal`) each write them in their own way. A picture and the
slider are `Html`: the other two leave them out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from vrspam._utils.findings import Finding, Fix, text_of
from vrspam._utils.texts import auc_text, interval_text
from vrspam.report.html import Html

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
    if sign:
        form = f"+{form}"
    return Cell(format(value, form), value)


@dataclass(frozen=True)
class Table:
    """A table; on a page the reader can sort it by clicking on a heading."""

    columns: Sequence[str]
    rows: Sequence[Row]
    caption: str = ""

    @property
    def cells(self) -> list[list[Cell]]:
        return [[Cell(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows]

    @property
    def number_columns(self) -> list[bool]:
        """Whether all that stands in a column, if anything does, are numbers."""
        cells = self.cells
        are_numbers = []
        for place in range(len(self.columns)):
            filled = [row[place] for row in cells if row[place].text not in EMPTY]
            are_numbers.append(bool(filled) and all(cell.sort is not None for cell in filled))
        return are_numbers


@dataclass(frozen=True)
class Figure:
    """A figure (an SVG or PNG file), with a description in words."""

    path: Path
    caption: str
    alt: str


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, and a command to be copied below it.

    `soft` is for remarks; a page writes `numbers` as the reader's browser does.
    """

    text: str
    soft: bool = False
    numbers: bool = False
    code: str = ""


@dataclass(frozen=True)
class Bullets:
    """A list of short statements."""

    items: Sequence[str]


@dataclass(frozen=True)
class Facts:
    """Names and values; a page writes `numbers` among the values as the reader's browser does."""

    values: Mapping[str, str]
    numbers: bool = False


@dataclass(frozen=True)
class Grid:
    """Blocks side by side, as many as there is room for; `least` is their least width."""

    blocks: Sequence[Shown]
    least: Literal["medium", "large", "curves", "beside"] = "medium"


@dataclass(frozen=True)
class Folded:
    """Blocks that are shown when the reader asks for them, and in print."""

    title: str
    blocks: Sequence[Shown]


@dataclass(frozen=True)
class Subheading:
    """A heading inside a section, with blocks below it."""

    title: str
    blocks: Sequence[Shown]


@dataclass(frozen=True)
class Card:
    """Blocks in a frame, with a title."""

    title: str
    blocks: Sequence[Shown]


class Noticed(NamedTuple):
    """A finding, or a warning without a code; the code is that of a section of docs/doctor.md, or empty."""

    severity: str
    text: str
    code: str


@dataclass(frozen=True)
class Alerts:
    """What the reader should not miss, the gravest first; `quiet` says that there is nothing."""

    title: str
    noticed: Sequence[Noticed]
    quiet: str

    @property
    def grave(self) -> list[Noticed]:
        return [each for each in self.noticed if each.severity != "note"]

    @property
    def notes(self) -> list[Noticed]:
        return [each for each in self.noticed if each.severity == "note"]


def all_noticed(texts: Sequence[str], show: Callable[[Fix], str] = str) -> list[Noticed]:
    """Findings and other texts, which count as warnings: severe ones, then warnings, and notes last.

    `show` returns how an option is shown.
    """
    noticed = []
    for text in texts:
        if isinstance(text, Finding):
            noticed.append(Noticed(text.severity, text_of(text, show), text.code))
        else:
            noticed.append(Noticed("warning", text_of(text, show), ""))
    order = ("severe", "warning", "note")
    return sorted(noticed, key=lambda each: order.index(each.severity))


@dataclass(frozen=True)
class Headline:
    """The first screen: one number with its interval (NaN if unknown), what it means, facts, and what to worry about.

    `scale` is a picture of the number, `source` says where the interval comes from.
    """

    name: str
    value: float
    low: float
    high: float
    sentence: str
    facts: Facts
    alerts: Alerts
    remark: str = ""
    confidence: float = 0.95
    source: str = ""
    scale: Html | None = None

    def number(self, digits: int) -> str:
        return auc_text(self.value, digits)

    def interval(self, digits: int) -> str:
        ends = f"{100 * self.confidence:g} % interval {interval_text(self.low, self.high, digits)}"
        return f"{ends} ({self.source})" if self.source else ends


Block = Table | Figure | Paragraph | Bullets | Facts | Grid | Folded | Subheading | Card | Alerts | Headline
Shown = Block | Html
