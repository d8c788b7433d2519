"""What the commands of the paper share: the runs of a protocol, their progress, the files that are written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam._utils.progress import StatusLine
from vrspam.cli import errors, output

if TYPE_CHECKING:
    from vrspam.paper.protocol import Protocol, Run
    from vrspam.paper.run import Experiment, Outcome


Out = Annotated[Path, typer.Option("--out", help="The directory to write everything to.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", min=1, help="Number of processes; by default one for each core.", metavar="<int>"),
]


def run_protocol(
    protocol: Protocol, directory: Path, jobs: int | None, *, skip_missing: bool = False, few_lines: bool = False
) -> tuple[Experiment, str, dict[str, list[Path]]]:
    """Do the runs of a protocol and publish them; return what was done, the same in words, and the files."""
    from vrspam.paper.publish import publish
    from vrspam.paper.run import run_experiment

    start = time.monotonic()
    try:
        status: Any = StatusLine("", transient=True) if output.err.is_terminal else nullcontext()
        with status as line:
            watcher = RunDisplay(line, few_lines=few_lines)
            done = run_experiment(protocol, directory, n_jobs=jobs, skip_missing=skip_missing, watcher=watcher)
    except KeyboardInterrupt:
        output.warn("vrspam: stopped; the same command goes on from here")
        raise typer.Exit(errors.INTERRUPTED) from None
    again = f", {done.skipped} had been done before" if done.skipped else ""
    words = f"{done.done} runs in {duration(time.monotonic() - start)}{again}"
    with output.warnings_as_lines():
        return done, words, publish(directory)


def print_written(written: dict[str, list[Path]], as_json: bool, margin: int = 0, failed: Sequence[Any] = ()) -> None:
    """Print the files that were written; where runs failed, say so and end with the exit code 1."""
    if as_json:
        output.print_json({kind: [str(path) for path in paths] for kind, paths in written.items()})
    else:
        for kind, paths in written.items():
            for path in paths:
                if path.suffix != ".svg":
                    output.say(f"{' ' * margin}{kind:8} {path}")
    if failed:
        output.warn(f"vrspam: {len(failed)} runs failed: the report lists them, and the same command tries them again")
        raise typer.Exit(1)


def require_all(directory: Path | None = None) -> None:
    """Refuse to begin without the extras, or with the name of a file as the directory to write to."""
    require("data", "pyarrow")
    require("plots", "matplotlib")
    if directory is not None and directory.exists() and not directory.is_dir():
        raise typer.BadParameter(f"{directory} is a file: give the name of a directory", param_hint="--out")


class RunDisplay:
    """A line for each run that has ended; with a `StatusLine` it is redrawn, and only failures and messages stay.

    With `few_lines` the runs are not named, and without a `StatusLine` there is one line for each quarter of them.
    """

    def __init__(self, line: StatusLine | None = None, *, few_lines: bool = False):
        self.line = line
        self.few_lines = few_lines

    def start(self, todo: list[Run], done: int) -> None:
        """Begin, with the runs that are left and the number of those that were there already."""
        from vrspam.paper.protocol import cost

        self.cost = cost
        self.to_do = sum(cost(run) for run in todo)
        self.worked = 0.0
        self.begun = time.monotonic()
        self.number = done
        self.total = done + len(todo)
        if done:
            self.message(f"{done} of {self.total} runs are there already")

    def step(self, outcome: Outcome) -> None:
        """Say that a run has ended."""
        self.number += 1
        self.worked += self.cost(outcome.run)
        left = self._time_left()
        text = f"{self.number}/{self.total}  {describe_run(outcome)}{left}"
        short = f"{self.number} of {self.total} runs are done{left}"
        if self.line:
            self.line.show(short if self.few_lines else text, self.number, self.total)
        quarter = self.total // 4 or 1
        if outcome.message or (self.line is None and not self.few_lines):
            self.message(text)
        elif self.line is None and self.number % quarter == 0 and self.number + quarter <= self.total:
            self.message(short)

    def _time_left(self) -> str:
        """How long the other runs will take, by the guessed cost of each; empty before enough is known."""
        to_do = max(self.to_do - self.worked, 0.0)
        if self.worked < 0.03 * to_do:  # the start-up of the processes would mislead
            return ""
        return f", {duration((time.monotonic() - self.begun) * to_do / self.worked)} left"

    def message(self, text: str) -> None:
        """Print a line that stays."""
        if self.line:
            self.line.message(text)
        else:
            output.warn(text)


def describe_run(outcome: Outcome) -> str:
    """A run and how it ended."""
    run = outcome.run
    name = f"{run.set} {run.algorithm} {run.task} {run.split}"
    if outcome.message:
        return f"{name} FAILED: {outcome.message}"
    auc = "" if outcome.auc is None else f" AUC {outcome.auc:.4f}"
    return f"{name}{auc} ({outcome.seconds:.1f} s)"


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(42), duration(200), duration(8000)
    ('42 s', '3 min', '2 h 13 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
