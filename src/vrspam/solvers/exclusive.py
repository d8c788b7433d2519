"""(H + shift I)⁻¹ b where some columns are indicators of one category: they are eliminated, others are factorised.

Of columns at most one of which is not 0 in a row, Σ_c + μ_c μ_cᵀ is diagonal for either class c. So their part of
H = Σ + δδᵀ is, with s = μ₊ + μ₋,

    H_cc = E - ½ s sᵀ + ½ δ δᵀ,     E = diag(Σ_cc) + μ₊² + μ₋²,

which a shift does not change but for the diagonal, and whose inverse costs as much as reading it (Sherman, Morrison and
Woodbury). What is left is a Cholesky factor of the Schur complement of the other columns, for each shift.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

REDUCTION_COST = 4.0  # of d³ multiplications: a tridiagonal form has 4/3 d³, at a third of the speed


def pays(loss: Any, n_shifts: int) -> bool:
    """Whether the columns that exclude each other are so many that this is quicker than one tridiagonal form."""
    if loss.exclusive is None:
        return False
    width = float(loss.exclusive.means.shape[1])
    rest = loss.n_features - width
    return n_shifts * (width * rest**2 + rest**3 / 3.0) < REDUCTION_COST * float(loss.n_features) ** 3


def exclusive_coefs(loss: Any, b: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """(H + s I)⁻¹ b for each s, one row for each; an error if one of these matrices is not positive definite.

    Each is refined once: where the category of every row is known, the indicators and a constant depend on each other,
    and all that Woodbury's formula has left in that direction is the shift.
    """
    systems = _Eliminated(loss)
    solvers = [systems.shifted(shift) for shift in shifts.tolist()]
    found = np.stack([solve(b) for solve in solvers])
    products = (loss.matrix @ found.T).T + np.outer(found @ loss.delta, loss.delta) + shifts[:, np.newaxis] * found
    for w, solve, product in zip(found, solvers, products, strict=True):
        w += solve(b - product)
    return found


class _Eliminated:
    """H in parts: `A` of the other columns, `B` of exclusive and other ones, and E and U = (s, δ) of the former."""

    def __init__(self, loss: Any):
        where, means = loss.exclusive
        inside = np.zeros(loss.n_features, dtype=bool)
        inside[where] = True
        self.inside, self.others = np.flatnonzero(inside), np.flatnonzero(~inside)
        delta, H = loss.delta, loss.matrix
        self.A = H[np.ix_(self.others, self.others)] + np.outer(delta[self.others], delta[self.others])
        self.B = H[where][:, self.others] + np.outer(delta[where], delta[self.others])
        self.E = loss.diagonal[where] + (means**2).sum(axis=0)
        self.U = np.stack([means.sum(axis=0), delta[where]], axis=1)

    def shifted(self, shift: float) -> Any:
        """The function b -> (H + shift I)⁻¹ b."""
        diagonal = self.E + shift
        W = self.U / diagonal[:, np.newaxis]
        small = np.linalg.inv(np.diag([-2.0, 2.0]) + self.U.T @ W)

        def eliminate(v: np.ndarray) -> np.ndarray:
            return v / diagonal - W @ (small @ (W.T @ v))

        rows = self.B / np.sqrt(diagonal)[:, np.newaxis]
        low_rank = W.T @ self.B
        left = self.A - rows.T @ rows + low_rank.T @ small @ low_rank
        left[np.diag_indices_from(left)] += shift
        factor = (np.linalg.cholesky(left), True)  # SciPy's BLAS would wait for the threads of NumPy's

        def solve(b: np.ndarray) -> np.ndarray:
            inside = eliminate(b[self.inside])
            others = linalg.cho_solve(factor, b[self.others] - inside @ self.B, check_finite=False)
            w = np.empty_like(b)
            w[self.others], w[self.inside] = others, inside - eliminate(self.B @ others)
            return w

        return solve
