"""Rows grouped by predicted probability, for comparing predictions with observed frequencies."""

from __future__ import annotations

import numpy as np


def group_by_probability(
    positive: np.ndarray, probabilities: np.ndarray, groups: int = 10, weights: np.ndarray | None = None
) -> list[tuple[int, float, float]]:
    """(rows, mean predicted probability, observed frequency of positives) of groups of about equal size.

    Rows are taken in order of their probability; equal probabilities stay together, and rows count by their weights.

    >>> group_by_probability(np.array([False, True]), np.array([0.2, 0.6]), groups=2)
    [(1, 0.2, 0.0), (1, 0.6, 1.0)]
    """
    edges = np.unique(np.quantile(probabilities, np.linspace(0, 1, groups + 1)[1:-1], method="higher"))
    group = np.searchsorted(edges, probabilities, side="right")
    found = []
    for number in range(edges.size + 1):
        rows = group == number
        own = None if weights is None else weights[rows]
        if rows.any() and (own is None or own.any()):
            predicted, observed = (float(np.average(part[rows], weights=own)) for part in (probabilities, positive))
            found.append((int(rows.sum()), predicted, observed))
    return found
