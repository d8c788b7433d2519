"""Do the runs of a plan in parallel processes, and store the rows of each run in a file of its own.

If the experiment is stopped, only the runs that are under way are lost. The pool of processes is the standard
library's: joblib's does not say which runs were under way when a process dies, and its workers go on for a while after
their parent was killed.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from importlib.metadata import version
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.exceptions import ConvergenceWarning

from vrspam import __version__
from vrspam._utils.atomic import replacing
from vrspam._utils.blas import blas_threads
from vrspam.data import DataError, available, load
from vrspam.paper.protocol import Protocol, Row, Run, make_plan, needs
from vrspam.paper.tasks import TASKS, load_set

ROWS = "rows"  # the folder of the result files inside an output directory


class Watcher(Interface):
    """Receives the progress of an experiment."""

    def start(self, todo: list[Run], done: int) -> None:
        """The plan is known: the runs `todo` remain, `done` runs are stored already."""

    def step(self, outcome: Outcome) -> None:
        """A run has ended."""

    def message(self, text: str) -> None:
        """A message for the user."""


@dataclass
class Experiment:
    """What `run_experiment` did."""

    directory: Path
    done: int
    skipped: int
    failed: list[Outcome] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def run_experiment(
    protocol: Protocol,
    directory: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    skip_missing: bool = False,
    watcher: Watcher | None = None,
) -> Experiment:
    """Do all runs of a protocol whose results are not in the directory yet.

    Parameters
    ----------
    protocol : Protocol
    directory : path
        Its folder `rows` gets one file per run.
    n_jobs : int, optional
        Number of processes; by default one for each core.
    skip_missing : bool, default=False
        Leave out data sets that are damaged, or missing and not downloadable, instead of raising an error.
    watcher : Watcher, optional

    Returns
    -------
    Experiment
    """
    if n_jobs is not None and n_jobs < 1:
        raise ValueError(f"n_jobs must be at least 1, got {n_jobs}.")
    store = Store(Path(directory) / ROWS)
    if store.digests() - {protocol.digest()}:
        raise ValueError(
            f"{directory} holds results of another protocol (scaling, cv, seed or grid differ): "
            "choose another directory, or remove this one."
        )
    plan = make_plan(protocol)
    done = {run for run in plan if store.done(run, protocol.run_digest(run.algorithm, run.task))}
    tell = watcher.message if watcher else lambda text: None
    where, missing = {row["name"]: row["where"] for row in available()}, {}  # `missing`: unavailable or damaged
    for name in dict.fromkeys(run.set for run in plan if run not in done):
        if where[name] == "download":
            tell(f"{name} is not on this machine: downloading it")
        try:
            load(name)
        except DataError as error:
            missing[name] = str(error)
    plan = [run for run in plan if run.set not in missing]
    if missing and (not skip_missing or not plan):
        raise DataError("; ".join(missing.values()))
    for name, reason in missing.items():
        tell(f"{name} is left out: {reason}")
    for path in store.directory.glob(".*.part"):  # left by a killed process; newer ones may be in use
        if time.time() - path.stat().st_mtime > 3600:
            path.unlink(missing_ok=True)
    done &= set(plan)
    experiment = Experiment(Path(directory), 0, len(done), missing=missing)
    if watcher:
        watcher.start([run for run in plan if run not in done], len(done))
    work = Worker(protocol, str(store.directory))
    for outcome in run_all(plan, partial(needs, protocol=protocol), work, done, n_jobs):
        experiment.done += 1
        if outcome.message:
            experiment.failed.append(outcome)
        if outcome.message == WORKER_DIED:  # the dead worker could not store this itself
            store.write_failure(outcome.run, outcome.message, about(outcome.run, protocol, data=False))
        if watcher:
            watcher.step(outcome)
    return experiment


WORKER_DIED = "the process ended before the run was done (out of memory?)"


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `message` is empty when it succeeded."""

    run: Run
    message: str = ""
    auc: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Worker:
    """Does runs of one protocol and stores them in one directory; it is pickled and sent to the processes."""

    protocol: Protocol
    directory: str

    def __call__(self, run: Run) -> Outcome:
        store = Store(self.directory)
        start = time.perf_counter()
        try:
            needed: list[Row] = []
            for other in needs(run, self.protocol):
                found = store.read(other)
                if found is None or found[0]["kind"] == "failed":
                    raise RuntimeError(f"it needs {other.key}, which failed")
                needed += found
            with blas_threads(1), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the rows hold the gap
                rows = TASKS[run.task](run, self.protocol, needed)
            store.write(run, rows, about(run, self.protocol))
        except Exception as error:  # of any kind: the other runs go on, and the failure is stored
            message = f"{type(error).__name__}: {error}"
            store.write_failure(run, message, about(run, self.protocol, data=False))
            return Outcome(run, message, None, time.perf_counter() - start)
        return Outcome(run, "", rows[0].get("auc"), time.perf_counter() - start)


