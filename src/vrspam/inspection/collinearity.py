"""Columns that move together: a function of one says most of what another, or its curve, says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

TOGETHER = 0.8  # part of the variance of a curve that a function of the other column explains
LEAST_IMPORTANCE = 0.02  # of the largest: where both curves are smaller there is nothing to remark
MOST_NAMES = 5


def explained_by_others(
    covariances: np.ndarray, slices: Sequence[slice], variances: np.ndarray, effective: float
) -> np.ndarray:
    """How much of a quantity of column j a function of column k explains: R²[k, j], corrected for its freedom.

    Parameters
    ----------
    covariances : ndarray of shape (functions, columns)
        Of uncorrelated functions of variance 1 of each column with the quantity of each column.
    slices : where the functions of each column are
    variances : ndarray of shape (columns,)
        Of the quantities.
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
    # A flat curve needs the remark as well: its column may only follow one that matters.
    near = np.maximum(explained, explained.T) * np.logical_or.outer(matters, matters)
    found = []
    for row in near:
        order = np.argsort(-row, kind="stable")[:MOST_NAMES]
        found.append(tuple(names[k] for k in order if row[k] >= TOGETHER))
    return found


def functions_of(places: Sequence[slice | np.ndarray]) -> tuple[np.ndarray, list[slice]]:
    """The numbers of the functions of some columns, and where those of each column are among them."""
    numbers = [np.arange(where.start, where.stop) if isinstance(where, slice) else where for where in places]
    stops = np.cumsum([own.size for own in numbers]).tolist()
    return np.concatenate(numbers), [slice(stop - own.size, stop) for stop, own in zip(stops, numbers, strict=True)]


def closeness(covariance: np.ndarray, slices: Sequence[slice], coef: np.ndarray, effective: float) -> np.ndarray:
    """How much of the curve of column j, or of its first function, a function of column k explains at most.

    The first function of a column of numbers is the column itself.

    Parameters
    ----------
    covariance : ndarray of shape (functions, functions)
    slices : where the functions of each column are
    coef : ndarray of shape (functions,)
        Coefficients of the curves.
    effective : float
        Number of rows.
    """
    white, found, start = [], [], 0
    for where in slices:
        white.append(whitening(covariance[where, where]))
        found.append(slice(start, start + white[-1].shape[1]))
        start = found[-1].stop
    most = np.zeros((len(slices), len(slices)))
    for first in (False, True):
        products, variances = [], []
        for where in slices:
            probe = np.eye(1, where.stop - where.start)[0] if first else coef[where]
            products.append(covariance[:, where] @ probe)
            variances.append(float(probe @ products[-1][where]))
        columns = np.stack(products, axis=1)
        with_quantity = np.concatenate([w.T @ columns[where] for w, where in zip(white, slices, strict=True)])
        most = np.maximum(most, explained_by_others(with_quantity, found, np.array(variances), effective))
    return most


WITHIN_COLUMN = 1e-9  # relative: functions of one column that are sums of others
MANY_FUNCTIONS = 100  # of one column: the indicators of categories


def whitening(covariance: np.ndarray) -> np.ndarray:
    """W such that Wᵀ C W is the identity; functions without variance, or that are sums of others, are left out."""
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    if deviations.size == 1 and deviations[0] > 0.0:
        return 1.0 / deviations[:, np.newaxis]
    seen = np.flatnonzero(deviations > 0.0)
    if seen.size == 0:
        return np.zeros((covariance.shape[0], 0))
    scaled = covariance[np.ix_(seen, seen)] / np.outer(deviations[seen], deviations[seen])
    if seen.size > MANY_FUNCTIONS:  # a triangular W takes a tenth of the time
        factor, order, rank, _ = linalg.lapack.dpstrf(scaled, tol=WITHIN_COLUMN, lower=1)
        found = np.zeros((covariance.shape[0], rank))
        used = seen[order[:rank] - 1]
        inverse = linalg.lapack.dtrtri(factor[:rank, :rank], lower=1)[0]
        found[used] = np.tril(inverse).T / deviations[used, np.newaxis]
        return found
    values, vectors = linalg.eigh(scaled, check_finite=False)
    kept = values > WITHIN_COLUMN * values[-1]
    found = np.zeros((covariance.shape[0], int(kept.sum())))
    found[seen] = vectors[:, kept] / np.sqrt(values[kept]) / deviations[seen, np.newaxis]
    return found
