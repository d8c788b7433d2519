"""`AUCClassifier`: the exact optimum, by whichever solver suits the size of the data."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from vrspam._utils import array_api
from vrspam._utils.blas import blas_threads_for, blas_threads_for_matrix
from vrspam.estimators.base import PENALTY_CONSTRAINTS, AUCClassifierBase
from vrspam.estimators.chunks import BlockProducts, RowBlocks
from vrspam.moments import ClassMoments
from vrspam.objective import DeviceProducts, ElasticNet, Objective, Operator, SquaredPairLoss
from vrspam.solvers.base import Solution
from vrspam.solvers.choose import choose_solver, solve

PARTIAL_FIT_MAX_FEATURES = 20_000


class AUCClassifier(AUCClassifierBase):
    """The linear scorer that minimises the pairwise squared AUC loss, exactly.

    It minimises, with p the share of positives and q = 1 - p,

        F(w) = p q · mean over pairs (i in +, j in -) of (1 - w·(x_i - x_j))²  +  l2/2 ‖w‖²  +  l1 ‖w‖₁

    and stops when the certificate `gap_`, an upper bound on F(coef_) - min F, is at most tol·F(0).

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Weight of the squared norm. "auto" is 1e-3 · 2pq · (mean second derivative), which neither imbalance
        nor the scale of the features makes absurd. 0 is allowed: with l1 = 0 the solution of least norm is
        returned, and `gap_` is NaN because the bound needs strong convexity.
    l1 : float, default=0.0
        Weight of the absolute norm; positive values give zeros in `coef_`.
    tol : float, default=1e-8
        Relative accuracy: stop when the gap is at most tol·F(0), F(0) = pq.
    max_iter : int, default=1000
        Most iterations of the iterative solvers (sweeps, or conjugate-gradient steps).
    random_state : int, RandomState or None, default=None
        Accepted for a uniform interface; the solvers draw no random numbers.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
        Puts the score 0 half-way between the class means; the AUC does not depend on it.
    classes_ : ndarray of shape (2,)
        The labels; the larger one is ranked above.
    gap_ : float
        Certificate: F(coef_) is at most this far above the optimum. It makes room for the rounding of float32
        rows, which multiply in float32; where that is too coarse for `tol`, `fit` gathers them again in float64.
    objective_ : float
        F(coef_).
    l2_ : float
        The value of l2 that was used.
    n_iter_ : int
        Iterations done (1 for a direct solve).
    solver_ : {"moments", "products"}
        What ran, see `vrspam.estimators.exact.choose_solver`.
    moments_ : ClassMoments
        The statistics the solution came from, when `solver_` is "moments".
    history_ : dict of ndarray
        When `solver_` is "products": `epoch`, `passes`, `seconds`, `objective` and `gap` for each iteration, the start
        included.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had string column names.

    Notes
    -----
    Without l1 the direction is that of class-balanced ridge regression and of a regularised Fisher
    discriminant. When d×d fits in memory nothing beats it in speed: stochastic methods are of interest for
    streams, for very large d, and for the study of the paper.

    References
    ----------
    S. Dan and D. Sahoo. Variance Reduced Stochastic Proximal Algorithm for AUC Maximization. AISTATS 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vrspam import AUCClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    >>> model = make_pipeline(StandardScaler(), AUCClassifier()).fit(X_train, y_train)
    >>> print(f"{model.score(X_test, y_test):.3f}")
    0.99...
    >>> bool(model[-1].gap_ < 1e-8)
    True
    """

    moments_: ClassMoments
    _works_on_devices = True
    _parameter_constraints: dict = {
        **PENALTY_CONSTRAINTS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, l2="auto", l1=0.0, *, tol=1e-8, max_iter=1000, random_state=None):
        self.l2 = l2
        self.l1 = l1
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None) -> AUCClassifier:
        """Find the optimum for the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two different labels of any type.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        rows = self._validate_rows(X, y, sample_weight)
        classes = self._two_classes(rows)
        solver = choose_solver(rows.X.shape[0], rows.X.shape[1], sparse.issparse(rows.X))
        if solver == "moments":
            with blas_threads_for(rows.X.shape[1]):
                moments = ClassMoments(rows.X.shape[1], classes=classes).add_checked(*rows)
                solution = self._solve(moments)
                if not solution.converged and moments.rounding > 0.0:  # float32 products are too coarse for this l2
                    moments = ClassMoments(rows.X.shape[1], classes=classes).add_checked(*rows, precise=True)
                    solution = self._solve(moments)
            return self._keep_moments(solution, moments)._settle(rows.X)
        moments = ClassMoments(rows.X.shape[1], classes=classes, scatter=False).add_checked(*rows)
        if array_api.device_namespace(rows.X) is not None:
            positive = array_api.is_label(rows.y, classes[1], rows.X)
            within = DeviceProducts(rows.X, positive, rows.weights, moments.means, moments.weights)
            self._fit_by_passes(within, moments)
            return self._settle(rows.X)
        l2 = self._resolve_l2(moments)
        objective = Objective.from_rows(rows.X, rows.y == classes[1], rows.weights, moments, l2, float(self.l1))
        solution = solve(objective, tol=self.tol, max_iter=self.max_iter)
        self.__dict__.pop("moments_", None)
        self._finish(solution, moments, l2, "products")
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None) -> AUCClassifier:
        """Add rows to the moments and solve: the same coefficients as `fit` on all rows so far.

        Until both classes have been seen the rows are kept and there is no model yet.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (2,), optional
            Both labels, if the first rows may not show them.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        first = not hasattr(self, "moments_")
        if first and hasattr(self, "coef_"):
            raise ValueError(
                "This model was fitted by products with X and kept no moments, so rows cannot be added: "
                "start with partial_fit instead of fit."
            )
        try:
            self._validate_params()  # `_fit_context` does so only for the first call
            rows = self._validate_rows(X, y, sample_weight, reset=first)
            d = rows.X.shape[1]
            if d > PARTIAL_FIT_MAX_FEATURES:
                raise ValueError(
                    f"partial_fit keeps two {d}×{d} matrices ({16 * d * d / 1e9:.0f} GB): use fit, or a "
                    "stochastic estimator of this package for streams this wide."
                )
            moments = ClassMoments(d, classes=classes) if first else self.moments_
            if not first and classes is not None and not np.array_equal(np.unique(classes), moments.classes):
                raise ValueError(f"classes={list(classes)} differs from the labels so far, {moments.classes}.")
            moments.add_checked(*rows)
        except Exception:
            if first:  # nothing of a refused first batch stays behind
                for name in ("n_features_in_", "feature_names_in_"):
                    self.__dict__.pop(name, None)
            raise
        self.moments_ = moments
        return self._fit_from(moments)._settle(rows.X) if moments.complete else self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_stream(self, chunks, *, progress: bool = False) -> AUCClassifier:
        """Find the optimum for rows that come block by block: the coefficients of `fit` on all rows at once.

        Memory does not depend on the number of rows. Up to 5,000 features the blocks are read once; with more,
        no d×d matrix is kept and they are read once for every iteration, so `chunks` must be able to start
        again (a list, `vrspam.data.read_chunks`). A one-shot iterator is read once in any case, up to 20,000
        features.

        Parameters
        ----------
        chunks : iterable of (X, y) or (X, y, sample_weight)
            Blocks of rows, dense or sparse: for files, `vrspam.data.read_chunks`.
        progress : bool, default=False
            Show rows per second and the time left on the standard error stream.

        Returns
        -------
        self
            Unchanged if any block is refused.

        Examples
        --------
        >>> import numpy as np
        >>> from vrspam import AUCClassifier
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.standard_normal((1000, 3)), rng.integers(0, 2, 1000)
        >>> blocks = ((X[a : a + 100], y[a : a + 100]) for a in range(0, 1000, 100))
        >>> np.allclose(AUCClassifier().fit_stream(blocks).coef_, AUCClassifier().fit(X, y).coef_)
        True
        """
        blocks = RowBlocks(self, chunks, progress)
        moments = blocks.moments(most_once=PARTIAL_FIT_MAX_FEATURES)
        if moments.has_scatter:
            self._fit_from(moments)
        else:
            self._fit_by_passes(BlockProducts(blocks, moments), moments)
        self.n_features_in_ = moments.n_features
        self.__dict__.pop("feature_names_in_", None)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_moments(self, moments: ClassMoments) -> AUCClassifier:
        """Find the optimum for the data that `moments` summarise.

        Parameters
        ----------
        moments : ClassMoments
            With scatter matrices and rows of both classes.

        Returns
        -------
        self
        """
        if not isinstance(moments, ClassMoments):
            raise ValueError(f"fit_moments takes a ClassMoments, got {type(moments).__name__}.")
        moments = moments.copy()
        self._fit_from(moments)
        self.n_features_in_ = moments.n_features
        self.__dict__.pop("feature_names_in_", None)
        return self

    def _fit_from(self, moments: ClassMoments) -> AUCClassifier:
        return self._keep_moments(self._solve(moments), moments)

    def _solve(self, moments: ClassMoments) -> Solution:
        objective = Objective.from_moments(moments, self._resolve_l2(moments), float(self.l1))
        with blas_threads_for_matrix(moments.means.shape[1]):
            return solve(objective, tol=self.tol, max_iter=self.max_iter)

    def _keep_moments(self, solution: Solution, moments: ClassMoments) -> AUCClassifier:
        self.moments_ = moments
        self._finish(solution, moments, self._resolve_l2(moments), "moments")
        return self

    def _fit_by_passes(self, within: Operator, moments: ClassMoments) -> None:
        """Solve with products by Σ alone, each of which reads all the data once."""
        l2 = self._resolve_l2(moments)
        objective = Objective(SquaredPairLoss.from_operator(within, moments), ElasticNet(l2, float(self.l1)))
        solution = solve(objective, tol=self.tol, max_iter=self.max_iter)
        self.__dict__.pop("moments_", None)
        self._finish(solution, moments, l2, "products")

    def _finish(self, solution: Solution, moments: ClassMoments, l2: float, solver: str) -> None:
        self._keep(solution, moments, l2)
        self.solver_ = solver
        self._warn_if_not_converged(solution, " or rows in float64" if moments.rounding > 0.0 else "")
