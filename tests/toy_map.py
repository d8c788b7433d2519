"""A feature map defined outside the package, as docs/add_a_map.md builds it: hinges at quantiles of each column."""

from numbers import Integral

import numpy as np

from vrspam._utils.parameters import Interval
from vrspam.features import FeatureMap
from vrspam.features.encoders import Curves


class HingeFeatures(FeatureMap):
    """max(0, x - q) for quantiles q of each column, divided by the deviation of the column."""

    _parameter_constraints: dict = {
        **FeatureMap._parameter_constraints,
        "n_hinges": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, *, n_hinges=5, max_categories=1000, max_rows=50_000, random_state=None):
        self.n_hinges = n_hinges
        self.max_categories = max_categories
        self.max_rows = max_rows
        self.random_state = random_state

    def _curves(self, seen, missing):
        levels = np.arange(self.n_hinges) / self.n_hinges
        knots = np.interp(levels, seen.ranks, seen.values)
        nodes = np.union1d(knots, seen.values[[0, -1]])
        table = np.maximum(0.0, nodes[:, np.newaxis] - knots) / (seen.deviation or 1.0)
        return Curves(nodes, table, tuple(f"hinge{r}" for r in range(len(knots))), missing, extend=nodes.size > 1)
