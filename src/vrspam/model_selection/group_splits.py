"""Folds of whole groups of rows, whose parts all hold rows of both classes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from vrspam._utils.warnings import FewerFolds, warn
from vrspam.metrics import correction

MANY_GROUPS = 20_000  # beyond, scikit-learn's splitter takes minutes

Splits = list[tuple[np.ndarray, np.ndarray]]


class ImpossibleFolds(ValueError):
    """Some part of some fold would have nothing to rank; the command line says so in its own words."""


def group_folds(
    positive: np.ndarray, groups: Any, n_splits: int, seed: Any, counts: np.ndarray | None = None
) -> Splits:
    """Stratified folds of whole groups: `n_splits`, or the most whose parts all have counted rows of both classes.

    >>> positive, groups = np.array([0, 1, 0, 1, 0, 1]) == 1, ["a", "a", "b", "b", "c", "c"]
    >>> len(group_folds(positive, groups, 3, 0))
    3
    """
    number = correction.group_numbers(groups, positive.size)
    counted = np.ones(positive.size, dtype=bool) if counts is None else counts
    n_folds = min(n_splits, most_folds(positive, number, counted))
    if n_folds < 2:
        raise ImpossibleFolds(
            f"The {np.unique(number).size} groups cannot be split into two parts that both have rows of both classes: "
            "give rows of more groups, or leave the groups out if rows of one group are independent."
        )
    if n_folds < n_splits:
        warn(FewerFolds(n_folds, n_splits))
    splits = _stratified(positive, number, n_folds, seed)
    if splits is None or not all(_has_both(positive, part[counted[part]]) for split in splits for part in split):
        fold = spread_groups(positive, number, n_folds, seed, counted)[number]
        splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
    return splits


def most_folds(positive: np.ndarray, number: np.ndarray, counted: np.ndarray) -> int:
    """The largest number of folds of whole groups that all hold out both classes; below 2 there is no split.

    A fold needs a group of both classes, or one of each: the mixed groups, and the smaller number of the pure ones.

    >>> number = np.array([0, 0, 1, 2, 2, 3])
    >>> most_folds(np.array([0, 1, 1, 0, 0, 1]) == 1, number, np.ones(6, dtype=bool))
    2
    """
    negatives, positives = _class_counts(positive, number, counted)
    mixed = int(np.sum((negatives > 0) & (positives > 0)))
    pure = int(np.sum((negatives > 0) & (positives == 0))), int(np.sum((negatives == 0) & (positives > 0)))
    return mixed + min(pure)


def spread_groups(
    positive: np.ndarray, number: np.ndarray, n_folds: int, seed: Any, counted: np.ndarray | None = None
) -> np.ndarray:
    """The fold of each group, at most `most_folds` of them: both classes are spread as evenly as whole groups allow.

    The groups are dealt out by size, the largest first, each to the fold that has least of what the group has: that
    adds least to the sum of squares of the shares of both classes in all folds.

    >>> number = np.repeat(np.arange(6), 10)
    >>> fold = spread_groups(number < 2, number, 2, seed=0)
    >>> sorted(fold[:2].tolist()), sorted(fold[2:].tolist())
    ([0, 1], [0, 0, 1, 1])
    """
    counted = np.ones(positive.size, dtype=bool) if counted is None else counted
    counts = _class_counts(positive, number, counted)
    rows = np.bincount(number, minlength=counts.shape[1])
    shares = np.vstack([counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), 0.01 * rows / positive.size])
    order = np.random.default_rng(seed).permutation(rows.size)
    order = order[np.argsort(-shares.sum(axis=0)[order], kind="stable")]

    fold = np.full(rows.size, -1)
    filled = np.zeros((n_folds, 3))
    for place, members in enumerate(_first_of_each_fold(counts, order, n_folds)):
        fold[members] = place
        filled[place] += shares[:, members].sum(axis=1)

    held = filled.tolist()
    for group in order[fold[order] < 0].tolist():
        a, b, c = shares[:, group].tolist()
        costs = [a * one[0] + b * one[1] + c * one[2] for one in held]
        best = costs.index(min(costs))
        fold[group] = best
        held[best] = [held[best][0] + a, held[best][1] + b, held[best][2] + c]
    return fold


def _first_of_each_fold(counts: np.ndarray, order: np.ndarray, n_folds: int) -> list[list[int]]:
    """The first groups of each fold, so that none lacks a class: a mixed group, or a pure one of each class."""
    negatives, positives = counts[:, order] > 0
    mixed = [[group] for group in order[negatives & positives].tolist()]
    pairs = zip(order[negatives & ~positives].tolist(), order[positives & ~negatives].tolist(), strict=False)
    return [*mixed, *map(list, pairs)][:n_folds]


def _class_counts(positive: np.ndarray, number: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Counted negative and positive rows of each group, an array (2, groups)."""
    n_groups = int(number.max(initial=-1)) + 1
    return np.stack([np.bincount(number[counted & side], minlength=n_groups) for side in (~positive, positive)])


def _stratified(positive: np.ndarray, number: np.ndarray, n_folds: int, seed: Any) -> Splits | None:
    """The folds of scikit-learn's splitter, or None where it refuses or would take minutes."""
    if int(number.max()) >= MANY_GROUPS:
        return None
    with warnings.catch_warnings():  # a class may have fewer rows than folds: the parts are looked at afterwards
        warnings.simplefilter("ignore", UserWarning)
        try:
            splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
            return list(splitter.split(positive, positive, number))
        except ValueError:
            return None


def _has_both(positive: np.ndarray, part: np.ndarray) -> bool:
    return np.unique(positive[part]).size == 2
