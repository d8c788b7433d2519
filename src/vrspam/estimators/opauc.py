"""`OPAUCClassifier`: each row against the mean and covariance of the other class."""

from numbers import Integral

import numpy as np

from vrspam._utils.parameters import Interval
from vrspam._utils.validation import Rows
from vrspam.estimators.online import Start, StreamClassifierBase
from vrspam.moments import ClassMoments
from vrspam.objective import Objective
from vrspam.solvers import online
from vrspam.solvers.base import known_gap
from vrspam.solvers.exact import resolve_l2


class OPAUCClassifier(StreamClassifierBase):
    """OPAUC: each row is compared with all rows of the other class through their mean and covariance.

    With running class means μ±, covariances Σ± and λ = l2 / (2pq), a row x moves the coefficients by

        w ← w - η (λ w - (x-μ₋) + ((x-μ₋)(x-μ₋)ᵀ + Σ₋) w)   (positive),
        w ← w - η (λ w + (x-μ₊) + ((x-μ₊)(x-μ₊)ᵀ + Σ₊) w)   (negative),

    on average a gradient step on F / (2pq). It costs O(d²) time a row and two d×d matrices of memory, or O(dτ)
    with a sketch of rank τ.

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Weight of the squared norm, as in `SPAMClassifier`.
    step_size : float or "auto", default="auto"
        c in η_t = c/√t. "auto" is 1 / (mean Lipschitz constant), in a stream that of the rows so far, and no step is
        longer than 1 / (Lipschitz constant of its row): it cannot diverge. A number is used as is.
    sketch : int or None, default=None
        Rank τ of the sketch of each covariance (frequent directions); None keeps the d×d matrices, up to 20,000
        features. If τ reaches the rank of the data, the sketch is exact. It cannot change in the middle of a stream.
    max_iter : int, default=5
        Epochs of `fit`.
    tol, random_state
        As in `SPAMClassifier`.

    Attributes
    ----------
    gap_ : float or None
        Upper bound on F(coef_) - min F. After `partial_fit` without a sketch it is that of all rows so far,
        which the matrices remember, without room for rounding; with a sketch it is None after `partial_fit`.
    objective_ : float
        F(coef_); None after `partial_fit` with a sketch.
    coef_, intercept_, classes_, l2_, n_iter_, n_steps_, history_, n_features_in_, feature_names_in_
        As in `SPAMClassifier`.

    Notes
    -----
    There is no `sample_weight`: each row is one draw. With d×d matrices `AUCClassifier` gives the exact
    optimum for less work, in a stream as well. Once a stream has diverged (possible with a given step size only),
    every further call raises an error, and the attributes keep their last values.

    References
    ----------
    W. Gao, R. Jin, S. Zhu and Z.-H. Zhou. One-Pass AUC Optimization. ICML 2013.

    E. Liberty. Simple and Deterministic Matrix Sketching. KDD 2013.

    L. Luo, C. Chen, Z. Zhang, W.-J. Li and T. Zhang. Robust Frequent Directions with Application in Online
    Learning. JMLR 20, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vrspam import OPAUCClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> print(f"{OPAUCClassifier(random_state=0).fit(X, y).score(X, y):.2f}")
    0.99
    >>> print(f"{OPAUCClassifier(sketch=5).partial_fit(X, y).score(X, y):.2f}")
    0.99
    """

    _parameter_constraints: dict = {
        **StreamClassifierBase._parameter_constraints,
        "sketch": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, l2="auto", *, step_size="auto", sketch=None, max_iter=5, tol=None, random_state=None):
        self.l2 = l2
        self.step_size = step_size
        self.sketch = sketch
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _new_method(self, n_features: int) -> online.OPAUC:
        if self.sketch is None and n_features > 20_000:
            size = 16 * n_features**2 / 1e9
            raise ValueError(f"OPAUC keeps two d × d matrices: {size:,.0f} GB for d = {n_features:,}; give sketch=.")
        return online.OPAUC(n_features, self.sketch)

    def _start(self, rows: Rows, classes: np.ndarray) -> Start:
        """A method that knows the covariances of both classes, or a sketch of them from one pass without steps."""
        method = self._new_method(rows.X.shape[1])
        full = self.sketch is None
        moments = ClassMoments(rows.X.shape[1], classes=classes, scatter=full).add_checked(rows.X, rows.y)
        l2 = resolve_l2(self.l2, moments)
        is_positive = rows.y == classes[1]
        if full:
            method.know(moments)
            return Start(method, Objective.from_moments(moments, l2), moments, l2)
        order = np.arange(rows.X.shape[0])
        rule = online.step_rule(self.step_size, l2)
        method.advance(online.kernel_rows(rows.X), order, is_positive.astype(np.int64), rule, learn=True, step=False)
        return Start(method, Objective.from_rows(rows.X, is_positive, None, moments, l2), moments, l2)

    def _check_parameters(self, method: online.OPAUC) -> None:
        if method.sketch != self.sketch:
            raise ValueError(
                f"The stream was begun with sketch={method.sketch}: it cannot go on with sketch={self.sketch}."
            )

    def _advance(self, method: online.OPAUC, X, order, side, l2, learn) -> None:
        method.advance(X, order, side, online.step_rule(self.step_size, l2), learn=learn)

    def _safe_step(self, largest_square: float, l2: float, p: float) -> float:
        return 1.0 / (l2 / (2.0 * p * (1.0 - p)) + 5.0 * max(largest_square, np.finfo(float).tiny))

    def _certificate(self, method: online.OPAUC, l2: float) -> tuple[float, float | None]:
        if method.sketch is not None:
            return float("nan"), None
        objective = method.objective(l2)
        value, grad = objective.value_and_grad(method.w)
        return value, known_gap(objective.certificate(method.w, grad)[0])