def run_all(
    plan: list[Run],
    needs: Callable[[Run], list[Run]],
    work: Callable[[Run], Outcome],
    done: set[Run],
    n_jobs: int | None = None,
) -> Iterator[Outcome]:
    """Do every run of `plan` that is not in `done`, each after the runs it needs; yield each outcome when it is known.

    A run is tried even if one that it needs has failed: its own message then says what is missing. If a process dies,
    the runs that were under way fail, and new processes do the rest. `work` does one run and stores its rows, and must
    be picklable.
    """
    waiting = [run for run in plan if run not in done]
    ended = set(done)
    size = max(1, min(n_jobs or os.cpu_count() or 1, len(waiting) or 1))
    while waiting:
        with workers(size) as pool:
            under_way: dict[Future[Outcome], Run] = {}
            sound = True
            while under_way or (waiting and sound):
                try:
                    for run in [run for run in waiting if ended.issuperset(needs(run))][: size + 1 - len(under_way)]:
                        under_way[pool.submit(work, run)] = run
                        waiting.remove(run)
                except BrokenProcessPool:  # report the runs under way; new processes do the rest
                    sound = False
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    run = under_way.pop(future)
                    ended.add(run)
                    died = isinstance(future.exception(), BrokenProcessPool)
                    yield Outcome(run, WORKER_DIED) if died else future.result()


def start_early() -> None:
    """Start the imports of the workers now, while this process does other work before their first run."""
    if _context().get_start_method() == "forkserver":
        from multiprocessing import forkserver

        forkserver.ensure_running()


