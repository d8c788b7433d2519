"""A wrong use of a command, which ends it with the exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from vrspam._utils.findings import VrspamError, text_of
from vrspam.cli.typed import typed

# the error of click for misuse; typer has it from click, or from its own copy of click
Misuse: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "UsageError")
INTERRUPTED = 130  # exit code after Ctrl-C, by custom


@contextmanager
def misuse() -> Iterator[None]:
    """Report what the library refuses as a wrong use of the command, in the same words."""
    try:
        yield
    except VrspamError as error:
        raise Misuse(text_of(error, typed)) from error
