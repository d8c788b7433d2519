"""Scores of held-out rows: each row is scored by a model that was trained on the other folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils import array_api
from vrspam._utils.validation import Rows
from vrspam.model_selection.folds import HashFolds


class HeldOutBlock(NamedTuple):
    """The held-out rows of one fold, or a sample of them, and their scores at some points of the grid.

    Attributes
    ----------
    fold : int
    points : ndarray of int
        Which points of the grid the columns of `scores` belong to.
    positive : boolean array of shape (rows,)
    weights : array of shape (rows,) or None
        How many rows each one stands for; None means 1.
    scores : array of shape (rows, points)
        Without intercept. Of float32 rows, and in float32, each column is divided by a power of two so that it stays
        within the range of float32; ranks do not depend on it.
    exponents : ndarray of int or None
        These powers: `values` multiplies by them.
    """

    fold: int
    points: np.ndarray
    positive: Any
    weights: Any
    scores: Any
    exponents: np.ndarray | None = None

    def values(self) -> np.ndarray:
        """The scores as they are, in float64."""
        scores = np.asarray(array_api.on_host(self.scores), dtype=np.float64)
        return scores if self.exponents is None else np.ldexp(scores, self.exponents)


class HeldOut(NamedTuple):
    """Held-out rows at one point of the grid: scores by the model of the other folds, with its intercept.

    Attributes
    ----------
    positive : boolean array of n
    scores : array of n
    fold : array of n
        The fold that holds each row out.
    weights : array of n
        How many rows each one stands for.
    places : array of n or None
        Which of the training rows these are, where they were in memory.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam import AUCClassifierCV
    >>> model = AUCClassifierCV(features="standardized").fit(*load_breast_cancer(return_X_y=True))
    >>> held_out = model.out_of_fold_
    >>> held_out.scores.shape, sorted(set(held_out.fold.tolist()))
    ((569,), [0, 1, 2, 3, 4])
    """

    positive: np.ndarray
    scores: np.ndarray
    fold: np.ndarray
    weights: np.ndarray
    places: np.ndarray | None = None


def held_out_at(blocks: Sequence[HeldOutBlock], point: int, intercepts: np.ndarray) -> HeldOut:
    """The scores at one point of the grid, of blocks that hold all points; `intercepts` has one entry per fold."""
    sizes = [block.positive.size for block in blocks]
    return HeldOut(
        np.concatenate([block.positive for block in blocks]),
        np.concatenate([block.values()[:, point] + intercepts[block.fold] for block in blocks]),
        np.repeat([block.fold for block in blocks], sizes),
        np.concatenate([np.ones(b.positive.size) if b.weights is None else b.weights for b in blocks]),
    )


class ValidationScores:
    """Scores of held-out rows at all points of a grid: of all rows, or of a random part of each class.

    The hash of a row decides: of each class the `most` rows with the smallest hashes are kept. So memory is bounded,
    and neither the order of the rows nor their blocks matter. AUC does not depend on the shares of the classes, so a
    sample of each class estimates it without bias; for other measures the weights bring the shares back.
    """

    def __init__(self, most: int):
        self.most = most
        self.seen = [0, 0]
        self._parts: list[list[tuple]] = [[], []]

    @classmethod
    def of(
        cls, rows: Rows, positive_label, coefs: np.ndarray, folds: HashFolds, most: int, features: Any = None
    ) -> ValidationScores:
        """Of one block: each row by the coefficients (folds, points, features) of its fold, or of a map."""
        hashes = folds.hashes(rows.X)
        fold = folds.fold_of_hashes(hashes)
        scores = np.empty((rows.X.shape[0], coefs.shape[1]))
        for side in range(folds.n_splits):
            index = np.flatnonzero(fold == side)
            if index.size:
                part = rows.X[index]
                scores[index] = part @ coefs[side].T if features is None else features.products(part, coefs[side].T)
        weights = np.ones(fold.size) if rows.weights is None else rows.weights
        new = cls(most)
        for side, member in enumerate((rows.y != positive_label, rows.y == positive_label)):
            index = np.flatnonzero(member & (weights > 0))
            new.seen[side] = index.size
            new._parts[side].append((hashes[index], fold[index], weights[index], scores[index]))
            new._trim(side, most)
        return new

    def add(self, other: ValidationScores) -> ValidationScores:
        """Add the scores of other rows."""
        for side in (0, 1):
            self.seen[side] += other.seen[side]
            self._parts[side].extend(other._parts[side])
            self._trim(side, 2 * self.most)
        return self

    def _trim(self, side: int, limit: int) -> None:
        if sum(part[0].size for part in self._parts[side]) > limit:
            joined = [np.concatenate(column) for column in zip(*self._parts[side], strict=True)]
            kept = np.argpartition(joined[0], self.most - 1)[: self.most]
            self._parts[side] = [tuple(column[kept] for column in joined)]

    def blocks(self, n_folds: int) -> Iterator[HeldOutBlock]:
        """The rows that were kept, one block for each fold; the weights say how many rows each stands for."""
        sides = []
        for side in (0, 1):
            self._trim(side, self.most)
            hashes, fold, weights, scores = (np.concatenate(part) for part in zip(*self._parts[side], strict=True))
            order = np.lexsort([weights, hashes])  # whatever the order in which the parts came
            fold, weights, scores = fold[order], weights[order], scores[order]
            sides.append((fold, weights * (self.seen[side] / max(fold.size, 1)), scores))
        for number in range(n_folds):
            parts = [(weights[fold == number], scores[fold == number]) for fold, weights, scores in sides]
            weights, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
            positive = np.repeat([False, True], [part[0].size for part in parts])
            points = np.arange(scores.shape[1])
            yield HeldOutBlock(number, points, positive, None if np.all(weights == 1.0) else weights, scores)
