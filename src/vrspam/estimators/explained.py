"""Scores of feature maps, read column by column: curves, interactions, importances, and the parts of one score."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from vrspam import inspection
from vrspam._utils import array_api
from vrspam._utils.validation import check_columns
from vrspam.estimators.base import MAPS_ON_HOST, PairwiseEstimator, names_as_read
from vrspam.features import FeatureMap
from vrspam.features.mapped import MappedArray
from vrspam.features.scoring import PreparedParts
from vrspam.model_selection.held_out import HeldOut
from vrspam.tables.frames import check_frame, in_order, is_frame


def _has_probabilities(estimator: Any) -> bool:
    calibration = estimator.calibration_ if hasattr(estimator, "coef_") else estimator.calibration
    if calibration is not None:
        return True
    if "calibration" in estimator.get_params(deep=False):
        raise AttributeError(
            "predict_proba needs calibrated scores: fit with calibration='sigmoid' or calibration='isotonic'."
        )
    raise AttributeError("A ranker has no probabilities: its scores have no unit.")


class ExplainedEstimator(PairwiseEstimator):
    """Base of estimators with a score that is linear in columns or features: calibration, and a reading by column.

    With the parameter `calibration`, `intercept_` is moved so that a score of 0 has the probability ½. Before that, and
    for `calibration_`, a score is 0 half-way between the class means; `baseline_` is the difference.
    """

    features: Any
    _read_later: Any  # makes the reading, where `fit` has not
    _centre: np.ndarray
    _out_of_fold_there: HeldOut  # on a device, if the rows are
    _table_schema: Any = None  # `Schema`: how the columns of a frame were read, if they were

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        as_they_are = isinstance(self.features, str) and self.features == "linear"
        tags.input_tags.allow_nan = not as_they_are
        tags.array_api_support = tags.array_api_support and as_they_are
        return tags

    @cached_property
    def _reading(self) -> inspection.Shapes | str:
        """The reading of the score, or why there is none; made at first use, if `fit` has not made it."""
        return self._read_later()

    @cached_property
    def out_of_fold_(self) -> HeldOut:
        """The held-out rows at the chosen point; those on a device come to the host when they are first asked for."""
        if "_out_of_fold_there" not in self.__dict__:
            raise AttributeError("out_of_fold_ is there after fit.")
        return self._out_of_fold_there.on_host()

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
        rows = self._mapped(X)
        if not isinstance(self.features_, FeatureMap):
            return rows @ self.coef_[0] + self.intercept_[0]
        return self._prepared_parts().scores(rows.X)[:, 0] + self.intercept_[0]

    def _prepared_parts(self) -> PreparedParts:
        """The parts of the score: those that `fit` has prepared, unless the coefficients were replaced since."""
        if "_kept_parts" in self.__dict__:
            coef, prepared = self._kept_parts
            if coef is self.coef_:
                return prepared
        return PreparedParts(self.features_.parts(self.coef_[0]))

    @available_if(_has_probabilities)
    def predict_proba(self, X) -> np.ndarray:
        """Probabilities of both classes: scores mapped by the function that was fitted on out-of-fold scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of `classes_`. Without `threshold`, `predict` gives `classes_[1]` where the second column is
            more than ½.
        """
        check_is_fitted(self, "coef_")
        scores = self.decision_function(X)
        positive = self.calibration_(array_api.on_host(scores) - self.baseline_)
        both = np.column_stack([1.0 - positive, positive])
        if array_api.device_namespace(scores) is None:
            return both
        return array_api.beside(both, scores)

    def __getstate__(self) -> dict[str, Any]:
        """Store the reading, not the function that makes it; the parts of the score can be computed from the rest."""
        if "_read_later" in self.__dict__:
            _ = self._reading
        left_out = ("_kept_parts", "_read_later")
        return {name: value for name, value in super().__getstate__().items() if name not in left_out}

    def _mapped(self, X) -> MappedArray:
        """The features of rows to be scored, where the model has a feature map."""
        if array_api.device_namespace(X) is not None:
            raise ValueError(MAPS_ON_HOST)
        check_columns(X, rounding=False)
        if not is_frame(X):
            floats = [np.float64, np.float32]
            X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=floats, ensure_all_finite="allow-nan")
            return MappedArray(X, self.features_)

        check_frame(X)
        schema = self._table_schema
        messy = schema is not None and (schema.categorical or schema.readings or schema.identifiers)
        if messy and hasattr(self, "feature_names_in_"):
            X = in_order(X, list(self.feature_names_in_))
        validate_data(self, X, reset=False, skip_check_array=True)
        if schema is not None:
            X = schema.read_frame(X)
        return MappedArray(X, self.features_)

    def _groups(self) -> dict[str, inspection.Places]:
        check_is_fitted(self, "coef_")
        names = names_as_read(self, self._table_schema)
        return inspection.column_groups(self.features_, names, self.coef_.shape[1])

    def _read_curves(self, attribute: str) -> inspection.Shapes:
        """The reading of the score, or an error that names the attribute if there is none."""
        check_is_fitted(self, "coef_")
        if isinstance(self._reading, str):
            raise AttributeError(f"There is no {attribute}: {self._reading}.")
        return self._reading

    @property
    def shape_functions_(self) -> dict[str, inspection.Shape]:
        """What each column adds to the score, as a curve with a band from the folds, in the order of the columns."""
        return {shape.name: shape for shape in self._read_curves("shape_functions_").columns}

    @property
    def interactions_(self) -> dict[tuple[str, str], float]:
        """The strongest pairs of columns that interact, each with its part of the variance of the score."""
        return {pair.names: pair.share for pair in self._read_curves("interactions_").pairs}

    @property
    def interactions_share_(self) -> float:
        """The part of the variance of the score that is not a sum of curves; 0 where the score is such a sum."""
        return self._read_curves("interactions_share_").share

    @property
    def pair_effects_(self) -> tuple[inspection.PairEffect, ...]:
        """The pairs of `interactions_` with the mean of the interactions in bins of both columns."""
        return self._read_curves("pair_effects_").pairs

    @property
    def importances_(self) -> dict[str, float]:
        """Standard deviation of each column's part of the score over the rows, both classes weighing the same."""
        groups = self._groups()
        if isinstance(self._reading, inspection.Shapes):
            return self._reading.importances()
        if not hasattr(self, "moments_") or not self.moments_.has_scatter:
            raise AttributeError(
                "importances_ needs the matrices of moments_, which blends and fits by products with X do not keep."
            )
        return inspection.importances(groups, array_api.on_host(self.coef_)[0], self.moments_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The importance of each column for the score, in the order of the columns; the numbers add up to 1.

        Before the division by their sum they are √(curve² + interactions²), from the standard deviations of the
        column's curve and of its interactions. For a date, the squares of its parts are added up; a column without
        features has 0.
        """
        check_is_fitted(self, "coef_")
        if isinstance(self._reading, str) and self._keeps_columns_apart:  # the rows were not in memory
            effects: Any = np.array(list(self.importances_.values()))
        else:
            effects = self._read_curves("feature_importances_").effects
        if self.features_ is not None and self._table_schema is not None:
            effects = self._table_schema.by_column(effects)
        total = effects.sum()
        return effects / total if total > 0.0 else np.zeros_like(effects)

    @property
    def _keeps_columns_apart(self) -> bool:
        """Whether each feature is made of one column."""
        return self.features_ is None or getattr(self.features_, "keeps_columns_apart", False)

    def explain_one(self, x) -> dict[str, float]:
        """What each column adds to the score of one row; the parts add up to `decision_function`.

        Parameters
        ----------
        x : one row
            A sequence of numbers, a dict from the names of columns to values, a row of a pandas frame
            (``frame.iloc[0]``), or a frame or 2-dimensional array of one row.

        Returns
        -------
        dict of str to float
            The part of a column is its curve (`shape_functions_`) at the row's value; 0 is half-way between the class
            means. The part "interactions" is the rest of the score, if the score is not a sum of curves. Without
            curves the parts are those of the features. With calibration the part "baseline" is `baseline_`.
        """
        groups = self._groups()
        X = self._one_row(x)
        if self.features_ is None:
            row: Any = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        else:
            row = self._mapped(X)

        if not self._keeps_columns_apart and isinstance(self._reading, inspection.Shapes):
            scores = row @ self.coef_[0] + (self.intercept_[0] - self.baseline_)
            parts = {name: float(part[0]) for name, part in self._reading.parts(row.X, scores).items()}
        else:
            coef = array_api.on_host(self.coef_)[0]
            values = row.toarray() if sparse.issparse(row) else row[:1]
            centred = values[0] - self._centre
            parts = {name: float(coef[where] @ centred[where]) for name, where in groups.items()}
        if self.baseline_ != 0.0:
            name = inspection.distinct([*parts, "baseline"])[-1]
            parts[name] = self.baseline_
        return parts

    def _one_row(self, x: Any) -> Any:
        """One row, in any of the forms that `explain_one` takes, as a frame or an array of one row."""
        if array_api.device_namespace(x) is not None:
            x = array_api.on_host(x)
        if isinstance(x, Mapping):
            x = self._frame_of(x)
        elif hasattr(x, "to_frame") and getattr(x, "ndim", 0) == 1:  # a row of a pandas frame
            named = self._table_schema is not None and hasattr(self, "feature_names_in_")
            x = self._frame_of(x.to_dict()) if named else x.to_frame().T
        X = x if getattr(x, "ndim", 0) == 2 or is_frame(x) else np.asarray(x).reshape(1, -1)
        if X.shape[0] != 1:
            raise ValueError(f"explain_one takes one row, got {X.shape[0]}: call it for each row.")
        return X

    def _frame_of(self, values: Mapping[str, Any]) -> Any:
        """A dict as a frame of one row; as an array of numbers where no library for frames is installed."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            raise ValueError("explain_one takes a dict only if fit had names of columns: give a sequence of numbers.")
        missing = [name for name in names if name not in values]
        if missing:
            raise ValueError(f"explain_one needs a value for each column, or None: {missing[0]!r} has none.")

        row = {str(name): values[name] for name in names}
        if self._table_schema is None:
            row = {name: np.nan if value is None else float(value) for name, value in row.items()}
        else:
            for name, known in self._table_schema.categorical.items():
                row[name] = as_category(row[name], known)
        for backend in ("pandas", "polars", "pyarrow"):
            with suppress(ImportError):
                return nw.from_dict({name: [value] for name, value in row.items()}, backend=backend).to_native()
        if self._table_schema is None:
            return np.array([list(row.values())])
        raise ImportError("explain_one makes a frame of a dict: install pandas, polars or pyarrow.")


def as_category(value: Any, known: Any) -> Any:
    """A number as the text of a known category: a row may hold the category "1" as 1.0.

    >>> as_category(1.0, ("0", "1")), as_category(2.5, ("0", "1")), as_category("a", ("a",))
    ('1', '2.5', 'a')
    """
    is_number = isinstance(value, int | float) and value == value
    if not is_number:
        return value
    if str(value) not in known and float(value).is_integer():
        return str(int(value))
    return str(value)
