"""VRSPAM's directions and inner loops, against the textbook formulas written out in NumPy."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from helpers import make_data
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from vrspam import ClassMoments, kernels, theory
from vrspam.kernels.lazy_epochs import _idle
from vrspam.objective import ElasticNet
from vrspam.solvers.base import run
from vrspam.solvers.row_gradients import PairGradient, RowGradient, TrainingRows
from vrspam.solvers.vrspam import VRSPAM, Point, best_combination, objective_on_rows, pass_order


def make_rows(X, y, weights=None):
    positive = y == y.max()
    moments = ClassMoments.from_data(X, y, weights, scatter=False)
    return TrainingRows(X, positive, weights, moments)


def sparse_data(n=60, d=9, seed=0):
    """Half of the entries zero, one column never used, one row empty."""
    X, y = make_data(n, d, seed=seed)
    rng = np.random.default_rng(seed + 1)
    X[rng.random(X.shape) < 0.5] = 0.0
    X[:, 3] = 0.0
    X[7] = 0.0
    return X, y


def plain_statistics(X, y, weights=None):
    """(p, μ₋, μ₊) by their definitions."""
    c = np.ones(len(y)) if weights is None else weights
    positive = y == y.max()
    means = [np.average(X[side], axis=0, weights=c[side]) for side in (~positive, positive)]
    return c[positive].sum() / c.sum(), *means


def textbook_gradient(kind, X, y, weights=None):
    """g_i(w) of the table in vrspam.solvers.row_gradients, for the mean over i weighted by the sample weights."""
    p, lower, upper = plain_statistics(X, y, weights)
    q, delta, positive = 1 - p, upper - lower, y == y.max()

    def paper(i, w):
        if positive[i]:
            return 2 * q * (w @ (X[i] - lower) - 1) * X[i]
        return 2 * p * (w @ (X[i] - upper) + 1) * X[i]

    def centred(i, w):
        x = X[i] - (upper if positive[i] else lower)
        return 2 * (q if positive[i] else p) * (w @ x) * x + 2 * p * q * (w @ delta - 1) * delta

    def pair(i, j, w):
        x = X[i] - X[j]
        return 2 * p * q * (w @ x - 1) * x

    return {"paper": paper, "centred": centred, "pair": pair}[kind]


def pairwise_gradient(X, y, w, weights=None):
    """∇f from the definition of f as a mean over pairs."""
    c = np.ones(len(y)) if weights is None else weights
    positive = y == y.max()
    p = c[positive].sum() / c.sum()
    differences = (X[positive][:, None, :] - X[~positive][None, :, :]).reshape(-1, X.shape[1])
    pair_weights = np.outer(c[positive], c[~positive]).ravel()
    slopes = -2 * (1 - differences @ w) * pair_weights / pair_weights.sum()
    return p * (1 - p) * slopes @ differences


def kernel_direction(rows, gradient, i, w, anchor, grad, l2=0.3, step=0.1):
    """Return v_i(w) as the compiled loop computes it, from one Katyusha step with x = z = w."""
    y, z, average = w.copy(), w.copy(), np.empty_like(w)
    order = np.array([i])
    draws = gradient.draws
    if rows.is_sparse:
        work = np.zeros((w.size, 8))
        work[:, 0] = work[:, 1] = w - anchor
        fixed = np.stack([*rows.means, grad + l2 * anchor])
        work[:, 4:7] = fixed.T
        scores = np.tile(rows.means @ (w - anchor), 2)
        kernels.sparse_ridge_epoch(rows.kernel, order, draws, fixed @ rows.means.T, work, scores, 1.0, 0.0, step, l2)
        z = anchor + work[:, 0]
    else:
        kernels.katyusha_epoch(
            rows.kernel, order, draws, rows.means, anchor, grad, y, z, average, 1.0, 0.0, step, l2, ElasticNet(l2)
        )
    return (w - z * (1 + step * l2)) / step


def kernel_pair_direction(rows, i, j, scale, w, anchor, grad, l2=0.3, step=0.1):
    work = np.stack([w, anchor, grad, np.zeros_like(w)], axis=1)
    kernels.sparse_net_epoch(rows.kernel, np.array([i]), np.array([j]), np.array([scale]), work, step, ElasticNet(l2))
    return (w - work[:, 0] * (1 + step * l2)) / step


@pytest.fixture(params=[False, True], ids=["equal", "weighted"])
def weighted_data(request):
    X, y = sparse_data()
    rng = np.random.default_rng(5)
    weights = rng.uniform(0.2, 3.0, len(y)) if request.param else None
    if weights is not None:
        weights[3] = 0.0
    return X, y, weights, rng.standard_normal(X.shape[1]), rng.standard_normal(X.shape[1])


@pytest.mark.parametrize("kind", ["paper", "centred", "pair"])
def test_textbook_gradients_average_to_the_gradient(kind, weighted_data):
    X, y, weights, w, _ = weighted_data
    c = np.ones(len(y)) if weights is None else weights
    g = textbook_gradient(kind, X, y, weights)
    if kind == "pair":
        up, down = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
        pairs = [(i, j) for i in up for j in down]
        mean = np.average([g(i, j, w) for i, j in pairs], axis=0, weights=[c[i] * c[j] for i, j in pairs])
    else:
        mean = np.average([g(i, w) for i in range(len(y))], axis=0, weights=c)
    np.testing.assert_allclose(mean, pairwise_gradient(X, y, w, weights), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("centred", [False, True], ids=["paper", "centred"])
def test_direction_has_conditional_mean_the_gradient(centred, container, weighted_data):
    X, y, weights, w, anchor = weighted_data
    rows = make_rows(container(X), y, weights)
    gradient = RowGradient(rows, centred)
    grad = pairwise_gradient(X, y, anchor, weights)
    used = np.flatnonzero(gradient.probability)
    directions = {i: kernel_direction(rows, gradient, i, w, anchor, grad) for i in used}
    mean = sum(gradient.probability[i] * v for i, v in directions.items())
    np.testing.assert_allclose(mean, pairwise_gradient(X, y, w, weights), rtol=1e-8, atol=1e-10)
    # and each one is what the textbook says, with its weight
    g = textbook_gradient("centred" if centred else "paper", X, y, weights)
    c = np.ones(len(y)) if weights is None else weights
    p, lower, upper = plain_statistics(X, y, weights)
    exact = 2 * p * (1 - p) * (w - anchor) @ (upper - lower) * (upper - lower) if centred else 0.0
    for i in used[:10]:
        weight = c[i] / c.sum() / gradient.probability[i]
        expected = weight * (g(i, w) - g(i, anchor) - exact) + exact + grad
        np.testing.assert_allclose(directions[i], expected, rtol=1e-8, atol=1e-9)
    variance = sum(gradient.probability[i] * np.sum((v - mean) ** 2) for i, v in directions.items())
    np.testing.assert_allclose(gradient.variance(w - anchor), variance, rtol=1e-7)


def test_pair_direction_has_conditional_mean_the_gradient(weighted_data):
    X, y, weights, w, anchor = weighted_data
    rows = make_rows(sparse.csr_array(X), y, weights)
    gradient = PairGradient(rows)
    grad = pairwise_gradient(X, y, anchor, weights)
    mean, square = np.zeros_like(w), 0.0
    for i in np.flatnonzero((y == 1) & (gradient.probability > 0)):
        for j in np.flatnonzero((y == 0) & (gradient.probability > 0)):
            scale = rows.k * gradient.weight[i] * gradient.weight[j]
            v = kernel_pair_direction(rows, i, j, scale, w, anchor, grad)
            probability = gradient.probability[i] * gradient.probability[j]
            mean += probability * v
            square += probability * (v @ v)
    np.testing.assert_allclose(mean, pairwise_gradient(X, y, w, weights), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(gradient.variance(w - anchor), square - mean @ mean, rtol=1e-6)


def test_draws_have_their_probabilities(weighted_data):
    X, y, weights, _, _ = weighted_data
    rows = make_rows(X, y, weights)
    rng = np.random.default_rng(0)
    for gradient in (RowGradient(rows, True), RowGradient(rows, False)):
        counts = np.bincount(gradient.draw(rng, 200_000), minlength=len(y))
        np.testing.assert_allclose(counts / 200_000, gradient.probability, atol=0.004)
        assert not counts[gradient.probability == 0].any()
    pair = PairGradient(rows)
    positives, negatives, scale = pair.draw(rng, 200_000)
    counts = np.bincount(positives, minlength=len(y)) + np.bincount(negatives, minlength=len(y))
    np.testing.assert_allclose(counts / 200_000, pair.probability, atol=0.005)
    np.testing.assert_allclose(scale, rows.k * pair.weight[positives] * pair.weight[negatives])


@pytest.mark.parametrize("weighted", [False, True])
def test_lipschitz_constants_bound_the_weighted_draws(weighted):
    """With one column a draw's second derivative is a number; the constant of centred draws is the largest one."""
    X, y = make_data(60, 1, seed=3)
    X[y == 1] += 20.0  # the classes are far apart: most of the constant is that of δ
    weights = np.random.default_rng(0).uniform(0.2, 3.0, 60) if weighted else None
    rows = make_rows(X, y, weights)
    p, lower, upper = plain_statistics(X, y, weights)
    own = (X[:, 0] - np.where(y == 1, upper, lower)) ** 2
    k, shift = 2 * p * (1 - p), float(upper[0] - lower[0]) ** 2
    gradient = RowGradient(rows, True)
    draws = rows.mass / gradient.probability * 2 * np.where(y == 1, 1 - p, p) * own + k * shift
    assert gradient.lipschitz == pytest.approx(draws.max(), rel=1e-12)
    pair = PairGradient(rows)
    spread = own[y == 1][:, None] + own[y == 0] + shift  # as if at right angles
    pairs = k * np.outer(pair.weight[y == 1], pair.weight[y == 0]) * spread
    assert pairs.max() <= pair.lipschitz <= 4 * pairs.max()


