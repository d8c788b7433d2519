"""Folds of rows in memory: by a splitter, a number of folds, or time; each part holds both classes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from vrspam._utils import array_api
from vrspam._utils.array_api import on_host
from vrspam._utils.validation import Rows, row_numbers
from vrspam.metrics import correction
from vrspam.metrics.folds import torn_groups
from vrspam.model_selection.group_splits import ImpossibleFolds, group_folds
from vrspam.model_selection.held_out import HeldOut, scores_of
from vrspam.pairs import TWO_CLASSES, Pairs


class Split(NamedTuple):
    """Row numbers to train on and to validate on."""

    train: np.ndarray
    validation: np.ndarray


class FoldedRows(NamedTuple):
    """Rows, in memory or on a device, and the parts of them that each fold trains on and holds out."""

    rows: Rows
    splits: list[Split]
    classes: np.ndarray
    positive: np.ndarray  # which rows are positive, on the host
    groups: Any = None  # the group of each row, if rows belong together
    pairs: Pairs = TWO_CLASSES  # the pairs that count

    @property
    def n_folds(self) -> int:
        return len(self.splits)

    def sample(self, n_points: int, seed: int) -> correction.Sample:
        """Draw the rows whose scores are kept."""
        strata = self.pairs.units
        whole_strata = False
        if strata is not None and self.groups is not None:
            whole_strata = torn_groups(strata, correction.group_numbers(self.groups, strata.size)) == 0
        return correction.draw_sample(
            parts=[split.validation for split in self.splits],
            trained=[split.train.size for split in self.splits],
            positive=self.positive,
            weights=None if self.rows.weights is None else on_host(self.rows.weights),
            groups=self.groups,
            n_points=n_points,
            seed=seed,
            whole_strata=whole_strata,
        )

    def overlap(self) -> np.ndarray:
        """The number of training rows that each two folds have in common."""
        used = np.zeros((len(self.splits), self.rows.X.shape[0]), dtype=np.float32)
        for line, split in zip(used, self.splits, strict=True):
            line[split.train] = 1.0
        return (used @ used.T).astype(np.float64)

    def out_of_fold(self, coefs: np.ndarray, intercepts: np.ndarray, known: np.ndarray | None = None) -> HeldOut:
        """Score each held-out row by the model of its fold, in the order of the rows.

        `coefs` have the shape (folds, features). `known` are the scores, fold by fold and without intercepts, where
        they are known already. A row that several folds hold out occurs once per fold, with its weight divided.
        """
        (X, _, weights), parts = self.rows, [split.validation for split in self.splits]
        if known is None:
            pairs = zip(parts, coefs, strict=True)
            known = np.concatenate([scores_of(X, part, coef[np.newaxis])[:, 0] for part, coef in pairs])
        index, fold = np.concatenate(parts), np.repeat(np.arange(len(parts)), list(map(len, parts)))
        order = np.argsort(index, kind="stable")
        index, fold, scores = index[order], fold[order], known[order]
        times = np.bincount(index, minlength=X.shape[0])[index]
        weights_of_rows = np.ones(index.size) if weights is None else on_host(weights)[index]
        return HeldOut(self.positive[index], scores + intercepts[fold], fold, weights_of_rows / times, index)


def classes_for_splitters(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The labels if scikit-learn takes them for classes; for 0.25 and 0.5, bytes or objects, whether a row is positive.

    >>> classes_for_splitters(np.array([0.25, 0.5]), np.array([0.25, 0.5])).tolist()
    [0, 1]
    """
    taken = y.dtype.kind not in "fOS"
    if y.dtype.kind == "f":
        taken = np.array_equal(y, np.floor(y))
    elif y.dtype == object:
        taken = all(isinstance(label, str) for label in y)
    return y if taken else (y == classes[1]).astype(np.int8)


def refuse_rows_in_both_parts(number: int, train: np.ndarray, validation: np.ndarray, n_rows: int) -> None:
    """Raise an error if a fold is validated on rows that it was trained on."""
    held_out = np.zeros(n_rows, dtype=bool)
    held_out[validation] = True
    both = np.unique(train[held_out[train]]).size
    if both:
        raise ValueError(
            f"Fold {number} is validated on {both:,} of the rows that it is trained on, and a model is too good on "
            "rows that it has seen: leave these rows out of one of its two parts."
        )


