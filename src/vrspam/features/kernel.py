"""`KernelFeatures`: Nyström features of a Gaussian kernel between ranks, beside the additive ones."""

from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.base import clone

from vrspam._utils.blas import TwoSteps, blas_threads
from vrspam._utils.parameters import Interval, StrOptions
from vrspam.features.additive import AdditiveFeatures
from vrspam.features.base import FeatureMap
from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.distribution import Distribution
from vrspam.features.encoders.reading import encode
from vrspam.features.learning import SeenColumns
from vrspam.features.parts import Block, ColumnBlock, KernelPart
from vrspam.features.scoring import CACHED_ENTRIES, exponents
from vrspam.moments import CodedRows, LastProduct
from vrspam.tables import frames

LEAST_EIGENVALUE = 1e-6
# n_landmarks="auto" is AUTO_LANDMARKS up to AUTO_ROWS rows, and grows with the square root of the rows up to
# MOST_AUTO_LANDMARKS: the time of a fit then grows with the square of the rows at most.
AUTO_LANDMARKS, AUTO_ROWS, MOST_AUTO_LANDMARKS = 500, 20_000, 1_000
# Each curve beyond FEW_CURVES replaces LANDMARKS_PER_CURVE landmarks, as long as LEAST_BESIDE are left: 700 landmarks
# with 360 curves rank better than 1,000 with 210, in less time.
FEW_CURVES, LANDMARKS_PER_CURVE, LEAST_BESIDE = 240, 2.5, 700
N_LANDMARKS_CONSTRAINT = [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})]


class LandmarkFeatures(FeatureMap):
    """Base class of the maps φ(x) = K^(-1/2) (k(x, z_1), ..., k(x, z_m)) for a kernel k and landmarks z.

    A subclass defines `_times_kernel`, and `kernel_name`, with which the names of its features begin.
    """

    kernel_name = "kernel"
    landmarks_: np.ndarray
    whitening_: np.ndarray
    additive_: AdditiveFeatures | None = None
    additive_scale_: float = 1.0

    def _draw(self, X, rng: np.random.RandomState) -> tuple[np.ndarray, Any]:
        """The numbers of the drawn rows, and the landmarks: these rows, for "columns" each column shuffled separately.

        `n_landmarks="auto"` depends on the number of all rows in fit, not only of those in X.
        """
        chosen = rng.permutation(X.shape[0])[: self._count_landmarks()]
        landmarks = frames.rows_of(X, chosen)
        if self.landmarks == "columns":
            shuffled = [rng.permutation(chosen.size) for _ in range(X.shape[1])]
            landmarks = frames.rows_of(landmarks, np.stack(shuffled, axis=1))
        return chosen, landmarks

    def _count_landmarks(self) -> int:
        """The number of landmarks that `n_landmarks` stands for."""
        if not isinstance(self.n_landmarks, str):
            return self.n_landmarks
        n_curves = 0
        for encoder in () if self.additive_ is None else self.additive_.encoders_:
            if isinstance(encoder, Curves):
                n_curves += encoder.table.shape[1] - 1  # the first one is a straight line
        fewer = int(LANDMARKS_PER_CURVE * max(0, n_curves - FEW_CURVES))
        most = max(MOST_AUTO_LANDMARKS - fewer, min(LEAST_BESIDE, MOST_AUTO_LANDMARKS))
        return min(int(AUTO_LANDMARKS * max(1.0, self._n_rows / AUTO_ROWS) ** 0.5), most)

    def _coded_rows(self, X) -> CodedRows:
        assert self.additive_ is not None
        scale = self.additive_scale_
        rows = self.additive_._coded_rows(X)
        split = rows.dense.shape[1]
        dense = np.empty((len(rows.dense), split + self.whitening_.shape[1]), dtype=rows.dtype)
        np.multiply(rows.dense, scale, out=dense[:, :split])
        self._times_kernel(X, self.whitening_, dense[:, split:])
        indicated = []
        for column in rows.indicated:
            values = column.values.astype(rows.dtype)
            values *= scale  # rounded like features that are written out
            indicated.append(column._replace(values=values.astype(np.float64)))
        return CodedRows(self.n_features_out_, dense, indicated)

    def _many_products(self, X, coefs: np.ndarray) -> np.ndarray:
        # (K W) c = K (W c): W c is computed once for all blocks
        split = self.n_features_out_ - self.whitening_.shape[1]
        of_landmarks = self.whitening_ @ coefs[split:]
        of_curves = self.additive_scale_ * coefs[:split]
        products = []
        for rows in frames.blocks(X.shape[0], self.n_features_out_):
            block = frames.rows_of(X, rows)
            product = self._times_kernel(block, of_landmarks)
            if self.additive_ is not None:
                product += self.additive_._block_products(block, of_curves)
            products.append(product)
        return np.concatenate(products)

    def holding_no_rows(self) -> Self:
        """Return the same map, not fitted, with landmarks that are drawn column by column."""
        return clone(self).set_params(landmarks="columns")

    def _feature_names(self, columns: Sequence[Any]) -> list[str]:
        names = [] if self.additive_ is None else self.additive_._feature_names(columns)
        return [*names, *(f"{self.kernel_name}{r}" for r in range(self.whitening_.shape[1]))]


