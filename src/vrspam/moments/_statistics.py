"""Size, mean and scatter of one class, gathered block by block.

The scatter is S = Σ_i c_i (x_i - μ)(x_i - μ)ᵀ (weights c). Statistics of disjoint sets of rows add up exactly
(Chan, Golub & LeVeque 1983) and can be taken apart again:

    n = n_a + n_b,   D = μ_b - μ_a,   μ = μ_a + (n_b/n) D,   S = S_a + S_b + (n_a n_b/n) D Dᵀ.

Rows are centred before they are multiplied, so a large common offset costs no digits; a sum of raw squares
would lose them all.

Indicators of a category are not written out (`CodedRows`): at most one of them is not 0 in a row, so that their
products with other columns are sums over the rows of each category, and those with each other are counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, replace
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam._utils.array_api import padded
from vrspam._utils.blas import blas_thread_count, blas_threads
from vrspam.moments._rounding import UNIT, UNIT_FLOAT32, Errors, difference, gamma, joined, lost_level, two_sum


class Indicated(NamedTuple):
    """The indicators of one category."""

    where: slice  # their columns
    codes: np.ndarray  # which of them is not 0 in each row; -1 for none
    values: np.ndarray  # what each of them is where it is not 0


class CodedRows:
    """Rows as the columns that are written out, `dense`, which may be overwritten, and the codes of all others."""

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


class ChosenRows:
    """Some rows of a C-ordered array, which are copied to a buffer a few at a time, in the type of the buffer.

    The buffer is used again and again: fresh memory would cost as much as the copy. `product` is room for products of
    the rows in it, if they are asked for.
    """

    def __init__(self, X: np.ndarray, index: np.ndarray, buffer: np.ndarray, product: np.ndarray | None):
        self.X, self.index, self.buffer, self.product = X, index, buffer, product
        self.shape, self.dtype, self.itemsize = (index.size, X.shape[1]), buffer.dtype, buffer.itemsize

    def __getitem__(self, chosen: slice) -> np.ndarray:
        return self.X[self.index[chosen]].astype(self.dtype, copy=False)

    def copy_to(self, out: np.ndarray, start: int) -> None:
        """Copy as many rows as `out` has, from row `start` on."""
        chosen = self.index[start : start + out.shape[0]]
        if out.dtype == self.X.dtype:
            np.take(self.X, chosen, axis=0, out=out, mode="clip")
        else:
            out[:] = self.X[chosen]


def centre_of(rows) -> np.ndarray:
    """A vector to subtract from the rows of a block before they are multiplied, with digits of their type.

    It is the mean of some of the rows, which lies within a fraction of the spread of the mean of all: enough to keep
    the digits, and no second reading of the block.
    A sparse block is centred only in columns that are more than half full: in the others the mean is small
    against the root mean square, and subtracting it afterwards loses at most one bit.
    """
    centre_rows = 64  # rows of a block whose mean is subtracted before all of them are multiplied
    some = rows[:: -(-rows.shape[0] // centre_rows)]  # spread over all of them
    centre = np.asarray(some.mean(axis=0, dtype=np.float64), dtype=rows.dtype).ravel()
    if sparse.issparse(rows):
        full = np.bincount(rows.indices, minlength=rows.shape[1]) > rows.shape[0] / 2
        centre = np.where(full, centre, 0).astype(rows.dtype)
    return centre.astype(np.float64)


def sparse_sums(rows, centre: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, int]:
    """(Σ c x, Σ c x xᵀ, most roundings of one element) of x = row - centre for a sparse block, which stays sparse."""
    m = rows.shape[0]
    root = np.ones(m) if weights is None else np.sqrt(weights)
    if centre.any():
        ones = sparse.csr_array(np.ones((m, 1), rows.dtype))
        rows = rows - ones @ sparse.csr_array(centre.astype(rows.dtype)[np.newaxis])
    if weights is not None:
        rows = (sparse.diags_array(root.astype(rows.dtype)) @ rows).tocsr()
    sums = np.asarray(root @ rows, dtype=np.float64).ravel()
    rows = rows.astype(np.float64, copy=False)  # float32 would be no faster
    return sums, (rows.T @ rows).toarray().T, m


def sparse_spread(rows, weights: np.ndarray | None, total: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(centre, mean - centre, sum of squares around it) of each column of a CSR block, from its entries alone.

    The centre is 0 but in columns that are more than half full, see `centre_of`.
    """
    rows.sum_duplicates()  # the block is a copy; an entry in two parts would spoil the squares
    columns = rows.indices.astype(np.intp)  # once, for all the counting
    d, each = rows.shape[1], None if weights is None else np.repeat(weights, np.diff(rows.indptr))
    count = np.bincount(columns, minlength=d)
    present = count if each is None else np.bincount(columns, each, d)
    # The weight of zeros; where there are none, rounding would be multiplied by the square of the centre.
    absent = np.where(count < rows.shape[0], np.maximum(total - present, 0.0), 0.0)
    values = rows.data.astype(np.float64, copy=False)
    sums = np.bincount(columns, values if each is None else each * values, d)
    centre = np.where(present > total / 2, sums / total, 0.0)
    if centre.any():
        values = values - centre[columns]
        sums = np.bincount(columns, values if each is None else each * values, d) - absent * centre
    squares = np.bincount(columns, values**2 if each is None else each * values**2, d)
    return centre, sums / total, squares + absent * centre**2


