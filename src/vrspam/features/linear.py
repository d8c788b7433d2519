"""`LinearFeatures`: the columns themselves, standardised."""

from __future__ import annotations

import numpy as np

from vrspam.features.base import FeatureMap
from vrspam.features.encoders import Curves
from vrspam.features.ranks import Distribution


class LinearFeatures(FeatureMap):
    """Standardised columns: (x - mean) / deviation; categories one-hot, missing values as an indicator.

    The baseline that the other maps are compared with, and the way to give a linear scorer frames with
    categories and gaps.

    Parameters
    ----------
    max_rows : int, default=50_000
        Mean and deviation come from at most this many rows.
    random_state : int, RandomState or None, default=None
        Draws those rows.

    Attributes
    ----------
    encoders_ : list
        How each column is encoded.
    n_features_out_ : int

    Examples
    --------
    >>> import pandas as pd
    >>> from vrspam.features import LinearFeatures
    >>> frame = pd.DataFrame({"age": [30.0, 50.0, None], "sex": ["f", "m", "f"]})
    >>> features = LinearFeatures().fit(frame)
    >>> features.get_feature_names_out().tolist()
    ['age', 'age_missing', 'sex=f', 'sex=m']
    >>> features.transform(frame)
    array([[-1.,  0.,  1.,  0.],
           [ 1.,  0.,  0.,  1.],
           [ 0.,  1.,  1.,  0.]])
    """

    def __init__(self, *, max_rows=50_000, random_state=None):
        self.max_rows = max_rows
        self.random_state = random_state

    def _curves(self, seen: Distribution, missing: bool) -> Curves:
        if seen.deviation == 0.0:
            return Curves(seen.values[:1], np.zeros((1, 1)), ("",), missing)
        ends = seen.values[[0, -1]]
        table = ((ends - seen.mean) / seen.deviation)[:, np.newaxis]
        return Curves(ends, table, ("",), missing, extend=True)
