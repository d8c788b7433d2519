"""What all estimators share: rows in, scores out, and how a fit is kept."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from vrspam._utils import array_api, validation
from vrspam._utils.findings import Fix, VrspamError
from vrspam._utils.parameters import Interval, StrOptions, check_parameters, links_to_documentation
from vrspam._utils.validation import Rows
from vrspam._utils.warnings import NotConverged, RawColumns, StrataWithoutPairs, warn
from vrspam.estimators.constraints import limits_of
from vrspam.model.model import Model
from vrspam.model.of_estimator import model_of_estimator
from vrspam.moments import PairSums
from vrspam.moments.class_moments import spread
from vrspam.objective import PenaltyFamily, multiply
from vrspam.pairs import SQUARED, LossChoice, Ranked
from vrspam.penalties.family import PENALTIES, register_penalty, registered
from vrspam.solvers.base import Solution
from vrspam.tables.frames import check_frame, is_frame
from vrspam.tables.schema import Schema

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
MAPS_ON_HOST = "Feature maps compute on the host: give them NumPy arrays, or use features='linear'."
# Attributes that only some fits have: those of an earlier fit must not outlive it.
OF_SOME_FITS = (
    "history_",
    "moments_",
    "held_out_",
    "out_of_fold_",
    "widening_",
    "stationarity_",
    "pairs_",
    "_reading",
    "_read_later",
    "_out_of_fold_there",
    "_fold_coefs",
)


def refuse_without_rows(estimator: Any, method: str) -> None:
    """Refuse a loss that needs all rows in memory where a method keeps only sums of them."""
    if LossChoice(estimator.loss).needs_rows:
        raise VrspamError(
            f"{method} keeps sums of the rows, and ",
            Fix("loss", estimator.loss),
            " needs the rows themselves, sorted by their scores: use fit with all rows in memory, or ",
            Fix("loss", "squared"),
            ".",
        )


def generator(random_state) -> np.random.Generator:
    """A NumPy generator for scikit-learn's `random_state`."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))


