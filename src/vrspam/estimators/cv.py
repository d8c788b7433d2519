"""`AUCClassifierCV`: penalties by cross-validation over a whole grid, for about the price of one fit."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from vrspam.estimators.base import PENALTY_CONSTRAINTS, AUCClassifierBase, Rows
from vrspam.estimators.exact import choose_solver
from vrspam.estimators.splits import Split, auc_of_coefs, make_splits, moments_of_splits
from vrspam.moments import ClassMoments
from vrspam.objective import Objective
from vrspam.selection import Choice, select
from vrspam.solvers.exact import solve_gram, solve_products
from vrspam.solvers.grid import auto_l2s, check_grid_axis, coef_path, solve_grid, warn_if_not_converged

__all__ = ["AUCClassifierCV", "coef_path"]


class AUCClassifierCV(AUCClassifierBase):
    """The linear scorer that minimises the pairwise squared AUC loss, its penalties chosen by cross-validation.

    At each point of the grid and on the training part of each fold it minimises, exactly,

        F(w) = p q · mean over pairs (i in +, j in -) of (1 - w·(x_i - x_j))²  +  l2/2 ‖w‖²  +  l1 ‖w‖₁

    and takes the AUC on the validation part; the point with the best mean is fitted again on all rows. F needs
    only the means and covariances of the classes, and those of a training part are those of all rows minus those
    of the validation part. So X is read once for all folds, all of `l2s` come from one eigendecomposition a fold,
    and l1 > 0 from warm-started coordinate descent on a d×d matrix.

    Parameters
    ----------
    l2s : list of numbers or "auto", default="auto"
        "auto" is 17 values from 1e-6 to 1e2 times 2pq · (mean second derivative).
    l1s : list of numbers, default=(0.0,)
    cv : int, splitter or iterable of (training rows, validation rows), default=5
        A number means stratified folds.
    selection : {"best", "one-standard-error"}, default="best"
        "one-standard-error" takes, of all points whose mean AUC is within one standard error of the best, the
        sparsest (largest l1), and of those the one with the largest l2.
    tol : float, default=1e-8
        Relative accuracy of every solution: its gap is at most tol·F(0).
    max_iter : int, default=1000
        Most iterations of the iterative solvers at each point.
    n_jobs : int, default=None
        Folds solved at the same time, in threads. None means 1 unless in a `joblib.parallel_config`; -1 all cores.
    random_state : int, RandomState or None, default=None
        With a number of folds: None takes rows in their order, anything else shuffles them first.

    Attributes
    ----------
    l2_, l1_ : float
        The chosen penalties.
    best_score_ : float
        Mean AUC over the validation folds at the chosen point.
    l2s_, l1s_ : ndarray
        The grid.
    auc_path_ : ndarray of shape (len(l2s), len(l1s), folds)
        AUC on each validation part, with the weights of its rows if there are any.
    gap_path_ : ndarray of the same shape
        Certificate of each solution: an upper bound on its distance to the least F (NaN where l2 = 0).
    converged_path_ : ndarray of bool of the same shape
        Whether that certificate reached `tol`.
    coef_ : ndarray of shape (1, n_features)
        Of the chosen point, fitted on all rows; likewise `intercept_`, `objective_`, `gap_` and `n_iter_`.
    classes_ : ndarray of shape (2,)
    solver_ : {"moments", "products"}
        See `vrspam.estimators.exact.choose_solver`.
    moments_ : ClassMoments
        Of all rows, when `solver_` is "moments".
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had string column names.

    See Also
    --------
    vrspam.coef_path : coefficients along a grid from moments alone.
    vrspam.plotting.plot_cv : AUC over the grid with its standard error.

    References
    ----------
    S. Dan and D. Sahoo. Variance Reduced Stochastic Proximal Algorithm for AUC Maximization. AISTATS 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vrspam import AUCClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), AUCClassifierCV(l1s=[0.0, 1e-3, 1e-2])).fit(X, y)
    >>> model[-1].auc_path_.shape
    (17, 3, 5)
    >>> print(f"{model[-1].best_score_:.3f}")
    0.99...
    """

    moments_: ClassMoments
    _parameter_constraints: dict = {
        "l2s": [StrOptions({"auto"}), "array-like"],
        "l1s": ["array-like"],
        "cv": ["cv_object"],
        "selection": [StrOptions({"best", "one-standard-error"})],
        "tol": PENALTY_CONSTRAINTS["tol"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        l2s="auto",
        l1s=(0.0,),
        *,
        cv=5,
        selection="best",
        tol=1e-8,
        max_iter=1000,
        n_jobs=None,
        random_state=None,
    ):
        self.l2s = l2s
        self.l1s = l1s
        self.cv = cv
        self.selection = selection
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, groups=None) -> AUCClassifierCV:
        """Choose the penalties on the folds and fit them on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two different labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows in training and in the AUC on validation parts. Folds are drawn without them.
        groups : array-like of shape (n_samples,), optional
            Handed to a splitter that keeps groups together (`sklearn.model_selection.GroupKFold`).

        Returns
        -------
        self
        """
        l1s = check_grid_axis("l1s", self.l1s)
        l2s = None if isinstance(self.l2s, str) else check_grid_axis("l2s", self.l2s)
        rows = self._validate_rows(X, y, sample_weight)
        classes = self._two_classes(rows)
        splits = make_splits(self.cv, rows, classes, groups, self.random_state)
        solver = choose_solver(rows.X.shape[0], rows.X.shape[1], sparse.issparse(rows.X))
        is_positive = rows.y == classes[1]
        if solver == "moments":
            moments, training = moments_of_splits(rows, splits, classes)

            def objective_of(number: int) -> Objective:
                return Objective.from_moments(training(number), 0.0)

        else:
            moments = ClassMoments(rows.X.shape[1], classes=classes, scatter=False).add_checked(*rows)

            def objective_of(number: int) -> Objective:
                return _objective_from_products(rows, is_positive, splits[number], classes)

        l2s = auto_l2s(moments) if l2s is None else l2s

        def one_fold(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            grid = solve_grid(objective_of(number), l2s, l1s, tol=self.tol, max_iter=self.max_iter)
            coefs = grid.coefs.reshape(l2s.size * l1s.size, -1)
            auc = auc_of_coefs(rows, is_positive, splits[number].validation, coefs)
            return auc.reshape(l2s.size, l1s.size), grid.gaps, grid.converged

        with threadpool_limits(self._blas_threads(solver, l1s), user_api="blas"):
            parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(map(delayed(one_fold), range(len(splits))))
        self.auc_path_, self.gap_path_, self.converged_path_ = (
            np.stack(part, axis=2) for part in zip(*parts, strict=True)
        )
        self.l2s_, self.l1s_ = l2s, l1s
        choice = select(self.auc_path_, {"l2": l2s, "l1": l1s}, self.selection)
        self._refit(choice, rows, is_positive, moments, solver)
        choice.warn(stacklevel=4)
        warn_if_not_converged(self.converged_path_, stacklevel=4)
        return self

    def _blas_threads(self, solver: str, l1s: np.ndarray) -> int | None:
        """Threads for each matrix product; the many small ones of elastic nets lose by being shared out."""
        jobs = effective_n_jobs(self.n_jobs)
        if solver == "moments" and l1s.any():
            return 1
        return None if jobs == 1 else max(1, effective_n_jobs(-1) // jobs)

    def _refit(self, choice: Choice, rows: Rows, is_positive: np.ndarray, moments: ClassMoments, solver: str) -> None:
        """The chosen point on all rows."""
        l2, l1 = choice.values["l2"], choice.values["l1"]
        self.__dict__.pop("moments_", None)
        if solver == "moments":
            objective = Objective.from_moments(moments, l2, l1)
            solution = solve_gram(objective, tol=self.tol, max_iter=self.max_iter)
            self.moments_ = moments
        else:
            objective = Objective.from_products(rows.X, is_positive, rows.weights, moments, l2, l1)
            solution = solve_products(objective, tol=self.tol, max_iter=self.max_iter)
        self._keep(solution, moments, l2)
        self.l1_ = l1
        self.best_score_ = float(choice.mean[choice.index])
        self.solver_ = solver
        self._warn_if_not_converged(solution)


def _objective_from_products(rows: Rows, is_positive: np.ndarray, split: Split, classes: np.ndarray) -> Objective:
    """F on a training part, with X as it is: rows outside have weight 0."""
    weights = np.bincount(split.train, minlength=rows.y.size).astype(np.float64)
    if rows.weights is not None:
        weights *= rows.weights
    moments = ClassMoments(rows.X.shape[1], classes=classes, scatter=False).add_checked(rows.X, rows.y, weights)
    return Objective.from_products(rows.X, is_positive, weights, moments, 0.0)
