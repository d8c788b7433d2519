"""Small operations on NumPy arrays."""

from __future__ import annotations

import numpy as np


def padded(array: np.ndarray, size: int, axes: tuple[int, ...] | None = None) -> np.ndarray:
    """A copy with zeros appended up to `size` along all axes, or along those named.

    >>> padded(np.array([1.0, 2.0]), 3)
    array([1., 2., 0.])
    """
    chosen = range(array.ndim) if axes is None else axes
    widths = [(0, size - length if axis in chosen else 0) for axis, length in enumerate(array.shape)]
    return np.pad(array, widths)
