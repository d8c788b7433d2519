"""`max_fpr` on the estimators: training on the part of the ROC curve that matters."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import make_data, partial_hinge_by_definition
from scipy import sparse

from vrspam import AUCClassifier, AUCClassifierCV
from vrspam.features import AdditiveFeatures
from vrspam.metrics import partial_auc


def test_objective_and_certificate_are_those_of_the_definition():
    X, y = make_data(150, 4, seed=1)
    model = AUCClassifier(0.01, loss="squared_hinge", max_fpr=0.2).fit(X, y)
    w = model.coef_[0]
    assert model.objective_ == pytest.approx(partial_hinge_by_definition(X, y, w, 0.2) + 0.005 * w @ w, rel=1e-10)
    assert model.gap_ <= 1e-6 * y.mean() * (1 - y.mean())
    assert model.solver_ == "newton"
    assert {"epoch", "passes", "seconds", "objective", "gap"} <= model.history_.keys()
    assert model.history_["gap"][-1] == model.gap_
    rng = np.random.default_rng(0)
    for _ in range(20):  # no point nearby is lower by more than the certificate
        near = w + 0.03 * rng.standard_normal(4)
        assert partial_hinge_by_definition(X, y, near, 0.2) + 0.005 * near @ near >= model.objective_ - model.gap_


def test_sparse_float32_and_dense_agree():
    X, y = make_data(120, 5, seed=2)
    X[np.abs(X) < 0.5] = 0.0
    options = {"l2": 0.02, "loss": "squared_hinge", "max_fpr": 0.3}
    dense = AUCClassifier(**options).fit(X, y)
    for rows in (sparse.csr_array(X), X.astype(np.float32), np.asfortranarray(X)):
        other = AUCClassifier(**options).fit(rows, y)
        assert other.objective_ == pytest.approx(dense.objective_, abs=2e-6 * dense.objective_ + 1e-6)
        np.testing.assert_allclose(other.coef_, dense.coef_, atol=5e-3)


def test_all_negatives_are_the_squared_hinge():
    X, y = make_data(100, 3, seed=3)
    whole = AUCClassifier(0.01, loss="squared_hinge").fit(X, y)
    part = AUCClassifier(0.01, loss="squared_hinge", max_fpr=1.0).fit(X, y)
    np.testing.assert_array_equal(part.coef_, whole.coef_)


@pytest.mark.parametrize("penalty", ["elasticnet", "mcp"])
def test_l1_gives_zeros_on_the_part_too(penalty):
    X, y = make_data(200, 8, seed=4, correlated=False)
    model = AUCClassifier(1e-3, 0.05, loss="squared_hinge", max_fpr=0.3, penalty=penalty).fit(X, y)
    assert 0 < np.count_nonzero(model.coef_) < 8
    assert (model.gap_ is None) == (penalty == "mcp")
    assert hasattr(model, "stationarity_") == (penalty == "mcp")


def test_training_on_the_part_ranks_its_top_better():
    """The first column puts a tenth of the negatives above the positives; the second one can tell these apart."""
    rng = np.random.default_rng(0)
    n = 3000
    y = np.arange(2 * n) % 6 == 0
    X = rng.standard_normal((2 * n, 2))
    X[y, 0] += 4.0
    X[~y & (rng.random(2 * n) < 0.1)] += [6.0, -4.0]
    train, test = slice(0, n), slice(n, 2 * n)
    whole = AUCClassifier(1e-3, loss="squared_hinge").fit(X[train], y[train])
    part = AUCClassifier(1e-3, loss="squared_hinge", max_fpr=0.05).fit(X[train], y[train])
    at_the_top = [partial_auc(y[test], model.decision_function(X[test]), max_fpr=0.05) for model in (whole, part)]
    assert at_the_top[1] > at_the_top[0] + 0.002


def test_cross_validation_trains_and_chooses_on_the_part():
    X, y = make_data(240, 4, seed=6)
    options = {"l2s": [0.003, 0.03, 0.3], "max_fpr": 0.3, "cv": 3, "loss": "squared_hinge"}
    model = AUCClassifierCV(**options).fit(X, y)
    assert model.measure_ == "partial AUC up to 30 % false positives"
    assert model.converged_path_.all()
    alone = AUCClassifier(model.l2_, loss="squared_hinge", max_fpr=0.3).fit(X, y)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-10)
    squared = AUCClassifierCV(**{**options, "loss": "squared"}).fit(X, y)  # there it chooses only
    np.testing.assert_allclose(squared.coef_, AUCClassifier(squared.l2_).fit(X, y).coef_, atol=1e-6)
    curved = AUCClassifierCV(**options, features=AdditiveFeatures(n_knots=4)).fit(X, y)
    assert curved.gap_ <= 1e-6
    assert 0.5 < curved.corrected_score_ <= 1.0


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"max_fpr": 0.1}, r"max_fpr=0\.1 needs loss='squared_hinge': with loss='squared' "),
        ({"max_fpr": 0.0, "loss": "squared_hinge"}, "'max_fpr' parameter of AUCClassifier must be"),
        ({"max_fpr": 1.5, "loss": "squared_hinge"}, "'max_fpr' parameter of AUCClassifier must be"),
        ({"max_fpr": 0.004, "loss": "squared_hinge"}, r"max_fpr=0\.004 of the 84 negative rows is less than one"),
        ({"loss": "hinge"}, "'loss' parameter of AUCClassifier must be a str among"),
    ],
)
def test_bad_input_is_named(parameters, match):
    X, y = make_data(120, 3)
    with pytest.raises(ValueError, match=match):
        AUCClassifier(**parameters).fit(X, y)


def test_nothing_at_the_top_is_said():
    """A part that is out of reach: w = 0 is the best, and noise in its place would rank at random."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 3)), np.arange(400) % 4 == 0
    X[y, 0] += 0.5
    with pytest.warns(UserWarning, match=r"With max_fpr=0\.05 all coefficients are 0: .* larger max_fpr"):
        model = AUCClassifier(0.01, loss="squared_hinge", max_fpr=0.05).fit(X, y)
    assert not model.coef_.any()
    assert model.objective_ == pytest.approx(0.25 * 0.75)
    assert partial_hinge_by_definition(X, y, np.array([0.05, 0.0, 0.0]), 0.05) > model.objective_
    with pytest.warns(UserWarning, match="all coefficients are 0"):
        AUCClassifierCV([0.01, 0.1], loss="squared_hinge", max_fpr=0.05, cv=3).fit(X, y)


def test_rows_are_needed():
    X, y = make_data(60, 3)
    model = AUCClassifier(loss="squared_hinge", max_fpr=0.5)
    with pytest.raises(ValueError, match="partial_fit keeps sums of the rows"):
        model.partial_fit(X, y)
