"""The pages of the reference: one for each room of public names, from its `__all__`."""

from __future__ import annotations

import importlib
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


def public_names(room: str) -> list[str]:
    """What users import from a room."""
    return sorted((name for name in importlib.import_module(room).__all__ if name[0] != "_"), key=str.lower)


def documented_names(room: str) -> list[str]:
    """The public names whose package is installed; the others are listed without a page."""
    return [name for name in public_names(room) if _can_be_imported(room, name)]


def write_api_pages(folder: Path) -> None:
    """Write a page for each room, with a table of its names, for autosummary to make their pages from."""
    folder.mkdir(exist_ok=True)
    for room, title in ROOMS.items():
        _write_if_changed(folder / f"{room}.rst", _page(room, title))


def belongs_to_vrspam(name: str, member: Any) -> bool:
    """Whether a member of a class was written for this package."""
    member = getattr(member, "fget", member)  # a property
    owner = getattr(member, "__objclass__", member)  # a method of a built-in class has no module of its own
    module = getattr(owner, "__module__", None) or "vrspam"
    return module.split(".")[0] == "vrspam" and not (name.startswith("set_") and name.endswith("_request"))


def _page(room: str, title: str) -> str:
    head = f"{title}: ``{room}``"
    documented = documented_names(room)
    missing = [name for name in public_names(room) if name not in documented]
    lines = [head, "=" * len(head), "", f".. automodule:: {room}", "   :no-members:", ""]
    lines += [f".. currentmodule:: {room}", "", ".. autosummary::", "   :toctree: .", "   :nosignatures:", ""]
    lines += [f"   {name}" for name in documented]
    if missing:
        names = ", ".join(f"``{name}``" for name in missing)
        lines += ["", f"Not described here, because a package that they need was missing in this build: {names}."]
    return "\n".join(lines) + "\n"


def _can_be_imported(room: str, name: str) -> bool:
    try:
        getattr(importlib.import_module(room), name)
    except ImportError:
        return False
    return True


def _write_if_changed(path: Path, text: str) -> None:
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
