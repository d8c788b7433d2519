"""Exact fits and cross-validation on Spark data frames, and scores as columns of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

from vrspam._utils.parameters import checks_parameters
from vrspam.distributed._spark_blocks import (
    MissingNumbers,
    SparkBlocks,
    check_frame,
    encode_table,
    quoted,
    rounded,
    typed_columns,
)

# ruff: isort: split
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.functions import pandas_udf
from sklearn.utils.validation import check_is_fitted

from vrspam.distributed._cluster import not_corrected, refuse_strata
from vrspam.estimators.base import refuse_without_rows
from vrspam.estimators.blocks import fit_blocks, search_blocks
from vrspam.estimators.classifier import PairwiseClassifier
from vrspam.estimators.cv import AUCClassifierCV
from vrspam.estimators.exact import AUCClassifier, warn_of_raw_columns
from vrspam.moments import ClassMoments
from vrspam.moments.class_moments import spread
from vrspam.solvers import MOMENTS_MAX_FEATURES_DENSE
from vrspam.tables.frames import is_frame
from vrspam.tables.schema import Schema


def encode_frame(frame: Any, schema: Schema) -> np.ndarray:
    """Return the features that a schema makes of a frame in memory, of any library."""
    table, names = nw.from_native(frame, eager_only=True).to_arrow(), schema.inputs()
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise ValueError(f"The frame has no column {missing[0]!r}, which the model was fitted with.")
    types = {name: pa.string() if name in schema.categorical else pa.float64() for name in names}
    columns = [table.column(n) if n in schema.readings else table.column(n).cast(types[n]) for n in names]
    return encode_table(pa.table(columns, names=names), schema)


class SparkScores(PairwiseClassifier):
    """Adds scores to Spark data frames, and scores data frames in memory; `schema_` says how columns become numbers."""

    schema_: Schema
    moments_: ClassMoments
    _works_on_devices = False

    def _fit_frame(
        self, fit: Callable[[SparkBlocks], Any], *frame: Any, several_passes: bool = False, gaps: bool = False
    ) -> Self:
        """Fit a frame as if it had no missing numbers; if it has some, fit it again with means in their place.

        With `gaps` missing numbers stay missing.
        """
        wide = isinstance(frame[0], DataFrame) and len(frame[0].columns) > MOMENTS_MAX_FEATURES_DENSE
        for is_complete in (False,) if wide else (True, False):
            blocks = SparkBlocks(self, *frame, several_passes=several_passes or wide, is_complete=is_complete)
            if gaps:
                blocks.schema = blocks.schema.keeping_missing()
            self.feature_names_ = np.array(blocks.schema.feature_names, dtype=object)
            try:
                fit(blocks)
            except MissingNumbers:
                continue
            finally:
                blocks.release()
            break
        self.schema_ = blocks.schema
        if blocks.schema.fill is None:  # no training row had a gap; gaps in new rows are filled with means too
            self.schema_ = replace(blocks.schema, fill=rounded(spread(self.moments_)[0]))
        plain = getattr(self, "features_", None) is None
        if plain and hasattr(self, "moments_") and not blocks.schema.categorical:  # indicators have small deviations
            warn_of_raw_columns(self, self.moments_, self.l2_, self.feature_names_)
        return self

    def udf(self) -> Callable[..., Column]:
        """Return a pandas UDF that computes the scores from one struct of columns.

        Returns
        -------
        callable
            ``frame.withColumn("score", model.udf()(F.struct(*model.schema_.inputs())))``
        """
        model, schema = self.to_model(), self.schema_

        @pandas_udf("double")
        def scores(columns: pd.DataFrame) -> pd.Series:
            return pd.Series(model.score(encode_frame(columns, schema)))

        return scores

    def transform(
        self,
        X: DataFrame,
        *,
        score: str = "score",
        prediction: str | None = "prediction",
        probability: str | None = "probability",
    ) -> DataFrame:
        """Add columns to a frame: scores, labels and, where the model is calibrated, probabilities of `classes_[1]`.

        Parameters
        ----------
        X : Spark data frame
            With the columns of training.
        score, prediction, probability : str
            Names of the new columns; None leaves out one of the last two.

        Returns
        -------
        Spark data frame
        """
        check_is_fitted(self, "coef_")
        check_frame(X)
        for name in self.schema_.inputs():
            if name not in X.columns:
                raise ValueError(f"The frame has no column {name!r}, which the model was fitted with.")
        calibration = getattr(self, "calibration_", None)
        for new in (score, prediction, None if calibration is None else probability):
            if new is not None and new in X.columns:
                raise ValueError(f"The frame has a column {new!r} already: give the new one another name.")
        out = X.withColumn(score, self.udf()(F.struct(*typed_columns(self.schema_))))
        is_positive = F.col(quoted(score)) > 0.0
        if calibration is not None:
            baseline = self.baseline_

            @pandas_udf("double")
            def calibrated(scores: pd.Series) -> pd.Series:
                return pd.Series(calibration(scores.to_numpy() - baseline))

            likely = calibrated(F.col(quoted(score)))
            is_positive = is_positive if calibration.half is not None else likely > 0.5
            out = out if probability is None else out.withColumn(probability, likely)
        if (chosen := getattr(self, "threshold_", None)) is not None:
            is_positive = F.col(quoted(score)) >= chosen.threshold
        if prediction is not None:
            negative, positive = (F.lit(label) for label in self.classes_.tolist())
            out = out.withColumn(prediction, F.when(is_positive, positive).otherwise(negative))
        return out

    def decision_function(self, X) -> np.ndarray:
        """Scores of rows in memory; for Spark data frames see `transform`.

        Parameters
        ----------
        X : data frame in memory with the columns of training, or array of its features
            Features are in the order of `feature_names_`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if isinstance(X, DataFrame):
            raise ValueError(
                "decision_function takes rows in memory: use transform, which adds scores to a Spark frame."
            )
        check_is_fitted(self, "coef_")
        return super().decision_function(encode_frame(X, self.schema_) if is_frame(X) else X)

    def score(self, X, y, sample_weight=None) -> float:  # type: ignore[override]
        """The area under the ROC curve; scores and labels of a Spark data frame are sent to the driver.

        Parameters
        ----------
        X : Spark data frame, or data in memory
        y : name of a column of the Spark data frame, or array-like of shape (n_samples,)
        sample_weight : the same, optional

        Returns
        -------
        float
            NaN, with a warning, when y holds one class only.
        """
        if not isinstance(X, DataFrame):
            return super().score(X, y, sample_weight)
        named = {"label": y} | ({} if sample_weight is None else {"weight": sample_weight})
        scores = self.udf()(F.struct(*typed_columns(self.schema_))).alias("score")
        found = X.select(scores, *(F.col(quoted(name)).alias(alias) for alias, name in named.items())).toArrow()
        weights = None if sample_weight is None else found.column("weight").to_numpy()
        return self._auc_of(found.column("score").to_numpy(), np.array(found.column("label").to_pylist()), weights)


