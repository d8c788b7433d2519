"""The tasks of runs: choose penalties, tune an algorithm, train and test it, compute the rows of a figure.

A task gets its run, the protocol and the rows of the runs it needs, and returns rows; the first row is the result.
The figures treat an algorithm as a black box: its state after e epochs is the result of `fit` with max_iter=e and the
same seed.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterable
from functools import cache, cached_property, lru_cache
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils.extmath import row_norms

import vrspam
from vrspam import AUCClassifier, AUCClassifierCV, coef_path
from vrspam.data import Dataset, load
from vrspam.metrics import roc_auc
from vrspam.model_selection.selection import select
from vrspam.moments import ClassMoments
from vrspam.paper import rates
from vrspam.paper.protocol import GRID, Algorithm, Protocol, Row, Run
from vrspam.solvers import choose_solver


@lru_cache(maxsize=1)
def load_set(name: str) -> Dataset:
    """Load a complete data set from this machine; the parent process has downloaded it if it was missing."""
    return load(name, allow_download=False, progress=False)


class TrainTestSplit:
    """One split of a data set into training and test rows, with features scaled as the protocol says."""

    def __init__(self, name: str, seed: int, test_share: float, scaling: str):
        data = load_set(name)
        train, test = train_test_split(
            np.arange(data.n), test_size=test_share, random_state=seed, shuffle=True, stratify=data.y
        )
        self.y, self.y_test = data.y[train], data.y[test]
        self.X, self.X_test = data.X[train], data.X[test]
        if scaling == "unit-rows":
            self.X, self.X_test = normalize(self.X), normalize(self.X_test)
        elif scaling == "standardised":
            # Without centring, so that a sparse matrix stays sparse; the objective does not depend on the centre.
            scaler = StandardScaler(with_mean=not sparse.issparse(self.X)).fit(self.X)
            self.X, self.X_test = scaler.transform(self.X), scaler.transform(self.X_test)
        self._optima: dict[tuple[float, float], AUCClassifier] = {}
        share = float(np.mean(self.y == 1))
        #: The columns of a row of results that describe the data.
        self.facts = {"n_train": train.size, "n_test": test.size, "d": self.X.shape[1], "positive_share": share}

    def test_auc(self, coef: np.ndarray) -> float:
        return float(roc_auc(self.y_test == 1, np.asarray(self.X_test @ np.ravel(coef)).ravel()))

    @cached_property
    def moments(self) -> ClassMoments:
        return ClassMoments.from_data(self.X, self.y)

    def optimum(self, l2: float, l1: float) -> AUCClassifier:
        """Return the exact minimiser for these penalties."""
        if (l2, l1) not in self._optima:
            model = AUCClassifier(l2=l2, l1=l1, tol=1e-10, max_iter=100_000)
            n, d = self.X.shape
            if choose_solver(n, d, sparse.issparse(self.X)) == "moments":
                model.fit_moments(self.moments)
            else:
                model.fit(self.X, self.y)
            self._optima[l2, l1] = model
        return self._optima[l2, l1]


_most_recent = lru_cache(maxsize=1)(TrainTestSplit)  # runs of one split follow each other


def prepare(run: Run, protocol: Protocol) -> TrainTestSplit:
    """Return the data of a run; the most recent ones stay in memory."""
    return _most_recent(run.set, run.seed, protocol.test_share, protocol.scaling)


def build(algorithm: Algorithm, l2: float, l1: float, seed: int, tuned: str | None = None, **changes: Any):
    """Return the estimator of an algorithm with its penalties; `changes` of parameters that it lacks are ignored."""
    parameters: dict[str, Any] = {"l2": l2, **dict(algorithm.parameters)}
    if algorithm.penalty == "net":
        parameters["l1"] = l1
    if tuned is not None and algorithm.tune:
        parameters[algorithm.tune[0]] = json.loads(tuned)
    estimator = getattr(vrspam, algorithm.estimator)(**parameters, random_state=seed)
    known = estimator.get_params()
    return estimator.set_params(**{name: value for name, value in changes.items() if name in known})


def fit(estimator, split: TrainTestSplit):
    """Train after the code is compiled, which is not timed; return the estimator and the seconds its solver took."""
    parameters = estimator.get_params()
    discrete = {name: value for name, value in parameters.items() if isinstance(value, (str, bool))} | {"l2": 1.0}
    if "l1" in parameters:
        discrete["l1"] = float(estimator.l1 > 0)
    _warm_up(estimator.__class__, tuple(sorted(discrete.items())), sparse.issparse(split.X))
    start = time.perf_counter()
    estimator.fit(split.X, split.y)
    elapsed = time.perf_counter() - start
    history = getattr(estimator, "history_", None)
    return estimator, float(history["seconds"][-1]) if history else elapsed


def evaluate(estimator, seconds: float, split: TrainTestSplit, l2: float, l1: float) -> Row:
    """Return the columns that every trained model has; the AUC is measured here, on the test part."""
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
        "gap": float("nan") if estimator.gap_ is None else float(estimator.gap_),
        "nonzeros": int(np.count_nonzero(estimator.coef_)),
        "auc": split.test_auc(estimator.coef_),
        "auc_exact": split.test_auc(optimum.coef_),
        "distance": float(np.sum((estimator.coef_ - optimum.coef_) ** 2)),
        "variant": getattr(estimator, "variant_", None),
    }


@cache
def _warm_up(cls: Any, parameters: tuple[tuple[str, Any], ...], is_sparse: bool) -> None:
    """Fit a tiny data set once in this process with the parameters that decide which compiled code runs."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((40, 3)))
    y = np.where(np.arange(40) % 2, 1, -1)
    model = clone(cls(**dict(parameters)))
    if "max_iter" in model.get_params():
        model.set_params(max_iter=1)
    model.fit(sparse.csr_matrix(X) if is_sparse else X, y)


