"""Runs in parallel processes, so that an end at any moment loses at most the runs in flight.

Each worker writes its own result file, hence nothing waits in the parent. Workers hold the reading end of a pipe
whose writing end only the parent has: when the parent ends, however it ends, they see it and end too.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

from vrspam.experiments.plan import Run

WORKER_DIED = "the process ended before the run was done (out of memory?)"


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `message` is empty when it succeeded."""

    run: Run
    message: str = ""
    auc: float | None = None
    seconds: float = 0.0


def run_all(
    plan: list[Run],
    needs: Callable[[Run], list[Run]],
    work: Callable[[Run], Outcome],
    done: set[Run],
    n_jobs: int | None = None,
) -> Iterator[Outcome]:
    """Do every run of `plan` that is not in `done`, each after the runs it needs; yield outcomes as they come.

    A run is tried even if one that it needs has failed: it will say what is missing.

    Parameters
    ----------
    plan : list of Run
    needs : callable
        The runs that must have ended before a run can start.
    work : callable
        Picklable; does one run and keeps its rows itself.
    done : set of Run
        Runs that need not be done again.
    n_jobs : int, optional
        Number of processes; by default all cores.
    """
    waiting = [run for run in plan if run not in done]
    ended = set(done)
    size = max(1, min(n_jobs or os.cpu_count() or 1, len(waiting) or 1))
    while waiting:
        with _workers(size) as pool:
            flying: dict[Future[Outcome], Run] = {}
            while waiting or flying:
                for run in [run for run in waiting if ended.issuperset(needs(run))][: size + 1 - len(flying)]:
                    waiting.remove(run)
                    flying[pool.submit(work, run)] = run
                finished, _ = wait(flying, return_when=FIRST_COMPLETED)
                broken = False
                for future in finished:
                    run = flying.pop(future)
                    ended.add(run)
                    try:
                        yield future.result()
                    except BrokenProcessPool:
                        broken = True
                        yield Outcome(run, WORKER_DIED)
                if broken:
                    ended.update(flying.values())
                    yield from (Outcome(run, WORKER_DIED) for run in flying.values())
                    break  # with new processes for the rest


@contextmanager
def _workers(size: int) -> Iterator[ProcessPoolExecutor]:
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(size, mp_context=context, initializer=_start_worker, initargs=(ours,))
    try:
        yield pool
        pool.shutdown()
    finally:  # on an interrupt the workers must not finish what they are at
        theirs.close()
        ours.close()
        pool.shutdown(cancel_futures=True)


def _start_worker(parent: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means

    def end_with_parent() -> None:
        try:
            parent.recv()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
