"""Rows some of whose columns are indicators of categories: the numbers of the categories stand for these columns.

At most one indicator of a category is not 0 in a row. So the products of such columns with others are sums over the
rows of each category, those of indicators with each other are counts, and no column of zeros is ever written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse


class Indicated(NamedTuple):
    """The indicators of one category.

    Attributes
    ----------
    where : slice
        Their columns.
    codes : ndarray of shape (m,)
        Which of them is not 0 in each row; -1 for none.
    values : ndarray of shape (width,)
        What each of them is where it is not 0.
    """

    where: slice
    codes: np.ndarray
    values: np.ndarray


class CodedRows:
    """Rows as the columns that are written out, and the codes of the others.

    Parameters
    ----------
    n_columns : int
        Of the rows.
    dense : ndarray of shape (m, columns that are written out)
        May be overwritten.
    indicated : sequence of Indicated
        All other columns.
    """

    def __init__(self, n_columns: int, dense: np.ndarray, indicated: Sequence[Indicated]):
        places = np.ones(n_columns, dtype=bool)
        for part in indicated:
            places[part.where] = False
        self.places = np.flatnonzero(places)
        self.dense, self.indicated = dense, list(indicated)
        self.shape, self.dtype = (len(dense), n_columns), dense.dtype

    def with_common_written_out(self, dtype: np.dtype) -> CodedRows:
        """The same rows, of this type, in which a category of more than half of them is a column that is written out.

        Such columns are centred, as all that are written out: their spread is small against their size.
        """
        dense, places, indicated = [self.dense], [self.places], []
        for where, codes, values in self.indicated:
            counts = np.bincount(codes[codes >= 0], minlength=values.size)
            most = int(counts.argmax())
            if 2 * counts[most] > codes.size:
                found = codes == most
                dense.append(np.where(found, values[most], 0.0)[:, np.newaxis])
                places.append(np.array([where.start + most]))
                codes = np.where(found, -1, codes)
            indicated.append(Indicated(where, codes, values))
        whole = np.hstack(dense) if dense[1:] else dense[0]
        new = CodedRows(self.shape[1], whole.astype(dtype, copy=False), indicated)
        new.places = np.concatenate(places)
        return new

    def _runs(self) -> list[tuple[slice, slice]]:
        """Where columns that are written out lie side by side, here and there: slices are quicker than places."""
        starts = np.flatnonzero(np.diff(self.places, prepend=-2) != 1).tolist()
        runs = []
        for start, stop in zip(starts, [*starts[1:], self.places.size], strict=True):
            first = int(self.places[start])
            runs.append((slice(first, first + stop - start), slice(start, stop)))
        return runs

    def sums(
        self, own: np.ndarray, dense_sums: np.ndarray, root: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """(Σ c x, Σ c x xᵀ, most roundings of one element of a sum of indicators) of all columns.

        `own` is Σ c x xᵀ of the columns that are written out (or its diagonal alone), and `dense_sums` their Σ c x;
        `dense` holds √c x by now, and `root` the √c (None for 1). Indicators are not centred.
        """
        m, d = self.shape
        full = own.ndim == 2
        sums, total = np.zeros(d), np.zeros((d, d) if full else d, order="F")
        sums[self.places] = dense_sums
        for some, run in self._runs():
            for other, beside in self._runs() if full else []:
                total[some, other] = own[run, beside]
            if not full:
                total[some] = own[run]
        mass, most = None if root is None else root * root, 0
        members: list[sparse.csc_array] = []
        for where, codes, values in self.indicated:
            known = np.flatnonzero(codes >= 0)
            of_known, width = codes[known], values.size
            counts = np.bincount(of_known, None if mass is None else mass[known], width)
            most = max(most, int(np.bincount(of_known, minlength=1).max(initial=0)))
            sums[where] += counts * values
            squares = counts * values**2
            if not full:
                total[where] += squares
                continue
            np.einsum("ii->i", total[where, where])[:] += squares
            ends = np.concatenate([[0], np.cumsum(codes >= 0)])
            each = np.ones(known.size) if root is None else root[known]
            rows = sparse.csc_array((each, of_known, ends), shape=(width, m))  # √c in the line of its category
            crossed = (rows @ self.dense) * values[:, np.newaxis]
            for some, run in self._runs():
                total[where, some] += crossed[:, run]
                total[some, where] += crossed[:, run].T
            for other, (before, _, of_others) in zip(members, self.indicated, strict=False):
                counted = (rows @ other.T).toarray() * np.outer(values, of_others)
                total[where, before] += counted
                total[before, where] += counted.T
            members.append(rows)
        return sums, total, most
