"""`SOLAMClassifier`: stochastic online AUC maximisation by a saddle point."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from vrspam._utils.parameters import Interval
from vrspam._utils.validation import Rows
from vrspam.estimators._online import STREAM_CONSTRAINTS, Known, StreamClassifierBase
from vrspam.solvers.online import SOLAM, step_rule


class SOLAMClassifier(StreamClassifierBase):
    """SOLAM: descent in (w, a, b) and ascent in ζ on a saddle function whose solution minimises F.

    With s = w·x, p the share of positives and q = 1 - p, the saddle function of a row is

        q (s - a)² - 2q (1+ζ) s - pq ζ²  (positive),     p (s - b)² + 2p (1+ζ) s - pq ζ²  (negative),

    plus l2/2 ‖w‖². It needs no class means: at the saddle point a = w·μ₊, b = w·μ₋ and ζ = w·(μ₋ - μ₊). The result
    is the average of the w_t weighted by the steps η_t = c/√t. The slowest of the online methods here, kept
    because the paper compares with it.

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Weight of the squared norm. "auto" is 1e-3 · 2pq · (mean second derivative); in a stream, of the rows so
        far.
    step_size : float or "auto", default="auto"
        c in η_t = c/√t. "auto" is 1 / (mean Lipschitz constant), in a stream that of the rows so far; no step is
        longer than 1 / (Lipschitz constant of its row), and a, b and ζ are measured in units of the root mean
        square of ‖x‖. A number is used as is, for all variables.
    radius : float or None, default=None
        Keep ‖w‖ ≤ radius, |a|, |b| ≤ radius·M and |ζ| ≤ 2·radius·M, M = max ‖x‖, by projection. The optimum moves
        if it lies outside; `gap_` is always that of F without the ball.
    max_iter : int, default=50
        Epochs of `fit`.
    tol : float or None, default=None
        Stop `fit` when the certificate is at most tol·F(0), and warn if it never is. None runs all epochs.
    random_state : int, RandomState or None, default=None
        Order of the rows in `fit`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
        Puts the score 0 half-way between the class means.
    classes_ : ndarray of shape (2,)
    a_, b_, zeta_ : float
        The other variables of the saddle point, averaged like `coef_`.
    gap_ : float
        After `fit` an upper bound on F(coef_) - min F; NaN after `partial_fit`, which keeps no rows.
    objective_ : float
        F(coef_); NaN after `partial_fit`.
    l2_ : float
        The value of l2 that was used (in a stream: by the latest step).
    n_iter_ : int
        Epochs done; 1 after `partial_fit`.
    n_steps_ : int
        Steps taken since `fit` or since the stream began.
    history_ : dict of ndarray
        After `fit`: epoch, passes, seconds, objective and gap for each epoch.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had string column names.

    Notes
    -----
    There is no `sample_weight`: each row is one draw. The saddle function depends on the origin: standardise the
    features first, because far from it many rows pass before the method ranks better than chance. A step costs
    O(nonzeros of the row). Once a stream has diverged (possible with a given step size, or on extreme scales), every
    further call raises an error, and the attributes keep their last values.

    References
    ----------
    Y. Ying, L. Wen and S. Lyu. Stochastic Online AUC Maximization. NIPS 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vrspam import SOLAMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SOLAMClassifier(random_state=0).fit(StandardScaler().fit_transform(X), y)
    >>> print(f"{model.score(StandardScaler().fit_transform(X), y):.2f}")
    0.99
    """

    _parameter_constraints: dict = {
        **STREAM_CONSTRAINTS,
        "radius": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(self, l2="auto", *, step_size="auto", radius=None, max_iter=50, tol=None, random_state=None):
        self.l2 = l2
        self.step_size = step_size
        self.radius = radius
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _new_method(self, n_features: int) -> SOLAM:
        return SOLAM(n_features)

    def _known(self, rows: Rows, classes: np.ndarray) -> Known:
        return self._known_sums(rows, classes)

    def _advance(self, method: SOLAM, X, order, side, l2, learn) -> None:
        method.advance(X, order, side, step_rule(self.step_size, l2), self.radius, learn=learn)

    def _safe_step(self, largest_square: float, l2: float, p: float) -> float:
        return 0.5 / (max(p, 1.0 - p) * (np.sqrt(largest_square) + 1.0) ** 2)

    def _extras(self, method: SOLAM) -> dict[str, Any]:
        return dict(zip(("a_", "b_", "zeta_"), map(float, method.saddle), strict=True))