# The saddle form of the paper.


def saddle_value(X, y, w, a, b, zeta):
    """E[F(w, a, b, ζ; z)], computed without a closed form."""
    positive, score = y == 1, X @ w
    p = positive.mean()
    q = 1 - p
    value = np.where(positive, q * (score - a) ** 2, p * (score - b) ** 2)
    value = value + 2 * (1 + zeta) * score * np.where(positive, -q, p) - p * q * zeta**2
    return value.mean()


def test_saddle_identity_and_the_sign_of_zeta():
    X, y = make_data(80, 5, seed=3)
    rng = np.random.default_rng(0)
    p, lower, upper = plain_statistics(X, y)
    rows = make_rows(X, y)
    gradient = RowGradient(rows, centred=False)
    for _ in range(5):
        w = rng.standard_normal(5)
        a, b, zeta = w @ upper, w @ lower, w @ (lower - upper)
        scores = X @ w
        losses = (1 - (scores[y == 1][:, None] - scores[y == 0][None, :])) ** 2
        f = p * (1 - p) * losses.mean()
        saddle = saddle_value(X, y, w, a, b, zeta)
        np.testing.assert_allclose(p * (1 - p) + saddle, f, rtol=1e-10)
        for shift in (-0.3, 0.2):  # a minimum in a and b, a maximum in ζ
            assert saddle_value(X, y, w, a + shift, b, zeta) > saddle
            assert saddle_value(X, y, w, a, b + shift, zeta) > saddle
            assert saddle_value(X, y, w, a, b, zeta + shift) < saddle
        # The direction at the anchor 0 is the saddle function's derivative with this ζ, up to that at w = 0.
        for i in (int(np.argmax(y)), int(np.argmin(y))):
            q_or_p, sign = (1 - p, -1) if y[i] == 1 else (p, 1)
            centre = a if y[i] == 1 else b
            derivative = 2 * q_or_p * (w @ X[i] - centre) * X[i] + 2 * (1 + zeta) * sign * q_or_p * X[i]
            at_zero = 2 * sign * q_or_p * X[i]
            v = kernel_direction(rows, gradient, i, w, np.zeros(5), np.zeros(5))
            np.testing.assert_allclose(v, derivative - at_zero, rtol=1e-8, atol=1e-9)


