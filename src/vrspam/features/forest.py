"""`ForestFeatures`: the score of a random forest."""

import numpy as np

from vrspam import kernels
from vrspam.features.labelled import GrownTrees, LabelledTrees


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
    max_rows : int, default=50_000
        Quantiles come from at most this many rows; the trees learn from all rows.
    random_state : int, RandomState or None, default=None
        Controls the random choice of rows for quantiles, of parts of the rows for statistics of categories, of the rows
        of each tree, and of the columns that each node tries.

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

    def _grow_trees(self, codes, starts, positive, weights, n_trees, left_out, rng) -> GrownTrees:
        d, n = codes.shape
        n_nodes = 2**self.max_depth - 1
        tried = rng.randint(d, size=(n_trees, n_nodes, int(np.ceil(np.sqrt(d)))))
        rows = rng.randint(n, size=(n_trees, n))
        grown = GrownTrees(*kernels.grow_labelled_trees(
            codes, starts, rows, positive, balanced_weights(positive, weights), tried, n_nodes + 1, self.max_depth,
            self.min_rows, 1.0, 0.0, np.full(n, 0.5), 1, np.zeros(0, dtype=np.int64),
        ))  # fmt: skip
        return grown._replace(values=np.round(grown.values, 4) / n_trees)  # so few digits make a smaller file


def balanced_weights(target: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights by which both classes have the same total; a target between 0 and 1 is a part of each class."""
    totals = np.array([weights @ (1.0 - target), weights @ target])
    factors = weights.sum() / (2.0 * np.maximum(totals, 1e-300))
    return weights * (factors[0] * (1.0 - target) + factors[1] * target)
