"""A map that cannot be fitted leaves the comparison and is named; any other error, in a race too, is an error."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_support import examples
from sklearn.base import BaseEstimator, TransformerMixin

from vrspam import AUCClassifierCV
from vrspam._utils.warnings import MapsNotFitted
from vrspam.features import AdditiveFeatures, BoostedFeatures, LinearFeatures, TreeFeatures
from vrspam.model_selection import maps_in_memory
from vrspam.model_selection import race as room


class Broken(TransformerMixin, BaseEstimator):
    """A transformer that fails on some rows: those of large first columns."""

    def __init__(self, how="nan"):
        self.how = how

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        found = np.array(X, dtype=float)
        some = found[:, 0] > 1.0
        if self.how == "nan":
            found[some] = np.nan
        elif self.how == "infinite":
            found[some] = np.inf
        elif self.how == "singular" and some.any():
            raise np.linalg.LinAlgError("Singular matrix")
        elif self.how == "wrong" and some.any():
            raise TypeError("this transformer has an error")
        return found


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, X[:, 0] + rng.standard_normal(n) > 0.5


good = st.lists(
    st.sampled_from([LinearFeatures(), AdditiveFeatures(), TreeFeatures(n_landmarks=20, random_state=0)]),
    min_size=1,
    max_size=2,
    unique_by=str,
)


@settings(max_examples=examples(8))
@given(
    maps=good, how=st.sampled_from(["nan", "infinite", "singular"]), place=st.integers(0, 2), seed=st.integers(0, 99)
)
def test_a_map_that_cannot_be_fitted_leaves_the_comparison_and_is_named(maps, how, place, seed):
    X, y = rows(120, seed)
    named = {str(number): new for number, new in enumerate(maps)}
    with_it = list(named.items())
    with_it.insert(min(place, len(with_it)), ("broken", Broken(how)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = AUCClassifierCV(features=dict(with_it), selection="best", random_state=0).fit(X, y)
    told = [one.message for one in caught if isinstance(one.message, MapsNotFitted)]
    assert [one.maps for one in told] == [("broken",)]
    assert "broken" in str(told[0])

    without = AUCClassifierCV(features=named, selection="best", random_state=0).fit(X, y)
    np.testing.assert_allclose(found.decision_function(X), without.decision_function(X), rtol=1e-9, atol=1e-9)
    assert found.selection_["features"] == without.selection_["features"]

    with pytest.raises(ValueError, match=r"\w"):
        AUCClassifierCV(features=Broken(how)).fit(X, y)


def test_another_error_in_a_comparison_is_an_error():
    X, y = rows(120, 0)
    with pytest.raises(TypeError, match="this transformer has an error"):
        AUCClassifierCV(features=[LinearFeatures(), Broken("wrong")], selection="best").fit(X, y)


@pytest.mark.parametrize("error", [ValueError, TypeError, ZeroDivisionError, FloatingPointError])
@pytest.mark.parametrize("broken", [LinearFeatures, BoostedFeatures])
def test_an_error_in_a_race_is_an_error(monkeypatch, error, broken):
    """It must not be taken for a part of the rows that is too small, and the race be given up in silence."""
    X, y = rows(600, 0)
    few = room.RULES._replace(from_rows=500, heat=room.Heat(300, 20, 3))
    monkeypatch.setattr(room, "RULES", few)
    right = maps_in_memory.MapsInMemory.evaluate

    def evaluate(evaluator, name, features):
        if isinstance(features, broken) and evaluator.folds.rows.y.size < 600:
            raise error("a defect")
        return right(evaluator, name, features)

    monkeypatch.setattr(maps_in_memory.MapsInMemory, "evaluate", evaluate)
    maps = [LinearFeatures(), AdditiveFeatures(), BoostedFeatures(n_trees=5)]
    with pytest.raises(error, match="a defect"):
        AUCClassifierCV(features=maps, random_state=0).fit(X, y)
