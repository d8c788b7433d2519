"""Imports without the garbage collector: it would walk again and again through modules that nobody throws away."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Run a block, such as imports, without collections; what was the case before is so again after it.

    >>> with without_collector():
    ...     gc.isenabled()
    False
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
