"""What every benchmark uses: timing, memory measurement, test data and a table of results."""

from __future__ import annotations

import os
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


def interleaved(functions: dict[str, Callable[[], object]], repeats: int = 5, warm_up: int = 1) -> dict[str, float]:
    """Return the median seconds of each function; they take turns, so that other load slows all of them alike."""
    runs = take_turns(functions, repeats, warm_up)
    return {name: statistics.median(values) for name, values in runs.items()}


def take_turns(
    functions: dict[str, Callable[[], object]], repeats: int = 3, warm_up: int = 1
) -> dict[str, list[float]]:
    """Return the seconds of each run of each function; they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(warm_up + repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            if turn >= warm_up:
                seconds[name].append(time.perf_counter() - start)
    return seconds


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

    def ratio(self, what: str, ours: list[float], peer: list[float], goal: float) -> None:
        """A row for the time of some runs over that of a peer in the same turns: the median, the best and the worst."""
        ratios = sorted(mine / other for mine, other in zip(ours, peer, strict=True))
        note = f"({ratios[0]:.3g} to {ratios[-1]:.3g}; {min(ours):.2f} s / {min(peer):.2f} s at best)"
        self.at_most(what, statistics.median(ratios), goal, note)
