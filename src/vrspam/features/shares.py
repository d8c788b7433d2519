"""Shares of positive rows of categories, by which trees that learn from labels order them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SHRINKAGE = 10.0  # rows of mean label that are added to those of each category


class CategoryShares(NamedTuple):
    """Shares of positive rows, shrunken to that of all rows."""

    of_categories: np.ndarray  # (categories,)
    of_rows: np.ndarray  # (rows,): for each row the share of its category in rows of other parts
    mean: float  # of all rows; rows without a category, of code -1, get it


def category_shares(
    codes: np.ndarray, target: np.ndarray, weights: np.ndarray, n_categories: int, parts: np.ndarray
) -> CategoryShares:
    """Shrunken shares of positive rows, of each category and for each row; `parts` says which part a row is in."""
    known = codes >= 0
    n_parts = int(parts.max(initial=0)) + 1
    cells = parts[known] * n_categories + codes[known].astype(np.int64)
    mass = np.bincount(cells, weights[known], n_parts * n_categories).reshape(n_parts, n_categories)
    hits = np.bincount(cells, (weights * target)[known], n_parts * n_categories).reshape(n_parts, n_categories)
    all_mass = mass.sum(axis=0)
    all_hits = hits.sum(axis=0)
    mean = float(weights @ target / weights.sum())
    of_categories = (all_hits + SHRINKAGE * mean) / (all_mass + SHRINKAGE)
    elsewhere = (all_hits - hits + SHRINKAGE * mean) / (all_mass - mass + SHRINKAGE)
    of_rows = np.full(codes.size, mean)
    of_rows[known] = elsewhere.ravel()[cells]
    return CategoryShares(of_categories, of_rows, mean)


class OrderedCategories(NamedTuple):
    """Categories in the order of their shares of positive rows."""

    order: np.ndarray  # (categories,)
    of_rows: np.ndarray  # (rows,): the place of each row, by the share in rows of other parts; -1 stays -1
    of_mean: int  # the place of the mean share


def order_categories(
    codes: np.ndarray, target: np.ndarray, weights: np.ndarray, n_categories: int, parts: np.ndarray
) -> OrderedCategories:
    """Categories in the order of their shrunken shares of positive rows."""
    shares = category_shares(codes, target, weights, n_categories, parts)
    order = np.argsort(shares.of_categories, kind="stable")
    ordered = shares.of_categories[order]
    between = (ordered[1:] + ordered[:-1]) / 2.0
    of_rows = np.where(codes >= 0, np.searchsorted(between, shares.of_rows), -1).astype(codes.dtype)
    return OrderedCategories(order, of_rows, int(np.searchsorted(between, shares.mean)))
