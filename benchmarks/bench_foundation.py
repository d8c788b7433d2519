"""The exact solvers, relative to one matrix product and to scikit-learn's linear classifiers."""

from __future__ import annotations

import statistics
import subprocess
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.preprocessing import normalize

from benchmarks.common import Table, correlated, interleaved, peak_extra_megabytes, ratios, timings
from vrspam import AUCClassifier


def one_gram(table: Table) -> None:
    X, y = correlated(60_000, 780)
    single = X.astype(np.float32)
    # The fits take turns with the matrix product, so that both see the same load of the machine.
    seconds = timings(
        {
            "gram": lambda: X.T @ X,
            "fit": lambda: AUCClassifier().fit(X, y),
            "fit32": lambda: AUCClassifier().fit(single, y),
        },
        repeats=9,
    )
    fit, gram = statistics.median(seconds["fit"]), statistics.median(seconds["gram"])
    each = ratios(seconds["fit"], seconds["gram"])
    table.median_at_most("fit 60,000 × 780 float64 ÷ one X.T @ X", each, 1.25, f"({fit:.2f} s / {gram:.2f} s)")
    table.median_at_most("fit float32 ÷ fit float64", ratios(seconds["fit32"], seconds["fit"]), 0.8)
    megabytes = peak_extra_megabytes(
        "from benchmarks.common import correlated; from vrspam import AUCClassifier; import numpy as np\n"
        "AUCClassifier().fit(*correlated(200, 780)); X, y = correlated(60_000, 780)",
        "AUCClassifier().fit(X, y)",
    )
    table.at_most("extra peak memory of that fit, MB", megabytes, 150)


def peers_on_dense(table: Table) -> None:
    X, y = correlated(40_000, 100, share=0.05)
    model = AUCClassifier(tol=1e-8)
    seconds = interleaved(
        {
            "ours": lambda: model.fit(X, y),
            "RidgeClassifier": lambda: RidgeClassifier(class_weight="balanced").fit(X, y),
            "LogisticRegression": lambda: LogisticRegression().fit(X, y),
        },
        repeats=9,
    )
    for peer in ("RidgeClassifier", "LogisticRegression"):
        ratio = seconds["ours"] / seconds[peer]
        table.at_most(f"fit 40,000 × 100 ÷ {peer}", ratio, 1.0, f"({1000 * seconds['ours']:.1f} ms)")
    certificate = model.gap_ / (y.mean() * (1 - y.mean()))
    table.at_most("its certificate, gap_ / F(0)", certificate, 1e-8)


def peer_on_text(table: Table, name: str) -> None:
    from vrspam.data import load

    data = load(name)
    X = normalize(data.X)
    p = float(np.mean(data.y > 0))
    model = AUCClassifier(l2=1e-2 * 2 * p * (1 - p))
    seconds = timings(
        {"ours": lambda: model.fit(X, data.y), "peer": lambda: LogisticRegression().fit(X, data.y)}, repeats=7
    )
    note = f"({1000 * statistics.median(seconds['ours']):.0f} ms, {model.n_iter_} iterations)"
    table.median_at_most(f"fit {name} ÷ LogisticRegression", ratios(seconds["ours"], seconds["peer"]), 0.5, note)


def importing(table: Table) -> None:
    def run(code: str):
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    seconds = interleaved(
        {"python": run("pass"), "ours": run("import vrspam"), "peer": run("import sklearn.linear_model")}, repeats=7
    )
    table.at_most("import vrspam ÷ import sklearn.linear_model", seconds["ours"] / seconds["peer"], 1.3)
    full = interleaved({"ours": run("from vrspam import AUCClassifier"), "peer": run("import sklearn.linear_model")})
    table.at_most("from vrspam import AUCClassifier ÷ the same", full["ours"] / full["peer"], 1.3)
    loaded = subprocess.run([sys.executable, "-c", "import vrspam, sys; sys.exit('numba' in sys.modules)"])
    table.row("Numba loaded by import vrspam", "no" if loaded.returncode == 0 else "yes", "no", loaded.returncode == 0)


def main() -> None:
    table = Table("Foundation: exact solvers")
    one_gram(table)
    peers_on_dense(table)
    for name in ("news20", "reuters-tick"):
        peer_on_text(table, name)
    importing(table)
