"""How many threads the BLAS libraries of this process may use."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

NARROW = 200  # matrices with at most this many columns use one thread
SMALL = 1_000  # square matrices up to this size use at most FEW threads
FEW = 4


@functools.cache
def _libraries() -> ThreadpoolController:
    """Find the BLAS libraries once, after both NumPy and SciPy are loaded: each search takes milliseconds."""
    from scipy import linalg  # noqa: F401  (loads its own BLAS)

    return ThreadpoolController().select(user_api="blas")


class _Limits:
    """The limits of all open contexts: the smallest one applies, and the last context restores the original state.

    Limits apply to the whole process. The contexts of two threads may overlap without one being inside the other. If
    each context restored the limit that it found, the limit of the first context could stay for ever.
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
    """A context in which matrix products use at most `most` threads; None sets no limit."""
    if most is None:
        yield
        return
    _limits.enter(most)
    try:
        yield
    finally:
        _limits.leave(most)


def blas_threads_for(n_columns: int) -> AbstractContextManager[Any]:
    """A context for products of `n_columns` columns: narrow ones end before other threads have started."""
    return blas_threads(1 if n_columns <= NARROW else None)


def blas_threads_for_matrix(size: int) -> AbstractContextManager[Any]:
    """A context for factorising square matrices of this size, and for multiplying vectors by them.

    With more than a few threads small matrices are not faster. They are even twice as slow where several libraries
    (NumPy, SciPy, PyTorch) keep idle threads spinning.
    """
    if size <= NARROW:
        return blas_threads(1)
    return blas_threads(min(FEW, blas_thread_count()) if size <= SMALL else None)


def blas_thread_count() -> int:
    """Return the number of threads that a matrix product may use now."""
    return max((library["num_threads"] for library in _libraries().info()), default=1)
