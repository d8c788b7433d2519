"""What the maps of a kernel share: Nyström features of its landmarks, with or without additive features beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.base import clone

from vrspam._utils.blas import blas_threads
from vrspam._utils.parameters import Interval, StrOptions
from vrspam.features.additive import AdditiveFeatures
from vrspam.features.base import FeatureMap
from vrspam.features.encoders import Curves
from vrspam.features.parts import Block, ColumnBlock, KernelPart, TreePart
from vrspam.moments import CodedRows
from vrspam.tables import frames

LEAST_EIGENVALUE = 1e-6
# n_landmarks="auto" is the first number up to so many rows, and grows with their root up to the third: the time of a
# fit then grows with the square of the rows at most.
AUTO_LANDMARKS, AUTO_ROWS, MOST_AUTO_LANDMARKS = 500, 20_000, 1_000
# Curves beyond the first number take the place of so many landmarks each, but for the last number of them: 700
# landmarks beside 360 curves rank better than 1,000 beside 210, in less time.
FEW_CURVES, LANDMARKS_PER_CURVE, LEAST_BESIDE = 240, 2.5, 700
N_LANDMARKS_CONSTRAINT = [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})]


def _full_rank_factor(kernel: np.ndarray) -> np.ndarray | None:
    """The upper Cholesky factor U of K = UᵀU; None where an eigenvalue is at most 1e-6 of the largest."""
    try:
        factor = linalg.cholesky(kernel, check_finite=False)
    except linalg.LinAlgError:
        return None
    # The least eigenvalue is at most the least pivot, and the largest at least the mean of the sums of the rows.
    if factor.diagonal().min() ** 2 <= LEAST_EIGENVALUE * kernel.sum() / len(kernel):
        return None
    values = np.linalg.eigvalsh(kernel)  # without vectors, in a third of the time
    return factor if values[0] > LEAST_EIGENVALUE * values[-1] else None


class LandmarkFeatures(FeatureMap):
    """Base class of the maps φ(x) = K^(-1/2) (k(x, z_1), ..., k(x, z_m)) for a kernel k and landmarks z.

    A map defines `_times_kernel`, and `kernel_name`, which names its features.
    """

    kernel_name = "kernel"
    landmarks: str
    n_landmarks: int | str
    landmarks_: np.ndarray
    whitening_: np.ndarray
    additive_: AdditiveFeatures | None = None
    additive_scale_: float = 1.0

    def _times_kernel(self, X, coefs: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """K(X, Z) @ coefs for the rows of X and the landmarks Z, written to `out` where it is given."""
        raise NotImplementedError

    def _draw(self, n_rows: int, rng: np.random.RandomState) -> np.ndarray:
        """Which of the rows at hand become landmarks; `n_landmarks="auto"` goes by the number of all rows."""
        wanted = self.n_landmarks
        if isinstance(wanted, str):
            beside = [] if self.additive_ is None else self.additive_.encoders_
            # the first one is a straight line
            curves = sum(encoder.table.shape[1] - 1 for encoder in beside if isinstance(encoder, Curves))
            fewer = int(LANDMARKS_PER_CURVE * max(0, curves - FEW_CURVES))
            most = max(MOST_AUTO_LANDMARKS - fewer, min(LEAST_BESIDE, MOST_AUTO_LANDMARKS))
            wanted = min(self._grown(AUTO_LANDMARKS, 2), most)
        return rng.permutation(n_rows)[:wanted]

    def _grown(self, number: int, root: int) -> int:
        """A number that grows with a root of the rows that the map is fitted on."""
        return int(number * max(1.0, self._n_rows / AUTO_ROWS) ** (1.0 / root))

    def _without_rows(self, encoded: np.ndarray, groups: Sequence[slice], rng: np.random.RandomState) -> np.ndarray:
        """The landmarks: drawn rows as they are or, for landmarks="columns", each group of columns shuffled alone."""
        if self.landmarks == "columns":
            for where in groups:
                encoded[:, where] = encoded[rng.permutation(len(encoded)), where]
        return encoded

    def _whiten(self, kernel: np.ndarray) -> None:
        """W such that Wᵀ K W = I, without the directions of eigenvalues below 1e-6 of the largest.

        Where there are none of these, W is triangular (Cholesky), which halves the products with it. All such W give
        the same scores, since they differ by a rotation of the features.
        """
        with blas_threads(1):  # idle threads of SciPy's library would slow NumPy's down for a while
            factor = _full_rank_factor(kernel)
            if factor is not None:
                self.whitening_ = np.ascontiguousarray(linalg.lapack.dtrtri(factor)[0])
                return
        values, vectors = np.linalg.eigh(kernel)  # SciPy's would not let other maps learn meanwhile
        keep = values > LEAST_EIGENVALUE * values[-1]
        self.whitening_ = np.ascontiguousarray(vectors[:, keep] / np.sqrt(values[keep]))

    def _write_block(self, X, out: np.ndarray) -> None:
        split = self.n_features_out_ - self.whitening_.shape[1]
        if self.additive_ is not None:
            self.additive_._write_block(X, out[:, :split])
            out[:, :split] *= self.additive_scale_
        self._times_kernel(X, self.whitening_, out[:, split:])

    def _coded_slices(self) -> list[slice]:
        """Additive features that are the indicators of a column of many categories."""
        return [] if self.additive_ is None else self.additive_._coded_slices()

    def _coded_rows(self, X) -> CodedRows:
        """The features of the rows of X, few rows, without writing out the indicators of many categories."""
        assert self.additive_ is not None
        found = self.additive_._coded_rows(X)
        scale, split = self.additive_scale_, found.dense.shape[1]
        dense = np.empty((len(found.dense), split + self.whitening_.shape[1]), dtype=found.dtype)
        np.multiply(found.dense, scale, out=dense[:, :split])
        self._times_kernel(X, self.whitening_, dense[:, split:])
        indicated = []
        for part in found.indicated:
            values = part.values.astype(found.dtype)
            values *= scale  # rounded as where they are written out
            indicated.append(part._replace(values=values.astype(np.float64)))
        return CodedRows(self.n_features_out_, dense, indicated)

    def _reads_columns_again(self) -> bool:
        return self.additive_ is not None

    def _kernel_part(self) -> KernelPart | TreePart:
        """The features of the kernel."""
        raise NotImplementedError

    def blocks(self) -> list[Block]:
        """What the features of the fitted map are: the additive ones, if there are any, then those of the kernel."""
        own: list[Block] = [self._kernel_part()]
        return own if self.additive_ is None else [ColumnBlock(self.additive_.encoders_, self.additive_scale_), *own]

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

    @property
    def n_rows_held_(self) -> int:
        """Rows of the training table that the fitted map holds, and a model file with it."""
        return 0 if self.landmarks == "columns" else len(self.landmarks_)

    @property
    def n_features_out_(self) -> int:
        """Number of features."""
        return self.whitening_.shape[1] + (0 if self.additive_ is None else self.additive_.n_features_out_)

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the name of each feature: the additive ones, if there are any, then those of the kernel, numbered.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns, where `fit` saw none.

        Returns
        -------
        ndarray of str
        """
        super().get_feature_names_out(input_features)  # checks that the map is fitted and the names fit
        kernel = np.array([f"{self.kernel_name}{r}" for r in range(self.whitening_.shape[1])], dtype=object)
        if self.additive_ is None:
            return kernel
        return np.concatenate([self.additive_.get_feature_names_out(input_features), kernel])

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted map as plain values, lists and NumPy arrays (`from_dict` reads it, no pickle)."""
        return {**super().to_dict(), "landmarks": self.landmarks_, "whitening": self.whitening_}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the fitted map that `to_dict` wrote; arrays may have become lists on the way (JSON).

        Parameters
        ----------
        plain : dict

        Returns
        -------
        FeatureMap
        """
        new = super().from_dict(plain)
        new.whitening_ = np.asarray(plain["whitening"], dtype=np.float64)
        if not np.isfinite(new.whitening_).all():
            raise ValueError("the whitening of a map must be finite")
        return new

    def _check_landmarks(self, width: int) -> None:
        """Refuse stored landmarks that do not have `width` columns, or do not fit the whitening."""
        if self.landmarks_.ndim != 2 or self.landmarks_.shape[1] != width or self.whitening_.ndim != 2:
            raise ValueError(f"landmarks of shape {self.landmarks_.shape} do not fit {width} columns")
        if len(self.landmarks_) != len(self.whitening_):
            raise ValueError(
                f"{len(self.whitening_)} rows of the whitening do not fit {len(self.landmarks_)} landmarks"
            )
