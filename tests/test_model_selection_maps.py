"""The choice among feature maps, by scores that are given."""

from __future__ import annotations

import numpy as np
from helpers import make_data

from vrspam._utils.validation import Rows
from vrspam.features import AdditiveFeatures, LinearFeatures
from vrspam.model_selection.cross_validate import GridScores, GridSearch
from vrspam.model_selection.folds import Split
from vrspam.model_selection.maps import choose_map


def test_the_table_shows_the_point_that_is_taken(monkeypatch):
    """A map's own simplest point is not the one taken where the best of all maps has a larger standard error."""
    X, y = make_data(60, 2)
    given = {
        2: [[[0.90, 0.90]], [[0.85, 0.85]]],  # linear: 2 features, no spread over the folds
        36: [[[0.84, 1.00]], [[0.70, 0.70]]],  # curves: mean 0.92 with standard error 0.08
    }

    def given_scores(source, search, *, keep_coefs):
        auc = np.array(given[source.rows.X.shape[1]])
        nothing = np.zeros(auc.shape)
        return GridScores({"l2": np.array([0.1, 1.0]), "l1": np.array([0.0])}, auc, nothing, nothing == 0)

    monkeypatch.setattr("vrspam.model_selection.maps.cross_validate", given_scores)
    maps = {"linear": LinearFeatures(), "additive": AdditiveFeatures()}
    splits = [Split(np.arange(30), np.arange(30, 60)), Split(np.arange(30, 60), np.arange(30))]
    known = (Rows(X, y, None), splits, np.unique(y), GridSearch("auto", (0.0,), 1e-8, 1000, None))
    found = choose_map(maps, *known, "one-standard-error")
    assert (found.chosen.name, found.point.values["l2"]) == ("linear", 1.0)  # 0.85 is within 0.08 of 0.92
    assert found.candidates[0].choice.values["l2"] == 0.1
    table = found.table()
    assert table["features"] == ["linear", "additive"]
    assert table["n_features"] == [2, 36]
    assert table["l2"] == [1.0, 0.1]
    np.testing.assert_allclose(table["auc"], [0.85, 0.92])
    np.testing.assert_allclose(table["standard_error"], [0.0, 0.08])
    assert table["chosen"] == [True, False]
    found = choose_map(maps, *known, "best")
    assert (found.chosen.name, found.point.values["l2"]) == ("additive", 0.1)
