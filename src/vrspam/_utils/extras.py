"""Modules that come with an extra: what to do where one is not installed."""

import importlib


class MissingExtra(ModuleNotFoundError):
    """A module that comes with an extra is not installed; the message says how to get it."""


def how_to_install(module: str, extra: str) -> str:
    """Return the advice for a module that is not installed."""
    return f'{module} is missing: run pip install ".[{extra}]" in a clone of vrspam'


def require(extra: str, module: str) -> None:
    """Refuse to go on where a module of an extra is not installed."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:  # it is there, and something that it needs is not
            raise
        raise MissingExtra(how_to_install(module, extra), name=module) from error
