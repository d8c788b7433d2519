"""The processes that do runs. Nothing heavy is imported here, so that they can be on their way before all else."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

IMPORTED = ["vrspam.experiments.prepared"]  # once, by the process that the others are forked from


def start_early() -> None:
    """Let the imports of the processes begin now, beside what this process does until their first run.

    Without effect where each process has to do its own imports.
    """
    if _context().get_start_method() == "forkserver":
        from multiprocessing import forkserver

        forkserver.ensure_running()


def _context() -> Any:
    """On Linux, processes are forked from one that has imported what runs need; elsewhere that is not safe."""
    if sys.platform != "linux":
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    return context


@contextmanager
def workers(size: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end when this process ends, even if it is killed.

    Each holds the reading end of a pipe whose writing end only this process has, and notices when it is closed.
    """
    context = _context()
    ours, theirs = context.Pipe(duplex=False)
    given = (ours, dict(os.environ))
    pool = ProcessPoolExecutor(size, mp_context=context, initializer=_start_worker, initargs=given)
    try:
        yield pool
        pool.shutdown()
    finally:  # after an interrupt the workers must not finish their runs
        theirs.close()
        ours.close()
        pool.shutdown(cancel_futures=True)


def _start_worker(parent: Connection, environment: Mapping[str, str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles interrupts
    if dict(os.environ) != environment:  # what a process is forked from may be older than a change of it
        os.environ.clear()
        os.environ.update(environment)
    gc.freeze()  # what is imported stays: the end of the process need not look for garbage in it

    def end_with_parent() -> None:
        try:
            parent.recv()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