# Whole epochs against an eager loop.


def prox(v, step, l1, l2):
    return np.sign(v) * np.maximum(np.abs(v) - step * l1, 0.0) / (1.0 + step * l2)


def eager_epoch(solver, objective, state, X, y, weights, rng):
    """One epoch by the textbook, dense, in NumPy, on the same draws."""
    l2, l1 = objective.penalty
    variant, gradient, step = solver.variant, solver.gradient, solver.step
    anchor, grad = state.w, state.grad
    c = np.ones(len(y)) if weights is None else weights
    share = c / np.where(y == 1, c[y == 1].sum(), c[y == 0].sum())
    g = textbook_gradient({"accelerated": "centred"}.get(variant, variant), X, y, weights)
    p, lower, upper = plain_statistics(X, y, weights)
    delta = upper - lower

    def direction(w, draw):
        if variant == "pair":
            i, j = draw
            weight = share[i] * share[j] / (gradient.probability[i] * gradient.probability[j])
            return weight * (g(i, j, w) - g(i, j, anchor)) + grad
        weight = c[draw] / c.sum() / gradient.probability[draw]
        exact = 0.0 if variant == "paper" else 2 * p * (1 - p) * ((w - anchor) @ delta) * delta
        return weight * (g(draw, w) - g(draw, anchor) - exact) + exact + grad

    draws = gradient.draw(rng, solver.steps)
    if variant == "pair":
        draws = list(zip(draws[0], draws[1], strict=True))
    if variant != "accelerated":
        w = anchor.copy()
        for draw in draws:
            w = prox(w - step * direction(w, draw), step, l1, l2)
        return w
    tau1, tau2 = min(np.sqrt(solver.steps * l2 * step / 3), 0.5), 0.5
    alpha = step / (3 * tau1)
    y_point, z = getattr(solver, "_y", anchor).copy(), getattr(solver, "_z", anchor).copy()
    total, weights_sum = np.zeros_like(anchor), 0.0
    for t, draw in enumerate(draws):
        x = tau1 * z + tau2 * anchor + (1 - tau1 - tau2) * y_point
        z_new = prox(z - alpha * direction(x, draw), alpha, l1, l2)
        y_point = x + tau1 * (z_new - z)
        z = z_new
        total += (1 + alpha * l2) ** t * y_point
        weights_sum += (1 + alpha * l2) ** t
    return total / weights_sum


