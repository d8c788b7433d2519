"""What commands print: results, warnings and tables, for people and for scripts.

Sentences for people are broken to the width of a terminal; where the output goes elsewhere, each is one line.
"""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from vrspam._utils.findings import Finding, text_of
from vrspam._utils.plain import json_text
from vrspam.cli.streams import can_hold, drop
from vrspam.cli.typed import typed

_WIDE = 200  # columns, where the output is not a terminal and so has no width
INDENT = 2


class Output(Console):
    """A console that leaves a broken pipe to `run`; rich would end the process at once."""

    def on_broken_pipe(self) -> None:
        """Raise the error that is being handled."""
        raise


out = Output(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
err = Output(highlight=False, stderr=True, width=None if sys.stderr.isatty() else _WIDE)


# Characters that a terminal obeys instead of showing: control characters, line ends, changes of direction, surrogates.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def as_shown(text: str) -> str:
    """A text with control characters escaped, so that names from a file cannot steer the terminal.

    Blanks at which a page does not break a line are plain ones, which every encoding has.

    >>> print(as_shown("\\x1b[31mage"))
    \\x1b[31mage
    """
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text.replace("\N{NO-BREAK SPACE}", " "))


def say(text: str) -> None:
    """Print a line of the result, unbroken."""
    out.print(as_shown(text), markup=False, soft_wrap=True)


def warn(text: str) -> None:
    """Print a line on the standard error stream: broken between words on a terminal, unbroken elsewhere."""
    try:
        err.print(as_shown(text), markup=False, soft_wrap=not err.is_terminal)
        sys.stderr.flush()
    except OSError:  # nobody can read it, and no work is lost for that
        drop(sys.stderr)


def print_json(value: Any) -> None:
    """Print one JSON document on the standard output."""
    lines = json_text(value, indent=2, ensure_ascii=False).split("\n")
    text = "\n".join(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in lines)
    if not can_hold(sys.stdout, text):
        text = json_text(value, indent=2)
    typer.echo(text)


def worries(interval: Any, notes: Iterable[str], measure: str = "AUC") -> list[str]:
    """Warnings for scripts, in terms of options: severe ones, doubts about the measure, other warnings, notes."""
    from vrspam.report.blocks import all_noticed
    from vrspam.report.words.auc import doubt_of

    confidence = getattr(interval, "confidence", 0.95)
    doubt = [] if interval is None else doubt_of(interval.low, interval.high, confidence, measure)
    return [noticed.text for noticed in all_noticed([*doubt, *notes], typed)]


def findings(notes: Iterable[str]) -> list[dict[str, Any]]:
    """The findings among notes, for JSON."""
    return [
        {
            "code": note.code,
            "severity": note.severity,
            "sentence": text_of(note, typed),
            **({} if note.fix is None else {"fix": typed(note.fix)}),
            "page": f"docs/doctor.md#{note.code}",
        }
        for note in notes
        if isinstance(note, Finding)
    ]


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each different warning once, as one line that names options."""
    shown: set[str] = set()  # a file that is read twice has the same broken lines twice

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if (text := text_of(message, typed)) not in shown:
            shown.add(text)
            warn(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def tell(text: str, margin: int = 0, style: str = "") -> None:
    """Print a sentence: broken between words on a terminal, in one line elsewhere."""
    if out.is_terminal:
        out.print(Padding(Text(as_shown(text), style=style), (0, 0, 0, margin)))
    else:
        say(" " * margin + text)


def show_facts(facts: Iterable[tuple[str, str]], width: int = 19) -> None:
    """Print facts with their labels; a fact without a label continues the one before."""
    facts = list(facts)
    longest = max((cell_len(label) for label, _ in facts), default=0)
    if out.is_terminal and out.width < max(60, longest + 40):  # a label has a line of its own
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
    """Print a table; columns in `texts` may be broken, and in a narrow terminal each number has its own line."""
    rows = [[as_shown(cell) for cell in row] for row in rows]
    numbers = [j for j in range(len(names)) if j not in texts]
    wide = sum(max(cell_len(cell) for cell in (names[j], *(row[j] for row in rows))) for j in numbers)
    if out.is_terminal and out.width < margin + wide + 2 * len(names) + 12 * len(texts):
        for row in rows:
            out.print(Text(row[0], style="bold"))
            for name, cell in zip(names[1:], row[1:], strict=True):
                if cell:
                    tell(f"{name}: {cell}", INDENT)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for j, name in enumerate(names):
        text = j in texts
        table.add_column(Text(name), justify="left" if text else "right", no_wrap=not text, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    _show(table, margin)


def _show(table: Table, margin: int = 0) -> None:
    if out.is_terminal:
        out.print(Padding(table, (0, 0, 0, margin), expand=False))
        return
    plain = io.StringIO()
    Console(file=plain, width=100_000, color_system=None, force_terminal=False).print(table)
    lines = "\n".join(line.rstrip() for line in plain.getvalue().rstrip("\n").split("\n"))
    for line in indent(lines, " " * margin).split("\n"):
        say(line)


def page_name(data: str) -> str:
    """The name of the data on a page."""
    return "standard input" if data == "-" else Path(data).name
