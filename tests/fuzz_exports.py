"""Random hostile frames through every export, against the scores of the model; and model files with wrong fields.

A frame has columns of many kinds: numbers that float32 cannot hold, float32 itself, booleans with and without gaps,
dates with zones, text that looks like numbers, names with quotes. ONNX (float64 and float32), SQL in SQLite and DuckDB
and plain Python must give the scores of `decision_function`.

A model file whose checksum is right and some of whose fields are not must end in a model that scores rows, or in
a `ModelFileError`.

    python tests/fuzz_exports.py --cases 300        # of each kind; part of `make fuzz`
"""

from __future__ import annotations

import argparse
import copy
import json
import sqlite3
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from vrspam import AUCClassifierCV
from vrspam.export import to_onnx, to_python, to_sql
from vrspam.features import KernelFeatures, TreeFeatures
from vrspam.tables.texts import Dates
from vrspam.tool import ModelFileError, evaluate, explain, load_model, predict, save_model, train
from vrspam.tool.modelfile import checksum

NEAR = 1e-12  # of the spread of the scores
NEAR_SINGLE = 1e-5
FLIPPED = 0.01  # share of the rows that may lie within rounding of a tree's threshold, in float32

MAPS: dict[str, Any] = {
    "linear": "linear",  # of numbers near 0 alone: the rounding of raw columns far from it shows
    "standardized": "standardized",
    "additive": "additive",
    "blend": ["standardized", "additive"],
    "kernel": KernelFeatures(n_landmarks=20, max_additive=20, random_state=0),
    "trees": TreeFeatures(n_trees=30, max_depth=3, n_landmarks=20, random_state=0),
    "kernel and trees": [
        KernelFeatures(n_landmarks=20, additive=False, random_state=0),
        TreeFeatures(n_trees=30, max_depth=3, n_landmarks=20, random_state=0),
    ],
}


def gaps(values: Any, rng: np.random.Generator) -> pd.Series:
    """The same with some missing values."""
    return pd.Series(values).where(rng.random(len(values)) > 0.1)


KINDS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "double": lambda rng, n: gaps(rng.normal(5.0, 2.0, n), rng),
    "single": lambda rng, n: gaps(rng.normal(5.0, 2.0, n).astype(np.float32), rng).astype(np.float32),
    "unix time": lambda rng, n: 1_600_000_000 + rng.integers(0, 40_000, n),
    "cents": lambda rng, n: 1e6 + np.round(rng.exponential(3.0, n), 2),
    "large": lambda rng, n: gaps(rng.normal(0.0, 1e12, n), rng),
    "small": lambda rng, n: rng.normal(1.0, 0.1, n) * 1e-12,
    "whole": lambda rng, n: rng.integers(0, 5, n),
    "far whole": lambda rng, n: 2**40 + rng.integers(0, 9, n),
    "constant": lambda rng, n: np.full(n, 0.1),
    "boolean": lambda rng, n: rng.random(n) < 0.3,
    "boolean with gaps": lambda rng, n: gaps(rng.random(n) < 0.3, rng).astype("boolean"),
    "boolean objects": lambda rng, n: gaps((rng.random(n) < 0.3).astype(object), rng).astype(object),
    "text": lambda rng, n: gaps(rng.choice(["O'Brien", 'Łódź "old"', "--", "a\\b", "new\nline", " x "], n), rng),
    "digits": lambda rng, n: gaps(rng.choice(["01", "1", "7x", "1.0", "١"], n), rng),
    "date": lambda rng, n: gaps(
        pd.Timestamp("1969-03-01 05:30") + pd.to_timedelta(rng.integers(0, 90_000_000, n), unit="s"), rng
    ),
    "date with zone": lambda rng, n: gaps(
        pd.Timestamp("2019-10-20 05:30", tz="Europe/Vienna") + pd.to_timedelta(rng.integers(0, 900, n), unit="h"), rng
    ),
}


def hostile_frame(rng: np.random.Generator, n: int, kinds: list[str] | None = None) -> pd.DataFrame:
    """A table of some kinds of columns, whose names are odd."""
    if kinds is None:
        kinds = rng.choice(list(KINDS), int(rng.integers(2, 7)), replace=False).tolist()
    marks = ["", " ", '"', "'", " -- ", "; DROP TABLE rows", " ü"]
    return pd.DataFrame({f"{kind}{marks[int(rng.integers(7))]}": KINDS[kind](rng, n) for kind in kinds})


