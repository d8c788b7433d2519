"""`BoostedFeatures` and `ForestFeatures`: scores of trees that learn from labels.

Such a map has one feature for each set of rows that its trees learnt from: the score of these trees. In
cross-validation each set leaves out two fifths of the rows, and the scorer of a fold is the mean of the features whose
sets leave it out: no row is scored by trees that saw its label (`vrspam.model_selection.bags`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, column_or_1d

from vrspam import kernels
from vrspam._utils.parameters import Interval, StrOptions
from vrspam._utils.validation import check_labels, check_weights
from vrspam._utils.warnings import NumbersAreNames
from vrspam.features.base import FeatureMap, share_map_texts
from vrspam.features.encoders import N_NODES, Curves, Indicators
from vrspam.features.parts import MOST_DEPTH, TREE_ARRAYS, Block, Parts, TreePart, places_of
from vrspam.metrics import roc_auc_columns
from vrspam.pairs import TWO_CLASSES, Pairs
from vrspam.tables import frames

SHRINKAGE = 10.0  # rows of mean label that are added to those of each category
PARTS = 5  # of the rows: statistics of categories for the rows of one part come from the other parts
MOST_HISTOGRAMS = 1 << 28  # bytes of the histograms of the nodes of a tree
ROUNDING_OF_SCORES = 1e-9  # a smaller spread of the scores of trees, logarithms of odds or shares, is rounding
FEW_COLUMNS = 200  # up to so many, every tree may split all of them

Grower = Callable[[tuple[int, np.ndarray]], TreePart]  # takes the number of a set of rows, and the rows; returns trees


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

    def _grow_trees(self, codes, starts, positive, weights, n_trees, out, rng) -> tuple[np.ndarray, ...]:
        """Columns, thresholds, sides of absent values and values of leaves, for rows with these codes.

        Trees do not learn from rows marked in `out`: the loss of these rows decides when there are enough trees.
        """
        raise NotImplementedError

    @property
    def numbers_as_names_(self) -> list[NumbersAreNames]:
        """Columns whose numbers most sets of trees treat as names, and how many different numbers each column has."""
        names, found = getattr(self, "feature_names_in_", range(self.n_features_in_)), []
        for name, own in zip(names, zip(*(grove.encoders for grove in self.groves_), strict=True), strict=True):
            sizes = [one.nodes.size for one in own if isinstance(one, Curves) and one.names_as is not None]
            if 2 * len(sizes) > len(self.groves_):
                found.append(NumbersAreNames(str(name), sizes[0]))
        return found

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
        self.groves_ = [self.grower(X, labels == classes[-1], weights)((0, np.arange(labels.size)))]

    def grower(
        self,
        X,
        positive: np.ndarray,
        weights: np.ndarray | None,
        groups: np.ndarray | None = None,
        pairs: Pairs = TWO_CLASSES,
    ) -> Grower:
        """Return a function that grows the trees of some of these rows; several threads may call it.

        Statistics of categories for the rows of a group come from other groups. With `pairs` of rows, the label of a
        row is the share of its pairs among these rows in which it is the upper one; its weight is that of the pairs.
        """
        X = self._check(X, reset=False)
        n, d = X.shape[0], len(self.encoders_)
        widest = max(one.nodes.size if isinstance(one, Curves) else one.width for one in self.encoders_)
        codes = np.empty((d, n), dtype=np.int16 if widest < 2**15 - 2 else np.int32)
        for rows in frames.blocks(n, d):
            codes[:, rows] = places_of(self.encoders_, frames.rows_of(X, rows))[0].T
        for j, encoder in enumerate(self.encoders_):
            if isinstance(encoder, Indicators):  # rare categories and missing values count as absent
                codes[j, codes[j] >= len(encoder.categories) - bool(encoder.grouped)] = -1
        rng = check_random_state(self.random_state)
        unit = np.arange(n) if groups is None else groups
        order = rng.permutation(int(unit.max()) + 1)[unit]
        numbers = recurring_numbers(X, self.encoders_)
        grow = partial(self._grow, codes, numbers, positive, weights, order, pairs, int(rng.randint(2**31 - 1)))
        n_trees = self.n_trees
        if isinstance(n_trees, str):  # "auto"
            n_trees = 100
            if 12_500 <= n < 50_000:
                n_trees = len(grow(None, (0, np.arange(0, n, -(-n // 25_000)))).coef)  # 25,000 rows at most
        return partial(grow, n_trees)

    def _grow(
        self,
        codes: np.ndarray,
        numbers: Mapping[int, tuple[np.ndarray, np.ndarray]],
        positive: np.ndarray,
        weights: np.ndarray | None,
        order: np.ndarray,
        pairs: Pairs,
        seed: int,
        n_trees: int | None,  # None: the loss of a tenth of the rows, or of the groups, decides
        given: tuple[int, np.ndarray],
    ) -> TreePart:
        number, rows = given
        positive, weights = pairs.tree_targets(positive, weights, rows)
        if weights is not None:
            rows = rows[weights[rows] > 0.0]
        own, target = np.ascontiguousarray(codes[:, rows]), positive[rows].astype(np.float64)
        mass = np.ones(rows.size) if weights is None else weights[rows] / weights[rows].mean()
        encoders, sizes, middles, parts = list(self.encoders_), [], {}, order[rows] % PARTS
        for j, encoder in enumerate(self.encoders_):
            if isinstance(encoder, Indicators) and self._signs[j]:  # in their own order
                encoders[j] = Indicators(encoder.categories, missing=False)
                width, middle = len(encoder.categories), None
            elif isinstance(encoder, Indicators):
                width = len(encoder.categories) - bool(encoder.grouped)
                places, own[j], middle = order_categories(own[j], target, mass, width, parts)
                encoders[j] = Indicators(tuple(encoder.categories[code] for code in places), missing=False)
            else:
                width, middle = encoder.nodes.size + 1, None
                if j in numbers and not self._signs[j]:
                    values, places = numbers[j][0], numbers[j][1][rows]
                    named = numbers_as_names(values, places, own[j], width, target, mass, parts)
                    if named is not None:
                        code_of, own[j], middle = named
                        encoders[j] = Curves(values, np.empty((values.size, 0)), (), encoder.missing, names_as=code_of)
                        # the code of a row, which comes from other rows, may be larger than that of any number
                        width = 1 + max(int(code_of.max()), int(own[j].max(initial=0)))
            sizes.append(width)
            if middle is not None and own[j].min(initial=0) >= 0:
                middles[j] = middle
        starts = np.concatenate([[0], np.cumsum(np.array(sizes) + 1)])
        rng = np.random.RandomState((seed + number) % 2**32)
        out = 10 * order[rows] <= order.max() if n_trees is None else np.zeros(rows.size, dtype=bool)
        columns, thresholds, sides, values = self._grow_trees(own, starts, target, mass, n_trees or 200, out, rng)
        if float(np.ptp(values, axis=1).sum()) <= ROUNDING_OF_SCORES:
            values = np.zeros_like(values)  # no split, or splits between sides that differ by rounding
        for j, middle in middles.items():
            here = columns == j
            sides[here] = middle <= thresholds[here]
        arrays = (columns, thresholds, np.zeros_like(columns), sides)
        return TreePart(encoders, dict(zip(TREE_ARRAYS, arrays, strict=True)), None, values[:, :, np.newaxis])

    def blocks(self) -> list[Block]:
        """Return the features of the fitted map as blocks: the scores of the trees of each set of rows."""
        return list(getattr(self, "groves_", ()))

    def scores_by(self, number: int, X) -> np.ndarray:
        """The scores of rows by the trees of one set of rows, in double."""
        X, grove = self._check(X, reset=False), self.groves_[number]
        return Parts((None,) * self.n_features_in_, (), (replace(grove, coef=grove.coef[:, :, 0]),)).scores(X)[:, 0]

    def _write_block(self, X, out: np.ndarray) -> None:
        out[:] = 0.0
        for number, grove in enumerate(self.groves_):
            replace(grove, coef=grove.coef[:, :, 0]).add_to(out[:, number : number + 1], X)

    def _block_products(self, X, coefs: np.ndarray) -> np.ndarray:
        features = np.empty((X.shape[0], len(self.groves_)), dtype=self.dtype_of(X))
        self._write_block(X, features)
        return features @ coefs.astype(features.dtype, copy=False)

    def _feature_names(self, columns: Sequence[Any]) -> list[str]:
        return [f"{self.kind}{number}" for number in range(len(self.groves_))]


def order_categories(
    codes: np.ndarray, target: np.ndarray, weights: np.ndarray, width: int, parts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Categories in the order of their shrunken shares of positive rows, and the place of each row in this order.

    The place of a row comes from rows of other `parts`; -1 stays -1. The third value is the place of the mean share.
    """
    share, others, mean = category_shares(codes, target, weights, width, parts)
    order = np.argsort(share, kind="stable")
    between = (share[order][1:] + share[order][:-1]) / 2.0
    places = np.where(codes >= 0, np.searchsorted(between, others), -1).astype(codes.dtype)
    return order, places, int(np.searchsorted(between, mean))


