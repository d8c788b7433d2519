"""The squared hinge over pairs: against the sum over all pairs, other minimisers, and properties that it must have."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers import make_data
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn import config_context
from toy_loss import SquaredHingeByPairs

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments
from vrspam.features import AdditiveFeatures
from vrspam.features.mapped import MappedArray
from vrspam.features.names import GROUPS
from vrspam.objective import ElasticNet, Objective, SquaredHingeLoss, hinge
from vrspam.solvers import newton, solve
from vrspam.solvers.proximal_newton import PairProximalNewton
from vrspam.solvers.smooth import TruncatedNewton


def sorted_loss(X, y, weights=None):
    return SquaredHingeLoss(X, y == 1, weights, ClassMoments.from_data(X, y, weights))


def by_pairs(X, y, w, weights=None):
    """f, ∇f and ∇²f from all pairs, in long double."""
    X, w = np.asarray(X, dtype=np.longdouble), np.asarray(w, dtype=np.longdouble)
    c = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.longdouble)
    pairs = (X[y == 1][:, None] - X[y == 0][None]).reshape(-1, X.shape[1])
    weight = np.outer(c[y == 1], c[y == 0]).ravel() / c.sum() ** 2
    margin = np.maximum(1 - pairs @ w, 0)
    active = pairs[margin > 0] * np.sqrt(weight[margin > 0])[:, None]
    return weight @ margin**2, -2 * pairs.T @ (weight * margin), 2 * active.T @ active


def least(X, y, l2, weights=None):
    """The least F with l2 alone, by BFGS over all pairs."""

    def cost(w):
        value, grad, _ = by_pairs(X, y, w, weights)
        return float(value + l2 / 2 * w @ w), (grad + l2 * w).astype(float)

    return minimize(cost, np.zeros(X.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-10})


CASES = {
    "float64": lambda X: X,
    "fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "float32": lambda X: X.astype(np.float32),
    "float32 csr": lambda X: sparse.csr_array(X.astype(np.float32)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [0.0, 0.1, 0.7, 5.0])
def test_value_gradient_and_hessian_are_those_of_all_pairs(case, weighted, size):
    X, y = make_data(90, 5, seed=1)
    rng = np.random.default_rng(0)
    weights = rng.choice([0.0, 0.5, 2.0, 3.0], y.size) if weighted else None
    given = CASES[case](X)
    X = np.asarray(given.toarray() if sparse.issparse(given) else given, dtype=np.float64)
    loss, w, v = sorted_loss(given, y, weights), size * rng.standard_normal(5), rng.standard_normal(5)
    value, grad, hessian = by_pairs(X, y, w, weights)
    found = loss.value_and_grad(w)
    unit = float(np.trace(by_pairs(X, y, 0 * w, weights)[2])) * (1 + size)
    assert found[0] == pytest.approx(float(value), rel=1e-12)
    np.testing.assert_allclose(found[1], grad.astype(float), atol=1e-13 * unit)
    coarse = 1e-6 if "float32" in case else 1e-13
    np.testing.assert_allclose(loss.hessian_product(w)(v), (hessian @ v).astype(float), atol=coarse * unit)
    pairs = loss.at(loss.scores(w)).pairs
    for part in (pairs, pairs.active_part(10_000)):
        np.testing.assert_allclose(loss.hessian_matrix(part), hessian.astype(float), atol=1e-13 * unit)
    np.testing.assert_allclose(
        loss.hessian_matrix(pairs, np.array([3, 1])), hessian[np.ix_([3, 1], [3, 1])].astype(float), atol=1e-13 * unit
    )


@pytest.mark.parametrize("rows", [1, 3, 7])
@pytest.mark.parametrize("size", [0.3, 3.0])
def test_the_hessian_is_added_up_in_blocks_of_any_size(rows, size, monkeypatch):
    X, y = make_data(60, 4, seed=2)
    loss, w = sorted_loss(X, y), size * np.random.default_rng(3).standard_normal(4)
    monkeypatch.setattr(hinge, "BLOCK_ENTRIES", 4 * rows)
    pairs = loss.at(loss.scores(w)).pairs
    for part in (pairs, pairs.active_part(10_000)):
        np.testing.assert_allclose(loss.hessian_matrix(part), by_pairs(X, y, w)[2].astype(float), atol=1e-12)


def test_few_rows_stand_for_all():
    """The Hessian of rows drawn evenly is near that of all, and their weights still add up to 1."""
    X, y = make_data(4000, 4, seed=2)
    loss, w = sorted_loss(X, y), 0.2 * np.ones(4)
    pairs = loss.at(loss.scores(w)).pairs
    few = pairs.active_part(800)
    assert few.up.size + few.down.size <= 1200
    whole = loss.hessian_matrix(pairs)
    eigenvalues = np.linalg.eigvals(np.linalg.solve(whole, loss.hessian_matrix(few))).real
    assert eigenvalues.min() > 0.7
    assert eigenvalues.max() < 1.4
    thin = loss.thinned(500)
    assert thin.products.shape[0] == 500
    np.testing.assert_allclose([thin.pair_rows.a.sum(), thin.pair_rows.b.sum()], 1.0)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_scores_with_ties_and_any_weights(data):
    """Scores on a coarse grid: pairs that lie exactly on the margin, and equal scores in both classes."""
    n = data.draw(st.integers(2, 14))
    x = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)), dtype=float) / 2
    y = np.array([0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))])
    c = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=n, max_size=n)))
    c[:2] = 1.0
    X = np.column_stack([x, x[::-1]])
    w = np.array(data.draw(st.tuples(st.sampled_from([0.0, 0.5, 1.0, -1.0]), st.sampled_from([0.0, 1.0, -2.0]))))
    value, grad, _ = by_pairs(X, y, w, c)
    found = sorted_loss(X, y, c).value_and_grad(w)
    assert found[0] == pytest.approx(float(value), abs=1e-13)
    np.testing.assert_allclose(found[1], grad.astype(float), atol=1e-13)


def test_a_large_offset_costs_few_digits():
    X, y = make_data(200, 4, seed=5)
    w = np.array([0.3, -0.2, 0.5, 0.1])
    value, grad, _ = by_pairs(X, y, w)
    found = sorted_loss(X + 1e6, y).value_and_grad(w)
    assert found[0] == pytest.approx(float(value), rel=1e-8)
    np.testing.assert_allclose(found[1], grad.astype(float), atol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
@pytest.mark.parametrize("size", [0.1, 10.0])
def test_the_bound_on_rounding_holds(offset, size):
    X, y = make_data(300, 6, seed=7)
    X = X + offset
    w = size * np.random.default_rng(1).standard_normal(6)
    loss = sorted_loss(X, y)
    exact = by_pairs(X, y, w)[1]
    bound = loss.rounding_of(np.abs(w), loss.at(loss.scores(w)))
    assert np.all(np.abs(loss.value_and_grad(w)[1] - exact) <= bound)


def test_the_bound_on_rounding_holds_for_the_sums_alone():
    """Slopes as they are, whatever scores they belong to: what is left is the rounding of the sums over rows."""
    X, y = make_data(3000, 4, seed=8)
    loss = sorted_loss(X, y)
    point = loss.at(loss.scores(np.full(4, 0.3)))
    slope = point.slope
    exact = np.asarray(X - loss.centre, dtype=np.longdouble).T @ np.asarray(slope, dtype=np.longdouble)
    error, bound = np.abs(loss.gradient_of(slope) - exact), loss.rounding_of(np.zeros(4), point)
    assert np.all(error <= bound)
    assert error.max() > 0.0


def test_the_bound_on_rounding_holds_where_scores_cancel():
    X, y = make_data(300, 3, seed=9)
    X = np.column_stack([X, X[:, 0] + 1e-7 * X[:, 1]])
    w = np.array([-3e7, 0.1, -0.2, 3e7])
    loss = sorted_loss(X, y)
    point = loss.at(loss.scores(w))
    error = np.abs(loss.gradient_of(point.slope) - by_pairs(X, y, w)[1])
    assert np.all(error <= loss.rounding_of(np.abs(w), point))
    assert error.max() > 100.0 * loss.rounding_of(np.zeros(4), point).max()


def test_products_of_rows_that_count_are_those_of_all_rows():
    X, y = make_data(80, 3, seed=11)
    loss = sorted_loss(sparse.csr_matrix(X), y)
    for width in (0.1, 1.0, 10.0):  # from all rows in a pair that counts to a few
        pairs = loss.at(width * np.random.default_rng(0).standard_normal(80) + 3.0 * width * y).pairs
        for v in np.eye(3):
            expected = sorted_loss(X, y).hessian_at(pairs)(v)
            np.testing.assert_allclose(loss.hessian_at(pairs)(v), expected, atol=1e-14)
    assert sum(map(len, pairs.active())) < 0.85 * 80


def test_products_and_matrix_agree_where_pairs_lie_on_the_margin():
    X, y = make_data(40, 3, seed=10)
    scores = np.random.default_rng(0).integers(-2, 3, 40) / 2.0
    loss = sorted_loss(X, y)
    pairs, v = loss.at(scores).pairs, np.array([1.0, -2.0, 0.5])
    differences = (X[y == 1][:, None] - X[y == 0][None]).reshape(-1, 3)
    counts = (scores[y == 1][:, None] - scores[y == 0][None]).ravel() < 1.0
    exact = 2.0 / 40**2 * (differences[counts].T @ differences[counts]) @ v
    np.testing.assert_allclose(loss.hessian_matrix(pairs) @ v, exact, atol=1e-13)
    np.testing.assert_allclose(loss.hessian_at(pairs)(v), exact, atol=1e-13)
    weight = np.mean(counts)
    assert pairs.share() == pytest.approx(weight, rel=1e-13)


@pytest.mark.parametrize("l2", [1e-5, 1e-2, 3.0])
@pytest.mark.parametrize("case", CASES)
def test_the_minimum_is_that_of_bfgs_over_pairs_and_the_certificate_holds(l2, case):
    X, y = make_data(80, 4, seed=3)
    given = CASES[case](X)
    model = AUCClassifier(l2=l2, loss="squared_hinge").fit(given, y)
    X = np.asarray(given.toarray() if sparse.issparse(given) else given, dtype=np.float64)
    best = least(X, y, l2)
    np.testing.assert_allclose(model.coef_[0], best.x, atol=1e-4 * np.abs(best.x).max())
    here = float(by_pairs(X, y, model.coef_[0])[0]) + l2 / 2 * float(model.coef_[0] @ model.coef_[0])
    assert model.objective_ == pytest.approx(here, rel=1e-12)
    assert here - best.fun <= model.gap_ + 1e-15
    assert model.gap_ <= 1e-8 * y.mean() * (1 - y.mean())
    assert model.solver_ == "newton"
    np.testing.assert_array_equal(model.history_["epoch"], np.arange(model.n_iter_ + 1))


@pytest.mark.parametrize("case", ["float64", "csr", "float32"])
def test_the_elastic_net_meets_its_conditions(case):
    X, y = make_data(150, 8, seed=4)
    given = CASES[case](X)
    l2, l1 = 1e-3, 0.03
    model = AUCClassifier(l2=l2, l1=l1, loss="squared_hinge", tol=1e-11).fit(given, y)
    X = np.asarray(given.toarray() if sparse.issparse(given) else given, dtype=np.float64)
    w = model.coef_[0]
    grad = by_pairs(X, y, w)[1].astype(float) + l2 * w
    assert 0 < np.count_nonzero(w) < 8
    np.testing.assert_allclose(grad[w != 0], -l1 * np.sign(w[w != 0]), atol=1e-6)
    assert np.all(np.abs(grad[w == 0]) <= l1)
    assert model.gap_ <= 1e-11 * y.mean() * (1 - y.mean())


def test_it_is_the_squared_loss_where_no_pair_is_beyond_the_margin():
    X, y = make_data(100, 5, seed=6)
    hinge, squared = (AUCClassifier(l2=300.0, loss=name, tol=1e-14).fit(X, y) for name in ("squared_hinge", "squared"))
    scores = X @ hinge.coef_[0]
    assert np.max(scores[y == 1][:, None] - scores[y == 0]) < 1
    np.testing.assert_allclose(hinge.coef_, squared.coef_, rtol=1e-6)
    assert hinge.objective_ == pytest.approx(squared.objective_, rel=1e-12)
    np.testing.assert_allclose(hinge.intercept_, squared.intercept_, rtol=1e-6)
    auto = [AUCClassifier(loss=name).fit(X, y).l2_ for name in ("squared_hinge", "squared")]
    assert auto[0] == pytest.approx(auto[1])


@pytest.mark.parametrize("l1", [0.0, 0.02])
def test_weights_are_repeated_rows(l1):
    X, y = make_data(120, 4, seed=8)
    times = np.random.default_rng(0).integers(0, 4, y.size)
    settings_ = {"l2": 0.01, "l1": l1, "loss": "squared_hinge", "tol": 1e-13}
    weighted = AUCClassifier(**settings_).fit(X, y, sample_weight=times)
    repeated = AUCClassifier(**settings_).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-10)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-6)


def test_a_shift_changes_nothing_and_a_swap_of_classes_the_sign():
    X, y = make_data(150, 4, seed=9)
    model = AUCClassifier(l2=0.01, loss="squared_hinge", tol=1e-12)
    plain = model.fit(X, y).coef_.copy()
    np.testing.assert_allclose(model.fit(X + np.array([5.0, -3.0, 100.0, 0.0]), y).coef_, plain, atol=1e-6)
    np.testing.assert_allclose(model.fit(X, 1 - y).coef_, -plain, atol=1e-6)


def test_a_step_that_is_too_long_is_cut_until_the_objective_falls():
    X, y = make_data(100, 4, seed=12)
    objective, solver = Objective(sorted_loss(X, y), ElasticNet(0.1)), newton.PairNewton()
    solver.w0 = None
    state = solver.init(objective)
    direction = -1e4 * state.grad
    fraction = solver.search(objective, state, direction, objective.loss.quick_scores(direction))
    assert 0.0 < fraction < 0.1
    np.testing.assert_allclose(state.w, fraction * direction)
    assert state.value == pytest.approx(objective.value(state.w))
    assert state.value < objective.scale


def test_a_step_is_the_best_one_in_the_plane_of_two_directions():
    X, y = make_data(100, 4, seed=13)
    loss, l2, rng = sorted_loss(X, y), 0.03, np.random.default_rng(0)
    w, directions = 0.1 * rng.standard_normal(4), rng.standard_normal((2, 4))
    solver = newton.PairNewton()
    solver.point = loss.at(loss.scores(w))
    solver._last = (directions[1], loss.quick_scores(directions[1]))
    gradient = loss.gradient_of(solver.point.slope) + l2 * w
    step, image = solver._best_step(loss, l2, gradient, (directions[0], loss.quick_scores(directions[0])))
    hessian = by_pairs(X, y, w)[2].astype(float) + l2 * np.eye(4)
    best = -directions.T @ np.linalg.solve(directions @ hessian @ directions.T, directions @ gradient)
    np.testing.assert_allclose(step, best, rtol=1e-9)
    np.testing.assert_allclose(image, loss.quick_scores(best), rtol=1e-9, atol=1e-12)


def test_a_preconditioner_is_factorised_again_for_another_l2():
    X, y = make_data(100, 4, seed=14)
    loss, r = sorted_loss(X, y), np.arange(4.0)
    pairs = loss.at(loss.scores(np.full(4, 0.1))).pairs
    preconditioner = newton.Preconditioner(loss)
    preconditioner.build(pairs, 0)
    for l2 in (0.1, 10.0, 0.1):
        expected = np.linalg.solve(loss.hessian_matrix(pairs) + l2 * np.eye(4), r)
        np.testing.assert_allclose(preconditioner.solve(r, l2), expected, rtol=1e-9)


@pytest.mark.parametrize("d", [3, 40])
def test_separable_data_with_a_tiny_l2_is_solved(d):
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.2).astype(int)
    X = rng.standard_normal((400, d)) + 3.0 * y[:, None]
    model = AUCClassifier(l2=1e-9, loss="squared_hinge").fit(X, y)
    assert model.gap_ <= 1e-8 * y.mean() * (1 - y.mean())
    assert model.score(X, y) == 1.0
    flat = AUCClassifier(l2=0.0, loss="squared_hinge").fit(X, y)
    assert flat.objective_ <= 1e-12
    assert flat.gap_ is None


def test_many_rows_start_from_few_of_them():
    """Enough rows that a part is solved first and that the Hessian is that of a part."""
    X, y = make_data(9000, 6, seed=11)
    model = AUCClassifier(loss="squared_hinge").fit(X, y)
    loss, l2 = sorted_loss(X, y), model.l2_
    grad = loss.value_and_grad(model.coef_[0])[1]
    assert np.linalg.norm(grad + l2 * model.coef_[0]) ** 2 / (2 * l2) <= model.gap_ <= 1e-8 * loss.scale
    assert model.history_["passes"][-1] < 30


def test_columns_that_are_rare_in_the_chosen_rows(monkeypatch):
    """A preconditioner of few rows does not see a rare column; the solution is the same."""
    X, y = make_data(2000, 4, seed=12)
    rare = np.zeros((2000, 30))
    rare[np.random.default_rng(0).integers(0, 2000, 90), np.repeat(np.arange(30), 3)] = 4.0
    X = np.hstack([X, rare])
    whole = AUCClassifier(l2=1e-4, loss="squared_hinge").fit(X, y)
    for name, value in (("LEAST_ROWS", 50), ("ROWS_PER_FEATURE", 2), ("QUICK_ROWS", 0.0)):
        monkeypatch.setattr(newton, name, value)
    part = AUCClassifier(l2=1e-4, loss="squared_hinge").fit(X, y)
    assert part.gap_ <= 1e-8 * y.mean() * (1 - y.mean())
    assert abs(part.objective_ - whole.objective_) <= part.gap_ + whole.gap_


@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_wide_sparse_rows_need_no_matrix(l1):
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 3000), density=0.01, format="csr", rng=rng)
    y = (np.asarray(X[:, :40].sum(axis=1)).ravel() + 0.3 * rng.standard_normal(300) > 0.2).astype(int)
    model = AUCClassifier(1e-4, l1=l1 * y.mean() * (1 - y.mean()), loss="squared_hinge").fit(X, y)
    assert model.gap_ <= 1e-8 * y.mean() * (1 - y.mean())
    loss = sorted_loss(X, y)
    dense = sorted_loss(X.toarray(), y)
    np.testing.assert_allclose(
        loss.value_and_grad(model.coef_[0])[1], dense.value_and_grad(model.coef_[0])[1], atol=1e-12
    )


def test_more_columns_than_a_matrix_takes_go_on_without_it(monkeypatch):
    """At once, and with what was done before in `n_iter` and in the history."""
    rng, asked = np.random.default_rng(2), []
    X = rng.standard_normal((40, 300))
    y = (X[:, :5].sum(axis=1) + rng.standard_normal(40) > 0.0).astype(int)
    objective = Objective(sorted_loss(X, y), ElasticNet(0.1, 1e-5))
    choose = PairProximalNewton._choose_columns

    def counted(*given):
        asked.append(given)
        return choose(*given)

    monkeypatch.setattr(PairProximalNewton, "_choose_columns", counted)
    monkeypatch.setattr(PairProximalNewton, "most_columns", 100)
    found = PairProximalNewton().solve(objective, tol=1e-10, max_iter=200)
    assert np.count_nonzero(found.w) > 100
    assert len(asked) < 50
    alone = TruncatedNewton().solve(objective, tol=1e-13, max_iter=200)
    assert found.converged
    assert found.value - alone.value <= found.bound + 1e-13 * found.value
    history = found.history
    np.testing.assert_array_equal(history["epoch"], np.arange(found.n_iter + 1))
    assert history["objective"][0] == pytest.approx(objective.scale, rel=1e-12)  # F(0), where the first phase began
    assert np.all(np.diff(history["passes"]) >= 0.0)
    short = PairProximalNewton().solve(objective, tol=1e-13, max_iter=2)
    assert short.n_iter == 2


def test_rounding_that_is_too_coarse_for_the_tolerance_is_said():
    X, y = make_data(200, 4, seed=5)
    shared = 1e8 * np.random.default_rng(0).standard_normal((200, 1))  # a shift is taken off, this is not
    with pytest.warns(UserWarning, match="above tol"):
        model = AUCClassifier(l2=1e-10, loss="squared_hinge", max_iter=60).fit(X + shared, y)
    assert model.gap_ > 1e-8


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.GridEdge")
def test_features_of_a_map_are_held_or_made_again(monkeypatch):
    X, y = make_data(300, 3, seed=13)
    search = AUCClassifierCV(loss="squared_hinge", features="additive", cv=3, l2s=[1e-3, 1e-1], tol=1e-10)
    held = search.fit(X, y)
    coef, paths = held.coef_.copy(), held.auc_path_.copy()
    monkeypatch.setattr("vrspam.features.mapped.HELD_BYTES", 0)
    again = search.fit(X, y)
    np.testing.assert_allclose(again.coef_, coef, atol=1e-5)
    np.testing.assert_allclose(again.auc_path_, paths, atol=1e-6)
    assert isinstance(again.features_, AdditiveFeatures)
    features = AdditiveFeatures().fit(X)
    mapped, made = MappedArray(X, features), features.transform(X)
    w = np.random.default_rng(0).standard_normal((made.shape[1],))
    moments = ClassMoments.from_data(made, y)
    ours, plain = (SquaredHingeLoss(rows, y == 1, None, moments).value_and_grad(w) for rows in (mapped, made))
    assert ours[0] == pytest.approx(plain[0], rel=1e-12)
    np.testing.assert_allclose(ours[1], plain[1], atol=1e-12)


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.GridEdge")
def test_the_grid_is_that_of_single_fits():
    X, y = make_data(240, 5, seed=14)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    halves = np.arange(y.size) % 2
    splits = [(np.flatnonzero(halves != side), np.flatnonzero(halves == side)) for side in (0, 1)]
    search = AUCClassifierCV([1e-3, 1e-1], [0.0, 0.02], loss="squared_hinge", cv=splits, tol=1e-11)
    search.fit(X, y, sample_weight=weights)
    for fold, (train, validation) in enumerate(splits):
        for i, l2 in enumerate(search.l2s_):
            for j, l1 in enumerate(search.l1s_):
                alone = AUCClassifier(l2, l1, loss="squared_hinge", tol=1e-12).fit(X[train], y[train], weights[train])
                auc = alone.score(X[validation], y[validation], weights[validation])
                assert search.auc_path_[i, j, fold] == pytest.approx(auc, abs=1e-9)
    assert search.converged_path_.all()
    assert search.gap_path_.max() <= 1e-11 * 0.25
    alone = AUCClassifier(search.l2_, search.l1_, loss="squared_hinge", tol=1e-12).fit(X, y, weights)
    np.testing.assert_allclose(search.coef_, alone.coef_, atol=1e-6)
    np.testing.assert_allclose(search.intercept_ - search.baseline_, alone.intercept_, atol=1e-6)
    assert search.solver_ == "newton"
    assert sum(search.explain_one(X[0]).values()) == pytest.approx(search.decision_function(X[:1])[0])
    assert len(search.importances_) == 5


def test_curves_and_maps_work_with_it():
    X, y = make_data(250, 3, seed=15)
    search = AUCClassifierCV(loss="squared_hinge", features="auto", cv=3, l2s=[1e-3, 1e-1], random_state=0).fit(X, y)
    assert search.selection_["features"] == list(GROUPS["auto"])
    assert sum(search.explain_one(X[0]).values()) == pytest.approx(search.decision_function(X[:1])[0])
    curved = AUCClassifierCV(loss="squared_hinge", features="additive", cv=3, l2s=[1e-2]).fit(X, y)
    assert len(curved.shape_functions_) == 3


def test_l2s_auto_is_that_of_the_squared_loss():
    X, y = make_data(150, 3, seed=16)
    grids = [AUCClassifierCV(loss=loss, cv=2).fit(X, y).l2s_ for loss in ("squared", "squared_hinge")]
    np.testing.assert_allclose(grids[0], grids[1])


@pytest.mark.parametrize(
    "method", ["partial_fit", "fit_moments", "fit_stream", "DaskAUCClassifier", "Cross-validation of blocks"]
)
def test_what_keeps_no_rows_refuses_it(method):
    X, y = make_data(40, 3)
    model = AUCClassifier(loss="squared_hinge")

    def attempt():
        if method == "fit_stream":
            model.fit_stream([(X, y)])
        elif method == "partial_fit":
            model.partial_fit(X, y)
        elif method == "fit_moments":
            model.fit_moments(ClassMoments.from_data(X, y))
        elif method == "DaskAUCClassifier":
            pytest.importorskip("dask")
            from vrspam.distributed import DaskAUCClassifier

            DaskAUCClassifier(loss="squared_hinge").fit(X, y)
        else:
            AUCClassifierCV(loss="squared_hinge").fit_stream([(X, y)])

    with pytest.raises(ValueError, match=f"{method} keeps sums of the rows, and loss='squared_hinge' needs the rows"):
        attempt()
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("estimator", [AUCClassifier, AUCClassifierCV])
def test_an_unknown_loss_is_refused(estimator):
    with pytest.raises(ValueError, match=r"'loss' parameter of .* must be a str among"):
        estimator(loss="hinge").fit(*make_data(40, 3))


def test_arrays_on_a_device_are_refused(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    xp = pytest.importorskip("array_api_strict")
    X, y = make_data(40, 3)
    for estimator in (AUCClassifier, AUCClassifierCV):
        with config_context(array_api_dispatch=True), pytest.raises(ValueError, match="sorts scores on the host"):
            estimator(loss="squared_hinge").fit(xp.asarray(X), xp.asarray(y))


def test_the_toy_and_the_loss_agree():
    X, y = make_data(50, 3, seed=17)
    toy, ours = SquaredHingeByPairs(X, y), sorted_loss(X, y)
    penalty = ElasticNet(0.01, 0.02)
    slow, quick = (solve(Objective(loss, penalty), tol=1e-13, max_iter=3000) for loss in (toy, ours))
    np.testing.assert_allclose(quick.w, slow.w, atol=1e-6)
    np.testing.assert_allclose(ours.curvature(), toy.curvature())


@pytest.mark.parametrize("penalty", ["mcp", "scad"])
@pytest.mark.parametrize(("n", "d", "share"), [(400, 20, 0.3), (300, 100, 0.3), (300, 100, 0.1)])
def test_penalties_that_are_not_convex(penalty, n, d, share):
    """Stationary, and not above the elastic net's solution, from which it starts."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + 0.6 * rng.standard_normal((n, 1))
    y = (X[:, :5].sum(axis=1) + rng.standard_normal(n) > 1.5).astype(int)
    moments = ClassMoments.from_data(X, y)
    l1 = share * 2.0 * moments.p * moments.q * float(np.abs(moments.delta).max())
    net = AUCClassifier(1e-3, l1, loss="squared_hinge").fit(X, y)
    model = AUCClassifier(1e-3, l1, loss="squared_hinge", penalty=penalty).fit(X, y)
    assert model.stationarity_ <= 1e-8 * moments.p * moments.q
    assert model.gap_ is None
    assert 0 < np.count_nonzero(model.coef_) <= np.count_nonzero(net.coef_)
    # MCP and SCAD lie below l1 |w|, so a descent from the elastic net's solution ends below its F
    assert model.objective_ < net.objective_


