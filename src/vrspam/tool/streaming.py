"""Training from a file larger than memory: moments of each fold, then held-out scores of a sample of rows.

The blocks are read three times (spread of the features, moments of each fold, scores), and never kept. What grows
with the number of features are two d×d matrices for each fold; what grows with the number of rows is nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from vrspam import AUCClassifier, ClassMoments
from vrspam.estimators.folds import HashFolds
from vrspam.metrics import roc_auc_columns
from vrspam.selection import select
from vrspam.solvers.grid import auto_l2s, coef_path
from vrspam.tool.crossfit import OutOfFold
from vrspam.tool.opening import Opened
from vrspam.tool.scaling import Scaling

MOST_BYTES = 4 << 30  # of all fold matrices together
SAMPLE_ROWS = 1_000_000  # rows whose held-out scores are kept
SAMPLE_SCORES = 40_000_000  # the same times the points of the grid
SUSPECT_ROWS = 20_000  # rows in which leaking features are looked for


class RowSample:
    """A random sample of at most `size` rows of a stream: those with the smallest random keys."""

    def __init__(self, size: int, rng: np.random.Generator):
        self.size, self.rng = size, rng
        self.keys, self.y, self.X = np.empty(0), np.empty(0, dtype=bool), None

    def add(self, X: Any, y: np.ndarray) -> None:
        keys = np.concatenate([self.keys, self.rng.random(y.size)])
        labels = np.concatenate([self.y, y])
        both = X if self.X is None else _stack([self.X, X])
        if keys.size > self.size:
            kept = np.sort(np.argpartition(keys, self.size)[: self.size])
            keys, labels, both = keys[kept], labels[kept], both[kept]
        self.keys, self.y, self.X = keys, labels, both


def gather(opened: Opened, seed: int) -> tuple[ClassMoments, RowSample]:
    """The spread of each feature, and a sample of rows to look at, in one pass."""
    moments = ClassMoments(opened.schema.n_features, classes=[False, True], scatter=False)
    sample = RowSample(SUSPECT_ROWS, np.random.default_rng(seed))
    for X, y in opened:
        moments.update(X, y)
        sample.add(X, y)
    return moments, sample


def fit_stream(
    opened: Opened, scaling: Scaling, moments: ClassMoments, l1s: np.ndarray, folds: HashFolds, seed: int
) -> tuple[AUCClassifier, OutOfFold]:
    """Choose the penalties by cross-validation and fit them on all rows, in two passes.

    Folds go by a hash of each row, so rows that occur twice are in one fold. The AUC of a fold at a point of the
    grid comes from a random sample of its rows, all of them where there are few, with equally many of both classes.

    Returns
    -------
    AUCClassifier, OutOfFold
        The fitted estimator for standardised features, and the held-out scores of the sample; weights undo the
        unequal sampling of the classes.
    """
    d, k = opened.schema.n_features, folds.n_splits
    if 16 * d * d * (k + 1) > MOST_BYTES:
        raise ValueError(
            f"{d:,} features are too many for --streaming, which keeps {2 * (k + 1)} square matrices of them: leave "
            "out text columns with many values (--max-categories), or take fewer folds (--folds)"
        )
    parts = [ClassMoments(d, classes=[False, True]) for _ in range(k)]
    for X, y in opened:
        fold, Z = folds.fold_of(X), scaling(X)
        for number in np.unique(fold):
            parts[number].update(Z[fold == number], y[fold == number])
    if any(min(part.rows) < 2 for part in parts):
        raise ValueError(f"a fold has fewer than two rows of a class: take fewer folds than {k} (--folds)")
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    l2s = auto_l2s(total)
    coefs, offsets = [], []
    for part in parts:
        training = total - part
        coefs.append(coef_path(training, l2s, l1s).reshape(l2s.size * l1s.size, d))
        offsets.append(-coefs[-1] @ training.means.sum(axis=0) / 2.0)
    held_out = _held_out_scores(opened, scaling, moments, folds, np.array(coefs), np.array(offsets), seed)
    aucs = np.stack([roc_auc_columns(y, scores) for y, scores, _ in held_out], axis=1)
    choice = select(aucs.reshape(l2s.size, l1s.size, k), {"l2": l2s, "l1": l1s})
    choice.warn()
    place = int(np.ravel_multi_index(choice.index, (l2s.size, l1s.size)))
    fitted = AUCClassifier(choice.values["l2"], choice.values["l1"]).fit_moments(total)
    return fitted, OutOfFold(
        positive=np.concatenate([y for y, _, _ in held_out]),
        scores=np.concatenate([scores[:, place] for _, scores, _ in held_out]),
        fold=np.repeat(np.arange(k), [y.size for y, _, _ in held_out]),
        weights=np.concatenate([weights for _, _, weights in held_out]),
    )


def _held_out_scores(
    opened: Opened,
    scaling: Scaling,
    moments: ClassMoments,
    folds: HashFolds,
    coefs: np.ndarray,
    offsets: np.ndarray,
    seed: int,
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each fold (labels, scores at all points of the grid, weights) of sampled rows."""
    rng = np.random.default_rng(seed)
    rows = min(SAMPLE_ROWS, SAMPLE_SCORES // coefs.shape[1])
    chance = np.minimum(1.0, rows / 2 / moments.rows)
    found: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in range(folds.n_splits)]
    for X, y in opened:
        drawn = np.flatnonzero(rng.random(y.size) < chance[y.astype(int)])
        if not drawn.size:
            continue
        fold, Z, labels = folds.fold_of(X[drawn]), scaling(X[drawn]), y[drawn]
        for number in np.unique(fold):
            mine = fold == number
            scores = np.asarray(Z[mine] @ coefs[number].T) + offsets[number]
            found[number].append((labels[mine], scores))
    result = []
    for blocks in found:
        labels = np.concatenate([y for y, _ in blocks])
        scores = np.concatenate([scores for _, scores in blocks])
        result.append((labels, scores, 1.0 / chance[labels.astype(int)]))
    return result


def _stack(parts: list[Any]) -> Any:
    return sparse.csr_array(sparse.vstack(parts)) if sparse.issparse(parts[0]) else np.concatenate(parts)
