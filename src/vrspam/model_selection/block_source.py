"""Folds of rows that come in blocks, as cross-validation takes them: moments first, then scores of held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vrspam._utils import array_api
from vrspam._utils.blas import SMALL
from vrspam.features import FeatureMap
from vrspam.features.mapped import MappedArray
from vrspam.model_selection.group_splits import ImpossibleFolds
from vrspam.model_selection.hashing import HashFolds, HashSample
from vrspam.model_selection.held_out import HeldOut
from vrspam.model_selection.sources import FoldProblem
from vrspam.moments import ClassMoments
from vrspam.objective import SmoothLoss, SquaredPairLoss
from vrspam.objective.blocks import Block, Blocks, add_to_moments
from vrspam.solvers import MOMENTS_MAX_FEATURES_DENSE

ClassSamples = tuple[HashSample, HashSample]  # of the negative and of the positive rows


class BlockFolds:
    """Folds of rows in blocks, or of their features under a map, in two readings: for moments, and for scores.

    The training part of a fold is the sum of the other folds. At most `most` held-out rows of each class are scored.
    """

    like: Any = None

    def __init__(self, blocks: Blocks, hash_folds: HashFolds, most: int, features: FeatureMap | None = None):
        self.blocks = blocks
        self.hash_folds = hash_folds
        self.most = most
        self.features = features
        self.folds = blocks.reduce(add_to_folds, add_folds, hash_folds, features)
        self.n_folds = len(self.folds)
        refuse_incomplete(self.folds)
        self.total = sum(self.folds[1:], self.folds[0])

    def problem(self, many_products: bool) -> FoldProblem:
        """The size of the work on one fold."""
        d = self.total.means.shape[1]
        return FoldProblem(d <= SMALL, many_products, 10 * 8 * d * d)

    def points_at_once(self, fold: int) -> None:
        """One reading of the blocks scores all rows at all points."""

    def training(self, fold: int) -> tuple[SmoothLoss, np.ndarray]:
        """The loss on all other folds."""
        others = [moments for other, moments in enumerate(self.folds) if other != fold]
        moments = sum(others[1:], others[0])
        return SquaredPairLoss.from_moments(moments), moments.means.mean(axis=0)

    def held_out(self, coefs: Mapping[int, np.ndarray]) -> HeldOut:
        """Scores of all rows, or of a sample of each class, in one reading."""
        stacked = np.stack([coefs[fold] for fold in range(self.n_folds)])
        positive = self.total.classes[1]
        return held_out_scores(self.blocks, self.hash_folds, self.most, positive, stacked, self.features)


def refuse_incomplete(folds: list[ClassMoments]) -> None:
    """Refuse folds of which one has no rows of some class."""
    for number, fold in enumerate(folds):
        if fold.complete:
            continue
        has_rows = fold.classes.size and fold.weights.any()
        what = "rows of one class only" if has_rows else "no rows"
        raise ImpossibleFolds(
            f"Fold {number} has {what}, and needs both classes: use fewer folds, or another seed of the folds."
        )


def held_out_scores(
    blocks: Blocks,
    folds: HashFolds,
    most: int,
    positive: object,
    coefs: np.ndarray,
    features: FeatureMap | None = None,
) -> HeldOut:
    """Scores of all rows, or of a sample of each class, by the coefficients of their folds, in one reading.

    `coefs` has the shape (folds, points, features).
    """
    return held_out_of(blocks.reduce(add_scores_of_block, add_scores, positive, coefs, folds, most, features))


# What a block adds to a total, and two totals added.


def add_to_folds(
    total: list[ClassMoments] | None, block: Block, folds: HashFolds, features: FeatureMap | None = None
) -> list[ClassMoments]:
    """Add a block's rows, or their features under a map, to the moments of their folds, in place."""
    rows = block.rows
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
        block = block._replace(rows=rows._replace(X=MappedArray(rows.X, features)))
    if total is None:
        total = [ClassMoments() for _ in range(folds.n_splits)]
    for number, moments in enumerate(total):
        index = np.flatnonzero(fold == number)
        if index.size:
            add_to_moments(moments, block, index)
    return total


def add_folds(total: list[ClassMoments], part: list[ClassMoments]) -> list[ClassMoments]:
    """The sum of the moments of each fold, in place of `total`."""
    return [of_fold.put_in(other) for of_fold, other in zip(total, part, strict=True)]


def score_block(
    block: Block,
    positive_label: object,
    coefs: np.ndarray,
    folds: HashFolds,
    most: int,
    features: FeatureMap | None = None,
) -> ClassSamples:
    """Score each row of a block by the coefficients of its fold; `coefs` has the shape (folds, points, features).

    The features are the columns of X, or those of the map `features`.
    The `most` rows of each class with the smallest hashes are kept, whatever the order of the rows and their blocks.
    """
    rows = block.rows
    hashes = folds.hashes(rows.X)
    fold = folds.fold_of_hashes(hashes)
    scores = np.empty((rows.X.shape[0], coefs.shape[1]))
    for number, of_fold in enumerate(coefs):
        index = np.flatnonzero(fold == number)
        if index.size == 0:
            continue
        if features is None:
            scores[index] = rows.X[index] @ of_fold.T
        else:
            scores[index] = features.products(rows.X[index], of_fold.T)
    weights = np.ones(fold.size) if rows.weights is None else rows.weights
    positive = rows.y == positive_label
    samples = []
    for side in (False, True):
        kept = np.flatnonzero((positive == side) & (weights > 0))
        samples.append(HashSample(most, hashes[kept], weights[kept], fold[kept], scores[kept]))
    return samples[0], samples[1]


def add_scores_of_block(
    total: ClassSamples | None,
    block: Block,
    positive_label: object,
    coefs: np.ndarray,
    folds: HashFolds,
    most: int,
    features: FeatureMap | None = None,
) -> ClassSamples:
    """Add the scores of a block, as `score_block` gives them."""
    part = score_block(block, positive_label, coefs, folds, most, features)
    return part if total is None else add_scores(total, part)


def add_scores(total: ClassSamples, part: ClassSamples) -> ClassSamples:
    """Both samples of both classes, in place of `total`."""
    return total[0].add(part[0]), total[1].add(part[1])


def held_out_of(samples: ClassSamples) -> HeldOut:
    """The rows that were kept, fold by fold; the weights say how many rows each stands for."""
    columns = [sample.columns for sample in samples]
    fold = np.concatenate([of_side for _, _, of_side, _ in columns])
    order = np.argsort(fold, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)

    n_negatives = columns[0][0].size
    n_points = columns[0][3].shape[1]
    weights = np.empty(order.size)
    scores = np.empty((order.size, n_points))
    for sample, of_side, where in zip(samples, columns, (place[:n_negatives], place[n_negatives:]), strict=True):
        _, of_rows, _, of_points = of_side
        weights[where] = of_rows * (sample.seen / max(of_rows.size, 1))
        scores[where] = of_points
    positive = order >= n_negatives
    return HeldOut(positive, scores, fold[order], None if np.all(weights == 1.0) else weights)