def hostile_labels(frame: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Labels that depend on the columns."""
    total = rng.normal(0.0, 0.5, len(frame))
    for name in frame.columns:
        column = pd.Series(pd.factorize(frame[name], sort=False)[0], dtype=float).rank().to_numpy()
        total += np.sin(column / len(frame) * rng.uniform(2.0, 9.0))
    return total > np.median(total)


def fitted(frame: pd.DataFrame, y: np.ndarray, name: str) -> AUCClassifierCV:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selection = "blend" if isinstance(MAPS[name], list) else "best"
        model = AUCClassifierCV([1e-3, 1e-1], features=MAPS[name], cv=2, selection=selection, random_state=0)
        return model.fit(frame, y)


def wall_clock(column: pd.Series) -> np.ndarray:
    """Dates as on the wall clock, in microseconds."""
    local = column.dt.tz_localize(None) if column.dt.tz is not None else column
    return local.to_numpy().astype("datetime64[us]")


def is_date(column: pd.Series) -> bool:
    return pd.api.types.is_datetime64_any_dtype(column)


def as_python(model: Any, frame: pd.DataFrame) -> np.ndarray:
    found: dict[str, Any] = {}
    exec(compile(to_python(model), "scorer.py", "exec"), found)
    columns = {}
    for name in frame.columns:
        column = frame[name]
        values = wall_clock(column).tolist() if is_date(column) else column.astype(object).tolist()
        columns[name] = [None if value is pd.NA else value for value in values]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return np.array([found["score"](row) for row in rows])


def sql_columns(frame: pd.DataFrame) -> dict[str, tuple[str, list[Any]]]:
    """Columns of a database: type and values; dates become the parts that the query must give."""
    found: dict[str, tuple[str, list[Any]]] = {}
    for name in frame.columns:
        column = frame[name]
        plain = [None if value is pd.NA else value for value in column.astype(object).tolist()]
        if is_date(column):
            dates = nw.from_native(pd.Series(wall_clock(column)), series_only=True)
            for part, values in zip(Dates().made(name), Dates().read(dates)[0], strict=True):
                found[part] = "DOUBLE", values.tolist()
        elif pd.api.types.is_bool_dtype(column) or {type(value) for value in plain} <= {bool, type(None), float}:
            kind = "BOOLEAN" if {type(value) for value in plain} <= {bool, type(None)} else "DOUBLE"
            known = [None if isinstance(value, float) and np.isnan(value) else value for value in plain]
            is_boolean = {type(value) for value in known} <= {bool, type(None)}
            found[name] = ("BOOLEAN", known) if is_boolean else (kind, plain)  # NaN stays NaN among numbers
        elif pd.api.types.is_numeric_dtype(column):
            found[name] = "BIGINT" if column.dtype.kind == "i" else "DOUBLE", plain
        else:
            found[name] = "VARCHAR", [None if pd.isna(value) else value for value in plain]
    return found


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def in_sqlite(model: Any, frame: pd.DataFrame) -> np.ndarray:
    columns = sql_columns(frame)
    database = sqlite3.connect(":memory:")
    database.execute(
        f"CREATE TABLE rows ({', '.join(f'{quoted(name)} {kind}' for name, (kind, _) in columns.items())})"
    )
    rows = list(zip(*(values for _, values in columns.values()), strict=True))
    database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(columns))})", rows)
    found = database.execute(f"SELECT ({to_sql(model)}) FROM rows ORDER BY rowid").fetchall()
    database.close()
    return np.array([np.nan if score is None else score for (score,) in found])


def in_duckdb(model: Any, frame: pd.DataFrame) -> np.ndarray:
    import duckdb

    columns = sql_columns(frame)
    with duckdb.connect() as database:
        kinds = ", ".join(f"{quoted(name)} {kind}" for name, (kind, _) in columns.items())
        database.execute(f"CREATE TABLE rows ({kinds})")
        rows = list(zip(*(values for _, values in columns.values()), strict=True))
        database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(columns))})", rows)
        found = database.execute(f"SELECT ({to_sql(model)}) FROM rows ORDER BY rowid").fetchall()
    return np.array([np.nan if score is None else score for (score,) in found])


def in_onnx(model: Any, frame: pd.DataFrame, dtype: str) -> np.ndarray:
    import onnxruntime

    session = onnxruntime.InferenceSession(to_onnx(model, dtype=dtype).SerializeToString())
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64}
    feeds = {}
    for one in session.get_inputs():
        column = frame[one.name]
        if one.type == "tensor(string)":
            values = np.array(["" if pd.isna(value) else str(value) for value in column], dtype=object)
        elif one.type == "tensor(int64)":
            values = wall_clock(column).astype(np.int64)
        else:
            values = column.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan).astype(kinds[one.type])
        feeds[one.name] = values[:, np.newaxis]
    return np.asarray(session.run(["score"], feeds)[0], dtype=np.float64)


FORMS: dict[str, Callable[[Any, pd.DataFrame], np.ndarray]] = {
    "onnx": lambda model, frame: in_onnx(model, frame, "float64"),
    "onnx float32": lambda model, frame: in_onnx(model, frame, "float32"),
    "python": as_python,
    "sqlite": in_sqlite,
    "duckdb": in_duckdb,
}


def compare(model: Any, frame: pd.DataFrame, label: str) -> list[str]:
    """How each form differs from the model itself, in words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.asarray(model.decision_function(frame), dtype=np.float64)
    scale, found = float(expected.std()) or 1.0, []
    parts = model.as_scorer()
    for form, score in FORMS.items():
        if (parts.kernels or parts.trees) and "onnx" not in form:
            continue
        try:
            error = np.abs(score(model, frame) - expected) / scale
        except Exception as problem:  # whatever an engine raises is a finding
            found.append(f"{label}, {form}: {type(problem).__name__} {str(problem)[:200]}")
            continue
        near = NEAR_SINGLE + np.abs(expected) / scale * 2.0**-24 if form == "onnx float32" else NEAR
        share = float(np.mean(~(error <= near)))
        if share > (FLIPPED if form == "onnx float32" and parts.trees else 0.0):
            found.append(f"{label}, {form}: {100 * share:.1f} % of the rows are off, by up to {np.nanmax(error):.1e}")
    return found


def run_exports(seed: int) -> list[str]:
    """One frame and one map through all forms; what is wrong, in words."""
    rng = np.random.default_rng(seed)
    name = list(MAPS)[int(rng.integers(len(MAPS)))]
    frame = hostile_frame(rng, 240)
    if name == "linear":
        frame = hostile_frame(rng, 240, ["single", "whole", "boolean"][: int(rng.integers(1, 4))]).fillna(0)
    try:
        model = fitted(frame[:160], hostile_labels(frame, rng)[:160], name)
    except ValueError as refusal:
        return [] if "looks like an identifier" in str(refusal) else [f"{seed}, {name}: {refusal}"]
    return compare(model, frame, f"{seed}, {name} of {list(frame.columns)}")


# Model files.

GARBAGE: tuple = (
    None,
    "x",
    "",
    -1,
    0,
    10**400,
    1e308,
    True,
    [],
    {},
    [[1.0], ["x", {}]],
    {"a": {"b": [None]}},
)


@cache
def stored(name: str) -> tuple[dict[str, Any], Path]:
    """The content of a model file, and a table that it scores."""
    rng, folder = np.random.default_rng(0), Path(tempfile.mkdtemp())
    frame = hostile_frame(rng, 160, ["double", "whole", "text", "date", "boolean"])
    frame = frame.assign(identifier=[f"p{i:04d}" for i in range(len(frame))], sick=hostile_labels(frame, rng))
    frame.to_csv(folder / "rows.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(folder / "rows.csv", "sick", features=MAPS.get(name, name), n_splits=2)
        save_model(model, folder / f"{name}.json")
    return json.loads((folder / f"{name}.json").read_text("utf-8")), folder / "rows.csv"


def run_files(seed: int) -> list[str]:
    """One model file with one to three wrong fields; what is wrong with the answer, in words."""
    rng = np.random.default_rng(seed)
    name = ("linear", "additive", "kernel", "trees")[int(rng.integers(4))]
    whole, rows = stored(name)
    forged, ways = copy.deepcopy(whole), []
    for _ in range(int(rng.integers(1, 4))):
        ways.append(spoil(forged["model"], rng))
    forged["checksum"] = checksum(forged["model"])
    path = rows.with_name(f"forged {seed}.json")
    path.write_text(json.dumps(forged), "utf-8")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = load_model(path)
            chunks = model.open(rows, labels=False, skip_errors=True)
            scores = np.concatenate([block.scores for block in model.score_chunks(chunks)])
            predict(model, rows, rows.with_name("scores.csv"))
            evaluate(model, rows)
            explain(model)
            to_onnx(model)
        wrong = [] if scores.ndim == 1 else [f"scores of shape {scores.shape}"]
    except ModelFileError:
        wrong = []
    except (ValueError, OSError) as problem:  # a sentence about rows that do not fit
        wrong = [] if str(problem).strip() and "\n" not in str(problem) else [repr(problem)]
    except Exception as problem:
        wrong = [f"{type(problem).__name__}: {problem}"]
    path.unlink()
    return [f"{seed}, {name}, {ways}: {one}" for one in wrong]


def spoil(part: Any, rng: np.random.Generator) -> str:
    """Change one field somewhere: garbage, a deletion, a copy of another field, a repeated entry; say where."""
    way = ""
    while True:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        key = keys[int(rng.integers(len(keys)))]
        way += f"/{key}"
        inner = part[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
            part = inner
            continue
        what = int(rng.integers(4))
        if what == 0:
            part[key] = copy.deepcopy(GARBAGE[int(rng.integers(len(GARBAGE)))])
        elif what == 1:
            del part[key]
        elif what == 2:
            part[key] = copy.deepcopy(part[keys[int(rng.integers(len(keys)))]])
        elif isinstance(part, list):
            part.append(copy.deepcopy(inner))
        elif isinstance(inner, list) and inner:
            inner.append(copy.deepcopy(inner[0]))
        return f"{way} ({('garbage', 'deleted', 'another', 'twice')[what]})"


ROUTES = {"exports": run_exports, "model files": run_files}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300, help="problems of each kind")
    parser.add_argument("--first", type=int, default=1_000, help="the first seed")
    parser.add_argument("--route", choices=list(ROUTES), help="only this route")
    options = parser.parse_args()
    bad = 0
    for name, run in ROUTES.items():
        if options.route in (None, name):
            for seed in range(options.first, options.first + options.cases):
                for line in run(seed):
                    print(line, flush=True)
                    bad += 1
            print(f"{name}: {options.cases:,} problems, {bad} findings so far", flush=True)
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
