"""`OneVsRestAUC`: several classes, a scorer for each against all others, from moments gathered in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from vrspam import metrics
from vrspam._utils import array_api
from vrspam._utils.blas import blas_threads_for
from vrspam._utils.parameters import Interval, checks_parameters
from vrspam._utils.validation import Rows, named_columns, refuse_complex
from vrspam._utils.warnings import NotConverged, warn
from vrspam.estimators.base import PENALTY_CONSTRAINTS, AUCClassifierBase, warn_of_raw_columns
from vrspam.moments import one_vs_rest_moments
from vrspam.objective import multiply
from vrspam.solvers import ExactFit, SolverName, choose_solver
from vrspam.solvers.base import Solution
from vrspam.solvers.exact import COARSE_FROM, ExactSolver

MOST_BYTES = 1 << 31  # of the d×d matrices of all classes together; beyond, each class is gathered by itself
ONE_OF_TWO = np.array([False, True])


class ClassFit(NamedTuple):
    """What is kept of the fit of one class; its d×d matrices are not."""

    solution: Solution
    l2: float
    intercept: float
    is_coarse: bool  # from products in float32


class OneVsRestAUC(AUCClassifierBase):
    """A linear scorer for each of several classes, which ranks its rows above all others; exact.

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
    Each scorer ranks rows for its own class. What they have in common is the unit: all are fitted to put their class
    one margin above the rest. `predict` compares them on that scale and takes the largest score, each score being 0
    half-way between its class and the rest, so that rare classes are predicted as readily as frequent ones. Where
    frequent classes should be preferred, or probabilities are needed, calibrate the scores on held-out rows:
    ``CalibratedClassifierCV(OneVsRestAUC(), ensemble=False)`` has `predict_proba` with rows that add up to 1. There is
    no `predict_proba` without it.

    Other losses, penalties and feature maps have no such short cut:
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

    _parameter_constraints: dict = {**PENALTY_CONSTRAINTS, "max_iter": [Interval(Integral, 1, None, closed="left")]}

    def __init__(self, l2="auto", l1=0.0, *, tol=1e-8, max_iter=1000):
        self.l2 = l2
        self.l1 = l1
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    @checks_parameters(skip_nested=True)
    def fit(self, X, y, sample_weight=None) -> OneVsRestAUC:
        """Find the optimum of each class against the rest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two or more different labels of any type.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        rows = self._validate_rows(X, y, sample_weight)
        classes = self._classes_with_rows(rows, array_api.labels_of(rows.y))
        solver = choose_solver(rows.X.shape[0], rows.X.shape[1], sparse.issparse(rows.X))
        found: list[ClassFit] = []
        for fit in self._fits(rows, classes, solver):
            if not found and not sparse.issparse(rows.X):
                warn_of_raw_columns(self, fit.moments, fit.l2)
            half_way = fit.moments.means.sum(axis=0) / 2.0
            intercept = -float(fit.solution.w @ half_way)
            found.append(ClassFit(fit.solution, fit.l2, intercept, fit.moments.rounding > 0.0))
        return self._store_all(found, classes, solver)

    def _fits(self, rows: Rows, classes: np.ndarray, solver: SolverName) -> Iterator[ExactFit]:
        """One fit after the other, so that the matrices of two classes are never held together."""
        X, y, weights = rows
        d = X.shape[1]
        codes = np.searchsorted(classes, y)
        exact = ExactSolver(self.l2, self.l1, self.tol, self.max_iter)
        of_all: Iterator = iter([None] * classes.size)
        if solver == "products" or 8 * d * d * classes.size <= MOST_BYTES:
            with blas_threads_for(d):
                of_all = one_vs_rest_moments(
                    X, codes, weights, classes.size, scatter=solver == "moments", precise=d < COARSE_FROM
                )
        for k, moments in enumerate(of_all):
            if classes.size > 2 or k == 1:
                yield exact.from_rows(Rows(X, codes == k, weights), ONE_OF_TWO, solver, moments)

    def _store_all(self, fits: list[ClassFit], classes: np.ndarray, solver: SolverName) -> OneVsRestAUC:
        """Store the solutions of all classes; one warning for those that stopped early."""
        coefs = np.stack([fit.solution.w for fit in fits])
        if not np.isfinite(coefs).all():
            raise ValueError(
                "The solution is not finite: rescale the features (sklearn.preprocessing.StandardScaler) or give a "
                "larger l2."
            )
        self.coef_, self.intercept_ = coefs, np.array([fit.intercept for fit in fits])
        of_classes = {
            "l2_": [fit.l2 for fit in fits],
            "objective_": [fit.solution.value for fit in fits],
            "gap_": [fit.solution.gap for fit in fits],
            "n_iter_": [fit.solution.n_iter for fit in fits],
        }
        self.classes_, self.solver_ = classes, solver
        self.__dict__.update({name: np.array(values) for name, values in of_classes.items()})
        missed = [fit for fit in fits if not fit.solution.converged]
        if missed:
            worst = max(missed, key=lambda fit: fit.solution.gap).solution
            hint = " or rows in float64" if any(fit.is_coarse for fit in missed) else ""
            hint += f" (so for {len(missed)} of {len(fits)} classes)"
            warn(NotConverged(type(self).__name__, worst.n_iter, worst.gap, hint))
        return self

    def decision_function(self, X) -> np.ndarray:
        """Scores of the rows of X, one column for each class: higher means more likely that class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; with two classes of shape (n_samples,), the scores of `classes_[1]`.
        """
        check_is_fitted(self, "coef_")
        refuse_complex(X)
        with named_columns(X):
            X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        scores = multiply(X, self.coef_.T) + self.intercept_
        return scores[:, 0] if self.classes_.size == 2 else scores

    def predict(self, X) -> np.ndarray:
        """The class with the largest score; with two classes `classes_[1]` where the score is positive.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    def score(self, X, y, sample_weight=None) -> float:
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
