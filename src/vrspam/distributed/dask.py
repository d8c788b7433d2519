"""Exact fits and cross-validation on Dask: one task for each block of rows, the results added up in a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from dask import array as da
from dask.base import is_dask_collection
from sklearn.base import _fit_context, clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from vrspam import metrics
from vrspam.distributed import _tasks
from vrspam.estimators import base
from vrspam.estimators.base import AUCClassifierBase
from vrspam.estimators.cv import AUCClassifierCV
from vrspam.estimators.exact import AUCClassifier
from vrspam.model_selection.folds import HashFolds
from vrspam.model_selection.held_out import HeldOutBlock
from vrspam.model_selection.sources import FoldMoments
from vrspam.moments import ClassMoments

FAN_IN = 4  # results added by one task: what a worker holds beside its block


@dataclass(frozen=True)
class DaskBlocks:
    """Blocks of rows that lie on a cluster or in files; each part is a Dask task.

    Attributes
    ----------
    parts : list of (X, y, weights)
        Delayed blocks, `weights` delayed or None.
    n_features : int
    feature_names : ndarray of str or None
        The columns, for data frames.
    """

    parts: list[tuple[Any, Any, Any]]
    n_features: int
    feature_names: np.ndarray | None

    @classmethod
    def of(cls, X, y=None, sample_weight=None) -> DaskBlocks:
        """Cut X and what goes with it into the blocks of X."""
        if not is_dask_collection(X) or getattr(X, "ndim", None) != 2:
            raise ValueError(
                f"X must be a Dask array or data frame of two dimensions, got {type(X).__name__}; "
                "for data in memory use vrspam.AUCClassifier."
            )
        names = None
        if isinstance(X, da.Array):
            if np.isnan(X.shape[1]):
                raise ValueError("The number of columns of X is unknown: call X.compute_chunk_sizes() first.")
            if X.numblocks[1] != 1:
                X = X.rechunk({1: -1})
        elif all(isinstance(name, str) for name in X.columns):
            names = np.asarray(X.columns, dtype=object)
        blocks = _rows(X)
        columns = [
            [None] * len(blocks) if part is None else _alongside(part, X, len(blocks), name)
            for part, name in ((y, "y"), (sample_weight, "sample_weight"))
        ]
        parts = list(zip(blocks, *columns, strict=True))
        return cls(parts, int(X.shape[1]), names)

    def reduce(self, task: Callable, add: Callable, *shared) -> Any:
        """add(...add(task(number, X, y, weights, *shared)...)) over all blocks: one pass, one result.

        `add` takes a list of results. What is shared travels once to each worker.
        """
        sent = [dask.delayed(value, pure=False) for value in shared]
        run, join = dask.delayed(task, pure=False), dask.delayed(add, pure=False)
        level = [run(number, *part, *sent) for number, part in enumerate(self.parts)]
        while len(level) > 1:
            level = [join(level[start : start + FAN_IN]) for start in range(0, len(level), FAN_IN)]
        return level[0].compute()


def _rows(collection) -> list:
    """The blocks of a collection, top to bottom."""
    blocks = collection.to_delayed()
    return list(np.asarray(blocks, dtype=object).ravel())


def _alongside(part, X, n_blocks: int, name: str) -> list:
    """Blocks of labels or weights that go with the blocks of X."""
    if not is_dask_collection(part):
        sizes = X.chunks[0] if isinstance(X, da.Array) else (np.nan,)
        if np.isnan(sizes).any():
            raise ValueError(
                f"{name} is in memory but the block sizes of X are unknown: call X.compute_chunk_sizes() first, or "
                f"give {name} as a Dask array or series with the blocks of X."
            )
        part = np.asarray(part)
        if part.shape[:1] != (sum(sizes),):
            raise ValueError(f"{name} has {part.shape[:1]} rows, X has {sum(sizes)}.")
        part = da.from_array(part, chunks=(sizes, *part.shape[1:]))
    elif isinstance(part, da.Array) and isinstance(X, da.Array) and part.chunks[0] != X.chunks[0]:
        known = not np.isnan([*part.chunks[0], *X.chunks[0]]).any()
        if known and sum(part.chunks[0]) != sum(X.chunks[0]):
            raise ValueError(f"{name} has {sum(part.chunks[0])} rows, X has {sum(X.chunks[0])}.")
        if known:
            part = part.rechunk({0: X.chunks[0]})
    blocks = _rows(part)
    if len(blocks) != n_blocks:
        raise ValueError(f"{name} has {len(blocks)} blocks, X has {n_blocks}: repartition one like the other.")
    return blocks


class DaskScores(AUCClassifierBase):
    """Scores of Dask collections as lazy Dask arrays; data in memory is scored as by any estimator."""

    def decision_function(self, X):
        """Scores of the rows of X: a lazy Dask array for a Dask collection.

        Parameters
        ----------
        X : dask array, dask data frame, or data in memory

        Returns
        -------
        dask array or ndarray of shape (n_samples,)
        """
        return self._by_block(X, super().decision_function, np.float64)

    def predict(self, X):
        """`classes_[1]` where the score is positive, else `classes_[0]`; lazy for a Dask collection.

        Parameters
        ----------
        X : dask array, dask data frame, or data in memory

        Returns
        -------
        dask array or ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "coef_")
        return self._by_block(X, super().predict, self.classes_.dtype)

    def score(self, X, y, sample_weight=None) -> float:
        """Area under the ROC curve of the scores of X; the scores and labels (16 bytes a row) come to the client.

        Parameters
        ----------
        X : dask array, dask data frame, or data in memory
        y : dask array or series, or array-like, of shape (n_samples,)
        sample_weight : dask array or series, or array-like, of shape (n_samples,), optional

        Returns
        -------
        float
            NaN, with a warning, when y holds one class only.
        """
        scores, y, weights = (dask.compute(part)[0] for part in (self.decision_function(X), y, sample_weight))
        y = column_or_1d(y)
        self._refuse_unknown_labels(y)
        return metrics.roc_auc(y == self.classes_[1], scores, weights)

    def _by_block(self, X, function, dtype):
        check_is_fitted(self, "coef_")
        if not is_dask_collection(X):
            return function(X)
        if not isinstance(X, da.Array):
            X = X.to_dask_array()  # block sizes stay unknown
        if X.numblocks[1] != 1:
            X = X.rechunk({1: -1})
        light = AUCClassifier()  # a linear scorer like self, without its d×d moments
        light.coef_, light.intercept_, light.classes_ = self.coef_, self.intercept_, self.classes_
        light.n_features_in_ = self.n_features_in_
        return X.map_blocks(_apply, light, function.__name__, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype=dtype))


