"""`OneVsRestAUC`, relative to one `AUCClassifier` for each class."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.multiclass import OneVsRestClassifier

from benchmarks.common import Table, interleaved
from vrspam import AUCClassifier, OneVsRestAUC


def classes_of(n: int, d: int, classes: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return Gaussian classes with correlated columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    rank = max(1, d // 10)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) / np.sqrt(rank)
    X += 0.5 * rng.standard_normal((n, d)) + 0.3 * rng.standard_normal((classes, d))[y]
    return X, y


def main() -> None:
    table = Table("Several classes: OneVsRestAUC ÷ OneVsRestClassifier(AUCClassifier()), 10 classes")
    dense, y = classes_of(40_000, 200)
    few, few_y = classes_of(2_000, 30)
    rows = {
        "40,000 × 200": (dense, y, 0.0),
        "40,000 × 200 float32": (dense.astype(np.float32), y, 0.0),
        "40,000 × 200, l1 = 0.01": (dense, y, 0.01),
        "2,000 × 30": (few, few_y, 0.0),
        "40,000 × 200, CSR with 3 % nonzeros": (sparse.csr_array(np.where(dense > 2.0, dense, 0.0)), y, 0.0),
    }
    for name, (X, labels, l1) in rows.items():
        one, each = OneVsRestAUC(l1=l1), OneVsRestClassifier(AUCClassifier(l1=l1))
        seconds = interleaved(
            {"one": lambda: one.fit(X, labels), "each": lambda: each.fit(X, labels)},  # noqa: B023
            repeats=5,
        )
        note = f"({seconds['one']:.3f} s / {seconds['each']:.3f} s)"
        table.at_most(name, seconds["one"] / seconds["each"], 0.4, note)
        furthest = max(
            float(np.linalg.norm(one.coef_[k] - fit.coef_[0]) / np.linalg.norm(fit.coef_[0]))
            for k, fit in enumerate(each.estimators_)
        )
        table.at_most("  largest relative difference of coefficients", furthest, 1e-3)
