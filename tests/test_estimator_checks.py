"""scikit-learn's own checks, on every estimator, with no expected failure."""

from helpers import ESTIMATORS
from sklearn.utils.estimator_checks import parametrize_with_checks


@parametrize_with_checks(ESTIMATORS)
def test_sklearn_checks(estimator, check):
    check(estimator)
