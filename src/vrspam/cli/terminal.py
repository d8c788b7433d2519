"""Blocks of `vrspam.report.blocks` on the terminal; pictures, and what pages fold, are left out."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from pathlib import Path
from typing import Any

from vrspam.cli import output
from vrspam.report.blocks import (
    Alerts,
    Bullets,
    Card,
    Facts,
    Folded,
    Grid,
    Headline,
    Noticed,
    Paragraph,
    Shown,
    Subheading,
    Table,
)
from vrspam.report.html import Html
from vrspam.report.page import Page


def show_all(blocks: Iterable[Shown]) -> None:
    """Print blocks, with an empty line before each that is no paragraph."""
    first = True
    for block in blocks:
        if isinstance(block, Alerts):
            show(block)
        elif not is_empty(block):
            if not (first or isinstance(block, Paragraph)):
                output.say("")
            show(block)
            first = False


def show_written(**files: Path | None) -> None:
    """Print the files that were written, by what they are."""
    written = [(name, str(path)) for name, path in files.items() if path is not None]
    if written:
        output.say("")
        output.show_facts(written)


def show_page(page: Page) -> None:
    """Print what a page says."""
    blocks: list[Shown] = [] if page.headline is None else [page.headline]
    if page.summary:
        blocks.append(Paragraph(page.summary))
    for section in page.sections:
        blocks.append(Subheading(section.heading, section.blocks))
    show_all(blocks)


def is_empty(block: Shown) -> bool:
    """Whether nothing of a block is printed."""
    match block:
        case Html() | Folded():
            return True
        case Grid() | Subheading() | Card():
            return all(map(is_empty, block.blocks))
        case Facts():
            return not block.values
        case Paragraph():
            return not block.text
    return False


@singledispatch
def show(block: Any) -> None:
    """Print a block."""


@show.register
def _(block: Paragraph) -> None:
    output.tell(block.text)
    if block.code:
        output.say(f"{' ' * output.INDENT}{block.code}")


@show.register
def _(block: Bullets) -> None:
    for item in block.items:
        output.tell(item)


@show.register
def _(block: Facts) -> None:
    output.show_facts(block.values.items())


@show.register
def _(block: Table) -> None:
    if block.caption:
        output.tell(block.caption)
    rows = [[", ".join([cell.text, *cell.note.splitlines()]) for cell in row] for row in block.cells]
    texts = [place for place, is_number in enumerate(block.number_columns) if not is_number]
    output.show_table(block.columns, rows, texts, margin=output.INDENT if block.caption else 0)


@show.register
def _(block: Grid) -> None:
    show_all(block.blocks)


@show.register(Subheading)
@show.register(Card)
def _(block: Subheading | Card) -> None:
    output.tell(block.title, style="bold")
    show_all(block.blocks)


@show.register
def _(block: Alerts) -> None:
    for each in block.noticed:
        output.warn(line_of(each))


def line_of(noticed: Noticed) -> str:
    """A finding in one line, with its severity and its code."""
    line = f"{noticed.severity}: {noticed.text}"
    return f"{line} [{noticed.code}]" if noticed.code else line


@show.register
def _(block: Headline) -> None:
    show(block.alerts)
    facts = [(block.name, f"{block.number(4)}, {block.interval(4)}"), ("", block.sentence)]
    if block.remark:
        facts.append(("", block.remark))
    output.show_facts([*facts, *block.facts.values.items()])
