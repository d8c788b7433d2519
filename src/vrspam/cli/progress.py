"""How far an experiment is: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from vrspam.cli.console import err, warn
from vrspam.experiments.harness import Watcher
from vrspam.experiments.parallel import Outcome
from vrspam.experiments.plan import Run, cost

EARLY = 0.03  # share of the work below which the start-up of the processes would mislead


class TimeLeft:
    """Time left, from the work done so far: every run counts by its guessed cost. Nothing is said too early."""

    def __init__(self, todo: list[Run]):
        self.left = sum(map(cost, todo))
        self.done = 0.0
        self.start = time.monotonic()

    def step(self, run: Run) -> str:
        self.done += cost(run)
        self.left -= cost(run)
        if self.done < EARLY * self.left:
            return ""
        return f", {duration((time.monotonic() - self.start) * max(self.left, 0.0) / self.done)} left"


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(42), duration(200), duration(8000)
    ('42 s', '3 min', '2 h 13 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


class Lines(Watcher):
    """One line whenever a run has ended."""

    def start(self, todo: list[Run], done: int) -> None:
        self.time_left, self.number, self.total = TimeLeft(todo), done, done + len(todo)
        if done:
            self.message(f"{done} of {self.total} runs are there already")

    def step(self, outcome: Outcome) -> None:
        self.number += 1
        left = self.time_left.step(outcome.run)
        self.message(f"{self.number}/{self.total}  {describe(outcome)}{left}")

    def message(self, text: str) -> None:
        warn(text)


class Live(Lines):
    """A bar that moves."""

    def __init__(self, progress: Progress):
        self.progress = progress
        self.task = progress.add_task("", total=None, what="", left="")

    def start(self, todo: list[Run], done: int) -> None:
        super().start(todo, done)
        self.progress.update(self.task, total=self.total, completed=done)

    def step(self, outcome: Outcome) -> None:
        left = self.time_left.step(outcome.run)
        self.progress.update(self.task, advance=1, what=describe(outcome), left=left.removeprefix(", "))
        if outcome.message:
            self.message(describe(outcome))

    def message(self, text: str) -> None:
        self.progress.console.print(text, markup=False, soft_wrap=True)


def describe(outcome: Outcome) -> str:
    """A run and how it ended, in a few words."""
    run = outcome.run
    what = f"{run.set} {run.algorithm} {run.task} {run.split}"
    if outcome.message:
        return f"{what} FAILED: {outcome.message}"
    auc = f" AUC {outcome.auc:.4f}" if outcome.auc is not None else ""
    return f"{what}{auc} ({outcome.seconds:.1f} s)"


@contextmanager
def watching():
    """The display that suits the standard error stream."""
    if not err.is_terminal:
        yield Lines()
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"), TextColumn("{task.fields[what]}"))
    with Progress(*columns, console=err, transient=True) as progress:
        yield Live(progress)
