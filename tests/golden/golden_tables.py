"""Twenty tables at the public surface: how each is written, trained on and scored.

Half are data sets that scikit-learn brings along, half are made here to be awkward. Each has rows for training and
other rows, some with values that training did not have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets
from tool_data import patients, write, write_libsvm


@dataclass(frozen=True)
class Table:
    """A table and the options of `vrspam train` and `vrspam report` for it.

    Attributes
    ----------
    name : str
    files : callable
        Writes the rows for training and the new ones into a folder; returns the two paths.
    train : tuple of str
        Options of `train` and `report`.
    reading : tuple of str
        Options of every command that reads a file.
    exports : tuple of str
        The formats that can hold the model: "python", "sql", "onnx".
    report : bool
        Whether `report` takes such a model.
    explained : float
        How far the numbers of `explain` may be from those recorded. Curves of kernels come from a projection that is
        nearly singular where few rows have a value other than 0, and processors differ in how products round.
    """

    name: str
    files: Callable[[Path], tuple[Path, Path]]
    train: tuple[str, ...]
    reading: tuple[str, ...] = ()
    exports: tuple[str, ...] = ("onnx",)
    report: bool = True
    explained: float = 1e-10


def _two_files(frame: pd.DataFrame, folder: Path, ending: str = ".csv") -> tuple[Path, Path]:
    """Even rows for training, odd rows as new ones."""
    paths = folder / f"train{ending}", folder / f"new{ending}"
    for path, start in zip(paths, (0, 1), strict=True):
        part = frame.iloc[start::2]
        if ending == ".xlsx":
            part.to_excel(path, index=False)
        else:
            write(part, path)
    return paths


def _bundled(load: Callable[..., object], positive: Callable[[pd.Series], pd.Series], folder: Path, step: int = 1):
    """A data set of scikit-learn with two classes."""
    frame = load(as_frame=True).frame.iloc[::step].copy()  # type: ignore[attr-defined]
    frame["target"] = positive(frame["target"]).map({True: "case", False: "other"})
    return _two_files(frame, folder)


def _patients(ending: str, folder: Path) -> tuple[Path, Path]:
    paths = folder / f"train{ending}", folder / f"new{ending}"
    new = patients(200, seed=1)
    new.loc[3:5, "town"] = "Atlantis"
    new.loc[7, "age"] = 900.0
    write(patients(300), paths[0])
    write(new, paths[1])
    return paths


def visits(rows: int = 360, seed: int = 0) -> pd.DataFrame:
    """Repeated visits: dates, times of day, amounts of money, shares and gaps as text, weights, a rare category."""
    rng = np.random.default_rng(seed)
    person = rng.integers(0, rows // 4, rows)
    level = np.random.default_rng(99).normal(0, 1, rows)[person]
    sick = rng.random(rows) < 1 / (1 + np.exp(1.0 - level))
    day = rng.integers(0, 900, rows) + 60 * sick
    minute = rng.integers(0, 1440, rows)
    income = np.exp(rng.normal(7.5, 0.8, rows) - 0.3 * sick)
    frame = pd.DataFrame(
        {
            "person": [f"p{number}" for number in person],
            "seen": [(pd.Timestamp("2021-03-01") + pd.Timedelta(days=int(d))).strftime("%d/%m/%Y") for d in day],
            "at": [f"{m // 60}:{m % 60:02d}" for m in minute],
            "income": [f"€{value:,.2f}" for value in income],
            "share": [f"{value:.1f} %" for value in rng.uniform(0, 100, rows) - 10 * sick],
            "level": np.round(level + rng.normal(0, 0.3, rows), 3),
            "plan": rng.choice(["basic", "plus", "n/a", "gold"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "counts": rng.integers(1, 5, rows),
            "sick": np.where(sick, "yes", "no"),
        }
    )
    frame.loc[rng.random(rows) < 0.05, "income"] = "unknown"
    frame.loc[rng.random(rows) < 0.05, "level"] = np.nan
    return frame


def _visits(folder: Path, ending: str = ".csv") -> tuple[Path, Path]:
    return _two_files(visits(), folder, ending)


def _german(folder: Path) -> tuple[Path, Path]:
    """Semicolons, decimal commas, Windows' encoding."""
    frame = visits(280, seed=5).drop(columns=["income", "share", "at"]).assign(größe=np.arange(280) % 37 + 0.5)
    paths = folder / "train.csv", folder / "new.csv"
    for path, start in zip(paths, (0, 1), strict=True):
        frame.iloc[start::2].to_csv(path, index=False, sep=";", decimal=",", encoding="windows-1252")
    return paths


