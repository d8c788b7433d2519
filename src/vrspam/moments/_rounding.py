"""Bounds on the rounding errors of statistics, and sums that keep what rounding would drop.

With u = 2⁻⁵³, a sum of n products is wrong by at most γ_n = n u / (1 - n u) times the sum of their absolute values, in
whichever order it is computed (Higham, Accuracy and Stability of Numerical Algorithms, 2002, ch. 3). Here all errors
are bounded by such sums, so bounds may be pessimistic, but they hold.

The error of a scatter matrix is bounded by one number a column: |error of S_ij| ≤ √(e_i e_j). Such bounds simply add
up, because √(a_i a_j) + √(b_i b_j) ≤ √((a_i + b_i)(a_j + b_j)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

UNIT = 2.0**-53  # the largest relative error of one operation in float64
UNIT_FLOAT32 = 2.0**-24
FLOAT32_ROUNDING = 2.0**-23  # relative error of a float32 product, with room to spare
UNKNOWN = 1e150  # an error of a weight or a mean about which nothing is known
UNKNOWN_SCATTER = 1e305  # the same of a scatter; larger scatters are refused
_TINY = float(np.finfo(np.float64).tiny)


def gamma(operations: float, unit: float = UNIT) -> float:
    """γ_n, with room for the rounding of the bounds themselves; `UNKNOWN` where so many operations allow no bound."""
    share = (operations + 4.0) * unit
    return 1.001 * share / (1.0 - share) if share < 0.5 else UNKNOWN


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """(a + b rounded, what rounding dropped), exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def difference(a: np.ndarray, a_low: np.ndarray, b: np.ndarray, b_low: np.ndarray) -> np.ndarray:
    """(a + a_low) - (b + b_low), wrong by at most 2u of itself and 8u² of its `level_of`, where |low| ≤ u |high|."""
    high, low = two_sum(a, -b)
    return high + (low + (a_low - b_low))


def level_of(a: np.ndarray, a_low: np.ndarray, b: np.ndarray, b_low: np.ndarray) -> np.ndarray:
    """The larger of |a| and |b|, and 0 where both are the same single float: `difference` is exact there."""
    exact = (a == b) & (a_low == 0.0) & (b_low == 0.0)
    return np.where(exact, 0.0, np.maximum(np.abs(a), np.abs(b)))


@dataclass
class Errors:
    """Bounds on the errors of the statistics of one class. Copies share the arrays: replace an array, do not write."""

    weight: float
    mean: np.ndarray
    scatter: np.ndarray  # |error of S_ij| ≤ √(scatter_i scatter_j)

    @classmethod
    def none(cls, n_features: int) -> Errors:
        """The bounds of no rows."""
        return cls(0.0, np.zeros(n_features), np.zeros(n_features))

    def capped(self) -> Errors:
        """The same bounds as finite numbers."""
        largest = self.weight, self.mean.max(initial=0.0), self.scatter.max(initial=0.0)
        if all(bound <= UNKNOWN for bound in largest):  # not so for NaN
            return self
        return Errors(
            float(_at_most(UNKNOWN, self.weight)),
            _at_most(UNKNOWN, self.mean),
            _at_most(UNKNOWN_SCATTER, self.scatter),
        )

    @classmethod
    def of_block(
        cls,
        operations: int,
        weight: float,
        squares: np.ndarray,
        residual: np.ndarray,
        *,
        of_products: float | None = None,
        of_weight: float = 0.0,
        of_weights: float = 0.0,
    ) -> Errors:
        """Bounds for the statistics of some rows, from their sums of squares about the centre that was subtracted.

        With x what is left of a row, S = Σ c xxᵀ - weight·rrᵀ and r = Σ c x / weight, the residual. Σ c |x_i||x_j| is
        at most √(squares_i squares_j), and Σ c |x| / weight at most √(squares / weight). `operations` is how many
        roundings an element of a sum goes through; `of_products` is the relative error of Σ c xxᵀ where that is larger
        (float32); `of_weight` and `of_weights` are the relative errors of the total weight and of the rows' weights.
        """
        share = gamma(operations + 8) + of_weights
        mean = share * np.sqrt(squares / weight) + (of_weight + 2.0 * UNIT) * np.abs(residual)
        of_products = share if of_products is None else of_products + of_weights
        scatter = of_products * squares + of_rank_one(weight, of_weight, residual, mean, squares)
        return cls(of_weight * weight, 1.01 * mean, 1.01 * scatter + operations * _TINY)


def _at_most(most: float, bound: Any) -> Any:
    """A bound as a finite number; NaN is unknown."""
    return np.minimum(np.nan_to_num(bound, nan=most, posinf=most), most)


def relative(error: float, size: float) -> float:
    """The relative error of a number that is wrong by `error`; `UNKNOWN` if `error` is at least half of `size`."""
    if error == 0.0:
        return 0.0
    return 2.0 * error / size if error < 0.5 * size else UNKNOWN


def of_rank_one(scale: float, of_scale: float, v: np.ndarray, of_v: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """The error of scale · v vᵀ, if v is wrong by `of_v` and scale by the share `of_scale`.

    |v_i| e_j + e_i |v_j| ≤ √(a_i a_j) with a = t v² + e²/t, for any t > 0 (Cauchy-Schwarz). t is chosen to make a small
    against `unit`, the size of each column.
    """
    unit = np.where(unit > 0.0, unit, np.inf)
    size = float(np.sum(v * v / unit))
    error = float(np.sum(of_v * of_v / unit))
    t = np.sqrt(error / size) if size > 0.0 and error > 0.0 else 1.0
    return scale * ((of_scale + 4.0 * UNIT + t) * v * v + (1.0 + 1.0 / t) * of_v * of_v)


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is not known, see `capped`
def joined(
    a: Errors,
    b: Errors,
    weights: tuple[float, float, float],
    gap: np.ndarray,
    size: np.ndarray,
    level: np.ndarray,
    unit: np.ndarray | None = None,
) -> Errors:
    """Bounds for two merged sets of rows (with a negative weight: for rows taken out), see `ClassStatistics.merge`.

    `weights` are those of a, of b and of the result; `gap` is the mean of b minus that of a, `size` bounds the
    diagonals of all scatters that were added, and `level` is the larger of the absolute means. `unit` is the size of
    each column, by which its error is judged, where that is not `size`.
    """
    first, second, rest = weights
    weight = a.weight + b.weight + UNIT * max(first, rest)
    share = second / rest  # of b in the new mean
    of_share = relative(b.weight, abs(second)) + relative(weight, rest) + 4.0 * UNIT
    of_gap = a.mean + b.mean + 2.0 * UNIT * np.abs(gap) + 8.0 * UNIT**2 * level
    mean = (
        (abs(1.0 - share) + 4.0 * UNIT) * a.mean
        + abs(share) * (b.mean + (of_share + 4.0 * UNIT) * np.abs(gap))
        + 16.0 * UNIT**2 * level
    )
    pull = abs(second) * (first / rest)
    of_pull = of_share + relative(a.weight, first)
    scatter = a.scatter + b.scatter + of_rank_one(pull, of_pull, gap, of_gap, size if unit is None else unit)
    return Errors(weight, 1.001 * mean, 1.001 * scatter + 8.0 * UNIT * size).capped()
