"""What each kind of run does: choose penalties, tune an algorithm, train and test it.

A task gets its run, the protocol and the rows of the runs it needs, and returns rows; the first one is the result.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score

import vrspam
from vrspam.experiments.plan import GRID, Run
from vrspam.experiments.protocol import Algorithm, Protocol
from vrspam.experiments.splits import Split, prepare
from vrspam.experiments.store import Row
from vrspam.model_selection.selection import select

NO_L1 = 0.0


def build(algorithm: Algorithm, l2: float, l1: float, seed: int, tuned: str | None = None, **changes: Any):
    """The estimator of an algorithm with its penalties; `changes` replace parameters that it has."""
    parameters: dict[str, Any] = {"l2": l2, **dict(algorithm.parameters)}
    if algorithm.penalty == "net":
        parameters["l1"] = l1
    if tuned is not None and algorithm.tune:
        parameters[algorithm.tune[0]] = json.loads(tuned)
    estimator = getattr(vrspam, algorithm.estimator)(**parameters, random_state=seed)
    known = estimator.get_params()
    return estimator.set_params(**{name: value for name, value in changes.items() if name in known})


def fit(estimator, split: Split):
    """Train, compiled code warmed up before; return the estimator and the seconds its solver took."""
    cls: Any = type(estimator)
    _warm_up(cls, tuple(sorted(_discrete(estimator).items())), sparse.issparse(split.X))
    start = time.perf_counter()
    estimator.fit(split.X, split.y)
    elapsed = time.perf_counter() - start
    history = getattr(estimator, "history_", None)
    return estimator, float(history["seconds"][-1]) if history else elapsed


def evaluate(estimator, seconds: float, split: Split, l2: float, l1: float) -> Row:
    """The columns that every trained model gets; AUC is measured here, on the test part."""
    history = getattr(estimator, "history_", None)
    optimum = split.optimum(l2, l1)
    return {
        "l2": l2,
        "l1": l1,
        "epoch": int(estimator.n_iter_),
        "passes": float(history["passes"][-1]) if history else None,
        "seconds": seconds,
        "objective": float(estimator.objective_),
        "excess": float(estimator.objective_ - optimum.objective_),
        "gap": float(estimator.gap_),
        "nonzeros": int(np.count_nonzero(estimator.coef_)),
        "auc": split.test_auc(estimator.coef_),
        "auc_exact": split.test_auc(optimum.coef_),
        "distance": float(np.sum((estimator.coef_ - optimum.coef_) ** 2)),
        "variant": getattr(estimator, "variant_", None),
    }


def choose(run: Run, protocol: Protocol, needed: list[Row]) -> list[Row]:
    """Cross-validated AUC of every penalty by the exact minimiser, and what each would give on the test part.

    The last is no choice but the ceiling: what could be had from this objective by knowing the test part.
    """
    from vrspam import AUCClassifierCV, coef_path

    split = prepare(run, protocol)
    l1s = (NO_L1, *protocol.l1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a best point at the edge: the grid is the paper's
        grid = AUCClassifierCV(l2s=protocol.l2, l1s=l1s, cv=folds(run, protocol)).fit(split.X, split.y)
    coefs = coef_path(split.moments, protocol.l2, l1s)
    rows: list[Row] = []
    for (i, l2), (j, l1) in product(enumerate(protocol.l2), enumerate(l1s)):
        validation, test = float(np.mean(grid.auc_path_[i, j])), split.test_auc(coefs[i, j])
        rows.append({"kind": "grid", "l2": l2, "l1": l1, "auc_cv": validation, "auc": test})
    ridge = select(grid.auc_path_[:, :1], {"l2": protocol.l2, "l1": l1s[:1]}).values
    net = select(grid.auc_path_[:, 1:], {"l2": protocol.l2, "l1": l1s[1:]}).values
    chosen = [row for values in (ridge, net) for row in rows if values == {"l2": row["l2"], "l1": row["l1"]}]
    return [row | {"kind": "choice"} | split.facts() for row in chosen] + rows


def tune(run: Run, protocol: Protocol, needed: list[Row]) -> list[Row]:
    """Cross-validated AUC of the values of an algorithm's own parameter (with `cv = "own"` times the penalties)."""
    split = prepare(run, protocol)
    algorithm = protocol.algorithm(run.algorithm)
    assert algorithm.tune is not None
    penalties = own_penalties(algorithm, protocol) if protocol.cv == "own" else [chosen_penalty(algorithm, needed)]
    rows: list[Row] = []
    for (l2, l1), value in product(penalties, map(json.dumps, algorithm.tune[1])):
        auc = validated(build(algorithm, l2, l1, run.seed, value), split, folds(run, protocol)).mean()
        rows.append({"kind": "candidate", "l2": l2, "l1": l1, "tuned": value, "auc_cv": float(auc)})
    return [max(rows, key=lambda row: row["auc_cv"]) | {"kind": "choice"} | split.facts(), *rows]


