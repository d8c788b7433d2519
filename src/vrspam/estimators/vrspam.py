"""`VRSPAMClassifier`: variance-reduced stochastic proximal steps, the paper's and faster ones."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Self

from vrspam._utils.names import usual_spelling
from vrspam._utils.parameters import Interval, StrOptions, check_parameters, checks_parameters
from vrspam._utils.progress import StatusLine
from vrspam._utils.validation import Rows, counted_rows
from vrspam.estimators import base
from vrspam.estimators.classifier import PairwiseClassifier
from vrspam.estimators.constraints import LIMITS
from vrspam.moments import ClassMoments
from vrspam.objective import ElasticNet, PenaltyFamily, Separable
from vrspam.penalties.family import PENALTIES
from vrspam.solvers.base import run
from vrspam.solvers.exact import measured_on_centred_rows, resolve_l2
from vrspam.solvers.row_gradients import TrainingRows
from vrspam.solvers.vrspam import VRSPAM, extrapolates, objective_on_rows, variant_that_runs

VARIANTS = ("paper", "centred", "accelerated")


class VRSPAMClassifier(PairwiseClassifier):
    """Linear AUC scorer by variance-reduced stochastic steps; the default is a faster variant of the paper's.

    It minimises, with p the share of positives and q = 1 - p,

        F(w) = p q · mean over pairs (i in +, j in -) of (1 - w·(x_i - x_j))²  +  l2/2 ‖w‖²  +  l1 ‖w‖₁

    by epochs of proximal SVRG: one pass for the gradient ∇f(w̃) at an anchor w̃, then `inner_steps` steps

        w ← prox_η(w - η (g_i(w) - g_i(w̃) + ∇f(w̃)))

    with a stochastic gradient g_i of mean ∇f. The gradient at the anchor gives an upper bound `gap` on F(w̃) - min F
    at no extra cost; the fit stops when it is at most tol·F(0). With ``penalty="mcp"`` or ``"scad"`` these steps find a
    stationary point of another F, which may have several local minima (see `AUCClassifier`).

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Weight of the squared norm, the paper's β; it must be positive. "auto" is 1e-3 · 2pq · (mean diagonal of
        the second derivative of the pair mean).
    l1 : float, default=0.0
        Weight of the absolute norm, the paper's β₁, or strength of MCP and SCAD; positive values give zeros in `coef_`.
    penalty : {"elasticnet", "mcp", "scad"}, default="elasticnet"
        "mcp" and "scad" give zeros without shrinking large coefficients, see `AUCClassifier`. They need l1 > 0, allow
        l2 = 0, run as the variant "centred" started at 0, and refuse a sparse X and the variant "paper".
    gamma : float, optional
        Applies only to "mcp" (default 3.0) and "scad" (default 3.7).
    monotonic_cst : array-like of -1, 0 and 1, dict of column to these, or None, default=None
        The score must rise (1) or fall (-1) with a column, whatever the others are; 0 leaves it free. For a linear
        score this is the sign of a coefficient (docs/monotone.md).
    positive : bool, default=False
        All coefficients are at least 0, as in scikit-learn's `Lasso`.
    bounds : pair, array-like of shape (n_features, 2), dict of column to pair, or None, default=None
        Limits (lower, upper) of coefficients, one pair for all or one for each, with 0 between them; None is no end.
    variant : {"accelerated", "centred", "paper"}, default="accelerated"
        "paper" is Algorithm 1 of the paper as printed: rows drawn uniformly, started from one pass of SPAM, last
        iterate as next anchor. "centred", or "centered", takes the gradient about the class means and draws rows by
        their norm. "accelerated" adds Katyusha momentum to that, and starts each epoch from the best combination of the
        last anchors; with l1 > 0 (shorter epochs), or fewer than two rows for each column, it does so without momentum,
        as "centred". On a sparse X with l1 > 0 both run with pairs of rows, in O(nonzeros) a step. `variant_` is the
        variant that ran.
    step_size : "auto", "theory" or float, default="auto"
        η. "auto" is a constant over the largest Lipschitz constant of a weighted draw, and it is guarded: an
        epoch that goes wrong is undone and repeated with a smaller step. "theory" is the paper's bound
        l2/(128 max‖x‖⁴), tiny on real data. A number is used unchanged (by "accelerated" in place of
        1/Lipschitz constant), and a `ValueError` names a smaller one if it diverges.
    inner_steps : int, optional
        Steps per epoch, the paper's m. By default n (n/2 pairs), so an epoch reads the data twice.
    max_iter : int, default=100
        Most epochs.
    tol : float, default=1e-6
        Relative accuracy: stop when the gap (or `stationarity_`) is at most tol·F(0), F(0) = pq.
    record_variance : bool, default=False
        Add the variance of the update direction to `history_`. It costs two more readings of X an epoch, counted
        in `seconds` but not in `passes`.
    random_state : int, RandomState or None, default=None
        Seed of the draws. The same seed gives the same bits.
    verbose : int, default=0
        1 shows a live line on the standard error stream with the gap falling.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
        Puts the score 0 half-way between the class means; the AUC does not depend on it.
    classes_ : ndarray of shape (2,)
        The labels; the larger one is ranked above.
    gap_ : float or None
        Certificate: F(coef_) is at most this far above the optimum. None for "mcp" and "scad".
    stationarity_ : float
        For "mcp" and "scad" only, see `AUCClassifier`.
    objective_ : float
        F(coef_).
    l2_ : float
        The value of l2 that was used.
    variant_ : {"accelerated", "centred", "paper", "pair"}
        The variant that ran.
    n_iter_ : int
        Epochs done.
    history_ : dict of ndarray
        One entry per epoch, the start included: `epoch`, `passes` (every reading of X: set-up, anchors, inner
        steps / n, and the epochs that were undone), `seconds`, `objective` and `gap` at the anchor (for "mcp" and
        "scad" also `stationarity`), `step_size`, `retries` (epochs undone), and with `record_variance` also
        `variance`: Σ_i π_i ‖v_i - ∇f(w)‖² over all rows i with their probabilities π_i, at the point w where the
        epoch's next step would have been taken and against the epoch's own anchor, before the anchor moves.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had string column names.

    Notes
    -----
    While a d×d matrix fits in memory, `AUCClassifier` finds the same coefficients faster.

    References
    ----------
    S. Dan and D. Sahoo. Variance Reduced Stochastic Proximal Algorithm for AUC Maximization. AISTATS 2021.
    Z. Allen-Zhu. Katyusha: The First Direct Acceleration of Stochastic Gradient Methods. JMLR 18, 2018.
    Y. Xu, Q. Qi, Q. Lin, R. Jin and T. Yang. Stochastic Optimization for DC Functions and Non-smooth Non-convex
    Regularizers with Non-asymptotic Convergence. ICML 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vrspam import VRSPAMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), VRSPAMClassifier(l2=0.005, random_state=0)).fit(X, y)
    >>> print(f"{model.score(X, y):.3f}")
    0.99...
    >>> bool(model[-1].gap_ < 1e-6)
    True
    """

    _parameter_constraints: dict = {
        **base.PENALTY_CONSTRAINTS,
        **base.CHOSEN_PENALTY,
        **LIMITS,
        "variant": [StrOptions({*VARIANTS, "centered"})],
        "step_size": [StrOptions({"auto", "theory"}), Interval(Real, 0, None, closed="neither")],
        "inner_steps": [None, Interval(Integral, 1, None, closed="left")],
        "record_variance": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        l2="auto",
        l1=0.0,
        *,
        penalty="elasticnet",
        gamma=None,
        monotonic_cst=None,
        positive=False,
        bounds=None,
        variant="accelerated",
        step_size="auto",
        inner_steps=None,
        max_iter=100,
        tol=1e-6,
        record_variance=False,
        random_state=None,
        verbose=0,
    ):
        self.l2 = l2
        self.l1 = l1
        self.penalty = penalty
        self.gamma = gamma
        self.monotonic_cst = monotonic_cst
        self.positive = positive
        self.bounds = bounds
        self.variant = variant
        self.step_size = step_size
        self.inner_steps = inner_steps
        self.max_iter = max_iter
        self.tol = tol
        self.record_variance = record_variance
        self.random_state = random_state
        self.verbose = verbose

    def _validate_params(self) -> None:
        check_parameters(self)
        PenaltyFamily(self.penalty, self.gamma).check(self.l1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kind = PENALTIES.get(self.penalty, Separable)
        tags.input_tags.sparse = issubclass(kind, ElasticNet) and not self._has_limits
        return tags

    @checks_parameters(skip_nested=True)
    def fit(self, X, y, sample_weight=None) -> Self:
        """Run epochs on the rows of X until the certificate reaches the tolerance.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two different labels of any type that can be sorted; the last in order is positive.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        data = self._validate_rows(X, y, sample_weight, order="C")
        classes = self._labels(data)
        counted = counted_rows(data.weights)
        if counted is not None:  # a row of weight 0 is no row: none is drawn
            assert data.weights is not None
            data = Rows(data.X[counted], data.y[counted], data.weights[counted])
        moments = ClassMoments(data.X.shape[1], classes=classes, scatter=False).add_checked(*data)
        l2 = resolve_l2(self.l2, moments)
        rows = TrainingRows(data.X, data.y == classes[1], data.weights, moments)
        family = self._family(rows.X.shape[1])
        objective = objective_on_rows(rows, l2, float(self.l1), family)
        wanted = usual_spelling(self.variant, VARIANTS)
        variant = variant_that_runs(wanted, objective.penalty, rows.is_sparse, *rows.X.shape)
        solver = VRSPAM(
            rows,
            variant,
            step_size=self.step_size,
            inner_steps=self.inner_steps,
            rng=base.generator(self.random_state),
            record_variance=self.record_variance,
            extrapolates=extrapolates(wanted, variant, objective.penalty),
        )
        with StatusLine(f"VRSPAM {variant}:", bar=False, enabled=bool(self.verbose)) as line:

            def show(row: dict[str, float]) -> None:
                line.show(epoch_in_words(row, goal=self.tol * objective.scale))

            callback = show if self.verbose else None
            solution = run(solver, objective, tol=self.tol, max_iter=self.max_iter, callback=callback)
        if self.step_size != "auto" and solution.value > objective.scale:
            raise solver.diverged(objective)
        solution = measured_on_centred_rows(objective, solution, data, moments, tol=self.tol)
        self._keep_fit(solution, moments.classes, moments.means, l2)
        self.variant_ = variant
        base.warn_of_missed_tolerance(self, solution)
        return self


def epoch_in_words(row: dict[str, float], goal: float) -> str:
    """What `verbose` says of an epoch, a row of the history."""
    measure = "stationarity" if "stationarity" in row else "gap"
    return (
        f"epoch {row['epoch']:.0f}, {row['passes']:.1f} passes, {row['seconds']:.1f} s, F {row['objective']:.6g}, "
        f"{measure} {row[measure]:.2e} (goal {goal:.0e})"
    )
