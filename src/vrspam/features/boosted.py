"""`BoostedFeatures`: the score of boosted trees."""

from numbers import Integral, Real

import numpy as np

from vrspam import kernels
from vrspam._utils.parameters import Interval, StrOptions
from vrspam.features.labelled import GrownTrees, LabelledTrees

MOST_HISTOGRAMS = 1 << 28  # bytes of the histograms of the nodes of a tree
FEW_COLUMNS = 200  # up to so many, every tree may split all of them


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
    max_rows : int, default=50_000
        Quantiles come from at most this many rows; the trees learn from all rows.
    random_state : int, RandomState or None, default=None
        Controls the random choice of rows for quantiles, of parts of the rows for statistics of categories and, with
        more than 200 columns, of the columns that a tree may split.
    monotonic_cst : array-like of -1, 0 and 1, or None, default=None
        For each column whether the score must rise (1) or fall (-1) with it, or is free (0). As in scikit-learn, values
        below a split of such a column stay on their side of the midpoint between the two values of the split.

    Attributes
    ----------
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

    def _grow_trees(self, codes, starts, positive, weights, n_trees, left_out, rng) -> GrownTrees:
        d, n = codes.shape
        rate = self._rate(n)
        leaves = self._count_leaves(n)
        fits_in_cache = 24 * int(starts[-1]) * (leaves + 1) <= MOST_HISTOGRAMS
        n_histograms = leaves + 1 if fits_in_cache else 1
        signs = self._signs if self._signs.any() else self._signs[:0]
        share = float(np.clip(weights @ positive / weights.sum(), 1e-12, 1.0 - 1e-12))
        raw = np.full(n, np.log(share / (1.0 - share)))  # the score so far, which new trees are added to
        has_left_out = bool(left_out.any())
        learning = np.flatnonzero(~left_out)[np.newaxis]
        tried = columns_to_try(d, n_trees, rng)
        grown: list[GrownTrees] = []
        loss = np.inf
        for some in np.split(tried, range(75, n_trees, 25)) if has_left_out else [tried]:
            new = GrownTrees(*kernels.grow_labelled_trees(
                codes, starts, learning, positive, weights, np.ascontiguousarray(some), leaves, self.max_depth,
                self.min_rows, 0.0, rate, raw, n_histograms, signs,
            ))  # fmt: skip
            grown.append(new)
            if has_left_out:
                raw[left_out] += scores_of(new, codes[:, left_out].T.copy())
                losses = np.logaddexp(0.0, raw[left_out]) - positive[left_out] * raw[left_out]
                before = loss
                loss = float(weights[left_out] @ losses)
                if loss > 0.99 * before:
                    break
        return GrownTrees(*(np.concatenate(arrays) for arrays in zip(*grown, strict=True)))

    def _rate(self, n: int) -> float:
        """The learning rate for so many rows."""
        if isinstance(self.learning_rate, str):
            return float(np.clip(0.075 * (n / 1_500) ** 0.25, 0.075, 0.1))
        return float(self.learning_rate)

    def _count_leaves(self, n: int) -> int:
        """The number of leaves of a tree for so many rows."""
        leaves = self.max_leaves
        if isinstance(leaves, str):
            leaves = int(np.clip(8.0 * (n / 1_500) ** 0.5, 8, 31))
        return min(leaves, 2**self.max_depth)


def columns_to_try(d: int, n_trees: int, rng: np.random.RandomState) -> np.ndarray:
    """The columns that each tree may split: all of them, or a quarter where there are many."""
    if d <= FEW_COLUMNS:
        return np.broadcast_to(np.arange(d), (n_trees, 1, d))
    most = max(FEW_COLUMNS, d // 4)
    return np.stack([np.sort(rng.permutation(d)[:most])[np.newaxis] for _ in range(n_trees)])


def scores_of(trees: GrownTrees, codes: np.ndarray) -> np.ndarray:
    """What trees add to the scores of rows with these codes (rows × columns)."""
    no_multipliers = np.zeros_like(trees.columns)
    leaves = kernels.tree_leaves(codes, trees.columns, trees.thresholds, no_multipliers, trees.absent_left)
    return np.take_along_axis(trees.values, leaves.T, axis=1).sum(axis=0)
