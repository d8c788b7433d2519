"""The types that skops must be told to trust to load a fitted estimator of this package.

>>> import skops.io
>>> from sklearn.datasets import load_breast_cancer
>>> from vrspam import AUCClassifierCV
>>> from vrspam.trusted import SKOPS_TYPES
>>> model = AUCClassifierCV(features="additive").fit(*load_breast_cancer(return_X_y=True))
>>> stored = skops.io.dumps(model)
>>> again = skops.io.loads(stored, trusted=SKOPS_TYPES)
>>> again.best_score_ == model.best_score_
True
"""

from typing import get_args

import vrspam
from vrspam.estimators.online import Stream
from vrspam.features import MAPS
from vrspam.features.encoders import Encoder
from vrspam.features.parts import TreePart, Trees
from vrspam.inspection import Axis, PairEffect, Shape, Shapes
from vrspam.kernels import ClassSums, RunningCovariances
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.model_selection import HashFolds, Isotonic, Sigmoid
from vrspam.model_selection.held_out import HeldOut
from vrspam.moments.pairs import PairMoments
from vrspam.solvers.online import OPAUC, SOLAM, SPAM
from vrspam.tables.kinds import KINDS
from vrspam.tables.schema import Schema

__all__ = ["SKOPS_TYPES"]

_PUBLIC = [getattr(vrspam, name) for name in vrspam.__all__]
_TYPES: list[type] = [
    *(kind for kind in _PUBLIC if isinstance(kind, type)),
    Schema,
    *KINDS,
    *MAPS.values(),
    *get_args(Encoder),
    *(TreePart, Trees),
    *(Axis, PairEffect, Shape, Shapes),  # readings of a score
    *(HashFolds, HeldOut, Isotonic, Sigmoid, ChosenThreshold, PairMoments),
    *(OPAUC, SOLAM, SPAM, Stream, ClassSums, RunningCovariances),  # methods that go on with new rows
]
_PRIVATE = ["vrspam.moments._rounding.Errors", "vrspam.moments._statistics.ClassStatistics"]

SKOPS_TYPES = sorted({f"{kind.__module__}.{kind.__qualname__}" for kind in _TYPES} | set(_PRIVATE))
