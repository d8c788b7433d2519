"""Exact fits and cross-validation on Dask: one task for each block of rows, and a tree of sums."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from vrspam._utils.extras import require

require("dask", "dask")  # its message says what to install; a failed import below would not

# ruff: noqa: E402
import dask
import numpy as np
import pandas as pd
from dask import array as da
from dask.base import is_dask_collection
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from vrspam._utils.parameters import checks_parameters
from vrspam.distributed._cluster import NO_ROWS, RowChecks, add_block, not_corrected, refuse_strata
from vrspam.estimators.base import PairwiseEstimator, refuse_without_rows
from vrspam.estimators.blocks import fit_blocks, search_blocks
from vrspam.estimators.classifier import PairwiseClassifier
from vrspam.estimators.cv import AUCClassifierCV
from vrspam.estimators.exact import AUCClassifier
from vrspam.features.names import is_plain
from vrspam.model.model import Model


@dataclass(frozen=True)
class DaskBlocks:
    """A Dask collection as `Blocks`: each block is the result of a Dask task."""

    parts: list[tuple[Any, ...]]  # (X, y, weights) and perhaps strata, delayed; there may be no weights
    n_features: int
    feature_names: np.ndarray | None  # of a data frame
    checks: RowChecks
    read_once = False

    @classmethod
    def of(cls, estimator: PairwiseEstimator, X, y, sample_weight=None, strata=None) -> DaskBlocks:
        """Split X, the labels, the weights, and the strata if there are any, into the blocks of X."""
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
            for part, name in ((y, "y"), (sample_weight, "sample_weight"), (strata, "strata"))
            if name != "strata" or part is not None
        ]
        parts = list(zip(blocks, *columns, strict=True))
        n_features = int(X.shape[1])
        return cls(parts, n_features, names, RowChecks.of(estimator, n_features))

    @property
    def for_maps(self) -> bool:
        """Whether the rows are for feature maps."""
        return self.checks.for_maps

    def reduce(self, task: Callable, add: Callable, *shared) -> Any:
        """The total of all blocks, by one task for each and a tree of sums."""
        checks = dask.delayed(self.checks, pure=False)
        sent = [dask.delayed(value, pure=False) for value in shared]
        run = dask.delayed(add_block, pure=False)
        join = dask.delayed(sum_of_totals, pure=False)
        level = [run(checks, task, sent, None, number, *part) for number, part in enumerate(self.parts)]
        fan_in = 4  # totals that one task adds: a worker must hold this many besides its block
        while len(level) > 1:
            level = [join(add, level[start : start + fan_in]) for start in range(0, len(level), fan_in)]
        total = level[0].compute()
        if total is None:
            raise ValueError(NO_ROWS)
        return total


def sum_of_totals(add: Callable, totals: list) -> Any:
    """The sum of a few totals, of which those without rows are None.

    None of them is changed: Dask may use it again, if a worker is lost.
    """
    of_rows = [total for total in totals if total is not None]
    if len(of_rows) < 2:
        return of_rows[0] if of_rows else None
    return functools.reduce(add, of_rows[1:], copy.deepcopy(of_rows[0]))


def _rows(collection) -> list:
    """Return the blocks of a collection, from the first rows to the last."""
    return list(np.asarray(collection.to_delayed(), dtype=object).ravel())


def _alongside(part, X, n_blocks: int, name: str) -> list:
    """Return labels or weights in blocks that match the blocks of X."""
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


class DaskScores(PairwiseClassifier):
    """Scores Dask collections as lazy Dask arrays, and data in memory like any other estimator."""

    _works_on_devices = False

    def decision_function(self, X):
        """Score the rows of X; the result is a lazy Dask array if X is a Dask collection.

        Parameters
        ----------
        X : dask array, dask data frame, or data in memory

        Returns
        -------
        dask array or ndarray of shape (n_samples,)
        """
        return self._by_block(X, super().decision_function, np.float64)

    def predict(self, X):
        """Return `classes_[1]` where the score is positive, else `classes_[0]`; lazy if X is a Dask collection.

        Parameters
        ----------
        X : dask array, dask data frame, or data in memory

        Returns
        -------
        dask array or ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "coef_")
        return self._by_block(X, super().predict, self.classes_.dtype)

    def score(self, X, y, sample_weight=None, strata=None) -> float:
        """Return the area under the ROC curve; the scores and labels (16 bytes per row) are sent to the client.

        Parameters
        ----------
        X : dask array, dask data frame, or data in memory
        y : dask array or series, or array-like, of shape (n_samples,)
        sample_weight, strata : dask array or series, or array-like, of shape (n_samples,), optional
            With strata only pairs of rows of the same stratum count.

        Returns
        -------
        float
            NaN, with a warning, when y holds one class only.
        """
        return self._auc_of(*dask.compute(self.decision_function(X), y, sample_weight, strata))

    def _by_block(self, X, function, dtype):
        check_is_fitted(self, "coef_")
        if not is_dask_collection(X):
            return function(X)
        if not isinstance(X, da.Array):
            X = X.to_dask_array()  # block sizes stay unknown
        if X.numblocks[1] != 1:
            X = X.rechunk({1: -1})
        # without the d×d moments, which would be sent to every worker; Dask searches arguments field by field
        score = partial(
            _score_block, model=self.to_model(), labels=function.__name__ == "predict", dtype=np.dtype(dtype)
        )
        return X.map_blocks(score, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype=dtype))