RUNS = [
    *[(variant, l1, np.asarray) for variant in ("paper", "centred") for l1 in (0.0, 0.02)],
    *[("paper", l1, sparse.csr_array) for l1 in (0.0, 0.02)],
    ("centred", 0.0, sparse.csr_array),
    ("accelerated", 0.0, np.asarray),
    ("accelerated", 0.0, sparse.csr_array),
    *[("pair", l1, sparse.csr_array) for l1 in (0.0, 0.02, 0.15)],
]


@pytest.mark.parametrize("l2", [1e-6, 0.02, 5.0])
@pytest.mark.parametrize(("variant", "l1", "container"), RUNS)
def test_epochs_equal_the_eager_loop(variant, l1, container, l2, weighted_data):
    X, y, weights, _, _ = weighted_data
    objective = objective_on_rows(make_rows(container(X), y, weights), l2, l1)
    solver = VRSPAM(objective.loss.within, variant, rng=np.random.default_rng(1), inner_steps=150)
    state, compared = solver.init(objective), 0
    for _ in range(4):  # the later epochs start from momentum and from an anchor that is not 0
        rng = copy.deepcopy(solver.rng)
        expected = eager_epoch(solver, objective, state, X, y, weights, rng)
        solver.epoch(objective, state)
        if state.extra["retries"]:
            continue  # what was compared has been undone
        compared += 1
        np.testing.assert_allclose(state.w, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())
        np.testing.assert_allclose(state.grad, pairwise_gradient(X, y, state.w, weights), rtol=1e-7, atol=1e-10)
    assert compared >= 2


