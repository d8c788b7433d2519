"""Progress of a long job: one line on the standard error stream, redrawn in place by rich.

rich comes with the extra `cli`. Where it is not installed, the line is printed once, when the job has ended.
"""

import math
import sys
import time
from collections.abc import Callable
from typing import Any, Self


def is_terminal(stream: Any) -> bool:
    """Whether a standard stream is shown on a terminal; it may be None, in a program that has none."""
    return stream is not None and bool(stream.isatty())


class StatusLine:
    """A line that is redrawn in place: a label, a bar and a text; a `transient` line is removed at the end."""

    def __init__(
        self, label: str, total: int | None = None, *, bar: bool = True, transient: bool = False, enabled: bool = True
    ) -> None:
        self.label = label
        self.text = ""
        self._stays = enabled and not transient
        self._drawn_at = -math.inf
        self._rich = _rich_line(label, total, bar, transient) if enabled else None
        self.moves = self._rich is not None  # else it is printed at the end, if at all

    def __enter__(self) -> Self:
        if self._rich:
            self._rich.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._rich:
            self._rich.stop()
        elif self._stays:
            self.message(f"{self.label}  {self.text}".strip())

    def show(self, text: str, done: int = 0, total: int | None = None) -> None:
        """Show `text`, and a bar filled to `done` of `total` (default: the total known before)."""
        self.text = text
        if self._rich:
            now = time.monotonic()
            due = now - self._drawn_at >= 0.1
            if due:
                self._drawn_at = now
            self._rich.update(self._rich.task_ids[0], completed=done, total=total, text=text, refresh=due)

    def message(self, text: str) -> None:
        """Print a line that stays, above this one."""
        if self._rich:
            self._rich.console.print(text, markup=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr)


class Progress(StatusLine):
    """The progress of a download or of reading: share done, rate (in `unit`: "B" or "rows") and time left."""

    def __init__(self, label: str, total: int | None, unit: str, enabled: bool = True) -> None:
        super().__init__(label, total, enabled=enabled)
        self.total = total
        self.unit = unit
        self._start = time.monotonic()
        self._done = 0
        self._count = 0

    def __exit__(self, *_: object) -> None:
        self.show(self.status(), self._done)
        super().__exit__()

    def update(self, done: int, count: int | None = None) -> None:
        """Record that `done` of `total` is finished, and `count` of the units of the rate (default: `done`)."""
        self._done = done
        self._count = done if count is None else count
        self.show(self.status(), done)

    def status(self) -> str:
        """Return the text of the line: share, rate, time left."""
        seconds = max(time.monotonic() - self._start, 1e-9)
        parts = []
        if self.total:
            parts.append(f"{min(100 * self._done // self.total, 100)} %")
        unit = "B" if self.unit == "B" else f" {self.unit}"
        parts.append(f"{_short(self._count / seconds)}{unit}/s")
        if self.total and self._done:
            parts.append(_time_left(seconds, self._done, self.total))
        return "  ".join(parts)


class StepProgress(StatusLine):
    """The progress of a few long steps, with the last step and the time left: a moving line, or lines of a log.

    `in_words` says how a step is shown, from its name.
    """

    def __init__(self, label: str, in_words: Callable[[str], str] = str) -> None:
        super().__init__(label, transient=True, enabled=is_terminal(sys.stderr))
        self._in_words = in_words
        self.start(0)

    def start(self, steps: int) -> None:
        """Begin a part of the work with `steps` steps of about equal length."""
        self._steps = steps
        self._done = 0
        self._start = time.monotonic()

    def tell(self, what: Any) -> None:
        """Record that a step is done; `what` is written as text."""
        self._done += 1
        left = _time_left(time.monotonic() - self._start, self._done, self._steps)
        text = f"{self._done} of {self._steps}: {self._in_words(str(what))}"
        if self.moves:  # a narrow terminal cuts its end off: the time comes first
            self.show(f"{left}  {text}", self._done, self._steps)
        else:
            print(f"{self.label}  {text}  {left}", file=sys.stderr, flush=True)


def _time_left(seconds: float, done: int, total: int) -> str:
    """Return the time that the rest takes at the speed so far, as text."""
    left = int(max(total - done, 0) * seconds / done)
    return f"{left // 60}:{left % 60:02d} left"


def _rich_line(label: str, total: int | None, bar: bool, transient: bool) -> Any:
    """Return rich's display, or None where rich is not installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, TextColumn
        from rich.progress import Progress as RichProgress
    except ImportError:
        return None
    columns: list[ProgressColumn] = [TextColumn("{task.fields[text]}", markup=False)]
    if bar:
        columns.insert(0, BarColumn())
    if label:
        columns.insert(0, TextColumn("{task.description}", markup=False))
    wide = 200  # columns where the stream is not a terminal, and so has no width
    console = Console(stderr=True, highlight=False, width=None if is_terminal(sys.stderr) else wide)
    # Redrawn by `show` alone: a thread of rich's own would wake up in the midst of compiled code and of forks.
    line = RichProgress(*columns, console=console, transient=transient, auto_refresh=False)
    line.add_task(label, total=total, text="")
    return line


def _short(number: float) -> str:
    for suffix in ("", "k", "M"):
        if number < 1000:
            return f"{number:.3g}{suffix}"
        number /= 1000
    return f"{number:.3g}G"
