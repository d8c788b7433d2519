"""Scorers on feature maps: time relative to gradient boosting, and memory compared with that of all features."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.common import Table, interleaved, peak_extra_megabytes
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
    beside_boosting(table, 20_000, 6, repeats=3)
    beside_boosting(table, 100_000, 5, repeats=2)
    auto = 'AUCClassifierCV(features="auto", random_state=0).fit(X, y)'
    extra = peak_extra_megabytes(DATA.format(rows=20_000), auto)
    table.at_most("20,000 × 30, auto: extra megabytes", extra, 500)
    wide = "KernelFeatures(bandwidth=0.3, n_landmarks=1020, max_additive=500, random_state=0)"
    fit = f"model = AUCClassifierCV(features={wide}, random_state=0).fit(X, y)"
    check = "; assert 1490 <= model.coef_.shape[1] <= 1510, model.coef_.shape"
    extra = peak_extra_megabytes(DATA.format(rows=60_000), fit + check)
    table.at_most("60,000 rows × 1,500 features: extra megabytes", extra, 300, "(they would take 720 MB)")
    wide_and_short(table)


def beside_boosting(table: Table, rows: int, most: float, repeats: int) -> None:
    """Time of "auto" relative to that of boosting on many rows."""
    X, y = curved(rows, 30)
    seconds = interleaved(
        {
            "auto": lambda: AUCClassifierCV(features="auto", random_state=0).fit(X, y),
            "boosting": lambda: HistGradientBoostingClassifier(random_state=0).fit(X, y),
        },
        repeats=repeats,
    )
    note = f"({seconds['auto']:.2f} s against {seconds['boosting']:.2f} s)"
    ratio = seconds["auto"] / seconds["boosting"]
    table.at_most(f"{rows:,} × 30, auto, 5 folds ÷ gradient boosting with default settings", ratio, most, note)


def wide_and_short(table: Table) -> None:
    """More columns than rows: solved from a matrix of rows × rows."""
    X, y = curved(400, 3_000)
    seconds = interleaved(
        {
            "additive": lambda: AUCClassifierCV(features="additive", random_state=0).fit(X, y),
            "auto": lambda: AUCClassifierCV(features="auto", random_state=0).fit(X, y),
            "boosting": lambda: HistGradientBoostingClassifier(random_state=0).fit(X, y),
        },
        repeats=2,
    )
    for name, most in (("additive", 1), ("auto", 1)):
        note = f"({seconds[name]:.2f} s against {seconds['boosting']:.2f} s)"
        ratio = seconds[name] / seconds["boosting"]
        table.at_most(f"400 × 3,000, {name}, 5 folds ÷ gradient boosting with default settings", ratio, most, note)
    data = DATA.format(rows=400).replace("curved(400, 30)", "curved(400, 3_000)")
    extra = peak_extra_megabytes(data, 'AUCClassifierCV(features="auto", random_state=0).fit(X, y)')
    table.at_most("400 × 3,000, auto: extra megabytes", extra, 500)


if __name__ == "__main__":
    main()
