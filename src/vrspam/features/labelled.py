"""Trees that learn from labels, for `BoostedFeatures` and `ForestFeatures`.

Such a map has one feature for each set of rows that its trees learnt from: the score of these trees. In
cross-validation each set leaves out two fifths of the rows, and the scorer of a fold is the mean of the features whose
sets leave it out: no row is scored by trees that saw its label (`vrspam.model_selection.bags`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, column_or_1d

from vrspam._utils.parameters import Interval
from vrspam._utils.validation import check_labels, check_weights
from vrspam._utils.warnings import NumbersAreNames
from vrspam.features.base import FeatureMap
from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.indicators import Indicators
from vrspam.features.encoders.reading import Encoder, places_of
from vrspam.features.number_names import RecurringNumbers, numbers_as_names, recurring_numbers
from vrspam.features.parts import MOST_DEPTH, Block, Parts, TreePart, Trees
from vrspam.features.scoring import PreparedParts, PreparedTrees
from vrspam.features.shares import order_categories
from vrspam.pairs import TWO_CLASSES, Pairs
from vrspam.tables import frames

PARTS = 5  # of the rows: statistics of categories for the rows of one part come from the other parts
ROUNDING_OF_SCORES = 1e-9  # a smaller spread of the scores of trees, logarithms of odds or shares, is rounding
MOST_TREES = 200  # that "auto" grows

Grower = Callable[[tuple[int, np.ndarray]], TreePart]  # takes the number of a set of rows, and the rows; returns trees


class GrownTrees(NamedTuple):
    """Trees that learnt from labels, as compiled code returns them: each array is trees × nodes, `values` × leaves."""

    columns: np.ndarray
    thresholds: np.ndarray
    absent_left: np.ndarray
    values: np.ndarray


class TrainingCodes(NamedTuple):
    """All rows as trees learn from them."""

    codes: np.ndarray  # (columns, rows): quantiles and categories; -1 where absent
    recurring: Mapping[int, RecurringNumbers]  # columns of numbers that may be names
    positive: np.ndarray
    weights: np.ndarray | None
    order: np.ndarray  # (rows,): random numbers that rows of one group share
    pairs: Pairs  # that count
    seed: int


class CodedColumn(NamedTuple):
    """A column as the trees of one set of rows learn from it."""

    encoder: Encoder
    codes: np.ndarray  # of the rows
    n_codes: int
    # the code of a category of mean share, where training had no absent value: new categories go there
    place_of_absent: int | None = None


class LabelledTrees(FeatureMap):
    """Base class of both maps. Categories are ordered by their share of positive rows, shrunken to that of all rows.

    In training, the share for a row comes from other parts of the rows, without the row's own label. A rare or unseen
    category is treated like a missing value or, if training had none, like a category of mean share. A column of
    numbers that are names, such as card numbers, is treated as categories.
    """

    supervised = True
    further = 0.3  # how scores of sets with few rows in common correlate, see `vrspam.model_selection.bags`
    groves_: list[TreePart]
    _encoded_by = ()
    _parameter_constraints: dict = {
        **FeatureMap._parameter_constraints,
        "n_trees": [Interval(Integral, 1, 10_000, closed="both")],
        "max_depth": [Interval(Integral, 1, MOST_DEPTH, closed="both")],
        "min_rows": [Interval(Integral, 1, None, closed="left")],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _grow_trees(self, codes, starts, positive, weights, n_trees, left_out, rng) -> GrownTrees:
        """Grow trees on rows with these codes.

        Trees do not learn from rows marked in `left_out`: the loss of these rows decides when there are enough trees.
        """
        raise NotImplementedError

    @property
    def numbers_as_names_(self) -> list[NumbersAreNames]:
        """Columns whose numbers most sets of trees treat as names, and how many different numbers each column has."""
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        warnings = []
        for j, name in enumerate(names):
            encoders = [grove.encoders[j] for grove in self.groves_]
            sizes = [one.nodes.size for one in encoders if isinstance(one, Curves) and one.names_as is not None]
            if 2 * len(sizes) > len(self.groves_):
                warnings.append(NumbersAreNames(str(name), sizes[0]))
        return warnings

    def learn_labels(self, X, y, sample_weight=None) -> None:
        """Grow the trees of all rows, after `learn`."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} learns from labels: it requires y to be passed, but the target y is None."
            )
        labels = column_or_1d(y, warn=True)
        check_labels(labels)
        check_consistent_length(X, labels)
        classes = np.unique(labels)
        if classes.size < 2:
            raise ValueError(f"{type(self).__name__} needs labels of two classes, and y has one class alone.")
        weights = None if sample_weight is None else check_weights(sample_weight, labels.size)
        grow = self.grower(X, labels == classes[-1], weights)
        self.groves_ = [grow((0, np.arange(labels.size)))]

    def grower(
        self,
        X,
        positive: np.ndarray,
        weights: np.ndarray | None,
        groups: np.ndarray | None = None,
        pairs: Pairs = TWO_CLASSES,
    ) -> Grower:
        """Return a function that grows the trees of some of these rows; several threads may call it.

        Statistics of categories for the rows of a group come from other groups. `pairs` say which label and weight
        a row has among the others of its set.
        """
        X = self._check(X, reset=False)
        n = X.shape[0]
        codes = self._codes(X)
        rng = check_random_state(self.random_state)
        units = np.arange(n) if groups is None else groups
        order = rng.permutation(int(units.max()) + 1)[units]
        recurring = recurring_numbers(X, self.encoders_)
        seed = int(rng.randint(2**31 - 1))
        training = TrainingCodes(codes, recurring, positive, weights, order, pairs, seed)
        return partial(self._grow, training, self._count_trees(training))

    def _codes(self, X) -> np.ndarray:
        """Rows as trees take them: columns × rows; rare categories and missing values count as absent."""
        n = X.shape[0]
        d = len(self.encoders_)
        widest = max(one.nodes.size if isinstance(one, Curves) else one.width for one in self.encoders_)
        codes = np.empty((d, n), dtype=np.int16 if widest < 2**15 - 2 else np.int32)
        for rows in frames.blocks(n, d):
            codes[:, rows] = places_of(self.encoders_, frames.rows_of(X, rows))[0].T
        for j, encoder in enumerate(self.encoders_):
            if isinstance(encoder, Indicators):
                codes[j, codes[j] >= count_named(encoder)] = -1
        return codes

    def _count_trees(self, training: TrainingCodes) -> int:
        """The number of trees of each set of rows; "auto" may grow some to find out."""
        if not isinstance(self.n_trees, str):
            return self.n_trees
        n = training.positive.size
        if not 12_500 <= n < 50_000:
            return 100
        sample = np.arange(0, n, -(-n // 25_000))  # 25,000 rows at most
        return len(self._grow(training, None, (0, sample)).coef)

    def _grow(
        self,
        training: TrainingCodes,
        n_trees: int | None,  # None: the loss of a tenth of the rows, or of the groups, decides
        numbered_rows: tuple[int, np.ndarray],
    ) -> TreePart:
        number, rows = numbered_rows
        target, weights = training.pairs.tree_targets(training.positive, training.weights, rows)
        if weights is not None:
            rows = rows[weights[rows] > 0.0]
        target = target[rows].astype(np.float64)
        mass = np.ones(rows.size) if weights is None else weights[rows] / weights[rows].mean()
        columns = self._code_columns(training, rows, target, mass)
        codes = np.stack([column.codes for column in columns])
        starts = np.concatenate([[0], np.cumsum([column.n_codes + 1 for column in columns])])
        left_out = np.zeros(rows.size, dtype=bool)
        if n_trees is None:
            left_out = 10 * training.order[rows] <= training.order.max()
        rng = np.random.RandomState((training.seed + number) % 2**32)
        grown = self._grow_trees(codes, starts, target, mass, n_trees or MOST_TREES, left_out, rng)
        values = grown.values
        if float(np.ptp(values, axis=1).sum()) <= ROUNDING_OF_SCORES:
            values = np.zeros_like(values)  # no split, or splits between sides that differ by rounding
        absent_left = grown.absent_left
        for j, column in enumerate(columns):
            if column.place_of_absent is not None:
                here = grown.columns == j
                absent_left[here] = column.place_of_absent <= grown.thresholds[here]
        trees = Trees(grown.columns, grown.thresholds, np.zeros_like(grown.columns), absent_left)
        return TreePart([column.encoder for column in columns], trees, values[:, :, np.newaxis])

    def _code_columns(
        self, training: TrainingCodes, rows: np.ndarray, target: np.ndarray, mass: np.ndarray
    ) -> list[CodedColumn]:
        """The columns as the trees of some rows learn from them: categories, and names, ordered by their shares."""
        parts = training.order[rows] % PARTS
        columns: list[CodedColumn] = []
        for j, (encoder, sign) in enumerate(zip(self.encoders_, self._signs, strict=True)):
            codes = training.codes[j, rows]
            if isinstance(encoder, Indicators) and sign:  # in their own order
                own_order = Indicators(encoder.categories, missing=False)
                columns.append(CodedColumn(own_order, codes, len(encoder.categories)))
            elif isinstance(encoder, Indicators):
                columns.append(code_categories(encoder, codes, target, mass, parts))
            elif j in training.recurring and not sign:
                columns.append(code_names(encoder, codes, training.recurring[j], rows, target, mass, parts))
            else:
                columns.append(CodedColumn(encoder, codes, encoder.nodes.size + 1))
        return columns

    def blocks(self) -> list[Block]:
        """Return the features of the fitted map as blocks: the scores of the trees of each set of rows."""
        return list(getattr(self, "groves_", ()))

    def scores_by(self, number: int, X) -> np.ndarray:
        """The scores of rows by the trees of one set of rows, in double."""
        X = self._check(X, reset=False)
        parts = Parts((None,) * self.n_features_in_, (), (one_score(self.groves_[number]),))
        return PreparedParts(parts).scores(X)[:, 0]

    def _write_block(self, X, out: np.ndarray) -> None:
        out[:] = 0.0
        for number, grove in enumerate(self.groves_):
            PreparedTrees(one_score(grove)).add_to(out[:, number : number + 1], X)

    def _block_products(self, X, coefs: np.ndarray) -> np.ndarray:
        features = np.empty((X.shape[0], len(self.groves_)), dtype=self.dtype_of(X))
        self._write_block(X, features)
        return features @ coefs.astype(features.dtype, copy=False)

    def _feature_names(self, columns: Sequence[Any]) -> list[str]:
        return [f"{self.kind}{number}" for number in range(len(self.groves_))]


def one_score(grove: TreePart) -> TreePart:
    """The trees of one set of rows as a part of a single score."""
    return grove._replace(coef=grove.coef[:, :, 0])


def count_named(encoder: Indicators) -> int:
    """The number of categories that have a name: the last one may stand for all rare ones."""
    return len(encoder.categories) - bool(encoder.grouped)


def code_categories(
    encoder: Indicators, codes: np.ndarray, target: np.ndarray, mass: np.ndarray, parts: np.ndarray
) -> CodedColumn:
    """Categories in the order of their shares of positive rows."""
    width = count_named(encoder)
    ordered = order_categories(codes, target, mass, width, parts)
    categories = tuple(encoder.categories[code] for code in ordered.order)
    return CodedColumn(
        Indicators(categories, missing=False), ordered.of_rows, width, place_of_absent(ordered.of_rows, ordered.of_mean)
    )


def code_names(
    encoder: Curves,
    codes: np.ndarray,
    recurring: RecurringNumbers,
    rows: np.ndarray,
    target: np.ndarray,
    mass: np.ndarray,
    parts: np.ndarray,
) -> CodedColumn:
    """Numbers that are names in the order of their shares of positive rows; other numbers as they are."""
    n_bins = encoder.nodes.size + 1
    names = numbers_as_names(recurring.values.size, recurring.places[rows], codes, n_bins, target, mass, parts)
    if names is None:
        return CodedColumn(encoder, codes, n_bins)
    no_functions = np.empty((recurring.values.size, 0))
    named = Curves(recurring.values, no_functions, (), encoder.missing, names_as=names.of_values)
    # the code of a row, which comes from other rows, may be larger than that of any number
    n_codes = 1 + max(int(names.of_values.max()), int(names.of_rows.max(initial=0)))
    return CodedColumn(named, names.of_rows, n_codes, place_of_absent(names.of_rows, names.of_mean))


def place_of_absent(codes: np.ndarray, of_mean: int) -> int | None:
    """Where new categories go: to the mean share, unless rows without a category taught the trees a side."""
    return of_mean if codes.min(initial=0) >= 0 else None
