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
from vrspam.moments._rounding import (
    UNIT,
    UNIT_FLOAT32,
    UNKNOWN_SCATTER,
    Errors,
    difference,
    gamma,
    joined,
    level_of,
    two_sum,
)


class Indicated(NamedTuple):
    """The indicators of one categorical column."""

    where: slice  # their columns
    codes: np.ndarray  # which of them is not 0 in each row; -1 for none
    values: np.ndarray  # what each of them is where it is not 0


class CodedRows:
    """Rows as the columns that are written out, `dense`, which may be overwritten, and the codes of the indicators."""

    def __init__(self, n_columns: int, dense: np.ndarray, indicated: Sequence[Indicated]):
        places = np.ones(n_columns, dtype=bool)
        for part in indicated:
            places[part.where] = False
        self.places = np.flatnonzero(places)
        self.dense, self.indicated = dense, list(indicated)
        self.shape, self.dtype = (len(dense), n_columns), dense.dtype

    def with_common_written_out(self, dtype: np.dtype) -> CodedRows:
        """The same rows, of this type; the indicator of a category of more than half of them is written out."""
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
        """Runs of adjacent columns in `dense`, as slices of all columns and of `dense`: faster than `places`."""
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


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """Some rows of a C-ordered array, copied a few at a time to a buffer; `product` is room for their products."""

    X: np.ndarray
    index: np.ndarray
    buffer: np.ndarray
    product: np.ndarray | None
    shape: tuple[int, int]
    dtype: np.dtype


