"""Standardised features, and coefficients back on the original scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from vrspam.features import LinearFeatures
from vrspam.features.encoders import Curves
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


@dataclass(frozen=True)
class Lines:
    """Features that are straight lines of encoded columns x: slope·x + origin; a slope of 0 has x = constant."""

    slopes: np.ndarray
    origins: np.ndarray
    constants: np.ndarray

    @classmethod
    def of(cls, features: Any) -> Lines | None:
        """The lines of a fitted map that only standardises numbers and encodes categories one-hot.

        None for any other map, and where missing values have features of their own.
        """
        if not isinstance(features, LinearFeatures) or any(encoder.missing for encoder in features.encoders_):
            return None
        lines: list[tuple[float, float, float]] = []
        for encoder in features.encoders_:
            if not isinstance(encoder, Curves):
                lines += [(1.0, 0.0, 0.0)] * encoder.width
            elif encoder.nodes.size == 1:
                lines.append((0.0, 0.0, float(encoder.nodes[0])))
            else:
                slope = float(np.ptp(encoder.table) / np.ptp(encoder.nodes))
                lines.append((slope, float(encoder.table[0, 0] - slope * encoder.nodes[0]), 0.0))
        return cls(*np.array(lines).T)

    def columns_of(self, features: np.ndarray) -> np.ndarray:
        """The columns that have these features."""
        flat = self.slopes == 0.0
        return np.where(flat, self.constants, (features - self.origins) / np.where(flat, 1.0, self.slopes))

    def undo(self, coef: np.ndarray, intercept: float) -> tuple[np.ndarray, float]:
        """Coefficients and intercept for the columns."""
        return coef * self.slopes, intercept + float(coef @ self.origins)
