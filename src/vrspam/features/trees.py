"""`TreeFeatures`: Nyström features of the kernel of random trees, which are grown without labels."""

from numbers import Integral

import numpy as np

from vrspam import kernels
from vrspam._utils.parameters import Interval, StrOptions
from vrspam.features.base import FeatureMap
from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.reading import places_of
from vrspam.features.kernel import N_LANDMARKS_CONSTRAINT, LandmarkFeatures, whitening_of
from vrspam.features.learning import SeenColumns
from vrspam.features.parts import MOST_DEPTH, Block, TreePart, Trees
from vrspam.features.scoring import Leaves
from vrspam.tables import frames

MOST_TREES = 10_000
CACHED_COUNTS = 1 << 18  # of a block of numbers of shared leaves that stays in the processor's cache
SAMPLE_ROWS = 500  # from which the splits of one tree are drawn


class TreeFeatures(LandmarkFeatures):
    """Features of the kernel of random trees: two rows are close if they share the leaves of many trees.

    The trees never see labels. Each node splits at a random column, and at the value that a random row of the node has
    there; a column of categories is split into two random groups. With landmarks z_1, ..., z_m drawn from the rows,

        φ(x) = K^(-1/2) (k(x, z_1), ..., k(x, z_m)),     k(x, z) = share of the trees in which x and z share a leaf,

    where K = (k(z_i, z_j)). A linear scorer of these features is a sum of boxes around the landmarks: it sees sharp
    interactions, which a Gaussian kernel smooths over. Shallow trees see few columns at a time and generalise,
    deep ones see detail. Only the order of the values of a column counts: an increasing transformation of the column,
    in fit and after, changes nothing (columns of more than about 256 different values are split at their quantiles).

    Parameters
    ----------
    n_trees : int, default=500
    max_depth : int, default=4
        Number of splits from the root to a leaf; a node whose rows are all equal is not split.
    n_landmarks : int or "auto", default=500
        Number of rows drawn as landmarks (all, if there are fewer). "auto" is 500 up to 20,000 rows, and grows with the
        square root of the rows up to 1,000: many rows support finer detail, for more time.
    landmarks : {"rows", "columns"}, default="rows"
        "rows": landmarks are rows of the training table, which the fitted map and its model file then hold (as places
        among the quantiles).
        "columns": each column of a landmark is drawn on its own, independently, so that no row is held.
    max_categories : int, default=1000
        If a column has more categories, the most frequent are kept and the others count as one category.
    max_rows : int, default=50_000
        Quantiles, splits and landmarks come from at most this many rows.
    random_state : int, RandomState or None, default=None
        Controls the random choice of rows, of splits (at rows of large weight more often) and of landmarks.

    Attributes
    ----------
    trees_ : tuple of ndarray of shape (n_trees, 2**max_depth - 1)
        The nodes of each tree, level by level: `columns`; `thresholds`, numbers of quantiles up to which rows go to
        the left; `multipliers`, which order the categories (0 for numbers); `absent_left`, whether missing numbers and
        unknown categories go to the left. If the node had some in fit, this is random (to the right if the other values
        were all equal); else they go to the larger side.
    landmarks_ : ndarray of shape (m, n_trees)
        The leaf of each landmark in each tree.
    whitening_ : ndarray of shape (m, r)
        K^(-1/2), without the directions of eigenvalues below 1e-6 of the largest.
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
    P. Geurts, D. Ernst and L. Wehenkel. Extremely randomized trees. Machine Learning 63, 2006.
    A. Davies and Z. Ghahramani. The Random Forest Kernel and other kernels for big data from random partitions, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import AUCClassifier
    >>> from vrspam.features import TreeFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 3))
    >>> y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)) ^ (rng.random(2000) < 0.05)
    >>> features = TreeFeatures(random_state=0).fit(X)
    >>> print(f"{AUCClassifier().fit(features.transform(X), y).score(features.transform(X), y):.2f}")
    0.9...
    """

    _parameter_constraints: dict = {
        **FeatureMap._parameter_constraints,
        "n_trees": [Interval(Integral, 1, MOST_TREES, closed="both")],
        "max_depth": [Interval(Integral, 1, MOST_DEPTH, closed="both")],
        "n_landmarks": N_LANDMARKS_CONSTRAINT,
        "landmarks": [StrOptions({"rows", "columns"})],
    }
    kernel_name = "trees"
    _encoded_by = ()
    trees_: Trees
    _landmark_codes: np.ndarray  # (m, columns): the landmarks as trees take them

    def __init__(
        self,
        *,
        n_trees=500,
        max_depth=4,
        n_landmarks=500,
        landmarks="rows",
        max_categories=1000,
        max_rows=50_000,
        random_state=None,
    ):
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.max_categories = max_categories
        self.max_rows = max_rows
        self.random_state = random_state

    def _learn(self, X, seen: SeenColumns, rng: np.random.RandomState, weights: np.ndarray | None) -> None:
        super()._learn(X, seen, rng, weights)
        self.trees_ = self._grow(X, rng, weights)
        _, landmarks = self._draw(X, rng)
        self._landmark_codes = places_of(self.encoders_, landmarks)[0]
        self.landmarks_ = np.ascontiguousarray(Leaves(self.encoders_, self.trees_).of(self._landmark_codes))
        by_tree = np.ascontiguousarray(self.landmarks_.T)
        shared = kernels.count_shared_leaves(np.asfortranarray(self.landmarks_), by_tree)
        self.whitening_ = whitening_of(shared / self.n_trees)

    def _grow(self, X, rng: np.random.RandomState, weights: np.ndarray | None) -> Trees:
        """Random trees, the splits of each drawn from a few rows."""
        n = X.shape[0]
        n_nodes = 2**self.max_depth - 1
        size = (self.n_trees, min(n, SAMPLE_ROWS))
        if weights is None or np.ptp(weights) == 0.0:  # equal weights draw as no weights do
            drawn = rng.randint(n, size=size)
        else:
            drawn = rng.choice(n, size, p=weights / weights.sum())
        rows, places = np.unique(drawn, return_inverse=True)
        order = rng.uniform(size=(self.n_trees, len(self.encoders_))).argsort(axis=1)
        splits = rng.uniform(size=(self.n_trees, n_nodes, 3))
        multipliers = rng.randint(1, kernels.CATEGORY_PRIME, (self.n_trees, n_nodes))
        codes = places_of(self.encoders_, frames.rows_of(X, rows))[0]
        is_category = np.array([not isinstance(encoder, Curves) for encoder in self.encoders_])
        return Trees(*kernels.grow_trees(codes, is_category, places.reshape(size), order, splits, multipliers))

    def _times_kernel(self, X, coefs: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """K(X, Z) @ coefs for the rows of X and the landmarks Z, in blocks of K that stay in the processor's cache."""
        codes, dtype = places_of(self.encoders_, X)
        leaves = Leaves(self.encoders_, self.trees_)
        shares = (coefs / self.landmarks_.shape[1]).astype(dtype, copy=False)  # from counts of trees to shares
        if out is None:
            out = np.empty((len(codes), coefs.shape[1]), dtype=dtype)
        by_tree = np.ascontiguousarray(self.landmarks_.T)
        for rows in frames.blocks(len(codes), len(self.landmarks_), CACHED_COUNTS):
            shared = kernels.count_shared_leaves(leaves.of(codes[rows]), by_tree)  # the number of trees
            np.matmul(shared.astype(dtype), shares, out=out[rows])
        return out

    def blocks(self) -> list[Block]:
        """Return the features of the fitted map as blocks: those of the kernel of its trees."""
        return [TreePart(self.encoders_, self.trees_, self.whitening_, self._landmark_codes)]
