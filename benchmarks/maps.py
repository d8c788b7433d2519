"""What each kind of feature map reaches, and what a map that holds no row costs: `python -m benchmarks.maps [set ...]`.

Mean test AUC over the first three of the 70/30 splits of `benchmarks.quality`. Of each kind the bandwidth, or the depth
of the trees, is chosen together with the penalty by cross-validation inside the training part. "no rows" are the same
maps with landmarks="columns".

`python -m benchmarks.maps landmarks` prints what more landmarks bring on 60,000 rows of ijcnn1.
"""

from __future__ import annotations

import sys
import time
import warnings
from itertools import islice

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.quality import SETS, splits
from vrspam import AUCClassifierCV
from vrspam.data import load
from vrspam.features import KernelFeatures
from vrspam.features.mapped import named_maps

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
        else:
            main(sys.argv[1:] or list(FEW_SETS))
