"""What all feature maps share: reading columns, transforming in blocks, names, storing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from vrspam._utils.parameters import Interval, check_parameters, checks_parameters, links_to_documentation
from vrspam._utils.validation import check_columns, check_weights, column_names, counted_rows
from vrspam._utils.warnings import CategoriesGrouped, warn
from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.distribution import Distribution
from vrspam.features.encoders.indicators import Indicators
from vrspam.features.encoders.pack import can_pack
from vrspam.features.encoders.reading import Encoder, encode, read_columns
from vrspam.features.learning import SeenColumns, SharedColumns, summarise_columns
from vrspam.features.parts import (
    Block,
    CategoryPart,
    ColumnBlock,
    CurvePart,
    Effect,
    KernelPart,
    Parts,
    TreePart,
    added,
    joined,
)
from vrspam.features.scoring import PreparedParts
from vrspam.moments import CodedRows, Indicated, LastProduct
from vrspam.objective import Limits
from vrspam.penalties.shaped import Rising
from vrspam.tables import frames

MANY_CATEGORIES = 32  # with so many or more, products with the indicators of a column use codes
Places = slice | np.ndarray  # of features


class BlockPlace(NamedTuple):
    """Features of one block of a map that belong to one column, or to all columns together."""

    block: Block
    column: int  # 0 for features of all columns together
    features: slice


@links_to_documentation
class FeatureMap(TransformerMixin, BaseEstimator):
    """Base class of the maps: each column is encoded separately, as `_curves` defines, without looking at labels.

    Examples
    --------
    >>> from vrspam.features import AdditiveFeatures, FeatureMap
    >>> isinstance(AdditiveFeatures(), FeatureMap)
    True
    """

    supervised = False  # whether the map learns from labels too
    monotonic_cst: Any = None  # for maps without this parameter
    gains_by_rows = False  # whether more rows help it more than other maps, so that a trial on few rows underrates it
    kind: str  # name of the map in the facts about a model
    encoders_: list[Encoder]
    _n_rows: int  # number of rows in fit, without rows of weight 0
    _read_columns: tuple[Any, ...] | None = None  # columns of the frame from which an estimator made those of the map
    # parameters that the encoders depend on: maps with equal ones share encoders of the same rows; None: no sharing
    _encoded_by: tuple[str, ...] | None = None
    _category_scale: float | None = 1.0  # scale of all indicators of categories; None gives each variance 1
    _parameter_constraints: dict = {
        "max_categories": [Interval(Integral, 1, None, closed="left")],
        "max_rows": [Interval(Integral, 100, None, closed="left")],
        "random_state": ["random_state"],
        "monotonic_cst": ["array-like", None],
    }

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.kind = vars(cls).get("kind", cls.__name__.removesuffix("Features").lower())

    _validate_params = check_parameters

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _curves(self, seen: Distribution, missing: bool) -> Curves:
        """Return the functions of a numeric column with this distribution: here none, only the nodes of trees."""
        return Curves(seen.values, np.empty((seen.values.size, 0)), (), missing)

    def _rising(self, seen: Distribution, missing: bool) -> Curves:
        """Return the functions of a numeric column that must rise or fall."""
        return self._curves(seen, missing)

    @property
    def _signs(self) -> np.ndarray:
        """-1, 0 or 1 for each column."""
        if self.monotonic_cst is None:
            return np.zeros(self.n_features_in_, dtype=int)
        signs = self.monotonic_cst
        if np.shape(signs) != (self.n_features_in_,) or not np.isin(signs, (-1, 0, 1)).all():
            raise ValueError(f"monotonic_cst must hold -1, 0 or 1 for each of the {self.n_features_in_} columns.")
        return np.asarray(signs)

    def limits(self, n_features: int) -> Limits | None:
        """Return the limits of the coefficients that `monotonic_cst` requires, None if it requires none.

        Parameters
        ----------
        n_features : int
            `n_features_out_`.

        Returns
        -------
        Limits or None
        """
        if not self._signs.any():
            return None
        lower = np.full(n_features, -np.inf)
        upper = np.full(n_features, np.inf)
        curves: list[Rising] = []
        for encoder, where, sign in zip(self.encoders_, self.column_slices_, self._signs.tolist(), strict=True):
            if not sign:
                continue
            if isinstance(encoder, Indicators):
                if len(encoder.categories) > 1:
                    curves.append(rising_levels(encoder, where.start, sign))
            elif encoder.rising is not None:
                n_functions = encoder.table.shape[1]
                places = slice(where.start, where.start + n_functions)
                curves.append(Rising(places, sign * encoder.rising, np.ones(n_functions, dtype=bool)))
            elif sign > 0:
                lower[where.start] = 0.0
            else:
                upper[where.start] = 0.0
        return Limits(lower, upper, curves)

    def blocks(self) -> list[Block]:
        """Return the features of the fitted map as blocks, in order: functions of single columns, kernels, trees."""
        return [ColumnBlock(self.encoders_)]

    def block_places(self) -> Iterator[BlockPlace]:
        """Where the features of each block are: for each column those of its functions, else those of all columns."""
        stop = 0
        for block in self.blocks():
            if isinstance(block, ColumnBlock):
                widths = [encoder.width for encoder in block.encoders]
            else:
                widths = [block.coef.shape[-1]]
            for column, width in enumerate(widths):
                start = stop
                stop += width
                yield BlockPlace(block, column, slice(start, stop))

    def _unfinished(self, n_rows: int) -> tuple[FeatureMap, LastProduct] | None:
        """A map of cheaper features and the product that turns them into those of this map, or None if it is slower."""
        return None

    def holding_no_rows(self) -> Self:
        """Return the same map, not fitted, in a form that will store no training row."""
        return self

    @property
    def members(self) -> Sequence[FeatureMap]:
        """The fitted maps of a stack; for any other map, the map itself."""
        return getattr(self, "maps_", [self])

    def parts(self, coef: np.ndarray) -> Parts:
        """Return the parts of the score with these coefficients of the features, or of m scores (features × m)."""
        effects: list[Effect | None] = [None] * self.n_features_in_
        kernels: list[KernelPart] = []
        trees: list[TreePart] = []
        for block, j, where in self.block_places():
            if isinstance(block, KernelPart):
                kernels.append(block._replace(coef=block.coef @ coef[where]))
            elif isinstance(block, TreePart):
                trees.append(block._replace(coef=block.coef @ coef[where]))
            else:
                effects[j] = added(effects[j], effect_of(block, j, coef[where]))
        return Parts(tuple(effects), tuple(kernels), tuple(joined(trees)))

    @property
    def keeps_columns_apart(self) -> bool:
        """Whether each feature is a function of one column; maps of a stack must encode the same categories."""
        if not all(isinstance(block, ColumnBlock) for block in self.blocks()):
            return False
        first, *others = self.members
        return all(have_same_kinds(first.encoders_, other.encoders_) for other in others)

    def feature_places(self) -> tuple[list[Places], slice | None]:
        """Where the features of each single column are (an empty list if there are none), and those of several."""
        alone: list[Places] = []
        together: list[slice] = []
        for block, _, where in self.block_places():
            if isinstance(block, ColumnBlock):
                alone.append(where)
            else:
                together.append(where)
        return alone, slice(together[0].start, together[-1].stop) if together else None

    @property
    def numeric_columns(self) -> list[bool]:
        """Whether each column holds numbers; the others hold categories."""
        return [isinstance(encoder, Curves) for encoder in self.members[0].encoders_]

    def is_finer(self, other: FeatureMap) -> bool:
        """Whether this map differs from another only in showing finer detail."""
        return False

    @property
    def n_rows_held_(self) -> int:
        """Number of training rows that the fitted map stores, and a model file with it.

        Rows of maps of a stack with the same landmarks count once.
        """
        sizes = {}
        for member in self.members:
            if getattr(member, "landmarks", "columns") == "rows":
                sizes[member.landmarks_.tobytes()] = len(member.landmarks_)
        return sum(sizes.values())

    def fit(self, X, y=None, sample_weight=None) -> Self:
        """Learn the map from the rows of X and, if it is supervised, from their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            NaN is a missing value. Columns of text are categories, and so are object columns of booleans with missing
            values; convert dates to numbers or to text first. If a column has more than `max_categories`
            categories, the most frequent are kept and the others count as one, with a `CategoriesGrouped` warning; a
            column with so many categories that nearly every row differs is refused.
        y : array-like of shape (n_samples,), optional
            Labels of two or more classes, for supervised maps: the last class in sorted order is positive, the others
            are negative. Other maps ignore y.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows in means and ranks; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_columns(X)
        if sample_weight is not None:
            X = self._check(X, reset=True)
            sample_weight = check_weights(sample_weight, X.shape[0])
            counted = counted_rows(sample_weight)
            if counted is not None:
                X = frames.rows_of(X, counted)
                sample_weight = sample_weight[counted]
                if y is not None:
                    y = np.asarray(y)[counted]
        self.learn(X, sample_weight)
        self.learn_labels(X, y, sample_weight)
        for warning in [*self.grouped_categories_, *getattr(self, "numbers_as_names_", ())]:
            warn(warning)
        return self

    def learn_labels(self, X, y, sample_weight=None) -> None:
        """Learn from labels, after `learn`; only supervised maps do so."""

    @checks_parameters(skip_nested=True)
    def learn(self, X, sample_weight=None, shared: SharedColumns | None = None) -> None:
        """Fit without labels and warnings; maps that learn from the same X and weights may have the same `shared`."""
        X = self._check(X, reset=True)
        rng = check_random_state(self.random_state)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, X.shape[0])
            rows = np.flatnonzero(weights)
            if rows.size < X.shape[0]:
                X = frames.rows_of(X, rows)
                weights = weights[rows]
        self._n_rows = X.shape[0]
        sample = None
        if X.shape[0] > self.max_rows:
            sample = np.sort(rng.choice(X.shape[0], self.max_rows, replace=False))
        shared = {} if shared is None else shared
        settings = (self.max_categories, None if sample is None else sample.tobytes(), self._signs.tobytes())
        if settings not in shared:
            shared[settings] = summarise_columns(X, weights, sample, self.max_categories, self._signs)
        seen = shared[settings]
        if sample is not None:
            X = frames.rows_of(X, sample)
            weights = None if weights is None else weights[sample]
        self._learn(X, seen, rng, weights)

    def _learn(self, X, seen: SeenColumns, rng: np.random.RandomState, weights: np.ndarray | None) -> None:
        """Learn the map from the summaries of the columns; landmarks and trees are drawn from the weighted rows X."""
        self._n_curved = 0  # numeric columns of more than two values
        for summary in seen.columns:
            if not isinstance(summary, Indicators) and summary.distribution.values.size > 2:
                self._n_curved += 1
        if self._encoded_by is None:
            self.encoders_ = self._make_encoders(seen)
            return
        settings = (type(self), *self._signs.tolist(), *(getattr(self, name) for name in self._encoded_by))
        if settings not in seen.shared:
            seen.shared[settings] = self._make_encoders(seen)
        self.encoders_ = list(seen.shared[settings])

    def _make_encoders(self, seen: SeenColumns) -> list[Encoder]:
        """The encoders of columns with these summaries."""
        encoders: list[Encoder] = []
        for summary, sign in zip(seen.columns, self._signs.tolist(), strict=True):
            if isinstance(summary, Indicators):
                encoders.append(self._scaled(summary))
            elif sign:
                encoders.append(self._rising(*summary))
            else:
                encoders.append(self._curves(*summary))
        return encoders

    def _scaled(self, indicators: Indicators) -> Indicators:
        """The indicators with the scale of this map."""
        if self._category_scale is None:
            return indicators
        if self._category_scale == 1.0:
            return replace(indicators, scale=())
        return replace(indicators, scale=(self._category_scale,) * indicators.width)

    @property
    def grouped_categories_(self) -> list[CategoriesGrouped]:
        """Columns of more than `max_categories` categories: their names, and how many were kept and grouped."""
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        warnings: dict[int, CategoriesGrouped] = {}  # in a stack, those of the first map that groups the column
        for member in self.members:
            for j, encoder in enumerate(member.encoders_):
                if isinstance(encoder, Indicators) and encoder.grouped and j not in warnings:
                    n_kept = len(encoder.categories) - 1
                    warnings[j] = CategoriesGrouped(str(names[j]), n_kept, encoder.grouped)
        return list(warnings.values())

    def transform(self, X) -> np.ndarray:
        """Return the features of the rows of X, computed in blocks of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out_)
            float32 if all numbers of X are.
        """
        return self.features_of(X)

    def features_of(self, X) -> np.ndarray:
        """Return the features as `transform` does, but always as a NumPy array, independent of `set_output`."""
        check_is_fitted(self, "encoders_")
        X = self._check(X, reset=False)
        out = np.empty((X.shape[0], self.n_features_out_), dtype=self.dtype_of(X))
        for rows in frames.blocks(*out.shape):
            self._write_block(frames.rows_of(X, rows), out[rows])
        return out

    def products(self, X, coefs: np.ndarray) -> np.ndarray:
        """Return transform(X) @ coefs, block by block, without computing all features where that is possible.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        coefs : array of shape (n_features_out_,) or (n_features_out_, m)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, m)
        """
        few_scores = 8  # with at most this many columns of coefficients, rows are scored by the parts of the scores
        check_is_fitted(self, "encoders_")
        X = self._check(X, reset=False)
        columns = coefs.reshape(len(coefs), -1)
        n_scores = columns.shape[1]
        if n_scores <= few_scores and not self._encodes_at_once(X):
            found = PreparedParts(self.parts(columns), n_scores).scores(X, single=True)
        else:
            is_read_again = len(self.blocks()) > 1 and frames.is_frame(X)
            if is_read_again and not isinstance(X, frames.HeldColumns):
                X = frames.HeldColumns.of(X, self.numeric_columns)
            found = self._many_products(X, columns)
        return found.reshape(X.shape[0], *coefs.shape[1:])

    def _encodes_at_once(self, X) -> bool:
        """Whether all features of so few rows of numbers are computed at once, which is faster than by columns."""
        blocks = self.blocks()
        if len(blocks) != 1 or not isinstance(blocks[0], ColumnBlock) or not can_pack(self.encoders_, X):
            return False
        return X.shape[0] % frames.WHOLE_ROWS == 0  # otherwise equal rows may get unequal scores

    def _many_products(self, X, coefs: np.ndarray) -> np.ndarray:
        """The features of checked rows times many columns of coefficients."""
        blocks = frames.blocks(X.shape[0], self.n_features_out_)
        return np.concatenate([self._block_products(frames.rows_of(X, rows), coefs) for rows in blocks])

    def _block_products(self, X, coefs: np.ndarray) -> np.ndarray:
        rows = self._coded_rows(X)
        # in double: some processors sum float32 rows in an order that depends on their place, which breaks ties
        out = rows.dense.astype(np.float64, copy=False) @ (coefs[rows.places] if rows.indicated else coefs)
        for where, codes, values in rows.indicated:
            lines = values.astype(rows.dtype)[:, np.newaxis] * coefs[where]
            known = slice(None) if codes.min(initial=0) >= 0 else np.flatnonzero(codes >= 0)
            out[known] += lines[codes[known]]
        return out.astype(rows.dtype, copy=False)

    def _check(self, X, *, reset: bool):
        if isinstance(X, frames.HeldColumns):  # made of a frame that was checked
            if reset:
                self.n_features_in_ = X.shape[1]
                if all(isinstance(name, str) for name in X.names):
                    self.feature_names_in_ = np.array(X.names, dtype=object)
            return X
        check_columns(X, rounding=False)
        if frames.is_frame(X):
            frames.check_frame(X)
            if not reset:
                self._refuse_frame_of_estimator(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )

    def _refuse_frame_of_estimator(self, X) -> None:
        """Refuse the frame from which an estimator made the columns of the map."""
        if self._read_columns is None:
            return
        columns = list(frames.columns_of(X).names)
        taken = list(self.feature_names_in_)
        if columns != taken and set(columns) & set(self._read_columns) - set(taken):
            raise ValueError(
                "This map takes the columns that its estimator made of the frame (dates in parts, text as numbers, no "
                f"identifiers: {', '.join(map(str, taken))}), not the frame itself: give the frame to the estimator's "
                "decision_function, predict_proba or explain_one."
            )

    @property
    def column_slices_(self) -> list[slice]:
        """Where the features of each column are."""
        stops = list(accumulate((encoder.width for encoder in self.encoders_), initial=0))
        return [slice(start, stop) for start, stop in pairwise(stops)]

    @property
    def n_features_out_(self) -> int:
        """Number of features."""
        return max((place.features.stop for place in self.block_places()), default=0)

    def dtype_of(self, X) -> np.dtype:
        """The type of the features of X, without computing any: float32 if all numbers of X are."""
        if frames.is_frame(X):
            return read_columns(self.members[0].encoders_, frames.rows_of(X, slice(0, 1)))[1]
        return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    def _coded_rows(self, X) -> CodedRows:
        """The features of checked rows; columns of many categories stay codes, with scales rounded to the dtype."""
        if can_pack(self.encoders_, X):
            dense = encode(self.encoders_, X)
            return CodedRows(dense.shape[1], dense, [])
        columns, dtype = read_columns(self.encoders_, X)
        indicated: list[Indicated] = []
        written: list[tuple[Encoder, np.ndarray]] = []
        for where, encoder, values in zip(self.column_slices_, self.encoders_, columns, strict=True):
            if isinstance(encoder, Indicators) and encoder.width >= MANY_CATEGORIES:
                scales = encoder.scales.astype(dtype).astype(np.float64)
                indicated.append(Indicated(where, values, scales))
            else:
                written.append((encoder, values))
        dense = np.empty((len(columns[0]), sum(encoder.width for encoder, _ in written)), dtype=dtype)
        start = 0
        for encoder, values in written:
            encoder.write(values, dense[:, start : start + encoder.width])
            start += encoder.width
        return CodedRows(self.column_slices_[-1].stop, dense, indicated)

    def _write_block(self, X, out: np.ndarray) -> None:
        """Fill `out` with the features of the rows of X, block after block."""
        stop = 0
        for block in self.blocks():
            start = stop
            if isinstance(block, ColumnBlock):
                stop += sum(encoder.width for encoder in block.encoders)
                encode(block.encoders, X, out[:, start:stop])
                if block.scale != 1.0:
                    out[:, start:stop] *= block.scale
            else:
                stop += block.coef.shape[1]
                self._times_kernel(X, block.coef, out[:, start:stop])

    def _times_kernel(self, X, coefs: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """K(X, Z) @ coefs for the rows of X and the landmarks Z of a kernel, written to `out` if it is given."""
        raise NotImplementedError

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the name of each feature; those of features of a single column begin with its name.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns, if the X of `fit` had none.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self, "encoders_")
        return np.array(self._feature_names(list(column_names(self, input_features))), dtype=object)

    def _feature_names(self, columns: Sequence[Any]) -> list[str]:
        """The name of each feature, from those of the columns."""
        names: list[str] = []
        for encoder, column in zip(self.encoders_, columns, strict=True):
            names += encoder.names(str(column))
        return names


