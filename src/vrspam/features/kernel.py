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
from vrspam.features import parts
from vrspam.features.additive import AdditiveFeatures
from vrspam.features.base import FeatureMap, share_map_texts
from vrspam.features.encoders import Curves, Distribution, SeenColumns
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
        wanted = self.n_landmarks
        if isinstance(wanted, str):
            beside = [] if self.additive_ is None else self.additive_.encoders_
            # the first one is a straight line
            curves = sum(encoder.table.shape[1] - 1 for encoder in beside if isinstance(encoder, Curves))
            fewer = int(LANDMARKS_PER_CURVE * max(0, curves - FEW_CURVES))
            most = max(MOST_AUTO_LANDMARKS - fewer, min(LEAST_BESIDE, MOST_AUTO_LANDMARKS))
            wanted = min(int(AUTO_LANDMARKS * max(1.0, self._n_rows / AUTO_ROWS) ** 0.5), most)
        chosen = rng.permutation(X.shape[0])[:wanted]
        landmarks = frames.rows_of(X, chosen)
        if self.landmarks == "columns":
            shuffled = [rng.permutation(chosen.size) for _ in range(X.shape[1])]
            landmarks = frames.rows_of(landmarks, np.stack(shuffled, axis=1))
        return chosen, landmarks

    def _whiten(self, kernel: np.ndarray) -> None:
        """Set `whitening_` to W such that Wᵀ K W = I, without directions of eigenvalues below 1e-6 of the largest.

        If there are no such directions, W is triangular, which halves the time of products; all W give equal scores.
        """
        with blas_threads(1), suppress(linalg.LinAlgError):  # idle threads of SciPy's library would slow NumPy's down
            factor = linalg.cholesky(kernel, check_finite=False)
            # The least eigenvalue is at most the least pivot, the largest at least the mean of the sums of the rows.
            if factor.diagonal().min() ** 2 > LEAST_EIGENVALUE * kernel.sum() / len(kernel):
                inverse = linalg.lapack.dtrtri(factor)[0]
                # compare bounds of the eigenvalues, then eigenvalues: without vectors these take a third of the time
                least, most = 1.0 / float(np.sum(inverse**2)), float(kernel.sum(axis=0).max())
                if least <= LEAST_EIGENVALUE * most:
                    least, *_, most = np.linalg.eigvalsh(kernel).tolist()
                if least > LEAST_EIGENVALUE * most:
                    self.whitening_ = np.ascontiguousarray(inverse)
                    return
        values, vectors = np.linalg.eigh(kernel)  # SciPy's would block other maps, which learn in threads
        keep = values > LEAST_EIGENVALUE * values[-1]
        self.whitening_ = np.ascontiguousarray(vectors[:, keep] / np.sqrt(values[keep]))

    def _coded_rows(self, X) -> CodedRows:
        assert self.additive_ is not None
        found = self.additive_._coded_rows(X)
        scale, split = self.additive_scale_, found.dense.shape[1]
        dense = np.empty((len(found.dense), split + self.whitening_.shape[1]), dtype=found.dtype)
        np.multiply(found.dense, scale, out=dense[:, :split])
        self._times_kernel(X, self.whitening_, dense[:, split:])
        indicated = []
        for part in found.indicated:
            values = part.values.astype(found.dtype)
            values *= scale  # rounded like features that are written out
            indicated.append(part._replace(values=values.astype(np.float64)))
        return CodedRows(self.n_features_out_, dense, indicated)

    def _many_products(self, X, coefs: np.ndarray) -> np.ndarray:
        # (K W) c = K (W c): W c is computed once for all blocks
        split, found = self.n_features_out_ - self.whitening_.shape[1], []
        weights, beside = self.whitening_ @ coefs[split:], self.additive_scale_ * coefs[:split]
        for rows in frames.blocks(X.shape[0], self.n_features_out_):
            some = frames.rows_of(X, rows)
            found.append(self._times_kernel(some, weights))
            if self.additive_ is not None:
                found[-1] += self.additive_._block_products(some, beside)
        return np.concatenate(found)

    def holding_no_rows(self) -> Self:
        """Return the same map, not fitted, with landmarks that are drawn column by column."""
        return clone(self).set_params(landmarks="columns")

    def _feature_names(self, columns: Sequence[Any]) -> list[str]:
        kernel = [f"{self.kernel_name}{r}" for r in range(self.whitening_.shape[1])]
        return kernel if self.additive_ is None else [*self.additive_._feature_names(columns), *kernel]


FIRST_LANDMARKS = 128  # the first step of a large whitening removes from the others what these landmarks explain
AUTO_ADDITIVE, MOST_AUTO_ADDITIVE = 250, 400  # max_additive="auto", and its upper limit
ROWS_PER_LANDMARK = 40  # with so many rows or more, the second step is done on the moments


