"""`compiled`: Numba's compiler with the settings of this folder, and its cache on disk.

Numba's own cache notices an edit only in the file of the function itself. Functions of this folder call each other
across its files, so the cache has one stamp for all of them: a hash of every file of the folder.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, TypeVar

from numba import njit, types

# Parts of Numba that are not public: without them each process compiles anew.
FunctionCache: Any = object
IndexDataCacheFile: Any = object
with suppress(ImportError):
    from numba.core.caching import FunctionCache, IndexDataCacheFile

# The compiler may reorder sums to vectorise them (a strict dot product is five times slower). It may not assume that
# NaN and infinity do not occur: they are how divergence is detected.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
TINY = 2.2250738585072014e-308  # the smallest normal number: a smaller curvature counts as 0

F = TypeVar("F", bound=Callable)
_FOREIGN: set[type] = set()  # kinds of named tuples whose compiled functions are defined outside of this folder


def kind_of(argument: Any) -> Any:
    """Return the class of an argument from its Numba type if the argument is a named tuple, else None."""
    return getattr(argument, "instance_class", None) if isinstance(argument, types.BaseNamedTuple) else None


def note_origin(kind: type, function: Callable) -> None:
    """Note whether a function that belongs to a kind of named tuples is defined in this folder."""
    if function.__module__.rpartition(".")[0] == __package__:
        _FOREIGN.discard(kind)
    else:
        _FOREIGN.add(kind)


def _is_foreign(argument: Any) -> bool:
    """Whether an argument is, or holds, a named tuple whose functions are defined outside of this folder."""
    kind = kind_of(argument)
    if kind is None:
        return False
    return kind in _FOREIGN or any(map(_is_foreign, argument.types))


@cache
def _stamp() -> str:
    """A hash of all files of this folder."""
    total = sha256()
    for file in sorted(files(__package__).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".py"):
            total.update(file.name.encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


class _CacheFile(IndexDataCacheFile):
    """Numba's files of compiled code, named by a hash of their key: Numba's own numbers collide between processes."""

    def _load_index(self):
        try:
            return super()._load_index()
        except (AttributeError, ImportError):  # it names the class of a penalty that has been moved or taken away
            return {}

    def save(self, key, data):
        with suppress(AttributeError):  # if Numba lacks these names, nothing is stored
            held = repr((self._version, self._source_stamp, key))
            name = f"{self._index_name.removesuffix('.nbi')}.{sha256(held.encode()).hexdigest()[:16]}.nbc"
            self._save_data(name, data)
            self._save_index({**self._load_index(), key: name})


class _Cache(FunctionCache):
    """Numba's disk cache, without code for penalties defined elsewhere: the stamp does not follow edits of those."""

    def __init__(self, function):
        super().__init__(function)
        self._cache_file = _CacheFile(self._cache_path, self._impl.filename_base, _stamp())

    def load_overload(self, sig, target_context):
        return None if any(map(_is_foreign, sig)) else super().load_overload(sig, target_context)

    def save_overload(self, sig, data):
        if not any(map(_is_foreign, sig)):
            super().save_overload(sig, data)


def compiled(function: F) -> F:
    """Compile for any types of arguments, without Python's global lock, and store the result on disk."""
    dispatcher: Any = njit(nogil=True, fastmath=FASTMATH)(function)
    with suppress(AttributeError, TypeError):  # if Numba lacks its own cache
        dispatcher._cache = _Cache(function)
    return dispatcher
