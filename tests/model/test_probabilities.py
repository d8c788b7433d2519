"""Probabilities: against CalibratedClassifierCV, models of the other folds fitted alone, and known probabilities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers import make_data
from scipy import sparse
from scipy.special import expit
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, AUCClassifierCV, HashFolds
from vrspam.features import AdditiveFeatures
from vrspam.model_selection.calibration import Isotonic, Sigmoid, calibrate

METHODS = ["sigmoid", "isotonic"]
FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)
pytestmark = pytest.mark.filterwarnings("ignore:The best l2")


def truth(n, d=4, seed=0, offset=-2.0):
    """Rows whose probabilities are known: a logistic model of normal columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    p = expit(X @ np.linspace(1.5, -1.0, d) + offset)
    return X, (rng.random(n) < p).astype(int), p


# The estimator


class WithOneZero(AUCClassifier):
    """A model whose scores have the mean 0 over all rows of a table, as those of all folds do."""

    table = weights = None

    def decision_function(self, X):
        scores = super().decision_function(X)
        return scores - np.average(super().decision_function(self.table), weights=self.weights)


def oracle_of(model, X, y, method, weights=None, cv=FOLDS):
    """The calibration of scikit-learn around our model with its penalty, and probabilities of the rows."""
    alone = type("Zeroed", (WithOneZero,), {"table": X, "weights": weights})(model.l2_)
    return CalibratedClassifierCV(alone, method=method, cv=cv, ensemble=False).fit(X, y, sample_weight=weights)


@pytest.fixture
def _as_held_out(monkeypatch):
    """The calibration of held-out scores as they are, before the share of the signal that new rows will show."""
    monkeypatch.setattr("vrspam.estimators.search.signal_kept", lambda *given: 1.0)


@pytest.mark.usefixtures("_as_held_out")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_probabilities_are_those_of_calibrated_classifier_cv(method, container):
    X, y = make_data(400, 5, seed=1)
    X = container(X)
    model = AUCClassifierCV(cv=FOLDS, calibration=method).fit(X, y)
    oracle = oracle_of(model, X, y, method)
    np.testing.assert_allclose(model.predict_proba(X), oracle.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), oracle.predict(X))