def choose(run: Run, protocol: Protocol, needed: list[Row]) -> list[Row]:
    """Compute the cross-validated AUC and the test AUC of every penalty, with the exact minimiser.

    The test AUCs are not used for the choice. The best of them is the ceiling: what this objective could reach if the
    test part were known.
    """
    split = prepare(run, protocol)
    l1s = (0.0, *protocol.l1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about a best point at the edge: the grid is the paper's
        grid = AUCClassifierCV(l2s=protocol.l2, l1s=l1s, cv=folds(run, protocol)).fit(split.X, split.y)
    coefs = coef_path(split.moments, protocol.l2, l1s)
    rows: list[Row] = []
    for (i, l2), (j, l1) in product(enumerate(protocol.l2), enumerate(l1s)):
        validation, test = float(np.mean(grid.auc_path_[i, j])), split.test_auc(coefs[i, j])
        rows.append({"kind": "grid", "l2": l2, "l1": l1, "auc_cv": validation, "auc": test})
    ridge = select(grid.auc_path_[:, :1], {"l2": protocol.l2, "l1": l1s[:1]}).values
    net = select(grid.auc_path_[:, 1:], {"l2": protocol.l2, "l1": l1s[1:]}).values
    chosen = [row for values in (ridge, net) for row in rows if values == {"l2": row["l2"], "l1": row["l1"]}]
    return [row | {"kind": "choice"} | split.facts for row in chosen] + rows


def tune(run: Run, protocol: Protocol, needed: list[Row]) -> list[Row]:
    """Compute the cross-validated AUC for each value of an algorithm's own parameter (and penalty, if `cv = "own"`)."""
    split = prepare(run, protocol)
    algorithm = protocol.algorithm(run.algorithm)
    assert algorithm.tune is not None
    penalties = own_penalties(algorithm, protocol) if protocol.cv == "own" else [chosen_penalty(algorithm, needed)]
    rows: list[Row] = []
    for (l2, l1), value in product(penalties, map(json.dumps, algorithm.tune[1])):
        auc = validated(build(algorithm, l2, l1, run.seed, value), split, folds(run, protocol)).mean()
        rows.append({"kind": "candidate", "l2": l2, "l1": l1, "tuned": value, "auc_cv": float(auc)})
    return [max(rows, key=lambda row: row["auc_cv"]) | {"kind": "choice"} | split.facts, *rows]


def score(run: Run, protocol: Protocol, needed: list[Row]) -> list[Row]:
    """Train on the training part with the chosen penalties, and test on the test part."""
    split = prepare(run, protocol)
    algorithm = protocol.algorithm(run.algorithm)
    tuned = tuned_value(needed)
    if protocol.cv == "own" and algorithm.estimator != "AUCClassifier":  # by fits of the algorithm itself
        penalties = own_penalties(algorithm, protocol)
        models = (build(algorithm, l2, l1, run.seed, tuned) for l2, l1 in penalties)
        scores = np.array([validated(model, split, folds(run, protocol)) for model in models])
        l1s = list(dict.fromkeys(l1 for _, l1 in penalties))
        best = select(scores.reshape(len(protocol.l2), len(l1s), -1), {"l2": protocol.l2, "l1": l1s}).values
        l2, l1 = best["l2"], best["l1"]
    else:
        l2, l1 = chosen_penalty(algorithm, needed)
    model, seconds = fit(build(algorithm, l2, l1, run.seed, tuned), split)
    return [{"kind": "result", "tuned": tuned} | split.facts | evaluate(model, seconds, split, l2, l1)]


def convergence(run: Run, protocol: Protocol, needed: list[Row]) -> list[Row]:
    """Compute test AUC and objective after a growing number of epochs; the times are those of the longest fit."""
    split = prepare(run, protocol)
    algorithm = protocol.algorithm(run.algorithm)
    l2, l1 = chosen_penalty(algorithm, needed)
    counts = protocol.convergence.epochs

    def trained(epochs: int):
        return fit(_stopped(algorithm, l2, l1, run.seed, epochs, tuned_value(needed)), split)[0]

    seconds = trained(max(counts)).history_["seconds"]
    for _ in range(2 if seconds[-1] < 2.0 else 0):  # for short fits the fastest of three counts
        seconds = np.minimum(seconds, trained(max(counts)).history_["seconds"])
    rows = []
    for epochs in counts:
        row = evaluate(trained(epochs), float(seconds[min(epochs, len(seconds) - 1)]), split, l2, l1)
        rows.append({"kind": "convergence"} | split.facts | row)
    return rows


def variance(run: Run, protocol: Protocol, needed: list[Row]) -> list[Row]:
    """Compute the variance of the update direction over the random choice of the row, at the end of each epoch.

    For SPAM it is the variance of the stochastic gradient; for VRSPAM that of G(w) - G(w̃) + ∇f(w̃), with w̃ the anchor
    of the epoch. For VRSPAM the rows also hold the first of the paper's two bounds, the smaller one, from ‖w - w*‖² and
    ‖w̃ - w*‖²: once with the paper's constant 128 M⁴, and once with that of the rows.
    """
    split = prepare(run, protocol)
    algorithm = protocol.algorithm(run.algorithm)
    l2, l1 = chosen_penalty(algorithm, needed)
    positive = split.y == 1
    reduced = algorithm.estimator == "VRSPAMClassifier"
    rows: list[Row] = []
    for epochs in range(1, protocol.variance.epochs + 1):
        model, _ = fit(_stopped(algorithm, l2, l1, run.seed, epochs, None, record_variance=True), split)
        if reduced:
            value = float(model.history_["variance"][-1])
        else:
            value = rates.gradient_variance(split.X, positive, model.coef_[0])
        distance = float(np.sum((model.coef_ - split.optimum(l2, l1).coef_) ** 2))
        passes = float(model.history_["passes"][-1])
        rows.append({"kind": "variance", "epoch": epochs, "passes": passes, "variance": value, "distance": distance})
    if reduced:
        M = float(np.sqrt(row_norms(split.X, squared=True).max()))
        noises = {"bound": rates.noise_printed(M), "bound_rows": rates.noise_rows(split.X, positive)}
        for anchor, row in pairwise(rows):  # the last point of an epoch is the next anchor
            for name, noise in noises.items():
                row[name] = rates.variance_bounds(noise, row["distance"], anchor["distance"])[0]
        rows = rows[1:]
    return [row | {"l2": l2, "l1": l1} for row in rows]


def theorem(run: Run, protocol: Protocol, needed: list[Row]) -> list[Row]:
    """Compute ‖w̃_s - w*‖² over seeds with the theoretical step, and its bound: α^(s-1) · (mean after one epoch)."""
    figure = protocol.theorem
    split = prepare(run, protocol)
    X = split.X / float(np.sqrt(row_norms(split.X, squared=True).max()))  # M = 1
    noise = rates.noise_printed(1.0)
    step = figure.theta * rates.step_bound(figure.l2, noise)
    m = rates.inner_steps(figure.l2, figure.theta, noise)
    alpha = rates.contraction(figure.l2, step, m, noise)
    optimum = AUCClassifier(l2=figure.l2, tol=1e-15).fit(X, split.y).coef_
    algorithm = protocol.algorithm(run.algorithm)
    rows: list[Row] = []
    for epochs in range(1, figure.epochs + 1):
        for repeat in range(figure.seeds):
            model = _stopped(algorithm, figure.l2, 0.0, run.seed + repeat, epochs, None)
            model.set_params(step_size=step, inner_steps=m).fit(X, split.y)
            distance = float(np.sum((model.coef_ - optimum) ** 2))
            rows.append({"kind": "theorem", "epoch": epochs, "repeat": repeat, "l2": figure.l2, "distance": distance})
    start = np.mean([row["distance"] for row in rows if row["epoch"] == 1])
    return [row | {"bound": float(start * alpha ** (row["epoch"] - 1))} for row in rows]


def folds(run: Run, protocol: Protocol) -> StratifiedKFold:
    return StratifiedKFold(protocol.folds, shuffle=True, random_state=run.seed)


def validated(estimator, split: TrainTestSplit, cv: StratifiedKFold) -> np.ndarray:
    """Return the AUC on each held-out fold, or 0, the worst AUC, if the algorithm diverged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        try:
            return np.nan_to_num(cross_val_score(estimator, split.X, split.y, cv=cv, error_score=np.nan))
        except ValueError:  # raised only when every fold failed
            return np.zeros(cv.get_n_splits())


def own_penalties(algorithm: Algorithm, protocol: Protocol) -> list[tuple[float, float]]:
    return list(product(protocol.l2, protocol.l1 if algorithm.penalty == "net" else (0.0,)))


def chosen_penalty(algorithm: Algorithm, needed: Iterable[Row]) -> tuple[float, float]:
    """Return the best penalty of this kind according to the exact minimiser."""
    rows = [row for row in needed if row["kind"] == "choice" and row["algorithm"] == GRID]
    (row,) = [row for row in rows if (row["l1"] != 0.0) == (algorithm.penalty == "net")]
    return row["l2"], row["l1"]


def tuned_value(needed: Iterable[Row]) -> str | None:
    """Return the value, as JSON, that a tuning run has chosen, or None without such a run."""
    values = [row["tuned"] for row in needed if row["kind"] == "choice" and row["task"] == "tune"]
    return values[0] if values else None


def _stopped(algorithm: Algorithm, l2: float, l1: float, seed: int, epochs: int, tuned: str | None, **more: Any):
    """Return the algorithm, changed to run exactly that many epochs."""
    model = build(algorithm, l2, l1, seed, tuned, max_iter=epochs, **more)
    return model if model.get_params().get("tol") is None else model.set_params(tol=0.0)


TASKS: dict[str, Callable[[Run, Protocol, list[Row]], list[Row]]] = {
    "choose": choose,
    "tune": tune,
    "score": score,
    "convergence": convergence,
    "variance": variance,
    "theorem": theorem,
}
