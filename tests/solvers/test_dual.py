"""Tables of fewer rows than features: the solution from a matrix of rows × rows is that of the d×d matrix."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import hessian_and_delta, loss_of, make_data, pairwise_objective
from scipy import linalg, sparse

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments
from vrspam.model_selection import sources
from vrspam.objective import ElasticNet, Objective, SquaredPairLoss
from vrspam.solvers.path import solve_grid
from vrspam.solvers.products import DualRidge, ScaledRows


def wide(n=30, d=80, seed=0, shift=0.0):
    X, y = make_data(n, d, seed=seed, correlated=False)
    return X + shift, y


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_solution_is_that_of_the_normal_equations(many, weighted, dtype):
    X, y = wide(shift=20.0)  # means far from 0 must not cost digits
    X = X.astype(dtype)
    weights = np.random.default_rng(1).integers(0, 3, 30) * 1.0 if weighted else np.ones(30)
    loss = loss_of(X, y, weights)
    H, delta = hessian_and_delta(X, y, weights)
    np.testing.assert_allclose(ScaledRows(loss.rows, loss.delta).gram().trace(), np.trace(H), rtol=1e-5)
    solver = DualRidge(many=many)
    for l2 in (1e-6, 1e-2, 1.0):
        solution = solver.solve(Objective(loss, ElasticNet(l2)), tol=1e-10, max_iter=100)
        expected = np.linalg.solve(H + l2 / loss.k * np.eye(80), delta)
        assert solution.converged
        np.testing.assert_allclose(solution.w, expected, rtol=1e-3 if dtype == np.float32 else 1e-6, atol=1e-6)
        value = pairwise_objective(X, y, solution.w, l2, weights=weights)
        assert solution.value == pytest.approx(float(value), rel=1e-8)


def test_without_penalty_the_shortest_minimiser_is_found():
    X, y = wide()
    loss = loss_of(X, y)
    H, delta = hessian_and_delta(X, y, np.ones(30))
    shortest = np.linalg.pinv(H, rcond=1e-12) @ delta
    found = DualRidge().solve(Objective(loss, ElasticNet(0.0)), tol=1e-8, max_iter=10)
    np.testing.assert_allclose(found.w, shortest, atol=1e-9)


def test_what_it_refuses():
    X, y = wide()
    for loss, penalty, words in (
        (loss_of(X, y), ElasticNet(0.1, 0.1), "not l2"),
        (loss_of(X[:, :20], y), ElasticNet(0.1), "fewer features than rows"),
        (loss_of(sparse.csr_array(X), y), ElasticNet(0.1), "dense rows"),
        (SquaredPairLoss.from_moments(ClassMoments.from_data(X, y)), ElasticNet(0.1), "dense rows"),
    ):
        assert words in str(DualRidge().refuses(Objective(loss, penalty)))
    assert DualRidge().refuses(Objective(loss_of(X, y), ElasticNet(0.1))) is None


def test_a_tolerance_that_eigenvectors_miss_is_reached_by_refining():
    X, y = wide(40, 200)
    X[:, 0] *= 1e4  # one column dwarfs the others
    loss = loss_of(X, y)
    # The certificate makes room for the rounding of the products, which is 5e-12 of F(0) here.
    solution = DualRidge(many=True).solve(Objective(loss, ElasticNet(1e-6)), tol=1e-11, max_iter=1000)
    assert solution.converged
    assert solution.gap <= 1e-11 * loss.scale


def test_a_grid_is_that_of_the_square_matrix():
    X, y = wide()
    l2s = np.logspace(-6, 1, 9)
    dual = solve_grid(loss_of(X, y), l2s, np.zeros(1), tol=1e-10, max_iter=1000)
    primal = solve_grid(
        SquaredPairLoss.from_moments(ClassMoments.from_data(X, y)), l2s, np.zeros(1), tol=1e-10, max_iter=1000
    )
    assert dual.converged.all()
    np.testing.assert_allclose(dual.coefs, primal.coefs, atol=1e-7)


@pytest.fixture
def short_table(monkeypatch):
    """More columns than rows, where not a thousand features but a hundred are always summed up by moments."""
    monkeypatch.setattr("vrspam.solvers.MOMENTS_ALWAYS", 100)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 110))
    X[::9, 3] = np.nan
    y = np.nan_to_num(X[:, :8]).sum(axis=1) + rng.standard_normal(60) > 0.0
    return X, y


@pytest.mark.parametrize("features", ["additive", "kernel 1"])
@pytest.mark.parametrize("weighted", [False, True])
def test_maps_of_a_short_table_are_those_of_moments(features, weighted, short_table, monkeypatch):
    """Coefficients, the whole path, curves and importances do not depend on the route."""
    X, y = short_table
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 60) if weighted else None
    l2s = [1e-3, 1e-2, 1e-1, 1.0]
    model = AUCClassifierCV(l2s, features=features, cv=3, random_state=0).fit(X, y, sample_weight=weights)
    monkeypatch.setattr(sources, "choose_solver", lambda *shape, **kind: "moments")
    other = AUCClassifierCV(l2s, features=features, cv=3, random_state=0).fit(X, y, sample_weight=weights)
    assert (model.solver_, other.solver_) == ("products", "moments")
    assert not model.moments_.has_scatter
    np.testing.assert_allclose(model.auc_path_, other.auc_path_, atol=1e-12)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-5)
    assert model.converged_path_.all()
    assert model.gap_ <= 1e-8 * model.moments_.p * model.moments_.q
    assert list(model.importances_) == list(other.importances_)
    np.testing.assert_allclose(
        list(model.importances_.values()), list(other.importances_.values()), rtol=1e-4, atol=1e-12
    )
    one, two = model.shape_functions_["x3"], other.shape_functions_["x3"]
    np.testing.assert_allclose(one.contribution, two.contribution, atol=1e-6)
    np.testing.assert_allclose(one.low, two.low, atol=1e-5)
    assert one.importance == pytest.approx(two.importance, rel=1e-4)
    assert sum(model.explain_one(X[0]).values()) == pytest.approx(model.decision_function(X[:1])[0])


def test_no_square_matrix_of_the_features_is_made(short_table, monkeypatch):
    X, y = short_table
    largest: list[int] = []

    def watched(decompose):
        def call(A, *args, **options):
            largest.append(len(A))
            return decompose(A, *args, **options)

        return call

    monkeypatch.setattr(np.linalg, "eigh", watched(np.linalg.eigh))
    monkeypatch.setattr(linalg, "cho_factor", watched(linalg.cho_factor))
    AUCClassifierCV(features="additive", cv=3).fit(X, y)
    assert largest
    assert max(largest) <= 61


def test_l1_still_leaves_features_out(short_table):
    X, y = short_table
    model = AUCClassifierCV([1e-2], [0.05, 0.1], features="additive", cv=3).fit(X, y)
    assert model.solver_ == "products"
    assert 0 < np.count_nonzero(model.coef_) < 60


def test_columns_as_they_are_take_the_same_route():
    X, y = wide(50, 1_001, seed=1)
    model = AUCClassifier(0.1).fit(X, y)
    whole = AUCClassifier(0.1).fit_moments(ClassMoments.from_data(X, y))
    assert (model.solver_, model.n_iter_, whole.solver_) == ("products", 1, "moments")
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-8)
    assert model.gap_ <= 1e-8 * model.objective_


def test_the_tool_trains_curves_on_a_short_table(short_table, tmp_path):
    pd = pytest.importorskip("pandas")
    from vrspam.tool import load_model, save_model
    from vrspam.tool.training import train

    X, y = short_table
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).assign(sick=np.where(y, "yes", "no"))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = train(tmp_path / "rows.csv", "sick", features="additive", n_splits=3)
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    columns = frame.drop(columns="sick")
    np.testing.assert_array_equal(again.score(columns), model.score(columns))
    assert model.training["relative_gap"] <= 1e-8