@pytest.mark.usefixtures("_as_held_out")
@pytest.mark.parametrize("method", METHODS)
def test_weights_count_in_the_calibration(method):
    X, y = make_data(300, 4, seed=2)
    weights = np.random.default_rng(0).integers(0, 4, 300).astype(float)
    model = AUCClassifierCV([0.1], cv=FOLDS, calibration=method).fit(X, y, sample_weight=weights)
    oracle = oracle_of(model, X, y, method, weights)
    np.testing.assert_allclose(model.predict_proba(X), oracle.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(model.out_of_fold_.places, np.flatnonzero(weights))  # a row of weight 0 is no row
    np.testing.assert_array_equal(model.out_of_fold_.weights, weights[weights > 0.0])


@pytest.mark.parametrize("case", ["columns", "hinge", "map", "wide", "solved again", "float32", "l1"])
def test_out_of_fold_scores_are_those_of_models_of_the_other_folds(case, monkeypatch):
    X, y = make_data(240, 1100 if case in ("wide", "solved again") else 5, seed=3, correlated=False)
    options = {"hinge": {"loss": "squared_hinge"}, "map": {"features": StandardScaler()}, "l1": {"l1s": [0.02]}}
    rows = X.astype(np.float32) if case == "float32" else X
    if case == "solved again":
        monkeypatch.setattr("vrspam.estimators.search.KEPT_COEFS_BYTES", 0)
    model = AUCClassifierCV([0.05, 0.5], cv=FOLDS, tol=1e-12, **options.get(case, {})).fit(rows, y)
    found, F = model.out_of_fold_, StandardScaler().fit_transform(X) if case == "map" else X
    alone = AUCClassifier(model.l2_, model.l1_, loss=model.loss, tol=1e-12)
    mean = alone.fit(F, y).decision_function(F).mean()  # that all rows have by the model of each fold, too
    for number, (train, validation) in enumerate(FOLDS.split(X, y)):
        alone.fit(F[train], y[train])
        expected = alone.decision_function(F[validation]) - alone.decision_function(F).mean() + mean
        atol = 1e-4 if case == "float32" else 1e-6
        np.testing.assert_allclose(found.scores[validation], expected, atol=atol)
        assert (found.fold[validation] == number).all()
    np.testing.assert_array_equal(found.positive, y == 1)
    assert (found.weights == 1.0).all()


def test_rows_that_several_folds_hold_out_share_their_weight():
    X, y = make_data(120, 3)
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    model = AUCClassifierCV([0.1], cv=folds).fit(X, y)
    found = model.out_of_fold_
    assert found.scores.size == 240
    assert (found.weights == 0.5).all()
    np.testing.assert_array_equal(found.positive, np.repeat(y == 1, 2))  # in the order of the rows
    half = [(train, validation) for train, validation in folds.split(X, y) if 0 in validation]
    some = AUCClassifierCV([0.1], cv=half).fit(X, y).out_of_fold_
    assert some.scores.size == sum(len(validation) for _, validation in half)


@pytest.mark.parametrize("features", ["linear", "standardized", "additive"])
def test_known_probabilities_are_found(features):
    X, y, _ = truth(4000)
    new, _, p = truth(4000, seed=1)
    found = AUCClassifierCV(features=features, random_state=0).fit(X, y).predict_proba(new)[:, 1]
    assert np.abs(found - p).mean() < 0.03
    assert found.mean() == pytest.approx(p.mean(), rel=0.1)


def test_few_positives_are_calibrated_as_well_as_by_logistic_regression():
    """The mean squared error of the probabilities, over 20 tables of 200 rows with about 24 positives."""
    errors: dict[str, list[float]] = {"ours": [], "logistic": [], "base rate": []}
    new, _, p = truth(2000, seed=99)
    for seed in range(20):
        X, y, _ = truth(200, seed=seed)
        errors["ours"].append(np.mean((AUCClassifierCV().fit(X, y).predict_proba(new)[:, 1] - p) ** 2))
        errors["logistic"].append(np.mean((LogisticRegression(C=1e9).fit(X, y).predict_proba(new)[:, 1] - p) ** 2))
        errors["base rate"].append(np.mean((y.mean() - p) ** 2))
    means = {name: np.mean(values) for name, values in errors.items()}
    assert means["ours"] < min(1.1 * means["logistic"], 0.3 * means["base rate"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("offset", [-2.0, 0.0, 2.0])
def test_label_score_and_probability_agree(method, offset):
    X, y, _ = truth(500, offset=offset)
    model = AUCClassifierCV(calibration=method).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    for rows in (X, pd.DataFrame(X).to_numpy(), sparse.csr_array(X)):
        np.testing.assert_array_equal(model.predict(rows) == 1, model.decision_function(rows) > 0)
        np.testing.assert_array_equal(model.predict_proba(rows)[:, 1] > 0.5, model.decision_function(rows) > 0)
    assert 0 < model.predict(X).mean() < 1
    np.testing.assert_allclose(model.calibration_(model.decision_function(X) - model.baseline_), p[:, 1])


def test_labels_follow_probabilities_that_never_reach_one_half():
    X = (np.arange(1200) % 2)[:, np.newaxis].astype(float)
    y = (np.arange(1200) // 2 % 10 < 1 + 2 * X[:, 0]).astype(int)  # one row in ten, and three in ten
    for labels, expected in ((y, 0), (1 - y, 1)):
        model = AUCClassifierCV(calibration="isotonic", cv=3).fit(X, labels)
        p = model.predict_proba(X)[:, 1]
        assert p[:2] == pytest.approx([0.1, 0.3] if expected == 0 else [0.9, 0.7], abs=0.02)
        assert (p > 0.5).all() if expected else (p <= 0.5).all()
        assert (model.predict(X) == expected).all()
        assert model.baseline_ == 0.0
        assert np.isfinite(model.intercept_).all()


def test_without_calibration_the_score_is_0_half_way_between_the_class_means():
    X, y = make_data(200, 3)
    model = AUCClassifierCV([0.1], calibration=None).fit(X, y)
    np.testing.assert_allclose(model.intercept_, AUCClassifier(0.1).fit(X, y).intercept_, atol=1e-9)
    assert (model.calibration_, model.baseline_) == (None, 0.0)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as refused:
        model.predict_proba(X)
    assert "fit with calibration='sigmoid'" in str(refused.value.__cause__)
    calibrated = AUCClassifierCV([0.1]).fit(X, y)
    assert hasattr(AUCClassifierCV(), "predict_proba")
    assert calibrated.intercept_ - calibrated.baseline_ == pytest.approx(model.intercept_)
    assert set(calibrated.explain_one(X[0])) - set(model.explain_one(X[0])) == {"baseline"}
    assert sum(calibrated.explain_one(X[0]).values()) == pytest.approx(calibrated.decision_function(X[:1])[0])
    assert not hasattr(calibrated.fit_stream([(X, y)]), "out_of_fold_")


def test_all_coefficients_zero_give_the_base_rate():
    X, y = make_data(100, 3)
    with pytest.warns(UserWarning, match="All coefficients are 0"):
        model = AUCClassifierCV([0.1], [1e6]).fit(X, y)
    targets = np.where(y == 1, 31 / 32, 1 / 72)  # Platt's, of 30 and 70 rows
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], targets.mean())
    assert (model.predict(X) == 0).all()


def test_a_score_that_ranks_worse_than_chance_still_rises_with_the_probability():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 30))
    for seed in range(200):  # pure noise, until the held-out rows are ranked the wrong way round
        X = np.random.default_rng(seed).standard_normal((60, 30))
        model = AUCClassifierCV([1e-3]).fit(X, y)
        if model.best_score_ < 0.4:
            break
    assert model.best_score_ < 0.4
    assert model.calibration_.slope > 0
    p = model.predict_proba(X)[:, 1]
    assert (np.diff(p[np.argsort(model.decision_function(X))]) >= 0).all()
    assert np.ptp(p) < 0.02  # as good as the base rate
    np.testing.assert_array_equal(model.predict(X) == 1, p > 0.5)


