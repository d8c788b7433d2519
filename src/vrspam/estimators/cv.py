"""`AUCClassifierCV`: penalties by cross-validation over a whole grid, for the price of a few fits."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from vrspam._utils import array_api
from vrspam._utils.warnings import warn
from vrspam.estimators.base import PENALTY_CONSTRAINTS, Rows
from vrspam.estimators.cv_blocks import CVByBlocks
from vrspam.estimators.grid_search import GridSearch, solver_for
from vrspam.estimators.map_search import Candidate, search_maps, selection_table
from vrspam.estimators.mapped import NAMES, MappedArray, is_plain, named_maps, validate_new_rows, validate_table
from vrspam.estimators.shapes import (
    Reading,
    Shape,
    column_groups,
    drawn_part,
    importances,
    parts_of_score,
    shape_functions,
)
from vrspam.estimators.splits import make_splits
from vrspam.features._frames import is_frame
from vrspam.model_selection.selection import Choice
from vrspam.moments import ClassMoments
from vrspam.objective import Objective
from vrspam.solvers.exact import solve_gram, solve_products
from vrspam.solvers.grid import check_grid_axis, warn_if_not_converged


class AUCClassifierCV(CVByBlocks):
    """The linear scorer that minimises the pairwise squared AUC loss, its penalties chosen by cross-validation.

    At each point of the grid and on the training part of each fold it minimises, exactly,

        F(w) = p q · mean over pairs (i in +, j in -) of (1 - w·(x_i - x_j))²  +  l2/2 ‖w‖²  +  l1 ‖w‖₁

    and takes the AUC on the validation part; the point with the best mean is fitted again on all rows. F needs
    only the means and covariances of the classes, and those of a training part are those of all rows minus those
    of the validation part. So X is read once for the moments of all folds and once for their scores, all of `l2s` come
    from one eigendecomposition a fold, and l1 > 0 from warm-started coordinate descent on a d×d matrix.

    Parameters
    ----------
    l2s : list of numbers or "auto", default="auto"
        "auto" is 17 values from 1e-6 to 1e2 times 2pq · (mean second derivative).
    l1s : list of numbers, default=(0.0,)
    cv : int, splitter or iterable of (training rows, validation rows), default=5
        A number means stratified folds.
    selection : {"best", "one-standard-error"}, default="best"
        "one-standard-error" takes, of all points whose mean AUC is within one standard error of the best, the
        sparsest (largest l1), and of those the one with the largest l2. Of several feature maps it first takes
        the simplest (the earliest in the list) that has such a point.
    features : {"linear", "additive", "kernel", "auto"}, transformer, or list of these, default="linear"
        "linear": the columns as they are. Otherwise the score is linear in features of them, made block by block
        by a transformer that never sees labels (`vrspam.features`); the map and the penalties are chosen
        together. "additive": a smooth curve for each column. "kernel": curves and interactions, with bandwidths
        0.3, 1 and 3. "auto": all of these and standardised columns (but as "linear" on more than 5,000
        columns, and without maps of more than 5,000 features). With a map X may be a frame with categories, and have
        missing values. In a list, and in "auto", "linear" means standardised columns.
    tol : float, default=1e-8
        Relative accuracy of every solution: its gap is at most tol·F(0).
    max_iter : int, default=1000
        Most iterations of the iterative solvers at each point.
    n_jobs : int, default=None
        Folds solved at the same time, in threads; -1 means all cores. None means what a `joblib.parallel_config` says,
        or else, up to 1,000 features, as many as matrix products have threads (one decomposition gains little
        from them) and fit into 256 MB; beyond, 1.
    random_state : int, RandomState or None, default=None
        With a number of folds: None takes rows in their order, anything else shuffles them first. It also draws
        the landmarks of kernel features, and is handed to transformers that have no `random_state` of their own.

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
        With a feature map these are coefficients of its features.
    features_ : transformer or None
        The chosen map, fitted on all rows; None for the columns as they are.
    selection_ : dict of lists
        For each candidate its name, number of features, penalties, CV AUC and standard error
        (`pandas.DataFrame(model.selection_)`).
    shape_functions_ : dict of str to Shape
        With a feature map of this package: what each column adds to the score, with a band from the folds. The
        curves add up to the score; those of a kernel do so together with its interactions (`explain_one`).
    importances_ : dict of str to float
        Spread of each column's part of the score (of each feature's, for other transformers).
    classes_ : ndarray of shape (2,)
    solver_ : {"moments", "products"}
        See `vrspam.estimators.exact.choose_solver`.
    moments_ : ClassMoments
        Of all rows, when `solver_` is "moments".
    history_ : dict of ndarray
        Of the last fit, on all rows, when `solver_` is "products": `epoch`, `passes`, `seconds`, `objective` and `gap`.
    held_out_ : HeldOut
        After `fit_stream` only: `positive`, `scores`, `fold` and `weights` of the validation rows that were kept, each
        scored at the chosen point by the model of the other folds; `weights` say how many rows each stands for.
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

    Curves instead of straight lines:

    >>> curved = AUCClassifierCV(features="additive").fit(X, y)
    >>> parts = curved.explain_one(X[0])
    >>> bool(abs(sum(parts.values()) - curved.decision_function(X[:1])[0]) < 1e-9)
    True
    """

    moments_: ClassMoments
    _works_on_devices = True
    features_: Any
    _fold_coefs: np.ndarray | None
    _parameter_constraints: dict = {
        "l2s": [StrOptions({"auto"}), "array-like"],
        "l1s": ["array-like"],
        "cv": ["cv_object"],
        "selection": [StrOptions({"best", "one-standard-error"})],
        "features": [StrOptions(set(NAMES)), list, tuple, HasMethods(["fit", "transform"])],
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
        features="linear",
        tol=1e-8,
        max_iter=1000,
        n_jobs=None,
        random_state=None,
    ):
        self.l2s = l2s
        self.l1s = l1s
        self.cv = cv
        self.selection = selection
        self.features = features
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not (isinstance(self.features, str) and self.features == "linear")
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
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
        check_grid_axis("l1s", self.l1s)
        if is_plain(self.features, X):
            rows = self._validate_rows(X, y, sample_weight)
            classes = self._two_classes(rows)
            splits = make_splits(self.cv, rows, classes, groups, self.random_state)
            scores = self._search.scores(rows, splits, classes)
            choice = scores.select(self.selection)
            candidates, chosen, self.features_ = [Candidate("linear", rows, scores, choice)], 0, None
        else:
            rows = validate_table(self, X, y, sample_weight)
            classes = self._two_classes(rows)
            splits = make_splits(self.cv, rows, classes, groups, self.random_state)
            maps = named_maps(self.features, check_random_state(self.random_state).randint(2**31))
            candidates, chosen, choice = search_maps(
                maps, rows, lambda mapped: self._search.scores(mapped, splits, classes), self.selection
            )
            rows, scores = candidates[chosen].rows, candidates[chosen].scores
            self.features_ = maps[candidates[chosen].name]
        left_out = 1.0 - float(np.mean([split.train.size for split in splits])) / rows.X.shape[0]
        self._conclude(candidates, chosen, choice, left_out)
        self._refit(choice, rows, classes, scores.moments)
        self._advise(choice)
        self._settle(rows.X)
        return self

    @property
    def _search(self) -> GridSearch:
        return GridSearch(self.l2s, self.l1s, self.tol, self.max_iter, self.n_jobs)

    def _conclude(self, candidates: list[Candidate], chosen: int, choice: Choice, left_out: float) -> None:
        """Keep what cross-validation found."""
        scores = candidates[chosen].scores
        self.__dict__.pop("held_out_", None)  # of an earlier fit_stream
        self.selection_ = selection_table(candidates, chosen, choice)
        self.auc_path_, self.gap_path_, self.converged_path_ = scores.auc, scores.gaps, scores.converged
        self.l2s_, self.l1s_ = scores.l2s, scores.l1s
        self._fold_coefs = None if scores.coefs is None else scores.coefs[:, choice.index[0], choice.index[1]]
        self._left_out = left_out

    def _advise(self, choice: Choice) -> None:
        """Warn of a grid that ends too early, or that was not solved to `tol`."""
        if self.coef_.any():
            choice.warn()
        elif self.l1_ == 0.0:
            warn("All coefficients are 0: the classes have the same mean in every feature (or no feature varies).")
        else:
            warn(
                f"All coefficients are 0 at the chosen l1 = {self.l1_:g}: no feature ranks the validation rows better "
                "than chance at a smaller one of the grid. Add smaller values of l1, if there is anything to find."
            )
        if self.features_ is None:  # a map's grid is ours as well as its scale: only what was chosen matters
            warn_if_not_converged(self.converged_path_)

    def _refit(self, choice: Choice, rows: Rows, classes: np.ndarray, moments: ClassMoments | None) -> None:
        """The chosen point on all rows."""
        l2, l1 = choice.values["l2"], choice.values["l1"]
        solver = "moments" if moments is not None and moments.has_scatter else solver_for(rows)
        if moments is None:
            moments = ClassMoments(rows.X.shape[1], classes=classes).add_checked(*rows)
        self.__dict__.pop("moments_", None)
        if solver == "moments":
            objective = Objective.from_moments(moments, l2, l1)
            solution = solve_gram(objective, tol=self.tol, max_iter=self.max_iter)
            if not solution.converged and moments.rounding > 0.0:  # float32 was too coarse
                moments = ClassMoments(rows.X.shape[1], classes=classes).add_checked(*rows, precise=True)
                objective = Objective.from_moments(moments, l2, l1)
                solution = solve_gram(objective, tol=self.tol, max_iter=self.max_iter)
            self.moments_ = moments
        else:
            objective = Objective.from_products(rows.X, rows.y == classes[1], rows.weights, moments, l2, l1)
            solution = solve_products(objective, tol=self.tol, max_iter=self.max_iter)
        self._keep(solution, moments, l2)
        self._centre = moments.means.mean(axis=0)
        self.l1_ = l1
        self.best_score_ = float(choice.mean[choice.index])
        self.solver_ = solver
        self._warn_if_not_converged(solution)

    def decision_function(self, X) -> np.ndarray:
        """Scores of the rows of X: higher means more likely `classes_[1]`.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "coef_")
        if self.features_ is None:
            return super().decision_function(X)
        return MappedArray(validate_new_rows(self, X), self.features_) @ self.coef_[0] + self.intercept_[0]

    def _groups(self) -> dict[str, slice]:
        check_is_fitted(self, "coef_")
        return column_groups(self.features_, _check_feature_names_in(self), self.coef_.shape[1])

    @property
    def importances_(self) -> dict[str, float]:
        """Standard deviation of each column's part of the score over the rows, both classes weighing the same."""
        groups = self._groups()
        if not hasattr(self, "moments_"):
            raise AttributeError("importances_ needs moments_, which a fit by products with X does not keep.")
        return importances(groups, array_api.on_host(self.coef_)[0], self.moments_)

    @property
    def shape_functions_(self) -> dict[str, Shape]:
        """What each column adds to the score, as a curve with a band from the folds; interactions come on top."""
        check_is_fitted(self, "coef_")
        if drawn_part(self.features_) is None or self._fold_coefs is None:
            raise AttributeError(
                f"shape_functions_ are the curves of a feature map, and features_ is {self.features_!r}: fit with "
                "features='additive', or 'auto'."
            )
        return shape_functions(self.features_, _check_feature_names_in(self), self._reading())

    def _reading(self) -> Reading:
        """What curves are drawn from, where the fit was on a feature map."""
        assert self._fold_coefs is not None
        return Reading(self.coef_[0], self._fold_coefs, self._left_out, self.moments_)

    def explain_one(self, x) -> dict[str, float]:
        """What each column adds to the score of one row; the parts add up to `decision_function`.

        Parameters
        ----------
        x : one row
            A sequence of numbers, a row of a pandas frame (``frame.iloc[0]``), or a frame or 2-dimensional array of
            one row.

        Returns
        -------
        dict of str to float
            0 is half-way between the class means. With kernel features the part "interactions" is what the curves
            of single columns do not say; with other transformers the parts are features.
        """
        groups = self._groups()
        x = x if array_api.device_namespace(x) is None else array_api.on_host(x)
        if hasattr(x, "to_frame") and getattr(x, "ndim", 0) == 1:  # a row of a pandas frame
            x = x.to_frame().T
        X = x if getattr(x, "ndim", 0) == 2 or is_frame(x) else np.asarray(x).reshape(1, -1)
        if X.shape[0] != 1:
            raise ValueError(f"explain_one takes one row, got {X.shape[0]}: call it for each row.")
        if self.features_ is None:
            X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
            row = X.toarray() if sparse.issparse(X) else X
        else:
            row = MappedArray(validate_new_rows(self, X), self.features_)[:1]
        return parts_of_score(groups, row[0], array_api.on_host(self.coef_)[0], self._centre)