def score(run: Run, protocol: Protocol, needed: list[Row]) -> list[Row]:
    """Train on the training part with the chosen penalties, test on the test part."""
    split = prepare(run, protocol)
    algorithm = protocol.algorithm(run.algorithm)
    tuned = tuned_value(needed)
    if protocol.cv == "own" and not algorithm.exact:
        l2, l1 = own_choice(run, protocol, split, tuned)
    else:
        l2, l1 = chosen_penalty(algorithm, needed)
    model, seconds = fit(build(algorithm, l2, l1, run.seed, tuned), split)
    return [{"kind": "result", "tuned": tuned} | split.facts() | evaluate(model, seconds, split, l2, l1)]


def own_choice(run: Run, protocol: Protocol, split: Split, tuned: str | None) -> tuple[float, float]:
    """The penalty that an algorithm chooses by its own fits."""
    algorithm = protocol.algorithm(run.algorithm)
    penalties = own_penalties(algorithm, protocol)
    models = (build(algorithm, l2, l1, run.seed, tuned) for l2, l1 in penalties)
    scores = np.array([validated(model, split, folds(run, protocol)) for model in models])
    l1s = dict.fromkeys(l1 for _, l1 in penalties)
    values = select(scores.reshape(len(protocol.l2), len(l1s), -1), {"l2": protocol.l2, "l1": list(l1s)}).values
    return values["l2"], values["l1"]


def folds(run: Run, protocol: Protocol) -> StratifiedKFold:
    """The folds of a run's training part."""
    return StratifiedKFold(protocol.folds, shuffle=True, random_state=run.seed)


def validated(estimator, split: Split, cv: StratifiedKFold) -> np.ndarray:
    """AUC on each validation fold; 0, the worst, where the algorithm diverged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        try:
            return np.nan_to_num(cross_val_score(estimator, split.X, split.y, cv=cv, error_score=np.nan))
        except ValueError:  # raised only when every fold failed
            return np.zeros(cv.get_n_splits())


def own_penalties(algorithm: Algorithm, protocol: Protocol) -> list[tuple[float, float]]:
    """The penalties that an algorithm may choose from."""
    return list(product(protocol.l2, protocol.l1 if algorithm.penalty == "net" else (NO_L1,)))


def chosen_penalty(algorithm: Algorithm, needed: Iterable[Row]) -> tuple[float, float]:
    """The penalty that the exact grid has chosen for this kind of penalty."""
    rows = [row for row in needed if row["kind"] == "choice" and row["algorithm"] == GRID]
    (row,) = net_rows(rows) if algorithm.penalty == "net" else ridge_rows(rows)
    return row["l2"], row["l1"]


def tuned_value(needed: Iterable[Row]) -> str | None:
    """The value, in JSON, that a tuning run has chosen, if there was one."""
    values = [row["tuned"] for row in needed if row["kind"] == "choice" and row["task"] == "tune"]
    return values[0] if values else None


def ridge_rows(rows: Iterable[Row]) -> list[Row]:
    """Those without l1."""
    return [row for row in rows if row["l1"] == NO_L1]


def net_rows(rows: Iterable[Row]) -> list[Row]:
    """Those with l1."""
    return [row for row in rows if row["l1"] != NO_L1]


def _discrete(estimator) -> dict[str, Any]:
    """The parameters that decide which code runs."""
    return {name: value for name, value in estimator.get_params().items() if isinstance(value, (str, bool))} | {
        "l2": 1.0,
        **({"l1": float(estimator.l1 > 0)} if "l1" in estimator.get_params() else {}),
    }


@cache
def _warm_up(cls: Any, parameters: tuple[tuple[str, Any], ...], is_sparse: bool) -> None:
    """Fit two little classes once in this process, so that no clock sees a compiler."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((40, 3)))
    y = np.where(np.arange(40) % 2, 1, -1)
    model = clone(cls(**dict(parameters)))
    if "max_iter" in model.get_params():
        model.set_params(max_iter=1)
    model.fit(sparse.csr_matrix(X) if is_sparse else X, y)
