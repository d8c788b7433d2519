"""Names that were changed still work for one version, with a warning; both spellings of a word are the same choice."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from helpers import make_data
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from test_tool_evaluation import axes
from test_tool_modelfile import make_model
from tool_data import write

from vrspam import AUCClassifierCV, HashFolds, VRSPAMClassifier, metrics
from vrspam._utils.deprecation import keyword_only, renamed_parameter
from vrspam.experiments.protocol import paper_protocol
from vrspam.features import StackedFeatures
from vrspam.tool import compare, evaluate, make_report, predict, score_file, train

OLD_SEED: dict[str, Any] = {"seed": 5}  # a dict, because type checkers know the new name alone


def test_seed_of_hash_folds_is_now_random_state():
    X, _ = make_data(200, 3, seed=0)
    new = HashFolds(3, random_state=5)
    with pytest.warns(FutureWarning, match="HashFolds: seed is now called random_state"):
        old = HashFolds(3, **OLD_SEED)
    np.testing.assert_array_equal(old.fold_of(X), new.fold_of(X))
    np.testing.assert_array_equal(HashFolds(3, 5).fold_of(X), new.fold_of(X))  # by position without a warning
    with pytest.warns(FutureWarning, match="seed is now called random_state"):
        assert new.seed == 5
    assert repr(old) == repr(new) == "HashFolds(n_splits=3, random_state=5)"
    for both in ({"random_state": 5, **OLD_SEED}, {"n_splits": 3, **OLD_SEED, "random_state": 4}):
        with pytest.raises(TypeError, match="give random_state alone"):
            HashFolds(**both)
    with pytest.raises(TypeError, match="give random_state alone"):
        HashFolds(3, 4, **OLD_SEED)


@pytest.mark.parametrize("given", [None, True, 1.5, np.random.RandomState(0)])
def test_hash_folds_want_a_number(given):
    with pytest.raises(ValueError, match="random_state of HashFolds must be an integer"):
        HashFolds(3, given)


def test_old_names_warn_at_the_line_that_uses_them():
    with pytest.warns(FutureWarning) as caught:
        HashFolds(3, **OLD_SEED)
    assert caught[0].filename == __file__


def test_signatures_show_the_new_names():
    assert list(inspect.signature(HashFolds).parameters) == ["n_splits", "random_state"]
    assert "seed" not in inspect.signature(train).parameters
    for function in (metrics.roc_auc, metrics.hand_till_auc, metrics.one_vs_rest_auc, metrics.partial_auc):
        weight = inspect.signature(function).parameters["sample_weight"]
        assert weight.kind is inspect.Parameter.KEYWORD_ONLY


def test_keyword_only_takes_one_position_more_and_no_others():
    @keyword_only("c")
    def function(a, b=2, *, c=None, d=None):
        return a, b, c, d

    with pytest.warns(FutureWarning, match="give c by its name"):
        assert function(*[1, 3, 4]) == (1, 3, 4, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function(1, c=5) == (1, 2, 5, None)
    for arguments, named in (((1, 2, 3, 4), {}), ((1, 2, 3), {"c": 3})):
        with pytest.raises(TypeError):
            function(*arguments, **named)


def test_renamed_parameters_can_be_several():
    @renamed_parameter("old", "new")
    @renamed_parameter("older", "newer")
    def function(new, newer=0):
        return new, newer

    with pytest.warns(FutureWarning) as caught:
        assert function(**{"old": 1, "older": 2}) == (1, 2)
    assert [str(warning.message).split()[1] for warning in caught] == ["old", "older"]


@pytest.mark.parametrize("name", ["roc_auc", "one_vs_rest_auc", "hand_till_auc", "sensitivity_at_specificity"])
def test_weights_by_position(name):
    function, y, score = getattr(metrics, name), [0, 1, 0, 1, 1], [1.0, 2.0, 3.0, 4.0, 2.5]
    given = (y, score, 0.5) if name == "sensitivity_at_specificity" else (y, score)
    weights = [1.0, 2.0, 0.5, 1.0, 3.0]
    with pytest.warns(FutureWarning, match=f"{name}: give sample_weight by its name"):
        by_position = function(*given, weights)
    assert by_position == function(*given, sample_weight=weights)


def test_scores_of_plots_are_called_as_in_scikit_learn():
    plotting = pytest.importorskip("vrspam.plotting")
    y, score = [0, 0, 1, 1], [1.0, 3.0, 2.0, 4.0]
    for name in ("plot_roc", "plot_precision_recall", "plot_scores", "plot_lift"):
        plot = getattr(plotting, name)
        with pytest.warns(FutureWarning, match=f"{name}: scores is now called y_score"):
            old = plot(y, scores=score, ax=axes())
        for a, b in zip(old.lines, plot(y, y_score=score, ax=axes()).lines, strict=True):
            np.testing.assert_array_equal(a.get_xydata(), b.get_xydata())


def test_columns_of_panels_are_called_as_in_scikit_learn():
    plotting = pytest.importorskip("vrspam.plotting")
    X, y = make_data(150, 3, seed=1)
    model = AUCClassifierCV([0.1], cv=3, features="additive").fit(X, y)
    new = plotting.plot_shapes(model, n_cols=1)
    with pytest.warns(FutureWarning, match="plot_shapes: columns is now called n_cols"):
        old = plotting.plot_shapes(model, columns=1)
    assert old.get_size_inches().tolist() == new.get_size_inches().tolist()
    with (
        pytest.warns(FutureWarning, match="plot_interactions: columns is now called n_cols"),
        pytest.raises(ValueError, match="nothing to draw"),
    ):
        plotting.plot_interactions(model, columns=1)


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
    with pytest.raises(TypeError, match="with scores alone"):
        evaluate(model, table, probabilities=scores)
    with pytest.raises(TypeError, match="must be booleans"):
        evaluate(model, positive.astype(int), scores)


def test_an_evaluation_of_a_file_warns_of_rows_that_training_had(table):
    model = train(table, "sick", features="linear")
    with pytest.warns(UserWarning, match="training") as caught:
        found = evaluate(model, table)
    assert all(note in str(caught[0].message) for note in found.notes)
    assert found.notes


def test_skip_errors_of_predict_is_now_drop_errors(table, tmp_path):
    table.write_text(table.read_text("utf-8") + "1.0,2.0,no,9\n", "utf-8")  # a field too many
    model, given = make_model((1.0, 0.5)), dict[str, Any](skip_errors=True)
    with pytest.warns(UserWarning, match="left out 1"):
        assert predict(model, table, tmp_path / "new.csv", drop_errors=True) == 120
    with pytest.warns(UserWarning, match="left out 1"), pytest.warns(FutureWarning, match="is now called drop_errors"):
        assert predict(model, table, tmp_path / "old.csv", **given) == 120
    assert (tmp_path / "old.csv").read_bytes() == (tmp_path / "new.csv").read_bytes()


def test_a_comparison_is_that_of_the_scores(table):
    a, b = make_model((1.0, 0.5)), make_model((0.2, -1.0))
    found = compare(a, b, table)
    assert found.test == metrics.delong_test(found.positive, *found.scores)
    partial = metrics.partial_auc_test(found.positive, *found.scores, max_fpr=0.2)
    assert found.partial_test(0.2) == partial
