"""What is computed for one block of rows, and how results are added up: the tasks of every cluster engine.

No engine is imported here. A task takes the number of its block, X, y and the weights, and then what all blocks share.
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
    """The sum of a few results."""
    return functools.reduce(operator.add, parts)


def add_fold_moments(parts: list[list[ClassMoments]]) -> list[ClassMoments]:
    """The sum of fold moments, fold by fold."""
    return [sum(fold[1:], fold[0]) for fold in zip(*parts, strict=True)]


def add_scores(parts: list[ValidationScores]) -> ValidationScores:
    """The scores of all blocks, none of which is changed."""
    total = ValidationScores(parts[0].most)
    for part in parts:
        total.add(part)
    return total


def block_moments(number: int, X, y, weights, estimator: AUCClassifierBase, full: bool) -> ClassMoments:
    """The moments of a block."""
    rows = validated_rows(estimator, number, X, y, weights)
    moments = ClassMoments(scatter=full)
    if rows is not None:
        add_block(moments, rows, number)
    return moments


def block_product(number: int, X, y, weights, estimator: AUCClassifierBase, known: tuple, w: np.ndarray) -> np.ndarray:
    """The part of Σw that a block adds; `known` are the positive label, the means and the weights of the classes."""
    rows = validated_rows(estimator, number, X, y, weights)
    if rows is None:
        return np.zeros_like(w)
    positive, means, sizes = known
    return WithinProducts(rows.X, rows.y == positive, rows.weights, means, sizes) @ w


def block_fold_moments(
    number: int, X, y, weights, estimator: AUCClassifierBase, folds: HashFolds
) -> list[ClassMoments]:
    """The moments of the rows of a block in each fold."""
    rows = validated_rows(estimator, number, X, y, weights)
    moments = [ClassMoments() for _ in range(folds.n_splits)]
    if rows is not None:
        add_to_folds(moments, rows, number, folds)
    return moments


def block_scores(
    number: int, X, y, weights, estimator: AUCClassifierBase, folds: HashFolds, coefs, positive_label, most: int
) -> ValidationScores:
    """The scores of the rows of a block, each by the coefficients of its own fold."""
    rows = validated_rows(estimator, number, X, y, weights)
    if rows is None:
        return ValidationScores(most)
    return ValidationScores.of(rows, positive_label, coefs, folds, most)
