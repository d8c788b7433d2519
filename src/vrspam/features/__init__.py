"""Feature maps: scikit-learn transformers on which a linear scorer becomes a curved one.

| map | score becomes |
|---|---|
| `LinearFeatures` | a weighted sum of the columns |
| `AdditiveFeatures` | a sum of smooth curves, one for each column |
| `KernelFeatures` | a sum of curves and of bumps around landmarks: interactions of every order |
| `TreeFeatures` | a sum of boxes, the leaves of random trees, around landmarks: sharp interactions |
| `BoostedFeatures`, `ForestFeatures` | the score of trees that learn from labels |
| `StackedFeatures` | the sum of scores of several maps: a blend |

All of them take arrays, sparse matrices and data frames, with categories and missing values, keep float32, and can
be stored without pickle (`to_dict`, `from_dict`).
"""

from collections.abc import Mapping
from typing import Any

from vrspam.features.additive import AdditiveFeatures, LinearFeatures
from vrspam.features.base import FeatureMap
from vrspam.features.boosted import BoostedFeatures, ForestFeatures
from vrspam.features.kernel import KernelFeatures
from vrspam.features.stacked import StackedFeatures
from vrspam.features.trees import TreeFeatures

__all__ = [
    "AdditiveFeatures",
    "BoostedFeatures",
    "FeatureMap",
    "ForestFeatures",
    "KernelFeatures",
    "LinearFeatures",
    "StackedFeatures",
    "TreeFeatures",
    "map_from_dict",
]

MAPS: dict[str, type[FeatureMap]] = {
    kind.__name__: kind
    for kind in (
        *(LinearFeatures, AdditiveFeatures, KernelFeatures, TreeFeatures),
        *(BoostedFeatures, ForestFeatures, StackedFeatures),
    )
}


def map_from_dict(plain: Mapping[str, Any]) -> FeatureMap:
    """Return the fitted map, of any class, that `to_dict` wrote.

    Parameters
    ----------
    plain : dict
        What `to_dict` of a fitted map returned, or the same read from JSON.

    Returns
    -------
    FeatureMap

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.features import AdditiveFeatures, map_from_dict
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> features = AdditiveFeatures().fit(X)
    >>> np.array_equal(map_from_dict(features.to_dict()).transform(X), features.transform(X))
    True
    """
    kind = plain.get("map") if isinstance(plain, Mapping) else None
    if kind not in MAPS:
        raise ValueError(f"This is not a stored feature map ({', '.join(MAPS)}): save the model again.")
    return MAPS[kind].from_dict(plain)