def _score_block(block, model: Model, labels: bool, dtype: np.dtype) -> np.ndarray:
    """Scores or labels of one block, which may be empty."""
    if block.shape[0] == 0:
        return np.empty(0, dtype=dtype)
    gaps = True if model.parts.lines is not None else "allow-nan"
    rows = check_array(block, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=gaps)
    if rows.shape[1] != len(model.columns):
        raise ValueError(f"X has {rows.shape[1]} features, but the model was fitted with {len(model.columns)}.")
    scores = model.score(rows)
    return model.labels(scores).astype(dtype, copy=False) if labels else scores


class DaskAUCClassifier(DaskScores, AUCClassifier):
    """The linear scorer that minimises the pairwise squared AUC loss, for Dask arrays and data frames.

    One task for each block computes its moments, a tree of sums adds them, and the client solves the problem as
    `vrspam.AUCClassifier` does: the same coefficients up to rounding, after one pass. With more than 5,000 features
    each iteration is a pass, so the data should be persisted. Tasks run on the active `dask.distributed` client if
    there is one, else on Dask's own scheduler.

    Parameters
    ----------
    l2, l1, penalty, gamma, strata_weight, tol, max_iter, random_state
        As in `vrspam.AUCClassifier`.
    loss : "squared"
        Other losses need all rows in one place.
    max_fpr : None
        A limit needs another loss.
    monotonic_cst, positive, bounds
        As in `vrspam.AUCClassifier`; a dict names columns of a data frame.

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

    @checks_parameters(skip_nested=True)
    def fit(self, X, y, sample_weight=None, strata=None) -> Self:
        """Find the optimum for the rows of X.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features) or dask data frame
            The blocks may be dense or scipy.sparse, and their sizes may be unknown.
        y : dask array or series, or array-like, of shape (n_samples,)
            Two different labels; a Dask array or series needs the same blocks as X.
        sample_weight : dask array or series, or array-like, of shape (n_samples,), optional
        strata : dask array or series, or array-like, of shape (n_samples,), optional
            Only pairs of rows of the same stratum count; all rows of a stratum must be in one block.

        Returns
        -------
        self
        """
        refuse_without_rows(self, "DaskAUCClassifier")
        fit_blocks(self, DaskBlocks.of(self, X, y, sample_weight, strata))
        return self


class DaskAUCClassifierCV(DaskScores, AUCClassifierCV):
    """`vrspam.AUCClassifierCV` for Dask arrays and data frames.

    The fit makes two passes over the data (with feature maps two for each, and two more): one for the moments of each
    fold, one for the scores at all points of the grid. The fold of a row depends only on its values
    (`vrspam.HashFolds`), so the result is that of `AUCClassifierCV(cv=HashFolds(cv))` on the same rows, for any blocks.

    Parameters
    ----------
    l2s, l1s, penalty, gamma, max_fpr, scoring, strata_weight, selection, monotonic_cst, positive, bounds, tol, \
