"""Docstrings without what they would repeat: texts that several share, headings of sections, imports of examples."""

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc, formatannotation, isfunction, unwrap
from textwrap import indent
from typing import Any, TypeVar

Thing = TypeVar("Thing")


def share_texts(texts: str = "", room: str = "") -> Callable[[Thing], Thing]:
    """A decorator that finishes a docstring; that of a class finishes those of its public methods as well.

    Lines such as ``{l2, tol}`` become the entries of these names. `texts` holds the entries as a docstring would,
    "name : type" and then indented lines, or a single line "name : type | text"; one of several names, "a, b : int", is
    asked for by the first.

    With the `room` that names are imported from, headings may be left out. The parameters of a function are the first
    paragraph that begins with an entry, and so are the attributes of a record; parameters without an entry follow, if
    all of them are among the texts. What a function returns is its annotation. The example is what follows the first
    ``>>>``, with imports of names of the room.
    """
    written = re.split(r"\n+(?=\S)", cleandoc(texts).replace(" | ", "\n    "))
    entries = {re.split("[ ,]", entry)[0]: entry for entry in written}
    known: list[str] = []  # names of the room

    def chosen(line: re.Match[str]) -> str:
        return indent("\n".join(entries[name] for name in line[2].split(", ")), line[1])

    def finish(thing: Any, names: Sequence[str] = ()) -> None:
        text = re.sub(r"^( *)\{(\w+(?:, \w+)*)\}$", chosen, thing.__doc__ or "", flags=re.MULTILINE)
        if room and text:
            text, mark, example = cleandoc(text).partition("\n\n>>> ")
            if isfunction(thing):
                text = _with_parameters(thing, text, entries)
            elif hasattr(thing, "_fields") or hasattr(thing, "__dataclass_fields__"):
                text = _with_heading("Attributes", text)
            if mark and "\nExamples\n---" not in text:
                text, example = f"{text}\n\nExamples\n--------", _with_imports(f">>> {example}", names, room)
                mark = "\n"
            text += mark + example
        thing.__doc__ = text

    def write(thing: Any) -> Any:
        known.append(thing.__name__)
        finish(thing, known)
        for name, member in vars(thing).items() if isinstance(thing, type) else ():
            function = getattr(member, "__func__", member)  # of a static method, or of one of the class
            if isfunction(function) and not name.startswith("_"):
                finish(function)
        return thing

    return write


def _with_parameters(function: Any, text: str, entries: Mapping[str, str]) -> str:
    """A docstring with the headings of parameters and of what comes back, and with parameters that it leaves out."""
    heading, code = "\n\nParameters\n----------\n", unwrap(function).__code__
    before, _, after = _with_heading("Parameters", text).partition(heading)
    own, *others = re.split(r"\n\n(?=\w[\w ]*\n---)", after, maxsplit=1)
    written = re.findall(r"\w+", " ".join(re.findall(r"^\S.*?(?= : |$)", own, flags=re.MULTILINE)))
    asked = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    more = [name for name in asked if name not in ("self", "cls", *written)]
    if set(more) <= entries.keys():
        own = "\n".join([own, *(entries[name] for name in more)]).lstrip("\n")
    if not own:
        return text
    returned = function.__annotations__.get("return")
    if not isinstance(returned, str):
        returned = returned.__name__ if isinstance(returned, type) else formatannotation(returned)
    if returned != "None" and not re.search(r"\n(Returns|Yields)\n---", f"\n{after}"):
        others.insert(0, f"Returns\n-------\n{'self' if returned == 'Self' else returned}")
    return "\n\n".join([before + heading + own, *others])


def _with_heading(name: str, text: str) -> str:
    """A docstring with a heading before the first paragraph that begins with an entry, if it has none of this name."""
    if f"\n{name}\n---" in text:
        return text
    return re.sub(r"\n\n(?=\*{0,2}\w+(?:, \*{0,2}\w+)*(?: : |\n {4}\S))", f"\n\n{name}\n----------\n", text, count=1)


def _with_imports(example: str, names: Sequence[str], room: str) -> str:
    """An example that imports those of some names that it uses, after other imports."""
    code = "\n".join(line for line in example.split("\n") if line.startswith((">>> ", "... ")))
    used = [name for name in sorted(names) if re.search(rf"(?<![\w.]){name}[(.]", code)]
    imported = {name for line in re.findall(r"import (.*)", example) for name in line.split(", ")}
    if not (missing := ", ".join(name for name in used if name not in imported)):
        return example
    others = re.match(r"(?:>>> (?:import |from ).*\n)*", example)
    return f"{others[0]}>>> from {room} import {missing}\n{example[others.end() :]}" if others else example
