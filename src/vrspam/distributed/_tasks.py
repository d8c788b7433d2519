"""The tasks of every cluster engine: what is computed for one block of rows, and how results are added up.

No engine is imported here. A task takes the number of its block, X, y, the weights, and values that all blocks share.
"""

from __future__ import annotations

import functools
import operator

import numpy as np

from vrspam.estimators.base import AUCClassifierBase, validated_rows
from vrspam.model_selection.folds import HashFolds
from vrspam.model_selection.held_out import ValidationScores
from vrspam.model_selection.sources import add_block, add_to_folds
from vrspam.moments import ClassMoments
from vrspam.objective import WithinProducts


def add(parts: list):
    """Return the sum of a few results."""
    return functools.reduce(operator.add, parts)


def add_fold_moments(parts: list[list[ClassMoments]]) -> list[ClassMoments]:
    """Return the sum of the moments of each fold."""
    return [sum(fold[1:], fold[0]) for fold in zip(*parts, strict=True)]


def add_scores(parts: list[ValidationScores]) -> ValidationScores:
    """Join the scores of several blocks; the given scores are not changed."""
    total = ValidationScores(parts[0].most)
    for part in parts:
        total.add(part)
    return total


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
    number: int, X, y, weights, estimator: AUCClassifierBase, folds: HashFolds
) -> list[ClassMoments]:
    """Return the moments of a block's rows in each fold."""
    rows = validated_rows(estimator, number, X, y, weights)
    moments = [ClassMoments() for _ in range(folds.n_splits)]
    if rows is not None:
        add_to_folds(moments, rows, number, folds)
    return moments


def block_scores(
    number: int, X, y, weights, estimator: AUCClassifierBase, folds: HashFolds, coefs, positive_label, most: int
) -> ValidationScores:
    """Score the rows of a block, each with the coefficients that were fitted without its fold."""
    rows = validated_rows(estimator, number, X, y, weights)
    if rows is None:
        return ValidationScores(most)
    return ValidationScores.of(rows, positive_label, coefs, folds, most)
