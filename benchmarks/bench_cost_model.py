"""The cost model of docs/scale.md: measure its constants in small fits, and test its predictions on larger ones.

A fit of n × d costs  r·n + a·n·d + b·n·d² + c·d³ + o  seconds: for labels and weights of rows, for gathering and
centring values, for their products, for one Cholesky factorisation, and for work that does not depend on the data.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.common import Table
from vrspam import AUCClassifier, ClassMoments
from vrspam.objective import Objective
from vrspam.solvers import solve
from vrspam.solvers.gram import ridge_coefs

SIZES = [(2_000_000, 50), (400_000, 200), (100_000, 600)]  # other sizes than those the constants are measured at


class Constants(NamedTuple):
    """Seconds for each unit of work."""

    per_row: float
    per_value: float
    per_product: float
    per_cube: float
    fixed: float

    def fit(self, n: int, d: int) -> float:
        each = self.per_row + self.per_value * d + self.per_product * d * d
        return each * n + self.per_cube * d**3 + self.fixed


def seconds(function: Callable[[], object], repeats: int = 5) -> float:
    """Return the least seconds of a few runs, after a first one to warm up: other load can only add time."""
    function()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return min(found)


def rows(n: int, d: int, dtype=np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels. Only 5,000 rows are different: the time of a fit does not depend on the values."""
    rng = np.random.default_rng(0)
    X = np.tile(rng.standard_normal((min(n, 5_000), d)).astype(dtype), (max(1, n // 5_000), 1))
    return X, (rng.random(len(X)) < 0.3).astype(int)


def calibrate(dtype=np.float64) -> Constants:
    """Measure the constants: three small fits, one solve of 1,000 × 1,000, and a fit of 20 rows for the fixed cost."""
    fixed = seconds(lambda: AUCClassifier().fit(*rows(20, 2)))
    shapes = [(400_000, 2), (400_000, 60), (40_000, 1_000)]
    objective = Objective.from_moments(ClassMoments.from_data(*rows(5_000, 1_000)), 1e-3)
    per_cube = seconds(lambda: solve(objective, tol=1e-8, max_iter=10)) / 1e9
    each = []  # seconds a row
    for n, d in shapes:
        data = rows(n, d, dtype)
        each.append((seconds(partial(AUCClassifier().fit, *data)) - per_cube * d**3 - fixed) / n)
    r, a, b = np.linalg.solve([[1.0, d, d * d] for _, d in shapes], each)
    return Constants(r, a, b, per_cube, fixed)


def main() -> None:
    table = Table("cost model: constants")
    constants = calibrate()
    single = calibrate(np.float32)
    objective = Objective.from_moments(ClassMoments.from_data(*rows(20_000, 1_000)), 1e-3)
    t_path = seconds(lambda: ridge_coefs(objective.loss, np.ones(1)), repeats=3)
    table.row("r, labels", f"{1e9 * constants.per_row:.0f} ns a row")
    table.row("a, gathering and centring", f"{1e9 * constants.per_value:.2f} ns a value")
    table.row("b, products", f"{1e-9 / constants.per_product:.0f} G multiply-adds/s (n d²)")
    table.row("b, float32", f"{1e-9 / single.per_product:.0f} G multiply-adds/s")
    table.row("c, solve", f"{1e12 * constants.per_cube:.0f} ms · (d / 1,000)³")
    table.row("l2 path (eigendecomposition) ÷ solve, d = 1,000", f"{t_path / (1e9 * constants.per_cube):.1f}")
    table.row("o, fixed", f"{1e3 * constants.fixed:.1f} ms")
    table = Table("cost model: prediction against measurement")
    for n, d in SIZES:
        data = rows(n, d)
        measured, predicted = seconds(partial(AUCClassifier().fit, *data), 3), constants.fit(n, d)
        table.row(f"fit {n:,} × {d}", f"{measured:.2f} s; predicted {predicted:.2f} s ({predicted / measured:.2f})")
