"""Blocks as Markdown: for a pull request, a notebook, a wiki. Pictures and the slider, which are HTML, are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import singledispatch
from typing import Any

from vrspam.report.blocks import (
    Alerts,
    Bullets,
    Card,
    Cell,
    Facts,
    Figure,
    Folded,
    Grid,
    Headline,
    Noticed,
    Paragraph,
    Shown,
    Subheading,
    Table,
)

_SYNTAX = re.compile(r"[\\`*_\[\]<>|~&]")
_OPTION = re.compile(r"--[a-z][a-z-]*")


def plain(text: str) -> str:
    """A text in one line that Markdown shows as it is: names from a file are no markup; options are code.

    >>> print(plain("a*b, <b>: add --max-categories 20"))
    a\\*b, \\<b\\>: add `--max-categories` 20
    """
    parts, end = [], 0
    text = " ".join(text.split())
    for option in _OPTION.finditer(text):
        parts += [_escaped(text[end : option.start()]), f"`{option[0]}`"]
        end = option.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return _SYNTAX.sub(r"\\\g<0>", text)


def heading(level: int, title: str) -> str:
    """A heading of a page (1), of a section (2), or inside one (3)."""
    return f"{'#' * level} {plain(title)}"


def _joined(blocks: Iterable[Shown]) -> str:
    return "\n\n".join(filter(None, map(as_markdown, blocks)))


@singledispatch
def as_markdown(block: Any) -> str:
    """A block as Markdown; "" for a picture."""
    return ""


@as_markdown.register
def _(block: Paragraph) -> str:
    text = plain(block.text)
    if not block.code:
        return text
    fence = "`" * (1 + max(map(len, re.findall("`+", block.code)), default=2))
    return f"{text}\n\n{fence}\n{block.code}\n{fence}"


@as_markdown.register
def _(block: Bullets) -> str:
    return "\n".join(f"- {plain(item)}" for item in block.items)


@as_markdown.register
def _(block: Facts) -> str:
    return "\n".join(f"- **{plain(name)}**: {plain(value)}" for name, value in block.values.items())


@as_markdown.register
def _(block: Table) -> str:
    lines = [
        f"| {' | '.join(map(plain, block.columns))} |",
        f"|{'|'.join('--:' if is_number else '---' for is_number in block.number_columns)}|",
    ]
    lines += [f"| {' | '.join(map(_cell, row))} |" for row in block.cells]
    caption = [f"{plain(block.caption)}:", ""] if block.caption else []
    return "\n".join([*caption, *lines])


def _cell(cell: Cell) -> str:
    return plain(", ".join([cell.text, *cell.note.splitlines()]))


@as_markdown.register
def _(block: Figure) -> str:
    return f"![{plain(block.alt)}]({block.path.name})\n\n{plain(block.caption)}"


@as_markdown.register
def _(block: Grid) -> str:
    return _joined(block.blocks)


@as_markdown.register(Folded)
@as_markdown.register(Subheading)
@as_markdown.register(Card)
def _(block: Folded | Subheading | Card) -> str:
    return f"{heading(4 if isinstance(block, Card) else 3, block.title)}\n\n{_joined(block.blocks)}"


@as_markdown.register
def _(block: Alerts) -> str:
    items = [_noticed(each) for each in block.noticed] or [plain(block.quiet)]
    return "\n".join([f"**{plain(block.title)}**", "", *(f"- {item}" for item in items)])


def _noticed(noticed: Noticed) -> str:
    code = f" (`{noticed.code}`)" if noticed.code else ""
    return f"**{noticed.severity}**: {plain(noticed.text)}{code}"


@as_markdown.register
def _(block: Headline) -> str:
    number = f"**{plain(block.name)}: {block.number(3)}**, {plain(block.interval(3))}. {plain(block.sentence)}"
    parts = [number, as_markdown(block.facts), plain(block.remark), as_markdown(block.alerts)]
    return "\n\n".join(filter(None, parts))
