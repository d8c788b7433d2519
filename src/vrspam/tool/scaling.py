"""Standardised features, coefficients back on the original scale, and feature maps behind the standardisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from vrspam.moments import ClassMoments


def spread(moments: ClassMoments) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each feature over all rows; the deviation of a constant feature is 0."""
    share = moments.weights[:, np.newaxis] / moments.weights.sum()
    mean = (share * moments.means).sum(axis=0)
    variance = (share * (moments.variances + (moments.means - mean) ** 2)).sum(axis=0)
    deviation = np.sqrt(variance)
    deviation[deviation <= 1e-10 * np.abs(mean)] = 0.0  # rounding, not spread
    return mean, deviation


@dataclass(frozen=True)
class Scaling:
    """Standardisation of encoded rows. Sparse rows are not centred: differences of rows, all that AUC sees, stay."""

    centre: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(cls, moments: ClassMoments, is_sparse: bool) -> Scaling:
        mean, deviation = spread(moments)
        return cls(np.zeros_like(mean) if is_sparse else mean, np.where(deviation > 0, deviation, 1.0))

    def __call__(self, X: Any) -> Any:
        if sparse.issparse(X):
            return sparse.csr_array(X.multiply(1.0 / self.deviations))
        return (X - self.centre) / self.deviations

    def undo(self, coef: np.ndarray, intercept: float) -> tuple[np.ndarray, float]:
        """Coefficients and intercept for rows as they are."""
        original = coef / self.deviations
        return original, intercept - float(original @ self.centre)


def fill_gaps(X: Any, values: Sequence[float]) -> Any:
    """X with its missing values replaced by those of their columns (the first columns of X); itself without any.

    >>> fill_gaps(np.array([[np.nan, 1.0], [2.0, 0.0]]), [5.0])
    array([[5., 1.],
           [2., 0.]])
    """
    gone = np.isnan(X.data if sparse.issparse(X) else X)
    if not gone.any():
        return X
    new = X.copy()
    numbers = new.data if sparse.issparse(X) else new
    numbers[gone] = np.asarray(values)[new.indices[gone] if sparse.issparse(X) else np.nonzero(gone)[1]]
    return new


def count_gaps(X: Any, columns: int) -> np.ndarray:
    """How many values are missing in each of the first columns of X.

    >>> count_gaps(np.array([[np.nan, 1.0, 0.0], [np.nan, 0.0, 1.0]]), 2)
    array([2, 0])
    """
    if sparse.issparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])[:columns]
    return np.isnan(X[:, :columns]).sum(axis=0)


@dataclass(frozen=True)
class Map:
    """A fitted feature map (`vrspam.features`) of standardised rows; with `gaps` it takes missing numbers as NaN."""

    scaling: Scaling
    features: Any
    gaps: bool = False

    @property
    def n_features_in(self) -> int:
        return self.scaling.centre.size

    @property
    def n_features_out(self) -> int:
        return self.features.n_features_out_

    def transform(self, X: Any) -> np.ndarray:
        return self.features.features_of(self.scaling(X))

    def products(self, X: Any, coef: np.ndarray) -> np.ndarray:
        """transform(X) @ coef, without the features of all rows at once."""
        return self.features.products(self.scaling(X), coef)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, lists and arrays."""
        parts = {"centre": self.scaling.centre, "deviations": self.scaling.deviations}
        return {**parts, "gaps": self.gaps, "map": self.features.to_dict()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Map:
        """Return the map that `to_dict` wrote; one row goes through it to see that its parts fit."""
        from vrspam.features import map_from_dict

        centre, deviations = (np.array(plain[name], dtype=np.float64) for name in ("centre", "deviations"))
        new = cls(Scaling(centre, deviations), map_from_dict(plain["map"]), bool(plain.get("gaps", False)))
        try:
            whole = centre.ndim == 1 and new.transform(centre[np.newaxis]).shape == (1, new.n_features_out)
        except Exception as error:
            raise ValueError(f"the feature map is broken: {error}") from error
        if not whole:
            raise ValueError("the feature map is broken")
        return new


def is_linear(features: Any) -> bool:
    """Whether a map only standardises: columns without gaps as they are."""
    from vrspam.features import LinearFeatures

    return isinstance(features, LinearFeatures) and not any(encoder.missing for encoder in features.encoders_)


def as_linear(features: Any, coef: np.ndarray, intercept: float) -> tuple[np.ndarray, float]:
    """Coefficients and intercept on the columns themselves, of a scorer on a map that only standardises them."""
    d = features.n_features_in_
    origin = features.features_of(np.zeros((1, d)))[0]
    slopes = np.diagonal(features.features_of(np.eye(d))) - origin
    return coef * slopes, intercept + float(coef @ origin)
