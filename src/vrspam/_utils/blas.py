"""BLAS: how many threads it may use, products with triangular matrices."""

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from operator import itemgetter
from typing import Any

import numpy as np
from scipy import linalg
from threadpoolctl import ThreadpoolController

NARROW = 200  # matrices with at most this many columns use one thread
SMALL = 1_000  # square matrices up to this size use at most FEW threads
FEW = 4


@functools.cache
def _libraries() -> ThreadpoolController:
    """Find the BLAS libraries once, after both NumPy and SciPy are loaded: each search takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


class _Limits:
    """The limits of all open contexts: the smallest one applies, and the last context restores the original state.

    Limits apply to the whole process, and the contexts of two threads may overlap. An interrupt may cut any method
    short, so every step is one assignment or can be repeated.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._active: dict[object, tuple[int, int]] = {}  # most threads, and the thread that set this limit
        self._before: list[tuple[Callable[[int], Any], int]] | None = None  # of each library, while there are limits

    def change(self, limit: object, most: int | None) -> None:
        """Set a limit, or with None remove it; removing a limit that is not set does nothing."""
        try:
            try:
                self._lock.acquire()
                if most is None:
                    self._active.pop(limit, None)
                else:
                    if self._before is None:
                        # From threadpoolctl 3.8 on, `set_num_threads` works only in the first thread that used it,
                        # which would leave a limit behind where another thread is the last to leave.
                        self._before = [
                            (getattr(library, "_real_set_num_threads", library.set_num_threads), library.num_threads)
                            for library in _libraries().lib_controllers
                            if library.num_threads
                        ]
                    self._active[limit] = most, threading.get_ident()
                for set_threads, threads in self._before or ():
                    for other, _ in list(self._active.values()):
                        threads = min(threads, other)
                    set_threads(threads)
                if not self._active:
                    self._before = None
            finally:
                with suppress(RuntimeError):  # where an interrupt came before the lock was held
                    self._lock.release()
        finally:
            with suppress(RuntimeError):  # where the release was not cut short
                self._lock.release()

    def after_fork_in_child(self) -> None:
        """The child has the forking thread only, so the limits of the others end."""
        self._lock = threading.RLock()
        here = threading.get_ident()
        others = [limit for limit, (_, thread) in self._active.items() if thread != here]
        for limit in others:
            self.change(limit, None)


_limits = _Limits()
if hasattr(os, "register_at_fork"):
    # No other thread is amid a change when this one forks: neither here nor in a library with its own lock.
    os.register_at_fork(
        before=lambda: _limits._lock.acquire(),
        after_in_parent=lambda: _limits._lock.release(),
        after_in_child=lambda: _limits.after_fork_in_child(),
    )


@contextmanager
def blas_threads(most: int | None = None, *, columns: int | None = None, square: bool = False) -> Iterator[None]:
    """A context in which matrix products use at most `most` threads; None sets no limit.

    With `columns` the limit suits products of so many columns, or factors of a `square` matrix of this size. Narrow
    products end before other threads have started. Factors of small matrices are not faster with more than a few
    threads, and twice as slow if several libraries (NumPy, SciPy, PyTorch) keep idle threads spinning.
    """
    if columns is not None:
        most = _threads_for(columns, square)
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


def _threads_for(columns: int, square: bool) -> int | None:
    """The most threads that make a product quicker; None where all do."""
    if columns <= NARROW:
        return 1
    if square and columns <= SMALL:
        return FEW
    return None


def blas_thread_count() -> int:
    """Return the number of threads that a matrix product may use now."""
    return max(map(itemgetter("num_threads"), _libraries().info()), default=1)


class TwoSteps:
    """A triangular W = A B, where A is the identity but for its first rows, and B but for its last rows and columns.

    With k(x) the values of a kernel at its landmarks and k(x) W its whitened features, k(x) A are the values minus
    their predictions from the first landmarks: a cheap step, after which columns are no longer nearly collinear.

    `whitening` is W, and `first` the number of rows in which A is not the identity.
    """

    def __init__(self, whitening: np.ndarray, first: int):
        rest = whitening[first:, first:]
        above = linalg.solve_triangular(rest, whitening[:first, first:].T, trans="T", check_finite=False).T
        self.first = first
        self.last = np.ascontiguousarray(rest)
        self._start = np.hstack([whitening[:first, :first], above])

    def begin(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write rows @ A to `out`."""
        np.matmul(rows[:, : self.first], self._start, out=out)
        out[:, self.first :] += rows[:, self.first :]

    def multiply(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write rows @ A @ B to `out`."""
        begun = np.empty(out.shape)
        self.begin(rows, begun)
        out[:, : self.first] = begun[:, : self.first]
        np.matmul(begun[:, self.first :], self.last, out=out[:, self.first :])
