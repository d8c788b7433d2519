"""What every benchmark uses: timing, memory measurement, test data and a table of results."""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ROOT.parent / "shared" / "data"  # a data folder next to the checkout is used if it exists
if BESIDE.is_dir():
    os.environ.setdefault("VRSPAM_DATA", str(BESIDE))


def where_and_when() -> str:
    """The date, the versions and the machine, for the head of a page of measurements."""
    import sklearn

    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, scikit-learn {sklearn.__version__}"
    return f"{datetime.date.today()}, {versions}, {processor()}, {os.cpu_count()} cores"


def made_by(module: str, commit: str = "") -> str:
    """The command that is running, and the commit that it runs: the first line of a page of results.

    A copy of the tree that has no history cannot tell its commit: then it is an option of the command.
    """
    program = ["git", "rev-parse", "--short=8", "HEAD"]
    known = commit or subprocess.run(program, capture_output=True, text=True, cwd=ROOT, check=False).stdout.strip()
    command = shlex.join(["python", "-m", f"benchmarks.{module}", *sys.argv[1:]])
    return f"Command: `{command}`. Commit: {known or 'not known'}."


def processor() -> str:
    """The name of the processor, as Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def interleaved(functions: dict[str, Callable[[], object]], repeats: int = 5, warm_up: int = 1) -> dict[str, float]:
    """Return the median seconds of each function; they take turns, so that other load slows all of them alike."""
    return {name: statistics.median(values) for name, values in timings(functions, repeats, warm_up).items()}


def timings(functions: dict[str, Callable[[], object]], repeats: int = 3, warm_up: int = 1) -> dict[str, list[float]]:
    """Return the seconds of each run of each function; they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(warm_up + repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            if turn >= warm_up:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratios(above: list[float], below: list[float]) -> list[float]:
    """Return the ratio of each turn."""
    return [a / max(b, 1e-9) for a, b in zip(above, below, strict=True)]


def peak_extra_megabytes(setup: str, statement: str) -> float:
    """Return how far the peak memory of a new process grows while `statement` runs, after `setup`.

    The recorded peak is reset after `setup`, so that memory which only the set-up needed is not counted (Linux only).
    """
    program = f"""
import re
def status(field):
    return int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read()).group(1)) / 1024
{setup}
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
{statement}
print("EXTRA", status("VmHWM") - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(done.stdout.rsplit("EXTRA", 1)[1])


def correlated(n: int, d: int, share: float = 0.3, seed: int = 0, dtype=np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Return two Gaussian classes with correlated columns (a low-rank part plus noise), labels 0/1."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(np.int64)
    rank = max(1, d // 10)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) / np.sqrt(rank)
    X += 0.5 * rng.standard_normal((n, d))
    X[y == 1] += 0.3 * rng.standard_normal(d) / np.sqrt(10)
    return X.astype(dtype, copy=False), y


class Table:
    """A table of measurements with their goals; each row is printed as soon as it is known."""

    def __init__(self, title: str):
        print(f"\n## {title}\n\n| what | measured | goal | |\n|---|---|---|---|", flush=True)

    def row(self, what: str, measured: str, goal: str = "", reached: bool | None = None) -> None:
        mark = "" if reached is None else "ok" if reached else "MISSED"
        print(f"| {what} | {measured} | {goal} | {mark} |", flush=True)

    def at_most(self, what: str, value: float, goal: float, note: str = "") -> None:
        self.row(what, f"{value:.3g}{' ' + note if note else ''}", f"≤ {goal:g}", value <= goal)

    def median_at_most(self, what: str, values: list[float], goal: float, note: str = "") -> None:
        """A row for the median of several turns, with the best and the worst of them."""
        ends = f"(best {min(values):.3g}, worst {max(values):.3g})"
        self.at_most(what, statistics.median(values), goal, f"{ends} {note}".rstrip())

    def ratio(self, what: str, ours: list[float], peer: list[float], goal: float) -> None:
        """A row for the time of some runs over that of a peer in the same turns."""
        self.median_at_most(what, ratios(ours, peer), goal, f"({min(ours):.2f} s / {min(peer):.2f} s at best)")