@share_map_texts
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
    {max_categories}
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
    {column_slices_, grouped_categories_, n_rows_held_, n_features_in_}

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
        self.additive_, self.additive_scale_ = None, 1.0
        if self.additive:
            most = self.max_additive
            if isinstance(most, str):
                most = min(int(AUTO_ADDITIVE * max(1.0, self._n_rows / AUTO_ROWS) ** (1.0 / 3.0)), MOST_AUTO_ADDITIVE)
            limits = {"max_categories": self.max_categories, "max_rows": self.max_rows}
            self.additive_ = AdditiveFeatures(max_features=most, **limits, random_state=0)
            self.additive_._check(X, reset=True)
            self.additive_._learn(X, seen, rng, weights)
        chosen, landmarks = self._draw(X, rng)
        known = (type(self), self.bandwidth, self.landmarks, chosen.tobytes())  # the same with and without curves
        if known not in seen.encoders or self.landmarks == "columns":
            self.landmarks_ = parts.encode(self.encoders_, landmarks).astype(np.float64)
            size = np.einsum("ij,ij->i", self.landmarks_, self.landmarks_)[:, np.newaxis]
            distances = np.maximum(size + size.T - 2.0 * (self.landmarks_ @ self.landmarks_.T), 0.0)
            median = float(np.median(distances[np.triu_indices_from(distances, 1)])) if chosen.size > 1 else 0.0
            self.gamma_ = 1.0 / (2.0 * self.bandwidth**2 * (median if median > 0.0 else 1.0))
            self._whiten(np.exp(-self.gamma_ * distances))
            seen.encoders[known] = [self.landmarks_, self.gamma_, self.whitening_]
        self.landmarks_, self.gamma_, self.whitening_ = seen.encoders[known]
        if self.additive_ is not None:
            sample = frames.rows_of(X, chosen[:1_000])
            both = self._times_kernel(sample, self.whitening_), self.additive_.features_of(sample)
            totals = [float(np.var(part, axis=0, dtype=np.float64).sum()) for part in both]
            # the factors that make the variances of the features of each part add up to 1
            own, self.additive_scale_ = (1.0 / np.sqrt(total) if total > 0.0 else 1.0 for total in totals)
            self.whitening_ = self.whitening_ * own

    def blocks(self) -> list[parts.Block]:
        """Return the features of the fitted map as blocks: the additive ones, if any, then those of the kernel."""
        own: list[parts.Block] = [parts.KernelPart(self.encoders_, self.landmarks_, self.gamma_, self.whitening_)]
        if self.additive_ is None:
            return own
        return [parts.ColumnBlock(self.additive_.encoders_, self.additive_scale_), *own]

    def is_finer(self, other: FeatureMap) -> bool:
        """Whether this map differs from the other one only in a smaller bandwidth."""
        if not isinstance(other, KernelFeatures) or self.bandwidth >= other.bandwidth:
            return False
        return clone(self).set_params(bandwidth=other.bandwidth).get_params() == other.get_params()

    def _times_kernel(self, X, coefs: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """K(X, Z) @ coefs for the rows of X and the landmarks Z, in blocks of K that stay in the processor's cache."""
        encoded = parts.encode(self.encoders_, X)
        dtype = encoded.dtype  # of the result; products in double give equal rows equal features everywhere
        left, right = parts.exponents(encoded.astype(np.float64, copy=False), self.landmarks_, self.gamma_)
        multiply, large = None, len(coefs) == coefs.shape[1] > 4 * FIRST_LANDMARKS
        if self._begun is not None:
            multiply = self._begun.begin
        elif coefs is self.whitening_ and large and not np.tril(coefs, -1).any():  # it is triangular
            multiply = TwoSteps(coefs, FIRST_LANDMARKS).multiply
        if out is None:
            out = np.empty((len(left), coefs.shape[1]), dtype=dtype)
        for rows in frames.blocks(len(left), right.shape[1], parts.CACHED_ENTRIES):
            kernel = left[rows] @ right
            np.exp(kernel, out=kernel)
            if multiply is None:
                np.matmul(kernel, coefs, out=out[rows])
            else:
                multiply(kernel, out[rows])
        return out

    def _unfinished(self, n_rows: int) -> tuple[Self, LastProduct] | None:
        """A map without the second step of the whitening, and that step for the moments; None if this is slower."""
        m, width = self.whitening_.shape
        if n_rows < ROWS_PER_LANDMARK * m or not m == width > 4 * FIRST_LANDMARKS or np.tril(self.whitening_, -1).any():
            return None
        new = copy(self)
        new._begun = TwoSteps(self.whitening_, FIRST_LANDMARKS)
        return new, LastProduct(self.n_features_out_ - m + FIRST_LANDMARKS, new._begun.last)
