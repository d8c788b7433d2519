"""Standardised features, and coefficients back on the original scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from vrspam.moments import ClassMoments
from vrspam.tool.suspicions import spread


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
