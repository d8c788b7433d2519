"""How well probabilities are calibrated: `python -m benchmarks.probabilities [set ...]`, for docs/probabilities.md.

First on real sets: three stratified splits into 70 % and 30 %, everything fitted on the first part and measured on the
second. The columns are standardised, so that all models are weighted sums of the same columns. Then on made-up rows
whose probabilities are known: how far those of a model are from them.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.quality import SETS
from vrspam import AUCClassifierCV
from vrspam.data import load
from vrspam.metrics.calibration import calibration_error, reliability
from vrspam.model_selection.calibration import calibrate

MOST_ROWS = 30_000
SPLITS = 3
WAYS = ("sigmoid", "isotonic", "CalibratedClassifierCV", "logistic")
LEAST = 1e-6  # probabilities of 0 and 1, which an isotonic fit gives, count as this far away from them in the log loss


def probabilities(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> dict[str, np.ndarray]:
    """Probabilities of new rows by each way."""
    ours = AUCClassifierCV(features="standardized", random_state=0)
    model, oof = ours.fit(X, y), ours.out_of_fold_
    isotonic = calibrate(oof.scores, oof.positive, "isotonic", oof.weights)
    theirs = CalibratedClassifierCV(AUCClassifierCV(features="standardized", calibration=None, random_state=0))
    logistic = LogisticRegressionCV(Cs=7, scoring="neg_log_loss", max_iter=1000)
    return {
        "sigmoid": model.predict_proba(new)[:, 1],
        "isotonic": isotonic(model.decision_function(new) - model.baseline_),
        "CalibratedClassifierCV": theirs.fit(X, y).predict_proba(new)[:, 1],
        "logistic": make_pipeline(StandardScaler(), logistic).fit(X, y).predict_proba(new)[:, 1],
    }


def measure_set(name: str) -> dict[str, np.ndarray]:
    """Brier score, log loss and mean calibration error (in ten groups) of each way: means over the splits."""
    X, y = load(name, sparse=False, **SETS[name])
    y = (y == np.max(y)).astype(int)
    if y.mean() > 0.5:
        y = 1 - y
    if len(y) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, stratify=y, random_state=0)
    found: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
    for seed in range(SPLITS):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
        for way, p in probabilities(X_train, y_train, X_test).items():
            error = calibration_error(reliability(y_test == 1, p))
            found[way].append((brier_score_loss(y_test, p), log_loss(y_test, np.clip(p, LEAST, 1 - LEAST)), error))
    return {way: np.mean(rows, axis=0) for way, rows in found.items()}


def print_sets(names: list[str]) -> None:
    print("Brier score / log loss / mean calibration error on the test parts, in thousandths\n")
    print("| set | " + " | ".join(WAYS) + " |")
    print("|---" * (len(WAYS) + 1) + "|", flush=True)
    rows = []
    for name in names:
        rows.append(measure_set(name))
        print(f"| {name} | " + " | ".join(_cell(rows[-1][way]) for way in WAYS) + " |", flush=True)
    print("| mean | " + " | ".join(_cell(np.mean([row[way] for row in rows], axis=0)) for way in WAYS) + " |\n")


def _cell(values: np.ndarray) -> str:
    return " / ".join(f"{1000 * value:.1f}" for value in values)


KNOWN = {  # rows, odds of the offset as positive rows of them, columns, map; beside the mean number of positive rows
    "200 rows, 9 positive, 5 columns": (200, 10, 5, "linear"),
    "200 rows, 9 positive, 20 columns": (200, 10, 20, "linear"),
    "1,000 rows, 20 positive, 10 columns": (1000, 20, 10, "linear"),
    "300 rows, 63 positive, 10 columns": (300, 90, 10, "linear"),
    "2,000 rows, 167 positive, 10 columns": (2000, 200, 10, "linear"),
    "300 rows, 14 positive, 5 columns, additive": (300, 15, 5, "additive"),
    "1,000 rows, 83 positive, 5 columns, kernel 1": (1000, 100, 5, "kernel 1"),
}
TABLES = 40


def measure_known(n: int, odds: int, d: int, features: str, seed: int) -> dict[str, float]:
    """Mean squared error of probabilities that are known, of one table from a logistic model of normal columns."""
    rng = np.random.default_rng(seed)
    coef = rng.standard_normal(d)
    coef *= 1.5 / np.linalg.norm(coef)
    offset = np.log(odds / (n - odds)) - 1.0
    X, new = rng.standard_normal((n, d)), rng.standard_normal((5000, d))
    y, truth = rng.random(n) < expit(X @ coef + offset), expit(new @ coef + offset)
    while y.sum() < 6:
        y = rng.random(n) < expit(X @ coef + offset)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = AUCClassifierCV(features=features, cv=folds, random_state=0).fit(X, y)
    positive, scores, fold, *_ = model.out_of_fold_
    raw = model.decision_function(new) - model.baseline_
    within = scores.copy()
    for number in range(5):
        here = fold == number
        within[here] = (scores[here] - scores[here].mean()) / scores[here].std()
    best = calibrate(np.tile(raw, 2), np.repeat([True, False], raw.size), "sigmoid", np.r_[truth, 1.0 - truth] * 1e6)
    found = {
        "sigmoid": calibrate(scores, positive, "sigmoid")(raw),
        "folds standardised": calibrate(within, positive, "sigmoid")((raw - raw.mean()) / raw.std()),
        "isotonic": calibrate(scores, positive, "isotonic")(raw),
        "share of positives": np.full(truth.size, y.mean()),
        "best sigmoid": best(raw),
    }
    return {name: float(np.mean((p - truth) ** 2)) for name, p in found.items()}


def print_known() -> None:
    print(f"Mean squared error of known probabilities, in units of 1e-4, mean of {TABLES} tables\n")
    for number, (name, setting) in enumerate(KNOWN.items()):
        tables = [measure_known(*setting, seed) for seed in range(TABLES)]
        if number == 0:
            print("| training rows | " + " | ".join(tables[0]) + " |")
            print("|---" * (len(tables[0]) + 1) + "|")
        means = [1e4 * np.mean([table[way] for table in tables]) for way in tables[0]]
        print(f"| {name} | " + " | ".join(f"{value:.0f}" for value in means) + " |", flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of grids that end too early, and logistic regressions that do not converge
        print_sets(sys.argv[1:] or list(SETS))
        print_known()
