"""Feature maps on a cluster against `AUCClassifierCV` on the same rows in memory."""

import re

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from vrspam import AUCClassifierCV, HashFolds
from vrspam.features import AdditiveFeatures, KernelFeatures
from vrspam.model_selection import maps_on_blocks, race

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd
import pandas as pd

from vrspam.distributed import DaskAUCClassifierCV

MAPS = [AdditiveFeatures(random_state=0), KernelFeatures(n_landmarks=40, random_state=0)]


def rows_with_gaps(n=400, seed=0):
    """Rows in the order of their hashes, which is the order of the sample: landmarks are drawn by their places."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = (X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.5 * rng.standard_normal(n) > 1.0).astype(int)
    X[rng.random(n) < 0.1, 3] = np.nan
    order = np.argsort(HashFolds(3).hashes(X))
    return X[order], y[order]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("selection", ["blend", "best", "one-standard-error"])
def test_maps_on_blocks_give_the_model_of_all_rows(selection, weighted):
    X, y = rows_with_gaps()
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], y.size) if weighted else None
    given = {"features": MAPS, "cv": HashFolds(3), "selection": selection}
    whole = AUCClassifierCV(**given).fit(X, y, weights)
    shuffled = np.random.default_rng(2).permutation(y.size)
    blocks, labels = da.from_array(X[shuffled], chunks=(90, 2)), da.from_array(y[shuffled], chunks=90)
    some = None if weights is None else da.from_array(weights[shuffled], chunks=90)
    model = DaskAUCClassifierCV(**given).fit(blocks, labels, some)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(model.best_score_, whole.best_score_, rtol=1e-12)
    assert model.selection_["features"] == whole.selection_["features"]
    np.testing.assert_allclose(model.selection_["weight"], whole.selection_["weight"], atol=1e-9)
    # where the probability is ½ depends on the draws of the correction, and these on the order of the rows
    assert model.baseline_ == pytest.approx(whole.baseline_, abs=0.01)
    moved = whole.decision_function(X) - whole.baseline_ + model.baseline_
    np.testing.assert_allclose(model.decision_function(blocks).compute(), moved[shuffled], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), moved, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.predict(blocks).compute(), model.classes_[(moved[shuffled] > 0).astype(int)])
    assert sorted(model.held_out_.scores) == pytest.approx(sorted(whole.out_of_fold_.scores), rel=1e-7)
    assert model.gap_ <= 1e-8
    assert "coef_" in dir(model)
    if sum(model.selection_["chosen"]) > 1:  # a blend keeps no matrices
        with pytest.raises(AttributeError, match="importances_ needs the matrices of moments_"):
            model.importances_  # noqa: B018


def test_a_frame_of_numbers_and_a_frame_of_text():
    X, y = rows_with_gaps()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(c=lambda f: f["c"].astype("float32").astype("float64"))
    lazy, labels = dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)
    model = DaskAUCClassifierCV(features="additive", cv=3).fit(lazy, labels)
    assert list(model.feature_names_in_) == list("abcd")
    scores = model.decision_function(lazy).compute()
    assert roc_auc_score(y, scores) > 0.8
    for name, value in (("town", "Graz"), ("day", pd.Timestamp("2020-01-01"))):
        more = lazy.assign(**{name: value})
        words = rf"column '{name}' of type {re.escape(str(more.dtypes[name]))} is not numeric, and feature maps on Dask"
        with pytest.raises(ValueError, match=words):
            DaskAUCClassifierCV(features="additive").fit(more, labels)


def test_many_rows_go_through_a_race_on_a_sample(monkeypatch):
    monkeypatch.setattr(race, "RULES", race.RaceRules(from_rows=500, heat=race.Heat(400, 150, 3)))
    monkeypatch.setattr(maps_on_blocks, "SAMPLE_ROWS", 600)
    X, y = rows_with_gaps(2_000)
    model = DaskAUCClassifierCV(features="auto", cv=3, random_state=0).fit(
        da.from_array(X, chunks=(300, 4)), da.from_array(y, chunks=300)
    )
    rows = dict(zip(model.selection_["features"], model.selection_["rows"], strict=True))
    assert list(rows) == ["standardized", "additive", "kernel 1", "kernel alone 1", "trees 4"]
    assert 1 <= sum(count == 2_000 for count in rows.values()) <= 2
    assert all(count <= 400 for count in rows.values() if count != 2_000)
    fresh, labels = rows_with_gaps(2_000, seed=5)
    assert roc_auc_score(labels, model.decision_function(fresh)) > 0.85


def test_what_maps_on_a_cluster_refuse():
    X, y = rows_with_gaps()
    blocks, labels = da.from_array(X, chunks=(90, 4)), da.from_array(y, chunks=90)
    from sklearn.preprocessing import PolynomialFeatures

    with pytest.raises(ValueError, match=r"PolynomialFeatures.* cannot be a feature map on a cluster"):
        DaskAUCClassifierCV(features=PolynomialFeatures()).fit(blocks, labels)
    with pytest.raises(ValueError, match=r"NaN|missing"):
        DaskAUCClassifierCV().fit(blocks, labels)


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.MapsLeftOut")
@pytest.mark.parametrize("features", ["standardized", "additive", "auto"])
def test_directions_hold_on_a_cluster_as_in_memory(features):
    X, y = rows_with_gaps()
    frame = pd.DataFrame(X, columns=list("abcd"))
    lazy, labels = dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)
    given = {"features": features, "monotonic_cst": {"c": -1, "a": 1}, "cv": HashFolds(3), "random_state": 0}
    model = DaskAUCClassifierCV(**given).fit(lazy, labels)
    line = np.linspace(-9.0, 9.0, 400)
    for row in X[:20]:
        for column, sign in ((0, 1), (2, -1)):  # c goes up and down
            moved = np.tile(row, (line.size, 1))
            moved[:, column] = line
            assert (sign * np.diff(model.decision_function(pd.DataFrame(moved, columns=list("abcd"))))).min() >= -1e-12
    if features != "auto":  # which has boosted trees in memory
        whole = AUCClassifierCV(**given).fit(frame, y)
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="kernel cannot keep a score rising or falling"):
        DaskAUCClassifierCV(**given | {"features": "kernel"}).fit(lazy, labels)
