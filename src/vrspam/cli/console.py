"""What all commands share: where they print."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

INTERRUPTED = 130  # exit code after Ctrl-C, by custom
WIDE = 200  # where the output is no terminal, and so has no width

out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
err = Console(highlight=False, stderr=True, width=None if sys.stderr.isatty() else WIDE)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document for scripts instead of text.")]


def say(text: str) -> None:
    """Print a line of the result, unbroken."""
    out.print(text, markup=False, soft_wrap=True)


def warn(text: str) -> None:
    """Print a line on the standard error stream, unbroken."""
    err.print(text, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print one JSON document on the standard output."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def names(value: str | None) -> tuple[str, ...] | None:
    """A comma-separated option as a tuple.

    >>> names("diabetes, german")
    ('diabetes', 'german')
    """
    if value is None:
        return None
    found = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    if not found:
        raise typer.BadParameter("give at least one name")
    return found