@given(
    w=st.floats(-3, 3),
    grad=st.floats(-2, 2),
    lag=st.integers(0, 60),
    step=st.floats(1e-4, 2.0),
    l1=st.floats(0, 1.5),
    l2=st.floats(1e-6, 5.0),
)
@example(w=5e-324, grad=0.0, lag=1, step=1.0, l1=0.0, l2=5.0)  # ρ w is 0, and nothing pulls
@example(w=1.0, grad=-0.5, lag=60, step=2.0, l1=0.5, l2=5.0)  # ρ^60 is cut off, and nothing pulls
@example(w=1.0, grad=5e-324, lag=60, step=2.0, l1=0.0, l2=5.0)  # almost nothing: w l2 / grad is infinite
@example(w=1e-3, grad=0.5, lag=60, step=1e-4, l1=0.0, l2=5e-324)  # step·l2 is 0
def test_drift_equals_its_steps(w, grad, lag, step, l1, l2):
    rule = kernels.drift_rule(step, ElasticNet(l2, l1), 60)
    expected = w
    for _ in range(lag):
        expected = float(prox(np.array(expected - step * grad), step, l1, l2))
    assert kernels.drift(w, grad, lag, rule) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(
    shrink=st.floats(0.05, 0.9999), tau1=st.floats(0.01, 0.5), lag=st.integers(0, 80),
    z=st.floats(-2, 2), y=st.floats(-2, 2), average=st.floats(-2, 2),
)  # fmt: skip
def test_idling_equals_its_steps(shrink, tau1, lag, z, y, average):
    tau3 = 0.5 - tau1
    power, y_of_z, y_of_y, average_of_z, average_of_y = kernels.idling(shrink, tau1, tau3, 80).few[lag]
    expected = np.array([z, y, average])
    for _ in range(lag):
        expected[0] *= shrink
        expected[1] = tau1 * expected[0] + tau3 * expected[1]
        expected[2] = shrink * expected[2] + expected[1]
    found = [power * z, y_of_z * z + y_of_y * y, power * average + average_of_z * z + average_of_y * y]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_idling_for_long_equals_its_steps():
    """More steps than one block of the table, so that blocks and single steps are combined."""
    for shrink, tau1 in ((0.9999, 0.4), (0.999, 0.01), (0.3, 0.2)):
        tau3, work = 0.5 - tau1, np.zeros((3, 8))
        work[:, :3] = start = np.array([0.7, -1.3, 0.4])
        rule = kernels.idling(shrink, tau1, tau3, 5000)
        for j, lag in enumerate((1023, 1024, 4321)):
            _idle(work, j, float(lag), rule)
            z, y, average = start
            for _ in range(lag):
                z *= shrink
                y = tau1 * z + tau3 * y
                average = shrink * average + y
            np.testing.assert_allclose(work[j, :3], [z, y, average], rtol=1e-9, atol=1e-40)
            assert work[j, 3] == lag


# The paper's theorem and variance bounds.


def unit_rows(seed=0):
    X, y = make_data(200, 5, seed=seed)
    return X / np.linalg.norm(X, axis=1).max(), y


