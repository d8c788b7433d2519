"""What all feature maps share: reading columns, transforming in blocks, names, storing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from vrspam._utils.docstrings import share_texts
from vrspam._utils.messages import Parameter, WordedError
from vrspam._utils.parameters import Interval, check_parameters, checks_parameters, links_to_documentation
from vrspam._utils.validation import check_columns, check_weights, column_names, counted_rows
from vrspam._utils.warnings import CategoriesGrouped, warn
from vrspam.features import encoders, parts
from vrspam.moments import CodedRows, Indicated, LastProduct
from vrspam.objective import Limits
from vrspam.penalties.shaped import Rising
from vrspam.tables import frames

MANY_CATEGORIES = 32  # with so many or more, products with the indicators of a column use codes
Places = slice | np.ndarray  # of features

share_map_texts = share_texts("""
max_categories : int, default=1000
    If a column has more categories, the most frequent are kept and the others count as one category.
max_rows : int, default=50_000
    Quantiles come from at most this many rows; the trees learn from all rows.
groves_ : list of TreePart
    For each set of training rows its trees, with the values of their leaves: one feature for each set.
numbers_as_names_ : list
    Columns whose numbers most sets of trees treat as names, and how many different numbers each column has.
encoders_ : list
    How each column is encoded: as places among its quantiles, or as categories.
column_slices_ : list of slice
    Where the encoded values of each column are.
grouped_categories_ : list
    Columns of more than `max_categories` categories: their names, and how many were kept and grouped.
n_rows_held_ : int
    Number of training rows that the map stores: its landmarks if these are rows, otherwise 0.
n_features_in_, n_features_out_ : int
    Number of columns, and number of features.