def centre_of(rows) -> np.ndarray:
    """The mean of some of the rows, rounded to their type, to subtract from all before they are multiplied.

    A sparse block is centred only in columns that are more than half full: in the others the mean is small against the
    root mean square, and subtracting it afterwards loses at most one bit.
    """
    centre_rows = 64  # rows of a block whose mean is subtracted before all of them are multiplied
    every = slice(None, None, -(-rows.shape[0] // centre_rows))  # spread over all of them
    some = rows.X[rows.index[every]].astype(rows.dtype, copy=False) if isinstance(rows, ChosenRows) else rows[every]
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

    The centre is 0 except in columns that are more than half full, see `centre_of`.
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
COARSE_CHUNK_ROWS = 1 << 14  # the same for products in float32, which are too coarse for a certificate anyway
FLOAT32_ROUNDING = 2.0**-23  # relative error of a float32 product, with room to spare
MOST_WEIGHT = float(np.finfo(np.float64).max) / 4.0  # of a class: the sum of both classes stays finite
WINDOW_ROWS = 1 << 16  # rows of a C-ordered array that make up one block, though fewer are copied at once
THREAD_PRODUCTS = 1 << 27  # multiplications in a product of the rows from which on several threads share them


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
        arrays = {name: getattr(self, name).copy(order="K") for name in ("mean", "scatter", "peak", "low")}
        return replace(self, **arrays, errors=replace(self.errors))

    def add_features(self, count: int) -> None:
        """Append columns that are 0 in all rows so far."""
        size = self.mean.size + count
        self.mean, self.peak, self.low = (padded(vector, size) for vector in (self.mean, self.peak, self.low))
        self.scatter = np.asfortranarray(padded(self.scatter, size))
        self.errors = replace(
            self.errors, mean=padded(self.errors.mean, size), scatter=padded(self.errors.scatter, size)
        )

    @property
    def diagonal(self) -> np.ndarray:
        """A view of the scatter's diagonal, not to be written to."""
        return self.scatter if self.scatter.ndim == 1 else self.scatter.diagonal()

    def clip_diagonal(self) -> None:
        """Set negative variances to 0: they are the rounding of differences of which nothing remains."""
        diagonal = self.scatter if self.scatter.ndim == 1 else np.einsum("ii->i", self.scatter)
        np.maximum(diagonal, 0.0, out=diagonal)

    def _add_scatter(self, other: ClassStatistics | None, sign: int, ones: list[tuple[float, np.ndarray]]) -> None:
        """scatter ± that of other rows, as if both had the same mean, + Σ scale · v vᵀ (both triangles)."""
        if other is not None and sign > 0:
            self.scatter += other.scatter
        elif other is not None:
            self.scatter -= other.scatter
        if not ones:
            return
        scales, v = np.array([scale for scale, _ in ones]), np.stack([vector for _, vector in ones])
        if self.scatter.ndim == 1:
            self.scatter += scales @ (v * v)
        else:
            scaled = v.T * scales
            for start in range(0, len(scaled), 64):  # a few columns at a time stay in the cache
                self.scatter[:, start : start + 64] += (scaled[start : start + 64] @ v).T

    def merge(
        self, other: ClassStatistics, residual: np.ndarray | None = None, *, of_differences: bool = False
    ) -> None:
        """Add the statistics of other rows; with `residual`, their scatter is about their mean minus `residual`.

        `of_differences` is whether rows are differences of two rows: their mean is then no offset, but counts.
        """
        if other.weight == 0.0:
            return
        total = self.weight + other.weight
        share = other.weight / total
        first = self.weight == 0.0
        ones = [] if residual is None else [(-other.weight, residual)]
        if not first:
            means = other.mean, other.low, self.mean, self.low
            shift = difference(*means)
            ones.insert(0, (self.weight * share, shift))
        if taken := first and residual is not None:  # of a block that nobody else holds
            self.scatter = other.scatter
        self._add_scatter(None if taken else other, 1, ones)
        if first:
            self.mean, self.low, self.errors = other.mean.copy(), other.low.copy(), replace(other.errors)
        else:
            size = np.maximum(self.diagonal, other.diagonal)
            weights = (self.weight, other.weight, total)
            unit = size + total * np.maximum(self.mean**2, other.mean**2) if of_differences else size
            self.errors = joined(self.errors, other.errors, weights, shift, size, level_of(*means), unit)
            mean, low = two_sum(self.mean, share * shift)
            self.mean, self.low = two_sum(mean, low + self.low)
        self.rows += other.rows
        self.weight = total
        self.peak = np.maximum(np.maximum(self.peak, other.peak), self.diagonal)
        self.rounding = max(self.rounding, other.rounding)

    def remove(self, other: ClassStatistics, *, of_differences: bool = False) -> None:
        """Subtract the statistics of rows that were merged before."""
        if other.weight == 0.0:
            return
        rest = self.weight - other.weight
        if self.rows == other.rows or rest <= 0.0:
            self._clear()
            return
        means = other.mean, other.low, self.mean, self.low
        shift = difference(*means)
        pull = other.weight * (self.weight / rest)
        size = self.diagonal + other.diagonal + pull * shift**2
        weights = (self.weight, -other.weight, rest)
        unit = size + self.weight * np.maximum(self.mean**2, other.mean**2) if of_differences else size
        self.errors = joined(self.errors, other.errors, weights, shift, size, level_of(*means), unit)
        self._add_scatter(other, -1, [(-pull, shift)])
        mean, low = two_sum(self.mean, (-other.weight / rest) * shift)
        self.mean, self.low = two_sum(mean, low + self.low)
        self.rows, self.weight = self.rows - other.rows, rest
        if self.rows == 1:
            self.scatter[:] = 0.0
            self.errors.scatter = np.zeros_like(self.mean)
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
            # The weight of zeros is a difference, see `sparse_spread`; without weights it is a number of rows.
            uncertain = gamma(m) * total * centre**2 if weighted else 0.0
        elif isinstance(rows, CodedRows):
            centre = np.zeros(rows.shape[1])  # indicators are not centred: none is in more than half of the rows
            centre[rows.places] = centre_of(rows.dense)
            sums, own, operations = _dense_sums(rows.dense, centre[rows.places], weights, full)
            sums, own, most = rows.sums(own, sums, None if weights is None else np.sqrt(weights))
            residual, operations = sums / total, max(operations, most + 2)
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
        self.merge(block, residual)


def _dense_sums(
    rows: np.ndarray | ChosenRows, centre: np.ndarray, weights: np.ndarray | None, full: bool
) -> tuple[np.ndarray, np.ndarray, int]:
    """(Σ c x, Σ c x xᵀ or its diagonal, most roundings of one element) of x = row - centre.

    A few rows at a time are copied or overwritten, centred and multiplied, and the results are added in float64. Sums
    are computed in float64; float32 rows are centred and multiplied in float32.
    """
    m, d = rows.shape
    is_coarse, own_centre = rows.dtype == np.float32, centre.astype(rows.dtype)
    step = min(m, COARSE_CHUNK_ROWS if is_coarse else CHUNK_ROWS)
    slice_bytes = 1 << 20  # rows centred and summed at once: they stay in the cache meanwhile
    slice_rows = min(max(slice_bytes // (rows.dtype.itemsize * max(d, 1)), 64), CHUNK_ROWS)
    product = None
    if isinstance(rows, ChosenRows):
        step, product = min(step, rows.buffer.shape[0]), rows.product
    mass = np.ones(step) if weights is None else weights
    root = mass if weights is None else np.sqrt(mass)
    sums, own, slices, once = np.zeros(d), np.zeros((d, d) if full else d), 0, m <= step
    for start in range(0, m, step):
        size = min(step, m - start)
        chunk = rows.buffer[:size] if isinstance(rows, ChosenRows) else rows[start : start + size]
        for first in range(0, size, slice_rows):
            part = chunk[first : first + slice_rows]
            if isinstance(rows, ChosenRows):
                chosen = rows.index[start + first : start + first + part.shape[0]]
                if part.dtype == rows.X.dtype:
                    np.take(rows.X, chosen, axis=0, out=part, mode="clip")
                else:
                    part[:] = rows.X[chosen]
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
        if not full:
            own += np.einsum("ij,ij->j", chunk, chunk, dtype=np.float64)
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.matmul(chunk.T, chunk, out=None if once else product)  # SciPy's BLAS would keep Python's lock
        if is_coarse and not 2.0**-80 < found.diagonal().max(initial=0.0) < 2.0**80:  # not so for NaN
            # Far from 1, a power of two brings the squares into float32's range and changes no digit.
            exponent = int(np.frexp(np.max(np.abs(chunk), initial=0.0))[1])
            chunk = np.ldexp(chunk, -exponent)
            found = np.ldexp((chunk.T @ chunk).astype(np.float64), 2 * exponent)
        own = found.astype(np.float64, copy=False) if once else np.add(own, found, out=own)
    operations = max(step + -(-m // step), min(slice_rows, step) + slices)
    return sums, own.T, operations  # T: by columns, as all scatters


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

    Blocks of a sparse X stay sparse if a sparse product is cheaper. With `precise`, float32 rows are multiplied in
    float64. With many rows, each thread that BLAS may use gathers and multiplies a part of them.
    """
    # Rows of weight zero are ignored: they do not count as rows either.
    members = [(y == label) if weights is None else (y == label) & (weights > 0) for label in labels]
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    n, d = X.shape
    count = n if index is None else index.size
    is_sparse, in_order = sparse.issparse(X), isinstance(X, np.ndarray) and X.flags.c_contiguous
    # Without a scatter there are no large products that float32 would make cheaper.
    in_float32 = full and not precise and not is_sparse and X.dtype == np.float32
    dtype = np.dtype(np.float32 if in_float32 else np.float64)
    sparse_product_density = 0.05  # below it a product of sparse blocks beats a dense one
    stays_sparse = is_sparse and (not full or X.nnz < sparse_product_density * n * max(d, 1))
    coded = getattr(X, "coded_rows", None)  # indicators of many categories are not written out
    stop = Event()

    @np.errstate(over="ignore", invalid="ignore")  # `check_range` reports it
    def of_part(first: int, last: int) -> list[ClassStatistics]:
        """Statistics of each label in some of the rows."""
        itemsize = dtype.itemsize if in_order else X.dtype.itemsize
        step = max(64, BLOCK_BYTES // threads // (itemsize * max(d if coded is None else X.written_width, 1)))
        buffer, product = None, None
        if in_order:
            at_once = min(step, COARSE_CHUNK_ROWS if in_float32 else CHUNK_ROWS, last - first)
            buffer, product = np.empty((at_once, d), dtype), np.empty((d, d), dtype) if full else None
            step = max(step, WINDOW_ROWS)
        elif stays_sparse:
            step = max(step, int(n * BLOCK_BYTES / (12 * (X.nnz + 1))))
        found = [ClassStatistics.empty(d, full) for _ in members]
        for start in range(first, last, step):
            window = np.arange(start, min(start + step, last))
            window = window if index is None else index[window]
            for statistics, member in zip(found, members, strict=True):
                chosen = window[member[window]]
                if chosen.size == 0 or stop.is_set():
                    continue
                if buffer is not None:
                    rows: Any = ChosenRows(X, chosen, buffer, product, (chosen.size, X.shape[1]), buffer.dtype)
                elif coded is not None:
                    rows = coded(chosen).with_common_written_out(dtype)
                else:
                    rows = X[chosen]  # np.take would first copy all of an X that is not C-ordered
                    rows = (rows.toarray() if is_sparse and not stays_sparse else rows).astype(dtype, copy=False)
                statistics.add_rows(rows, None if weights is None else weights[chosen], of_weights)
        return found

    threads = blas_thread_count() if in_order and full and count * d * d >= THREAD_PRODUCTS else 1
    most_bytes = 1 << 27  # of the matrices of all threads together
    if threads == 1 or threads * (len(members) + 1) * 8 * d * d > most_bytes:
        threads = 1
        return of_part(0, count)

    def merged(first: ClassStatistics, *others: ClassStatistics) -> ClassStatistics:
        for other in others:
            first.merge(other)
        return first

    edges = [count * number // threads for number in range(threads + 1)]
    with blas_threads(1), ThreadPoolExecutor(threads, "vrspam moments") as pool:
        try:
            return list(pool.map(merged, *pool.map(of_part, edges[:-1], edges[1:])))
        finally:
            stop.set()  # after an interrupt


def check_range(statistics: ClassStatistics, forgets: bool) -> None:
    """Refuse rows whose weighted squares left the range of float64."""
    if not statistics.weight <= MOST_WEIGHT:
        raise ValueError("sample_weight adds up to infinity: divide it by its largest entry.")
    also = ", and sample_weight so that it is near 1" if statistics.weight != statistics.rows else ""
    # No product is larger than those of the diagonal; not so for NaN.
    fits = (statistics.diagonal <= UNKNOWN_SCATTER) & (np.abs(statistics.mean) <= 1e150)
    if not fits.all():
        raise ValueError(
            f"The squares of the features overflow (column {int(np.argmin(fits))}): rescale the features so that "
            f"they stay below 1e150{also}."
        )
    with np.errstate(under="ignore"):
        largest = max(statistics.diagonal.max(initial=0.0), statistics.weight * np.max(statistics.mean**2, initial=0.0))
    if largest < np.finfo(float).tiny and statistics.mean.any() and not forgets:
        raise ValueError(
            f"The squares of the features underflow: rescale the features so that they stay above 1e-150{also}."
        )


def same(a: ClassStatistics, b: ClassStatistics) -> bool:
    """Whether both are equal to rounding, on the scale of each column's spread and mean at present."""
    if a.rows != b.rows or not np.isclose(a.weight, b.weight, rtol=1e-9):
        return False
    offset = 1e-9 * np.maximum(np.abs(a.mean), np.abs(b.mean))
    spread = np.sqrt(np.maximum(a.diagonal, b.diagonal)) + np.sqrt(max(a.weight, 1.0)) * offset
    if np.any(np.abs(a.mean - b.mean) > 1e-8 * spread / np.sqrt(max(a.weight, 1e-300)) + offset):
        return False
    scale = np.outer(spread, spread) if a.scatter.ndim == 2 else spread**2
    return bool(np.all(np.abs(a.scatter - b.scatter) <= 1e-7 * scale))