def _context() -> Any:
    """On Linux, workers are forked from a process that has imported what runs need; elsewhere that is not safe."""
    if sys.platform != "linux":
        return get_context("spawn")
    context = get_context("forkserver")
    loops = [f"vrspam.kernels.{subject}" for subject in ("lazy_epochs", "linear", "streams")]
    context.set_forkserver_preload([*loops, "vrspam.paper.run"])
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
    if dict(os.environ) != environment:  # the fork server may be older than a change of the environment
        os.environ.clear()
        os.environ.update(environment)

    def end_with_parent() -> None:
        try:
            parent.recv()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def about(run: Run, protocol: Protocol, data: bool = True) -> dict[str, Any]:
    """Describe how the rows of a run were computed (protocol, machine, data); stored in the run's file."""
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
    processor = platform.processor()
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        names = (line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
        processor = next(names, processor)
    return {
        "vrspam": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor,
        "cores": str(os.cpu_count()),
    }


_STRINGS = "set task algorithm version kind variant tuned message"
_INTEGERS = "split seed n_train n_test d epoch nonzeros repeat"
_NUMBERS = (
    "positive_share l2 l1 passes seconds objective gap excess auc auc_exact auc_cv variance bound bound_rows distance"
)
_TYPES = ((_STRINGS, pa.string()), (_INTEGERS, pa.int64()), (_NUMBERS, pa.float64()))
SCHEMA = pa.schema([(name, kind) for names, kind in _TYPES for name in names.split()])
_ABOUT = b"vrspam"


class Store:
    """The result files in one directory: one Parquet file for each run, named by the run and the version.

    A file holds the rows of a run and how they were computed (protocol, machine, hashes of the data), so that a report
    needs only the files. It is written completely or not at all. Failed runs are marked, and count as not done. Only
    results of this `version` of the package count; files of other versions are left as they are.
    """

    def __init__(self, directory: str | os.PathLike[str], version: str = __version__):
        self.directory = Path(directory)
        self.version = version

    def path(self, run: Run) -> Path:
        return self.directory / f"{run.key}.v{self.version}.parquet"

    def write(self, run: Run, rows: Iterable[Row], about: dict[str, Any]) -> None:
        """Store the rows of a run, replacing earlier ones; a reader sees either the old file or the new one."""
        key = asdict(run) | {"version": self.version}
        unknown = {name for row in rows for name in row} - set(SCHEMA.names)
        if unknown:
            raise KeyError(f"rows have fields that the store does not know: {sorted(unknown)}")
        schema = SCHEMA.with_metadata({_ABOUT: json.dumps(about)})
        stored = [  # without NaN, so that equal rows compare equal
            {name: None if value != value else value for name, value in row.items()} | key for row in rows
        ]
        table = pa.Table.from_pylist(stored, schema=schema)
        self.directory.mkdir(parents=True, exist_ok=True)
        with replacing(self.path(run)) as temporary, temporary.open("wb") as file:
            pq.write_table(table, file, write_page_checksum=True)
            file.flush()
            os.fsync(file.fileno())

    def write_failure(self, run: Run, message: str, about: dict[str, Any]) -> None:
        self.write(run, [{"kind": "failed", "message": message}], about)

    def read(self, run: Run, run_digest: str | None = None) -> list[Row] | None:
        """Return the rows of a run, or None if its file is missing or damaged, or has another digest than the given."""
        rows, about = _read(self.path(run)) or ([], {})
        other = run_digest is not None and about.get("run_digest") != run_digest
        return None if not rows or _run_of(rows[0]) != run or other else rows

    def done(self, run: Run, run_digest: str) -> bool:
        """Return whether the run has succeeded before with the same protocol, and its file is not damaged."""
        rows = self.read(run, run_digest)
        return rows is not None and rows[0]["kind"] != "failed"

    def digests(self) -> set[str]:
        """Return the digests of the protocols of all files of this version."""
        found = (_read(path, rows=False) for path in self.directory.glob(f"*.v{self.version}.parquet"))
        return {file[1]["digest"] for file in found if file}


def read_all(directory: str | os.PathLike[str]) -> tuple[list[Row], list[dict[str, Any]], list[Path]]:
    """Return all rows in a directory, the different descriptions of how they were computed, and the unreadable files.

    If several versions of the package have stored the same run, the newest version counts. A file that holds another
    run than its name says counts as unreadable.
    """
    newest: dict[Run, tuple[tuple[int, ...], list[Row], dict[str, Any]]] = {}
    unreadable: list[Path] = []
    for path in sorted(Path(directory).glob("*.parquet")):
        found = _read(path)
        if not found or not found[0]:
            unreadable.append(path)
            continue
        rows, about = found
        if not path.name.startswith(f"{_run_of(rows[0]).key}.v"):
            unreadable.append(path)
            continue
        run, parts = _run_of(rows[0]), rows[0]["version"].split(".")
        version = tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in parts)
        if run not in newest or version > newest[run][0]:
            newest[run] = (version, rows, about)
    rows = [row for run in sorted(newest) for row in newest[run][1]]
    ways = {json.dumps(about, sort_keys=True): about for _, _, about in newest.values()}
    return rows, list(ways.values()), unreadable


def _read(path: Path, rows: bool = True) -> tuple[list[Row], dict[str, Any]] | None:
    """The rows of a file, unless they are not asked for, and how they were computed; None if it is damaged."""
    try:
        if not rows:
            return [], json.loads(pq.read_schema(path).metadata[_ABOUT])
        table = pq.read_table(path, page_checksum_verification=True, memory_map=False, partitioning=None)
        return table.select(SCHEMA.names).to_pylist(), json.loads(table.schema.metadata[_ABOUT])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return None


def _run_of(row: Row) -> Run:
    return Run(row["set"], row["algorithm"], row["split"], row["seed"], row["task"])
