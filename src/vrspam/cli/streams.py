"""The standard streams of a command: closed ones, broken pipes and encodings that lack a letter do not end its work."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any


def prepare_streams() -> None:
    """Open streams that the caller has closed, and let both outputs escape letters that their encoding lacks.

    A file that a command opens would otherwise get the number of a closed stream, and what libraries print to that
    stream would get into the file. A closed standard input stays None, so that a command which reads it can say so.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    was_closed = sys.stdout is None
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115 (open to the end)
        stream = getattr(sys, name)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if was_closed:
        print("vrspam: the standard output is closed: what a command prints there is lost", file=sys.stderr)


def can_hold(stream: Any, text: str) -> bool:
    """Whether the encoding of a stream has all letters of a text."""
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def drop(stream: Any) -> None:
    """Throw away what is left for a stream that cannot take it, so that the end of the program does not fail of it."""
    with suppress(OSError, ValueError):  # a stream of a test has no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
