"""Tables and facts for people: as wide as the terminal, in one line each where the output goes elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import StringIO
from textwrap import indent

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from vrspam.cli.options import as_shown, out, say

NARROW = 60  # columns: in a narrower terminal a label has a line of its own
LEAST_TEXT = 12  # columns that are left to a column of text
UNBROKEN = 100_000  # columns: lines that go to a file or a pipe are not broken
INDENT = 2


def tell(text: str, margin: int = 0) -> None:
    """Print a sentence: broken between words on a terminal, in one line elsewhere."""
    if out.is_terminal:
        out.print(Padding(Text(as_shown(text)), (0, 0, 0, margin)))
    else:
        say(" " * margin + text)


def show_facts(facts: Iterable[tuple[str, str]], width: int = 19) -> None:
    """Print labels and what they say; a fact without a label goes on with the one before."""
    facts = list(facts)
    if out.is_terminal and out.width < NARROW:
        for label, text in facts:
            if label:
                out.print(Text(label, style="bold"))
            tell(text, INDENT)
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True, min_width=width)
    table.add_column(overflow="fold")
    for label, text in facts:
        table.add_row(Text(as_shown(label)), Text(as_shown(text)))
    _show(table)


def show_table(
    names: Sequence[str], rows: Iterable[Sequence[str]], texts: Sequence[int] = (0,), *, margin: int = 0
) -> None:
    """Print a table; the columns numbered in `texts` are broken if they must be, the others are numbers.

    In a terminal that is too narrow for the numbers of a row, each of them has a line of its own.
    """
    rows = [[as_shown(cell) for cell in row] for row in rows]
    numbers = [j for j in range(len(names)) if j not in texts]
    wide = sum(max(cell_len(cell) for cell in (names[j], *(row[j] for row in rows))) for j in numbers)
    if out.is_terminal and out.width < margin + wide + 2 * len(names) + LEAST_TEXT * len(texts):
        _show_stacked(names, rows)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for j, name in enumerate(names):
        text = j in texts
        table.add_column(Text(name), justify="left" if text else "right", no_wrap=not text, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    _show(table, margin)


def _show_stacked(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for row in rows:
        out.print(Text(row[0], style="bold"))
        for name, cell in zip(names[1:], row[1:], strict=True):
            if cell:
                tell(f"{name}: {cell}", INDENT)


def _show(table: Table, margin: int = 0) -> None:
    if out.is_terminal:
        out.print(Padding(table, (0, 0, 0, margin), expand=False))
        return
    plain = StringIO()
    Console(file=plain, width=UNBROKEN, color_system=None, force_terminal=False).print(table)
    lines = "\n".join(line.rstrip() for line in plain.getvalue().rstrip("\n").split("\n"))
    for line in indent(lines, " " * margin).split("\n"):
        say(line)
