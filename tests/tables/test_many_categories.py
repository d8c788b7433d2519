"""Columns of more categories than a map takes: the most frequent are kept, the others count as one."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from vrspam import AUCClassifierCV
from vrspam._utils.warnings import CategoriesGrouped
from vrspam.features import (
    AdditiveFeatures,
    KernelFeatures,
    LinearFeatures,
    StackedFeatures,
    TreeFeatures,
)
from vrspam.features.encoders import Indicators
from vrspam.model.plain import from_plain, to_plain
from vrspam.tool.training import train

MAPS = [
    LinearFeatures(max_categories=4),
    AdditiveFeatures(max_categories=4),
    KernelFeatures(n_landmarks=20, max_categories=4, random_state=0),
    TreeFeatures(n_trees=20, n_landmarks=20, max_categories=4, random_state=0),
]
TOWNS = ["a"] * 9 + ["b"] * 7 + ["c"] * 5 + ["d"] * 3 + ["e"] * 3 + ["f"] + [None] * 2


def grouped_by_hand(town):
    """The three most frequent of TOWNS are kept, and the others are one, under a name that comes last."""
    return [t if t in ("a", "b", "c") or t is None else "z" for t in town]


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.CategoriesGrouped")
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("features", MAPS, ids=[type(m).__name__ for m in MAPS])
def test_a_map_of_many_categories_is_that_of_the_grouped_column(features, make):
    age = np.random.default_rng(0).standard_normal(len(TOWNS))
    new = [*TOWNS[:20], "a town that fit has not seen", None]
    found = features.fit(make({"town": TOWNS, "age": age})).transform(make({"town": new, "age": age[: len(new)]}))
    hand = features.fit(make({"town": grouped_by_hand(TOWNS), "age": age}))
    expected = hand.transform(make({"town": grouped_by_hand(new), "age": age[: len(new)]}))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_what_was_grouped_is_said():
    with pytest.warns(CategoriesGrouped) as said:
        features = LinearFeatures(max_categories=4).fit(pd.DataFrame({"town": TOWNS}))
    assert len(said) == 1
    assert str(said[0].message) == (
        "Column 'town' has 6 categories: the 3 most frequent are kept, and the other 3 count as one, as do new ones. "
        "Drop the column if it is a name, or raise max_categories= to keep more."
    )
    (grouped,) = features.grouped_categories_
    assert (grouped.column, grouped.kept, grouped.grouped) == ("town", 3, 3)
    assert features.get_feature_names_out().tolist() == ["town=a", "town=b", "town=c", "town=(rare)", "town_missing"]
    assert LinearFeatures().fit(pd.DataFrame({"town": TOWNS})).grouped_categories_ == []


def test_a_stack_says_what_any_of_its_maps_groups():
    stack = StackedFeatures([LinearFeatures(), AdditiveFeatures(max_categories=4), LinearFeatures(max_categories=3)])
    with pytest.warns(CategoriesGrouped) as said:
        stack.fit(pd.DataFrame({"town": TOWNS}))
    assert [str(one.message)[:55] for one in said] == ["Column 'town' has 6 categories: the 3 most frequent are"]
    assert [(one.kept, one.grouped) for one in stack.grouped_categories_] == [(3, 3)]  # of the first that groups
    stack = StackedFeatures([LinearFeatures(), AdditiveFeatures()]).fit(pd.DataFrame({"town": TOWNS}))
    assert stack.grouped_categories_ == stack.numbers_as_names_ == []


def test_weights_decide_which_are_frequent():
    frame = pd.DataFrame({"town": TOWNS[:-2]})
    weights = np.where(frame["town"] == "f", 50.0, 1.0)
    with pytest.warns(CategoriesGrouped):
        features = LinearFeatures(max_categories=3).fit(frame, sample_weight=weights)
    assert features.get_feature_names_out().tolist() == ["town=a", "town=f", "town=(rare)"]


def test_a_category_may_be_called_rare():
    with pytest.warns(CategoriesGrouped):
        features = LinearFeatures(max_categories=3).fit(pd.DataFrame({"town": ["(rare)"] * 9 + TOWNS[:-2]}))
    assert features.get_feature_names_out().tolist() == ["town=(rare)", "town=a", "town=((rare))"]
    assert features.transform(pd.DataFrame({"town": ["(rare)", "e"]})).tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("grouped", [-1, 1.5, "x", None])
def test_a_stored_number_of_rare_categories_is_checked(grouped):
    encoder = LinearFeatures().fit(pd.DataFrame({"town": ["a", "b"]})).encoders_[0]
    plain = to_plain(encoder)
    plain["fields"]["grouped"] = grouped
    with pytest.raises(ValueError, match=r"rare categories|grouped is not a whole number"):
        from_plain(Indicators, plain)


def test_thousands_of_categories_are_said_once_for_all_maps():
    rng = np.random.default_rng(0)
    town = rng.zipf(1.3, 4_000) % 2_000
    frame = pd.DataFrame({"town": [f"t{t}" for t in town], "age": rng.standard_normal(4_000)})
    y = frame["age"] + (town % 2) + rng.standard_normal(4_000) > 1.0
    maps = [LinearFeatures(max_categories=60), AdditiveFeatures(max_categories=60)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = AUCClassifierCV(features=maps, random_state=0, cv=3).fit(frame, y)
    assert [type(warning.message) for warning in caught] == [CategoriesGrouped]
    assert model.best_score_ > 0.8
    shape = model.shape_functions_["town"]
    assert shape.grid.size == 60
    assert shape.grid[-1] == "(rare)"


def test_the_tool_says_it_too_and_predicts_new_towns(tmp_path):
    from vrspam.tool import load_model, predict, save_model

    rng = np.random.default_rng(0)
    town = np.concatenate([np.arange(300), rng.zipf(1.4, 1_200) % 300])
    frame = pd.DataFrame({"town": [f"t{t}" for t in town], "age": rng.standard_normal(1_500)})
    frame["sick"] = np.where(frame["age"] + (town % 2) + rng.standard_normal(1_500) > 1.0, "yes", "no")
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    for features in ("additive", "linear", "standardized"):
        model = train(path, "sick", features=features, max_categories=20, n_splits=2)
        (note,) = [note for note in model.training["warnings"] if "categories" in note]
        assert "has more than 20 categories: the 19 most frequent are kept, and the other 281 count as one" in note
        assert model.training["cv_auc"] > 0.7
        save_model(model, tmp_path / "model.json")
        frame.assign(town="a new town").to_csv(tmp_path / "new.csv", index=False)
        predict(load_model(tmp_path / "model.json"), tmp_path / "new.csv", tmp_path / "scores.csv")
        assert np.isfinite(pd.read_csv(tmp_path / "scores.csv")["score"]).all()
