"""The commands: `predict` and `evaluate --scores` relative to only reading and writing the same CSV file, `train` to
boosting, `--help` to the imports it cannot do without, and `demo` to a grid search of scikit-learn's."""

from __future__ import annotations

import contextlib
import io
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from benchmarks.common import Table, ratios, timings
from vrspam.cli import main as main_command
from vrspam.model.model import Model
from vrspam.tool.prediction import predict
from vrspam.tool.training import train

ROWS, NUMBERS = 1_000_000, 10
MAPS = (("linear", 2.0), ("additive", 2.0), ("kernel 1", 1.5), ("kernel", 3.0))  # with their goals


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

        ours = {name: scoring(train(folder / "small.csv", "sick", features=name)) for name, _ in MAPS}
        seconds = timings({**ours, "floor": floor}, repeats=3)
        size = (folder / "large.csv").stat().st_size / 1e6
        for name, most in MAPS:
            kind = "blend of three kernels" if name == "kernel" else f"{name} model"
            what = f"predict {ROWS:,} rows of CSV ({size:.0f} MB), {kind} ÷ pyarrow reading and writing it"
            table.ratio(what, seconds[name], seconds["floor"], most)


def mixed_table(rows: int, seed: int = 0) -> pd.DataFrame:
    """15 columns, numbers, counts, towns and a day, and a label; some numbers are missing."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"number{j}": np.round(rng.standard_normal(rows), 4) for j in range(8)}
    columns |= {f"count{j}": rng.poisson(5 * (j + 1), rows) for j in range(3)}
    towns = np.array([f"town {number}" for number in range(30)])
    columns |= {f"town{j}": rng.choice(towns[: 10 * (j + 1)], rows) for j in range(3)}
    columns["day"] = (np.datetime64("2020-01-01") + rng.integers(0, 1_000, rows)).astype(str)
    frame = pd.DataFrame(columns)
    score = np.sin(2 * frame.number0) + np.abs(frame.number1) + frame.number2 * frame.number4
    score = score + (frame.town0 == "town 3") + 0.1 * frame.count0 + 0.5 * rng.standard_normal(rows)
    frame.loc[rng.random(rows) < 0.05, "number3"] = np.nan
    return frame.assign(sick=np.where(score > np.quantile(score, 0.8), "yes", "no"))


def training(table: Table) -> None:
    frame = mixed_table(100_000)
    columns = frame.drop(columns="sick").assign(day=pd.to_datetime(frame.day).astype(np.int64))
    columns = columns.astype({f"town{j}": "category" for j in range(3)})
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "table.csv"
        frame.to_csv(path, index=False)
        peer = HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype")
        seconds = timings(
            {"train": lambda: train(path, "sick"), "boosting": lambda: peer.fit(columns, frame.sick == "yes")}
        )
    what = "train on 100,000 × 15 mixed columns of CSV ÷ gradient boosting with default settings on the same columns"
    table.ratio(what, seconds["train"], seconds["boosting"], 5)


def scoring_columns(table: Table) -> None:
    """`evaluate --scores` in processor time, less that of a small table, beside reading the CSV."""
    rng, columns = np.random.default_rng(0), ["first", "second", "third"]
    sick, common = rng.random(ROWS) < 0.2, rng.normal(size=ROWS)
    values = {"sick": sick.astype(int)}
    for gain, name in enumerate(columns, 1):
        values[name] = 1.0 / (1.0 + np.exp(1.0 - common - rng.normal(size=ROWS) - gain * sick))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows, path in ((2_000, "small.csv"), (ROWS, "large.csv")):
            arrow_csv.write_csv(pa.table({key: part[:rows] for key, part in values.items()}), folder / path)

        def seconds(path: str) -> float:
            start = time.process_time()
            page, words = str(folder / "page.html"), ["--target", "sick", "--scores", ",".join(columns)]
            with contextlib.redirect_stdout(io.StringIO()):
                main_command(["evaluate", str(folder / path), *words, "--html", page])
            return time.process_time() - start

        def reading() -> float:
            start = time.process_time()
            arrow_csv.read_csv(folder / "large.csv")
            return time.process_time() - start

        seconds("large.csv")
        each = [(seconds("large.csv") - seconds("small.csv")) / reading() for _ in range(5)]
        size = (folder / "page.html").stat().st_size / 1e6
    what = f"evaluate --scores, {ROWS:,} rows, 3 columns of CSV ÷ pyarrow reading it, processor time, start-up aside"
    table.median_at_most(what, each, 4.0)
    table.at_most("its page, MB", size, 1.0)


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
        what,
        f"{statistics.median(each):.3g} (best {min(each):.3g}, worst {max(each):.3g}; {min(seconds['demo']):.1f} s)",
    )


def main() -> None:
    table = Table("The commands on files")
    predicting(table)
    scoring_columns(table)
    training(table)
    table = Table("The commands themselves")
    helping(table)
    showing(table)
