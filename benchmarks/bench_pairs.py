"""Pairs inside strata and of censored times, relative to one product X.T @ X."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.common import Table, interleaved
from vrspam import AUCClassifier, ConcordanceRanker, ConcordanceRankerCV
from vrspam.metrics import concordance_index


def censored(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, times and events; about half of the rows are censored."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    time, end = rng.exponential(np.exp(-X[:, 0])), rng.exponential(size=n)
    return X, np.minimum(time, end), time <= end


def coxnet_path(X: np.ndarray, time: np.ndarray, event: np.ndarray) -> Callable[[], object] | None:
    """One path of Coxnet with five-fold cross-validation, as its documentation shows it; None if it is not there."""
    try:
        from sksurv.linear_model import CoxnetSurvivalAnalysis
        from sksurv.util import Surv
    except ImportError:
        return None
    y, folds = Surv.from_arrays(event, time), KFold(5, shuffle=True, random_state=0)

    def fit() -> list[float]:
        alphas = CoxnetSurvivalAnalysis(l1_ratio=0.5, n_alphas=17).fit(X, y).alphas_
        found = []
        for train, test in folds.split(X):
            model = CoxnetSurvivalAnalysis(l1_ratio=0.5, alphas=alphas).fit(X[train], y[train])
            risks = [X[test] @ coef for coef in model.coef_.T]
            found += [concordance_index(time[test], risk, event=event[test]) for risk in risks]
        return found

    return fit


def main() -> None:
    table = Table("Pairs: fits ÷ X.T @ X")
    X, time, event = censored(200_000, 100)
    y, tens, twins = np.resize([0, 1], len(X)), np.arange(len(X)) // 10, np.arange(len(X)) // 2
    seconds = interleaved(
        {
            "product": lambda: X.T @ X,
            "survival": lambda: ConcordanceRanker().fit(X, time, event=event),
            "strata": lambda: AUCClassifier().fit(X, y, strata=tens),
            "pairs": lambda: AUCClassifier().fit(X, y, strata=twins),
        },
        repeats=5,
    )
    for name, words, goal in (
        ("survival", "survival, half censored", 4.0),
        ("strata", "strata of 10 rows", 3.0),
        ("pairs", "matched pairs", 3.0),
    ):
        note = f"({seconds[name]:.3f} s / {seconds['product']:.3f} s)"
        table.at_most(f"{words}, {len(X):,} × {X.shape[1]}", seconds[name] / seconds["product"], goal, note)
    few, few_time, few_event = censored(50_000, 100, seed=2)
    grid = ConcordanceRankerCV()
    both = {"product": lambda: few.T @ few, "grid": lambda: grid.fit(few, few_time, event=few_event)}
    seconds = interleaved(both, repeats=5)
    note = f"({seconds['grid']:.3f} s / {seconds['product']:.3f} s)"
    name = f"17 l2 × 5 folds, survival, {len(few):,} × {few.shape[1]}"
    table.at_most(name, seconds["grid"] / seconds["product"], 15.0, note)
    path = coxnet_path(few, few_time, few_event)
    if path is None:
        print("Coxnet not installed")
        return
    seconds = interleaved({"grid": both["grid"], "path": path}, repeats=1)
    note = f"({seconds['grid']:.3f} s / {seconds['path']:.3f} s)"
    table.at_most("the same ÷ a path of Coxnet in 17 steps, 5 folds", seconds["grid"] / seconds["path"], 1.0, note)
