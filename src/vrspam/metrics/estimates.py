"""Numbers with an interval that follows from how much each row moves them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vrspam.metrics import roc
from vrspam.metrics.groups import Clusters, satterthwaite


class Estimate(NamedTuple):
    """A number with its interval; NaN where the rows do not determine it.

    Attributes
    ----------
    value, low, high : float

    Examples
    --------
    >>> from vrspam.metrics import Estimate
    >>> Estimate(0.9, 0.7, 1.1).low
    0.7
    """

    value: float
    low: float
    high: float


def estimate_of(
    value: float,
    moves: NDArray,
    positive: NDArray,
    weight: NDArray,
    groups: NDArray | None,
    confidence: float,
    rows: tuple[int, int] | None = None,
) -> Estimate:
    """A number with its interval, from how much each row moves it; rows of a group move it together.

    Student's t counts the rows, or groups, of each class: five positives tell little, however many negatives there are.
    `rows` has the numbers of negatives and positives, where entries stand for several rows.
    """
    counts = rows or (int((~positive).sum()), int(positive.sum()))
    sums = [float(moves[side] @ moves[side]) for side in (~positive, positive)]
    error = float(np.linalg.norm(moves))
    freedom = satterthwaite(*[(total, max(count - 1.0, 1.0)) for total, count in zip(sums, counts, strict=True)])
    if groups is not None:
        clusters = Clusters.of_moves(moves, weight, groups, positive, centred=False)
        error = clusters.error
        freedom = clusters.freedom
    limit = roc.quantile(confidence, freedom)
    return Estimate(float(value), float(value - limit * error), float(value + limit * error))
