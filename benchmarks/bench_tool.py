"""The commands: `predict` relative to only reading and writing the same CSV file, `--help` to the imports it cannot do
without, and `demo` to a grid search of scikit-learn's."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from benchmarks.common import Table, interleaved, ratios, timings
from vrspam.tool.model import Model
from vrspam.tool.prediction import predict
from vrspam.tool.training import train

ROWS, NUMBERS = 1_000_000, 10


def write_table(path: Path, rows: int, seed: int = 0, numbers: int = NUMBERS) -> None:
    """Write a table of patients: an identifier, numbers of five digits, a category, a label."""
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.2
    columns = {"patient": pa.array(np.char.add("P", np.arange(rows).astype(str)))}
    for j in range(numbers):
        columns[f"value{j}"] = pa.array(np.round(rng.normal(50, 10, rows) + 3 * sick * (j < 3), 3))
    columns["town"] = pa.array(rng.choice(["Graz", "Köln", "Łódź"], rows))
    columns["sick"] = pa.array(np.where(sick, "yes", "no"))
    arrow_csv.write_csv(pa.table(columns), path)


def predicting(table: Table) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "small.csv", 5_000)
        write_table(folder / "large.csv", ROWS, seed=1)

        def floor() -> None:
            arrow_csv.write_csv(arrow_csv.read_csv(folder / "large.csv"), folder / "copy.csv")

        def scoring(model: Model) -> Callable[[], object]:
            return lambda: predict(model, folder / "large.csv", folder / "scores.csv")

        maps = ("linear", "additive", "kernel")
        ours = {name: scoring(train(folder / "small.csv", "sick", features=name)) for name in maps}
        seconds = interleaved({**ours, "floor": floor}, repeats=5)
        size = (folder / "large.csv").stat().st_size / 1e6
        for name in maps:
            what = f"predict {ROWS:,} rows of CSV, {name} model ÷ pyarrow reading and writing it"
            note = f"({seconds[name]:.2f} s / {seconds['floor']:.2f} s, {size:.0f} MB)"
            ratio = seconds[name] / seconds["floor"]
            if name == "kernel":  # 500 kernel values for each row
                table.row(what, f"{ratio:.3g} {note}")
            else:
                table.at_most(what, ratio, 2.0, note)


def helping(table: Table) -> None:
    def run(*words: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)

    ours, peer = run("-m", "vrspam.cli", "--help"), run("-c", "import typer, rich")
    seconds = timings({"ours": ours, "peer": peer}, repeats=7)
    table.median_at_most("vrspam --help ÷ import typer, rich", ratios(seconds["ours"], seconds["peer"]), 1.5)


def showing(table: Table) -> None:
    """The demo, whose second part takes as many processes as there are cores; the grid search does the same."""
    X, y = load_digits(return_X_y=True)

    def demo() -> None:
        with tempfile.TemporaryDirectory() as name:
            words = [sys.executable, "-m", "vrspam.cli", "demo", "--no-browser", "--out", name]
            subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    def peer() -> None:
        grid = {"C": np.logspace(-5, 5, 11)}
        GridSearchCV(LogisticRegression(max_iter=1000), grid, cv=5, n_jobs=-1).fit(X / 16.0, y >= 5)

    seconds = timings({"demo": demo, "peer": peer}, repeats=3)
    each = ratios(seconds["demo"], seconds["peer"])
    what = "vrspam demo ÷ 5-fold grid search of LogisticRegression (11 C) on digits"
    table.row(
        what, f"{sorted(each)[1]:.3g} (best {min(each):.3g}, worst {max(each):.3g}; {min(seconds['demo']):.1f} s)"
    )


def main() -> None:
    predicting(Table("The commands on files"))
    table = Table("The commands themselves")
    helping(table)
    showing(table)
