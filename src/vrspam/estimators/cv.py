"""`AUCClassifierCV`: penalties by cross-validation over a whole grid, for the price of a few fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from vrspam._utils import array_api, parameters
from vrspam._utils.messages import SELECTION_RULES, THRESHOLD_RULES, Parameter, WordedError
from vrspam._utils.progress import StepProgress
from vrspam._utils.validation import Rows, counted_rows
from vrspam._utils.warnings import AllCoefficientsZero, MapsLeftOut, NothingAtTheTop, warn
from vrspam.estimators import base
from vrspam.estimators.base import AUCClassifierBase, names_as_read, warn_of_raw_columns
from vrspam.estimators.explained import ExplainedScores
from vrspam.features import FeatureMap
from vrspam.features.encoders import SharedColumns
from vrspam.features.mapped import SPELLED_NAMES, is_plain, named_maps
from vrspam.inspection import MOST_COLUMNS, Shapes, read_later, read_score
from vrspam.metrics import correction, promises
from vrspam.model_selection.block_source import BlocksInSequence
from vrspam.model_selection.calibration import METHODS, Sigmoid, calibrate, scores_to_expect, signal_kept
from vrspam.model_selection.choose_model import Selected, choose_map, choose_point, choose_point_of_blocks
from vrspam.model_selection.device_folds import DeviceFolds
from vrspam.model_selection.folds import FoldedRows, make_splits, of_counted_rows
from vrspam.model_selection.hashing import HashFolds, hash_folds
from vrspam.model_selection.held_out import HeldOut
from vrspam.model_selection.pairs import ranked_folds, refuse_torn_pairs
from vrspam.model_selection.scoring import ROC_AUC, make_scoring
from vrspam.model_selection.search import GridSearch
from vrspam.model_selection.sources import FoldSource
from vrspam.objective import LOSSES, PenaltyFamily
from vrspam.pairs import TWO_CLASSES, LossChoice, Pairs, Ranked, whole_units
from vrspam.penalties.family import PENALTIES
from vrspam.solvers.limits import LIMITS, directions_as_read, directions_of, names_of
from vrspam.solvers.path import check_grid_axis, warn_if_not_converged
from vrspam.tables import frames
from vrspam.tables.frames import HeldColumns, is_frame, needs_reading
from vrspam.tables.schema import TableSchema

THRESHOLD_RULE = parameters.Rule(
    "a dict of one of recall, precision, alerts and a number in (0, 1], or of cost_ratio and a positive number",
    lambda value: (
        isinstance(value, dict)
        and len(value) == 1
        and all(
            rule in THRESHOLD_RULES[:-1]
            and isinstance(number, Real)
            and 0.0 < float(number) <= (np.finfo(float).max if rule == "cost_ratio" else 1.0)
            for rule, number in value.items()
        )
    ),
)
MOST_DEVIATIONS = 50.0  # of the scores, from their mean to the score of probability ½; beyond that the score 0 stays
KEPT_COEFS_BYTES = 1 << 27  # coefficients of all folds and points are kept up to this size


def take_rows(rows: Rows, index: np.ndarray) -> Rows:
    """Some of the rows, where they are."""

    def take(values: Any) -> Any:
        xp = array_api.device_namespace(values)
        if xp is None:
            return frames.rows_of(values, index)
        return xp.take(values, array_api.beside(index, values), axis=0)

    weights = None if rows.weights is None else take(rows.weights)
    return Rows(take(rows.X), take(rows.y), weights)


def half_is_near(calibration: Sigmoid, held_out: HeldOut) -> bool:
    """Whether the score of probability ½ is among the scores, or at most 50 of their deviations from their mean.

    Scores that say next to nothing have a slope of next to nothing, and ½ lies thousands of deviations away.
    """
    if calibration.half is None:
        return False
    scores = held_out.scores
    xp = array_api.device_namespace(scores) or np
    weights = xp.ones_like(scores) if held_out.weights is None else held_out.weights
    total = float(xp.sum(weights))
    mean = float(xp.sum(scores * weights)) / total
    deviation = np.sqrt(float(xp.sum((scores - mean) ** 2 * weights)) / total)
    tied = deviation <= 1e-12 * float(xp.max(xp.abs(scores)))
    return tied or abs(calibration.half - mean) <= MOST_DEVIATIONS * deviation


@base.share_estimator_texts
class AUCClassifierCV(ExplainedScores, AUCClassifierBase):
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
    {strata_weight}
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
        See `vrspam.estimators.exact.choose_solver`; "newton" for the squared hinge.
    moments_ : ClassMoments
        Of all rows, when `solver_` is "moments" or "newton"; with a feature map always, but without scatter matrices
        where the features are more than the rows and `solver_` is "products".
    intercept_ : ndarray of shape (1,)
        With calibration it puts the score 0 where the probability is ½, so that `predict` gives the likelier class:
        with few positives that is rarely the positive one (docs/probabilities.md). With ``calibration=None``, and where
        no score is near the probability ½ (more than 50 deviations of the scores away), the score is 0 half-way between
        the class means.
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
    {n_features_in_, feature_names_in_}

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
    _reads_columns = True  # whether text in a frame is read as numbers and dates
    _trees_in_auto = True  # whether "auto" has trees that learn from labels
    _in_words: Callable[[str], str] = str  # what `verbose` says of a model that was compared
    _orders: Mapping[str, Sequence[str]] = {}  # the categories of some columns in their order, added to ordered types
    _out_of_fold_there: HeldOut
    _parameter_constraints: dict = {
        "l2s": [parameters.StrOptions({"auto"}), "array-like"],
        "l1s": [parameters.StrOptions({"auto"}), "array-like"],
        "loss": [parameters.StrOptions(set(LOSSES))],
        **base.CHOSEN_PENALTY,
        "max_fpr": [parameters.Interval(Real, 0.0, 1.0, closed="right"), None],
        "scoring": [parameters.StrOptions({"auto", "roc_auc", "partial_roc_auc", "average_precision"}), callable],
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

    @cached_property
    def out_of_fold_(self) -> HeldOut:
        """The held-out rows at the chosen point; those on a device come to the host when they are first asked for."""
        if "_out_of_fold_there" not in self.__dict__:
            raise AttributeError("out_of_fold_ is there after fit.")
        return self._out_of_fold_there.on_host()

    def _validate_params(self) -> None:
        parameters.check_parameters(self)
        l1s = np.inf if isinstance(self.l1s, str) else check_grid_axis("l1s", self.l1s)
        PenaltyFamily(self.penalty, self.gamma).check(l1s)

    @property
    def _loss(self) -> LossChoice:  # type: ignore[override]
        """The loss; with the squared one, `max_fpr` concerns the choice alone."""
        loss = LossChoice(self.loss, self.max_fpr)
        return loss if loss.has_part else LossChoice(self.loss)  # else max_fpr concerns the choice of a model alone

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
        plain = is_plain(self.features, X) and not needs_reading(X)
        rows = self._validate_rows(X, y, sample_weight, table=not plain)
        classes = self._labels(rows)
        loss = self._loss if strata is None else self._loss_inside(rows, classes, strata)
        if plain and groups is None and loss.pairs.by_class and array_api.device_namespace(rows.X) is not None:
            counted = counted_rows(rows.weights)
            some = rows if counted is None else take_rows(rows, counted)
            folds = DeviceFolds.of(self.cv, some, classes, self.random_state)
            if folds is not None:
                self._fit_columns(folds)
                if counted is not None:
                    self.out_of_fold_ = self._out_of_fold_there.on_host()._replace(places=counted)
                return self
        return self._fit_folded(rows, classes, loss, groups, plain)

    def _fit_folded(
        self, rows: Rows, classes: np.ndarray, loss: LossChoice, groups: Any, plain: bool, splits: Any = None
    ) -> Self:
        """`fit` of validated rows; strata stay whole in the folds, and rows of weight 0 are left out."""
        counted = counted_rows(rows.weights)
        if counted is not None:
            return self._fit_counted(rows, counted, classes, loss, groups, plain)
        pairs, whole, cv = loss.pairs, groups, self.cv if splits is None else splits
        if cv is None:
            cv = 5
        if not pairs.by_class and make_scoring(self.scoring, self.max_fpr) is not ROC_AUC:
            what = f"max_fpr={self.max_fpr!r}" if self.scoring == "auto" else f"scoring={self.scoring!r}"
            raise ValueError(
                f"{what} looks at all rows, but with strata only some pairs of rows count: use scoring='auto' without "
                "max_fpr, the AUC of these pairs."
            )
        if pairs.units is not None:
            whole = whole_units(pairs.units, groups)
            many = int(whole.max()) + 1 >= correction.MANY_GROUPS  # else single rows vary inside fixed strata
            groups = whole if many else groups
        if isinstance(pairs, Ranked) and whole is None and isinstance(cv, Integral) and int(cv) > 1:
            splits = ranked_folds(pairs, int(cv), 0 if self.random_state is None else self.random_state)
        else:
            splits = make_splits(cv, rows, classes, whole, self.random_state, not pairs.has_labels)
        if isinstance(pairs, Ranked):
            refuse_torn_pairs(pairs, splits, rows.weights)
        positive = array_api.on_host(rows.y) == classes[1]
        folds = FoldedRows(rows, splits, classes, positive, groups, pairs)
        self._fit_columns(folds) if plain else self._fit_maps(folds)
        if isinstance(pairs, Ranked):
            self.pairs_ = float(pairs.pairs_of_strata(rows.weights).sum())
            self.measure_ = pairs.measure_name
        return self

    def _fit_counted(
        self, rows: Rows, counted: np.ndarray, classes: np.ndarray, loss: LossChoice, groups: Any, plain: bool
    ) -> Self:
        """`_fit_folded` of the rows of positive weight: any other row is no row."""
        n_rows, pairs, splits = rows.y.size, loss.pairs, None
        if self.cv is not None and not isinstance(self.cv, Integral):  # folds of all rows
            whole = groups if pairs.units is None else whole_units(pairs.units, groups)
            splits = make_splits(self.cv, rows, classes, whole, self.random_state, not pairs.has_labels)
            splits = of_counted_rows(splits, counted, n_rows)

        some = take_rows(rows, counted)
        if isinstance(pairs, Ranked):
            pairs = pairs.take(counted)
            if pairs.stratum is not None:  # numbers without gaps
                pairs = replace(pairs, stratum=np.unique(pairs.stratum, return_inverse=True)[1])
            if not pairs.has_labels:
                some = some._replace(y=pairs.upper)
            loss = loss.on_pairs(pairs)
        if groups is not None:
            groups = correction.group_numbers(groups, n_rows)[counted]

        self._fit_folded(some, classes, loss, groups, plain, splits)
        held_out = self.out_of_fold_
        self.out_of_fold_ = held_out._replace(places=counted[held_out.places])
        return self

    def _fit_columns(self, folds: FoldedRows | DeviceFolds) -> Self:
        """`fit` for the columns as they are."""
        X, search = folds.rows.X, self._search({}, getattr(folds, "pairs", TWO_CLASSES))
        d = X.shape[1]  # bands of curves need the fits on the folds, and so do out-of-fold scores
        few = d <= MOST_COLUMNS or 8 * d * folds.n_folds * search.n_points <= KEPT_COEFS_BYTES
        with StepProgress("choosing the penalty") if self.verbose else nullcontext() as progress:
            selected = choose_point(folds, search, few or isinstance(folds, DeviceFolds), progress)
        self._store_search(selected, self._read(selected, folds, search.seed, None, {}), like=X, _table_schema=None)
        if not sparse.issparse(X):
            warn_of_raw_columns(self, selected.fit.moments, selected.fit.l2)
        return self

    def _fit_maps(self, folds: FoldedRows) -> Self:
        """`fit` with feature maps."""
        maps = named_maps(self.features, check_random_state(self.random_state).randint(2**31))
        if self.features == "auto" and not self._trees_in_auto:
            maps = {name: features for name, features in maps.items() if not features.supervised}
        rows, search, reading, shared = folds.rows, self._search(maps, folds.pairs), None, SharedColumns()
        if is_frame(rows.X) and all(isinstance(features, FeatureMap) for features in maps.values()):
            if self._reads_columns:
                reading = TableSchema.learn(rows.X, means=False)
                rows = rows._replace(X=reading.read(rows.X)[0])
            rows = rows._replace(X=HeldColumns.of(rows.X, orders=self._orders))
        if self._limits is not None:
            maps = self._obeying(maps, reading)
        folds = folds._replace(rows=rows)
        with StepProgress("comparing models", self._in_words) if self.verbose else nullcontext() as progress:
            alone = self.selection != "blend"  # selection="blend" always blends
            selected = choose_map(maps, folds, search, alone, progress, shared)
        features = selected.fit.features
        if reading and (reading.readings or reading.identifiers) and isinstance(features, FeatureMap):
            features._read_columns = reading.source
        shapes = self._read(selected, folds, search.seed, reading, shared)
        told = getattr(next(iter(maps.values())), "monotonic_cst", None)
        if told is not None and isinstance(shapes, Shapes):
            levels = [frames.levels(rows.X, j) if is_frame(rows.X) else () for j in range(len(told))]
            shapes = shapes.told(told, levels, rows.X, folds.positive, rows.weights)
        if reading is not None and isinstance(shapes, Shapes):
            shapes = shapes.dated(reading.made())
        return self._store_search(selected, shapes, like=rows.X, _table_schema=reading)

    def _obeying(self, maps: dict[str, Any], reading: TableSchema | None) -> dict[str, Any]:
        """The maps that can obey the directions asked for, with these set; all maps if there are no directions."""
        cst = Parameter("monotonic_cst")
        if self.bounds is not None:
            words = "{bounds} are limits of the coefficients of columns: use {linear}, or {cst} for curves and trees."
            raise WordedError(words, bounds=Parameter("bounds"), linear=Parameter("features", "linear"), cst=cst)
        if (signs := directions_of(self, names_of(self), self.n_features_in_)) is None:
            return maps
        if reading is not None:
            signs = directions_as_read(signs, reading)
        able = {name: new for name, new in maps.items() if "monotonic_cst" in getattr(new, "get_params", dict)()}
        others = tuple(dict.fromkeys(name.partition(" ")[0] for name in maps if name not in able))
        if not able:
            words = "{maps} cannot keep a score rising or falling with a column: use {additive}, 'standardized', "
            words += "'boosted' or 'auto', or leave {cst} out."
            raise WordedError(words, maps=", ".join(others), additive=Parameter("features", "additive"), cst=cst)
        curved = any(new.kind != "standardized" for new in able.values())
        only_l2 = PENALTIES[self.penalty].ridge_without_l1 and np.array_equal(np.atleast_1d(self.l1s), [0.0])
        if curved and not only_l2:
            raise WordedError(
                "Curves that must rise or fall allow only l2: leave {l1s} and {penalty} out, or use {lines}.",
                l1s=Parameter("l1s"),
                penalty=Parameter("penalty"),
                lines=Parameter("features", "standardized"),
            )
        if others:
            warn(MapsLeftOut(others))
        return {name: new.set_params(monotonic_cst=signs.tolist()) for name, new in able.items()}

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
        blocks = base.RowBlocks(self, chunks, progress)
        if blocks.one_shot:
            raise ValueError(
                "Cross-validation reads the stream twice: give chunks that can be gone through again (a list, "
                "vrspam.data.read_chunks), not an iterator."
            )
        self._fit_folds(BlocksInSequence(blocks, folds, validation_rows), blocks.feature_names)
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

    def _fit_folds(self, source: FoldSource, names: np.ndarray | None = None, correct: bool = True) -> Self:
        """Choose the penalties on folds of blocks, and fit them on the moments of all rows."""
        self._store_columns(source.total.means.shape[1], names)
        selected = choose_point_of_blocks(source, self._search({}), correct)
        why = "the rows came in blocks and were not kept; fit reads curves from rows in memory"
        models = selected.fit.models
        more = {"held_out_": selected.held_out, "_fold_coefs": None if models is None else models.coefs}
        return self._store_search(selected, why, _table_schema=None, **more)

    def _search(self, maps: Mapping[str, Any], pairs: Pairs = TWO_CLASSES) -> GridSearch:
        """The grid, how it is solved, and how the point, and the map, are chosen."""
        rule = self.selection
        if rule in ("auto", "blend"):
            foreign = [name for name, features in maps.items() if not isinstance(features, FeatureMap)]
            if rule == "blend" and foreign:
                raise ValueError(
                    f"A blend is stored as one map of this package, which cannot hold {foreign[0]}: use "
                    "selection='best', or maps of vrspam.features."
                )
            rule = "best" if len(maps) < 2 or foreign else "blend"
        # The seed of the correction is the same in each fit if random_state is None.
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))
        limits = None if maps else self._limits  # maps have their own
        scoring, family = make_scoring(self.scoring, self.max_fpr), PenaltyFamily(self.penalty, self.gamma, limits)
        loss = self._loss.on_pairs(pairs)
        solving = (self.tol, self.max_iter, self.n_jobs, family, scoring, loss)
        return GridSearch(self.l2s, self.l1s, *solving, rule=rule, seed=seed)

    def _read(
        self,
        selected: Selected,
        folds: FoldedRows | DeviceFolds,
        seed: int,
        reading: TableSchema | None,
        shared: SharedColumns,
    ) -> Shapes | str | Callable[[], Shapes]:
        """Read the score by column, or say why that is impossible; for columns as they are, return a function."""
        fit, (X, _, weights) = selected.fit, folds.rows
        names = names_as_read(self, reading)
        w, left_out = fit.solution.w, []
        coefs = w[:, np.newaxis] if fit.models is None else np.vstack([w, fit.models.coefs]).T
        if isinstance(folds, FoldedRows):
            for split in folds.splits:
                left_out.append(np.ones(X.shape[0], dtype=bool))
                left_out[-1][split.train] = False
            weights = None if weights is None else array_api.on_host(weights)
            share = float(np.mean([left.mean() for left in left_out]))
        else:
            share = 1.0 / folds.n_folds
        if fit.features is None:
            signs = None if self._limits is None else directions_of(self, names_of(self), w.size)
            signs = np.zeros(w.size) if signs is None else signs
            return read_later(coefs, fit.moments, share, X, folds.positive, weights, names, seed, signs.tolist())
        return read_score(fit.features, coefs, fit.moments, left_out, X, folds.positive, weights, names, seed, shared)

    def _store_search(
        self, selected: Selected, reading: Shapes | str | Callable[[], Shapes], like: Any = None, **more: Any
    ) -> Self:
        """Store the results and the fit on all rows; warn if all coefficients are 0, or if the grid is too short."""
        found, fit, held_out, corrected = selected
        scores, point, moments = found.chosen.scores, found.chosen.choice, fit.moments
        calibration = None
        if self.calibration is not None:  # of scores of rows by models that had not seen them
            auc, optimism = float(scores.auc[point.index].mean()), 0.0
            several = len(found.candidates) + len(found.others) > 1
            if several and corrected is not None and not np.isnan(corrected.auc):
                auc, optimism = corrected.auc, corrected.optimism
            kept = signal_kept(auc, optimism, held_out.positive, held_out.weights)
            expected = scores_to_expect(held_out.scores, held_out.positive, held_out.weights, kept, fit.lift)
            calibration = calibrate(expected, held_out.positive, self.calibration, held_out.weights)
        if moments.has_scatter or fit.features is not None:
            more["moments_"] = moments
        if corrected is not None:
            more |= {"corrected_score_": corrected.auc, "corrected_interval_": (corrected.low, corrected.high)}
        if "held_out_" not in more:
            more["out_of_fold_" if isinstance(held_out.scores, np.ndarray) else "_out_of_fold_there"] = held_out
        more["_read_later" if callable(reading) else "_reading"] = reading
        more |= {"l1_": point.values["l1"], "best_score_": float(point.mean[point.index]), "solver_": fit.solver}
        more |= {"l2s_": scores.grid["l2"], "l1s_": scores.grid["l1"], "measure_": scores.scoring.name}
        more |= {"auc_path_": scores.auc, "score_path_": scores.score, "gap_path_": scores.gaps}
        more |= {"converged_path_": scores.converged, "features_": fit.features, "selection_": found.table()}
        more["_centre"] = moments.means.mean(axis=0)
        self._store(fit.solution, moments.classes, moments.means, fit.l2, like=like, **more)
        if isinstance(fit.features, FeatureMap):  # the parts of the score are made once: rows are scored by them
            self._kept_parts = self.coef_, fit.features.parts(self.coef_[0])
        if isinstance(calibration, Sigmoid) and not half_is_near(calibration, held_out):
            calibration = calibration.without_half()
        half = None if calibration is None else calibration.half
        self.calibration_, self.baseline_ = calibration, 0.0 if half is None else -half
        self.intercept_ = self.intercept_ + self.baseline_
        self.threshold_ = None
        if self.threshold is not None:
            rules = self.threshold if isinstance(self.threshold, dict) else {"threshold": self.threshold}
            ((rule, asked),), rows = rules.items(), held_out.on_host()
            weights = rows.weights if np.ptp(rows.weights) > 0.0 else None
            of_rows = rows.scores + self.baseline_
            self.threshold_ = promises.choose_threshold(rows.positive, of_rows, rule, float(asked), weights)
        by_part = self.scoring in ("auto", "partial_roc_auc")
        if self.max_fpr is not None and not by_part and self._loss.max_fpr is None:
            warn(
                f"max_fpr={self.max_fpr:g} has no effect, because scoring chooses by {self.measure_}: leave max_fpr "
                "out, or choose by the partial AUC (scoring='auto')."
            )
        if fit.solution.w.any():
            point.warn()
        else:
            part = self._loss.max_fpr if self._loss.is_partial and self.l1_ == 0.0 else None
            warn(AllCoefficientsZero(self.l1_) if part is None else NothingAtTheTop(part))
        own = not isinstance(self.l2s, str) or self.l1s_.any()
        if fit.features is None and own:  # of a map, or of the default grid, only the chosen point must converge
            warn_if_not_converged(scores.converged, PenaltyFamily(self.penalty, self.gamma))
        return self
