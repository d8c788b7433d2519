"""Training and test part of a set, and an algorithm trained on the one and tested on the other."""

from __future__ import annotations

import json
import time
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, normalize

import vrspam
from vrspam import AUCClassifier
from vrspam.data import Dataset, load
from vrspam.experiments.plan import Run
from vrspam.experiments.protocol import Algorithm, Protocol
from vrspam.experiments.store import Row
from vrspam.metrics import roc_auc
from vrspam.moments import ClassMoments
from vrspam.solvers.choose import choose_solver

REFERENCE_TOL = 1e-10  # accuracy of the optimum that all algorithms are compared with


@lru_cache(maxsize=1)
def load_set(name: str) -> Dataset:
    """Load a whole data set from this machine; the parent process has made sure that it is there."""
    return load(name, allow_download=False, progress=False)


class TrainTestSplit:
    """One division of a data set into training and test rows, with features scaled as the protocol says."""

    def __init__(self, name: str, seed: int, test_share: float, scaling: str):
        data = load_set(name)
        train, test = train_test_split(
            np.arange(data.n), test_size=test_share, random_state=seed, shuffle=True, stratify=data.y
        )
        self.y, self.y_test = data.y[train], data.y[test]
        self.X, self.X_test = _scaled(data.X[train], data.X[test], scaling)
        self._optima: dict[tuple[float, float], AUCClassifier] = {}

    def facts(self) -> dict[str, Any]:
        """The columns that describe the data."""
        return {
            "n_train": len(self.y),
            "n_test": len(self.y_test),
            "d": self.X.shape[1],
            "positive_share": float(np.mean(self.y == 1)),
        }

    def test_auc(self, coef: np.ndarray) -> float:
        """AUC on the test part."""
        return float(roc_auc(self.y_test == 1, np.asarray(self.X_test @ np.ravel(coef)).ravel()))

    @cached_property
    def moments(self) -> ClassMoments:
        return ClassMoments.from_data(self.X, self.y)

    def optimum(self, l2: float, l1: float) -> AUCClassifier:
        """The exact minimiser for these penalties."""
        if (l2, l1) not in self._optima:
            model = AUCClassifier(l2=l2, l1=l1, tol=REFERENCE_TOL, max_iter=100_000)
            n, d = self.X.shape
            if choose_solver(n, d, sparse.issparse(self.X)) == "moments":
                model.fit_moments(self.moments)
            else:
                model.fit(self.X, self.y)
            self._optima[l2, l1] = model
        return self._optima[l2, l1]


@lru_cache(maxsize=1)
def _prepare(name: str, seed: int, test_share: float, scaling: str) -> TrainTestSplit:
    return TrainTestSplit(name, seed, test_share, scaling)


def prepare(run: Run, protocol: Protocol) -> TrainTestSplit:
    """Return the data of a run; the last ones are kept, since runs of one split follow each other."""
    return _prepare(run.set, run.seed, protocol.test_share, protocol.scaling)


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


def fit(estimator, split: TrainTestSplit):
    """Train, compiled code warmed up before; return the estimator and the seconds its solver took."""
    cls: Any = type(estimator)
    _warm_up(cls, tuple(sorted(_discrete(estimator).items())), sparse.issparse(split.X))
    start = time.perf_counter()
    estimator.fit(split.X, split.y)
    elapsed = time.perf_counter() - start
    history = getattr(estimator, "history_", None)
    return estimator, float(history["seconds"][-1]) if history else elapsed


def evaluate(estimator, seconds: float, split: TrainTestSplit, l2: float, l1: float) -> Row:
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


def _scaled(train, test, scaling: str) -> tuple[Any, Any]:
    if scaling == "unit-rows":
        return normalize(train), normalize(test)
    if scaling == "standardised":
        # a sparse matrix cannot be centred and stay sparse; the objective does not depend on the centre
        scaler = StandardScaler(with_mean=not sparse.issparse(train)).fit(train)
        return scaler.transform(train), scaler.transform(test)
    return train, test


def _discrete(estimator) -> dict[str, Any]:
    """The parameters that decide which code runs."""
    return {name: value for name, value in estimator.get_params().items() if isinstance(value, (str, bool))} | {
        "l2": 1.0,
        **({"l1": float(estimator.l1 > 0)} if "l1" in estimator.get_params() else {}),
    }


@cache
def _warm_up(cls: Any, parameters: tuple[tuple[str, Any], ...], is_sparse: bool) -> None:
    """Fit a tiny data set once in this process, so that compiling is not timed."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((40, 3)))
    y = np.where(np.arange(40) % 2, 1, -1)
    model = clone(cls(**dict(parameters)))
    if "max_iter" in model.get_params():
        model.set_params(max_iter=1)
    model.fit(sparse.csr_matrix(X) if is_sparse else X, y)