def _towns(folder: Path) -> tuple[Path, Path]:
    """A category of sixty levels, a heavy tail, a constant and a column without values."""
    rng = np.random.default_rng(3)
    rows = 500
    town = rng.integers(0, 60, rows)
    effect = np.random.default_rng(4).normal(0, 1, 60)[town]
    sick = rng.random(rows) < 1 / (1 + np.exp(1.5 - effect))
    frame = pd.DataFrame(
        {
            "town": [f"town {number}" for number in town],
            "spent": np.round(rng.lognormal(3, 2, rows) * (1 + sick), 2),
            "constant": 5,
            "nothing": np.nan,
            "sick": sick.astype(int),
        }
    )
    return _two_files(frame, folder)


def _libsvm(folder: Path) -> tuple[Path, Path]:
    return write_libsvm(folder / "train.libsvm"), write_libsvm(folder / "new.libsvm", rows=100, seed=1)


def _noise(folder: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(np.round(rng.standard_normal((240, 6)), 4), columns=[*"abcdef"])
    return _two_files(frame.assign(y=rng.integers(0, 2, 240)), folder)


TARGET, SICK, YES = ("--target", "target"), ("--target", "sick"), ("--target", "sick", "--positive", "yes")
ALL = ("python", "sql", "onnx")
CELLS = partial(_bundled, datasets.load_breast_cancer, lambda target: target == 0)
WINE = partial(_bundled, datasets.load_wine, lambda target: target == 1)
IRIS = partial(_bundled, datasets.load_iris, lambda target: target == 2)
SUGAR = partial(_bundled, datasets.load_diabetes, lambda target: target > 180)
DIGITS = partial(_bundled, datasets.load_digits, lambda target: target == 8, step=2)

TABLES = [
    Table("cells-auto", CELLS, TARGET),
    Table("wine-additive", WINE, (*TARGET, "--features", "additive"), exports=ALL),
    Table("iris-trees", IRIS, (*TARGET, "--features", "trees")),
    Table("sugar-kernel-isotonic", SUGAR, (*TARGET, "--features", "kernel", "--calibration", "isotonic")),
    Table("digits-l1", DIGITS, (*TARGET, "--features", "linear", "--l1", "auto"), exports=ALL),
    Table("sugar-hinge", SUGAR, (*TARGET, "--features", "linear", "--loss", "squared_hinge"), exports=ALL),
    Table("cells-mcp", CELLS, (*TARGET, "--features", "linear", "--penalty", "mcp", "--l1", "auto"), exports=ALL),
    Table("cells-max-fpr", CELLS, (*TARGET, "--features", "additive", "--max-fpr", "0.1"), exports=ALL),
    Table("patients-auto", partial(_patients, ".csv.gz"), YES),
    Table("patients-parquet", partial(_patients, ".parquet"), (*YES, "--features", "linear"), exports=ALL),
    Table("visits-additive", _visits, (*YES, "--features", "additive"), exports=ALL),
    Table("visits-groups", _visits, (*YES, "--features", "additive", "--groups", "person"), exports=ALL),
    Table("visits-time", _visits, (*YES, "--features", "additive", "--time", "seen"), exports=ALL),
    Table("visits-weights", _visits, (*YES, "--features", "kernel", "--weights", "counts")),
    Table(
        "visits-excel-private",
        partial(_visits, ending=".xlsx"),
        (*YES, "--features", "trees", "--private"),
        report=False,
    ),
    Table("visits-streaming", _visits, (*YES, "--streaming", "--drop", "person"), exports=ALL, report=False),
    Table("german-linear", _german, (*YES, "--features", "linear"), exports=ALL),
    Table("towns-auto", _towns, (*SICK, "--max-categories", "40")),
    Table("libsvm-linear", _libsvm, (), exports=("onnx",), explained=1e-8),
    Table("noise-simplest", _noise, ("--target", "y", "--features", "auto", "--selection", "one-standard-error")),
]
