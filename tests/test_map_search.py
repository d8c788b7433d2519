"""The choice among feature maps, by scores that are given."""

from __future__ import annotations

import numpy as np
from helpers import make_data

from vrspam.estimators.base import Rows
from vrspam.estimators.grid_search import GridScores
from vrspam.estimators.map_search import search_maps, selection_table
from vrspam.features import AdditiveFeatures, LinearFeatures


def test_the_table_shows_the_point_that_is_taken():
    """A map's own simplest point is not the one taken where the best of all maps has a larger standard error."""
    X, y = make_data(60, 2)
    given = {
        2: [[[0.90, 0.90]], [[0.85, 0.85]]],  # linear: 2 features, no spread over the folds
        36: [[[0.84, 1.00]], [[0.70, 0.70]]],  # curves: mean 0.92 with standard error 0.08
    }

    def evaluate(mapped):
        auc = np.array(given[mapped.X.shape[1]])
        nothing = np.zeros(auc.shape)
        return GridScores(np.array([0.1, 1.0]), np.array([0.0]), auc, nothing, nothing == 0, None, None)

    maps = {"linear": LinearFeatures(), "additive": AdditiveFeatures()}
    found, chosen, choice = search_maps(maps, Rows(X, y, None), evaluate, "one-standard-error")
    assert (chosen, choice.values["l2"]) == (0, 1.0)  # 0.85 is within 0.08 of 0.92
    assert found[0].choice.values["l2"] == 0.1
    table = selection_table(found, chosen, choice)
    assert table["features"] == ["linear", "additive"]
    assert table["n_features"] == [2, 36]
    assert table["l2"] == [1.0, 0.1]
    np.testing.assert_allclose(table["auc"], [0.85, 0.92])
    np.testing.assert_allclose(table["standard_error"], [0.0, 0.08])
    assert table["chosen"] == [True, False]
    found, chosen, choice = search_maps(maps, Rows(X, y, None), evaluate, "best")
    assert (chosen, choice.values["l2"]) == (1, 0.1)