def whitening_of(kernel: np.ndarray) -> np.ndarray:
    """W such that Wᵀ K W = I, without directions of eigenvalues below 1e-6 of the largest.

    If there are no such directions, W is triangular, which halves the time of products; all W give equal scores.
    """
    triangular = triangular_whitening(kernel)
    if triangular is not None:
        return np.ascontiguousarray(triangular)
    values, vectors = np.linalg.eigh(kernel)  # SciPy's would block other maps, which learn in threads
    keep = values > LEAST_EIGENVALUE * values[-1]
    return np.ascontiguousarray(vectors[:, keep] / np.sqrt(values[keep]))


def triangular_whitening(kernel: np.ndarray) -> np.ndarray | None:
    """The inverse of the Cholesky factor, unless the kernel has an eigenvalue below 1e-6 of the largest."""
    with blas_threads(1), suppress(linalg.LinAlgError):  # idle threads of SciPy's library would slow NumPy's down
        factor = linalg.cholesky(kernel, check_finite=False)
        # The least eigenvalue is at most the least pivot, the largest at least the mean of the sums of the rows.
        if factor.diagonal().min() ** 2 <= LEAST_EIGENVALUE * kernel.sum() / len(kernel):
            return None
        inverse = linalg.lapack.dtrtri(factor)[0]
        # compare bounds of the eigenvalues, then eigenvalues: without vectors these take a third of the time
        least = 1.0 / float(np.sum(inverse**2))
        most = float(kernel.sum(axis=0).max())
        if least <= LEAST_EIGENVALUE * most:
            least, *_, most = np.linalg.eigvalsh(kernel).tolist()
        if least > LEAST_EIGENVALUE * most:
            return inverse
    return None


FIRST_LANDMARKS = 128  # the first step of a large whitening removes from the others what these landmarks explain
AUTO_ADDITIVE, MOST_AUTO_ADDITIVE = 250, 400  # max_additive="auto", and its upper limit
ROWS_PER_LANDMARK = 40  # with so many rows or more, the second step is done on the moments