@pytest.mark.parametrize("sharp", [False, True], ids=["printed", "sharp"])
def test_theorem_1_with_the_corrected_contraction(sharp):
    X, y = unit_rows()
    rows = make_rows(X, y)
    l2, theta = 0.5, 0.9
    noise = theory.noise_bound(1.0, rows.p) if sharp else theory.noise_printed(1.0)
    step, m = theta * theory.step_bound(l2, noise), theory.inner_steps(l2, theta, noise)
    alpha = theory.contraction(l2, step, m, noise)
    objective = objective_on_rows(rows, l2, 0.0)
    H = np.cov(X[y == 1].T, bias=True) + np.cov(X[y == 0].T, bias=True) + np.outer(rows.delta, rows.delta)
    optimum = np.linalg.solve(rows.k * H + l2 * np.eye(5), rows.k * rows.delta)
    errors = np.zeros((20, 6))
    for seed in range(20):
        solver = VRSPAM(objective.loss.within, "paper", step_size=step, inner_steps=m, rng=np.random.default_rng(seed))
        state = solver.init(objective)
        errors[seed, 0] = np.sum((state.w - optimum) ** 2)
        for s in range(1, 6):
            solver.epoch(objective, state)
            errors[seed, s] = np.sum((state.w - optimum) ** 2)
    mean = errors.mean(axis=0)
    assert mean[0] > 1e-6
    assert (mean <= alpha ** np.arange(6) * mean[0]).all()


def test_theory_step_is_the_papers_bound():
    X, y = unit_rows()
    objective = objective_on_rows(make_rows(3.0 * X, y), 0.7, 0.0)
    solver = VRSPAM(objective.loss.within, "paper", step_size="theory", rng=np.random.default_rng(0))
    solver.init(objective)
    assert solver.step == pytest.approx(0.7 / (128 * 3.0**4))


def test_variance_vanishes_along_the_run_within_the_papers_bounds():
    X, y = unit_rows(2)
    rows = make_rows(X, y)
    l2, noise = 0.05, theory.noise_printed(1.0)
    objective = objective_on_rows(rows, l2, 0.0)
    H = np.cov(X[y == 1].T, bias=True) + np.cov(X[y == 0].T, bias=True) + np.outer(rows.delta, rows.delta)
    optimum = np.linalg.solve(rows.k * H + l2 * np.eye(5), rows.k * rows.delta)
    for variant in ("paper", "centred"):
        solver = VRSPAM(objective.loss.within, variant, rng=np.random.default_rng(0), record_variance=True)
        state = solver.init(objective)
        assert np.isnan(state.extra["variance"])
        variances = []
        for _ in range(25):
            anchor_error = np.sum((state.w - optimum) ** 2)
            solver.epoch(objective, state)
            variances.append(state.extra["variance"])
            error = np.sum((state.w - optimum) ** 2)
            if variant == "paper":
                assert variances[-1] <= min(theory.variance_bounds(noise, error, anchor_error))
        assert variances[-1] < 1e-10 * variances[0]
        assert theory.gradient_variance(X, y == 1, state.w) > 1e-3  # SPAM's does not


def test_rows_of_weight_zero_do_not_set_the_proven_step():
    X, y = make_data(80, 3)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 3.0], 80)
    X[weights == 0.0] *= 1e3
    objective = objective_on_rows(make_rows(X, y, weights), 0.5, 0.0)
    solver = VRSPAM(objective.loss.within, "paper", step_size="theory", rng=np.random.default_rng(0))
    solver.init(objective)
    largest = np.linalg.norm(X[weights > 0.0], axis=1).max()
    assert solver.step == pytest.approx(0.5 / (128.0 * largest**4))


