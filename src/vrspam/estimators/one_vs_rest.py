"""`OneVsRestAUC`: a scorer for each of several classes, from one reading of the rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d

from vrspam import metrics
from vrspam._utils.blas import blas_threads
from vrspam._utils.parameters import checks_parameters
from vrspam._utils.validation import Rows
from vrspam._utils.warnings import NotConverged, warn
from vrspam.estimators import base
from vrspam.estimators.base import AUCClassifierBase, warn_of_raw_columns
from vrspam.moments import one_vs_rest_moments
from vrspam.objective import PenaltyFamily
from vrspam.solvers import choose_solver
from vrspam.solvers.base import Solution
from vrspam.solvers.exact import COARSE_FROM, ExactSolver
from vrspam.solvers.limits import LIMITS

MOST_BYTES = 1 << 31  # of the d×d matrices of all classes together; beyond, X is read for each class


class OneVsRestAUC(AUCClassifierBase):
    """A linear scorer for each of several classes, which ranks rows of its class above all others; exact.

    For each class k it minimises what `AUCClassifier` minimises with the rows of k as positives and all others as
    negatives,

        F_k(w) = p q · mean over pairs (i in k, j not in k) of (1 - w·(x_i - x_j))²  +  l2/2 ‖w‖²  +  l1 ‖w‖₁,

    with p the share of class k and q = 1 - p. F_k needs only sizes, means and covariances, and those of "all others"
    follow from those of the single classes. So X is read once for all classes, and
    ``OneVsRestClassifier(AUCClassifier())``, which reads it once for each, has the same result.

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Weight of the squared norm, for all classes. "auto" is chosen for each class as in `AUCClassifier`. Columns of
        very different scale need standardising first.
    l1 : float, default=0.0
        Weight of the absolute norm; positive values give zeros in `coef_`.
    monotonic_cst : array-like of -1, 0 and 1, dict of column to these, or None, default=None
        The score of each class must rise (1) or fall (-1) with a column; 0 leaves it free (docs/monotone.md).
    positive : bool, default=False
        All coefficients are at least 0, as in scikit-learn's `Lasso`.
    bounds : pair, array-like of shape (n_features, 2), dict of column to pair, or None, default=None
        Limits (lower, upper) of coefficients, one pair for all or one for each, with 0 between them; None is no end.
    tol : float, default=1e-8
        Relative accuracy: stop when the gap of a class is at most tol·F_k(0), F_k(0) = pq.
    max_iter : int, default=1000
        Most iterations of the iterative solvers for each class.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
        With two classes of shape (1, n_features): the scorer of the larger label.
    intercept_ : ndarray of shape (n_classes,), or (1,)
        Puts the score 0 half-way between the mean of a class and that of all other rows.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    gap_ : ndarray of shape (n_classes,), or (1,)
        Certificates: F_k(coef_[k]) is at most gap_[k] above its optimum.
    objective_, l2_, n_iter_ : ndarray of shape (n_classes,), or (1,)
        F_k(coef_[k]), the l2 that was used, and the iterations done, for each class.
    solver_ : {"moments", "products"}
        See `vrspam.estimators.exact.choose_solver`. From moments the d×d matrices of all classes are held together up
        to 2 GB; beyond that, X is read once for each class.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had string column names.

    Notes
    -----
    All scorers are fitted to put their class one margin above the rest. `predict` compares them on that scale, so that
    rare classes are predicted as readily as frequent ones. Where frequent classes should be preferred, or probabilities
    are needed, calibrate the scores on held-out rows: ``CalibratedClassifierCV(OneVsRestAUC(), ensemble=False)``.

    Other losses, penalties and feature maps need a separate fit for each class:
    ``sklearn.multiclass.OneVsRestClassifier(AUCClassifier(loss="squared_hinge"))``.

    See Also
    --------
    vrspam.metrics.one_vs_rest_auc : what `score` returns.
    vrspam.metrics.hand_till_auc : Hand & Till's M, the mean AUC over pairs of classes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vrspam import OneVsRestAUC, metrics
    >>> X, y = load_wine(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    >>> model = make_pipeline(StandardScaler(), OneVsRestAUC()).fit(X_train, y_train)
    >>> model[-1].coef_.shape
    (3, 13)
    >>> print(f"{model.score(X_test, y_test):.3f} {metrics.hand_till_auc(y_test, model.decision_function(X_test)):.3f}")
    1.000 1.000
    """

    _parameter_constraints: dict = {**base.PENALTY_CONSTRAINTS, **LIMITS}
    penalty = "elasticnet"

    def __init__(self, l2="auto", l1=0.0, *, monotonic_cst=None, positive=False, bounds=None, tol=1e-8, max_iter=1000):
        self.l2 = l2
        self.l1 = l1
        self.monotonic_cst = monotonic_cst
        self.positive = positive
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    @checks_parameters(skip_nested=True)
    def fit(self, X, y, sample_weight=None) -> Self:
        """Find the optimum of each class against the rest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two or more different labels of any type that can be sorted.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        rows = self._validate_rows(X, y, sample_weight)
        classes = self._labels(rows, several=True)
        (X, y, weights), (n, d) = rows, rows.X.shape
        solver, codes = choose_solver(n, d, sparse.issparse(X)), np.searchsorted(classes, y)
        exact = ExactSolver(self.l2, self.l1, self.tol, self.max_iter, PenaltyFamily(limits=self._limits))
        of_all: Any = [None] * classes.size
        if solver == "products" or 8 * d * d * classes.size <= MOST_BYTES:
            kept = {"scatter": solver == "moments", "precise": d < COARSE_FROM}
            with blas_threads(columns=d):
                of_all = one_vs_rest_moments(X, codes, weights, classes.size, **kept)
        fits: list[Solution] = []
        l2s, intercepts, coarse = [], [], 0
        for k, moments in enumerate(of_all):
            if classes.size == 2 and k == 0:
                continue
            fit = exact.from_rows(Rows(X, codes == k, weights), np.array([False, True]), solver, moments)
            if not fits and not sparse.issparse(X):
                warn_of_raw_columns(self, fit.moments, fit.l2)
            fits.append(fit.solution)
            l2s.append(fit.l2)
            intercepts.append(-float(fit.solution.w @ fit.moments.means.sum(axis=0)) / 2.0)
            coarse += not fit.solution.converged and fit.moments.rounding > 0.0  # from products in float32
            del fit, moments  # the d×d matrices of two classes are never held together
        coefs = np.stack([solution.w for solution in fits])
        if not np.isfinite(coefs).all():
            raise ValueError(
                "The solution is not finite: rescale the features (sklearn.preprocessing.StandardScaler) or give a "
                "larger l2."
            )
        self.coef_, self.intercept_, self.classes_, self.solver_ = coefs, np.array(intercepts), classes, solver
        own: Any = self  # one entry per class, where others have a number
        own.l2_, own.objective_ = np.array(l2s), np.array([solution.value for solution in fits])
        own.gap_ = np.array([np.nan if one.gap is None else one.gap for one in fits])
        own.n_iter_ = np.array([one.n_iter for one in fits])
        missed = [solution for solution in fits if not solution.converged]
        if missed:  # one warning for all classes
            worst = max(missed, key=lambda solution: solution.left)
            hint = " or rows in float64" if coarse else ""
            hint += f" (so for {len(missed)} of {len(fits)} classes)"
            warn(NotConverged(type(self).__name__, worst.n_iter, worst.left, hint))
        return self

    def score(self, X, y, sample_weight=None) -> float:  # type: ignore[override]
        """Mean over the classes of the area under the ROC curve against all others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
            `vrspam.metrics.one_vs_rest_auc`: classes that y does not hold are left out, with a warning.
        """
        scores, y = self.decision_function(X), column_or_1d(y)
        self._refuse_unknown_labels(y)
        return metrics.one_vs_rest_auc(y, scores, sample_weight=sample_weight, labels=self.classes_)