class SparkAUCClassifier(SparkScores, AUCClassifier):
    """The linear scorer that minimises the pairwise squared AUC loss, for Spark data frames.

    Each partition computes the moments of its rows, a tree of sums adds them, and the driver solves the problem as
    `vrspam.AUCClassifier` does: the same coefficients up to rounding, after one pass (plus one for means and categories
    if there are missing numbers or text). With more than 5,000 columns each iteration is a pass over the rows, which
    are kept in Spark's cache meanwhile.

    All columns but `y` and `sample_weight` are features. Numbers and booleans are taken as they are; the mean replaces
    missing ones (null or NaN). Text is one-hot, one feature for each category (the 1,000 most frequent, with a
    warning); missing and new categories are zeros in all of them. Text that differs in nearly every row, or has more
    than 100,000 categories, is left out, with a warning. Dates, and text that holds numbers or dates, are read as in a
    file, with a warning. Other types are refused.

    Parameters
    ----------
    l2, l1, penalty, gamma, tol, max_iter, random_state
        As in `vrspam.AUCClassifier`.
    loss : "squared"
        Other losses need all rows in one place.
    max_fpr : None
        A limit needs another loss.

    Attributes
    ----------
    schema_ : vrspam.data.Schema
        How columns become numbers: `numeric`, `categorical`, and `fill`, the means that replace missing numbers.
    feature_names_ : ndarray of str
        One name for each coefficient: columns of numbers, then column=category.
    coef_, intercept_, classes_, l2_, objective_, gap_, n_iter_, solver_, moments_, history_
        As in `vrspam.AUCClassifier`.
    n_features_in_ : int
        The number of features, one for each coefficient.

    Notes
    -----
    Classic Spark sessions and Spark Connect will do. The workers need this package.

    Examples
    --------
    A Spark session is needed: gallery/plot_spark.py and tests/distributed/test_spark.py start one.

    >>> from vrspam.distributed import SparkAUCClassifier
    >>> frame = spark.createDataFrame(customers)  # doctest: +SKIP
    >>> model = SparkAUCClassifier().fit(frame, "leaves")  # doctest: +SKIP
    >>> model.transform(frame).select("score").show(3)  # doctest: +SKIP
    """

    @checks_parameters(skip_nested=True)
    def fit(self, X, y, sample_weight=None, strata=None) -> Self:
        """Find the optimum for the rows of a frame.

        Parameters
        ----------
        X : Spark data frame
        y : str
            The column of labels, with two different labels.
        sample_weight : str, optional
            The column of weights.
        strata : None
            Strata are refused: the rows of a stratum may be in several partitions.

        Returns
        -------
        self
        """
        refuse_strata(strata, type(self).__name__)
        refuse_without_rows(self, type(self).__name__)
        return self._fit_frame(partial(fit_blocks, self), X, y, sample_weight)


