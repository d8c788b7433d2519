"""`DaskAUCClassifier`: the exact optimum for data on a cluster."""

from __future__ import annotations

import functools
import operator

import dask
import numpy as np
from dask import array as da
from dask.base import is_dask_collection
from sklearn.base import _fit_context, clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from vrspam import metrics
from vrspam.distributed.blocks import DaskBlocks
from vrspam.estimators import chunks
from vrspam.estimators.base import AUCClassifierBase
from vrspam.estimators.exact import AUCClassifier
from vrspam.moments import ClassMoments
from vrspam.objective import WithinProducts


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
        full = blocks.n_features <= chunks.MOMENTS_MAX_FEATURES
        moments = blocks.reduce(block_moments, add, clone(self), full)
        if moments.n_features is None:
            raise ValueError("There are no rows: every block of X is empty.")
        if full:
            self._fit_from(moments)
        else:
            self._fit_by_passes(DaskProducts(blocks, moments, clone(self)), moments)
        self.n_features_in_ = moments.n_features
        self.__dict__.pop("feature_names_in_", None)
        if blocks.feature_names is not None:
            self.feature_names_in_ = blocks.feature_names
        return self


class DaskProducts:
    """Σ as a sum over blocks on the cluster: each multiplication is one distributed pass."""

    def __init__(self, blocks: DaskBlocks, moments: ClassMoments, estimator: AUCClassifierBase):
        self.blocks, self.moments, self.estimator = blocks, moments, estimator

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        known = (self.moments.classes[1], self.moments.means, self.moments.weights)
        return self.blocks.reduce(block_product, add, self.estimator, known, w)


def add(parts: list):
    """The sum of a few results."""
    return functools.reduce(operator.add, parts)


def block_moments(number: int, X, y, weights, estimator: AUCClassifierBase, full: bool) -> ClassMoments:
    """The task of one block: its moments."""
    rows = chunks.validated_rows(estimator, number, X, y, weights)
    moments = ClassMoments(scatter=full)
    if rows is not None:
        chunks.add_block(moments, rows, number)
    return moments


def block_product(number: int, X, y, weights, estimator: AUCClassifierBase, known: tuple, w: np.ndarray) -> np.ndarray:
    """The task of one block: its part of Σw."""
    rows = chunks.validated_rows(estimator, number, X, y, weights)
    if rows is None:
        return np.zeros_like(w)
    positive, means, sizes = known
    return WithinProducts(rows.X, rows.y == positive, rows.weights, means, sizes) @ w


def _apply(block, estimator: AUCClassifierBase, method: str) -> np.ndarray:
    """Scores or labels of one block, also of an empty one."""
    if block.shape[0] == 0:
        return estimator.classes_[:0] if method == "predict" else np.empty(0)
    return getattr(estimator, method)(block)
