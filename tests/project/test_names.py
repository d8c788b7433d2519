"""Parameters are named as in scikit-learn; both spellings of a word are one choice; functions of the tool agree."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from helpers import make_data
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tool_data import make_model, write

from vrspam import AUCClassifierCV, HashFolds, VRSPAMClassifier, metrics
from vrspam.features import StackedFeatures
from vrspam.paper.protocol import paper_protocol
from vrspam.tool import compare, evaluate, make_report, predict, score_file, train


@pytest.mark.parametrize("given", [None, True, 1.5, np.random.RandomState(0)])
def test_hash_folds_want_a_number(given):
    with pytest.raises(ValueError, match="random_state of HashFolds must be an integer"):
        HashFolds(3, given)


def test_parameters_have_the_names_of_scikit_learn():
    assert list(inspect.signature(HashFolds).parameters) == ["n_splits", "random_state"]
    for function in (metrics.roc_auc, metrics.hand_till_auc, metrics.one_vs_rest_auc, metrics.partial_auc):
        weight = inspect.signature(function).parameters["sample_weight"]
        assert weight.kind is inspect.Parameter.KEYWORD_ONLY


def test_both_spellings_of_a_variant():
    X, y = make_data(200, 4, seed=3)
    models = [VRSPAMClassifier(variant=name, random_state=0).fit(X, y) for name in ("centred", "centered")]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert [model.variant_ for model in models] == ["centred", "centred"]
    assert models[1].variant == "centered"
    assert clone(models[1]).get_params()["variant"] == "centered"
    with pytest.raises(ValueError, match="variant"):
        VRSPAMClassifier(variant="center").fit(X, y)


@pytest.mark.parametrize("form", [str, lambda name: [name, "additive"]], ids=["alone", "in a list"])
def test_both_spellings_of_standardized_features(form):
    X, y = make_data(150, 3, seed=4)
    models = [AUCClassifierCV([0.1], cv=3, features=form(name)).fit(X, y) for name in ("standardized", "standardised")]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert models[0].selection_ == models[1].selection_


def test_both_spellings_of_the_scaling_of_a_protocol():
    assert paper_protocol(scaling="standardized") == paper_protocol(scaling="standardised")
    with pytest.raises(ValueError, match="scaling must be one of"):
        paper_protocol(scaling="normalised")


@pytest.mark.parametrize("features", ["linear", "additive", ["standardized", "kernel 1"], "blend"])
def test_feature_importances_are_there_wherever_importances_are(features):
    X, y = make_data(150, 3, seed=5)
    model = AUCClassifierCV(
        [0.01],
        cv=3,
        features=["standardized", "additive"] if features == "blend" else features,
        selection="blend" if features == "blend" else "best",
    )
    for name in ("importances_", "feature_importances_"):
        with pytest.raises(NotFittedError):
            getattr(model, name)
    model.fit(X, y)
    assert isinstance(model.features_, StackedFeatures) == (features == "blend")
    assert set(model.importances_) >= {"x0", "x1", "x2"}
    assert model.feature_importances_.shape == (3,)
    assert (model.feature_importances_ >= 0.0).all()
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("features", ["linear", "standardized", "additive"])
def test_feature_importances_where_the_rows_stay_on_a_cluster(features):
    da = pytest.importorskip("dask.array")
    from vrspam.distributed import DaskAUCClassifierCV

    X, y = make_data(150, 3, seed=5)
    order = np.argsort(HashFolds(3).hashes(X))  # maps are learnt from rows in this order
    X, y = X[order], y[order]
    model = DaskAUCClassifierCV([0.01], cv=3, features=features)
    model.fit(da.from_array(X, chunks=(50, 3)), da.from_array(y, chunks=50))
    local = AUCClassifierCV([0.01], cv=HashFolds(3), features=features).fit(X, y)
    np.testing.assert_allclose(model.feature_importances_, local.feature_importances_, rtol=1e-6)


@pytest.fixture
def table(tmp_path):
    import pandas as pd

    X, y = make_data(120, 2, seed=6)
    frame = pd.DataFrame(X, columns=["größe 0", "größe 1"]).assign(sick=np.where(y == 1, "yes", "no"))
    return write(frame, tmp_path / "rows.csv")


def test_a_report_takes_the_parameters_of_train(table):
    report = make_report(table, "sick", features="linear", n_splits=4, random_state=5, calibration="none", rows=0)
    model = train(table, "sick", features="linear", n_splits=4, random_state=5, calibration="none")
    assert report.folds == 4
    assert report.model.calibration is None
    assert report.model.training["cv_auc"] == model.training["cv_auc"]


def test_an_evaluation_of_a_file_is_that_of_its_scores(table):
    model = make_model((1.0, 0.5))
    positive, scores = score_file(model, table)
    found, by_hand = evaluate(model, table, recall=0.7), evaluate(model, positive, scores, recall=0.7)
    assert found.flat() == by_hand.flat()
    assert found.auc == metrics.roc_auc_ci(positive, scores)
    with pytest.raises(TypeError, match="leave skip_errors out"):
        evaluate(model, positive, scores, skip_errors=True)
    with pytest.raises(TypeError, match="of a file itself: leave them out"):
        evaluate(model, table, probabilities=scores)
    with pytest.raises(TypeError, match="must be booleans"):
        evaluate(model, positive.astype(int), scores)


def test_an_evaluation_of_a_file_warns_of_rows_that_training_had(table):
    model = train(table, "sick", features="linear")
    with pytest.warns(UserWarning, match="training") as caught:
        found = evaluate(model, table)
    assert all(note in str(caught[0].message) for note in found.notes)
    assert found.notes


def test_rows_that_cannot_be_scored_are_left_out(table, tmp_path):
    table.write_text(table.read_text("utf-8") + "1.0,2.0,no,9\n", "utf-8")  # a field too many
    with pytest.warns(UserWarning, match="left out 1"):
        assert predict(make_model((1.0, 0.5)), table, tmp_path / "new.csv", drop_errors=True) == 120


def test_a_comparison_keeps_the_rows_that_it_rests_on(table):
    found = compare(make_model((1.0, 0.5)), make_model((0.2, -1.0)), table)
    assert found.test == metrics.delong_test(found.positive, *found.scores)
    partial = metrics.partial_auc_test(found.positive, *found.scores, max_fpr=0.2)
    assert found.partial_test(0.2) == partial
