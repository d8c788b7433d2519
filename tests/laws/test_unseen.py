"""New values in held-out rows of a cross-validation are said once, not by every fold; other new rows always say it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_predict, cross_val_score, cross_validate

from vrspam import AUCClassifierCV
from vrspam._utils.warnings import UnseenValues


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows with rare categories, so that nearly every fold holds out some that its model has not seen."""
    rng = np.random.default_rng(0)
    rare = [f"rare {number}" if number % 4 == 0 else "usual" for number in range(80)]
    X = pd.DataFrame({name: rng.standard_normal(80), "kind": rare})
    return X, np.arange(80) % 2 == 0


def told(call) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return sum(issubclass(one.category, UnseenValues) for one in caught)


@pytest.mark.parametrize("features", ["standardized", "additive"])
@pytest.mark.parametrize("how", [cross_val_score, cross_validate, cross_val_predict])
def test_a_cross_validation_says_it_once(features, how):
    tables = [table(f"{how.__name__} {features} {number}") for number in range(2)]  # once for each line and table
    model = AUCClassifierCV(features=features, cv=3)
    assert [told(lambda rows=rows: how(model, *rows, cv=4)) for rows in tables] == [1, 1]


def test_new_rows_say_it_each_time():
    X, y = table("x")
    model = AUCClassifierCV(features="standardized", cv=3).fit(X[:40], y[:40])
    assert [told(lambda: model.predict(X[40:])) for _ in range(3)] == [1, 1, 1]
