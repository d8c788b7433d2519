"""Size, mean and scatter of one class, gathered block by block.

The scatter is S = Σ_i c_i (x_i - μ)(x_i - μ)ᵀ (weights c). Statistics of disjoint sets of rows add up exactly
(Chan, Golub & LeVeque 1983) and can be taken apart again:

    n = n_a + n_b,   D = μ_b - μ_a,   μ = μ_a + (n_b/n) D,   S = S_a + S_b + (n_a n_b/n) D Dᵀ.

`_sums` sums the rows of a block, `_gather` reads all rows in blocks.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from vrspam._utils.array_api import padded
from vrspam.moments._rounding import (
    FLOAT32_ROUNDING,
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
from vrspam.moments._sums import sums_of_block

MOST_WEIGHT = float(np.finfo(np.float64).max) / 4.0  # of a class: the sum of both classes stays finite
FORGOTTEN_WEIGHT = 1e-150  # a class whose weight fades below this is forgotten: smaller numbers lose digits


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
        return cls(
            rows=0,
            weight=0.0,
            mean=np.zeros(n_features),
            scatter=np.zeros(shape, order="F"),
            peak=np.zeros(n_features),
            low=np.zeros(n_features),
            errors=Errors.none(n_features),
        )

    def copy(self) -> ClassStatistics:
        return replace(
            self,
            mean=self.mean.copy(),
            scatter=self.scatter.copy(order="K"),
            peak=self.peak.copy(),
            low=self.low.copy(),
            errors=replace(self.errors),
        )

    def add_features(self, count: int) -> None:
        """Append columns that are 0 in all rows so far."""
        size = self.mean.size + count
        self.mean = padded(self.mean, size)
        self.peak = padded(self.peak, size)
        self.low = padded(self.low, size)
        self.scatter = np.asfortranarray(padded(self.scatter, size))
        self.errors = replace(
            self.errors, mean=padded(self.errors.mean, size), scatter=padded(self.errors.scatter, size)
        )

    @property
    def diagonal(self) -> np.ndarray:
        """A view of the scatter's diagonal, not to be written to."""
        return self.scatter if self.scatter.ndim == 1 else self.scatter.diagonal()

    @property
    def cancellation(self) -> float:
        """The largest diagonal so far over the present one (at least the mean over columns), for the worst column."""
        now = np.maximum(self.diagonal, self.diagonal.mean())
        now = np.where(now > 0.0, now, np.finfo(float).tiny)
        with np.errstate(over="ignore"):  # infinite, if nothing is left of large numbers
            return float(np.max(self.peak / now, initial=1.0))

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
        scales = np.array([scale for scale, _ in ones])
        v = np.stack([vector for _, vector in ones])
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
        residuals = [] if residual is None else [(-other.weight, residual)]
        if self.weight == 0.0:
            self._start_with(other, residuals)
        else:
            self._join(other, residuals, of_differences)
        self.rows += other.rows
        self.peak = np.maximum(np.maximum(self.peak, other.peak), self.diagonal)
        self.rounding = max(self.rounding, other.rounding)

    def _start_with(self, other: ClassStatistics, residuals: list[tuple[float, np.ndarray]]) -> None:
        """Take over the first rows."""
        if residuals:  # of a block that nobody else holds
            self.scatter = other.scatter
            self._add_scatter(None, 1, residuals)
        else:
            self._add_scatter(other, 1, [])
        self.weight = other.weight
        self.mean = other.mean.copy()
        self.low = other.low.copy()
        self.errors = replace(other.errors)

    def _join(self, other: ClassStatistics, residuals: list[tuple[float, np.ndarray]], of_differences: bool) -> None:
        """Add the weight, mean and scatter of other rows to those that are there."""
        total = self.weight + other.weight
        share = other.weight / total
        means = other.mean, other.low, self.mean, self.low
        shift = difference(*means)
        self._add_scatter(other, 1, [(self.weight * share, shift), *residuals])
        size = np.maximum(self.diagonal, other.diagonal)
        unit = size
        if of_differences:
            unit = size + total * np.maximum(self.mean**2, other.mean**2)
        weights = (self.weight, other.weight, total)
        self.errors = joined(self.errors, other.errors, weights, shift, size, level_of(*means), unit)
        self._move_mean(share * shift)
        self.weight = total

    def _move_mean(self, step: np.ndarray) -> None:
        """Add to the mean, with what rounding drops."""
        mean, low = two_sum(self.mean, step)
        self.mean, self.low = two_sum(mean, low + self.low)

    def remove(self, other: ClassStatistics, *, of_differences: bool = False) -> None:
        """Subtract the statistics of rows that were merged before."""
        if other.weight == 0.0:
            return
        left = self.weight - other.weight
        if self.rows == other.rows or left <= 0.0:
            self._clear()
            return
        means = other.mean, other.low, self.mean, self.low
        shift = difference(*means)
        pull = other.weight * (self.weight / left)
        size = self.diagonal + other.diagonal + pull * shift**2
        unit = size
        if of_differences:
            unit = size + self.weight * np.maximum(self.mean**2, other.mean**2)
        weights = (self.weight, -other.weight, left)
        self.errors = joined(self.errors, other.errors, weights, shift, size, level_of(*means), unit)
        self._add_scatter(other, -1, [(-pull, shift)])
        self._move_mean((-other.weight / left) * shift)
        self.rows -= other.rows
        self.weight = left
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
        if self.weight < FORGOTTEN_WEIGHT:
            self._clear()

    def _clear(self) -> None:
        self.rows = 0
        self.weight = 0.0
        self.rounding = 0.0
        for array in (self.mean, self.scatter, self.peak, self.low):
            array[:] = 0.0
        self.errors = Errors.none(self.mean.size)

    def add_rows(self, rows: Any, weights: np.ndarray | None, of_weights: float = 0.0) -> None:
        """Add one block of rows of this class; a block in memory may be overwritten.

        `of_weights` is the relative error of the weights.
        """
        m = rows.shape[0]
        if m == 0:
            return
        full = self.scatter.ndim == 2
        is_coarse = full and rows.dtype == np.float32 and not sparse.issparse(rows)
        exponent = 0  # weights are counted in units of 2^exponent: neither they nor their roots leave float32's range
        if weights is not None:
            exponent = int(np.frexp(weights.max())[1])
            weights = np.ldexp(weights, -exponent)
        weight = float(m if weights is None else weights.sum())

        sums = sums_of_block(rows, weights, weight, full)
        products = sums.products
        squares = (products.diagonal() if full else products).astype(np.float64)
        errors = Errors.of_block(
            sums.operations,
            weight,
            squares,
            sums.residual,
            of_products=gamma(sums.operations + 8, UNIT_FLOAT32) if is_coarse else None,
            of_weight=0.0 if weights is None else gamma(m) + of_weights,
            of_weights=of_weights,
        )
        errors.mean += 2.0 * np.sqrt(sums.uncertain / weight) * np.sqrt(gamma(m))
        errors.scatter += 4.0 * (sums.uncertain + np.sqrt(sums.uncertain) * np.sqrt(gamma(m) * squares))
        if exponent:
            products = np.ldexp(products.astype(np.float64), exponent)
            weight = float(np.ldexp(weight, exponent))
            errors.weight = float(np.ldexp(errors.weight, exponent))
            errors.scatter = np.ldexp(errors.scatter, exponent)

        mean, low = two_sum(sums.centre, sums.residual)
        rounding = FLOAT32_ROUNDING if is_coarse else 0.0
        peak = (products.diagonal() if full else products) - weight * sums.residual**2
        block = ClassStatistics(m, weight, mean, products, peak, rounding, low=low, errors=errors)
        self.merge(block, sums.residual)


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