def test_frames_with_categories_and_text_labels():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 10, 400), "town": rng.choice(["Graz", "Linz"], 400)})
    frame.loc[::7, "age"] = np.nan
    p = expit(0.1 * (frame["age"].fillna(50) - 55) + (frame["town"] == "Graz"))
    y = np.where(rng.random(400) < p, "yes", "no")
    model = AUCClassifierCV(features=AdditiveFeatures(), random_state=0).fit(frame, y)
    assert model.classes_.tolist() == ["no", "yes"]
    found = model.predict_proba(frame)
    assert set(model.predict(frame[found[:, 1] > 0.5])) == {"yes"}
    assert np.abs(found[:, 1] - p).mean() < 0.08


def test_probabilities_on_a_device(monkeypatch):
    xp = pytest.importorskip("array_api_strict")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    X, y = make_data(300, 4)
    weights = np.random.default_rng(0).uniform(1, 2, 300)
    for method in METHODS:
        host = AUCClassifierCV(cv=3, calibration=method).fit(X, y, sample_weight=weights)
        with config_context(array_api_dispatch=True):
            there = AUCClassifierCV(cv=3, calibration=method)
            there.fit(xp.asarray(X), xp.asarray(y), sample_weight=xp.asarray(weights))
            p = there.predict_proba(xp.asarray(X))
            assert isinstance(p, type(xp.asarray([1.0])))
            np.testing.assert_allclose(np.asarray(p), host.predict_proba(X), atol=1e-6)
            np.testing.assert_allclose(there.out_of_fold_.scores, host.out_of_fold_.scores, atol=1e-8)


# Streams and clusters


@pytest.mark.usefixtures("_as_held_out")
def test_a_stream_gives_the_probabilities_of_its_rows_in_memory():
    X, y, _ = truth(600)
    whole = AUCClassifierCV([0.1], cv=HashFolds(3)).fit(X, y)
    streamed = AUCClassifierCV([0.1], cv=3).fit_stream([(X[a : a + 100], y[a : a + 100]) for a in range(0, 600, 100)])
    np.testing.assert_allclose(streamed.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    oracle = oracle_of(whole, X, y, "sigmoid", cv=HashFolds(3))
    np.testing.assert_allclose(streamed.predict_proba(X), oracle.predict_proba(X), atol=1e-6)


def test_a_sample_of_the_held_out_rows_keeps_the_share_of_positives():
    X, y, p = truth(20_000, offset=-4.0)
    blocks = [(X[a : a + 4000], y[a : a + 4000]) for a in range(0, 20_000, 4000)]
    model = AUCClassifierCV([0.1], cv=3).fit_stream(blocks, validation_rows=800)
    assert model.held_out_.positive.mean() > 0.3 > 0.07 > y.mean()
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(p.mean(), rel=0.1)


@pytest.mark.usefixtures("_as_held_out")  # a cluster has no corrected AUC
def test_dask_says_why_it_has_no_probabilities():
    da = pytest.importorskip("dask.array")
    from vrspam.distributed import DaskAUCClassifierCV

    X, y, _ = truth(300)
    blocks = da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)
    model = DaskAUCClassifierCV([0.1], cv=3).fit(*blocks)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="workers score blocks by coef_ and intercept_ alone"):
        model.predict_proba(X)
    whole = AUCClassifierCV([0.1], cv=HashFolds(3)).fit(X, y)
    found = model.calibration_(model.decision_function(blocks[0]).compute() - model.baseline_)
    np.testing.assert_allclose(found, whole.predict_proba(X)[:, 1], atol=1e-6)
    np.testing.assert_array_equal(model.predict(blocks[0]).compute(), whole.predict(X))
    with pytest.raises(ValueError, match="calibration='sigmoid' or None"):
        DaskAUCClassifierCV([0.1], cv=3, calibration="isotonic").fit(*blocks)


