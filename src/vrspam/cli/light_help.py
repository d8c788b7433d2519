"""Help pages without Markdown and tracebacks: typer imports both for every page, and they take longer than the page.

Ours show neither. What stands in for them loads the real ones when it is used, by another typer application.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from vrspam._utils.collector import without_collector

LATER = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}


class _Later(type):
    """The type of a class that stands in for another one until it is called, or asked for an attribute."""

    module: str

    def _real(cls) -> Any:
        return getattr(import_module(cls.module), cls.__name__)

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        return cls._real()(*arguments, **named)

    def __getattr__(cls, attribute: str) -> Any:
        return getattr(cls._real(), attribute)


def load_light_help() -> None:
    """Import what typer needs for a page of help; does nothing where that has been imported before."""
    if "typer.rich_utils" in sys.modules:
        return
    standing_in = [name for name in LATER if name not in sys.modules]
    for name in standing_in:
        module = ModuleType(name)
        setattr(module, LATER[name], _Later(LATER[name], (), {"module": name}))
        sys.modules[name] = module
    try:
        with without_collector():
            import_module("typer.rich_utils")
    finally:
        for name in standing_in:
            del sys.modules[name]