""")


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
    encoders_: list[encoders.Encoder]
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

    def _curves(self, seen: encoders.Distribution, missing: bool) -> encoders.Curves:
        """Return the functions of a numeric column with this distribution: here none, only the nodes of trees."""
        return encoders.Curves(seen.values, np.empty((seen.values.size, 0)), (), missing)

    def _rising(self, seen: encoders.Distribution, missing: bool) -> encoders.Curves:
        """Return the functions of a numeric column that must rise or fall."""
        return self._curves(seen, missing)

    @property
    def _signs(self) -> np.ndarray:
        """-1, 0 or 1 for each column."""
        given = [0] * self.n_features_in_ if self.monotonic_cst is None else self.monotonic_cst
        if np.shape(given) != (self.n_features_in_,) or not np.isin(given, (-1, 0, 1)).all():
            raise ValueError(f"monotonic_cst must hold -1, 0 or 1 for each of the {self.n_features_in_} columns.")
        return np.asarray(given)

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
        lower, upper, curves = np.full(n_features, -np.inf), np.full(n_features, np.inf), []
        for encoder, where, sign in zip(self.encoders_, self.column_slices_, self._signs.tolist(), strict=True):
            if not sign:
                continue
            if isinstance(encoder, encoders.Indicators):  # differences from the level before; the first level is free
                scale = np.array(encoder.scale or (1.0,) * encoder.width)[: len(encoder.categories)]
                rows = np.diag(sign * scale) - np.diag(sign * scale[:-1], -1)
                rising = Rising(slice(where.start, where.start + scale.size), rows, np.arange(scale.size) > 0)
                curves += [rising] if scale.size > 1 else []
            elif encoder.rising is not None:
                stop, bound = where.start + encoder.table.shape[1], np.ones(encoder.table.shape[1], dtype=bool)
                curves.append(Rising(slice(where.start, stop), sign * encoder.rising, bound))
            else:
                (lower if sign > 0 else upper)[where.start] = 0.0
        return Limits(lower, upper, curves)

    def blocks(self) -> list[parts.Block]:
        """Return the features of the fitted map as blocks, in order: functions of single columns, kernels, trees."""
        return [parts.ColumnBlock(self.encoders_)]

    def _places(self) -> Iterator[tuple[parts.Block, int, slice]]:
        """Yield each block, the number of its column (0 for all columns together), and where the features are."""
        stop = 0
        for block in self.blocks():
            widths = [one.width for one in block.encoders]
            if not isinstance(block, parts.ColumnBlock):
                widths = [block.coef.shape[-1]]
            for j, width in enumerate(widths):
                start, stop = stop, stop + width
                yield block, j, slice(start, stop)

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

    def parts(self, coef: np.ndarray) -> parts.Parts:
        """Return the parts of the score with these coefficients of the features, or of m scores (features × m)."""
        effects: list[parts.Effect | None] = [None] * self.n_features_in_
        kernels, trees = [], []
        for block, j, where in self._places():
            own = coef[where]
            if isinstance(block, parts.KernelPart):
                kernels.append(replace(block, coef=block.coef @ own))
            elif isinstance(block, parts.TreePart):
                trees.append(replace(block, coef=block.coef @ own))
            else:
                own, encoder = own if block.scale == 1.0 else block.scale * own, block.encoders[j]
                kind: Any = parts.Curve if isinstance(encoder, encoders.Curves) else parts.Table
                new = kind.of(encoder, own)
                effects[j] = new if effects[j] is None else effects[j] + new
        return parts.Parts(tuple(effects), tuple(kernels), tuple(parts.joined(trees)))

    @property
    def keeps_columns_apart(self) -> bool:
        """Whether each feature is a function of one column; maps of a stack must encode the same categories."""
        if not all(isinstance(block, parts.ColumnBlock) for block in self.blocks()):
            return False
        for first, *others in zip(*(part.encoders_ for part in self.members), strict=True):
            for one in others:
                alike = type(one) is type(first) and one.missing == first.missing
                if not alike or getattr(one, "codes", None) != getattr(first, "codes", None):
                    return False
        return True

    def feature_places(self) -> tuple[list[Places], slice | None]:
        """Where the features of each single column are (an empty list if there are none), and those of several."""
        alone: list[Places] = [where for block, _, where in self._places() if isinstance(block, parts.ColumnBlock)]
        together = [where for block, _, where in self._places() if not isinstance(block, parts.ColumnBlock)]
        return alone, slice(together[0].start, together[-1].stop) if together else None

    @property
    def numeric_columns(self) -> list[bool]:
        """Whether each column holds numbers; the others hold categories."""
        return [isinstance(encoder, encoders.Curves) for encoder in self.members[0].encoders_]

    def is_finer(self, other: FeatureMap) -> bool:
        """Whether this map differs from another only in showing finer detail."""
        return False

    @property
    def n_rows_held_(self) -> int:
        """Number of training rows that the fitted map stores, and a model file with it.

        Rows of maps of a stack with the same landmarks count once.
        """
        drawn = [part.landmarks_ for part in self.members if getattr(part, "landmarks", "columns") == "rows"]
        return sum({own.tobytes(): len(own) for own in drawn}.values())

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
                X, sample_weight = frames.rows_of(X, counted), sample_weight[counted]
                y = None if y is None else np.asarray(y)[counted]
        self.learn(X, sample_weight)
        self.learn_labels(X, y, sample_weight)
        for said in [*self.grouped_categories_, *getattr(self, "numbers_as_names_", ())]:
            warn(said)
        return self

    def learn_labels(self, X, y, sample_weight=None) -> None:
        """Learn from labels, after `learn`; only supervised maps do so."""

    @checks_parameters(skip_nested=True)
    def learn(self, X, sample_weight=None, shared: encoders.SharedColumns | None = None) -> None:
        """Fit without labels and warnings; maps that learn from the same X and weights may have the same `shared`."""
        X = self._check(X, reset=True)
        rng = check_random_state(self.random_state)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, X.shape[0])
            rows = np.flatnonzero(weights)
            if rows.size < X.shape[0]:
                X, weights = frames.rows_of(X, rows), weights[rows]
        self._n_rows, some = X.shape[0], None
        if X.shape[0] > self.max_rows:
            some = np.sort(rng.choice(X.shape[0], self.max_rows, replace=False))
        signs = self._signs
        settings = (self.max_categories, None if some is None else some.tobytes(), signs.tobytes())
        shared = {} if shared is None else shared
        if settings not in shared:
            columns: Any = sparse.csc_array(X) if sparse.issparse(X) else frames.columns_of(X)
            found: list[encoders.ColumnSummary] = []
            for j, numeric in enumerate(frames.numeric_flags(X)):
                if numeric:
                    found.append(encoders.see_numbers(columns, j, weights, some))
                else:
                    levels = frames.levels(columns, j) if signs[j] else ()
                    if signs[j] and not levels:
                        words = "{cst} is given for {column!r}, whose categories have no order: make it an ordered "
                        words += "type, as pandas.Categorical(values, categories, ordered=True), or use 0 for it."
                        name = frames.named_column(columns, j)[0]
                        raise WordedError(words, cst=Parameter("monotonic_cst"), column=name)
                    found.append(encoders.see_categories(columns, j, weights, self.max_categories, levels))
            shared[settings] = encoders.SeenColumns(found, {})
        seen = shared[settings]
        if some is not None:
            X, weights = frames.rows_of(X, some), None if weights is None else weights[some]
        self._learn(X, seen, rng, weights)

    def _learn(self, X, seen: encoders.SeenColumns, rng: np.random.RandomState, weights: np.ndarray | None) -> None:
        """Learn the map from the summaries of the columns; landmarks and trees are drawn from the weighted rows X."""
        self._n_curved = 0  # numeric columns of more than two values
        for column in seen.columns:
            self._n_curved += not isinstance(column, encoders.Indicators) and column[0].values.size > 2
        signs = self._signs.tolist()
        encoding = (type(self), *signs, *(getattr(self, name) for name in self._encoded_by or ()))
        if self._encoded_by is not None and encoding in seen.encoders:
            self.encoders_ = list(seen.encoders[encoding])
            return
        self.encoders_ = []
        for column, sign in zip(seen.columns, signs, strict=True):
            if not isinstance(column, encoders.Indicators):
                self.encoders_.append(self._rising(*column) if sign else self._curves(*column))
            elif self._category_scale is None:
                self.encoders_.append(column)
            else:
                scale = () if self._category_scale == 1.0 else (self._category_scale,) * column.width
                self.encoders_.append(replace(column, scale=scale))
        seen.encoders[encoding] = list(self.encoders_)

    @property
    def grouped_categories_(self) -> list[CategoriesGrouped]:
        """Columns of more than `max_categories` categories: their names, and how many were kept and grouped."""
        names = list(map(str, getattr(self, "feature_names_in_", range(self.n_features_in_))))
        found = dict[int, CategoriesGrouped]()  # in a stack, those of the first map that groups the column
        for part in self.members:
            for j, encoder in enumerate(part.encoders_):
                if isinstance(encoder, encoders.Indicators) and encoder.grouped:
                    found.setdefault(j, CategoriesGrouped(names[j], len(encoder.categories) - 1, encoder.grouped))
        return list(found.values())

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
        few_coefs = 8  # with at most this many columns of coefficients, rows are scored by `Parts.scores`
        check_is_fitted(self, "encoders_")
        X = self._check(X, reset=False)
        columns, blocks = coefs.reshape(len(coefs), -1), self.blocks()
        # for few rows of numbers, computing all features of a block at once is faster than column by column
        at_once = len(blocks) == 1 and isinstance(blocks[0], parts.ColumnBlock) and parts.can_pack(self.encoders_, X)
        at_once = at_once and X.shape[0] % frames.WHOLE_ROWS == 0  # otherwise equal rows may get unequal scores
        if columns.shape[1] <= few_coefs and not at_once:
            found = self.parts(columns).scores(X, columns.shape[1], single=True)
        else:
            if len(blocks) > 1 and frames.is_frame(X) and not isinstance(X, frames.HeldColumns):  # read again
                X = frames.HeldColumns.of(X, self.numeric_columns)
            found = self._many_products(X, columns)
        return found.reshape(X.shape[0], *coefs.shape[1:])

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
            if not reset and self._read_columns is not None:
                given, taken = list(frames.columns_of(X).names), list(self.feature_names_in_)
                if given != taken and set(given) & set(self._read_columns) - set(taken):
                    raise ValueError(
                        "This map takes the columns that its estimator made of the frame (dates in parts, text as "
                        f"numbers, no identifiers: {', '.join(map(str, taken))}), not the frame itself: give the "
                        "frame to the estimator's decision_function, predict_proba or explain_one."
                    )
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )

    @property
    def column_slices_(self) -> list[slice]:
        """Where the features of each column are."""
        stops = list(accumulate((encoder.width for encoder in self.encoders_), initial=0))
        return [slice(start, stop) for start, stop in pairwise(stops)]

    @property
    def n_features_out_(self) -> int:
        """Number of features."""
        return max((where.stop for _, _, where in self._places()), default=0)

    def dtype_of(self, X) -> np.dtype:
        """The type of the features of X, without computing any: float32 if all numbers of X are."""
        if frames.is_frame(X):
            return parts.read_columns(self.members[0].encoders_, frames.rows_of(X, slice(0, 1)))[1]
        return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    def _coded_rows(self, X) -> CodedRows:
        """The features of checked rows; columns of many categories stay codes, with scales rounded to the dtype."""
        if parts.can_pack(self.encoders_, X):
            dense = parts.encode(self.encoders_, X)
            return CodedRows(dense.shape[1], dense, [])
        columns, dtype = parts.read_columns(self.encoders_, X)
        indicated, written = [], []
        for where, encoder, values in zip(self.column_slices_, self.encoders_, columns, strict=True):
            if isinstance(encoder, encoders.Indicators) and encoder.width >= MANY_CATEGORIES:
                scale = np.array(encoder.scale or (1.0,) * encoder.width).astype(dtype)
                indicated.append(Indicated(where, values, scale.astype(np.float64)))
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
            if isinstance(block, parts.ColumnBlock):
                stop += sum(encoder.width for encoder in block.encoders)
                parts.encode(block.encoders, X, out[:, start:stop])
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
        return [n for encoder, column in zip(self.encoders_, columns, strict=True) for n in encoder.names(str(column))]
