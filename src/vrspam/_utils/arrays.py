"""Arrays that may be written to: those of a file that is mapped into memory may not, or should not."""

from dataclasses import is_dataclass
from typing import Any

import numpy as np


def own_arrays(thing: Any) -> None:
    """Replace arrays of an object that are read-only, or part of a file, by copies; also those of its parts.

    >>> from types import SimpleNamespace
    >>> sums = SimpleNamespace(total=np.frombuffer(bytes(8)))
    >>> own_arrays(sums)
    >>> sums.total += 1.0
    """
    for name, value in vars(thing).items():
        vars(thing)[name] = _writable(value)


def _writable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        in_file = isinstance(value, np.memmap) or isinstance(value.base, np.memmap)
        return np.array(value, order="K") if in_file or not value.flags.writeable else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_writable, value))
    if isinstance(value, list | tuple):
        return type(value)(map(_writable, value))
    if is_dataclass(value) and not isinstance(value, type):
        own_arrays(value)
    return value
