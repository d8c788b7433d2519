"""SPAM (Natole, Ying & Lyu 2018): proximal stochastic gradient, with the best saddle variables inserted.

w ← prox_{η_t}(w - η_t g_i(w)),   g_i(w) = 2q (w·(x-μ₋) - 1) x for a positive row,
                                           2p (w·(x-μ₊) + 1) x for a negative one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vrspam._utils.arrays import padded
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
        If true, `coef` is Σ t w_t / Σ t instead of the last w_t.
    """

    def __init__(self, n_features: int, average: bool = False):
        from vrspam import kernels

        super().__init__(n_features)
        self.carry = np.zeros(kernels.SPAM_SLOTS)  # see kernels.spam_ridge
        self.carry[kernels.SCALE] = 1.0
        self.total = np.zeros(n_features if average else 0)

    def add_features(self, count: int) -> None:
        super().add_features(count)
        if self.total.size:
            self.total = padded(self.total, self.w.size)

    def set_average(self, average: bool) -> None:
        """Start an average with the next step, or drop the average; do nothing if that is the case already."""
        if average == bool(self.total.size):
            return
        from vrspam import kernels

        self.total = np.zeros(self.w.size if average else 0)
        self.carry[[kernels.SPAM_OF_V, kernels.SPAM_WEIGHT]] = 0.0

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
        """Visit the rows `order`; `side` is 1 for positive rows."""
        from vrspam import kernels

        if l1 > 0.0:
            if self.carry[kernels.SPAM_SINCE_FOLD] > 0.0:  # the steps before had no l1
                kernels.spam_fold(self.classes, self.w, self.total, self.carry)
            net = ElasticNet(0.0, float(l1))  # its l2 comes with the rule
            kernels.spam_net(X, order, side, self.classes, learn, self.w, self.total, self.carry, rule, net)
            kernels.spam_fold(self.classes, self.w, self.total, self.carry)  # for the case that steps without l1 follow
            return
        kernels.spam_ridge(X, order, side, self.classes, learn, self.w, self.total, self.carry, rule)

    @property
    def n_steps(self) -> int:
        from vrspam import kernels

        return int(self.carry[kernels.STEPS])

    @property
    def coef(self) -> np.ndarray:
        from vrspam import kernels

        weight = self.carry[kernels.SPAM_WEIGHT]
        if self.total.size and weight > 0.0:
            return (self.total + self.carry[kernels.SPAM_OF_V] * self.w) / weight
        return self.carry[kernels.SCALE] * self.w


def spam_pass(
    X: np.ndarray | kernels.CSR,
    is_positive: np.ndarray,
    order: np.ndarray,
    classes: kernels.ClassSums,
    penalty: ElasticNet,
    w: np.ndarray,
    *,
    step_size: float = 0.0,
) -> np.ndarray:
    """Run one pass of SPAM over the rows `order`, from w, with known class means and η_t = c/√t.

    Parameters
    ----------
    X : ndarray or CSR
        From `vrspam.solvers.online.kernel_rows`.
    is_positive : ndarray of shape (n,)
    order : ndarray of int
        The rows to visit. With sample weights, draw the rows with probabilities proportional to them.
    classes : ClassSums
        From `vrspam.solvers.online.known_sums`.
    penalty : ElasticNet
    w : ndarray of shape (d,)
        The starting point; it is not changed.
    step_size : float, default=0.0
        c. 0 means c = 1 / (mean Lipschitz constant), and no step that exceeds 1 / (Lipschitz constant of its row), so
        that unscaled data do not make the steps diverge.

    Returns
    -------
    ndarray of shape (d,)
        The last point.
    """
    from vrspam import kernels

    method = SPAM(w.size)
    method.classes = classes
    method.w = np.array(w, dtype=np.float64)
    method.carry[[kernels.SPAM_LOWER, kernels.SPAM_UPPER]] = classes.sums @ method.w
    rule = kernels.StepRule(step_size, False, float(penalty.l2), 0.0)
    method.advance(X, order, np.asarray(is_positive, dtype=np.int64), rule, penalty.l1, learn=False)
    return method.coef
