"""How many threads the BLAS libraries of this process may use."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
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


def blas_threads(most: int | None) -> AbstractContextManager[Any]:
    """A context in which matrix products use at most so many threads; None leaves them as they are."""
    return _libraries().limit(limits=most)


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
