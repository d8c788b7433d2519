"""`kernels`: the compiled code, `vrspam.kernels`, which is loaded only when something of it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any


class Later:
    """A module that is imported when a name in it is asked for."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    from vrspam import kernels as kernels
else:
    kernels = Later("vrspam.kernels")
