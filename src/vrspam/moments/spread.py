"""The spread of each column over the rows of both classes."""

from __future__ import annotations

import numpy as np

from vrspam.moments.class_moments import ClassMoments


def spread(moments: ClassMoments) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each feature over all rows; the deviation of a constant feature is 0."""
    share = moments.weights[:, np.newaxis] / moments.weights.sum()
    mean = (share * moments.means).sum(axis=0)
    variance = (share * (moments.variances + (moments.means - mean) ** 2)).sum(axis=0)
    deviation = np.sqrt(variance)
    deviation[deviation <= 1e-10 * np.abs(mean)] = 0.0  # rounding, not spread
    return mean, deviation
