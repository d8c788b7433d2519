"""`SPAMClassifier`: proximal stochastic gradient, one row a step."""

import numpy as np

from vrspam._utils.parameters import StrOptions
from vrspam.estimators.base import PENALTY_CONSTRAINTS
from vrspam.estimators.online import StreamClassifierBase
from vrspam.solvers import online


class SPAMClassifier(StreamClassifierBase):
    """SPAM: proximal stochastic gradient on the pairwise squared AUC loss, one row a step.

    With p the share of positives, q = 1 - p and the class means μ₊, μ₋, a row x moves the coefficients by

        w ← prox_η(w - η g),   g = 2q (w·(x-μ₋) - 1) x  (positive),   2p (w·(x-μ₊) + 1) x  (negative),

    where prox_η soft-thresholds by η·l1 and divides by 1 + η·l2. The steps η shrink, because the variance of g
    does not; the error falls like 1/steps. For the optimum of a data set at hand use `AUCClassifier`, for fast
    convergence by rows `VRSPAMClassifier`; SPAM is for streams.

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Weight of the squared norm. "auto" is 1e-3 · 2pq · (mean second derivative); in a stream, of the rows so
        far.
    l1 : float, default=0.0
        Weight of the absolute norm; positive values give zeros in `coef_`.
    step_size : float or "auto", default="auto"
        c in η_t = c/√t. "auto" is 1 / (mean Lipschitz constant of g), in a stream that of the rows so far, and no
        step is longer than 1 / (Lipschitz constant of its row). A number is used as is.
    schedule : {"sqrt", "theory"}, default="sqrt"
        "theory" is the analysed step 1 / (C̃ (t+1)), C̃ = l2 / (1 + l2²/(128 M⁴))², M = max ‖x‖, times step_size if
        that is a number; else it is at most the automatic c/√t. It needs l2 > 0.
    average : bool, default=False
        Return Σ t w_t / Σ t, usually closer to the optimum than the last w_t. With l1 > 0 `fit` returns its
        proximal-gradient point, which has exact zeros; `partial_fit` cannot, and returns the average.
    max_iter : int, default=20
        Epochs of `fit`.
    tol : float or None, default=None
        Stop `fit` when the certificate is at most tol·F(0), and warn if it never is. None runs all epochs.
    random_state : int, RandomState or None, default=None
        Order of the rows in `fit`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
        Puts the score 0 half-way between the class means; the AUC does not depend on it.
    classes_ : ndarray of shape (2,)
        The labels; the larger one is ranked above.
    gap_ : float or None
        After `fit` an upper bound on F(coef_) - min F; None after `partial_fit`, which keeps no rows.
    objective_ : float
        F(coef_); None after `partial_fit`.
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
    There is no `sample_weight`: each row is one draw. The gradient depends on the origin: standardise the features
    first, because with rows far from 0 the method takes long to rank better than chance. A step costs O(nonzeros of the
    row) with l1 = 0, and O(d) with l1 > 0. Once a stream has diverged (possible with a given step size, or on
    extreme scales), every further call raises an error, and the attributes keep their last values.

    References
    ----------
    M. Natole, Y. Ying and S. Lyu. Stochastic Proximal Algorithms for AUC Maximization. ICML 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vrspam import SPAMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = SPAMClassifier(random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.99
    >>> stream = SPAMClassifier()
    >>> for start in range(0, 569, 100):
    ...     stream = stream.partial_fit(X[start : start + 100], y[start : start + 100])
    >>> stream.n_steps_ > 500
    True
    """

    _parameter_constraints: dict = {
        **StreamClassifierBase._parameter_constraints,
        "l1": PENALTY_CONSTRAINTS["l1"],
        "schedule": [StrOptions({"sqrt", "theory"})],
        "average": ["boolean"],
    }

    def __init__(
        self,
        l2="auto",
        l1=0.0,
        *,
        step_size="auto",
        schedule="sqrt",
        average=False,
        max_iter=20,
        tol=None,
        random_state=None,
    ):
        self.l2 = l2
        self.l1 = l1
        self.step_size = step_size
        self.schedule = schedule
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _new_method(self, n_features: int) -> online.SPAM:
        return online.SPAM(n_features, self.average)

    def _check_parameters(self, method: online.SPAM) -> None:
        if self.schedule == "theory" and self.l2 == 0:
            raise ValueError('schedule="theory" divides by l2: give l2 > 0, or use schedule="sqrt".')

    def _advance(self, method: online.SPAM, X, order, side, l2, learn) -> None:
        method.set_average(self.average)
        rule = online.step_rule(self.step_size, l2, theory=self.schedule == "theory")
        method.advance(X, order, side, rule, float(self.l1), learn=learn)

    def _safe_step(self, largest_square: float, l2: float, p: float) -> float:
        bound = 4.0 * max(p, 1.0 - p) * max(largest_square, np.finfo(float).tiny)
        return (l2 if self.schedule == "theory" else 1.0) / bound
