"""The whole experiment: make sure that the data are there, then do all runs that are not done yet."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from vrspam.data import DataError, available, load
from vrspam.experiments.plan import Run, make_plan, needs
from vrspam.experiments.protocol import Protocol
from vrspam.experiments.run import WORKER_DIED, Outcome, Worker, about, run_all
from vrspam.experiments.store import Store

ROWS = "rows"  # the folder of the result files inside an output directory


class Watcher:
    """Is told how an experiment gets on; this one ignores it."""

    def start(self, todo: list[Run], done: int) -> None:
        """The plan is known: `todo` is left, `done` runs are there already."""

    def step(self, outcome: Outcome) -> None:
        """A run has ended."""

    def message(self, text: str) -> None:
        """Something worth a line."""


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
    """Do all runs of a protocol that the directory does not hold yet.

    Parameters
    ----------
    protocol : Protocol
    directory : path
        Its folder `rows` gets one file per run.
    n_jobs : int, optional
        Processes; all cores by default.
    skip_missing : bool, default=False
        Leave out sets that are damaged, or neither on this machine nor to be downloaded, instead of an error.
    watcher : Watcher, optional

    Returns
    -------
    Experiment
    """
    watcher = watcher or Watcher()
    if n_jobs is not None and n_jobs < 1:
        raise ValueError(f"n_jobs must be at least 1, got {n_jobs}.")
    store = Store(Path(directory) / ROWS)
    others = store.digests() - {protocol.digest()}
    if others:
        raise ValueError(
            f"{directory} holds results of another protocol (scaling, cv, seed or grid differ): "
            "give another directory, or remove it."
        )
    plan = make_plan(protocol)
    done = {run for run in plan if store.done(run, protocol.run_digest(run.algorithm, run.task))}
    missing = _missing_sets(dict.fromkeys(run.set for run in plan if run not in done), watcher)
    plan = [run for run in plan if run.set not in missing]
    if missing and (not skip_missing or not plan):
        raise DataError("; ".join(missing.values()))
    for name, reason in missing.items():
        watcher.message(f"{name} is left out: {reason}")
    store.remove_leftovers()
    done &= set(plan)
    experiment = Experiment(Path(directory), 0, len(done), missing=missing)
    watcher.start([run for run in plan if run not in done], len(done))
    work = Worker(protocol, str(store.directory))
    for outcome in run_all(plan, partial(needs, protocol=protocol), work, done, n_jobs):
        experiment.done += 1
        if outcome.message:
            experiment.failed.append(outcome)
        if outcome.message == WORKER_DIED:  # it could not write that itself
            store.write_failure(outcome.run, outcome.message, about(outcome.run, protocol, data=False))
        watcher.step(outcome)
    return experiment


def _missing_sets(names: Iterable[str], watcher: Watcher) -> dict[str, str]:
    """Download the sets that are not on this machine; return those that are unavailable or damaged, and why."""
    where = {row["name"]: row["where"] for row in available()}
    missing = {}
    for name in names:
        if where[name] == "download":
            watcher.message(f"{name} is not on this machine: downloading it")
        try:
            load(name)
        except DataError as error:
            missing[name] = str(error)
    return missing
