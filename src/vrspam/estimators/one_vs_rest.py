"""`OneVsRestAUC`: a scorer for each of several classes, from one reading of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d

from vrspam import metrics
from vrspam._utils.blas import blas_threads
from vrspam._utils.parameters import checks_parameters
from vrspam._utils.validation import Rows
from vrspam._utils.warnings import NotConverged, warn
from vrspam.estimators import base
from vrspam.estimators.base import warn_of_raw_columns
from vrspam.estimators.classifier import PairwiseClassifier
from vrspam.estimators.constraints import LIMITS
from vrspam.moments import one_vs_rest_moments
from vrspam.solvers import SolverName, choose_solver
from vrspam.solvers.base import Solution
from vrspam.solvers.exact import COARSE_FROM, FitSettings

MOST_BYTES = 1 << 31  # of the d×d matrices of all classes together; beyond, X is read for each class


class ClassFit(NamedTuple):
    """The optimum of one class against the rest."""

    solution: Solution
    l2: float
    intercept: float
    is_coarse: bool  # whether its moments come from products in float32


class OneVsRestAUC(PairwiseClassifier):
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
        See `vrspam.solvers.choose_solver`. From moments the d×d matrices of all classes are held together up
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
    gamma = None

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
        solver = choose_solver(rows.X.shape[0], rows.X.shape[1], sparse.issparse(rows.X))
        fits = self._fit_each_class(rows, classes, solver)
        coefs = np.stack([fit.solution.w for fit in fits])
        if not np.isfinite(coefs).all():
            raise ValueError(
                "The solution is not finite: rescale the features (sklearn.preprocessing.StandardScaler) or give a "
                "larger l2."
            )
        attributes: Any = self  # one entry for each class, where other estimators have a number
        attributes.coef_ = coefs
        attributes.intercept_ = np.array([fit.intercept for fit in fits])
        attributes.classes_ = classes
        attributes.solver_ = solver
        attributes.l2_ = np.array([fit.l2 for fit in fits])
        attributes.objective_ = np.array([fit.solution.value for fit in fits])
        attributes.gap_ = np.array([np.nan if fit.solution.gap is None else fit.solution.gap for fit in fits])
        attributes.n_iter_ = np.array([fit.solution.n_iter for fit in fits])
        self._warn_if_not_converged(fits)
        return self

    def _fit_each_class(self, rows: Rows, classes: np.ndarray, solver: SolverName) -> list[ClassFit]:
        """The optimum of each class against the rest; of two classes that of the larger label alone."""
        X, y, weights = rows
        d = X.shape[1]
        codes = np.searchsorted(classes, y)
        settings = FitSettings(self.l2, self.l1, self.tol, self.max_iter, self._family(d))

        moments_of_classes: Any = [None] * classes.size
        if solver == "products" or 8 * d * d * classes.size <= MOST_BYTES:
            with blas_threads(columns=d):
                moments_of_classes = one_vs_rest_moments(
                    X, codes, weights, classes.size, scatter=solver == "moments", precise=d < COARSE_FROM
                )

        fits: list[ClassFit] = []
        for k, moments in enumerate(moments_of_classes):
            if classes.size == 2 and k == 0:
                continue
            of_class = Rows(X, codes == k, weights)
            fit = settings.fit_rows(of_class, np.array([False, True]), solver, moments)
            if not fits and not sparse.issparse(X):
                warn_of_raw_columns(self, fit.moments, fit.l2)
            intercept = -float(fit.solution.w @ fit.moments.means.sum(axis=0)) / 2.0
            fits.append(ClassFit(fit.solution, fit.l2, intercept, fit.moments.rounding > 0.0))
            del fit, moments  # the d×d matrices of two classes are never held together
        return fits

    def _warn_if_not_converged(self, fits: Sequence[ClassFit]) -> None:
        """One warning for all classes whose solution did not reach the tolerance."""
        missed = [fit for fit in fits if not fit.solution.converged]
        if not missed:
            return
        worst = max((fit.solution for fit in missed), key=lambda solution: solution.left)
        hint = " or rows in float64" if any(fit.is_coarse for fit in missed) else ""
        hint += f" (so for {len(missed)} of {len(fits)} classes)"
        warn(NotConverged(type(self).__name__, worst.n_iter, worst.left, hint))

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
