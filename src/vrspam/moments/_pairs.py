"""What the squared pair loss needs of two classes, and bounds on the rounding errors of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vrspam.moments._rounding import UNIT, difference, lost_level, relative
from vrspam.moments._statistics import ClassStatistics


class PairStatistics(NamedTuple):
    """What the squared pair loss needs of two classes, apart from Σ₊ + Σ₋ itself; see `ClassMoments` for each."""

    p: float
    q: float
    means: np.ndarray
    delta: np.ndarray
    variances: np.ndarray
    within_diagonal: np.ndarray

    @classmethod
    def of(cls, negative: ClassStatistics, positive: ClassStatistics) -> PairStatistics:
        """From the statistics of both classes."""
        total = negative.weight + positive.weight
        variances = np.stack([negative.diagonal / negative.weight, positive.diagonal / positive.weight])
        np.maximum(variances, 0.0, out=variances)
        return cls(
            p=positive.weight / total,
            q=negative.weight / total,
            means=np.stack([negative.mean, positive.mean]),
            delta=difference(positive.mean, positive.low, negative.mean, negative.low),
            variances=variances,
            within_diagonal=variances.sum(axis=0),
        )


class PairErrors(NamedTuple):
    """Bounds on the rounding errors of a `PairStatistics`, and of Σ = Σ₊ + Σ₋.

    Attributes
    ----------
    share : float
        Relative error of pq, and of the weight of either class.
    means : ndarray of shape (2, d)
    delta : ndarray of shape (d,)
    within : ndarray of shape (d,)
        |error of Σ_ij| ≤ √(within_i within_j).
    """

    share: float
    means: np.ndarray
    delta: np.ndarray
    within: np.ndarray

    @classmethod
    def of(cls, negative: ClassStatistics, positive: ClassStatistics) -> PairErrors:
        """From the statistics of both classes."""
        shares = [relative(s.errors.weight, s.weight) for s in (negative, positive)]
        level = lost_level(negative.mean, negative.low, positive.mean, positive.low)
        delta = np.abs(difference(positive.mean, positive.low, negative.mean, negative.low))
        within = np.zeros_like(level)
        for s, share in zip((negative, positive), shares, strict=True):
            within += (1.01 * s.errors.scatter + (share + 4.0 * UNIT) * (s.diagonal + s.errors.scatter)) / s.weight
        return cls(
            share=2.0 * sum(shares) + 8.0 * UNIT,
            means=np.stack([negative.errors.mean, positive.errors.mean]),
            delta=negative.errors.mean + positive.errors.mean + 4.0 * UNIT * delta + 16.0 * UNIT**2 * level,
            within=within,
        )
