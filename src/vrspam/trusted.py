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

from vrspam.tables.schema import TableSchema
from vrspam.tables.texts import KINDS

__all__ = ["SKOPS_TYPES"]

_CLASSES: tuple[type, ...] = (TableSchema, *KINDS)
SKOPS_TYPES = [
    *(f"{kind.__module__}.{kind.__qualname__}" for kind in _CLASSES),
    "vrspam.estimators.cv.AUCClassifierCV",
    "vrspam.estimators.exact.AUCClassifier",
    "vrspam.estimators.exact.OneVsRestAUC",
    "vrspam.estimators.online.OPAUCClassifier",
    "vrspam.estimators.online.SOLAMClassifier",
    "vrspam.estimators.online.SPAMClassifier",
    "vrspam.estimators.online._Stream",
    "vrspam.estimators.vrspam.VRSPAMClassifier",
    "vrspam.features.additive.AdditiveFeatures",
    "vrspam.features.additive.LinearFeatures",
    "vrspam.features.encoders.Curves",
    "vrspam.features.encoders.Indicators",
    "vrspam.features.kernel.KernelFeatures",
    "vrspam.features.stacked.StackedFeatures",
    "vrspam.features.trees.TreeFeatures",
    "vrspam.inspection.interactions.Axis",
    "vrspam.inspection.interactions.Interactions",
    "vrspam.inspection.interactions.PairEffect",
    "vrspam.inspection.reading.ScoreReading",
    "vrspam.inspection.shapes.Shape",
    "vrspam.kernels.ClassSums",
    "vrspam.kernels.RunningCovariances",
    "vrspam.model_selection.calibration.Isotonic",
    "vrspam.model_selection.calibration.Sigmoid",
    "vrspam.model_selection.folds.HashFolds",
    "vrspam.model_selection.held_out.HeldOut",
    "vrspam.moments._rounding.Errors",
    "vrspam.moments._statistics.ClassStatistics",
    "vrspam.moments.class_moments.ClassMoments",
    "vrspam.solvers.online.OPAUC",
    "vrspam.solvers.online.SOLAM",
    "vrspam.solvers.online.SPAM",
]