def rising_levels(encoder: Indicators, start: int, sign: int) -> Rising:
    """The limit that levels rise or fall: of differences from the level before; the first level is free."""
    scales = encoder.scales[: len(encoder.categories)]
    differences = np.diag(sign * scales) - np.diag(sign * scales[:-1], -1)
    return Rising(slice(start, start + scales.size), differences, np.arange(scales.size) > 0)


def effect_of(block: ColumnBlock, column: int, coef: np.ndarray) -> Effect:
    """What a column adds to a score with these coefficients of its features in a block."""
    encoder = block.encoders[column]
    scaled = coef if block.scale == 1.0 else block.scale * coef
    if isinstance(encoder, Curves):
        return CurvePart.of(encoder, scaled)
    return CategoryPart.of(encoder, scaled)


def have_same_kinds(first: Sequence[Encoder], second: Sequence[Encoder]) -> bool:
    """Whether columns are numbers or the same categories in both, and have missing values in both or in neither."""
    for a, b in zip(first, second, strict=True):
        if type(a) is not type(b) or a.missing != b.missing:
            return False
        if isinstance(a, Indicators) and isinstance(b, Indicators) and a.codes != b.codes:
            return False
    return True


def kind_of_map(features: Any) -> str:
    """What a map is called, without its numbers; None stands for the columns as they are.

    >>> from vrspam.features import KernelFeatures, LinearFeatures
    >>> kind_of_map(None), kind_of_map(LinearFeatures()), kind_of_map(KernelFeatures(bandwidth=0.3))
    ('linear', 'standardized', 'kernel')
    """
    if features is None:
        return "linear"
    return features.kind if isinstance(features, FeatureMap) else type(features).__name__
