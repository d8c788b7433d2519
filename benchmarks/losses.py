"""Which loss ranks better, and where: `python -m benchmarks.losses [table ...]` prints the tables of docs/losses.md.

Each real table of `benchmarks.tables` is split 70/30 once. On the training part `AUCClassifierCV` chooses l2 for each
map with the squared loss, with the squared hinge and, for partial AUCs, with the squared hinge on the part of the curve
that counts. All choices are made inside the training part; every table is counted.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.tables import TABLES, load_table
from vrspam import AUCClassifierCV
from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures

MAPS = {
    "straight lines": LinearFeatures(random_state=0),
    "additive": AdditiveFeatures(random_state=0),
    "kernel": KernelFeatures(random_state=0),
}
PARTS = (0.05, 0.1, 0.2)
CLOSE = 5e-4  # AUCs that differ by less count as equal


def measure(name: str, features: Any) -> dict[str, float]:
    """Test AUC and partial AUCs of one table and map, by loss."""
    X, y = load_table(name)
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)
    found = {}

    def score(label: str, **options: Any) -> np.ndarray:
        model = AUCClassifierCV(features=features, random_state=0, **options).fit(X.iloc[train], y[train])
        scores = model.decision_function(X.iloc[test])
        found[label] = float(roc_auc_score(y[test], scores))
        return scores

    for loss in ("squared", "squared_hinge"):
        scores = score(loss, loss=loss)
        for part in PARTS:
            found[f"{loss}, up to {part}"] = float(roc_auc_score(y[test], scores, max_fpr=part))
    for part in PARTS:
        scores = score(f"trained up to {part}", loss="squared_hinge", max_fpr=part, tol=1e-6)
        found[f"trained, up to {part}"] = float(roc_auc_score(y[test], scores, max_fpr=part))
    return found


def compare(rows: list[dict[str, float]], one: str, other: str) -> str:
    """The mean of one, that of the other, and on how many tables it is better and worse."""
    a, b = (np.array([row[label] for row in rows]) for label in (one, other))
    better, worse = int(np.sum(b > a + CLOSE)), int(np.sum(b < a - CLOSE))
    return f"{a.mean():.4f} | {b.mean():.4f} | {np.mean(b - a):+.4f} | {better} / {worse}"


def main(names: list[str]) -> None:
    unknown = set(names) - set(TABLES)
    if unknown:
        sys.exit(f"No table named {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}.")
    print(f"Mean test AUC, one 70/30 split of {len(names)} real tables; better and worse by more than {CLOSE:g}\n")
    print("| features | measured by | first | second | difference | better / worse |")
    print("|---|---|---|---|---|---|", flush=True)
    for label, features in MAPS.items():
        rows = [measure(name, features) for name in names]
        print(f"| {label} | AUC: squared, squared hinge | {compare(rows, 'squared', 'squared_hinge')} |")
        for part in PARTS:
            text = f"partial AUC up to {part:g}: squared, squared hinge"
            print(f"| {label} | {text} | {compare(rows, f'squared, up to {part}', f'squared_hinge, up to {part}')} |")
            text = f"partial AUC up to {part:g}: squared, hinge trained on it"
            print(f"| {label} | {text} | {compare(rows, f'squared, up to {part}', f'trained, up to {part}')} |", flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # grids that end early, and tables with a constant column
        main(sys.argv[1:] or list(TABLES))