BLOCK_BYTES = 1 << 26  # rows are gathered in dense blocks of about this size
CHUNK_ROWS = 1 << 12  # so many rows are multiplied at once: the bound on rounding grows with them
COARSE_CHUNK_ROWS = 1 << 14  # of products in float32, which are too coarse for a certificate anyway
FLOAT32_ROUNDING = 2.0**-23  # relative error of a float32 product, with room to spare
MOST_WEIGHT = float(np.finfo(np.float64).max) / 4.0  # of a class; the other class comes on top
WINDOW_ROWS = 1 << 16  # rows of a C-ordered array that make up one block, though fewer are copied at once
THREAD_PRODUCTS = 1 << 27  # multiplications in a product of the rows from which on several threads gather them


@dataclass
class ClassStatistics:
    """Size, mean and scatter of one class; `scatter` is (d, d), or only its diagonal, of shape (d,).

    `peak` is the largest diagonal the scatter ever had: rounding is relative to it, also after rows were subtracted.
    `rounding` is the relative error of the coarsest product in the scatter, 0 for float64. `low` is what the rounding
    of `mean` drops: the mean is mean + low, so a large common offset costs no digits. `errors` bounds the rounding
    errors of all of them.
    """

    rows: int
    weight: float
    mean: np.ndarray
    scatter: np.ndarray
    peak: np.ndarray
    rounding: float = 0.0
    _: KW_ONLY
    low: np.ndarray
    errors: Errors

    @classmethod
    def empty(cls, n_features: int, full: bool) -> ClassStatistics:
        shape = (n_features, n_features) if full else (n_features,)
        mean, peak, low = np.zeros((3, n_features))
        return cls(
            0, 0.0, mean, np.zeros(shape, order="F"), peak, low=low, errors=Errors(0.0, *np.zeros((2, n_features)))
        )

    def copy(self) -> ClassStatistics:
        return replace(
            self,
            mean=self.mean.copy(),
            scatter=self.scatter.copy(order="F"),
            peak=self.peak.copy(),
            low=self.low.copy(),
            errors=self.errors.copy(),
        )

    @classmethod
    def side_by_side(cls, parts: Sequence[ClassStatistics]) -> ClassStatistics:
        """Statistics of the same rows, column after column, with the diagonal of the scatter alone."""
        mean, diagonal, peak, low, of_mean, of_scatter = (
            np.concatenate(columns)
            for columns in zip(
                *[(s.mean, s.diagonal, s.peak, s.low, s.errors.mean, s.errors.scatter) for s in parts], strict=True
            )
        )
        first = parts[0]
        errors = Errors(first.errors.weight, of_mean, of_scatter)
        rounding = max(part.rounding for part in parts)
        return cls(first.rows, first.weight, mean, diagonal, peak, rounding, low=low, errors=errors)

    def add_features(self, count: int) -> None:
        """Append columns that are 0 in all rows so far."""
        size = self.mean.size + count
        self.mean, self.peak, self.low = (padded(vector, size) for vector in (self.mean, self.peak, self.low))
        self.scatter = np.asfortranarray(padded(self.scatter, size))
        self.errors = replace(
            self.errors, mean=padded(self.errors.mean, size), scatter=padded(self.errors.scatter, size)
        )

    @property
    def is_full(self) -> bool:
        """Whether the scatter is a matrix."""
        return self.scatter.ndim == 2

    @property
    def diagonal(self) -> np.ndarray:
        """A view of the scatter's diagonal, not to be written to."""
        return self.scatter if self.scatter.ndim == 1 else self.scatter.diagonal()

    def clip_diagonal(self) -> None:
        """Make no variance negative: where nothing of one remains, a difference is rounding."""
        diagonal = self.scatter if self.scatter.ndim == 1 else np.einsum("ii->i", self.scatter)
        np.maximum(diagonal, 0.0, out=diagonal)

    def _add_rank_ones(self, scales: list[float], vectors: list[np.ndarray]) -> None:
        """scatter += Σ scale · v vᵀ (both triangles)."""
        v = np.stack(vectors)
        if self.scatter.ndim == 1:
            self.scatter += np.asarray(scales) @ (v * v)
        else:
            self.scatter += ((v.T * scales) @ v).T

    def _add_scatter(self, other: ClassStatistics, sign: int) -> None:
        """scatter ± that of other rows, as if both had the same mean."""
        if sign > 0:
            self.scatter += other.scatter
        else:
            self.scatter -= other.scatter

    def is_finite(self) -> bool:
        """Whether mean and scatter are finite numbers."""
        return bool(np.isfinite(self.scatter).all() and np.isfinite(self.mean).all())

    def _move_mean(self, step: np.ndarray) -> None:
        mean, low = two_sum(self.mean, step)
        self.mean, self.low = two_sum(mean, low + self.low)

    def merge(self, other: ClassStatistics) -> None:
        """Add the statistics of other rows."""
        if other.weight == 0.0:
            return
        shift = difference(other.mean, other.low, self.mean, self.low)
        self._join(other, shift, [], [])

    def _join(self, other: ClassStatistics, shift: np.ndarray, scales: list[float], vectors: list[np.ndarray]) -> None:
        """Add the statistics of other rows, whose mean is `shift` from this one, and scale · v vᵀ for more vectors."""
        total = self.weight + other.weight
        share = other.weight / total
        first = self.weight == 0.0
        level = lost_level(self.mean, self.low, other.mean, other.low)
        self._add_scatter(other, 1)
        scales, vectors = (scales, vectors) if first else ([self.weight * share, *scales], [shift, *vectors])
        if scales:
            self._add_rank_ones(scales, vectors)
        if first:
            self.mean, self.low, self.errors = other.mean.copy(), other.low.copy(), other.errors.copy()
        else:
            size = np.maximum(self.diagonal, other.diagonal)
            weights = (self.weight, other.weight, total)
            self.errors = joined(self.errors, other.errors, weights, shift, size, level)
            self._move_mean(share * shift)
        self.rows += other.rows
        self.weight = total
        self.peak = np.maximum(np.maximum(self.peak, other.peak), self.diagonal)
        self.rounding = max(self.rounding, other.rounding)

    def remove(self, other: ClassStatistics) -> None:
        """Subtract the statistics of rows that were merged before."""
        if other.weight == 0.0:
            return
        rest = self.weight - other.weight
        if self.rows == other.rows or rest <= 0.0:
            self._clear()
            return
        shift = difference(other.mean, other.low, self.mean, self.low)
        level = lost_level(self.mean, self.low, other.mean, other.low)
        pull = other.weight * (self.weight / rest)
        size = self.diagonal + other.diagonal + pull * shift**2
        weights = (self.weight, -other.weight, rest)
        self.errors = joined(self.errors, other.errors, weights, shift, size, level)
        self._add_scatter(other, -1)
        self._add_rank_ones([-pull], [shift])
        self._move_mean((-other.weight / rest) * shift)
        self.rows, self.weight = self.rows - other.rows, rest
        if self.rows == 1:
            self.scatter[:] = 0.0
            self.errors.scatter[:] = 0.0
        self.clip_diagonal()

    def fade(self, factor: float) -> None:
        """Multiply the weight of every row by `factor`."""
        if factor == 0.0:
            self._clear()
            return
        share = UNIT * (4.0 + abs(float(np.log2(factor))))  # the error of a power of two, and of a product
        self.errors.weight = factor * self.errors.weight + share * factor * self.weight
        self.errors.scatter = factor * (1.001 * self.errors.scatter + share * self.diagonal)
        self.weight *= factor
        self.scatter *= factor
        self.peak *= factor
        forgotten_weight = 1e-150  # a class whose weight fades below this is forgotten: smaller numbers lose digits
        if self.weight < forgotten_weight:
            self._clear()

    def _clear(self) -> None:
        self.rows, self.weight, self.rounding = 0, 0.0, 0.0
        for array in (self.mean, self.scatter, self.peak, self.low):
            array[:] = 0.0
        self.errors = Errors(0.0, *np.zeros((2, self.mean.size)))

    def add_rows(self, rows, weights: np.ndarray | None, of_weights: float = 0.0) -> None:
        """Add one block of rows of this class; a block in memory may be overwritten.

        `of_weights` is the relative error of the weights.
        """
        m = rows.shape[0]
        if m == 0:
            return
        full, weighted = self.scatter.ndim == 2, weights is not None
        unit = 0  # weights are counted in units of 2^unit: neither they nor their roots leave the range of float32
        if weights is not None:
            unit = int(np.frexp(weights.max())[1])
            weights = np.ldexp(weights, -unit)
        total = float(m if weights is None else weights.sum())
        of_weight = gamma(m) + of_weights if weighted else 0.0
        coarse = full and rows.dtype == np.float32 and not sparse.issparse(rows)
        uncertain: Any = 0.0
        # `centre` is close to the mean; `residual` is the mean minus the centre.
        if sparse.issparse(rows) and not full:
            centre, residual, own = sparse_spread(rows, weights, total)
            operations = 2 * m
            # The weight of zeros is a difference, see there; without weights it is a number of rows.
            uncertain = gamma(m) * total * centre**2 if weighted else 0.0
        elif isinstance(rows, CodedRows):
            centre, sums, own, operations = _coded_sums(rows, weights, full)
            residual = sums / total
        else:
            centre = centre_of(rows)
            if sparse.issparse(rows):
                sums, own, operations = sparse_sums(rows, centre, weights)
            else:
                sums, own, operations = _dense_sums(rows, centre, weights, full)
            residual = sums / total
        squares = (own.diagonal() if full else own).astype(np.float64)
        errors = Errors.of_block(
            operations,
            total,
            squares,
            residual,
            of_products=gamma(operations + 8, UNIT_FLOAT32) if coarse else None,
            of_weight=of_weight,
            of_weights=of_weights,
        )
        errors.mean += 2.0 * np.sqrt(uncertain / total) * np.sqrt(gamma(m))
        errors.scatter += 4.0 * (uncertain + np.sqrt(uncertain) * np.sqrt(gamma(m) * squares))
        if unit:
            own = np.ldexp(own.astype(np.float64), unit)
            total, errors.weight = float(np.ldexp(total, unit)), float(np.ldexp(errors.weight, unit))
            errors.scatter = np.ldexp(errors.scatter, unit)
        mean, low = two_sum(centre, residual)
        rounding = FLOAT32_ROUNDING if coarse else 0.0
        peak = (own.diagonal() if full else own) - total * residual**2
        block = ClassStatistics(m, total, mean, own, peak, rounding, low=low, errors=errors)
        shift = difference(centre, residual, self.mean, self.low)
        self._join(block, shift, [-total], [residual])