# scikit-learn's own users of probabilities


def test_soft_voting_and_displays():
    X, y, p = truth(1500)
    voters = [("auc", AUCClassifierCV([0.1])), ("logistic", LogisticRegression())]
    vote = VotingClassifier(voters, voting="soft").fit(X, y)
    expected = np.mean([each.predict_proba(X) for each in vote.estimators_], axis=0)
    np.testing.assert_allclose(vote.predict_proba(X), expected)
    assert np.abs(vote.predict_proba(X)[:, 1] - p).mean() < 0.03
    pytest.importorskip("matplotlib")
    display = CalibrationDisplay.from_estimator(vote.estimators_[0], X, y, n_bins=5)
    assert display.line_.axes is display.ax_
    assert np.abs(display.prob_true - display.prob_pred).max() < 0.15


def test_one_against_the_rest_and_scores_of_probabilities():
    X, y = load_iris(return_X_y=True)
    model = OneVsRestClassifier(AUCClassifierCV(features="standardized")).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (150, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert log_loss(y, p) < 0.6 < log_loss(y, np.full_like(p, 1 / 3))
    X, y, _ = truth(400)
    scores = cross_val_score(AUCClassifierCV([0.1]), X, y, scoring="neg_brier_score", cv=3)
    assert -scores.mean() < brier_score_loss(y, np.full(400, y.mean()))
    grid = GridSearchCV(AUCClassifierCV([0.1]), {"calibration": METHODS}, scoring="neg_log_loss", cv=3).fit(X, y)
    assert grid.best_params_ == {"calibration": "sigmoid"}  # an isotonic one has probabilities of 0 on few rows


# The functions


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("n", [12, 2000, 60_000])
def test_the_sigmoid_maximises_the_likelihood_of_platts_targets(scale, n):
    """Its gradient is 0, and it follows the scale of the scores."""
    rng = np.random.default_rng(n)
    scores = rng.standard_normal(n)
    positive, weights = rng.random(n) < expit(3 * scores - 1), rng.uniform(1, 3, n)
    found = calibrate(scale * scores + 5 * scale, positive, "sigmoid", weights)
    n1, n0 = weights[positive].sum(), weights[~positive].sum()
    targets = np.where(positive, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))
    error = weights * (found(scale * scores + 5 * scale) - targets)
    assert abs(error.sum()) < 1e-9 * n
    assert abs(error @ scores) < 1e-9 * n
    assert isinstance(found, Sigmoid)
    assert found.slope > 0


@pytest.mark.parametrize("method", METHODS)
def test_weights_of_rows_are_repetitions_and_their_scale_does_not_blur(method):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(200)
    positive, times = rng.random(200) < expit(2 * scores), rng.integers(1, 4, 200)
    grid = np.linspace(-2, 2, 50)
    repeated = calibrate(np.repeat(scores, times), np.repeat(positive, times), method)
    weighted = calibrate(scores, positive, method, times.astype(float))
    np.testing.assert_allclose(weighted(grid), repeated(grid), atol=1e-9)
    plain = calibrate(scores, positive, method)
    tiny = calibrate(scores, positive, method, np.full(200, 1e-6))  # weights that add up to almost nothing
    np.testing.assert_allclose(tiny(grid), plain(grid), atol=1e-9)


def test_isotonic_nodes_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    scores, weights = rng.standard_normal(300), rng.uniform(1, 2, 300)
    positive = rng.random(300) < expit(scores)
    expected = IsotonicRegression(out_of_bounds="clip").fit(scores, positive, sample_weight=weights)
    grid = np.linspace(-4, 4, 200)
    np.testing.assert_allclose(calibrate(scores, positive, "isotonic", weights)(grid), expected.predict(grid))


def test_where_a_calibration_passes_one_half():
    assert Sigmoid(2.0, 3.0).half == -1.5
    assert Sigmoid(-1.0, 0.0).half is None
    nodes = np.array([0.0, 1.0, 2.0, 4.0])
    assert Isotonic(nodes, np.array([0.0, 0.5, 0.5, 1.0])).half == 2.0  # at most ½ up to there
    assert Isotonic(nodes, np.array([0.1, 0.3, 0.7, 0.7])).half == pytest.approx(1.5)
    assert Isotonic(nodes, np.array([0.1, 0.2, 0.3, 0.5])).half is None
    assert Isotonic(nodes, np.array([0.6, 0.6, 0.7, 0.8])).half is None
