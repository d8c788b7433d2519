"""`AUCClassifierCV`: penalties by cross-validation over a whole grid, for the price of a few fits."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from vrspam._utils import parameters
from vrspam._utils.names import SELECTION_RULES, THRESHOLD_RULES
from vrspam.estimators import base
from vrspam.estimators.base import warn_of_raw_columns
from vrspam.estimators.blocks import search_blocks
from vrspam.estimators.classifier import PairwiseClassifier
from vrspam.estimators.constraints import LIMITS
from vrspam.estimators.explained import ExplainedEstimator
from vrspam.estimators.search import (
    AS_THEY_ARE,
    ColumnsOfFrames,
    check_grid,
    run_search,
    takes_raw_columns,
)
from vrspam.estimators.streams import StreamBlocks
from vrspam.features.names import SPELLED_NAMES
from vrspam.model_selection.calibration import METHODS
from vrspam.model_selection.hashing import HashFolds, hash_folds
from vrspam.model_selection.scoring import SCORINGS, make_scoring
from vrspam.objective import LOSSES
from vrspam.pairs import LossChoice


def is_threshold_rule(value: Any) -> bool:
    """Whether a parameter is a dict of one rule and a number that suits it.

    >>> is_threshold_rule({"recall": 0.9}), is_threshold_rule({"recall": 90}), is_threshold_rule({"cost_ratio": 10})
    (True, False, True)
    """
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((rule, number),) = value.items()
    if rule not in THRESHOLD_RULES[:-1] or not isinstance(number, Real):
        return False
    most = np.finfo(float).max if rule == "cost_ratio" else 1.0
    return bool(0.0 < float(number) <= most)


THRESHOLD_RULE = parameters.Rule(
    "a dict of one of recall, precision, alerts and a number in (0, 1], or of cost_ratio and a positive number",
    is_threshold_rule,
)


class AUCClassifierCV(PairwiseClassifier, ExplainedEstimator):
    """The linear scorer that minimises a pairwise AUC loss, its penalties chosen by cross-validation.

    At each point of the grid and on the training part of each fold it minimises, exactly,

        F(w) = p q · mean over pairs (i in +, j in -) of (1 - w·(x_i - x_j))²  +  l2/2 ‖w‖²  +  l1 ‖w‖₁

    and takes the AUC on the validation part, or another measure (`scoring`); the point with the best mean is fitted
    again on all rows. X is read once for the moments of all folds and once for their scores: all of `l2s` come from one
    eigendecomposition per fold, and l1 > 0 from warm-started coordinate descent on a d×d matrix (docs/grid.md). Other
    values of `loss` and `penalty` are those of `AUCClassifier`; the squared hinge is solved by Newton's method on the
    rows, each point from the solution of its neighbour.

    Parameters
    ----------
    l2s : list of numbers or "auto", default="auto"
        "auto" is 17 values from 1e-6 to 1e2 times 2pq · (mean second derivative). As in `AUCClassifier`, columns as
        they are should have similar scales; feature maps, such as "standardized", scale the columns themselves.
    l1s : list of numbers or "auto", default=(0.0,)
        "auto" is 30 values from the least l1 that makes all coefficients 0 (on all rows) down to 1e-3 of it.
    loss : str, default="squared"
        What a pair costs, see `AUCClassifier`. "squared_hinge" reads the rows many times: features of a map are held in
        memory if they take at most 256 MB, else computed again, block by block, at each reading.
    penalty : {"elasticnet", "mcp", "scad"}, default="elasticnet"
        As in `AUCClassifier`. "mcp" and "scad" need l1 > 0, such as ``l1s="auto"``.
    gamma : float, optional
        Applies only to "mcp" (default 3.0) and "scad" (default 3.7), see `AUCClassifier`.
    max_fpr : float in (0, 1], default=None
        Choose by the partial AUC up to this false-positive rate, which must cover at least one negative of each
        validation part. With ``loss="squared_hinge"`` the models are also trained for this part of the ROC curve (see
        `AUCClassifier`); with the squared loss `max_fpr` concerns `scoring` alone.
    scoring : {"auto", "roc_auc", "partial_roc_auc", "average_precision"} or callable, default="auto"
        The measure that chooses. "auto" is the partial AUC where `max_fpr` is given, and the AUC where it is not.
        "partial_roc_auc" is standardised as in `vrspam.metrics.partial_auc`. A callable is given `positive` (booleans),
        the scores of the held-out rows as `decision_function` of the model of the other folds gives them, and their
        weights or None; it returns a number, higher being better, and may be called from several threads.
    strata_weight : {"pairs", "strata"}, default="pairs"
        With `strata`: "pairs" gives all pairs inside strata the same weight, "strata" gives it to all strata.
    cv : int, splitter, iterable of (training rows, validation rows), or None, default=5
        A number means stratified folds of shuffled rows; None means 5.
    selection : {"auto", "blend", "best", "one-standard-error"}, default="auto"
        How the compared points and feature maps become a model. "best" takes the point with the best mean score.
        "blend" adds up the best point of each map: a map whose mean score is Δ behind the best has exp(-2Δ/s)
        times the best map's weight, where s is the deviation of the best map's scores over the folds; weights below 2 %
        of the largest are 0. Scores are divided by the spread of their held-out values first. "auto" blends if several
        maps of this package are compared, else takes the best point; on 50,000 rows or more it takes one map.
        "one-standard-error" takes, of all points whose mean score is within one standard error of the best, that of the
        earliest map, then the sparsest (largest l1), then the one with the largest l2.
    calibration : {"sigmoid", "isotonic"} or None, default="sigmoid"
        How `predict_proba` turns scores into probabilities: by a function that is fitted on scores of held-out rows
        at the chosen point, with their weights, and with the classes as far apart as new rows are expected to show
        them: less far after a choice among maps, and where the signal is weak. "sigmoid" has two parameters and suits
        few rows; "isotonic" takes any shape that does not decrease, and needs thousands of rows. With None there is no
        `predict_proba`. Rankings do not depend on it; `intercept_` does. docs/probabilities.md has the errors of both.
    threshold : float, dict of one item, or None, default=None
        The threshold of `predict`: a score, or a rule that chooses one on held-out rows, stored in `threshold_`:
        ``{"recall": 0.9}`` finds 90 % of the positives, ``{"precision": 0.5}`` is right in half of its calls,
        ``{"alerts": 0.05}`` calls 5 % of the rows, ``{"cost_ratio": 10}`` has the least cost if a miss is as bad as 10
        false alarms. None: the probability ½.
    features : str, transformer, list of these, or dict, default="linear"
        "linear": the columns as they are (for a frame with text, dates or gaps: "standardized"). Otherwise the score is
        linear in features of the columns, which a transformer (`vrspam.features`) makes block by block; the map and the
        penalties are chosen together.
        "standardized", or "standardised": each column with mean 0 and deviation 1, categories one-hot. "additive": a
        smooth curve for each column. "kernel": curves and interactions, with bandwidths 0.3, 1 and 3.
        "kernel alone": the same without the curves. "trees": shared leaves of random trees, of depths 2, 4 and 7.
        "forest", "boosted": the score of trees that learn from labels. No held-out row is scored by trees that saw its
        label; the other maps never see labels. Held-out rows and new rows are both scored by means over sets of trees
        that leave out parts of the rows, so that thresholds mean the same for both. Such a score has one factor, and
        its grid is one point.
        "auto": one of each kind, with the bandwidth 1 and the depth 4 (but as "linear" on more than 5,000 columns, and
        without maps of more than 5,000 features). A single map is named as in `selection_`, for example "kernel 1",
        "kernel alone 0.3" or "trees 4". With a map X may be a frame with categories, dates and missing values
        (docs/tables.md). In a list write "standardized" for "linear". A dict gives each transformer the name that it
        has in `selection_`.
    monotonic_cst : array-like of -1, 0 and 1, dict of column to these, or None, default=None
        The score must rise (1) or fall (-1) with a column, whatever the others are; 0 leaves it free. With feature maps
        ordered categories may have a direction too. Straight lines, curves and boosted trees can obey; other maps are
        left out of a list or "auto", with a warning, and are an error alone (docs/monotone.md).
    positive : bool, default=False
        The score must rise with every column; on the columns as they are, no coefficient is negative.
    bounds : pair, array-like of shape (n_features, 2), dict of column to pair, or None, default=None
        Limits (lower, upper) of coefficients of the columns as they are (``features="linear"``), one pair for all or
        one for each, with 0 between them; None is no end.
    tol : float, default=1e-8
        Relative accuracy of every solution: its gap is at most tol·F(0).
    max_iter : int, default=1000
        Most iterations of the iterative solvers at each point.
    n_jobs : int, default=None
        Number of folds solved, or maps raced, at the same time, in threads; -1 means all cores. None means the setting
        of `joblib.parallel_config`; without one, up to 1,000 features (1,300 of a map), as many as matrix products have
        threads and fit into 320 MB, and 1 for more features. Results differ by rounding at most.
    random_state : int, RandomState or None, default=None
        With a number of folds it shuffles the rows before they are split, with the seed 0 for None. It also draws the
        landmarks of kernel features, is handed to transformers that have no `random_state` of their own, and seeds the
        draws of `corrected_score_` (with None they are the same in each fit).
    verbose : int, default=0
        More than 0 shows which map was compared last, with its score (without maps: which fold is done), and the time
        left, on the standard error stream.

    Attributes
    ----------
    l2_, l1_ : float
        The chosen penalties.
    best_score_ : float
        Mean over the validation folds, at the chosen point, of the measure that chose it. The mean is too high, because
        the point was chosen for it.
    corrected_score_ : float
        The AUC to expect on new rows: the mean AUC at the chosen point, corrected for the choice among all points and
        maps, whatever `scoring` (docs/corrected_auc.md). NaN, with a warning, if no fold holds out two rows of each
        class.
    corrected_interval_ : tuple of two floats
        95 % interval of the AUC that the model has on new rows, around `corrected_score_`.
    l2s_, l1s_ : ndarray
        The grid.
    auc_path_ : ndarray of shape (len(l2s), len(l1s), folds)
        AUC on each validation part, with the weights of its rows if there are any.
    score_path_ : ndarray of the same shape
        The measure that chooses, on each validation part; equal to `auc_path_` where that is the AUC.
    measure_ : str
        The measure that chooses, in words: "AUC", "partial AUC up to 5 % false positives", "average precision", or the
        name of the callable.
    gap_path_ : ndarray of the same shape
        Certificate of each solution: an upper bound on its distance to the least F (NaN where l2 = 0, and for "mcp"
        and "scad").
    converged_path_ : ndarray of bool of the same shape
        Whether that certificate, or the stationarity of "mcp" and "scad", reached `tol`.
    coef_ : ndarray of shape (1, n_features)
        Of the chosen point, fitted on all rows; with a feature map these are coefficients of its features. Likewise
        `objective_`, `gap_`, `n_iter_`, `history_` and `stationarity_`, see `AUCClassifier`.
    features_ : transformer or None
        The chosen map, fitted on all rows; None for the columns as they are, `StackedFeatures` of its members for a
        blend. Of a blend `l2_`, `l1_`, `best_score_`, `auc_path_` and the other paths are those of its best map,
        `objective_` is None, and `gap_` is the largest of its members, None if one of them has no certificate.
    selection_ : dict of lists
        For each candidate its name, number of features, penalties, CV AUC and standard error, whether it is part of the
        model, its weight there, the certificate of its fit on all rows (None without one), and the rows that its
        AUC rests on (`pandas.DataFrame(model.selection_)`): on 15,000 rows or more, more than two maps first race on
        4,000 rows. Where another measure chooses, the column `score` has it, and `standard_error` is that of `score`.
    shape_functions_ : dict of str to Shape
        What each column adds to the score, with a band from the folds, keyed by column, in the order of the columns:
        the least-squares projection of the score on functions of single columns over the training rows, both classes
        weighing the same. Not available after `fit_stream`, nor for more than 1,000 columns as they are.
    interactions_ : dict of (str, str) to float
        Pairs of columns that interact, the strongest first (at most 10), each with its part of the variance of the
        score beyond the curves and the pairs before it.
    interactions_share_ : float
        The part of the variance of the score that all interactions make up.
    pair_effects_ : tuple of PairEffect
        The same pairs with their heat maps, for `vrspam.plotting.plot_interactions`.
    importances_ : dict of str to float
        Spread of each column's part of the score, and of the interactions where the score is not a sum of curves.
    feature_importances_ : ndarray of shape (n_features_in_,)
        The importance of each column, by its curve and its interactions; not negative, adding up to 1 (the convention
        of scikit-learn). `SelectFromModel` needs `importance_getter="feature_importances_"`: otherwise it reads
        `coef_`, which with a feature map has one entry for each feature, not for each column.
    pairs_ : float
        After a fit with strata: the number of pairs inside them, or their weight. `best_score_`, `corrected_score_`,
        its interval and `auc_path_` are then those of these pairs.
    classes_ : ndarray of shape (2,)
    solver_ : {"moments", "products", "newton"}
        See `vrspam.solvers.choose_solver`; "newton" for the squared hinge.
    moments_ : ClassMoments
        Of all rows, when `solver_` is "moments" or "newton"; with a feature map always, but without scatter matrices
        where the features are more than the rows and `solver_` is "products".
    intercept_ : ndarray of shape (1,)
        With calibration it puts the score 0 where the probability is ½, so that `predict` gives the likelier class:
        with few positives that is rarely the positive one (docs/probabilities.md). With ``calibration=None``, and where
        no score is near the probability ½ (more than 50 deviations of the scores away), the score is 0 half-way between
        the class means.
    widening_ : float
        How many times as large standard errors of out-of-fold scores are as those of rows of a test set, because the
        folds share training rows (docs/corrected_auc.md). For a threshold that is promised:
        ``promised_threshold(..., widened=model.widening_)``.
    calibration_ : Sigmoid, Isotonic or None
        The function from scores to probabilities (`slope` and `offset`, or nodes `scores` and `probabilities`). It
        takes scores that are 0 half-way between the class means: ``decision_function(X) - baseline_``.
    baseline_ : float
        The score half-way between the class means: what calibration has added to `intercept_`.
    threshold_ : ChosenThreshold or None
        With `threshold`: rows whose score is at least ``threshold_.threshold`` are `classes_[1]`. `sensitivity`,
        `specificity`, `precision` and `share` (of the rows called) are those of held-out rows.
    out_of_fold_ : HeldOut
        After `fit`: all rows that a fold holds out, in the order of the rows, each scored at the chosen point by the
        model of the other folds, 0 being half-way between the class means of these. Their probabilities are
        ``calibration_(out_of_fold_.scores)``. A row that several folds hold out occurs once for each of them, with
        its weight divided. From a device, these arrays are copied to the host when they are first read.
    held_out_ : HeldOut
        After `fit_stream`: the validation rows that were kept, scored as in `out_of_fold_`; `weights` say how many rows
        each stands for. The calibration is fitted on these rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had string column names.

    See Also
    --------
    vrspam.coef_path : coefficients along a grid from moments alone.
    vrspam.plotting.plot_cv : AUC over the grid with its standard error.
    vrspam.plotting.plot_shapes : the curves of the columns.
    vrspam.plotting.plot_interactions : heat maps of pairs of columns.

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

    _works_on_devices = True
    _auto_has_labelled_trees = True  # whether "auto" compares trees that learn from labels
    _parameter_constraints: dict = {
        "l2s": [parameters.StrOptions({"auto"}), "array-like"],
        "l1s": [parameters.StrOptions({"auto"}), "array-like"],
        "loss": [parameters.StrOptions(set(LOSSES))],
        **base.CHOSEN_PENALTY,
        "max_fpr": [parameters.Interval(Real, 0.0, 1.0, closed="right"), None],
        "scoring": [parameters.StrOptions(SCORINGS), callable],
        "strata_weight": [parameters.StrOptions({"pairs", "strata"})],
        "cv": ["cv_object"],
        "selection": [parameters.StrOptions(set(SELECTION_RULES))],
        "calibration": [parameters.StrOptions(set(METHODS)), None],
        "threshold": [parameters.Interval(Real, None, None, closed="neither"), THRESHOLD_RULE, None],
        "features": [
            parameters.StrOptions(SPELLED_NAMES),
            *map(parameters.Instance, (list, tuple, dict)),
            parameters.HasMethods("fit", "transform"),
        ],
        **LIMITS,
        "tol": base.PENALTY_CONSTRAINTS["tol"],
        "max_iter": base.PENALTY_CONSTRAINTS["max_iter"],
        "n_jobs": [parameters.Instance(Integral), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        l2s="auto",
        l1s=(0.0,),
        *,
        loss="squared",
        penalty="elasticnet",
        gamma=None,
        max_fpr=None,
        scoring="auto",
        strata_weight="pairs",
        cv=5,
        selection="auto",
        calibration="sigmoid",
        threshold=None,
        features="linear",
        monotonic_cst=None,
        positive=False,
        bounds=None,
        tol=1e-8,
        max_iter=1000,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.l2s = l2s
        self.l1s = l1s
        self.loss = loss
        self.penalty = penalty
        self.gamma = gamma
        self.max_fpr = max_fpr
        self.scoring = scoring
        self.strata_weight = strata_weight
        self.cv = cv
        self.selection = selection
        self.calibration = calibration
        self.threshold = threshold
        self.features = features
        self.monotonic_cst = monotonic_cst
        self.positive = positive
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _validate_params(self) -> None:
        parameters.check_parameters(self)
        check_grid(self)

    @property
    def _loss(self) -> LossChoice:  # type: ignore[override]
        """The loss; with the squared one, `max_fpr` concerns the choice alone."""
        loss = LossChoice(self.loss, self.max_fpr)
        return loss if loss.has_part else LossChoice(self.loss)

    @parameters.checks_parameters(skip_nested=False)
    def fit(self, X, y, sample_weight=None, groups=None, strata=None) -> Self:
        """Choose the penalties on the folds and fit them on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two different labels of any type that can be sorted; the last in order is positive.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows in training and in the AUC on validation parts. Folds are drawn without them, but a row of
            weight 0 is no row: it is left out everywhere, in `out_of_fold_` too.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together, such as visits of one patient. A number of folds holds out whole groups; a
            splitter is handed them (`sklearn.model_selection.GroupKFold`). `corrected_score_` and its interval are
            those of rows of new groups.
        strata : array-like of shape (n_samples,), optional
            Queries, matched sets, sites: only pairs of rows of the same stratum count, in training and in all measures.
            Folds hold out whole strata, and whole groups with them; a splitter is handed both as groups. Strata of one
            class are left out, with a warning.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight=sample_weight, groups=groups, strata=strata)

    def _fit(
        self, X, y, *, sample_weight=None, groups=None, strata=None, columns: ColumnsOfFrames = AS_THEY_ARE
    ) -> Self:
        """`fit`; `columns` says how those of a frame are taken."""
        rows = self._validate_rows(X, y, sample_weight, table=not takes_raw_columns(self.features, X))
        classes = self._labels(rows)
        loss = self._loss if strata is None else self._loss_inside(rows, classes, strata)
        run_search(self, rows, classes, loss, groups, columns)
        return self

    @parameters.checks_parameters(skip_nested=False)
    def fit_stream(self, chunks, *, validation_rows: int = 200_000, progress: bool = False) -> Self:
        """Choose the penalties and fit them on rows that come block by block, in memory independent of their number.

        The blocks are read twice: for the moments of each fold, then for the scores of the validation rows at all
        points of the grid. Which fold a row is in follows from its content (`vrspam.HashFolds`), so `cv` must be a
        number of folds or a `HashFolds`; the result is that of `fit` with this splitter. For long streams the AUC is
        measured on a random sample of each class; moments and coefficients always use all rows.

        Parameters
        ----------
        chunks : iterable of (X, y) or (X, y, sample_weight)
            Blocks of rows, dense or sparse, that can be gone through twice: a list, `vrspam.data.read_chunks`.
        validation_rows : int, default=200_000
            Most validation rows of each class. Their scores take up to 32 bytes a row and point of the grid.
        progress : bool, default=False
            Show rows per second and the time left on the standard error stream.

        Returns
        -------
        self
            Unchanged if any block is refused.

        Examples
        --------
        >>> import numpy as np
        >>> from vrspam import AUCClassifierCV, HashFolds
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((1000, 3))
        >>> y = (X[:, 0] + rng.standard_normal(1000) > 1).astype(int)
        >>> blocks = [(X[a : a + 100], y[a : a + 100]) for a in range(0, 1000, 100)]
        >>> streamed, whole = AUCClassifierCV().fit_stream(blocks), AUCClassifierCV(cv=HashFolds(5)).fit(X, y)
        >>> np.allclose(streamed.l2_, whole.l2_), np.allclose(streamed.coef_, whole.coef_)
        (True, True)
        """
        if not (isinstance(self.features, str) and self.features == "linear"):
            raise ValueError("fit_stream has no feature maps: use features='linear'.")
        folds = self._check_blocks(validation_rows)
        blocks = StreamBlocks(self, chunks, progress)
        if blocks.read_once:
            raise ValueError(
                "Cross-validation reads the stream twice: give chunks that can be gone through again (a list, "
                "vrspam.data.read_chunks), not an iterator."
            )
        search_blocks(self, blocks, folds, validation_rows)
        if not blocks.sparse:
            warn_of_raw_columns(self, self.moments_, self.l2_)
        return self

    def _check_blocks(self, validation_rows: int) -> HashFolds:
        """The folds of rows that come in blocks; parameters that need all rows at once are refused."""
        base.refuse_without_rows(self, "Cross-validation of blocks")
        if validation_rows < 1:
            raise ValueError(f"validation_rows must be at least 1, got {validation_rows}.")
        make_scoring(self.scoring, self.max_fpr)  # before anything is read
        return hash_folds(self.cv, self.random_state)
