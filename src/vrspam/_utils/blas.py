"""How many threads the BLAS libraries of this process may use."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

NARROW = 200  # columns
SMALL = 1_000  # rows and columns of a square matrix
FEW = 4  # threads


@functools.cache
def _libraries() -> ThreadpoolController:
    """Looking for them takes milliseconds: once is enough, when NumPy's and SciPy's are both there."""
    from scipy import linalg  # noqa: F401  (brings a BLAS of its own)

    return ThreadpoolController().select(user_api="blas")


class _Limits:
    """The limits in force: the least of them holds, and after the last one what was before the first.

    They belong to the process. Contexts of two threads may overlap without one being inside the other, so that each
    of them putting back what it found would leave the first one's limit behind for ever.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: list[int] = []
        self._before: Any = None

    def enter(self, most: int) -> None:
        with self._lock:
            self._active.append(most)
            limiter = _libraries().limit(limits=min(self._active))
            if len(self._active) == 1:
                self._before = limiter

    def leave(self, most: int) -> None:
        with self._lock:
            self._active.remove(most)
            if self._active:
                _libraries().limit(limits=min(self._active))
            else:
                self._before.restore_original_limits()


_limits = _Limits()


@contextmanager
def blas_threads(most: int | None) -> Iterator[None]:
    """A context in which matrix products use at most so many threads; None leaves them as they are."""
    if most is None:
        yield
        return
    _limits.enter(most)
    try:
        yield
    finally:
        _limits.leave(most)


def blas_threads_for(n_columns: int) -> AbstractContextManager[Any]:
    """A context for products of so many columns: narrow ones are over before other threads have woken up."""
    return blas_threads(1 if n_columns <= NARROW else None)


def blas_threads_for_matrix(size: int) -> AbstractContextManager[Any]:
    """A context for factorising, and multiplying vectors by, square matrices of this size.

    Beyond a few threads small ones are no faster, and where several libraries keep their idle threads spinning
    (NumPy, SciPy, PyTorch) twice as slow.
    """
    if size <= NARROW:
        return blas_threads(1)
    return blas_threads(min(FEW, blas_thread_count()) if size <= SMALL else None)


def blas_thread_count() -> int:
    """Threads that a matrix product may use now."""
    return max((library["num_threads"] for library in _libraries().info()), default=1)