@links_to_documentation
class PairwiseEstimator(BaseEstimator):
    """Base class of all estimators: rows are checked, scores are linear, and a fit is kept attribute by attribute."""

    _parameter_constraints: dict = {}
    _works_on_devices = False  # whether `fit` takes arrays that lie on a device (see `vrspam._utils.array_api`)
    coef_: np.ndarray
    intercept_: np.ndarray
    classes_: np.ndarray
    l2_: Any
    objective_: Any  # None where a blend, or a sketch, has none
    gap_: Any  # None where there is no certificate
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
    def _has_limits(self) -> bool:
        """Whether coefficients have limits."""
        return self.monotonic_cst is not None or self.positive or self.bounds is not None

    def _family(self, n_features: int) -> PenaltyFamily:
        """The penalties that are asked for, with the limits of the coefficients of so many columns."""
        limits = limits_of(self, n_features) if self._has_limits else None
        return PenaltyFamily(self.penalty, self.gamma, limits)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.array_api_support = self._works_on_devices and not self._loss.needs_rows
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
            return self._validate_rows_on_device(X, y, sample_weight, reset)

        refuse_odd_labels(y)
        if table and is_frame(X):
            check_frame(X)
            X, y = validate_data(self, X, y, skip_check_array=True)
            check_consistent_length(X, y)
        else:
            with validation.named_columns(X):
                X, y = validate_data(
                    self,
                    X,
                    y,
                    reset=reset,
                    dtype=[np.float64, np.float32],
                    accept_sparse="csr",
                    order=order,
                    ensure_all_finite="allow-nan" if table else True,
                    multi_output=True,  # y is checked below: here it must not be turned into numbers
                )
            validation.refuse_huge_columns(X, getattr(self, "feature_names_in_", None))
        y = column_or_1d(y, warn=True)
        validation.check_labels(y)
        if sample_weight is not None:
            sample_weight = validation.check_weights(sample_weight, X.shape[0])
        return Rows(X, y, sample_weight)

    def _validate_rows_on_device(self, X, y, sample_weight, reset: bool) -> Rows:
        """The same for arrays on a device, which stay there."""
        if self._loss.needs_rows:
            raise VrspamError(
                Fix("loss", self._loss.name),
                " sorts scores on the host: give it NumPy arrays, or use ",
                Fix("loss", "squared"),
                ", which works where the data lies.",
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

    def _keep_fit(
        self, solution: Solution, classes: np.ndarray, means: np.ndarray, l2: float, *, like: Any = None, hint: str = ""
    ) -> None:
        """Assign what every fit has; attributes of an earlier fit that only some fits have are removed.

        Coefficients are put on the device of `like`, if it is on one. `hint` is another remedy, for the error of a
        solution that is not finite.
        """
        if not np.abs(solution.w).max(initial=0.0) < 1e154:  # also NaN, and numbers without a finite square
            raise ValueError(
                "The solution is not finite: rescale the features (sklearn.preprocessing.StandardScaler) "
                f"or give a larger l2{hint}."
            )
        self.coef_ = solution.w[np.newaxis, :]
        self.intercept_ = np.array([-float(solution.w @ means.sum(axis=0)) / 2.0])
        if array_api.device_namespace(like) is not None:
            self.coef_ = array_api.beside(self.coef_, like)
            self.intercept_ = array_api.beside(self.intercept_, like)
        self.classes_ = classes
        self.l2_ = l2
        self.objective_ = None if np.isnan(solution.value) else solution.value
        self.gap_ = solution.gap
        self.n_iter_ = solution.n_iter

        for name in OF_SOME_FITS:
            self.__dict__.pop(name, None)
        if solution.stationarity is not None:
            self.stationarity_ = solution.stationarity
        if solution.history:
            self.history_ = solution.history

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

    def to_model(self) -> Model:
        """Return the fitted score without the estimator: its parts, columns and label, as it is exported."""
        return model_of_estimator(self)

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
        validation.check_columns(X, rounding=False)
        if array_api.device_namespace(X) is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
            return array_api.score_lines(X, self.coef_[0, :]) + float(self.intercept_[0])

        types = [np.float64] if is_frame(X) else [np.float64, np.float32]  # exported models score frames in double
        with validation.named_columns(X):
            X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=types)
        coef = array_api.on_host(self.coef_)
        intercept = array_api.on_host(self.intercept_)
        if len(coef) == 1:
            return multiply(X, coef[0]) + intercept[0]
        return multiply(X, coef.T) + intercept


def refuse_odd_labels(y: Any) -> None:
    """Refuse labels that are missing, or of several types: scikit-learn checks only those of a NumPy type."""
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if y is None or kind in "biufSU":
        return
    labels = np.asarray(y, dtype=object).ravel().tolist()
    if any(label is None or type(label).__name__ == "NAType" or label != label for label in labels):
        raise ValueError("Input y contains NaN or None: leave out the rows without a label.")
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError("y mixes text with other labels: make all of them text, or all numbers.")


def warn_of_missed_tolerance(estimator: Any, solution: Solution, hint: str = "") -> None:
    """Warn if a solution did not reach its tolerance; `hint` is one more remedy."""
    if solution.converged:
        return
    left, measure = solution.left, "the violation of optimality"
    if solution.stationarity is not None:
        left, measure = solution.stationarity, "stationarity_"
    elif solution.gap is not None:
        left, measure = solution.gap, "gap_"
    warn(NotConverged(type(estimator).__name__, solution.n_iter, left, hint, measure))


def names_as_read(estimator: Any, reading: Schema | None) -> Sequence[str]:
    """The names of the columns that features are made of: those that a frame has after it was read."""
    if reading is not None and (reading.readings or reading.identifiers):
        return reading.names
    return list(validation.column_names(estimator))


def warn_of_raw_columns(estimator: PairwiseEstimator, moments: PairSums, l2: float, names: Any = None) -> None:
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
