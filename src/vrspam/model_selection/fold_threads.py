"""Folds side by side: how many at the same time, and how many threads each may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed  # these hand scikit-learn's settings on to the threads

from vrspam._utils.blas import FEW, SMALL, blas_thread_count, blas_threads

T = TypeVar("T")
SIDE_BY_SIDE_BYTES = 1 << 28  # memory that folds solved at the same time may need, if the caller does not set n_jobs


@dataclass(frozen=True)
class FoldProblem:
    """What decides how folds share the threads.

    Attributes
    ----------
    folds : int
    small : bool
        Whether each fold is solved from small matrices. Threads then do more for folds side by side than within one.
    many_products : bool
        Whether there are very many small products, as for elastic nets.
    bytes_each : int
        Memory that one fold needs.
    in_turn : bool
        Whether the folds run one after the other unless the caller sets n_jobs. This is so on a device, and where the
        rows go through a transformer of another package, which two threads may not be allowed to call.
    """

    folds: int
    small: bool
    many_products: bool
    bytes_each: int
    in_turn: bool = False

    @classmethod
    def from_matrices(
        cls, folds: int, n_features: int, many_products: bool, block_bytes: int = 0, in_turn: bool = False
    ) -> FoldProblem:
        """Folds that are solved from matrices of n_features², and that then score blocks of rows."""
        needed = 2 * block_bytes + 10 * 8 * n_features**2
        return cls(folds, n_features <= SMALL, many_products, needed, in_turn)


def over_folds(function: Callable[[int], T], problem: FoldProblem, n_jobs: int | None) -> list[T]:
    """Call `function` with the number of each fold, some of them at the same time, in threads.

    Small matrix products, and the many products of elastic nets, are slower when several threads share them. The
    threads that small products do not use go to the folds, as far as memory allows, unless the caller sets n_jobs.
    """
    jobs = min(effective_n_jobs(n_jobs), problem.folds)
    if problem.small and n_jobs is None and jobs == 1 and not problem.in_turn:
        jobs = min(blas_thread_count(), problem.folds, max(1, SIDE_BY_SIDE_BYTES // problem.bytes_each))
    threads = None if jobs == 1 else max(1, effective_n_jobs(-1) // jobs)
    if problem.small or problem.many_products:
        threads = min(FEW, blas_thread_count()) if problem.in_turn and jobs == 1 else 1
    with blas_threads(threads):
        return Parallel(n_jobs=jobs, prefer="threads")(map(delayed(function), range(problem.folds)))
