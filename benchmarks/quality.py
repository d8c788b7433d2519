"""Ranking quality on twelve data sets: `make bench-quality`, or `python -m benchmarks.quality [set ...]`.

Each set has five stratified 70/30 splits. Every choice (penalty, features, settings of boosting) is made inside the
training part. ijcnn1 and celeba-ad are stratified samples of 30,000 rows, drawn with a fixed seed. The list of sets and
the settings were fixed before any result was seen, and every set is printed.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import benchmarks.common  # noqa: F401  (sets VRSPAM_DATA)
from vrspam import AUCClassifierCV
from vrspam.data import load
from vrspam.features import LinearFeatures

SETS: dict[str, dict[str, Any]] = {
    "diabetes": {},
    "german": {},
    "a9a": {},
    "splice": {},
    "usps": {},
    "ijcnn1": {},
    "mammography": {},
    "campaign-ad": {},
    "celeba-ad": {},
    "satimage": {"positive": 4},
    "breast-cancer": {},
    "digits": {},
}
MOST_ROWS = {"ijcnn1": 30_000, "celeba-ad": 30_000}
SPLITS = 5
BOOSTING_GRID = [
    {"learning_rate": [0.05], "max_leaf_nodes": [7, 31], "max_iter": [300]},
    {"learning_rate": [0.1], "max_leaf_nodes": [4, 15], "max_iter": [150]},
]


def models() -> dict[str, BaseEstimator]:
    """Return the models to compare; tuning uses cross-validated AUC, with 3 folds for boosting and 5 for the others."""
    logistic = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=2000))
    boosting = HistGradientBoostingClassifier(random_state=0)
    return {
        "auto": AUCClassifierCV(features="auto", random_state=0),
        "linear": AUCClassifierCV(features=LinearFeatures(), random_state=0),
        "logistic": GridSearchCV(logistic, {"logisticregression__C": 10.0 ** np.arange(-4, 3)}, scoring="roc_auc"),
        "boosting": boosting,
        "boosting, tuned": GridSearchCV(boosting, BOOSTING_GRID, scoring="roc_auc", cv=3),
    }


def splits(name: str):
    """Yield the five training and test parts of a set."""
    X, y = load(name, sparse=False, **SETS[name])
    if len(y) > MOST_ROWS.get(name, len(y)):
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS[name], stratify=y, random_state=0)
    for seed in range(SPLITS):
        yield train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)


def main(names: list[str]) -> None:
    unknown = set(names) - set(SETS)
    if unknown:
        sys.exit(f"No set named {', '.join(sorted(unknown))}; there are {', '.join(SETS)}.")
    columns = list(models())
    print("Mean test AUC over five 70/30 splits (mean seconds of a fit), and how often each map was chosen\n")
    print("| set | " + " | ".join(columns) + " | chosen |")
    print("|---" * (len(columns) + 2) + "|", flush=True)
    means: dict[str, list[float]] = {column: [] for column in columns}
    seconds: dict[str, list[float]] = {column: [] for column in columns}
    for name in names:
        aucs: dict[str, list[float]] = {column: [] for column in columns}
        times: dict[str, list[float]] = {column: [] for column in columns}
        chosen: list[str] = []
        for X_train, X_test, y_train, y_test in splits(name):
            for column, model in models().items():
                start = time.perf_counter()
                model.fit(X_train, y_train)
                times[column].append(time.perf_counter() - start)
                aucs[column].append(roc_auc_score(y_test, model.decision_function(X_test)))
                if column == "auto":
                    table = model.selection_
                    chosen.append(table["features"][table["chosen"].index(True)])
        for column in columns:
            means[column].append(float(np.mean(aucs[column])))
            seconds[column].append(float(np.mean(times[column])))
        cells = [f"{means[column][-1]:.4f} ({seconds[column][-1]:.1f} s)" for column in columns]
        counts = ", ".join(f"{m} × {chosen.count(m)}" for m in dict.fromkeys(chosen))
        print(f"| {name} | " + " | ".join(cells) + f" | {counts} |", flush=True)
    cells = [f"{np.mean(means[column]):.4f} ({np.mean(seconds[column]):.1f} s)" for column in columns]
    print("| mean | " + " | ".join(cells) + " | |")
    ahead = [column for column in columns[1:4] if np.mean(means["auto"]) > np.mean(means[column])]
    reached = len(ahead) == 3
    print(f"\nGoal: auto above linear, logistic and boosting in the mean: {'ok' if reached else 'MISSED'}")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # logistic regression does not converge on some folds
        main(sys.argv[1:] or list(SETS))
