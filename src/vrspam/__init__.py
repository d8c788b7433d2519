"""Linear scorers that maximise the area under the ROC curve, with a certificate for every result.

Public names are imported on first use, so `import vrspam` costs next to nothing and pulls in no compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "VRSPAMClassifier": "vrspam.estimators.vrspam",
    "SPAMClassifier": "vrspam.estimators.spam",
    "SOLAMClassifier": "vrspam.estimators.solam",
    "OPAUCClassifier": "vrspam.estimators.opauc",
    "AUCClassifier": "vrspam.estimators.exact",
    "AUCClassifierCV": "vrspam.estimators.cv",
    "ClassMoments": "vrspam.moments",
    "HashFolds": "vrspam.model_selection.folds",
    "SlidingMoments": "vrspam.moments",
    "coef_path": "vrspam.solvers.path",
}

__all__ = [
    "AUCClassifier",
    "AUCClassifierCV",
    "ClassMoments",
    "HashFolds",
    "OPAUCClassifier",
    "SOLAMClassifier",
    "SPAMClassifier",
    "SlidingMoments",
    "VRSPAMClassifier",
    "__version__",
    "coef_path",
]

if TYPE_CHECKING:
    from vrspam.estimators.cv import AUCClassifierCV
    from vrspam.estimators.exact import AUCClassifier
    from vrspam.estimators.opauc import OPAUCClassifier
    from vrspam.estimators.solam import SOLAMClassifier
    from vrspam.estimators.spam import SPAMClassifier
    from vrspam.estimators.vrspam import VRSPAMClassifier
    from vrspam.model_selection.folds import HashFolds
    from vrspam.moments import ClassMoments, SlidingMoments
    from vrspam.solvers.path import coef_path


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
