"""Columns of numbers that are names, such as card numbers: trees that learn from labels treat them as categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.distribution import N_NODES
from vrspam.features.shares import category_shares
from vrspam.metrics import roc_auc_columns
from vrspam.tables import frames

LARGEST_WHOLE = 2.0**53  # up to it, floats hold all whole numbers


class RecurringNumbers(NamedTuple):
    """A column of whole numbers that recur."""

    values: np.ndarray  # increasing
    places: np.ndarray  # (rows,): which of them each row has; -1 for a missing value


def recurring_numbers(X: Any, encoders: Sequence[Any], n_drawn: int = 4096) -> dict[int, RecurringNumbers]:
    """Columns of recurring whole numbers, more than `N_NODES` different ones.

    `n_drawn` rows rule out most other columns at little cost.
    """
    columns = sparse.csc_array(X) if sparse.issparse(X) else frames.columns_of(X)
    drawn = np.random.RandomState(0).permutation(X.shape[0])[:n_drawn]
    recurring: dict[int, RecurringNumbers] = {}
    for j, encoder in enumerate(encoders):
        if not isinstance(encoder, Curves):
            continue
        values = frames.numbers(columns, j)
        if not may_recur(values[drawn]):
            continue
        known = ~np.isnan(values)
        different, places = np.unique(values[known].astype(np.float64), return_inverse=True)
        if are_whole(different) and np.abs(different).max() < LARGEST_WHOLE:
            of_rows = np.full(values.size, -1, dtype=np.int32)
            of_rows[known] = places
            recurring[j] = RecurringNumbers(different, of_rows)
    return recurring


def may_recur(drawn: np.ndarray) -> bool:
    """Whether drawn values are whole, and many of them different, but not nearly all."""
    different = np.unique(drawn)
    return N_NODES < different.size <= 0.99 * drawn.size and are_whole(different)


def are_whole(numbers: np.ndarray) -> bool:
    """Whether all numbers are whole, or missing."""
    return bool(((numbers == np.floor(numbers)) | np.isnan(numbers)).all())


class NumberNames(NamedTuple):
    """Numbers as categories, in the order of their shares of positive rows."""

    of_values: np.ndarray  # the code of each number
    of_rows: np.ndarray  # the code of each row, from rows of other parts
    of_mean: int  # the code of the mean share


def numbers_as_names(
    n_values: int,
    places: np.ndarray,
    bins: np.ndarray,
    n_bins: int,
    target: np.ndarray,
    weights: np.ndarray,
    parts: np.ndarray,
) -> NumberNames | None:
    """Codes of numbers that are names, None for other numbers.

    Numbers are names if shares of equal numbers (`places`) rank the rows better than shares of near numbers (`bins`),
    by 0.04 of AUC and by five standard errors.
    """
    known = places >= 0
    equal = category_shares(places, target, weights, n_values, parts)
    near = category_shares(bins, target, weights, n_bins, parts)
    positive = target[known] > equal.mean
    class_sizes = np.maximum([positive.sum(), (~positive).sum()], 1)
    standard_error = float(np.sqrt((1.0 / class_sizes).sum() / 12.0))
    scores = np.stack([equal.of_rows, near.of_rows], axis=1)[known]
    auc_of_equal, auc_of_near = roc_auc_columns(positive, scores, weights[known])
    if not auc_of_equal - auc_of_near > max(0.04, 5.0 * standard_error):
        return None
    quantiles = np.linspace(0.0, 1.0, N_NODES)[1:-1]
    edges = np.unique(np.quantile(equal.of_rows[known], quantiles, method="inverted_cdf"))
    of_values = np.searchsorted(edges, equal.of_categories).astype(np.int32)
    of_rows = np.where(known, np.searchsorted(edges, equal.of_rows), -1).astype(bins.dtype)
    return NumberNames(of_values, of_rows, int(np.searchsorted(edges, equal.mean)))
