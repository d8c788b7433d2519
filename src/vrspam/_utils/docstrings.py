"""Texts of parameters and attributes that several docstrings share, each written once."""

import re
from collections.abc import Callable
from inspect import cleandoc, isfunction
from textwrap import indent
from typing import Any, TypeVar

Thing = TypeVar("Thing")


def share_texts(texts: str) -> Callable[[Thing], Thing]:
    """Return a decorator that replaces lines such as ``{l2, tol}`` by shared entries.

    It does so in the docstring of a function, or of a class and its public methods. `texts` holds the entries as a
    docstring would, "name : type" and then indented lines, or a single line "name : type | text". An entry of several
    names, "a, b : int", is asked for by the first.
    """
    written = re.split(r"\n+(?=\S)", cleandoc(texts).replace(" | ", "\n    "))
    entries = {re.split("[ ,]", entry)[0]: entry for entry in written}

    def chosen(line: re.Match[str]) -> str:
        return indent("\n".join(entries[name] for name in line[2].split(", ")), line[1])

    def write(thing: Any) -> Any:
        members = vars(thing).items() if isinstance(thing, type) else ()
        methods = [getattr(member, "__func__", member) for name, member in members if not name.startswith("_")]
        for documented in (thing, *filter(isfunction, methods)):
            if text := documented.__doc__:
                documented.__doc__ = re.sub(r"^( *)\{(\w+(?:, \w+)*)\}$", chosen, text, flags=re.MULTILINE)
        return thing

    return write
