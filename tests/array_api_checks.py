"""scikit-learn's array-API checks: SCIPY_ARRAY_API must be set before SciPy is loaded, so this is a program of its own.

It prints a line for each check: its outcome, the estimator, the check, and what it was told.
"""

import os

if __name__ == "__main__":  # tests that only look into this file must not see it set
    os.environ["SCIPY_ARRAY_API"] = "1"

import unittest
import warnings

from sklearn.utils import estimator_checks

from vrspam import AUCClassifier, AUCClassifierCV

warnings.simplefilter("ignore")


def outcome(check, estimator):
    try:
        check(type(estimator).__name__, estimator)
    except unittest.SkipTest:
        return "skipped"
    except AssertionError as error:
        return f"failed: {error}"
    return "passed"


if __name__ == "__main__":
    for estimator in (AUCClassifier(), AUCClassifier(l1=0.01), AUCClassifierCV(cv=3)):
        for check in estimator_checks._yield_array_api_checks(estimator):
            print(f"{estimator} | {check.func.__name__} | {check.keywords} | {outcome(check, estimator)}", flush=True)
