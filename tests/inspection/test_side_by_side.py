"""A blend of maps of single columns is a sum of curves; a map says what it takes of a frame that was read first."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from vrspam import AUCClassifierCV
from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures, StackedFeatures


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(60, 10, n),
            "dose": np.where(rng.random(n) < 0.1, np.nan, rng.exponential(size=n)),
            "town": rng.choice(["Graz", "Köln", "Bern"], n),
            "smoker": rng.integers(0, 2, n),
        }
    )
    signal = (frame.age - 60) / 10 + frame.dose.fillna(0.5) ** 2 + (frame.town == "Graz") + frame.smoker
    return frame, signal + rng.normal(size=n) > 2.5


@pytest.fixture(scope="module")
def blend():
    X, y = table()
    return AUCClassifierCV(features=["standardized", "additive"], calibration=None, random_state=0).fit(X, y)


def test_a_blend_of_lines_and_curves_has_no_interactions(blend):
    assert isinstance(blend.features_, StackedFeatures)
    assert blend.interactions_share_ == 0.0
    assert blend.interactions_ == {}
    assert list(blend.importances_) == ["age", "dose", "town", "smoker"]


@pytest.mark.parametrize("column", ["age", "dose", "town", "smoker"])
def test_its_curves_are_the_changes_of_the_score(blend, column):
    """What a curve says between two values is what the score does when that column alone changes."""
    X, _ = table()
    shape = blend.shape_functions_[column]
    rows = pd.concat([X.iloc[[3]]] * shape.grid.size, ignore_index=True)
    rows[column] = list(shape.grid)
    changes = blend.decision_function(rows)
    np.testing.assert_allclose(np.diff(shape.contribution), np.diff(changes), atol=1e-9)
    if shape.missing is not None:
        rows[column] = np.nan
        gone = blend.decision_function(rows.iloc[[0]])[0]
        assert shape.missing[0] - shape.contribution[0] == pytest.approx(gone - changes[0], abs=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of values that training did not have
def test_its_parts_add_up_inside_and_outside_the_range_of_training(blend):
    X, _ = table()
    far = X.assign(age=3.0 * X.age - 200.0, town="Wien")
    for row in (X.iloc[[0]], X.iloc[[7]], far.iloc[[0]], far.iloc[[7]]):
        parts = blend.explain_one(row)
        assert list(parts) == ["age", "dose", "town", "smoker"]
        assert sum(parts.values()) == pytest.approx(blend.decision_function(row)[0], abs=1e-9)


def test_its_importances_are_the_spreads_of_its_parts():
    X, y = table(60)
    blend = AUCClassifierCV(features=["standardized", "additive"], calibration=None, random_state=0).fit(X, y)
    weights = np.where(y, 0.5 / y.sum(), 0.5 / (~y).sum())
    parts = pd.DataFrame([blend.explain_one(X.iloc[[i]]) for i in range(len(X))])
    spread = np.sqrt(weights @ parts**2 - (weights @ parts) ** 2)
    assert list(blend.importances_.values()) == pytest.approx(spread.tolist(), rel=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of the categories that are grouped
def test_which_maps_keep_columns_apart():
    X, _ = table()

    def apart(*maps):
        return StackedFeatures(list(maps)).fit(X).keeps_columns_apart

    assert apart(LinearFeatures(), AdditiveFeatures(), LinearFeatures())
    assert not apart(LinearFeatures(), KernelFeatures(random_state=0))
    assert not apart(LinearFeatures(max_categories=2), AdditiveFeatures())  # other categories: no common curve


@pytest.mark.filterwarnings("ignore::UserWarning")  # of what is read and left out
def test_a_map_refuses_the_frame_that_its_estimator_reads():
    X, y = table()
    X.insert(0, "patient", [f"P{i:05d}" for i in range(len(X))])
    X["seen"] = pd.date_range("2020-01-01", periods=len(X)).strftime("%Y-%m-%d")
    model = AUCClassifierCV(features="additive", random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match=r"^This map takes the columns that its estimator made of the frame .*seen"
    ) as e:
        model.features_.transform(X)
    assert "\n" not in str(e.value)
    assert model.decision_function(X).shape == (len(X),)
