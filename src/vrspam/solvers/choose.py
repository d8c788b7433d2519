"""Which solver suits the size of the data."""

from __future__ import annotations

from typing import Literal

MOMENTS_MAX_FEATURES_DENSE = 5_000
MOMENTS_MAX_FEATURES_SPARSE = 2_000
MOMENTS_ALWAYS = 1_000

SolverName = Literal["moments", "products"]


def choose_solver(n_samples: int, n_features: int, is_sparse: bool) -> SolverName:
    """The one rule that picks the solver.

    "moments" gathers two d×d matrices in one pass and solves from them; it costs n d² and does not mind bad
    conditioning. "products" only multiplies by X, once or twice an iteration, and never holds a d×d matrix.

    * up to 1,000 features: moments;
    * dense X, up to 5,000 features and at least as many rows as features: moments;
    * sparse X, up to 2,000 features: moments;
    * otherwise products.

    Within each, l1 = 0 is a linear system (Cholesky, conjugate gradient) and l1 > 0 coordinate descent (on
    the Gram matrix, on the columns of X).

    >>> choose_solver(60_000, 780, is_sparse=False), choose_solver(16_000, 62_000, is_sparse=True)
    ('moments', 'products')
    """
    if n_features <= MOMENTS_ALWAYS:
        return "moments"
    if is_sparse:
        return "moments" if n_features <= MOMENTS_MAX_FEATURES_SPARSE else "products"
    return "moments" if n_features <= min(n_samples, MOMENTS_MAX_FEATURES_DENSE) else "products"
