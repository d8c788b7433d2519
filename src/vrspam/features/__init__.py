"""Feature maps: scikit-learn transformers on which a linear scorer becomes a curved one.

| map | score becomes |
|---|---|
| `LinearFeatures` | a weighted sum of the columns |
| `AdditiveFeatures` | a sum of smooth curves, one for each column |
| `KernelFeatures` | a sum of curves and of bumps around landmarks: interactions of every order |
| `TreeFeatures` | a sum of boxes, the leaves of random trees, around landmarks: sharp interactions |
| `BoostedFeatures`, `ForestFeatures` | the score of trees that learn from labels |
| `StackedFeatures` | the sum of scores of several maps: a blend |

All of them take arrays, sparse matrices and data frames, with categories and missing values, and keep float32.
"""

from vrspam.features.additive import AdditiveFeatures, LinearFeatures
from vrspam.features.base import FeatureMap
from vrspam.features.boosted import BoostedFeatures
from vrspam.features.forest import ForestFeatures
from vrspam.features.kernel import KernelFeatures
from vrspam.features.names import MAPS as MAPS
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
]
