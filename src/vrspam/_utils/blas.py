"""How many threads the BLAS libraries of this process may use."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
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


def _threads_of_libraries() -> list[tuple[Callable[[int], Any], int]]:
    """For each library how to set its threads, and how many it has now.

    From version 3.8 on, `set_num_threads` of threadpoolctl does nothing in any thread but the first one that used it.
    Here that would leave a limit behind whenever another thread is the last to leave; the method behind it works.
    """
    return [
        (getattr(library, "_real_set_num_threads", library.set_num_threads), library.num_threads)
        for library in _libraries().lib_controllers
        if library.num_threads
    ]


class _Limits:
    """The limits in force: the least of them holds, and after the last one what was before the first.

    They belong to the process. Contexts of two threads may overlap without one being inside the other, so that each
    of them putting back what it found would leave the first one's limit behind for ever.

    An interrupt may cut any method short, even while it releases the lock. So what a method does may be done again:
    every step is one assignment or can be repeated, and the numbers of threads follow from the limits in force.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._active: dict[object, tuple[int, int]] = {}  # most threads, and the thread that set this limit
        self._before: list[tuple[Callable[[int], Any], int]] | None = None  # of each library, while there are limits

    def enter(self, limit: object, most: int) -> None:
        self._change(limit, most)

    def leave(self, limit: object) -> None:
        """Does nothing for a limit that was not entered, or left before."""
        self._change(limit, None)

    def _change(self, limit: object, most: int | None) -> None:
        try:
            try:
                self._lock.acquire()
                if most is None:
                    self._active.pop(limit, None)
                else:
                    if self._before is None:
                        self._before = _threads_of_libraries()
                    self._active[limit] = most, threading.get_ident()
                self._apply()
            finally:
                self._release()
        finally:
            self._release()

    def _apply(self) -> None:
        if self._before is None:
            return
        for set_threads, threads in self._before:
            set_threads(min([threads, *(most for most, _ in list(self._active.values()))]))
        if not self._active:
            self._before = None

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
            self.leave(limit)


_limits = _Limits()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_limits.before_fork,
        after_in_parent=_limits.after_fork_in_parent,
        after_in_child=_limits.after_fork_in_child,
    )


@contextmanager
def blas_threads(most: int | None) -> Iterator[None]:
    """A context in which matrix products use at most so many threads; None leaves them as they are."""
    if most is None:
        yield
        return
    limit = object()
    try:
        try:
            _limits.enter(limit, most)
            yield
        finally:
            _limits.leave(limit)
    finally:  # an interrupt may have cut the first one short
        _limits.leave(limit)


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