def make_splits(
    cv, rows: Rows, classes: np.ndarray, groups=None, random_state=None, ranked: bool = False
) -> list[Split]:
    """All splits of a scikit-learn splitter, an iterable or a number of folds; each part must hold both classes.

    A number of folds means stratified folds of shuffled rows; with `groups` whole groups are held out. None means 5.
    The seed is 0 if `random_state` is None. Rows that are `ranked` are of two classes only in name.
    """
    cv = 5 if cv is None else cv
    y, weights = array_api.on_host(rows.y), None if rows.weights is None else array_api.on_host(rows.weights)
    if isinstance(cv, Integral) and int(cv) > 1:
        seed = 0 if random_state is None else random_state
        counts = np.ones(y.size, dtype=bool) if weights is None else weights > 0
        if groups is not None:
            cv = group_folds(y == classes[1], groups, int(cv), seed, counts)
        else:
            cv = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
    is_list = not (isinstance(cv, Integral) or hasattr(cv, "split"))
    target = classes_for_splitters(y, classes)
    splits: list[Split] = []
    for number, pair in enumerate(
        cv if is_list else check_cv(cv, target, classifier=True).split(rows.X, target, groups)
    ):
        try:
            train, validation = pair
        except (TypeError, ValueError):
            raise ValueError(
                f"Fold {number}: cv must give pairs (training rows, validation rows), and this is not a pair."
            ) from None
        parts = []
        for part, index in (("training", train), ("validation", validation)):
            numbers = row_numbers(index, y.size)
            if numbers is None:
                raise ValueError(
                    f"Fold {number}: its {part} part must be a list of row numbers below {y.size}, or a mask of "
                    f"{y.size} rows."
                )
            parts.append(numbers)
        splits.append(Split(*parts))
    if not splits:
        raise ValueError(
            "cv gives no split at all: give a number of folds, a splitter, or a list of splits (a generator is empty "
            "once it was read)."
        )
    members = [(y == label) if weights is None else (y == label) & (weights > 0) for label in classes.tolist()]
    sizes = np.array([[[np.count_nonzero(member[part]) for part in split] for split in splits] for member in members])
    if not sizes.all():
        raise empty_part(sizes, classes, weights is not None, ranked)
    for number, split in enumerate(splits):
        refuse_rows_in_both_parts(number, *split, y.size)
    return splits


def of_counted_rows(splits: list[Split], counted: np.ndarray, n_rows: int) -> list[Split]:
    """The same splits, of the counted rows alone, by their numbers among these."""
    place = np.full(n_rows, -1)
    place[counted] = np.arange(counted.size)
    found = []
    for split in splits:
        train, validation = place[split.train], place[split.validation]
        found.append(Split(train[train >= 0], validation[validation >= 0]))
    return found


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


def with_both_classes(
    splits: list[tuple[np.ndarray, np.ndarray]], positive: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The folds whose training and validation parts both hold rows of both classes."""
    return [split for split in splits if all(0 < positive[part].sum() < part.size for part in split)]


def empty_part(sizes: np.ndarray, classes: np.ndarray, weighted: bool, ranked: bool = False) -> ImpossibleFolds:
    """The error that a part of a fold has no row of a class; `sizes` has the shape (classes, folds, parts)."""
    side, number, part = np.argwhere(sizes == 0)[0].tolist()
    which = f"Fold {number}: its {('training', 'validation')[part]} part"
    if ranked:
        return ImpossibleFolds(
            f"{which} holds only rows that rank {('above', 'below')[side]} most others: give a number of folds, or "
            "shuffle the rows."
        )
    return ImpossibleFolds(
        f"{which} has no row of class {classes.tolist()[side]!r}"
        f"{' with positive weight' if weighted else ''}: use fewer folds, or a splitter that spreads the classes "
        "over the folds (sklearn.model_selection.StratifiedKFold)."
    )
