"""Commands as a user types them, run in this process: what they print, and how they refuse."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import vrspam
from vrspam.cli import main

HOME = str(Path(vrspam.__file__).parent)
#: Warnings that are for developers: none may reach a user.
DEVELOPERS = (RuntimeWarning, DeprecationWarning, PendingDeprecationWarning, FutureWarning)


class Refused(Exception):
    """A command refused what it was given, in one sentence."""


class Printed(NamedTuple):
    """What a command printed; `code` is its exit code."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The output as strict JSON: no NaN, no infinity, and nothing after it."""
        return strict_json(self.out)


def strict_json(text: str) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"JSON holds {name}, which no other program reads")

    return json.loads(text, parse_constant=refuse)


def as_typed(arguments: tuple[str, ...]) -> str:
    return shlex.join(["vrspam", *arguments])


def run(*arguments: Any, codes: tuple[int, ...] = (0,)) -> Printed:
    """Run a command; raise `Refused` if it refuses properly, and AssertionError if it ends in any other way."""
    typed = tuple(map(str, arguments))
    out, err = io.StringIO(), io.StringIO()
    code = 1
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        for category in DEVELOPERS:
            warnings.simplefilter("error", category)
        try:
            code = main([*typed, "--debug"])
        except Exception as error:
            sentence = check_refusal(error, as_typed(typed))
            raise Refused(sentence) from error
    if code in codes:
        return Printed(code, out.getvalue(), err.getvalue())
    last = err.getvalue().strip().rpartition("\n")[2]
    assert code == 2, f"{as_typed(typed)} ends with code {code}: {last}"
    assert last.startswith("vrspam: "), f"{as_typed(typed)} misuses without a sentence: {err.getvalue()!r}"
    raise Refused(re.sub(r"  \(see .*\)$", "", last.removeprefix("vrspam: ")))


def check_refusal(error: Exception, command: str) -> str:
    """The sentence of an error that the package itself raised on purpose; anything else fails."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    raised = f"{command}\n{type(error).__name__} in {where.filename}:{where.lineno}: {error}"
    assert isinstance(error, (ValueError, OSError, RuntimeError)), f"an unexpected error: {raised}"
    assert not isinstance(error, UnicodeError), f"a raw error: {raised}"
    assert where.filename.startswith(HOME), f"an error of another package: {raised}"
    sentence = str(error)
    assert sentence.strip(), f"an error without a sentence: {raised}"
    return sentence