@pytest.mark.parametrize("case", ["float64", "csr"])
@pytest.mark.parametrize("l1", [0.0, 1e-3])
@pytest.mark.parametrize("ratio", [1e4, 1e8, 1e10, 1e12, 1e13])
def test_the_objective_is_right_for_rows_far_from_the_origin(ratio, l1, case):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((24, 2)) + ratio * np.array([1.0, rng.choice([0.0, -0.7])]), np.arange(24) % 2
        X[:, 0] += y
        model = AUCClassifier(loss="squared_hinge", l2=1e-3, l1=l1).fit(CASES[case](X), y)
        w = [Fraction(x) for x in model.coef_[0]]
        scores = [sum(Fraction(x) * b for x, b in zip(row, w, strict=True)) for row in X]
        pairs = [(a, b) for a, above in zip(scores, y, strict=True) for b in scores[::2] if above]
        costs = sum(max(Fraction(0), 1 - a + b) ** 2 for a, b in pairs) / 24**2
        exact = Fraction(costs + Fraction(1e-3) / 2 * sum(x * x for x in w) + Fraction(l1) * sum(map(abs, w)))
        assert abs(Fraction(model.objective_) - exact) <= Fraction(1e-6) * exact
        assert model.gap_ <= 1e-8


@pytest.mark.parametrize("parameters", [{}, {"l1": 1e-3}, {"max_fpr": 0.5}], ids=str)
@pytest.mark.parametrize("smallest", [5e-324, 1e-310])
def test_weights_too_small_to_count_leave_the_certificate_finite(smallest, parameters):
    X, y = make_data(40, 3, seed=4)
    weights = np.ones(40)
    weights[[0, 1, 7]] = smallest
    model = AUCClassifier(loss="squared_hinge", **parameters).fit(X, y, weights)
    without = AUCClassifier(loss="squared_hinge", l2=model.l2_, **parameters).fit(X, y, weights * (weights == 1.0))
    assert 0.0 <= model.gap_ < 1e-5
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=1e-4)
