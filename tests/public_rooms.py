"""The rooms whose names are public, and how a docstring is read."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

from vrspam._utils.extras import MissingExtra

STABLE = [
    "vrspam",
    "vrspam.features",
    "vrspam.metrics",
    "vrspam.tool",
    "vrspam.plotting",
    "vrspam.data",
    "vrspam.theory",
    "vrspam.export",
    "vrspam.distributed",
    "vrspam.online",
    "vrspam.selection",
    "vrspam.trusted",
]
FOR_EXTENSIONS = ["vrspam.objective", "vrspam.solvers", "vrspam.model_selection", "vrspam.inspection"]
ROOMS = STABLE + FOR_EXTENSIONS
EXTRAS = {"vrspam.online": "river", "vrspam.plotting": "matplotlib", "vrspam.distributed": "dask"}


def public_names() -> list[str]:
    """Every public name with its room, such as "vrspam.metrics.roc_auc"."""
    names = []
    for room in ROOMS:
        try:
            module = importlib.import_module(room)
        except MissingExtra:  # the names of a room that needs an extra cannot be asked for without it
            continue
        names += [f"{room}.{name}" for name in module.__all__]
    return names


def public_thing(name: str) -> Any:
    """What a name stands for; the test is skipped where its extra is not installed."""
    room, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(room), last)
    except MissingExtra as missing:
        pytest.skip(str(missing))


def has_docstring(thing: Any) -> bool:
    """Whether it is a class or a function: constants and types of arguments have no docstring of their own."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


def sections(docstring: str) -> dict[str, str]:
    """The sections of a docstring in the style of numpydoc; what stands before the first is under ""."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def documented(section: str) -> Iterator[str]:
    """The names that a section of parameters or attributes explains: "a, b : int" gives two."""
    for line in section.splitlines():
        if line and not line[0].isspace():
            head = line.split(" : ")[0]
            yield from (name.strip().lstrip("*") for name in head.split(","))
