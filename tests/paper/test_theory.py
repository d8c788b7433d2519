"""The paper's constants against brute force: every expectation below is taken over all rows, not estimated."""

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from scipy import sparse

from vrspam import theory

KINDS = ("printed", "sharp", "rows")


def problem(seed, n=40, d=4, n_up=12, shift=0.5):
    """Random rows inside the unit ball (M = 1), with p = n_up/n."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) < n_up
    X = rng.standard_normal((n, d)) + shift * positive[:, None]
    return X / np.linalg.norm(X, axis=1).max(), positive


def noises(X, positive):
    M, p = np.linalg.norm(X, axis=1).max(), positive.mean()
    return theory.noise_printed(M), theory.noise_bound(M, p), theory.noise_rows(X, positive)


def saddle(w, a, b, zeta, X, positive):
    """F(w, a, b, ζ; z_i) of every row, as the paper states it."""
    p, score = positive.mean(), X @ w
    value = np.where(positive, (1 - p) * (score - a) ** 2, p * (score - b) ** 2)
    return value + 2 * (1 + zeta) * score * np.where(positive, -(1 - p), p) - p * (1 - p) * zeta**2


def inner_optimum(w, X, positive):
    a, b = (X[positive] @ w).mean(), (X[~positive] @ w).mean()
    return a, b, b - a


def G(w, X, positive):
    """∂F/∂w of every row by hand from `saddle`, with a, b, ζ inserted afterwards: an array (n, d)."""
    p, score = positive.mean(), X @ w
    a, b, zeta = inner_optimum(w, X, positive)
    slope = np.where(positive, 2 * (1 - p) * (score - a), 2 * p * (score - b))
    return (slope + 2 * (1 + zeta) * np.where(positive, -(1 - p), p))[:, None] * X


def pairwise_loss(w, X, positive):
    p = positive.mean()
    margin = (X[positive] @ w)[:, None] - X[~positive] @ w
    return p * (1 - p) * np.mean((1 - margin) ** 2)


def optimum(X, positive, l2):
    """Minimiser of f + l2/2‖w‖²: the gradient of `pairwise_loss` written over all pairs, set to zero."""
    p = positive.mean()
    pairs = (X[positive][:, None, :] - X[~positive][None, :, :]).reshape(-1, X.shape[1])
    k = 2 * p * (1 - p)
    return np.linalg.solve(k * pairs.T @ pairs / len(pairs) + l2 * np.eye(X.shape[1]), k * pairs.mean(0))


def test_f_is_pq_plus_the_saddle_value():  # erratum: the paper drops pq
    rng = np.random.default_rng(0)
    X, positive = problem(0)
    pq = positive.mean() * (1 - positive.mean())
    for _ in range(20):
        w = 3 * rng.standard_normal(4)
        a, b, zeta = inner_optimum(w, X, positive)
        value = saddle(w, a, b, zeta, X, positive).mean()
        assert pairwise_loss(w, X, positive) == pytest.approx(pq + value, rel=1e-10)
        assert pairwise_loss(w, X, positive) - value > 0.99 * pq
        da, db, dz = rng.standard_normal(3)
        assert saddle(w, a + da, b + db, zeta, X, positive).mean() >= value - 1e-12
        assert saddle(w, a, b, zeta + dz, X, positive).mean() <= value + 1e-12
        wrong_sign = saddle(w, a, b, -zeta, X, positive).mean()
        assert wrong_sign < value - 1e-6


def test_gradient_is_unbiased():
    rng = np.random.default_rng(1)
    X, positive = problem(1)
    w, step = rng.standard_normal(4), 1e-5
    numeric = [
        (pairwise_loss(w + step * e, X, positive) - pairwise_loss(w - step * e, X, positive)) / (2 * step)
        for e in np.eye(4)
    ]
    np.testing.assert_allclose(G(w, X, positive).mean(0), numeric, atol=1e-9)


def test_lipschitz_constant_of_each_row_is_the_norm_of_its_jacobian():
    for n_up in (4, 20, 36):
        X, positive = problem(2, n_up=n_up)
        jacobian = np.stack([G(e, X, positive) - G(0 * e, X, positive) for e in np.eye(4)], axis=2)
        expected = np.linalg.norm(jacobian, ord=2, axis=(1, 2))
        np.testing.assert_allclose(theory.lipschitz_rows(X, positive), expected, rtol=1e-10)
        np.testing.assert_allclose(theory.lipschitz_rows(sparse.csr_array(X), positive), expected, rtol=1e-7)


def test_labels_that_are_not_booleans_are_refused():
    """The complement of 0 and 1 is -1 and -2: constants would be those of other rows."""
    X, w = np.array([[1.0], [-1.0]]), np.array([0.3])
    for labels in (np.array([1, 0]), np.array([1.0, 0.0])):
        for call in (theory.lipschitz_rows, theory.noise_rows, lambda X, y: theory.gradient_variance(X, y, w)):
            with pytest.raises(ValueError, match=r"positive must be a .*boolean array; pass y == positive_label\."):
                call(X, labels)
    assert theory.noise_rows(X, np.array([1, 0]) == 1) == theory.noise_bound(1.0, 0.5)


def test_the_rate_of_spam_takes_several_iterations():
    t = np.array([200, 10_000, 1_000_000])
    found = theory.spam_rate(t, 132, 1.0, 1.0, 128.0, 0.1)
    noise = 2.0 * 0.1 / theory.spam_constant(1.0, 128.0) ** 2
    np.testing.assert_allclose(found, [(132.0 + noise * math.log(k / 132)) / k for k in t.tolist()], rtol=1e-14)


def test_lipschitz_rows_far_from_the_origin():
    X, positive = problem(3)
    shifted = (X + 1e8).astype(np.longdouble)  # the rows really stored, in higher precision
    p, up, down = positive.mean(), shifted[positive].mean(0), shifted[~positive].mean(0)
    distance = np.linalg.norm(shifted - np.where(positive[:, None], down, up), axis=1)
    expected = 2 * np.where(positive, 1 - p, p) * distance * np.linalg.norm(shifted, axis=1)
    np.testing.assert_allclose(theory.lipschitz_rows(X + 1e8, positive), expected.astype(float), rtol=1e-6)


def test_sharp_lipschitz_bounds_hold_and_are_attained():  # erratum: 8M² is loose
    rng = np.random.default_rng(4)
    for seed in range(200):
        n_up = int(rng.integers(1, 39))
        X, positive = problem(seed, n_up=n_up, shift=rng.normal(scale=3))
        M, p = np.linalg.norm(X, axis=1).max(), positive.mean()
        u, w = rng.standard_normal((2, 4))
        ratio = np.linalg.norm(G(u, X, positive) - G(w, X, positive), axis=1) / np.linalg.norm(u - w)
        assert ratio.max() <= theory.lipschitz_bound(M, p) * (1 + 1e-12)
        assert theory.lipschitz_bound(M, p) <= theory.lipschitz_printed(M) / 2
        rows = theory.lipschitz_rows(X, positive)
        assert np.all(ratio <= rows * (1 + 1e-9))
        assert np.mean(rows**2) <= 16 * M**4 * p * (1 - p) * (1 + 1e-12)
        assert theory.noise_bound(M, p) * 16 <= theory.noise_printed(M) * (1 + 1e-12)
    positive = np.arange(10) < 3
    X = np.where(positive, 2.0, -2.0)[:, None]  # the worst case: each class at one point, M and -M
    assert theory.lipschitz_rows(X, positive).max() == pytest.approx(theory.lipschitz_bound(2.0, 0.3))
    assert theory.noise_rows(X, positive) == pytest.approx(theory.noise_bound(2.0, 0.3))


def test_printed_proof_of_the_lipschitz_bound_does_not_give_it():  # erratum: 4M²p is counted twice
    M, p = 1.0, 0.9
    summands_for_a_negative = (4 * M**2 * p, 4 * M**2 * p, 4 * M**2 * abs(p - 0))
    assert sum(summands_for_a_negative) > theory.lipschitz_printed(M)
    assert sum(summands_for_a_negative[1:]) == 2 * theory.lipschitz_bound(M, p) <= theory.lipschitz_printed(M)


@pytest.mark.parametrize("kind", range(3), ids=KINDS)
def test_one_inner_step_obeys_the_recursion(kind):
    rng = np.random.default_rng(5)
    for seed in range(30):
        X, positive = problem(seed, n_up=int(rng.integers(2, 38)), shift=2.0)
        l2 = 10 ** rng.uniform(-2, 1)
        noise = noises(X, positive)[kind]
        step = rng.uniform(0.1, 3) * theory.step_bound(l2, noise)  # the recursion needs no small step
        best = optimum(X, positive, l2)
        w, anchor = best + rng.standard_normal((2, 4))
        v = G(w, X, positive) - G(anchor, X, positive) + G(anchor, X, positive).mean(0)
        after = np.mean(np.sum(((w - step * v) / (1 + step * l2) - best) ** 2, axis=1))
        C, D = theory.step_constants(l2, step, noise)
        assert after <= C * np.sum((w - best) ** 2) + D * np.sum((anchor - best) ** 2)


@pytest.mark.parametrize("m", [1, 2, 7, 300])
@pytest.mark.parametrize("theta", [0.1, 0.5, 0.99])
def test_contraction_is_the_recursion_iterated_and_the_printed_one_is_not(m, theta):  # erratum: one C too many
    l2, noise = 0.7, 9.0
    step = theta * theory.step_bound(l2, noise)
    C, D = theory.step_constants(l2, step, noise)
    error = 1.0
    for _ in range(m):
        error = C * error + D * 1.0
    assert theory.contraction(l2, step, m, noise) == pytest.approx(error, rel=1e-12)
    printed = C**m + D * C * (C**m - 1) / (C - 1)
    assert theory.contraction_printed(l2, step, m, noise) == pytest.approx(printed, rel=1e-12)
    assert printed < error < 1


def test_contraction_keeps_its_digits_when_a_step_hardly_moves():
    getcontext().prec = 80
    l2, noise, m = Decimal("1e-3"), Decimal("1e14"), 1000  # as on unscaled data: 1 - C is about 1e-20
    step = l2 / noise / 2
    C = (1 + noise * step**2) / (1 + step * l2) ** 2
    D = noise * step**2 / (1 + step * l2) ** 2
    alpha = C**m + D * (1 - C**m) / (1 - C)
    needed = (Decimal("1e-6").ln() / alpha.ln()).to_integral_value(rounding="ROUND_CEILING")
    found = theory.epochs(float(l2), float(step), m, float(noise), 1e-6)
    assert found == pytest.approx(float(needed), rel=1e-12)


def test_contraction_holds_up_to_the_step_bound_and_a_little_beyond():
    for l2, noise in ((0.1, 128.0), (3.0, 2.0)):
        assert theory.contraction(l2, theory.step_bound(l2, noise), 50, noise) < 1
    l2, noise = 0.1, 128.0
    threshold = 2 * l2 / (2 * noise - l2**2)  # where C + D = 1
    assert (
        theory.contraction(l2, 0.999 * threshold, 50, noise) < 1 < theory.contraction(l2, 1.01 * threshold, 50, noise)
    )


def test_limit_and_the_claim_of_twice_theta():  # erratum: α ≈ 2θE² exceeds 1 for θ > 1/2
    l2, noise = 0.5, 128.0
    for theta in (0.05, 0.5, 0.6, 0.9, 0.99):
        step, x = theta * theory.step_bound(l2, noise), theta * l2**2 / noise
        E, m = 1 / (1 + x), theory.inner_steps(l2, theta, noise)
        C, D = theory.step_constants(l2, step, noise)
        assert theta * E < C < E
        assert E**m <= theta**2 < E ** (m - 1)
        limit = theory.contraction_limit(l2, theta, noise)
        assert limit == pytest.approx(D / (1 - C), rel=1e-9)
        assert theory.contraction(l2, step, 1e9, noise) == pytest.approx(limit, rel=1e-9)
        assert limit < theory.contraction(l2, step, m, noise) < 1
        assert (2 * theta * E**2 > 1) == (theta > 0.5)


def test_epochs_is_the_least_number():
    l2, noise = 0.5, 8.0
    step, m = 0.9 * theory.step_bound(l2, noise), 8
    alpha, s = theory.contraction(l2, step, m, noise), theory.epochs(l2, step, m, noise, 1e-4)
    assert alpha**s <= 1e-4 < alpha ** (s - 1)
    assert theory.gradient_evaluations(100, m, s) == s * (100 + 2 * m)


@pytest.mark.parametrize("kind", range(1, 3), ids=KINDS[1:])
def test_theorem_1_with_the_larger_step(kind):
    """Algorithm 1 in plain NumPy, 500 runs at once: the mean error stays under α^s times the first."""
    X, positive = problem(6, shift=1.0)
    l2, theta, runs = 0.5, 0.9, 500
    noise = noises(X, positive)[kind]
    step, m = theta * theory.step_bound(l2, noise), theory.inner_steps(l2, theta, noise)
    best, rng = optimum(X, positive, l2), np.random.default_rng(7)
    slope = (np.where(positive, 1, -1) + 0.0)[:, None]  # G(w; z_i) = (u_i·w - c_i) x_i, u and c from the two classes
    p = positive.mean()
    other = np.where(positive[:, None], X[~positive].mean(0), X[positive].mean(0))
    factor = np.where(positive, 2 * (1 - p), 2 * p)[:, None]
    U, c = factor * (X - other), factor * slope
    np.testing.assert_allclose((U @ best - c[:, 0])[:, None] * X, G(best, X, positive), atol=1e-12)
    matrix, vector = X.T @ U / len(X), X.T @ c[:, 0] / len(X)
    anchor = np.zeros((runs, X.shape[1]))
    for epoch in range(1, 6):
        w, full = anchor.copy(), anchor @ matrix.T - vector
        for i in rng.integers(len(X), size=(m, runs)):
            v = np.sum(U[i] * (w - anchor), axis=1)[:, None] * X[i] + full
            w = (w - step * v) / (1 + step * l2)
        anchor = w
        error = np.mean(np.sum((anchor - best) ** 2, axis=1))
        assert error <= theory.contraction(l2, step, m, noise) ** epoch * np.sum(best**2)


def test_variance_bounds_hold_although_the_printed_proof_drops_a_factor():
    rng = np.random.default_rng(8)
    for seed in range(50):
        X, positive = problem(seed, shift=rng.normal(scale=2))
        best = optimum(X, positive, 0.3)
        w, anchor = best + rng.standard_normal((2, 4)) * rng.uniform(0, 2, (2, 1))
        v = G(w, X, positive) - G(anchor, X, positive) + G(anchor, X, positive).mean(0)
        np.testing.assert_allclose(v.mean(0), G(w, X, positive).mean(0), atol=1e-12)
        variance = np.mean(np.sum((v - v.mean(0)) ** 2, axis=1))
        about_optimum = np.mean(np.sum((v - G(best, X, positive).mean(0)) ** 2, axis=1))
        error, anchor_error = np.sum((w - best) ** 2), np.sum((anchor - best) ** 2)
        for noise in noises(X, positive):
            first, second = theory.variance_bounds(noise, error, anchor_error)
            assert variance <= about_optimum <= first <= second
    # the printed chain, with its factor 2 kept, ends at 6 and 4 times (8M²)², not at 4 and 2
    first, second = theory.variance_bounds(2 * 8.0**2, 1.0, 1.0)
    assert 2 * first + 2 * 8.0**2 == (6 + 4) * 8.0**2 > second == (4 + 2) * 8.0**2


def test_the_mean_of_the_modified_direction_is_the_gradient_at_w():  # erratum: it is printed at the anchor
    rng = np.random.default_rng(9)
    for seed in range(20):
        X, positive = problem(seed)
        w, anchor = rng.standard_normal((2, 4))
        v = G(w, X, positive) - G(anchor, X, positive) + G(anchor, X, positive).mean(0)
        np.testing.assert_allclose(v.mean(0), G(w, X, positive).mean(0), atol=1e-12)
        assert np.linalg.norm(v.mean(0) - G(anchor, X, positive).mean(0)) > 1e-3


def test_the_minimiser_of_the_surrogate_need_not_have_the_largest_auc():  # erratum: "also maximizes the AUC"
    """Two columns; in the first a tenth of the positives lie far away, on the right side, so that it is shrunk."""
    rng = np.random.default_rng(10)
    positive = np.arange(400) < 100
    X = rng.standard_normal((400, 2)) + positive[:, None]
    X[:10, 0] += 30.0

    def auc(w):
        margins = (X[positive] @ w)[:, None] - X[~positive] @ w
        return np.mean(margins > 0)

    best_line = max(auc(np.array([np.cos(angle), np.sin(angle)])) for angle in np.linspace(0, 2 * np.pi, 181))
    assert auc(optimum(X, positive, 1e-9)) < best_line - 0.03


def test_with_weights_uniform_draws_break_the_bound_of_the_theorem():
    """1,000 rows at two opposite points of norm 1; the one positive row has half of the weight."""
    n = 1000
    weights = np.r_[float(n - 1), np.ones(n - 1)]
    positive = np.arange(n) < 1
    X = np.where(positive, 1.0, -1.0)[:, None]
    p = weights[positive].sum() / weights.sum()
    other_mean = np.where(positive, -1.0, 1.0)[:, None]
    lipschitz = np.where(positive, 2 * (1 - p), 2 * p) * np.linalg.norm(X - other_mean, axis=1)
    carried = lipschitz * n * weights / weights.sum()
    assert 2 * np.mean(lipschitz**2) <= theory.noise_bound(1.0, p)
    assert 2 * np.mean(carried**2) == pytest.approx(2000, rel=0.01)
    assert 2 * np.mean(carried**2) > theory.noise_printed(1.0)


def test_spam_constant_is_not_its_square():  # erratum: C̃² printed where C̃ is meant
    for l2, noise in ((0.01, 128.0), (0.5, 8.0), (5.0, 8.0)):
        steps = np.linspace(0.001, 1, 200) * theory.step_bound(l2, noise)
        factor = (1 + noise * steps**2) / (1 + steps * l2) ** 2
        assert np.all(factor <= 1 - theory.spam_constant(l2, noise) * steps)
        start = theory.spam_start(l2, noise)
        assert theory.spam_step(l2, noise, start) <= theory.step_bound(l2, noise)
        assert theory.spam_step(l2, noise, np.arange(3)).shape == (3,)
    as_printed = np.sqrt(theory.spam_constant(0.01, 128.0))
    step = theory.step_bound(0.01, 128.0)
    assert (1 + 128 * step**2) / (1 + step * 0.01) ** 2 > 1 - as_printed * step
    # t₀ of the paper is the first time plus two at which 1/(C̃ t) falls below l2/noise, with C̃ as here
    assert theory.spam_start(1.0, 128.0) == int(np.ceil(1 + 129**2 / 128)) == 132


def test_start_error_of_spam_is_a_logarithm():
    constant = 0.1 / (1 + 0.01 / 128) ** 2
    assert theory.spam_log_start_error_printed(0.1, 128.0, 1.0) == pytest.approx(128 / constant**2)
    assert theory.spam_log_start_error_printed(10.0, 128.0, 7.0) == pytest.approx(
        np.log(14 / theory.spam_constant(10.0, 128.0) ** 2 + np.exp(128 / theory.spam_constant(10.0, 128.0) ** 2))
    )
    assert theory.spam_log_start_error_printed(10.0, 128.0, 0.0) == pytest.approx(
        128 / theory.spam_constant(10.0, 128.0) ** 2
    )


def test_printed_start_error_fails_on_a_small_scale_and_ours_holds():  # erratum: it adds what must multiply
    """Two points, M and -M: every gradient is the same, so SPAM is deterministic and σ* = 0."""
    positive = np.array([True, False])
    for M in (1.0, 1e-12):
        X, l2 = np.array([[M], [-M]]), 10.0 * M**2  # scaling x by M scales l2 by M², w by 1/M
        noise, best = theory.noise_printed(M), optimum(X, positive, l2)
        assert theory.gradient_variance(X, positive, best) == pytest.approx(0.0, abs=1e-30)
        w, start = np.zeros(1), theory.spam_start(l2, noise)
        for t in range(1, start):
            step = theory.spam_step(l2, noise, t)
            w = (w - step * G(w, X, positive)[0]) / (1 + step * l2)
        log_error = np.log(np.sum((w - best) ** 2))
        assert log_error <= theory.spam_log_start_error(l2, noise, 0.0, np.sum(best**2))
        assert (log_error <= theory.spam_log_start_error_printed(l2, noise, 0.0)) == (M == 1.0)


def test_spam_rate_needs_its_noise_term_and_holds_with_it():  # erratum: averaging is said to remove it
    X, positive = problem(9, shift=1.0)
    l2, noise, runs = 2.0, noises(*problem(9, shift=1.0))[1], 1000
    best, rng = optimum(X, positive, l2), np.random.default_rng(10)
    sigma = theory.gradient_variance(X, positive, best)
    start = theory.spam_start(l2, noise)
    w = np.tile(best, (runs, 1))  # e_{t₀} = 0, where t₀/T·e_{t₀} alone would promise no error for ever
    p, up, down = positive.mean(), X[positive].mean(0), X[~positive].mean(0)
    for t in range(start, 300):
        i = rng.integers(len(X), size=runs)
        margin = np.where(positive[i], np.sum(w * (X[i] - down), 1) - 1, np.sum(w * (X[i] - up), 1) + 1)
        gradient = (np.where(positive[i], 2 * (1 - p), 2 * p) * margin)[:, None] * X[i]
        step = theory.spam_step(l2, noise, t)
        w = (w - step * gradient) / (1 + step * l2)
        error = np.mean(np.sum((w - best) ** 2, axis=1))
        assert 0 < error <= theory.spam_rate(t + 1, start, 0.0, l2, noise, sigma)


def test_gradient_variance_by_enumeration():
    rng = np.random.default_rng(11)
    for seed in range(20):
        X, positive = problem(seed, n_up=int(rng.integers(2, 38)))
        l2 = 10 ** rng.uniform(-3, 1)
        best = optimum(X, positive, l2)
        gradient = G(best, X, positive)
        expected = np.mean(np.sum((gradient - gradient.mean(0)) ** 2, axis=1))
        assert theory.gradient_variance(X, positive, best) == pytest.approx(expected, rel=1e-9)
        assert theory.gradient_variance(sparse.csr_array(X), positive, best) == pytest.approx(expected, rel=1e-9)
        assert expected <= theory.gradient_variance_bound(1.0, l2, positive.mean())
        assert best @ best <= theory.solution_bound(l2, positive.mean())


def test_solution_bound_is_attained():
    X, positive = np.array([[1.0], [-1.0]]), np.array([True, False])
    l2 = 2 * 0.25 * 2.0**2  # 2pq‖δ‖²
    best = optimum(X, positive, l2)
    assert best @ best == pytest.approx(theory.solution_bound(l2, 0.5))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_matrix, np.float32])
def test_describe(container):
    X, positive = problem(12)
    labels = np.where(positive, "sick", "healthy")
    best = optimum(X, positive, 0.5)
    table = theory.describe(container(X), labels, 0.5, theta=0.9, epsilon=1e-3, coef=best)
    assert isinstance(table, dict)
    assert (table["n"], table["d"], table["p"]) == (40, 4, 0.3)
    assert table["M"] == pytest.approx(1.0)
    assert table["initial_error"] == pytest.approx(best @ best)
    for kind, noise in zip(KINDS, noises(X, positive), strict=True):
        m = table[f"inner_steps_{kind}"]
        step = 0.9 * 0.5 / noise
        assert table[f"noise_{kind}"] == pytest.approx(noise, rel=1e-5)
        assert table[f"step_{kind}"] == pytest.approx(step, rel=1e-5)
        formula = theory.contraction_printed if kind == "printed" else theory.contraction
        assert table[f"contraction_{kind}"] == pytest.approx(formula(0.5, step, m, noise), rel=1e-4)
        assert table[f"one_minus_C_{kind}"] == pytest.approx(1 - table[f"C_{kind}"], rel=1e-6)
        assert table[f"gradients_{kind}"] == table[f"epochs_{kind}"] * (40 + 2 * m)
    text = str(table)
    shown = {line.split()[0] for line in text.splitlines() if line.strip()}
    stems = {key.rsplit("_", 1)[0] if key.endswith(KINDS) else key for key in table}
    assert stems <= shown


def test_describe_without_the_optimum_uses_bounds():
    X, positive = problem(13)
    known = theory.describe(X, positive, 0.5, coef=optimum(X, positive, 0.5))
    bounded = theory.describe(X, positive, 0.5)
    assert known["initial_error"] <= bounded["initial_error"]
    assert known["gradient_variance"] <= bounded["gradient_variance"]
    assert known["contraction_rows"] == bounded["contraction_rows"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"l2": 0.0}, "l2 must be positive"),
        ({"l2": np.nan}, "l2 must be positive"),
        ({"l2": "auto"}, "l2 must be positive"),
        ({"theta": 1.0}, "theta must lie strictly between"),
        ({"epsilon": 0.0}, "epsilon must lie strictly between"),
        ({"y": [0, 0, 0, 0]}, "1 different labels"),
        ({"y": [0, 1, 2, 1]}, "3 different labels"),
        ({"y": [0, 1, 1]}, "inconsistent numbers of samples"),
        ({"X": np.zeros((4, 2))}, "scale the features"),
        ({"X": np.full((4, 2), 1e150)}, "scale the features"),
        ({"X": [[0.0, np.nan]] * 4}, "NaN"),
        ({"X": np.ones((4, 2))}, "same point"),
        ({"l2": 1e-120}, "too far apart"),
        ({"coef": [1.0]}, "2 finite numbers"),
        ({"coef": [0.0, 0.0]}, "not all zero"),
    ],
)
def test_describe_names_bad_input(change, message):
    arguments = {"X": np.array([[0.0, 1], [1, 0], [1, 1], [0, 2]]), "y": [0, 1, 1, 0], "l2": 0.1} | change
    with pytest.raises(ValueError, match=message):
        theory.describe(**arguments)


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.step_bound(0.0, 1.0),
        lambda: theory.inner_steps(1.0, 1.5, 1.0),
        lambda: theory.contraction(0.1, 1.0, 10, 128.0),
        lambda: theory.contraction(0.1, -1.0, 10, 128.0),
        lambda: theory.epochs(0.1, 1.5 * theory.step_bound(0.1, 128.0), 10, 128.0, 1e-3),
        lambda: theory.epochs(0.1, 1e-4, 10, 128.0, 2.0),
        lambda: theory.spam_constant(-1.0, 1.0),
        lambda: theory.spam_start(1.0, np.inf),
    ],
)
def test_formulas_refuse_what_they_are_not_about(call):
    with pytest.raises(ValueError, match="must"):
        call()
