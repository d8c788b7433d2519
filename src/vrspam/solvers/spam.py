"""SPAM (Natole, Ying & Lyu 2018): proximal stochastic gradient with the saddle variables put in.

w ← prox_{η_t}(w - η_t g_i(w)),   g_i(w) = 2q (w·(x-μ₋) - 1) x for a positive row,
                                           2p (w·(x-μ₊) + 1) x for a negative one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vrspam.objective import ElasticNet
from vrspam.solvers.online import SumsMethod

if TYPE_CHECKING:
    from vrspam import kernels


class SPAM(SumsMethod):
    """The state of SPAM, and its steps.

    Parameters
    ----------
    n_features : int
    average : bool
        `coef` is Σ t w_t / Σ t in place of the last w_t.
    """

    def __init__(self, n_features: int, average: bool = False):
        super().__init__(n_features)
        self.w = np.zeros(n_features)
        self.carry = np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # see kernels.spam_ridge
        self.total = np.zeros(n_features if average else 0)

    def set_average(self, average: bool) -> None:
        """Begin an average with the next step, or drop it; no change if it is so already."""
        if average == bool(self.total.size):
            return
        self.total = np.zeros(self.w.size if average else 0)
        self.carry[4:6] = 0.0

    def advance(
        self,
        X: np.ndarray | kernels.CSR,
        order: np.ndarray,
        side: np.ndarray,
        rule: kernels.StepRule,
        l1: float = 0.0,
        *,
        learn: bool,
    ) -> None:
        """Visit the rows `order`; side is 1 for positive rows."""
        from vrspam import kernels

        if l1 > 0.0:
            if self.carry[6] > 0.0:  # steps without l1 came before
                kernels.spam_fold(self.classes, self.w, self.total, self.carry)
            kernels.spam_net(X, order, side, self.classes, learn, self.w, self.total, self.carry, rule, float(l1))
            kernels.spam_fold(self.classes, self.w, self.total, self.carry)  # in case steps without l1 follow
            return
        kernels.spam_ridge(X, order, side, self.classes, learn, self.w, self.total, self.carry, rule)

    @property
    def n_steps(self) -> int:
        return int(self.carry[0])

    @property
    def coef(self) -> np.ndarray:
        if self.total.size and self.carry[5] > 0.0:
            return (self.total + self.carry[4] * self.w) / self.carry[5]
        return self.carry[1] * self.w


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
        Rows out of `vrspam.solvers.online.kernel_rows`.
    is_positive : ndarray of shape (n,)
    order : ndarray of int
        The rows to visit. With sample weights draw them with those probabilities.
    classes : ClassSums
        Out of `vrspam.solvers.online.known_sums`.
    penalty : ElasticNet
    w : ndarray of shape (d,)
        Start; not changed.
    step_size : float, optional
        c. Without it c = 1 / (mean Lipschitz constant), and no step exceeds 1 / (that of its row),
        which keeps unscaled data in bounds.

    Returns
    -------
    ndarray of shape (d,)
    """
    from vrspam import kernels

    method = SPAM(w.size)
    method.classes = classes
    method.w = np.array(w, dtype=np.float64)
    method.carry[2:4] = classes.sums @ method.w
    rule = kernels.StepRule(0.0 if step_size is None else float(step_size), False, float(penalty.l2), 0.0)
    method.advance(X, order, np.asarray(is_positive, dtype=np.int64), rule, penalty.l1, learn=False)
    return method.coef
