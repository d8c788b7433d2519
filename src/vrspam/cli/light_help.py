"""Help without what takes long to load: Markdown and tracebacks, which typer imports before it draws a page.

Both stay what they are for everybody else: a stand-in becomes the real class when it is used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

SLOW_TO_LOAD = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}


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
    """Import what typer needs for a page of help, with stand-ins for what it does not need."""
    if "typer.rich_utils" in sys.modules:
        return
    missing = [name for name in SLOW_TO_LOAD if name not in sys.modules]
    for name in missing:
        module = ModuleType(name)
        class_name = SLOW_TO_LOAD[name]
        setattr(module, class_name, _Later(class_name, (), {"module": name}))
        sys.modules[name] = module
    try:
        import_module("typer.rich_utils")
    finally:
        for name in missing:
            del sys.modules[name]
