"""Where commands print: results on the standard output, errors, warnings and progress on the standard error stream."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from vrspam._utils.messages import worded
from vrspam.cli.options import as_option

INTERRUPTED = 130  # exit code after Ctrl-C, by custom
WIDE = 200  # columns, where the output is not a terminal and so has no width

out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
err = Console(highlight=False, stderr=True, width=None if sys.stderr.isatty() else WIDE)


def say(text: str) -> None:
    """Print a line of the result, unbroken."""
    out.print(text, markup=False, soft_wrap=True)


def warn(text: str) -> None:
    """Print a line on the standard error stream, unbroken."""
    err.print(text, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print one JSON document on the standard output."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def in_options(message: Any) -> str:
    """The text of an error, a warning or a note, with options where it names parameters."""
    return worded(message, as_option)


def on_terminal() -> bool:
    """Whether a progress bar can move."""
    return err.is_terminal


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each different warning once, as one line that names options."""
    shown: set[str] = set()  # a file that is read twice has the same broken lines twice

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if (text := in_options(message)) not in shown:
            shown.add(text)
            warn(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield
