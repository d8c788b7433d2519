"""Standardised features, and coefficients back on the original scale."""

from __future__ import annotations

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


def plain_linear(features: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """(slope, origin) of each feature of a fitted map that only standardises: feature = slope·x + origin.

    x are the columns as a schema encodes them, numbers and then one-hot categories. None for any other map, and where
    missing values have features of their own.
    """
    from vrspam.features import LinearFeatures
    from vrspam.features.encoders import Curves

    if not isinstance(features, LinearFeatures) or any(encoder.missing for encoder in features.encoders_):
        return None
    slopes, origins = [], []
    for encoder in features.encoders_:
        if not isinstance(encoder, Curves):
            slopes += [1.0] * encoder.width
            origins += [0.0] * encoder.width
            continue
        slope = 0.0 if encoder.nodes.size == 1 else float(np.ptp(encoder.table) / np.ptp(encoder.nodes))
        slopes.append(slope)
        origins.append(float(encoder.table[0, 0] - slope * encoder.nodes[0]))
    return np.array(slopes), np.array(origins)
