"""Folds of rows that come in blocks, as cross-validation takes them: moments first, then scores of held-out rows."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from vrspam._utils import array_api
from vrspam._utils.blas import SMALL, blas_threads
from vrspam._utils.validation import Rows, error_in_block
from vrspam.features.mapped import MappedArray
from vrspam.model_selection.group_splits import ImpossibleFolds
from vrspam.model_selection.hashing import HashFolds, HashSample
from vrspam.model_selection.held_out import HeldOut
from vrspam.model_selection.sources import FoldProblem
from vrspam.moments import ClassMoments
from vrspam.objective import SmoothLoss, SquaredPairLoss
from vrspam.solvers import MOMENTS_MAX_FEATURES_DENSE


class FoldMoments:
    """Moments of each fold of rows that come in blocks; the training part of a fold is the sum of the others."""

    like: Any = None

    def __init__(self, folds: list[ClassMoments]):
        for number, fold in enumerate(folds):
            if not fold.complete:
                found = "rows of one class only" if fold.classes.size and fold.weights.any() else "no rows"
                raise ImpossibleFolds(
                    f"Fold {number} has {found}, and needs both classes: use fewer folds, or another seed of the folds."
                )
        self.folds, self.n_folds = folds, len(folds)
        self.total = sum(folds[1:], folds[0])

    def problem(self, many_products: bool) -> FoldProblem:
        """The size of the work on one fold."""
        d = self.total.means.shape[1]
        return FoldProblem(d <= SMALL, many_products, 10 * 8 * d * d)

    def points_at_once(self, fold: int) -> None:
        """One pass over the blocks scores all rows at all points."""

    def training(self, fold: int) -> tuple[SmoothLoss, np.ndarray]:
        """The loss on all other folds."""
        others = [moments for other, moments in enumerate(self.folds) if other != fold]
        moments = sum(others[1:], others[0])
        return SquaredPairLoss.from_moments(moments), moments.means.mean(axis=0)


class BlocksInSequence(FoldMoments):
    """Folds of blocks that are read twice, for moments and for scores of at most `most` held-out rows of each class."""

    def __init__(self, blocks: Iterable[Rows], hash_folds: HashFolds, most: int):
        self.blocks, self.hash_folds, self.most = blocks, hash_folds, most
        moments = [ClassMoments() for _ in range(hash_folds.n_splits)]
        for number, rows in enumerate(blocks):
            number = getattr(blocks, "number", number)  # a stream passes over blocks without rows
            add_to_folds(moments, rows, number, hash_folds)
        super().__init__(moments)

    def held_out(self, coefs: Mapping[int, np.ndarray]) -> HeldOut:
        """Scores of all rows, or of a sample of each class, in one pass."""
        stacked, positive = np.stack([coefs[fold] for fold in range(self.n_folds)]), self.total.classes[1]
        scored = (score_block(rows, positive, stacked, self.hash_folds, self.most) for rows in self.blocks)
        return held_out_of(add_scores(scored))


ClassSamples = tuple[HashSample, HashSample]  # of the negative and of the positive rows


def score_block(
    rows: Rows, positive_label: object, coefs: np.ndarray, folds: HashFolds, most: int, features: Any = None
) -> ClassSamples:
    """Score each row of a block by the coefficients of its fold; `coefs` has the shape (folds, points, features).

    The features are the columns of X, or those of the map `features`.
    The `most` rows of each class with the smallest hashes are kept, whatever the order of the rows and their blocks.
    """
    hashes = folds.hashes(rows.X)
    fold = folds.fold_of_hashes(hashes)
    scores = np.empty((rows.X.shape[0], coefs.shape[1]))
    for side in range(folds.n_splits):
        index = np.flatnonzero(fold == side)
        if index.size:
            part = rows.X[index]
            scores[index] = part @ coefs[side].T if features is None else features.products(part, coefs[side].T)
    weights = np.ones(fold.size) if rows.weights is None else rows.weights
    positive = rows.y == positive_label
    columns = (hashes, weights, fold, scores)
    negatives, positives = (np.flatnonzero((positive == side) & (weights > 0)) for side in (False, True))
    of_negatives, of_positives = ([column[side] for column in columns] for side in (negatives, positives))
    return HashSample(most, *of_negatives), HashSample(most, *of_positives)


def add_scores(parts: Iterable[ClassSamples]) -> ClassSamples:
    """Join the scores of several blocks, of which there is at least one; the given scores are not changed."""
    total: ClassSamples | None = None
    for negatives, positives in parts:
        below, above = total or (HashSample(negatives.most), HashSample(positives.most))
        total = below.add(negatives), above.add(positives)
    assert total is not None
    return total


def held_out_of(samples: ClassSamples) -> HeldOut:
    """The rows that were kept, fold by fold; the weights say how many rows each stands for."""
    sides = [sample.columns[1:] for sample in samples]
    sizes = [weights.size for weights, _, _ in sides]
    fold = np.concatenate([fold for _, fold, _ in sides])
    order = np.argsort(fold, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    weights, scores = np.empty(order.size), np.empty((order.size, sides[0][2].shape[1]))
    for sample, (given, _, of_side), where in zip(samples, sides, np.split(place, sizes[:1]), strict=True):
        weights[where], scores[where] = given * (sample.seen / max(given.size, 1)), of_side
    positive = (np.arange(order.size) >= sizes[0])[order]
    return HeldOut(positive, scores, fold[order], None if np.all(weights == 1.0) else weights)


def add_to_folds(moments: list[ClassMoments], rows: Rows, number: int, folds: HashFolds, features: Any = None) -> None:
    """Add the rows of a block, or their features under a map, to the moments of their folds."""
    n_features = rows.X.shape[1]
    if array_api.device_namespace(rows.X) is not None:
        raise ValueError(
            "Cross-validation of blocks hashes and scores rows on the host: give blocks of NumPy arrays, or all rows "
            "at once to fit."
        )
    if n_features > MOMENTS_MAX_FEATURES_DENSE:
        raise ValueError(
            f"Cross-validation of blocks keeps {2 * folds.n_splits + 2} matrices of {n_features} × {n_features}: with "
            f"more than {MOMENTS_MAX_FEATURES_DENSE:,} features leave some out, or hold all rows in memory."
        )
    fold = folds.fold_of(rows.X)
    if features is not None:
        rows = rows._replace(X=MappedArray(rows.X, features))
    for side, part in enumerate(moments):
        index = np.flatnonzero(fold == side)
        if index.size:
            add_block(part, rows, number, index)


def add_block(moments: ClassMoments, rows: Rows, number: int, index: np.ndarray | None = None) -> None:
    """Add a block, or the rows of it numbered by `index`, to moments; an error names the block."""
    try:
        with blas_threads(columns=rows.X.shape[1]):
            moments.add_checked(*rows, index=index)
    except ValueError as error:
        raise error_in_block(number, error) from error
