"""Columns that move together: where a function of one column says most of what the curve of another says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

TOGETHER = 0.8  # part of the variance of a curve that a function of the other column explains
LEAST_IMPORTANCE = 0.02  # of the largest: smaller curves are not worth a remark
MOST_NAMES = 5


def explained_by_others(
    covariances: np.ndarray, slices: Sequence[slice], variances: np.ndarray, effective: float
) -> np.ndarray:
    """How much of the curve of column j a function of column k explains: R²[k, j], corrected for its freedom.

    Parameters
    ----------
    covariances : ndarray of shape (functions, columns)
        Of uncorrelated functions of variance 1 of each column with the curve of each column.
    slices : where the functions of each column are
    variances : ndarray of shape (columns,)
        Of the curves.
    effective : float
        Number of rows.
    """
    explained = np.zeros((len(slices), variances.size))
    with np.errstate(invalid="ignore", divide="ignore"):
        for k, where in enumerate(slices):
            share = (covariances[where] ** 2).sum(axis=0) / variances
            free = effective - (where.stop - where.start) - 1.0
            explained[k] = 1.0 - (1.0 - share) * (effective - 1.0) / free if free > 0.0 else 0.0
    np.fill_diagonal(explained, 0.0)
    return np.nan_to_num(explained, nan=0.0, posinf=0.0, neginf=0.0)


def columns_together(explained: np.ndarray, importances: np.ndarray, names: Sequence[str]) -> list[tuple[str, ...]]:
    """For each column the names of those that move together with it, the closest first."""
    matters = importances > LEAST_IMPORTANCE * importances.max(initial=0.0)
    closeness = np.maximum(explained, explained.T) * np.outer(matters, matters)
    found = []
    for row in closeness:
        order = np.argsort(-row, kind="stable")[:MOST_NAMES]
        found.append(tuple(names[k] for k in order if row[k] >= TOGETHER))
    return found


def whitened_covariances(
    covariance: np.ndarray, slices: Sequence[slice], coef: np.ndarray
) -> tuple[np.ndarray, list[slice]]:
    """What `explained_by_others` takes, from the covariances of all functions and the coefficients of the curves."""
    with_curves = np.stack([covariance[:, where] @ coef[where] for where in slices], axis=1)
    parts, found, start = [], [], 0
    for where in slices:
        white = whitening(covariance[where, where]).T @ with_curves[where]
        parts.append(white)
        found.append(slice(start, start + len(white)))
        start += len(white)
    return np.concatenate(parts), found


WITHIN_COLUMN = 1e-9  # relative: functions of one column that are sums of others


def whitening(covariance: np.ndarray) -> np.ndarray:
    """W such that Wᵀ C W is the identity; functions without variance, or that are sums of others, are left out."""
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    seen = np.flatnonzero(deviations > 0.0)
    if seen.size == 0:
        return np.zeros((covariance.shape[0], 0))
    scaled = covariance[np.ix_(seen, seen)] / np.outer(deviations[seen], deviations[seen])
    values, vectors = linalg.eigh(scaled, check_finite=False)
    kept = values > WITHIN_COLUMN * values[-1]
    found = np.zeros((covariance.shape[0], int(kept.sum())))
    found[seen] = vectors[:, kept] / np.sqrt(values[kept]) / deviations[seen, np.newaxis]
    return found