def _dense_sums(
    rows: np.ndarray | ChosenRows, centre: np.ndarray, weights: np.ndarray | None, full: bool
) -> tuple[np.ndarray, np.ndarray, int]:
    """(Σ c x, Σ c x xᵀ or its diagonal, most roundings of one element) of x = row - centre.

    Some rows at a time are copied, or overwritten, centred and multiplied, and the results are added in float64. The
    sum is one of float64; of the differences those of float32 rows have its digits.
    """
    m, d = rows.shape
    is_coarse, own_centre = rows.dtype == np.float32, centre.astype(rows.dtype)
    step = min(m, COARSE_CHUNK_ROWS if is_coarse else CHUNK_ROWS)
    slice_bytes = 1 << 20  # rows centred and summed at once: they stay in the cache meanwhile
    slice_rows = min(max(slice_bytes // (rows.itemsize * max(d, 1)), 64), CHUNK_ROWS)
    product = None
    if isinstance(rows, ChosenRows):
        step, product = min(step, rows.buffer.shape[0]), rows.product
    mass = np.ones(step) if weights is None else weights
    root = mass if weights is None else np.sqrt(mass)
    sums, own, slices = np.zeros(d), np.zeros((d, d) if full else d), 0
    for start in range(0, m, step):
        size = min(step, m - start)
        chunk = rows.buffer[:size] if isinstance(rows, ChosenRows) else rows[start : start + size]
        for first in range(0, size, slice_rows):
            part = chunk[first : first + slice_rows]
            if isinstance(rows, ChosenRows):
                rows.copy_to(part, start + first)
            place = first if weights is None else start + first
            weighed = slice(place, place + part.shape[0])
            if is_coarse:
                wide = part.astype(np.float64)
                wide -= centre
                sums += mass[weighed] @ wide
            part -= own_centre
            if weights is not None:
                part *= root[weighed].astype(rows.dtype)[:, np.newaxis]
            if not is_coarse:
                sums += root[weighed] @ part
            slices += 1
        own += _gram(chunk, product) if full else np.einsum("ij,ij->j", chunk, chunk, dtype=np.float64)
    operations = max(step + -(-m // step), min(slice_rows, step) + slices)
    return sums, own.T, operations  # T: by columns, as all scatters


def _coded_sums(
    rows: CodedRows, weights: np.ndarray | None, full: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """(centre, Σ c x, Σ c x xᵀ or its diagonal, most roundings of one element) of x = row - centre.

    The centre of indicators is 0: none of them is in more than half of the rows (see `with_common_written_out`), so
    that the mean is small against the root mean square.
    """
    centre = np.zeros(rows.shape[1])
    centre[rows.places] = centre_of(rows.dense)
    sums, own, operations = _dense_sums(rows.dense, centre[rows.places], weights, full)
    root = None if weights is None else np.sqrt(weights)
    all_sums, all_own, most = rows.sums(own, sums, root)
    return centre, all_sums, all_own, max(operations, most + 2)


def _gram(centred: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """centredᵀ centred; float32 blocks multiply in float32.

    The product is NumPy's, as all others on this path: SciPy brings its own BLAS, and the idle threads of one
    spin for a while and slow the other down. SciPy also keeps Python's lock.
    """
    if centred.dtype == np.float64:
        return np.matmul(centred.T, centred, out=out)
    with np.errstate(over="ignore", invalid="ignore"):
        product = np.matmul(centred.T, centred, out=out)
    if 2.0**-80 < product.diagonal().max(initial=0.0) < 2.0**80:  # not so for NaN
        return product
    # Far from 1, a power of two brings the squares into float32's range and changes no digit.
    exponent = int(np.frexp(np.max(np.abs(centred), initial=0.0))[1])
    centred = np.ldexp(centred, -exponent)
    return np.ldexp((centred.T @ centred).astype(np.float64), 2 * exponent)


def statistics_in_memory(
    X,
    y: np.ndarray,
    weights: np.ndarray | None,
    index: np.ndarray | None,
    labels: np.ndarray,
    full: bool,
    precise: bool,
    of_weights: float = 0.0,
) -> list[ClassStatistics]:
    """Statistics of the rows of each label (of those numbered in `index`), which are copied in blocks of bounded size.

    Blocks of a sparse X stay sparse if a sparse product is cheaper. With `precise` float32 rows multiply in float64.
    Of many rows each thread that BLAS may use gathers and multiplies a part, and the statistics of the parts are
    merged: one thread that gathers rows would leave the others idle meanwhile.
    """
    # Rows of weight zero count for nothing, not even as rows.
    members = [(y == label) if weights is None else (y == label) & (weights > 0) for label in labels]
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    part = _PartOfRows(X, weights, index, members, full, precise, of_weights)
    count = X.shape[0] if index is None else index.size
    d = X.shape[1]
    threads = blas_thread_count() if part.in_order and full and count * d * d >= THREAD_PRODUCTS else 1
    most_bytes = 1 << 27  # of the matrices of all threads together
    if threads == 1 or threads * (len(members) + 1) * 8 * d * d > most_bytes:
        return part.statistics(0, count, 1)
    edges = [count * number // threads for number in range(threads + 1)]
    with blas_threads(1), ThreadPoolExecutor(threads, "vrspam moments") as pool:
        try:
            found = list(pool.map(part.statistics, edges[:-1], edges[1:], [threads] * threads))
            return list(pool.map(_merged, *found))
        finally:
            part.stop.set()  # after an interrupt


def _merged(*parts: ClassStatistics) -> ClassStatistics:
    """The statistics of all parts, in the memory of the first."""
    for other in parts[1:]:
        parts[0].merge(other)
    return parts[0]


@dataclass
class _PartOfRows:
    """The rows of `statistics_in_memory`, of which one thread takes a part; `members` are the rows of each label."""

    X: Any
    weights: np.ndarray | None
    index: np.ndarray | None
    members: list[np.ndarray]
    full: bool
    precise: bool
    of_weights: float

    def __post_init__(self) -> None:
        n, d = self.X.shape
        self.stop = Event()
        # Without a scatter there are no large products that float32 would make cheaper.
        in_float32 = self.full and not self.precise and not sparse.issparse(self.X) and self.X.dtype == np.float32
        self.dtype = np.dtype(np.float32 if in_float32 else np.float64)
        self.in_order = isinstance(self.X, np.ndarray) and self.X.flags.c_contiguous
        sparse_product_density = 0.05  # below it a product of sparse blocks beats a dense one
        self.sparse_blocks = sparse.issparse(self.X) and (
            not self.full or self.X.nnz < sparse_product_density * n * max(d, 1)
        )

    @np.errstate(over="ignore", invalid="ignore")  # `check_range` reports it
    def statistics(self, first: int, last: int, threads: int) -> list[ClassStatistics]:
        """Statistics of each label in some of the rows; as many threads do the same at once."""
        n, d = self.X.shape
        coded = getattr(self.X, "coded_rows", None)  # indicators of many categories are not written out
        itemsize = self.dtype.itemsize if self.in_order else self.X.dtype.itemsize
        written = d if coded is None else self.X.written_width
        step = max(64, BLOCK_BYTES // threads // (itemsize * max(written, 1)))
        buffer, product = None, None
        if self.in_order:
            at_once = min(step, COARSE_CHUNK_ROWS if self.dtype == np.float32 else CHUNK_ROWS, last - first)
            buffer = np.empty((at_once, d), self.dtype)
            product = np.empty((d, d), self.dtype) if self.full else None
            step = max(step, WINDOW_ROWS)
        elif self.sparse_blocks:
            step = max(step, int(n * BLOCK_BYTES / (12 * (self.X.nnz + 1))))
        found = [ClassStatistics.empty(d, self.full) for _ in self.members]
        for start in range(first, last, step):
            stop = min(start + step, last)
            window = np.arange(start, stop) if self.index is None else self.index[start:stop]
            for statistics, member in zip(found, self.members, strict=True):
                chosen = window[member[window]]
                if chosen.size == 0 or self.stop.is_set():
                    continue
                weights = None if self.weights is None else self.weights[chosen]
                if buffer is not None:
                    statistics.add_rows(ChosenRows(self.X, chosen, buffer, product), weights, self.of_weights)
                    continue
                if coded is not None:
                    rows = coded(chosen).with_common_written_out(self.dtype)
                    statistics.add_rows(rows, weights, self.of_weights)
                    continue
                rows = self.X[chosen]  # np.take would first copy all of an X that is not C-ordered
                rows = rows.toarray() if sparse.issparse(self.X) and not self.sparse_blocks else rows
                statistics.add_rows(rows.astype(self.dtype, copy=False), weights, self.of_weights)
        return found


def check_range(statistics: ClassStatistics, forgets: bool) -> None:
    """Refuse rows whose weighted squares left the range of float64."""
    if not statistics.weight <= MOST_WEIGHT:
        raise ValueError("sample_weight adds up to infinity: divide it by its largest entry.")
    also = ", and sample_weight so that it is near 1" if statistics.weight != statistics.rows else ""
    if not statistics.is_finite():
        finite = np.isfinite(statistics.diagonal) & np.isfinite(statistics.mean)
        where = f" (column {int(np.argmin(finite))})" if finite.size and not finite.all() else ""
        raise ValueError(
            f"The squares of the features overflow{where}: rescale the features so that they stay below 1e150{also}."
        )
    with np.errstate(under="ignore"):
        largest = max(statistics.diagonal.max(initial=0.0), statistics.weight * np.max(statistics.mean**2, initial=0.0))
    if largest < np.finfo(float).tiny and statistics.mean.any() and not forgets:
        raise ValueError(
            f"The squares of the features underflow: rescale the features so that they stay above 1e-150{also}."
        )


def same(a: ClassStatistics, b: ClassStatistics) -> bool:
    """Equal to rounding, on the scale of each column's present spread and mean.

    What was subtracted does not count: where only its rounding is left, statistics are not equal.
    """
    if a.rows != b.rows or not np.isclose(a.weight, b.weight, rtol=1e-9):
        return False
    offset = 1e-9 * np.maximum(np.abs(a.mean), np.abs(b.mean))
    spread = np.sqrt(np.maximum(a.diagonal, b.diagonal)) + np.sqrt(max(a.weight, 1.0)) * offset
    if np.any(np.abs(a.mean - b.mean) > 1e-8 * spread / np.sqrt(max(a.weight, 1e-300)) + offset):
        return False
    scale = np.outer(spread, spread) if a.scatter.ndim == 2 else spread**2
    return bool(np.all(np.abs(a.scatter - b.scatter) <= 1e-7 * scale))
