"""One run: from its place in the plan to rows, kept in the store."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from vrspam import __version__
from vrspam._utils.blas import blas_threads
from vrspam.experiments import figure_tasks, tasks
from vrspam.experiments.parallel import Outcome
from vrspam.experiments.plan import Run, needs
from vrspam.experiments.protocol import Protocol
from vrspam.experiments.splits import load_set
from vrspam.experiments.store import Row, Store

TASKS: dict[str, Callable[[Run, Protocol, list[Row]], list[Row]]] = {
    "choose": tasks.choose,
    "tune": tasks.tune,
    "score": tasks.score,
    "convergence": figure_tasks.convergence,
    "variance": figure_tasks.variance,
    "theorem": figure_tasks.theorem,
}


@dataclass(frozen=True)
class Worker:
    """Does runs of one protocol and keeps them in one directory; travels to the processes."""

    protocol: Protocol
    directory: str

    def __call__(self, run: Run) -> Outcome:
        store = Store(self.directory)
        start = time.perf_counter()
        try:
            rows = self._rows(run, store)
            store.write(run, rows, about(run, self.protocol))
        except Exception as error:  # whatever it is, the other runs go on and the failure is on record
            message = f"{type(error).__name__}: {error}"
            store.write_failure(run, message, about(run, self.protocol, data=False))
            return Outcome(run, message, None, time.perf_counter() - start)
        return Outcome(run, "", rows[0].get("auc"), time.perf_counter() - start)

    def _rows(self, run: Run, store: Store) -> list[Row]:
        needed: list[Row] = []
        for other in needs(run, self.protocol):
            rows = store.read(other)
            if rows is None or rows[0]["kind"] == "failed":
                raise RuntimeError(f"it needs {other.key}, which failed")
            needed += rows
        with blas_threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in the rows
            return TASKS[run.task](run, self.protocol, needed)


def about(run: Run, protocol: Protocol, data: bool = True) -> dict[str, Any]:
    """How the rows of a run came about: kept in its file."""
    facts = {
        "digest": protocol.digest(),
        "run_digest": protocol.run_digest(run.algorithm, run.task),
        "protocol": protocol.as_dict(),
        "machine": _machine(),
    }
    if data:
        found = load_set(run.set)
        facts["data"] = {
            "name": run.set,
            "title": found.title,
            "n": found.n,
            "d": found.d,
            "positives": int((found.y == 1).sum()),
            "files": list(found.files),
            "sha256": list(found.sha256),
        }
    return facts


@cache
def _machine() -> dict[str, str]:
    packages = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")
    return {
        "vrspam": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": str(os.cpu_count()),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        return names[0] if names else platform.processor()
    except OSError:
        return platform.processor()