def test_one_pass_draws_rows_by_weight():
    mass = np.array([0.0, 0.1, 0.2, 0.7])
    shares = np.bincount(pass_order(np.random.default_rng(0), mass, 20_000), minlength=4) / 20_000
    np.testing.assert_allclose(shares, mass, atol=5 * np.sqrt(0.25 / 20_000))
    assert shares[0] == 0.0
    assert sorted(pass_order(np.random.default_rng(0), np.full(9, 1 / 9), 9)) == list(range(9))


# Combinations of anchors.


def quadratic(seed, d, l1):
    """A strongly convex quadratic f with a net, as functions: F and ∇f."""
    rng = np.random.default_rng(seed)
    root, b = rng.standard_normal((d, 2 * d)), 3.0 * rng.standard_normal(d)
    H, net = root @ root.T / d, ElasticNet(0.05, l1)
    return net, lambda w: 1.0 + 0.5 * w @ H @ w - b @ w + net.value(w), lambda w: H @ w - b


@pytest.mark.parametrize("l1", [0.3, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_combination_of_anchors_that_span_everything_is_the_optimum(seed, l1):
    """Six points in general position in five dimensions: every point is a combination, so the gap must vanish."""
    net, F, gradient = quadratic(seed, 5, l1)
    rng = np.random.default_rng(100 + seed)
    points = rng.standard_normal((5, 5))
    anchors = [Point(w, gradient(w), F(w)) for w in points]
    last = rng.standard_normal(5)
    best = best_combination(anchors, net, Point(last, gradient(last), F(last)), 1.0)
    assert best is not None
    assert best.value == pytest.approx(F(best.w), abs=1e-9)
    np.testing.assert_allclose(best.grad, gradient(best.w), atol=1e-9)
    assert 0.0 <= net.gap(best.w, gradient(best.w)) < 1e-3
    small = 1.0 / np.linalg.norm(gradient(np.eye(5)[0]) - gradient(np.zeros(5)))
    w = best.w
    for _ in range(20_000):  # proximal gradient steps cannot lower F by more than the smoothing of |w|
        w = net.prox(w - 0.05 * small * gradient(w), 0.05 * small)
    assert F(best.w) - F(w) < 1e-6
    anchors.append(Point(last, gradient(last), F(last)))
    assert best_combination(anchors, net, Point(w, gradient(w), F(w)), 1.0) is None  # nothing is left to gain


def test_no_combination_of_few_anchors_is_better():
    net, F, gradient = quadratic(0, 8, 0.5)
    rng = np.random.default_rng(1)
    anchors = rng.standard_normal((3, 8))
    first, *others = [Point(w, gradient(w), F(w)) for w in anchors]
    best = best_combination(others, net, first, 1.0)
    assert best is not None
    S = (anchors[1:] - anchors[0]).T
    c = np.linalg.lstsq(S, best.w - anchors[0], rcond=None)[0]
    np.testing.assert_allclose(anchors[0] + S @ c, best.w, atol=1e-9)  # it is a combination
    for size in (1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        for _ in range(200):
            assert F(anchors[0] + S @ (c + size * rng.standard_normal(2))) > best.value - 1e-6


def test_epochs_from_combinations_of_anchors_need_fewer_passes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 12)) @ np.diag(np.geomspace(1.0, 0.05, 12)) @ rng.standard_normal((12, 12))
    y = (X[:, 0] + 0.5 * rng.standard_normal(400) > 0).astype(int)
    rows = make_rows(X, y)
    objective = objective_on_rows(rows, 1e-4, 1e-3)
    passes = {}
    for extrapolates in (False, True):
        solver = VRSPAM(rows, "centred", rng=np.random.default_rng(0), extrapolates=extrapolates)
        solution = run(solver, objective, tol=1e-6, max_iter=400)
        assert solution.converged
        assert (np.diff(solution.history["objective"]) <= 1e-12).all()
        assert solution.bound >= objective.value(solution.w) - solution.value
        passes[extrapolates] = solution.history["passes"][-1]
    assert passes[True] < 0.7 * passes[False]
