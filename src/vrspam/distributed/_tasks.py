"""The tasks of every cluster engine: what is computed for one block of rows, and how results are added up.

No engine is imported here. A task takes the number of its block, X, y, the weights, and values that all blocks share.
"""

from __future__ import annotations

import functools
import operator

import numpy as np
from scipy import sparse

from vrspam._utils.validation import Rows
from vrspam.estimators.base import AUCClassifierBase, validated_rows
from vrspam.features import FeatureMap
from vrspam.model_selection.folds import HashFolds, HashSample
from vrspam.model_selection.sources import ClassSamples, add_block, add_to_folds, score_block
from vrspam.moments import ClassMoments
from vrspam.objective import WithinProducts
from vrspam.tables import frames


def add(parts: list):
    """Return the sum of a few results."""
    return functools.reduce(operator.add, parts)


def add_fold_moments(parts: list[list[ClassMoments]]) -> list[ClassMoments]:
    """Return the sum of the moments of each fold."""
    return [sum(fold[1:], fold[0]) for fold in zip(*parts, strict=True)]


def add_samples(parts: list[HashSample]) -> HashSample:
    """Join several samples; the given ones are not changed."""
    return functools.reduce(HashSample.add, parts, HashSample(parts[0].most))


def add_scores(parts: list[ClassSamples]) -> ClassSamples:
    """Join the scores of several blocks; the given scores are not changed."""
    negatives, positives = zip(*parts, strict=True)
    return add_samples(list(negatives)), add_samples(list(positives))


def block_moments(number: int, X, y, weights, estimator: AUCClassifierBase, full: bool) -> ClassMoments:
    """Return the moments of a block."""
    rows = validated_rows(estimator, number, X, y, weights)
    moments = ClassMoments(scatter=full)
    if rows is not None:
        add_block(moments, rows, number)
    return moments


def block_product(number: int, X, y, weights, estimator: AUCClassifierBase, known: tuple, w: np.ndarray) -> np.ndarray:
    """Return what a block adds to Σw; `known` holds the positive label, and the means and weights of the classes."""
    rows = validated_rows(estimator, number, X, y, weights)
    if rows is None:
        return np.zeros_like(w)
    positive, means, sizes = known
    return WithinProducts(rows.X, rows.y == positive, rows.weights, means, sizes) @ w


def block_fold_moments(
    number: int, X, y, weights, estimator: AUCClassifierBase, folds: HashFolds, features: FeatureMap | None = None
) -> list[ClassMoments]:
    """Return the moments of a block's rows, or of their features under a map, in each fold."""
    rows = table_rows(estimator, number, X, y, weights, features is not None)
    moments = [ClassMoments() for _ in range(folds.n_splits)]
    if rows is not None:
        add_to_folds(moments, rows, number, folds, features)
    return moments


def block_scores(
    number: int,
    X,
    y,
    weights,
    estimator: AUCClassifierBase,
    folds: HashFolds,
    positive_label,
    most: int,
    features: FeatureMap | None,
    coefs,
) -> ClassSamples:
    """Score the rows of a block, each with the coefficients that were fitted without its fold."""
    rows = table_rows(estimator, number, X, y, weights, features is not None)
    if rows is None:
        return HashSample(most), HashSample(most)
    return score_block(rows, positive_label, coefs, folds, most, features)


def table_rows(estimator: AUCClassifierBase, number: int, X, y, weights, for_map: bool) -> Rows | None:
    """A block, validated; for a feature map numbers may be missing."""
    if for_map and frames.is_frame(X):
        frames.check_frame(X)
        X = np.column_stack([frames.numbers(X, column) for column in range(X.shape[1])])
    return validated_rows(estimator, number, X, y, weights, table=for_map)


def block_sample(number: int, X, y, weights, estimator: AUCClassifierBase, folds: HashFolds, most: int) -> HashSample:
    """Return the rows of a block that may be in the sample, as hashes, labels, dense rows and weights."""
    rows = table_rows(estimator, number, X, y, weights, True)
    if rows is None:
        return HashSample(most)
    hashes = folds.hashes(rows.X)
    kept = np.lexsort([rows.y, hashes])[:most]  # equal rows may have different labels
    X = rows.X[kept].toarray() if sparse.issparse(rows.X) else rows.X[kept]
    return HashSample(most, hashes[kept], rows.y[kept], X, None if rows.weights is None else rows.weights[kept])
