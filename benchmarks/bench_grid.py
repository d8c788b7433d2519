"""A cross-validated grid, relative to one matrix product, to scikit-learn, and to one fit for each point."""

from __future__ import annotations

import time
import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks.common import Table, correlated, interleaved, peak_extra_megabytes
from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, coef_path
from vrspam._utils.names import PenaltyName
from vrspam.metrics import roc_auc
from vrspam.objective import l2_unit

L2S = 10.0 ** np.arange(-5, 6)
L1S = 10.0 ** np.arange(-5, 6)
D = 780


def whole_grids(table: Table) -> None:
    X, y = correlated(60_000, D)
    models = {
        "ridge": AUCClassifierCV(L2S),
        "net": AUCClassifierCV(L2S, L1S),
        "net2": AUCClassifierCV(L2S, L1S, n_jobs=2),
    }
    seconds = interleaved(
        {"gram": lambda: X.T @ X, **{name: partial(model.fit, X, y) for name, model in models.items()}},
        repeats=3,
    )
    for name, what, goal in (
        ("ridge", "5 folds × 11 l2", 5),
        ("net", "5 folds × 11 l2 × 11 l1", 12),
        ("net2", "the same, n_jobs=2", 12),
    ):
        note = f"({seconds[name]:.2f} s / {seconds['gram']:.2f} s)"
        table.at_most(f"{what}, 60,000 × {D} float64 ÷ one X.T @ X", seconds[name] / seconds["gram"], goal, note)
    points = models["net"].converged_path_
    table.row("grid points certified", f"{points.sum()} of {points.size}", "all", bool(points.all()))
    megabytes = peak_extra_megabytes(
        "from benchmarks.bench_grid import *\n"
        f"AUCClassifierCV(L2S, L1S).fit(*correlated(300, {D})); X, y = correlated(60_000, {D})",
        "AUCClassifierCV(L2S, L1S).fit(X, y)",
    )
    table.at_most("extra peak memory of the elastic-net grid, MB", megabytes, 12 * D * D * 8 / 2**20 + 200)
    naive(table, X, y, seconds["net"])


def naive(table: Table, X: np.ndarray, y: np.ndarray, ours: float) -> None:
    """Time one fit for each fold and point: measured at a few points of one fold, then scaled up to the whole grid."""
    train, validation = next(StratifiedKFold(5).split(X, y))
    start = time.perf_counter()
    sample = [(l2, l1) for l2 in L2S[::5] for l1 in L1S[:6:2]]
    for l2, l1 in sample:
        model = AUCClassifier(l2=l2, l1=l1).fit(X[train], y[train])
        roc_auc(y[validation], model.decision_function(X[validation]))
    whole = (time.perf_counter() - start) / len(sample) * 5 * L2S.size * L1S.size
    what = f"605 separate fits, scaled up from {len(sample)} of them ÷ the grid"
    table.row(what, f"{whole / ours:.0f} ({whole:.0f} s / {ours:.1f} s)")


def concave_paths(table: Table) -> None:
    """MCP and SCAD start from the elastic net's solution of each point, so they cost at least as much as it does."""
    for what, (X, y) in {
        f"20,000 × {D}": correlated(20_000, D),
        f"20,000 × {D}, 5 % positives": correlated(20_000, D, share=0.05),
        "2,000 × 1,000": correlated(2_000, 1_000),
    }.items():
        moments = ClassMoments.from_data(X, y)
        l2 = 1e-3 * l2_unit(moments)
        names: tuple[PenaltyName, ...] = ("elasticnet", "mcp", "scad")
        seconds = interleaved(
            {name: partial(coef_path, moments, [l2], "auto", penalty=name) for name in names}, repeats=5
        )
        for name in ("mcp", "scad"):
            note = f"({seconds[name]:.2f} s / {seconds['elasticnet']:.2f} s)"
            ratio = seconds[name] / seconds["elasticnet"]
            table.at_most(f"path of 30 l1, {what}: {name} ÷ elastic net", ratio, 2, note)


def peers(table: Table) -> None:
    X, y = correlated(40_000, 100, share=0.05)
    ridge = GridSearchCV(RidgeClassifier(class_weight="balanced"), {"alpha": L2S * y.size}, scoring="roc_auc", cv=5)
    logistic = LogisticRegressionCV(Cs=11, cv=5, scoring="roc_auc", use_legacy_attributes=False, l1_ratios=(0,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds = interleaved(
            {
                "ours": lambda: AUCClassifierCV(L2S).fit(X, y),
                "RidgeClassifier in GridSearchCV": lambda: ridge.fit(X, y),
                "LogisticRegressionCV(Cs=11, cv=5)": lambda: logistic.fit(X, y),
            },
            repeats=3,
        )
    ours = seconds.pop("ours")
    for name, peer in seconds.items():
        goal = ("≥ 10", peer >= 10 * ours) if name.startswith("Logistic") else ("", None)
        table.row(f"{name} ÷ ours, 40,000 × 100, 11 points, 5 folds", f"{peer / ours:.1f} ({ours:.2f} s)", *goal)


def main() -> None:
    table = Table("A cross-validated grid")
    whole_grids(table)
    concave_paths(table)
    peers(table)
