"""`SOLAMClassifier`: a saddle function, which needs no class means."""

from numbers import Real

import numpy as np

from vrspam._utils.parameters import Interval
from vrspam.estimators.online import StreamClassifierBase
from vrspam.solvers import online


class SOLAMClassifier(StreamClassifierBase):
    """SOLAM: descent in (w, a, b) and ascent in ζ on a saddle function whose solution minimises F.

    With s = w·x, p the share of positives and q = 1 - p, the saddle function of a row is

        q (s - a)² - 2q (1+ζ) s - pq ζ²  (positive),     p (s - b)² + 2p (1+ζ) s - pq ζ²  (negative),

    plus l2/2 ‖w‖². It needs no class means: at the saddle point a = w·μ₊, b = w·μ₋ and ζ = w·(μ₋ - μ₊). The result
    is the average of the w_t weighted by the steps η_t = c/√t. It is the slowest online method here, kept
    because the paper compares with it.

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Weight of the squared norm, as in `SPAMClassifier`.
    step_size : float or "auto", default="auto"
        c in η_t = c/√t. "auto" is 1 / (mean Lipschitz constant), in a stream that of the rows so far; no step is
        longer than 1 / (Lipschitz constant of its row), and a, b and ζ are measured in units of the root mean
        square of ‖x‖. A number is used as is, for all variables.
    radius : float or None, default=None
        Keep ‖w‖ ≤ radius, |a|, |b| ≤ radius·M and |ζ| ≤ 2·radius·M, M = max ‖x‖, by projection. The optimum moves
        if it lies outside; `gap_` is always that of F without the ball.
    max_iter : int, default=50
        Epochs of `fit`.
    tol, random_state
        As in `SPAMClassifier`.

    Attributes
    ----------
    a_, b_, zeta_ : float
        The other variables of the saddle point, averaged like `coef_`.
    coef_, intercept_, classes_, gap_, objective_, l2_, n_iter_, n_steps_, history_, n_features_in_, feature_names_in_
        As in `SPAMClassifier`.

    Notes
    -----
    As for `SPAMClassifier`; a step costs O(nonzeros of the row).

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
        **StreamClassifierBase._parameter_constraints,
        "radius": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(self, l2="auto", *, step_size="auto", radius=None, max_iter=50, tol=None, random_state=None):
        self.l2 = l2
        self.step_size = step_size
        self.radius = radius
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _new_method(self, n_features: int) -> online.SOLAM:
        return online.SOLAM(n_features)

    def _advance(self, method: online.SOLAM, X, order, side, l2, learn) -> None:
        method.advance(X, order, side, online.step_rule(self.step_size, l2), self.radius, learn=learn)

    def _safe_step(self, largest_square: float, l2: float, p: float) -> float:
        return 0.5 / (max(p, 1.0 - p) * (np.sqrt(largest_square) + 1.0) ** 2)

    def _keep_variables(self, method: online.SOLAM) -> None:
        a, b, zeta = method.saddle
        self.a_ = float(a)
        self.b_ = float(b)
        self.zeta_ = float(zeta)
