# The public names and where they live: read by type checkers, by editors and, at import, by lazy_loader.
from .estimators.coef_path import coef_path
from .estimators.cv import AUCClassifierCV
from .estimators.exact import AUCClassifier
from .estimators.one_vs_rest import OneVsRestAUC
from .estimators.opauc import OPAUCClassifier
from .estimators.ranker import ConcordanceRanker
from .estimators.ranker_cv import ConcordanceRankerCV
from .estimators.solam import SOLAMClassifier
from .estimators.spam import SPAMClassifier
from .estimators.vrspam import VRSPAMClassifier
from .model_selection.hashing import HashFolds
from .moments import ClassMoments, SlidingMoments

__version__: str

__all__ = [
    "AUCClassifier",
    "AUCClassifierCV",
    "ClassMoments",
    "ConcordanceRanker",
    "ConcordanceRankerCV",
    "HashFolds",
    "OPAUCClassifier",
    "OneVsRestAUC",
    "SOLAMClassifier",
    "SPAMClassifier",
    "SlidingMoments",
    "VRSPAMClassifier",
    "__version__",
    "coef_path",
]
