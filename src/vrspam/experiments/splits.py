"""Training and test part of a set, kept while a worker is busy with them."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, normalize

from vrspam import AUCClassifier
from vrspam.data import Dataset, load
from vrspam.experiments.plan import Run
from vrspam.experiments.protocol import Protocol
from vrspam.metrics import roc_auc
from vrspam.moments import ClassMoments
from vrspam.solvers.choose import choose_solver

REFERENCE_TOL = 1e-10  # accuracy of the optimum that all algorithms are compared with


@lru_cache(maxsize=1)
def load_set(name: str) -> Dataset:
    """The whole set, from this machine: the parent process has made sure that it is there."""
    return load(name, allow_download=False, progress=False)


class Split:
    """One division of a set, its features scaled as the protocol says."""

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
def _prepare(name: str, seed: int, test_share: float, scaling: str) -> Split:
    return Split(name, seed, test_share, scaling)


def prepare(run: Run, protocol: Protocol) -> Split:
    """The data of a run."""
    return _prepare(run.set, run.seed, protocol.test_share, protocol.scaling)


def _scaled(train, test, scaling: str) -> tuple[Any, Any]:
    if scaling == "unit-rows":
        return normalize(train), normalize(test)
    if scaling == "standardised":
        # a sparse matrix cannot be centred and stay sparse; the objective does not depend on the centre
        scaler = StandardScaler(with_mean=not sparse.issparse(train)).fit(train)
        return scaler.transform(train), scaler.transform(test)
    return train, test