class SparkAUCClassifierCV(SparkScores, AUCClassifierCV):
    """`vrspam.AUCClassifierCV` for Spark data frames.

    The fit makes two passes (plus one for means and categories if there are missing numbers or text): one for the
    moments of each fold, one for the scores at all points of the grid. Rows are kept in Spark's cache meanwhile. The
    fold of a row depends only on its values (`vrspam.HashFolds`), so the result is that of
    `AUCClassifierCV(cv=HashFolds(cv))` on the same rows, for any partitions.

    Parameters
    ----------
    l2s, l1s, penalty, gamma, max_fpr, scoring, selection, tol, max_iter, calibration, threshold
        As in `vrspam.AUCClassifierCV`.
    loss : "squared"
        Other losses need all rows in one place.
    cv : int or HashFolds, default=5
    features : str, map of `vrspam.features`, or list of these, default="linear"
        As in `vrspam.AUCClassifierCV`, of the encoded columns; missing numbers stay missing. Maps are learnt from the
        50,000 rows with the smallest hashes; several maps are first compared on these rows.
    n_jobs, random_state, verbose
        As in `vrspam.AUCClassifierCV`; an integer `random_state` is the seed of the folds.

    Attributes
    ----------
    schema_, feature_names_, n_features_in_
        As in `SparkAUCClassifier`, which also says how columns become features.
    l2_, l1_, best_score_, l2s_, l1s_, auc_path_, score_path_, measure_, gap_path_, converged_path_, coef_
    intercept_, calibration_, baseline_, threshold_, classes_, moments_
        As in `vrspam.AUCClassifierCV`.
    held_out_ : HeldOut
        As after `vrspam.AUCClassifierCV.fit_stream`.

    Notes
    -----
    There is no `corrected_score_` or `corrected_interval_`: see `AUCClassifierCV.fit_stream`.

    Examples
    --------
    A Spark session is needed: gallery/plot_spark.py and tests/distributed/test_spark.py start one.

    >>> from vrspam.distributed import SparkAUCClassifierCV
    >>> frame = spark.createDataFrame(customers)  # doctest: +SKIP
    >>> model = SparkAUCClassifierCV().fit(frame, "leaves")  # doctest: +SKIP
    >>> print(f"cross-validated AUC {model.best_score_:.3f}")  # doctest: +SKIP
    >>> model.transform(frame).select("score", "probability").show(3)  # doctest: +SKIP
    """

    corrected_score_ = not_corrected("corrected_score_", "driver")
    corrected_interval_ = not_corrected("corrected_interval_", "driver")

    @checks_parameters(skip_nested=False)
    def fit(  # folds follow from the rows, so that there are no groups
        self, X, y, sample_weight=None, strata=None, *, validation_rows: int = 200_000
    ) -> Self:
        """Choose the penalties by cross-validation, then fit all rows with them.

        Parameters
        ----------
        X : Spark data frame
        y : str
            The column of labels, with two different labels.
        sample_weight : str, optional
            The column of weights.
        strata : None
            Strata are refused: folds are drawn row by row.
        validation_rows : int, default=200_000
            At most this many held-out rows of each class send their scores to the driver.

        Returns
        -------
        self
        """
        refuse_strata(strata, type(self).__name__)
        folds = self._check_blocks(validation_rows)

        def fit(blocks: SparkBlocks) -> None:
            search_blocks(self, blocks, folds, validation_rows, correct=False)

        maps = not (isinstance(self.features, str) and self.features == "linear")
        return self._fit_frame(fit, X, y, sample_weight, several_passes=True, gaps=maps)
