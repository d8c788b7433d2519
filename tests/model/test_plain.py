"""Objects written and read by their fields: every estimator's model comes back from a file; wrong fields are named."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from stored import as_lists

from vrspam import AUCClassifier, AUCClassifierCV, ConcordanceRanker
from vrspam.features.parts import CategoryPart, Parts, TreePart
from vrspam.model.forms.base import PlainError
from vrspam.model.forms.objects import form_of
from vrspam.model.plain import from_plain, to_plain
from vrspam.tool import ModelFileError, export_model, load_model, save_model


def rows(n=120, seed=0):
    """Numbers with gaps, a date and text, and a label that depends on all of them."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["Graz", "Linz", "Wien"], n)
    age = rng.normal(50, 9, n).round(1)
    sick = age / 9 + 2.0 * (town == "Linz") + rng.logistic(size=n) > 6.0
    age[::9] = np.nan
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    return pd.DataFrame({"age": age, "town": town, "seen": days}), np.where(sick, "yes", "no")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("features", ["additive", "kernel", "boosted"])
def test_the_model_of_an_estimator_comes_back_from_its_file(tmp_path, features):
    X, y = rows()
    fitted = AUCClassifierCV([0.1], features=features, cv=3, random_state=0).fit(X, y)
    save_model(fitted.to_model(), tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    read = fitted._table_schema.read(X)[0]
    np.testing.assert_array_equal(again.score(read), fitted.decision_function(X))
    np.testing.assert_array_equal(again.labels(again.score(read)), fitted.predict(X))
    np.testing.assert_array_equal(again.probabilities(again.score(read)), fitted.predict_proba(X)[:, 1])
    assert again.training == {}
    with pytest.raises(ValueError, match="does not know its training rows: explain the estimator that it comes from"):
        again.parts_of_rows(read) if again.parts.keeps_columns_apart else again.contributions
    if features == "additive":
        export_model(again, python=tmp_path / "m.py", sql=tmp_path / "m.sql")  # which read back what they write


def test_straight_lines_of_a_matrix_and_of_a_ranker_come_back(tmp_path):
    X = np.random.default_rng(1).standard_normal((90, 3))
    for fitted in (AUCClassifier(0.1).fit(X, X[:, 0] > 0.2), ConcordanceRanker(0.1).fit(X, X[:, 1])):
        save_model(fitted.to_model(), tmp_path / "m.json")
        again = load_model(tmp_path / "m.json")
        np.testing.assert_array_equal(again.score(X), fitted.decision_function(X))
        assert again.is_matrix
        assert again.outcome == fitted.to_model().outcome
        np.testing.assert_array_equal(again.coef, fitted.coef_[0])
    assert again.ranks
    assert again.outcome.higher == "a larger y"


def test_names_that_are_no_text_are_refused_in_a_sentence(tmp_path):
    X, y = rows()
    fitted = AUCClassifierCV([0.1], features="additive", cv=3).fit(X.set_axis([1, 2, 3], axis=1), y)
    with pytest.raises(ModelFileError, match=r"schema\.source\[0\] is not a text \(1\)\. Train the model again"):
        save_model(fitted.to_model(), tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


def plain_trees() -> dict[str, Any]:
    X, y = rows()
    parts = AUCClassifierCV([0.1], features="boosted", cv=3, random_state=0).fit(X, y).to_model().parts
    return json.loads(json.dumps(to_plain(parts)))


@pytest.mark.parametrize(
    ("forge", "words"),
    [
        (lambda plain: plain["fields"]["trees"][0]["encoders"].update(shared=5), "names a shared part that is not"),
        (lambda plain: plain["fields"]["trees"][0]["encoders"].update(shared=True), "names a shared part that is not"),
        (
            lambda plain: plain["fields"]["trees"][0].update(encoders=[]),
            "encoders is not an object with shared",
        ),
        (lambda plain: plain["fields"]["trees"][0]["trees"]["columns"].update(array=-1), "an array that is not there"),
        (lambda plain: plain["fields"]["trees"][0].pop("coef"), r"trees\[0\]\.coef is missing"),
        (lambda plain: plain["fields"]["trees"][0].update(new=1), r"trees\[0\]\.new is not known"),
        (lambda plain: plain["shared"].__setitem__(0, {"shared": 0}), "is not a list"),
        (lambda plain: plain.update(shared={}), "shared is not a list"),
        (lambda plain: plain.pop("arrays"), "arrays is missing"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_shared_and_packed_is_there_once(forge, words):
    plain = plain_trees()
    again = from_plain(Parts, plain)
    assert all(isinstance(part, TreePart) for part in again.trees)
    assert to_plain(again) == plain == to_plain(from_plain(Parts, as_lists(plain)))
    forge(plain)
    with pytest.raises(PlainError, match=words):
        from_plain(Parts, plain)


def test_texts_that_name_themselves_are_refused():
    names = tuple(f"town {number}" for number in range(40))
    plain = to_plain(CategoryPart(dict.fromkeys(names, 0.5)))
    assert plain["fields"]["values"]["names"] == {"shared": 0}
    plain["shared"][0] = {"shared": 0}
    with pytest.raises(PlainError, match=r"values\.names is a part of itself"):
        from_plain(CategoryPart, plain)


def test_a_field_that_no_file_can_hold_is_an_error_of_its_class():
    @dataclass
    class Price:
        amount: Decimal

    with pytest.raises(TypeError, match=r"no file can hold a field of the type <class 'decimal\.Decimal'>"):
        form_of(Price)
