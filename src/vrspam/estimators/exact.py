"""`AUCClassifier`: the exact optimum, by whichever solver suits the size of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from vrspam._utils import array_api
from vrspam._utils.blas import blas_threads_for, blas_threads_for_matrix
from vrspam._utils.validation import Rows
from vrspam.estimators.base import PENALTY_CONSTRAINTS, AUCClassifierBase, BlockProducts, RowBlocks, resolve_l2
from vrspam.moments import ClassMoments
from vrspam.objective import DeviceProducts, ElasticNet, Objective, Operator, Penalty, SquaredPairLoss
from vrspam.solvers import SolverName, choose_solver, solve
from vrspam.solvers.base import Solution

__all__ = ["AUCClassifier", "choose_solver"]

PARTIAL_FIT_MAX_FEATURES = 20_000


class ExactFit(NamedTuple):
    """A solution, the moments of the data it belongs to, the l2 that was used, and which solver ran."""

    solution: Solution
    moments: ClassMoments
    l2: float
    solver: SolverName


@dataclass(frozen=True)
class ExactSolver:
    """The optimum for given penalties, from moments or by products with X; the parameters are those of `AUCClassifier`.

    Attributes
    ----------
    l2 : float or "auto"
    l1, tol : float
    max_iter : int
    penalty : callable
        The penalty of an l2 and an l1.
    """

    l2: float | str
    l1: float
    tol: float
    max_iter: int
    penalty: Callable[[float, float], Penalty] = ElasticNet

    def from_moments(self, moments: ClassMoments) -> ExactFit:
        """Solve from d×d matrices."""
        with blas_threads_for_matrix(moments.means.shape[1]):
            return self._solve(SquaredPairLoss.from_moments(moments), moments, "moments")

    def from_operator(self, within: Operator, moments: ClassMoments) -> ExactFit:
        """Solve with products by Σ alone, each of which reads all the data once."""
        return self._solve(SquaredPairLoss.from_operator(within, moments), moments, "products")

    def from_rows(
        self, rows: Rows, classes: np.ndarray, solver: SolverName, moments: ClassMoments | None = None
    ) -> ExactFit:
        """Solve for rows in memory or on a device; `moments`, where they are known already, are those of all rows."""
        X, y, weights = rows
        if moments is None:
            moments = self._gather(rows, classes, scatter=solver == "moments")
        if solver == "moments":
            fit = self.from_moments(moments)
            if not fit.solution.converged and moments.rounding > 0.0:  # float32 products are too coarse for this l2
                fit = self.from_moments(self._gather(rows, classes, precise=True))
            return fit
        if array_api.device_namespace(X) is not None:
            positive = array_api.is_label(y, classes[1], X)
            return self.from_operator(DeviceProducts(X, positive, weights, moments.means, moments.weights), moments)
        return self._solve(SquaredPairLoss.from_rows(X, y == classes[1], weights, moments), moments, "products")

    def _solve(self, loss: SquaredPairLoss, moments: ClassMoments, solver: SolverName) -> ExactFit:
        l2 = resolve_l2(self.l2, moments)
        objective = Objective(loss, self.penalty(l2, float(self.l1)))
        return ExactFit(solve(objective, tol=self.tol, max_iter=self.max_iter), moments, l2, solver)

    @staticmethod
    def _gather(rows: Rows, classes: np.ndarray, *, scatter: bool = True, precise: bool = False) -> ClassMoments:
        d = rows.X.shape[1]
        with blas_threads_for(d):
            return ClassMoments(d, classes=classes, scatter=scatter).add_checked(*rows, precise=precise)


class AUCClassifier(AUCClassifierBase):
    """The linear scorer that minimises the pairwise squared AUC loss, exactly.

    It minimises, with p the share of positives and q = 1 - p,

        F(w) = p q · mean over pairs (i in +, j in -) of (1 - w·(x_i - x_j))²  +  l2/2 ‖w‖²  +  l1 ‖w‖₁

    and stops when the certificate `gap_`, an upper bound on F(coef_) - min F, is at most tol·F(0).

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Weight of the squared norm. "auto" is 1e-3 · 2pq · (mean second derivative), which follows class
        imbalance and the scale of the features. 0 is allowed: with l1 = 0 the solution of least norm is
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
        When `solver_` is "products" and the solver iterates: `epoch`, `passes`, `seconds`, `objective` and `gap` for
        each iteration, the start included.
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
        return self._store_exact(self._solver.from_rows(rows, classes, solver), rows.X)

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
                self._forget_columns()
            raise
        self.moments_ = moments
        return self._store_exact(self._solver.from_moments(moments), rows.X) if moments.complete else self

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
            fit = self._solver.from_moments(moments)
        else:
            fit = self._solver.from_operator(BlockProducts(blocks, moments), moments)
        return self._store_exact(fit)._store_columns(moments.means.shape[1])

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
        fit = self._solver.from_moments(moments.copy())
        return self._store_exact(fit)._store_columns(fit.moments.means.shape[1])

    @property
    def _solver(self) -> ExactSolver:
        return ExactSolver(self.l2, self.l1, self.tol, self.max_iter)

    def _store_exact(self, fit: ExactFit, like: Any = None) -> Self:
        """Store the optimum; the moments are kept where it was found from them."""
        solution, moments, l2, solver = fit
        kept: dict[str, Any] = {"moments_": moments} if solver == "moments" else {}
        hint = " or rows in float64" if moments.rounding > 0.0 else ""
        return self._store(solution, moments.classes, moments.means, l2, like=like, hint=hint, solver_=solver, **kept)
