"""The squared hinge on the highest-scored negatives: against its definition, and against a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import make_data, partial_hinge_by_definition
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from vrspam import ClassMoments
from vrspam.objective import ElasticNet, Objective, SquaredHingeLoss
from vrspam.objective.partial_hinge import PartialHingeLoss, SmoothedPartialLoss
from vrspam.solvers import solve


def partial_loss(X, y, max_fpr, weights=None):
    whole = SquaredHingeLoss(X, y == 1, weights, ClassMoments.from_data(X, y, weights))
    return PartialHingeLoss(whole, max_fpr)


def least_value(X, y, max_fpr, l2):
    """min F by a general solver: min over w, θ, u of pq (θ + Σ b_j u_j / α) + l2/2 ‖w‖², u_j ≥ 0, u_j ≥ g_j(w) - θ."""
    P, N, d = X[y == 1], X[y == 0], X.shape[1]
    scale = len(P) * len(N) / len(y) ** 2

    def parts(z):
        return z[:d], z[d], z[d + 1 :]

    def goal(z):
        w, theta, u = parts(z)
        return scale * (theta + u.mean() / max_fpr) + l2 / 2 * w @ w

    def slope(z):
        w, _, u = parts(z)
        return np.concatenate([l2 * w, [scale], np.full(u.size, scale / (max_fpr * u.size))])

    def room(z):
        w, theta, u = parts(z)
        margins = np.maximum(0.0, 1.0 - (P @ w)[:, None] + N @ w)
        return u + theta - (margins**2).mean(axis=0)

    def room_slope(z):
        w = z[:d]
        margins = np.maximum(0.0, 1.0 - (P @ w)[:, None] + N @ w)
        along = 2.0 * (margins.mean(axis=0)[:, None] * N - margins.T @ P / len(P))
        return np.hstack([-along, np.ones((len(N), 1)), np.eye(len(N))])

    start = np.concatenate([np.zeros(d), [1.0], np.zeros(len(N))])
    found = minimize(
        goal,
        start,
        jac=slope,
        method="SLSQP",
        bounds=[(None, None)] * (d + 1) + [(0.0, None)] * len(N),
        constraints=[{"type": "ineq", "fun": room, "jac": room_slope}],
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert found.success
    return found.fun


@given(st.integers(0, 10_000), st.sampled_from([0.02, 0.1, 0.35, 0.5, 1.0]), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_value_is_the_definition(seed, max_fpr, weighted, tied):
    rng = np.random.default_rng(seed)
    X, y = make_data(40, 3, seed=seed)
    if tied:
        X = np.round(X)
    weights = rng.integers(1, 4, 40).astype(float) if weighted else None
    w = rng.standard_normal(3) * 10.0 ** rng.uniform(-2, 1)
    loss = partial_loss(X, y, max_fpr, weights)
    expected = partial_hinge_by_definition(X, y, w, max_fpr, weights)
    assert loss.value_and_grad(w)[0] == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_at_zero_all_negatives_count_alike():
    X, y = make_data(50, 4, seed=1)
    loss = partial_loss(X, y, 0.07)
    value, grad = loss.value_and_grad(np.zeros(4))
    assert value == pytest.approx(loss.scale, rel=1e-14)
    np.testing.assert_allclose(grad, loss.whole.value_and_grad(np.zeros(4))[1], atol=1e-14)


def test_the_whole_curve_is_the_squared_hinge():
    X, y = make_data(60, 4, seed=2)
    w = np.array([0.3, -0.2, 0.1, 0.5])
    loss = partial_loss(X, y, 1.0)
    value, grad = loss.whole.value_and_grad(w)
    assert loss.value_and_grad(w)[0] == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(loss.value_and_grad(w)[1], grad, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("max_fpr", [0.1, 0.4])
def test_smoothed_loss_has_its_own_derivatives(max_fpr):
    X, y = make_data(60, 4, seed=3)
    rng = np.random.default_rng(0)
    loss = partial_loss(X, y, max_fpr)
    smooth = SmoothedPartialLoss(loss, np.full(int(np.sum(y == 0)), max_fpr), 0.3)
    w, u, step = rng.standard_normal(4) * 0.2, rng.standard_normal(4), 1e-6

    def at(point):
        return smooth.value_and_grad(point)

    grad = np.array([(at(w + step * e)[0] - at(w - step * e)[0]) / (2 * step) for e in np.eye(4)])
    np.testing.assert_allclose(at(w)[1], grad, atol=1e-8)
    product = (at(w + step * u)[1] - at(w - step * u)[1]) / (2 * step)
    np.testing.assert_allclose(smooth.hessian_product(w)(u), product, atol=1e-7)
    pairs = smooth.at(smooth.scores(w)).pairs
    np.testing.assert_allclose(smooth.hessian_matrix(pairs) @ u, smooth.hessian_product(w)(u), atol=1e-12)
    assert at(w)[0] <= loss.value_and_grad(w)[0] + 1e-15


@pytest.mark.parametrize(("seed", "max_fpr", "l2"), [(0, 0.2, 0.02), (1, 0.1, 0.1), (2, 0.45, 1e-3), (3, 0.06, 0.01)])
def test_solution_is_that_of_a_general_solver(seed, max_fpr, l2):
    X, y = make_data(36, 3, seed=seed)
    loss = partial_loss(X, y, max_fpr)
    solution = solve(Objective(loss, ElasticNet(l2)), tol=1e-7, max_iter=1000)
    least = least_value(X, y, max_fpr, l2)
    found = partial_hinge_by_definition(X, y, solution.w, max_fpr) + l2 / 2 * solution.w @ solution.w
    assert solution.converged
    assert solution.value == pytest.approx(found, rel=1e-10)
    assert found - least <= solution.gap + 1e-9 * loss.scale
    assert found >= least - 1e-8 * loss.scale


@pytest.mark.parametrize("seed", range(15))
def test_certificate_holds_and_is_reached(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 120)), int(rng.integers(1, 6))
    X, y = make_data(n, d, share=rng.uniform(0.1, 0.5), seed=seed)
    max_fpr = rng.uniform(2.0 / np.sum(y == 0), 1.0)
    penalty = ElasticNet(10.0 ** rng.uniform(-4, 0), float(rng.choice([0.0, 0.01])))
    loss = partial_loss(X, y, max_fpr)
    rough = solve(Objective(loss, penalty), tol=1e-2, max_iter=1000)
    fine = solve(Objective(loss, penalty), tol=1e-7, max_iter=1000)
    assert fine.converged
    assert fine.gap <= 1e-7 * loss.scale
    assert fine.value <= rough.value + fine.bound
    assert rough.value - fine.value <= rough.bound


def test_weights_are_repeated_rows():
    X, y = make_data(60, 3, seed=5)
    times = np.random.default_rng(0).integers(1, 4, 60)
    penalty = ElasticNet(0.02)
    weighted = solve(Objective(partial_loss(X, y, 0.13, times.astype(float)), penalty), tol=1e-8, max_iter=1000)
    index = np.repeat(np.arange(60), times)
    repeated = solve(Objective(partial_loss(X[index], y[index], 0.13), penalty), tol=1e-8, max_iter=1000)
    assert weighted.value == pytest.approx(repeated.value, abs=2e-8)
    np.testing.assert_allclose(weighted.w, repeated.w, atol=1e-3)


def test_edge_weights_matter():
    """With the weights that any sort gives to rows that tie at the edge, the certificate stays large."""
    X, y = make_data(80, 3, seed=6)
    loss, penalty = partial_loss(X, y, 0.1), ElasticNet(0.02)
    solution = solve(Objective(loss, penalty), tol=1e-8, max_iter=1000)
    assert solution.converged
    assert penalty.gap(solution.w, loss.value_and_grad(solution.w)[1]) > 1e3 * solution.bound


@pytest.mark.parametrize("mu", [1.0, 1e-3, 1e-6, 1e-9])
def test_weight_of_the_part_is_exact_however_little_is_smoothed(mu):
    """Else the value of the smoothed loss is wrong by the rounding of θ/μ, and no step looks like an improvement."""
    X, y = make_data(2000, 3, share=0.1, seed=7)
    X = np.round(X)  # many rows tie
    loss = partial_loss(X, y, 0.1)
    negatives = loss.whole.pair_rows.b
    shares = np.full(negatives.size, 0.1)
    for w in (np.zeros(3), np.array([1e-4, -2e-4, 1e-4])):
        smooth = SmoothedPartialLoss(loss, shares, mu)
        shares = smooth.shares(smooth.scores(w))
        assert abs(shares @ negatives - 0.1) <= 1e-14


@pytest.mark.parametrize("seed", range(12))
def test_all_coefficients_are_zero_exactly_if_part_of_the_negatives_has_the_mean_of_the_positives(seed):
    """A linear program looks for such negatives: weights of at most 1 / (α n₋) that add up to 1."""
    X, y = make_data(60, 2, seed=seed)
    X[y == 1] += 0.15 * seed  # from classes that overlap to classes that hardly do
    N, mean, max_fpr = X[y == 0], X[y == 1].mean(axis=0), 0.2
    sums = np.vstack([N.T, np.ones(len(N))])
    bounds = (0.0, 1.0 / (max_fpr * len(N)))
    within_reach = linprog(np.zeros(len(N)), A_eq=sums, b_eq=np.append(mean, 1.0), bounds=bounds).status == 2
    solution = solve(Objective(partial_loss(X, y, max_fpr), ElasticNet(1e-3)), tol=1e-6, max_iter=1000)
    assert solution.converged
    assert bool(solution.w.any()) == within_reach


def test_zero_in_place_of_a_rough_point_carries_the_certificate_of_that_point():
    """F(0) - min F ≤ (F(0) - F(w)) + (F(w) - min F): what the point gained on w = 0 belongs to the certificate."""
    X, y = make_data(80, 3, seed=15)
    loss = partial_loss(X, y, 0.3)
    rough = solve(Objective(loss, ElasticNet(0.3)), tol=0.3, max_iter=1000)
    gained = loss.scale - rough.history["objective"][-1]
    assert not rough.w.any()
    assert gained > 0.0
    assert rough.gap >= rough.history["gap"][-1] + gained