max_iter, threshold
        As in `vrspam.AUCClassifierCV`; the client measures the scores that are sent to it.
    loss : "squared"
        Other losses need all rows in one place.
    cv : int or HashFolds, default=5
    calibration : "sigmoid" or None
        How the zero of the scores (`intercept_`) is chosen, as in `vrspam.AUCClassifierCV`; fitted on `held_out_`.
    features : str, map of `vrspam.features`, or list of these, default="linear"
        As in `vrspam.AUCClassifierCV`, for columns of numbers, in which NaN is a missing value. Maps are learnt from
        the 50,000 rows with the smallest hashes; several maps are first compared on these rows.
    n_jobs, random_state, verbose
        As in `vrspam.AUCClassifierCV`; an integer `random_state` is the seed of the folds.

    Attributes
    ----------
    l2_, l1_, best_score_, l2s_, l1s_, auc_path_, score_path_, measure_, gap_path_, converged_path_, coef_
    intercept_, calibration_, baseline_, threshold_, classes_, moments_
        As in `vrspam.AUCClassifierCV`.
    held_out_ : HeldOut
        As after `vrspam.AUCClassifierCV.fit_stream`.

    Notes
    -----
    There is no `predict_proba`: the workers score blocks by `coef_` and `intercept_` alone. `calibration_` makes
    probabilities of scores: ``calibration_(decision_function(X) - baseline_)``.

    There is no `corrected_score_` or `corrected_interval_` either: `AUCClassifierCV.fit_stream` with a `HashFolds`
    gives both for the same folds.

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

    corrected_score_ = not_corrected("corrected_score_", "client")
    corrected_interval_ = not_corrected("corrected_interval_", "client")

    @checks_parameters(skip_nested=False)
    def fit(  # folds follow from the rows, so that there are no groups
        self, X, y, sample_weight=None, strata=None, *, validation_rows: int = 200_000
    ) -> Self:
        """Choose the penalties by cross-validation, then fit all rows with them.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features) or dask data frame
            The blocks may be dense or scipy.sparse, and their sizes may be unknown.
        y : dask array or series, or array-like, of shape (n_samples,)
        sample_weight : dask array or series, or array-like, of shape (n_samples,), optional
        strata : None
            Strata are refused: folds are drawn row by row.
        validation_rows : int, default=200_000
            At most this many held-out rows of each class send their scores to the client.

        Returns
        -------
        self
        """
        refuse_strata(strata, "DaskAUCClassifierCV")
        if self.calibration == "isotonic":
            raise ValueError(
                "DaskAUCClassifierCV has no predict_proba, and an isotonic calibration may have no score of "
                "probability ½ to put the intercept at: use calibration='sigmoid' or None."
            )
        folds = self._check_blocks(validation_rows)
        if not is_plain(self.features, X) and hasattr(X, "dtypes"):
            for name, kind in X.dtypes.items():
                if not pd.api.types.is_numeric_dtype(kind):
                    raise ValueError(
                        f"column {name!r} of type {kind} is not numeric, and feature maps on Dask take numbers: encode "
                        "it first (dask.dataframe.get_dummies), or leave it out."
                    )
        search_blocks(self, DaskBlocks.of(self, X, y, sample_weight), folds, validation_rows, correct=False)
        return self

    @property
    def predict_proba(self):
        """Not available on a cluster: an AttributeError says why."""
        raise AttributeError(
            "DaskAUCClassifierCV has no predict_proba: the workers score blocks by coef_ and intercept_ alone. Its "
            "calibration_ makes probabilities of scores, calibration_(decision_function(X).compute() - baseline_); "
            "AUCClassifierCV.fit_stream on the same rows has predict_proba."
        )
