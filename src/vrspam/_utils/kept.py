"""What is computed once of an object, and kept beside it for as long as the object lives.

Arrays and encoders stay what their fields say: they are stored, compared and sent to clusters without what was
computed of them.
"""

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")
_KEPT: dict[int, dict[Hashable, Any]] = {}


def kept_for(owner: Any, name: Hashable, compute: Callable[[], T]) -> T:
    """Return what was computed under this name for the same object, or compute it; the object must not change.

    >>> import numpy as np
    >>> column = np.array([2.0, 3.0])
    >>> kept_for(column, "sum", lambda: float(column.sum())), kept_for(column, "sum", lambda: 0.0)
    (5.0, 5.0)
    """
    values = _KEPT.get(id(owner))
    if values is None:
        values = _KEPT[id(owner)] = {}
        weakref.finalize(owner, _KEPT.pop, id(owner), None)
    if name not in values:
        values[name] = compute()
    return values[name]
