# The public names and where they live: read by type checkers, by editors and, at import, by lazy_loader.
from .estimators.cv import AUCClassifierCV as AUCClassifierCV
from .estimators.exact import AUCClassifier as AUCClassifier
from .estimators.folds import HashFolds as HashFolds
from .estimators.opauc import OPAUCClassifier as OPAUCClassifier
from .estimators.solam import SOLAMClassifier as SOLAMClassifier
from .estimators.spam import SPAMClassifier as SPAMClassifier
from .estimators.vrspam import VRSPAMClassifier as VRSPAMClassifier
from .moments import ClassMoments as ClassMoments
from .moments import SlidingMoments as SlidingMoments
from .solvers.grid import coef_path as coef_path

__version__: str