def category_shares(
    codes: np.ndarray, target: np.ndarray, weights: np.ndarray, width: int, parts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Shrunken shares of positive rows: of each category, for each row (from rows of other `parts`); and the mean.

    Rows without a category, of code -1, get the mean.
    """
    known = codes >= 0
    cells = parts[known] * width + codes[known].astype(np.int64)
    shape = (int(parts.max(initial=0)) + 1, width)
    mass = np.bincount(cells, weights[known], shape[0] * width).reshape(shape)
    hits = np.bincount(cells, (weights * target)[known], shape[0] * width).reshape(shape)
    mean = float(weights @ target / weights.sum())
    share = (hits.sum(axis=0) + SHRINKAGE * mean) / (mass.sum(axis=0) + SHRINKAGE)
    elsewhere = (hits.sum(axis=0) - hits + SHRINKAGE * mean) / (mass.sum(axis=0) - mass + SHRINKAGE)
    others = np.full(codes.size, mean)
    others[known] = elsewhere.ravel()[cells]
    return share, others, mean


def recurring_numbers(X, encoders: Sequence[Any], drawn: int = 4096) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Columns of recurring whole numbers, more than `N_NODES` different ones: their values, and the place of each row.

    The place of a missing value is -1. `drawn` rows rule out most other columns at little cost.
    """
    columns = sparse.csc_array(X) if sparse.issparse(X) else frames.columns_of(X)
    some, found = np.random.RandomState(0).permutation(X.shape[0])[:drawn], {}
    for j, encoder in enumerate(encoders):
        if isinstance(encoder, Curves):
            values = frames.numbers(columns, j)
            different = np.unique(values[some])
            known = ~np.isnan(values)
            whole = (different == np.floor(different)) | np.isnan(different)
            if not (N_NODES < different.size <= 0.99 * some.size and whole.all()):
                continue
            levels, places = np.unique(values[known].astype(np.float64), return_inverse=True)
            if np.array_equal(levels, np.floor(levels)) and np.abs(levels).max() < 2.0**53:
                of_rows = np.full(values.size, -1, dtype=np.int32)
                of_rows[known] = places
                found[j] = levels, of_rows
    return found


def numbers_as_names(
    values: np.ndarray,
    places: np.ndarray,
    bins: np.ndarray,
    n_bins: int,
    target: np.ndarray,
    weights: np.ndarray,
    parts: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Codes of the numbers, of the rows, and of the mean share, in the order of the shares of positive rows; or None.

    The code of a row comes from rows of other `parts`. Numbers are names if shares of equal numbers rank the rows
    better than shares of near numbers (`bins`), by 0.04 of AUC and by five standard errors; otherwise return None.
    """
    known = places >= 0
    share, others, mean = category_shares(places, target, weights, values.size, parts)
    near = category_shares(bins, target, weights, n_bins, parts)[1]
    positive = target[known] > mean
    sizes = np.maximum([positive.sum(), (~positive).sum()], 1)
    aucs = roc_auc_columns(positive, np.stack([others, near], axis=1)[known], weights[known])
    if not aucs[0] - aucs[1] > max(0.04, 5.0 * float(np.sqrt((1.0 / sizes).sum() / 12.0))):
        return None
    edges = np.unique(np.quantile(others[known], np.linspace(0.0, 1.0, N_NODES)[1:-1], method="inverted_cdf"))
    codes = [np.searchsorted(edges, one) for one in (share, others, mean)]
    return codes[0].astype(np.int32), np.where(known, codes[1], -1).astype(bins.dtype), int(codes[2])


@share_map_texts
class BoostedFeatures(LabelledTrees):
    """The score of boosted trees, which learn from labels.

    Trees are added one after the other, each fitted to the gradient of the logistic loss of the trees before it, as in
    scikit-learn's `HistGradientBoostingClassifier`; both grow the same trees on columns of numbers with at most 255
    different values. Numbers are split at their quantiles, and missing values go to the side with the larger gain.
    Categories are ordered by their shrunken share of positive rows; in training, the share for a row leaves out its
    own label.

    In `AUCClassifierCV` each of ten sets of trees is grown without two of five parts of the rows (the folds). A
    held-out row is scored by the mean of the four sets without its part, the model is the mean of all ten. Where folds
    leave out some rows more often than others, as in time, each has three sets of two thirds of its training rows, and
    the model is the mean of sets of as many rows.

    Parameters
    ----------
    n_trees : int or "auto", default="auto"
        "auto" is 100 below 12,500 rows and from 50,000 rows on. In between, 100 trees are first grown on nine tenths of
        25,000 rows at most, then 25 more as long as the last 25 lowered the logistic loss of the other tenth by 1 %, up
        to 200; this number is used for all sets of rows.
    learning_rate : float or "auto", default="auto"
        Factor by which each tree is multiplied. "auto" is 0.075 up to 1,500 rows, and grows with the fourth root of the
        number of rows up to 0.1.
    max_leaves : int or "auto", default="auto"
        Maximum number of leaves of a tree; the leaf with the largest gain is split next. "auto" is 8 up to 1,500 rows,
        and grows with the square root of the number of rows up to 31.
    max_depth : int, default=10
        Maximum number of splits from the root to a leaf.
    min_rows : int, default=10
        Minimum number of rows in a leaf.
    max_categories : int, default=1000
        If a column has more categories, the most frequent are kept and the others count as missing.
    {max_rows}
    random_state : int, RandomState or None, default=None
        Controls the random choice of rows for quantiles, of parts of the rows for statistics of categories and, with
        more than 200 columns, of the columns that a tree may split.
    monotonic_cst : array-like of -1, 0 and 1, or None, default=None
        For each column whether the score must rise (1) or fall (-1) with it, or is free (0). As in scikit-learn, values
        below a split of such a column stay on their side of the midpoint between the two values of the split.

    Attributes
    ----------
    {groves_, numbers_as_names_}
    {encoders_, column_slices_, grouped_categories_, n_rows_held_, n_features_in_}

    References
    ----------
    J. H. Friedman. Greedy function approximation: a gradient boosting machine. Annals of Statistics 29, 2001.
    G. Ke et al. LightGBM: a highly efficient gradient boosting decision tree. NIPS 2017.
    D. Micci-Barreca. A preprocessing scheme for high-cardinality categorical attributes. SIGKDD Explorations 3, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import AUCClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (4000, 6))
    >>> y = X[:, :3].sum(axis=1) % 2  # the parity of three bits
    >>> model = AUCClassifierCV(features="boosted", random_state=0).fit(X, y)
    >>> print(f"{model.best_score_:.2f}")
    1.00
    """

    gains_by_rows = True
    further = 0.5
    _parameter_constraints: dict = {
        **LabelledTrees._parameter_constraints,
        "n_trees": [*LabelledTrees._parameter_constraints["n_trees"], StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
        "max_leaves": [Interval(Integral, 2, 4096, closed="both"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        n_trees="auto",
        learning_rate="auto",
        max_leaves="auto",
        max_depth=10,
        min_rows=10,
        max_categories=1000,
        max_rows=50_000,
        random_state=None,
        monotonic_cst=None,
    ):
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.min_rows = min_rows
        self.max_categories = max_categories
        self.max_rows = max_rows
        self.random_state = random_state
        self.monotonic_cst = monotonic_cst

    def _grow_trees(self, codes, starts, positive, weights, n_trees, out, rng) -> tuple[np.ndarray, ...]:
        (d, n), (rate, leaves) = codes.shape, (self.learning_rate, self.max_leaves)
        rate = float(np.clip(0.075 * (n / 1_500) ** 0.25, 0.075, 0.1)) if isinstance(rate, str) else float(rate)
        leaves = int(np.clip(8.0 * (n / 1_500) ** 0.5, 8, 31)) if isinstance(leaves, str) else leaves
        leaves = min(leaves, 2**self.max_depth)
        tried = np.broadcast_to(np.arange(d), (n_trees, 1, d))
        if d > FEW_COLUMNS:
            some = max(FEW_COLUMNS, d // 4)
            tried = np.stack([np.sort(rng.permutation(d)[:some])[np.newaxis] for _ in range(n_trees)])
        slots = leaves + 1 if 24 * int(starts[-1]) * (leaves + 1) <= MOST_HISTOGRAMS else 1
        share = float(np.clip(weights @ positive / weights.sum(), 1e-12, 1.0 - 1e-12))
        raw, grown, loss = np.full(n, np.log(share / (1.0 - share))), [], np.inf
        for some in np.split(tried, range(75, n_trees, 25)) if out.any() else [tried]:
            new = kernels.grow_labelled_trees(
                codes, starts, np.flatnonzero(~out)[np.newaxis], positive, weights, np.ascontiguousarray(some), leaves,
                self.max_depth, self.min_rows, 0.0, rate, raw, slots,
                self._signs if self._signs.any() else self._signs[:0],
            )  # fmt: skip
            grown.append(new)
            if out.any():
                at = kernels.tree_leaves(codes[:, out].T.copy(), new[0], new[1], np.zeros_like(new[0]), new[2])
                raw[out] += np.take_along_axis(new[3], at.T, axis=1).sum(axis=0)
                losses = np.logaddexp(0.0, raw[out]) - positive[out] * raw[out]
                before, loss = loss, float(weights[out] @ losses)
                if loss > 0.99 * before:
                    break
        return tuple(map(np.concatenate, zip(*grown, strict=True)))


@share_map_texts
class ForestFeatures(LabelledTrees):
    """The score of a random forest, which learns from labels: the mean over trees of the share of positive rows.

    Each tree is grown on a bootstrap sample of the rows; each node tries about √(number of columns) columns; both
    classes have the same total weight. Numbers are split at their quantiles, and missing values go to the side with the
    larger gain. Categories are ordered, and trees of folds are used, as in `BoostedFeatures`.

    Parameters
    ----------
    n_trees : int, default=25
        Trees for each set of rows: with five folds the model has 250.
    max_depth : int, default=8
        Maximum number of splits from the root to a leaf.
    min_rows : int, default=3
        Minimum number of rows in a leaf.
    max_categories : int, default=1000
        If a column has more categories, the most frequent are kept and the others count as missing.
    {max_rows}
    random_state : int, RandomState or None, default=None
        Controls the random choice of rows for quantiles, of parts of the rows for statistics of categories, of the rows
        of each tree, and of the columns that each node tries.

    Attributes
    ----------
    {groves_, numbers_as_names_}
    {encoders_, column_slices_, grouped_categories_, n_rows_held_, n_features_in_}

    References
    ----------
    L. Breiman. Random forests. Machine Learning 45, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.features import ForestFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 3))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> ForestFeatures(random_state=0).fit(X, y).transform(X).shape
    (500, 1)
    """

    def __init__(self, *, n_trees=25, max_depth=8, min_rows=3, max_categories=1000, max_rows=50_000, random_state=None):
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.min_rows = min_rows
        self.max_categories = max_categories
        self.max_rows = max_rows
        self.random_state = random_state

    def _grow_trees(self, codes, starts, positive, weights, n_trees, out, rng) -> tuple[np.ndarray, ...]:
        d, nodes = len(codes), 2**self.max_depth - 1
        tried = rng.randint(d, size=(n_trees, nodes, int(np.ceil(np.sqrt(d)))))
        rows = rng.randint(positive.size, size=(n_trees, positive.size))
        totals = np.array([weights @ (1.0 - positive), weights @ positive])
        factors = weights.sum() / (2.0 * np.maximum(totals, 1e-300))
        balanced = weights * (factors[0] * (1.0 - positive) + factors[1] * positive)
        *trees, values = kernels.grow_labelled_trees(
            codes, starts, rows, positive, balanced, tried, nodes + 1, self.max_depth, self.min_rows, 1.0, 0.0,
            np.full(positive.size, 0.5), 1, np.zeros(0, dtype=np.int64),
        )  # fmt: skip
        return *trees, np.round(values, 4) / n_trees  # so few digits make a smaller file
