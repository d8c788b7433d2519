"""`TreeFeatures`: Nyström features of the kernel of random trees, which are grown without labels."""

from numbers import Integral

import numpy as np

from vrspam import kernels
from vrspam._utils.parameters import Interval, StrOptions
from vrspam.features import parts
from vrspam.features.base import FeatureMap, share_map_texts
from vrspam.features.encoders import Curves, SeenColumns
from vrspam.features.kernel import N_LANDMARKS_CONSTRAINT, LandmarkFeatures
from vrspam.tables import frames

MOST_TREES = 10_000
SAMPLE_ROWS = 500  # from which the splits of one tree are drawn


@share_map_texts
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
    {max_categories}
    max_rows : int, default=50_000
        Quantiles, splits and landmarks come from at most this many rows.
    random_state : int, RandomState or None, default=None
        Controls the random choice of rows, of splits (at rows of large weight more often) and of landmarks.

    Attributes
    ----------
    trees_ : dict of ndarray of shape (n_trees, 2**max_depth - 1)
        The nodes of each tree, level by level: "columns"; "thresholds", numbers of quantiles up to which rows go to
        the left; "multipliers", which order the categories (0 for numbers); "absent_left", whether missing numbers and
        unknown categories go to the left. If the node had some in fit, this is random (to the right if the other values
        were all equal); else they go to the larger side.
    landmarks_ : ndarray of shape (m, n_trees)
        The leaf of each landmark in each tree.
    whitening_ : ndarray of shape (m, r)
        K^(-1/2), without the directions of eigenvalues below 1e-6 of the largest.
    {encoders_, column_slices_, grouped_categories_, n_rows_held_, n_features_in_}

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
        "max_depth": [Interval(Integral, 1, parts.MOST_DEPTH, closed="both")],
        "n_landmarks": N_LANDMARKS_CONSTRAINT,
        "landmarks": [StrOptions({"rows", "columns"})],
    }
    kernel_name = "trees"
    _encoded_by = ()
    _landmark_codes: np.ndarray | None = None  # None in maps read from files, which hold leaves

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
        n, columns, nodes = X.shape[0], len(self.encoders_), 2**self.max_depth - 1
        size = (self.n_trees, min(n, SAMPLE_ROWS))
        shares = None
        if weights is not None and np.ptp(weights) > 0.0:  # equal weights draw as no weights do
            shares = weights / weights.sum()
        drawn = rng.choice(n, size, p=shares) if shares is not None else rng.randint(n, size=size)
        used, places = np.unique(drawn, return_inverse=True)
        order = rng.uniform(size=(self.n_trees, columns)).argsort(axis=1)
        is_category = np.array([not isinstance(encoder, Curves) for encoder in self.encoders_])
        found = kernels.grow_trees(
            parts.places_of(self.encoders_, frames.rows_of(X, used))[0], is_category, places.reshape(size), order,
            rng.uniform(size=(self.n_trees, nodes, 3)), rng.randint(1, kernels.CATEGORY_PRIME, (self.n_trees, nodes)),
        )  # fmt: skip
        self.trees_ = dict(zip(parts.TREE_ARRAYS, found, strict=True))
        chosen, landmarks = self._draw(X, rng)
        self._landmark_codes = parts.places_of(self.encoders_, landmarks)[0]
        part = parts.TreePart(self.encoders_, self.trees_, None, chosen)
        self.landmarks_ = np.ascontiguousarray(part.leaves_of(self._landmark_codes))
        by_tree = np.ascontiguousarray(self.landmarks_.T)
        self._whiten(kernels.count_shared_leaves(np.asfortranarray(self.landmarks_), by_tree) / self.n_trees)

    def _times_kernel(self, X, coefs: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """K(X, Z) @ coefs for the rows of X and the landmarks Z, in blocks of K that stay in the processor's cache."""
        codes, dtype = parts.places_of(self.encoders_, X)
        part = parts.TreePart(self.encoders_, self.trees_, None, coefs)
        coefs = coefs / self.landmarks_.shape[1]  # from counts of trees to shares
        if out is None:
            out = np.empty((len(codes), coefs.shape[1]), dtype=dtype)
        coefs, by_tree = coefs.astype(dtype, copy=False), np.ascontiguousarray(self.landmarks_.T)
        for rows in frames.blocks(len(codes), len(self.landmarks_), parts.CACHED_COUNTS):
            shared = kernels.count_shared_leaves(part.leaves_of(codes[rows]), by_tree)  # the number of trees
            np.matmul(shared.astype(dtype), coefs, out=out[rows])
        return out

    def blocks(self) -> list[parts.Block]:
        """Return the features of the fitted map as blocks: those of the kernel of its trees."""
        return [parts.TreePart(self.encoders_, self.trees_, self.landmarks_, self.whitening_, self._landmark_codes)]
