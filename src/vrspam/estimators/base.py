"""What all estimators share: validation of rows and of blocks of rows, labels, scoring, and how a fit is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from vrspam import metrics
from vrspam._utils import array_api, validation
from vrspam._utils.docstrings import share_texts
from vrspam._utils.messages import Parameter, WordedError
from vrspam._utils.parameters import Interval, StrOptions, check_parameters, links_to_documentation
from vrspam._utils.progress import Progress
from vrspam._utils.validation import Rows, error_in_block
from vrspam._utils.warnings import NotConverged, RawColumns, ScoredAcrossStrata, StrataWithoutPairs, warn
from vrspam.model.scorer import scorer_of_estimator
from vrspam.model_selection.block_source import add_block
from vrspam.moments import ClassMoments, PairMoments, PairSums
from vrspam.moments.class_moments import spread
from vrspam.objective import WithinProducts, multiply
from vrspam.pairs import SQUARED, LossChoice, Ranked
from vrspam.penalties.family import PENALTIES, register_penalty, registered
from vrspam.solvers import MOMENTS_MAX_FEATURES_DENSE
from vrspam.solvers.base import Solution
from vrspam.solvers.limits import limits_of
from vrspam.tables.frames import check_frame, is_frame
from vrspam.tables.schema import TableSchema


def validated_rows(estimator: AUCClassifierBase, number: int, X, y, weights=None, **options: Any) -> Rows | None:
    """One block, validated as the estimator does; None if it has no rows with weight. An error names the block."""
    if y is None:
        raise ValueError(f"Block {number} has no labels: name the label column when the file is opened.")
    if np.shape(y)[:1] == (0,) or (weights is not None and not np.any(array_api.on_host(weights))):
        return None  # rows of weight zero count for nothing
    try:
        return estimator._validate_rows(X, y, weights, **options)
    except ValueError as error:
        raise error_in_block(number, error) from error


class RowBlocks:
    """The blocks of a stream as rows, validated as `estimator` does; they can be iterated as often as the stream."""

    def __init__(
        self, estimator: AUCClassifierBase, chunks: Iterable, progress: bool = False, takes_strata: bool = False
    ):
        if not isinstance(chunks, Iterable):
            raise ValueError(f"chunks must be an iterable of (X, y) blocks, got {type(chunks).__name__}.")
        self.chunks, self.progress, self.takes_strata = chunks, progress, takes_strata
        self.one_shot = iter(chunks) is chunks  # whether the stream can be read only once
        self._validator = clone(estimator)
        self.n_features: int | None = None
        self.sparse = False  # whether any block is sparse
        self.number = 0  # of the block that was read last, and its strata
        self.strata: np.ndarray | None = None
        self._said: set[Any] = set()  # columns that a warning has named

    def __iter__(self) -> Iterator[Rows]:
        done = 0
        with Progress("fitting", getattr(self.chunks, "n_rows", None), "rows", self.progress) as bar:
            for number, chunk in enumerate(self.chunks):
                self.number = number
                if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3, 4):
                    raise ValueError(
                        f"Block {number} must be a tuple (X, y), (X, y, sample_weight) or (X, y, sample_weight, "
                        "strata)."
                    )
                if len(chunk) == 4 and not self.takes_strata:
                    raise ValueError(
                        f"Block {number} has strata, which only AUCClassifier.fit_stream takes from a stream: "
                        f"{type(self._validator).__name__}.fit takes them with all rows in memory."
                    )
                self.strata = None if len(chunk) < 4 else np.asarray(chunk[3])
                if self.strata is not None and self.strata.shape != np.shape(chunk[1])[:1]:
                    raise ValueError(
                        f"Block {number}: strata has shape {self.strata.shape}; it needs one entry for each row."
                    )
                new = self.n_features is None
                rows = validated_rows(self._validator, number, *chunk[:3], reset=new, said=self._said)
                if rows is not None:
                    self.n_features, self.sparse = rows.X.shape[1], self.sparse or sparse.issparse(rows.X)
                    yield rows
                    done += rows.X.shape[0]
                    bar.update(done)
        if self.n_features is None:
            raise ValueError("There are no rows: chunks yielded no block with rows.")

    @property
    def feature_names(self) -> np.ndarray | None:
        """The names of the columns, if the blocks are frames."""
        return getattr(self._validator, "feature_names_in_", None)

    def moments(self, most_once: int) -> PairSums:
        """Moments of all rows, in one pass, with scatter matrices up to 5,000 features.

        Those of strata, and of a stream that can be read only once, always have matrices, of at most `most_once`
        features.
        """
        moments: ClassMoments | None = None
        inside, held = PairsOfStrata(None, frozenset(), 0, 0), None
        same = getattr(self._validator, "strata_weight", "pairs") == "strata"
        for rows in self:
            if (held if self.strata is None else moments) is not None:
                raise ValueError(f"Block {self.number}: give either all blocks their strata, or none.")
            d = rows.X.shape[1]
            if d > most_once and (self.one_shot or self.strata is not None):
                what, way = "has strata", "use fit with all rows in memory"
                if self.strata is None:
                    what = "can be read only once"
                    way = "give chunks that can be gone through again (a list, vrspam.data.read_chunks)"
                raise ValueError(f"A stream that {what} needs two {d}×{d} matrices ({16 * d * d / 1e9:.0f} GB): {way}.")
            if self.strata is not None:
                done, held = whole_strata(held, rows, self.strata)
                inside = inside.with_block(self.number, *done, same)
                continue
            if moments is None:
                moments = ClassMoments(d, scatter=self.one_shot or d <= MOMENTS_MAX_FEATURES_DENSE)
            add_block(moments, rows, self.number)
        if held is not None:
            return inside.with_block(self.number, *held, same).checked()
        assert moments is not None
        return moments


def whole_strata(
    held: tuple[Rows, np.ndarray] | None, rows: Rows, strata: np.ndarray
) -> tuple[tuple[Rows, np.ndarray], tuple[Rows, np.ndarray]]:
    """Split `held` and new rows: those of strata that have ended, and those of the last stratum, which may go on."""
    if held is not None:
        (X, y, weights), names = held
        both, mixed = (X, rows.X), sparse.issparse(X) or sparse.issparse(rows.X)
        joined = sparse.vstack(list(map(sparse.csr_array, both)), format="csr") if mixed else np.concatenate(both)
        if weights is not None or rows.weights is not None:  # rows without a weight count once
            each = zip((weights, rows.weights), (y, rows.y), strict=True)
            weights = np.concatenate([np.ones(np.shape(of)) if given is None else given for given, of in each])
        rows, strata = Rows(joined, np.concatenate([y, rows.y]), weights), np.concatenate([names, strata])
    ended = strata != strata[-1]
    done, last = (
        (Rows(rows.X[some], rows.y[some], None if rows.weights is None else rows.weights[some]), strata[some])
        for some in (ended, ~ended)
    )
    return done, last


class PairsOfStrata(NamedTuple):
    """Sums over pairs inside whole strata, the strata's names, and the numbers of strata, and rows, without pairs."""

    moments: PairMoments | None
    names: frozenset
    without: int
    rows: int

    @classmethod
    def of(cls, rows: Rows, strata: Any, same: bool) -> PairsOfStrata:
        """The sums of a block that holds all rows of its strata."""
        numbers = validation.numbers_of(strata, rows.X.shape[0], "strata", "stratum")
        labels, rank = np.unique(array_api.on_host(rows.y), return_inverse=True)
        pairs = Ranked(rank.astype(np.float64), np.ones(rank.size, dtype=bool), numbers, same)
        without = np.flatnonzero(pairs.pairs_of_strata(rows.weights) == 0.0)
        moments = PairMoments.of_pairs(pairs, rows.X, rows.weights, classes=labels)
        lost = int(np.isin(numbers, without).sum())
        return cls(moments, frozenset(np.asarray(strata).tolist()), without.size, lost)

    def with_block(self, number: int, rows: Rows, strata: np.ndarray, same: bool) -> PairsOfStrata:
        """The sum with a block of whole strata; an error names the block."""
        try:
            return self + self.of(rows, strata, same) if strata.size else self
        except ValueError as error:
            raise error_in_block(number, error) from error

    def __add__(self, other: PairsOfStrata) -> PairsOfStrata:  # type: ignore[override]
        """The sum; an error if a stratum is in both."""
        if both := self.names & other.names:
            raise ValueError(f"Rows of the stratum {next(iter(both))!r} lie apart: sort the rows by their strata.")
        if self.moments is None or other.moments is None:
            return other if self.moments is None else self
        counts = self.without + other.without, self.rows + other.rows
        return PairsOfStrata(self.moments + other.moments, self.names | other.names, *counts)

    def checked(self) -> PairMoments:
        """The sums; an error if there is no pair, a warning if strata have none."""
        if self.moments is None or not self.moments.complete:
            raise ValueError("No two rows can be compared: no stratum has rows of both classes.")
        if self.without:
            warn(StrataWithoutPairs(self.without, len(self.names), self.rows))
        return self.moments


