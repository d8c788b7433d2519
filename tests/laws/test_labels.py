"""Two labels of any type that can be sorted are two classes, for every estimator; others are refused in a sentence."""

import datetime
import enum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_support import examples

from vrspam import (
    AUCClassifier,
    AUCClassifierCV,
    OneVsRestAUC,
    OPAUCClassifier,
    SOLAMClassifier,
    SPAMClassifier,
    VRSPAMClassifier,
)

ESTIMATORS = (
    AUCClassifier(),
    AUCClassifierCV(),
    AUCClassifierCV(features="boosted", cv=3, random_state=0),
    AUCClassifierCV(features="trees 4", cv=3, random_state=0),
    VRSPAMClassifier(random_state=0),
    SPAMClassifier(random_state=0),
    OPAUCClassifier(random_state=0),
    SOLAMClassifier(random_state=0),
    OneVsRestAUC(),
)


class Kind(enum.Enum):
    WELL = 1
    SICK = 2


two = st.one_of(
    *(
        st.lists(one, min_size=2, max_size=2, unique=True)
        for one in (
            st.integers(-5, 5),
            st.floats(-2, 2).map(lambda value: value + 0.0),
            st.text("ab ", max_size=2),
            st.binary(min_size=1, max_size=2).filter(lambda value: not value.endswith(b"\0")),
            st.booleans(),
            st.dates(),
            st.datetimes(min_value=datetime.datetime(1990, 1, 1)),
            st.decimals(-5, 5, places=2),
            st.fractions(-2, 2, max_denominator=9),
        )
    )
)
rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
POSITIVE = X[:, 0] + rng.standard_normal(60) > 0


def labelled(low: Any, high: Any, as_objects: bool) -> np.ndarray:
    y = np.empty(60, dtype=object)
    for row, positive in enumerate(POSITIVE.tolist()):
        y[row] = high if positive else low
    return y if as_objects else np.array(y.tolist())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda one: f"{type(one).__name__} {getattr(one, 'features', '')}"
)
@settings(max_examples=examples(8))
@given(labels=two, as_objects=st.booleans())
def test_two_labels_of_any_type_are_two_classes(estimator, labels, as_objects):
    low, high = sorted(labels)
    y = labelled(low, high, as_objects)
    scores = estimator.fit(X, POSITIVE).decision_function(X)
    auc = estimator.score(X, POSITIVE)
    np.testing.assert_array_equal(estimator.fit(X, y).decision_function(X), scores)
    assert estimator.classes_.tolist() == np.unique(y).tolist()
    assert estimator.score(X, y) == auc
    assert set(estimator.predict(X).tolist()) <= set(y.tolist())


NO_LABELS = [(Kind.WELL, Kind.SICK), ((1, 2), (2, 1)), (frozenset([1]), frozenset([2])), (int, str), (1j, 2j)]


@pytest.mark.parametrize("estimator", ESTIMATORS[:3], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("labels", NO_LABELS, ids=str)
def test_labels_without_an_order_are_refused_in_one_sentence(estimator, labels):
    with pytest.raises(ValueError, match=r"cannot be sorted|Complex data") as caught:
        estimator.fit(X, labelled(labels[0], labels[1], as_objects=True))
    assert "regression" not in str(caught.value)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_many_numbers_are_no_labels(estimator):
    with pytest.raises(ValueError, match="Unknown label type"):
        estimator.fit(X, X[:, 0])
