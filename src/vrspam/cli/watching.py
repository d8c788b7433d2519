"""How far an experiment is: a line that is redrawn on a terminal, lines that stay elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vrspam._utils.progress import StatusLine
from vrspam.cli.options import err, warn
from vrspam.experiments.protocol import Run, cost
from vrspam.experiments.run import Outcome, Watcher

EARLY = 0.03  # share of the work below which the start-up of the processes would mislead


class TimeLeft:
    """Time left, from the work done so far: every run counts by its guessed cost. Nothing is said too early."""

    def __init__(self, todo: list[Run], clock: Callable[[], float] = time.monotonic):
        self.left = sum(map(cost, todo))
        self.done = 0.0
        self.clock, self.start = clock, clock()

    def step(self, run: Run) -> str:
        self.done += cost(run)
        self.left -= cost(run)
        if self.done < EARLY * self.left:
            return ""
        return f", {duration((self.clock() - self.start) * max(self.left, 0.0) / self.done)} left"


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(42), duration(200), duration(8000)
    ('42 s', '3 min', '2 h 13 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


class RunDisplay(Watcher):
    """A line for each run that has ended; with a `StatusLine` it is redrawn, and only failures and messages stay.

    With `few_lines` the runs are not named, and without a `StatusLine` there is one line for each quarter of them.
    `clock` tells the time of what is being told, which may have happened before.
    """

    def __init__(
        self,
        line: StatusLine | None = None,
        *,
        few_lines: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.line, self.few_lines, self.clock = line, few_lines, clock

    def start(self, todo: list[Run], done: int) -> None:
        self.time_left, self.number, self.total = TimeLeft(todo, self.clock), done, done + len(todo)
        if done:
            self.message(f"{done} of {self.total} runs are there already")

    def step(self, outcome: Outcome) -> None:
        self.number += 1
        left = self.time_left.step(outcome.run)
        text = f"{self.number}/{self.total}  {describe(outcome)}{left}"
        short = f"{self.number} of {self.total} runs are done{left}"
        if self.line:
            self.line.show(short if self.few_lines else text, self.number, self.total)
        quarter = self.total // 4 or 1
        if outcome.message or (self.line is None and not self.few_lines):
            self.message(text)
        elif self.line is None and self.number % quarter == 0 and self.number + quarter <= self.total:
            self.message(short)

    def message(self, text: str) -> None:
        if self.line:
            self.line.message(text)
        else:
            warn(text)


def describe(outcome: Outcome) -> str:
    """A run and how it ended, in a few words."""
    run = outcome.run
    what = f"{run.set} {run.algorithm} {run.task} {run.split}"
    if outcome.message:
        return f"{what} FAILED: {outcome.message}"
    auc = f" AUC {outcome.auc:.4f}" if outcome.auc is not None else ""
    return f"{what}{auc} ({outcome.seconds:.1f} s)"


@contextmanager
def watching(few_lines: bool = False, clock: Callable[[], float] = time.monotonic) -> Iterator[Watcher]:
    """Return the display that suits the standard error stream; `few_lines` is for one that is not a terminal."""
    if not err.is_terminal:
        yield RunDisplay(few_lines=few_lines, clock=clock)
        return
    with StatusLine("", transient=True) as line:
        yield RunDisplay(line, few_lines=few_lines, clock=clock)
