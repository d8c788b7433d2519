"""Columns of very different scale give a warning, and one name means one thing: "linear" and "standardized"."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from helpers import make_data
from scipy import sparse
from sklearn import config_context
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, AUCClassifierCV
from vrspam._utils.warnings import RawColumns
from vrspam.features import LinearFeatures

pytestmark = pytest.mark.filterwarnings("ignore:The best l2")
SCALES = np.array([1.0, 1e4, 20.0])


def raw_table(n=300):
    X, y = make_data(n, 3, correlated=False)
    return pd.DataFrame(StandardScaler().fit_transform(X) * SCALES, columns=["rate", "income", "age"]), y


def warned(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [warning.message for warning in caught if isinstance(warning.message, RawColumns)]


@pytest.mark.parametrize("make", [AUCClassifier, AUCClassifierCV])
def test_raw_columns_are_said_once_with_what_to_do(make):
    frame, y = raw_table()
    (said,) = warned(lambda: make().fit(frame, y))
    assert (said.largest, said.smallest) == ("income", "rate")
    assert said.ratio == pytest.approx(1e4)
    assert "'income' is about 10,000 times that of 'rate'" in str(said)
    assert "StandardScaler" in str(said)
    assert "features='standardized'" in str(said)
    (said,) = warned(lambda: make().fit_stream([(frame[:150], y[:150]), (frame[150:], y[150:])]))
    assert said.ratio == pytest.approx(1e4)


@pytest.mark.parametrize("make", [AUCClassifier, AUCClassifierCV])
def test_no_warning_where_the_scales_do_not_matter(make):
    frame, y = raw_table()
    X = frame.to_numpy()
    none = {"l2": 0.0} if make is AUCClassifier else {"l2s": [0.0]}
    assert warned(lambda: make().fit(sparse.csr_array(X), y)) == []
    assert warned(lambda: make().fit_stream([(sparse.csr_array(X), y)])) == []
    assert warned(lambda: make(**none).fit(X, y)) == []
    assert warned(lambda: make().fit(StandardScaler().fit_transform(X), y)) == []
    assert warned(lambda: make().fit(X / [1.0, 101.0, 1.0], y)) == []  # 99
    assert len(warned(lambda: make().fit(X / [1.0, 99.0, 1.0], y))) == 1  # 101
    constant = np.column_stack([X[:, 0], np.full(len(y), 1e9 + 0.1)])  # whose deviation is rounding at most
    assert warned(lambda: make().fit(constant, y)) == []


@pytest.mark.parametrize("features", ["standardized", "additive", "auto", StandardScaler(), ["standardized"]])
def test_maps_scale_the_columns_themselves(features):
    frame, y = raw_table()
    assert warned(lambda: AUCClassifierCV([0.1], features=features, cv=3).fit(frame, y)) == []


def test_raw_columns_on_a_device(monkeypatch):
    xp = pytest.importorskip("array_api_strict")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    frame, y = raw_table()
    with config_context(array_api_dispatch=True):
        (said,) = warned(lambda: AUCClassifier().fit(xp.asarray(frame.to_numpy()), xp.asarray(y)))
    assert (said.largest, said.smallest) == ("x1", "x0")


def test_standardized_is_the_map_and_linear_the_columns_as_they_are():
    frame, y = raw_table()
    X = frame.to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        scaled = AUCClassifierCV(features="standardized").fit(X, y)
        both = AUCClassifierCV(features=["standardized", "additive"], random_state=0).fit(X, y)
        with pytest.warns(RawColumns):
            plain = AUCClassifierCV(features="linear").fit(X, y)
    assert isinstance(scaled.features_, LinearFeatures)
    assert scaled.selection_["features"] == ["standardized"]
    assert both.selection_["features"] == ["standardized", "additive"]
    assert (plain.features_, plain.selection_["features"]) == (None, ["linear"])
    by_hand = AUCClassifierCV().fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(
        scaled.decision_function(X), by_hand.decision_function(StandardScaler().fit_transform(X)), atol=1e-6
    )


def test_linear_stands_alone():
    frame, y = raw_table()
    with pytest.raises(ValueError, match="In a list of feature maps, write 'standardized'"):
        AUCClassifierCV([0.1], features=["linear", "additive"], cv=3, random_state=0).fit(frame, y)
