"""`Scaling`: encoded rows, standardised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from vrspam.moments import ClassMoments
from vrspam.moments.class_moments import spread

KEPT_BITS = 40  # the last bits of sums depend on the machine, and folds drawn by hashes of rows must not


@dataclass(frozen=True)
class Scaling:
    """Standardisation of encoded rows. Sparse rows are not centred: the AUC depends only on differences of rows."""

    centre: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(cls, moments: ClassMoments, is_sparse: bool) -> Scaling:
        """The means and standard deviations of all rows, rounded."""
        mean, deviation = spread(moments)
        centre = _rounded(mean)
        scale = _rounded(deviation)
        if is_sparse:
            centre = np.zeros_like(centre)
        return cls(centre, np.where(scale > 0, scale, 1.0))

    def __call__(self, X: Any) -> Any:
        if sparse.issparse(X):
            return sparse.csr_array(X.multiply(1.0 / self.deviations))
        return (X - self.centre) / self.deviations


def _rounded(numbers: np.ndarray) -> np.ndarray:
    """The numbers with as many bits as are kept."""
    mantissa, exponent = np.frexp(numbers)
    return np.ldexp(np.rint(np.ldexp(mantissa, KEPT_BITS)), exponent - KEPT_BITS)
