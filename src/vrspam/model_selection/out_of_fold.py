"""Scores of all held-out rows at the chosen point, for rows in memory: what calibration is fitted on."""

from __future__ import annotations

from typing import Any

import numpy as np

from vrspam._utils import array_api
from vrspam._utils.validation import Rows
from vrspam.model_selection.folds import Split
from vrspam.model_selection.held_out import HeldOut
from vrspam.model_selection.sources import score_rows


def held_out_scores(
    rows: Rows,
    positive_label: object,
    splits: list[Split],
    coefs: np.ndarray,
    intercepts: np.ndarray,
    known: list[np.ndarray] | None = None,
) -> HeldOut:
    """Score each held-out row by the model of its fold, in one pass over the rows.

    Parameters
    ----------
    rows : Rows
        In memory or on a device: columns, or features of a map (`MappedArray`).
    positive_label
        The label of the positive rows.
    splits : list of Split
    coefs : ndarray of shape (folds, features)
        Of the chosen point, trained on each fold.
    intercepts : ndarray of shape (folds,)
    known : list of ndarray, optional
        The scores of the rows that each fold holds out, without intercept, where they are known already.

    Returns
    -------
    HeldOut
        In the order of the rows. A row that several folds hold out is there for each of them, and its weight is shared
        by them.

    Examples
    --------
    >>> rows = Rows(np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 1, 0, 1]), None)
    >>> splits = [Split(np.array([0, 1]), np.array([3, 2])), Split(np.array([2, 3]), np.array([0, 1]))]
    >>> held_out_scores(rows, 1, splits, np.array([[1.0], [10.0]]), np.array([0.5, 0.0])).scores.tolist()
    [10.0, 20.0, 3.5, 4.5]
    """
    X = rows.X
    index = np.concatenate([split.validation for split in splits])
    if known is None:
        known = [
            scores_of(X, split.validation, coef[np.newaxis])[:, 0] for split, coef in zip(splits, coefs, strict=True)
        ]
    parts = [part + intercept for part, intercept in zip(known, intercepts, strict=True)]
    fold = np.repeat(np.arange(len(splits)), [split.validation.size for split in splits])
    order = np.argsort(index, kind="stable")
    index, fold = index[order], fold[order]
    times = np.bincount(index, minlength=X.shape[0])[index]
    weights = np.ones(index.size) if rows.weights is None else array_api.on_host(rows.weights)[index]
    positive = array_api.on_host(rows.y) == positive_label
    return HeldOut(positive[index], np.concatenate(parts)[order], fold, weights / times, index)


def scores_of(X: Any, index: np.ndarray, coefs: np.ndarray) -> np.ndarray:
    """Scores of some rows, in memory or on a device, by several models: an array (rows, models)."""
    if array_api.device_namespace(X) is not None:
        lines = array_api.score_lines(X, coefs, array_api.beside(index, X))
        return np.asarray(array_api.on_host(lines), dtype=np.float64).T
    found, exponents = score_rows(X, index, coefs)
    return np.ldexp(found.astype(np.float64), 0 if exponents is None else exponents)
