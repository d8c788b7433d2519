"""Which loss ranks better, and where: `python -m benchmarks.losses [table ...]` prints the tables of docs/losses.md.

Each real table of `benchmarks.tables` is split 70/30 once. On the training part `AUCClassifierCV` chooses l2 for each
map with the squared loss, with the squared hinge and, for straight lines, with the squared hinge on the part
of the ROC curve that counts. All choices are made inside the training part; every table is counted.
`python -m benchmarks.losses --picture FILE` draws the losses.
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
TRAINED_ON_PARTS = ("straight lines",)
PARTS = (0.05, 0.1, 0.2)
NO_MODEL = 0.5  # partial AUC of scores that are all equal
CLOSE = 5e-4  # AUCs that differ by less count as equal


def measure(name: str, features: Any, trained_on_parts: bool) -> dict[str, float]:
    """Test AUC and partial AUCs of one table and map, by loss."""
    X, y = load_table(name)
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)
    found = {}

    def scores(**options: Any) -> np.ndarray:
        model = AUCClassifierCV(features=features, random_state=0, **options)
        return model.fit(X.iloc[train], y[train]).decision_function(X.iloc[test])

    for loss in ("squared", "squared_hinge"):
        ranked = scores(loss=loss)
        found[loss] = float(roc_auc_score(y[test], ranked))
        for part in PARTS:
            found[f"{loss} {part}"] = float(roc_auc_score(y[test], ranked, max_fpr=part))
    for part in PARTS if trained_on_parts else ():
        ranked = scores(loss="squared_hinge", max_fpr=part)
        found[f"trained {part}"] = float(roc_auc_score(y[test], ranked, max_fpr=part))
    return found


def compare(rows: list[dict[str, float]], one: str, other: str) -> str:
    """The means, their difference ± its standard error over the tables, on how many the other is better and worse."""
    a, b = (np.array([row[label] for row in rows]) for label in (one, other))
    better, worse = int(np.sum(b > a + CLOSE)), int(np.sum(b < a - CLOSE))
    error = np.std(b - a, ddof=1) / np.sqrt(a.size) if a.size > 1 else np.nan
    return f"{a.mean():.4f} | {b.mean():.4f} | {np.mean(b - a):+.4f} ± {error:.4f} | {better} / {worse}"


def main(names: list[str]) -> None:
    unknown = set(names) - set(TABLES)
    if unknown:
        sys.exit(f"No table named {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}.")
    print(
        f"Mean over {len(names)} real tables, test rows of one 70/30 split; better and worse by more than {CLOSE:g}\n"
    )
    print(
        "| features | measure | loss | mean | compared with it | mean | difference ± standard error | better / worse |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for label, features in MAPS.items():
        parts = label in TRAINED_ON_PARTS
        rows = []
        for name in names:
            rows.append(measure(name, features, parts))
            print(label, name, {key: round(value, 4) for key, value in rows[-1].items()}, file=sys.stderr, flush=True)

        def line(measured: str, one: str, other: str, keys: tuple[str, str], rows=rows, label=label) -> None:
            first, second, *rest = compare(rows, *keys).split(" | ")
            print(f"| {label} | {measured} | {one} | {first} | {other} | {second} | {' | '.join(rest)} |", flush=True)

        line("AUC", "squared", "hinge", ("squared", "squared_hinge"))
        for part in PARTS:
            measured = f"partial AUC up to {100 * part:g} %"
            squared, hinge, trained = f"squared {part}", f"squared_hinge {part}", f"trained {part}"
            line(measured, "squared", "hinge", (squared, hinge))
            if parts:
                line(measured, "hinge", "trained on the part", (hinge, trained))
                used = [row for row in rows if row[trained] != NO_MODEL]
                if used:
                    # Not all coefficients are 0 there: what the training itself does where it gives a model.
                    line(f"{measured}, {len(used)} tables", "hinge", "trained on the part", (hinge, trained), used)


def draw(path: str) -> None:
    """What a pair costs by its margin, and which negatives count with `max_fpr`."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
    margins = np.linspace(-1.0, 3.5, 400)
    left.plot(margins, (1.0 - margins) ** 2, label="squared", lw=2.0)
    left.plot(margins, np.maximum(0.0, 1.0 - margins) ** 2, "--", label="squared_hinge", lw=2.5)
    left.axvspan(-1.0, 0.0, color="0.9")
    left.text(-0.5, 5.6, "ranked\nwrong", ha="center", va="top")
    left.set(xlabel="margin: score of the positive - score of the negative", ylabel="cost of the pair", ylim=(-0.1, 6))
    left.legend(loc="upper center")
    rng = np.random.default_rng(3)
    positive, negative = rng.normal(1.6, 1.0, 60), rng.normal(0.0, 1.0, 300)
    edge = np.quantile(negative, 0.9)
    for level, scores, label in ((1.0, positive, "positives"), (0.0, negative, "negatives")):
        counted = (scores >= edge) | (level == 1.0)
        height = level + rng.uniform(-0.18, 0.18, scores.size)
        right.scatter(scores[counted], height[counted], s=12, label=label)
        right.scatter(scores[~counted], height[~counted], s=12, color="0.75")
    right.axvline(edge, color="0.3", lw=1.0, ls=":")
    right.text(edge + 0.08, 0.48, "max_fpr=0.1:\nonly these count", va="center")
    right.set(xlabel="score", yticks=[0.0, 1.0], yticklabels=["negatives", "positives"], ylim=(-0.5, 1.5))
    figure.savefig(path, dpi=130)
    print(f"drawn: {path}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--picture"]:
        draw(sys.argv[2])
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # grids that end early, and tables with a constant column
            main(sys.argv[1:] or list(TABLES))
