"""`AUCClassifier`: the exact optimum, by the solver that suits the data."""

from __future__ import annotations

from numbers import Real
from typing import Self

from vrspam._utils.parameters import Interval, StrOptions, check_parameters, checks_parameters
from vrspam._utils.validation import union_of_labels
from vrspam.estimators import base
from vrspam.estimators.base import warn_of_raw_columns
from vrspam.estimators.blocks import MOST_FEATURES_WITH_MATRICES, fit_blocks
from vrspam.estimators.classifier import PairwiseClassifier
from vrspam.estimators.constraints import LIMITS
from vrspam.estimators.exact_fits import fit_rows, keep_exact_fit, settings_of
from vrspam.estimators.streams import StreamBlocks
from vrspam.moments import ClassMoments, PairSums
from vrspam.objective import LOSSES, PenaltyFamily
from vrspam.pairs import LossChoice


class AUCClassifier(PairwiseClassifier):
    """The linear scorer that minimises a pairwise AUC loss, exactly.

    It minimises, with p the share of positives and q = 1 - p,

        F(w) = p q · mean over pairs (i in +, j in -) of (1 - w·(x_i - x_j))²  +  l2/2 ‖w‖²  +  l1 ‖w‖₁

    and stops when the certificate `gap_`, an upper bound on F(coef_) - min F, is at most tol·F(0). With
    `loss="squared_hinge"` the pairs' terms are max(0, 1 - w·(x_i - x_j))²: a pair that is ranked right by more than
    the margin costs nothing. With ``penalty="mcp"`` or ``"scad"`` another function takes the place of l1 ‖w‖₁, F may
    have several local minima, and `stationarity_` takes the place of the certificate.

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Weight of the squared norm. "auto" is 1e-3 · 2pq · (mean second derivative), which follows class imbalance and
        the scale of all features together: standardise columns of different scales first (`StandardScaler`, or
        `AUCClassifierCV(features="standardized")`). 0 is allowed: with l1 = 0 the solution of least norm is returned,
        and `gap_` is None because the bound needs strong convexity.
    l1 : float, default=0.0
        Weight of the absolute norm, or strength of MCP and SCAD; positive values give zeros in `coef_`.
    loss : {"squared", "squared_hinge"}, default="squared"
        What a pair costs. The squared loss needs only means and covariances of the classes; the squared hinge needs
        the rows themselves, in memory. docs/losses.md says which one ranks better where.
    penalty : {"elasticnet", "mcp", "scad"}, default="elasticnet"
        "mcp" (Zhang 2010) and "scad" (Fan & Li 2001) replace l1 |w_j| by P(h_j w_j)/h_j, where P is the textbook
        penalty of strength l1 and h_j the second derivative of the loss along column j: "mcp" is
        l1 |w_j| - h_j w_j²/(2 gamma) up to |w_j| = gamma·l1/h_j, and constant beyond: it gives zeros without shrinking
        large coefficients. They need l1 > 0, and start from the elastic net's solution (docs/penalties.md).
    gamma : float, optional
        How far the penalty reaches; as it grows, MCP and SCAD become l1 ‖w‖₁. By default 3.0 for "mcp", where it must
        be more than 1, and 3.7 for "scad", where it must be more than 2.
    max_fpr : float in (0, 1], default=None
        The part of the ROC curve that matters: the mean over pairs is taken over all positives and the highest-scored
        negatives, of total weight max_fpr times that of all negatives (the last one counts in part). Applies
        only to ``loss="squared_hinge"``; None means all negatives. All coefficients are 0, with a warning, where the
        classes overlap too much for so small a part (docs/losses.md).
    monotonic_cst : array-like of -1, 0 and 1, dict of column to these, or None, default=None
        The score must rise (1) or fall (-1) with a column, whatever the others are; 0 leaves it free. For a linear
        score this is the sign of a coefficient (docs/monotone.md).
    positive : bool, default=False
        All coefficients are at least 0, as in scikit-learn's `Lasso`.
    bounds : pair, array-like of shape (n_features, 2), dict of column to pair, or None, default=None
        Limits (lower, upper) of coefficients, one pair for all or one for each, with 0 between them; None is no end.
    strata_weight : {"pairs", "strata"}, default="pairs"
        With `strata`: "pairs" gives all pairs inside strata the same weight, "strata" gives it to all strata.
    tol : float, default=1e-8
        Relative accuracy: stop when the gap (or `stationarity_`) is at most tol·F(0), F(0) = pq. With `max_fpr`,
        values below 1e-6 count as 1e-6.
    max_iter : int, default=1000
        Most iterations of the iterative solvers (sweeps, conjugate-gradient steps, or Newton steps).
    random_state : int, RandomState or None, default=None
        Accepted for a uniform interface; the solvers draw no random numbers.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
        Puts the score 0 half-way between the class means; the AUC does not depend on it.
    classes_ : ndarray of shape (2,)
        The labels; the larger one is ranked above.
    gap_ : float or None
        Certificate: F(coef_) is at most this far above the optimum, rounding included (docs/theory.md, section 3). None
        where l2 = 0, and for "mcp" and "scad".
    stationarity_ : float
        For "mcp" and "scad" only: ½ Σ_j h_j (w_j - v_j)², where v_j minimises F along column j while all other
        coefficients stay. It is in units of F and is 0 at local minima (and other stationary points).
    objective_ : float
        F(coef_), to a relative error of 1e-6 or better. From moments alone (`partial_fit`, `fit_stream`,
        `fit_moments`) the error is up to 2 √(gap_ · F(0)) if that is more: where subtraction has lost digits, and for
        nearly collinear columns with a tiny l2 (docs/theory.md, section 3).
    l2_ : float
        The value of l2 that was used.
    n_iter_ : int
        Iterations done (1 for a direct solve).
    solver_ : {"moments", "products", "newton"}
        The solver that ran, see `vrspam.solvers.choose_solver`; "newton" for the squared hinge.
    moments_ : ClassMoments
        The statistics the solution came from, when `solver_` is "moments".
    pairs_ : float
        After `fit` with several strata: the number of pairs inside them, or their weight. F has the mean over these
        pairs, and their share of all ordered pairs in place of pq (docs/theory.md).
    history_ : dict of ndarray
        Unless `solver_` is "moments": `epoch`, `passes`, `seconds`, `objective` and `gap` (for "mcp" and "scad" also
        `stationarity`) for each iteration, the start included; with `max_fpr`, for each round of Newton steps.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had string column names.

    Notes
    -----
    Without l1 the direction is that of class-balanced ridge regression and of a regularised Fisher discriminant.

    References
    ----------
    S. Dan and D. Sahoo. Variance Reduced Stochastic Proximal Algorithm for AUC Maximization. AISTATS 2021.
    C.-H. Zhang. Nearly Unbiased Variable Selection under Minimax Concave Penalty. Ann. Statist. 38, 2010.
    J. Fan and R. Li. Variable Selection via Nonconcave Penalized Likelihood. J. Amer. Statist. Assoc. 96, 2001.

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
        **base.PENALTY_CONSTRAINTS,
        "loss": [StrOptions(set(LOSSES))],
        **base.CHOSEN_PENALTY,
        "max_fpr": [Interval(Real, 0.0, 1.0, closed="right"), None],
        **LIMITS,
        "strata_weight": [StrOptions({"pairs", "strata"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        l2="auto",
        l1=0.0,
        *,
        loss="squared",
        penalty="elasticnet",
        gamma=None,
        max_fpr=None,
        monotonic_cst=None,
        positive=False,
        bounds=None,
        strata_weight="pairs",
        tol=1e-8,
        max_iter=1000,
        random_state=None,
    ):
        self.l2 = l2
        self.l1 = l1
        self.loss = loss
        self.penalty = penalty
        self.gamma = gamma
        self.max_fpr = max_fpr
        self.monotonic_cst = monotonic_cst
        self.positive = positive
        self.bounds = bounds
        self.strata_weight = strata_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _validate_params(self) -> None:
        check_parameters(self)
        PenaltyFamily(self.penalty, self.gamma).check(self.l1)
        self._loss.check()

    @property
    def _loss(self) -> LossChoice:  # type: ignore[override]
        return LossChoice(self.loss, self.max_fpr)

    @checks_parameters(skip_nested=True)
    def fit(self, X, y, sample_weight=None, strata=None) -> Self:
        """Find the optimum for the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two different labels of any type that can be sorted; rows of the last in order should score higher.
        sample_weight : array-like of shape (n_samples,), optional
        strata : array-like of shape (n_samples,), optional
            Queries, matched sets, sites: only pairs of rows of the same stratum count. Strata of one class are left
            out, with a warning.

        Returns
        -------
        self
        """
        rows = self._validate_rows(X, y, sample_weight)
        classes = self._labels(rows)
        loss = self._loss if strata is None else self._loss_inside(rows, classes, strata)
        fit_rows(self, rows, classes, loss)
        return self

    @checks_parameters(skip_nested=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None) -> Self:
        """Add rows to the moments and solve: the same coefficients as `fit` on all rows so far.

        Until both classes have been seen the moments of the rows are kept and there is no model yet.

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
        base.refuse_without_rows(self, "partial_fit")
        first = not hasattr(self, "moments_")
        if first and hasattr(self, "coef_"):
            raise ValueError(
                "This model was fitted by products with X and kept no moments, so rows cannot be added: "
                "start with partial_fit instead of fit."
            )
        try:
            rows = self._validate_rows(X, y, sample_weight, reset=first)
            d = rows.X.shape[1]
            if d > MOST_FEATURES_WITH_MATRICES:
                raise ValueError(
                    f"partial_fit keeps two {d}×{d} matrices ({16 * d * d / 1e9:.0f} GB): use fit, or a "
                    "stochastic estimator of this package for streams this wide."
                )
            moments = ClassMoments(d, classes=classes) if first else self.moments_
            if not first and classes is not None:
                union_of_labels(moments.classes, ClassMoments(1, classes=classes).classes)
            moments.add_checked(*rows)
        except Exception:
            if first:  # keep nothing of a refused first batch
                self._forget_columns()
            raise
        self.moments_ = moments
        if moments.complete:
            keep_exact_fit(self, settings_of(self, d).fit_sums(moments), like=rows.X)
        return self

    @checks_parameters(skip_nested=True)
    def fit_stream(self, chunks, *, progress: bool = False) -> Self:
        """Find the optimum for rows that come block by block: the coefficients of `fit` on all rows at once.

        Memory does not depend on the number of rows. Up to 5,000 features the blocks are read once; with more,
        no d×d matrix is kept and they are read once for every iteration, so `chunks` must be able to start
        again (a list, `vrspam.data.read_chunks`). A one-shot iterator is read once in any case, up to 20,000
        features.

        Parameters
        ----------
        chunks : iterable of (X, y), (X, y, sample_weight) or (X, y, sample_weight or None, strata)
            Blocks of rows, dense or sparse: for files, `vrspam.data.read_chunks`. With strata only pairs inside them
            count, as in `fit`; the rows of a stratum must lie together, and may go on in the next block.
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
        base.refuse_without_rows(self, "fit_stream")
        blocks = StreamBlocks(self, chunks, progress, takes_strata=True)
        fit = fit_blocks(self, blocks)
        if not blocks.sparse:
            warn_of_raw_columns(self, fit.moments, fit.l2)
        return self

    @checks_parameters(skip_nested=True)
    def fit_moments(self, moments: ClassMoments) -> Self:
        """Find the optimum for the data that `moments` summarise.

        Parameters
        ----------
        moments : ClassMoments
            With scatter matrices and rows of both classes. If subtraction has cost them so many digits that `tol`
            cannot be certified, a warning says so.

        Returns
        -------
        self
        """
        base.refuse_without_rows(self, "fit_moments")
        if not isinstance(moments, PairSums):
            raise ValueError(f"fit_moments takes a ClassMoments, got {type(moments).__name__}.")
        fit = settings_of(self, moments.n_features or 0).fit_sums(moments.copy())
        keep_exact_fit(self, fit)
        return self._store_columns(fit.moments.means.shape[1])
