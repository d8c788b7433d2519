"""VRSPAM: passes to the certificate, compared with the paper's variant and conjugate gradient; time of inner steps."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from benchmarks.common import ROOT, Table, correlated, ratios, timings
from vrspam import VRSPAMClassifier, kernels
from vrspam.data import load
from vrspam.moments import ClassMoments
from vrspam.objective import Objective, l2_unit
from vrspam.solvers.base import run
from vrspam.solvers.products import ConjugateGradient
from vrspam.solvers.row_gradients import TrainingRows
from vrspam.solvers.vrspam import VRSPAM, objective_on_rows

# For each data set, the most passes allowed with l1 = 0.
GOALS = {
    "mammography": 24,
    "a9a": 24,
    "w8a": 24,
    "ijcnn1": 24,
    "campaign-ad": 24,
    "celeba-ad": 24,
    "satimage": 24,
    "usps": 50,
    "breast-cancer": 50,
    "digits": 50,
}
NET_GOAL = 25


def passes_to_the_certificate(table: Table) -> None:
    for variant in ("accelerated", "paper"):  # compile before the clock starts
        for l1 in (0.0, 0.01):
            VRSPAMClassifier(l2=0.1, l1=l1, variant=variant).fit(*correlated(200, 5))
    for name, goal in GOALS.items():
        X, y = load(name, sparse=False, positive=4 if name == "satimage" else None)
        X = StandardScaler().fit_transform(X)
        moments = ClassMoments.from_data(X, y, scatter=False)
        k = 2 * moments.p * (1 - moments.p)
        for l1, most in ((0.0, goal), (2e-2 * k * np.abs(moments.delta).max(), NET_GOAL)):
            notes = []
            fits = {}
            for variant in ("accelerated", "paper"):
                model = VRSPAMClassifier(l2=1e-2 * k, l1=l1, variant=variant, random_state=0)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    fits[variant] = model.fit(X, y)
                history = model.history_
                is_reached = model.gap_ is not None and model.gap_ <= 1e-6 * k / 2
                missed = "" if is_reached else " (not reached)"
                notes.append(f"{model.variant_} {history['passes'][-1]:.0f}{missed} in {history['seconds'][-1]:.2f} s")
            if l1 == 0.0:
                objective = Objective.from_rows(X, y == 1, None, moments, 1e-2 * k)
                history = run(ConjugateGradient(), objective, tol=1e-6, max_iter=1000).history
                notes.append(f"conjugate gradient {history['passes'][-1]:.0f} in {history['seconds'][-1]:.2f} s")
            best = fits["accelerated"]
            passes = float(best.history_["passes"][-1])
            reached = best.gap_ <= 1e-6 * k / 2 and passes <= most
            table.row(f"{name}, {'l1 > 0' if l1 else 'l1 = 0'}: passes", "; ".join(notes), f"≤ {most}", reached)


@njit(fastmath=kernels.FASTMATH)
def read_rows(X, order, w):
    """Multiply each row by w, in the given order: the least work that an epoch can do."""
    total = 0.0
    for i in order:
        row = X[i]
        for j in range(row.shape[0]):
            total += row[j] * w[j]
    return total


def prepared(X, y, variant: Any, relative_l1: float = 0.0) -> tuple[VRSPAM, Callable[[int], float]]:
    """Return a solver after one epoch, and a function that times a given number of further inner steps."""
    moments = ClassMoments.from_data(X, y, scatter=False)
    largest_l1 = 2 * moments.p * (1 - moments.p) * np.abs(moments.delta).max()
    rows = TrainingRows(X, y == 1, None, moments)
    objective = objective_on_rows(rows, l2_unit(moments), relative_l1 * largest_l1)
    solver = VRSPAM(rows, variant, rng=np.random.default_rng(0))
    state = solver.init(objective)
    solver.epoch(objective, state)
    inner = {"accelerated": solver._accelerated, "pair": solver._pairs}.get(variant, solver._plain)
    gradient: Any = solver.gradient
    draw = gradient.draw

    def seconds(steps: int) -> float:
        solver.steps = steps
        drawn = draw(np.random.default_rng(1), steps)
        gradient.draw = lambda rng, size: drawn  # drawing is not part of the measured steps
        start = time.perf_counter()
        inner(objective, state)
        return time.perf_counter() - start

    return solver, seconds


def inner_epoch_on_dense(table: Table) -> None:
    X, y = correlated(60_000, 780)
    runs = {
        "paper, l1 = 0": ("paper", 0.0, 1.4),
        "paper, l1 > 0": ("paper", 0.02, 3.0),
        "centred, l1 > 0": ("centred", 0.02, 3.0),
        "accelerated": ("accelerated", 0.0, 4.0),
    }
    timers = {name: prepared(X, y, variant, l1)[1] for name, (variant, l1, _) in runs.items()}
    order, w = np.random.default_rng(1).integers(len(y), size=len(y)), np.ones(780)
    floor = {"floor": lambda: read_rows(X, order, w)}
    seconds = timings({**floor, **{name: partial(t, len(y)) for name, t in timers.items()}}, repeats=9)
    for name, (_, _, goal) in runs.items():
        epoch, least = (1e3 * statistics.median(seconds[key]) for key in (name, "floor"))
        each = ratios(seconds[name], seconds["floor"])
        table.median_at_most(
            f"inner epoch ÷ reading the rows, {name}", each, goal, f"({epoch:.0f} ms / {least:.0f} ms)"
        )


def columns_of_a_text(n: int, d: int, nonzeros: int, zipf: bool) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Return sparse rows with equally many nonzeros; columns are as frequent as words in a text, or all alike."""
    rng = np.random.default_rng(0)
    cumulated = np.cumsum(1.0 / np.arange(1, d + 1) if zipf else np.ones(d))
    columns = np.empty((n, nonzeros), dtype=np.int32)
    for i in range(n):
        drawn = np.searchsorted(cumulated, rng.random(8 * nonzeros) * cumulated[-1])
        _, first = np.unique(drawn, return_index=True)
        columns[i] = np.sort(drawn[np.sort(first)[:nonzeros]])
    values = rng.standard_normal(n * nonzeros)
    X = sparse.csr_matrix((values, columns.ravel(), np.arange(0, n * nonzeros + 1, nonzeros)), shape=(n, d))
    return X, (rng.random(n) < 0.3).astype(np.int64)


