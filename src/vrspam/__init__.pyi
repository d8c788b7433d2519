# The public names and where they live: read by type checkers, by editors and, at import, by lazy_loader.
from .estimators.coef_path import coef_path
from .estimators.concordance import ConcordanceRanker, ConcordanceRankerCV
from .estimators.cv import AUCClassifierCV
from .estimators.exact import AUCClassifier, OneVsRestAUC
from .estimators.online import OPAUCClassifier, SOLAMClassifier, SPAMClassifier
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
