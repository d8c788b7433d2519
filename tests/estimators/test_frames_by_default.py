"""`AUCClassifierCV()` takes frames as they are: text, dates, gaps, columns in any order, one row as a dict."""

from __future__ import annotations

import warnings

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from vrspam import AUCClassifierCV
from vrspam.features import LinearFeatures


def patients(rows: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    town, age = rng.choice(["Graz", "Linz", "Wels"], rows), rng.normal(50, 12, rows).round(1)
    day = np.datetime64("2024-01-01") + rng.integers(0, 365, rows)
    sick = (age - 50) / 12 + (town == "Graz") + rng.standard_normal(rows) > 0.5
    frame = pd.DataFrame({"town": town, "age": np.where(rng.random(rows) < 0.1, np.nan, age), "day": day})
    return frame, np.where(sick, "yes", "no")


def test_a_frame_with_text_dates_and_gaps_gets_linear_features():
    X, y = patients()
    model, named = AUCClassifierCV().fit(X, y), AUCClassifierCV(features=LinearFeatures()).fit(X, y)
    assert isinstance(model.features_, LinearFeatures)
    np.testing.assert_allclose(model.decision_function(X), named.decision_function(X), rtol=1e-9)
    assert model.score(X, y) > 0.75
    assert set(model.shape_functions_) >= {"town", "age", "day (year)"}


@pytest.mark.parametrize("change", ["gaps", "text"])
def test_only_what_needs_reading_is_read(change):
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.standard_normal((200, 2)), columns=["a", "b"])
    y = numbers["a"] + rng.standard_normal(200) > 0
    plain = AUCClassifierCV().fit(numbers, y)
    assert plain.features_ is None
    np.testing.assert_array_equal(plain.coef_, AUCClassifierCV().fit(numbers.to_numpy(), y).coef_)
    other = numbers.mask(numbers > 2.5) if change == "gaps" else numbers.assign(b=np.where(numbers["b"] > 0, "x", "y"))
    assert isinstance(AUCClassifierCV().fit(other, y).features_, LinearFeatures)
    with pytest.raises(ValueError, match="NaN"):  # arrays are as they were
        AUCClassifierCV().fit(np.where(numbers > 2.5, np.nan, numbers), y)


def test_columns_are_known_by_name():
    X, y = patients()
    model, new = AUCClassifierCV().fit(X, y), patients(50, seed=1)[0]
    expected = model.decision_function(new)
    turned = new[["day", "town", "age"]].assign(note="not asked for")
    np.testing.assert_array_equal(model.decision_function(turned), expected)
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(new))
    other = pl.DataFrame({"day": new["day"].tolist(), "age": new["age"].to_numpy(), "town": new["town"].tolist()})
    np.testing.assert_allclose(model.decision_function(other), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"(?s)names seen at fit time, yet now missing.*town"):
        model.decision_function(new.drop(columns="town"))


def test_one_row_may_be_a_dict():
    X, y = patients()
    model = AUCClassifierCV(features="additive").fit(X, y)
    row = {"day": X["day"][3], "town": "Graz", "age": None}
    parts = model.explain_one(row)
    as_frame = pd.DataFrame([{**row, "age": np.nan}])
    assert parts == pytest.approx(model.explain_one(as_frame[["town", "age", "day"]]))
    assert sum(parts.values()) == pytest.approx(float(model.decision_function(as_frame)[0]))
    with pytest.raises(ValueError, match="explain_one needs a value for each column, or None: 'town' has none"):
        model.explain_one({"age": 50, "day": X["day"][3]})


def not_there(*_, **__):
    raise ImportError


def test_a_dict_for_columns_of_numbers(monkeypatch):
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((100, 2)), columns=["a", "b"])
    y = X["a"] > 0
    model = AUCClassifierCV().fit(X, y)
    row = {"b": X["b"][5], "a": X["a"][5]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns of rows without names
        assert model.explain_one(row) == pytest.approx(model.explain_one(X.iloc[5]))
        with pytest.raises(ValueError, match="NaN"):
            model.explain_one({**row, "a": None})
    with monkeypatch.context() as without:
        without.setattr(nw, "from_dict", not_there)  # no library for frames is installed
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            parts = model.explain_one(row)
    assert parts == pytest.approx(model.explain_one(X.iloc[5]))
    with pytest.raises(ValueError, match="takes a dict only if fit had names of columns"):
        AUCClassifierCV().fit(X.to_numpy(), y).explain_one({"a": 1.0, "b": 2.0})
