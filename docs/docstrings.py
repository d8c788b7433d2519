"""From docstrings written for a terminal to reStructuredText.

The docstrings of this package are plain text: formulas are indented, tables are those of Markdown, names end in `_`.
"""

from __future__ import annotations

import re

CODE = re.compile(r"(``[^`]+``|`[^`]+`(?:_\b)?|:\w+:`[^`]+`)")
NAME_THAT_ENDS_IN_UNDERSCORE = re.compile(r"(?<=\w)_(?![\w])")
PAGE = re.compile(r"docs/(\w+)\.md")


def as_rst(lines: list[str]) -> list[str]:
    """The same text with literal blocks for what is indented, list tables for tables, and escaped characters.

    >>> as_rst(["The gap bounds F(coef_) - min F:", "", "    |F| ≤ gap_"])
    ['The gap bounds F(coef\\\\_) - min F:', '', '::', '', '    |F| ≤ gap_']
    >>> as_rst(["The optimum is w*."])
    ['The optimum is w\\\\*.']
    >>> print("\\n".join(as_rst(["| map | score |", "|---|---|", "| `A` | a |b| sum |"])))
    .. list-table::
       :header-rows: 1
    <BLANKLINE>
       * - map
         - score
       * - `A`
         - a
         - b
         - sum
    <BLANKLINE>
    """
    done: list[str] = []
    block: list[str] = []
    in_text = True  # until the first section of numpydoc, whose indented lines are descriptions
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        in_text = in_text and not (following.startswith("---") and line.strip())
        if line.strip():
            block.append(line)
        else:
            done += _block(block, in_text, done)
            block = []
            done.append(line)
    return done + _block(block, in_text, done)


def _block(block: list[str], in_text: bool, before: list[str]) -> list[str]:
    """A run of lines without an empty one between them."""
    if not block or any(line.lstrip().startswith((">>>", "...")) for line in block):
        return block
    if block[0].startswith("|") and len(block) > 1 and set(block[1]) <= set("|-: "):
        return _list_table(block)
    if in_text and all(line.startswith("    ") for line in block):
        previous = next((line for line in reversed(before) if line.strip()), "")
        return block if previous.startswith("    ") or previous.endswith("::") else ["::", "", *block]
    return _escaped("\n".join(block)).split("\n")


def _list_table(block: list[str]) -> list[str]:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block if set(line) - set("|-: ")]
    cells = [f"   {'*' if first else ' '} - {_escaped(cell)}" for row in rows for first, cell in _marked(row)]
    return [".. list-table::", "   :header-rows: 1", "", *cells, ""]


def _marked(row: list[str]) -> list[tuple[bool, str]]:
    return [(i == 0, cell) for i, cell in enumerate(row)]


def _escaped(text: str) -> str:
    """Outside code: no substitutions, no targets, no emphasis that does not end, and pages as links."""
    parts = CODE.split(text)
    parts[::2] = [
        PAGE.sub(r":doc:`\1 </\1>`", NAME_THAT_ENDS_IN_UNDERSCORE.sub(r"\\_", part.replace("|", r"\|")))
        for part in parts[::2]
    ]
    if sum(part.count("*") for part in parts[::2]) % 2:
        parts[::2] = [part.replace("*", r"\*") for part in parts[::2]]
    return "".join(parts)
