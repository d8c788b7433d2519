"""Size, mean and scatter of each class of rows that lie on a device (see `vrspam._utils.array_api`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from vrspam._utils.array_api import beside, device_namespace, is_label, on_host, row_blocks
from vrspam.moments._rounding import Errors, gamma, two_sum
from vrspam.moments._statistics import ClassStatistics


def statistics_on_device(
    X: Any, y: Any, weights: Any, index: np.ndarray | None, labels: np.ndarray, full: bool, of_weights: float = 0.0
) -> list[ClassStatistics]:
    """Statistics of the rows of each label (of those numbered in `index`), computed where X lies."""
    c = None if weights is None else beside(weights, X)
    chosen = None if index is None else beside(index, X)
    xp = device_namespace(X)
    found = []
    for label in labels:
        member = is_label(y, label, X)
        if c is not None:
            member = member & (c > 0)
        rows = xp.nonzero(member)[0] if chosen is None else chosen[xp.take(member, chosen)]
        found.append(_statistics(X, rows, c, full, of_weights))
    return found


def _statistics(X: Any, index: Any, weights: Any, full: bool, of_weights: float) -> ClassStatistics:
    """Size, mean and scatter of some rows.

    All blocks are shifted by the mean of the first one, so that their products simply add up. The spread of
    all rows includes how far the first block's mean is from theirs, so a bad guess costs few digits; where the
    mean is no larger than the spread, the shift is left out, because it would save only one bit.
    """
    from sklearn.utils._array_api import device

    xp, there, d = device_namespace(X), device(X), X.shape[1]
    if index.shape[0] == 0:
        return ClassStatistics.empty(d, full)
    sums, gram = (xp.zeros(shape, dtype=xp.float64, device=there) for shape in ((d,), (d, d) if full else (d,)))
    total, centre, largest, number = 0.0, None, 0, 0
    for number, (where, rows) in enumerate(row_blocks(X, index)):
        c = None if weights is None else xp.astype(xp.take(weights, where), xp.float64)
        size = float(rows.shape[0] if c is None else xp.sum(c))
        if number == 0:
            mean = (xp.sum(rows, axis=0) if c is None else c @ rows) / size
            centre = mean if bool(xp.any(xp.abs(mean) > xp.std(rows, axis=0))) else None
        if centre is not None:
            rows -= centre
        sums += xp.sum(rows, axis=0) if c is None else c @ rows
        if c is not None:
            rows *= xp.sqrt(c)[:, None]
        gram += rows.T @ rows if full else xp.sum(rows * rows, axis=0)
        total += size
        largest = max(largest, int(rows.shape[0]))
    if not bool(xp.all(xp.isfinite(sums))):
        raise ValueError("X contains NaN or infinity: impute or drop those rows first.")
    left = sums / total
    squares = on_host(xp.linalg.diagonal(gram) if full else gram).copy()
    gram -= total * (left[:, None] * left[None, :] if full else left * left)
    mean, low = two_sum(np.zeros(d) if centre is None else on_host(centre), on_host(left))
    scatter = np.asfortranarray(on_host(gram).T)  # symmetric: transposed, it is by columns without a copy
    size = int(index.shape[0])
    of_weight = 0.0 if weights is None else gamma(size) + of_weights
    residual = on_host(left)
    operations = largest + number + 1
    errors = Errors.of_block(operations, total, squares, residual, of_weight=of_weight, of_weights=of_weights)
    statistics = ClassStatistics(size, total, mean, scatter, np.zeros(d), low=low, errors=errors)
    statistics.clip_diagonal()
    statistics.peak = statistics.diagonal.copy()
    return statistics
