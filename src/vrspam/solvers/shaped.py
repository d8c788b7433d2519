"""The minimum of a quadratic loss whose curves must rise or fall, from its d×d matrix.

In coefficients v of rising functions a limit is v ≥ 0, and F is quadratic: which of them are 0 is found by pivoting
(`vrspam.objective.limits.nonnegative_minimum`), from those of the neighbour on a grid. Features without a limit are
eliminated first.
"""

from typing import Any

import numpy as np
from scipy import linalg

from vrspam.objective import Objective, Shaped
from vrspam.objective.limits import nonnegative_minimum
from vrspam.solvers.base import Solution, certify
from vrspam.solvers.gram import NO_MATRIX, gram_of

NO_CURVES = "it is for curves that must rise or fall"


def shaped_minimum(gram: np.ndarray, linear: np.ndarray, penalty: Shaped, w0: np.ndarray | None) -> np.ndarray:
    """The w of the least wᵀHw/2 - b·w + Ω(w)."""
    least = 1e-13 * float(np.mean(np.diagonal(gram)))
    matrix, blocks = gram.copy(), penalty.limits.blocks()
    matrix[np.diag_indices_from(matrix)] += max(penalty.l2, least)
    inside = np.concatenate([np.arange(linear.size)[block.places] for block in blocks])
    others = np.setdiff1d(np.arange(linear.size), inside)
    back = linalg.block_diag(*(np.linalg.inv(block.rows) for block in blocks))
    bound = np.concatenate([block.bound for block in blocks])
    start = None if w0 is None else np.concatenate([block.rows @ w0[block.places] for block in blocks]) > 0.0
    own, b = matrix[np.ix_(inside, inside)], linear[inside]
    if others.size:
        factor = linalg.cho_factor(matrix[np.ix_(others, others)], lower=True, overwrite_a=True, check_finite=False)
        across = matrix[np.ix_(others, inside)]
        solved = linalg.cho_solve(factor, np.column_stack([across, linear[others]]), check_finite=False)
        own, b = own - across.T @ solved[:, :-1], b - across.T @ solved[:, -1]
    v = nonnegative_minimum(back.T @ own @ back, back.T @ b, bound, start)[0]
    w = np.empty_like(linear)
    w[inside] = back @ v
    if others.size:
        w[others] = solved[:, -1] - solved[:, :-1] @ w[inside]
    return w


class ShapedGram:
    """A quadratic loss whose curves must rise or fall: one system for the features that are not 0, or a few."""

    _loss: Any = None  # the one that was prepared

    def refuses(self, objective: Objective) -> str | None:
        if not isinstance(objective.penalty, Shaped):
            return NO_CURVES
        return None if objective.loss.matrix is not None else NO_MATRIX

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        if self._loss is not objective.loss:
            self._loss, (self.gram, self.linear) = objective.loss, gram_of(objective.loss)
        return certify(objective, shaped_minimum(self.gram, self.linear, objective.penalty, w0), 1, tol)
