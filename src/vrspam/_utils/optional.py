"""Extras of the installation: the one sentence for what is not there."""

from __future__ import annotations

import importlib


class MissingExtra(ModuleNotFoundError):
    """A module that comes with an extra is not installed; the message says how to get it."""


def how_to_install(module: str, extra: str) -> str:
    """What to do about a module that is not there.

    >>> how_to_install("dask", "dask")
    'dask is missing: run pip install ".[dask]" in a clone of vrspam'
    """
    return f'{module} is missing: run pip install ".[{extra}]" in a clone of vrspam'


def require(extra: str, module: str) -> None:
    """Refuse to go on where a module of an extra is not installed."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:  # it is there, and something that it needs is not
            raise
        raise MissingExtra(how_to_install(module, extra), name=module) from error
