"""`DaskAUCClassifierCV`: penalties by cross-validation over a whole grid, for data on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import _fit_context, clone

from vrspam.distributed.blocks import DaskBlocks
from vrspam.distributed.classifier import DaskScores
from vrspam.estimators import chunks
from vrspam.estimators.base import AUCClassifierBase
from vrspam.estimators.cv import AUCClassifierCV
from vrspam.estimators.cv_blocks import ValidationScores, add_to_folds
from vrspam.estimators.folds import HashFolds
from vrspam.moments import ClassMoments


class DaskAUCClassifierCV(DaskScores, AUCClassifierCV):
    """`vrspam.AUCClassifierCV` for Dask arrays and data frames.

    Two passes over the data: one task for each block computes the moments of its rows in each fold, a tree of
    sums adds them, and the grid is solved locally; then one task for each block scores its rows at all points of
    the grid, and the client takes the AUCs (of at most 200,000 rows of each class, see
    `AUCClassifierCV.fit_stream`). Folds follow from the content of rows (`vrspam.HashFolds`): the result is that
    of `AUCClassifierCV(cv=HashFolds(cv))` on the same rows, whatever the blocks.

    Parameters
    ----------
    l2s, l1s, selection, tol, max_iter
        As in `vrspam.AUCClassifierCV`.
    cv : int or HashFolds, default=5
    features : "linear"
        Feature maps are not available for data on a cluster.
    n_jobs, random_state
        As in `vrspam.AUCClassifierCV`; an integer `random_state` is the seed of the folds.

    Attributes
    ----------
    l2_, l1_, best_score_, l2s_, l1s_, auc_path_, gap_path_, converged_path_, coef_, intercept_, classes_, moments_
        As in `vrspam.AUCClassifierCV`.
    held_out_ : HeldOut
        As after `vrspam.AUCClassifierCV.fit_stream`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from vrspam.distributed import DaskAUCClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 3))
    >>> y = (X[:, 0] + rng.standard_normal(1000) > 1).astype(int)
    >>> model = DaskAUCClassifierCV().fit(da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100))
    >>> model.auc_path_.shape
    (17, 1, 5)
    """

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, *, validation_rows: int = 200_000) -> DaskAUCClassifierCV:
        """Choose the penalties on the folds and fit them on all rows.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features) or dask data frame
            Blocks dense or scipy.sparse; their sizes may be unknown.
        y : dask array or series, or array-like, of shape (n_samples,)
        sample_weight : dask array or series, or array-like, of shape (n_samples,), optional
        validation_rows : int, default=200_000
            Most validation rows of each class whose scores come to the client.

        Returns
        -------
        self
        """
        folds = self._check_blocks(validation_rows)
        blocks = DaskBlocks.of(X, y, sample_weight)
        light = clone(self)
        moments = blocks.reduce(block_fold_moments, add_lists, light, folds)
        if all(fold.n_features is None for fold in moments):
            raise ValueError("There are no rows: every block of X is empty.")

        def score(coefs: np.ndarray, positive_label: Any) -> ValidationScores:
            return blocks.reduce(block_scores, add_scores, light, folds, coefs, positive_label, validation_rows)

        self._fit_folds(moments, score)
        if blocks.feature_names is not None:
            self.feature_names_in_ = blocks.feature_names
        return self


def add_lists(parts: list[list[ClassMoments]]) -> list[ClassMoments]:
    """The sum of fold moments, fold by fold."""
    return [sum(fold[1:], fold[0]) for fold in zip(*parts, strict=True)]


def add_scores(parts: list[ValidationScores]) -> ValidationScores:
    """The scores of all blocks, none of which is changed."""
    total = ValidationScores(parts[0].most)
    for part in parts:
        total.add(part)
    return total


def block_fold_moments(
    number: int, X, y, weights, estimator: AUCClassifierBase, folds: HashFolds
) -> list[ClassMoments]:
    """The task of one block in the first pass."""
    rows = chunks.validated_rows(estimator, number, X, y, weights)
    moments = [ClassMoments() for _ in range(folds.n_splits)]
    if rows is not None:
        add_to_folds(moments, rows, number, folds)
    return moments


def block_scores(
    number: int, X, y, weights, estimator: AUCClassifierBase, folds: HashFolds, coefs, positive_label, most: int
) -> ValidationScores:
    """The task of one block in the second pass."""
    rows = chunks.validated_rows(estimator, number, X, y, weights)
    if rows is None:
        return ValidationScores(most)
    return ValidationScores.of(rows, positive_label, coefs, folds, most)