class BlockProducts:
    """Σ as a sum over the blocks of a stream: each multiplication reads the stream once."""

    def __init__(self, blocks: RowBlocks, moments: PairSums):
        self.blocks, self.moments = blocks, moments

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        return self.product_and_square(w)[0]

    def product_and_square(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Σw, and wᵀΣw as the sum of the squares of the scores."""
        classes, means, sizes = self.moments.classes, self.moments.means, self.moments.weights
        total, squares = np.zeros_like(w), 0.0
        for X, y, weights in self.blocks:
            product, square = WithinProducts(X, y == classes[1], weights, means, sizes).product_and_square(w)
            total += product
            squares += square
        return total, squares


PENALTY_CONSTRAINTS: dict = {
    "l2": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    "l1": [Interval(Real, 0, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
}
CHOSEN_PENALTY: dict = {
    "penalty": [PENALTIES],
    "gamma": [None, Interval(Real, 0, None, closed="neither")],
}
share_estimator_texts = share_texts("""
X : {array-like, sparse matrix} of shape (n_samples, n_features)
y : array-like of shape (n_samples,)
sample_weight : array-like of shape (n_samples,), optional
monotonic_cst : array-like of -1, 0 and 1, dict of column to these, or None, default=None
    The score must rise (1) or fall (-1) with a column, whatever the others are; 0 leaves it free. For a linear
    score this is the sign of a coefficient (docs/monotone.md).
positive : bool, default=False
    All coefficients are at least 0, as in scikit-learn's `Lasso`.
bounds : pair, array-like of shape (n_features, 2), dict of column to pair, or None, default=None
    Limits (lower, upper) of coefficients, one pair for all or one for each, with 0 between them; None is no end.
strata_weight : {"pairs", "strata"}, default="pairs"
    With `strata` in `fit` and `score`: with "pairs" all pairs inside strata weigh the same, with "strata" all strata.
coef_ : ndarray of shape (1, n_features)
intercept_ : ndarray of shape (1,)
    Puts the score 0 half-way between the class means; the AUC does not depend on it.
classes_ : ndarray of shape (2,)
    The labels; the larger one is ranked above.
l2_ : float
    The value of l2 that was used.
pairs_ : float | The number of pairs that can be compared; with weights the sum of c_i c_j.
higher_ : {"event", "y"} | What ranks higher: an earlier event, or a larger y.
n_features_in_ : int
feature_names_in_ : ndarray of shape (n_features_in_,)
    Only if X had string column names.
""")
MAPS_ON_HOST = "Feature maps compute on the host: give them NumPy arrays, or use features='linear'."


def refuse_without_rows(estimator: Any, method: str) -> None:
    """Refuse a loss that needs all rows in memory where a method keeps only sums of them."""
    if LossChoice(estimator.loss).needs_rows:
        raise WordedError(
            "{method} keeps sums of the rows, and {loss} needs the rows themselves, sorted by their scores: use fit "
            "with all rows in memory, or {squared}.",
            method=method,
            loss=Parameter("loss", estimator.loss),
            squared=Parameter("loss", "squared"),
        )


def generator(random_state) -> np.random.Generator:
    """A NumPy generator for scikit-learn's `random_state`."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))


@share_estimator_texts
@links_to_documentation
class AUCClassifierBase(ClassifierMixin, BaseEstimator):
    """Base class of all estimators: scores are linear, and `score` is the area under the ROC curve."""

    _parameter_constraints: dict = {}
    _works_on_devices = False  # whether `fit` takes arrays that lie on a device (see `vrspam._utils.array_api`)
    coef_: np.ndarray
    intercept_: np.ndarray
    classes_: np.ndarray
    l2: float | str
    _loss = SQUARED

    _validate_params = check_parameters

    def __getstate__(self) -> dict[str, Any]:
        """With the class of a registered penalty, so that a worker, or a later session, knows the name too."""
        state = super().__getstate__()
        kind = registered(getattr(self, "penalty", ""))
        return state if kind is None else {**state, "_registered_penalty": kind}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kind = state.pop("_registered_penalty", None)
        if kind is not None:
            register_penalty(state["penalty"])(kind)
        super().__setstate__(state)

    @property
    def _limits(self) -> Callable[[int], Any] | None:
        """A function from the number of columns to the limits of their coefficients; None if there are no limits."""
        asked = self.monotonic_cst is not None or self.positive or self.bounds is not None
        return partial(limits_of, self) if asked else None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        features = getattr(self, "features", "linear")
        tags.input_tags.allow_nan = not (isinstance(features, str) and features == "linear")
        on_devices = self._works_on_devices and not self._loss.needs_rows
        tags.array_api_support = on_devices and not tags.input_tags.allow_nan
        return tags

    def _validate_rows(
        self,
        X,
        y,
        sample_weight,
        *,
        reset: bool = True,
        order: str | None = None,
        table: bool = False,
        said: set | None = None,
    ) -> Rows:
        """Check X, y and the weights; with `table`, for a feature map, X may be a frame and have missing values."""
        validation.refuse_same_names(X)
        validation.check_columns(X, said)
        if array_api.device_namespace(X) is not None:
            if table:
                raise ValueError(MAPS_ON_HOST)
            if self._loss.needs_rows:
                raise WordedError(
                    "{loss} sorts scores on the host: give it NumPy arrays, or use {squared}, which works where the "
                    "data lies.",
                    loss=Parameter("loss", self._loss.name),
                    squared=Parameter("loss", "squared"),
                )
            if not self._works_on_devices:
                raise ValueError(
                    f"{type(self).__name__} computes on the host: give it NumPy arrays, or use AUCClassifier, which "
                    "works where the data lies."
                )
            rows = Rows(*array_api.checked_rows(X, y, sample_weight))
            if rows.X.shape[0] == 0:
                raise ValueError(f"Found array with 0 sample(s) (shape={tuple(rows.X.shape)}) while 1 is required.")
            classes = array_api.labels_of(rows.y)
            if classes.dtype.kind not in "biu":  # whole numbers are labels
                check_classification_targets(classes)
            validate_data(self, rows.X, reset=reset, skip_check_array=True)
            return rows
        kind = getattr(getattr(y, "dtype", None), "kind", "O")
        if y is not None and kind not in "biufSU":  # scikit-learn checks these
            labels = np.asarray(y, dtype=object).ravel().tolist()
            if any(label is None or type(label).__name__ == "NAType" or label != label for label in labels):
                raise ValueError("Input y contains NaN or None: leave out the rows without a label.")
            if len({isinstance(label, str) for label in labels}) > 1:
                raise ValueError("y mixes text with other labels: make all of them text, or all numbers.")
        if table and is_frame(X):
            check_frame(X)
            X, y = validate_data(self, X, y, skip_check_array=True)
            check_consistent_length(X, y)
        else:
            finite: Any = "allow-nan" if table else True
            checks: dict[str, Any] = {"accept_sparse": "csr", "order": order, "ensure_all_finite": finite}
            checks["multi_output"] = True  # y is checked below: here it must not be turned into numbers
            with validation.named_columns(X):
                X, y = validate_data(self, X, y, reset=reset, dtype=[np.float64, np.float32], **checks)
            validation.refuse_huge_columns(X, getattr(self, "feature_names_in_", None))
        y = column_or_1d(y, warn=True)
        validation.check_labels(y)
        if sample_weight is not None:
            sample_weight = validation.check_weights(sample_weight, X.shape[0])
        return Rows(X, y, sample_weight)

    def _labels(self, rows: Rows, several: bool = False) -> np.ndarray:
        """The labels of a training set that have rows with weight, sorted: two, or more where `several` are allowed."""
        labels = array_api.labels_of(rows.y)
        if labels.size > 2 and not several:  # targets other than class labels were refused before
            on_device = array_api.device_namespace(rows.y) is not None
            kind = type_of_target(labels if on_device else rows.y, input_name="y", raise_unknown=True)
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}. For several classes use "
                "vrspam.OneVsRestAUC, or wrap the estimator: "
                f"sklearn.multiclass.OneVsRestClassifier({type(self).__name__}())."
            )
        if rows.weights is not None:
            labels = array_api.labels_of(rows.y, rows.weights)
        if labels.size < 2:
            raise ValueError(
                f"AUC needs two classes, but y holds only one class"
                f"{' with positive weight' if rows.weights is not None else ''}: {labels.tolist()}."
            )
        return labels

    def _loss_of_pairs(self, rows: Rows, pairs: Ranked) -> LossChoice:
        """The loss on the pairs that count; one warning if strata have none."""
        if array_api.device_namespace(rows.X) is not None:
            raise ValueError("Pairs inside strata are sorted on the host: give NumPy arrays.")
        loss = self._loss.on_pairs(pairs)
        weights = None if rows.weights is None else array_api.on_host(rows.weights)
        inside = pairs.pairs_of_strata(weights)
        if not inside.any():
            raise ValueError(
                f"No two rows can be compared (n_samples={rows.X.shape[0]}): a pair needs two rows"
                f"{'' if pairs.stratum is None else ' of one stratum'} that differ in y"
                f"{'' if pairs.event.all() else ', the upper one with its event'}."
            )
        without = np.flatnonzero(inside == 0.0)
        if without.size and pairs.stratum is not None:
            lost = int(np.isin(pairs.stratum, without).sum())
            warn(StrataWithoutPairs(without.size, inside.size, lost))
        return loss

    def _loss_inside(self, rows: Rows, classes: np.ndarray, strata: Any) -> LossChoice:
        """The loss on pairs of the two classes inside strata; on all pairs if there is a single stratum."""
        numbers = validation.numbers_of(strata, rows.X.shape[0], "strata", "stratum")
        if numbers.max(initial=0) == 0:
            return self._loss
        positive = array_api.on_host(rows.y) == classes[1]
        same = getattr(self, "strata_weight", "pairs") == "strata"
        return self._loss_of_pairs(rows, Ranked(positive.astype(np.float64), positive | True, numbers, same))

    def _store(
        self,
        solution: Solution,
        classes: np.ndarray,
        means: np.ndarray,
        l2: float,
        *,
        like: Any = None,
        warn_if_not_converged: bool = True,
        hint: str = "",
        **attributes: Any,
    ) -> Self:
        """Store the solution and further attributes; attributes of an earlier fit that are not set now are removed.

        Coefficients are put on the device of `like`, if it is on one. `hint` is another remedy, for the warning of a
        fit that did not converge.
        """
        if not np.abs(solution.w).max(initial=0.0) < 1e154:  # also NaN, and numbers without a finite square
            raise ValueError(
                "The solution is not finite: rescale the features (sklearn.preprocessing.StandardScaler) "
                f"or give a larger l2{hint}."
            )
        self.coef_ = solution.w[np.newaxis, :]
        self.intercept_ = np.array([-float(solution.w @ means.sum(axis=0)) / 2.0])
        if array_api.device_namespace(like) is not None:
            self.coef_, self.intercept_ = array_api.beside(self.coef_, like), array_api.beside(self.intercept_, like)
        self.classes_, self.l2_ = classes, l2
        self.objective_ = None if np.isnan(solution.value) else solution.value
        self.gap_, self.n_iter_ = solution.gap, solution.n_iter
        read = ("_reading", "_read_later", "_out_of_fold_there")
        for name in ("history_", "moments_", "held_out_", "out_of_fold_", "stationarity_", "pairs_", *read):
            self.__dict__.pop(name, None)
        if solution.stationarity is not None:
            self.stationarity_ = solution.stationarity
        if solution.history:
            self.history_ = solution.history
        self.__dict__.update(attributes)
        if warn_if_not_converged and not solution.converged:
            left, measure = solution.left, "the violation of optimality"
            if solution.stationarity is not None:
                left, measure = solution.stationarity, "stationarity_"
            elif solution.gap is not None:
                left, measure = solution.gap, "gap_"
            warn(NotConverged(type(self).__name__, solution.n_iter, left, hint, measure))
        return self

    def _forget_columns(self) -> None:
        """Remove what validation stored about the columns."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _store_columns(self, n_features: int, names: np.ndarray | None = None) -> Self:
        """Store the number of columns, and their names if there are any, where no table was validated."""
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        return self

    as_scorer = scorer_of_estimator

    def decision_function(self, X) -> np.ndarray:
        """Scores of the rows of X: higher means more likely `classes_[1]`.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            With several classes of shape (n_samples, n_classes), in the order of `classes_`.
        """
        check_is_fitted(self, "coef_")
        if getattr(self, "features_", None) is not None:
            return self._scores_by_map(X)
        validation.check_columns(X, rounding=False)
        if array_api.device_namespace(X) is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
            return array_api.score_lines(X, self.coef_[0, :]) + float(self.intercept_[0])
        types = [np.float64] if is_frame(X) else [np.float64, np.float32]  # exported models score frames in double
        with validation.named_columns(X):
            X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=types)
        coef, intercept = array_api.on_host(self.coef_), array_api.on_host(self.intercept_)
        return multiply(X, coef[0]) + intercept[0] if len(coef) == 1 else multiply(X, coef.T) + intercept

    def predict(self, X) -> np.ndarray:
        """`classes_[1]` where the score is positive, else `classes_[0]`; for several classes, the highest-scoring one.

        With `threshold_`, `classes_[1]` is predicted where the score is at least ``threshold_.threshold`` instead.
        With calibration a score is positive where the probability of `classes_[1]` is more than ½. An isotonic
        calibration may be on one side of ½ for all scores; then all rows get the same label.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "coef_")
        calibration: Any = getattr(self, "calibration_", None)
        scores = self.decision_function(X)
        chosen = getattr(self, "threshold_", None)
        if chosen is None and calibration is not None and calibration.half is None:
            above = calibration(array_api.on_host(scores)) - 0.5
            scores = above if isinstance(scores, np.ndarray) else array_api.beside(above, scores)
        called = scores > 0 if chosen is None else scores >= chosen.threshold
        if array_api.device_namespace(scores) is not None:
            return array_api.choose(self.classes_, called)
        return self.classes_[called.astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)]

    def score(self, X, y, sample_weight=None, strata=None) -> float:
        """Area under the ROC curve of the scores of X.

        Parameters
        ----------
        {X, y, sample_weight}
        strata : array-like of shape (n_samples,), optional
            Count only pairs of rows of the same stratum (`vrspam.metrics.concordance_index`). A model that was fitted
            with strata warns without them.

        Returns
        -------
        float
            NaN, with a warning, when y holds one class only, or no stratum holds both.
        """
        return self._auc_of(self.decision_function(X), y, sample_weight, strata)

    def _auc_of(self, scores, y, sample_weight=None, strata=None) -> float:
        """The AUC of scores, as `score` computes it."""
        on_device = array_api.device_namespace(scores) is not None
        y = y if on_device else column_or_1d(y)
        self._refuse_unknown_labels(y)
        if strata is not None:
            weighing = getattr(self, "strata_weight", "pairs")
            more = {"strata": strata, "sample_weight": sample_weight, "strata_weight": weighing}
            positive, scores = array_api.on_host(y) == self.classes_[1], array_api.on_host(scores)
            return metrics.concordance_index(positive, scores, **more)
        if hasattr(self, "pairs_"):
            warn(ScoredAcrossStrata())
        if on_device:
            positive = array_api.is_label(y, self.classes_[1], scores)
            return float(metrics.roc_auc_columns(positive, scores[:, None], sample_weight)[0])
        return metrics.roc_auc(y == self.classes_[1], scores, sample_weight=sample_weight)

    def _refuse_unknown_labels(self, y) -> None:
        """Refuse a vector y with labels that fit has not seen, because they are neither positive nor negative."""
        mixed = isinstance(y, np.ndarray) and y.dtype == object  # labels of several types cannot be sorted
        labels = np.array(sorted(set(y), key=str), dtype=object) if mixed else array_api.labels_of(y)
        unknown = [label for label in labels.tolist() if label not in self.classes_.tolist()]
        if unknown:
            raise ValueError(
                f"y holds labels {unknown[:3]} that were not seen in fit: leave their rows out, or write them as "
                f"one of {self.classes_.tolist()}."
            )


def names_as_read(estimator: Any, reading: TableSchema | None) -> Sequence[str]:
    """The names of the columns that features are made of: those that a frame has after it was read."""
    if reading is not None and (reading.readings or reading.identifiers):
        return reading.names
    return list(validation.column_names(estimator))


def warn_of_raw_columns(estimator: AUCClassifierBase, moments: PairSums, l2: float, names: Any = None) -> None:
    """Warn if standard deviations of dense columns differ so much that l2 shrinks these columns very differently."""
    deviations = spread(moments)[1]
    varying = np.flatnonzero(deviations)
    if l2 == 0.0 or varying.size == 0:
        return
    largest = varying[np.argmax(deviations[varying])]
    smallest = varying[np.argmin(deviations[varying])]
    ratio = float(deviations[largest] / deviations[smallest])
    if ratio > 100.0:
        names = validation.column_names(estimator) if names is None else names
        warn(RawColumns(str(names[largest]), str(names[smallest]), ratio))