def _apply(block, estimator: AUCClassifierBase, method: str) -> np.ndarray:
    """Scores or labels of one block, also of an empty one."""
    if block.shape[0] == 0:
        return estimator.classes_[:0] if method == "predict" else np.empty(0)
    return getattr(estimator, method)(block)


class DaskAUCClassifier(DaskScores, AUCClassifier):
    """The linear scorer that minimises the pairwise squared AUC loss, for Dask arrays and data frames.

    One task for each block of rows computes its moments, a tree of sums adds them, and one small result comes
    back to the client, where the problem is solved as by `vrspam.AUCClassifier`: the same coefficients to
    rounding, in one pass over the data. Beyond 5,000 features no d×d matrix is formed: conjugate gradient
    (accelerated proximal gradient if l1 > 0) makes one pass for each iteration, so the data should be
    persisted in the cluster's memory. Tasks run on the active `dask.distributed` client if there is one, else
    on Dask's own scheduler; a worker that dies is replaced by computing its blocks again.

    Parameters
    ----------
    l2, l1, tol, max_iter, random_state
        As in `vrspam.AUCClassifier`.

    Attributes
    ----------
    coef_, intercept_, classes_, l2_, objective_, gap_, n_iter_, solver_, moments_, history_, n_features_in_
        As in `vrspam.AUCClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from vrspam import AUCClassifier
    >>> from vrspam.distributed import DaskAUCClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((1000, 3)), rng.integers(0, 2, 1000)
    >>> model = DaskAUCClassifier().fit(da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100))
    >>> np.allclose(model.coef_, AUCClassifier().fit(X, y).coef_)
    True
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None) -> DaskAUCClassifier:
        """Find the optimum for the rows of X.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features) or dask data frame
            Blocks dense or scipy.sparse; their sizes may be unknown.
        y : dask array or series, or array-like, of shape (n_samples,)
            Two different labels; blocks as those of X.
        sample_weight : dask array or series, or array-like, of shape (n_samples,), optional

        Returns
        -------
        self
        """
        blocks = DaskBlocks.of(X, y, sample_weight)
        full = blocks.n_features <= base.MOMENTS_MAX_FEATURES
        moments = blocks.reduce(_tasks.block_moments, _tasks.add, clone(self), full)
        if moments.n_features is None:
            raise ValueError("There are no rows: every block of X is empty.")
        if full:
            fit = self._solver.from_moments(moments)
        else:
            fit = self._solver.from_operator(DaskProducts(blocks, moments, clone(self)), moments)
        return self._store_exact(fit)._store_columns(moments.n_features, blocks.feature_names)


class DaskProducts:
    """Σ as a sum over blocks on the cluster: each multiplication is one distributed pass."""

    def __init__(self, blocks: DaskBlocks, moments: ClassMoments, estimator: AUCClassifierBase):
        self.blocks, self.moments, self.estimator = blocks, moments, estimator

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        known = (self.moments.classes[1], self.moments.means, self.moments.weights)
        return self.blocks.reduce(_tasks.block_product, _tasks.add, self.estimator, known, w)


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
        return self._fit_folds(DaskFolds(blocks, clone(self), folds, validation_rows), blocks.feature_names)


class DaskFolds(FoldMoments):
    """Folds of blocks on the cluster: one distributed pass for the moments, one for the scores.

    Parameters
    ----------
    blocks : DaskBlocks
    estimator : AUCClassifierBase
        Its rules of validation apply.
    hash_folds : HashFolds
    most : int
        Most held-out rows of each class whose scores come to the client.
    """

    def __init__(self, blocks: DaskBlocks, estimator: AUCClassifierBase, hash_folds: HashFolds, most: int):
        self.blocks, self.estimator, self.hash_folds, self.most = blocks, estimator, hash_folds, most
        moments = blocks.reduce(_tasks.block_fold_moments, _tasks.add_fold_moments, estimator, hash_folds)
        if all(fold.n_features is None for fold in moments):
            raise ValueError("There are no rows: every block of X is empty.")
        super().__init__(moments)

    def held_out(self, coefs: Mapping[int, np.ndarray]) -> Iterator[HeldOutBlock]:
        """Scores of all rows, or of a sample of each class, in one distributed pass."""
        stacked = np.stack([coefs[fold] for fold in range(self.n_folds)])
        known = (self.estimator, self.hash_folds, stacked, self.total.classes[1], self.most)
        return self.blocks.reduce(_tasks.block_scores, _tasks.add_scores, *known).blocks(self.n_folds)