class KernelFeatures(LandmarkFeatures):
    """Features of a Gaussian kernel between the ranks of the columns: curves and interactions of every order.

    With u(x) the ranks of a row (missing values an indicator; categories one-hot times 1/√2, so that two of them are
    as far apart as the ends of a numeric column) and landmarks z_1, ..., z_m drawn from the rows, a linear scorer of
    these features is a sum of bumps around the landmarks,

        φ(x) = K^(-1/2) (k(x, z_1), ..., k(x, z_m)),     k(x, z) = exp(-‖u(x) - u(z)‖² / (2 (b s)²)),

    where K = (k(z_i, z_j)), s² is the median of ‖u(x) - u(z)‖² over pairs of rows and b the bandwidth: a small
    bandwidth resolves fine detail, a large one gives nearly quadratic scores. By default the features of
    `AdditiveFeatures` are added (both parts with total variance 1), so that the kernel need only learn what a sum of
    curves cannot express.

    Parameters
    ----------
    bandwidth : float, default=1.0
        Width of the kernel in units of the median distance.
    n_landmarks : int or "auto", default=500
        Number of rows drawn as landmarks (all, if there are fewer). "auto" is 500 up to 20,000 rows, and grows with the
        square root of the rows up to 1,000 (700 with 360 curves): many rows support finer detail, for more time.
    landmarks : {"rows", "columns"}, default="rows"
        "rows": landmarks are rows of the training table, which the fitted map and its model file then hold (as ranks).
        "columns": each column of a landmark is drawn on its own, independently, so that no row is held.
    additive : bool, default=True
        Whether to add the additive features to those of the kernel.
    max_additive : int or "auto", default=250
        `max_features` of the additive features. "auto" is 250 up to 20,000 rows, and grows with the cube root of the
        rows up to 400.
    max_categories : int, default=1000
        If a column has more categories, the most frequent are kept and the others count as one category.
    max_rows : int, default=50_000
        Ranks and landmarks come from at most this many rows.
    random_state : int, RandomState or None, default=None
        Controls which rows and landmarks are drawn.

    Attributes
    ----------
    landmarks_ : ndarray of shape (m, ranks)
        Ranks of the landmarks.
    whitening_ : ndarray of shape (m, r)
        K^(-1/2), without the directions of eigenvalues below 1e-6 of the largest, times the scale of these features.
    gamma_ : float
        1 / (2 (b s)²).
    additive_ : AdditiveFeatures or None
    additive_scale_ : float
    encoders_ : list
        How each column becomes ranks.
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
    C. K. I. Williams and M. Seeger. Using the Nyström method to speed up kernel machines. NIPS 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import AUCClassifierCV
    >>> from vrspam.features import KernelFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 3))
    >>> y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(2000) > 0.5
    >>> model = AUCClassifierCV(features=KernelFeatures(random_state=0)).fit(X, y)
    >>> print(f"{model.best_score_:.2f}")
    0.9...
    """

    _encoded_by = ()
    _category_scale = 0.5**0.5
    _begun: TwoSteps | None = None  # where the second step of the whitening is left to the moments (`_unfinished`)
    _parameter_constraints: dict = {
        **FeatureMap._parameter_constraints,
        "bandwidth": [Interval(Real, 0, None, closed="neither")],
        "n_landmarks": N_LANDMARKS_CONSTRAINT,
        "landmarks": [StrOptions({"rows", "columns"})],
        "additive": ["boolean"],
        "max_additive": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        bandwidth=1.0,
        n_landmarks=500,
        landmarks="rows",
        additive=True,
        max_additive=250,
        max_categories=1000,
        max_rows=50_000,
        random_state=None,
    ):
        self.bandwidth = bandwidth
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.additive = additive
        self.max_additive = max_additive
        self.max_categories = max_categories
        self.max_rows = max_rows
        self.random_state = random_state

    def _curves(self, seen: Distribution, missing: bool) -> Curves:
        return Curves(seen.values, (seen.ranks - 0.5)[:, np.newaxis], ("",), missing)

    def _learn(self, X, seen: SeenColumns, rng: np.random.RandomState, weights: np.ndarray | None) -> None:
        super()._learn(X, seen, rng, weights)
        self.additive_ = self._learn_additive(X, seen, rng, weights) if self.additive else None
        self.additive_scale_ = 1.0
        chosen, landmarks = self._draw(X, rng)
        settings = (type(self), self.bandwidth, self.landmarks, chosen.tobytes())  # the same with and without curves
        if settings not in seen.shared or self.landmarks == "columns":
            seen.shared[settings] = self._learn_kernel(landmarks)
        self.landmarks_, self.gamma_, self.whitening_ = seen.shared[settings]
        if self.additive_ is not None:
            self._balance(frames.rows_of(X, chosen[:1_000]))

    def _learn_additive(
        self, X, seen: SeenColumns, rng: np.random.RandomState, weights: np.ndarray | None
    ) -> AdditiveFeatures:
        """The curves that are added to the kernel."""
        most = self.max_additive
        if isinstance(most, str):
            most = min(int(AUTO_ADDITIVE * max(1.0, self._n_rows / AUTO_ROWS) ** (1.0 / 3.0)), MOST_AUTO_ADDITIVE)
        additive = AdditiveFeatures(
            max_features=most, max_categories=self.max_categories, max_rows=self.max_rows, random_state=0
        )
        additive._check(X, reset=True)
        additive._learn(X, seen, rng, weights)
        return additive

    def _learn_kernel(self, rows: Any) -> tuple[np.ndarray, float, np.ndarray]:
        """The ranks of landmarks, gamma and the whitening."""
        landmarks = encode(self.encoders_, rows).astype(np.float64)
        squares = np.einsum("ij,ij->i", landmarks, landmarks)[:, np.newaxis]
        distances = np.maximum(squares + squares.T - 2.0 * (landmarks @ landmarks.T), 0.0)
        median = float(np.median(distances[np.triu_indices_from(distances, 1)])) if len(landmarks) > 1 else 0.0
        gamma = 1.0 / (2.0 * self.bandwidth**2 * (median if median > 0.0 else 1.0))
        return landmarks, gamma, whitening_of(np.exp(-gamma * distances))

    def _balance(self, sample: Any) -> None:
        """Scale the curves and the features of the kernel: each part has total variance 1 over some rows."""
        assert self.additive_ is not None
        of_kernel = self._times_kernel(sample, self.whitening_)
        of_curves = self.additive_.features_of(sample)
        self.additive_scale_ = scale_of(of_curves)
        self.whitening_ = self.whitening_ * scale_of(of_kernel)

    def blocks(self) -> list[Block]:
        """Return the features of the fitted map as blocks: the additive ones, if any, then those of the kernel."""
        kernel = KernelPart(self.encoders_, self.landmarks_, self.gamma_, self.whitening_)
        if self.additive_ is None:
            return [kernel]
        return [ColumnBlock(self.additive_.encoders_, self.additive_scale_), kernel]

    def is_finer(self, other: FeatureMap) -> bool:
        """Whether this map differs from the other one only in a smaller bandwidth."""
        if not isinstance(other, KernelFeatures) or self.bandwidth >= other.bandwidth:
            return False
        return clone(self).set_params(bandwidth=other.bandwidth).get_params() == other.get_params()

    def _times_kernel(self, X, coefs: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """K(X, Z) @ coefs for the rows of X and the landmarks Z, in blocks of K that stay in the processor's cache."""
        encoded = encode(self.encoders_, X)
        dtype = encoded.dtype  # of the result; products in double give equal rows equal features everywhere
        left, right = exponents(encoded.astype(np.float64, copy=False), self.landmarks_, self.gamma_)
        multiply = None
        if self._begun is not None:
            multiply = self._begun.begin
        elif coefs is self.whitening_ and is_large_triangle(coefs):
            multiply = TwoSteps(coefs, FIRST_LANDMARKS).multiply
        if out is None:
            out = np.empty((len(left), coefs.shape[1]), dtype=dtype)
        for rows in frames.blocks(len(left), right.shape[1], CACHED_ENTRIES):
            kernel = left[rows] @ right
            np.exp(kernel, out=kernel)
            if multiply is None:
                np.matmul(kernel, coefs, out=out[rows])
            else:
                multiply(kernel, out[rows])
        return out

    def _unfinished(self, n_rows: int) -> tuple[Self, LastProduct] | None:
        """A map without the second step of the whitening, and that step for the moments; None if this is slower."""
        m = len(self.whitening_)
        if n_rows < ROWS_PER_LANDMARK * m or not is_large_triangle(self.whitening_):
            return None
        unfinished = copy(self)
        unfinished._begun = TwoSteps(self.whitening_, FIRST_LANDMARKS)
        return unfinished, LastProduct(self.n_features_out_ - m + FIRST_LANDMARKS, unfinished._begun.last)


def is_large_triangle(whitening: np.ndarray) -> bool:
    """Whether products with a whitening are faster in two steps."""
    m, width = whitening.shape
    return m == width > 4 * FIRST_LANDMARKS and not np.tril(whitening, -1).any()


def scale_of(features: np.ndarray) -> float:
    """The factor that makes the variances of features add up to 1."""
    total = float(np.var(features, axis=0, dtype=np.float64).sum())
    return 1.0 / np.sqrt(total) if total > 0.0 else 1.0
