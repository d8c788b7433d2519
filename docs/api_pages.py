"""The pages of the reference: one for each room of public names, from its `__all__`."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

ROOMS = {
    "vrspam": "Estimators and statistics",
    "vrspam.features": "Feature maps",
    "vrspam.metrics": "Metrics",
    "vrspam.plotting": "Plots",
    "vrspam.tool": "The tool, from Python",
    "vrspam.data": "Data",
    "vrspam.distributed": "Clusters",
    "vrspam.online": "Streams (river)",
    "vrspam.export": "Export",
    "vrspam.theory": "Theory",
}
FOR_EXTENSIONS = {
    "vrspam.selection": "The choice of a point of a grid",
    "vrspam.trusted": "Loading with skops",
    "vrspam.objective": "Losses and penalties",
    "vrspam.solvers": "Solvers",
    "vrspam.model_selection": "Cross-validation",
    "vrspam.inspection": "Readings of a score",
}


def public_names(room: str) -> list[str]:
    """What users import from a room."""
    names = getattr(importlib.import_module(room), "__all__", [])
    return sorted((name for name in names if name[0] != "_"), key=str.lower)


def write_api_pages(folder: Path) -> list[str]:
    """Write a page for each room, with a table of its names; return the pages for autosummary."""
    folder.mkdir(exist_ok=True)
    others = {room: title for room, title in FOR_EXTENSIONS.items() if public_names(room)}
    first: dict[int, str] = {}  # where a thing that is public in two rooms is described
    for room, title in (ROOMS | others).items():
        again = _second_names(room, first)
        for name, where in again.items():
            text = f"{name}\n{'=' * len(name)}\n\n``{room}.{name}`` is :doc:`{where}`.\n"
            _write_if_changed(folder / f"{room}.{name}.rst", text)
        _write_if_changed(folder / f"{room}.rst", _page(room, title, list(again)))
    head = ["For extensions", "=" * 14, "", "Rooms for those who add to the package; most of their names may change."]
    toctree = ["", ".. toctree::", "   :maxdepth: 1", "", *(f"   {room}" for room in others)]
    _write_if_changed(folder / "for_extensions.rst", "\n".join([*head, *toctree]) + "\n")
    return [f"api/{room}.rst" for room in ROOMS | others]


def import_spark_estimators() -> None:
    """Make the Spark estimators known without pyspark, whose 400 MB the site does not need."""
    import vrspam.distributed as room

    if importlib.util.find_spec("pyspark") is None:
        from sphinx.ext.autodoc.mock import mock

        with mock(["pyspark"]):
            module = importlib.import_module("vrspam.distributed.spark")
        for name in ("SparkAUCClassifier", "SparkAUCClassifierCV"):
            setattr(room, name, getattr(module, name))


def belongs_to_vrspam(name: str, member: Any) -> bool:
    """Whether a member of a class was written for this package."""
    member = getattr(member, "fget", member)  # a property
    owner = getattr(member, "__objclass__", member)  # a method of a built-in class has no module of its own
    module = getattr(owner, "__module__", None) or "vrspam"
    return module.split(".")[0] == "vrspam" and not (name.startswith("set_") and name.endswith("_request"))


def _second_names(room: str, first: dict[int, str]) -> dict[str, str]:
    """The classes and functions of a room that an earlier room has too, with their names there."""
    again = {}
    for name in public_names(room):
        thing = getattr(importlib.import_module(room), name)
        where = first.setdefault(id(thing), f"{room}.{name}") if callable(thing) else f"{room}.{name}"
        if where != f"{room}.{name}":
            again[name] = where
    return again


def _page(room: str, title: str, again: list[str]) -> str:
    head = f"{title}: ``{room}``"
    lines = [head, "=" * len(head), "", f".. automodule:: {room}", "   :no-members:", ""]
    lines += [f".. currentmodule:: {room}", "", ".. autosummary::", "   :toctree: .", "   :nosignatures:", ""]
    lines += [f"   {name}" for name in public_names(room) if name not in again]
    if again:
        lines += ["", ".. toctree::", "   :maxdepth: 1", "", *(f"   {room}.{name}" for name in again)]
    return "\n".join(lines) + "\n"


def _write_if_changed(path: Path, text: str) -> None:
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
