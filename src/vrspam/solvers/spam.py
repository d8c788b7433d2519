"""SPAM (Natole, Ying & Lyu 2018): proximal stochastic gradient with the saddle variables put in.

w ← prox_{η_t}(w - η_t g_i(w)),   g_i(w) = 2q (w·(x-μ₋) - 1) x for a positive row,
                                           2p (w·(x-μ₊) + 1) x for a negative one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vrspam.penalties import ElasticNet

if TYPE_CHECKING:
    from vrspam import kernels


def spam_pass(
    X: np.ndarray | kernels.CSR,
    is_positive: np.ndarray,
    order: np.ndarray,
    classes: kernels.ClassSums,
    penalty: ElasticNet,
    w: np.ndarray,
    *,
    step_size: float | None = None,
) -> np.ndarray:
    """The end of one pass of SPAM over the rows `order`, from w, with known class means and η_t = c/√t.

    Parameters
    ----------
    X : ndarray or CSR
        Rows out of `vrspam.solvers.stream.kernel_rows`.
    is_positive : ndarray of shape (n,)
    order : ndarray of int
        The rows to visit. With sample weights draw them with those probabilities.
    classes : ClassSums
        Out of `vrspam.solvers.stream.known_sums`.
    penalty : ElasticNet
    w : ndarray of shape (d,)
        Start; not changed.
    step_size : float, optional
        c. Without it c = 1 / (mean Lipschitz constant), and no step exceeds 1 / (that of its row), so that
        the pass cannot blow up.

    Returns
    -------
    ndarray of shape (d,)
    """
    from vrspam import kernels

    w, carry, average = np.array(w, dtype=np.float64), spam_carry(classes, w), np.empty(0)
    side = np.asarray(is_positive, dtype=np.int64)
    rule = kernels.StepRule(0.0 if step_size is None else float(step_size), False, float(penalty.l2), 0.0)
    if penalty.l1 > 0.0:
        kernels.spam_net(X, order, side, classes, False, w, average, carry, rule, float(penalty.l1))
    else:
        kernels.spam_ridge(X, order, side, classes, False, w, average, carry, rule)
        kernels.spam_fold(classes, w, average, carry)
    return w


def spam_carry(classes: kernels.ClassSums, w: np.ndarray) -> np.ndarray:
    """The numbers SPAM carries from row to row, before the first step."""
    return np.array([0.0, 1.0, *(classes.sums @ w), 0.0, 0.0, 0.0])