def steps_on_csr(table: Table) -> None:
    """Time 100,000 steps minus 20,000 steps, which leaves out the O(d) work that is done once in each epoch."""
    for zipf, goal in ((True, 1.8), (False, 3.0)):
        data = {d: columns_of_a_text(20_000, d, 50, zipf) for d in (10_000, 1_000_000)}
        for variant, l1 in (("accelerated", 0.0), ("centred", 0.0), ("paper", 0.0), ("pair", 0.02)):
            timers = {d: prepared(X, y, variant, l1)[1] for d, (X, y) in data.items()}
            found = []
            for turn in range(8):
                # on a busy machine the difference may be nothing, or less
                taken = {d: max(timer(100_000) - timer(20_000), 1e-9) for d, timer in timers.items()}
                if turn:
                    found.append(taken[1_000_000] / taken[10_000])
            kind = "Zipf" if zipf else "uniform"
            table.median_at_most(f"CSR steps, d = 1e6 ÷ 1e4, {kind} columns, {variant}", found, goal)


def first_fit(table: Table) -> None:
    program = """
import time
import numpy as np
from vrspam import VRSPAMClassifier
rng = np.random.default_rng(0)
X, y = rng.standard_normal((500, 10)), rng.integers(2, size=500)
seconds = []
for _ in range(2):
    start = time.perf_counter()
    VRSPAMClassifier(l2=0.1, random_state=0).fit(X, y)
    seconds.append(time.perf_counter() - start)
print(seconds[0] - seconds[1])
"""
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT) for _ in range(4)]
    extra = [float(done.stdout) for done in runs[1:]]  # the first may have filled the disk cache
    table.at_most("first fit of a process - second fit, warm disk cache, s", statistics.median(extra), 1.5)


def main() -> None:
    table = Table("VRSPAM: passes over the data to gap ≤ 1e-6 F(0), standardised, l2 = 1e-2 · 2pq")
    passes_to_the_certificate(table)
    table = Table("VRSPAM: time of inner steps")
    inner_epoch_on_dense(table)
    steps_on_csr(table)
    first_fit(table)
