"""How many threads the BLAS libraries of this process may use."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from operator import itemgetter
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


def _threads_of_libraries() -> list[tuple[Callable[[int], Any], int]]:
    """For each library how to set its threads, and how many it has now.

    From version 3.8 on, `set_num_threads` of threadpoolctl does nothing in any thread but the first one that used it.
    Here that would leave a limit behind whenever another thread is the last to leave; the method behind it works.
    """
    found = []
    for library in _libraries().lib_controllers:
        if library.num_threads:
            set_threads = getattr(library, "_real_set_num_threads", library.set_num_threads)
            found.append((set_threads, library.num_threads))
    return found


class _Limits:
    """The limits of all open contexts: the smallest one applies, and the last context restores the original state.

    Limits apply to the whole process. The contexts of two threads may overlap without one being inside the other. If
    each context restored the limit that it found, the limit of the first context could stay for ever.

    An interrupt may cut any method short, even while it releases the lock. So what a method does may be done again:
    every step is one assignment or can be repeated, and the numbers of threads follow from the limits in force.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._active: dict[object, tuple[int, int]] = {}  # most threads, and the thread that set this limit
        self._before: list[tuple[Callable[[int], Any], int]] | None = None  # of each library, while there are limits

    def change(self, limit: object, most: int | None) -> None:
        """Set a limit, or with None leave it: that does nothing for one that was not set, or left before."""
        try:
            try:
                self._lock.acquire()
                if most is None:
                    self._active.pop(limit, None)
                else:
                    if self._before is None:
                        self._before = _threads_of_libraries()
                    self._active[limit] = most, threading.get_ident()
                for set_threads, threads in self._before or ():
                    for other, _ in list(self._active.values()):
                        threads = min(threads, other)
                    set_threads(threads)
                if not self._active:
                    self._before = None
            finally:
                self._release()
        finally:
            self._release()

    def _release(self) -> None:
        """Release the lock if this thread holds it."""
        with suppress(RuntimeError):
            self._lock.release()

    def before_fork(self) -> None:
        """No other thread is amid a change when this one forks: neither here nor in a library with its own lock."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        self._release()

    def after_fork_in_child(self) -> None:
        """The child has the forking thread only, so the limits of the others end."""
        self._lock = threading.RLock()
        here = threading.get_ident()
        others = [limit for limit, (_, thread) in self._active.items() if thread != here]
        for limit in others:
            self.change(limit, None)


_limits = _Limits()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_limits.before_fork,
        after_in_parent=_limits.after_fork_in_parent,
        after_in_child=_limits.after_fork_in_child,
    )


@contextmanager
def blas_threads(most: int | None) -> Iterator[None]:
    """A context in which matrix products use at most `most` threads; None sets no limit."""
    if most is None:
        yield
        return
    limit = object()
    try:
        try:
            _limits.change(limit, most)
            yield
        finally:
            _limits.change(limit, None)
    finally:  # an interrupt may have cut the first one short
        _limits.change(limit, None)


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
    return max(map(itemgetter("num_threads"), _libraries().info()), default=1)
