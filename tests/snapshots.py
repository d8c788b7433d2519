"""What people see of commands, on tables drawn with a known truth: `python -m tests.snapshots` records them anew.

Do that only in a commit that does nothing else and says which words changed, and why.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from vrspam.cli import main

RECORDED = Path(__file__).parent / "cli" / "snapshots.json"


def independent(rng: np.random.Generator, rows: int = 400) -> pd.DataFrame:
    """Rows that have nothing to do with each other."""
    table = pd.DataFrame({name: rng.standard_normal(rows).round(2) for name in "abc"})
    table["town"] = np.char.add("t", rng.integers(0, 12, rows).astype(str))
    table["y"] = np.where(table.a + rng.standard_normal(rows) > 0.2, "yes", "no")
    return table


def visits(rng: np.random.Generator) -> pd.DataFrame:
    """Visits of patients: what no column tells is the same in all visits of one."""
    who = np.repeat(np.arange(120), 5)
    own = rng.standard_normal((120, 3)).round(2)
    x = rng.standard_normal(600).round(2)
    sick = 0.7 * x + 2.0 * rng.standard_normal(120)[who] + rng.standard_normal(600) > 0.0
    columns = {"patient": 1000 + 7 * who, "x": x, "height": own[who, 0], "weight": own[who, 1]}
    return pd.DataFrame({**columns, "sex": np.where(own[who, 2] > 0, "f", "m"), "y": np.where(sick, "yes", "no")})


def copied(rng: np.random.Generator) -> pd.DataFrame:
    table = independent(rng)
    table["y"] = rng.permutation(table.y)
    return pd.concat([table, table.iloc[:200]])


def leaking(rng: np.random.Generator) -> pd.DataFrame:
    table = independent(rng)
    sick = (table.y == "yes").to_numpy()
    filled = pd.Series(rng.standard_normal(400).round(2)).where(sick)
    return table.assign(told=(sick + 0.1 * rng.standard_normal(400)).round(2), wage=filled)


def leaking_in_company(rng: np.random.Generator) -> pd.DataFrame:
    table = independent(rng, 900)
    sick = (table.y == "yes").to_numpy()
    for name in ("first", "second", "third", "fourth"):
        table[name] = (sick + 0.62 * rng.standard_normal(900)).round(2)
    return table


def awkward_labels(rng: np.random.Generator) -> pd.DataFrame:
    table = independent(rng)
    table["y"] = np.where(table.y == "yes", "Reagan", "Mondale")
    table.loc[3, "y"] = "Regan"
    table.loc[5, "y"] = "MONDALE"
    table.loc[7:40, "y"] = ""
    return table


def few_of_one(rng: np.random.Generator) -> pd.DataFrame:
    table = independent(rng)
    return pd.concat([table[table.y == "yes"], table[table.y == "no"][:30]]).assign(same="x")


def drifting(rng: np.random.Generator) -> pd.DataFrame:
    table = independent(rng, 2000)
    level = rng.choice([-2.0, 2.0], 10)[np.arange(2000) // 200]
    table["day"] = pd.Timestamp("2015-01-01") + pd.to_timedelta(np.arange(2000), unit="D")
    return table.assign(y=np.where(level + rng.standard_normal(2000) > 0.0, "yes", "no"))


def sorted_rows(rng: np.random.Generator) -> pd.DataFrame:
    return independent(rng).sort_values("y")


def awkward_columns(rng: np.random.Generator) -> pd.DataFrame:
    table = independent(rng)
    zips = [90210, 10001, 60601, 94105, 73301, 33101, 22108, 98101, 80202, 20001]
    table["zip"] = rng.choice(zips, 400)
    table["told"] = np.char.add(rng.choice(["often", "Often"], 400), rng.choice(["", " "], 400))
    table["number"] = [f"row {number}" for number in rng.permutation(400)]
    table["empty"] = np.nan
    table["price"] = np.char.add("$", rng.integers(1000, 9999, 400).astype(str))
    table["day"] = (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 400), unit="D")).astype(str)
    table["gaps"] = pd.Series(rng.standard_normal(400).round(2)).where(rng.random(400) < 0.8)
    table["mixed"] = np.where(np.arange(400) < 395, rng.integers(0, 99, 400).astype(str), "unknown")
    table["large"] = 2**53 + rng.integers(0, 10**6, 400)
    table["shop"] = np.char.add("s", rng.integers(0, 90, 400).astype(str))
    return table


def many_of_a_kind(rng: np.random.Generator) -> pd.DataFrame:
    table = independent(rng)
    for number in range(7):
        table[f"empty {number}"] = np.nan
        day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 400), unit="D")
        table[f"day {number}"] = day.astype(str)
        table[f"price {number}"] = np.char.add("$", rng.integers(1000, 9999, 400).astype(str))
        table[f"number {number}"] = rng.permutation(400)
    return table


def all_of_one_patient(rng: np.random.Generator) -> pd.DataFrame:
    table = independent(rng, 60)
    table["y"] = np.where(np.arange(60) < 30, "yes", "no")
    table["who"] = np.where(np.arange(60) < 30, "p0", np.char.add("p", (np.arange(60) // 3).astype(str)))
    table["day"] = [f"2020-01-{1 + number // 2:02d}" for number in range(60)]
    return table


TABLES: dict[str, Callable[[np.random.Generator], pd.DataFrame]] = {
    "independent": independent,
    "visits": visits,
    "copied": copied,
    "leaking": leaking,
    "in-company": leaking_in_company,
    "labels": awkward_labels,
    "few": few_of_one,
    "drifting": drifting,
    "sorted": sorted_rows,
    "awkward": awkward_columns,
    "many": many_of_a_kind,
    "one-patient": all_of_one_patient,
}
LINES = "--target y --features linear --folds 3"
COMMANDS = (
    *(f"check {name}.csv --target y" for name in TABLES),
    "check visits.csv --target y --json",
    "check leaking.csv --target y --json --positive no",
    "check awkward.csv --target y --max-categories 20 --json",
    "check independent.csv --target y --streaming",
    "check one-patient.csv --target y --groups who",
    f"train visits.csv {LINES} --model m.json",
    f"train awkward.csv {LINES} --model a.json --json",
    f"train leaking.csv {LINES} --model l.json",
    f"train one-patient.csv {LINES} --groups who --model p.json",
    f"train one-patient.csv {LINES} --time day --model p.json",
    f"report visits.csv {LINES} --holdout 0.01",
    f"report few.csv {LINES} --html f.html",
    "predict m.json independent.csv --out s.csv",
    "evaluate m.json visits.csv",
    "explain m.json",
    "check labels.csv --target y --positive Reagan",
    f"train one-patient.csv {LINES} --groups duplicates --ignore leak --model p.json",
    f"report one-patient.csv {LINES} --groups none --holdout 0.01",
    f"train sorted.csv {LINES} --streaming --model s.json",
    f"train leaking.csv {LINES} --recall 0.99 --model r.json",
    "train independent.csv --target z",
    "train independent.csv --target y --groups town --time a",
    "train independent.csv --target y --drop y",
)


def run(command: str, folder: Path) -> dict[str, object]:
    """What a command prints in a folder, and the code that it ends with; paths and times are masked."""
    output = io.StringIO()
    complaints = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(output), contextlib.redirect_stderr(complaints):
        code = main(command.split())
    return {"code": code, "out": masked(output.getvalue(), folder), "err": masked(complaints.getvalue(), folder)}


def masked(text: str, folder: Path) -> list[str]:
    """The lines of a text without the folder, times, sizes of files and gaps, which are rounding errors."""
    text = text.replace(str(folder), "...")
    text = re.sub(r"\b\d+(\.\d+)? (ms|s|seconds?|minutes?|min|kB|KB|MB)\b", "#", text)
    text = re.sub(r'("seconds"|"bytes"|"fingerprint"|"version"|"gap"|"relative_gap"): [^,\n]*', r"\1: #", text)
    return text.splitlines()


def run_all(folder: Path) -> dict[str, dict[str, object]]:
    """All commands, one after the other."""
    for number, (name, draw) in enumerate(TABLES.items()):
        draw(np.random.default_rng(number)).to_csv(folder / f"{name}.csv", index=False)
    return {command: run(command, folder) for command in COMMANDS}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        found = run_all(Path(name))
    RECORDED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
