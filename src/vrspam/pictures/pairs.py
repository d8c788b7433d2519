"""What a pair of columns adds to the score beyond the curves of both: a heat map."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

import numpy as np

from vrspam._utils.texts import number_labels, power_text
from vrspam.inspection import Axis, PairEffect
from vrspam.pictures.column_axis import value_labels
from vrspam.pictures.scales import MOST_TICKS, Ticks
from vrspam.tables.kinds.dates import YEAR

OF_VARIANCE = "of the variance of the score"


def largest_cell(pairs: Iterable[PairEffect]) -> float:
    """The size that has the strongest colour in heat maps; 1 where all cells are 0 or empty."""
    sizes = []
    for pair in pairs:
        filled = pair.values[np.isfinite(pair.values)]
        sizes.append(float(np.abs(filled).max(initial=0.0)))
    return max(sizes) or 1.0


def bin_ticks(axis: Axis) -> Ticks:
    """Ticks of a side of a heat map, whose bins are 1 wide: limits stand between bins, other labels in the middle."""
    labels = list(axis.labels)
    edges = axis.edges
    if edges is None:
        return Ticks(np.arange(len(labels)) + 0.5, labels)
    if np.ptp(edges) > 0.0 and any(" to " in label for label in labels):
        return _limit_ticks(axis, edges)

    if axis.part:  # a bin for each value, which is its upper edge
        labels = [*value_labels(axis.part, edges[1:]), *labels[edges.size - 1 :]]
    step = ceil(len(labels) / 10)
    return Ticks(np.arange(0, len(labels), step) + 0.5, labels[::step])


def _limit_ticks(axis: Axis, edges: np.ndarray) -> Ticks:
    """Limits between bins of numbers; a bin of missing values has its label in the middle."""
    chosen = np.unique(np.linspace(0, edges.size - 1, min(edges.size, MOST_TICKS)).round().astype(int))
    limits = edges[chosen]
    if axis.part == YEAR:
        labels = value_labels(YEAR, limits)
    else:  # rounded to digits that matter for their range, but all different
        digits = 2 - int(np.floor(np.log10(np.ptp(limits))))
        labels = [power_text(round(limit, digits)) for limit in limits]
        if len(set(labels)) != np.unique(limits).size:
            labels = number_labels(limits, 3)

    places = chosen.astype(float).tolist()
    n_bins = len(axis.labels)
    if n_bins == edges.size:
        places.append(n_bins - 0.5)
        labels.append("missing")
    return Ticks(np.array(places), labels)
