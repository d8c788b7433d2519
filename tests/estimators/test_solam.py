"""SOLAM: its steps against the saddle function as written in the paper, and its saddle point."""

import numpy as np
import pytest
from helpers import make_data
from scipy import sparse
from scipy.optimize import approx_fprime, minimize, minimize_scalar
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, ClassMoments, SOLAMClassifier
from vrspam.objective import Objective
from vrspam.solvers.online import SOLAM, kernel_rows, largest_square, step_rule


def saddle_function(variables, x, positive, p):
    """F(w, a, b, ζ; z) of Ying et al. 2016, equation (8), without its constant."""
    *w, a, b, zeta = variables
    score = np.dot(w, x)
    square = (1 - p) * (score - a) ** 2 if positive else p * (score - b) ** 2
    return square + 2 * (1 + zeta) * score * (-(1 - p) if positive else p) - p * (1 - p) * zeta**2


def method_at(X, y, w, a, b, zeta):
    method = SOLAM(X.shape[1])
    method.know(ClassMoments.from_data(X, y, scatter=False), largest_square(X))
    method.w[:] = w
    method.carry[2:5] = a, b, zeta
    method.carry[7] = w @ w
    return method


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_step_descends_in_w_a_b_and_ascends_in_zeta(container):
    X, y = make_data(30, 4, share=0.3)
    rng, step = np.random.default_rng(0), 0.01
    start = rng.standard_normal(7)
    for i in range(30):
        method = method_at(X, y, start[:4], *start[4:])
        method.advance(kernel_rows(container(X)), np.array([i]), y.astype(np.int64), step_rule(step, 0.0), learn=False)
        slope = approx_fprime(start, saddle_function, 1e-7, X[i], y[i] == 1, y.mean())
        expected = start - step * slope * np.array([1, 1, 1, 1, 1, 1, -1])
        np.testing.assert_allclose(np.r_[method.carry[1] * method.w, method.carry[2:5]], expected, atol=1e-7)


def test_the_saddle_function_is_the_objective():
    """f(w) = pq + min over (a, b), max over ζ of the mean of F: at a = w·μ₊, b = w·μ₋, ζ = w·(μ₋ - μ₊)."""
    X, y = make_data(40, 3)
    moments = ClassMoments.from_data(X, y)
    w = np.random.default_rng(2).standard_normal(3)

    def mean(a, b, zeta):
        return np.mean([saddle_function([*w, a, b, zeta], x, c == 1, y.mean()) for x, c in zip(X, y, strict=True)])

    zeta = minimize_scalar(lambda z: -mean(0.0, 0.0, z)).x
    assert zeta == pytest.approx(-w @ moments.delta, abs=1e-6)
    inner = minimize(lambda ab: mean(ab[0], ab[1], zeta), np.zeros(2))
    np.testing.assert_allclose(inner.x, moments.means[::-1] @ w, atol=1e-4)
    assert moments.p * (1 - moments.p) + inner.fun == pytest.approx(Objective.from_moments(moments, 0.0).value(w))


def test_the_penalty_is_applied_with_the_step():
    """One step at w with no data term: (1 + η l2) w' = w, not w / (1 + l2)."""
    X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    method = method_at(X, y, np.array([2.0, -3.0]), 0.0, 0.0, 0.0)
    method.advance(kernel_rows(X), np.array([0]), y, step_rule(0.1, 5.0), learn=False)
    np.testing.assert_allclose(method.carry[1] * method.w, np.array([2.0, -3.0]) / 1.5)


def test_output_is_the_average_weighted_by_the_steps():
    X, y = make_data(60, 4)
    rows, side, rule = kernel_rows(X), y.astype(np.int64), step_rule(0.01, 0.1)
    single = method_at(X, y, np.zeros(4), 0.0, 0.0, 0.0)
    iterates = []
    for i in range(60):
        single.advance(rows, np.array([i]), side, rule, learn=False)
        iterates.append(np.r_[single.carry[1] * single.w, single.carry[2:5]])
    expected = np.average(iterates, axis=0, weights=1 / np.sqrt(np.arange(1, 61)))
    np.testing.assert_allclose(np.r_[single.coef, single.saddle], expected, rtol=1e-10)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_long_run_reaches_the_saddle_point(seed):
    X, y = make_data(300, 5, seed=seed)
    X = StandardScaler().fit_transform(X)
    exact = AUCClassifier(l2=0.2, tol=1e-14).fit(X, y)
    model = SOLAMClassifier(l2=0.2, max_iter=2000, random_state=0).fit(X, y)
    w, scale = model.coef_[0], float(np.linalg.norm(exact.coef_))
    assert np.linalg.norm(w - exact.coef_[0]) <= 0.02 * scale
    positive, negative = X[y == 1].mean(axis=0), X[y == 0].mean(axis=0)
    tolerance = 0.02 * scale
    assert model.a_ == pytest.approx(w @ positive, abs=tolerance)
    assert model.b_ == pytest.approx(w @ negative, abs=tolerance)
    assert model.zeta_ == pytest.approx(w @ (negative - positive), abs=tolerance)
    assert model.zeta_ < -10 * tolerance  # the sign is not a matter of rounding
    assert model.objective_ <= exact.objective_ + model.gap_


def test_radius_keeps_the_coefficients_in_the_ball():
    X, y = make_data(300, 5)
    X = StandardScaler().fit_transform(X)
    free = SOLAMClassifier(l2=0.1, max_iter=300, random_state=0).fit(X, y)
    length = np.linalg.norm(free.coef_)
    wide = SOLAMClassifier(l2=0.1, radius=100.0, max_iter=300, random_state=0).fit(X, y)
    np.testing.assert_allclose(wide.coef_, free.coef_, rtol=1e-6)
    tight = SOLAMClassifier(l2=0.1, radius=length / 3, max_iter=300, random_state=0).fit(X, y)
    assert np.linalg.norm(tight.coef_) <= length / 3 * (1 + 1e-12)
    # The best point of the ball, from the exact solver: some larger l2 puts the minimiser on its surface.
    lengths = {}
    for l2 in np.geomspace(0.1, 10, 400):
        w = AUCClassifier(l2=l2).fit(X, y).coef_[0]
        lengths[abs(np.linalg.norm(w) - length / 3)] = w
    best = lengths[min(lengths)]
    assert np.linalg.norm(tight.coef_[0] - best) <= 0.05 * np.linalg.norm(best)
