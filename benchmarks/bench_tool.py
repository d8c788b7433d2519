"""The commands on files: `predict` relative to only reading and writing the same CSV file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from benchmarks.common import Table, interleaved
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


def main() -> None:
    predicting(Table("The commands on files"))
