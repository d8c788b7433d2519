"""Folds of rows in memory: stratified, or such that groups stay together, or such that each looks forward in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from vrspam._utils.messages import Parameter, WordedError
from vrspam.tool.table import OpenedTable

LEAST = 4  # rows of each class: two folds of two


def check_size(counts: Any) -> int:
    """Return the number of rows of the smaller class; refuse too few."""
    smaller = int(min(counts))
    if smaller < LEAST:
        rows = f"{smaller} row{'s' if smaller != 1 else ''}"
        raise ValueError(f"one of the two classes has only {rows}: collect more, at least {LEAST} of each are needed")
    return smaller


def stratified_folds(positive: np.ndarray, n_splits: int, seed: int) -> StratifiedKFold:
    """Folds with at least two rows of each class in each, as many as asked for where the classes allow it."""
    smaller = check_size([positive.sum(), (~positive).sum()])
    return StratifiedKFold(min(n_splits, smaller // 2), shuffle=True, random_state=seed)


class FixedFolds:
    """Splits that are known, in the form of a splitter of scikit-learn."""

    def __init__(self, splits: Sequence[tuple[np.ndarray, np.ndarray]]):
        self.splits = splits

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return len(self.splits)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        yield from self.splits


def make_folds(opened: OpenedTable, positive: np.ndarray, n_splits: int, seed: int) -> Any:
    """Folds of rows in memory: stratified, or such that groups stay together, or such that each looks forward."""
    smaller = check_size([positive.sum(), (~positive).sum()])
    if opened.groups is not None:
        folds = StratifiedGroupKFold(min(n_splits, smaller // 2), shuffle=True, random_state=seed)
        return FixedFolds(list(folds.split(np.empty(positive.size), positive, opened.groups)))
    if opened.time is not None:
        splits = forward_folds(opened.time, positive, min(n_splits, smaller // 2))
        if len(splits) < 2:  # one fold shows neither standard errors nor bands
            raise WordedError(
                "{time} has too few different times to make two folds that look forward: give a column of finer times, "
                "or leave it out",
                time=Parameter("time"),
            )
        return FixedFolds(splits)
    return stratified_folds(positive, n_splits, seed)


def forward_folds(time: np.ndarray, positive: np.ndarray, n_splits: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds that train on earlier rows and validate on the next part; rows of the same time are in the same part.

    The parts hold about the same number of rows of the rarer class.

    >>> folds = forward_folds(np.array([3.0, 1.0, 2.0, 4.0, 5.0, 6.0]), np.array([0, 0, 1, 1, 0, 1]) == 1, 2)
    >>> [(train.tolist(), test.tolist()) for train, test in folds]
    [([1, 2], [0, 3]), ([0, 1, 2, 3], [4, 5])]
    """
    rarer = positive if positive.sum() <= (~positive).sum() else ~positive
    ordered = np.sort(time[rarer])
    cuts = [ordered[ordered.size * k // (n_splits + 1) - 1] for k in range(1, n_splits + 1)]
    part = np.searchsorted(np.unique(cuts), time, side="left")
    return [(np.flatnonzero(part < k), np.flatnonzero(part == k)) for k in range(1, int(part.max()) + 1)]


def split_off(opened: OpenedTable, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of rows to train on, and of about so large a share to keep from it, with as many positives as elsewhere.

    Groups stay together, and of rows with times the latest are kept; rows of the same time stay together.
    """
    _, positive = opened.load_rows()
    if opened.time is not None:
        rarer = positive if positive.sum() <= (~positive).sum() else ~positive
        ordered = np.sort(opened.time[rarer])
        border = ordered[min(round((1.0 - share) * ordered.size), ordered.size - 1)]
        kept = np.flatnonzero(opened.time >= border)
    elif opened.groups is not None:
        parts = min(10, check_size([positive.sum(), (~positive).sum()]))
        folds = StratifiedGroupKFold(parts, shuffle=True, random_state=seed)
        tests = [test for _, test in folds.split(np.empty(positive.size), positive, opened.groups)]
        kept = np.sort(np.concatenate(tests[: min(max(1, round(share * parts)), parts - 1)]))
    else:
        rng = np.random.default_rng(seed)
        sides = [rng.permutation(np.flatnonzero(side)) for side in (positive, ~positive)]
        kept = np.sort(np.concatenate([side[: round(share * side.size)] for side in sides]))
    others = np.setdiff1d(np.arange(positive.size), kept)
    for part, where in ((kept, "kept for the test"), (others, "left to train on")):
        smaller = int(min(positive[part].sum(), (~positive[part]).sum()))
        if smaller < LEAST:
            raise WordedError(
                "{holdout} has {smaller} rows of a class {where}, and at least {least} are needed: give another share, "
                "or leave it out for cross-validation",
                holdout=Parameter("holdout", share),
                smaller=smaller,
                where=where,
                least=LEAST,
            )
    return others, kept
