"""Rows with indicators of categories that are not written out.

At most one indicator of a category is not 0 in a row: products of indicators with other columns are sums over the rows
of each category, and those with each other are counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse


class Indicated(NamedTuple):
    """The indicators of one categorical column."""

    where: slice  # their columns
    codes: np.ndarray  # which of them is not 0 in each row; -1 for none
    values: np.ndarray  # what each of them is where it is not 0


class CodedRows:
    """Rows as the columns that are written out, `dense`, which may be overwritten, and the codes of the indicators."""

    def __init__(
        self, n_columns: int, dense: np.ndarray, indicated: Sequence[Indicated], places: np.ndarray | None = None
    ):
        if places is None:
            places = places_written_out(n_columns, indicated)
        self.places = places  # the column of each column of `dense`
        self.dense = dense
        self.indicated = list(indicated)
        self.shape = (len(dense), n_columns)
        self.dtype = dense.dtype

    def with_common_written_out(self, dtype: np.dtype) -> CodedRows:
        """The same rows, of this type; the indicator of a category of more than half of them is written out."""
        written = [self.dense]
        places = [self.places]
        indicated = []
        for where, codes, values in self.indicated:
            counts = np.bincount(codes[codes >= 0], minlength=values.size)
            most_common = int(counts.argmax())
            if 2 * counts[most_common] > codes.size:
                is_common = codes == most_common
                written.append(np.where(is_common, values[most_common], 0.0)[:, np.newaxis])
                places.append(np.array([where.start + most_common]))
                codes = np.where(is_common, -1, codes)
            indicated.append(Indicated(where, codes, values))
        dense = np.hstack(written) if len(written) > 1 else self.dense
        return CodedRows(self.shape[1], dense.astype(dtype, copy=False), indicated, np.concatenate(places))

    def sums(
        self, own: np.ndarray, dense_sums: np.ndarray, root: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """(Σ c x, Σ c x xᵀ, most roundings of one element of a sum of indicators) of all columns.

        `own` is Σ c x xᵀ of the columns that are written out (or its diagonal alone), and `dense_sums` their Σ c x;
        `dense` holds √c x by now, and `root` the √c (None for 1). Indicators are not centred.
        """
        mass = None if root is None else root * root
        sums = np.zeros(self.shape[1])
        sums[self.places] = dense_sums
        counts = []
        most = 0
        for where, codes, values in self.indicated:
            known = np.flatnonzero(codes >= 0)
            count = np.bincount(codes[known], None if mass is None else mass[known], values.size)
            most = max(most, int(np.bincount(codes[known], minlength=1).max(initial=0)))
            sums[where] += count * values
            counts.append(count)
        products = self._products(own, counts, root) if own.ndim == 2 else self._squares(own, counts)
        return sums, products, most

    def _squares(self, own: np.ndarray, counts: Sequence[np.ndarray]) -> np.ndarray:
        """Σ c x² of all columns."""
        squares = np.zeros(self.shape[1])
        squares[self.places] = own
        for part, count in zip(self.indicated, counts, strict=True):
            squares[part.where] += count * part.values**2
        return squares

    def _products(self, own: np.ndarray, counts: Sequence[np.ndarray], root: np.ndarray | None) -> np.ndarray:
        """Σ c x xᵀ of all columns."""
        d = self.shape[1]
        products = np.zeros((d, d), order="F")
        runs = self._runs()
        for columns, run in runs:
            for other_columns, other_run in runs:
                products[columns, other_columns] = own[run, other_run]

        memberships: list[sparse.csc_array] = []
        for part, count in zip(self.indicated, counts, strict=True):
            np.einsum("ii->i", products[part.where, part.where])[:] += count * part.values**2
            membership = _membership(part, root)
            crossed = (membership @ self.dense) * part.values[:, np.newaxis]
            for columns, run in runs:
                products[part.where, columns] += crossed[:, run]
                products[columns, part.where] += crossed[:, run].T
            for other, other_membership in zip(self.indicated, memberships, strict=False):  # those before
                counted = (membership @ other_membership.T).toarray() * np.outer(part.values, other.values)
                products[part.where, other.where] += counted
                products[other.where, part.where] += counted.T
            memberships.append(membership)
        return products

    def _runs(self) -> list[tuple[slice, slice]]:
        """Runs of adjacent columns in `dense`, as slices of all columns and of `dense`: faster than `places`."""
        starts = np.flatnonzero(np.diff(self.places, prepend=-2) != 1).tolist()
        runs = []
        for start, stop in zip(starts, [*starts[1:], self.places.size], strict=True):
            first = int(self.places[start])
            runs.append((slice(first, first + stop - start), slice(start, stop)))
        return runs


def places_written_out(n_columns: int, indicated: Sequence[Indicated]) -> np.ndarray:
    """The columns that are no indicators."""
    is_written = np.ones(n_columns, dtype=bool)
    for part in indicated:
        is_written[part.where] = False
    return np.flatnonzero(is_written)


def _membership(part: Indicated, root: np.ndarray | None) -> sparse.csc_array:
    """A matrix (categories, rows) with √c of each row in the line of its category."""
    is_known = part.codes >= 0
    known = np.flatnonzero(is_known)
    roots = np.ones(known.size) if root is None else root[known]
    ends = np.concatenate([[0], np.cumsum(is_known)])
    return sparse.csc_array((roots, part.codes[known], ends), shape=(part.values.size, part.codes.size))
