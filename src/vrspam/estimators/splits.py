"""The steps of cross-validating a grid: splits, training moments of each, AUC of all coefficients on the rest.

Of X only its shape, its type and `X[rows]` are used, block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from vrspam import metrics
from vrspam._utils import array_api
from vrspam.estimators.base import Rows
from vrspam.estimators.mapped import MappedArray
from vrspam.features._frames import WHOLE_ROWS
from vrspam.moments import ClassMoments

BLOCK_BYTES = 1 << 25  # rows gathered, and scores held, at once
KEPT_BYTES = 1 << 30  # moments of all folds are kept up to this size
MOST_CANCELLATION = 1e6  # of the sixteen digits subtraction may cost six


class Split(NamedTuple):
    """Row numbers to train on and to validate on."""

    train: np.ndarray
    validation: np.ndarray


def make_splits(cv, rows: Rows, classes: np.ndarray, groups=None, random_state=None) -> list[Split]:
    """All splits of a scikit-learn splitter, an iterable or a number of folds; each part must hold both classes.

    A number of folds means stratified folds: consecutive rows if `random_state` is None, else shuffled ones.
    """
    if isinstance(cv, Integral) and random_state is not None:
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
    y, weights = array_api.on_host(rows.y), None if rows.weights is None else array_api.on_host(rows.weights)
    is_list = not (cv is None or isinstance(cv, Integral) or hasattr(cv, "split"))
    pairs = cv if is_list else check_cv(cv, y, classifier=True).split(rows.X, y, groups)
    splits = [_checked_split(number, pair, y.size) for number, pair in enumerate(pairs)]
    if not splits:
        raise ValueError(
            "cv gives no split at all: give a number of folds, a splitter, or a list of splits (a generator is empty "
            "once it was read)."
        )
    counts = weights is None or weights > 0
    for label in classes.tolist():
        member = (y == label) & counts
        for number, split in enumerate(splits):
            for part, index in zip(("training", "validation"), split, strict=True):
                if not member[index].any():
                    raise ValueError(
                        f"Fold {number}: its {part} part has no row of class {label!r}"
                        f"{'' if weights is None else ' with positive weight'}: use fewer folds, or a splitter "
                        "that spreads the classes over the folds (sklearn.model_selection.StratifiedKFold)."
                    )
    return splits


def _checked_split(number: int, pair: Any, n: int) -> Split:
    """The row numbers of one pair, which may be given as masks."""
    try:
        train, validation = pair
    except (TypeError, ValueError):
        raise ValueError(f"Fold {number}: cv must give pairs (training rows, validation rows), got no pair.") from None
    parts = []
    for part, index in (("training", train), ("validation", validation)):
        index = np.asarray(index)
        try:
            parts.append(np.arange(n)[index if index.size else index.astype(np.intp)])
        except (IndexError, TypeError, ValueError):
            parts.append(np.empty((0, 0)))
        if parts[-1].ndim != 1:
            raise ValueError(
                f"Fold {number}: its {part} part must be a list of row numbers below {n}, or a mask of {n} rows."
            )
    return Split(*parts)


def moments_of_splits(
    rows: Rows,
    splits: list[Split],
    classes: np.ndarray,
    kept_bytes: int = KEPT_BYTES,
    over: Callable[[Callable[[int], ClassMoments]], list[ClassMoments]] | None = None,
) -> tuple[ClassMoments, Callable[[int], ClassMoments]]:
    """The moments of all rows, and a function that gives the training moments of a split by its number.

    Where a split leaves out just its validation rows, its moments are total minus validation; where the
    validation parts are a partition of the rows, their moments add up to the total and X is read once (twice if
    keeping them all would take more than `kept_bytes`). `over` calls a function for the number of each split; by
    default one after the other.
    """
    n, d = rows.X.shape

    def gather(index: np.ndarray | None) -> ClassMoments:
        # Of a map only the chosen point need be certified, so float32 will often do.
        precise = not isinstance(rows.X, MappedArray)
        return ClassMoments(d, classes=classes).add_checked(*rows, index=index, precise=precise)

    once = np.ones(n, dtype=np.intp)
    uses = sum((np.bincount(split.validation, minlength=n) for split in splits), np.zeros(n, dtype=np.intp))
    folds: list[ClassMoments] = []
    if np.array_equal(uses, once) and len(splits) * 16 * d * d <= kept_bytes:

        def one(number: int) -> ClassMoments:
            return gather(splits[number].validation)

        folds = [one(number) for number in range(len(splits))] if over is None else over(one)
        total = folds[0]
        for fold in folds[1:]:
            total = total + fold
    else:
        total = gather(None)

    def training(number: int) -> ClassMoments:
        train, validation = splits[number]
        if train.size >= validation.size and np.array_equal(
            np.bincount(np.concatenate(splits[number]), minlength=n), once
        ):
            rest = total - (folds[number] if folds else gather(validation))
            if rest.cancellation <= MOST_CANCELLATION:
                return rest
        return gather(train)

    return total, training


def auc_of_coefs(rows: Rows, is_positive: np.ndarray, index: np.ndarray, coefs: np.ndarray) -> np.ndarray:
    """The (weighted) AUC, on the rows `index`, of the scores by each row of `coefs`."""
    auc = np.full(len(coefs), 0.5)
    used = np.flatnonzero(coefs.any(axis=1))  # without coefficients all scores are tied
    if array_api.device_namespace(rows.X) is not None:
        auc[used] = array_api.auc_of_rows(rows.X, is_positive, rows.weights, index, coefs[used])
        return auc
    weights = None if rows.weights is None else rows.weights[index]
    X: Any = rows.X
    dtype = X.dtype
    columns = max(1, BLOCK_BYTES // (dtype.itemsize * max(index.size, 1)))
    step = max(64, BLOCK_BYTES // (dtype.itemsize * max(coefs.shape[1], 1)))
    for first in range(0, used.size, columns):
        which = used[first : first + columns]
        chosen = coefs[which]
        if dtype == np.float32:  # a power of two keeps each row within range; ranks do not see it
            chosen = np.ldexp(chosen, -np.frexp(np.abs(chosen).max(axis=1, keepdims=True))[1])
        transposed = np.ascontiguousarray(chosen.T, dtype=dtype)
        scores = np.empty((which.size, index.size), dtype=dtype)
        for start in range(0, index.size, step):
            some = index[start : start + step]
            # equal rows must have equal scores, for ties to count as ties
            whole = np.pad(some, (0, -some.size % WHOLE_ROWS), mode="edge")
            product = X.products(whole, transposed) if isinstance(X, MappedArray) else X[whole] @ transposed
            scores[:, start : start + step] = product[: some.size].T
        auc[which] = metrics.roc_auc_columns(is_positive[index], scores.T, weights)
    return auc
