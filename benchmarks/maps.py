"""What each kind of feature map reaches, and what a map that holds no row costs: `python -m benchmarks.maps [set ...]`.

Mean test AUC over the first three of the 70/30 splits of `benchmarks.quality`. Of each kind the bandwidth, or the depth
of the trees, is chosen together with the penalty by cross-validation inside the training part. "no rows" are the same
maps with landmarks="columns".

`python -m benchmarks.maps landmarks` prints what more landmarks bring on 60,000 rows of ijcnn1, and
`python -m benchmarks.maps many` what very many rows are worth to "auto": a blend of two maps beside one of them, and
landmarks beside curves.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.bench_features import curved
from benchmarks.bench_tool import mixed_table
from benchmarks.quality import SETS, splits
from vrspam import AUCClassifierCV
from vrspam.data import load
from vrspam.features import KernelFeatures
from vrspam.features.names import named_maps

FEW_SETS = ("mammography", "diabetes", "german", "satimage", "splice")
SPLITS = 3


def models() -> dict[str, AUCClassifierCV]:
    found = {}
    for kind in ("additive", "kernel", "kernel alone", "trees"):
        found[kind] = AUCClassifierCV(features=kind, random_state=0)
        if kind != "additive":
            maps = {name: new.holding_no_rows() for name, new in named_maps(kind, None).items()}
            found[f"{kind}, no rows"] = AUCClassifierCV(features=maps, random_state=0)
    return found


def more_landmarks() -> None:
    X, y = load("ijcnn1", sparse=False)
    parts = train_test_split(X.astype(np.float32), y, train_size=60_000, test_size=30_000, stratify=y, random_state=0)
    X_train, X_test, y_train, y_test = parts
    print("| landmarks | test AUC | processor seconds of a fit (2 folds) |\n|---|---|---|", flush=True)
    for count in (500, "auto", 1_000, 1_500):
        features = KernelFeatures(bandwidth=0.5, n_landmarks=count, additive=False)
        start = time.process_time()
        model = AUCClassifierCV(features=features, cv=2, random_state=0).fit(X_train, y_train)
        seconds = time.process_time() - start
        auc = roc_auc_score(y_test, model.decision_function(X_test))
        shown = f"{len(model.features_.landmarks_):,}" + (" (auto)" if count == "auto" else "")
        print(f"| {shown} | {auc:.4f} | {seconds:.1f} |", flush=True)


def large_tables() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Tables of 140,000 rows and more; two of them are made up."""
    X, y = load("ijcnn1", sparse=False)
    yield "ijcnn1", X, y == y.max()
    X, y = load("celeba-ad", sparse=False)
    yield "celeba-ad", X, y == y.max()
    yield "30 numbers", *curved(140_000, 30)
    frame = mixed_table(140_000)
    yield "15 mixed columns", frame.drop(columns="sick"), (frame.sick == "yes").to_numpy()


def very_many_rows() -> None:
    """Test AUC of two 70/30 splits, and seconds of a fit."""
    print("| table | model | split 0 | split 1 |\n|---|---|---|---|", flush=True)
    fewer = {f"{m:,} landmarks, {most} curves": (m, most) for m, most in ((1_000, 250), (800, 350), (700, 400))}
    for name, X, y in large_tables():
        for what in ("auto", "auto, blend", *fewer):
            if what in fewer and name == "celeba-ad":
                continue  # which has no column of more than two values
            cells = []
            for seed in (0, 1):
                parts = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
                X_train, X_test, y_train, y_test = parts
                features: Any = "auto"
                if what in fewer:
                    m, most = fewer[what]
                    features = KernelFeatures(n_landmarks=m, max_additive=most)
                selection = "blend" if what == "auto, blend" else "auto"
                start = time.perf_counter()
                model = AUCClassifierCV(features=features, selection=selection, random_state=seed)
                model.fit(X_train, y_train)
                seconds = time.perf_counter() - start
                cells.append(f"{roc_auc_score(y_test, model.decision_function(X_test)):.4f} ({seconds:.1f} s)")
            print(f"| {name} | {what} | {cells[0]} | {cells[1]} |", flush=True)


def main(names: list[str]) -> None:
    unknown = set(names) - set(SETS)
    if unknown:
        sys.exit(f"No set named {', '.join(sorted(unknown))}; there are {', '.join(SETS)}.")
    columns = list(models())
    print(f"Mean test AUC over {SPLITS} splits (mean processor seconds of a fit)\n")
    print("| set | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|", flush=True)
    means: dict[str, list[float]] = {column: [] for column in columns}
    for name in names:
        aucs: dict[str, list[float]] = {column: [] for column in columns}
        seconds: dict[str, list[float]] = {column: [] for column in columns}
        for X_train, X_test, y_train, y_test in islice(splits(name), SPLITS):
            for column, model in models().items():
                start = time.process_time()
                model.fit(X_train, y_train)
                seconds[column].append(time.process_time() - start)
                aucs[column].append(roc_auc_score(y_test, model.decision_function(X_test)))
        for column in columns:
            means[column].append(float(np.mean(aucs[column])))
        cells = [f"{means[column][-1]:.4f} ({np.mean(seconds[column]):.1f} s)" for column in columns]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print("| mean | " + " | ".join(f"{np.mean(means[column]):.4f}" for column in columns) + " |")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if sys.argv[1:] == ["landmarks"]:
            more_landmarks()
        elif sys.argv[1:] == ["many"]:
            very_many_rows()
        else:
            main(sys.argv[1:] or list(FEW_SETS))
