"""Texts of parameters and attributes that several docstrings share, each written once."""

import re
from collections.abc import Callable
from inspect import cleandoc
from textwrap import indent
from typing import TypeVar

Thing = TypeVar("Thing")


def share_texts(texts: str) -> Callable[[Thing], Thing]:
    """A decorator that writes shared entries into a docstring, in the place of lines such as ``{l2, tol}``.

    `texts` holds the entries as a docstring would, "name : type" and then indented lines. An entry of several names,
    "a, b : int", is asked for by the first.
    """
    entries = {re.split("[ ,]", entry)[0]: entry for entry in re.split(r"\n(?=\S)", cleandoc(texts))}

    def write(thing: Thing) -> Thing:
        def chosen(line: re.Match[str]) -> str:
            return indent("\n".join(entries[name] for name in line[2].split(", ")), line[1])

        thing.__doc__ = re.sub(r"^( *)\{(\w+(?:, \w+)*)\}$", chosen, thing.__doc__ or "", flags=re.MULTILINE)
        return thing

    return write
