"""Ranking quality on twelve data sets and 42 real tables beside nine peers: `make bench-quality`.

    python -m benchmarks.quality [set ...] [--unseen] [--models NAME ...] [--records FILE] [--splits N]

Each set has two stratified 70/30 splits. Every choice (penalty, features, settings of boosting) is made inside the
training part, and every model has one core. ijcnn1 and celeba-ad are stratified samples of 30,000 rows, drawn with a
fixed seed. The sets, the tables (`benchmarks.tables`) and the settings of the peers (`benchmarks.peers`) were fixed
before any result was seen, and every set is printed. What `auto` is was chosen on the same 42 tables, by other splits
(`benchmarks.blends`); --unseen takes 32 tables that no choice has seen. With --records each fit is kept in a file, and
a stopped run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.common import where_and_when  # and sets VRSPAM_DATA
from benchmarks.peers import MODELS, OURS, prepared, scores
from benchmarks.tables import TABLES, UNSEEN, load_table
from vrspam.data import load

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
SPLITS = 2


@cache
def columns_and_labels(name: str) -> tuple[Any, np.ndarray]:
    """A data set as an array, or a table as a frame."""
    if name in TABLES or name in UNSEEN:
        return load_table(name)
    X, y = load(name, sparse=False, **SETS[name])
    if len(y) > MOST_ROWS.get(name, len(y)):
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS[name], stratify=y, random_state=0)
    return X, y


def splits(name: str, count: int = SPLITS) -> Iterator[list[Any]]:
    """Yield the training and test parts of a set."""
    X, y = columns_and_labels(name)
    for seed in range(count):
        yield train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)


class Records:
    """The AUC and the processor seconds of each fit; kept in a file where one is given."""

    def __init__(self, path: Path | None):
        self.path, self.found = path, {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                one = json.loads(line)
                self.found[one["set"], one["split"], one["model"]] = one["auc"], one["seconds"]

    def measure(self, name: str, split: int, model: str, parts: list[Any]) -> None:
        """Fit the model, unless that was done before."""
        if (name, split, model) in self.found:
            return
        X_train, X_test, y_train, y_test = parts
        start = time.process_time()
        fitted = MODELS[model](X_train).fit(prepared(model, X_train), y_train)
        seconds = time.process_time() - start
        auc = float(roc_auc_score(y_test, scores(fitted, prepared(model, X_test))))
        self.found[name, split, model] = auc, seconds
        if self.path is not None:
            with self.path.open("a") as file:
                one = {"set": name, "split": split, "model": model, "auc": auc, "seconds": round(seconds, 2)}
                print(json.dumps(one), file=file)

    def means(self, names: list[str], models: list[str], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean AUC and mean seconds of a fit, one line for each set."""
        found = np.array([[[self.found[n, s, m] for s in range(count)] for m in models] for n in names])
        auc, seconds = np.moveaxis(found.mean(axis=2), -1, 0)
        return auc, seconds


def print_table(title: str, names: list[str], models: list[str], auc: np.ndarray, seconds: np.ndarray) -> None:
    """One line for each set, then the means and the mean ranks."""
    ranks = rankdata(-auc.round(6), axis=1)
    print(f"\n{title}: mean test AUC (processor seconds of a fit)\n")
    print("| set | " + " | ".join(models) + " |\n" + "|---" * (len(models) + 1) + "|")
    for name, line, times in zip(names, auc, seconds, strict=True):
        best = line >= line.max() - 5e-5
        cells = [f"**{a:.4f}**" if b else f"{a:.4f}" for a, b in zip(line, best, strict=True)]
        print(f"| {name} | " + " | ".join(f"{c} ({t:.1f})" for c, t in zip(cells, times, strict=True)) + " |")
    print(
        "| mean | " + " | ".join(f"{a:.4f} ({t:.1f})" for a, t in zip(auc.mean(0), seconds.mean(0), strict=True)) + " |"
    )
    print("| mean rank | " + " | ".join(f"{rank:.2f}" for rank in ranks.mean(axis=0)) + " |", flush=True)


def print_pairs(names: list[str], models: list[str], auc: np.ndarray) -> None:
    """`auto` beside each of the others: on how many sets it is ahead or behind by more than 0.0005."""
    print("\nauto beside each of the others, on all sets above\n")
    print("| model | mean difference | ahead / behind | furthest behind |\n|---|---|---|---|")
    for other in (model for model in models if model != "auto"):
        ahead = auc[:, models.index("auto")] - auc[:, models.index(other)]
        worst = int(ahead.argmin())
        counts = f"{(ahead > 5e-4).sum()} / {(ahead < -5e-4).sum()}"
        print(f"| {other} | {ahead.mean():+.4f} | {counts} | {ahead[worst]:+.3f} ({names[worst]}) |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", choices=[[], *SETS, *TABLES, *UNSEEN], metavar="set")
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--records", type=Path)
    parser.add_argument("--splits", type=int, default=SPLITS)
    given = parser.parse_args()
    names = given.sets or [*TABLES, *SETS]
    if given.unseen:
        names = list(UNSEEN)
    records = Records(given.records)
    for name in names:
        for split, parts in enumerate(splits(name, given.splits)):
            for model in given.models:
                records.measure(name, split, model, parts)
        columns_and_labels.cache_clear()
    print(where_and_when())
    groups = {"Data sets": [*SETS], "Real tables": [*TABLES], "Unseen tables": [*UNSEEN], "All": [*SETS, *TABLES]}
    for title, group in groups.items():
        some = [name for name in group if name in names]
        if some and not (title == "All" and len(some) in (len(SETS), len(TABLES))):
            print_table(title, some, given.models, *records.means(some, given.models, given.splits))
    if "auto" in given.models and len(given.models) > len(OURS):
        auc, _ = records.means(names, given.models, given.splits)
        print_pairs(names, given.models, auc)
        rank, mean = rankdata(-auc.round(6), axis=1).mean(axis=0), auc.mean(axis=0)
        us = given.models.index("auto")
        ahead = all(mean[us] > mean[i] and rank[us] < rank[i] for i in range(len(mean)) if i != us)
        print(
            f"\nGoal: auto ahead of every other model in the mean and in the mean rank: {'ok' if ahead else 'MISSED'}"
        )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # logistic regression does not converge on some folds
        main()
