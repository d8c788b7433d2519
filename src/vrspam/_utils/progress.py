"""One progress line on the standard error stream: share done, rate and time left."""

from __future__ import annotations

import sys
import time
from typing import Any

_MIN_INTERVAL = 0.2  # seconds between two updates of the line


class Progress:
    """Show how far a download or a reading is; by rich where it is installed, else as a plain line.

    Parameters
    ----------
    label : str
        What is being done.
    total : int or None
        Units of the whole (bytes or rows); None where unknown.
    unit : str
        What the rate counts: "B" for bytes, "rows" for rows.
    enabled : bool
        False shows nothing.
    """

    def __init__(self, label: str, total: int | None, unit: str, enabled: bool = True) -> None:
        self.label, self.total, self.unit, self.enabled = label, total, unit, enabled
        self._start = self._last = time.monotonic()
        self._done = self._count = 0
        self._bar: Any = None
        if enabled:
            self._bar = _rich_bar(label, total)

    def __enter__(self) -> Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self.enabled:
            return
        self._show()
        if self._bar:
            self._bar.stop()
        else:
            sys.stderr.write("\n")

    def update(self, done: int, count: int | None = None) -> None:
        """Say that `done` of `total` is behind us, and `count` of what the rate counts (default: `done`)."""
        self._done, self._count = done, done if count is None else count
        if self.enabled and time.monotonic() - self._last >= _MIN_INTERVAL:
            self._last = time.monotonic()
            self._show()

    def status(self) -> str:
        """Return the text of the line: share, rate, time left."""
        seconds = max(time.monotonic() - self._start, 1e-9)
        parts = []
        if self.total:
            parts.append(f"{min(100 * self._done // self.total, 100)} %")
        parts.append(f"{_short(self._count / seconds)}{self.unit if self.unit == 'B' else ' ' + self.unit}/s")
        if self.total and self._done:
            left = int(max(self.total - self._done, 0) * seconds / self._done)
            parts.append(f"{left // 60}:{left % 60:02d} left")
        return "  ".join(parts)

    def _show(self) -> None:
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=self._done, status=self.status())
        else:
            sys.stderr.write(f"\r{self.label}  {self.status()}\033[K")
            sys.stderr.flush()


def _rich_bar(label: str, total: int | None) -> Any:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress
    except ImportError:
        return None
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[status]}"))
    bar = RichProgress(*columns, console=Console(stderr=True))
    bar.add_task(label, total=total, status="")
    return bar


def _short(number: float) -> str:
    for suffix in ("", "k", "M"):
        if number < 1000:
            return f"{number:.3g}{suffix}"
        number /= 1000
    return f"{number:.3g}G"
