"""Rows in blocks of a kind from outside: `reduce` is all that the fits ask for."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import make_data

from vrspam import AUCClassifier, AUCClassifierCV, HashFolds
from vrspam.estimators.blocks import fit_blocks, search_blocks
from vrspam.estimators.streams import check_block
from vrspam.features import AdditiveFeatures


class Halves:
    """Blocks whose totals are added in pairs, each half by itself, as on a cluster."""

    feature_names = None
    read_once = False

    def __init__(self, estimator, X, y, rows_each=40, for_maps=False):
        self.n_features = X.shape[1]
        self.for_maps = for_maps
        self.readings = 0
        starts = enumerate(range(0, y.size, rows_each))
        parts = [(number, X[a : a + rows_each], y[a : a + rows_each]) for number, a in starts]
        self.blocks = [check_block(estimator, *part, table=for_maps) for part in parts]

    def reduce(self, task, add, *shared):
        self.readings += 1
        return self._total(self.blocks, task, add, shared)

    def _total(self, blocks, task, add, shared):
        if len(blocks) == 1:
            return task(None, blocks[0], *shared)
        middle = len(blocks) // 2
        halves = [self._total(half, task, add, shared) for half in (blocks[:middle], blocks[middle:])]
        return add(*halves)


@pytest.mark.parametrize("widest", [5_000, 3])
def test_one_optimum(widest, monkeypatch):
    monkeypatch.setattr("vrspam.estimators.blocks.MOMENTS_MAX_FEATURES_DENSE", widest)
    X, y = make_data(300, 5)
    model = AUCClassifier(0.1, tol=1e-13)
    blocks = Halves(model, X, y)
    fit = fit_blocks(model, blocks)
    whole = AUCClassifier(0.1, tol=1e-13).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-6)
    assert fit.solver == ("moments" if widest > 5 else "products")
    assert (blocks.readings == 1) == (widest > 5)


def test_penalties_by_folds():
    X, y = make_data(300, 5)
    model = AUCClassifierCV(cv=HashFolds(3))
    blocks = Halves(model, X, y)
    search_blocks(model, blocks, HashFolds(3), 200_000)
    whole = AUCClassifierCV(cv=HashFolds(3)).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.auc_path_, whole.auc_path_, atol=1e-12)
    assert model.corrected_score_ == pytest.approx(whole.corrected_score_, abs=1e-3)  # rows are drawn in another order
    assert blocks.readings == 2


def test_a_feature_map():
    X, y = make_data(300, 4)
    X[np.random.default_rng(0).random(300) < 0.1, 3] = np.nan
    order = np.argsort(HashFolds(3).hashes(X))  # the order of the sample by which the map is learnt
    X, y = X[order], y[order]
    model = AUCClassifierCV(features=AdditiveFeatures(random_state=0), cv=HashFolds(3))
    blocks = Halves(model, X, y, for_maps=True)
    search_blocks(model, blocks, HashFolds(3), 200_000, correct=False)
    whole = AUCClassifierCV(features=AdditiveFeatures(random_state=0), cv=HashFolds(3)).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-7, atol=1e-10)
    assert blocks.readings == 4  # the sample; moments and scores of the map; scores of the model
